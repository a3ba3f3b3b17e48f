"""Maps of all classes at once, linear in logarithms of probabilities: temperature, vector, structured matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize
from scipy.special import log_softmax, softmax

from petiole._table.columns import Floats
from petiole._table.labels import Codes
from petiole._validation import check_number
from petiole.calibrators._base import ScoreCalibrator, ScoreMapBase, read_probability_scores
from petiole.calibrators._fitting import LEAST_FLOOR, LEAST_PENALTY, RIDGE, SEARCH, check_floor, two_columns
from petiole.files import checks
from petiole.files.checks import fields, require

# Nothing is learned about a class with probability 0 or 1 throughout; its entries still need a unit.
LEAST_CURVATURE = 1e-12


@dataclass(frozen=True)
class TemperatureMap(ScoreMapBase):
    """p_k ∝ p_k^(1/temperature), with p at least ``floor``; a table of all classes at once."""

    temperature: float
    floor: float

    _saved = fields(temperature=checks.number(1e-9), floor=checks.number(LEAST_FLOOR, 0.5))

    @property
    def keeps_order(self) -> bool:
        return True

    def __call__(self, proba: Floats) -> Floats:
        return softmax(np.log(np.maximum(proba, self.floor)) / self.temperature, axis=1)

    def logits(self, proba: Floats) -> Floats:
        """The natural logarithms of the mapped probabilities."""
        return log_softmax(np.log(np.maximum(proba, self.floor)) / self.temperature, axis=1)


class JointCalibrator(ScoreCalibrator):
    """Base of the calibrators with a single map of all classes. A subclass has ``_learn_joint``."""

    floor: float

    def predict(self, scores: Any) -> Floats:
        """Probabilities in the shape of the scores: of the second class, or a column for each class."""
        table = self._read_to_predict(scores)
        if table.ndim == 1:
            return self._probabilities(two_columns(table))[:, 1]
        return self._probabilities(table)

    def _learn_joint(self, table: Floats, codes: Codes, weights: Floats) -> ScoreMapBase:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_floor(self.floor)

    def _read(self, scores: Any) -> Floats:
        return read_probability_scores(scores)

    def _learn_all(self, table: Floats, codes: Codes, weights: Floats, n_classes: int) -> list[Any]:
        return [self._learn_joint(two_columns(table) if table.ndim == 1 else table, codes, weights)]

    def _n_maps(self, n_classes: int) -> int:
        return 1

    def _probabilities(self, table: Floats) -> Floats:
        return self.calibrators_[0](table)


class TemperatureCalibrator(JointCalibrator):
    """Temperature scaling: p_k ∝ p_k^(1/T), one number for all classes (Guo et al. 2017).

    The most probable class never changes, and a few rows are enough to learn one number. T > 1 moves probabilities
    away from 0 and 1, T < 1 towards them; forests, which tend to be underconfident, usually need T < 1. A weak ridge
    (½ nat per squared unit) pulls 1/T towards 1.

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
    >>> proba = [[0.6, 0.2, 0.2], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]]
    >>> calibrator = TemperatureCalibrator().fit(proba, ["a", "b", "c", "a"])
    >>> calibrator.predict(proba[:1]).round(2)
    array([[0.8, 0.1, 0.1]])
    """

    def __init__(self, floor: float = 0.002) -> None:
        self.floor = floor

    def _learn_joint(self, table: Floats, codes: Codes, weights: Floats) -> TemperatureMap:
        return fit_temperature(table, codes, weights, float(self.floor))


@dataclass(frozen=True)
class VectorScalingMap(ScoreMapBase):
    """softmax(scales_k z_k + intercepts_k), where z are the logarithms of probabilities after ``tempered``."""

    tempered: TemperatureMap
    scales: Floats
    intercepts: Floats

    _saved = fields(
        tempered=checks.instance_of("TemperatureMap"),
        scales=checks.floats(1, 0.0, checks.LARGEST),
        intercepts=checks.floats(1, -checks.LARGEST, checks.LARGEST),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        require(state["scales"].shape == state["intercepts"].shape, "scales: must be as many as intercepts")

    @property
    def keeps_order(self) -> bool:
        return bool((self.scales >= 0).all())

    def __call__(self, proba: Floats) -> Floats:
        return softmax(self.tempered.logits(proba) * self.scales + self.intercepts, axis=1)


class VectorScalingCalibrator(JointCalibrator):
    """Vector scaling: a temperature for all classes, then a scale and an intercept for each.

    Use it if some classes are more over- or underconfident than others, or are predicted too often. It is

        q = softmax(a_k z_k + b_k),   z_k = ln of the probability of class k after temperature scaling,   a_k ≥ 0.

    The temperature is learned first (:class:`TemperatureCalibrator`). A ridge of ``penalty`` · K nats per squared unit
    then pulls the 2K numbers a and b towards 1 and 0, where only the temperature has an effect. With few rows the
    result is nearly that of temperature scaling; with more rows the numbers of each class can differ. The form is that
    of Guo et al. (2017), the penalties are those of Berta, Holzmüller, Jordan & Bach (2026).

    Parameters
    ----------
    penalty : float, default=1.0
        The strength of the ridge on a and b, over all rows together, multiplied by the number of classes. At least
        0.001.
    floor : float, default=0.002
        Probabilities are raised to this before logarithms are taken.

    Attributes
    ----------
    classes_, base_rates_
        As in :class:`petiole.BinningCalibrator`.
    calibrators_ : list of a single VectorScalingMap
        It has the attributes ``tempered`` (the TemperatureMap), ``scales`` and ``intercepts``.

    Examples
    --------
    >>> from petiole.calibrators import VectorScalingCalibrator
    >>> proba = [[0.6, 0.2, 0.2], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]]
    >>> calibrator = VectorScalingCalibrator().fit(proba, ["a", "b", "c", "a"])
    >>> calibrator.predict(proba[:1]).round(2)
    array([[0.83, 0.08, 0.09]])
    """

    def __init__(self, penalty: float = 1.0, floor: float = 0.002) -> None:
        self.penalty = penalty
        self.floor = floor

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("penalty", self.penalty, LEAST_PENALTY)

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        same = len(state["calibrators_"][0].scales) == len(state["classes_"])
        require(same, "calibrators_: must have one scale per class")

    def _learn_joint(self, table: Floats, codes: Codes, weights: Floats) -> VectorScalingMap:
        tempered, n_classes = fit_temperature(table, codes, weights, float(self.floor)), table.shape[1]
        loss = SoftmaxLoss(tempered.logits(table), codes, weights, np.eye(n_classes, dtype=bool))
        penalty = float(self.penalty) * n_classes
        matrix, intercepts = loss.minimum(np.full((n_classes, n_classes), penalty), penalty)
        return VectorScalingMap(tempered, np.diagonal(matrix).copy(), intercepts)


@dataclass(frozen=True)
class StructuredMatrixMap(ScoreMapBase):
    """softmax(matrix z + intercepts), where z are the logarithms of probabilities after ``tempered``."""

    tempered: TemperatureMap
    matrix: Floats
    intercepts: Floats

    _saved = fields(
        tempered=checks.instance_of("TemperatureMap"),
        matrix=checks.floats(2, -checks.LARGEST, checks.LARGEST),
        intercepts=checks.floats(1, -checks.LARGEST, checks.LARGEST),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        n_classes = len(state["intercepts"])
        require(state["matrix"].shape == (n_classes, n_classes), "matrix: must have a row and a column per intercept")

    def __call__(self, proba: Floats) -> Floats:
        return softmax(self.tempered.logits(proba) @ self.matrix.T + self.intercepts, axis=1)


class StructuredMatrixCalibrator(JointCalibrator):
    """Structured matrix scaling: a temperature, then scales of each class, then pairs of classes, as the rows allow.

    Use it with many rows and several classes, if the model confuses certain classes in a systematic way. It is

        q = softmax(W z + b),   z_k = ln of the probability of class k after temperature scaling.

    The temperature is learned first (:class:`TemperatureCalibrator`). Ridges of different strength then pull W towards
    the identity and b towards 0: ``diagonal_penalty`` · K nats per squared unit of the diagonal,
    ``off_diagonal_penalty`` · K(K−1) of the other entries, ``intercept_penalty`` · K of b. With few rows the result is
    nearly that of temperature scaling, with more rows that of vector scaling, and with many that of the full matrix.
    The penalties are those of Berta, Holzmüller, Jordan & Bach (2026). With two classes the off-diagonal entries add
    nothing and are 0, and the order of rows does not change; with more classes it may.

    Parameters
    ----------
    diagonal_penalty, off_diagonal_penalty, intercept_penalty : float, default=1.0
        The strength of each ridge, over all rows together, in the units above. At least 0.001.
    floor : float, default=0.002
        Probabilities are raised to this before logarithms are taken.

    Attributes
    ----------
    classes_, base_rates_
        As in :class:`petiole.BinningCalibrator`.
    calibrators_ : list of a single StructuredMatrixMap
        It has the attributes ``tempered`` (the TemperatureMap), ``matrix`` and ``intercepts``.

    Examples
    --------
    >>> from petiole.calibrators import StructuredMatrixCalibrator
    >>> proba = [[0.6, 0.2, 0.2], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]]
    >>> calibrator = StructuredMatrixCalibrator().fit(proba, ["a", "b", "c", "a"])
    >>> calibrator.predict(proba[:1]).round(2)
    array([[0.84, 0.08, 0.08]])
    """

    def __init__(
        self,
        diagonal_penalty: float = 1.0,
        off_diagonal_penalty: float = 1.0,
        intercept_penalty: float = 1.0,
        floor: float = 0.002,
    ) -> None:
        self.diagonal_penalty = diagonal_penalty
        self.off_diagonal_penalty = off_diagonal_penalty
        self.intercept_penalty = intercept_penalty
        self.floor = floor

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("diagonal_penalty", "off_diagonal_penalty", "intercept_penalty"):
            check_number(name, getattr(self, name), LEAST_PENALTY)

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        same = len(state["calibrators_"][0].intercepts) == len(state["classes_"])
        require(same, "calibrators_: must have one intercept per class")

    def _learn_joint(self, table: Floats, codes: Codes, weights: Floats) -> StructuredMatrixMap:
        tempered, n_classes = fit_temperature(table, codes, weights, float(self.floor)), table.shape[1]
        diagonal = np.eye(n_classes, dtype=bool)
        free = diagonal if n_classes == 2 else np.ones_like(diagonal)
        beside = float(self.off_diagonal_penalty) * n_classes * (n_classes - 1)
        penalties = np.where(diagonal, float(self.diagonal_penalty) * n_classes, beside)
        loss = SoftmaxLoss(tempered.logits(table), codes, weights, free)
        return StructuredMatrixMap(tempered, *loss.minimum(penalties, float(self.intercept_penalty) * n_classes))


class SoftmaxLoss:
    """The mean log-loss in nats of softmax(W z + b); W is the identity except where it is ``free``."""

    def __init__(self, logits: Floats, codes: Codes, weights: Floats, free: np.ndarray) -> None:
        self.logits, self.codes, self.free = logits, codes, free
        self.shares = weights / weights.sum()
        self.total = float(weights.sum())
        self.is_diagonal = bool((free == np.eye(len(free), dtype=bool)).all())

    def __call__(self, matrix: Floats, intercepts: Floats) -> tuple[float, Floats, Floats]:
        """The loss and its derivatives by the free entries of the matrix, in their order, and by the intercepts."""
        moved = self.logits * np.diagonal(matrix) if self.is_diagonal else self.logits @ matrix.T
        scores = log_softmax(moved + intercepts, axis=1)
        rows = np.arange(len(self.codes))
        loss = -self.shares @ scores[rows, self.codes]
        excess = np.exp(scores)
        excess[rows, self.codes] -= 1
        excess *= self.shares[:, np.newaxis]
        if self.is_diagonal:
            return loss, (excess * self.logits).sum(axis=0), excess.sum(axis=0)
        return loss, (excess.T @ self.logits)[self.free], excess.sum(axis=0)

    def penalised(self, penalties: Floats, intercept_penalty: float) -> PenalisedLoss:
        """The loss with ridges in nats per squared unit, over all rows, as a function of one vector."""
        n_classes = len(self.free)
        each = np.concatenate([penalties[self.free], np.full(n_classes, intercept_penalty)])
        return PenalisedLoss(self, each / self.total)

    def minimum(self, penalties: Floats, intercept_penalty: float) -> tuple[Floats, Floats]:
        """The matrix and the intercepts with the least penalised loss; no diagonal entry is below 0."""
        objective, n_classes = self.penalised(penalties, intercept_penalty), len(self.free)
        # The search uses entries of about equal curvature for any penalties.
        units = 1 / np.sqrt(self.curvatures() + 2 * objective.ridges)
        least = np.concatenate([np.where(np.eye(n_classes), 0.0, -np.inf)[self.free], np.full(n_classes, -np.inf)])

        def in_units(steps: Floats) -> tuple[float, Floats]:
            loss, slopes = objective(objective.centre + units * steps)
            return loss, units * slopes

        bounds = Bounds((least - objective.centre) / units, np.inf)
        found = minimize(in_units, np.zeros(len(units)), jac=True, method="L-BFGS-B", bounds=bounds, options=SEARCH)
        # Rounding must not take an entry below its bound.
        return objective.unpacked(np.maximum(objective.centre + units * found.x, least))

    def curvatures(self) -> Floats:
        """Second derivatives of the loss by the free entries and by the intercepts, where the map changes nothing."""
        proba = np.exp(self.logits)
        spread = proba * (1 - proba) * self.shares[:, np.newaxis]
        of_matrix = (spread.T @ self.logits**2)[self.free]
        return np.concatenate([of_matrix, spread.sum(axis=0)]) + LEAST_CURVATURE


class PenalisedLoss:
    """A softmax loss of the free entries of the matrix and the intercepts, each with its ridge."""

    def __init__(self, loss: SoftmaxLoss, ridges: Floats) -> None:
        self.loss, self.ridges = loss, ridges
        n_classes = len(loss.free)
        self.centre = np.concatenate([np.eye(n_classes)[loss.free], np.zeros(n_classes)])

    def unpacked(self, x: Floats) -> tuple[Floats, Floats]:
        """The matrix and the intercepts of a vector."""
        n_classes = len(self.loss.free)
        matrix = np.eye(n_classes)
        matrix[self.loss.free] = x[:-n_classes]
        return matrix, x[-n_classes:].copy()

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """The penalised loss and its gradient."""
        loss, of_matrix, of_intercepts = self.loss(*self.unpacked(x))
        moved = x - self.centre
        pull = self.ridges * moved
        return loss + float(pull @ moved), np.concatenate([of_matrix, of_intercepts]) + 2 * pull


def fit_temperature(table: Floats, codes: Codes, weights: Floats, floor: float) -> TemperatureMap:
    """The temperature with the least log-loss, with a weak ridge that pulls its inverse towards 1."""
    logs = np.log(np.maximum(table, floor))
    own = logs[np.arange(len(codes)), codes]

    def objective(x: Floats) -> tuple[float, Floats]:
        scaled = log_softmax(x[0] * logs, axis=1)
        loss = -weights @ scaled[np.arange(len(codes)), codes]
        slope = weights @ ((np.exp(scaled) * logs).sum(axis=1) - own)
        return loss + RIDGE / 2 * (x[0] - 1) ** 2, np.array([slope + RIDGE * (x[0] - 1)])

    found = minimize(objective, np.ones(1), jac=True, method="L-BFGS-B", bounds=Bounds(1e-3, np.inf), tol=1e-12)
    return TemperatureMap(1 / float(found.x[0]), floor)
