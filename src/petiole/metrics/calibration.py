"""Calibration of probabilities: reliability curves and calibration errors, plain and debiased."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole._validation import check_choice, check_fraction
from petiole.metrics.binning import Binned, bin_of, check_binning, scores_and_hits, summarise
from petiole.metrics.rows import check_flag, judge, target_column

NORMS = ("l1", "l2", "squared", "max")


class ReliabilityCurve(NamedTuple):
    """Mean predicted probability and observed frequency of each bin that contains rows, from low scores up.

    Attributes
    ----------
    mean_score : array
        Mean predicted probability.
    frequency : array
        Share of the rows that are of the class (or whose most probable class is right).
    weight : array
        Sum of the weights of the rows.
    lower, upper : array
        Limits of the confidence band of the frequency.
    """

    mean_score: Floats
    frequency: Floats
    weight: Floats
    lower: Floats
    upper: Floats


def reliability_curve(
    y_true: Any,
    proba: Any,
    *,
    target: Any = None,
    n_bins: int = 10,
    strategy: str = "uniform",
    confidence: float = 0.95,
    labels: Any = None,
    sample_weight: Any = None,
) -> ReliabilityCurve:
    """Compute observed frequencies and mean predicted probabilities in bins, with Wilson's confidence limits.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`. In the limits weights count rows.
    target : label or "top", default=None
        The class whose probability is used, or "top" for the most probable class of each row; by default the second of
        two classes, and "top" if there are more. A class with the name "top" must be renamed.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        "uniform": bins of equal width, open on the left. "quantile": bins of equal weight; tied scores share a bin.
    confidence : float, default=0.95
        Confidence level of the limits.

    Returns
    -------
    ReliabilityCurve
        ``mean_score``, ``frequency``, ``weight``, ``lower`` and ``upper``; a bin without rows is left out.

    Examples
    --------
    >>> from petiole.metrics import reliability_curve
    >>> y, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.1, 0.8, 0.8, 0.9]
    >>> curve = reliability_curve(y, [[1 - score, score] for score in scores], n_bins=2)
    >>> curve.mean_score.round(3), curve.frequency.round(3)
    (array([0.1  , 0.833]), array([0.333, 0.667]))
    >>> curve.lower.round(3), curve.upper.round(3)
    (array([0.061, 0.208]), array([0.792, 0.939]))
    """
    check_binning(n_bins, strategy)
    check_fraction("confidence", confidence)
    judged = judge(y_true, proba, labels, sample_weight)
    column = _column(judged, "top" if target is None and judged.n_classes > 2 else target)
    bins = _binned(judged, column, n_bins, strategy)
    lower, upper = wilson_limits(bins.frequency, bins.weight, confidence)
    return ReliabilityCurve(bins.mean_score, bins.frequency, bins.weight, lower, upper)


def expected_calibration_error(
    y_true: Any,
    proba: Any,
    *,
    target: Any = "top",
    n_bins: int = 15,
    strategy: str = "uniform",
    norm: str = "l1",
    debiased: bool = False,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean distance between predicted probabilities and observed frequencies, in bins.

    With n_b the weight of bin b, s_b its mean score and f_b its frequency: Σ_b (n_b/n) |f_b − s_b|. The plain estimate
    is biased upwards: it is above 0 even for true probabilities, the more so the fewer rows and the more bins.
    ``debiased`` subtracts an estimate of this bias.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`. When ``debiased``, weights count rows.
    target : label, "top" or "classwise", default="top"
        "top": the most probable class of each row. A label: this class. "classwise": the mean over all classes.
        A class with one of these names must be renamed.
    n_bins : int, default=15
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal weight; see :func:`reliability_curve`.
    norm : {"l1", "l2", "squared", "max"}, default="l1"
        "l1" as above; "squared": the mean of (f_b − s_b)²; "l2": its root; "max": the largest |f_b − s_b|.
    debiased : bool, default=False
        "squared" and "l2": f_b (1 − f_b)/(n_b − 1), an unbiased estimate of the variance of f_b, is subtracted in each
        bin (Kumar, Liang & Ma 2019, definition 5.2). "squared" may then be below 0; "l2" is 0 in that case. "l1": the
        bias is estimated by the mean of |f − s_b| under a normal f with that variance around f_b, minus |f_b − s_b|,
        and subtracted; the result is at least 0 (after the same paper, in closed form instead of by simulation; it
        removes only a part of the bias). In a bin of one row the variance cannot be estimated; it counts as error 0.

    Returns
    -------
    float
        Less is better.

    Examples
    --------
    >>> from petiole.metrics import expected_calibration_error
    >>> y, proba = [0, 0, 1, 1], [[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.4, 0.6]]
    >>> round(expected_calibration_error(y, proba), 6)
    0.2
    >>> round(expected_calibration_error(y, proba, norm="squared", debiased=True), 6)
    -0.07
    """
    check_binning(n_bins, strategy)
    check_choice("norm", norm, NORMS)
    check_flag("debiased", debiased)
    if debiased and norm == "max":
        raise ValueError("debiased=True: not available for norm='max'; use 'l1', 'l2' or 'squared'")
    judged = judge(y_true, proba, labels, sample_weight)
    classwise = isinstance(target, str) and target == "classwise"
    columns = range(judged.n_classes) if classwise else [_column(judged, target)]
    return float(np.mean([_error(_binned(judged, column, n_bins, strategy), norm, debiased) for column in columns]))


def debiased_error(bins: Binned) -> float:
    """The root of the mean squared distance in bins, less what scatter adds to it; 0 if nothing is left."""
    return _error(bins, "l2", debiased=True)


def wilson_limits(frequency: Floats, weight: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Wilson's limits for a probability of which ``frequency`` was observed in ``weight`` rows."""
    z = float(ndtri(0.5 + confidence / 2))
    shrink = 1 + z**2 / weight
    middle = (frequency + z**2 / (2 * weight)) / shrink
    half = z / shrink * np.sqrt(frequency * (1 - frequency) / weight + (z / (2 * weight)) ** 2)
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def _column(judged: Judged, target: Any) -> int | None:
    """The column of a class, None for the most probable class."""
    return None if isinstance(target, str) and target == "top" else target_column(judged.labels, target)


def _binned(judged: Judged, column: int | None, n_bins: int, strategy: str) -> Binned:
    scores, hits = scores_and_hits(judged, column)
    return summarise(scores, hits, judged.weights, bin_of(scores, judged.weights, n_bins, strategy))


def _error(bins: Binned, norm: str, debiased: bool) -> float:
    gaps, shares = np.abs(bins.frequency - bins.mean_score), bins.weight / bins.weight.sum()
    if norm == "max":
        return float(gaps.max())
    errors = gaps if norm == "l1" else gaps**2
    if debiased:
        errors = np.where(bins.weight > 1, errors - _bias(bins, gaps, norm), 0.0)
    mean = float(shares @ errors)
    if norm == "squared":
        return mean
    return max(mean, 0.0) if norm == "l1" else math.sqrt(max(mean, 0.0))


def _bias(bins: Binned, gaps: Floats, norm: str) -> Floats:
    """The error that the variance of the frequencies adds to each bin."""
    variance = bins.frequency * (1 - bins.frequency) / np.where(bins.weight > 1, bins.weight - 1, 1.0)
    if norm != "l1":
        return variance
    deviation = np.sqrt(variance)
    bias: Floats = _mean_of_absolute_normal(gaps, deviation) - gaps
    return bias


def _mean_of_absolute_normal(mean: Floats, deviation: Floats) -> Floats:
    """The expectation of |X| for a normal X with a mean at least 0."""
    scaled = np.divide(mean, deviation, out=np.full_like(mean, np.inf), where=deviation > 0)
    tail: Floats = deviation * math.sqrt(2 / math.pi) * np.exp(-(scaled**2) / 2)
    return tail + mean * (1 - 2 * ndtr(-scaled))
