"""Ways to damage a model file, by chance or on purpose; the format is read here without petiole's help."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import struct

import numpy as np

ITEM_SIZES = {
    "F64": 8,
    "F32": 4,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U64": 8,
    "U32": 4,
    "U16": 2,
    "U8": 1,
    "BOOL": 1,
}
NUMPY = {name: ("b1" if name == "BOOL" else f"{name[0].lower()}{size}") for name, size in ITEM_SIZES.items()}

STRANGE = [
    *(None, True, False, 0, 1, -1, 2, 3, 255, 65_536, 2**31 - 1, 2**31, -(2**31), 2**40, 2**63, 2**64, 10**40),
    *(0.5, -0.5, 1.5, 1e308, -1e308, 5e-324, "", "x", "auto", "nan", "__class__", "raw", "\ud800", [], {}, [[]], [1]),
    *({"$": "float", "value": "nan"}, {"$": "float", "value": "inf"}, {"$": "object", "index": 0}, {"$": "object"}),
    *({"$": "tuple", "items": []}, {"$": "array", "tensor": "?"}, {"$": "texts", "items": ["a"], "width": 2**31}),
    *(
        {"$": "dict", "items": [[1, 2]]},
        {"$": "what"},
        {"$": ["object"]},
        {"$": "scalar", "dtype": "int8", "value": 300},
    ),
]


class Parts:
    """A file in parts: the entries of its header, the description of the model, and the bytes of its arrays."""

    def __init__(self, whole: bytes) -> None:
        (length,) = struct.unpack("<Q", whole[:8])
        self.header = json.loads(whole[8 : 8 + length])
        self.metadata = self.header.pop("__metadata__")
        self.model = json.loads(self.metadata["model"])
        self.data = bytearray(whole[8 + length :])

    def array(self, name: str) -> np.ndarray:
        """A writable view of an array."""
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        return np.frombuffer(memoryview(self.data)[begin:end], dtype=NUMPY[entry["dtype"]])

    def joined(self, *, seal: bool = True) -> bytes:
        """The bytes again, with a right checksum."""
        metadata = {**self.metadata, "model": json.dumps(self.model)} if self.model is not None else self.metadata
        header = json.dumps({"__metadata__": metadata | {"checksum": "0" * 64}, **self.header}).encode()
        header += b" " * (-len(header) % 8)
        whole = struct.pack("<Q", len(header)) + header + bytes(self.data)
        return sealed(whole) if seal else whole

    def replace_array(self, name: str, values: np.ndarray, dtype: str | None = None) -> None:
        """Put other numbers, of any length, in the place of an array."""
        kept = {}
        for other, entry in self.header.items():
            kept[other] = (entry, bytes(self.data[slice(*entry["data_offsets"])]))
        code = dtype or self.header[name]["dtype"]
        kept[name] = ({"dtype": code, "shape": list(values.shape)}, values.astype(NUMPY[code]).tobytes())
        order = sorted(kept, key=lambda other: (-ITEM_SIZES[kept[other][0]["dtype"]], other))
        self.header, self.data = {}, bytearray()
        for other in order:
            entry, content = kept[other]
            place = [len(self.data), len(self.data) + len(content)]
            self.header[other] = {**entry, "data_offsets": place}
            self.data += content


def sealed(whole: bytes) -> bytes:
    """The file with the checksum that its bytes ask for, wherever there are 64 zeros after the name."""
    start = whole.index(b'"checksum": "') + len(b'"checksum": "')
    digest = hashlib.sha256(whole).hexdigest().encode()
    return whole[:start] + digest + whole[start + 64 :]


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Damage by chance: flipped bits, lost, doubled, exchanged or overwritten bytes."""
    kind, at = rng.integers(7), int(rng.integers(len(whole)))
    size = int(rng.integers(1, 64))
    if kind <= 1:
        changed = bytearray(whole)
        changed[at] ^= 1 << rng.integers(8)
        return bytes(changed)
    if kind == 2:
        return whole[:at]
    if kind == 3:
        return whole[:at] + whole[at + size :]
    if kind == 4:
        return whole[:at] + rng.bytes(size) + whole[at:]
    if kind == 5:
        return whole[:at] + bytes(size) + whole[at + size :]
    other = int(rng.integers(len(whole)))
    changed = bytearray(whole)
    changed[at], changed[other] = changed[other], changed[at]
    return bytes(changed)


def forged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Damage on purpose, with a right checksum: numbers, lengths, types, and the description."""
    parts = Parts(whole)
    names = sorted(parts.header)
    change = CHANGES[rng.integers(len(CHANGES))]
    for _ in range(int(rng.choice([1, 1, 1, 2]))):
        change(parts, names[rng.integers(len(names))] if names else "", rng)
    return parts.joined()


def _change_number(parts, name, rng):
    array = parts.array(name) if name else np.empty(0)
    if not array.size:
        return
    at = rng.integers(array.size, size=int(rng.choice([1, 1, 3])))
    if array.dtype.kind == "f":
        array[at] = rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 2.0, 1e308, 1e-300, rng.normal()])
    elif array.dtype.kind == "b":
        array.view(np.uint8)[at] = rng.choice([0, 1, 2, 255])
    else:
        limits = np.iinfo(array.dtype)
        near = np.clip(array[at[0]].astype(object) + int(rng.integers(-3, 4)), limits.min, limits.max)
        array[at] = rng.choice(np.array([limits.min, limits.max, 0, 1, 2, near], dtype=object))


def _exchange_numbers(parts, name, rng):
    array = parts.array(name) if name else np.empty(0)
    if array.size > 1:
        one, two = rng.integers(array.size, size=2)
        array[[one, two]] = array[[two, one]]


def _change_length(parts, name, rng):
    if not name:
        return
    array = parts.array(name).reshape(parts.header[name]["shape"]).copy()
    if array.ndim and len(array):
        kept = array[: rng.integers(len(array) + 1)]
        parts.replace_array(name, kept if rng.uniform() < 0.5 else np.concatenate([array, array[:1]]))


def _change_type(parts, name, rng):
    if name:
        values = parts.array(name).reshape(parts.header[name]["shape"]).copy()
        with np.errstate(all="ignore"):
            parts.replace_array(name, values, str(rng.choice(list(ITEM_SIZES))))


def _change_shape(parts, name, rng):
    if name:
        shape = parts.header[name]["shape"]
        size = math.prod(shape)
        choices = [[size], [1, size], [size, 1], [], [-1], [size, 2**62], [0, 2**61], [2**61, 2**61, 0], shape[::-1]]
        parts.header[name]["shape"] = choices[rng.integers(len(choices))]


def _change_entry(parts, name, rng):
    if name:
        field = str(rng.choice(["dtype", "shape", "data_offsets"]))
        parts.header[name][field] = copy.deepcopy(STRANGE[rng.integers(len(STRANGE))])


def _exchange_arrays(parts, name, rng):
    if name:
        other = str(rng.choice(sorted(parts.header)))
        parts.header[name], parts.header[other] = parts.header[other], parts.header[name]


def _drop_array(parts, name, rng):
    parts.header.pop(name, None)


def _change_description(parts, name, rng):
    """Put something strange at any place of the description."""
    holder, key = _any_place(parts.model, rng)
    if rng.uniform() < 0.15 and isinstance(holder, dict):
        del holder[key]
    elif rng.uniform() < 0.15 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[key] = copy.deepcopy(STRANGE[rng.integers(len(STRANGE))])


def _copy_within_description(parts, name, rng):
    holder, key = _any_place(parts.model, rng)
    other, its_key = _any_place(parts.model, rng)
    holder[key] = copy.deepcopy(other[its_key])


def _change_metadata(parts, name, rng):
    key = str(rng.choice(list(parts.metadata)))
    parts.metadata[key] = copy.deepcopy(STRANGE[rng.integers(len(STRANGE))])
    if key == "model":
        parts.model = None


def _any_place(value, rng):
    """A random place below a value: its holder and the key, deep places as likely as shallow ones."""
    places = []

    def walk(holder):
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            places.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                walk(holder[key])

    walk(value)
    return places[rng.integers(len(places))]


CHANGES = [
    *(_change_number, _change_number, _change_number, _exchange_numbers, _change_length, _change_type, _change_shape),
    *(_change_entry, _exchange_arrays, _drop_array, _change_metadata),
    *(_change_description, _change_description, _change_description, _copy_within_description),
]
