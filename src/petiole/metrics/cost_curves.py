"""Cost curves: the cost of decisions between a class and the rest, for every ratio of costs and every base rate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from petiole._table.columns import Floats
from petiole.metrics.profits import sums_above, thresholds_and_groups
from petiole.metrics.rows import Indices, group_sums, judge, target_column


class CostCurve(NamedTuple):
    """Costs over the probability-cost x, from 0 (only false alarms cost) to 1 (only misses cost).

    At a threshold the cost is (1 − x) · false alarms + x · misses: a straight line. It is 1 if every decision is wrong.

    Attributes
    ----------
    thresholds : array
        Minus infinity (the class is predicted for all rows) and the distinct scores, from low to high.
    false_alarms : array
        Share of the other rows whose score is above the threshold: the height of the line at x = 0.
    misses : array
        Share of the rows of the class whose score is not above it: the height of the line at x = 1.
    probability_cost, cost : array
        The corners of the lower envelope of all lines: the cost if each x had its best threshold.
    prior : float
        The share of the class.
    """

    thresholds: Floats
    false_alarms: Floats
    misses: Floats
    probability_cost: Floats
    cost: Floats
    prior: float

    def cost_at(self, probability_cost: Any) -> Any:
        """Return the height of the lower envelope.

        Examples
        --------
        >>> curve = cost_curve([0, 1, 0, 1], [[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8]])
        >>> curve.cost_at([0, 0.25, 0.5, 1])
        array([0.   , 0.125, 0.25 , 0.   ])
        """
        return np.interp(probability_cost, self.probability_cost, self.cost)

    def cost_of_decisions(self, probability_cost: Any) -> Floats:
        """Return the cost of deciding by the probabilities: each row gets the decision of least expected cost.

        The base rate is that of the rows, so x stands for a ratio of costs, and the threshold that follows from it is
        π (1 − x) / (π (1 − x) + (1 − π) x). The difference from :meth:`cost_at` is the cost of miscalibration.

        Examples
        --------
        >>> curve = cost_curve([0, 1, 0, 1], [[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8]])
        >>> curve.cost_of_decisions([0, 0.25, 0.5, 1])
        array([0.   , 0.125, 0.5  , 0.   ])
        """
        x = np.asarray(probability_cost, dtype=np.float64)
        alarm, miss = self.prior * (1 - x), (1 - self.prior) * x
        places = np.searchsorted(self.thresholds, alarm / (alarm + miss), side="right") - 1
        costs: Floats = (1 - x) * self.false_alarms[places] + x * self.misses[places]
        return costs


def cost_curve(
    y_true: Any, proba: Any, *, target: Any = None, labels: Any = None, sample_weight: Any = None
) -> CostCurve:
    """Compute the cost curve of a class against the rest: cost for every ratio of costs and every base rate.

    With π the share of the class in use, x = π · cost of a miss / (π · cost of a miss + (1 − π) · cost of a false
    alarm), and the cost is divided by the worst possible one (Drummond & Holte 2000, 2006). Predicting the class for
    all rows costs 1 − x, and for none x.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    target : label, default=None
        The class; by default the second of two.

    Returns
    -------
    CostCurve

    Examples
    --------
    >>> from petiole.metrics import cost_curve
    >>> curve = cost_curve([0, 1, 0, 1], [[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8]])
    >>> curve.probability_cost
    array([0. , 0.5, 1. ])
    >>> curve.cost
    array([0.  , 0.25, 0.  ])
    """
    judged = judge(y_true, proba, labels, sample_weight)
    column = target_column(judged.labels, target)
    hits = judged.codes == column
    if hits.all() or not hits.any():
        held = "all rows are" if hits.any() else "no row is"
        name = judged.labels.tolist()[column]
        raise ValueError(f"target={name!r}: {held} of this class, and a cost curve needs rows of it and of others")
    thresholds, groups = thresholds_and_groups(judged.proba[:, column])
    members, others = judged.weights * hits, judged.weights * ~hits
    alarms, missed = sums_above(groups, others), np.append(0.0, group_sums(groups, members).cumsum())
    false_alarms, misses = alarms / alarms[0], missed / missed[-1]
    corners = _corners(groups, members, others)
    x, cost = _envelope(false_alarms[corners], misses[corners])
    return CostCurve(thresholds, false_alarms, misses, x, cost, float(members.sum() / judged.weights.sum()))


def _corners(groups: Indices, members: Floats, others: Floats) -> Indices:
    """The thresholds whose lines touch the envelope.

    They bound the blocks of the isotonic regression of the truth on the score: within a block the class is no more
    frequent among higher scores than among lower ones, so a cut there is best for no ratio of costs.
    """
    weight = group_sums(groups, members + others)
    density = isotonic_regression(group_sums(groups, members) / weight, sample_weight=weight)
    inner: Indices = np.flatnonzero(np.diff(density) > 0) + 1
    return np.concatenate([[0], inner, [len(density)]])


def _envelope(false_alarms: Floats, misses: Floats) -> tuple[Floats, Floats]:
    """Where neighbouring lines cross, from x = 0 (no alarms are best) to x = 1 (no misses are best)."""
    alarms, missed = false_alarms[::-1], misses[::-1]
    more_alarms, fewer_misses = np.diff(alarms), -np.diff(missed)
    x = more_alarms / (more_alarms + fewer_misses)
    heights = (1 - x) * alarms[:-1] + x * missed[:-1]
    x, firsts = np.unique(np.concatenate([[0.0], x, [1.0]]), return_index=True)
    return x, np.concatenate([alarms[:1], heights, missed[-1:]])[firsts]
