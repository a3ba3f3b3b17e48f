"""Venn–Abers prediction: isotonic regression with the query labelled 0, and with the query labelled 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole.calibrators._base import ScoreCalibrator, ScoreMapBase, mirrored
from petiole.files import checks
from petiole.files.checks import fields, require


@dataclass(frozen=True)
class VennAbersMap(ScoreMapBase):
    """Two step functions of the score: p0 with the query labelled 0, p1 with the query labelled 1.

    ``scores`` are the distinct scores of the rows it was learned from. p0 keeps its value up to the next of them, p1
    has that of the next one already; below all of them p0 is 0, above all of them p1 is 1.
    """

    scores: Floats
    p0: Floats
    p1: Floats

    _saved = fields(
        scores=checks.floats(1),
        p0=checks.floats(1, -1e-9, 1.0 + 1e-9),
        p1=checks.floats(1, -1e-9, 1.0 + 1e-9),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        require(checks.increasing(state["scores"]) and state["scores"].size, "scores: must increase")
        same = state["p0"].shape == state["scores"].shape == state["p1"].shape
        require(same, "p0 and p1: must be one per score")
        # Between two scores p0 is that of the lower and p1 that of the upper one.
        p0, p1 = state["p0"], state["p1"] + 1e-9
        require((p0 <= p1).all() and (p0[:-1] <= p1[1:]).all(), "p0: must not be larger than p1")

    def interval(self, scores: Floats) -> tuple[Floats, Floats]:
        """p0 and p1 of each score; p0 is less than p1."""
        lower = np.concatenate([[0.0], self.p0])[np.searchsorted(self.scores, scores, side="right")]
        upper = np.concatenate([self.p1, [1.0]])[np.searchsorted(self.scores, scores, side="left")]
        return lower, upper

    @property
    def keeps_order(self) -> bool:
        return True

    def __call__(self, scores: Floats) -> Floats:
        lower, upper = self.interval(scores)
        return upper / (1 - lower + upper)


class VennAbersCalibrator(ScoreCalibrator):
    """Inductive Venn–Abers prediction (Vovk, Petej & Fedorova 2015; see the provenance page).

    Isotonic regression is fitted to the calibrating rows and the query, once with the query labelled 0 and once with
    the query labelled 1. The two values at the query, p0 < p1, are an interval: one of the two was fitted with the
    true label and is calibrated for any distribution, as long as rows and query come from the same one. The
    probability between them with the least regret in log-loss in the worse case is p1 / (1 − p0 + p1).

    Nothing is fitted for a query: p0 and p1 are step functions of the score, found in one pass over the sorted scores.
    The query counts as one row, so weights are measured in rows.

    Attributes
    ----------
    classes_ : array of the class labels
    base_rates_ : array of shape (n_classes,)
    calibrators_ : list of VennAbersMap
        One with two classes (of the second class), else one per class.

    Examples
    --------
    >>> from petiole.calibrators import VennAbersCalibrator
    >>> calibrator = VennAbersCalibrator().fit([0.1, 0.2, 0.6, 0.7], [0, 0, 1, 1])
    >>> lower, upper = calibrator.predict_interval([0.15, 0.65])
    >>> lower.round(3), upper.round(3)
    (array([0. , 0.5]), array([0.5, 1. ]))
    >>> calibrator.predict([0.15, 0.65]).round(3)
    array([0.333, 0.667])
    """

    def predict_interval(self, scores: Any) -> tuple[Floats, Floats]:
        """Lower and upper probabilities in the shape of the scores: of the second class, or of each class.

        With more than two classes each interval is that of the class against the rest; the probabilities of
        ``predict`` are divided by their sum and may lie outside.
        """
        table = self._read_to_predict(scores)
        if table.ndim == 1:
            return self.calibrators_[0].interval(table)
        if table.shape[1] == 1:
            return np.ones_like(table), np.ones_like(table)
        if table.shape[1] == 2:
            lower, upper = self.calibrators_[0].interval(table[:, 1])
            return mirrored([upper, lower]), mirrored([lower, upper])
        each = [one.interval(column) for one, column in zip(self.calibrators_, table.T, strict=True)]
        return np.column_stack([low for low, _ in each]), np.column_stack([high for _, high in each])

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> VennAbersMap:
        distinct, position = np.unique(scores, return_inverse=True)
        totals: Floats = np.bincount(position, weights).astype(np.float64)
        positives: Floats = np.bincount(position, weights * positive).astype(np.float64)
        # A query labelled 0 is a query labelled 1 when scores and labels are reversed.
        p0 = 1 - upper_steps(totals[::-1], (totals - positives)[::-1])[::-1]
        return VennAbersMap(distinct, p0, upper_steps(totals, positives))


def upper_steps(totals: Floats, positives: Floats) -> Floats:
    """p1 at each distinct score: isotonic regression with one more positive row there.

    Isotonic regression is the slope of the greatest convex minorant of the cumulative sums P_0, P_1, … of
    (weight, positive weight). One more row before the first score is a step (1, 1) in front, from P_-1 = (−1, −1) to
    P_0; moving it past score i changes the single point P_i−1 into P_i−2 + (P_i − P_i−1). Slopes rise from one score to
    the next, so that corners to the left of the one in question are done with: all is a stack, and every point enters
    and leaves it once (Vovk, Petej & Fedorova 2015, algorithms 1 and 2).

    >>> upper_steps(np.array([1.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    array([0.5       , 0.66666667, 0.66666667])
    """
    xs = [-1.0, 0.0, *np.cumsum(totals).tolist()]
    ys = [-1.0, 0.0, *np.cumsum(positives).tolist()]
    corners = _corners_from_the_left(xs, ys)
    slopes = np.empty(len(totals))
    x, y = xs[0], ys[0]
    for i in range(len(totals)):
        (x0, y0), (x1, y1) = corners[-1], corners[-2]
        slopes[i] = (y1 - y0) / (x1 - x0)
        x, y = x + xs[i + 2] - xs[i + 1], y + ys[i + 2] - ys[i + 1]
        if (y - y0) * (x1 - x0) >= (y1 - y0) * (x - x0):
            continue
        corners.pop()
        while len(corners) > 1 and not _is_corner((x, y), corners[-1], corners[-2]):
            corners.pop()
        corners.append((x, y))
    return slopes


def _corners_from_the_left(xs: list[float], ys: list[float]) -> list[tuple[float, float]]:
    """The corners of the greatest convex minorant, the leftmost at the end."""
    corners: list[tuple[float, float]] = []
    for point in zip(reversed(xs), reversed(ys), strict=True):
        while len(corners) > 1 and not _is_corner(point, corners[-1], corners[-2]):
            corners.pop()
        corners.append(point)
    return corners


def _is_corner(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether the middle point lies below the line between the others."""
    return (middle[1] - left[1]) * (right[0] - left[0]) < (right[1] - left[1]) * (middle[0] - left[0])
