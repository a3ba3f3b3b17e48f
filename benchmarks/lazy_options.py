"""Lazy option trees beyond the paper: the effect of the child's size in the gain and of other options.

    PETIOLE_DATA=... python benchmarks/lazy_options.py --out results.jsonl
    PETIOLE_DATA=... python benchmarks/lazy_options.py --out results.jsonl --table

Data sets of at most 650 rows and 60 attributes. Random stratified splits, 2/3 to train, at most 100 of the other
rows to test. The choice of defaults was made on the half of the data sets for development (by a hash of the name;
variants of the same data go together); the other half is for the report. Every finished split is a line of the file,
and finished splits are not run again. Log-loss is in bits with probabilities floored at 0.001.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from forest_quality import FAMILIES, choose_data_sets, load_codes, read
from forest_smoothing import by_data_set, run_splits, sign_test
from real_data import descriptions
from scipy.stats import rankdata
from scores import accuracy, brier, log_loss_bits
from sklearn.model_selection import StratifiedShuffleSplit

from petiole import BaggedPETClassifier, LazyOptionTreesClassifier, ProbabilityForestClassifier

Factory = Callable[[int], Any]


def lazy(**parameters: Any) -> Factory:
    return lambda seed: LazyOptionTreesClassifier.paper(random_state=seed, **parameters)


METHODS: dict[str, Factory] = {
    "paper": lazy(),
    "paper, max_tests=1": lazy(max_tests=1),
    "paper, min_samples_leaf='auto'": lazy(min_samples_leaf="auto"),
    "paper, max_nodes=50": lazy(max_nodes=50),
    "paper, path_prior=1": lazy(path_prior=1),
    "gain_prior=1000, max_nodes=50": lazy(gain_prior=1000, max_nodes=50),
    "default": lambda seed: LazyOptionTreesClassifier(random_state=seed),
    "default, max_tests=1": lambda seed: LazyOptionTreesClassifier(max_tests=1, random_state=seed),
    "B-PETs, 30 trees": lambda seed: BaggedPETClassifier.b_pets(n_estimators=30, random_state=seed),
    "probability forest": lambda seed: ProbabilityForestClassifier(random_state=seed),
}
MEASURES = {"log_loss": "log-loss", "brier": "Brier score", "accuracy": "accuracy"}
MOST_QUERIES = 100


def part_of(name: str) -> str:
    """The half of the data sets that the choice was made on, or the other one."""
    family = name.split("-")[0]
    return ("development", "report")[zlib.crc32(FAMILIES.get(family, family).encode()) % 2]


def run_split(name: str, trial: int) -> dict[str, Any]:
    """The scores and seconds of all methods on one split of a data set."""
    warnings.simplefilter("ignore")
    frame, y = load_codes(name)
    splitter = StratifiedShuffleSplit(1, train_size=2 / 3, test_size=1 / 3, random_state=trial)
    train, test = next(splitter.split(y, y))
    test = test[:MOST_QUERIES]
    cells = {}
    for method, make in METHODS.items():
        start = time.process_time()
        proba = make(trial).fit(frame.iloc[train], y[train]).predict_proba(frame.iloc[test])
        seconds = time.process_time() - start
        scores = {"log_loss": log_loss_bits, "brier": brier, "accuracy": accuracy}
        cells[method] = {key: score(y[test], proba) for key, score in scores.items()} | {"seconds": seconds}
    return {"methods": cells}


def print_table(lines: list[dict[str, Any]], part: str) -> None:
    """Means, mean ranks and wins against the paper."""
    data_sets = by_data_set(lines)
    names = list(METHODS)

    def means(key: str) -> np.ndarray:
        return np.array([[np.mean([t["methods"][m][key] for t in trials]) for m in names] for trials in data_sets])

    values = {key: means(key) for key in MEASURES}
    seconds = means("seconds").sum(axis=0)
    ranks = np.mean([rankdata(row.round(9)) for row in values["log_loss"]], axis=0)
    print(f"\n### {part}: {len(data_sets)} data sets\n")
    print("| method | mean rank | log-loss | Brier score | accuracy | log-loss below the paper's (p) | seconds |")
    print("|---|---|---|---|---|---|---|")
    for i in np.argsort(ranks):
        cells = [f"{values[key][:, i].mean():.4f}" for key in MEASURES]
        wins = sign_test(values["log_loss"][:, 0] - values["log_loss"][:, i]) if i else ""
        print(f"| {names[i]} | {ranks[i]:.2f} | {' | '.join(cells)} | {wins} | {seconds[i]:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the file of the splits, one JSON object per line")
    parser.add_argument("--part", choices=["development", "report", "all"], default="all")
    parser.add_argument("--rows", type=int, default=650, metavar="MOST")
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--table", action="store_true", help="print the tables, run nothing")
    arguments = parser.parse_args()
    described = descriptions()
    data_sets = [
        name
        for name in choose_data_sets("all")
        if described[name].rows <= arguments.rows
        and len(described[name].kinds) <= 60
        and arguments.part in ("all", part_of(name))
    ]
    if not arguments.table:
        run_splits(run_split, data_sets, arguments.trials, arguments.out, arguments.jobs)
    lines = [line for line in read([arguments.out]) if line["data_set"] in data_sets]
    for part in ("development", "report"):
        chosen = [line for line in lines if part_of(line["data_set"]) == part and line["trial"] < arguments.trials]
        if chosen:
            print_table(chosen, part)


if __name__ == "__main__":
    main()
