"""Which method should I use? All of petiole's and four peers on the same splits of the data folder's smaller sets."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from petiole._table.columns import Floats
from petiole.decisions import random_costs
from petiole.experiments._data.which_method import (
    Codes,
    StudyTable,
    descriptions,
    load_table,
    stratified_split,
    without_small_classes,
)
from petiole.experiments._grid.cells import Experiment, Task
from petiole.experiments.which_method.models import MODELS
from petiole.metrics import accuracy, area_under_lift_curve, brier_score, log_loss, misclassification_cost

NAME = "which-method"
TRIALS, QUICK_TRIALS = 3, 1
SETTINGS: dict[str, Any] = {
    "least_rows": 100,
    "most_rows": 1000,
    "most_attributes": 300,
    "most_classes": 60,
    "least_class_size": 8,  # five rows of each class are left to train on, as calibration in five folds needs
    "test_share": 1 / 3,
    "floor": 0.001,
    "cost_model": "M5",
    "n_cost_matrices": 25,
    "most_lazy_work": 500_000,
}
LAZY = ("lazy options", "lazy options, paper")
QUICK_DATA_SETS = 12
# Whether more is better.
METRICS = {
    "log_loss": False,
    "brier": False,
    "lift_area": True,
    "cost": False,
    "accuracy": True,
    "fit_seconds": False,
    "predict_seconds": False,
}


def experiment() -> Experiment:
    """The whole grid: every data set that the rule chooses × 3 splits × 21 methods."""
    return Experiment(NAME, choose_data_sets(SETTINGS), list(MODELS), TRIALS, run_cell, SETTINGS)


def choose_data_sets(settings: Mapping[str, Any]) -> list[str]:
    """The data sets of the folder whose size is within the settings' limits, small ones first."""
    chosen = []
    for name, about in descriptions().items():
        large = [count for count in about.class_counts.values() if count >= settings["least_class_size"]]
        fits = (
            settings["least_rows"] <= about.rows <= settings["most_rows"]
            and len(about.kinds) <= settings["most_attributes"]
            and len(about.classes) <= settings["most_classes"]
            and len(large) >= 2
        )
        if fits:
            chosen.append((about.rows, name))
    return [name for _, name in sorted(chosen)]


def quick_data_sets() -> list[str]:
    """A few small ones, for a quick look."""
    return choose_data_sets(SETTINGS)[:QUICK_DATA_SETS]


def run_cell(task: Task) -> dict[str, float]:
    """Fit one method to two thirds of a data set and judge it on the rest; NaN where lazy trees take too long."""
    settings = task.settings
    table = without_small_classes(load_table(task.cell.data_set), settings["least_class_size"])
    train, test = stratified_split(table.y, task.split_seed, settings["test_share"])
    if task.cell.method in LAZY and len(train) * len(test) * table.X.shape[1] > settings["most_lazy_work"]:
        return dict.fromkeys(METRICS, math.nan)
    model = MODELS[task.cell.method](table.categorical, task.seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        proba, seconds = fit_and_predict(model, table, train, test)
    return {**judge(table.y[train], table.y[test], proba, task.split_seed, settings), **seconds}


def fit_and_predict(model: Any, table: StudyTable, train: Codes, test: Codes) -> tuple[Floats, dict[str, float]]:
    """The probabilities of the test rows, and the processor time of fit and of prediction."""
    start = time.process_time()
    model.fit(table.X[train], table.y[train])
    fitted = time.process_time()
    proba = np.asarray(model.predict_proba(table.X[test]), dtype=np.float64)
    seconds = {"fit_seconds": fitted - start, "predict_seconds": time.process_time() - fitted}
    return proba, seconds


def judge(
    y_train: Codes, y_test: Codes, proba: Floats, split_seed: int, settings: Mapping[str, Any]
) -> dict[str, float]:
    """The scores of a method; cost matrices are drawn by the split's seed, and so the same for all methods."""
    counts = np.bincount(y_train)
    labels, priors = np.arange(len(counts)), counts / counts.sum()
    matrices = random_costs(
        settings["cost_model"], priors, n_matrices=settings["n_cost_matrices"], random_state=split_seed
    )
    costs = [misclassification_cost(y_test, proba, matrix, labels=labels) for matrix in matrices]
    return {
        "log_loss": log_loss(y_test, proba, labels=labels, floor=settings["floor"]),
        "brier": brier_score(y_test, proba, labels=labels),
        "lift_area": area_under_lift_curve(y_test, proba, labels=labels, priors=priors),
        "cost": float(np.mean(costs)),
        "accuracy": accuracy(y_test, proba, labels=labels),
    }
