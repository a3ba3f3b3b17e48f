"""Stratified folds that also work for rare classes, and the number of folds for a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._table.labels import shuffled_by_class
from petiole._validation import check_whole

# Cells of the table up to which folds are repeated, and beyond which there are fewer.
REPEATED_UP_TO, FIVE_FOLDS_UP_TO = 50_000, 5_000_000

Indices = npt.NDArray[np.intp]


class Split(NamedTuple):
    """Positions of the training rows and of the test rows."""

    train: Indices
    test: Indices


class Plan(NamedTuple):
    """The numbers of folds and repetitions."""

    folds: int
    repeats: int


def fold_numbers(codes: npt.NDArray[Any], n_folds: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """The fold of every row; -1 for the only row of a class, which is never tested.

    The rows of a class are dealt out one by one, so a class of at least two rows is never missing from training.

    >>> fold_numbers(np.array([0, 0, 0, 0, 1, 1, 2]), 2, np.random.default_rng(0))
    array([ 0,  1,  0,  1,  0,  1, -1])
    """
    order = shuffled_by_class(codes, random)
    _, class_of, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    alone = sizes[class_of] == 1
    dealt = order[~alone[order]]
    folds = np.full(len(codes), -1, dtype=np.int64)
    folds[dealt] = random.permutation(n_folds)[np.arange(len(dealt)) % n_folds]
    return folds


def make_splits(codes: npt.NDArray[Any], plan: Plan, random: np.random.Generator) -> list[Split]:
    """All folds of all repetitions; those of one repetition stand together."""
    splits = []
    for _ in range(plan.repeats):
        folds = fold_numbers(codes, plan.folds, random)
        splits += [Split(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(plan.folds)]
    return splits


def plan_folds(codes: npt.NDArray[Any], n_features: int, folds: Any, repeats: Any) -> Plan:
    """Check the numbers of folds and repetitions, or choose them by the size of the table."""
    check_whole("folds", folds, 2, optional=True)
    check_whole("repeats", repeats, 1, optional=True)
    sizes = np.unique(codes, return_counts=True)[1]
    n_tested = int(sizes[sizes > 1].sum())
    if n_tested == 0:
        raise ValueError(
            "y: every class has one row only, so none can be in both training and test; give more rows of each class, "
            "or test rows in test="
        )
    if folds is not None and folds > n_tested:
        raise ValueError(
            f"folds={folds!r}: must be at most {n_tested}, the number of rows whose class has more than one row"
        )
    cells = len(codes) * n_features
    if folds is None:
        folds = min(5 if cells <= FIVE_FOLDS_UP_TO else 3, n_tested)
    if repeats is None:
        repeats = 2 if cells <= REPEATED_UP_TO else 1
    return Plan(int(folds), int(repeats))
