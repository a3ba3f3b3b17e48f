"""Class labels as codes, weights as floats, and checks that both have one entry per row."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from petiole._table.columns import CATEGORICAL_TYPES, SCALAR_TYPES, Floats, look_up, missing_types
from petiole._table.frames import Array, as_array, read_series, reject_sparse, unwrap_frame

Codes = NDArray[np.int32]


def shuffled_by_class(codes: NDArray[Any], random: np.random.Generator) -> NDArray[np.intp]:
    """The positions of all rows, class by class, shuffled within each: the order in which folds are assigned.

    >>> shuffled_by_class(np.array([1, 0, 1, 0]), np.random.default_rng(0))
    array([1, 3, 2, 0])
    """
    shuffled = random.permutation(len(codes))
    return shuffled[np.argsort(codes[shuffled], kind="stable")]


def encode_labels(y: Any, *, warn: bool = True) -> tuple[Array, Codes]:
    """Return the sorted classes and, for each label, the position of its class.

    With ``warn``, a warning is given if nearly all labels differ, as in a regression target.

    >>> encode_labels(["no", "yes", "no"])
    (array(['no', 'yes'], dtype=object), array([0, 1, 0], dtype=int32))
    >>> encode_labels(np.array([3.0, 1.0]))
    (array([1., 3.]), array([1, 0], dtype=int32))
    """
    if y is None:
        raise ValueError(
            "This classifier requires y to be passed, but the target y is None: give one class label per row"
        )
    labels = _read_labels(y)
    if not len(labels):
        raise ValueError("y has no labels: give one class label per row of X")
    classes, codes = _factorize(labels)
    if warn:
        _warn_if_continuous(len(classes), len(labels))
    return classes, codes


def check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return one non-negative float64 weight per row (not copied if it is that already), None if all equal.

    >>> check_weights(2, n_rows=3)
    array([2., 2., 2.])
    """
    if sample_weight is None:
        return None
    weights = _read_weights(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has shape {weights.shape}: must be a 1D array with one weight per row, or one")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight has {len(weights)} weights, but X has {n_rows} rows: give one weight per row")
    _check_weight_values(weights)
    return weights


def check_same_length(n_rows: int, n_labels: int) -> None:
    """Raise an error unless X and y have the same number of rows."""
    if n_rows != n_labels:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]. "
            "Give one label in y per row of X."
        )


def _read_labels(y: Any) -> Array:
    reject_sparse(y, "y")
    labels = y if isinstance(y, (np.ndarray, list, tuple)) else unwrap_frame(y, "y")
    if isinstance(labels, nw.Series):
        labels = _one_per_row(labels, "y")
    elif isinstance(labels, nw.DataFrame):
        series = list(labels.iter_columns())
        # two dimensions, so that scikit-learn warns of one column and refuses more
        labels = np.column_stack([_one_per_row(column, "y") for column in series])
    vector: Array = column_or_1d(as_array(labels), warn=True)
    return vector


def _one_per_row(series: Any, parameter: str) -> Array:
    column = read_series(series, parameter)
    return column.spread(column.values)


def _factorize(labels: Array) -> tuple[Array, Codes]:
    kind = labels.dtype.kind
    if kind == "b":
        classes, codes = _factorize_integers(labels.astype(np.uint8))
        return classes.astype(bool), codes
    if kind in "iu":
        return _factorize_integers(labels)
    if kind == "f":
        return _factorize_floats(labels)
    if kind == "U":
        classes, codes = _factorize_by_look_up(labels.tolist())
        return classes.astype(labels.dtype), codes
    if kind == "O":
        return _factorize_objects(labels.tolist())
    raise _unknown_label_type(str(labels.dtype))


def _factorize_integers(labels: Array) -> tuple[Array, Codes]:
    # Widened, since the distance between two int8 need not be an int8.
    wide = labels if labels.dtype.kind == "u" else labels.astype(np.int64)
    lowest, highest = int(wide.min()), int(wide.max())
    n_slots = highest - lowest + 1
    if n_slots > max(1024, 2 * len(labels)):  # too sparse for one slot per integer
        return _factorize_by_sorting(labels)
    offsets = (wide - wide.dtype.type(lowest)).astype(np.intp)
    used = np.flatnonzero(np.bincount(offsets, minlength=n_slots))
    code_of = np.zeros(n_slots, dtype=np.int32)
    code_of[used] = np.arange(len(used), dtype=np.int32)
    classes = (used.astype(wide.dtype) + wide.dtype.type(lowest)).astype(labels.dtype)
    return classes, code_of[offsets]


def _factorize_floats(labels: Array) -> tuple[Array, Codes]:
    if np.isnan(labels).any():
        raise _missing_label(int(np.isnan(labels).argmax()))
    if np.isinf(labels).any():
        row = int(np.isinf(labels).argmax())
        raise ValueError(f"y contains infinity (row {row}): labels must be finite; drop or correct the row")
    if (labels != np.rint(labels)).any():
        _refuse_continuous(labels)
    if np.abs(labels).max() >= 2**53:
        return _factorize_by_sorting(labels)
    classes, codes = _factorize_integers(labels.astype(np.int64))
    return classes.astype(labels.dtype), codes


def _refuse_continuous(labels: Array) -> None:
    try:
        check_classification_targets(labels)  # in scikit-learn's words
    except ValueError as error:
        raise ValueError(
            f"{error} To predict ranges, cut it into classes: petiole.datasets.cut_into_classes(y, [0, 10, 100])"
        ) from None


def _factorize_objects(labels: list[Any]) -> tuple[Array, Codes]:
    types = set(map(type, labels))
    _check_no_missing_label(labels, types)
    for type_ in types:
        if not issubclass(type_, SCALAR_TYPES):
            raise _unknown_label_type(type_.__name__)
    if all(issubclass(type_, str) for type_ in types):
        return _factorize_by_look_up(list(map(str, labels)))
    if all(issubclass(type_, (bool, np.bool_)) for type_ in types):
        return _factorize(np.array(labels, dtype=bool))
    if any(issubclass(type_, CATEGORICAL_TYPES) for type_ in types):
        found = ", ".join(sorted(type_.__name__ for type_ in types))
        raise TypeError(f"y mixes labels of types {found}: convert them to one type, for example to strings")
    if not all(issubclass(type_, numbers.Integral) for type_ in types):
        return _factorize(np.array(labels, dtype=np.float64))
    try:
        return _factorize(np.array(labels, dtype=np.int64))
    except OverflowError:
        return _factorize_by_look_up(list(map(int, labels)))


def _factorize_by_look_up(labels: list[Any]) -> tuple[Array, Codes]:
    classes = sorted(set(labels))
    codes = look_up({label: code for code, label in enumerate(classes)}, labels)
    return np.array(classes, dtype=object), codes.astype(np.int32)


def _factorize_by_sorting(labels: Array) -> tuple[Array, Codes]:
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int32)


def _check_no_missing_label(labels: list[Any], types: set[type]) -> None:
    if types <= {str, bool, int}:
        return
    missing = missing_types()
    for row, label in enumerate(labels):
        # NaN is the one value that differs from itself
        if type(label) in missing or (isinstance(label, numbers.Number) and label != label):
            raise _missing_label(row)


def _missing_label(row: int) -> ValueError:
    return ValueError(
        f"y contains NaN or another missing label (row {row}): drop the rows without a label, "
        "or give them a class of their own"
    )


def _unknown_label_type(found: str) -> ValueError:
    return ValueError(f"Unknown label type: {found}. Class labels must be integers, strings or truth values")


def _warn_if_continuous(n_classes: int, n_labels: int) -> None:
    # scikit-learn's rule and message; its own check would sort all labels again
    if n_labels > 20 and n_classes > round(0.5 * n_labels):
        warnings.warn(
            "The number of unique classes is greater than 50% of the number of samples. "
            "`y` could represent a regression problem, not a classification problem.",
            UserWarning,
            stacklevel=3,
        )


def _read_weights(sample_weight: Any) -> Array:
    reject_sparse(sample_weight, "sample_weight")
    weights = unwrap_frame(sample_weight, "sample_weight")
    if isinstance(weights, nw.Series):
        weights = _one_per_row(weights, "sample_weight")
    elif isinstance(weights, nw.DataFrame):
        weights = weights.to_numpy()
    array = as_array(weights)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: sample_weight must be real numbers")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight={sample_weight!r}: must be numbers, one per row") from None


def _check_weight_values(weights: Floats) -> None:
    not_finite = ~np.isfinite(weights)
    if not_finite.any():
        raise _bad_weight(weights, not_finite, "must be finite; 0 leaves a row out")
    negative = weights < 0
    if negative.any():
        raise _bad_weight(weights, negative, "must not be negative; 0 leaves a row out")
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero; give at least one row a positive weight")


def _bad_weight(weights: Floats, bad: NDArray[np.bool_], remedy: str) -> ValueError:
    row = int(bad.argmax())
    return ValueError(f"sample_weight[{row}]={weights[row]}: {remedy}")


def label_codes(y: Any, classes: Array, parameter: str, remedy: str = "remove these rows") -> Codes:
    """The codes of labels among known classes; any other label is an error.

    >>> label_codes(["yes", "no"], np.array(["no", "yes"]), "y")
    array([1, 0], dtype=int32)
    """
    found, codes = encode_labels(y, warn=False)
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    for label in found.tolist():
        if label not in code_of:
            raise ValueError(f"{parameter} has the label {label!r}, but the classes are {classes.tolist()}: {remedy}")
    return np.array([code_of[label] for label in found.tolist()], dtype=np.int32)[codes]
