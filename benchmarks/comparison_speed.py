"""Times of comparisons of two models: 1,000 draws on 10,000 test rows of 10 classes.

python benchmarks/comparison_speed.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from petiole.comparison import bcost, bdelta_cost, bootstrap_difference, bootstrap_interval, friedman_nemenyi

N_ROWS, N_CLASSES = 10_000, 10
REPEATS = 7


def best_milliseconds(work: Callable[[], Any]) -> float:
    """The least processor time of several runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return 1000 * min(seconds)


def predictions(y: np.ndarray, accuracy: float, rng: np.random.Generator) -> np.ndarray:
    """Right with the given probability, else any class."""
    return np.where(rng.random(len(y)) < accuracy, y, rng.integers(N_CLASSES, size=len(y)))


def brier(y_true: np.ndarray, proba: np.ndarray, *, sample_weight: np.ndarray) -> float:
    own = proba[np.arange(len(y_true)), y_true]
    return float(np.average((proba**2).sum(axis=1) - 2 * own + 1, weights=sample_weight))


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=N_ROWS)
    cost = rng.random((N_CLASSES, N_CLASSES))
    words = np.array([f"class {k}" for k in range(N_CLASSES)])
    work: dict[str, Callable[[], Any]] = {}
    for accuracy in (0.9, 0.7, 0.0):
        one, other = predictions(y, accuracy, rng), predictions(y, accuracy, rng)
        work[f"bdelta_cost, accuracy {accuracy:g}"] = lambda a=one, b=other: bdelta_cost(y, a, b, cost, random_state=0)
    one, other = predictions(y, 0.7, rng), predictions(y, 0.7, rng)
    work["bdelta_cost, labels are strings"] = lambda: bdelta_cost(
        words[y], words[one], words[other], cost, random_state=0
    )
    work["bcost, accuracy 0.7"] = lambda: bcost(y, one, cost, random_state=0)
    p, q = (rng.dirichlet(np.ones(N_CLASSES), size=N_ROWS) for _ in range(2))
    work["bootstrap_interval of the Brier score"] = lambda: bootstrap_interval(brier, y, p, random_state=0)
    work["bootstrap_difference of the Brier score"] = lambda: bootstrap_difference(brier, y, p, q, random_state=0)
    scores = rng.random((121, 17))
    work["friedman_nemenyi, 17 methods on 121 data sets"] = lambda: friedman_nemenyi(scores)
    print("| comparison | ms |\n|---|---|")
    for name, call in work.items():
        print(f"| {name} | {best_milliseconds(call):.1f} |")


if __name__ == "__main__":
    main()
