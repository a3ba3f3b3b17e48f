"""Rows in the leaves of a forest, and the statistics of these leaves.

Estimates do not depend on how the rows got to their leaves: here they are routed as they are, and in
:mod:`petiole._dual` with noise on their values.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.cross_fitted import CrossFitted
from petiole._estimates.members import Folding
from petiole._forest.forest import Forest
from petiole._forest.plan import GrownForest
from petiole._table.constraints import Constraints
from petiole._table.rows import EncodedRows

# Folds of the rows for out-of-bag predictions by shares that are pooled.
N_FOLDS = 10

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.uint32]


class FiledVotes(NamedTuple):
    """MOB-ESP's leaf matrices, and how the trees vote."""

    tables: _core.VoteTables
    ballot: _core.Ballot


@dataclass(frozen=True, eq=False)
class PooledTables:
    """MOB-ESP's leaf matrices and other tables of the same leaves, which are looked up together."""

    filed: FiledVotes
    tables: _core.LeafTables

    @functools.cached_property
    def leaves(self) -> _core.PooledLeaves | None:
        """All of it in one small record for each leaf, made when first asked for; None if that cannot be."""
        return _core.PooledLeaves.of(self.filed.tables, self.tables, self.filed.ballot)


class CountedWeights(NamedTuple):
    """How often in-bag and out-of-bag rows count, and the least weight of rows at a node whose counts are taken."""

    in_bag: float
    out_of_bag: float
    least: float


class Queries(Protocol):
    """New rows in the leaves of one forest."""

    def means(self, tables: _core.LeafTables, rows: Positions | None = None) -> Floats:
        """The mean over trees of the tables' rows, for all queries or for those listed."""

    def look_up(
        self, filed: FiledVotes, n_voters: int, which: _core.VoteRows, tables: _core.LeafTables | None
    ) -> tuple[Floats, Floats | None]:
        """The frequencies that leaves keep for the vote of the first trees, NaN where there are none; and the means of
        tables."""

    def look_up_together(self, pooled: PooledTables) -> tuple[Floats, Floats]:
        """The same where all trees vote and rows are shared between the votes."""

    def ask(self, model: CrossFitted, starts: Floats | None) -> Floats:
        """The probabilities by a model that is not a forest; ``starts`` are its initial scores, if any."""


class UnseenRows(Protocol):
    """Training rows in the leaves of one forest, each predicted only by trees that have not seen it."""

    def means(self, tables: _core.LeafTables, rows: Positions | None = None) -> Floats:
        """The mean over trees of the tables' rows; NaN where all trees have seen a row."""

    def frequencies(self, counts: _core.LeafTables, oob_weight: float, rows: Positions | None = None) -> Floats:
        """The mean frequency in counts that hold out-of-bag rows ``oob_weight`` times, the row itself taken out."""

    def look_up(self, filed: FiledVotes, which: _core.VoteRows, oob_weight: float) -> Floats:
        """The frequencies that leaves keep for the out-of-bag vote, the row itself taken out; NaN where nothing is
        left."""

    def ask(self, model: CrossFitted, folding: Folding, starts: Floats | None) -> Floats:
        """The probabilities by a model that is not a forest, each row predicted by the fold that held it out."""

    def ordered_shares(self, forest: Forest, weights: CountedWeights, order: Constraints) -> Floats:
        """The mean share of the class whose shares are monotone; NaN where all trees have seen a row."""

    def against_others(self, target: int) -> UnseenRows:
        """The same rows with two classes: 1 is the target, 0 all others."""


class PlainQueries:
    """Queries that are routed without noise."""

    def __init__(self, forest: Forest, matrix: npt.NDArray[Any], n_threads: int) -> None:
        self.router = forest.router
        self.matrix = matrix
        self.n_threads = n_threads

    def means(self, tables: _core.LeafTables, rows: Positions | None = None) -> Floats:
        matrix = self.matrix if rows is None else self.matrix[rows]
        means: Floats = self.router.average(matrix, tables, None, False, self.n_threads)[0]
        return means

    def look_up(
        self, filed: FiledVotes, n_voters: int, which: _core.VoteRows, tables: _core.LeafTables | None
    ) -> tuple[Floats, Floats | None]:
        _, _, proba, means = filed.tables.look_up(
            self.router, self.matrix, filed.ballot, n_voters, which, tables, self.n_threads
        )
        return proba, means

    def look_up_together(self, pooled: PooledTables) -> tuple[Floats, Floats]:
        filed, leaves = pooled.filed, pooled.leaves
        if leaves is not None:
            return leaves.look_up(self.router, self.matrix, filed.ballot, self.n_threads)
        n_trees = self.router.n_trees
        proba, means = self.look_up(filed, n_trees, _core.VoteRows.shared, pooled.tables)
        assert means is not None
        return proba, means

    def ask(self, model: CrossFitted, starts: Floats | None) -> Floats:
        return model.answer(self.matrix, self.n_threads, starts)


class OutOfBagRows:
    """Training rows in the trees that were grown on samples of them: all, or those selected."""

    def __init__(
        self, members: _core.Members, rows: EncodedRows, n_threads: int, selected: Positions | None = None
    ) -> None:
        self.members = members
        self.rows = rows
        self.n_threads = n_threads
        self.selected = selected
        self._voted: tuple[Any, Any, Any] | None = None

    @classmethod
    def of(cls, grown: GrownForest, n_threads: int) -> OutOfBagRows:
        """The rows that a forest was grown on."""
        assert grown.members is not None
        return cls(grown.members, grown.rows, n_threads)

    def select(self, selected: Positions) -> OutOfBagRows:
        """Some of all rows, by their positions."""
        some = OutOfBagRows(self.members, self.rows, self.n_threads, selected)
        some._voted = self._voted
        return some

    def ordered_shares(self, forest: Forest, weights: CountedWeights, order: Constraints) -> Floats:
        """Tables are made for each fold of the rows without its out-of-bag rows.

        A single row could not be taken out of the counts: its label may have decided which leaves were pooled.
        """
        n_rows = len(self.rows)
        fold_of = (np.random.default_rng(0).permutation(n_rows) % N_FOLDS).astype(np.uint8)
        return np.asarray(
            forest.core.ordered_out_of_bag(
                self.members,
                *weights,
                order.signs,
                order.target,
                self.rows.labels,
                self.rows.weights,
                label_of(order, forest),
                fold_of,
                self.selected,
                self.n_threads,
            )
        )

    def with_rows(self, rows: EncodedRows) -> OutOfBagRows:
        """The same with other labels or constraints of the rows."""
        same = OutOfBagRows(self.members, rows, self.n_threads, self.selected)
        same._voted = self._voted
        return same

    def against_others(self, target: int) -> OutOfBagRows:
        return self.with_rows(self.rows.against_others(target))

    def vote(self, ballot: _core.Ballot) -> tuple[npt.NDArray[np.int32], Floats]:
        """The winner and the votes of each of all rows, by the trees that have not seen it; worked out once."""
        if self._voted is None or self._voted[0] is not ballot:
            self._voted = (ballot, *_core.out_of_bag_votes(self.members, ballot, self.n_threads))
        _, winners, votes = self._voted
        return winners, votes

    def means(self, tables: _core.LeafTables, rows: Positions | None = None) -> Floats:
        return np.asarray(_core.out_of_bag_average(self.members, tables, self._picked(rows), self.n_threads))

    def frequencies(self, counts: _core.LeafTables, oob_weight: float, rows: Positions | None = None) -> Floats:
        labels, weights = self.rows.labels, self.rows.weights
        return np.asarray(
            _core.out_of_bag_frequencies(
                self.members, counts, oob_weight, labels, weights, self._picked(rows), self.n_threads
            )
        )

    def look_up(self, filed: FiledVotes, which: _core.VoteRows, oob_weight: float) -> Floats:
        winners, votes = self.vote(filed.ballot)
        labels, weights = self.rows.labels, self.rows.weights
        return np.asarray(
            filed.tables.out_of_bag(self.members, winners, votes, which, labels, weights, self.selected, self.n_threads)
        )

    def ask(self, model: CrossFitted, folding: Folding, starts: Floats | None) -> Floats:
        chosen = slice(None) if self.selected is None else self.selected
        return model.held_out_answer(
            self.rows.matrix[chosen], folding.of(self.rows.labels)[chosen], self.n_threads, starts
        )

    def _picked(self, rows: Positions | None) -> Positions | None:
        if rows is None:
            return self.selected
        return rows if self.selected is None else self.selected[rows]


def label_of(order: Constraints, forest: Forest) -> int:
    """The label of the class in rows of two classes: with more, rows are those of the class against all others."""
    return order.target if forest.core.n_classes == 2 else 1


def filled(proba: Floats, instead: Floats) -> Floats:
    """Rows of NaN replaced by those of another table."""
    lost = np.isnan(proba[:, 0])
    return np.where(lost[:, np.newaxis], instead, proba) if lost.any() else proba


def lost_rows(proba: Floats) -> Positions | None:
    """The positions of rows that are NaN; None if there is none, which is the usual case."""
    lost = np.isnan(proba[:, 0])
    return np.flatnonzero(lost).astype(np.uint32) if lost.any() else None
