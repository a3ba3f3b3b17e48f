"""Other readings of Nielsen (2004), tried where our numbers are far from the printed ones.

Two small experiments beside the main one: B-PETs read in other ways on the three data sets that are furthest from the
paper, and in-bag rows counted in other ways on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.experiments._grid.cells import Experiment, Task
from petiole.experiments.nielsen_2004 import NAME, SETTINGS, judge, majority_votes, split
from petiole.experiments.nielsen_2004.data import SOURCES, load_nielsen
from petiole.smoothing import Laplace

READINGS_NAME, COUNTING_NAME = f"{NAME}-readings", f"{NAME}-counting"
TRIALS = 20
FAR = ("iondata", "lymphography", "soybean")
PLAIN = "as in the tables above"
TOLD = "attribute 1 equals the class in training"


def _same(X: Floats) -> Floats:
    return X


@dataclass(frozen=True)
class Reading:
    """A way to read the paper's B-PETs.

    Attributes
    ----------
    switches : dict
        What differs in the ensemble.
    train : function of the training rows and labels, or None
        What they are replaced by. The classification that ΔAcc starts from is then that of trees on the true rows.
    test, probabilities : functions
        What the test rows and their probabilities are replaced by.
    categorical : bool, default=False
        Whether all features are taken as categorical.
    """

    switches: dict[str, Any] = field(default_factory=dict)
    train: Callable[[Floats, Array], Floats] | None = None
    test: Callable[[Floats], Floats] = _same
    probabilities: Callable[[Floats], Floats] = _same
    categorical: bool = False


def _with_class_column(X: Floats, y: Array) -> Floats:
    """The first feature replaced by the class, 0 or 1."""
    changed = X.copy()
    changed[:, 0] = np.unique(y, return_inverse=True)[1]
    return changed


def _just_above(X: Floats) -> Floats:
    return X + 1e-9


def _swapped(proba: Floats) -> Floats:
    return proba[:, ::-1]


ALMOST_INFINITE = 1e6
READINGS = {
    PLAIN: Reading(),
    "in-bag rows counted once": Reading({"count": "distinct"}),
    "out-of-bag rows only": Reading({"oob_weight": ALMOST_INFINITE, "smoothing": Laplace(ALMOST_INFINITE)}),
    "no correction (raw frequencies)": Reading({"smoothing": "raw"}),
    "ten pseudo-rows per class": Reading({"smoothing": Laplace(10)}),
    "four pseudo-rows of the first class": Reading({"smoothing": Laplace([4.0, 0.0])}),
    "four pseudo-rows of the second class": Reading({"smoothing": Laplace([0.0, 4.0])}),
    "shares of the trees' votes": Reading({"smoothing": "raw", "voting": True}),
    "leaves of one row": Reading({"min_samples_leaf": 1}),
    "leaves of ten rows": Reading({"min_samples_leaf": 10}),
    "plain bootstrap": Reading({"bootstrap": "plain"}),
    "no bootstrap": Reading({"bootstrap": False}),
    "gain ratio": Reading({"criterion": "gain_ratio"}),
    "Gini": Reading({"criterion": "gini"}),
    "Kearns and Mansour's criterion": Reading({"criterion": "kearns_mansour"}),
    "gain ratio and pruning, as in C4.5": Reading({"criterion": "gain_ratio", "pruning": "error_based"}),
    "trees of one split": Reading({"max_depth": 1}),
    "one tree": Reading({"n_estimators": 1}),
    "five trees": Reading({"n_estimators": 5}),
    "attributes nominal": Reading(categorical=True),
    "x < θ in use, x ≤ θ in training": Reading({"threshold": "data"}, test=_just_above),
    "classes swapped": Reading(probabilities=_swapped),
    TOLD: Reading(train=_with_class_column),
}

# Which rows count how in the leaves: B-PETs and EB-PETs with and without out-of-bag rows, copies counted or not.
B_COPIES, B_ONCE = "B-PETs, copies", "B-PETs, once"
B_OB_COPIES, B_OB_ONCE = "B-PETs + OB, copies", "B-PETs + OB, once"
EB_COPIES, EB_ONCE = "EB-PETs, copies", "EB-PETs, once"
EB_IB_COPIES, EB_IB_ONCE = "EB-PETs - OB, copies", "EB-PETs - OB, once"
COUNTINGS: dict[str, tuple[Callable[..., BaggedPETClassifier], dict[str, Any]]] = {
    B_COPIES: (BaggedPETClassifier.b_pets, {"count": "copies"}),
    B_ONCE: (BaggedPETClassifier.b_pets, {"count": "distinct"}),
    B_OB_COPIES: (BaggedPETClassifier.b_pets, {"count": "copies", "oob_weight": 1.0}),
    B_OB_ONCE: (BaggedPETClassifier.b_pets, {"count": "distinct", "oob_weight": 1.0}),
    EB_COPIES: (BaggedPETClassifier.eb_pets, {"count": "copies"}),
    EB_ONCE: (BaggedPETClassifier.eb_pets, {"count": "distinct"}),
    EB_IB_COPIES: (BaggedPETClassifier.eb_pets, {"count": "copies", "oob_weight": 0.0}),
    EB_IB_ONCE: (BaggedPETClassifier.eb_pets, {"count": "distinct", "oob_weight": 0.0}),
}


def readings() -> Experiment:
    """B-PETs in every reading on the data sets that are furthest from the paper."""
    return Experiment(READINGS_NAME, FAR, list(READINGS), TRIALS, run_reading, SETTINGS)


def countings() -> Experiment:
    """Every way to count on all data sets."""
    return Experiment(COUNTING_NAME, list(SOURCES), list(COUNTINGS), TRIALS, run_counting, SETTINGS)


def run_reading(task: Task) -> dict[str, float]:
    """Grow and judge B-PETs in one reading."""
    reading = READINGS[task.cell.method]
    X, y = load_nielsen(task.cell.data_set)
    train, test = split(y, task.split_seed, task.settings["test_share"])
    categorical = {"categorical_features": list(range(X.shape[1]))} if reading.categorical else {}
    switches = {"n_estimators": task.settings["n_trees"], "random_state": task.seed, "n_jobs": 1, **categorical}
    ensemble = BaggedPETClassifier.b_pets(**{**switches, **reading.switches})
    seen = X[train] if reading.train is None else reading.train(X[train], y[train])
    ensemble.fit(seen, y[train])
    proba = reading.probabilities(ensemble.predict_proba(reading.test(X[test])))
    voters = ensemble
    if reading.train is not None:
        voters = BaggedPETClassifier.b_pets(**switches).fit(X[train], y[train])
    return judge(y[test], proba, majority_votes(voters, X[test]), voters)


def run_counting(task: Task) -> dict[str, float]:
    """Grow and judge one ensemble."""
    X, y = load_nielsen(task.cell.data_set)
    train, test = split(y, task.split_seed, task.settings["test_share"])
    preset, switches = COUNTINGS[task.cell.method]
    ensemble = preset(n_estimators=task.settings["n_trees"], random_state=task.seed, n_jobs=1, **switches)
    ensemble.fit(X[train], y[train])
    return judge(y[test], ensemble.predict_proba(X[test]), majority_votes(ensemble, X[test]), ensemble)
