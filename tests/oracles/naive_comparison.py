"""Slow comparisons of methods that are easy to check by eye: the oracle for petiole.comparison.

Nothing is shared with the library on purpose. Plain loops, fractions where the truth is a fraction, and the exact
distribution of a bootstrapped total where the library draws.
"""

from collections import Counter
from fractions import Fraction
from math import comb, sqrt
from statistics import NormalDist

import numpy as np


def cell_differences(y_true, pred_1, pred_2, cost):
    """C(i1, j) - C(i2, j) of each test row; cost is a dict from (predicted, true)."""
    return [cost[a, j] - cost[b, j] for j, a, b in zip(y_true, pred_1, pred_2, strict=True)]


def total_distribution(values, n):
    """Exact distribution of the total of n independent draws from whole numbers: a dict from total to probability."""
    one = {value: Fraction(count, len(values)) for value, count in Counter(values).items()}
    totals = {0: Fraction(1)}
    for _ in range(n):
        longer = Counter()
        for total, p in totals.items():
            for value, q in one.items():
                longer[total + value] += p * q
        totals = longer
    return dict(totals)


def distribution_function(distribution, x):
    return float(sum(p for total, p in distribution.items() if total <= x))


def with_cell_prior(counts, prior):
    """Probabilities (n + prior) / (N + prior * cells); counts is a dict from every cell to its count."""
    total = sum(counts.values()) + prior * len(counts)
    return {cell: (count + prior) / total for cell, count in counts.items()}


def t_statistic(scores_1, scores_2, factor):
    """Mean difference over sqrt(factor * variance); the factor is 1/J, or 1/J + n_test/n_train to correct it."""
    d = [a - b for a, b in zip(scores_1, scores_2, strict=True)]
    mean = sum(d) / len(d)
    variance = sum((x - mean) ** 2 for x in d) / (len(d) - 1)
    return mean / sqrt(factor * variance)


def sign_test(wins, losses):
    """Two-tailed exact p: the outcomes that are at most as likely as the one seen."""
    n = wins + losses
    seen = comb(n, wins)
    return float(sum(Fraction(comb(n, k), 2**n) for k in range(n + 1) if comb(n, k) <= seen))


def win_tie_loss(scores_1, scores_2, greater_is_better=False, tolerance=0.0):
    wins = ties = losses = 0
    for a, b in zip(scores_1, scores_2, strict=True):
        if abs(a - b) <= tolerance:
            ties += 1
        elif (a > b) == greater_is_better:
            wins += 1
        else:
            losses += 1
    return wins, ties, losses


def ranks(row):
    """1 is the smallest; equal ones share the mean of their places."""
    return [1 + sum(y < x for y in row) + (sum(y == x for y in row) - 1) / 2 for x in row]


def friedman(scores):
    """Chi-squared from sums of ranks, divided by the correction for ties."""
    n, k = len(scores), len(scores[0])
    table = [ranks(row) for row in scores]
    sums = [sum(row[j] for row in table) for j in range(k)]
    chi_squared = 12 / (n * k * (k + 1)) * sum(s**2 for s in sums) - 3 * n * (k + 1)
    ties = sum(t**3 - t for row in scores for t in Counter(row).values())
    return chi_squared / (1 - ties / (n * k * (k**2 - 1)))


def groups(mean_ranks, critical_difference):
    """Every largest set of methods no two of which are a critical difference apart, as sorted tuples of columns."""
    by_rank = sorted(range(len(mean_ranks)), key=lambda j: mean_ranks[j])
    sets = set()
    for low in by_rank:
        near = frozenset(j for j in by_rank if 0 <= mean_ranks[j] - mean_ranks[low] < critical_difference)
        sets.add(near)
    return {tuple(sorted(s)) for s in sets if len(s) > 1 and not any(s < other for other in sets)}


def kohavi_wolpert(predictions, truth, classes):
    """Means over the rows of (error, bias^2, variance, noise), in fractions; truth[i][c] are fractions too."""
    n_sets, n_rows = len(predictions), len(truth)
    error = bias = variance = noise = Fraction(0)
    for i in range(n_rows):
        p = [truth[i][c] for c in classes]
        q = [Fraction(sum(row[i] == c for row in predictions), n_sets) for c in classes]
        error += sum(sum(truth[i][c] for c in classes if c != row[i]) for row in predictions) / Fraction(n_sets)
        bias += Fraction(1, 2) * sum((a - b) ** 2 for a, b in zip(p, q, strict=True))
        variance += Fraction(1, 2) * (1 - sum(b**2 for b in q))
        noise += Fraction(1, 2) * (1 - sum(a**2 for a in p))
    return tuple(part / n_rows for part in (error, bias, variance, noise))


def unbiased_kohavi_wolpert(predictions, truth, classes):
    """Squared bias less Q (1 - Q) / (L - 1), summed over the classes and halved; what is taken away is variance."""
    error, bias, variance, noise = kohavi_wolpert(predictions, truth, classes)
    n_sets, moved = len(predictions), Fraction(0)
    for i in range(len(truth)):
        for c in classes:
            q = Fraction(sum(row[i] == c for row in predictions), n_sets)
            moved += Fraction(1, 2) * q * (1 - q) / (n_sets - 1) / len(truth)
    return error, bias - moved, variance + moved, noise


def probability_parts(proba, truth):
    """Means over the rows of (error, bias^2, variance, noise) of probabilities, divided by the number of classes."""
    n_sets, n_rows, m = len(proba), len(truth), len(truth[0])
    error = bias = variance = noise = 0.0
    for i in range(n_rows):
        for c in range(m):
            p = truth[i][c]
            estimates = [proba[s][i][c] for s in range(n_sets)]
            mean = sum(estimates) / n_sets
            bias += (mean - p) ** 2 / m
            variance += sum((e - mean) ** 2 for e in estimates) / n_sets / m
            noise += p * (1 - p) / m
            # the label is c with probability p
            error += sum(p * (e - 1) ** 2 + (1 - p) * e**2 for e in estimates) / n_sets / m
    return tuple(part / n_rows for part in (error, bias, variance, noise))


def order_statistics(draws, level):
    """The k-th smallest and the k-th largest of the draws, k being (1 - level) / 2 of them."""
    k = int(Fraction(len(draws)) * (1 - Fraction(str(level))) / 2)
    ordered = sorted(draws)
    return ordered[k - 1], ordered[-k]


def bca_levels(estimate, draws, level, left_out):
    """Efron's BCa: the two quantiles of the draws, from the values with each row left out."""
    normal = NormalDist()
    below = sum(d < estimate for d in draws) + sum(d == estimate for d in draws) / 2
    z0 = normal.inv_cdf(below / len(draws))
    mean = sum(left_out) / len(left_out)
    a = sum((mean - v) ** 3 for v in left_out) / (6 * sum((mean - v) ** 2 for v in left_out) ** 1.5)
    ends = [z0 + normal.inv_cdf(tail) for tail in ((1 - level) / 2, (1 + level) / 2)]
    return [normal.cdf(z0 + z / (1 - a * z)) for z in ends]


def brier(y_true, proba, labels, sample_weight):
    total = sum(
        w * sum((p - (label == y)) ** 2 for p, label in zip(row, labels, strict=True))
        for y, row, w in zip(y_true, proba, sample_weight, strict=True)
    )
    return float(total / np.sum(sample_weight))
