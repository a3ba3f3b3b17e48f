"""The pool: a logarithmic opinion pool of every component of every kind of trees."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import (
    FiledVotes,
    OutOfBagRows,
    PlainQueries,
    PooledTables,
    Positions,
    Queries,
    UnseenRows,
    filled,
)
from petiole._estimates.base import Fit, UnseenAnswer
from petiole._estimates.components import Component, OwnRows
from petiole._estimates.cross_fitted import CrossFitted
from petiole._estimates.leaf_tables import frequency_tables
from petiole._estimates.members import PoolMembers, fit_members
from petiole._estimates.scores import mean_log_loss, quality_of
from petiole._estimates.single_tree import SingleTree
from petiole._estimates.vote_look_up import make_ballot
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import ForestCounts, Tally, VoteCounts, recounted, refiled, tally_rows
from petiole._forest.log_pool import LogPool, Ridges, fit_pool
from petiole._table.rows import EncodedRows
from petiole.smoothing import Laplace, Raw

Floats = npt.NDArray[np.float64]

# The name of the base rates, the last component of every pool.
PRIOR = "prior"
# The largest number of rows from which the few unknowns are learned.
MOST_POOL_ROWS = 20_000
# With members beside the forest, overfitting is easier: the ridges on mean weights and on the weights of single classes
# are stronger than without.
MEMBER_RIDGES = Ridges(mean=10.0, classes=100.0)
# Members with smaller weights are dropped, which makes predictions faster.
LEAST_WEIGHT = 0.02


@dataclass(frozen=True, eq=False)
class Part:
    """The trees of one kind, and the tables of their leaves.

    Attributes
    ----------
    forest : Forest
    filed : FiledVotes
    components : tuple of Component
    tables : LeafTables
        The tables of "raw", by which gaps of other components are filled, and of all components, side by side.
    columns : tuple of slice
        The columns of the tables of each component; empty for one that looks up votes.
    """

    forest: Forest
    filed: FiledVotes
    components: tuple[Component, ...]
    tables: _core.LeafTables
    columns: tuple[slice, ...]

    @classmethod
    def of(cls, forest: Forest, filed: FiledVotes, components: tuple[Component, ...], n_threads: int) -> Part:
        return Statistics.of(forest, filed, components, n_threads).finished()

    @functools.cached_property
    def n_classes(self) -> int:
        return self.forest.core.n_classes

    @functools.cached_property
    def n_trees(self) -> int:
        return len(self.forest)

    @functools.cached_property
    def pooled(self) -> PooledTables:
        return PooledTables(self.filed, self.tables)

    @functools.cached_property
    def looks_up_votes(self) -> bool:
        return any(component.looks_up_votes for component in self.components)

    def answer(self, queries: Queries) -> list[Floats]:
        """The probabilities of queries by each component."""
        n_classes, votes = self.n_classes, None
        if self.looks_up_votes:
            votes, means = queries.look_up_together(self.pooled)
        else:
            means = queries.means(self.tables)
        raw = means[:, :n_classes]
        answers = []
        for component, columns in zip(self.components, self.columns, strict=True):
            if isinstance(component, OwnRows):
                answers.append(raw)
                continue
            answer = votes if component.looks_up_votes else component.answer(means[:, columns], n_classes)
            assert answer is not None
            answers.append(filled(answer, raw))
        return answers


@dataclass(frozen=True, eq=False)
class Statistics:
    """The counts of the components at the leaves of one kind of trees, from which their tables are made."""

    forest: Forest
    filed: FiledVotes
    components: tuple[Component, ...]
    raw: _core.LeafTables
    counts: tuple[_core.LeafTables | None, ...]
    n_threads: int

    @classmethod
    def of(cls, forest: Forest, filed: FiledVotes, components: tuple[Component, ...], n_threads: int) -> Statistics:
        raw = OwnRows().count(forest, n_threads)
        counts = tuple(
            raw if isinstance(component, OwnRows) else component.count(forest, n_threads) for component in components
        )
        return cls(forest, filed, components, raw, counts, n_threads)

    def unseen(self, unseen: UnseenRows) -> list[Floats]:
        """The probabilities of training rows by each component, from the trees that have not seen them."""
        raw = unseen.means(self.raw)
        return [
            raw if isinstance(component, OwnRows) else filled(component.unseen(counts, unseen, self.filed), raw)
            for component, counts in zip(self.components, self.counts, strict=True)
        ]

    def finished(self) -> Part:
        """The part made from these statistics, which are consumed."""
        n_classes = self.forest.core.n_classes
        tables, columns, at = [self.raw], [], n_classes
        for component, counts in zip(self.components, self.counts, strict=True):
            if isinstance(component, OwnRows):
                columns.append(slice(0, n_classes))
                continue
            own = [] if counts is None else component.tables(self.forest, counts, self.n_threads)
            width = sum(table.n_columns for table in own)
            columns.append(slice(at, at + width))
            tables, at = tables + own, at + width
        beside = _core.LeafTables.side_by_side(tables)
        return Part(self.forest, self.filed, self.components, beside, tuple(columns))


@dataclass(frozen=True, eq=False)
class PooledComponents:
    """All components of all kinds of trees, models that are no forests, and the base rates, in a logarithmic opinion
    pool.

    Attributes
    ----------
    parts : list of Part
    members : PoolMembers
        The models that are not forests.
    pool : LogPool
    forest_pool : LogPool or None
        The pool without the members, if one of these starts from its predictions.
    names : list of str
        Of the components in the order of the pool's weights: those of each part, the members, the base rates.
    prior : array
        The weight of each class in the training rows, which decides ties between votes.
    base_rates : array
        The share of each class among all rows counted.
    """

    parts: list[Part]
    members: PoolMembers
    pool: LogPool
    forest_pool: LogPool | None
    names: list[str]
    prior: Floats
    base_rates: Floats

    looks_up_votes = True
    leaves_rows_out = True
    is_mean = False

    @property
    def names_of_leaves(self) -> list[str]:
        """The components that are statistics of leaves."""
        return self.names[: len(self.names) - len(self.members.names) - 1]

    @property
    def forests(self) -> Sequence[Forest]:
        return [part.forest for part in self.parts]

    @property
    def structure(self) -> Sequence[bytes]:
        return [part.forest.structure for part in self.parts]

    def predict(self, matrix: npt.NDArray[Any], n_threads: int) -> Floats:
        return self.answer(PlainQueries(part.forest, matrix, n_threads) for part in self.parts)

    def answer(self, queries: Iterable[Queries]) -> Floats:
        return self.pool.combine(self.components_of(queries))

    def components_of(self, queries: Iterable[Queries]) -> list[Floats]:
        """The probabilities of queries by each component, in the order of ``names``."""
        asked = list(zip(self.parts, queries, strict=True))
        found = [proba for part, rows in asked for proba in part.answer(rows)]
        return self._with_members(found, asked[0][1].ask)

    def _with_members(self, found: list[Floats], ask: Callable[[CrossFitted, Floats | None], Floats]) -> list[Floats]:
        """Statistics of leaves, the members' predictions for the same rows, and the base rates."""
        starts = None
        if self.members.needs_starts:
            assert self.forest_pool is not None
            starts = np.log(self.forest_pool.combine(with_base_rates(found, self.base_rates)))
        return with_base_rates(found + self.members.answers(ask, starts), self.base_rates)

    def component_proba(self, matrix: npt.NDArray[Any], n_threads: int) -> list[Floats]:
        """The probabilities of encoded rows by each component."""
        return self.components_of(PlainQueries(part.forest, matrix, n_threads) for part in self.parts)

    def relearned(self, rows: EncodedRows, n_threads: int) -> PooledComponents:
        """The same components with weights learned from rows that no leaf has counted."""
        answers = dict(zip(self.names, self.component_proba(rows.matrix, n_threads), strict=True))
        pool, _ = learn_pool(answers, len(self.names_of_leaves), rows, self.pool.floor, n_threads)
        return replace(self, pool=pool)

    # Out of bag.

    def unseen_answer(self, n_threads: int) -> UnseenAnswer:
        statistics = [Statistics.of(part.forest, part.filed, part.components, n_threads) for part in self.parts]

        def answer(unseen: Sequence[UnseenRows]) -> Floats:
            asked = zip(statistics, unseen, strict=True)
            found = [proba for of_part, rows in asked for proba in of_part.unseen(rows)]
            return self.pool.combine(self._with_members(found, functools.partial(_ask_unseen, unseen[0], self.members)))

        return answer

    def mean_tables(self) -> list[_core.LeafTables]:
        return [frequency_tables(part.forest, Laplace(), 0.0) for part in self.parts]

    def spread_tables(self, n_threads: int) -> list[_core.LeafTables]:
        return [frequency_tables(part.forest, Raw(), 1.0, n_threads) for part in self.parts]

    def single_trees(self) -> Iterator[SingleTree]:
        return (SingleTree.in_forest(tree, Raw(), 1.0) for part in self.parts for tree in part.forest)

    # Rows that are counted later.

    def check_updatable(self) -> None:
        names = tuple(component.name for component in self.parts[0].components)
        if set(names) == {OwnRows.name}:
            raise ValueError(
                f"components={names!r}: these use only the rows of the trees' samples, so later "
                "rows would change nothing: fit with 'eb', 'oob', 'votes' or 'coarse' among them"
            )

    def counts_of(self, rows: EncodedRows, n_threads: int) -> tuple[Tally, ...]:
        return tuple(
            tally_rows(part.forest, rows, distinct=True, ballot=part.filed.ballot, n_threads=n_threads)
            for part in self.parts
        )

    def held_counts(self) -> tuple[Tally, ...]:
        return tuple(Tally(ForestCounts.of(part.forest), VoteCounts(part.filed.tables)) for part in self.parts)

    def with_counts(
        self, counts: Sequence[Tally], decay: float, class_weights: Floats | None, n_threads: int
    ) -> PooledComponents:
        assert class_weights is not None
        parts = []
        for part, tally in zip(self.parts, counts, strict=True):
            forest = recounted(part.forest, tally.counts, decay, n_threads)
            filed = FiledVotes(refiled(part.filed.tables, tally, decay, 1.0), make_ballot(forest, self.prior))
            parts.append(Part.of(forest, filed, part.components, n_threads))
        return replace(self, parts=parts, base_rates=class_weights / class_weights.sum())

    # Several in one.

    def joined(self, others: Sequence[PooledComponents], prior: Floats, class_weights: Floats) -> PooledComponents:
        """Parts kind by kind, members name by name; pools are averaged by their numbers of trees."""
        every = [self, *others]
        if any(one.names_of_leaves != self.names_of_leaves for one in every):
            raise ValueError(
                "the models differ in max_features, splits or components: merge models with the same parameters"
            )
        members = self.members.joined([one.members for one in others])
        forest_pools = [one.forest_pool for one in every if one.forest_pool is not None]
        names = [*self.names_of_leaves, *members.names, PRIOR]
        share = np.array([sum(map(len, one.forests)) for one in every], dtype=float)
        pool = LogPool.mean([one.pool.placed(one.names, names) for one in every], share / share.sum())
        of_forests = np.full(len(forest_pools), 1.0 / max(len(forest_pools), 1))
        forest_pool = LogPool.mean(forest_pools, of_forests) if forest_pools else None
        parts = []
        for of_kind in zip(*(one.parts for one in every), strict=True):
            forest = Forest.joined([part.forest for part in of_kind])
            tables = _core.VoteTables.joined([part.filed.tables for part in of_kind], 1.0)
            parts.append(Part.of(forest, FiledVotes(tables, make_ballot(forest, prior)), of_kind[0].components, 1))
        return PooledComponents(parts, members, pool, forest_pool, names, prior, class_weights / class_weights.sum())


def fit_pooled_components(
    forests: Sequence[Forest],
    filed: Sequence[FiledVotes],
    unseen: Sequence[OutOfBagRows],
    components: tuple[Component, ...],
    names: list[str],
    wanted: Sequence[str],
    *,
    seed: int,
    prior: Floats,
    learn_from: Positions,
    floor: float,
    answer_all: bool,
    n_threads: int,
) -> Fit:
    """Learn the weight of each component.

    Parameters
    ----------
    forests, filed, unseen : for each kind of trees
        The trees, their leaf matrices of votes, and where rows are in them.
    components : tuple of Component
    names : list of str
        Of all components of all kinds.
    wanted : sequence of str
        The members to fit beside the forest; those that get no weight are dropped.
    seed : int
        Of the members.
    prior : array
        The weight of each class in all training rows.
    learn_from : positions of the rows, among those of ``unseen``, from which weights are learned
    floor : float
        Probabilities are raised to this.
    answer_all : bool
        Whether to predict all rows of ``unseen`` out of bag, not only those from which weights are learned.
    """
    asked = unseen if answer_all else [rows.select(learn_from) for rows in unseen]
    answers, parts = [], []
    for forest, votes, rows_of_kind in zip(forests, filed, asked, strict=True):
        of_kind, part = _answers_and_part(Statistics.of(forest, votes, components, n_threads), rows_of_kind)
        answers.append(of_kind)
        parts.append(part)
    base_rates = prior / prior.sum()
    rows = unseen[0].rows
    of_leaves = [proba for of_kind in answers for proba in of_kind]
    in_asked = learn_from if answer_all else np.arange(len(learn_from))
    known = ~np.isnan([proba[in_asked, 0] for proba in of_leaves]).any(axis=0)
    to_learn, rows_to_learn = in_asked[known], rows.take(learn_from[known])
    leaf_answers = with_base_rates(of_leaves, base_rates)
    forest_pool, losses = learn_pool(
        _by_name([*names, PRIOR], leaf_answers, to_learn), len(names), rows_to_learn, floor, n_threads
    )
    starts = None
    if wanted and len(learn_from) == len(rows):  # whether or not all rows have to be predicted
        starts = np.log(forest_pool.combine(_filled_by(leaf_answers, base_rates)))
    forest_loss = mean_log_loss(forest_pool.combine([proba[to_learn] for proba in leaf_answers]), rows_to_learn)
    all_or_some = slice(None) if answer_all else learn_from
    members, by_members = fit_members(wanted, rows, seed, starts, n_threads, loss=forest_loss, asked=all_or_some)
    every = [*names, *members.names, PRIOR]
    learned = _by_name(every, with_base_rates(of_leaves + by_members, base_rates), to_learn)
    pool = forest_pool
    if members.names:
        pool, losses = learn_pool(learned, len(names), rows_to_learn, floor, n_threads)
    useful = [name for name in members.names if pool.weights[every.index(name)].max() >= LEAST_WEIGHT]
    kept = [*names, *useful, PRIOR]
    pool = pool.placed(every, kept)
    out_of_bag = None
    if answer_all:
        by_useful = [proba for name, proba in zip(members.names, by_members, strict=True) if name in useful]
        out_of_bag = pool.combine(with_base_rates(_known_to_others(answers) + by_useful, base_rates))
    members = members.kept(useful)
    forest_pool_needed = forest_pool if members.needs_starts else None
    estimate = PooledComponents(parts, members, pool, forest_pool_needed, kept, prior, base_rates)
    quality = quality_of(pool.combine([learned[name] for name in kept]), rows_to_learn)
    return Fit(estimate, out_of_bag, quality, losses)


def _by_name(names: Sequence[str], answers: Sequence[Floats], rows: npt.NDArray[Any]) -> dict[str, Floats]:
    return {name: proba[rows] for name, proba in zip(names, answers, strict=True)}


def _filled_by(answers: Sequence[Floats], base_rates: Floats) -> list[Floats]:
    """Predictions, and base rates for rows about which nothing is known."""
    return [filled(proba, base_rates[np.newaxis]) for proba in answers]


def _ask_unseen(rows: UnseenRows, members: PoolMembers, model: CrossFitted, starts: Floats | None) -> Floats:
    return rows.ask(model, members.folding, starts)


def learn_pool(
    answers: dict[str, Floats], n_of_leaves: int, rows: EncodedRows, floor: float, n_threads: int
) -> tuple[LogPool, dict[str, float]]:
    """The pool of components, from their predictions for unseen rows, and the log-loss of each in bits.

    The first ``n_of_leaves`` are statistics of leaves, the last are the base rates.
    """
    losses = {name: mean_log_loss(proba, rows) for name, proba in answers.items()}
    ridges = MEMBER_RIDGES if len(answers) > n_of_leaves + 1 else Ridges()
    starts = pool_starts(n_of_leaves, len(answers))
    pool = fit_pool(list(answers.values()), rows.labels, rows.weights, starts, floor, n_threads, ridges)
    return pool, losses


def _answers_and_part(statistics: Statistics, unseen: UnseenRows) -> tuple[list[Floats], Part]:
    """The predictions of one kind of trees, and the part made from its statistics, whose counts are consumed."""
    return statistics.unseen(unseen), statistics.finished()


def with_base_rates(components: list[Floats], base_rates: Floats) -> list[Floats]:
    """Components, followed by the base rates for each row."""
    return [*components, np.repeat(base_rates[np.newaxis], len(components[0]), axis=0)]


def pool_starts(n_of_leaves: int, n_components: int) -> Floats:
    """The weights towards which ridges pull: equal ones for statistics of leaves, with sum 1, and 0 for others."""
    return np.repeat([1.0 / n_of_leaves, 0.0], [n_of_leaves, n_components - n_of_leaves])


def pool_rows(n_rows: int, seed: int) -> Positions:
    """The rows from which the pool is learned: all, or a random selection if there are many."""
    if n_rows <= MOST_POOL_ROWS:
        return np.arange(n_rows, dtype=np.uint32)
    drawn = np.random.default_rng(seed).choice(n_rows, MOST_POOL_ROWS, replace=False)
    return np.sort(drawn).astype(np.uint32)


def _known_to_others(parts: Sequence[Sequence[Floats]]) -> list[Floats]:
    """All components of all parts; where all trees of a part have seen a row, the probabilities of the other parts."""
    for same in zip(*parts, strict=True):
        lost = [np.isnan(proba[:, 0]) for proba in same]
        if not any(rows.any() for rows in lost):
            continue
        sums = np.sum([np.nan_to_num(proba) for proba in same], axis=0)
        n_known = np.sum([~rows for rows in lost], axis=0)[:, np.newaxis]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sums / n_known
        for proba, rows in zip(same, lost, strict=True):
            proba[rows] = mean[rows]
    return [proba for part in parts for proba in part]
