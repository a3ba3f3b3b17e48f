"""Profit over thresholds: the profit of acting on the rows whose score is above a threshold, for every threshold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from petiole._table.columns import Floats
from petiole._table.judged import Judged, check_judged
from petiole._table.rows import rows_that_count
from petiole.metrics.costs import check_values, per_row
from petiole.metrics.rows import Indices, check_flag, group_sums, target_column, tie_groups


class ProfitCurve(NamedTuple):
    """Profit as a step function of the threshold, which changes only at the scores that occur.

    Attributes
    ----------
    thresholds : array
        Minus infinity (all rows are acted on) and the distinct scores, from low to high.
    profit : array
        The profit of acting on the rows with a score above the threshold.
    shares : array
        Share of the rows that are acted on.
    break_even : float or None
        The threshold that is best for true probabilities, if there is one for all rows.
    """

    thresholds: Floats
    profit: Floats
    shares: Floats
    break_even: float | None

    @property
    def best_index(self) -> int:
        """The position of the largest profit; in a tie, the one that acts on the fewest rows."""
        largest = self.profit.max()
        slack = 1e-12 * max(float(np.abs(self.profit).max()), 1e-300)
        return int(np.flatnonzero(self.profit >= largest - slack)[-1])

    @property
    def best_profit(self) -> float:
        """The largest profit."""
        return float(self.profit[self.best_index])

    @property
    def best_threshold(self) -> float:
        """The midpoint between the lowest score that is acted on and the next one below it.

        Minus infinity if it is best to act on all rows; the highest score if it is best to act on none.
        """
        index = self.best_index
        return float(np.mean(self.thresholds[index : index + 2]))

    def profit_at(self, threshold: Any) -> Any:
        """The profit at a threshold, or at each of several.

        Examples
        --------
        >>> curve = profit_curve([0, 1], [[0.7, 0.3], [0.2, 0.8]], amounts=10, cost=1)
        >>> curve.profit_at(0.5)
        9.0
        """
        found = self.profit[np.searchsorted(self.thresholds, threshold, side="right") - 1]
        return float(found) if np.ndim(threshold) == 0 else found


def profit_curve(
    y_true: Any,
    proba: Any,
    gain: Any = None,
    *,
    amounts: Any = None,
    cost: Any = 0.0,
    expected_amounts: Any = None,
    target: Any = None,
    average: bool = False,
    labels: Any = None,
    sample_weight: Any = None,
) -> ProfitCurve:
    """Compute the profit of acting on the rows whose score is above a threshold, for every threshold.

    The score is the probability of ``target``; with ``expected_amounts`` it is the probability times the amount that is
    expected of the row. At each threshold the profit is that of :func:`profit` with such decisions.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    gain : array-like of shape (2, K) or (n, 2, K), default=None
        The gain in each class of not acting (row 0) and of acting (row 1); or such an array for each row.
    amounts : float or array-like of shape (n,), default=None
        Instead of ``gain``: the amount that a row of class ``target`` brings if acted on. Other rows bring nothing.
    cost : float or array-like of shape (n,), default=0
        With ``amounts``: the cost of acting on a row.
    expected_amounts : float or array-like of shape (n,), default=None
        With ``amounts``: the amounts as expected beforehand.
    target : label, default=None
        The class whose probability is the score; by default the second of two.
    average : bool, default=False
        The mean profit of a row; False: the sum of all.

    Returns
    -------
    ProfitCurve
        ``thresholds``, ``profit``, ``shares`` and ``break_even``. The last is cost/amount for one cost and one amount;
        the cost if ``expected_amounts`` are given; a/(a + b) for one ``gain`` of two classes, where a is the loss of
        acting outside the class and b the gain within; otherwise None.

    Examples
    --------
    >>> from petiole.metrics import profit_curve
    >>> y, scores = [0, 1, 0, 1], [0.1, 0.4, 0.6, 0.8]
    >>> curve = profit_curve(y, [[1 - score, score] for score in scores], amounts=10, cost=4)
    >>> curve.thresholds
    array([-inf,  0.1,  0.4,  0.6,  0.8])
    >>> curve.profit
    array([4., 8., 2., 6., 0.])
    >>> curve.best_threshold, curve.best_profit, curve.break_even
    (0.25, 8.0, 0.4)
    """
    check_flag("average", average)
    judged = check_judged(y_true, proba, labels=labels, sample_weight=sample_weight)
    column = target_column(judged.labels, target)
    if (gain is None) == (amounts is None):
        raise ValueError("gain and amounts: must pass one of the two, gain for each class, amounts for a campaign")
    if amounts is None:
        if expected_amounts is not None:
            raise ValueError("expected_amounts: goes with amounts; with gain the score is the probability alone")
        acting, waiting, break_even = _of_gain(gain, judged, column)
        scores = judged.proba[:, column]
    else:
        acting, waiting, break_even = _of_campaign(amounts, cost, expected_amounts, judged, column)
        expected = 1.0 if expected_amounts is None else per_row("expected_amounts", expected_amounts, judged)
        scores = judged.proba[:, column] * expected
    thresholds, profit, shares = _steps(scores, acting, waiting, judged.weights)
    return ProfitCurve(thresholds, profit / judged.weights.sum() if average else profit, shares, break_even)


def thresholds_and_groups(scores: Floats) -> tuple[Floats, Indices]:
    """Minus infinity and the distinct scores, and the group of each score among the tied ones."""
    groups = tie_groups(scores)
    highest = np.full(groups.max() + 1, -np.inf)
    np.maximum.at(highest, groups, scores)
    return np.concatenate([[-np.inf], highest]), groups


def sums_above(groups: Indices, weights: Floats) -> Floats:
    """The sum of the weights above each threshold of :func:`thresholds_and_groups`."""
    sums: Floats = np.append(group_sums(groups, weights)[::-1].cumsum()[::-1], 0.0)
    return sums


def _steps(scores: Floats, acting: Floats, waiting: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Thresholds, profit and share of the rows acted on; rows of weight zero make no step."""
    change, base = acting - waiting, weights @ waiting
    kept = rows_that_count(weights)
    if kept is not None:
        scores, weights, change = scores[kept], weights[kept], change[kept]
    thresholds, groups = thresholds_and_groups(scores)
    return thresholds, base + sums_above(groups, weights * change), sums_above(groups, weights) / weights.sum()


def _of_gain(gain: Any, judged: Judged, column: int) -> tuple[Floats, Floats, float | None]:
    """For each row what acting earns, what not acting earns, and the threshold for true probabilities."""
    gains = check_values("gain", gain, judged)
    if gains.shape[-2] != 2:
        raise ValueError(
            f"gain has {gains.shape[-2]} actions: must have two, not acting (row 0) and acting (row 1); "
            "leave the others out, or use profit"
        )
    rows = np.arange(len(judged.codes))
    waiting, acting = (
        gains[action, judged.codes] if gains.ndim == 2 else gains[rows, action, judged.codes] for action in (0, 1)
    )
    if gains.shape != (2, 2):
        return acting, waiting, None
    loss = gains[0, 1 - column] - gains[1, 1 - column]
    return acting, waiting, _ratio(loss, loss + gains[1, column] - gains[0, column])


def _of_campaign(
    amounts: Any, cost: Any, expected_amounts: Any, judged: Judged, column: int
) -> tuple[Floats, Floats, float | None]:
    brought, costs = per_row("amounts", amounts, judged), per_row("cost", cost, judged)
    acting = np.where(judged.codes == column, brought, 0.0) - costs
    break_even = None
    if (costs == costs[0]).all():
        if expected_amounts is not None:
            break_even = float(costs[0])
        elif np.ndim(amounts) == 0:
            break_even = _ratio(costs[0], brought[0])
    return acting, np.zeros(len(acting)), break_even


def _ratio(part: float, whole: float) -> float | None:
    """A probability, or None where one action is always the better one."""
    return float(part / whole) if 0 <= part <= whole and whole > 0 else None
