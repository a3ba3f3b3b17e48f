"""Dual perturb and combine: the effect of several kinds of noise on trees and forests.

    PETIOLE_DATA=... python benchmarks/dual_noise.py --out results.jsonl
    PETIOLE_DATA=... python benchmarks/dual_noise.py --out results.jsonl --table

Random stratified splits, 2/3 to train and 1/3 to test; data sets of at most 1,500 rows. All noise is tuned on training
rows: cross-fitted for a tree, out of bag for a forest. Every finished split is a line of the file, and finished splits
are not run again. Log-loss is in bits, with probabilities floored at 0.001.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scores import accuracy, log_loss_bits
from sklearn.model_selection import StratifiedShuffleSplit

from petiole import (
    BaggedPETClassifier,
    DualPerturbCombineClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
    datasets,
)

NUMERIC = [
    "banknote",
    "breast-tissue",
    "bupa",
    "ecoli",
    "glass",
    "ionosphere",
    "iris",
    "parkinsons",
    "pima",
    "seeds",
    "sonar",
    "vehicle",
    "vowel",
    "wdbc",
    "wine",
    "yeast",
]
MIXED = [
    "australian",
    "autos",
    "cleveland",
    "cmc",
    "credit-g",
    "crx",
    "heart-c",
    "hepatitis",
    "horse-colic",
    "saheart",
    "tae",
]

MODELS: dict[str, Any] = {
    "tree": PETClassifier(),
    "bag": BaggedPETClassifier(50, random_state=0),
    "forest": BaggedPETClassifier.eb_pets(n_estimators=50, random_state=0),
    "probability forest": ProbabilityForestClassifier(100, random_state=0),
}
NOISE: dict[str, dict[str, Any]] = {
    "hard": {"noise": 0.0},
    "product": {"mode": "product"},
    "exact": {},
    "exact, by error": {"objective": "error"},
    "per attribute": {"noise": "per_attribute"},
    "nominal": {"nominal_noise": "auto"},
    "one tree": {"tune_on": "one_tree"},
    "on folds": {"tune_on": "cross_fit"},
}
# The pool is slow to tune; a tree has no other tree to be tuned on.
LEFT_OUT = {
    "tree": {"one tree", "on folds"},
    "forest": {"exact, by error"},
    "probability forest": {"product", "exact, by error", "per attribute", "one tree", "on folds"},
}


def run_split(name: str, trial: int, models: list[str]) -> dict[str, Any]:
    """The scores of all models and kinds of noise on one split."""
    warnings.simplefilter("ignore")
    X, labels, _ = datasets.load(name)
    classes, y = np.unique(labels, return_inverse=True)
    kept = np.bincount(y)[y] >= 2
    X, (classes, y) = X[kept], np.unique(labels[kept], return_inverse=True)
    splitter = StratifiedShuffleSplit(1, train_size=2 / 3, test_size=1 / 3, random_state=trial)
    train, test = next(splitter.split(y, y))
    found: dict[str, Any] = {"data": name, "trial": trial}
    for model in models:
        for kind, parameters in NOISE.items():
            if kind in LEFT_OUT.get(model, ()):
                continue
            started = time.perf_counter()
            dual = DualPerturbCombineClassifier(MODELS[model], **parameters, random_state=trial)
            dual.fit(X.iloc[train], y[train])
            proba = np.zeros((len(test), len(classes)))
            proba[:, dual.classes_] = dual.predict_proba(X.iloc[test])
            found[f"{model}/{kind}"] = {
                "log_loss": log_loss_bits(y[test], proba),
                "error": 1 - accuracy(y[test], proba),
                "noise": float(np.mean(dual.noise_)),
                "nominal": float(dual.nominal_noise_),
                "seconds": time.perf_counter() - started,
            }
    return found


def run(path: Path, n_trials: int, models: list[str]) -> None:
    done = {(line["data"], line["trial"]) for line in read(path)}
    for trial in range(n_trials):
        for name in NUMERIC + MIXED:
            if (name, trial) in done:
                continue
            found = run_split(name, trial, models)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
            print(name, trial, flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(path: Path) -> None:
    """Means over data sets, and on how many of them a kind of noise beats none and the exact one."""
    scores: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for line in read(path):
        for key, found in line.items():
            if isinstance(found, dict):
                scores[key][line["data"]].append([found["log_loss"], found["error"], found["noise"], found["nominal"]])
    means = {key: {data: np.mean(rows, axis=0) for data, rows in of.items()} for key, of in scores.items()}
    for group, names in (("numeric attributes only", NUMERIC), ("numeric and nominal", MIXED)):
        print(f"\n{group}: {len(names)} data sets\n")
        print("| model | noise | log-loss | error % | better than hard: log-loss, error | better than exact | λ | q |")
        print("|---|---|---|---|---|---|---|---|")
        for key, of in means.items():
            model, kind = key.split("/")
            rows = np.array([of[data] for data in names])
            hard = np.array([means[f"{model}/hard"][data] for data in names])
            exact = np.array([means[f"{model}/exact"][data] for data in names])
            mean = rows.mean(axis=0)
            wins, errors = (rows[:, 0] < hard[:, 0] - 1e-9).sum(), (rows[:, 1] < hard[:, 1] - 1e-9).sum()
            past = (rows[:, 0] < exact[:, 0] - 1e-9).sum()
            against = "" if kind == "hard" else f"{wins}, {errors} of {len(names)}"
            beside = "" if kind in ("hard", "exact") else f"{past} of {len(names)}"
            print(
                f"| {model} | {kind} | {mean[0]:.3f} | {100 * mean[1]:.1f} | {against} | {beside} | {mean[2]:.2f} | "
                f"{mean[3]:.2f} |"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        table(arguments.out)
    else:
        run(arguments.out, arguments.trials, arguments.models)
