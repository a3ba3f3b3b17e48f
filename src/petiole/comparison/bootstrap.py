"""Bootstrap confidence intervals for any metric of class probabilities, and for the difference of two models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.judged import Judged, check_judged, check_probabilities
from petiole._validation import check_choice
from petiole.comparison.resampling import (
    RowSampler,
    are_whole,
    as_generator,
    central_interval,
    check_draws,
    sample_size,
)

METHODS = ("percentile", "basic", "normal", "bca")
# Beyond this many rows, BCa leaves out blocks of rows: the skewness is the same, and found sooner.
MOST_LEFT_OUT = 500

Metric = Callable[..., float]


@dataclass(frozen=True)
class BootstrapInterval:
    """A metric, or the difference of two, with its confidence interval.

    Attributes
    ----------
    estimate : float
        The metric on all rows.
    interval : (float, float)
    standard_error : float
        Standard deviation of the draws.
    level : float
    method : str
    draws : array of shape (n_draws,)
        The metric on each draw, sorted.
    """

    estimate: float
    interval: tuple[float, float]
    standard_error: float
    level: float
    method: str
    draws: Floats = field(repr=False, compare=False)

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside; for a difference: whether it is significant."""
        return self.interval[0] > 0 or self.interval[1] < 0


def bootstrap_interval(
    metric: Metric,
    y_true: Any,
    proba: Any,
    *,
    n_draws: int = 1000,
    level: float = 0.95,
    labels: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    method: str = "percentile",
    stratify: bool = False,
) -> BootstrapInterval:
    """Compute a confidence interval for a metric of class probabilities on the test rows.

    Test rows are drawn with replacement ``n_draws`` times. The model is not fitted again, so the interval reflects the
    choice of test rows alone. A draw is passed to the metric as ``sample_weight``, without copying rows, if the metric
    accepts it.

    Parameters
    ----------
    metric : function
        Called as ``metric(y_true, proba, labels=..., sample_weight=...)``, with those of the two keywords that it has.
        Without ``sample_weight`` it gets the drawn rows instead.
    y_true : array of shape (n,)
    proba : array of shape (n, n_classes)
    n_draws : int, default=1000
    level : float, default=0.95
    labels : array of shape (n_classes,), default: the sorted labels of y_true
        The class of each column of ``proba``.
    sample_weight : array of shape (n,), default=None
        The number of rows that each row stands for.
    random_state : int, RandomState, Generator or None, default=None
    method : {"percentile", "basic", "normal", "bca"}, default="percentile"
        "percentile" takes the ends from the sorted draws, "basic" mirrors them at the estimate, "normal" is the
        estimate and normal quantiles times the standard error, "bca" corrects the percentiles for bias and skewness
        (Efron 1987), as SciPy does.
    stratify : bool, default=False
        Keep the number of rows of each class, for metrics that are undefined if a rare class is missing.

    Returns
    -------
    BootstrapInterval

    Examples
    --------
    >>> from sklearn.metrics import log_loss
    >>> from petiole.comparison import bootstrap_interval
    >>> y = [0, 1, 1, 0, 1, 0, 1, 1, 0, 1] * 10
    >>> p = np.array([0.2, 0.9, 0.6, 0.4, 0.8, 0.1, 0.7, 0.3, 0.3, 0.9] * 10)
    >>> result = bootstrap_interval(log_loss, y, np.column_stack([1 - p, p]), n_draws=200, random_state=0)
    >>> print("%.3f [%.3f, %.3f]" % (result.estimate, *result.interval))
    0.370 [0.314, 0.440]
    """
    judged = check_judged(y_true, proba, labels=labels, sample_weight=sample_weight)
    evaluate = _Evaluator(metric, judged, [judged.proba])
    return _interval(evaluate, judged, n_draws, level, random_state, method, stratify)


def bootstrap_difference(
    metric: Metric,
    y_true: Any,
    proba_1: Any,
    proba_2: Any,
    *,
    n_draws: int = 1000,
    level: float = 0.95,
    labels: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    method: str = "percentile",
    stratify: bool = False,
) -> BootstrapInterval:
    """Compute a confidence interval for the difference of a metric between two models on the same test rows.

    Both models are scored on the same draws, so rows that are equally hard for both cancel out.

    Parameters
    ----------
    metric : function
    y_true : array of shape (n,)
    proba_1, proba_2 : arrays of shape (n, n_classes)
        The probabilities of two models for the same rows and classes.
    n_draws, level, labels, sample_weight, random_state, method, stratify
        As in :func:`bootstrap_interval`.

    Returns
    -------
    BootstrapInterval

    Examples
    --------
    >>> from sklearn.metrics import log_loss
    >>> from petiole.comparison import bootstrap_difference
    >>> y = [0, 1, 1, 0, 1, 0, 1, 1, 0, 1] * 10
    >>> p = np.array([0.2, 0.9, 0.6, 0.4, 0.8, 0.1, 0.7, 0.3, 0.3, 0.9] * 10)
    >>> sure, unsure = np.column_stack([1 - p, p]), np.full((100, 2), 0.5)
    >>> result = bootstrap_difference(log_loss, y, sure, unsure, n_draws=200, random_state=0)
    >>> print("%.3f [%.3f, %.3f]" % (result.estimate, *result.interval), result.excludes_zero)
    -0.323 [-0.379, -0.253] True
    """
    first, second = check_probabilities(proba_1, parameter="proba_1"), check_probabilities(proba_2, parameter="proba_2")
    if first.shape != second.shape:
        raise ValueError(
            f"proba_1 has shape {first.shape}, but proba_2 has {second.shape}: give both for the same rows and classes"
        )
    judged = check_judged(y_true, first, labels=labels, sample_weight=sample_weight)
    evaluate = _Evaluator(metric, judged, [first, second])
    return _interval(evaluate, judged, n_draws, level, random_state, method, stratify)


class _Evaluator:
    """A metric, or the difference of the metric between two models, as a function of how often each row occurs."""

    def __init__(self, metric: Metric, judged: Judged, tables: list[Floats]) -> None:
        if not callable(metric):
            raise TypeError(f"metric={metric!r}: must be a function of (y_true, proba)")
        keywords = _keywords(metric)
        self._metric, self._tables = metric, tables
        self._y: Array = judged.labels[judged.codes]
        self._labels = {"labels": judged.labels} if "labels" in keywords else {}
        self._weighs = "sample_weight" in keywords
        if not self._weighs and not are_whole(judged.weights):
            raise ValueError("sample_weight holds fractions, but metric has no parameter sample_weight: leave them out")

    def __call__(self, counts: Floats) -> float:
        values = [self._evaluate(table, counts) for table in self._tables]
        return values[0] if len(values) == 1 else values[0] - values[1]

    def _evaluate(self, table: Floats, counts: Floats) -> float:
        if self._weighs:
            return float(self._metric(self._y, table, sample_weight=counts, **self._labels))
        rows = np.repeat(np.arange(len(counts)), np.rint(counts).astype(np.int64))
        return float(self._metric(self._y[rows], table[rows], **self._labels))


def _keywords(metric: Metric) -> set[str]:
    try:
        parameters = inspect.signature(metric).parameters.values()
    except (TypeError, ValueError):  # some compiled functions have no signature
        return set()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return {"labels", "sample_weight"}
    return {parameter.name for parameter in parameters}


def _interval(
    evaluate: _Evaluator, judged: Judged, n_draws: int, level: float, random_state: Any, method: str, stratify: bool
) -> BootstrapInterval:
    check_draws(n_draws, level)
    check_choice("method", method, METHODS)
    sample_size(judged.weights)
    random = as_generator(random_state)
    estimate = evaluate(judged.weights)
    if not np.isfinite(estimate):
        raise ValueError(f"metric gives {estimate} on the rows as they are: use a metric that is finite here")
    sampler = RowSampler(judged.weights, random, judged.codes if stratify else None)
    draws = np.sort([evaluate(sampler.draw()) for _ in range(n_draws)])
    _check_finite(draws)
    ends = _ends(method, estimate, draws, level, lambda: _acceleration(evaluate, judged.weights, random))
    return BootstrapInterval(estimate, ends, float(draws.std(ddof=1)), level, method, draws)


def _check_finite(draws: Floats) -> None:
    n_bad = int((~np.isfinite(draws)).sum())
    if n_bad:
        raise ValueError(
            f"metric is not finite on {n_bad} of {len(draws)} draws: keep every class in each draw with stratify=True, "
            "or use a metric that is finite without it"
        )


def _ends(
    method: str, estimate: float, draws: Floats, level: float, acceleration: Callable[[], float]
) -> tuple[float, float]:
    if method == "normal":
        half = float(stats.norm.ppf((1 + level) / 2) * draws.std(ddof=1))
        return estimate - half, estimate + half
    if method == "bca":
        low, high = np.quantile(draws, bca_levels(estimate, draws, level, acceleration()))
        return float(low), float(high)
    low, high = central_interval(draws, level)
    return (2 * estimate - high, 2 * estimate - low) if method == "basic" else (low, high)


def bca_levels(estimate: float, draws: Floats, level: float, acceleration: float) -> Floats:
    """The two quantiles of the draws that are the ends of the BCa interval (Efron 1987)."""
    n_draws = len(draws)
    below = ((draws < estimate).sum() + 0.5 * (draws == estimate).sum()) / n_draws
    bias = stats.norm.ppf(np.clip(below, 0.5 / n_draws, 1 - 0.5 / n_draws))
    shifted = bias + stats.norm.ppf(np.array([(1 - level) / 2, (1 + level) / 2]))
    return np.asarray(stats.norm.cdf(bias + shifted / (1 - acceleration * shifted)))


def _acceleration(evaluate: _Evaluator, weights: Floats, random: np.random.Generator) -> float:
    """Skewness of the metric's dependence on single rows, from leaving out each row, or each block of rows."""
    order = random.permutation(np.repeat(np.arange(len(weights)), np.ceil(weights).astype(np.int64)))
    values = []
    for block in np.array_split(order, min(len(order), MOST_LEFT_OUT)):
        left = np.maximum(weights - np.bincount(block, minlength=len(weights)), 0.0)
        if left.any():
            values.append(evaluate(left))
    pulls = np.mean(values) - np.array(values) if values else np.zeros(1)
    pulls = pulls[np.isfinite(pulls)]
    size = (pulls**2).sum()
    return float((pulls**3).sum() / (6 * size**1.5)) if size > 0 else 0.0
