"""Maps of one class against the rest, learned from scores and labels: sigmoid, beta, isotonic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from petiole._table.columns import Floats
from petiole.calibrators._base import ScoreCalibrator, ScoreMapBase, read_probability_scores
from petiole.calibrators._fitting import LEAST_FLOOR, RIDGE, LogisticLoss, check_floor
from petiole.files import checks
from petiole.files.checks import fields, require

# Scores that are nearer to each other are taken as equal: the slope between them would be infinite.
LEAST_SPREAD = 1e-290


@dataclass(frozen=True)
class SigmoidMap(ScoreMapBase):
    """1 / (1 + exp(−(slope · score + intercept)))."""

    slope: float
    intercept: float

    _saved = fields(slope=checks.number(), intercept=checks.number())

    @property
    def keeps_order(self) -> bool:
        return self.slope >= 0

    def __call__(self, scores: Floats) -> Floats:
        with np.errstate(over="ignore"):  # of infinity expit is 0 or 1
            return expit(self.slope * scores + self.intercept)


class SigmoidCalibrator(ScoreCalibrator):
    """Platt's sigmoid of the score, 1 / (1 + exp(−(a·s + b))), fitted to softened labels (Platt 1999).

    Positive rows have the target (n₊ + 1)/(n₊ + 2), negative ones 1/(n₋ + 2). The score is not transformed, as in
    scikit-learn's ``CalibratedClassifierCV(method="sigmoid")``; :class:`BetaCalibrator` uses logarithms of
    probabilities.

    Attributes
    ----------
    classes_, base_rates_
        As in :class:`petiole.BinningCalibrator`.
    calibrators_ : list of SigmoidMap

    Examples
    --------
    >>> from petiole.calibrators import SigmoidCalibrator
    >>> calibrator = SigmoidCalibrator().fit([-2, -1, 0, 1, 2], [0, 0, 1, 0, 1])
    >>> calibrator.predict([-1, 1]).round(2)
    array([0.3 , 0.53])
    """

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> SigmoidMap:
        n_positive = float(weights @ positive)
        n_negative = float(weights.sum()) - n_positive
        targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
        # Scores may have any unit: the search uses standardised ones. A power of two brings them near 1 without
        # rounding, so that their squares cannot overflow.
        exponent = int(np.frexp(np.abs(scores).max())[1])
        scaled = np.ldexp(scores, -exponent)
        centre = float(np.average(scaled, weights=weights))
        width = float(np.sqrt(np.average((scaled - centre) ** 2, weights=weights)))
        if np.ldexp(width, exponent) < LEAST_SPREAD:
            scaled, centre, width = np.zeros_like(scores), 0.0, 1.0
        features = np.column_stack([(scaled - centre) / width, np.ones_like(scaled)])
        slope, intercept = LogisticLoss(features, targets, weights, np.zeros(2), 0.0).minimum().tolist()
        return SigmoidMap(float(np.ldexp(slope / width, -exponent)), intercept - slope * centre / width)


@dataclass(frozen=True)
class BetaMap(ScoreMapBase):
    """1 / (1 + exp(−(a ln p − b ln(1−p) + c))), with p at least ``floor`` away from 0 and 1."""

    a: float
    b: float
    c: float
    floor: float

    _saved = fields(
        a=checks.number(0.0, checks.LARGEST),
        b=checks.number(0.0, checks.LARGEST),
        c=checks.number(-checks.LARGEST, checks.LARGEST),
        floor=checks.number(LEAST_FLOOR, 0.5),
    )

    @property
    def keeps_order(self) -> bool:
        return True

    def __call__(self, scores: Floats) -> Floats:
        return expit(_log_and_log_rest(scores, self.floor) @ np.array([self.a, self.b]) + self.c)


class BetaCalibrator(ScoreCalibrator):
    """Beta calibration: ln(q/(1−q)) = a·ln p − b·ln(1−p) + c with a, b ≥ 0 (Kull, Silva Filho & Flach 2017).

    A logistic regression on ln p and −ln(1−p). With a = b = 1 and c = 0 nothing changes, so calibrated probabilities
    can stay as they are, which the sigmoid does not allow. A weak ridge (½ nat per squared unit) pulls the three
    numbers towards these values.

    Parameters
    ----------
    floor : float, default=0.002
        Probabilities are moved this far away from 0 and 1 before logarithms are taken: a forest cannot tell
        smaller ones apart.

    Attributes
    ----------
    classes_, base_rates_
        As in :class:`petiole.BinningCalibrator`.
    calibrators_ : list of BetaMap

    Examples
    --------
    >>> from petiole.calibrators import BetaCalibrator
    >>> calibrator = BetaCalibrator().fit([0.1, 0.3, 0.4, 0.8, 0.9], [0, 0, 1, 0, 1])
    >>> calibrator.predict([0.2, 0.8]).round(2)
    array([0.17, 0.67])
    """

    def __init__(self, floor: float = 0.002) -> None:
        self.floor = floor

    def _check_parameters(self) -> None:
        check_floor(self.floor)

    def _read(self, scores: Any) -> Floats:
        return read_probability_scores(scores)

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> BetaMap:
        features = np.column_stack([_log_and_log_rest(scores, float(self.floor)), np.ones(len(scores))])
        start, least = np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, -np.inf])
        loss = LogisticLoss(features, positive.astype(np.float64), weights, start, RIDGE)
        a, b, c = loss.minimum(least).tolist()
        return BetaMap(a, b, c, float(self.floor))


@dataclass(frozen=True)
class IsotonicMap(ScoreMapBase):
    """A non-decreasing function through ``values`` at ``scores``, straight between them and constant outside."""

    scores: Floats
    values: Floats

    _saved = fields(scores=checks.floats(1), values=checks.floats(1, 0.0, 1.0 + 1e-9))

    def _check_state(self, state: dict[str, Any]) -> None:
        require(checks.increasing(state["scores"]) and state["scores"].size, "scores: must increase")
        require(state["values"].shape == state["scores"].shape, "values: must be one per score")

    @property
    def keeps_order(self) -> bool:
        return True

    def __call__(self, scores: Floats) -> Floats:
        # A quarter of each score, exactly: differences of the largest ones would be infinite.
        return np.interp(scores / 4, self.scores / 4, self.values)


class IsotonicCalibrator(ScoreCalibrator):
    """The non-decreasing function of the score with the least squared error (scikit-learn's isotonic regression).

    It assumes only that scores rank rows, and needs a few hundred rows of each class. It may give 0 or 1, which can
    make the log-loss infinite; :class:`VennAbersCalibrator` never does.

    Attributes
    ----------
    classes_, base_rates_
        As in :class:`petiole.BinningCalibrator`.
    calibrators_ : list of IsotonicMap

    Examples
    --------
    >>> from petiole.calibrators import IsotonicCalibrator
    >>> calibrator = IsotonicCalibrator().fit([0.1, 0.3, 0.4, 0.8, 0.9], [0, 0, 1, 0, 1])
    >>> calibrator.predict([0.2, 0.6, 0.85])
    array([0.  , 0.5 , 0.75])
    """

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> IsotonicMap:
        fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        fitted.fit(scores, positive.astype(np.float64), sample_weight=weights)
        return IsotonicMap(fitted.X_thresholds_, fitted.y_thresholds_)


def _log_and_log_rest(proba: Floats, floor: float) -> Floats:
    inside = np.clip(proba, floor, 1 - floor)
    return np.column_stack([np.log(inside), -np.log1p(-inside)])
