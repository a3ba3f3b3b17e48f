"""The estimate of one tree: its leaf estimator's probabilities."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import Queries
from petiole._table.rows import EncodedRows
from petiole._tree import traversal
from petiole._tree.tree import Tree
from petiole.smoothing import LeafEstimator

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SingleTree:
    """One tree, and class probabilities at its nodes."""

    tree: Tree
    estimator: LeafEstimator
    node_probabilities: Floats

    looks_up_votes = False

    @classmethod
    def of(cls, tree: Tree, estimator: LeafEstimator) -> SingleTree:
        """The estimate of a tree by a leaf estimator that has nothing left to learn."""
        return cls(tree, estimator, estimator.node_probabilities(tree))

    @classmethod
    def in_forest(cls, tree: Tree, estimator: LeafEstimator, oob_weight: float) -> SingleTree:
        """The same for a tree of a forest, in whose leaves rows outside its sample count ``oob_weight`` times."""
        if oob_weight > 0:
            tree = tree.with_counts(inbag=tree.inbag_class_counts + oob_weight * tree.oob_class_counts)
        return cls.of(tree, estimator)

    @property
    def structure(self) -> Sequence[bytes]:
        return [self.tree.structure]

    def predict(self, matrix: npt.NDArray[Any], n_threads: int) -> Floats:
        proba: Floats = self.tree.router.average(matrix, self.node_probabilities, n_threads)
        return proba

    def answer(self, queries: Iterable[Queries]) -> Floats:
        (asked,) = queries
        return asked.means(self.tables)

    @functools.cached_property
    def tables(self) -> _core.LeafTables:
        """The probabilities of the leaves as a forest of one tree has them."""
        table = np.ascontiguousarray(self.node_probabilities[self.tree.leaves])
        return _core.LeafTables([table], table.shape[1])

    def voting(self) -> SingleTree:
        """The same tree with leaves that give their most probable class all of the probability."""
        n_classes = self.node_probabilities.shape[1]
        return replace(self, node_probabilities=np.eye(n_classes)[self.node_probabilities.argmax(axis=1)])

    # Rows that are counted later.

    def check_updatable(self) -> None:
        """All rows count in a single tree."""

    def counts_of(self, rows: EncodedRows, n_threads: int) -> tuple[Floats, ...]:
        return (traversal.class_counts(self.tree, rows.matrix, rows.labels, rows.weights),)

    def held_counts(self) -> tuple[Floats, ...]:
        return (self.tree.inbag_class_counts,)

    def with_counts(
        self, counts: Sequence[Floats], decay: float, class_weights: Floats | None, n_threads: int
    ) -> SingleTree:
        in_bag = decay * self.tree.inbag_class_counts + counts[0]
        tree = self.tree.with_counts(inbag=in_bag, oob=decay * self.tree.oob_class_counts)
        return SingleTree.of(tree, self.estimator)
