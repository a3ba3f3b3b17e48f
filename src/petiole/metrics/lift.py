"""Lift: how much more frequent a class is among the rows that rank highest than among all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole._validation import check_choice, check_number
from petiole.metrics.rows import check_priors, group_sums, judge, target_column, tie_groups

RULES = ("right", "distinct", "exact")


class LiftCurve(NamedTuple):
    """Points of a lift chart, one per distinct score, from the highest score down.

    Attributes
    ----------
    shares : array
        Share of the rows whose score is at least that of the point.
    lift : array
        Frequency of the class among these rows, divided by its frequency among all rows: ``gains / shares``.
    gains : array
        Share of the rows of the class that are among these rows.
    scores : array
        The score of the point.
    """

    shares: Floats
    lift: Floats
    gains: Floats
    scores: Floats

    def lift_at(self, share: float) -> float:
        """The lift of the best ``share`` of the rows; of tied rows, each class is taken in proportion.

        Examples
        --------
        >>> curve = lift_curve([1, 1, 0, 0], [[0.1, 0.9], [0.4, 0.6], [0.4, 0.6], [0.8, 0.2]])
        >>> curve.lift_at(0.5)
        1.5
        """
        check_number("share", share, 0, 1)
        if share <= self.shares[0]:  # among the highest scores the class is equally frequent everywhere
            return float(self.lift[0])
        return float(np.interp(share, self.shares, self.gains) / share)


def lift_curve(
    y_true: Any, proba: Any, *, target: Any = None, labels: Any = None, sample_weight: Any = None
) -> LiftCurve:
    """Compute the lift chart of a class: l(v) = (share of the class among the best v of the rows) / (its share among
    all).

    Zadrozny & Elkan (2001, section 3), Nielsen (2004, eq. 12).

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    target : label, default=None
        The class; by default the second of two.

    Returns
    -------
    LiftCurve
        ``shares``, ``lift``, ``gains`` and ``scores``.

    Examples
    --------
    >>> from petiole.metrics import lift_curve
    >>> curve = lift_curve(["no", "yes", "no", "yes"], [[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8]])
    >>> curve.shares
    array([0.25, 0.5 , 0.75, 1.  ])
    >>> curve.gains
    array([0.5, 1. , 1. , 1. ])
    >>> curve.lift.round(3)
    array([2.   , 2.   , 1.333, 1.   ])
    """
    judged = judge(y_true, proba, labels, sample_weight)
    column = target_column(judged.labels, target)
    _check_present(judged, column)
    weights, positives, scores = _ranked(judged, column)
    shares, gains = _cumulative(weights), _cumulative(positives)
    return LiftCurve(shares, gains / shares, gains, scores)


def area_under_lift_curve(
    y_true: Any,
    proba: Any,
    *,
    labels: Any = None,
    sample_weight: Any = None,
    priors: Any = None,
    rule: str = "right",
    target: Any = None,
) -> float:
    """Area under the lift chart: quality of the ranking, averaged over the classes by their priors.

    AULC = Σ_k prior_k ∫ l_k(v) dv (Nielsen 2004, section 3.2). A random order gives 1. The paper leaves the rule of
    integration open; its tables fit "right" best, by which a perfect ranking of n_k among U rows gives
    1 + H_U − H_{n_k} (H are harmonic numbers), and about 1 + ln 2 = 1.693 for two equal classes.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`. With the rule "right", weights are numbers of rows: ranks are sums of weights, and
        doubling all weights changes the area a little, as duplicating all rows does. The other rules use only the
        ratios of weights.
    priors : array-like of shape (K,), default=None
        Shares (or counts) of the classes by which their areas are weighted, in the paper those of training; by default
        the shares in ``y_true``. Classes that do not occur in ``y_true`` have no lift and are left out.
    rule : {"right", "distinct", "exact"}, default="right"
        "right": the mean over ranks i = 1…U of the lift of the first i rows. The rows of the class in a tie are spread
        evenly over it, which gives the mean over all orders of the tied rows. For fractional weights, sums of 1/i are
        replaced by differences of the digamma function, which are equal to them for whole numbers. "distinct": the
        lift at the end of each tie, times the width of the tie. Few distinct scores make it small. "exact": the
        integral of the lift over v, with ties spread as before. Perfect ranking: 1 − ln(share of the class).
    target : label, default=None
        A class: return its area alone.

    Returns
    -------
    float
        More is better.

    Examples
    --------
    >>> from petiole.metrics import area_under_lift_curve
    >>> y, scores = [1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.8, 0.6, 0.3, 0.1]
    >>> proba = [[1 - score, score] for score in scores]
    >>> round(area_under_lift_curve(y, proba), 6)
    1.443056
    >>> round(area_under_lift_curve(y, proba, rule="exact", target=1), 6)
    1.492673
    """
    check_choice("rule", rule, RULES)
    judged = judge(y_true, proba, labels, sample_weight)
    shares = check_priors(priors, judged)
    if target is not None:
        column = target_column(judged.labels, target)
        _check_present(judged, column)
        return _area(judged, column, rule)
    present = np.unique(judged.codes)
    if not shares[present].any():
        raise ValueError(f"priors={priors!r}: the classes that occur in y_true have no share; give them one")
    return float(np.average([_area(judged, column, rule) for column in present], weights=shares[present]))


def _check_present(judged: Judged, column: int) -> None:
    if not (judged.codes == column).any():
        target = judged.labels.tolist()[column]
        raise ValueError(f"target={target!r}: no row is of this class, and a class without rows has no lift")


def _ranked(judged: Judged, column: int) -> tuple[Floats, Floats, Floats]:
    """Weight, weight of the class, and score of each tie, from the highest score down."""
    scores = judged.proba[:, column]
    groups = tie_groups(scores)
    weights = group_sums(groups, judged.weights)
    positives = group_sums(groups, judged.weights * (judged.codes == column))
    values = np.empty(len(weights))
    values[groups] = scores
    return weights[::-1], positives[::-1], values[::-1]


def _cumulative(weights: Floats) -> Floats:
    sums = np.cumsum(weights)
    shares: Floats = sums / sums[-1]
    return shares


def _area(judged: Judged, column: int, rule: str) -> float:
    """The area of one class. Ties are walked from rank s to rank e with positives at a constant rate.

    At rank i within a tie the positives found are b + rate·(i − s), so that their share among the first i rows is
    rate + (b − rate·s)/i: a constant, and an excess that shrinks like 1/i.
    """
    weights, positives, _ = _ranked(judged, column)
    ends, found = np.cumsum(weights), np.cumsum(positives)
    if rule == "distinct":
        return float((weights * found / ends).sum() / found[-1])
    starts = np.concatenate([[0.0], ends[:-1]])
    before = np.concatenate([[0.0], found[:-1]])
    excess = before - positives / weights * starts
    return float((positives + excess * _reciprocals(starts, ends, rule)).sum() / found[-1])


def _reciprocals(starts: Floats, ends: Floats, rule: str) -> Floats:
    """The sum of 1/i over the ranks after each start up to its end, or the integral of it."""
    if rule == "right":
        sums: Floats = digamma(ends + 1) - digamma(starts + 1)
        return sums
    # the first tie starts at 0 and has no excess: any finite number will do
    integrals: Floats = np.log(ends / np.concatenate([ends[:1], starts[1:]]))
    return integrals
