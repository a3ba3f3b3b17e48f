"""A random problem and its division into batches."""

from __future__ import annotations

import numpy as np


def problem(seed, n=120, n_classes=3, missing=True, weights="whole"):
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n)
    X = np.column_stack(
        [
            y + random.normal(size=n).round(1),
            random.integers(4, size=n),
            random.normal(size=n),
            y % 2 + random.random(n),
        ]
    )
    if missing:
        X[random.random(X.shape) < 0.1] = np.nan
    values = {"none": None, "whole": [1.0, 2.0, 3.0], "fractional": [0.25, 0.5, 1.7]}[weights]
    return X, y, None if values is None else random.choice(values, size=n)


def batches_of(n, random, n_batches=4):
    """Cut points of batches, some of them small."""
    return np.split(np.arange(n), np.sort(random.choice(np.arange(1, n), n_batches - 1, replace=False)))
