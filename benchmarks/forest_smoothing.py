"""Smoothing in random forests: section 4.5 of the HGS paper (Zhang, Petitjean & Buntine 2020).

    PETIOLE_DATA=... python benchmarks/forest_smoothing.py --out results.jsonl --jobs 2
    PETIOLE_DATA=... python benchmarks/forest_smoothing.py --out results.jsonl --table

How many trees does a plain random forest need to beat one C4.4 tree with HGS, and does smoothing the leaves help a
forest or hurt it as trees are added? Three random stratified splits, 2/3 to train and 1/3 to test; data sets of at
most 2,000 rows. The smaller forests of a split are the first trees of the larger ones. Every finished split is a line
of the file, and finished splits are not run again. Log-loss is in bits, the Brier score is summed over the classes,
and RMSE, which the paper draws, is the root of the squared error over rows and classes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from forest_quality import choose_data_sets, load_codes, read
from real_data import descriptions
from scipy.stats import binomtest
from scores import brier, log_loss_bits, rmse
from sklearn.model_selection import StratifiedShuffleSplit

from petiole import BaggedPETClassifier, PETClassifier
from petiole.smoothing import HGS, Laplace, LeafEstimator, Raw

Scores = dict[str, float]

SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
FORESTS: dict[str, LeafEstimator] = {
    "raw": Raw(),
    "Laplace": Laplace(),
    "HGS, ones": HGS(),
    "HGS, honest": HGS(alpha="honest"),
}
TREES: dict[str, LeafEstimator] = {"HGS, ones": HGS(), "HGS, honest": HGS(alpha="honest")}
MEASURES = ("log_loss", "brier", "rmse")


def split(y: np.ndarray, trial: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows to train and to test on, 2/3 and 1/3 of each class."""
    splitter = StratifiedShuffleSplit(1, train_size=2 / 3, test_size=1 / 3, random_state=trial)
    return next(splitter.split(y, y))


def run_split(name: str, trial: int) -> dict[str, Any]:
    """One split of a data set: the scores of single trees, and of forests by estimator and number of trees."""
    warnings.simplefilter("ignore")
    frame, y = load_codes(name)
    train, test = split(y, trial)
    X, unseen = frame.iloc[train], frame.iloc[test]

    def scores(model: Any) -> Scores:
        return _scores(y[test], model.predict_proba(unseen))

    trees = {
        method: scores(PETClassifier.c44(smoothing=estimator, random_state=trial).fit(X, y[train]))
        for method, estimator in TREES.items()
    }
    forests: dict[str, dict[str, Scores]] = {method: {} for method in FORESTS}
    forest = BaggedPETClassifier.random_forest(warm_start=True, random_state=trial, n_jobs=1)
    for size in SIZES:
        forest.set_params(n_estimators=size).fit(X, y[train])
        for method, estimator in FORESTS.items():
            forests[method][str(size)] = scores(forest.with_smoothing(estimator))
    return {"trees": trees, "forests": forests}


def _scores(y: np.ndarray, proba: np.ndarray) -> Scores:
    return {"log_loss": log_loss_bits(y, proba), "brier": brier(y, proba), "rmse": rmse(y, proba)}


def run_splits(
    one: Callable[[str, int], dict[str, Any]], data_sets: list[str], trials: int, out: Path, jobs: int
) -> None:
    """Run the splits that the file does not have, trial after trial, each in one thread of one of the processes."""
    done = {(line["data_set"], line["trial"]) for line in read([out])}
    tasks = [(name, trial) for trial in range(trials) for name in data_sets if (name, trial) not in done]
    # The libraries read these when they are imported, which is why the processes are not forked.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    start = time.perf_counter()
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool, out.open("a") as file:
        futures = {pool.submit(one, *task): task for task in tasks}
        for i, future in enumerate(as_completed(futures), start=1):
            name, trial = futures[future]
            file.write(json.dumps({"data_set": name, "trial": trial} | future.result()) + "\n")
            file.flush()
            print(f"{i}/{len(tasks)} trial {trial} {name}, {time.perf_counter() - start:.0f} s", flush=True)


def by_data_set(lines: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The trials of each data set."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        found[line["data_set"]].append(line)
    return list(found.values())


def sign_test(gains: np.ndarray) -> str:
    """Wins-draws-losses, and p of the two-tailed sign test."""
    wins, losses = int((gains.round(6) > 0).sum()), int((gains.round(6) < 0).sum())
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return f"{wins}-{len(gains) - wins - losses}-{losses} ({p:.2g})"


def print_tables(lines: list[dict[str, Any]]) -> None:
    """Means by number of trees, and on how many data sets the forest beats one tree and smoothing helps the forest."""
    data_sets = by_data_set(lines)
    numbers = [len(trials) for trials in data_sets]
    print(f"{len(data_sets)} data sets, {min(numbers)} to {max(numbers)} splits of each")
    for measure in MEASURES:
        forests = {
            method: np.array(
                [
                    [np.mean([t["forests"][method][str(n)][measure] for t in trials]) for n in SIZES]
                    for trials in data_sets
                ]
            )
            for method in FORESTS
        }
        trees = {
            method: np.array([np.mean([t["trees"][method][measure] for t in trials]) for trials in data_sets])
            for method in TREES
        }
        print(f"\n### {measure}: means over the data sets\n\n| trees | {' | '.join(FORESTS)} |")
        print("|---|" + "---|" * len(FORESTS))
        single = [f"{trees[method].mean():.4f}" if method in trees else "" for method in FORESTS]
        print(f"| one C4.4 tree | {' | '.join(single)} |")
        for i, size in enumerate(SIZES):
            print(f"| {size} | {' | '.join(f'{values[:, i].mean():.4f}' for values in forests.values())} |")
        smoothed = [method for method in FORESTS if method != "raw"]
        print(f"\n### {measure}: wins-draws-losses of the forest (p of the two-tailed sign test)\n")
        columns = [f"raw beats one tree, {method}" for method in TREES] + [f"{m} beats raw" for m in smoothed]
        print(f"| trees | {' | '.join(columns)} |\n|---|" + "---|" * len(columns))
        for i, size in enumerate(SIZES):
            raw = forests["raw"][:, i]
            cells = [sign_test(values - raw) for values in trees.values()]
            cells += [sign_test(raw - forests[method][:, i]) for method in smoothed]
            print(f"| {size} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the file of the splits, one JSON object per line")
    parser.add_argument("--datasets", nargs="+", metavar="NAME")
    parser.add_argument("--part", choices=["development", "report", "all"], default="all")
    parser.add_argument("--rows", type=int, default=2000, metavar="MOST")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--table", action="store_true", help="print the tables, run nothing")
    arguments = parser.parse_args()
    described = descriptions()
    data_sets = arguments.datasets or [
        name for name in choose_data_sets(arguments.part) if described[name].rows <= arguments.rows
    ]
    if not arguments.table:
        run_splits(run_split, data_sets, arguments.trials, arguments.out, arguments.jobs)
    lines = [x for x in read([arguments.out]) if x["data_set"] in data_sets and x["trial"] < arguments.trials]
    if not lines:
        parser.error(f"--table: {arguments.out} has none of these splits")
    print_tables(lines)


if __name__ == "__main__":
    main()
