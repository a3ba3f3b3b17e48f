"""Small studies for the tests of the report."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine

from petiole.study import compare_methods

HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'&amp;${title}"
METHODS = ["pet", "naive-bayes", "eb-pets"]


@functools.cache
def two_class_study():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = np.array(["malignant", "benign"])[y]
    return compare_methods(X.iloc[:, :10], labels, methods=METHODS, folds=2, repeats=1, name="breast cancer")


@functools.cache
def many_class_study():
    X, y = load_wine(return_X_y=True, as_frame=True)
    cost = [[0, 1, 5], [2, 0, 1], [1, 1, 0]]
    return compare_methods(X, y, methods=METHODS, folds=2, repeats=1, cost=cost, name="wine")


@functools.cache
def hostile_study():
    """Names of columns, categories and classes that would run as code if the page let them."""
    random = np.random.default_rng(0)
    n = 120
    good = random.random(n) < 0.5
    colour = np.where(random.random(n) < 0.8, good, ~good)
    X = pd.DataFrame({HOSTILE: np.where(colour, HOSTILE, "</style>"), "number": random.normal(size=n) + good})
    y = np.where(good, HOSTILE, "plain")
    return compare_methods(X, y, methods=["pet", "naive-bayes"], folds=2, repeats=1, name=HOSTILE)
