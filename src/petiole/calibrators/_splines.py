"""Functions of the log-odds, increasing unless asked otherwise: a quadratic one, and splines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from petiole._table.columns import Floats
from petiole._validation import check_choice, check_number, check_whole
from petiole.calibrators._base import ScoreCalibrator, ScoreMapBase, read_probability_scores
from petiole.calibrators._fitting import LEAST_FLOOR, LEAST_PENALTY, RIDGE, LogisticLoss, check_floor, log_odds
from petiole.files import checks
from petiole.files.checks import fields, require

# Knots span at least this many units of log-odds, even if the scores are nearer to each other.
LEAST_SPAN = 1.0
# From the smoothest to the least smooth: with smoothing="auto" one of these is chosen.
SMOOTHINGS = (1e4, 1e3, 1e2, 10.0, 1.0, 0.1)
# Probabilities are at least LEAST_FLOOR away from 0 and 1, to which they would otherwise be rounded.
MOST_LOG_ODDS = float(np.log((1 - LEAST_FLOOR) / LEAST_FLOOR))
# With more, the function does not become straighter.
MOST_SMOOTHING = 1e6
# Less smoothness must gain more than this, in nats, so that rounding does not decide.
LEAST_GAIN = 1e-6
# Numbers of knots beyond this would cost time and memory, and gain nothing.
MOST_KNOTS = 1000


@dataclass(frozen=True)
class SlopeMap(ScoreMapBase):
    """Log-odds whose slope is ``slopes`` at equally spaced knots, straight between them and constant outside.

    The probability at log-odds s is 1 / (1 + exp(−f(s))), where f(0) is ``intercept``, and the knots span the log-odds
    from ``first`` to ``last``. Probabilities stay 1e-12 away from 0 and 1.
    """

    intercept: float
    first: float
    last: float
    slopes: Floats
    floor: float

    _saved = fields(
        intercept=checks.number(-checks.LARGEST, checks.LARGEST),
        first=checks.number(-100.0, 100.0),
        last=checks.number(-100.0, 100.0),
        slopes=checks.floats(1, 0.0, checks.LARGEST),
        floor=checks.number(LEAST_FLOOR, 0.5),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        require(len(state["slopes"]) >= 2, "slopes: must be two or more")
        require(state["last"] - state["first"] >= LEAST_SPAN / 2, f"last: must be {LEAST_SPAN / 2:g} above first")

    @property
    def keeps_order(self) -> bool:
        return bool((self.slopes >= 0).all())

    def __call__(self, scores: Floats) -> Floats:
        features = slope_features(log_odds(scores, self.floor), self.first, self.last, len(self.slopes))
        return expit(np.clip(features @ self.slopes + self.intercept, -MOST_LOG_ODDS, MOST_LOG_ODDS))

    @classmethod
    def of(cls, coefficients: Floats, span: tuple[float, float], floor: float) -> Self:
        """The map with these coefficients: the intercept and the slopes."""
        return cls(float(coefficients[0]), *span, coefficients[1:].copy(), floor)


class SlopeCalibrator(ScoreCalibrator):
    """Base of the calibrators whose maps are a :class:`SlopeMap`."""

    floor: float

    def _check_parameters(self) -> None:
        check_floor(self.floor)

    def _read(self, scores: Any) -> Floats:
        return read_probability_scores(scores)


class QuadraticMap(SlopeMap):
    """A map with two knots: a parabola between them. Its slopes may be negative if it need not be monotone."""

    _saved = fields(slopes=checks.floats(1, -checks.LARGEST, checks.LARGEST))

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        require(len(state["slopes"]) == 2, "slopes: must be two")


class QuadraticCalibrator(SlopeCalibrator):
    """Quadratic scaling: ln(q/(1−q)) = a + b·s + c·s², s = ln(p/(1−p)), by default never decreasing.

    Use it for two classes if small probabilities need another correction than large ones. It has three numbers, like
    :class:`BetaCalibrator`, and bends in the middle rather than towards the ends. Between the smallest and the largest
    score in ``fit`` the function is the parabola, and beyond them it continues as a straight line. Its slopes at these
    two scores are 0 or more, so the order of rows does not change. A ridge pulls the map towards the identity.

    Parameters
    ----------
    penalty : float, default=0.1
        Twice the nats per squared unit of a, and of the mean of the squares by which the two slopes differ from 1. At
        least 0.001.
    floor : float, default=0.002
        Probabilities are moved this far away from 0 and 1 before logarithms are taken.
    monotone : bool, default=True
        Whether the slopes must be 0 or more. With False a class may be most frequent at middle scores, and the
        order of rows may change.

    Attributes
    ----------
    classes_, base_rates_
        As in :class:`petiole.BinningCalibrator`.
    calibrators_ : list of QuadraticMap
        Each has ``intercept`` (which is a), ``first`` and ``last`` (the smallest and the largest log-odds in ``fit``),
        and ``slopes`` (at these two).

    Examples
    --------
    >>> from petiole.calibrators import QuadraticCalibrator
    >>> calibrator = QuadraticCalibrator().fit([0.1, 0.3, 0.4, 0.8, 0.9], [0, 0, 1, 0, 1])
    >>> calibrator.predict([0.2, 0.8]).round(2)
    array([0.18, 0.63])
    """

    def __init__(self, penalty: float = 0.1, floor: float = 0.002, monotone: bool = True) -> None:
        self.penalty = penalty
        self.floor = floor
        self.monotone = monotone

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("penalty", self.penalty, LEAST_PENALTY)
        check_choice("monotone", self.monotone, (True, False))

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        rising = all((one.slopes >= 0).all() for one in state["calibrators_"])
        require(rising or not self.monotone, "calibrators_: must have slopes of 0 or more")

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> QuadraticMap:
        floor = float(self.floor)
        odds = log_odds(scores, floor)
        span = span_of(odds)
        loss = slope_loss(odds, positive, weights, span, ridge_matrix(2, float(self.penalty)))
        least = least_coefficients(2) if self.monotone else -np.inf
        return QuadraticMap.of(loss.minimum(least), span, floor)


class SplineMap(SlopeMap):
    """A map with as many knots as its calibrator has."""


class SplineCalibrator(SlopeCalibrator):
    """A smooth increasing function of the log-odds, with a smoothness that is chosen on the data.

    Use it with a few hundred rows or more if no simple formula fits, as an alternative to isotonic regression that
    never predicts 0 or 1. It is

        ln(q/(1−q)) = f(s),   s = ln(p/(1−p)),

    where f is a quadratic spline on equally spaced knots between the smallest and the largest score in ``fit``, and a
    straight line beyond them. Its slopes at the knots are 0 or more. They have the least log-loss plus ½ ``smoothing``
    ∫ f''(s)² ds nats, and a weak ridge (½ nat per squared unit) pulls them towards 1, and f(0) towards 0. Much
    smoothing leaves a straight line: Platt's sigmoid of the log-odds.

    Parameters
    ----------
    n_knots : int, default=12
        The number of knots, at least 2 (a parabola, as :class:`QuadraticCalibrator` has) and at most 1000.
    smoothing : "auto" or float, default="auto"
        The cost of a change of slope, at most 10⁶. "auto" is the one of 10⁴, 10³, …, 0.1 with the least sum of
        log-loss in nats and effective number of parameters (Akaike's criterion).
    floor : float, default=0.002
        Probabilities are moved this far away from 0 and 1 before logarithms are taken.

    Attributes
    ----------
    classes_, base_rates_
        As in :class:`petiole.BinningCalibrator`.
    calibrators_ : list of SplineMap
        Each has ``intercept`` (which is f(0)), ``first`` and ``last`` (the outer knots) and ``slopes`` (at the knots).

    Examples
    --------
    >>> from petiole.calibrators import SplineCalibrator
    >>> calibrator = SplineCalibrator().fit([0.1, 0.3, 0.4, 0.8, 0.9], [0, 0, 1, 0, 1])
    >>> calibrator.predict([0.2, 0.8]).round(2)
    array([0.21, 0.69])
    """

    def __init__(self, n_knots: int = 12, smoothing: float | str = "auto", floor: float = 0.002) -> None:
        self.n_knots = n_knots
        self.smoothing = smoothing
        self.floor = floor

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("n_knots", self.n_knots, 2)
        if self.n_knots > MOST_KNOTS:
            raise ValueError(
                f"n_knots={self.n_knots}: must be at most {MOST_KNOTS}; more have no effect because of the smoothing"
            )
        if isinstance(self.smoothing, str):
            check_choice("smoothing", self.smoothing, ("auto",), otherwise=f"a number between 0 and {MOST_SMOOTHING:g}")
        else:
            check_number("smoothing", self.smoothing, 0.0, MOST_SMOOTHING)

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> SplineMap:
        n_knots, floor = int(self.n_knots), float(self.floor)
        odds = log_odds(scores, floor)
        span = span_of(odds)
        ridge, roughness = ridge_matrix(n_knots, RIDGE), roughness_matrix(n_knots, span)
        loss, least = slope_loss(odds, positive, weights, span, ridge), least_coefficients(n_knots)
        if not isinstance(self.smoothing, str):
            found = loss.with_penalty(ridge + float(self.smoothing) * roughness).minimum(least)
            return SplineMap.of(found, span, floor)
        best, found = np.inf, loss.start
        chosen = found
        for smoothing in SMOOTHINGS:
            smooth = loss.with_penalty(ridge + smoothing * roughness)
            found = smooth.minimum(least, found)
            criterion = akaike(smooth, found, least)
            if criterion < best - LEAST_GAIN:
                best, chosen = criterion, found
        return SplineMap.of(chosen, span, floor)


def span_of(odds: Floats) -> tuple[float, float]:
    """The outer knots: the least and the largest log-odds, or points around them if these are too near.

    >>> span_of(np.array([2.0, -1.0])), span_of(np.array([3.0]))
    ((-1.0, 2.0), (2.5, 3.5))
    """
    first, last = float(odds.min()), float(odds.max())
    middle = (first + last) / 2
    return (first, last) if last - first >= LEAST_SPAN else (middle - LEAST_SPAN / 2, middle + LEAST_SPAN / 2)


def slope_features(odds: Floats, first: float, last: float, n_knots: int) -> Floats:
    """The share of each slope in f(s) − f(0): integrals from 0 to s of functions that are 1 at one knot, else 0.

    They are straight between knots and constant outside, so that with equal slopes f is a straight line.

    >>> slope_features(np.array([-2.0, 0.0, 1.0, 3.0]), -1.0, 1.0, 2)
    array([[-1.75, -0.25],
           [ 0.  ,  0.  ],
           [ 0.25,  0.75],
           [ 0.25,  2.75]])
    """
    width = (last - first) / (n_knots - 1)
    return width * (_integrals((odds - first) / width, n_knots) - _integrals(np.array([-first / width]), n_knots))


def _integrals(places: Floats, n_knots: int) -> Floats:
    """Integrals of the functions, for knots at 0, 1, …, and the outer ones from these knots on."""
    distances = np.clip(places, 0, n_knots - 1)[:, np.newaxis] - np.arange(n_knots)
    near = np.clip(distances, -1, 1)
    table = np.where(near < 0, (1 + near) ** 2 / 2, 1 - (1 - near) ** 2 / 2)
    table[:, 0] += np.minimum(places, 0)
    table[:, -1] += np.maximum(places - (n_knots - 1), 0)
    return table


def least_coefficients(n_knots: int) -> Floats:
    """Bounds of the intercept and the slopes."""
    return np.concatenate([[-np.inf], np.zeros(n_knots)])


def ridge_matrix(n_knots: int, ridge: float) -> Floats:
    """The penalty that pulls the intercept towards 0 and the slopes, averaged over knots, towards 1."""
    return ridge * np.diag(np.concatenate([[1.0], np.full(n_knots, 1 / n_knots)]))


def roughness_matrix(n_knots: int, span: tuple[float, float]) -> Floats:
    """The integral of the squared second derivative, as a quadratic form of the intercept and the slopes.

    >>> roughness_matrix(2, (0.0, 2.0))
    array([[ 0. ,  0. ,  0. ],
           [ 0. ,  0.5, -0.5],
           [ 0. , -0.5,  0.5]])
    """
    steps = np.diff(np.eye(n_knots + 1), axis=0)[1:]
    return steps.T @ steps * ((n_knots - 1) / (span[1] - span[0])) + 0.0


def slope_loss(
    odds: Floats, positive: npt.NDArray[np.bool_], weights: Floats, span: tuple[float, float], penalty: Floats
) -> LogisticLoss:
    """The penalised loss of the intercept and the slopes. Equal log-odds are one row, with a share of positives."""
    distinct, position = np.unique(odds, return_inverse=True)
    totals: Floats = np.bincount(position, weights).astype(np.float64)
    shares = np.bincount(position, weights * positive) / totals
    features = slope_features(distinct, *span, len(penalty) - 1)
    start = np.concatenate([[0.0], np.ones(len(penalty) - 1)])
    return LogisticLoss(np.column_stack([np.ones(len(distinct)), features]), shares, totals, start, penalty)


def akaike(loss: LogisticLoss, found: Floats, least: Floats) -> float:
    """Log-loss in nats plus the effective number of parameters, of those that are not at their bounds."""
    scores = loss.features @ found
    nats = float(loss.weights @ (np.logaddexp(0.0, scores) - loss.targets * scores))
    free = np.flatnonzero(found > least)
    curvature = loss.curvature(found)[np.ix_(free, free)]
    return nats + float(np.trace(np.linalg.solve(curvature + loss.penalty[np.ix_(free, free)], curvature)))
