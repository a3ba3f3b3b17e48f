"""Helpers of all metrics: checked rows, the class in question, ties among scores, class shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.judged import Judged, check_judged
from petiole._table.rows import rows_that_count

Indices = npt.NDArray[np.intp]

# Scores equal to this many decimals are tied: sums of the same shares in another order differ beyond them.
TIE_DECIMALS = 12


def judge(y_true: Any, proba: Any, labels: Any, sample_weight: Any) -> Judged:
    """Checked predictions and labels, without the rows of weight zero: 0 times an infinite loss is not a number."""
    judged = check_judged(y_true, proba, labels=labels, sample_weight=sample_weight)
    kept = rows_that_count(judged.weights)
    if kept is None:
        return judged
    return Judged(judged.codes[kept], judged.proba[kept], judged.labels, judged.weights[kept])


def target_column(labels: Array, target: Any) -> int:
    """The column of a class; by default the second of two."""
    if target is None and len(labels) <= 2:
        return len(labels) - 1
    columns = [column for column, label in enumerate(labels.tolist()) if label == target]
    if not columns:
        raise ValueError(f"target={target!r}: must be one of the classes {labels.tolist()}")
    return columns[0]


def one_against_rest(judged: Judged, column: int) -> Judged:
    """The same rows as a problem of two classes: the others (False) and the class of a column (True)."""
    # not 1 − p: if p is almost 1, the small probabilities of the others would be lost
    others = np.delete(judged.proba, column, axis=1).sum(axis=1)
    return Judged(
        (judged.codes == column).astype(np.int32),
        np.column_stack([others, judged.proba[:, column]]),
        np.array([False, True]),
        judged.weights,
    )


def class_shares(judged: Judged) -> Floats:
    """The share of each class in the truth, by the weights."""
    counts = group_sums(judged.codes.astype(np.intp), judged.weights, judged.n_classes)
    return counts / counts.sum()


def check_priors(priors: Any, judged: Judged) -> Floats:
    """One share per class, summing to 1: those given (counts will do), or those of the truth."""
    if priors is None:
        return class_shares(judged)
    shares = np.asarray(priors)
    good = shares.shape == (judged.n_classes,) and shares.dtype.kind in "fiu"
    if not good or not np.isfinite(shares).all() or (shares < 0).any() or not shares.any():
        raise ValueError(
            f"priors={priors!r}: must be a share or a count for each of the {judged.n_classes} classes, in the order "
            "of the columns"
        )
    total: Floats = shares / shares.sum()
    return total


def tie_groups(scores: Floats) -> Indices:
    """The group of each score: scores that are tied share one, and groups are numbered from the lowest score up.

    >>> tie_groups(np.array([0.3, 0.1, 0.1 + 1e-15, 0.2]))
    array([2, 0, 0, 1])
    """
    _, groups = np.unique(scores.round(TIE_DECIMALS), return_inverse=True)
    return groups.astype(np.intp, copy=False)


def group_sums(groups: Indices, weights: npt.ArrayLike, n_groups: int = 0) -> Floats:
    """The sum of the weights in each group."""
    return np.bincount(groups, weights=weights, minlength=n_groups).astype(np.float64, copy=False)


def check_flag(name: str, value: Any) -> None:
    """``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}: must be True or False")
