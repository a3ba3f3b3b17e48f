"""The probability forest against other libraries: every data set of at least a hundred rows, five splits of each."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.experiments._data.which_method import (
    Codes,
    descriptions,
    load_table,
    without_small_classes,
)
from petiole.experiments._grid.cells import Cell, Experiment, Task
from petiole.experiments.peers.measuring import fit_and_predict
from petiole.experiments.peers.methods import METHODS
from petiole.metrics import accuracy, brier_score, expected_calibration_error, log_loss

NAME = "peers"
TRIALS, QUICK_TRIALS = 5, 1
TIME_LIMIT = 1200.0  # seconds of a cell
SETTINGS: dict[str, Any] = {
    "least_rows": 100,
    "most_rows": 100_000,
    "least_class_size": 8,  # a class has rows in both parts, and in the rows held out for early stopping
    "test_share": 1 / 3,
    "floor": 0.001,
    "low_floor": 1e-6,
}
MANY_ROWS, TRIALS_OF_MANY_ROWS = 10_000, 3
QUICK_DATA_SETS = 12
SLOW_ROWS = (1000, 5000)
FIRST = ("flagship v1", "flagship")
# Whether more is better.
METRICS = {
    "log_loss": False,
    "log_loss_low_floor": False,
    "brier": False,
    "calibration_error": False,
    "auc": True,
    "accuracy": True,
    "fit_seconds": False,
    "predict_seconds": False,
    "memory_mb": False,
}


def experiment() -> Experiment:
    """The whole grid of the methods that are installed; the others are named on standard error."""
    methods = installed(METHODS)
    return Experiment(
        NAME, list(sizes(SETTINGS)), methods, TRIALS, run_cell, SETTINGS, arrange=in_order, time_limit=TIME_LIMIT
    )


def whole_grid() -> Experiment:
    """The grid of all methods, installed or not, as the page reads it."""
    return Experiment(
        NAME, list(sizes(SETTINGS)), list(METHODS), TRIALS, run_cell, SETTINGS, arrange=in_order, time_limit=TIME_LIMIT
    )


def installed(methods: Mapping[str, Any]) -> list[str]:
    """The methods whose library is there."""
    found = {name: importlib.util.find_spec(method.library) is not None for name, method in methods.items()}
    absent = sorted({methods[name].library for name, is_there in found.items() if not is_there})
    if absent:
        print(f"skipped, because they are not installed: {', '.join(absent)}", file=sys.stderr)
    return [name for name, is_there in found.items() if is_there]


def sizes(settings: Mapping[str, Any]) -> dict[str, int]:
    """The data sets of the folder whose size is within the settings' limits, with their rows, small ones first."""
    chosen = {}
    for name, about in descriptions().items():
        large = [count for count in about.class_counts.values() if count >= settings["least_class_size"]]
        if settings["least_rows"] <= about.rows <= settings["most_rows"] and len(large) >= 2:
            chosen[name] = about.rows
    return dict(sorted(chosen.items(), key=lambda item: (item[1], item[0])))


def quick_data_sets() -> list[str]:
    """A few small ones, for a quick look."""
    return list(sizes(SETTINGS))[:QUICK_DATA_SETS]


def in_order(cells: Sequence[Cell]) -> list[Cell]:
    """The cells to compute, ordered so that an unfinished grid is as balanced as possible.

    The flagship comes first. Then split after split: the quick methods on all data sets, then the slow ones, which are
    one or two splits behind on larger data sets; small data sets first. Data sets of many rows have fewer splits, and
    methods with limits only the data sets within them.
    """
    rows = sizes(SETTINGS)
    wanted = [
        cell
        for cell in cells
        if cell.trial < (TRIALS_OF_MANY_ROWS if rows[cell.data_set] > MANY_ROWS else TRIALS)
        and METHODS[cell.method].suits(cell.data_set)
    ]
    return sorted(wanted, key=lambda cell: (cell.method not in FIRST, cell.trial + _delay(cell, rows[cell.data_set])))


def _delay(cell: Cell, n_rows: int) -> float:
    """The number of splits by which a slow method is behind the others; there are no ties between the two."""
    return 0.5 + sum(n_rows > limit for limit in SLOW_ROWS) if METHODS[cell.method].is_slow else 0.0


def run_cell(task: Task) -> dict[str, float]:
    """Fit one method to two thirds of a data set and judge it on the rest."""
    settings = task.settings
    table = without_small_classes(load_table(task.cell.data_set), settings["least_class_size"])
    train, test = nth_split(table.y, task.cell.trial, settings["test_share"])
    model = METHODS[task.cell.method].make(table.categorical, task.seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        proba, spent = fit_and_predict(model, table.X[train], table.y[train], table.X[test])
    return {**judge(table.y[test], proba, int(table.y.max()) + 1, settings), **spent}


def nth_split(y: Codes, trial: int, test_share: float) -> tuple[Array, Array]:
    """The rows to train on and to test on: split number ``trial`` of scikit-learn's stratified ones with seed 0."""
    *_, last = StratifiedShuffleSplit(trial + 1, test_size=test_share, random_state=0).split(y, y)
    return last


def judge(y: Codes, proba: Floats, n_classes: int, settings: Mapping[str, Any]) -> dict[str, float]:
    """The scores of probabilities, which must be one distribution per row."""
    if proba.shape != (len(y), n_classes) or not np.allclose(proba.sum(axis=1), 1, atol=1e-3):
        raise ValueError(f"probabilities of shape {proba.shape}: must be {n_classes} in each row that sum to 1")
    labels = np.arange(n_classes)
    proba = proba / proba.sum(axis=1, keepdims=True)  # some libraries answer in single precision
    return {
        "log_loss": log_loss(y, proba, labels=labels, floor=settings["floor"]),
        "log_loss_low_floor": log_loss(y, proba, labels=labels, floor=settings["low_floor"]),
        "brier": brier_score(y, proba, labels=labels),
        "calibration_error": expected_calibration_error(y, proba, labels=labels),
        "auc": float(np.mean([roc_auc_score(y == k, proba[:, k]) for k in labels])),
        "accuracy": accuracy(y, proba, labels=labels),
    }
