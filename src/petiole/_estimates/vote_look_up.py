"""MOB-ESP's estimate: the forest classifies a query, and its leaves give the frequencies of rows with the same vote."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import FiledVotes, OutOfBagRows, Queries, UnseenRows, lost_rows
from petiole._estimates.base import OneForest, UnseenAnswer
from petiole._estimates.leaf_tables import frequency_tables
from petiole._estimates.scores import mean_log_loss
from petiole._estimates.single_tree import SingleTree
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import ForestCounts, Tally, VoteCounts, recounted, refiled, tally_rows
from petiole._table.rows import EncodedRows
from petiole.smoothing import Laplace, Raw

Floats = npt.NDArray[np.float64]

# The values that oob_weight="auto" tries; 1 comes first and wins ties.
OOB_WEIGHTS = (1.0, 0.0, 0.25, 0.5, 2.0, 4.0, 8.0, 16.0)
# The share of trees that have not seen a row of a bootstrap sample, as Nielsen rounds it.
UNSEEN_SHARE = 0.37


def make_ballot(forest: Forest, prior: Floats, n_threads: int = 1) -> _core.Ballot:
    """How the trees of a forest vote; ``prior`` decides ties."""
    return _core.Ballot(forest.core, prior, n_threads)


def file_rows(
    unseen: OutOfBagRows, ballot: _core.Ballot, *, distinct: bool, oob_weight: float, n_threads: int
) -> FiledVotes:
    """Assign every training row to its leaves by the vote of the trees that have not seen it."""
    winners, _ = unseen.vote(ballot)
    rows, n_classes = unseen.rows, len(unseen.rows.classes)
    tables = _core.VoteTables(
        unseen.members, winners, rows.labels, rows.weights, n_classes, distinct, oob_weight, n_threads
    )
    return FiledVotes(tables, ballot)


def best_oob_weight(filed: FiledVotes, unseen: OutOfBagRows, which: str) -> float:
    """The weight with the least out-of-bag log-loss; the tables are set to it."""
    losses = []
    for weight in OOB_WEIGHTS:
        filed.tables.mix(weight)
        losses.append(mean_log_loss(unseen.look_up(filed, vote_rows(which), weight), unseen.rows))
    best = 1.0 if np.isnan(losses).all() else OOB_WEIGHTS[int(np.nanargmin(losses))]
    filed.tables.mix(best)
    return best


def vote_rows(which: str) -> _core.VoteRows:
    """The core's name for the rows that are looked up."""
    named: _core.VoteRows = getattr(_core.VoteRows, which)
    return named


def n_voters_of(voters: str, n_trees: int) -> int:
    """How many trees classify a query."""
    return n_trees if voters == "all" else max(1, round(UNSEEN_SHARE * n_trees))


@dataclass(frozen=True, eq=False)
class VoteLookUp(OneForest):
    """The mean over leaves of the frequencies that they keep for the class that the forest votes for.

    Attributes
    ----------
    forest : Forest
    filed : FiledVotes
    oob_weight : float
        To which the tables are mixed.
    prior : array
        The weight of each class in the training rows, which decides ties between votes.
    voters : {"all", "as_out_of_bag"}
    rows : {"winner", "shared"}
    n_threads : int
        With which tables are made.
    """

    forest: Forest
    filed: FiledVotes
    oob_weight: float
    prior: Floats
    voters: str
    rows: str
    n_threads: int = 1

    looks_up_votes = True
    leaves_rows_out = True
    is_mean = False

    @functools.cached_property
    def fallback(self) -> _core.LeafTables:
        """The frequencies at the leaves, made on first use: they are large, and few queries need them."""
        return frequency_tables(self.forest, Raw(), self.oob_weight, self.n_threads)

    @functools.cached_property
    def n_voters(self) -> int:
        """How many trees classify a query."""
        return n_voters_of(self.voters, len(self.forest))

    @functools.cached_property
    def which(self) -> _core.VoteRows:
        """The core's name for the rows that are looked up."""
        return vote_rows(self.rows)

    def answer(self, queries: Iterable[Queries]) -> Floats:
        (asked,) = queries
        proba, _ = asked.look_up(self.filed, self.n_voters, self.which, None)
        lost = lost_rows(proba)
        if lost is not None:
            proba[lost] = asked.means(self.fallback, lost)
        return proba

    # Out of bag.

    def unseen_answer(self, n_threads: int) -> UnseenAnswer:
        @functools.cache
        def tables_for_lost() -> _core.LeafTables:
            if self.oob_weight > 0:
                return self.forest.core.leaf_counts(1.0, self.oob_weight)
            return frequency_tables(self.forest, Raw(), 0.0, n_threads)

        def answer(unseen: Sequence[UnseenRows]) -> Floats:
            (asked,) = unseen
            proba = asked.look_up(self.filed, self.which, self.oob_weight)
            lost = lost_rows(proba)
            if lost is None:
                return proba
            if self.oob_weight > 0:
                proba[lost] = asked.frequencies(tables_for_lost(), self.oob_weight, lost)
            else:
                proba[lost] = asked.means(tables_for_lost(), lost)
            return proba

        return answer

    def mean_tables(self) -> list[_core.LeafTables]:
        return [frequency_tables(self.forest, Laplace(), 0.0)]

    def spread_tables(self, n_threads: int) -> list[_core.LeafTables]:
        return [self.fallback]

    def single_trees(self) -> Iterator[SingleTree]:
        return (SingleTree.in_forest(tree, Raw(), self.oob_weight) for tree in self.forest)

    # Rows that are counted later.

    def check_updatable(self) -> None:
        if not self.oob_weight > 0:
            raise ValueError(
                f"oob_weight_={self.oob_weight!r}: leaves use only the rows of their samples, so later rows "
                "would change nothing: fit with oob_weight=1.0"
            )

    def counts_of(self, rows: EncodedRows, n_threads: int) -> tuple[Tally, ...]:
        """Rows are filed by the vote of all trees, none of which has seen them."""
        return (tally_rows(self.forest, rows, distinct=True, ballot=self.filed.ballot, n_threads=n_threads),)

    def held_counts(self) -> tuple[Tally, ...]:
        return (Tally(ForestCounts.of(self.forest), VoteCounts(self.filed.tables)),)

    def with_counts(
        self, counts: Sequence[Tally], decay: float, class_weights: Floats | None, n_threads: int
    ) -> VoteLookUp:
        forest = recounted(self.forest, counts[0].counts, decay, n_threads)
        tables = refiled(self.filed.tables, counts[0], decay, self.oob_weight)
        filed = FiledVotes(tables, make_ballot(forest, self.prior))
        return replace(self, forest=forest, filed=filed, n_threads=n_threads)

    # Several in one.

    def joined(self, others: Sequence[VoteLookUp], prior: Floats, class_weights: Floats) -> VoteLookUp:
        """Leaves keep their rows, assigned by the votes of their own forest."""
        every = [self, *others]
        weights = {one.oob_weight for one in every}
        if len(weights) > 1:
            raise ValueError(
                f"the models have different weights of out-of-bag rows, {sorted(weights)}: fit them with one oob_weight"
            )
        forest = Forest.joined([one.forest for one in every])
        tables = _core.VoteTables.joined([one.filed.tables for one in every], self.oob_weight)
        return replace(self, forest=forest, filed=FiledVotes(tables, make_ballot(forest, prior)), prior=prior)


def fit_vote_look_up(
    forest: Forest,
    unseen: OutOfBagRows,
    *,
    oob_weight: float | str,
    distinct: bool,
    voters: str,
    rows: str,
    n_threads: int,
) -> VoteLookUp:
    """File the training rows by the votes of the trees that have not seen them."""
    prior = unseen.rows.class_weights()
    auto = oob_weight == "auto"
    weight = 1.0 if auto else float(oob_weight)
    ballot = make_ballot(forest, prior, n_threads)
    filed = file_rows(unseen, ballot, distinct=distinct, oob_weight=weight, n_threads=n_threads)
    if auto:
        weight = best_oob_weight(filed, unseen, rows)
    return VoteLookUp(forest, filed, weight, prior, voters, rows, n_threads)
