"""Checks of the parts of a model. A check takes a value and raises ValueError, which names what the value must be."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._validation import LARGEST as LARGEST  # also for modules that declare parts
from petiole.files.errors import ModelFileError

Check = Callable[[Any], None]
Array = npt.NDArray[Any]


class Field(NamedTuple):
    """A part of an object's state: its check, and whether it may be absent."""

    check: Check
    optional: bool = False


def require(ok: Any, message: str) -> None:
    """Raise ValueError with the message unless the condition holds."""
    if not ok:
        raise ValueError(message)


def fields(**parts: Check | Field) -> dict[str, Field]:
    """The parts of an object's state by name: what each must be."""
    return {name: part if isinstance(part, Field) else Field(part) for name, part in parts.items()}


def maybe(check: Check) -> Field:
    """A part that may be absent."""
    return Field(check, optional=True)


def check_part(name: str, check: Check, value: Any) -> None:
    """Raise ValueError with the name of a part unless it passes the check."""
    try:
        check(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def anything(value: Any) -> None:
    """Any value that a file can hold."""


def none_or(check: Check) -> Check:
    """None, or what passes the check."""

    def checked(value: Any) -> None:
        if value is not None:
            check(value)

    return checked


def list_of(check: Check) -> Check:
    """A list whose entries pass the check."""

    def checked(value: Any) -> None:
        require(type(value) is list, "must be a list")
        for index, entry in enumerate(value):
            check_part(f"entry {index}", check, entry)

    return checked


def instance_of(*names: str) -> Check:
    """An object of one of the classes with these names; bases count."""

    def checked(value: Any) -> None:
        ok = any(base.__name__ in names for base in type(value).__mro__)
        require(ok, f"must be a {' or '.join(names)}, not a {type(value).__name__}")

    return checked


def fitted_classifier(value: Any) -> None:
    """A fitted classifier of petiole, which gives probabilities, by itself or in scikit-learn's FrozenEstimator."""
    inner = unfrozen(value)
    instance_of("SavableModel")(inner)
    require(hasattr(inner, "predict_proba"), f"must be a classifier, not a {type(inner).__name__}")
    require(hasattr(inner, "classes_"), f"must be fitted, and this {type(inner).__name__} is not")


def classifier(value: Any) -> None:
    """The same, fitted or not."""
    inner = unfrozen(value)
    ok = any(base.__name__ == "SavableModel" for base in type(inner).__mro__) and hasattr(inner, "predict_proba")
    require(ok, f"must be a classifier of petiole, not a {type(inner).__name__}")


def unfrozen(value: Any) -> Any:
    """What is in scikit-learn's FrozenEstimator, or the value itself."""
    return value.estimator if type(value).__name__ == "FrozenEstimator" else value


def same_columns(state: dict[str, Any], estimator: Any) -> None:
    """Raise ValueError unless a model that wraps an estimator has the columns of it."""
    for name in ("n_features_in_", "feature_names_in_"):
        ours, theirs = (np.asarray(value).tolist() for value in (state.get(name), getattr(estimator, name, None)))
        require(ours == theirs, f"{name}: must be that of the estimator")


def truth(value: Any) -> None:
    """True or False."""
    require(isinstance(value, (bool, np.bool_)), "must be True or False")


def text(value: Any) -> None:
    """A string."""
    require(type(value) is str, "must be a text")


def texts(value: Any) -> None:
    """A list of strings."""
    list_of(text)(value)


def whole(least: int = 0, most: int = 2**63 - 1) -> Check:
    """A whole number in a range."""

    def checked(value: Any) -> None:
        ok = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and least <= value <= most
        require(ok, f"must be a whole number from {least} to {most}")

    return checked


def number(least: float = -math.inf, most: float = math.inf, *, nan: bool = False) -> Check:
    """A finite number in a range, or NaN where that is allowed."""

    def checked(value: Any) -> None:
        good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        # NumPy makes objects of larger whole numbers.
        good = good and not (isinstance(value, int) and abs(value) >= 2**63)
        good = good and ((nan and math.isnan(value)) or (math.isfinite(value) and least <= value <= most))
        require(good, f"must be a number from {least:g} to {most:g}")

    return checked


def positive(value: Any) -> None:
    """A finite number greater than 0."""
    number(math.ulp(0.0))(value)


def floats(
    n_dimensions: int, least: float = -math.inf, most: float = math.inf, *, nan: bool = False, infinite: bool = False
) -> Check:
    """An array of float64 in a range; NaN and infinity only where they are allowed."""

    def checked(value: Any) -> None:
        require(
            type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == n_dimensions,
            f"must be an array of float64 with {n_dimensions} dimensions",
        )
        inside = (value >= least) & (value <= most)
        if not infinite:
            inside &= np.isfinite(value)
        if nan:
            inside |= np.isnan(value)
        require(inside.all(), f"must hold numbers from {least:g} to {most:g}")

    return checked


def weights(n_dimensions: int, least: float = 0.0) -> Check:
    """An array of weights, which neither overflow when they are added up nor when they are multiplied."""
    inside = floats(n_dimensions, least, LARGEST)

    def checked(value: Any) -> None:
        inside(value)
        require(value.sum() <= LARGEST, f"must have a sum of at most {LARGEST:g}")

    return checked


def integers(*dtypes: str) -> Check:
    """A flat array of integers of one of these types."""

    def checked(value: Any) -> None:
        ok = type(value) is np.ndarray and value.ndim == 1 and value.dtype.name in dtypes
        require(ok, f"must be a flat array of {' or '.join(dtypes)}")

    return checked


def labels(value: Any) -> None:
    """A flat array of different labels: truth values, numbers or texts."""
    ok = type(value) is np.ndarray and value.ndim == 1 and value.size > 0 and value.dtype.kind in "biufUO"
    require(ok, "must be a flat array of labels")
    listed = value.tolist()
    plain = all(isinstance(label, (str, bool, int, float, Decimal)) and label == label for label in listed)
    require(plain, "must hold texts, truth values or numbers")
    require(len(set(listed)) == len(listed), "must have different labels")


def label(value: Any) -> None:
    """A single label."""
    require(isinstance(value, (str, bool, int, float, np.generic)), "must be a label")


def names(value: Any) -> None:
    """A flat array of texts."""
    ok = type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "UO"
    require(ok and all(type(name) is str for name in value.tolist()), "must be a flat array of texts")


def rows_sum_to_one(table: Array) -> None:
    """A table of probabilities."""
    require(np.allclose(table.sum(axis=-1), 1.0, rtol=0, atol=1e-6), "must have rows that sum to 1")


def probabilities(n_dimensions: int) -> Check:
    """An array of numbers from 0 to 1 whose rows sum to 1."""
    inside = floats(n_dimensions, 0.0, 1.0 + 1e-9)

    def checked(value: Any) -> None:
        inside(value)
        rows_sum_to_one(value)

    return checked


def increasing(values: Array) -> bool:
    """Whether no number is smaller than the one before."""
    return bool((values[1:] >= values[:-1]).all())


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse sizes that exceed this machine's memory, even if the file is small."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not known on this system
        memory = 2**40
    if n_bytes > memory:
        raise ModelFileError(f"{what} would take {n_bytes / 2**30:,.1f} GiB, and this machine has {memory / 2**30:.1f}")
