"""petiole's calibrators beside those of probmetrics, on the same scores: log-loss in bits on held-out rows.

    python benchmarks/calibrators.py
    PETIOLE_DATA=... python benchmarks/calibrators.py

Synthetic scores have 2 to 26 classes and known distortions. With PETIOLE_DATA, the scores of forests on a few data
sets are added: out-of-bag probabilities to learn from, and predictions for the test rows. All scores are floored at
0.002 and divided by their sum first, because probmetrics takes their logarithms without a floor. ``pip install
probmetrics numba`` (which needs torch) adds its columns; without it, only petiole's are printed. A difference is
petiole's log-loss minus that of probmetrics: below zero, petiole is better.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from scores import log_loss_bits
from sklearn.model_selection import StratifiedShuffleSplit

from petiole import BaggedPETClassifier
from petiole._classifiers.oob_calibrated import METHODS
from petiole.calibrators import QuadraticCalibrator
from petiole.datasets import load

DATA_SETS = ("balance-scale", "credit-g", "pima", "tic-tac-toe", "vehicle", "vowel", "yeast")
FLOOR, N_SPLITS, LEAST_CLASS_SIZE = 0.002, 3, 8
# petiole's method and probmetrics' for the same idea. Quadratic scaling of probmetrics takes two classes only, and is
# wrapped one against the rest for more. It may fall and has no ridge, as "quadratic, free" is here.
PAIRS = {"temperature": "ts-mix", "vector": "svs", "structured_matrix": "sms", "quadratic": "quadratic-scaling"}
PAIRS |= {"quadratic, free": "quadratic-scaling"}
OURS = METHODS | {"quadratic, free": lambda: QuadraticCalibrator(penalty=0.001, monotone=False)}


class Scores(NamedTuple):
    """Probabilities and labels to learn from, and those of held-out rows."""

    name: str
    proba: np.ndarray
    y: np.ndarray
    new_proba: np.ndarray
    new_y: np.ndarray


def synthetic(n_classes: int, n_rows: int, seed: int) -> Scores:
    """Logits, distorted by a temperature, a scale and an intercept per class, and a little of all other classes."""
    rng = np.random.default_rng([seed, n_classes, n_rows])
    n_all = n_rows + 20_000
    logits = 1.5 * rng.normal(size=(n_all, n_classes))
    matrix = np.diag(rng.uniform(0.7, 1.4, n_classes)) + 0.3 * rng.normal(size=(n_classes, n_classes)) / n_classes
    truth = softmax(logits @ matrix.T + 0.4 * rng.normal(size=n_classes), axis=1)
    y = np.minimum((truth.cumsum(axis=1) < rng.random((n_all, 1))).sum(axis=1), n_classes - 1)
    proba = floored(softmax(logits / 1.7, axis=1))
    return Scores(f"{n_classes} classes, {n_rows} rows", proba[:n_rows], y[:n_rows], proba[n_rows:], y[n_rows:])


def floored(proba: np.ndarray) -> np.ndarray:
    raised = np.maximum(proba, FLOOR)
    return raised / raised.sum(axis=1, keepdims=True)


def of_forests(n_trees: int) -> Iterator[Scores]:
    """Out-of-bag probabilities of EB-PETs and their answers for test rows, of three splits of each data set."""
    for name in DATA_SETS:
        X, labels, _ = load(name)
        y = np.unique(np.asarray(labels).astype(str), return_inverse=True)[1]
        kept = np.flatnonzero(np.bincount(y)[y] >= LEAST_CLASS_SIZE)
        X, y = X.iloc[kept].reset_index(drop=True), np.unique(y[kept], return_inverse=True)[1]
        splits = StratifiedShuffleSplit(N_SPLITS, test_size=1 / 3, random_state=0)
        for seed, (train, test) in enumerate(splits.split(X, y)):
            forest = BaggedPETClassifier.eb_pets(n_estimators=n_trees, oob_score=True, random_state=seed)
            forest.fit(X.iloc[train], y[train])
            honest = np.isfinite(forest.oob_predict_proba_).all(axis=1)
            known, of_known = forest.oob_predict_proba_[honest], y[train][honest]
            yield Scores(name, floored(known), of_known, floored(forest.predict_proba(X.iloc[test])), y[test])


def probmetrics_makers() -> dict[str, Callable[[int], Any]]:
    """probmetrics' calibrators by petiole's names, for a number of classes; none if it is not installed."""
    try:
        from probmetrics.calibrators import MulticlassOneVsRestCalibrator, get_calibrator
    except ImportError as error:
        print(f"probmetrics cannot be imported ({error}): petiole alone. Remedy: pip install probmetrics numba\n")
        return {}

    def maker(name: str) -> Callable[[int], Any]:
        if name != "quadratic-scaling":
            return lambda n_classes: get_calibrator(name)
        return lambda n_classes: (
            get_calibrator(name) if n_classes == 2 else MulticlassOneVsRestCalibrator(get_calibrator(name))
        )

    return {ours: maker(theirs) for ours, theirs in PAIRS.items()}


def bits_and_seconds(job: Callable[[], np.ndarray], y: np.ndarray) -> tuple[float, float]:
    start = time.perf_counter()
    proba = job()
    return log_loss_bits(y, proba), time.perf_counter() - start


def cells(scores: Scores, peers: dict[str, Callable[[int], Any]]) -> dict[str, tuple[float, float]]:
    """Log-loss and seconds of no calibration, of each method of petiole's, and of probmetrics' ("… (p)")."""
    found = {"as they are": (log_loss_bits(scores.new_y, scores.new_proba), 0.0)}
    for name, make in OURS.items():
        found[name] = bits_and_seconds(
            lambda make=make: make().fit(scores.proba, scores.y).predict(scores.new_proba), scores.new_y
        )
    for name, make_peer in peers.items():
        peer = make_peer(scores.proba.shape[1])
        found[f"{name} (p)"] = bits_and_seconds(
            lambda peer=peer: peer.fit(scores.proba, scores.y).predict_proba(scores.new_proba), scores.new_y
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=3, help="how many times each synthetic problem is drawn")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    peers = probmetrics_makers()
    problems: dict[str, list[dict[str, tuple[float, float]]]] = {}
    for n_classes, n_rows in ((2, 300), (2, 3000), (5, 300), (5, 3000), (26, 1000), (26, 10_000)):
        for seed in range(given.seeds):
            scores = synthetic(n_classes, n_rows, seed)
            problems.setdefault(scores.name, []).append(cells(scores, peers))
    if os.environ.get("PETIOLE_DATA"):
        for scores in of_forests(given.trees):
            problems.setdefault(scores.name, []).append(cells(scores, peers))
    else:
        print("PETIOLE_DATA is not set: synthetic scores only.\n")
    show(problems)


def show(problems: dict[str, list[dict[str, tuple[float, float]]]]) -> None:
    for name, found in problems.items():
        print(f"{name}: mean of {len(found)}")
        for method in found[0]:
            if method.endswith(" (p)"):
                continue
            bits, seconds = np.mean([one[method] for one in found], axis=0)
            line = f"  {method:18} {bits:.4f} bits {seconds:6.2f} s"
            if f"{method} (p)" in found[0]:
                theirs, their_seconds = np.mean([one[f"{method} (p)"] for one in found], axis=0)
                line += f"   probmetrics {theirs:.4f} bits {their_seconds:6.2f} s   difference {bits - theirs:+.4f}"
            print(line)
    for method in PAIRS:
        differences = [
            np.mean([one[method][0] - one[f"{method} (p)"][0] for one in found])
            for found in problems.values()
            if f"{method} (p)" in found[0]
        ]
        if differences:
            mean, worst, n = np.mean(differences), max(differences), len(differences)
            within = sum(difference <= 0.002 for difference in differences)
            print(f"{method}: mean difference {mean:+.4f}, worst {worst:+.4f}, within 0.002 bits on {within} of {n}")


if __name__ == "__main__":
    main()
