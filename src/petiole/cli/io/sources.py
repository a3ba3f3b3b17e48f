"""Inputs: a file, standard input or the name of a data set; and their bytes, text and columns."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from petiole.cli.errors import WrongInput
from petiole.cli.io.model_files import refuse_model

if TYPE_CHECKING:
    from petiole.datasets.recognising import ReadingOptions, ReadTable

STANDARD_INPUT = "-"
MAGIC_LENGTH = 8


@dataclass(frozen=True)
class Source:
    """What the user named: exactly one of a path, standard input and the name of a data set."""

    text: str
    path: Path | None = None

    @property
    def is_standard_input(self) -> bool:
        return self.text == STANDARD_INPUT

    @property
    def is_name(self) -> bool:
        return self.path is None and not self.is_standard_input

    @property
    def label(self) -> str:
        """Its name in messages."""
        if self.is_standard_input:
            return "standard input"
        return self.path.name if self.path is not None else self.text


def find_source(text: str) -> Source:
    """A file if it exists; otherwise a name, unless it looks like a path."""
    if text == STANDARD_INPUT:
        return Source(text)
    path = Path(text)
    if path.is_dir():
        raise WrongInput(f"{text}: is a folder; name a file in it")
    if path.exists():
        refuse_model(path)
        return Source(text, path)
    if path.suffix or len(path.parts) > 1:
        raise WrongInput(f"{text}: there is no such file")
    return Source(text)


class Stream(io.RawIOBase):
    """A file that may not be seekable, of which some bytes have been read."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first, self._rest = first, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # what is available now: a pipe may have more later, but must not delay the answer
        data = self._first[: len(buffer)] or self._rest.read1(len(buffer))  # type: ignore[attr-defined]
        self._first = self._first[len(data) :] if self._first else b""
        buffer[: len(data)] = data
        return len(data)


@dataclass
class Opened:
    """An open file: its first bytes, its whole contents, and how much of it has been read."""

    source: Source
    first: bytes
    raw: BinaryIO
    size: int | None

    @property
    def stream(self) -> io.BufferedReader:
        return io.BufferedReader(Stream(self.first, self.raw), 1 << 20)

    def position(self) -> int:
        return self.raw.tell() if self.size is not None else 0

    def close(self) -> None:
        if not self.source.is_standard_input:
            self.raw.close()


def open_source(source: Source) -> Opened:
    """Open a file or standard input and read its first bytes."""
    if source.is_standard_input:
        if sys.stdin.isatty():
            raise WrongInput("-: standard input is a terminal; pipe a file into the command")
        raw, size = sys.stdin.buffer, None
    else:
        assert source.path is not None
        raw = source.path.open("rb")
        size = source.path.stat().st_size if source.path.is_file() else None
    first = raw.read(MAGIC_LENGTH)
    if not first:
        raise WrongInput(f"{source.label} is empty: the first line must name the columns")
    return Opened(source, first, raw, size)


def read_table(
    source: Source, options: ReadingOptions, *, skipped: Collection[str] = (), encoding: str | None = None
) -> ReadTable:
    """All columns of a file or of standard input, except those to be left out."""
    from petiole.datasets.reading import parse_columns
    from petiole.datasets.text import GZIP_MAGIC, NotUTF8, unpack

    opened = open_source(source)
    try:
        data = opened.stream.read()
    finally:
        opened.close()
    if data.startswith(GZIP_MAGIC):
        data = unpack(data, source.label)
    if encoding is not None:
        data = recode(data, encoding, source.label)
    try:
        return parse_columns(data, source.label, options, skipped)
    except NotUTF8 as error:
        raise WrongInput(f"{error.where}: name its encoding, such as --encoding {error.guess}") from None


def recode(data: bytes, encoding: str, label: str) -> bytes:
    """The same text in UTF-8."""
    check_encoding(encoding)
    try:
        return data.decode(encoding).encode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WrongInput(
            f"{label}, line {line}: byte 0x{data[error.start]:02x} is not {encoding}: name another --encoding"
        ) from None


def check_encoding(encoding: str) -> None:
    """Refuse encodings that Python does not know."""
    import codecs

    try:
        codecs.lookup(encoding)
    except LookupError:
        raise WrongInput(f"--encoding {encoding}: is unknown; try latin-1, cp1252 or utf-16") from None
