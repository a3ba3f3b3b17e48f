"""Held-out rows for a single tree: grow on some folds, count the rows of the fold left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from petiole._table.labels import shuffled_by_class
from petiole._table.rows import EncodedRows
from petiole._tree.traversal import class_counts
from petiole._tree.tree import Tree
from petiole.smoothing import HeldOut

N_FOLDS = 5


def cross_fit(training: EncodedRows, grow: Callable[[EncodedRows], Tree], random: np.random.Generator) -> list[HeldOut]:
    """Trees grown on all folds but one, each with the class counts of the rows it has not seen."""
    fold_of = deal_into_folds(training.labels, min(N_FOLDS, len(training)), random)
    held_out = []
    for fold in np.unique(fold_of):
        rest = training.take(fold_of == fold)
        grown_on = training.take(fold_of != fold)
        if len(grown_on) == 0:
            continue
        tree = grow(grown_on)
        held_out.append(HeldOut(tree, class_counts(tree, rest.matrix, rest.labels, rest.weights)))
    return held_out


def deal_into_folds(labels: npt.NDArray[np.int32], n_folds: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Assign rows to folds class by class, so that every fold has its share of each; a class continues where the last
    one ended."""
    fold_of = np.empty(len(labels), dtype=np.int64)
    fold_of[shuffled_by_class(labels, random)] = np.arange(len(labels)) % n_folds
    return fold_of
