"""Shapley values of a whole model, whatever it is, from its answers for rows whose columns come from two rows.

A set of columns is worth the mean answer when these have the values of the row and the others those of background rows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Matrix = npt.NDArray[Any]
Answer = Callable[[Matrix], Floats]

# All sets of more columns are too many.
MOST_COLUMNS = 14
# The model is asked about so many rows at once.
ROWS_AT_ONCE = 2**16


class Played(NamedTuple):
    """Values of shape (n_rows, n_columns, K), the base, and standard errors if the values were sampled."""

    values: Floats
    base: Floats
    errors: Floats | None = None


def by_all_sets(ask: Answer, matrix: Matrix, background: Matrix) -> Played:
    """Exact values from all sets of columns."""
    n_rows, n_columns = matrix.shape
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"method='exact': all sets of {n_columns} columns are too many, {MOST_COLUMNS} are the most; use "
            "method='sampled', or fit on fewer columns"
        )
    members = (np.arange(2**n_columns)[:, np.newaxis] >> np.arange(n_columns) & 1).astype(bool)
    effects = _effects(members)
    base = ask(background).mean(axis=0)
    values = np.empty((n_rows, n_columns, len(base)))
    for row in range(n_rows):
        mixed = np.where(members[:, np.newaxis], matrix[row], background[np.newaxis])
        worths = _asked(ask, mixed.reshape(-1, n_columns)).reshape(len(members), len(background), -1).mean(axis=1)
        values[row] = effects @ worths
    return Played(values, base)


def _effects(members: npt.NDArray[np.bool_]) -> Floats:
    """How much each set's worth adds to each column's value, (n_columns, n_sets)."""
    n_columns = members.shape[1]
    sizes = members.sum(axis=1)
    shares = np.array(
        [factorial(size) * factorial(n_columns - size - 1) / factorial(n_columns) for size in range(n_columns)]
    )
    joined = shares[np.maximum(sizes - 1, 0)][:, np.newaxis]
    left = shares[np.minimum(sizes, n_columns - 1)][:, np.newaxis]
    found: Floats = np.where(members, joined, -left).T
    return found


def by_permutations(ask: Answer, matrix: Matrix, background: Matrix, n_permutations: int, seed: int) -> Played:
    """Estimates from random orders of the columns, each taken forwards and backwards with the same background row.

    Background rows take turns. All rows have the same orders, so that the base is the same for all.
    """
    n_rows, n_columns = matrix.shape
    random = np.random.default_rng(seed)
    n_pairs = max(2, (n_permutations + 1) // 2)
    start = random.permutation(len(background))
    of_pair = background[start[np.arange(n_pairs) % len(background)]]
    starts = _asked(ask, of_pair)
    ends = _asked(ask, matrix)
    sums = np.zeros((n_rows, n_columns, ends.shape[1]))
    squares = np.zeros(sums.shape)
    step = max(1, ROWS_AT_ONCE // max(1, n_columns))
    for pair in range(n_pairs):
        order = random.permutation(n_columns)
        found = np.zeros(sums.shape)
        for places in (order, order[::-1]):
            for begin in range(0, n_rows, step):
                rows = slice(begin, begin + step)
                found[rows] += _along(ask, matrix[rows], of_pair[pair], places, starts[pair], ends[rows]) / 2
        sums += found
        squares += found**2
    mean = sums / n_pairs
    spread = np.maximum(squares / n_pairs - mean**2, 0.0)
    return Played(mean, starts.mean(axis=0), np.sqrt(spread / (n_pairs - 1)))


def _along(
    ask: Answer, rows: Matrix, other: Matrix, order: npt.NDArray[np.intp], start: Floats, ends: Floats
) -> Floats:
    """The change of the answer as each column in turn takes the row's value."""
    n_rows, n_columns = rows.shape
    known = np.zeros((n_columns - 1, n_columns), dtype=bool)
    for step, column in enumerate(order[:-1].tolist()):
        known[step:, column] = True
    mixed = np.where(known, rows[:, np.newaxis], other)
    answers = _asked(ask, mixed.reshape(-1, n_columns)).reshape(n_rows, n_columns - 1, -1)
    path = np.concatenate([np.broadcast_to(start, (n_rows, 1, len(start))), answers, ends[:, np.newaxis]], axis=1)
    found = np.empty((n_rows, n_columns, len(start)))
    found[:, order] = np.diff(path, axis=1)
    return found


def _asked(ask: Answer, rows: Matrix) -> Floats:
    if len(rows) <= ROWS_AT_ONCE:
        return ask(rows) if len(rows) else np.zeros((0, ask(rows).shape[1]))
    return np.concatenate([ask(rows[begin : begin + ROWS_AT_ONCE]) for begin in range(0, len(rows), ROWS_AT_ONCE)])
