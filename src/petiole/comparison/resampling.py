"""Draws with replacement: totals over cells, counts of rows, and the order statistics that bound an interval.

Weights are numbers of rows here. So a draw from rows of weights w has as many rows as the weights sum to, and takes
row i with probability proportional to w_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from petiole._table.columns import Floats
from petiole._validation import check_fraction, check_whole

Wholes = NDArray[np.int64]

BLOCK = 2**16  # values drawn at once: they stay in the second cache
ROWS_PER_CELL = 20  # one binomial number takes as long as drawing about this many rows
ROUNDING = 1e-9  # n_draws * (1 - level) / 2 counts as whole if it is this near


def as_generator(random_state: Any) -> np.random.Generator:
    """numpy's generator for a seed, None, a RandomState or a generator.

    >>> as_generator(7).integers(100, size=3)
    array([76, 66, 14])
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(int(check_random_state(random_state).randint(np.iinfo(np.int32).max)))


def check_draws(n_draws: Any, level: Any) -> None:
    """Raise an error unless there are enough draws for the ends of an interval to be among them."""
    check_whole("n_draws", n_draws, 1)
    check_fraction("level", level)
    if _rank_of_low_end(n_draws, level) < 1:
        least = math.ceil(2 / (1 - level) - ROUNDING)
        raise ValueError(f"n_draws={n_draws!r}: must be at least {least} for an interval of level {level:g}")


def central_interval(draws: Floats, level: float) -> tuple[float, float]:
    """The order statistics that hold ``level`` of the draws: of 1000 at 0.95 the 25th and 976th smallest.

    Margineantu and Dietterich 2002, section 1.6. Other numbers of draws keep the same shares, rounded outwards.

    >>> central_interval(np.arange(1.0, 1001.0), level=0.95)
    (25.0, 976.0)
    """
    ordered = np.sort(draws)
    rank = _rank_of_low_end(len(draws), level)
    return float(ordered[rank - 1]), float(ordered[len(draws) - rank])


def _rank_of_low_end(n_draws: int, level: float) -> int:
    return math.floor(n_draws * (1 - level) / 2 + ROUNDING)


def sample_size(weights: Floats) -> int:
    """The number of rows of a draw: the sum of the weights, rounded."""
    total = float(weights.sum())
    if total < 1:
        raise ValueError(
            f"sample_weight sums to {total:g}: weights are numbers of rows here, so they must sum to at least 1; "
            "multiply them so that their sum is the number of rows they stand for"
        )
    return round(total)


def are_whole(weights: Floats) -> bool:
    """Whether all weights are whole numbers."""
    return bool((weights == np.rint(weights)).all())


def draw_totals(values: Floats, weights: Floats, sizes: Wholes, random: np.random.Generator) -> Floats:
    """For each size, the total of the values of this many cells, drawn in proportion to their weights.

    That is a multinomial draw of counts times the values. Cells of equal value are merged, and the heaviest cell gets
    what the others leave over, so it is not drawn.

    >>> draw_totals(np.array([5.0, 5.0]), np.ones(2), np.array([3, 4]), as_generator(0))
    array([15., 20.])
    """
    values, cell_of = np.unique(values, return_inverse=True)
    weights = np.bincount(cell_of, weights=weights).astype(np.float64)
    values, weights = values[weights > 0], weights[weights > 0]
    heaviest = int(weights.argmax())
    base, total = values[heaviest], weights.sum()
    others = np.delete(values, heaviest) - base
    of_others = np.delete(weights, heaviest)
    if are_whole(weights) and of_others.sum() < ROWS_PER_CELL * len(others):
        drawn = _by_rows(others, of_others, total, sizes, random)
    else:
        drawn = _by_cells(others, of_others / total, sizes, random)
    return base * sizes + drawn


def _by_rows(values: Floats, weights: Floats, total: float, sizes: Wholes, random: np.random.Generator) -> Floats:
    pool = np.repeat(values, weights.astype(np.int64))
    n_drawn = random.binomial(sizes, len(pool) / total)
    room = np.empty(max(BLOCK, int(n_drawn.max(initial=0))))

    def draw(n: int) -> Floats:
        rows = random.integers(len(pool), size=n)
        # all are in range: "clip" avoids numpy's check, which takes as long as fetching the values
        return pool.take(rows, out=room[:n], mode="clip")

    return sums_of_draws(n_drawn, draw)


def _by_cells(values: Floats, shares: Floats, sizes: Wholes, random: np.random.Generator) -> Floats:
    # numpy gives the last cell what is left over
    shares = np.append(shares, max(0.0, 1.0 - shares.sum()))
    totals = np.empty(len(sizes))
    step = max(1, BLOCK // len(shares))
    for start in range(0, len(sizes), step):
        counts = random.multinomial(sizes[start : start + step], shares)
        totals[start : start + step] = counts[:, :-1] @ values
    return totals


def sums_of_draws(lengths: Wholes, draw: Callable[[int], Floats]) -> Floats:
    """For each length, the sum of this many values from ``draw(n)``, drawn in blocks.

    >>> sums_of_draws(np.array([2, 0, 3]), lambda n: np.ones(n))
    array([2., 0., 3.])
    """
    sums = np.zeros(len(lengths))
    step = max(1, int(BLOCK // max(1, lengths.max(initial=0))))
    for start in range(0, len(lengths), step):
        block = lengths[start : start + step]
        # reduceat would take a value for an empty part
        filled = np.flatnonzero(block)
        if filled.size:
            values = draw(int(block.sum()))
            starts = np.cumsum(block[filled]) - block[filled]
            sums[start + filled] = np.add.reduceat(values, starts)
    return sums


class RowSampler:
    """Draws of whole data sets: how often each row is taken, as float64 counts to be used for weights.

    >>> RowSampler(np.array([2.0, 0.0, 1.0]), as_generator(0)).draw().tolist()
    [3.0, 0.0, 0.0]
    """

    def __init__(self, weights: Floats, random: np.random.Generator, strata: NDArray[np.int32] | None = None) -> None:
        self._random, self._n_rows = random, len(weights)
        parts = (
            [np.arange(len(weights))] if strata is None else [np.flatnonzero(strata == k) for k in np.unique(strata)]
        )
        self._parts = [(rows, sample_size(weights[rows])) for rows in parts if weights[rows].any()]
        self._pools = [self._pool(rows, weights[rows]) for rows, _ in self._parts]
        self._scales = [weights[rows].sum() / size for rows, size in self._parts]

    def _pool(self, rows: Wholes, weights: Floats) -> tuple[Wholes, Floats | None]:
        """The rows to draw from with equal probability, or the running sum of their weights."""
        if are_whole(weights):
            return np.repeat(rows, weights.astype(np.int64)), None
        return rows, np.cumsum(weights)

    def draw(self) -> Floats:
        """The counts of one draw; where the weights do not sum to a whole number they are scaled to the same sum."""
        counts = np.zeros(self._n_rows)
        for (_, size), (pool, running), scale in zip(self._parts, self._pools, self._scales, strict=True):
            if running is None:
                taken = self._random.integers(len(pool), size=size)
            else:
                taken = np.searchsorted(running, self._random.random(size) * running[-1], side="right")
                taken = np.minimum(taken, len(pool) - 1)
            counts += scale * np.bincount(pool[taken], minlength=self._n_rows)
        return counts
