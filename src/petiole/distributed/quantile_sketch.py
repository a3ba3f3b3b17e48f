"""A mergeable quantile sketch, by which shards agree on the bins of a numeric column without sharing its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Entries of a sketch. With at most this many distinct values it is exact.
CAPACITY = 8192


@dataclass(frozen=True)
class QuantileSketch:
    """The weight of a column's values between some of them; ``a + b`` is the sketch of both batches.

    ``weights[i]`` is the weight of values above ``values[i - 1]`` and at most ``values[i]``. While there are at most
    ``capacity`` distinct values each of them is kept and all answers are exact. Beyond that, every merge adds about
    the share 1 / capacity to the error of a rank, so the error after merging in a tree of depth d is about (d + 1) /
    capacity. The smallest and the largest value are always kept.

    Examples
    --------
    >>> a, b = QuantileSketch.of([3.0, 1.0, np.nan]), QuantileSketch.of([1.0, 2.0])
    >>> (a + b).values, (a + b).weights
    (array([1., 2., 3.]), array([2., 1., 1.]))
    """

    values: Floats
    weights: Floats
    exact: bool = True
    capacity: int = CAPACITY

    @classmethod
    def of(
        cls, values: npt.ArrayLike, weights: npt.ArrayLike | None = None, capacity: int = CAPACITY
    ) -> QuantileSketch:
        """The sketch of a batch of values; missing ones are left out."""
        column = np.asarray(values, dtype=np.float64) + 0.0  # -0.0 becomes 0.0: they are one value
        known = ~np.isnan(column)
        each = np.ones(len(column)) if weights is None else np.asarray(weights, dtype=np.float64)
        return cls(*_summed(column[known], each[known]), True, capacity)._compressed()

    def __add__(self, other: QuantileSketch) -> QuantileSketch:
        values, weights = _summed(
            np.concatenate([self.values, other.values]), np.concatenate([self.weights, other.weights])
        )
        return QuantileSketch(values, weights, self.exact and other.exact, self.capacity)._compressed()

    @property
    def total(self) -> float:
        """The weight of all known values."""
        return float(self.weights.sum())

    def bins(self, max_bins: int | None) -> tuple[Floats, Floats]:
        """The smallest and the largest value of each bin, bins being of about equal weight.

        As in growth on rows in one place: the bin of a value is the share of the weight below it, times the number of
        bins, rounded down; and with no more values than ``max_bins`` every value is a bin. Where the sketch is not
        exact, the smallest value of a bin is not known and the largest one of the bin before it stands in.
        """
        if not len(self.values):
            return self.values, self.values
        lows = self.values if self.exact else np.concatenate([self.values[:1], self.values[:-1]])
        if max_bins is None or len(self.values) <= max_bins:
            return lows, self.values
        below = np.concatenate([[0.0], np.cumsum(self.weights)[:-1]])
        wanted = (below / self.total * max_bins).astype(np.int64)
        starts = np.flatnonzero(np.concatenate([[True], np.diff(wanted) != 0]))
        ends = np.concatenate([starts[1:], [len(self.values)]]) - 1
        return lows[starts], self.values[ends]

    def _compressed(self) -> QuantileSketch:
        if len(self.values) <= self.capacity:
            return self
        cumulative = np.cumsum(self.weights)
        ranks = np.linspace(0, cumulative[-1], self.capacity)
        kept = np.unique(np.minimum(np.searchsorted(cumulative, ranks), len(cumulative) - 1))
        weights = np.diff(np.concatenate([[0.0], cumulative[kept]]))
        return QuantileSketch(self.values[kept], weights, False, self.capacity)


def _summed(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Distinct values in order, each with its weight."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    if not len(values):
        return values, weights
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values[starts], np.add.reduceat(weights, starts)
