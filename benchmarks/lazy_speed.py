"""Speed and memory of lazy option trees, and their speed compared with the naive version.

    PETIOLE_DATA=... python benchmarks/lazy_speed.py              five shapes of data, some queries each
    PETIOLE_DATA=... python benchmarks/lazy_speed.py --letter     letter in full: 15,000 rows, 5,000 queries, 30 samples
    python benchmarks/lazy_speed.py --naive                       beside tests/oracles/naive_lazy.py

Each line in a process of its own, so that its memory is its own. "As published" is LazyOptionTreesClassifier.paper().
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

PRESETS = {"as published": "paper", "default": None}
# Training rows and queries.
SHAPES = {"letter": (15_000, 200), "adult": (20_000, 50), "W1": (20_000, 50), "soybean": (450, 100), "wdbc": (400, 169)}


def load(name: str) -> tuple[Any, np.ndarray]:
    if name in ("W1", "letter"):
        import workloads

        return workloads.load("W2" if name == "letter" else name)
    from petiole import datasets

    frame, labels, _ = datasets.load(name)
    return frame, np.unique(labels, return_inverse=True)[1]


def describe(X: Any, n_train: int, n_classes: int) -> str:
    n_nominal = 0 if isinstance(X, np.ndarray) else X.shape[1] - X.select_dtypes("number").shape[1]
    nominal = f" ({n_nominal} nominal)" if n_nominal else ""
    return f"{n_train:,} x {X.shape[1]}{nominal}, {n_classes} classes"


def measure(name: str, n_train: int, n_queries: int, preset: str | None, n_jobs: int, verbose: int) -> dict[str, Any]:
    """Fit and predict; seconds of processor time and of the clock, and the memory that both added."""
    warnings.simplefilter("ignore")
    from petiole import LazyOptionTreesClassifier

    X, y = load(name)
    rows = np.random.default_rng(0).permutation(len(y))
    pick = (lambda r: X[r]) if isinstance(X, np.ndarray) else (lambda r: X.iloc[r])
    train, test = rows[:n_train], rows[n_train : n_train + n_queries]
    make = LazyOptionTreesClassifier if preset is None else getattr(LazyOptionTreesClassifier, preset)
    model = make(random_state=0, n_jobs=n_jobs, verbose=verbose)
    model.fit(pick(train[:50]), y[train[:50]]).predict_proba(pick(test[:1]))  # imports and first-time costs
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model.fit(pick(train), y[train])
    queries = pick(test)
    clock, processor = time.perf_counter(), time.process_time()
    proba = model.predict_proba(queries)
    seconds, cpu = time.perf_counter() - clock, time.process_time() - processor
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    clock = time.perf_counter()
    model.predict_proba(queries[:1] if isinstance(queries, np.ndarray) else queries.iloc[:1])
    one = time.perf_counter() - clock
    hits = float((model.classes_[proba.argmax(axis=1)] == y[test]).mean())
    shape = describe(X, len(train), len(np.unique(y)))
    return {"shape": shape, "seconds": seconds, "cpu": cpu, "mb": added, "one": one, "n": len(test), "accuracy": hits}


def in_own_process(*arguments: Any) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, arguments)


def print_shapes(shapes: dict[str, tuple[int, int]], n_jobs: int, verbose: int) -> None:
    print(f"30 samples, max_tests=3, n_jobs={n_jobs}\n")
    print("| data | method | queries | s | queries per cpu second | one query alone, ms | MB added | accuracy |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (n_train, n_queries) in shapes.items():
        for label, preset in PRESETS.items():
            m = in_own_process(name, n_train, n_queries, preset, n_jobs, verbose)
            cells = [f"{name}: {m['shape']}", label, f"{m['n']:,}", f"{m['seconds']:.1f}", f"{m['n'] / m['cpu']:.1f}"]
            cells += [f"{1000 * m['one']:.0f}", f"{m['mb']:.0f}", f"{m['accuracy']:.3f}"]
            print(f"| {' | '.join(cells)} |", flush=True)


def print_naive() -> None:
    """One sample and few rows, which the naive version can handle."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "oracles"))
    import naive_lazy
    from petiole import LazyOptionTreesClassifier

    print("| rows | queries | naive s | core s | ratio |\n|---|---|---|---|---|")
    for n_rows, n_queries in ((100, 10), (200, 5), (400, 3)):
        random = np.random.default_rng(0)
        X, y = random.integers(0, 16, (n_rows, 8)).astype(float), random.integers(0, 4, n_rows)
        queries = random.integers(0, 16, (n_queries, 8)).astype(float)
        data, rules = naive_lazy.Data(X.tolist(), y.tolist()), naive_lazy.Rules([False] * 8, 4)
        start = time.process_time()
        slow = np.array([[float(p) for p in naive_lazy.predict(data, query, rules)] for query in queries.tolist()])
        naive_seconds = time.process_time() - start
        model = LazyOptionTreesClassifier.paper(n_estimators=1, bootstrap=False).fit(X, y)
        start, repeats = time.process_time(), 20
        for _ in range(repeats):
            fast = model.predict_proba(queries)
        seconds = (time.process_time() - start) / repeats
        np.testing.assert_allclose(fast, slow, atol=1e-12)
        print(f"| {n_rows} | {n_queries} | {naive_seconds:.2f} | {seconds:.5f} | {naive_seconds / seconds:,.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--letter", action="store_true", help="letter with all 5,000 queries")
    parser.add_argument("--naive", action="store_true", help="beside the naive version")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--verbose", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.naive:
        print_naive()
    elif arguments.letter:
        print_shapes({"letter": (15_000, 5_000)}, arguments.jobs, arguments.verbose)
    else:
        print_shapes(SHAPES, arguments.jobs, arguments.verbose)


if __name__ == "__main__":
    main()
