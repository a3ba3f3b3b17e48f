"""The obvious versions of what studies over many data sets compute, in plain loops."""

from __future__ import annotations

import math

import numpy as np


def pooled_rmse(parts):
    """RMSE over rows and classes of all folds; parts are (labels, probabilities) of each fold."""
    total, cells = 0.0, 0
    for labels, proba in parts:
        for label, row in zip(labels, proba, strict=True):
            for k, p in enumerate(row):
                total += (p - (1.0 if k == label else 0.0)) ** 2
                cells += 1
    return math.sqrt(total / cells)


def pooled_error(parts):
    """The share of rows of all folds whose most probable class (the first of equals) is not theirs."""
    wrong = [
        label != list(row).index(max(row)) for labels, proba in parts for label, row in zip(labels, proba, strict=True)
    ]
    return sum(wrong) / len(wrong)


def mean_ranks(table, greater_is_better):
    """Mean ranks of columns; equals share the mean of their places."""
    found = []
    for row in table:
        ranks = []
        for value in row:
            better = sum((other > value) if greater_is_better else (other < value) for other in row)
            same = sum(other == value for other in row)
            ranks.append(better + (same + 1) / 2)
        found.append(ranks)
    return np.mean(found, axis=0)


def front(x, y):
    """Points that no other point beats: none is at least as good in both and better in one."""
    kept = []
    for i in range(len(x)):
        beaten = any(x[j] <= x[i] and y[j] <= y[i] and (x[j] < x[i] or y[j] < y[i]) for j in range(len(x)))
        if not beaten:
            kept.append(i)
    return sorted(kept, key=lambda i: x[i])


def mean_cost(y, proba, matrices):
    """The mean cost of the cheapest decisions over matrices [predicted, true] and rows."""
    costs = []
    for matrix in matrices:
        for label, row in zip(y, proba, strict=True):
            expected = [sum(p * c for p, c in zip(row, line, strict=True)) for line in matrix]
            costs.append(matrix[expected.index(min(expected))][label])
    return sum(costs) / len(costs)
