"""Rows of a file in batches, so that the file may be larger than memory."""

from __future__ import annotations

import gzip
import io
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np

from petiole._table.number_texts import NumberSigns, recognise_numbers
from petiole.cli.errors import Failure, WrongInput
from petiole.cli.io.labelled import NAMED_TARGET, texts_of
from petiole.cli.io.model_columns import ModelColumn, ModelColumns
from petiole.cli.io.sources import Opened, Source, check_encoding, open_source
from petiole.datasets.arff_files import looks_like_arff
from petiole.datasets.arrow_files import arrow_format
from petiole.datasets.cells import Cell, Place
from petiole.datasets.columns import Dates, Numeric, Values, from_names
from petiole.datasets.csv_files import check_lengths, guess_delimiter, read_header, read_records
from petiole.datasets.reading import FOREIGN, parse_columns
from petiole.datasets.recognising import ReadingOptions
from petiole.datasets.text import GZIP_MAGIC

CELLS_AT_ONCE = 2_000_000
LEAST_ROWS, MOST_ROWS = 256, 65_536
STREAM_MAGIC = b"\xff\xff\xff\xff"  # of Arrow's streaming format
ARROW_NEEDED = "needs pyarrow: pip install pyarrow"

ReportPosition = Callable[[float], None]


def rows_at_once(n_columns: int) -> int:
    """The number of rows of a batch, which takes a few megabytes.

    >>> rows_at_once(20), rows_at_once(100_000)
    (65536, 256)
    """
    return min(MOST_ROWS, max(LEAST_ROWS, CELLS_AT_ONCE // max(1, n_columns)))


class RowBatch(Protocol):
    """Some rows, whose columns are read as the model needs them."""

    n_rows: int

    def values(self, name: str, column: ModelColumn, model: ModelColumns) -> Values:
        """A column for the model."""
        ...

    def kept(self, name: str) -> Any:
        """A column as it is, for the output: a list, or an array of pyarrow."""
        ...

    def texts(self, name: str) -> list[str | None]:
        """A column as text."""
        ...


class Batches(Protocol):
    """A file: its columns, and its rows in batches; ``total`` is in the units that ``report`` is called with."""

    columns: list[str]
    total: float

    def __call__(self, wanted: Sequence[str], n_rows: int, report: ReportPosition) -> Iterator[RowBatch]: ...


class TextBatch:
    """Cells of a text file."""

    def __init__(self, file: str, lines: Sequence[int], cells: dict[str, Sequence[Cell]]) -> None:
        self.n_rows = len(lines)
        self._file, self._lines, self._cells = file, lines, cells

    def values(self, name: str, column: ModelColumn, model: ModelColumns) -> Values:
        cells = self._cells[name]
        if column.ignored:
            return Numeric(np.full(self.n_rows, np.nan))
        if column.names is not None:
            return model.categorical(name, column, column.names.codes(cells), cells.__getitem__)
        values, bad = model.parsed(name, column, cells)
        if bad is not None:
            raise unreadable(Place(self._file, self._lines[bad], name), str(cells[bad]), column)
        return values

    def kept(self, name: str) -> Any:
        return list(self._cells[name])

    def texts(self, name: str) -> list[str | None]:
        return list(self._cells[name])


def unreadable(place: Place, cell: str, column: ModelColumn) -> WrongInput:
    """The error about a cell whose type differs from that of the fit."""
    what, how = ("a date", "dates") if column.is_date else ("a number", "numbers")
    hint = ""
    if column.date is not None:
        how = str(column.date)
    elif not column.is_date:
        how = f"numbers with {column.number}" if not column.number.is_plain else how
        other = recognise_numbers({cell: 1}, NumberSigns())
        if other is not None and other[0].decimal != column.number.decimal:
            hint = f" (--decimal {other[0].decimal} if that is the decimal sign)"
    return WrongInput(f"{place}: {cell!r} is not {what}, and the model was fitted to {how} here{hint}")


class CsvBatches:
    """CSV, plain or gzipped, from a file or standard input."""

    def __init__(self, opened: Opened, separator: str | None, encoding: str | None) -> None:
        self._opened = opened
        self._file = opened.source.label
        self.total = float(opened.size or 0)
        lines = _lines(opened, encoding)
        head: list[str] = []
        for line in lines:
            head.append(line)
            if sum(1 for seen in head if seen.strip()) == 2:
                break
        text = "".join(head)
        if looks_like_arff(text):
            raise _IsArff(head, lines)
        self._records = read_records(chain(head, lines), self._file, separator or guess_delimiter(text))
        self.columns = read_header(self._records, self._file)

    def __call__(self, wanted: Sequence[str], n_rows: int, report: ReportPosition) -> Iterator[RowBatch]:
        positions = {name: self.columns.index(name) for name in wanted}
        rows = check_lengths(self._records, self.columns, self._file)
        seen = False
        while block := list(islice(rows, n_rows)):
            seen = True
            by_position = list(zip(*(cells for _, cells in block), strict=True))
            cells: dict[str, Sequence[Cell]] = {name: by_position[position] for name, position in positions.items()}
            yield TextBatch(self._file, [line for line, _ in block], cells)
            report(float(self._opened.position()))
        if not seen:
            raise WrongInput(f"{self._file}: there is a header but no rows: the file must have at least one")


class _IsArff(Exception):
    """A file that was read as CSV is ARFF; what has been read of it, and the rest."""

    def __init__(self, head: list[str], lines: Iterator[str]) -> None:
        self.head, self.lines = head, lines


def _lines(opened: Opened, encoding: str | None) -> Iterator[str]:
    """Lines of text; an invalid byte is an error that names the line."""
    binary: Any = opened.stream
    if opened.first.startswith(GZIP_MAGIC):
        binary = gzip.GzipFile(fileobj=binary)
    if encoding is not None:
        check_encoding(encoding)
    # A byte that is not UTF-8 becomes a surrogate. Searching line by line gives the number of the line.
    errors = "surrogateescape" if encoding is None else "strict"
    text = io.TextIOWrapper(binary, encoding=encoding or "utf-8-sig", errors=errors, newline="")
    number = 0
    try:
        for line in text:
            number += 1
            if encoding is None and not line.isascii():
                line.encode("utf-8")
            yield line
    except UnicodeEncodeError as error:
        byte = ord(line[error.start]) - 0xDC00
        guess = "utf-16" if opened.first.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin-1"
        raise WrongInput(
            f"{opened.source.label}, line {number}: byte 0x{byte:02x} is not UTF-8: name its encoding, such as "
            f"--encoding {guess}"
        ) from None
    except UnicodeDecodeError as error:
        raise WrongInput(
            f"{opened.source.label}, soon after line {number}: byte 0x{error.object[error.start]:02x} is not "
            f"{encoding}: name another --encoding"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        if not opened.first.startswith(GZIP_MAGIC):
            raise
        raise WrongInput(
            f"{opened.source.label}: the gzip data is damaged or cut short ({error}): fetch the file again"
        ) from None


class ColumnBatches:
    """Columns that are in memory: ARFF, and data sets by name."""

    def __init__(self, columns: dict[str, Values], file: str) -> None:
        self._values, self._file, self.columns = columns, file, list(columns)
        self._n_rows = len(next(iter(columns.values())))
        self.total = float(self._n_rows)

    def __call__(self, wanted: Sequence[str], n_rows: int, report: ReportPosition) -> Iterator[RowBatch]:
        for begin in range(0, self._n_rows, n_rows):
            rows = np.arange(begin, min(begin + n_rows, self._n_rows))
            cells: dict[str, Sequence[Cell]] = {name: texts_of(self._values[name].take(rows)) for name in wanted}
            yield TypedBatch(
                self._file, (rows + 1).tolist(), cells, {name: self._values[name].take(rows) for name in wanted}
            )
            report(float(begin + len(rows)))


class TypedBatch(TextBatch):
    """Rows of columns that are in memory; what is numeric need not be read again."""

    def __init__(
        self, file: str, lines: Sequence[int], cells: dict[str, Sequence[Cell]], columns: dict[str, Values]
    ) -> None:
        super().__init__(file, lines, cells)
        self._columns = columns

    def values(self, name: str, column: ModelColumn, model: ModelColumns) -> Values:
        known = self._columns[name]
        return known if known.kind == column.kind == "numeric" else super().values(name, column, model)


class ArrowBatch:
    """Rows of a batch of pyarrow."""

    def __init__(self, file: str, batch: Any) -> None:
        self.n_rows = batch.num_rows
        self._file, self._batch = file, batch

    def values(self, name: str, column: ModelColumn, model: ModelColumns) -> Values:
        if column.ignored:
            return Numeric(np.full(self.n_rows, np.nan))
        if column.names is None:
            return self._numbers(name, column, model)
        values, positions = self._distinct(name)
        texts = [None if value is None or value != value else str(value) for value in values]
        codes = np.append(column.names.codes(texts), -1)[positions]
        return model.categorical(name, column, codes, lambda row: texts[positions[row]])

    def _numbers(self, name: str, column: ModelColumn, model: ModelColumns) -> Values:
        import pyarrow as pa

        array = self._batch.column(name)
        place = Place(self._file, column=name)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            cells = array.to_pylist()
            values, bad = model.parsed(name, column, cells)
            if bad is not None:
                raise unreadable(place, cells[bad], column)
            return values
        if pa.types.is_temporal(array.type):
            return _temporal(array, column, place)
        if column.is_date:
            raise WrongInput(f"{place}: is of type {array.type}, and the model was fitted to dates here")
        try:
            return Numeric(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            raise WrongInput(f"{place}: is of type {array.type}, and the model was fitted to numbers here") from None

    def _distinct(self, name: str) -> tuple[list[Any], Any]:
        """The distinct values, and the position of each row's among them; -1 if it is missing."""
        import pyarrow as pa

        array = self._batch.column(name)
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        positions = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return encoded.dictionary.to_pylist(), positions

    def kept(self, name: str) -> Any:
        return self._batch.column(name)

    def texts(self, name: str) -> list[str | None]:
        return [None if value is None else str(value) for value in self._batch.column(name).to_pylist()]


def _temporal(array: Any, column: ModelColumn, place: Place) -> Values:
    """Dates, or durations and times of day as numbers."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    from petiole._table.frames import days_of

    holds_dates = pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)
    if holds_dates != column.is_date:
        wanted = "dates" if column.is_date else "numbers"
        raise WrongInput(f"{place}: is of type {array.type}, and the model was fitted to {wanted} here")
    days = days_of(nw.from_native(pa.chunked_array([array]), series_only=True))
    return Dates(days) if holds_dates else Numeric(days)


class ParquetBatches:
    """Parquet, row group by row group."""

    def __init__(self, opened: Opened) -> None:
        parquet = _pyarrow("parquet", opened.source.label)
        try:
            # read on demand: a whole row group may not fit into memory
            self._table = parquet.ParquetFile(_seekable(opened), buffer_size=1 << 20, pre_buffer=False)
        except Exception as error:  # pyarrow has a different exception for every kind of damage
            raise _damaged(opened, "Parquet", error) from None
        self._file = opened.source.label
        self.columns = list(self._table.schema_arrow.names)
        self.total = float(self._table.metadata.num_rows)

    def __call__(self, wanted: Sequence[str], n_rows: int, report: ReportPosition) -> Iterator[RowBatch]:
        _check_rows(self.total, self._file)
        done = 0
        for batch in self._table.iter_batches(batch_size=n_rows, columns=list(dict.fromkeys(wanted))):
            yield ArrowBatch(self._file, batch)
            done += batch.num_rows
            report(float(done))


class ArrowBatches:
    """Arrow files (Feather) and streams, batch by batch; a file is mapped, not read."""

    def __init__(self, opened: Opened) -> None:
        ipc = _pyarrow("ipc", opened.source.label)
        self._file = opened.source.label
        try:
            self._batches, self.columns, self.total = self._open(ipc, opened)
        except Exception as error:
            raise _damaged(opened, "Arrow", error) from None

    def _open(self, ipc: Any, opened: Opened) -> tuple[Iterator[Any], list[str], float]:
        if opened.first.startswith(STREAM_MAGIC):
            reader = ipc.open_stream(opened.stream)
            return iter(reader), list(reader.schema.names), 0.0
        if opened.first.startswith(b"FEA1"):  # the first version of Feather has one batch
            from pyarrow import feather

            table = feather.read_table(_seekable(opened))
            return iter(table.to_batches()), list(table.schema.names), float(table.num_rows)
        import pyarrow as pa

        path = opened.source.path
        reader = ipc.open_file(pa.memory_map(str(path)) if path is not None else _seekable(opened))
        batches = (reader.get_batch(index) for index in range(reader.num_record_batches))
        return batches, list(reader.schema.names), float(reader.num_record_batches)

    def __call__(self, wanted: Sequence[str], n_rows: int, report: ReportPosition) -> Iterator[RowBatch]:
        names, seen = list(dict.fromkeys(wanted)), 0
        for number, batch in enumerate(self._batches, start=1):
            seen += batch.num_rows
            for begin in range(0, batch.num_rows, n_rows):
                yield ArrowBatch(self._file, batch.slice(begin, n_rows).select(names))
            report(float(number))
        _check_rows(seen, self._file)


def _check_rows(n_rows: float, file: str) -> None:
    if not n_rows:
        raise WrongInput(f"{file}: the table has no rows: the file must have at least one")


def _pyarrow(module: str, file: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise Failure(f"{file}: reading it {ARROW_NEEDED}") from None


def _seekable(opened: Opened) -> Any:
    """The file itself; standard input is copied to a file first, since these formats have their index at the end."""
    if opened.size is not None:
        opened.raw.seek(0)
        return opened.raw
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - it is gone when it is closed
    shutil.copyfileobj(opened.stream, copy, 1 << 20)
    copy.seek(0)
    return copy


def _damaged(opened: Opened, kind: str, error: Exception) -> WrongInput:
    return WrongInput(f"{opened.source.label}: not a valid {kind} file ({error}): write or fetch it again")


def open_batches(source: Source, separator: str | None, encoding: str | None) -> Batches:
    """Rows of what DATA names, in batches."""
    if source.is_name:
        from petiole.datasets.loading import load_columns

        columns, y, _ = load_columns(source.text)
        return ColumnBatches(columns | {NAMED_TARGET: from_names(y.astype(object))}, source.text)
    opened = open_source(source)
    if arrow_format(opened.first) == "parquet":
        return ParquetBatches(opened)
    if arrow_format(opened.first) == "feather" or opened.first.startswith(STREAM_MAGIC):
        return ArrowBatches(opened)
    for magic, what in FOREIGN.items():
        if opened.first.startswith(magic):
            raise WrongInput(
                f"{source.label} is {what}, which is not supported: save it as CSV (plain or gzip), Parquet or ARFF"
            )
    try:
        return CsvBatches(opened, separator, encoding)
    except _IsArff as arff:
        text = "".join(chain(arff.head, arff.lines))
        return ColumnBatches(parse_columns(text.encode("utf-8"), source.label, ReadingOptions()).columns, source.label)
