"""Metrics the slow and obvious way: loops over rows, textbook formulas, no array is more than a list.

Independent of the library. ``y`` are class codes, ``proba`` rows of probabilities, ``w`` one weight per row. Where
weights count rows, rows are repeated instead, so weights must be whole numbers there.
"""

from __future__ import annotations

import itertools
import math

from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm


def mean(values, w):
    return sum(weight * value for value, weight in zip(values, w, strict=True) if weight > 0) / sum(w)


def repeated(rows, w):
    """Each row as many times as its weight says."""
    return [row for row, weight in zip(rows, w, strict=True) for _ in range(int(weight))]


def squared_error(label, row):
    return sum((p - (1.0 if k == label else 0.0)) ** 2 for k, p in enumerate(row))


def brier(y, proba, w):
    return mean([squared_error(label, row) for label, row in zip(y, proba, strict=True)], w)


def zero_one_mse(y, proba, w):
    return mean([(1 - row[label]) ** 2 for label, row in zip(y, proba, strict=True)], w)


def first_of_largest(values):
    return list(values).index(max(values))


def error_rate(y, proba, w):
    return mean([float(first_of_largest(row) != label) for label, row in zip(y, proba, strict=True)], w)


def epsilon(shares):
    return min(0.005, min(0.5 * share for share in shares if share > 0))


def raised(row, floor, shares):
    """A row after the rule for zeros."""
    if floor is None:
        return list(row)
    changed = []
    for p in row:
        if floor == "exact":
            changed.append(epsilon(shares) if p == 0 else 1 - epsilon(shares) if p == 1 else p)
        elif floor == "clip":
            changed.append(min(max(p, epsilon(shares)), 1 - epsilon(shares)))
        else:
            changed.append(max(p, floor))
    return [p / sum(changed) for p in changed]


def class_shares(y, w, n_classes):
    return [sum(weight for label, weight in zip(y, w, strict=True) if label == k) / sum(w) for k in range(n_classes)]


def log_loss(y, proba, w, base=2.0, floor=None, priors=None):
    shares = class_shares(y, w, len(proba[0])) if priors is None else priors
    losses = []
    for label, row in zip(y, proba, strict=True):
        p = raised(row, floor, shares)[label]
        losses.append(math.inf if p == 0 else -math.log(p, base))
    return mean(losses, w)


def area_right(positive, scores):
    """The right rule with ties spread, one row at a time."""
    n, rows = len(scores), sorted(zip(scores, positive, strict=True), reverse=True)
    spread = []
    for score, _ in rows:
        tied = [hit for other, hit in rows if other == score]
        spread.append(sum(tied) / len(tied))
    lifts = [sum(spread[: i + 1]) / (i + 1) / (sum(positive) / n) for i in range(n)]
    return sum(lifts) / n


def area_over_orders(positive, scores):
    """The right rule averaged over all orders of the rows that do not contradict the scores."""
    n, areas = len(scores), []
    for order in itertools.permutations(range(n)):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order)):
            found, total = 0, 0.0
            for rank, row in enumerate(order, start=1):
                found += positive[row]
                total += found / rank
            areas.append(total / n / (sum(positive) / n))
    return sum(areas) / len(areas)


def area_distinct(positive, scores):
    """One rectangle per distinct score, as high as the lift at its right end."""
    n, area, last = len(scores), 0.0, 0
    for threshold in sorted(set(scores), reverse=True):
        above = [hit for score, hit in zip(scores, positive, strict=True) if score >= threshold]
        lift = sum(above) / len(above) / (sum(positive) / n)
        area += (len(above) - last) / n * lift
        last = len(above)
    return area


def area_exact(positive, scores):
    """The integral of the lift, tie by tie, by quadrature."""
    n, area, start, found = len(scores), 0.0, 0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        tied = [hit for score, hit in zip(scores, positive, strict=True) if score == threshold]
        rate = sum(tied) / len(tied)

        def lift(v, rate=rate, start=start, found=found):
            rows = v * n
            return (found + rate * (rows - start)) / rows / (sum(positive) / n)

        area += quad(lift, max(start / n, 1e-12), (start + len(tied)) / n, epsabs=1e-12)[0]
        start, found = start + len(tied), found + sum(tied)
    return area


AREAS = {"right": area_right, "distinct": area_distinct, "exact": area_exact}


def aulc(y, proba, w, rule="right", priors=None):
    """Areas of the classes that occur, averaged by their priors; whole weights are repeated rows."""
    y, proba, n_classes = repeated(y, w), repeated(proba, w), len(proba[0])
    shares = class_shares(y, [1] * len(y), n_classes) if priors is None else priors
    present = [k for k in range(n_classes) if k in y]
    total = sum(shares[k] for k in present)
    areas = {k: AREAS[rule]([int(label == k) for label in y], [row[k] for row in proba]) for k in present}
    return sum(areas[k] * shares[k] for k in present) / total


def expected_value(row, values):
    return sum(p * value for p, value in zip(row, values, strict=True))


def cost(y, proba, w, table, decisions=None):
    """Total cost; ``table`` has an entry [action][class] for each row."""
    total = 0.0
    for i, (label, row) in enumerate(zip(y, proba, strict=True)):
        expected = [expected_value(row, costs) for costs in table[i]]
        action = expected.index(min(expected)) if decisions is None else decisions[i]
        total += w[i] * table[i][action][label]
    return total


def campaign(y, proba, w, amounts, costs, expected, target):
    total = 0.0
    for i, (label, row) in enumerate(zip(y, proba, strict=True)):
        if row[target] * expected[i] > costs[i]:
            total += w[i] * ((amounts[i] if label == target else 0.0) - costs[i])
    return total


def bins_of(scores, w, n_bins, strategy):
    """The bin of each score."""
    if strategy == "uniform":
        return [min(max(math.ceil(score * n_bins) - 1, 0), n_bins - 1) for score in scores]
    bin_of = {}
    for value in set(scores):
        below = sum(weight for score, weight in zip(scores, w, strict=True) if score < value)
        tied = sum(weight for score, weight in zip(scores, w, strict=True) if score == value)
        bin_of[value] = min(int(round((below + tied / 2) / sum(w) * n_bins, 9)), n_bins - 1)
    return [bin_of[score] for score in scores]


def binned(scores, hits, w, n_bins, strategy):
    """(weight, mean score, frequency) of each bin that holds rows."""
    bins = bins_of(scores, w, n_bins, strategy)
    found = []
    for b in sorted(set(bins)):
        rows = [i for i in range(len(scores)) if bins[i] == b and w[i] > 0]
        if rows:
            own = [w[i] for i in rows]
            found.append((sum(own), mean([scores[i] for i in rows], own), mean([float(hits[i]) for i in rows], own)))
    return found


def scores_and_hits(y, proba, target):
    if target == "top":
        return [max(row) for row in proba], [
            first_of_largest(row) == label for label, row in zip(y, proba, strict=True)
        ]
    return [row[target] for row in proba], [label == target for label in y]


def calibration_error(y, proba, w, target, n_bins, strategy, norm_name, debiased=False):
    if target == "classwise":
        errors = [
            calibration_error(y, proba, w, k, n_bins, strategy, norm_name, debiased) for k in range(len(proba[0]))
        ]
        return sum(errors) / len(errors)
    bins = binned(*scores_and_hits(y, proba, target), w, n_bins, strategy)
    if norm_name == "max":
        return max(abs(f - s) for _, s, f in bins)
    total = sum(weight for weight, _, _ in bins)
    error = 0.0
    for weight, s, f in bins:
        one = abs(f - s) if norm_name == "l1" else (f - s) ** 2
        if debiased:
            one = 0.0 if weight <= 1 else one - bias(weight, s, f, norm_name)
        error += weight / total * one
    if norm_name == "squared":
        return error
    return max(error, 0.0) if norm_name == "l1" else math.sqrt(max(error, 0.0))


def bias(weight, s, f, norm_name):
    variance = f * (1 - f) / (weight - 1)
    if norm_name != "l1":
        return variance
    if variance == 0:
        return 0.0
    spread = math.sqrt(variance)
    gap = f - s
    limits = {"limit": 200, "epsabs": 1e-12, "points": [0.0] if abs(gap) < 10 * spread else None}
    density = norm(gap, spread).pdf
    return quad(lambda x: abs(x) * density(x), gap - 10 * spread, gap + 10 * spread, **limits)[0] - abs(gap)


def wilson(frequency, weight, confidence):
    """The probabilities from which the frequency is just as far as their own standard errors allow."""
    z = norm.ppf(0.5 + confidence / 2)

    def excess(p):
        return (frequency - p) ** 2 - z**2 * p * (1 - p) / weight

    # where the frequency is 0 or 1 it is a limit itself, and the other is looked for apart from it
    lower = 0.0 if frequency == 0 else brentq(excess, 0, min(frequency, 1 - 1e-9))
    upper = 1.0 if frequency == 1 else brentq(excess, max(frequency, 1e-9), 1)
    return lower, upper


def groups_of(proba, w, how, n_bins, strategy):
    if how == "distinct":
        return [tuple(row) for row in proba]
    if len(proba[0]) <= 2:
        return bins_of([row[-1] for row in proba], w, n_bins, strategy)
    bins = bins_of([max(row) for row in proba], w, n_bins, strategy)
    return [(first_of_largest(row), b) for row, b in zip(proba, bins, strict=True)]


def by_group(y, proba, w, groups):
    """For each group: share of the weight, rows, mean probabilities, class frequencies."""
    for group in set(groups):
        rows = [i for i in range(len(y)) if groups[i] == group]
        own, n_classes = [w[i] for i in rows], len(proba[0])
        if sum(own) == 0:
            continue
        told = [mean([proba[i][k] for i in rows], own) for k in range(n_classes)]
        seen = [mean([float(y[i] == k) for i in rows], own) for k in range(n_classes)]
        yield sum(own) / sum(w), rows, told, seen


def brier_parts(y, proba, w, groups):
    """(calibration, refinement); the rest is what is left of the total."""
    calibration = refinement = 0.0
    for share, _, told, seen in by_group(y, proba, w, groups):
        calibration += share * sum((p - q) ** 2 for p, q in zip(told, seen, strict=True))
        refinement += share * sum(q * (1 - q) for q in seen)
    return calibration, refinement


def log_parts(y, proba, w, groups):
    """(calibration, refinement) in bits."""
    calibration = refinement = 0.0
    for share, _, told, seen in by_group(y, proba, w, groups):
        for p, q in zip(told, seen, strict=True):
            if q > 0:
                calibration += share * (math.inf if p == 0 else q * math.log2(q / p))
                refinement -= share * q * math.log2(q)
    return calibration, refinement


def isotonic(scores, hits, w):
    """Isotonic regression by its min-max formula: the largest over starts of the smallest over ends of the mean."""
    values = sorted(set(scores))
    weight = [sum(v for s, v in zip(scores, w, strict=True) if s == value) for value in values]
    sums = [sum(v * hit for s, v, hit in zip(scores, w, hits, strict=True) if s == value) for value in values]
    fitted = {}
    for i, value in enumerate(values):
        fitted[value] = max(
            min(sum(sums[a : b + 1]) / sum(weight[a : b + 1]) for b in range(i, len(values))) for a in range(i + 1)
        )
    return [fitted[score] for score in scores]
