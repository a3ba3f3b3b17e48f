"""Speed of dual perturb and combine: soft prediction, compared with hard prediction and with drawn perturbations.

    python benchmarks/dual_speed.py

One core, the best of several runs in processor time. W1: the tree is grown with information gain until leaves hold two
rows; all 100,000 training rows are predicted. The drawn perturbations are those of mode "monte_carlo".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from workloads import load

from petiole import (
    BaggedPETClassifier,
    DualPerturbCombineClassifier,
    MOBESPClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole._dual.model import Noise
from petiole._dual.noise import TOLERANCE

LEVELS = (0.05, 0.1, 0.2, 0.5, 1.0, 3.0)
N_DRAWN = 200


def seconds(work: Callable[[], Any], n_runs: int) -> float:
    """The least processor time of several runs."""
    found = []
    for _ in range(n_runs):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def one_tree(name: str, tree: PETClassifier) -> None:
    X, y = load("W1")
    model = DualPerturbCombineClassifier(tree, noise=0.1).fit(X, y)
    fitted = model.estimator_
    print(f"\n{name}: {fitted.tree_.n_leaves:,} leaves, depth {fitted.tree_.depth}\n")
    hard = seconds(lambda: fitted.predict_proba(X), 60)
    few_drawn = Noise(0.1, 0.0, "monte_carlo", n_perturbations=10)
    drawn = N_DRAWN / 10 * seconds(lambda: model.model_.answer(X, few_drawn), 5)
    print(f"hard {hard:.4f} s; {N_DRAWN} drawn perturbations {drawn:.2f} s\n")
    print("| λ | mode | seconds | times hard | of drawn | leaves per row | largest error by cutting |")
    print("|---|---|---|---|---|---|---|")
    for level in LEVELS:
        for mode in ("exact", "product"):
            noise = Noise(level, 0.0, mode)
            found = seconds(lambda noise=noise: model.model_.answer(X, noise), 9 if level < 0.3 else 1)
            few = X[:1000]
            cut = model.model_.answer(few, noise)
            whole = model.model_.answer(few, Noise(level, 0.0, mode, tolerance=0.0))
            leaves = model.set_params(noise=level, mode=mode).leaf_weights(few).nnz / len(few)
            print(
                f"| {level} | {mode} | {found:.3f} | {found / hard:.1f} | {found / drawn:.3f} | {leaves:.0f} | "
                f"{np.abs(cut - whole).max():.1e} |"
            )
    print(f"\nThe bound on the error is {TOLERANCE:g}.")


def ensembles() -> None:
    X, y = load("W1")
    X, y = X[:20_000], y[:20_000]
    print("\nEnsembles of 50 trees on 20,000 rows of W1, 2,000 rows predicted with λ = 0.1\n")
    print("| ensemble | hard s | soft s | times hard | tuning λ s |")
    print("|---|---|---|---|---|")
    models = {
        "B-PETs": BaggedPETClassifier(50, random_state=0),
        "EB-PETs": BaggedPETClassifier.eb_pets(n_estimators=50, random_state=0),
        "MOB-ESP": MOBESPClassifier(50, random_state=0),
        "probability forest": ProbabilityForestClassifier(50, random_state=0),
    }
    for name, estimator in models.items():
        model = DualPerturbCombineClassifier(estimator, noise=0.1).fit(X, y)
        hard = seconds(lambda model=model: model.estimator_.predict_proba(X[:2000]), 5)
        soft = seconds(lambda model=model: model.predict_proba(X[:2000]), 3)
        fit = seconds(lambda estimator=estimator: DualPerturbCombineClassifier(estimator, noise=0.1).fit(X, y), 1)
        tuned = seconds(lambda estimator=estimator: DualPerturbCombineClassifier(estimator).fit(X, y), 1)
        print(f"| {name} | {hard:.4f} | {soft:.4f} | {soft / hard:.1f} | {tuned - fit:.1f} |")


if __name__ == "__main__":
    one_tree("Information gain", PETClassifier())
    one_tree("C4.4", PETClassifier.c44())
    ensembles()
