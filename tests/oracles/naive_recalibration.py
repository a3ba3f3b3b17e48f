"""Slow and obvious versions of binning, naive Bayes, isotonic regression and Venn–Abers prediction.

Nothing of petiole is used here. Weights are whole numbers: a row of weight 2 is a row twice.
"""

from __future__ import annotations

import itertools
import math


def repeated(rows, weights):
    """Each row as many times as its weight says."""
    return [row for row, weight in zip(rows, weights, strict=True) for _ in range(int(weight))]


def cut_into_bins(values, n_bins):
    """Sorted values in bins of equal counts; a boundary in the middle of equal values moves behind them."""
    ordered = sorted(values)
    n = len(ordered)
    starts = {0, n}
    for b in range(1, n_bins):
        position = math.ceil(n * b / n_bins)
        while 0 < position < n and ordered[position] == ordered[position - 1]:
            position += 1
        starts.add(position)
    starts = sorted(starts)
    return [ordered[start:end] for start, end in itertools.pairwise(starts) if start < end]


def bin_of(value, bins):
    """The bin of a value: boundaries halfway between neighbouring bins, which belong to the lower one."""
    for index in range(len(bins) - 1):
        if value <= (bins[index][-1] + bins[index + 1][0]) / 2:
            return index
    return len(bins) - 1


def binned_probability(scores, positive, n_bins, query):
    """The share of positives in the query's bin."""
    bins = cut_into_bins(scores, n_bins)
    inside = [y for s, y in zip(scores, positive, strict=True) if bin_of(s, bins) == bin_of(query, bins)]
    return sum(inside) / len(inside)


def binned_probabilities(scores, labels, n_classes, n_bins, query):
    """One class against the others, divided by the sum; the base rates where all say zero."""
    each = [
        binned_probability([row[k] for row in scores], [label == k for label in labels], n_bins, query[k])
        for k in range(n_classes)
    ]
    if sum(each) == 0:
        each = [sum(label == k for label in labels) for k in range(n_classes)]
    return [p / sum(each) for p in each]


def naive_bayes(rows, labels, n_classes, nominal, query, n_bins=10, alpha=1.0):
    """Class probabilities of one query; None is a missing value. ``nominal[j]``: whether attribute j has names."""
    products = []
    for k in range(n_classes):
        product = sum(label == k for label in labels) / len(labels)
        for j, is_nominal in enumerate(nominal):
            product *= _factor([row[j] for row in rows], labels, k, is_nominal, query[j], n_bins, alpha)
        products.append(product)
    return [product / sum(products) for product in products]


def _factor(column, labels, k, is_nominal, value, n_bins, alpha):
    known = [(x, y) for x, y in zip(column, labels, strict=True) if x is not None]
    if value is None or not known:
        return 1.0
    if is_nominal:
        names = {x: x for x, _ in known}
        if value not in names:
            return 1.0
        n_values = len(names)
    else:
        bins = cut_into_bins([x for x, _ in known], n_bins)
        names = {x: bin_of(x, bins) for x, _ in known}
        value, n_values = bin_of(value, bins), len(bins)
    counts = {}
    for x, y in known:
        counts[names[x], y] = counts.get((names[x], y), 0) + 1
    of_class = sum(y == k for _, y in known)
    if of_class + alpha == 0:
        return 1 / n_values
    return (counts.get((value, k), 0) + alpha) / (of_class + alpha * n_values)


def isotonic(scores, targets):
    """The least-squares non-decreasing fit, by the max-min formula; equal scores are one point. A dict by score."""
    distinct = sorted(set(scores))
    sums = [sum(y for s, y in zip(scores, targets, strict=True) if s == value) for value in distinct]
    counts = [sum(s == value for s in scores) for value in distinct]
    fitted = {}
    for j, value in enumerate(distinct):
        fitted[value] = max(
            min(sum(sums[a : b + 1]) / sum(counts[a : b + 1]) for b in range(j, len(distinct))) for a in range(j + 1)
        )
    return fitted


def venn_abers(scores, positive, query):
    """(p0, p1): isotonic regression fitted twice, with the query labelled 0 and labelled 1."""
    scores, positive = list(scores), [int(y) for y in positive]
    return tuple(isotonic([*scores, query], [*positive, label])[query] for label in (0, 1))


def beta_loss(a, b, c, proba, positive):
    """Log-loss in nats, summed, of beta calibration (Kull, Silva Filho & Flach 2017)."""
    total = 0.0
    for p, y in zip(proba, positive, strict=True):
        z = a * math.log(p) - b * math.log(1 - p) + c
        total += math.log1p(math.exp(-z if y else z))
    return total


def temperature_loss(inverse, proba, labels):
    """Log-loss in nats, summed, of probabilities that are raised to a power and divided by their sum."""
    total = 0.0
    for row, label in zip(proba, labels, strict=True):
        powers = [p**inverse for p in row]
        total -= math.log(powers[label] / sum(powers))
    return total
