"""Maps from scores to probabilities, learned beside the labels: sigmoid, beta, isotonic, temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from petiole._table.columns import Floats
from petiole._table.labels import Codes
from petiole._validation import check_number
from petiole.calibrators._base import ScoreCalibrator, ScoreMapBase, read_probability_scores
from petiole.files import checks
from petiole.files.checks import fields, require

# How strongly the parameters of beta calibration and the inverse temperature are held where nothing changes, in nats
# per squared unit: a few rows can overrule it, but where the classes are apart nothing runs to infinity.
RIDGE = 1.0
# One minus a smaller probability is 1, which has no log-odds.
LEAST_FLOOR = 1e-12
# Scores that are nearer to each other are taken as equal: the slope between them would be infinite.
LEAST_SPREAD = 1e-290


@dataclass(frozen=True)
class SigmoidMap(ScoreMapBase):
    """1 / (1 + exp(−(slope · score + intercept)))."""

    slope: float
    intercept: float

    _saved = fields(slope=checks.number(), intercept=checks.number())

    def __call__(self, scores: Floats) -> Floats:
        with np.errstate(over="ignore"):  # of infinity expit is 0 or 1
            return expit(self.slope * scores + self.intercept)


class SigmoidCalibrator(ScoreCalibrator):
    """Platt's sigmoid of the score, 1 / (1 + exp(−(a·s + b))), fitted to softened labels (Platt 1999; recalled).

    Positive rows have the target (n₊ + 1)/(n₊ + 2), negative ones 1/(n₋ + 2). The score is taken as it is, as
    scikit-learn's ``CalibratedClassifierCV(method="sigmoid")`` takes a probability; :class:`BetaCalibrator` works on
    logarithms of it.

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
        # Scores of any unit: the search sees standardised ones. A power of two brings them near 1 without rounding, so
        # that their squares cannot overflow.
        exponent = int(np.frexp(np.abs(scores).max())[1])
        scaled = np.ldexp(scores, -exponent)
        centre = float(np.average(scaled, weights=weights))
        width = float(np.sqrt(np.average((scaled - centre) ** 2, weights=weights)))
        if np.ldexp(width, exponent) < LEAST_SPREAD:
            scaled, centre, width = np.zeros_like(scores), 0.0, 1.0
        features = np.column_stack([(scaled - centre) / width, np.ones_like(scaled)])
        slope, intercept = _fit_logistic(features, targets, weights, np.zeros(2), ridge=0.0)
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

    def __call__(self, scores: Floats) -> Floats:
        return expit(_log_and_log_rest(scores, self.floor) @ np.array([self.a, self.b]) + self.c)


class BetaCalibrator(ScoreCalibrator):
    """Beta calibration: ln(q/(1−q)) = a·ln p − b·ln(1−p) + c with a, b ≥ 0 (Kull, Silva Filho & Flach 2017; recalled).

    A logistic regression on ln p and −ln(1−p). With a = b = 1 and c = 0 nothing changes, unlike with the sigmoid, which
    cannot leave a calibrated probability alone. A weak ridge (½ nat per squared unit) holds the three there.

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
        _check_floor(self.floor)

    def _read(self, scores: Any) -> Floats:
        return read_probability_scores(scores)

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> BetaMap:
        features = np.column_stack([_log_and_log_rest(scores, float(self.floor)), np.ones(len(scores))])
        start, least = np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, -np.inf])
        a, b, c = _fit_logistic(features, positive.astype(np.float64), weights, start, ridge=RIDGE, least=least)
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

    def __call__(self, scores: Floats) -> Floats:
        # A quarter of each score, exactly: differences of the largest ones would be infinite.
        return np.interp(scores / 4, self.scores / 4, self.values)


class IsotonicCalibrator(ScoreCalibrator):
    """The non-decreasing function of the score with the least squared error (scikit-learn's isotonic regression).

    It assumes nothing but that scores rank, and needs some hundred rows of each class. It may say 0 or 1, which
    logarithmic loss does not forgive; :class:`VennAbersCalibrator` is its cautious sister.

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


@dataclass(frozen=True)
class TemperatureMap(ScoreMapBase):
    """p_k ∝ p_k^(1/temperature), with p at least ``floor``; a table of all classes at once."""

    temperature: float
    floor: float

    _saved = fields(temperature=checks.number(1e-9), floor=checks.number(LEAST_FLOOR, 0.5))

    def __call__(self, proba: Floats) -> Floats:
        return softmax(np.log(np.maximum(proba, self.floor)) / self.temperature, axis=1)


class TemperatureCalibrator(ScoreCalibrator):
    """Temperature scaling: p_k ∝ p_k^(1/T), one number for all classes (Guo et al. 2017; recalled).

    The decision never changes, and one number is learned from few rows. T > 1 makes probabilities more timid, T < 1
    bolder: forests need the latter more often than not. A weak ridge (½ nat per squared unit) holds 1/T at 1.

    Parameters
    ----------
    floor : float, default=0.002
        Probabilities are raised to this before logarithms are taken.

    Attributes
    ----------
    classes_, base_rates_
        As in :class:`petiole.BinningCalibrator`.
    calibrators_ : list of a single TemperatureMap

    Examples
    --------
    >>> from petiole.calibrators import TemperatureCalibrator
    >>> timid = [[0.6, 0.2, 0.2], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]]
    >>> calibrator = TemperatureCalibrator().fit(timid, ["a", "b", "c", "a"])
    >>> calibrator.predict(timid[:1]).round(2)
    array([[0.8, 0.1, 0.1]])
    """

    def __init__(self, floor: float = 0.002) -> None:
        self.floor = floor

    def predict(self, scores: Any) -> Floats:
        """Probabilities in the shape of the scores: of the second class, or a column for each class."""
        table = self._read_to_predict(scores)
        if table.ndim == 1:
            return self._probabilities(_both(table))[:, 1]
        return self._probabilities(table)

    def _check_parameters(self) -> None:
        _check_floor(self.floor)

    def _read(self, scores: Any) -> Floats:
        return read_probability_scores(scores)

    def _learn_all(self, table: Floats, codes: Codes, weights: Floats, n_classes: int) -> list[Any]:
        table = _both(table) if table.ndim == 1 else table
        logs = np.log(np.maximum(table, float(self.floor)))
        own = logs[np.arange(len(codes)), codes]

        def objective(x: Floats) -> tuple[float, Floats]:
            scaled = log_softmax(x[0] * logs, axis=1)
            loss = -weights @ scaled[np.arange(len(codes)), codes]
            slope = weights @ ((np.exp(scaled) * logs).sum(axis=1) - own)
            return loss + RIDGE / 2 * (x[0] - 1) ** 2, np.array([slope + RIDGE * (x[0] - 1)])

        found = minimize(objective, np.ones(1), jac=True, method="L-BFGS-B", bounds=Bounds(1e-3, np.inf), tol=1e-12)
        return [TemperatureMap(1 / float(found.x[0]), float(self.floor))]

    def _n_maps(self, n_classes: int) -> int:
        return 1

    def _probabilities(self, table: Floats) -> Floats:
        return self.calibrators_[0](table)


def _both(second: Floats) -> Floats:
    return np.column_stack([1 - second, second])


def _check_floor(floor: Any) -> None:
    check_number("floor", floor, LEAST_FLOOR, 0.5)


def _log_and_log_rest(proba: Floats, floor: float) -> Floats:
    inside = np.clip(proba, floor, 1 - floor)
    return np.column_stack([np.log(inside), -np.log1p(-inside)])


def _fit_logistic(
    features: Floats, targets: Floats, weights: Floats, start: Floats, *, ridge: float, least: Floats | float = -np.inf
) -> list[float]:
    """Coefficients with the least log-loss beside targets between 0 and 1; ``ridge`` pulls them to ``start``."""
    scale = 1 / weights.sum()

    def objective(x: Floats) -> tuple[float, Floats]:
        scores, moved = features @ x, x - start
        loss = weights @ (np.logaddexp(0.0, scores) - targets * scores) + ridge / 2 * moved @ moved
        slopes = (weights * (expit(scores) - targets)) @ features + ridge * moved
        return scale * loss, scale * slopes

    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(least, np.inf),
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
    )
    return found.x.tolist()
