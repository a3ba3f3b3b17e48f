"""MOB-ESP's answers as sums over columns.

What the forest says is p_k = Σ_j q_j · n_jk / s_j: q_j is the share of class j among the votes, or 1 for the winner,
n_jk the mean over leaves of the frequencies that they keep for rows with the vote j, and s_j the share of leaves that
have such rows.
Votes, n and s are sums over leaves, whose Shapley values are exact. A product of two of them divides its change as the
Shapley value of the two factors does: each gets its own change times the mean of the other at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import FiledVotes
from petiole._estimates.leaf_entries import vote_rows
from petiole._forest.forest import Forest
from petiole.explanations.additive import Additive, matched

Floats = npt.NDArray[np.float64]
# Sums of shares that are no larger are rounding.
NOTHING = 1e-9


def vote_tables(
    forest: Forest, filed: FiledVotes, oob_weight: float, n_voters: int, n_classes: int
) -> _core.LeafTables:
    """For each leaf its vote, K columns, and what it keeps: K columns that say for which votes, K · K frequencies."""
    tables = []
    for index, rows in enumerate(vote_rows(filed.tables.state(), oob_weight)):
        votes = np.asarray(forest.core.leaf_votes(index))
        table = np.zeros((len(votes), 2 * n_classes + n_classes**2))
        if index < n_voters:
            table[np.arange(len(votes)), votes] = len(forest) / n_voters
        np.add.at(table, (rows.leaf, n_classes + rows.column), rows.value)
        tables.append(table)
    return _core.LeafTables(tables, 2 * n_classes + n_classes**2)


@dataclass(frozen=True, eq=False)
class Votes:
    """What a forest answered some rows by votes: the classes with the most votes, their shares of the votes, and the
    probabilities, NaN where leaves keep nothing."""

    winners: npt.NDArray[np.int32]
    shares: Floats
    proba: Floats


def explain_votes(sums: Additive, votes: Votes, *, winner_only: bool) -> Additive:
    """Probabilities by votes, from the Shapley values of :func:`vote_tables`.

    Rows of NaN among ``votes.proba`` are of no meaning in the result.
    """
    n_classes = votes.proba.shape[1]
    of_votes, of_shares = sums.outputs(slice(0, n_classes)), sums.outputs(slice(n_classes, 2 * n_classes))
    weights = _winner_weights(of_votes, votes) if winner_only else _share_weights(of_votes, of_shares, votes)
    start, end = weights.base, weights.totals
    values, base = np.zeros((*weights.values.shape[:2], n_classes)), np.zeros(n_classes)
    for j in np.flatnonzero((start > NOTHING) | (end > NOTHING).any(axis=0)).tolist():
        at = (2 + j) * n_classes
        means = quotient(sums.outputs(slice(at, at + n_classes)), of_shares.outputs(slice(j, j + 1)))
        mean_start, mean_end = means.base, means.totals
        values += weights.values[:, :, j : j + 1] * ((mean_start + mean_end) / 2)[:, np.newaxis]
        values += means.values * ((start[j] + end[:, j]) / 2)[:, np.newaxis, np.newaxis]
        base += start[j] * mean_start
    return Additive(values, base)


def quotient(above: Additive, below: Additive) -> Additive:
    """A quotient m = n / s, from Δn = m̄ · Δs + s̄ · Δm, in which bars are means of both ends.

    The divisor has one output. Where it is 0, the quotient is that of the base; where that is not known either, 0.
    """
    start, end = float(below.base[0]), below.totals
    if start <= NOTHING:
        return Additive(np.zeros(above.values.shape), np.zeros(above.base.shape))
    base = above.base / start
    quotients = np.divide(above.totals, end, out=np.repeat(base[np.newaxis], len(end), axis=0), where=end > NOTHING)
    mean = (quotients + base) / 2
    changes = above.values - below.values * mean[:, np.newaxis]
    return Additive(changes / ((start + end) / 2)[:, np.newaxis], base)


def _share_weights(of_votes: Additive, of_shares: Additive, votes: Votes) -> Additive:
    """The weights of votes for which leaves keep rows, which sum to 1."""
    base = np.where(of_shares.base > NOTHING, of_votes.base, 0.0)
    base = base / base.sum() if base.sum() > 0 else of_votes.base / of_votes.base.sum()
    shares = np.where(of_shares.totals > NOTHING, votes.shares, 0.0)
    sums = shares.sum(axis=1, keepdims=True)
    shares = np.divide(shares, sums, out=np.repeat(base[np.newaxis], len(shares), axis=0), where=sums > 0)
    return Additive(matched(of_votes.values, shares - base), base)


def _winner_weights(of_votes: Additive, votes: Votes) -> Additive:
    """1 for the winner. A change from the winner of the base is divided among the columns that moved the margin of the
    two towards it, in proportion."""
    n_rows, n_columns, n_classes = of_votes.values.shape
    first = int(of_votes.base.argmax())
    values, rows = np.zeros((n_rows, n_columns, n_classes)), np.flatnonzero(votes.winners != first)
    others = votes.winners[rows]
    towards = np.maximum(of_votes.values[rows, :, others] - of_votes.values[rows, :, first], 0.0)
    shares = matched(towards[:, :, np.newaxis], np.ones((len(rows), 1)))[:, :, 0]
    values[rows, :, others] = shares
    values[rows, :, first] = -shares
    return Additive(values, np.eye(n_classes)[first])
