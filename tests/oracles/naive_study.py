"""Slow and obvious versions of what a study works out: scores, intervals, costs at a threshold, importance."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats


def scores(codes, proba, weights, cost=None):
    """Scores that are means over rows, row by row."""
    n_classes = len(proba[0])
    floor = min(0.001, 0.01 / n_classes)
    total = sum(weights)
    found = {"log_loss": 0.0, "brier": 0.0, "accuracy": 0.0}
    if cost is not None:
        found["cost"] = 0.0
    for code, row, weight in zip(codes, proba, weights, strict=True):
        raised = [max(p, floor) for p in row]
        found["log_loss"] -= weight * math.log2(raised[code] / sum(raised)) / total
        found["brier"] += weight * sum((p - (k == code)) ** 2 for k, p in enumerate(row)) / total
        best = max(range(n_classes), key=lambda k: (row[k], -k))
        found["accuracy"] += weight * (best == code) / total
        if cost is not None:
            expected = [sum(cost[action][k] * row[k] for k in range(n_classes)) for action in range(n_classes)]
            action = min(range(n_classes), key=lambda a: (round(expected[a], 12), a))
            found["cost"] += weight * cost[action][code] / total
    return found


def interval_over_folds(values, folds):
    """Mean and 95% limits of repeated cross-validation."""
    n = len(values)
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    half = stats.t.ppf(0.975, n - 1) * math.sqrt((1 / n + 1 / (folds - 1)) * variance)
    return mean, mean - half, mean + half


def p_value_of_rows(first, second, weights):
    """Paired t-test over rows; a row of weight 2 is a row twice."""
    repeated = [a - b for a, b, w in zip(first, second, weights, strict=True) for _ in range(int(w))]
    return float(stats.ttest_1samp(repeated, 0).pvalue)


def cost_at(threshold, positive, codes, proba, weights, cost):
    """Mean cost of acting on the positive class from a threshold on."""
    total = 0.0
    for code, row, weight in zip(codes, proba, weights, strict=True):
        predicted = positive if row[positive] >= threshold - 1e-9 else 1 - positive
        total += weight * cost[predicted][code]
    return total / sum(weights)


def rises(model, matrix, codes, weights, permutations):
    """What the log-loss rises by when a column is put in another order, column by column."""

    def loss(table):
        return scores(codes, model.predict_proba(table), weights)["log_loss"]

    found = []
    for column, order in enumerate(permutations):
        shuffled = matrix.copy()
        shuffled[:, column] = matrix[order, column]
        found.append(loss(shuffled) - loss(matrix))
    return np.array(found)
