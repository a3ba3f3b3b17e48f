"""From a description in JSON and arrays by name to a model. Nothing in them is trusted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole.files.container import NAMES
from petiole.files.errors import ModelFileError
from petiole.files.registry import class_named
from petiole.files.writing import WIDEST_KEPT

MOST_NESTED = 32
NOT_FINITE = {"nan", "inf", "-inf"}
SCALARS = {dtype.name: dtype for dtype in NAMES}


class ModelReader:
    """Makes the objects of a model one after another; each may refer only to earlier ones, so there are no cycles."""

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
        self._tensors = tensors
        self._used: set[str] = set()
        self._made: list[Any] = []
        self._arrays: dict[tuple[str, str], npt.NDArray[Any]] = {}

    def read(self, description: Any, class_name: str) -> Any:
        """The last of the described objects, which is the model."""
        objects = description.get("objects") if isinstance(description, dict) else None
        if not isinstance(objects, list) or not objects:
            raise ModelFileError("the description of the model has no list of objects")
        for described in objects:
            self._made.append(self._make(described))
        if not objects[-1].get("state"):
            raise ModelFileError("the model has no state: only parts of a model need not be fitted")
        if objects[-1]["class"] != class_name:
            raise ModelFileError(f"the file says that it holds a {class_name[:80]!r}, but it holds something else")
        unused = sorted(set(self._tensors) - self._used)
        if unused:
            raise ModelFileError(f"tensor {unused[0][:80]!r} belongs to no part of the model")
        return self._made[-1]

    def _make(self, described: Any) -> Any:
        if not isinstance(described, dict) or not {"class"} <= set(described) <= {"class", "parameters", "state"}:
            raise ModelFileError(f"object {len(self._made)}: must have a class, and may have parameters and a state")
        cls = class_named(described["class"])
        path = f"{described['class']} (object {len(self._made)})"
        parameters = self._entries(described.get("parameters", {}), path)
        state = self._entries(described.get("state", {}), path)
        try:
            return cls._from_saved(parameters, state)
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:  # any error from a hostile state is an error of the file
            raise ModelFileError(f"{path}: {error}") from error

    def _entries(self, entries: Any, path: str) -> dict[str, Any]:
        if not isinstance(entries, dict):
            raise ModelFileError(f"{path}: parameters and state must be JSON objects")
        return {name: self._value(value, f"{path}.{name[:80]}", 0) for name, value in entries.items()}

    def _value(self, value: Any, path: str, depth: int) -> Any:
        if depth > MOST_NESTED:
            raise ModelFileError(f"{path}: nested more than {MOST_NESTED} deep")
        if isinstance(value, list):
            return [self._value(item, path, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        if "$" not in value:
            return {name: self._value(entry, f"{path}.{name[:80]}", depth + 1) for name, entry in value.items()}
        kind = value["$"]
        read = _KINDS.get(kind) if isinstance(kind, str) else None
        if read is None:
            raise ModelFileError(f"{path}: a value of the unknown kind {str(kind)[:40]!r}")
        try:
            return read(self, value, path, depth)
        except (KeyError, TypeError, ValueError, OverflowError, InvalidOperation) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"{path}: not a valid {kind} ({type(error).__name__}: {error})") from None

    def _object(self, value: dict[str, Any], path: str, depth: int) -> Any:
        index = value["index"]
        if type(index) is not int or not 0 <= index < len(self._made):
            raise ModelFileError(f"{path}: refers to object {str(index)[:40]}, and {len(self._made)} come before it")
        return self._made[index]

    def _float(self, value: dict[str, Any], path: str, depth: int) -> float:
        _require(value["value"] in NOT_FINITE, "must be nan, inf or -inf")
        return float(value["value"])

    def _tuple(self, value: dict[str, Any], path: str, depth: int) -> tuple[Any, ...]:
        return tuple(self._value(_list(value["items"]), path, depth + 1))

    def _dict(self, value: dict[str, Any], path: str, depth: int) -> dict[Any, Any]:
        pairs = self._value(_list(value["items"]), path, depth + 1)
        found = {_scalar(key): entry for key, entry in pairs}
        _require(len(found) == len(pairs), "a key is there twice")
        return found

    def _decimal(self, value: dict[str, Any], path: str, depth: int) -> Decimal:
        _require(isinstance(value["value"], str) and len(value["value"]) < 1000, "must be a text")
        number = Decimal(value["value"])
        _require(number.is_finite(), "must be finite")
        return number

    def _numpy_scalar(self, value: dict[str, Any], path: str, depth: int) -> Any:
        plain = _scalar(self._value(value["value"], path, depth + 1))
        dtype = SCALARS[value["dtype"]]
        kinds = {"b": bool, "i": int, "u": int, "f": float}
        _require(type(plain) is kinds[dtype.kind], f"must be a {dtype}")
        with np.errstate(over="ignore"):
            made = dtype.type(plain)
        _require(dtype.kind != "f" or bool(np.isfinite(made)) == math.isfinite(plain), f"is too large for {dtype}")
        return made

    def _texts(self, value: dict[str, Any], path: str, depth: int) -> npt.NDArray[Any]:
        items, width = _list(value["items"]), value["width"]
        _require(all(type(item) is str for item in items), "must be texts")
        longest = max(map(len, items), default=0)
        _require(type(width) is int and max(longest, 1) <= width <= max(longest, WIDEST_KEPT), "width does not fit")
        return np.array(items, dtype=f"<U{width}")

    def _objects(self, value: dict[str, Any], path: str, depth: int) -> npt.NDArray[Any]:
        items = [_scalar(self._value(item, path, depth + 1)) for item in _list(value["items"])]
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array

    def _array(self, value: dict[str, Any], path: str, depth: int) -> npt.NDArray[Any]:
        name, order = value["tensor"], value.get("order", "C")
        _require(isinstance(name, str) and order in ("C", "F"), "must name a tensor")
        if name not in self._tensors:
            raise ModelFileError(f"{path}: there is no tensor {name[:80]!r}")
        self._used.add(name)
        # The same array for the same tensor, as it was when it was written.
        if (name, order) not in self._arrays:
            array = self._tensors[name]
            self._arrays[name, order] = array.T if order == "F" else array
        return self._arrays[name, order]


_KINDS: dict[str, Callable[[ModelReader, dict[str, Any], str, int], Any]] = {
    "object": ModelReader._object,
    "float": ModelReader._float,
    "tuple": ModelReader._tuple,
    "dict": ModelReader._dict,
    "decimal": ModelReader._decimal,
    "scalar": ModelReader._numpy_scalar,
    "texts": ModelReader._texts,
    "objects": ModelReader._objects,
    "array": ModelReader._array,
}


def _require(ok: bool, message: str) -> None:
    if not ok:
        raise ValueError(message)


def _list(value: Any) -> list[Any]:
    _require(isinstance(value, list), "must have a list of items")
    return value


def _scalar(value: Any) -> Any:
    _require(value is None or isinstance(value, (str, bool, int, float, np.generic, Decimal)), "must be a single value")
    return value
