"""Predictions of petiole's classifiers for perturbed queries: by their estimates, with soft weights over leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.base import has_oblique_splits
from petiole._classifiers.ensemble import ForestClassifier
from petiole._classifiers.fitting import forest_estimate_of
from petiole._classifiers.mob_esp import MOBESPClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._classifiers.probability_forest import ProbabilityForestClassifier
from petiole._classifiers.updating import estimate_of
from petiole._dual.noise import Perturbation
from petiole._dual.sampling import draw, perturbed_matrix
from petiole._estimates.asking import CountedWeights, FiledVotes, PooledTables, Positions, label_of
from petiole._estimates.base import ForestEstimate
from petiole._estimates.cross_fitted import CrossFitted
from petiole._estimates.members import Folding
from petiole._estimates.single_tree import SingleTree
from petiole._forest.forest import Forest
from petiole._forest.plan import ForestPlan
from petiole._table.constraints import Constraints
from petiole._table.rows import EncodedRows

Floats = npt.NDArray[np.float64]

# Rows predicted at a time, if their leaves are kept in memory until all trees have voted, and if not.
ROWS_WITH_LEAVES, ROWS_WITHOUT = 256, 65_536
# Models without leaves get random noise, the same for every query.
N_DRAWS, SEED_OF_DRAWS = 32, 0


class SoftQueries:
    """Perturbed queries in one forest: each is in several leaves, with weights."""

    def __init__(
        self, router: _core.SoftRouter, matrix: npt.NDArray[Any], perturbation: Perturbation, n_threads: int
    ) -> None:
        self.router = router
        self.matrix = matrix
        self.perturbation = perturbation
        self.n_threads = n_threads
        self._leaves: _core.Members | None = None

    def means(self, tables: _core.LeafTables, rows: Positions | None = None) -> Floats:
        if self._leaves is not None:
            return np.asarray(_core.out_of_bag_average(self._leaves, tables, rows, self.n_threads))
        matrix = self.matrix if rows is None else np.ascontiguousarray(self.matrix[rows])
        return np.asarray(self.router.average(matrix, tables, self.perturbation.core, None, self.n_threads))

    def look_up(
        self, filed: FiledVotes, n_voters: int, which: _core.VoteRows, tables: _core.LeafTables | None
    ) -> tuple[Floats, Floats | None]:
        self._leaves = self.router.members(self.matrix, self.perturbation.core, None, self.n_threads)
        _, _, proba = filed.tables.look_up_members(self._leaves, filed.ballot, n_voters, which, self.n_threads)
        return proba, None if tables is None else self.means(tables)

    def look_up_together(self, pooled: PooledTables) -> tuple[Floats, Floats]:
        proba, means = self.look_up(pooled.filed, self.router.n_trees, _core.VoteRows.shared, pooled.tables)
        assert means is not None
        return proba, means

    def ask(self, model: CrossFitted, starts: Floats | None) -> Floats:
        return mean_over_draws(
            self.matrix, self.perturbation, lambda matrix: model.answer(matrix, self.n_threads, starts)
        )


def mean_over_draws(
    matrix: npt.NDArray[Any], perturbation: Perturbation, ask: Callable[[npt.NDArray[Any]], Floats]
) -> Floats:
    """The mean prediction for perturbed copies of the rows."""
    drawn = draw(perturbation, N_DRAWS, SEED_OF_DRAWS)
    return np.asarray(sum(ask(perturbed_matrix(matrix, noise)) for noise in drawn) / N_DRAWS)


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Training rows, for the trees of a forest that were grown on samples of them.

    ``counted`` has the leaves of the rows without noise, in which they were counted. The rows are those ``chosen``
    from ``training``.
    """

    rows: EncodedRows
    counted: _core.Members
    training: EncodedRows
    chosen: npt.NDArray[np.intp]

    def unseen(
        self, model: CrossFitted, folding: Folding, starts: Floats | None, perturbation: Perturbation, n_threads: int
    ) -> Floats:
        """Probabilities of the rows with noise, by models that have not seen them."""
        fold_of = folding.of(self.training.labels)[self.chosen]
        return mean_over_draws(
            self.rows.matrix, perturbation, lambda matrix: model.held_out_answer(matrix, fold_of, n_threads, starts)
        )


class SoftUnseenRows:
    """Perturbed training rows in one forest, each predicted only by trees that have not seen it."""

    def __init__(self, router: _core.SoftRouter, part: CountedRows, perturbation: Perturbation, n_threads: int) -> None:
        self.router = router
        self.part = part
        self.rows = part.rows
        self.counted = part.counted
        self.perturbation = perturbation
        self.n_threads = n_threads
        self._leaves: _core.Members | None = None

    def ordered_shares(self, forest: Forest, weights: CountedWeights, order: Constraints) -> Floats:
        """From the rows on which trees were grown, which no label of an unseen row has changed."""
        grown_on = CountedWeights(1.0, 0.0, weights.least)
        tables = forest.core.ordered_tables(*grown_on, order.signs, order.target, self.n_threads)
        return self.means(tables)[:, label_of(order, forest)]

    def against_others(self, target: int) -> SoftUnseenRows:
        """The same rows with two classes: 1 is the target, 0 all others."""
        part = replace(
            self.part, rows=self.rows.against_others(target), training=self.part.training.against_others(target)
        )
        return type(self)(self.router, part, self.perturbation, self.n_threads)

    @property
    def leaves(self) -> _core.Members:
        """The leaves of the rows with noise."""
        if self._leaves is None:
            noise = self.perturbation.core
            self._leaves = self.router.members(self.rows.matrix, noise, self.counted, self.n_threads)
        return self._leaves

    def means(self, tables: _core.LeafTables, rows: Positions | None = None) -> Floats:
        return np.asarray(_core.out_of_bag_average(self.leaves, tables, rows, self.n_threads))

    def frequencies(self, counts: _core.LeafTables, oob_weight: float, rows: Positions | None = None) -> Floats:
        labels, weights = self.rows.labels, self.rows.weights
        found = np.asarray(
            _core.soft_out_of_bag_frequencies(
                self.leaves, self.counted, counts, oob_weight, labels, weights, self.n_threads
            )
        )
        return found if rows is None else found[rows]

    def look_up(self, filed: FiledVotes, which: _core.VoteRows, oob_weight: float) -> Floats:
        filed_by, _ = _core.out_of_bag_votes(self.counted, filed.ballot, self.n_threads)
        winners, votes = _core.out_of_bag_votes(self.leaves, filed.ballot, self.n_threads)
        labels, weights = self.rows.labels, self.rows.weights
        return np.asarray(
            _core.soft_out_of_bag_rows(
                self.leaves,
                self.counted,
                filed.tables,
                filed_by,
                winners,
                votes,
                which,
                oob_weight,
                labels,
                weights,
                self.n_threads,
            )
        )

    def ask(self, model: CrossFitted, folding: Folding, starts: Floats | None) -> Floats:
        return self.part.unseen(model, folding, starts, self.perturbation, self.n_threads)


class SoftMeans(SoftUnseenRows):
    """The same if only means are needed: no leaves are kept, so many rows can be predicted at a time."""

    def means(self, tables: _core.LeafTables, rows: Positions | None = None) -> Floats:
        noise = self.perturbation.core
        found = np.asarray(self.router.average(self.rows.matrix, tables, noise, self.counted, self.n_threads))
        return found if rows is None else found[rows]


def counted_rows(
    forest: Forest, plan: ForestPlan, rows: EncodedRows, selected: npt.NDArray[np.intp], at_a_time: int
) -> list[CountedRows]:
    """Training rows in parts of some rows each, with the samples that the trees were grown on."""
    copies = [plan.sample(rows, index) for index in range(len(forest))]
    parts = []
    for begin in range(0, len(selected), at_a_time):
        chosen = selected[begin : begin + at_a_time]
        part = rows.take(chosen)
        counted = forest.router.members(part.matrix, 1)
        for index, times in enumerate(copies):
            counted.set_copies(index, np.ascontiguousarray(times[chosen]))
        parts.append(CountedRows(part, counted, rows, chosen))
    return parts


class SoftModel:
    """An estimate with perturbed queries."""

    def __init__(self, estimate: ForestEstimate | SingleTree) -> None:
        self.estimate = estimate
        if isinstance(estimate, SingleTree):
            self.routers = [_core.SoftRouter.of_tree(estimate.tree.arrays)]
        else:
            self.routers = [_core.SoftRouter.of_forest(forest.core, 1) for forest in estimate.forests]

    @property
    def rows_at_a_time(self) -> int:
        return ROWS_WITH_LEAVES if self.estimate.looks_up_votes else ROWS_WITHOUT

    @property
    def is_mean(self) -> bool:
        """Whether the prediction is a mean over trees, so that the derivatives of its loss are known."""
        return isinstance(self.estimate, SingleTree) or self.estimate.is_mean

    def answer(self, matrix: npt.NDArray[Any], perturbation: Perturbation, n_threads: int) -> Floats:
        """Class probabilities of encoded rows."""
        return self.estimate.answer(SoftQueries(router, matrix, perturbation, n_threads) for router in self.routers)

    def means(self) -> list[tuple[_core.SoftRouter, _core.LeafTables]]:
        """Routers and tables whose mean over trees is the prediction, or near it, to learn noise per feature."""
        tables = [self.estimate.tables] if isinstance(self.estimate, SingleTree) else self.estimate.mean_tables()
        return list(zip(self.routers, tables, strict=True))


class SoftForest(SoftModel):
    """The same for forests, which can also predict training rows."""

    estimate: ForestEstimate

    @property
    def keeps_leaves(self) -> bool:
        """Whether out-of-bag predictions need the leaves of every row in all trees, which takes memory and time."""
        return self.estimate.looks_up_votes or self.estimate.leaves_rows_out

    def unseen_answer(
        self, plans: Sequence[ForestPlan], rows: EncodedRows, selected: npt.NDArray[np.intp], n_threads: int
    ) -> Callable[[Perturbation], Floats]:
        """A function for the out-of-bag probabilities of training rows, NaN where all trees have seen one."""
        at_a_time = ROWS_WITH_LEAVES if self.keeps_leaves else ROWS_WITHOUT
        of_forests = [
            counted_rows(forest, plan, rows, selected, at_a_time)
            for forest, plan in zip(self.estimate.forests, plans, strict=False)
        ]
        answer_unseen, asking = (
            self.estimate.unseen_answer(n_threads),
            SoftUnseenRows if self.keeps_leaves else SoftMeans,
        )

        def answer(noise: Perturbation) -> Floats:
            # A few rows at a time: the leaves that they reach in all trees take memory.
            return np.concatenate(
                [
                    answer_unseen(
                        [
                            asking(router, part, noise, n_threads)
                            for router, part in zip(self.routers, parts, strict=True)
                        ]
                    )
                    for parts in zip(*of_forests, strict=True)
                ]
            )

        return answer


CLASSES = (PETClassifier, BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier)


def is_soft(model: Any) -> bool:
    """Whether a classifier, fitted or not, has trees for which noise has a closed form."""
    return isinstance(model, CLASSES)


def soft_model(model: Any, *, vote: bool = False) -> SoftModel:
    """The soft version of a fitted classifier; with ``vote`` a tree gives the share of votes, not of probabilities."""
    if has_oblique_splits(model):
        raise ValueError(
            "splits='oblique': noise on one column moves all sums that it is part of, and what several such splits do "
            "together has no closed form: use mode='monte_carlo', or a model with splits='best' or 'random'"
        )
    if isinstance(model, ForestClassifier):
        return SoftForest(forest_estimate_of(model))
    tree = estimate_of(model)
    assert isinstance(tree, SingleTree)
    return SoftModel(tree.voting() if vote else tree)


def has_unseen_rows(model: Any) -> bool:
    """Whether a classifier is a forest with rows outside its samples."""
    return isinstance(model, ForestClassifier) and model.bootstrap is not False
