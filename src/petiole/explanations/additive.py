"""Answers as sums over columns, and how sums are carried through functions that are no sums.

A straight line is drawn from the base to the answer. Along it a function f of several sums changes by ∫ ∇f · Δ, so
each sum's share of the change is the mean slope on the line times its difference. For a function of one number the mean
slope is that of the secant, (f(x) − f(base)) / (x − base). Shares of columns within a sum stay as they are, and the
results add up to the change of f whatever f is.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, softmax

Floats = npt.NDArray[np.float64]

# The line is cut into so many pieces, each with so many points of Gauss and Legendre: scores may differ by hundreds.
N_PIECES, N_POINTS = 12, 12
# The integrals of so many numbers are computed at once.
NUMBERS_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class Additive:
    """Answers of shape (n_rows, K) as ``base + values.sum(axis=1)``.

    Attributes
    ----------
    values : array of shape (n_rows, n_columns, K)
    base : array of shape (K,)
    """

    values: Floats
    base: Floats

    @property
    def totals(self) -> Floats:
        """The answers."""
        totals: Floats = self.base + self.values.sum(axis=1)
        return totals

    def scaled(self, factor: float | Floats) -> Additive:
        """All numbers times a factor, or one factor per output."""
        return Additive(self.values * factor, self.base * factor)

    def plus(self, other: Additive) -> Additive:
        return Additive(self.values + other.values, self.base + other.base)

    def outputs(self, which: slice | npt.NDArray[np.integer]) -> Additive:
        """Some of the outputs."""
        return Additive(self.values[:, :, which], self.base[which])


def matched(values: Floats, totals: Floats) -> Floats:
    """Values of shape (n_rows, n_columns, K) that add up to given totals.

    What they lack is divided by the sizes of the columns' values, summed over outputs so that what one class gains
    others lose; evenly where all values are 0.
    """
    lacking = totals - values.sum(axis=1)
    sizes = np.abs(values).sum(axis=2, keepdims=True)
    whole = sizes.sum(axis=1, keepdims=True)
    shares = np.divide(sizes, whole, out=np.full(sizes.shape, 1.0 / values.shape[1]), where=whole > 0)
    found: Floats = values + shares * lacking[:, np.newaxis]
    return found


def secant_of_log(start: Floats, end: Floats) -> Floats:
    """The slope of the logarithm between two positive numbers, also where they are the same."""
    change = (end - start) / start
    near = np.abs(change) < 1e-6
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(near, 1 - change / 2, np.log1p(change) / change)
    return np.asarray(slope / start)


def secant_of_exp(start: Floats, end: Floats) -> Floats:
    """The slope of the exponential between two numbers, also where they are the same."""
    distance = np.abs(end - start)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(distance < 1e-6, 1 - distance / 2, -np.expm1(-distance) / distance)
    return np.asarray(np.exp(np.maximum(start, end)) * slope)


def secant_of_floor(start: Floats, end: Floats, floor: float) -> Floats:
    """The slope of max(·, floor) between two numbers."""
    above = (start >= floor) & (end >= floor)
    crossed = (start >= floor) != (end >= floor)
    difference = np.where(crossed, end - start, 1.0)
    raised = np.maximum(end, floor) - np.maximum(start, floor)
    return np.where(crossed, raised / difference, above.astype(np.float64))


def logs_of_probabilities(proba: Additive, floor: float) -> Additive:
    """The logarithms of probabilities that were raised to a floor and divided by their sum."""
    start, end = np.broadcast_to(proba.base, proba.totals.shape), proba.totals
    raised = proba.values * secant_of_floor(start, end, floor)[:, np.newaxis]
    start, end = np.maximum(start, floor), np.maximum(end, floor)
    of_sum = secant_of_log(start.sum(axis=1), end.sum(axis=1))[:, np.newaxis, np.newaxis]
    logs = raised * secant_of_log(start, end)[:, np.newaxis] - raised.sum(axis=2, keepdims=True) * of_sum
    base = np.maximum(proba.base, floor)
    return Additive(logs, np.log(base / base.sum()))


def logs_of_scores(scores: Additive, floor: float) -> Additive:
    """The logarithms of softmax(scores), raised to a floor and divided by their sum again."""
    slopes = _mean_softmax(scores)
    logs = scores.values - np.einsum("njl,nl->nj", scores.values, slopes)[:, :, np.newaxis]
    found = Additive(logs, scores.base - logsumexp(scores.base))
    floored = np.minimum(found.base.min(), found.totals.min(axis=1)) < np.log(floor)
    if not floored.any():
        return found
    proba = Additive(found.values * secant_of_exp(found.base, found.totals)[:, np.newaxis], np.exp(found.base))
    raised = logs_of_probabilities(proba, floor)
    # A base below the floor is so for all rows; else it is the same in both.
    return Additive(np.where(floored[:, np.newaxis, np.newaxis], raised.values, found.values), raised.base)


def softmax_of_scores(scores: Additive) -> Additive:
    """The probabilities softmax(scores)."""
    n_rows, n_classes = scores.totals.shape
    values = np.empty(scores.values.shape)
    start, difference = scores.base, scores.totals - scores.base
    for rows in _chunks(n_rows, n_classes):
        slopes = np.zeros((len(difference[rows]), n_classes, n_classes))
        for point, weight in _points():
            proba = softmax(start + point * difference[rows], axis=1)
            slopes -= weight * proba[:, :, np.newaxis] * proba[:, np.newaxis]
            slopes[:, np.arange(n_classes), np.arange(n_classes)] += weight * proba
        ends = softmax(start + difference[rows], axis=1) - softmax(start)
        slopes += _correction(ends - np.einsum("nkl,nl->nk", slopes, difference[rows]), difference[rows])
        values[rows] = np.einsum("nkl,njl->njk", slopes, scores.values[rows])
    return Additive(values, softmax(start))


def log_odds_of_scores(scores: Additive) -> Additive:
    """Each class's log-odds: its score less the mean of the others', which is log p − mean of the others' log p."""
    n_classes = len(scores.base)
    if n_classes == 1:
        return scores.scaled(0.0)

    def less_others(numbers: Floats) -> Floats:
        less: Floats = (n_classes * numbers - numbers.sum(axis=-1, keepdims=True)) / (n_classes - 1)
        return less

    return Additive(less_others(scores.values), less_others(scores.base))


def _mean_softmax(scores: Additive) -> Floats:
    """The mean of softmax along the line, corrected so that it gives the change of logsumexp exactly."""
    difference = scores.totals - scores.base
    mean = np.zeros(difference.shape)
    for point, weight in _points():
        mean += weight * softmax(scores.base + point * difference, axis=1)
    change = logsumexp(scores.base + difference, axis=1) - logsumexp(scores.base)
    lacking = change - (mean * difference).sum(axis=1)
    return np.asarray(mean + _correction(lacking[:, np.newaxis], difference)[:, 0])


def _correction(lacking: Floats, difference: Floats) -> Floats:
    """What is to be added to slopes, (n_rows, n_outputs, n_inputs), so that their products with the difference grow."""
    size = (difference**2).sum(axis=1)
    scale = np.divide(difference, size[:, np.newaxis], out=np.zeros(difference.shape), where=size[:, np.newaxis] > 0)
    return np.asarray(lacking[:, :, np.newaxis] * scale[:, np.newaxis])


def _points() -> list[tuple[float, float]]:
    """Points between 0 and 1 and their weights, denser near both ends, where softmax changes most often."""
    points, weights = np.polynomial.legendre.leggauss(N_POINTS)
    edges = np.linspace(0.0, 1.0, N_PIECES + 1)
    found = []
    for low, high in itertools.pairwise(edges):
        half = (high - low) / 2
        found += list(zip((low + half * (1 + points)).tolist(), (half * weights).tolist(), strict=True))
    return found


def _chunks(n_rows: int, n_classes: int) -> list[slice]:
    step = max(1, NUMBERS_AT_ONCE // n_classes**2)
    return [slice(begin, begin + step) for begin in range(0, n_rows, step)]
