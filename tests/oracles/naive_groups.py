"""Slow and obvious versions of calibration by group, and of the corrections for groups. Nothing of petiole is used."""

from __future__ import annotations

import math


def group_error(scores, hits, weights, n_bins):
    """Root of the mean squared gap in bins of equal weight, less f(1 − f)/(n − 1) in each; 0 if nothing is left."""
    total = sum(weights)
    bins = {}
    for score in sorted(set(scores)):
        rows = [i for i in range(len(scores)) if scores[i] == score]
        below = sum(weights[i] for i in range(len(scores)) if scores[i] < score)
        middle = (below + sum(weights[i] for i in rows) / 2) / total
        bins.setdefault(min(int(round(middle * n_bins, 9)), n_bins - 1), []).extend(rows)
    mean = 0.0
    for rows in bins.values():
        n = sum(weights[i] for i in rows)
        f = sum(weights[i] for i in rows if hits[i]) / n
        s = sum(weights[i] * scores[i] for i in rows) / n
        if n > 1:
            mean += n / total * ((f - s) ** 2 - f * (1 - f) / (n - 1))
    return math.sqrt(max(mean, 0.0))


def corrected(proba, members, slopes, intercepts):
    """softmax(ln p_k (1 + sum of slopes) + sum of intercepts) of one row."""
    slope = 1 + sum(slopes[g] for g in members)
    scores = [math.log(p) * slope + sum(intercepts[g][k] for g in members) for k, p in enumerate(proba)]
    top = max(scores)
    powers = [math.exp(s - top) for s in scores]
    return [p / sum(powers) for p in powers]


def penalised_loss(rows, codes, weights, members, slopes, intercepts, penalties):
    """Log-loss in nats over all rows, and half the penalised squares; slopes count four times."""
    loss = 0.0
    for proba, code, weight, groups in zip(rows, codes, weights, members, strict=True):
        loss -= weight * math.log(corrected(proba, groups, slopes, intercepts)[code])
    for penalty, slope, each in zip(penalties, slopes, intercepts, strict=True):
        loss += penalty / 2 * (4 * slope**2 + sum(b**2 for b in each))
    return loss
