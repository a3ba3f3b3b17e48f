"""A forest as one sum: every leaf adds numbers to a few of many columns.

All predictions are computed from such sums: means of leaf probabilities, votes, MOB-ESP's rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._boosting.trees import BoostedTrees
from petiole._tree.tree import Tree

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Entries(NamedTuple):
    """What leaves add: ``value`` to ``column``, for the leaf with this position among the tree's leaves."""

    leaf: Ints
    column: Ints
    value: Floats

    @classmethod
    def of_table(cls, table: Floats, first_column: int = 0) -> Entries:
        """A dense table with a row per leaf; zeros add nothing."""
        leaf, column = np.nonzero(table)
        return cls(leaf, column + first_column, table[leaf, column])

    @classmethod
    def together(cls, parts: Sequence[Entries]) -> Entries:
        return cls(*(np.concatenate(same) for same in zip(*parts, strict=True)))

    def scaled(self, factor: float) -> Entries:
        return self._replace(value=self.value * factor)


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


def vote_rows(state: dict[str, Any], oob_weight: float) -> list[Entries]:
    """MOB-ESP's leaf matrices: column j counts leaves with rows for vote j, column K + j·K + k has their share of k."""
    n_classes, nothing = int(state["n_classes"]), 1e-9
    weight = state["in_bag"].astype(float) + oob_weight * state["out_of_bag"].astype(float)
    row_of_entry = np.repeat(np.arange(len(state["row_vote"])), state["entries_per_row"])
    total = np.bincount(row_of_entry, weight, minlength=len(state["row_vote"]))
    leaf_of_row = np.repeat(np.arange(len(state["rows_per_leaf"])), state["rows_per_leaf"])
    vote = state["row_vote"].astype(np.int64)
    speaks = total > nothing

    entry_speaks = speaks[row_of_entry]
    rows = row_of_entry[entry_speaks]
    shares = Entries(
        leaf_of_row[rows],
        n_classes + vote[rows] * n_classes + state["entry_class"][entry_speaks],
        weight[entry_speaks] / total[rows],
    )
    counted = Entries(leaf_of_row[speaks], vote[speaks], np.ones(np.count_nonzero(speaks)))
    return _by_tree(Entries.together([counted, shares]), np.asarray(state["n_leaves"], dtype=np.int64))


def _by_tree(entries: Entries, n_leaves: Ints) -> list[Entries]:
    """The entries of leaves numbered through all trees, tree by tree."""
    ends = np.cumsum(n_leaves)
    order = np.argsort(entries.leaf, kind="stable")
    leaf, column, value = entries.leaf[order], entries.column[order], entries.value[order]
    cuts = np.searchsorted(leaf, ends)
    starts = np.concatenate([[0], cuts[:-1]])
    first_leaf = ends - n_leaves
    return [
        Entries(leaf[start:end] - first, column[start:end], value[start:end])
        for start, end, first in zip(starts, cuts, first_leaf, strict=True)
    ]
