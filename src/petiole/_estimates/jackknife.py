"""How far a probability may be from what other training rows would have given: variances and intervals.

The infinitesimal jackknife (:mod:`petiole._estimates.influence`) gives a variance for each query. Its noise is larger
than itself unless there are far more trees than rows, and it is 0 where all trees agree by chance. So only its size is
used. The shape is that of a kernel: a prediction is a weighted share of the labels of training rows, and with fixed
splits its variance would be p(1 - p) times the sum of squares of the weights, which is known without noise. The
jackknife says how many times larger the variance is on average, by training rows that are predicted by the trees that
have not seen them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import stdtrit

from petiole._estimates.asking import OutOfBagRows, PlainQueries
from petiole._estimates.cross_fitted import CrossFitted
from petiole._estimates.influence import (
    InfluenceRows,
    Placed,
    influences,
    kernel,
    leaf_weights,
    rows_of_mean,
    rows_of_part,
)
from petiole._estimates.leaf_mean import LeafMean
from petiole._estimates.pool import MEMBER_RIDGES, PooledComponents, pool_rows, with_base_rates
from petiole._estimates.pool_influence import WeightInfluence
from petiole._estimates.vote_look_up import vote_rows
from petiole._forest.log_pool import Ridges
from petiole._forest.plan import ForestPlan, find_rows
from petiole._table.rows import EncodedRows

Floats = npt.NDArray[np.float64]

# The training rows on which the factor is measured: at least and at most so many, for about so many operations.
LEAST_ROWS, MOST_ROWS, MOST_OPERATIONS = 25, 400, 2e9
# The numbers in memory at a time.
MOST_CELLS = 4_000_000
# How large the factor usually is, give or take as much, and how large at least: for a mean of trees, and for a pool.
SCALE_OF_MEAN, SCALE_OF_POOL = (3.0, 1.0), (1.0, 0.1)
# The mean of the jackknife over queries has this share of the noise of a single one; all share the samples.
SHARED_NOISE = 0.3
# How well the variance of a query is known: as one with so many degrees of freedom, whose relative error is a half.
DEGREES_OF_FREEDOM = 8
# Sums of squares and variances are at least this large.
LEAST_SQUARES, LEAST_VARIANCE = 1e-9, 1e-12


class Spread(NamedTuple):
    """What is known of the error of predictions.

    Attributes
    ----------
    proba : array of shape (n_rows, n_classes)
        The predictions.
    squares : array of shape (n_rows,)
        The sum of squares of the weights of training rows in the prediction.
    beside : array of shape (n_rows, n_classes)
        The variance by the weights of a pool, and by members that are not forests.
    """

    proba: Floats
    squares: Floats
    beside: Floats

    @property
    def binomial(self) -> Floats:
        """p(1 - p), with one more row of the class and one of the others, so that it is not 0."""
        n_rows = 1 / np.maximum(self.squares, LEAST_SQUARES)[:, np.newaxis]
        p = (self.proba * n_rows + 1) / (n_rows + 2)
        return np.asarray(p * (1 - p))

    @property
    def kernel(self) -> Floats:
        """The variance with fixed splits."""
        return np.asarray(self.binomial * self.squares[:, np.newaxis])

    def variance(self, scale: float) -> Floats:
        """The variance of the predictions, from how many times larger it is than with fixed splits."""
        return np.asarray(np.maximum(scale * self.kernel + self.beside, LEAST_VARIANCE))

    def intervals(self, level: float, scale: float) -> tuple[Floats, Floats]:
        """Wilson's intervals for shares of as many rows as the variance stands for."""
        return wilson(self.proba, self.binomial / self.variance(scale), level)


def wilson(proba: Floats, n_rows: Floats, level: float) -> tuple[Floats, Floats]:
    """The probabilities whose distance from a share is at most t standard deviations of a share of so many rows.

    t is Student's quantile, because the number of rows is an estimate.

    >>> lower, upper = wilson(np.array([0.5, 0.0]), np.array([100.0, 100.0]), 0.9)
    >>> lower.round(3), upper.round(3)
    (array([0.409, 0.   ]), array([0.591, 0.033]))
    """
    t = float(stdtrit(DEGREES_OF_FREEDOM, (1 + level) / 2))
    a = t * t / n_rows
    centre = (proba + a / 2) / (1 + a)
    half = np.sqrt(a * proba * (1 - proba) + np.square(a) / 4) / (1 + a)
    return np.clip(centre - half, 0.0, np.minimum(proba, 1.0)), np.clip(centre + half, np.maximum(proba, 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class Jackknife:
    """The training rows of an estimate, in the form that moments are computed from.

    Attributes
    ----------
    estimate : LeafMean or PooledComponents
    rows : EncodedRows
    parts : list of InfluenceRows
        One for each kind of trees.
    """

    estimate: LeafMean | PooledComponents
    plans: Sequence[ForestPlan]
    rows: EncodedRows
    parts: list[InfluenceRows]
    of_weights: WeightInfluence | None = None

    @classmethod
    def of(
        cls, estimate: LeafMean | PooledComponents, plans: Sequence[ForestPlan], rows: EncodedRows, n_threads: int
    ) -> Jackknife:
        """From the training rows and the plans by which the trees were grown."""
        if isinstance(estimate, LeafMean):
            return cls(estimate, plans, rows, [rows_of_mean(estimate, plans[0], rows)])
        parts, unseen = [], []
        for part, plan in zip(estimate.parts, plans, strict=False):
            of_kind = OutOfBagRows(find_rows(plan, part.forest, rows, n_threads), rows, n_threads)
            parts.append(rows_of_part(part, plan, rows, of_kind.vote(part.filed.ballot)[0]))
            unseen.append(of_kind)
        learned_from = pool_rows(len(rows), plans[0].seed)
        honest = estimate.unseen_components(n_threads)([of_kind.select(learned_from) for of_kind in unseen])
        known = np.flatnonzero(~np.isnan([proba[:, 0] for proba in honest]).any(axis=0))
        ridges = MEMBER_RIDGES if estimate.members.names else Ridges()
        of_weights = WeightInfluence.of(
            estimate.pool, [proba[known] for proba in honest], rows.take(learned_from[known]), ridges
        )
        return cls(estimate, plans, rows, parts, of_weights)

    def spread(self, matrix: npt.NDArray[Any], n_threads: int) -> Spread:
        """That of new rows."""
        blocks = [self._spread_of(matrix[block], n_threads) for block in self._blocks(len(matrix), 1)]
        return Spread(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))

    def scale(self, n_threads: int) -> float:
        """How many times larger the variance is than with fixed splits, on training rows; steadied by what is usual."""
        positions = np.linspace(0, len(self.rows) - 1, self._n_reference_rows).astype(np.intp)
        sums = np.zeros(3)
        for block in self._blocks(len(positions), self.parts[0].n_classes):
            sums += self._sums_of(positions[block], n_threads)
        jackknife, kernel, noise = sums.tolist()
        usual, least = SCALE_OF_POOL if self._is_pool else SCALE_OF_MEAN
        if kernel <= 0:
            return usual
        trust = usual**2 / (usual**2 + (SHARED_NOISE * noise / kernel) ** 2)
        return float(max(usual + trust * (jackknife / kernel - usual), least))

    @property
    def _is_pool(self) -> bool:
        return isinstance(self.estimate, PooledComponents)

    @property
    def _n_reference_rows(self) -> int:
        n_statistics = sum(len(part.statistics) for part in self.parts)
        each = len(self.rows) * self.parts[0].n_classes ** 2 * n_statistics
        return min(len(self.rows), int(np.clip(MOST_OPERATIONS / each, LEAST_ROWS, MOST_ROWS)))

    def _blocks(self, n: int, n_tables: int) -> Iterator[slice]:
        size = max(1, min(512, MOST_CELLS // max(1, len(self.rows) * n_tables)))
        return (slice(begin, begin + size) for begin in range(0, max(n, 1), size))

    def _spread_of(self, matrix: npt.NDArray[Any], n_threads: int) -> Spread:
        """The spread of a block of rows."""
        proba, _, shares, beside = self._slopes(matrix, n_threads)
        pairs = enumerate(zip(self.parts, shares, strict=True))
        kernels = [kernel(part, self._placed(i, matrix, n_threads, None), weight) for i, (part, weight) in pairs]
        total = functools.reduce(operator.add, kernels)
        return Spread(proba, np.asarray(total.multiply(total).sum(axis=1)).ravel(), beside)

    def _sums_of(self, positions: npt.NDArray[np.intp], n_threads: int) -> Floats:
        """Sums over training rows, predicted by the trees that have not seen them: of the variance by the jackknife,
        corrected for the number of trees, of that with fixed splits, and of the standard deviation of the first."""
        matrix = self.rows.matrix[positions]
        proba, slopes, shares, _ = self._slopes(matrix, n_threads)
        total: Any = 0.0
        weights: Any = 0.0
        added = np.zeros(proba.shape)
        for number, (part, of_part, share) in enumerate(zip(self.parts, slopes, shares, strict=True)):
            placed = self._placed(number, matrix, n_threads, positions)
            found = influences(part, placed, of_part)
            total, added = total + found.rows, added + found.noise
            weights = weights + kernel(part, placed, share).toarray()
        itself = np.arange(len(positions))
        total[:, itself, positions] = 0.0
        weights[itself, positions] = 0.0
        jackknife = np.square(total).sum(axis=2).T - added
        spread = Spread(proba, np.square(weights).sum(axis=1), np.zeros(proba.shape))
        noise = 4 * added * np.maximum(jackknife, 0.0) + 2 * np.square(added)
        return np.array([jackknife.sum(), spread.kernel.sum(), np.sqrt(noise / len(self.rows)).sum()])

    def _placed(
        self, number: int, matrix: npt.NDArray[Any], n_threads: int, positions: npt.NDArray[np.intp] | None
    ) -> Placed:
        part, votes = self.parts[number], None
        if isinstance(self.estimate, PooledComponents) and any(one.by_vote for one in part.statistics):
            filed = self.estimate.parts[number].filed
            _, votes, _, _ = filed.tables.look_up(
                part.forest.router, matrix, filed.ballot, len(part.forest), vote_rows("shared"), None, n_threads
            )
        used = None if positions is None else part.copies[:, positions] == 0
        leaves = sparse.hstack(leaf_weights(part.forest, matrix), format="csr")
        return Placed(leaves, len(part.forest), votes, used)

    def _slopes(
        self, matrix: npt.NDArray[Any], n_threads: int
    ) -> tuple[Floats, list[list[Floats | None]], list[Floats], Floats]:
        """Predictions, their slopes by the statistics of each part, the statistics' shares in the kernel, and the
        variance by members that are not forests."""
        if isinstance(self.estimate, PooledComponents):
            assert self.of_weights is not None
            return _slopes_of_pool(self.estimate, self.of_weights, matrix, n_threads)
        proba = self.estimate.predict(matrix, n_threads)
        slope = None
        if self.estimate.voting == "laplace":
            n_trees, n_classes = len(self.estimate.forest), proba.shape[1]
            one = np.eye(n_classes) * n_trees / (n_trees + n_classes)
            slope = np.repeat(one[np.newaxis], len(proba), axis=0)
        return proba, [[slope]], [np.ones(1)], np.zeros(proba.shape)


def _slopes_of_pool(
    estimate: PooledComponents, of_weights: WeightInfluence, matrix: npt.NDArray[Any], n_threads: int
) -> tuple[Floats, list[list[Floats | None]], list[Floats], Floats]:
    """The delta method through the pool, and through boosted trees that start from the forest's predictions."""
    pool, members = estimate.pool, estimate.members
    queries = [PlainQueries(part.forest, matrix, n_threads) for part in estimate.parts]
    answers = estimate.components_of(queries)
    proba = pool.combine(answers)
    n_leaves, eye = len(estimate.names_of_leaves), np.eye(proba.shape[1])
    through = [pool.weights[place][:, np.newaxis] * eye for place in range(n_leaves)]
    by_scores = [np.repeat(one[np.newaxis], len(proba), axis=0) for one in through]
    if members.needs_starts:
        assert estimate.forest_pool is not None
        start = estimate.forest_pool.combine(with_base_rates(answers[:n_leaves], estimate.base_rates))
        place = estimate.names.index("boosted")
        own = answers[place]
        boosted = _log_slopes(own, pool.floor) @ (own[:, :, np.newaxis] * (eye - own[:, np.newaxis, :]))
        chain = pool.weights[place][:, np.newaxis] * (boosted @ (eye - start[:, np.newaxis, :]))
        for leaf in range(n_leaves):
            by_scores[leaf] = by_scores[leaf] + chain * estimate.forest_pool.weights[leaf]
    softmax = proba[:, :, np.newaxis] * (eye - proba[:, np.newaxis, :])
    slopes = [softmax @ by_scores[leaf] @ _log_slopes(answers[leaf], pool.floor) for leaf in range(n_leaves)]
    means = pool.weights[:n_leaves].mean(axis=1)
    means = means / means.sum() if means.sum() > 0 else np.full(n_leaves, 1.0 / n_leaves)
    by_part: list[list[Floats | None]] = []
    shares, at = [], 0
    for part in estimate.parts:
        end = at + len(part.components)
        by_part.append(list(slopes[at:end]))
        shares.append(means[at:end])
        at = end
    beside = _variance_of_members(estimate, answers, matrix, n_threads) + of_weights.variance(answers, proba)
    return proba, by_part, shares, beside


def _log_slopes(proba: Floats, floor: float) -> Floats:
    """The derivatives of floored logarithms: entry (l, j) is that of the logarithm of class l by class j."""
    raised = np.maximum(proba, floor)
    of_sum = np.broadcast_to(-1 / raised.sum(axis=1)[:, np.newaxis, np.newaxis], (*proba.shape, proba.shape[1]))
    slopes = of_sum + np.eye(proba.shape[1]) / raised[:, np.newaxis, :]
    return np.asarray(slopes * (proba > floor)[:, np.newaxis, :])


def _variance_of_members(
    estimate: PooledComponents, answers: list[Floats], matrix: npt.NDArray[Any], n_threads: int
) -> Floats:
    """The delete-a-group jackknife over folds: members answer by the models that were fitted without one of them."""
    members = estimate.members
    n_folds = max((len(model.models) for model in members.models.values()), default=0)
    if n_folds < 2:
        return np.zeros(answers[0].shape)
    n_leaves = len(estimate.names_of_leaves)
    found = []
    for fold in range(n_folds):
        of_fold = {name: CrossFitted([one.models[fold % len(one.models)]]) for name, one in members.models.items()}
        asked = replace(estimate, members=replace(members, models=of_fold))
        rows = PlainQueries(estimate.parts[0].forest, matrix, n_threads)
        found.append(estimate.pool.combine(asked._with_members(answers[:n_leaves], rows.ask)))
    return np.asarray((n_folds - 1) * np.var(found, axis=0))
