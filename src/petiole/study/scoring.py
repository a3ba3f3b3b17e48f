"""Scores of probabilities on one test part, and intervals over folds or over the rows of a test set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from petiole import metrics
from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole.comparison import bootstrap_interval
from petiole.metrics.logarithmic import log_losses, raised
from petiole.metrics.scores import squared_errors

LEVEL = 0.95
# Log-loss: a single probability of 0 must not decide the comparison.
FLOOR, FLOOR_OF_ALL = 0.001, 0.01
N_DRAWS = 200

#: Whether more is better, by score.
GREATER_IS_BETTER = {
    "log_loss": False,
    "brier": False,
    "ece": False,
    "aulc": True,
    "accuracy": True,
    "cost": False,
    "fit_seconds": False,
    "predict_seconds": False,
}


class Interval(NamedTuple):
    """A mean score and the limits of its 95% interval."""

    mean: float
    low: float
    high: float


def log_loss_floor(n_classes: int) -> float:
    """The least probability in the log-loss: 0.001, or with many classes 0.01 divided by their number.

    >>> log_loss_floor(2), log_loss_floor(26)
    (0.001, 0.0003846153846153846)
    """
    return min(FLOOR, FLOOR_OF_ALL / n_classes)


def scores_of(judged: Judged, cost: Floats | None) -> dict[str, float]:
    """All scores of probabilities on one test part."""
    y, weights = judged.labels[judged.codes], judged.weights
    given: dict[str, Any] = {"labels": judged.labels, "sample_weight": weights}
    found = {name: judged.mean(losses) for name, losses in row_losses(judged, cost).items()}
    found["ece"] = metrics.expected_calibration_error(y, judged.proba, **given)
    found["aulc"] = metrics.area_under_lift_curve(y, judged.proba, **given)
    return found


def row_losses(judged: Judged, cost: Floats | None) -> dict[str, Floats]:
    """The scores that are means over rows, for each row."""
    floored = raised(judged, log_loss_floor(judged.n_classes), None)
    found = {
        "log_loss": log_losses(floored, 2),
        "brier": squared_errors(judged),
        "accuracy": (judged.proba.argmax(axis=1) == judged.codes).astype(np.float64),
    }
    if cost is not None:
        from petiole.decisions.choice import cheapest

        found["cost"] = cost[cheapest(judged.proba, cost), judged.codes]
    return found


def interval_over_folds(values: Floats, test_share: float) -> Interval:
    """Mean and limits over folds, the variance corrected for rows that training parts share.

    The variance of the mean of J folds is (1/J + n_test/n_train) times that of a fold (Nadeau & Bengio 2003), as in
    :func:`petiole.comparison.corrected_resampled_t_test`. ``test_share`` is n_test / n_train.

    >>> Interval(*(round(value, 4) for value in interval_over_folds(np.array([0.2, 0.3, 0.25, 0.25]), 0.25)))
    Interval(mean=0.25, low=0.1581, high=0.3419)
    """
    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, mean, mean)
    error = float(values.std(ddof=1)) * math.sqrt(1 / len(values) + test_share)
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)) * error
    return Interval(mean, mean - half, mean + half)


def interval_over_rows(losses: Floats, weights: Floats) -> Interval:
    """Mean and limits of a score that is a mean over test rows; weights are numbers of rows.

    >>> interval = interval_over_rows(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    >>> interval.mean, round(interval.low, 4)
    (0.75, -0.0456)
    """
    mean, error, n = _mean_and_error(losses, weights)
    half = float(stats.t.ppf((1 + LEVEL) / 2, max(n - 1, 1))) * error
    return Interval(mean, mean - half, mean + half)


def p_value_over_rows(differences: Floats, weights: Floats) -> float:
    """Two-tailed p of a paired t-test over the rows of one test set."""
    mean, error, n = _mean_and_error(differences, weights)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stats.t.sf(abs(mean) / error, max(n - 1, 1)))


def _mean_and_error(values: Floats, weights: Floats) -> tuple[float, float, float]:
    n = float(weights.sum())
    mean = float(np.average(values, weights=weights))
    variance = float(weights @ (values - mean) ** 2) / max(n - 1, 1.0)
    return mean, math.sqrt(variance / n), n


def intervals_of_test_set(judged: Judged, cost: Floats | None, random_state: int) -> dict[str, Interval]:
    """Every score with its interval on the rows of one test set; scores that are not means are bootstrapped."""
    losses: Mapping[str, Floats] = row_losses(judged, cost)
    found = {name: interval_over_rows(values, judged.weights) for name, values in losses.items()}
    y = judged.labels[judged.codes]
    for name, metric in (("ece", metrics.expected_calibration_error), ("aulc", metrics.area_under_lift_curve)):
        drawn = bootstrap_interval(
            metric, y, judged.proba, labels=judged.labels, sample_weight=judged.weights, n_draws=N_DRAWS,
            random_state=random_state, method=bootstrap_method(name),
        )  # fmt: skip
        found[name] = Interval(drawn.estimate, *within_limits(name, drawn.interval))
    return found


def bootstrap_method(score: str) -> str:
    """How the interval of a score is made of the draws.

    Rows that are drawn twice look like clusters, so that the calibration error of a draw is larger than that of the
    rows, and percentiles of the draws can lie above it altogether. Its interval is the estimate and the quantiles of a
    normal distribution times the standard deviation of the draws.
    """
    return "normal" if score == "ece" else "percentile"


def within_limits(score: str, interval: tuple[float, float]) -> tuple[float, float]:
    """An interval without values that the score cannot have."""
    low, high = interval
    return (max(low, 0.0), min(high, 1.0)) if score == "ece" else (low, high)
