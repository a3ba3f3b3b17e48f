"""Search for the best noise: golden section for one number, descent along the gradient for one per feature."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize

Floats = npt.NDArray[np.float64]

# Losses closer than this are equal: they differ by rounding.
EQUAL = 1e-12
GOLDEN = (math.sqrt(5) - 1) / 2
# The ridge that pulls the logarithm of a feature's noise towards its start, in nats per squared unit, over all rows.
RIDGE = 2.0
# The limits of a feature's noise, and its start if the best common noise is 0.
LEAST_NOISE, START_FROM_NONE = 1e-3, 0.1
MAX_ITERATIONS = 30


class Searched(NamedTuple):
    """The best value, and all (value, loss) in the order in which they were tried."""

    best: float
    tried: list[tuple[float, float]]


def golden_section(loss: Callable[[float], float], most: float, n_evaluations: int = 15) -> Searched:
    """The value in [0, most] with the least loss, 0 is always tried; in a tie, the smallest.

    Geurts (2001, section 2.4) proposes golden section because the curve of errors usually has one minimum. On
    plateaus, the search continues towards smaller values.

    >>> golden_section(lambda x: (x - 0.3) ** 2, 3.0).best.__round__(2)
    0.3
    >>> golden_section(lambda x: max(x, 1.0), 3.0).best
    0.0
    """
    tried: list[tuple[float, float]] = []

    def ask(value: float) -> float:
        found = float(loss(value))
        tried.append((value, math.inf if math.isnan(found) else found))
        return tried[-1][1]

    ask(0.0)
    low, high = 0.0, most
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = ask(left), ask(right)
    while len(tried) < n_evaluations:
        if at_left <= at_right + EQUAL:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = ask(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = ask(right)
    return Searched(best_of(tried), tried)


def best_of(tried: list[tuple[float, float]]) -> float:
    """The value with the least loss, in a tie, the smallest."""
    least = min(loss for _, loss in tried)
    return min(value for value, loss in tried if loss <= least + EQUAL)


def descend(
    loss_and_slopes: Callable[[Floats], tuple[float, Floats]],
    start: float,
    used: npt.NDArray[np.bool_],
    most: float,
) -> Floats:
    """One noise level per feature, by the gradient of the loss (in nats) with respect to its logarithm.

    A ridge keeps each near the common level. Features that are not ``used`` keep the common level.
    """
    common = start if start > 0 else START_FROM_NONE
    noise = np.full(len(used), common)

    def objective(moved: Floats) -> tuple[float, Floats]:
        noise[used] = common * np.exp(moved)
        loss, slopes = loss_and_slopes(noise)
        return loss + 0.5 * RIDGE * float(moved @ moved), slopes[used] + RIDGE * moved

    if not used.any():
        return noise
    bounds = Bounds(math.log(LEAST_NOISE / max(common, LEAST_NOISE)), math.log(max(most / common, 1.0)))
    options = {"maxiter": MAX_ITERATIONS, "ftol": 1e-7}
    found = minimize(objective, np.zeros(int(used.sum())), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    noise[used] = common * np.exp(found.x)
    return noise
