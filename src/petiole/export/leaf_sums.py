"""A forest as one sum: every leaf adds numbers to a few of many columns.

All predictions are computed from such sums: means of leaf probabilities, votes, MOB-ESP's rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._boosting.trees import BoostedTrees
from petiole._estimates.leaf_entries import Entries as Entries
from petiole._estimates.leaf_entries import vote_rows as vote_rows
from petiole._tree.tree import Tree


@dataclass(frozen=True)
class ScoreTree:
    """One tree of ``BoostedTrees`` with the names that trees of counts have; no split divides rows."""

    feature: npt.NDArray[Any]
    threshold: npt.NDArray[Any]
    child_start: npt.NDArray[Any]
    child_nodes: npt.NDArray[Any]
    missing_branch: npt.NDArray[Any]
    category_start: npt.NDArray[Any]
    category_branch: npt.NDArray[Any]
    n_features: int

    @classmethod
    def of(cls, trees: BoostedTrees, first: int, end: int) -> ScoreTree:
        """The tree with the nodes from ``first`` to ``end``."""
        feature, left = trees.feature[first:end], trees.left[first:end]
        is_split = feature >= 0
        return cls(
            feature,
            trees.threshold[first:end],
            np.concatenate([[0], np.cumsum(2 * is_split)]),
            (left[is_split, np.newaxis] + np.arange(2)).ravel(),
            trees.missing_right[first:end].astype(np.int64),
            trees.category_start[first : end + 1],
            trees.category_right,
            trees.n_features,
        )

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    @functools.cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.feature < 0)

    @functools.cached_property
    def leaves(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(self.is_leaf)


@dataclass(frozen=True)
class LeafSums:
    """The trees, what their leaves add, and the number of columns."""

    trees: Sequence[Tree | ScoreTree]
    entries: Sequence[Entries]
    n_columns: int
