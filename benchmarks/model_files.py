"""How large model files are, and how long saving and loading take, beside pickle."""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import workloads

import petiole
from petiole import BaggedPETClassifier, PETClassifier, ProbabilityForestClassifier

FOREST = {"n_estimators": 128, "max_features": "sqrt", "min_samples_leaf": 2, "random_state": 0}
MODELS = {
    "PETClassifier": PETClassifier(),
    "BaggedPETClassifier": BaggedPETClassifier(**FOREST),
    "ProbabilityForestClassifier": ProbabilityForestClassifier(**FOREST),
}


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """The best of a few runs."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        found.append(time.perf_counter() - started)
    return min(found)


def main() -> None:
    X, y = workloads.load("W1")
    print(f"{workloads.DESCRIPTIONS['W1']}; forests of {FOREST}\n")
    print("| model | file | save | load | load, verify=False | pickle | dumps | loads |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.petiole"
        for name, model in MODELS.items():
            model.fit(X, y)
            save = seconds(lambda model=model: model.save(path))
            load, unchecked = seconds(lambda: petiole.load(path)), seconds(lambda: petiole.load(path, verify=False))
            dumps, kept = seconds(lambda model=model: pickle.dumps(model)), pickle.dumps(model)
            loads = seconds(lambda kept=kept: pickle.loads(kept))
            sizes = [path.stat().st_size / 1e6, len(kept) / 1e6]
            print(
                f"| {name} | {sizes[0]:.1f} MB | {save:.2f} s | {load:.2f} s | {unchecked:.2f} s "
                f"| {sizes[1]:.1f} MB | {dumps:.2f} s | {loads:.2f} s |"
            )


if __name__ == "__main__":
    main()
