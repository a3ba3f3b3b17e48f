"""Logistic regressions that are each fitted on all folds but one, with the best ridge for held-out rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from petiole._linear.encoding import LinearEncoding
from petiole._linear.kernel import KernelEncoding, Whitening, typical_distance
from petiole._linear.model import LinearModel
from petiole._linear.numeric import Floats
from petiole._linear.plan import LinearPlan
from petiole._linear.solver import Axes, FoldedLoss, Limits
from petiole._table.rows import EncodedRows

# Limits of rows × classes and of rows × features, and the least number of rows.
MOST_SCORES, MOST_CELLS, ROWS_ANYWAY = 1_000_000, 20_000_000, 100
# The exponential of a score takes as long as the products of so many features.
PRODUCTS_PER_SCORE = 32


class LinearFolds(NamedTuple):
    """Cross-fitted logistic regressions.

    Attributes
    ----------
    models : list of LinearModel
        One per fold, fitted without its rows; all have the same features. In ``CrossFitted`` each predicts these rows.
    strength : float
        The ridge of all models.
    losses : dict from a strength that was tried to the mean held-out log-loss in nats
    """

    models: list[LinearModel]
    strength: float
    losses: dict[float, float]

    @property
    def least_loss(self) -> float:
        return min(self.losses.values())


def fit_linear_folds(plan: LinearPlan, rows: EncodedRows, fold_of: npt.NDArray[np.integer[Any]]) -> LinearFolds:
    """Fit a model for each fold, on the other folds' rows.

    ``fold_of`` has the fold that holds out each row, from 0; there must be more than one fold.
    The features are learned from all rows, without their labels. Constraints of the rows limit the coefficients.
    """
    encoding, chosen = _learn_encoding(plan, rows, 0)
    signs = _signs_of_features(encoding, rows)
    found = _search(plan, _Problem(encoding.features(rows.matrix[chosen]), rows.take(chosen), fold_of[chosen], signs))
    return LinearFolds([LinearModel(encoding, *unknowns) for unknowns in found.models], found.strength, found.losses)


def fit_kernel_folds(plan: LinearPlan, rows: EncodedRows, fold_of: npt.NDArray[np.integer[Any]]) -> LinearFolds:
    """The same with Gaussian kernels as features, with the best width for held-out rows.

    Widths are multiples of the median distance between landmarks. They are tried one after another, until one is not
    better than the last.
    """
    base, chosen = _learn_encoding(plan, rows, plan.n_landmarks)
    few, of_fold = rows.take(chosen), fold_of[chosen]
    points = base.features(few.matrix)
    landmarks = points[_sample(len(points), plan.n_landmarks, plan.seed)]
    typical = typical_distance(landmarks)
    found: list[LinearFolds] = []
    for width in plan.widths:
        encoding = KernelEncoding(base, np.ascontiguousarray(landmarks.T), 1.0 / (width * typical) ** 2)
        kernels = encoding.of(points)
        whitening = Whitening.of(encoding, kernels, few.weights_or_ones())
        best = _search(plan, _Problem(whitening.features(kernels), few, of_fold))
        models = [LinearModel(encoding, *whitening.undone(*unknowns)) for unknowns in best.models]
        found.append(LinearFolds(models, best.strength, best.losses))
        if len(found) > 1 and found[-1].least_loss >= found[-2].least_loss:
            return found[-2]
    return found[-1]


def _signs_of_features(encoding: LinearEncoding, rows: EncodedRows) -> npt.NDArray[np.int64] | None:
    """How the log-odds of the named class must change with each feature; None if that is open for all."""
    constraints = rows.constraints
    if constraints is None or not constraints.orders:
        return None
    if len(rows.classes) > 2:
        raise ValueError("scores of more than two classes have no common order: fit one class against the others")
    return encoding.signs(constraints.signs)


def _learn_encoding(plan: LinearPlan, rows: EncodedRows, n_kernels: int) -> tuple[LinearEncoding, npt.NDArray[np.intp]]:
    """The features, and the rows that can be used with this many features and kernels."""
    chosen = _sample(len(rows), plan.most_rows, plan.seed)
    encoding = LinearEncoding.learn(plan, rows.take(chosen))
    affordable = _affordable_rows(plan, encoding.n_features, n_kernels, len(rows.classes))
    return encoding, chosen[_sample(len(chosen), affordable, plan.seed)]


def _sample(n_rows: int, most: int, seed: int) -> npt.NDArray[np.intp]:
    """All rows, or a random selection in their order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


def _affordable_rows(plan: LinearPlan, n_features: int, n_kernels: int, n_classes: int) -> int:
    """The largest number of rows of a search. There are no more axes than features, and no more than rows."""
    products = plan.most_products / n_classes
    by_products = max(products / max(n_kernels or n_features, PRODUCTS_PER_SCORE), products**0.5)
    limits = by_products, MOST_SCORES / n_classes, MOST_CELLS / max(n_features, 1)
    return max(ROWS_ANYWAY, int(min(limits)))


class _Problem:
    """The folds' losses, and the held-out rows by which ridges are compared.

    One more row of every class is added, at the mean of all features; together they have the weight of one row. So a
    class without rows in a fit has a probability above 0, as with an m-estimate with m = 1.
    """

    def __init__(
        self,
        features: Floats,
        rows: EncodedRows,
        fold_of: npt.NDArray[np.integer[Any]],
        signs: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.labels, self.weights, self.fold_of = rows.labels, rows.weights_or_ones(), fold_of
        n_classes, n_folds = len(rows.classes), int(fold_of.max()) + 1
        features = np.concatenate([features, np.zeros((n_classes, features.shape[1]))])
        labels = np.concatenate([rows.labels, np.arange(n_classes, dtype=np.int32)])
        of_class = np.full(n_classes, 1.0 / n_classes)
        fitted = self.weights * (fold_of != np.arange(n_folds)[:, np.newaxis])
        axes = Axes.of if signs is None else Axes.along
        self.axes = axes(features, np.concatenate([self.weights, of_class]))
        self.limits = None
        if signs is not None:
            assert rows.constraints is not None
            self.limits = Limits.of_signs(signs, rows.constraints.target, n_classes)
        self.loss = FoldedLoss(self.axes, labels, np.column_stack([fitted, np.tile(of_class, (n_folds, 1))]), n_classes)

    def path(self, plan: LinearPlan) -> Iterator[Floats]:
        """The unknowns of one ridge after another; each search begins where the last one ended."""
        unknowns = np.zeros(self.loss.shape)
        for strength in plan.strengths:
            unknowns = self.loss.minimum(strength, unknowns, plan.slope_left, limits=self.limits)
            yield unknowns

    def held_out_loss(self, unknowns: Floats, floor: float) -> float:
        """The mean log-loss of each row by the fold that holds it out, in nats."""
        rows = np.arange(len(self.labels))
        proba = np.maximum(softmax(self.loss.scores(unknowns)[self.fold_of, :, rows], axis=1), floor)
        return float(np.average(np.log(proba.sum(axis=1) / proba[rows, self.labels]), weights=self.weights))

    def models(self, unknowns: Floats) -> list[tuple[Floats, Floats]]:
        """Coefficients of the features and intercepts, fold by fold."""
        return [(np.ascontiguousarray(self.axes.coefficients(fold[:, 1:].T)), fold[:, 0].copy()) for fold in unknowns]


class _Found(NamedTuple):
    """The coefficients and intercepts with the least held-out loss, their ridge, and the losses of all tried."""

    models: list[tuple[Floats, Floats]]
    strength: float
    losses: dict[float, float]


def _search(plan: LinearPlan, problem: _Problem) -> _Found:
    """Try ridges one after another, until the held-out loss rises."""
    losses: dict[float, float] = {}
    best, chosen, waited = np.zeros(problem.loss.shape), plan.strengths[0], 0
    for strength, unknowns in zip(plan.strengths, problem.path(plan), strict=True):
        loss = problem.held_out_loss(unknowns, plan.floor)
        waited = waited + 1 if losses and loss >= min(losses.values()) else 0
        losses[strength] = loss
        if waited == 0:
            best, chosen = unknowns, strength
        elif waited >= plan.patience:
            break
    return _Found(problem.models(best), chosen, losses)
