"""Reading CSV: quoted cells, commas, semicolons or tabs, with an error for any line that does not fit."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from petiole._table.number_texts import NumberSigns
from petiole.datasets.assembling import Assembler, Row
from petiole.datasets.cells import Cell, ColumnPlan, Place, parse_number
from petiole.datasets.columns import Values
from petiole.datasets.recognising import ReadingOptions, ReadTable, Recogniser, without_row_numbers

DELIMITERS = (",", ";", "\t", "|")
UNNAMED = "unnamed: "  # and the number of a column without a name
FIRST_UNNAMED = f"{UNNAMED}1"


def read_csv(
    text: str, file: str, kinds: Mapping[str, str], missing: frozenset[Cell], *, strip: bool = True
) -> dict[str, Values]:
    """Read CSV with a header line; columns that ``kinds`` does not name are numeric if all their cells are numbers.

    >>> columns = read_csv("size,colour\\n1.5,red\\n,blue\\n", "toys.csv", {}, frozenset({""}))
    >>> columns["size"].values, columns["colour"].categories
    (array([1.5, nan]), ('blue', 'red'))
    """
    names, rows = _records_of(text, file, guess_delimiter(text))
    plans = [ColumnPlan(name, kinds.get(name)) for name in names]
    columns = _with_rows(Assembler(file, plans, missing, strip).assemble(rows), file)
    return _without_unnamed(ReadTable(columns), file, kinds).columns


def read_recognised(text: str, file: str, options: ReadingOptions) -> ReadTable:
    """Read CSV with a header line, looking for numbers and dates in every spelling.

    >>> table = read_recognised("size;price\\n1,5;$3\\n2;$1.000,5\\n", "toys.csv", ReadingOptions())
    >>> table.columns["size"].values, table.columns["price"].values
    (array([1.5, 2. ]), array([   3. , 1000.5]))
    """
    delimiter = options.separator or guess_delimiter(text)
    names, rows = _records_of(text, file, delimiter)
    plans = [ColumnPlan(name, options.kinds.get(name)) for name in names]

    def assemble(signs: NumberSigns) -> tuple[Recogniser, dict[str, Values]]:
        recogniser = Recogniser(file, options, signs)
        return recogniser, Assembler(file, plans, frozenset(), True, recogniser).assemble(rows)

    signs = NumberSigns(options.decimal, options.thousands, comma_likely=delimiter == ";")
    recogniser, columns = assemble(signs)
    if recogniser.found_comma and options.decimal is None:
        recogniser, columns = assemble(replace(signs, comma_found=True))
    table = recogniser.finished(_with_rows(columns, file))
    return _without_unnamed(without_row_numbers(table, options.kinds, FIRST_UNNAMED), file, options.kinds)


def _without_unnamed(table: ReadTable, file: str, kinds: Collection[str]) -> ReadTable:
    """The table without empty columns that have no name, which separators at the ends of lines make.

    The first column may go without a name, as the index of pandas does.
    """
    nameless = [name for name in table.columns if name.startswith(UNNAMED) and name not in kinds]
    empty = [name for name in nameless if table.columns[name].is_missing.all()]
    for name in nameless:
        if name not in empty and name != FIRST_UNNAMED:
            raise ValueError(
                f"{Place(file, 1)}: column {name.removeprefix(UNNAMED)} has no name: name it in the first line, or "
                "remove the column"
            )
    if not empty or len(empty) == len(table.columns):
        return table
    told = "an empty column without a name is left out"
    if len(empty) > 1:
        told = f"{len(empty)} empty columns without a name are left out"
    columns = {name: values for name, values in table.columns.items() if name not in empty}
    return replace(table, columns=columns, findings=(told, *table.findings))


def _records_of(text: str, file: str, delimiter: str) -> tuple[list[str], Callable[[], Iterator[Row]]]:
    """The names of the columns, and a function that reads the rows."""

    def records() -> Iterator[tuple[int, list[str]]]:
        return read_records(io.StringIO(text, newline=""), file, delimiter)

    names = read_header(records(), file)
    return names, lambda: check_lengths(islice(records(), 1, None), names, file)


def _with_rows(columns: dict[str, Values], file: str) -> dict[str, Values]:
    if not len(next(iter(columns.values()))):
        raise ValueError(f"{file}: there is a header but no rows: the file must have at least one")
    return columns


def guess_delimiter(text: str) -> str:
    """Return the separator that divides both of the first two lines into most cells; in a tie, the comma.

    >>> guess_delimiter('"a,b";c\\n1,5;2,5')
    ';'
    """
    lines = list(islice((line for line in io.StringIO(text, newline=None) if line.strip()), 2))

    def cells(delimiter: str) -> int:
        counts = [len(next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])) for line in lines]
        return min(counts, default=0)

    return max(DELIMITERS, key=cells)


def read_records(lines: Iterable[str], file: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield records with the number of the line they begin on; blank lines are left out.

    ``lines`` keep their ends, as those of a file that was opened with ``newline=""``.
    """
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{Place(file, line)}: {error}: a quoted cell that begins here is not closed, or has text behind its "
                'end; a quote inside a quoted cell is written ""'
            ) from None
        if cells and (len(cells) > 1 or cells[0].strip()):
            yield line, cells


def read_header(records: Iterator[tuple[int, list[str]]], file: str) -> list[str]:
    """Take the first record, which names the columns."""
    line, header = next(records, (1, []))
    if not header:
        raise ValueError(f"{file} is empty: the first line must name the columns")
    return _check_header([name.strip() for name in header], Place(file, line))


def check_lengths(records: Iterator[tuple[int, list[str]]], names: list[str], file: str) -> Iterator[Row]:
    """Pass records on that have a cell for every column."""
    expected = len(names)
    for line, cells in records:
        if len(cells) != expected:
            raise ValueError(
                f"{Place(file, line)}: {_counted(len(cells), 'cell')}, but the header names "
                f"{_counted(expected, 'column')}{_first_mismatch(cells, names)}: {_remedy(names)}"
            )
        yield line, cells


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _remedy(names: list[str]) -> str:
    if len(names) > 1:
        return "quote cells that hold the separator, and leave missing cells empty"
    return f"if {names[0]!r} is a title, remove the lines above the names of the columns"


def _first_mismatch(cells: list[str], names: list[str]) -> str:
    if len(cells) < len(names):
        return f" (the first without a cell is {names[len(cells)]!r})"
    return f" (the first cell too many is {cells[len(names)]!r})"


def _check_header(names: list[str], place: Place) -> list[str]:
    if not any(names):
        raise ValueError(f"{place}: no column has a name: the first line must name the columns")
    names = [name or f"{UNNAMED}{index + 1}" for index, name in enumerate(names)]
    positions: dict[str, list[str]] = {}
    for index, name in enumerate(names):
        positions.setdefault(name, []).append(str(index + 1))
    twice = {name: where for name, where in positions.items() if len(where) > 1}
    if twice:
        told = [f"{', '.join(where[:-1])} and {where[-1]} are named {name!r}" for name, where in twice.items()]
        raise ValueError(f"{place}: columns {'; '.join(told)}: rename them, so that each has its own name")
    if all(map(_is_number, names)) and [*map(float, names)] not in ([*range(len(names))], [*range(1, len(names) + 1)]):
        raise ValueError(
            f"{place}: the first line holds numbers only ({', '.join(names[:3])}...), so the header seems to be "
            "missing: add a line with the names of the columns"
        )
    return names


def _is_number(cell: str) -> bool:
    try:
        parse_number(cell)
    except ValueError:
        return False
    return True
