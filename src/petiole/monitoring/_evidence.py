"""Sequential tests that may be looked at after every row: wealth of a bettor who cannot win against a true model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from petiole._table.columns import Floats
from petiole._table.judged import Judged, check_judged
from petiole._table.labels import check_weights
from petiole._validation import check_number
from petiole.metrics.logarithmic import log_losses, raised
from petiole.monitoring._deadline import DeadlineBettors

# Alternatives to the model: a class more or less probable, by so much on the scale of log-odds, and all probabilities
# more or less extreme. A shift of 0.05 in probability is 0.2 at 0.5 and 0.3 at 0.2.
TILTS = (0.125, 0.25, 0.5, 1.0)
TILT_SHARES = (0.1, 0.5, 0.25, 0.15)
SLOPES = (-0.3, -0.15, 0.15, 0.3)
SLOPES_SHARE = 0.2
DEADLINE_SHARE = 0.5  # of those who want an alarm within a thousand rows; the shares above are of the others
# Bets on the loss, as shares of what may be lost.
STAKES = (0.02, 0.05, 0.1, 0.2, 0.4)
LEAST = 1e-6  # of probabilities whose logarithms are taken
ROWS_AT_ONCE = 4096


class SequentialTest:
    """A mixture of bettors. Each begins with a share of 1 and bets on every row; what they own together is the e-value.

    Under the null hypothesis nobody can expect to win, so that the e-value is ever 1/alpha or more with probability at
    most alpha (Ville's inequality), however often one looks and whenever one stops.

    Attributes
    ----------
    log_wealth : array
        The natural logarithm of what each bettor owns, shares included.
    n_rows : int
        How many rows there were.
    history : list of arrays
        The logarithm of the e-value after each row of each call of ``update``.
    """

    def __init__(self, shares: Floats) -> None:
        self.log_wealth: Floats = np.log(shares)
        self.n_rows = 0
        self.history: list[Floats] = []
        self.log_highest = 0.0
        self.first_rows: dict[float, int] = {}

    @property
    def e_value(self) -> float:
        """The mean wealth of the bettors after the last row."""
        return math.exp(min(float(logsumexp(self.log_wealth)), 700.0))

    @property
    def highest(self) -> float:
        """The largest mean wealth so far; 1 before the first row."""
        return math.exp(min(self.log_highest, 700.0))

    @property
    def p_value(self) -> float:
        """A p-value that holds at any time: 1 / ``highest``."""
        return math.exp(-self.log_highest)

    def alarm(self, alpha: float = 0.05) -> bool:
        """Whether the e-value has ever reached 1/alpha."""
        check_number("alpha", alpha, 1e-12, 1)
        return self.log_highest >= -math.log(alpha)

    def first_row(self, alpha: float = 0.05) -> int | None:
        """The number of the row, from 1, at which the e-value first reached 1/alpha."""
        reached, n_before = -math.log(alpha), self.n_rows - sum(map(len, self.history))
        for part in self.history:
            over = np.flatnonzero(part >= reached)
            if len(over):
                return n_before + int(over[0]) + 1
            n_before += len(part)
        return None

    def _bet(self, log_factors: Floats) -> None:
        """Multiply the wealth of every bettor by a factor per row."""
        for begin in range(0, len(log_factors), ROWS_AT_ONCE):
            wealth = self.log_wealth + np.cumsum(log_factors[begin : begin + ROWS_AT_ONCE], axis=0)
            path = logsumexp(wealth, axis=1)
            self.log_wealth = wealth[-1]
            self.log_highest = max(self.log_highest, float(path.max()))
            self.history.append(path)
        self.n_rows += len(log_factors)

    def state(self) -> dict[str, Any]:
        """What is needed to continue later, as plain numbers for JSON."""
        return {"log_wealth": self.log_wealth.tolist(), "n_rows": self.n_rows, "log_highest": self.log_highest}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from an earlier :meth:`state`."""
        wealth = np.asarray(state["log_wealth"], dtype=np.float64)
        if wealth.shape != self.log_wealth.shape:
            raise ValueError("state: belongs to another test, or to a model with other classes; start with a new one")
        self.log_wealth, self.n_rows = wealth, int(state["n_rows"])
        self.log_highest = float(state["log_highest"])


class CalibrationTest(SequentialTest):
    """Tests after every row whether probabilities are calibrated.

    Null hypothesis: given all earlier rows, the label of a row is drawn with the probabilities p of the model. Each
    bettor stands for an alternative q. Its wealth is multiplied by q(y) / p(y) at each row, a likelihood ratio whose
    mean is 1 under p. Alternatives make a class more or less probable (q_k ∝ p_k e^θ) or all probabilities
    more or less extreme (q ∝ p^(1+a)). Half of the wealth is of bettors whose θ depends on earlier rows, so that there
    is an alarm within 1,000 rows if possible.

    Parameters
    ----------
    n_classes : int
    correction : array of shape (1 + n_classes,), optional
        A correction of errors that are known from the fit, so that only new errors count: the probabilities that are
        tested are ∝ p_k^(1 + c_0) e^(c_k). See ``Reference.correction``.
    alpha : float, default=0.05
        The level of the alarm for which half of the wealth is staked, so that it comes within 1,000 rows if possible.
        The e-value is valid for every level.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.monitoring import CalibrationTest
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.1, 0.9, 1000)
    >>> true, wrong = (CalibrationTest(2) for _ in range(2))
    >>> _ = true.update(rng.uniform(size=1000) < p, np.column_stack([1 - p, p]))
    >>> _ = wrong.update(rng.uniform(size=1000) < p + 0.08, np.column_stack([1 - p, p]))
    >>> true.alarm(), wrong.alarm()
    (False, True)
    """

    def __init__(self, n_classes: int, correction: Floats | None = None, alpha: float = 0.05) -> None:
        check_number("alpha", alpha, 1e-12, 1)
        tilts = np.array([sign * tilt for tilt in TILTS for sign in (1, -1)])
        shares = np.repeat(np.array(TILT_SHARES) / 2, 2)
        # Of two classes one becomes more probable where the other becomes less so.
        self.targets = [1] if n_classes == 2 else [*range(n_classes)] if n_classes > 1 else []
        self.tilts = tilts
        self.correction = np.zeros(1 + n_classes) if correction is None else np.asarray(correction, dtype=np.float64)
        n_targets = len(self.targets)
        deadline_share = DEADLINE_SHARE if n_targets else 0.0
        slopes_share = SLOPES_SHARE if n_targets else 1.0
        self.deadline = DeadlineBettors(n_targets, deadline_share, alpha)
        each = np.tile(shares / max(n_targets, 1), n_targets) * (1 - SLOPES_SHARE)
        slopes = np.full(len(SLOPES), slopes_share / len(SLOPES))
        hasty = np.full(2 * n_targets, deadline_share / max(2 * n_targets, 1))
        super().__init__(np.concatenate([(1 - deadline_share) * np.concatenate([each, slopes]), hasty]))

    def state(self) -> dict[str, Any]:
        """What is needed to go on later, as plain numbers for JSON."""
        return super().state() | {"deadline": self.deadline.state()}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from an earlier :meth:`state`."""
        super().resume(state)
        self.deadline.resume(state["deadline"])

    def update(self, y_true: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None) -> CalibrationTest:
        """Bet on some rows, in their order.

        With weights a bettor stakes the share w / (largest w) of his wealth on each row. The labels of the columns are
        0, 1, ... (or False and True) unless ``labels`` says otherwise.
        """
        names = np.arange(len(self.correction) - 1) if labels is None else labels
        judged = check_judged(y_true, proba, labels=names)
        return self.bet(judged.codes, judged.proba, check_weights(sample_weight, len(judged.codes)))

    def bet(self, codes: Any, proba: Floats, weights: Floats | None = None) -> CalibrationTest:
        """The same for class codes and probabilities that are known to be good."""
        logs = corrected_logs(proba, self.correction)
        own = np.take_along_axis(logs, np.asarray(codes, dtype=np.intp)[:, np.newaxis], axis=1)
        parts = []
        for k in self.targets:
            grown = np.log1p(np.exp(logs[:, [k]]) * np.expm1(self.tilts))
            parts.append((codes == k)[:, np.newaxis] * self.tilts - grown)
        parts += [slope * own - logsumexp((1 + slope) * logs, axis=1, keepdims=True) for slope in SLOPES]
        stakes = np.ones((len(logs), 1))
        if weights is not None and weights.max() > 0:
            stakes = (weights / weights.max())[:, np.newaxis]
        factors = np.hstack([*parts, *self._hasty(logs, codes, stakes)])
        if weights is not None:
            factors = np.log1p(stakes * np.expm1(np.minimum(factors, 700.0)))
        self._bet(factors)
        return self

    def _hasty(self, logs: Floats, codes: Any, stakes: Floats) -> Floats:
        """The factors of the bettors with a deadline, shape (2, n_rows, n_targets)."""
        p = np.minimum(np.exp(logs[:, self.targets]), 1.0)
        hits = (np.asarray(codes)[:, np.newaxis] == np.array(self.targets, dtype=np.intp)).astype(np.float64)
        tilts = self.deadline.tilts(p, hits, stakes)
        return np.asarray(hits * tilts - np.log1p(p * np.expm1(tilts)))


class LossTest(SequentialTest):
    """Tests after every row whether the log-loss is larger than expected.

    Null hypothesis: given all earlier rows, the mean of the next loss is at most ``promised``. A bettor's wealth is
    multiplied by 1 + λ (loss − promised), whose mean is then at most 1, with λ = c / promised for shares c from 0.02 to
    0.4 (the betting of Waudby-Smith & Ramdas 2024).

    Parameters
    ----------
    promised : float
        The largest mean log-loss in bits to expect, including a margin for its uncertainty.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.monitoring import LossTest
    >>> rng = np.random.default_rng(0)
    >>> LossTest(0.5).update(rng.exponential(0.5, 1000)).alarm()
    False
    >>> LossTest(0.5).update(rng.exponential(0.6, 1000)).alarm()
    True
    """

    def __init__(self, promised: float) -> None:
        check_number("promised", promised, 0)
        self.promised = max(float(promised), 1e-3)
        super().__init__(np.full(len(STAKES), 1 / len(STAKES)))

    def update(self, losses: Any, sample_weight: Any = None) -> LossTest:
        """Bet on the losses of some rows, in their order; each must be at least 0."""
        values = np.asarray(losses, dtype=np.float64)
        if values.ndim != 1 or not (values >= 0).all() or not np.isfinite(values).all():
            raise ValueError("losses: must be finite numbers, at least 0, one per row")
        weights = check_weights(sample_weight, len(values))
        stakes = np.ones(len(values)) if weights is None else weights / weights.max()
        gains = stakes * (values / self.promised - 1)
        self._bet(np.log1p(gains[:, np.newaxis] * np.array(STAKES)))
        return self


def corrected_logs(proba: Floats, correction: Floats) -> Floats:
    """The logarithms of probabilities after a correction: p_k ∝ p_k^(1 + c_0) e^(c_k)."""
    logs = np.log(np.maximum(proba, LEAST))
    return np.asarray(log_softmax((1 + correction[0]) * logs + correction[1:], axis=1))


def corrected(proba: Floats, correction: Floats) -> Floats:
    """Probabilities after a correction; they stay as they are if it is none."""
    return np.exp(corrected_logs(proba, correction)) if correction.any() else proba


def losses_in_bits(judged: Judged) -> Floats:
    """The log-loss of each row; a probability below 0.001 (with many classes less) counts as that."""
    floored = raised(judged, min(0.001, 0.01 / judged.n_classes), None)
    return log_losses(floored, 2)
