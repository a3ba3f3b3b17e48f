"""Helpers of the calibrators with parameters: floors, ridges, and logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize
from scipy.special import expit

from petiole._table.columns import Floats
from petiole._validation import check_number

# The ridge that pulls the parameters of beta calibration and the inverse temperature towards the map that changes
# nothing, in nats per squared unit: a few rows outweigh it, but parameters stay finite on separable classes.
RIDGE = 1.0
# One minus a smaller probability is 1, which has no log-odds.
LEAST_FLOOR = 1e-12
# With smaller penalties on them, parameters could run to infinity, or would depend on rounding.
LEAST_PENALTY = 1e-3
# L-BFGS-B continues until nothing changes any more: the objectives are convex, and results must not depend on the
# order of the rows.
SEARCH = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500, "maxfun": 5000}


def check_floor(floor: Any) -> None:
    """Raise an error unless probabilities can be raised to the floor."""
    check_number("floor", floor, LEAST_FLOOR, 0.5)


def two_columns(second: Floats) -> Floats:
    """Probabilities of both classes from those of the second."""
    return np.column_stack([1 - second, second])


def log_odds(proba: Floats, floor: float) -> Floats:
    """ln(p/(1−p)), with p at least ``floor`` away from 0 and 1.

    >>> log_odds(np.array([0.0, 0.5, 0.9]), 0.1)
    array([-2.19722458,  0.        ,  2.19722458])
    """
    inside = np.clip(proba, floor, 1 - floor)
    return np.log(inside) - np.log1p(-inside)


class LogisticLoss:
    """The mean log-loss of a logistic regression in nats, with a penalty.

    The penalty is ½ (x − start)ᵀ P (x − start) nats over all rows; P is ``penalty``, a matrix, or the number on its
    diagonal. Targets are between 0 and 1.
    """

    def __init__(
        self, features: Floats, targets: Floats, weights: Floats, start: Floats, penalty: Floats | float
    ) -> None:
        self.features, self.targets, self.weights, self.start = features, targets, weights, start
        self.penalty = penalty * np.eye(len(start)) if np.ndim(penalty) == 0 else np.asarray(penalty)

    def with_penalty(self, penalty: Floats | float) -> LogisticLoss:
        """The same loss with another penalty."""
        return LogisticLoss(self.features, self.targets, self.weights, self.start, penalty)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """The loss and its gradient."""
        scores, moved = self.features @ x, x - self.start
        pull = self.penalty @ moved
        loss = self.weights @ (np.logaddexp(0.0, scores) - self.targets * scores) + moved @ pull / 2
        slopes = (self.weights * (expit(scores) - self.targets)) @ self.features + pull
        scale = 1 / self.weights.sum()
        return scale * loss, scale * slopes

    def curvature(self, x: Floats) -> Floats:
        """The matrix of second derivatives over all rows, without the penalty."""
        proba = expit(self.features @ x)
        return (self.features.T * (self.weights * proba * (1 - proba))) @ self.features

    def minimum(self, least: Floats | float = -np.inf, first: Floats | None = None) -> Floats:
        """Coefficients with the least loss, none of them below ``least``; the search begins at ``first``."""
        begin = self.start if first is None else first
        found = minimize(
            self,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(least, np.inf),
            options=SEARCH | {"maxcor": max(10, len(begin))},
        )
        return np.asarray(found.x)
