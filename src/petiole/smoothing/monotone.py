"""Any leaf estimator, made monotone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from petiole import _core
from petiole.files.checks import require
from petiole.smoothing.base import HeldOut, LeafEstimator, Table

if TYPE_CHECKING:
    from petiole._tree.tree import Tree


class Monotone(LeafEstimator):
    """The probabilities of another leaf estimator, those of one class made monotone along some columns.

    Which leaves are below which follows from the splits: leaf l is below leaf r if a row in l can become a row in r by
    moves of constrained columns in their directions. Where the class is more probable in l than in r, leaves are
    pooled: both get the mean of their probabilities, weighted by their rows (generalised pool-adjacent-violators).
    What is left for the other classes is divided among them as before.

    It is a function of a tree and its counts as every leaf estimator is. So probabilities stay monotone when rows are
    counted later, and under any other estimator. Classifiers with ``monotonic_cst`` put it around theirs.

    Parameters
    ----------
    estimator : leaf estimator
    signs : sequence of int
        For each column 1 if the probability must not fall as the column rises, -1 if it must not rise, 0 otherwise.
    target : int, default=1
        Whose probability: the position of a class.

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import Raw
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [2, 6], [7, 1]])
    >>> Monotone(Raw(), [1]).node_probabilities(tree).round(3).tolist()
    [[0.562, 0.438], [0.562, 0.438], [0.562, 0.438]]
    >>> Monotone(Raw(), [-1]).node_probabilities(tree).round(3).tolist()
    [[0.562, 0.438], [0.25, 0.75], [0.875, 0.125]]
    """

    def __init__(self, estimator: LeafEstimator, signs: Sequence[int], target: int = 1) -> None:
        self.estimator = estimator
        self.signs = signs
        self.target = target

    def check_parameters(self) -> None:
        if not isinstance(self.estimator, LeafEstimator):
            raise ValueError(f"estimator={self.estimator!r}: must be a leaf estimator such as Laplace()")
        require(all(sign in (-1, 0, 1) for sign in self.signs), f"signs={self.signs!r}: must be -1, 0 or 1 per column")
        require(isinstance(self.target, int) and self.target >= 0, f"target={self.target!r}: must be 0 or more")
        self.estimator.check_parameters()

    @property
    def is_repeatable(self) -> bool:
        return self.estimator.is_repeatable

    @property
    def needs_held_out(self) -> bool:
        return self.estimator.needs_held_out

    @property
    def out_of_bag_serves(self) -> bool:
        return self.estimator.out_of_bag_serves

    @property
    def learns_from_own_rows(self) -> bool:
        return self.estimator.learns_from_own_rows

    def settled(self, tree: Tree) -> LeafEstimator:
        return Monotone(self.estimator.settled(tree), self.signs, self.target)

    def learned(self, held_out: Sequence[HeldOut]) -> LeafEstimator:
        return Monotone(self.estimator.learned(held_out), self.signs, self.target)

    def node_probabilities(self, tree: Tree) -> Table:
        """Those of leaves are monotone; inner nodes answer no row and keep theirs."""
        table = self.estimator.node_probabilities(tree)
        if tree.n_features > len(self.signs) or tree.n_classes <= self.target:
            raise ValueError(
                f"{self!r}: the tree has {tree.n_features} columns and {tree.n_classes} classes; give a sign for each "
                "column, and one of the classes"
            )
        leaves = tree.leaves
        weights = np.ascontiguousarray(tree.weights[leaves])
        before = np.ascontiguousarray(table[leaves, self.target])
        after = np.asarray(_core.ordered_shares(tree.arrays, list(self.signs), before, weights))
        moved = leaves[after != before]
        made = table.copy()
        made[moved] = with_share(table[moved], self.target, after[after != before], tree.inbag_class_counts[0])
        return made


def with_share(rows: Table, target: int, shares: Table, others: Table) -> Table:
    """Rows of probabilities with other ones for a class; the rest is divided among the other classes as before.

    Where there was nothing for them, as ``others`` has it, or equally.
    """
    rest = rows.copy()
    rest[:, target] = 0.0
    instead = np.where(np.arange(rows.shape[1]) == target, 0.0, others)
    if instead.sum() <= 0:
        instead = (np.arange(rows.shape[1]) != target).astype(np.float64)
    rest[rest.sum(axis=1) <= 0] = instead
    made = rest * ((1.0 - shares) / rest.sum(axis=1))[:, np.newaxis]
    made[:, target] = shares
    return np.asarray(made)
