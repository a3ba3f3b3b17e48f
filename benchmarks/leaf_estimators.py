"""The leaf estimators side by side on one C4.4 tree per fold, on the data sets of the data folder.

    PETIOLE_DATA=... python benchmarks/leaf_estimators.py --jobs 2 --out results.json

10-fold cross-validation, stratified. For every data set and estimator: log-loss in bits (probabilities floored at
0.001), RMSE as in the HGS paper (the root of the squared error over rows and classes), 0-1 loss, and seconds. Prints
mean ranks and, in the form of the paper's tables, wins-draws-losses with a two-tailed sign test.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from real_data import descriptions
from scipy.stats import binomtest, rankdata
from sklearn.model_selection import StratifiedKFold

from petiole import PETClassifier, Tree
from petiole._classifiers.base import encode_training
from petiole._table.rows import EncodedRows
from petiole._tree.growing import grow_tree
from petiole._tree.held_out import cross_fit
from petiole._tree.plan import TreePlan
from petiole._tree.traversal import average
from petiole.datasets import load
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, LeafEstimator, MBranch, MEstimate, Raw

ESTIMATORS: dict[str, LeafEstimator] = {
    "raw": Raw(),
    "Laplace": Laplace(),
    "m-estimate, m=1, uniform": MEstimate(m=1.0, base_rate="uniform"),
    "m-estimate, bm=10": MEstimate(),
    "m-estimate, cv": MEstimate(m="cv"),
    "m-estimate, honest": MEstimate(m="honest"),
    "curtailment, bv=10": Curtailment(),
    "smoothed curtailment": Curtailment(smoothing=MEstimate()),
    "m-branch, M=1": MBranch(M=1),
    "m-branch, M=4": MBranch(M=4),
    "m-branch, honest": MBranch(M="honest"),
    "HDP": HDP(random_state=0),
    "HGS, ones": HGS(),
    "HGS, gd": HGS(alpha="gd"),
    "HGS, loocv": HGS(alpha="loocv"),
    "HGS, cv": HGS(alpha="cv"),
    "HGS, honest": HGS(alpha="honest"),
}
FLOOR = 1e-3
MEASURES = ("log_loss", "rmse", "zero_one")


def run_data_set(name: str) -> dict[str, Any]:
    """All estimators on one data set: a dict of measures per estimator."""
    warnings.simplefilter("ignore")
    frame, y, _ = load(name)
    codes = np.unique(y, return_inverse=True)[1]
    n, n_classes = len(y), codes.max() + 1
    proba = {method: np.zeros((n, n_classes)) for method in ESTIMATORS}
    seconds = dict.fromkeys([*ESTIMATORS, "growth", "cross-fitting"], 0.0)
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(codes, codes)
    for train, test in folds:
        encoder, training = encode_training(PETClassifier.c44(), frame.iloc[train], codes[train], None)
        matrix, columns = encoder.transform(frame.iloc[test]), training.classes
        start = time.perf_counter()
        tree = _grow(training)
        seconds["growth"] += time.perf_counter() - start
        start = time.perf_counter()
        held_out = cross_fit(training, _grow, np.random.default_rng(0))
        seconds["cross-fitting"] += time.perf_counter() - start
        for method, estimator in ESTIMATORS.items():
            start = time.perf_counter()
            table = estimator.learned(held_out).node_probabilities(tree)
            seconds[method] += time.perf_counter() - start
            proba[method][np.ix_(test, columns)] = average(tree, matrix, table)
    return {"name": name, "n": n, "K": int(n_classes), "seconds": seconds} | {
        "measures": {method: _measures(p, codes) for method, p in proba.items()}
    }


def _grow(training: EncodedRows) -> Tree:
    return grow_tree(TreePlan.of(PETClassifier.c44()), training, seed=None, n_threads=1)


def _measures(proba: np.ndarray, y: np.ndarray) -> dict[str, float]:
    truth = np.zeros_like(proba)
    truth[np.arange(len(y)), y] = 1.0
    return {
        "log_loss": float(-np.log2(np.maximum(proba[np.arange(len(y)), y], FLOOR)).mean()),
        "rmse": float(np.sqrt(((proba - truth) ** 2).mean())),
        "zero_one": float((proba.argmax(axis=1) != y).mean()),
    }


def choose_data_sets(least_rows: int, most_rows: int) -> list[str]:
    """Data sets of a size, without duplicates of one another, where every class can be in two folds."""
    skipped = {"coil2000-test", "coil2000-train", "kdd98-sample"}
    return [
        name for name, about in descriptions().items() if least_rows <= about.rows <= most_rows and name not in skipped
    ]


def print_summary(results: list[dict[str, Any]], reference: str = "HGS, honest") -> None:
    """Mean values, mean ranks, and wins-draws-losses of the reference against every other estimator."""
    methods = list(ESTIMATORS)
    print(f"\n{len(results)} data sets\n")
    for measure in MEASURES:
        values = np.array([[r["measures"][m][measure] for m in methods] for r in results])
        ranks = np.array([rankdata(row.round(9)) for row in values])
        print(f"\n### {measure}\n\n| estimator | mean | mean rank | {reference}: wins-draws-losses | p |")
        print("|---|---|---|---|---|")
        for i in np.argsort(ranks.mean(axis=0)):
            wins, draws, losses, p = _compare(values[:, methods.index(reference)], values[:, i])
            against = "" if methods[i] == reference else f"{wins}-{draws}-{losses} | {p:.3g}"
            print(f"| {methods[i]} | {values[:, i].mean():.4f} | {ranks[:, i].mean():.2f} | {against or '|'} |")
    growth = sum(r["seconds"]["growth"] for r in results)
    print("\n| estimator | seconds relative to growing the tree |\n|---|---|")
    for name in ["cross-fitting", *methods]:
        print(f"| {name} | {sum(r['seconds'][name] for r in results) / growth:.3f} |")


# Zhang, Petitjean & Buntine (2020), Tables 1 and 2: 143 data sets. Their m-branch is M = 1, their HGS our "gd".
PAPER = {
    "raw": ("108-2-33", "69-22-52", 0.2596, 0.2093),
    "Laplace": ("111-4-28", "68-22-53", 0.2499, 0.2093),
    "m-estimate, m=1, uniform": ("98-4-41", "66-23-54", 0.2485, 0.2068),
    "m-branch, M=1": ("96-3-44", "59-32-52", 0.2428, 0.2062),
    "HDP": ("92-1-50", "64-21-58", 0.2436, 0.2078),
    "HGS, gd": ("", "", 0.2410, 0.2059),
}


def print_beside_the_paper(results: list[dict[str, Any]]) -> None:
    """The paper's two tables with ours beside them."""
    print("\n### Beside the paper\n\nWins-draws-losses of HGS (gd), and means; the paper's figure first, then ours.\n")
    print("| estimator | RMSE | 0-1 loss | mean RMSE | mean 0-1 loss |\n|---|---|---|---|---|")
    for method, (rmse, zero_one, mean_rmse, mean_zero_one) in PAPER.items():
        cells = []
        for measure, published in (("rmse", rmse), ("zero_one", zero_one)):
            ours = np.array([r["measures"]["HGS, gd"][measure] for r in results])
            theirs = np.array([r["measures"][method][measure] for r in results])
            wins, draws, losses, p = _compare(ours, theirs)
            found = f"{published}; {wins}-{draws}-{losses}{' *' if p <= 0.05 else ''}"
            cells.append(found if published else "")
        for measure, published in (("rmse", mean_rmse), ("zero_one", mean_zero_one)):
            cells.append(f"{published:.4f}; {np.mean([r['measures'][method][measure] for r in results]):.4f}")
        print(f"| {method} | {' | '.join(cells)} |")
    print("\n\\* ours significant at 0.05 by the two-tailed sign test")


def _compare(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int, int, float]:
    difference = (ours - theirs).round(6)
    wins, losses = int((difference < 0).sum()), int((difference > 0).sum())
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return wins, len(difference) - wins - losses, losses, p


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=int, nargs=2, default=(100, 5000), metavar=("LEAST", "MOST"))
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--out", type=Path, help="write the results to this file")
    parser.add_argument("--results", type=Path, help="print the tables of a file written before, run nothing")
    arguments = parser.parse_args()
    if arguments.results:
        results = json.loads(arguments.results.read_text())
        print_beside_the_paper(results)
        print_summary(results)
        return
    names = arguments.datasets or choose_data_sets(*arguments.rows)
    results = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for i, result in enumerate(pool.map(run_data_set, names), start=1):
            results.append(result)
            print(f"\r{i}/{len(names)} {result['name']:<30}", end="", flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1))
    print_beside_the_paper(results)
    print_summary(results)


if __name__ == "__main__":
    main()
