"""Probabilities and true labels: checks the input of metrics, decisions, comparisons and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import Codes, check_weights, encode_labels, label_codes
from petiole._table.rows import rows_that_count

# How far the sum of a row may be from 1: more than the rounding of single precision and printed figures is a mistake.
SUM_TOLERANCE = {np.dtype(np.float16): 1e-2, np.dtype(np.float32): 1e-4}
DOUBLE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Judged:
    """Checked probabilities and labels: ``proba[i, k]`` is the probability that row i is of class ``labels[k]``."""

    codes: Codes
    proba: Floats
    labels: Array
    weights: Floats

    @property
    def n_classes(self) -> int:
        return len(self.labels)

    @property
    def truth(self) -> Floats:
        """Indicators of the true classes: 1 in the column of the row's class, 0 elsewhere."""
        truth = np.zeros_like(self.proba)
        truth[np.arange(len(self.codes)), self.codes] = 1.0
        return truth

    @property
    def proba_of_truth(self) -> Floats:
        """The probability that was given to the true class of each row."""
        return self.proba[np.arange(len(self.codes)), self.codes]

    def mean(self, values: Floats) -> float:
        """The mean of one value per row, by the weights; a row of weight 0 does not count, even an infinite one."""
        kept = rows_that_count(self.weights)
        if kept is None:
            return float(np.average(values, weights=self.weights))
        return float(np.average(values[kept], weights=self.weights[kept]))


def check_judged(y_true: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None) -> Judged:
    """Check labels, probabilities and weights against each other; an error names the row and the remedy.

    ``labels`` has the class of each column of ``proba``; by default the sorted labels of ``y_true``.

    >>> judged = check_judged(["no", "yes"], [[0.9, 0.1], [0.4, 0.6]])
    >>> judged.proba_of_truth
    array([0.9, 0.6])
    >>> check_judged(["no", "no"], [[0.9, 0.1], [0.4, 0.6]])
    Traceback (most recent call last):
    ...
    ValueError: proba has 2 columns, but y_true has 1 class: pass labels= with the class of each column
    """
    table = check_probabilities(proba)
    classes, codes = _classes_and_codes(y_true, labels, table.shape[1])
    if len(codes) != len(table):
        raise ValueError(f"y_true has {len(codes)} labels, but proba has {len(table)} rows: give one row per label")
    weights = check_weights(sample_weight, len(table))
    return Judged(codes, table, classes, np.ones(len(table)) if weights is None else weights)


def check_probabilities(proba: Any, *, parameter: str = "proba") -> Floats:
    """Return a float64 table with one row per query and one column per class; each row must sum to 1.

    >>> check_probabilities([[0.9, 0.2]])
    Traceback (most recent call last):
    ...
    ValueError: proba[0] sums to 1.1: each row must sum to 1; divide the rows by their sums if they are scores
    """
    array = np.asarray(proba)
    if array.ndim == 1 and array.dtype.kind in "fiu":
        raise ValueError(
            f"{parameter} has shape {array.shape}: must have one row per query and one column per class; "
            "for the probability p of the second of two classes pass numpy.column_stack([1 - p, p])"
        )
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{parameter} has shape {array.shape}: must have one row per query and one column per class")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{parameter} has dtype {array.dtype}: must be real numbers")
    table = array.astype(np.float64, copy=False)
    _check_entries(table, parameter)
    _check_sums(table, SUM_TOLERANCE.get(array.dtype, DOUBLE_TOLERANCE), parameter)
    rounded_off = table.min() < 0 or table.max() > 1  # 1 - p for a p slightly above 1
    return np.clip(table, 0.0, 1.0) if rounded_off else table


def _check_entries(table: Floats, parameter: str) -> None:
    bad = ~((table >= -DOUBLE_TOLERANCE) & (table <= 1 + DOUBLE_TOLERANCE))  # NaN is neither
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{parameter}[{row}, {column}]={table[row, column]}: must be a probability between 0 and 1; "
            "correct or drop the row"
        )


def _check_sums(table: Floats, tolerance: float, parameter: str) -> None:
    sums = table.sum(axis=1)
    bad = np.abs(sums - 1) > tolerance
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"{parameter}[{row}] sums to {sums[row]:.6g}: each row must sum to 1; "
            "divide the rows by their sums if they are scores"
        )


def _classes_and_codes(y_true: Any, labels: Any, n_columns: int) -> tuple[Array, Codes]:
    found, codes = encode_labels(y_true)
    if labels is None:
        if len(found) != n_columns:
            n_classes = "1 class" if len(found) == 1 else f"{len(found)} classes"
            raise ValueError(
                f"proba has {n_columns} columns, but y_true has {n_classes}: pass labels= with the class of each column"
            )
        return found, codes
    classes = np.asarray(labels)
    if classes.shape != (n_columns,):
        raise ValueError(f"labels={labels!r}: must name the class of each of the {n_columns} columns of proba")
    if len(set(classes.tolist())) != n_columns:
        raise ValueError(f"labels={labels!r}: each class must occur once")
    return classes, label_codes(y_true, classes, "y_true", remedy="add it to labels= or remove these rows")
