"""Held-out rows for a single tree: grow on some folds, count the rows of the fold left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from petiole._tree.growing import TrainingSet
from petiole._tree.traversal import class_counts
from petiole._tree.tree import Tree
from petiole.smoothing import HeldOut

N_FOLDS = 5


def cross_fit(training: TrainingSet, grow: Callable[[TrainingSet], Tree], random: np.random.Generator) -> list[HeldOut]:
    """Trees grown on all folds but one, each with the class counts of the rows it has not seen."""
    fold_of = deal_into_folds(training.labels, min(N_FOLDS, training.n_rows), random)
    held_out = []
    for fold in np.unique(fold_of):
        rest = training.rows(fold_of == fold)
        grown_on = training.rows(fold_of != fold)
        if grown_on.n_rows == 0:
            continue
        tree = grow(grown_on)
        held_out.append(HeldOut(tree, class_counts(tree, rest.matrix, rest.labels, rest.weights)))
    return held_out


def deal_into_folds(labels: npt.NDArray[np.int32], n_folds: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Deal the rows of each class in turn, so that every fold has its share; the next class goes on where one ended."""
    shuffled = random.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold_of = np.empty(len(labels), dtype=np.int64)
    fold_of[by_class] = np.arange(len(labels)) % n_folds
    return fold_of
