"""Forests of several libraries: every library in a process of its own, pinned to two cores, in one run.

    python benchmarks/forest_speed.py                     # all workloads, all libraries but xgboost
    python benchmarks/forest_speed.py --workloads W1 letter --rounds 9 --out forest_speed.json
    python benchmarks/forest_speed.py --workloads wdbc letter --trees 4 --rounds 1     # a trial in a minute
    python benchmarks/forest_speed.py --busy              # one thread and processor time, while others use the machine

The libraries take turns: each fits once in a round, so that changes of the machine's speed affect all of them
equally. Prints a table in Markdown for each workload: seconds to fit (the least of the rounds; slow peers take part in
the first round only on W1 and W3), to predict up to 100,000 rows (likewise, three turns a round after a warm-up),
microseconds for one row (the median of 40 calls, the least of the rounds), the size of the pickle, the memory that the
first fit adds. A ratio is the median over rounds of the time over that of petiole's exact forest in the same round.
All forests have 128 trees, 10 on W3, fully grown on bootstrap samples with at least two rows in a leaf, the
Gini index, and the square root of the attributes at each node, rounded up, as petiole does; two threads. Differences
that remain:

- EB-PETs and MOB-ESP draw stratified samples and count every row once. The ratio of EB-PETs is the cost of that and of
  counting the rows outside the samples.
- The probability forest has its own defaults: entropy, single rows in leaves, half of the trees on random attributes.
- scikit-learn asks for two different rows in a leaf, petiole for two that may be copies of one: larger trees.
- YDF has no Gini index; its criterion is the entropy. Where its fast engine refuses the trees, the slow one predicts.
- xgboost draws 63.2 % of the rows without replacement, bins to 256, and grows a tree for each class. It is measured
  only if --libraries names it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from single_tree import PeakMemory

if TYPE_CHECKING:
    import numpy as np

Measures = dict[str, list[Any]]  # what was measured, turn by turn
Fit = Callable[[Any, Any], Any]
Predict = Callable[[Any, Any], Any]

THREADS = 2
CLOCK = time.perf_counter
BASELINE = "petiole, exact"
LIBRARIES = [
    BASELINE,
    "petiole, 255 bins",
    "petiole, EB-PETs",
    "petiole, MOB-ESP",
    "petiole, probability forest",
    "scikit-learn",
    "intelex, 256 bins",
    "YDF",
]
OPTIONAL = ["xgboost"]
WORKLOADS = ["W1", "letter", "W3", "wdbc"]
# These fit once on the large workloads, whatever the rounds.
SLOW = {"scikit-learn", "YDF", "xgboost"}
LARGE = {"W1", "W3"}
# Before every turn: threads of the library before may still be spinning, in wait for more work.
PAUSE = 0.3
# One-row calls stop after this time; at least ten are made.
MOST_SECONDS_FOR_ONE_ROW = 2.0


def load_workload(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A workload as (X, y): X float32 and C-ordered, y whole numbers from 0."""
    import numpy as np
    from workloads import load

    if name != "wdbc":
        return load("W2" if name == "letter" else name)
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return np.ascontiguousarray(X, dtype=np.float32), y.astype(np.int32)


def describe(name: str) -> str:
    from workloads import DESCRIPTIONS

    if name == "wdbc":
        return "569 x 30, 2 classes"
    return DESCRIPTIONS["W2" if name == "letter" else name].removeprefix(f"{name}: ")


def make(library: str, n_trees: int, n_features: int, n_classes: int) -> tuple[Fit, Predict]:
    """The fit and the predict function of a library."""
    drawn = math.ceil(math.sqrt(n_features))
    if library.startswith("petiole"):
        model = _petiole(library, n_trees)
        return model.fit, _predict_proba
    if library == "scikit-learn":
        from sklearn.ensemble import RandomForestClassifier

        model = RandomForestClassifier(
            n_estimators=n_trees, max_features=drawn, min_samples_leaf=2, random_state=0, n_jobs=THREADS
        )
        return model.fit, _predict_proba
    if library == "intelex, 256 bins":
        return _intelex(n_trees, drawn)
    if library == "YDF":
        return _ydf(n_trees, drawn)
    if library == "xgboost":
        return _xgboost(n_trees, drawn / n_features, n_classes)
    raise ValueError(f"library {library!r}: must be one of {', '.join(LIBRARIES + OPTIONAL)}")


def _predict_proba(fitted: Any, X: Any) -> Any:
    return fitted.predict_proba(X)


def _petiole(library: str, n_trees: int) -> Any:
    from petiole import BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier

    common: dict[str, Any] = {"n_estimators": n_trees, "random_state": 0, "n_jobs": THREADS}
    if library == BASELINE:
        return BaggedPETClassifier.random_forest(min_samples_leaf=2, **common)
    if library == "petiole, 255 bins":
        return BaggedPETClassifier.random_forest(min_samples_leaf=2, max_bins=255, **common)
    if library == "petiole, EB-PETs":
        return BaggedPETClassifier.eb_pets(criterion="gini", min_samples_leaf=2, **common)
    if library == "petiole, MOB-ESP":
        return MOBESPClassifier(criterion="gini", min_samples_leaf=2, max_features="sqrt", **common)
    if library == "petiole, probability forest":
        return ProbabilityForestClassifier(**common)
    raise ValueError(f"library {library!r}: must be one of {', '.join(LIBRARIES + OPTIONAL)}")


def _intelex(n_trees: int, drawn: int) -> tuple[Fit, Predict]:
    from sklearnex.ensemble import RandomForestClassifier

    model = RandomForestClassifier(
        n_estimators=n_trees, max_features=drawn, min_samples_leaf=2, max_bins=256, random_state=0, n_jobs=THREADS
    )

    def fit(X: Any, y: Any) -> Any:
        model.fit(X, y)
        if not hasattr(model, "_onedal_estimator"):
            raise RuntimeError("intelex fell back to scikit-learn")
        return model

    return fit, _predict_proba


def _ydf(n_trees: int, drawn: int) -> tuple[Fit, Predict]:
    import ydf

    ydf.verbose(0)
    slow_engine = False

    def fit(X: Any, y: Any) -> Any:
        learner = ydf.RandomForestLearner(
            label="y",
            num_trees=n_trees,
            num_candidate_attributes=drawn,
            min_examples=2,
            max_depth=-1,
            winner_take_all=False,
            compute_oob_performances=False,
            num_threads=THREADS,
        )
        return learner.train({"X": X, "y": y})

    def predict(fitted: Any, X: Any) -> Any:
        nonlocal slow_engine
        if not slow_engine:
            try:
                return fitted.predict({"X": X}, num_threads=THREADS)
            except ValueError:  # the trees have too many nodes for YDF's fast engine: the warm-up finds out
                slow_engine = True
        return fitted.predict({"X": X}, use_slow_engine=True, num_threads=THREADS)

    return fit, predict


def _xgboost(n_trees: int, share_of_features: float, n_classes: int) -> tuple[Fit, Predict]:
    from xgboost import XGBRFClassifier

    # min_child_weight is in hessians: 1/4 for each row of two classes, 2 p (1 - p) with p = 1 / n_classes for more.
    hessian = 0.25 if n_classes == 2 else 2 / n_classes * (1 - 1 / n_classes)
    model = XGBRFClassifier(
        n_estimators=n_trees,
        tree_method="hist",  # "exact" cannot draw attributes at nodes
        max_bin=256,
        max_depth=0,
        base_score=0.5,
        reg_lambda=0,
        min_child_weight=1.99 * hessian,
        subsample=0.632,
        colsample_bynode=share_of_features,
        random_state=0,
        n_jobs=THREADS,
    )
    return model.fit, _predict_proba


class PeakOfFit(PeakMemory):
    """As PeakMemory, but told by the kernel where it can: intelex holds the interpreter's lock all through its fit."""

    def __enter__(self) -> PeakOfFit:
        self._of_kernel = True
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # the high-water mark is reset
        except OSError:
            self._of_kernel = False
        super().__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._of_kernel:
            with open("/proc/self/status") as file:
                kilobytes = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
            self.peak = max(self.peak, kilobytes * 1024)
        super().__exit__()


def work(library: str, workload: str, n_trees: int) -> None:
    """Run the commands on standard input, one per line, and print the measurements as JSON."""
    X, y = load_workload(workload)
    n_features, n_classes = X.shape[1], int(y.max()) + 1
    # What is loaded at the first fit and prediction is neither the forest's memory nor its time.
    fit, predict = make(library, 2, n_features, n_classes)
    predict(fit(X[:500], y[:500]), X[:10])
    fitted: Any = None
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        match line.strip():
            case "fit":
                fitted = None
                fit, predict = make(library, n_trees, n_features, n_classes)
                with PeakOfFit() as memory:
                    seconds, fitted = timed(fit, X, y)
                print(json.dumps([seconds, memory.added]), flush=True)
            case "predict":
                print(json.dumps(timed(predict, fitted, X[:100_000])[0]), flush=True)
            case "one row":
                print(json.dumps(_one_row_microseconds(fitted, predict, X[:40])), flush=True)
            case "pickle":
                print(json.dumps(_pickled_megabytes(fitted)), flush=True)


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = CLOCK()
    result = function(*arguments)
    return CLOCK() - start, result


def _one_row_microseconds(fitted: Any, predict: Predict, queries: Any) -> float:
    predict(fitted, queries[:1])
    seconds: list[float] = []
    for row in range(len(queries)):
        query = queries[row : row + 1]
        start = CLOCK()
        predict(fitted, query)
        seconds.append(CLOCK() - start)
        if len(seconds) >= 10 and sum(seconds) > MOST_SECONDS_FOR_ONE_ROW:
            break
    return statistics.median(seconds) * 1e6


def _pickled_megabytes(fitted: Any) -> float | None:
    try:
        return len(pickle.dumps(fitted)) / 1e6
    except Exception:  # libraries raise different errors if a model cannot be pickled
        return None


def time_alone() -> None:
    """One thread, and processor time instead of the clock's."""
    global THREADS, CLOCK
    THREADS, CLOCK = 1, time.process_time


class Worker:
    """A library in a process of its own."""

    def __init__(self, library: str, workload: str, n_trees: int) -> None:
        self.library = library
        threads = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], str(THREADS))
        command = [sys.executable, __file__, "--work", library, workload, str(n_trees)]
        if THREADS == 1:
            command.append("--busy")
        if sys.platform == "linux":
            command = ["taskset", "-c", ",".join(map(str, range(THREADS))), *command]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | threads)
        self._answer()

    def ask(self, what: str) -> Any:
        time.sleep(PAUSE)
        assert self._process.stdin is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                return json.loads(line)
            except ValueError:  # something that the library prints
                continue
        raise RuntimeError(f"{self.library} has failed, see above")

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", nargs="+", default=WORKLOADS, choices=[*WORKLOADS, "W2"], metavar="NAME")
    parser.add_argument(
        "--libraries",
        nargs="+",
        default=LIBRARIES,
        choices=LIBRARIES + OPTIONAL,
        metavar="NAME",
        help=f"of {LIBRARIES + OPTIONAL}; {BASELINE!r} is always measured, and first",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trees", type=int, help="128 unless told, 10 on W3")
    parser.add_argument("--out", help="a JSON file for the results, written anew after every workload")
    parser.add_argument("--busy", action="store_true", help="one thread and processor time: ratios hold under load")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.busy:
        time_alone()
    if arguments.work:
        library, workload, n_trees = arguments.work
        work(library, workload, int(n_trees))
        return
    libraries = [BASELINE, *(library for library in arguments.libraries if library != BASELINE)]
    results: dict[str, dict[str, Measures]] = {}
    for workload in arguments.workloads:
        n_trees = arguments.trees or (10 if workload == "W3" else 128)
        results[workload] = measure(workload, libraries, arguments.rounds, n_trees)
        print_table(workload, results[workload], n_trees)
        if arguments.out:
            with open(arguments.out, "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)


def measure(workload: str, libraries: list[str], rounds: int, n_trees: int) -> dict[str, Measures]:
    """The measurements of each library, in turns."""
    workers = [Worker(library, workload, n_trees) for library in libraries]
    names = ("fit", "memory", "predict", "one_row", "pickled")
    found: dict[str, Measures] = {library: {name: [] for name in names} for library in libraries}
    for turn in range(rounds):
        for worker in workers:
            if turn > 0 and worker.library in SLOW and workload in LARGE:
                continue
            seconds, added = worker.ask("fit")
            found[worker.library]["fit"].append(seconds)
            found[worker.library]["memory"].append(added)
    for worker in workers:
        worker.ask("predict")
    for _ in range(3 * rounds):
        for worker in workers:
            found[worker.library]["predict"].append(worker.ask("predict"))
    for _ in range(rounds):
        for worker in workers:
            found[worker.library]["one_row"].append(worker.ask("one row"))
    for worker in workers:
        found[worker.library]["pickled"].append(worker.ask("pickle"))
        worker.end()
    return found


def print_table(workload: str, found: dict[str, Measures], n_trees: int) -> None:
    print(f"\n### {workload}: {describe(workload)}; {n_trees} trees, {_threads()}\n")
    rows = {"wdbc": "569", "letter": "20,000", "W2": "20,000"}.get(workload, "100,000")
    print(
        f"| library | fit s | ratio | predict {rows} rows s | ratio | one row µs | ratio | pickled MB | ratio "
        "| memory added MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for library, measures in found.items():
        cells = [
            _with_ratio(measures, found[BASELINE], "fit", ".3f"),
            _with_ratio(measures, found[BASELINE], "predict", ".4f"),
            _with_ratio(measures, found[BASELINE], "one_row", ".0f"),
            _with_ratio(measures, found[BASELINE], "pickled", ".2f"),
            f"{measures['memory'][0]:.0f}",
        ]
        print(f"| {library} | {' | '.join(cells)} |", flush=True)


def _threads() -> str:
    return "one thread, processor time" if THREADS == 1 else f"{THREADS} threads"


def _with_ratio(found: Measures, ours: Measures, name: str, form: str) -> str:
    """Two cells of the table: the least of a measure, and its ratio to ours; a dash if it is missing."""
    if None in found[name]:
        return "– | –"
    ratio = statistics.median(value / base for value, base in zip(found[name], ours[name], strict=False))
    return f"{min(found[name]):{form}} | {ratio:.2f}"


if __name__ == "__main__":
    main()
