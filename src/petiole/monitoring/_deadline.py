"""Bettors who want an alarm within the first thousand rows, if there is to be one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri

from petiole._table.columns import Floats

DEADLINE = 1000  # rows
# The variance of a row before any is known, and how many rows that stands for.
VARIANCE_BEFORE, ROWS_BEFORE = 0.15, 5
LARGEST_TILT = 1.0
AIM = 1.03  # a little more than needed, because rows come one by one and not continuously
LEAST_LEFT = 1e-12


class DeadlineBettors:
    """How much to tilt the odds of each row, so as to reach a wealth at a deadline that is needed for an alarm.

    Let S be the sum of label − p over rows, h its variance at the deadline and r that of the rows until then. The
    probability under the model that S still reaches z √h is about 2 Φ(−d) with d = (z √h − S) / √r, by the reflection
    principle. A bettor's wealth stays in proportion to it if the odds of the row are tilted by its logarithmic
    derivative, θ = φ(d) / (Φ(−d) √r): a bet on the boundary of O'Brien & Fleming (1979). Whatever θ is, a bet that was
    placed before the label is known wins nothing in expectation, so approximations cost power, but not validity.

    Two bettors for each target: one that its class comes more often, one that it comes less often.
    """

    def __init__(self, n_targets: int, share: float, alpha: float) -> None:
        self.n_targets = n_targets
        # the wealth grows from the share to 1/alpha where a probability of z √h grows to 1
        start = share / (2 * max(n_targets, 1)) * alpha / AIM
        self.z = float(-ndtri(start / 2))
        self.sums: Floats = np.zeros(n_targets)
        self.variances: Floats = np.zeros(n_targets)
        self.reached = np.zeros((2, n_targets), dtype=bool)
        self.n_rows = 0

    def tilts(self, p: Floats, hits: Floats, stakes: Floats) -> Floats:
        """The tilts for rows, shape (2, n_rows, n_targets): of more, of less; each depends on earlier labels only."""
        now = np.arange(self.n_rows, self.n_rows + len(p))[:, np.newaxis]
        spread = self.variances + np.cumsum(stakes**2 * p * (1 - p), axis=0)
        sums = self.sums + np.cumsum(stakes * (hits - p), axis=0)
        before = np.vstack([self.sums, sums[:-1]])
        variance = (VARIANCE_BEFORE * ROWS_BEFORE + spread) / (ROWS_BEFORE + now + 1)
        goal = self.z * np.sqrt(variance * DEADLINE)
        left = np.sqrt(np.maximum(variance * (DEADLINE - now), LEAST_LEFT))
        found = []
        for place, sign in enumerate((1.0, -1.0)):
            far = (goal - sign * before) / left
            log_hazard = -(far**2) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(-far)
            tilt = np.exp(np.minimum(log_hazard - np.log(left), math.log(LARGEST_TILT)))
            reached = np.logical_or.accumulate(np.vstack([self.reached[place], sign * before >= goal]))[1:]
            self.reached[place] = reached[-1]
            found.append(np.where(reached | (now >= DEADLINE), 0.0, sign * tilt))
        self.sums, self.variances, self.n_rows = sums[-1], spread[-1], self.n_rows + len(p)
        return np.stack(found)

    def state(self) -> dict[str, Any]:
        """What is needed to go on later, as plain numbers for JSON."""
        return {
            "sums": self.sums.tolist(),
            "variances": self.variances.tolist(),
            "reached": self.reached.tolist(),
            "n_rows": self.n_rows,
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from an earlier :meth:`state`."""
        self.sums = np.asarray(state["sums"], dtype=np.float64)
        self.variances = np.asarray(state["variances"], dtype=np.float64)
        self.reached = np.asarray(state["reached"], dtype=bool).reshape(2, self.n_targets)
        self.n_rows = int(state["n_rows"])
