"""Ways to recalibrate a forest, side by side: log-loss, Brier score and the seconds of a fit.

    PETIOLE_DATA=... python benchmarks/recalibration.py
    PETIOLE_DATA=... python benchmarks/recalibration.py --coil

Three random stratified splits of each data set, 2/3 to train and 1/3 to test; one thread. The calibrators on out-of-bag
rows share one forest, whose seconds count for each of them. ``--coil`` prints Zadrozny & Elkan's Table 4 beside ours,
as far as it has naive Bayes and constants.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from scores import brier, log_loss_bits
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    ConstantClassifier,
    OOBCalibratedClassifier,
    ProbabilityForestClassifier,
)
from petiole._classifiers.oob_calibrated import METHODS
from petiole.datasets import load
from petiole.datasets.papers import coil2000

DATA_SETS = (
    "balance-scale",
    "cmc",
    "credit-g",
    "heart-c",
    "pima",
    "tic-tac-toe",
    "vehicle",
    "vowel",
    "wdbc",
    "yeast",
)
N_SPLITS, LEAST_CLASS_SIZE = 3, 8
Cell = tuple[str, float, float, float]


def one_hot(model: Any) -> Pipeline:
    """scikit-learn's forests need numbers: nominal columns one-hot, a missing value being one of the values."""
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = (encoder, make_column_selector(dtype_exclude="number"))
    return make_pipeline(make_column_transformer(columns, remainder="passthrough"), model)


def peers(seed: int) -> dict[str, Callable[[], Any]]:
    """Everything that is fitted by itself."""

    def forest() -> RandomForestClassifier:
        return RandomForestClassifier(random_state=seed, n_jobs=1)

    return {
        "scikit-learn RF": lambda: one_hot(forest()),
        "scikit-learn RF, isotonic in 5 folds": lambda: one_hot(
            CalibratedClassifierCV(forest(), method="isotonic", cv=5)
        ),
        "scikit-learn RF, beta on OOB rows": lambda: OOBCalibratedClassifier(one_hot(forest()), method="beta"),
        "ProbabilityForestClassifier": lambda: ProbabilityForestClassifier(random_state=seed),
    }


def seconds_of(job: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return job(), time.perf_counter() - start


def cells(X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray, seed: int) -> Iterator[Cell]:
    """Method, log-loss, Brier score and seconds of one split."""
    rows, labels = X.iloc[train], y[train]

    def scored(name: str, model: Any, seconds: float) -> Cell:
        proba = model.predict_proba(X.iloc[test])
        return name, log_loss_bits(y[test], proba), brier(y[test], proba), seconds

    for name, make in peers(seed).items():
        yield scored(name, *seconds_of(lambda make=make: make().fit(rows, labels)))
    for preset in ("b_pets", "eb_pets"):
        ensemble = getattr(BaggedPETClassifier, preset)(random_state=seed)
        plain, seconds = seconds_of(lambda ensemble=ensemble: ensemble.fit(rows, labels))
        title = {"b_pets": "B-PETs", "eb_pets": "EB-PETs"}[preset]
        yield scored(title, plain, seconds)
        model, seconds = seconds_of(lambda plain=plain: OOBCalibratedClassifier(plain, method="beta").fit(rows, labels))
        for method in METHODS:
            other, more = seconds_of(lambda model=model, method=method: model.with_method(method, labels))
            yield scored(f"{title}, {method} on OOB rows", other, seconds + more)


def run(names: list[str]) -> dict[str, dict[str, np.ndarray]]:
    """For each data set and method: log-loss, Brier score and seconds, means over the splits."""
    results: dict[str, dict[str, np.ndarray]] = {}
    for name in names:
        X, y, _ = load(name)
        labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        kept = counts[codes] >= LEAST_CLASS_SIZE  # five rows of each class are left for five folds
        X, codes = X[kept].reset_index(drop=True), np.unique(codes[kept], return_inverse=True)[1]
        splitter = StratifiedShuffleSplit(N_SPLITS, test_size=1 / 3, random_state=0)
        found: dict[str, list[tuple[float, ...]]] = {}
        for seed, (train, test) in enumerate(splitter.split(X, codes)):
            for method, *scores in cells(X, codes, train, test, seed):
                found.setdefault(method, []).append(tuple(scores))
        results[name] = {method: np.mean(scores, axis=0) for method, scores in found.items()}
        print(f"{name}: {len(codes)} rows, {len(labels)} classes", file=sys.stderr)
    return results


def table(results: dict[str, dict[str, np.ndarray]]) -> Iterator[str]:
    """Means and mean ranks over the data sets, in Markdown; the best log-loss first."""
    methods = list(next(iter(results.values())))
    scores = np.array([[by_method[method] for method in methods] for by_method in results.values()])
    ranks = np.stack([rankdata(scores[:, :, k], axis=1).mean(axis=0) for k in (0, 1)], axis=1)
    means = scores.mean(axis=0)
    yield "| method | log-loss (bits) | rank | Brier | rank | fit s |"
    yield "|---|---|---|---|---|---|"
    for i in np.argsort(means[:, 0]):
        loss, squares, seconds = means[i]
        yield f"| {methods[i]} | {loss:.3f} | {ranks[i, 0]:.1f} | {squares:.4f} | {ranks[i, 1]:.1f} | {seconds:.2f} |"


def coil() -> Iterator[str]:
    """Brier scores on the CoIL challenge: training and test set, the paper's and ours."""
    (X, labels, _), (X_test, labels_test, _) = coil2000()
    y, y_test = (labels == "1").astype(int), (labels_test == "1").astype(int)
    rows: dict[str, tuple[Any, float, float]] = {
        "Binned naive Bayes": (BinnedNaiveBayesClassifier.zadrozny_elkan(), 0.10485, 0.10742),
        "All base rate": (ConstantClassifier(), 0.11240, 0.11192),
        "All zero": (ConstantClassifier("zero"), 0.11955, 0.11900),
        "Naive Bayes": (BinnedNaiveBayesClassifier(), 0.12896, 0.13409),
        "All one": (ConstantClassifier("one"), 1.88045, 1.88100),
    }
    yield "| method | training, paper | training, ours | test, paper | test, ours |"
    yield "|---|---|---|---|---|"
    for name, (model, training, test) in rows.items():
        model.fit(X, y)
        ours = brier(y, model.predict_proba(X)), brier(y_test, model.predict_proba(X_test))
        yield f"| {name} | {training:.5f} | {ours[0]:.5f} | {test:.5f} | {ours[1]:.5f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coil", action="store_true", help="naive Bayes on the CoIL challenge, beside the paper")
    parser.add_argument("names", nargs="*", default=list(DATA_SETS), help="data sets; default: ten")
    warnings.filterwarnings("ignore")  # of rows that all trees have seen
    arguments = parser.parse_args()
    print(*(coil() if arguments.coil else table(run(arguments.names))), sep="\n")


if __name__ == "__main__":
    main()
