"""What leaves add to sums, as lists of entries: most leaves add to few of many columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
