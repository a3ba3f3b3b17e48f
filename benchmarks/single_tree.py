"""One tree, side by side with the peers: every library in a process of its own, pinned to one core, in one run.

    python benchmarks/single_tree.py                      # all workloads, all libraries
    python benchmarks/single_tree.py --workloads W1 W2 --repeats 5

Prints a table in Markdown: seconds to fit (the best of the repeats), to predict 100,000 rows, the memory that the fit
adds, and each as a ratio to petiole's. All trees are fully grown with at least two rows in a leaf.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LIBRARIES = ["petiole", "petiole 255 bins", "scikit-learn", "intelex 256 bins", "YDF", "xgboost"]


def make(library: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """The fit and the predict function of a library."""
    if library.startswith("petiole"):
        from petiole import PETClassifier

        model = PETClassifier(max_bins=255 if "bins" in library else None)
        return model.fit, lambda fitted, X: fitted.predict_proba(X)
    if library == "scikit-learn":
        from sklearn.tree import DecisionTreeClassifier

        model = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)
        return model.fit, lambda fitted, X: fitted.predict_proba(X)
    if library.startswith("intelex"):
        from sklearnex.ensemble import RandomForestClassifier

        # intelex has no single tree: a forest of one, without bootstrap, on all features.
        model = RandomForestClassifier(
            n_estimators=1, bootstrap=False, max_features=None, min_samples_leaf=2, max_bins=256
        )
        return model.fit, lambda fitted, X: fitted.predict_proba(X)
    if library == "YDF":
        return _ydf()
    if library == "xgboost":
        return _xgboost()
    raise ValueError(library)


def _ydf() -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    import ydf

    ydf.verbose(0)

    def fit(X: Any, y: Any) -> Any:
        learner = ydf.CartLearner(
            label="y",
            min_examples=2,
            max_depth=-1,
            validation_ratio=0.0,
            num_threads=1,
        )
        return learner.train({"X": X, "y": y})

    def predict(fitted: Any, X: Any) -> Any:
        try:
            return fitted.predict({"X": X})
        except ValueError:  # the tree has too many nodes for YDF's fast engine
            return fitted.predict({"X": X}, use_slow_engine=True)

    return fit, predict


def _xgboost() -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    from xgboost import XGBClassifier

    model = XGBClassifier(
        n_estimators=1,
        learning_rate=1.0,
        tree_method="exact",
        max_depth=100,
        reg_lambda=0,
        min_child_weight=0,
        n_jobs=1,
    )
    return model.fit, lambda fitted, X: fitted.predict_proba(X)


class PeakMemory:
    """The most memory the process holds while the block runs, above what it held at the start, in MB."""

    def __enter__(self) -> PeakMemory:
        self.start = self.peak = self._resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.added = (max(self.peak, self._resident()) - self.start) / 1e6

    def _watch(self) -> None:
        while not self._stop.wait(0.002):
            self.peak = max(self.peak, self._resident())

    @staticmethod
    def _resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()


def measure(library: str, workload: str, repeats: int) -> dict[str, float]:
    """Times and memory of one library on one workload, in this process."""
    from workloads import load

    X, y = load(workload)
    fit_seconds, predict_seconds, added = [], [], []
    for _ in range(repeats):
        fit, predict = make(library)
        with PeakMemory() as memory:
            start = time.perf_counter()
            fitted = fit(X, y)
            fit_seconds.append(time.perf_counter() - start)
        added.append(memory.added)
        queries = X[:100_000]
        for _ in range(5):
            start = time.perf_counter()
            predict(fitted, queries)
            predict_seconds.append(time.perf_counter() - start)
    return {"fit": min(fit_seconds), "predict": min(predict_seconds), "memory": added[0]}


def measure_in_subprocess(library: str, workload: str, repeats: int) -> dict[str, float] | None:
    threads = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
    command = [sys.executable, __file__, "--measure", library, workload, str(repeats)]
    if sys.platform == "linux":
        command = ["taskset", "-c", "0", *command]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | threads, check=False)
    if done.returncode != 0:
        print(f"{library} on {workload}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", nargs="+", default=["W1", "W2", "W3"])
    parser.add_argument("--libraries", nargs="+", default=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        library, workload, repeats = arguments.measure
        print(json.dumps(measure(library, workload, int(repeats))))
        return
    for workload in arguments.workloads:
        print_table(workload, arguments.libraries, arguments.repeats)


def print_table(workload: str, libraries: list[str], repeats: int) -> None:
    from workloads import DESCRIPTIONS

    print(f"\n### {workload}: {DESCRIPTIONS[workload]}\n")
    print("| library | fit s | ratio | predict 100,000 s | ratio | memory added MB |")
    print("|---|---|---|---|---|---|", flush=True)
    ours: dict[str, float] | None = None
    for library in libraries:
        found = measure_in_subprocess(library, workload, repeats)
        if found is None:
            print(f"| {library} | failed | | | | |", flush=True)
            continue
        ours = ours or found
        print(
            f"| {library} | {found['fit']:.3f} | {found['fit'] / ours['fit']:.2f} | {found['predict']:.4f} "
            f"| {found['predict'] / ours['predict']:.2f} | {found['memory']:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
