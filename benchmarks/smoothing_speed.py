"""How long leaf estimators take beside growing the tree: the C4.4 trees of letter and adult.

PETIOLE_DATA=... python benchmarks/smoothing_speed.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from petiole import PETClassifier
from petiole._classifiers.base import encode_training
from petiole._tree.growing import grow_tree
from petiole._tree.plan import TreePlan
from petiole.datasets import load
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, LeafEstimator, MBranch, MEstimate

CHEAP: dict[str, LeafEstimator] = {
    "Laplace": Laplace(),
    "m-estimate": MEstimate(),
    "curtailment": Curtailment(),
    "m-branch": MBranch(),
    "HGS, ones": HGS(),
}
DEAR: dict[str, LeafEstimator] = {"HGS, loocv": HGS(alpha="loocv"), "HDP, 1000 iterations": HDP(random_state=0)}


def best_seconds(work: Callable[[], Any], repeats: int) -> float:
    """The least time of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    for name in ("letter", "adult"):
        frame, y, _ = load(name)
        model = PETClassifier.c44()
        _, training = encode_training(model, frame, y, None)

        def grow(model: PETClassifier = model, training: Any = training) -> Any:
            return grow_tree(TreePlan.of(model), training, seed=None, n_threads=1)

        growth, tree = best_seconds(grow, 5), grow()
        _ = tree.node_counts  # made once per tree, whatever the number of estimators
        print(f"\n### {name}: {tree}; growth {growth:.3f} s\n\n| estimator | s | share of growth |\n|---|---|---|")
        together = 0.0
        for label, estimator in CHEAP.items():
            seconds = best_seconds(lambda e=estimator, t=tree: e.node_probabilities(t), 10)
            together += seconds
            print(f"| {label} | {seconds:.5f} | {seconds / growth:.3f} |")
        print(f"| these together | {together:.5f} | {together / growth:.3f} |")
        for label, estimator in DEAR.items():
            seconds = best_seconds(lambda e=estimator, t=tree: e.node_probabilities(t), 2)
            print(f"| {label} | {seconds:.4f} | {seconds / growth:.2f} |")


if __name__ == "__main__":
    main()
