"""Zhang, Petitjean & Buntine (2020), "Hierarchical Gradient Smoothing": tables 1 and 2, figures 2 to 4.

C4.4 trees with six leaf estimators, and forests of a few trees with and without HGS, by 10-fold cross-validation: a
trial is a fold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.experiments._data.which_method import Codes, StudyTable, descriptions, load_table
from petiole.experiments._grid.cells import Experiment, Task, seed_of
from petiole.smoothing import HDP, HGS, Laplace, LeafEstimator, MBranch, MEstimate, Raw

NAME = "zhang-2020"
FOLDS, QUICK_FOLDS = 10, 2
MORE_ROWS_THAN = 100
QUICK_MOST_ROWS = 400
SETTINGS = {"n_folds": FOLDS}
FOREST_SIZES = (1, 2, 3, 5, 7, 10)
HGS_NAME = "HGS"


def _hgs(seed: int) -> LeafEstimator:
    return HGS(alpha="gd", learning_rate=0.01, tol=1e-4)  # sections 3.3 and 4.2


# Under the names of table 2. M-estimation has m = 1 and uniform base rates, M-branch has M = 1: the paper does not say,
# but the authors' code does.
ESTIMATORS: dict[str, Callable[[int], LeafEstimator]] = {
    "MLE": lambda seed: Raw(),
    "Laplace": lambda seed: Laplace(),
    "M-estimation": lambda seed: MEstimate(m=1.0, base_rate="uniform"),
    "HDP": lambda seed: HDP(n_iter=1000, tying="single", random_state=seed),
    "M-branch": lambda seed: MBranch(M=1),
    HGS_NAME: _hgs,
}


def forest_name(n_trees: int, smoothed: bool) -> str:
    """The score of figure 4: a random forest of so many trees."""
    return f"{'RF_HGS' if smoothed else 'RF'} {n_trees}"


FORESTS = "forests"  # all of figure 4 in one cell, because the larger forests have the trees of the smaller
METHODS = [*ESTIMATORS, FORESTS]


def experiment() -> Experiment:
    """The whole grid: every data set of the folder with more than 100 rows × 10 folds × 6 estimators and forests."""
    return Experiment(NAME, choose_data_sets(), METHODS, FOLDS, run_cell, SETTINGS)


def choose_data_sets(most_rows: int | None = None) -> list[str]:
    """The data sets with more than 100 rows (and at most so many), small ones first."""
    sizes = sorted((about.rows, name) for name, about in descriptions().items())
    return [name for rows, name in sizes if rows > MORE_ROWS_THAN and (most_rows is None or rows <= most_rows)]


def quick_data_sets() -> list[str]:
    """The small ones, for a quick look."""
    return choose_data_sets(QUICK_MOST_ROWS)


def run_cell(task: Task) -> dict[str, float]:
    """Fit one method to nine folds and judge it on the tenth."""
    table = load_table(task.cell.data_set)
    seed = seed_of(NAME, task.cell.data_set)  # the same folds in all trials
    train, test = fold(table.y, task.cell.trial, task.settings["n_folds"], seed)
    if task.cell.method == FORESTS:
        return judge_forests(table, train, test, task)
    model = make_tree(task.cell.method, table, task)
    start = time.process_time()
    model.fit(table.X[train], table.y[train])
    seconds = time.process_time() - start
    return {**judge(table, test, model), "fit_seconds": seconds}


def make_tree(method: str, table: StudyTable, task: Task) -> PETClassifier:
    """A C4.4 tree with one of the leaf estimators; those of a fold have the same tree."""
    smoothing = ESTIMATORS[method](task.seed)
    return PETClassifier.c44(smoothing=smoothing, random_state=task.split_seed, **_growth(table))


def judge_forests(table: StudyTable, train: Array, test: Array, task: Task) -> dict[str, float]:
    """The squared errors of growing forests, with and without HGS on the same trees."""
    forest = BaggedPETClassifier.random_forest(random_state=task.split_seed, warm_start=True, **_growth(table))
    found = {}
    for n_trees in FOREST_SIZES:
        forest.set_params(n_estimators=n_trees).fit(table.X[train], table.y[train])
        smoothed = forest.with_smoothing(_hgs(task.seed), table.X[train], table.y[train])
        for model, is_smoothed in ((forest, False), (smoothed, True)):
            found[forest_name(n_trees, is_smoothed)] = judge(table, test, model)["squared_error"]
    return {**found, "n_test": float(len(test))}


def _growth(table: StudyTable) -> dict[str, Any]:
    return {"categorical_features": table.categorical, "missing": "separate", "n_jobs": 1}


def fold(y: Codes, number: int, n_folds: int, seed: int) -> tuple[Array, Array]:
    """Rows to train on and to test on; classes with fewer rows than folds are in some of the folds only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        splits = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y, y))
    return splits[number]


def all_classes(proba: Floats, classes: Codes, n_classes: int) -> Floats:
    """Probabilities with a column for every class, 0 for those that had no row to train on."""
    found = np.zeros((len(proba), n_classes))
    found[:, classes] = proba
    return found


def judge(table: StudyTable, test: Array, model: Any) -> dict[str, float]:
    """What adds up over folds: the mean squared error over rows and classes, the 0-1 loss, and the number of rows."""
    y = table.y[test]
    proba = all_classes(model.predict_proba(table.X[test]), model.classes_, table.y.max() + 1)
    truth = np.zeros_like(proba)
    truth[np.arange(len(y)), y] = 1.0
    return {
        "squared_error": float(((proba - truth) ** 2).mean()),
        "zero_one_loss": float((proba.argmax(axis=1) != y).mean()),
        "n_test": float(len(y)),
    }
