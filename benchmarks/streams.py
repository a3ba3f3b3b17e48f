"""Drifting streams: models that are brought up to date beside trees that grow with the stream.

    python benchmarks/streams.py [--rows 20000] [--without-forest]

Needs river (extra `bench`), which also makes the streams. Rows come in batches; each batch is predicted before anyone
learns from it. Prints a table and writes docs/images/streams.png
(grey lines: where SEA changes).
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import forest as river_forest
from river import tree as river_tree
from river.datasets import synth

from petiole import PETClassifier, ProbabilityForestClassifier

BATCH = 500
FIRST = 2000
REFIT = 8  # batches
MEMORY = 4000  # rows that a refit is given
LEAST = 0.001  # probabilities are raised to this, so that no single row decides
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "streams.png"

Stream = tuple[np.ndarray, np.ndarray]
Step = Callable[[np.ndarray, np.ndarray], np.ndarray]


def as_arrays(rows: Any, n_rows: int) -> Stream:
    taken = list(itertools.islice(rows, n_rows))
    return np.array([list(x.values()) for x, _ in taken]), np.array([y for _, y in taken])


def abrupt(n_rows: int) -> Stream:
    """SEA: the sum of two of three attributes is compared with a threshold, which changes three times; 10 % noise."""
    parts = [as_arrays(iter(synth.SEA(variant, 0.1, seed=variant)), n_rows // 4) for variant in (2, 3, 0, 1)]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]).astype(int)


def gradual(n_rows: int) -> Stream:
    """Four classes around thirty centres, fifteen of which move all the time."""
    made = synth.RandomRBFDrift(1, 1, n_classes=4, n_features=6, n_centroids=30, change_speed=0.4, n_drift_centroids=15)
    return as_arrays(iter(made), n_rows)


STREAMS = {"SEA, abrupt": abrupt, "moving centres, gradual": gradual}


class Kept:
    """A model of petiole under one policy."""

    def __init__(
        self, make: Callable[[], Any], decay: float | None = None, refit: bool = False, relearn: bool = False
    ) -> None:
        self.make, self.decay, self.refit, self.relearn = make, decay, refit, relearn
        self.seen: list[Stream] = []

    def start(self, X: np.ndarray, y: np.ndarray, classes: np.ndarray) -> None:
        self.model, self.seen = self.make().fit(X, y), [(X, y)]
        self.n_batches = 0

    def step(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        proba = self.model.predict_proba(X)
        self.n_batches += 1
        if self.refit:
            self.seen.append((X, y))
            if self.n_batches % REFIT == 0:
                rows, labels = (np.concatenate(part)[-MEMORY:] for part in zip(*self.seen, strict=True))
                self.seen, self.model = [(rows, labels)], self.make().fit(rows, labels)
                return proba
        if self.relearn:
            self.model.relearn_pool(X, y)
        if self.decay is not None:
            self.model.update(X, y, decay=self.decay)
        return proba


class Grown:
    """A model of river, row by row."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def start(self, X: np.ndarray, y: np.ndarray, classes: np.ndarray) -> None:
        self.model, self.classes = self.make(), classes.tolist()
        for row, label in zip(as_dicts(X), y.tolist(), strict=True):
            self.model.learn_one(row, label)

    def step(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        proba = np.empty((len(X), len(self.classes)))
        for at, (row, label) in enumerate(zip(as_dicts(X), y.tolist(), strict=True)):
            said = self.model.predict_proba_one(row)
            proba[at] = [said.get(one, 0.0) for one in self.classes]
            self.model.learn_one(row, label)
        sums = proba.sum(axis=1, keepdims=True)
        return np.where(sums > 0, proba / np.where(sums > 0, sums, 1), 1 / len(self.classes))


def as_dicts(X: np.ndarray) -> Iterator[dict[int, float]]:
    return (dict(enumerate(row)) for row in X.tolist())


def forest() -> ProbabilityForestClassifier:
    return ProbabilityForestClassifier(64, random_state=0)


def tree() -> PETClassifier:
    return PETClassifier(smoothing="hgs")


def policies(with_forest: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "forest, fitted once": Kept(forest),
        "forest, update, decay 1": Kept(forest, 1.0),
        "forest, update, decay 0.9": Kept(forest, 0.9),
        "forest, update, decay 0.5": Kept(forest, 0.5),
        "forest, update, decay 0.9, pool learned again": Kept(forest, 0.9, relearn=True),
        "forest, update, decay 0.5, pool learned again": Kept(forest, 0.5, relearn=True),
        "forest, refit": Kept(forest, refit=True),
        "forest, refit, update between, decay 0.9": Kept(forest, 0.9, refit=True),
        "tree, fitted once": Kept(tree),
        "tree, update, decay 1": Kept(tree, 1.0),
        "tree, update, decay 0.9": Kept(tree, 0.9),
        "tree, update, decay 0.5": Kept(tree, 0.5),
        "tree, refit, update between, decay 0.9": Kept(tree, 0.9, refit=True),
        "river, Hoeffding tree": Grown(river_tree.HoeffdingTreeClassifier),
        "river, adaptive Hoeffding tree": Grown(lambda: river_tree.HoeffdingAdaptiveTreeClassifier(seed=0)),
    }
    if with_forest:
        found["river, adaptive random forest, 10 trees"] = Grown(lambda: river_forest.ARFClassifier(seed=0))
    return found


def prequential(policy: Any, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Log-loss in bits of each batch, and rows per second of processor time, all of predicting and learning."""
    classes = np.unique(y)
    codes = np.searchsorted(classes, y)
    started = time.process_time()
    policy.start(X[:FIRST], y[:FIRST], classes)
    losses = []
    for begin in range(FIRST, len(y), BATCH):
        part = slice(begin, begin + BATCH)
        proba = policy.step(X[part], y[part])
        own = proba[np.arange(len(proba)), codes[part]]
        losses.append(-np.log2(np.maximum(own, LEAST)).mean())
    return np.array(losses), len(y) / (time.process_time() - started)


SHOWN = {
    "forest, fitted once": ("#9aa5b1", "-"),
    "forest, update, decay 0.9": ("#0b6e99", "-"),
    "forest, update, decay 0.9, pool learned again": ("#7c3aed", "-"),
    "tree, update, decay 0.9": ("#0b6e99", ":"),
    "river, adaptive Hoeffding tree": ("#c2410c", ":"),
    "river, adaptive random forest, 10 trees": ("#c2410c", "-"),
}


def draw(found: dict[str, dict[str, np.ndarray]], n_rows: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(12, 4.6), layout="constrained")
    for ax, (stream, losses) in zip(axes, found.items(), strict=True):
        for name, (colour, style) in SHOWN.items():
            if name not in losses:
                continue
            smooth = np.convolve(losses[name], np.ones(3) / 3, mode="valid")
            at = FIRST + BATCH * (np.arange(len(smooth)) + 2)
            ax.plot(at, smooth, color=colour, linestyle=style, linewidth=1.8, label=name)
        if "abrupt" in stream:
            for change in range(1, 4):
                ax.axvline(change * n_rows / 4, color="#d5dae0", linewidth=1, zorder=0)
        ax.set(title=stream, xlabel="rows seen", ylabel="log-loss of the next rows (bits)")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--without-forest", action="store_true", help="leave out river's forest, which takes longest")
    arguments = parser.parse_args()
    data = {name: make(arguments.rows) for name, make in STREAMS.items()}
    columns = " | ".join(f"{name}: log-loss | rows/s" for name in data)
    print(f"| policy | {columns} |\n|---|{'---|---|' * len(data)}")
    losses: dict[str, dict[str, np.ndarray]] = {name: {} for name in data}
    for name in policies(not arguments.without_forest):
        cells = []
        for stream, (X, y) in data.items():
            losses[stream][name], speed = prequential(policies(True)[name], X, y)
            cells.append(f"{losses[stream][name].mean():.4f} | {speed:,.0f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    draw(losses, arguments.rows)


if __name__ == "__main__":
    main()
