"""Tables on which probabilities are to be monotone, and pairs of rows that show where they are not."""

from __future__ import annotations

import numpy as np

# Along the first column probabilities of the last class rise, along the second they fall; the fifth is categorical.
SIGNS = [1, -1, 0, 0, 0]


def table(n_rows=400, n_classes=2, missing=0.0, seed=0):
    """Numbers with ties, a categorical column, and labels that depend on all columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 1] = X[:, 1].round(1)
    X[:, 4] = rng.integers(0, 4, n_rows)
    score = 1.5 * X[:, 0] - X[:, 1] + X[:, 2] * X[:, 3] + (X[:, 4] == 2) + rng.logistic(size=n_rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    X[rng.uniform(size=X.shape) < missing] = np.nan
    return X, y


def pairs(X, signs, n_pairs, seed=0):
    """Rows, and rows that are further along one or several constrained columns; missing values stay missing."""
    rng = np.random.default_rng(seed)
    lower = X[rng.integers(len(X), size=n_pairs)].copy()
    mixed = rng.uniform(size=lower.shape) < 0.3  # values of other rows, too
    lower[mixed] = X[rng.integers(len(X), size=n_pairs)][mixed]
    constrained = np.flatnonzero(signs)
    moves = rng.exponential(size=lower.shape) * rng.choice([0.01, 0.3, 3.0], lower.shape)
    moved = np.zeros(lower.shape, dtype=bool)
    moved[np.arange(n_pairs), constrained[rng.integers(len(constrained), size=n_pairs)]] = True
    several = rng.uniform(size=n_pairs) < 0.4
    moved[np.ix_(several, constrained)] = True
    return lower, lower + np.where(moved, moves * np.asarray(signs), 0.0)


def n_violations(predict, X, signs, target=1, n_pairs=10_000, seed=0):
    """In how many pairs the probability of a class falls by more than rounding."""
    lower, upper = pairs(X, signs, n_pairs, seed)
    return int((predict(upper)[:, target] < predict(lower)[:, target] - 1e-12).sum())
