"""Outputs: CSV, Parquet, Arrow or JSON, to standard output or to a file that appears when it is complete."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from petiole.cli.errors import Failure, WrongInput
from petiole.cli.screen import plain
from petiole.files import atomic

STANDARD_OUTPUT = "-"
FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


@contextmanager
def complete_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that replaces the target when it is complete; after an error the target is as it was.

    As :func:`petiole.files.atomic.complete_file`, with errors in the words of the command line.
    """
    target = Path(path)
    if target.is_dir():
        raise WrongInput(f"{target}: is a folder; name a file in it")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(atomic.complete_file(target))
        except FileNotFoundError:
            raise WrongInput(f"{target}: there is no folder {str(target.parent)!r}") from None
        except OSError as error:
            raise Failure(f"{target}: cannot be written ({error.strerror})") from None
        yield file


def format_of(output: str | None, wanted: str | None) -> str:
    """The format that is requested, or that follows from the name of the file; CSV on standard output."""
    known = sorted(set(FORMATS.values()))
    if wanted is not None:
        if wanted not in known:
            raise WrongInput(f"--format {wanted}: must be one of {', '.join(known)}")
        return wanted
    if output in (None, STANDARD_OUTPUT):
        return "csv"
    ending = next(
        (ending for ending in sorted(FORMATS, key=len, reverse=True) if str(output).lower().endswith(ending)), None
    )
    if ending is None:
        if Path(str(output)).exists() and not Path(str(output)).is_file():
            return "csv"
        raise WrongInput(f"--output {output}: end its name with one of {', '.join(FORMATS)}, or use --format")
    return FORMATS[ending]


class CsvSink:
    """Comma-separated values in UTF-8; numbers in full, missing cells empty."""

    def __init__(self, file: BinaryIO, names: list[str]) -> None:
        self._file = file
        self._write([names])

    def write(self, columns: dict[str, Any]) -> None:
        self._write(zip(*map(_as_list, columns.values()), strict=True))

    def _write(self, rows: Any) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode("utf-8"))
        self._file.flush()

    def close(self) -> None:
        pass


class JsonSink:
    """One object per row: a list of them, or one on each line."""

    def __init__(self, file: BinaryIO, names: list[str], *, lines: bool) -> None:
        self._file, self._names, self._lines = file, names, lines
        self._separator = "" if lines else "[\n"

    def write(self, columns: dict[str, Any]) -> None:
        rows = zip(*map(_as_list, columns.values()), strict=True)
        objects = [json.dumps(plain(dict(zip(columns, row, strict=True))), ensure_ascii=False) for row in rows]
        joined = "\n".join(objects) + "\n" if self._lines else ",\n".join(objects)
        self._file.write((self._separator + joined).encode("utf-8"))
        self._file.flush()
        self._separator = "" if self._lines else ",\n"

    def close(self) -> None:
        if not self._lines:
            self._file.write(b"\n]\n" if self._separator != "[\n" else b"[]\n")
            self._file.flush()


class ArrowSink:
    """Parquet or Arrow; the types of columns are those of the first batch."""

    def __init__(self, file: BinaryIO, names: list[str], *, parquet: bool) -> None:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            kind = "Parquet" if parquet else "Arrow"
            raise Failure(f"writing {kind} needs pyarrow: pip install pyarrow") from None
        self._file, self._parquet = file, parquet
        self._writer: Any = None
        self._schema: Any = None

    def write(self, columns: dict[str, Any]) -> None:
        import pyarrow as pa

        arrays = {
            name: column if isinstance(column, pa.Array) else pa.array(column) for name, column in columns.items()
        }
        table = pa.table(arrays, schema=self._schema)
        if self._writer is None:
            self._schema = table.schema
            self._writer = self._make_writer()
        self._writer.write_table(table)

    def _make_writer(self) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        return (
            parquet.ParquetWriter(self._file, self._schema)
            if self._parquet
            else pa.ipc.new_file(self._file, self._schema)
        )

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _as_list(column: Any) -> list[Any]:
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    return list(column.tolist() if hasattr(column, "tolist") else column)


@contextmanager
def open_sink(output: str | None, wanted: str | None, names: list[str]) -> Iterator[Any]:
    """A sink with ``write(columns)`` that writes rows in the requested format."""
    kind = format_of(output, wanted)
    with _open_output(output, kind) as file:
        packed = gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") if str(output).endswith(".gz") else None
        sink = make_sink(kind, packed or file, names)
        yield sink
        sink.close()
        if packed is not None:
            packed.close()


def make_sink(kind: str, file: Any, names: list[str]) -> Any:
    """A sink of a kind."""
    if kind == "csv":
        return CsvSink(file, names)
    if kind in ("json", "jsonl"):
        return JsonSink(file, names, lines=kind == "jsonl")
    return ArrowSink(file, names, parquet=kind == "parquet")


@contextmanager
def _open_output(output: str | None, kind: str) -> Iterator[BinaryIO]:
    if output not in (None, STANDARD_OUTPUT):
        with complete_file(str(output)) as file:
            yield file
        return
    if kind in ("parquet", "arrow") and sys.stdout.isatty():
        raise WrongInput(f"--format {kind}: is not for a terminal; name a file with --output")
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
