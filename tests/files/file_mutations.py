"""Ways to damage a model file, by chance or on purpose; the format is read here without petiole's help.

`tests/files/forge.py` makes them by the hundred thousand.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import re
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

# The classes that a file may name; written down here, because the format is read without petiole's help.
CLASSES = (
    *("Tree", "Forest", "FeatureEncoder", "TrainingSet", "LogPool", "PerturbedModel", "Attributes", "RandomState"),
    *("CrossFitted", "LinearModel", "LinearEncoding", "NumericFeatures", "Indicators"),
    *("PETClassifier", "BaggedPETClassifier", "MOBESPClassifier", "ProbabilityForestClassifier", "ConstantClassifier"),
    *("LazyOptionTreesClassifier", "DualPerturbCombineClassifier", "BinnedNaiveBayesClassifier", "FrozenEstimator"),
    *("CostSensitiveClassifier", "ExpectedProfitClassifier", "OOBCalibratedClassifier", "LinearRegression"),
    *("ConformalClassifier", "CalibrationScores"),
    *("BinningCalibrator", "SigmoidCalibrator", "BetaCalibrator", "IsotonicCalibrator", "TemperatureCalibrator"),
    *("VennAbersCalibrator", "BinMap", "SigmoidMap", "BetaMap", "IsotonicMap", "TemperatureMap", "VennAbersMap"),
    *("VectorScalingCalibrator", "VectorScalingMap", "StructuredMatrixCalibrator", "StructuredMatrixMap"),
    *("QuadraticCalibrator", "QuadraticMap", "SplineCalibrator", "SplineMap"),
    *("Raw", "Laplace", "MEstimate", "Curtailment", "MBranch", "HDP", "HGS", "PerLevel", "DummyClassifier"),
)

EXTREME = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e99, -1e99, 1e-99, 1e-300, 5e-324]

STRANGE = [
    *(None, True, False, 0, 1, -1, 2, 3, 255, 65_536, 2**31 - 1, 2**31, -(2**31), 2**40, 2**63, 2**64, 10**40),
    *(
        0.5,
        -0.5,
        1.5,
        1e99,
        1e308,
        -1e308,
        5e-324,
        "",
        "x",
        "auto",
        "nan",
        "__class__",
        "raw",
        "\ud800",
        [],
        {},
        [[]],
        [1],
    ),
    *({"$": "float", "value": "nan"}, {"$": "float", "value": "inf"}, {"$": "object", "index": 0}, {"$": "object"}),
    *({"$": "tuple", "items": []}, {"$": "array", "tensor": "?"}, {"$": "texts", "items": ["a"], "width": 2**31}),
    *(
        {"$": "dict", "items": [[1, 2]]},
        {"$": "what"},
        {"$": ["object"]},
        {"$": "scalar", "dtype": "int8", "value": 300},
        {"$": "scalar", "dtype": "float64", "value": {"$": "float", "value": "nan"}},
        {"$": "scalar", "dtype": "float32", "value": 1.0},
        {"$": "scalar", "dtype": "bool", "value": True},
        {"$": "decimal", "value": "1e999999"},
        {"$": "decimal", "value": "-1e-999999"},
        {"$": "decimal", "value": "sNaN"},
        {"$": "objects", "items": [None, "a", 2.5]},
        {"$": "texts", "items": ["a", "b"], "width": 1},
        {"$": "texts", "items": [], "width": 1},
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
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        names = sorted(parts.header)
        # Half of the files without arrays would else be left as they are.
        changes = ARRAY_CHANGES if names and rng.uniform() < 0.55 else DESCRIPTION_CHANGES
        change = changes[rng.integers(len(changes))]
        change(parts, names[rng.integers(len(names))] if names else "", rng)
        if change in LAST_CHANGES or not parts.model:
            break
    return parts.joined()


def places_of(whole: bytes) -> list[tuple[str, tuple]]:
    """Every place of the description that holds a value, with a name by which places of the same meaning are equal."""
    found = []

    def walk(value, name, path):
        found.append((name, path))
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            walk(value[key], f"{name}.{key if isinstance(key, str) else '*'}", (*path, key))

    for index, one in enumerate(Parts(whole).model["objects"]):
        for section in one:
            walk(one[section], f"{one['class']}.{section}", ("objects", index, section))
    return found


def with_value(whole: bytes, path: tuple, value: object) -> bytes:
    """The file with something else at a place of the description."""
    parts = Parts(whole)
    holder = parts.model
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = copy.deepcopy(value)
    return parts.joined()


def arrays_of(whole: bytes) -> list[tuple[str, str]]:
    """The names of all arrays, each with a name by which arrays of the same meaning are equal."""
    return [(re.sub(r"\.\d+", ".*", name), name) for name in sorted(Parts(whole).header)]


def with_array(whole: bytes, name: str, change, rng: np.random.Generator) -> bytes:
    """The file with one change to an array, one of ``ARRAY_CHANGES``."""
    parts = Parts(whole)
    change(parts, name, rng)
    return parts.joined()


# Arrays. Each change takes the parts of a file, the name of an array and a source of chance.


def _change_number(parts, name, rng):
    array = parts.array(name)
    if not array.size:
        return
    at = rng.integers(array.size, size=int(rng.choice([1, 1, 3, array.size])))
    if array.dtype.kind == "f":
        array[at] = rng.choice([*EXTREME, -1.0, 0.0, 0.5, 1.0, 2.0, rng.normal()])
    elif array.dtype.kind == "b":
        array.view(np.uint8)[at] = rng.choice([0, 1, 2, 255])
    else:
        limits = np.iinfo(array.dtype)
        near = np.clip(array[at[0]].astype(object) + int(rng.integers(-3, 4)), limits.min, limits.max)
        array[at] = rng.choice(np.array([limits.min, limits.max, 0, 1, 2, near], dtype=object))


def _scale_numbers(parts, name, rng):
    """Make all numbers larger or smaller, or exchange their signs."""
    array = parts.array(name)
    if array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            array[:] = array * rng.choice([-1.0, 0.0, 0.5, 3.0, 1e90, 1e300, 1e-90, 1e-300, 1e-320])
    elif array.dtype.kind in "iu":
        array[:] = array * array.dtype.type(2) if rng.uniform() < 0.5 else array[::-1].copy()


def _flip_bits(parts, name, rng):
    begin, end = parts.header[name]["data_offsets"]
    for _ in range(int(rng.choice([1, 1, 8]))):
        if end > begin:
            parts.data[int(rng.integers(begin, end))] ^= 1 << int(rng.integers(8))


def _blur_numbers(parts, name, rng):
    """Put numbers of the same array in the place of others, so that each by itself is a likely one."""
    array = parts.array(name)
    if array.size:
        at = rng.integers(array.size, size=int(rng.choice([1, 2, max(array.size // 2, 1)])))
        array[at] = array[rng.integers(array.size, size=at.size)]


def _exchange_numbers(parts, name, rng):
    array = parts.array(name)
    if array.size > 1:
        one, two = rng.integers(array.size, size=2)
        array[[one, two]] = array[[two, one]]


def _reorder_numbers(parts, name, rng):
    array = parts.array(name)
    orders = [lambda a: a[::-1], np.sort, lambda a: np.roll(a, 1), rng.permutation, lambda a: np.repeat(a[:1], a.size)]
    if array.size > 1:
        array[:] = orders[rng.integers(len(orders))](array.copy())


def _tie_knots(parts, name, rng):
    """Exchange children of nodes: cycles, parts that the root does not reach, paths of another length."""
    of_children = [one for one in parts.header if one.endswith("child_nodes") and parts.array(one).size > 1]
    name = of_children[rng.integers(len(of_children))] if of_children else name
    for _ in range(int(rng.choice([1, 2, 5]))):
        _exchange_numbers(parts, name, rng)


def _change_length(parts, name, rng):
    array = parts.array(name).reshape(parts.header[name]["shape"]).copy()
    if array.ndim and len(array):
        kept = array[: rng.integers(len(array) + 1)]
        parts.replace_array(name, kept if rng.uniform() < 0.5 else np.concatenate([array, array[:1]]))


def _change_type(parts, name, rng):
    values = parts.array(name).reshape(parts.header[name]["shape"]).copy()
    with np.errstate(all="ignore"):
        parts.replace_array(name, values, str(rng.choice(list(ITEM_SIZES))))


def _change_shape(parts, name, rng):
    shape = parts.header[name]["shape"]
    size = math.prod(shape)
    choices = [[size], [1, size], [size, 1], [], [-1], [size, 2**62], [0, 2**61], [2**61, 2**61, 0], shape[::-1]]
    parts.header[name]["shape"] = choices[rng.integers(len(choices))]


def _change_entry(parts, name, rng):
    field = str(rng.choice(["dtype", "shape", "data_offsets"]))
    parts.header[name][field] = _strange(rng)


def _exchange_arrays(parts, name, rng):
    other = str(rng.choice(sorted(parts.header)))
    parts.header[name], parts.header[other] = parts.header[other], parts.header[name]


def _copy_array(parts, name, rng):
    """Put the numbers of one array in the place of another."""
    other = str(rng.choice(sorted(parts.header)))
    values = parts.array(other).reshape(parts.header[other]["shape"]).copy()
    parts.replace_array(name, values, parts.header[other]["dtype"])


def _drop_array(parts, name, rng):
    parts.header.pop(name, None)


# The description.


def _change_description(parts, name, rng):
    """Put something strange at any place of the description."""
    holder, key = _any_place(parts.model, rng)
    if rng.uniform() < 0.15 and isinstance(holder, dict):
        del holder[key]
    elif rng.uniform() < 0.15 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[key] = _strange(rng)


def _change_plain_number(parts, name, rng):
    """Change a number of the description to a near or an extreme one of the same type."""
    found = _any_place(parts.model, rng, lambda value: type(value) in (int, float))
    if found is not None:
        holder, key = found
        if type(holder[key]) is int:
            holder[key] = int(rng.choice(np.array([holder[key] + 1, holder[key] - 1, 2 * holder[key], 0, -1, 2**31])))
        else:
            with np.errstate(all="ignore"):
                changed = float(holder[key] * rng.choice([-1.0, 0.0, 0.5, 3.0, 1e90, 1e300, 1e-90, 1e-300]))
            holder[key] = changed if math.isfinite(changed) else 1e308


def _copy_within_description(parts, name, rng):
    holder, key = _any_place(parts.model, rng)
    other, its_key = _any_place(parts.model, rng)
    holder[key] = copy.deepcopy(other[its_key])


def _change_reference(parts, name, rng):
    """Let a part be another object of the file, or another array."""
    refers = ("object", "array")
    found = _any_place(parts.model, rng, lambda value: isinstance(value, dict) and value.get("$") in refers)
    if found is None:
        return
    value = found[0][found[1]]
    if value["$"] == "object":
        value["index"] = int(rng.integers(len(_objects_of(parts)) + 1))
    elif parts.header:
        value["tensor"] = str(rng.choice(sorted(parts.header)))


def _change_class(parts, name, rng):
    """Say that an object is of another class, of the file's or of any."""
    objects = [one for one in _objects_of(parts) if "class" in one]
    if not objects:
        return
    known = [str(one["class"]) for one in objects] if rng.uniform() < 0.5 else CLASSES
    changed = objects[rng.integers(len(objects))]
    changed["class"] = str(rng.choice(known))
    if changed is objects[-1]:
        parts.metadata["class"] = changed["class"]


def _exchange_states(parts, name, rng):
    """Let two objects exchange a section, or a part of one."""
    objects = _objects_of(parts)
    if len(objects) < 2:
        return
    one, other = (objects[at] for at in rng.integers(len(objects), size=2))
    section = str(rng.choice(["state", "parameters"]))
    ours, theirs = one.get(section), other.get(section)
    shared = sorted(set(ours) & set(theirs)) if isinstance(ours, dict) and isinstance(theirs, dict) else []
    if shared and rng.uniform() < 0.5:
        key = shared[rng.integers(len(shared))]
        ours[key], theirs[key] = theirs[key], ours[key]
    elif ours is not None and theirs is not None:
        one[section], other[section] = theirs, ours


def _change_metadata(parts, name, rng):
    key = str(rng.choice(list(parts.metadata)))
    parts.metadata[key] = _strange(rng)
    if key == "model":
        parts.model = None


def _objects_of(parts):
    """The objects of the description that are still whole."""
    objects = parts.model.get("objects")
    return [one for one in objects if isinstance(one, dict)] if isinstance(objects, list) else []


def _strange(rng):
    return copy.deepcopy(STRANGE[rng.integers(len(STRANGE))])


def _any_place(value, rng, wanted=lambda value: True):
    """A random place below a value: its holder and the key, deep places as likely as shallow ones."""
    places = []

    def walk(holder):
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            if wanted(holder[key]):
                places.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                walk(holder[key])

    walk(value)
    return places[rng.integers(len(places))] if places else None


ARRAY_CHANGES = [
    *(_change_number, _change_number, _change_number, _scale_numbers, _flip_bits, _flip_bits, _blur_numbers),
    *(_exchange_numbers, _reorder_numbers, _tie_knots, _change_length, _change_type, _change_shape),
    *(_change_entry, _exchange_arrays, _copy_array, _drop_array),
]
DESCRIPTION_CHANGES = [
    *(_change_description, _change_description, _change_description, _change_plain_number, _change_plain_number),
    *(_copy_within_description, _change_reference, _change_class, _exchange_states, _change_metadata),
]
# After these there may be nothing left that could be changed further.
LAST_CHANGES = (_change_shape, _change_entry, _change_metadata)
