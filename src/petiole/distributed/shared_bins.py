"""The same coding of columns in every part: bins from the quantiles of all rows, categories from their union."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.rows import EncodedRows
from petiole._tree.tree import Tree
from petiole.distributed.table_summary import Survey

Floats = npt.NDArray[np.float64]

# Bins of a column with too many values to be coded exactly, unless max_bins says otherwise.
DEFAULT_BINS = 255


@dataclass(frozen=True)
class Bins:
    """Codes of a column are 0 .. n_codes - 1; n_codes means missing. ``first`` is where columns are in histograms."""

    n_codes: npt.NDArray[np.uint32]
    categorical: npt.NDArray[np.uint8]
    low: list[Floats]
    high: list[Floats]
    distinct: list[Floats]
    has_missing: npt.NDArray[np.bool_]

    @property
    def first(self) -> npt.NDArray[np.uint32]:
        return np.concatenate([[0], np.cumsum(self.n_codes.astype(np.int64) + 1)]).astype(np.uint32)

    def codes(self, values: npt.NDArray[Any], column: int) -> npt.NDArray[np.uint32]:
        """The codes of some values of a column."""
        n_codes = int(self.n_codes[column])
        if self.categorical[column]:
            known = (values >= 0) & (values < n_codes)  # NaN is neither
            return np.where(known, values, n_codes).astype(np.uint32)
        found = np.searchsorted(self.high[column], np.asarray(values, dtype=np.float64) + 0.0)
        return np.where(np.isnan(values), n_codes, np.minimum(found, max(0, n_codes - 1))).astype(np.uint32)


def make_bins(survey: Survey, max_bins: int | None) -> Bins:
    """The bins that all parts agree on; exact, one for each value, where a column has few."""
    nothing = np.empty(0)
    low, high, distinct, n_codes, categorical = [], [], [], [], []
    for column in survey.columns:
        edges = (nothing, nothing)
        values = nothing
        if column.sketch is not None:
            wanted = max_bins if max_bins is not None or column.sketch.exact else DEFAULT_BINS
            edges = column.sketch.bins(wanted)
            values = column.sketch.values if column.sketch.exact else edges[1]
        low.append(np.ascontiguousarray(edges[0]))
        high.append(np.ascontiguousarray(edges[1]))
        distinct.append(np.ascontiguousarray(values))
        categorical.append(column.categories is not None)
        n_codes.append(len(edges[0]) if column.categories is None else len(column.categories))
    return Bins(
        np.array(n_codes, dtype=np.uint32),
        np.array(categorical, dtype=np.uint8),
        low,
        high,
        distinct,
        np.array([column.n_missing > 0 for column in survey.columns]),
    )


@dataclass(frozen=True)
class RowsAtNodes:
    """Rows, or parts of rows, that are at some nodes: ``slot`` says at which."""

    slot: npt.NDArray[np.int64]
    row: npt.NDArray[np.intp]
    weights: Floats


def entries_at(tree: Tree, rows: EncodedRows, slot_of_node: npt.NDArray[np.int64]) -> RowsAtNodes:
    """The rows at the leaves that have a slot; a missing value divides a row over several."""
    start, node, share = tree.router.traverse(rows.matrix, False)
    row = np.repeat(np.arange(len(rows)), np.diff(start))
    slot = slot_of_node[node]
    here = slot >= 0
    weights = share[here] if rows.weights is None else share[here] * rows.weights[row[here]]
    return RowsAtNodes(slot[here], row[here], weights)


def histogram(rows: EncodedRows, entries: RowsAtNodes, bins: Bins, n_slots: int, n_classes: int) -> Floats:
    """The weight of every (slot, code of a column, class), shape (n_slots, n_codes of all columns, n_classes)."""
    first = bins.first.astype(np.int64)
    n_cells = int(first[-1])
    labels = rows.labels[entries.row]
    table = np.zeros((n_slots, n_cells, n_classes))
    for column in range(len(bins.n_codes)):
        codes = bins.codes(rows.matrix[:, column][entries.row], column).astype(np.int64)
        width = int(bins.n_codes[column]) + 1
        cells = (entries.slot * width + codes) * n_classes + labels
        counts = np.bincount(cells, entries.weights, minlength=n_slots * width * n_classes)
        table[:, first[column] : first[column + 1]] = counts.reshape(n_slots, width, n_classes)
    return table


@dataclass(frozen=True)
class CodedRows:
    """Rows of some nodes, as codes; ``a + b`` are those of both parts."""

    slot: npt.NDArray[np.int64]
    codes: npt.NDArray[Any]
    labels: npt.NDArray[np.int32]
    weights: Floats

    def __add__(self, other: CodedRows) -> CodedRows:
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("slot", "codes", "labels", "weights"))
        return CodedRows(*(np.concatenate(pair) for pair in pairs))

    def at(self, slot: int) -> CodedRows:
        here = np.flatnonzero(self.slot == slot)
        return CodedRows(self.slot[here], self.codes[here], self.labels[here], self.weights[here])


def coded_rows(rows: EncodedRows, entries: RowsAtNodes, bins: Bins) -> CodedRows:
    """The codes of rows that are at some nodes, in the narrowest integers."""
    dtype = np.min_scalar_type(int(bins.n_codes.max(initial=0)))
    codes = np.empty((len(entries.row), len(bins.n_codes)), dtype=dtype)
    for column in range(codes.shape[1]):
        codes[:, column] = bins.codes(rows.matrix[:, column][entries.row], column)
    return CodedRows(entries.slot, codes, rows.labels[entries.row], entries.weights)
