"""Bytes and text of the user's files: unpacked, decoded, with errors that name the byte."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import IO, Any

PathOrFile = str | os.PathLike[str] | IO[Any]
GZIP_MAGIC = b"\x1f\x8b"


class NotUTF8(ValueError):
    """A file is in another encoding; ``where`` names the invalid byte, and ``guess`` a likely encoding."""

    def __init__(self, where: str, guess: str) -> None:
        self.where, self.guess = where, guess
        super().__init__(
            f"{where}; if the file is in another encoding, open it yourself and pass the file: "
            f"read(open(path, encoding={guess!r}))"
        )


def read_bytes(path_or_file: PathOrFile) -> tuple[bytes, str]:
    """Return the content of the file, unpacked if it is gzipped, and its name for error messages."""
    if isinstance(path_or_file, (str, os.PathLike)):
        path = Path(path_or_file)
        data, name = path.read_bytes(), path.name
    elif hasattr(path_or_file, "read"):
        content = path_or_file.read()
        data = content.encode("utf-8") if isinstance(content, str) else bytes(content)
        name = os.path.basename(str(getattr(path_or_file, "name", "the file")))
    else:
        raise TypeError(
            f"path_or_file={path_or_file!r}: must be a path or an open file, not {type(path_or_file).__name__}"
        )
    return (unpack(data, name) if data.startswith(GZIP_MAGIC) else data), name


def unpack(data: bytes, name: str) -> bytes:
    """Undo gzip."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name}: the gzip data is damaged or cut short ({error}): fetch the file again") from None


def decode(data: bytes, name: str) -> str:
    """Read bytes as UTF-8, with or without a byte order mark.

    >>> decode(b"\\xef\\xbb\\xbfZ\\xc3\\xbcrich", "towns.csv")
    'Zürich'
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _not_utf8(name, 1, data[0], 0, "utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # the codec counts from the end of the byte order mark
        offset = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
    raise _not_utf8(name, data.count(b"\n", 0, offset) + 1, data[offset], offset, "latin-1")


def _not_utf8(name: str, line: int, byte: int, offset: int, guess: str) -> NotUTF8:
    return NotUTF8(f"{name}, line {line}: byte 0x{byte:02x} at offset {offset} is not UTF-8", guess)
