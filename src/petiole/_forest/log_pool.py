"""The logarithmic opinion pool: combines several probabilities of each class into one.

    p_k  ∝  exp(b_k) · Π_c p_ck ^ w_ck

Weights are learned on rows that no component has seen. They sum to about one where components are calibrated, to more
where they are underconfident and to less where they are overconfident, so the pool also calibrates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize

from petiole import _core
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]

MAX_ITERATIONS = 100
# The search sometimes stops after a short step. If a derivative is still more than this share of the loss, it starts
# again from there.
SLOPE_LEFT, MAX_SEARCHES = 1e-3, 5
# Rows whose components are combined together: a call of NumPy for each component would take longer than a single row.
ROWS_AT_ONCE = 1024


class Ridges(NamedTuple):
    """The strength of the ridges, in nats per squared unit, so that their effect vanishes with many rows.

    Attributes
    ----------
    mean : float
        Pulls the mean weight of a component towards its start.
    classes : float
        Pulls the weights of single classes towards that mean.
    intercepts : float
        Pulls intercepts towards zero.
    """

    mean: float = 2.0
    classes: float = 10.0
    intercepts: float = 3.0


@dataclass(frozen=True)
class LogPool(Savable):
    """Weights of shape (n_components, n_classes), at least 0, and intercepts; probabilities are raised to ``floor``."""

    weights: Floats
    intercepts: Floats
    floor: float

    _saved = fields(
        weights=checks.floats(2, 0.0, checks.LARGEST),
        intercepts=checks.floats(1, -checks.LARGEST, checks.LARGEST),
        floor=checks.number(1e-12, 0.5),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        require(state["weights"].shape[1:] == state["intercepts"].shape, "intercepts: must be one per class")

    def placed(self, names: Sequence[str], places: Sequence[str]) -> LogPool:
        """The same for components in other places: those that ``places`` lacks are dropped, others have no weight."""
        weights = np.zeros((len(places), self.weights.shape[1]))
        for name, row in zip(names, self.weights, strict=True):
            if name in places:
                weights[places.index(name)] = row
        return LogPool(weights, self.intercepts, self.floor)

    @classmethod
    def mean(cls, pools: Sequence[LogPool], shares: Floats) -> LogPool:
        """The mean of pools of the same components."""
        weights = np.tensordot(shares, [one.weights for one in pools], 1)
        return cls(weights, np.tensordot(shares, [one.intercepts for one in pools], 1), pools[0].floor)

    def combine(self, components: Sequence[Floats]) -> Floats:
        """The pool of components that are (n_rows, n_classes) each; rows sum to 1."""
        pooled = np.empty(components[0].shape)
        for begin in range(0, len(pooled), ROWS_AT_ONCE):
            rows = slice(begin, begin + ROWS_AT_ONCE)
            logs = log_floored(np.stack([proba[rows] for proba in components]), self.floor)
            scores = self.intercepts
            for term in self.weights[:, np.newaxis] * logs:
                scores = scores + term
            np.exp(scores - scores.max(axis=1, keepdims=True), out=scores)
            pooled[rows] = scores / scores.sum(axis=1, keepdims=True)
        return pooled


def log_floored(proba: Floats, floor: float) -> Floats:
    """Logarithms of probabilities that were raised to a floor and divided by their sum."""
    raised = np.maximum(proba, floor)
    logs: Floats = np.log(raised / raised.sum(axis=-1, keepdims=True))
    return logs


class PoolBatch(NamedTuple):
    """Rows no component has seen: logarithms of shape (n_rows, n_components, n_classes), labels, weights."""

    logs: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int32]
    row_weights: Floats | None


def pool_batch(
    components: Sequence[Floats], labels: npt.NDArray[np.int32], row_weights: Floats | None, floor: float
) -> PoolBatch:
    """A batch of rows from the probabilities of each component."""
    logs = np.stack([log_floored(proba, floor) for proba in components], axis=1).astype(np.float32)
    return PoolBatch(logs, labels, row_weights)


def fit_pool(
    components: Sequence[Floats],
    labels: npt.NDArray[np.int32],
    row_weights: Floats | None,
    starts: Floats,
    floor: float,
    n_threads: int = 1,
    ridges: Ridges = Ridges(),  # noqa: B008 - it cannot be changed
) -> LogPool:
    """The pool with the least log-loss on rows that the components have not seen, plus the ridges.

    ``starts`` has a weight for each component, to which its ridge pulls.
    """
    n_rows, n_classes = components[0].shape
    batches = [pool_batch(components, labels, row_weights, floor)] if n_rows else []
    return fit_pool_on(batches, starts, n_classes, floor, n_threads, ridges)


def fit_pool_on(
    batches: Sequence[PoolBatch],
    starts: Floats,
    n_classes: int,
    floor: float,
    n_threads: int = 1,
    ridges: Ridges = Ridges(),  # noqa: B008 - it cannot be changed
) -> LogPool:
    """The same on rows in batches: the loss and its gradient are sums over them.

    The problem is convex, so a local minimum is the global one. Weights are at least 0 for two reasons. A negative
    weight would reverse the prediction of a component. And leaving a row out of the counts in which it is
    looked up moves them away from its label, so that a difference of two components would reveal the label.
    """
    start = np.repeat(starts[:, np.newaxis], n_classes, axis=1)
    if not batches or n_classes == 1:
        return LogPool(start, np.zeros(n_classes), floor)
    n_weights = start.size

    def objective(x: Floats) -> tuple[float, Floats]:
        weights, intercepts = x[:n_weights].reshape(start.shape), x[n_weights:]
        loss, weight_slopes, intercept_slopes = _summed_loss(batches, weights, intercepts, n_threads)
        mean = weights.mean(axis=1)
        apart, moved = weights - mean[:, np.newaxis], mean - starts
        loss += 0.5 * (ridges.mean * moved @ moved + ridges.classes * np.sum(apart**2))
        loss += 0.5 * ridges.intercepts * intercepts @ intercepts
        weight_slopes += ridges.classes * apart + ridges.mean * moved[:, np.newaxis] / n_classes
        return loss, np.concatenate([weight_slopes.ravel(), intercept_slopes + ridges.intercepts * intercepts])

    lowest = np.concatenate([np.zeros(n_weights), np.full(n_classes, -np.inf)])
    found = _least(objective, np.concatenate([start.ravel(), np.zeros(n_classes)]), lowest)
    return LogPool(found[:n_weights].reshape(start.shape), found[n_weights:], floor)


def _least(objective: Callable[[Floats], tuple[float, Floats]], x: Floats, lowest: Floats) -> Floats:
    """The minimum of a convex function with its gradient, at or above the bounds."""
    for _ in range(MAX_SEARCHES):
        found = minimize(
            objective,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(lowest, np.inf),
            options={"maxiter": MAX_ITERATIONS, "ftol": 1e-10},
        )
        x = np.maximum(found.x, lowest)  # rounding may leave it slightly below
        slopes = np.where(x > lowest, np.abs(found.jac), -found.jac)
        if slopes.max() <= SLOPE_LEFT * max(1.0, abs(found.fun)):
            break
    return x


def _summed_loss(
    batches: Sequence[PoolBatch], weights: Floats, intercepts: Floats, n_threads: int
) -> tuple[float, Floats, Floats]:
    """The log-loss in nats of all batches, and its slopes by the weights and by the intercepts."""
    first, *others = (_core.pool_loss(*batch, weights, intercepts, n_threads) for batch in batches)
    loss, weight_slopes, intercept_slopes = first
    for more, by_weights, by_intercepts in others:
        loss += more
        weight_slopes += by_weights
        intercept_slopes += by_intercepts
    return loss, weight_slopes, intercept_slopes
