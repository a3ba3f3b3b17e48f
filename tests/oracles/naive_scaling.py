"""Slow and obvious versions of vector scaling, structured matrix scaling, quadratic scaling and monotone splines.

Nothing of petiole is used here. Weights are whole numbers: a row of weight 2 is a row twice. The objectives are sums
over rows in plain loops, in nats; they are minimised without slopes.
"""

from __future__ import annotations

import itertools
import math

from scipy.optimize import minimize

from naive_recalibration import temperature_loss


def softmax(scores):
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    return [power / sum(powers) for power in powers]


def inverse_temperature(proba, labels, floor):
    """The exponent with the least loss, held at 1 by ½ nat per squared unit."""
    floored = [[max(p, floor) for p in row] for row in proba]

    def objective(x):
        return temperature_loss(x[0], floored, labels) + 0.5 * (x[0] - 1) ** 2

    return slow_minimum(objective, [1.0], [(1e-3, None)])[0]


def tempered_logits(row, inverse, floor):
    return [math.log(p) for p in softmax([inverse * math.log(max(p, floor)) for p in row])]


def matrix_scores(matrix, intercepts, logits):
    scores = [sum(w * z for w, z in zip(line, logits, strict=True)) for line in matrix]
    return [score + b for score, b in zip(scores, intercepts, strict=True)]


def matrix_objective(matrix, intercepts, logits, labels, penalties):
    """Log-loss plus the penalties on what differs from the identity: of the diagonal, the rest, the intercepts."""
    of_diagonal, of_others, of_intercepts = penalties
    n_classes = len(intercepts)
    total = 0.0
    for row, label in zip(logits, labels, strict=True):
        scores = matrix_scores(matrix, intercepts, row)
        largest = max(scores)
        total += largest - scores[label] + math.log(sum(math.exp(score - largest) for score in scores))
    for k in range(n_classes):
        total += of_intercepts * n_classes * intercepts[k] ** 2
        for j in range(n_classes):
            if j == k:
                total += of_diagonal * n_classes * (matrix[k][j] - 1) ** 2
            else:
                total += of_others * n_classes * (n_classes - 1) * matrix[k][j] ** 2
    return total


def structured_matrix(proba, labels, penalties, floor, query, only_diagonal):
    """What the fitted map says of a query; ``only_diagonal`` is vector scaling."""
    n_classes = len(query)
    inverse = inverse_temperature(proba, labels, floor)
    logits = [tempered_logits(row, inverse, floor) for row in proba]
    places = [(k, j) for k in range(n_classes) for j in range(n_classes) if j == k or not only_diagonal]

    def unpacked(x):
        matrix = [[0.0] * n_classes for _ in range(n_classes)]
        for (k, j), value in zip(places, x, strict=False):
            matrix[k][j] = value
        return matrix, list(x[len(places) :])

    start = [float(k == j) for k, j in places] + [0.0] * n_classes
    bounds = [(0, None) if k == j else (None, None) for k, j in places] + [(None, None)] * n_classes
    found = slow_minimum(lambda x: matrix_objective(*unpacked(x), logits, labels, penalties), start, bounds)
    return softmax(matrix_scores(*unpacked(found), tempered_logits(query, inverse, floor)))


def log_odds(p, floor):
    p = min(max(p, floor), 1 - floor)
    return math.log(p / (1 - p))


def slope_at(s, knots, slopes):
    """The slope at s: straight between knots, constant outside."""
    if s <= knots[0]:
        return slopes[0]
    for left, right, low, high in zip(knots, knots[1:], slopes, slopes[1:], strict=False):
        if s <= right:
            return low + (high - low) * (s - left) / (right - left)
    return slopes[-1]


def spline_value(s, intercept, knots, slopes):
    """The intercept plus the integral of the slope from 0 to s: trapezia between all places where it may bend."""
    places = sorted({0.0, s, *(knot for knot in knots if min(0.0, s) < knot < max(0.0, s))})
    total = 0.0
    for left, right in itertools.pairwise(places):
        total += (right - left) * (slope_at(left, knots, slopes) + slope_at(right, knots, slopes)) / 2
    return intercept + (total if s >= 0 else -total)


def equal_knots(odds, n_knots):
    first, last = min(odds), max(odds)
    if last - first < 1:
        first, last = (first + last) / 2 - 0.5, (first + last) / 2 + 0.5
    return [first + (last - first) * j / (n_knots - 1) for j in range(n_knots)]


def spline_objective(intercept, slopes, knots, odds, positive, ridge, smoothing):
    total = ridge / 2 * (intercept**2 + sum((slope - 1) ** 2 for slope in slopes) / len(slopes))
    for left, right, low, high in zip(knots, knots[1:], slopes, slopes[1:], strict=False):
        total += smoothing / 2 * (high - low) ** 2 / (right - left)
    for s, y in zip(odds, positive, strict=True):
        z = spline_value(s, intercept, knots, slopes)
        total += max(0, -z if y else z) + math.log1p(math.exp(-abs(z)))
    return total


def spline(proba, positive, n_knots, ridge, smoothing, floor, query, least_slope=0):
    """What the fitted spline says of a query; with two knots it is the quadratic one."""
    odds = [log_odds(p, floor) for p in proba]
    knots = equal_knots(odds, n_knots)

    def objective(x):
        return spline_objective(x[0], list(x[1:]), knots, odds, positive, ridge, smoothing)

    found = slow_minimum(objective, [0.0] + [1.0] * n_knots, [(None, None)] + [(least_slope, None)] * n_knots)
    return 1 / (1 + math.exp(-spline_value(log_odds(query, floor), found[0], knots, list(found[1:]))))


def slow_minimum(objective, start, bounds):
    """A search without slopes, begun again where it ended."""
    found = start
    for _ in range(3):
        options = {"xtol": 1e-10, "ftol": 1e-14, "maxiter": 5000, "maxfev": 200_000}
        found = minimize(objective, found, method="Powell", bounds=bounds, options=options).x
    return found
