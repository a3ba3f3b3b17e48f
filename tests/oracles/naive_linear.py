"""A slow and obvious version of the features and the fit of the logistic regression.

Nothing of petiole is used here. The features are made cell by cell; the fit is scikit-learn's.
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.linear_model import LogisticRegression


def quantile(values, weights, share):
    """The smallest value that at least this share of the weight does not exceed."""
    total = sum(weights)
    return min(v for v in values if sum(w for u, w in zip(values, weights, strict=True) if u <= v) >= share * total)


def squasher(values, weights):
    """A function of one value, or None for a constant column."""
    if not values or min(values) == max(values):
        return None
    lower, middle, upper = (quantile(values, weights, share) for share in (0.25, 0.5, 0.75))
    scale = (upper - lower) / 1.349 if upper > lower else (max(values) - min(values)) / 2

    def squash(value):
        z = (value - middle) / scale
        return z / math.sqrt(1 + (z / 3) ** 2)

    return squash


def ranker(values, weights):
    deciles = [quantile(values, weights, k / 10) for k in range(11)]

    def rank(value):
        same = [k for k in range(11) if deciles[k] == value]
        if same:
            return (same[0] + same[-1]) / 20
        n_below = sum(d < value for d in deciles)
        if n_below in (0, 11):
            return 0.0 if n_below == 0 else 1.0
        low, high = deciles[n_below - 1], deciles[n_below]
        return (n_below - 1 + (value - low) / (high - low)) / 10

    return rank


def unless_missing(function, j):
    return lambda row: math.nan if math.isnan(row[j]) else function(row[j])


def numeric_functions(table, weights, n_categories, ranks, products):
    """Functions of a row: squashed values, then ranks, then products; and how many there are of the first two."""
    squashed, ranked = [], []
    for j in [j for j, n in enumerate(n_categories) if n == 0]:
        known = [(row[j], w) for row, w in zip(table, weights, strict=True) if not math.isnan(row[j])]
        values, of_values = [v for v, _ in known], [w for _, w in known]
        squash = squasher(values, of_values)
        if squash is not None:
            squashed.append(unless_missing(squash, j))
            ranked.append(unless_missing(ranker(values, of_values), j))
    pairs = [(a, b) for a in range(len(squashed)) for b in range(a, len(squashed))]
    if not products or len(pairs) > max(60, sum(weights) / 4):
        pairs = []
    multiplied = [lambda row, a=squashed[a], b=squashed[b]: a(row) * b(row) for a, b in pairs]
    return squashed + (ranked if ranks else []), multiplied


def indicator_functions(table, weights, n_categories):
    least = max(5, 0.01 * sum(weights))
    functions = []
    for j, n in enumerate(n_categories):

        def weight_of(test, j=j):
            return sum(w for row, w in zip(table, weights, strict=True) if test(row[j]))

        own = [k for k in range(n) if weight_of(lambda v, k=k: v == k) >= least]
        groups = [[k] for k in own]
        has_missing = weight_of(math.isnan) >= least
        if has_missing:
            groups.append(["missing"])
        rare = [k for k in range(n) if k not in own]
        if weight_of(lambda v, rare=rare: v in rare) >= least:
            groups.append(rare)
        known = [k for group in groups for k in group]

        def name(row, j=j):
            return "missing" if math.isnan(row[j]) else int(row[j])

        for group in groups:
            functions.append(
                lambda row, group=group, known=known, name=name, n=n: (
                    math.nan if n and name(row) not in known else float(name(row) in group)
                )
            )
    return functions


def features(table, weights, n_categories, queries, ranks=False, products=False):
    """The features of queries, learned from a table."""
    plain, multiplied = numeric_functions(table, weights, n_categories, ranks, products)
    functions = [*plain, *multiplied, *indicator_functions(table, weights, n_categories)]
    columns = []
    for number, function in enumerate(functions):
        known = [(function(row), w) for row, w in zip(table, weights, strict=True) if not math.isnan(function(row))]
        total = sum(w for _, w in known)
        mean = sum(v * w for v, w in known) / total
        deviation = math.sqrt(sum(w * (v - mean) ** 2 for v, w in known) / total)
        unit = deviation if deviation > 1e-9 else 1.0
        if number >= len(plain):
            unit = unit / 0.3 if number < len(plain) + len(multiplied) else 1.0
        answers = [function(row) for row in queries]
        columns.append([0.0 if math.isnan(v) else (v - mean) / unit for v in answers])
    return np.array(columns).reshape(len(functions), len(queries)).T


def fit(features, labels, weights, n_classes, strength):
    """Coefficients (n_features, n_classes) and intercepts, by scikit-learn; one more row of each class at 0.

    For two classes scikit-learn's ridge is on the difference of both classes' coefficients, half of which each has.
    """
    features = np.concatenate([features, np.zeros((n_classes, features.shape[1]))])
    labels = np.concatenate([labels, np.arange(n_classes)])
    weights = np.concatenate([weights, np.full(n_classes, 1 / n_classes)])
    ridge = strength * sum(weights) * (0.5 if n_classes == 2 else 1.0)
    model = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=100_000)
    model.fit(features, labels, sample_weight=weights)
    if n_classes == 2:
        halves = np.array([[-0.5], [0.5]])
        return (halves * model.coef_).T, (halves * model.intercept_)[:, 0]
    return model.coef_.T, model.intercept_


def answer(features, coefficients, intercepts):
    scores = features @ coefficients + intercepts
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def kernel(row, landmark, gamma):
    """exp of minus gamma times the squared distance, column by column."""
    return math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(row, landmark, strict=True)))


def kernel_machine(points, weights, center, labels, classes, landmarks, gamma, strength, queries):
    """Probabilities by a logistic regression whose ridge is the squared norm in the space of functions that the kernels
    of landmarks span: for the score s = sum over l of c_l k(l, .) that is c' K c, K being the kernels of landmarks
    among themselves. The search is scipy's, by the coefficients, so nothing is rotated or whitened. The weights
    ``center`` are those by which the mean of the kernels is taken, where one more row of each class lies."""
    from scipy.optimize import minimize

    n_classes = len(classes)
    K = np.array([[kernel(a, b, gamma) for b in landmarks] for a in landmarks])
    of_rows = np.array([[kernel(row, b, gamma) for b in landmarks] for row in points])
    means = np.average(of_rows, axis=0, weights=center)
    of_rows = np.vstack([of_rows, np.tile(means, (n_classes, 1))])
    every = np.append(labels, np.arange(n_classes))
    weight = np.append(weights, np.full(n_classes, 1 / n_classes))

    def proba(unknowns, kernels):
        c = unknowns.reshape(n_classes, -1)
        scores = c[:, 0] + (kernels - means) @ c[:, 1:].T
        scores -= scores.max(axis=1, keepdims=True)
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    def objective(unknowns):
        c, p = unknowns.reshape(n_classes, -1), proba(unknowns, of_rows)
        loss = -(weight @ np.log(p[np.arange(len(every)), every])) / weight.sum()
        errors = (p - np.eye(n_classes)[every]) * (weight / weight.sum())[:, np.newaxis]
        slopes = np.column_stack([errors.sum(axis=0), errors.T @ (of_rows - means) + strength * c[:, 1:] @ K])
        return loss + strength / 2 * np.sum(c[:, 1:] @ K * c[:, 1:]), slopes.ravel()

    start = np.zeros(n_classes * (1 + len(landmarks)))
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return proba(found.x, np.array([[kernel(row, b, gamma) for b in landmarks] for row in queries]))
