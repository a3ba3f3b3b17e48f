"""Forests' class probabilities side by side on real data sets: log-loss, Brier score, ECE, AULC, accuracy and seconds.

    PETIOLE_DATA=... python benchmarks/forest_quality.py --out results.jsonl --jobs 2
    PETIOLE_DATA=... python benchmarks/forest_quality.py --out results.jsonl --table --part report

Ten random stratified splits, 2/3 to train and 1/3 to test. Every finished cell (data set, trial, method) is a line of
the file, and finished cells are not run again. The data sets are divided once and for all: choices are made on
the "development" ones, figures are given for the "report" ones. One thread per process.

All methods have their defaults but for YDF's winner_take_all, which is off: with votes in place of averaged leaf
distributions its probabilities are worse, and it is probabilities that are compared. YDF's default is 300 trees,
scikit-learn's 100.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import multiprocessing
import os
import sys
import time
import traceback
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from real_data import descriptions
from scipy.stats import binomtest, rankdata
from scores import accuracy, aulc, brier, ece, log_loss_bits
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from petiole.datasets import load
from petiole.experiments._data.which_method import FAMILIES

LEAST_CLASS_SIZE = 8  # five rows of each class are left to train on, as calibration in five folds needs
LEAST_ROWS, MOST_ROWS, MOST_ATTRIBUTES, MOST_CLASSES = 100, 5_500, 300, 60
LEAF_SIZES = (1, 2, 3, 5, 10, 20)
SCORES = {"log_loss": -1, "brier": -1, "ece": -1, "aulc": 1, "accuracy": 1}  # the sign: whether more is better


class Classifier(Protocol):
    """The interface of a method."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Any: ...
    def predict_proba(self, X: pd.DataFrame) -> np.ndarray: ...


class RememberingForest(RandomForestClassifier):
    """A forest that is not fitted twice to the same rows: calibrations of one split share their forests.

    `seconds_saved` is the time of the omitted fits when they were first made.
    """

    remembered: dict[str, tuple[dict[str, Any], float]] = {}  # noqa: RUF012
    seconds_saved = 0.0

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> RememberingForest:
        if sample_weight is not None:
            return super().fit(X, y, sample_weight)
        digest = hashlib.sha256(repr((X.shape, sorted(self.get_params().items()))).encode())
        digest.update(np.ascontiguousarray(X).tobytes())
        digest.update(np.ascontiguousarray(y).tobytes())
        key = digest.hexdigest()
        if key in self.remembered:
            fitted, seconds = self.remembered[key]
            self.__dict__.update(fitted)
            RememberingForest.seconds_saved += seconds
            return self
        start = time.perf_counter()
        super().fit(X, y)
        self.remembered[key] = dict(self.__dict__), time.perf_counter() - start
        return self


class LeafTunedForest(RandomForestClassifier):
    """A random forest with the minimum leaf size that has the least out-of-bag log-loss; no refit is needed."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> LeafTunedForest:
        best, least = self.__dict__, np.inf
        for size in LEAF_SIZES:
            forest = RandomForestClassifier(
                min_samples_leaf=size, oob_score=True, random_state=self.random_state, n_jobs=1
            ).fit(X, y, sample_weight)
            proba = forest.oob_decision_function_
            drawn = ~np.isnan(proba).any(axis=1) & (proba.sum(axis=1) > 0)
            loss = log_loss_bits(np.searchsorted(forest.classes_, y)[drawn], proba[drawn])
            if loss < least:
                best, least = forest.__dict__, loss
        self.__dict__.update(best)
        return self


class CategoryBoosting:
    """HistGradientBoostingClassifier with nominal columns as categories, as ordinals if there are more than 255."""

    def __init__(self, seed: int) -> None:
        self.model = HistGradientBoostingClassifier(random_state=seed)

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> CategoryBoosting:
        self.columns = X.columns[X.notna().any()]  # it raises an error for columns with only missing values
        X = X[self.columns]
        self.types = {name: pd.CategoricalDtype(np.unique(X[name].dropna().astype(object))) for name in nominal(X)}
        self.model.fit(self._encode(X), y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.predict_proba(self._encode(X))

    def _encode(self, X: pd.DataFrame) -> pd.DataFrame:
        columns = {}
        for name, kind in self.types.items():
            # Values that were not in the training rows become missing ones.
            codes = pd.Index(kind.categories).get_indexer(X[name].astype(object))
            if len(kind.categories) <= 255:
                columns[name] = pd.Series(pd.Categorical.from_codes(codes, dtype=kind), index=X.index)
            else:
                columns[name] = pd.Series(np.where(codes < 0, np.nan, codes), index=X.index)
        return X[self.columns].assign(**columns)


class YggdrasilForest:
    """YDF's random forest on the frame as it is; its probabilities in the order of the class codes."""

    def __init__(self, seed: int) -> None:
        import ydf

        ydf.verbose(0)
        logging.getLogger("absl").setLevel("ERROR")  # it warns of nominal values that look like numbers
        self.learner = ydf.RandomForestLearner(
            label="class", winner_take_all=False, compute_oob_performances=False, num_threads=1, random_seed=seed
        )

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> YggdrasilForest:
        self.model = self.learner.train(self._encode(X).assign(**{"class": y.astype(str)}))
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        found = self.model.predict(self._encode(X))  # in single precision, which the scores allow for
        if found.ndim == 1:  # two classes: the probability of the second
            found = np.stack([1 - found.astype(float), found.astype(float)], axis=1)
        return found[:, np.argsort([int(code) for code in self.model.label_classes()])]

    @staticmethod
    def _encode(X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: X[name].astype(object).fillna("") for name in nominal(X)})


def nominal(X: pd.DataFrame) -> list[str]:
    """The nominal columns."""
    return [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]


def one_hot(model: Any) -> Pipeline:
    """scikit-learn's forests need numbers: nominal columns one-hot, a missing value being one of the values.

    Missing numbers stay as they are, the forests deal with them.
    """
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(
        make_column_transformer((encoder, make_column_selector(dtype_exclude="number")), remainder="passthrough"), model
    )


def calibrated(method: str, seed: int) -> Pipeline:
    return one_hot(CalibratedClassifierCV(RememberingForest(random_state=seed, n_jobs=1), method=method, cv=5))


def petiole(name: str, preset: str | None = None) -> Callable[[int], Classifier]:
    """The factory of a class of petiole, which is not imported before it is needed."""

    def make(seed: int) -> Classifier:
        import petiole as package

        cls = getattr(package, name)
        return (getattr(cls, preset) if preset else cls)(random_state=seed, n_jobs=1)

    return make


PEERS: dict[str, Callable[[int], Classifier]] = {
    "RF": lambda seed: one_hot(RandomForestClassifier(random_state=seed, n_jobs=1)),
    "RF, leaf tuned": lambda seed: one_hot(LeafTunedForest(random_state=seed)),
    "RF isotonic": lambda seed: calibrated("isotonic", seed),
    "RF sigmoid": lambda seed: calibrated("sigmoid", seed),
    "RF temperature": lambda seed: calibrated("temperature", seed),
    "YDF": YggdrasilForest,
    "HistGB": CategoryBoosting,
}
METHODS = PEERS | {
    "petiole forest": petiole("ProbabilityForestClassifier"),
    "MOB-ESP": petiole("MOBESPClassifier"),
    "EB-PETs": petiole("BaggedPETClassifier", "eb_pets"),
    "B-PETs": petiole("BaggedPETClassifier", "b_pets"),
}


def part_of(name: str) -> str:
    """Whether a data set is for development or for the report; variants of the same data go together."""
    family = name.split("-")[0]
    return "development" if zlib.crc32(FAMILIES.get(family, family).encode()) % 5 < 2 else "report"


def choose_data_sets(part: str = "all") -> list[str]:
    """The data sets of a part, small ones first."""
    chosen = []
    for name, about in descriptions().items():
        large_classes = [count for count in about.class_counts.values() if count >= LEAST_CLASS_SIZE]
        fits = (
            LEAST_ROWS <= about.rows <= MOST_ROWS
            and len(about.kinds) <= MOST_ATTRIBUTES
            and len(about.classes) <= MOST_CLASSES
            and len(large_classes) >= 2
        )
        if fits and part in ("all", part_of(name)):
            chosen.append((about.rows, name))
    return [name for _, name in sorted(chosen)]


def load_codes(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A data set as (frame, class codes), without the rows of classes that are too small."""
    frame, labels, _ = load(name)
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = counts[codes] >= LEAST_CLASS_SIZE
    return frame[kept].reset_index(drop=True), np.unique(codes[kept], return_inverse=True)[1]


def run_split(name: str, trial: int, methods: Iterable[str], out: Path) -> int:
    """Some methods on one split of a data set, each appended to the file when it is finished; how many failed."""
    warnings.simplefilter("ignore")
    RememberingForest.remembered.clear()
    frame, y = load_codes(name)
    splitter = StratifiedShuffleSplit(1, train_size=2 / 3, test_size=1 / 3, random_state=trial)
    train, test = next(splitter.split(y, y))
    failures = 0
    for method in methods:
        try:
            cell = run_cell(method, trial, frame.iloc[train], y[train], frame.iloc[test], y[test])
        except Exception:
            failures += 1
            print(f"{name}, trial {trial}, {method}:\n{traceback.format_exc(limit=-3)}", file=sys.stderr, flush=True)
            continue
        with out.open("a") as file:
            file.write(json.dumps({"data_set": name, "trial": trial, "method": method} | cell) + "\n")
    return failures


def run_cell(
    method: str, seed: int, X: pd.DataFrame, y: np.ndarray, test_X: pd.DataFrame, test_y: np.ndarray
) -> dict[str, float]:
    """The scores and seconds of one method on one split."""
    counts = np.bincount(y)
    model = METHODS[method](seed)
    RememberingForest.seconds_saved = 0.0
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    proba = np.asarray(model.predict_proba(test_X))
    predicted = time.perf_counter()
    if proba.shape != (len(test_y), len(counts)) or not np.allclose(proba.sum(axis=1), 1, atol=1e-4):
        raise ValueError(f"{proba.shape} probabilities that are not one distribution per row")
    return {
        "log_loss": log_loss_bits(test_y, proba),
        "brier": brier(test_y, proba),
        "ece": ece(test_y, proba),
        "aulc": aulc(test_y, proba, counts / counts.sum()),
        "accuracy": accuracy(test_y, proba),
        "fit_seconds": fitted - start + RememberingForest.seconds_saved,
        "predict_seconds": predicted - fitted,
    }


def run(data_sets: list[str], trials: int, methods: list[str], out: Path, jobs: int) -> None:
    """Run the cells that the file does not have, trial after trial."""
    done = {(cell["data_set"], cell["trial"], cell["method"]) for cell in read([out])}
    tasks = []
    for trial in range(trials):
        for name in data_sets:
            missing = [method for method in methods if (name, trial, method) not in done]
            if missing:
                tasks.append((name, trial, missing, out))
    # The libraries read these when they are imported, which is why the processes are not forked.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    start, failures = time.perf_counter(), 0
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(run_split, *task): task[:2] for task in tasks}
        for i, future in enumerate(as_completed(futures), start=1):
            failures += future.result()
            name, trial = futures[future]
            seconds = time.perf_counter() - start
            print(f"{i}/{len(tasks)} trial {trial} {name}, {failures} failures, {seconds:.0f} s", flush=True)


def read(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The cells of some files."""
    return [json.loads(line) for path in paths if path.exists() for line in path.read_text().splitlines() if line]


def print_tables(cells: list[dict[str, Any]], methods: list[str], reference: str, verbose: bool) -> None:
    """Mean ranks, comparisons with the reference and seconds.

    Of each data set the trials that all methods have; data sets without such a trial are left out.
    """
    found: dict[str, dict[int, dict[str, dict[str, float]]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        if cell["method"] in methods:
            found[cell["data_set"]][cell["trial"]][cell["method"]] = cell
    common = {
        name: [by_method for by_method in trials.values() if len(by_method) == len(methods)]
        for name, trials in found.items()
    }
    common = {name: trials for name, trials in common.items() if trials}
    if not common:
        raise SystemExit("no data set has a trial that all these methods have: " + "; ".join(methods))
    numbers = [len(trials) for trials in common.values()]
    print(f"{len(common)} data sets, {min(numbers)} to {max(numbers)} trials of each")

    def means(score: str) -> np.ndarray:
        return np.array([[np.mean([t[m][score] for t in trials]) for m in methods] for trials in common.values()])

    values = {score: means(score) for score in SCORES}
    if verbose:
        for score in SCORES:
            print(f"\n### {score}\n\n| data set | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 1)}")
            for name, row in zip(common, values[score], strict=True):
                print(f"| {name} | {' | '.join(f'{value:.4f}' for value in row)} |")
    print(f"\n### Mean ranks\n\n| method | {' | '.join(SCORES)} |\n|{'---|' * (len(SCORES) + 1)}")
    ranks = {
        score: np.array([rankdata((-sign * row).round(9)) for row in values[score]]).mean(axis=0)
        for score, sign in SCORES.items()
    }
    for i in np.argsort(ranks["log_loss"]):
        print(f"| {methods[i]} | {' | '.join(f'{ranks[score][i]:.2f}' for score in SCORES)} |")
    print(f"\n### Means\n\n| method | {' | '.join(SCORES)} |\n|{'---|' * (len(SCORES) + 1)}")
    for i in np.argsort(ranks["log_loss"]):
        print(f"| {methods[i]} | {' | '.join(f'{values[score][:, i].mean():.4f}' for score in SCORES)} |")
    if reference not in methods:
        print(f"\n{reference} is not among the methods: nothing to compare with")
        return
    ours = methods.index(reference)
    print(f"\n### {reference}: wins-draws-losses (p of the two-tailed sign test)\n")
    print(f"| against | {' | '.join(SCORES)} |\n|{'---|' * (len(SCORES) + 1)}")
    for i, method in enumerate(methods):
        if i != ours:
            compared = [
                _compare(sign * (values[score][:, ours] - values[score][:, i])) for score, sign in SCORES.items()
            ]
            print(f"| {method} | {' | '.join(compared)} |")
    seconds = {
        part: [sum(t[m][part] for ts in common.values() for t in ts) for m in methods]
        for part in ("fit_seconds", "predict_seconds")
    }
    print(f"\n### Seconds\n\n| method | fit | ratio to {reference} | predict | ratio |\n|---|---|---|---|---|")
    for i, method in enumerate(methods):
        columns = (f"{total[i]:.1f} | {total[i] / total[ours]:.2f}" for total in seconds.values())
        print(f"| {method} | {' | '.join(columns)} |")


def _compare(gains: np.ndarray) -> str:
    wins, losses = int((gains.round(6) > 0).sum()), int((gains.round(6) < 0).sum())
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return f"{wins}-{len(gains) - wins - losses}-{losses} ({p:.2g})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="the file of the cells, one JSON object per line")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help='names, or "peers" for all but petiole\'s')
    parser.add_argument("--datasets", nargs="+", metavar="NAME")
    parser.add_argument("--part", choices=["development", "report", "all"], default="all")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--list", action="store_true", help="print the data sets of both parts, run nothing")
    parser.add_argument("--table", action="store_true", help="print the tables, run nothing")
    parser.add_argument("--results", type=Path, nargs="+", default=[], help="more files of cells for --table")
    parser.add_argument("--against", default="petiole forest", metavar="METHOD", help="whose wins --table counts")
    parser.add_argument("--verbose", action="store_true", help="with --table: the scores of each data set too")
    arguments = parser.parse_args()
    if arguments.list:
        for part in ("development", "report"):
            names = choose_data_sets(part)
            print(f"{part}, {len(names)}: {' '.join(names)}")
        return
    methods = arguments.methods
    if methods == ["peers"]:
        methods = list(PEERS)
    unknown = set(methods or []) - set(METHODS)
    if unknown:
        parser.error(f"methods: {'; '.join(sorted(unknown))} are not among {'; '.join(METHODS)}")
    if arguments.out is None and not (arguments.table and arguments.results):
        parser.error("--out: name a file")
    data_sets = arguments.datasets or choose_data_sets(arguments.part)
    if arguments.table:
        files = [*([arguments.out] if arguments.out else []), *arguments.results]
        cells = [c for c in read(files) if c["data_set"] in data_sets and c["trial"] < arguments.trials]
        there = {cell["method"] for cell in cells}
        print_tables(cells, methods or [m for m in METHODS if m in there], arguments.against, arguments.verbose)
        return
    run(data_sets, arguments.trials, methods or list(METHODS), arguments.out, arguments.jobs)


if __name__ == "__main__":
    main()
