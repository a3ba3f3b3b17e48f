"""From a model to a description in JSON and arrays by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole.files.container import is_storable
from petiole.files.errors import ModelFileError
from petiole.files.registry import savable_form
from petiole.files.savable import check_common_parameters

# Text arrays are kept as wide as they were up to this many characters, beyond only as wide as their longest text.
WIDEST_KEPT = 256


class ModelWriter:
    """Collects the objects of a model, parts before wholes, and their arrays.

    An object or array that occurs twice is stored once.
    """

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.tensors: dict[str, npt.NDArray[Any]] = {}
        self._seen: dict[int, dict[str, Any]] = {}
        self._alive: list[Any] = []  # as long as ids are compared

    def add(self, value: Any, path: str) -> dict[str, Any]:
        """Describe an object after the objects that it holds; return what refers to it."""
        if id(value) in self._seen:
            return self._seen[id(value)]
        name, form = self._form(value, path)
        described: dict[str, Any] = {"class": name}
        if hasattr(form, "get_params"):
            parameters = form.get_params(deep=False)
            described["parameters"] = self._entries(parameters, path)
        state = form._saved_state()
        if state or "parameters" not in described:
            described["state"] = self._entries(state, path)
            _check_parts(form, state, path)
        self.objects.append(described)
        return self._remember(value, {"$": "object", "index": len(self.objects) - 1})

    def _entries(self, entries: Mapping[str, Any], path: str) -> dict[str, Any]:
        return {name: self._describe(value, f"{path}.{name}") for name, value in entries.items()}

    def _form(self, value: Any, path: str) -> tuple[str, Any]:
        found = savable_form(value)
        if found is None or found[1] is None:
            raise cannot_hold(value, path)
        return found

    def _remember(self, value: Any, reference: dict[str, Any]) -> dict[str, Any]:
        self._seen[id(value)] = reference
        self._alive.append(value)
        return reference

    def _describe(self, value: Any, path: str) -> Any:
        if value is None or type(value) in (bool, str, int):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if type(value) in (list, tuple):
            items = [self._describe(item, f"{path}.{index}") for index, item in enumerate(value)]
            return items if type(value) is list else {"$": "tuple", "items": items}
        if type(value) is dict:
            return self._describe_dict(value, path)
        if isinstance(value, np.ndarray):
            return self._describe_array(value, path)
        if isinstance(value, np.generic):
            return self._describe_scalar(value, path)
        if type(value) is Decimal and value.is_finite():
            return {"$": "decimal", "value": str(value)}
        return self.add(value, path)

    def _describe_dict(self, value: dict[Any, Any], path: str) -> dict[str, Any]:
        if all(type(key) is str for key in value) and "$" not in value:
            return self._entries(value, path)
        keys = [self._describe_entry(key, path) for key in value]
        entries = [self._describe(entry, f"{path}.{key}") for key, entry in value.items()]
        return {"$": "dict", "items": [list(pair) for pair in zip(keys, entries, strict=True)]}

    def _describe_scalar(self, value: np.generic, path: str) -> Any:
        if isinstance(value, np.str_):
            return str(value)
        if not is_storable(value.dtype):
            raise cannot_hold(value, path)
        return {"$": "scalar", "dtype": value.dtype.name, "value": self._describe(value.item(), path)}

    def _describe_array(self, array: npt.NDArray[Any], path: str) -> dict[str, Any]:
        if id(array) in self._seen:
            return self._seen[id(array)]
        if array.dtype.kind == "U" and array.ndim == 1:
            longest = max(map(len, array.tolist()), default=0)
            width = min(array.dtype.itemsize // 4, max(longest, WIDEST_KEPT))
            return self._remember(array, {"$": "texts", "width": max(width, 1), "items": array.tolist()})
        if array.dtype.kind == "O" and array.ndim == 1:
            items = [self._describe_entry(item, path) for item in array.tolist()]
            return self._remember(array, {"$": "objects", "items": items})
        if not is_storable(array.dtype):
            raise cannot_hold(array, path)
        name = self._new_name(path)
        by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        self.tensors[name] = array.T if by_columns else array
        reference = {"$": "array", "tensor": name}
        return self._remember(array, reference | {"order": "F"} if by_columns else reference)

    def _describe_entry(self, value: Any, path: str) -> Any:
        if value is not None and not isinstance(value, (str, bool, int, float, np.generic, Decimal)):
            raise cannot_hold(value, path)
        return self._describe(value, path)

    def _new_name(self, path: str) -> str:
        # Only characters that other readers of safetensors show well; numbered if a name would occur twice.
        name = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in path)
        return name if name not in self.tensors else f"{name}#{len(self.tensors)}"


def _check_parts(form: Any, state: dict[str, Any], path: str) -> None:
    """Apply the checks of reading: a file that cannot be loaded must not be written."""
    try:
        if hasattr(form, "_check_saved_parameters"):
            check_common_parameters(form.get_params(deep=False))
            form._check_saved_parameters()
        form._check_parts(state)
    except ValueError as error:
        raise ModelFileError(f"{path} is not as its fit has left it, so it is not saved: {error}") from error


def cannot_hold(value: Any, path: str) -> ModelFileError:
    """The error for a part that files cannot hold."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.ndarray):
        kind = f"array of dtype {value.dtype} and {value.ndim} dimensions"
    return ModelFileError(
        f"{path} is a {kind}, which a model file cannot hold: files hold petiole's own classes and plain values only, "
        "so that loading one never runs code of others. Keep this model with skops.io.dump or joblib.dump"
    )
