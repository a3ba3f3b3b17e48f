"""The bytes of a model file: a safetensors file whose metadata hold the model's description and a checksum.

petiole writes and reads these bytes itself because safetensors' own functions neither write the same bytes every time
(the order of metadata is left to chance) nor give views of the mapped file.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from petiole.files.errors import ModelFileError
from petiole.files.json_text import parse

Array = npt.NDArray[Any]

FORMAT = "petiole-model"
FORMAT_VERSION = 1
# safetensors' own limit.
MOST_HEADER_BYTES = 100_000_000
MOST_DIMENSIONS = 8
BLOCK = 1 << 22
NO_CHECKSUM = "0" * 64

DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "<u1",
    "BOOL": "|b1",
}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


@dataclass(frozen=True)
class Contents:
    """What a file holds: metadata by name, and arrays by name, which may be views of the mapped file."""

    metadata: dict[str, str]
    tensors: dict[str, Array]


def is_storable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type can be kept as they are."""
    return dtype.newbyteorder("<") in NAMES


def file_parts(metadata: Mapping[str, str], tensors: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
    """The bytes of a file, in parts; equal input gives equal bytes."""
    arrays = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in tensors.items()}
    arrays = {name: array.astype(array.dtype.newbyteorder("<"), copy=False) for name, array in arrays.items()}
    # The widest first, so that each array begins at a multiple of its item size without gaps.
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header = _header(metadata, [(name, arrays[name]) for name in order])
    digest = hashlib.sha256(header)
    for name in order:
        digest.update(_bytes_of(arrays[name]))
    yield header.replace(NO_CHECKSUM.encode(), digest.hexdigest().encode(), 1)
    for name in order:
        yield _bytes_of(arrays[name])


def read_contents(path: str | os.PathLike[str], *, verify: bool, map_file: bool) -> Contents:
    """Metadata and arrays of a file. Sizes, places and types are checked, then the checksum."""
    with _open(path) as file:
        header, size = _read_header(file)
        described = _parse_header(header)
        metadata = _metadata_of(described)
        places = _places_of(described, size - 8 - len(header))
        buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if map_file else _read_all(file, size)
    if len(buffer) != size:
        raise ModelFileError(f"the file has {len(buffer)} bytes now and had {size} a moment ago: it is being written")
    if verify:
        _verify(buffer, 8 + len(header), metadata["checksum"])
    tensors = {name: _view(buffer, 8 + len(header), place) for name, place in places.items()}
    for name, array in tensors.items():
        if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
            raise ModelFileError(f"tensor {name!r}: a truth value is neither 0 nor 1")
    return Contents(metadata, tensors)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The metadata alone, not compared with the checksum."""
    with _open(path) as file:
        return _metadata_of(_parse_header(_read_header(file)[0]))


# Writing.


def _header(metadata: Mapping[str, str], arrays: list[tuple[str, Array]]) -> bytes:
    """The length and the JSON of the header, padded with spaces to a multiple of eight; the checksum is all zeros."""
    described: dict[str, Any] = {"__metadata__": {**metadata, "checksum": NO_CHECKSUM}}
    at = 0
    for name, array in arrays:
        end = at + array.nbytes
        described[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    # ASCII, with the checksum before the model's description, whose strings could hold anything.
    text = json.dumps(described, allow_nan=False, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER_BYTES:
        raise ModelFileError(
            f"the description of the model takes {len(text):,} bytes, and a file may have {MOST_HEADER_BYTES:,}: "
            "shorten the names of classes, columns and categories"
        )
    return len(text).to_bytes(8, "little") + text


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


# Reading.


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    # Asked before opening: opening a named pipe would wait for somebody to write to it.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError(f"{os.fspath(path)!r} is not a regular file")
    return open(path, "rb")


def _read_header(file: BinaryIO) -> tuple[bytes, int]:
    size = os.fstat(file.fileno()).st_size
    start = file.read(8)
    if len(start) < 8:
        raise ModelFileError(f"the file has {size} bytes and is too short to be a model: it may have been cut off")
    length = int.from_bytes(start, "little")
    if length > MOST_HEADER_BYTES:
        raise ModelFileError(f"the header would take {length:,} bytes: this is no model file, or it is damaged")
    header = file.read(length) if length <= size - 8 else b""
    if len(header) != length:
        raise ModelFileError(f"the header would take {length:,} bytes of {size:,}: the file is cut off or damaged")
    if length % 8:
        raise ModelFileError(f"the header takes {length:,} bytes, which is no multiple of 8: pad it with spaces")
    return header, size


def _parse_header(header: bytes) -> dict[str, Any]:
    try:
        text = header.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"the header is no UTF-8 text ({error}): this is no model file, or it is damaged"
        ) from None
    described = parse(text, "the header")
    if not isinstance(described, dict):
        raise ModelFileError("the header is no JSON object: this is no model file, or it is damaged")
    return described


def _metadata_of(described: dict[str, Any]) -> dict[str, str]:
    metadata = described.pop("__metadata__", None)
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ModelFileError(f"the metadata do not say that the format is {FORMAT!r}: this is no model of petiole")
    for name in ("format_version", "petiole_version", "class", "checksum", "model"):
        if not isinstance(metadata.get(name), str):
            raise ModelFileError(f"the metadata have no text {name!r}: the file is damaged")
    _check_version(metadata["format_version"], metadata["petiole_version"])
    return metadata


def _check_version(version: str, writer: str) -> None:
    if not version.isascii() or not version.isdigit() or not 1 <= len(version) <= 9 or int(version) < 1:
        raise ModelFileError(f"format_version={version[:40]!r}: must be a whole number at least 1")
    if int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"the file has format version {version} (written by petiole {writer[:40]!r}), but this petiole reads "
            f"versions up to {FORMAT_VERSION}: update petiole"
        )


@dataclass(frozen=True)
class _Place:
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def _places_of(described: dict[str, Any], n_bytes: int) -> dict[str, _Place]:
    places = {name: _place_of(name, entry) for name, entry in described.items()}
    at = 0
    for name, place in sorted(places.items(), key=lambda item: (item[1].begin, item[1].end)):
        if place.begin != at:
            raise ModelFileError(f"tensor {name!r} begins at byte {place.begin} and not at {at}: gaps or overlaps")
        if place.begin % place.dtype.itemsize:
            raise ModelFileError(f"tensor {name!r} begins at byte {place.begin}, which is not aligned to its numbers")
        at = place.end
    if at != n_bytes:
        raise ModelFileError(f"the tensors take {at:,} bytes, but the file has {n_bytes:,} for them: it is cut off")
    return places


def _place_of(name: str, entry: Any) -> _Place:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"tensor {name!r}: must be described by dtype, shape and data_offsets")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in DTYPES:
        raise ModelFileError(f"tensor {name!r}: dtype={str(entry['dtype'])[:40]!r} is none of {', '.join(DTYPES)}")
    if not _are_sizes(shape) or len(shape) > MOST_DIMENSIONS or not _are_sizes(offsets) or len(offsets) != 2:
        raise ModelFileError(f"tensor {name!r}: shape and data_offsets must be whole numbers of reasonable size")
    dtype = np.dtype(DTYPES[entry["dtype"]])
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise ModelFileError(f"tensor {name!r}: shape {shape} does not fit the bytes from {offsets[0]} to {offsets[1]}")
    return _Place(dtype, tuple(shape), offsets[0], offsets[1])


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**62 for value in values)


def _read_all(file: BinaryIO, size: int) -> bytes:
    file.seek(0)
    return file.read(size)


def _verify(buffer: bytes | mmap.mmap, data_start: int, checksum: str) -> None:
    header = bytes(buffer[:data_start])
    if len(checksum) != 64 or header.count(checksum.encode("utf-8")) != 1:
        raise ModelFileError("the checksum is not 64 characters that occur once in the header: the file is damaged")
    digest = hashlib.sha256(header.replace(checksum.encode(), NO_CHECKSUM.encode()))
    with memoryview(buffer) as whole:
        for at in range(data_start, len(whole), BLOCK):
            digest.update(whole[at : at + BLOCK])
    if digest.hexdigest() != checksum:
        raise ModelFileError("the checksum does not fit: the file was changed or damaged after it was written")


def _view(buffer: bytes | mmap.mmap, data_start: int, place: _Place) -> Array:
    count = (place.end - place.begin) // place.dtype.itemsize
    if not count:
        try:
            return np.zeros(place.shape, dtype=place.dtype)
        except ValueError as error:  # a side of zero beside others too large for any array
            raise ModelFileError(f"shape {place.shape}: {error}") from None
    flat = np.frombuffer(buffer, place.dtype, count, data_start + place.begin)
    return flat.reshape(place.shape)
