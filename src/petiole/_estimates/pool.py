"""The pool: a logarithmic opinion pool of every component of every kind of trees."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
from petiole._estimates.components import Component
from petiole._estimates.constrained_components import Ordered, constrained_components
from petiole._estimates.cross_fitted import CrossFitted
from petiole._estimates.leaf_tables import frequency_tables
from petiole._estimates.members import PoolMembers, fit_members
from petiole._estimates.scores import mean_log_loss, quality_of
from petiole._estimates.single_tree import SingleTree
from petiole._estimates.vote_look_up import make_ballot
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import ForestCounts, Tally, VoteCounts, recounted, refiled, tally_rows
from petiole._forest.log_pool import LogPool, Ridges, fit_pool
from petiole._table.constraints import Constraints
from petiole._table.rows import EncodedRows
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable
from petiole.smoothing import Laplace, Raw
from petiole.smoothing.monotone import Monotone, with_share

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
        """The classes of the components, two if they are of one class against all others."""
        return self.components[0].n_classes(self.forest)

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
            if component.is_own_rows:
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
        raw = components[0].own_rows().count(forest, n_threads)
        assert raw is not None
        counts = tuple(raw if component.is_own_rows else component.count(forest, n_threads) for component in components)
        return cls(forest, filed, components, raw, counts, n_threads)

    def unseen(self, unseen: UnseenRows) -> list[Floats]:
        """The probabilities of training rows by each component, from the trees that have not seen them."""
        raw = self.components[0].own_rows().unseen(self.forest, self.raw, unseen, self.filed)
        return [
            raw if component.is_own_rows else filled(component.unseen(self.forest, counts, unseen, self.filed), raw)
            for component, counts in zip(self.components, self.counts, strict=True)
        ]

    def finished(self) -> Part:
        """The part made from these statistics, which are consumed."""
        own_rows = self.components[0].own_rows()
        n_classes = own_rows.n_classes(self.forest)
        tables, columns, at = own_rows.tables(self.forest, self.raw, self.n_threads), [], n_classes
        for component, counts in zip(self.components, self.counts, strict=True):
            if component.is_own_rows:
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
    named : NamedClass, optional
        The pool that one class has for itself.
    """

    parts: list[Part]
    members: PoolMembers
    pool: LogPool
    forest_pool: LogPool | None
    names: list[str]
    prior: Floats
    base_rates: Floats
    named: NamedClass | None = None

    looks_up_votes = True
    leaves_rows_out = True
    is_mean = False

    @property
    def names_of_leaves(self) -> list[str]:
        """The components that are statistics of leaves."""
        return self.names[: len(self.names) - len(self.members.names) - 1]

    @property
    def order(self) -> Constraints | None:
        """Along which columns the probability of which class is monotone; None if that of none need be."""
        first = (self if self.named is None else self.named.pool).parts[0].components[0]
        return first.order if isinstance(first, Ordered) else None

    @property
    def forests(self) -> Sequence[Forest]:
        return [part.forest for part in self.parts]

    @property
    def structure(self) -> Sequence[bytes]:
        return [part.forest.structure for part in self.parts]

    def predict(self, matrix: npt.NDArray[Any], n_threads: int) -> Floats:
        return self.answer(PlainQueries(part.forest, matrix, n_threads) for part in self.parts)

    def answer(self, queries: Iterable[Queries]) -> Floats:
        asked = list(queries)
        proba = self.pool.combine(self.components_of(asked))
        return proba if self.named is None else self.named.put_into(proba, self.named.pool.answer(asked))

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
        named = self.named
        if named is not None:
            named = named.with_pool(named.pool.relearned(rows.against_others(named.target), n_threads))
        return replace(self, pool=pool, named=named)

    # Out of bag.

    def unseen_answer(self, n_threads: int) -> UnseenAnswer:
        components_of = self.unseen_components(n_threads)

        def answer(unseen: Sequence[UnseenRows]) -> Floats:
            return self.pool.combine(components_of(unseen))

        if self.named is None:
            return answer
        named, answer_named = self.named, self.named.pool.unseen_answer(n_threads)

        def answer_both(unseen: Sequence[UnseenRows]) -> Floats:
            of_two = answer_named([rows.against_others(named.target) for rows in unseen])
            return named.put_into(answer(unseen), of_two)

        return answer_both

    def unseen_components(self, n_threads: int) -> Callable[[Sequence[UnseenRows]], list[Floats]]:
        """Predictions of each component for training rows, by the trees and folds that have not seen them."""
        statistics = [Statistics.of(part.forest, part.filed, part.components, n_threads) for part in self.parts]

        def answer(unseen: Sequence[UnseenRows]) -> list[Floats]:
            asked = zip(statistics, unseen, strict=True)
            found = [proba for of_part, rows in asked for proba in of_part.unseen(rows)]
            return self._with_members(found, functools.partial(_ask_unseen, unseen[0], self.members))

        return answer

    def mean_tables(self) -> list[_core.LeafTables]:
        return [frequency_tables(part.forest, Laplace(), 0.0) for part in self.parts]

    def spread_tables(self, n_threads: int) -> list[_core.LeafTables]:
        return [frequency_tables(part.forest, Raw(), 1.0, n_threads) for part in self.parts]

    def single_trees(self) -> Iterator[SingleTree]:
        order = self.order
        estimator = Raw() if order is None else Monotone(Raw(), order.signs, order.target)
        return (SingleTree.in_forest(tree, estimator, 1.0) for part in self.parts for tree in part.forest)

    # Rows that are counted later.

    def check_updatable(self) -> None:
        components = self.parts[0].components
        if all(component.is_own_rows for component in components):
            names = tuple(component.name for component in components)
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
        base_rates = class_weights / class_weights.sum()
        named = None if self.named is None else self.named.on_parts(parts, base_rates, n_threads)
        return replace(self, parts=parts, base_rates=base_rates, named=named)

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
        base_rates = class_weights / class_weights.sum()
        named = None
        if self.named is not None:
            named = self.named.joined([one.named for one in others if one.named], prior, base_rates, parts)
        return PooledComponents(parts, members, pool, forest_pool, names, prior, base_rates, named)

    def on_parts(self, parts: Sequence[Part], base_rates: Floats, n_threads: int) -> PooledComponents:
        """The same components and weights with the trees of other parts."""
        own = [
            Part.of(part.forest, part.filed, old.components, n_threads)
            for old, part in zip(self.parts, parts, strict=True)
        ]
        return replace(self, parts=own, base_rates=base_rates)


@dataclass(frozen=True, eq=False)
class NamedPool(Savable):
    """What the pool of a named class against all others has for itself, beside the trees.

    Attributes
    ----------
    pool : LogPool
        The weights of its components, whose columns are the other classes together and the named one.
    members : PoolMembers
    forest_pool : LogPool or None
        The pool without the members, if one of these starts from its predictions.
    names : list of str
        The components in the order of the weights.
    """

    pool: LogPool
    members: PoolMembers
    forest_pool: LogPool | None
    names: list[str]

    _saved = fields(
        pool=checks.instance_of("LogPool"),
        members=checks.instance_of("PoolMembers"),
        forest_pool=checks.none_or(checks.instance_of("LogPool")),
        names=checks.texts,
    )

    @classmethod
    def of(cls, pool: PooledComponents) -> NamedPool:
        return cls(pool.pool, pool.members, pool.forest_pool, pool.names)

    def _check_state(self, state: dict[str, Any]) -> None:
        n_leaves = len(state["names"]) - len(state["members"].names) - 1
        _check_shape("pool", state["pool"], len(state["names"]))
        if state["forest_pool"] is not None:
            _check_shape("forest_pool", state["forest_pool"], n_leaves + 1)
        starts = not state["members"].needs_starts or state["forest_pool"] is not None
        require(starts, "forest_pool: must be there for members that start from it")

    def check_fits(self, leaf_names: Sequence[str], n_columns: int) -> None:
        """Raise ValueError unless it has these statistics of leaves, and models with this number of columns."""
        names = [*leaf_names, *self.members.names, PRIOR]
        require(self.names == names, "named_pool_: must have the components of the parts and members")
        self.members.check_fits(n_columns, 2)


def _check_shape(name: str, pool: LogPool, n_components: int) -> None:
    require(pool.weights.shape == (n_components, 2), f"{name}: must have {n_components} components and two classes")


@dataclass(frozen=True, eq=False)
class NamedClass:
    """A class whose probability is monotone, where there are more than two.

    It has the probability that a pool gives it against all others, with the same trees. The pool of all classes divides
    the rest.
    """

    target: int
    pool: PooledComponents

    @classmethod
    def of(
        cls,
        order: Constraints,
        fitted: NamedPool,
        whole: PooledComponents,
        components: tuple[Component, ...],
        n_threads: int,
    ) -> NamedClass:
        """The pool of the class with the trees of the pool of all classes."""
        prior = against_others(whole.prior, order.target)
        own = (fitted.members, fitted.pool, fitted.forest_pool, fitted.names)
        parts = [Part.of(part.forest, part.filed, components, n_threads) for part in whole.parts]
        return cls(order.target, PooledComponents(parts, *own, prior, against_others(whole.base_rates, order.target)))

    def put_into(self, proba: Floats, of_two: Floats) -> Floats:
        """Probabilities of all classes with that of the class, where ``of_two`` are the others' and its own."""
        return with_share(proba, self.target, of_two[:, 1], np.ones(proba.shape[1]))

    def with_pool(self, pool: PooledComponents) -> NamedClass:
        return replace(self, pool=pool)

    def on_parts(self, parts: Sequence[Part], base_rates: Floats, n_threads: int) -> NamedClass:
        """The same with the trees of other parts, and with other base rates of all classes."""
        return self.with_pool(self.pool.on_parts(parts, against_others(base_rates, self.target), n_threads))

    def joined(
        self, others: Sequence[NamedClass], prior: Floats, base_rates: Floats, parts: Sequence[Part]
    ) -> NamedClass:
        """The pools of several models as one, on the trees of all, which are those of ``parts``."""
        of_two = against_others(prior, self.target), against_others(base_rates, self.target)
        joined = self.pool.joined([one.pool for one in others], *of_two)
        return self.with_pool(joined).on_parts(parts, base_rates, 1)


def against_others(of_classes: Floats, target: int) -> Floats:
    """What all other classes have together, and what one has."""
    return np.array([of_classes.sum() - of_classes[target], of_classes[target]])


class Learned(NamedTuple):
    """A fitted pool and its predictions for training rows.

    Attributes
    ----------
    estimate : PooledComponents
    out_of_bag : array or None
        The predictions for all rows, if they were requested.
    proba : array
        Those for the rows from which weights were learned.
    rows : EncodedRows
        These rows.
    component_log_loss : dict from component to its log-loss in bits on them
    """

    estimate: PooledComponents
    out_of_bag: Floats | None
    proba: Floats
    rows: EncodedRows
    component_log_loss: dict[str, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class PoolTask:
    """What the weights of a pool are learned from, and how.

    Attributes
    ----------
    forests, filed, unseen : for each kind of trees
        The trees, their leaf matrices of votes, and where rows are in them.
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

    forests: Sequence[Forest]
    filed: Sequence[FiledVotes]
    unseen: Sequence[OutOfBagRows]
    wanted: Sequence[str]
    seed: int
    prior: Floats
    learn_from: Positions
    floor: float
    answer_all: bool
    n_threads: int

    @property
    def rows(self) -> EncodedRows:
        return self.unseen[0].rows

    def with_rows(self, rows: EncodedRows) -> PoolTask:
        """The same with other labels or constraints of the rows."""
        return replace(self, unseen=[one.with_rows(rows) for one in self.unseen], prior=rows.class_weights())

    def learn(self, components: tuple[Component, ...], names: list[str]) -> Learned:
        """Learn the weight of each component; ``names`` are those of all components of all kinds of trees."""
        floor, n_threads, learn_from, rows = self.floor, self.n_threads, self.learn_from, self.rows
        asked = self.unseen if self.answer_all else [one.select(learn_from) for one in self.unseen]
        answers, parts = [], []
        for forest, votes, rows_of_kind in zip(self.forests, self.filed, asked, strict=True):
            of_kind, part = _answers_and_part(Statistics.of(forest, votes, components, n_threads), rows_of_kind)
            answers.append(of_kind)
            parts.append(part)
        base_rates = self.prior / self.prior.sum()
        of_leaves = [proba for of_kind in answers for proba in of_kind]
        in_asked = learn_from if self.answer_all else np.arange(len(learn_from))
        known = ~np.isnan([proba[in_asked, 0] for proba in of_leaves]).any(axis=0)
        to_learn, rows_to_learn = in_asked[known], rows.take(learn_from[known])
        leaf_answers = with_base_rates(of_leaves, base_rates)
        forest_pool, losses = learn_pool(
            _by_name([*names, PRIOR], leaf_answers, to_learn), len(names), rows_to_learn, floor, n_threads
        )
        starts = None
        if self.wanted and len(learn_from) == len(rows):  # whether or not all rows have to be predicted
            starts = np.log(forest_pool.combine(_filled_by(leaf_answers, base_rates)))
        forest_loss = mean_log_loss(forest_pool.combine([proba[to_learn] for proba in leaf_answers]), rows_to_learn)
        all_or_some = slice(None) if self.answer_all else learn_from
        members, by_members = fit_members(
            self.wanted, rows, self.seed, starts, n_threads, loss=forest_loss, asked=all_or_some
        )
        every = [*names, *members.names, PRIOR]
        learned = _by_name(every, with_base_rates(of_leaves + by_members, base_rates), to_learn)
        pool = forest_pool
        if members.names:
            pool, losses = learn_pool(learned, len(names), rows_to_learn, floor, n_threads)
        useful = [name for name in members.names if pool.weights[every.index(name)].max() >= LEAST_WEIGHT]
        kept = [*names, *useful, PRIOR]
        pool = pool.placed(every, kept)
        out_of_bag = None
        if self.answer_all:
            by_useful = [proba for name, proba in zip(members.names, by_members, strict=True) if name in useful]
            out_of_bag = pool.combine(with_base_rates(_known_to_others(answers) + by_useful, base_rates))
        members = members.kept(useful)
        forest_pool_needed = forest_pool if members.needs_starts else None
        estimate = PooledComponents(parts, members, pool, forest_pool_needed, kept, self.prior, base_rates)
        proba = pool.combine([learned[name] for name in kept])
        return Learned(estimate, out_of_bag, proba, rows_to_learn, losses)


def fit_pooled_components(task: PoolTask, components: tuple[Component, ...], kinds: Sequence[str] = ("",)) -> Fit:
    """Learn the weight of each component of each kind of trees, whose names get these endings.

    With directions in the constraints of the rows the components are monotone. With more than two classes the named
    class then has a pool for itself.
    """
    constraints, rows = task.rows.constraints, task.rows
    chosen = constrained_components(components, constraints, len(rows.classes))
    if not chosen.named:
        return _as_fit(task.learn(chosen.whole, names_of(chosen.whole, kinds)))
    assert constraints is not None
    target = constraints.target
    whole = task.with_rows(rows.without_order()).learn(chosen.whole, names_of(chosen.whole, kinds))
    learned = task.with_rows(rows.against_others(target)).learn(chosen.named, names_of(chosen.named, kinds))
    own_rates = against_others(whole.estimate.base_rates, target)  # as a model that comes from a file has them
    named = NamedClass(target, replace(learned.estimate, base_rates=own_rates))
    out_of_bag = None
    if whole.out_of_bag is not None and learned.out_of_bag is not None:
        out_of_bag = named.put_into(whole.out_of_bag, learned.out_of_bag)
    proba = named.put_into(whole.proba, learned.proba)
    return _as_fit(whole._replace(estimate=replace(whole.estimate, named=named), out_of_bag=out_of_bag, proba=proba))


def names_of(components: Sequence[Component], kinds: Sequence[str]) -> list[str]:
    """The names of components, kind by kind.

    >>> from petiole._estimates.components import make_components
    >>> names_of(make_components(["raw", "oob"], 30), [", sqrt", ", 1"])
    ['raw, sqrt', 'oob, sqrt', 'raw, 1', 'oob, 1']
    """
    return [f"{component.name}{kind}" for kind in kinds for component in components]


def _as_fit(learned: Learned) -> Fit:
    quality = quality_of(learned.proba, learned.rows)
    return Fit(learned.estimate, learned.out_of_bag, quality, learned.component_log_loss)


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
