"""Nielsen (2004), "MOB-ESP and other Improvements in Probability Estimation": the experiments behind tables 2 to 6.

20 two-class data sets, 100 trials with a random third held out, 128 trees. Every cell grows an ensemble of its own; the
methods of a trial share the split.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.mob_esp import MOBESPClassifier
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.experiments._grid.cells import Experiment, Task
from petiole.experiments.nielsen_2004.data import SOURCES, load_nielsen
from petiole.metrics import accuracy, accuracy_change, area_under_lift_curve, log_loss, zero_one_mse

NAME = "nielsen-2004"
TRIALS, QUICK_TRIALS, TIMED_TRIALS = 100, 3, 2
SETTINGS = {"n_trees": 128, "test_share": 1 / 3}

B_PETS, EB_PETS, MOB_ESP = "B-PETs", "EB-PETs", "MOB-ESP"
# Section 2.2: the three enhancements that make EB-PETs of B-PETs. In-bag rows are counted with their copies in B-PETs
# and once each where out-of-bag rows are counted, too, which footnote 5 implies.
ADDED: dict[str, dict[str, Any]] = {
    "OB Examples": {"oob_weight": 1.0, "count": "distinct"},
    "Omit Smoothing": {"smoothing": "raw"},
    "Random Features": {"max_features": "sqrt"},
}
REMOVED: dict[str, dict[str, Any]] = {
    "OB Examples": {"oob_weight": 0.0},
    "Omit Smoothing": {"smoothing": "laplace"},
    "Random Features": {"max_features": None},
}


def with_enhancement(name: str) -> str:
    """The method of table 3 that has one enhancement."""
    return f"{B_PETS} + {name}"


def without_enhancement(name: str) -> str:
    """The method of table 4 that lacks one enhancement."""
    return f"{EB_PETS} - {name}"


_Preset = tuple[Callable[..., BaggedPETClassifier], Mapping[str, Any]]
ENSEMBLES: dict[str, _Preset] = {
    B_PETS: (BaggedPETClassifier.b_pets, {}),
    **{with_enhancement(name): (BaggedPETClassifier.b_pets, switches) for name, switches in ADDED.items()},
    EB_PETS: (BaggedPETClassifier.eb_pets, {}),
    **{without_enhancement(name): (BaggedPETClassifier.eb_pets, switches) for name, switches in REMOVED.items()},
    MOB_ESP: (BaggedPETClassifier.eb_pets, {}),  # the trees of EB-PETs, to which another estimate is put
}
# Whether more is better.
METRICS = {"zero_one_mse": False, "log_loss": False, "lift_area": True, "accuracy_change": True, "accuracy": True}


def experiment() -> Experiment:
    """The whole grid: 20 data sets × 100 trials × 9 methods."""
    return Experiment(NAME, list(SOURCES), list(ENSEMBLES), TRIALS, run_cell, SETTINGS)


def timing() -> Experiment:
    """A part of the grid again, for the processor time: the clock also counts what else the machine does."""
    return Experiment(f"{NAME}-timing", list(SOURCES), list(ENSEMBLES), TIMED_TRIALS, time_cell, SETTINGS)


def time_cell(task: Task) -> dict[str, float]:
    """The processor time of one cell, in seconds."""
    start = time.process_time()
    run_cell(task)
    return {"processor_seconds": time.process_time() - start}


def run_cell(task: Task) -> dict[str, float]:
    """Grow one ensemble and judge it on the held-out third."""
    X, y = load_nielsen(task.cell.data_set)
    train, test = split(y, task.split_seed, task.settings["test_share"])
    preset, switches = ENSEMBLES[task.cell.method]
    ensemble = preset(n_estimators=task.settings["n_trees"], random_state=task.seed, n_jobs=1, **switches)
    ensemble.fit(X[train], y[train])
    model: Any = ensemble
    if task.cell.method == MOB_ESP:
        model = MOBESPClassifier.from_ensemble(ensemble, X[train], y[train])
    return judge(y[test], model.predict_proba(X[test]), majority_votes(ensemble, X[test]), ensemble)


def judge(y: Array, proba: Floats, votes: Array, ensemble: BaggedPETClassifier) -> dict[str, float]:
    """The metrics of section 3.2, with the priors of the training rows."""
    labels, priors = ensemble.classes_, ensemble.class_weights_
    return {
        "zero_one_mse": zero_one_mse(y, proba, labels=labels),
        "log_loss": log_loss(y, proba, labels=labels, floor="exact", priors=priors),
        "lift_area": area_under_lift_curve(y, proba, labels=labels, priors=priors),
        "accuracy_change": accuracy_change(y, proba, votes, labels=labels),
        "accuracy": accuracy(y, proba, labels=labels),
    }


def split(y: Array, seed: int, test_share: float) -> tuple[Array, Array]:
    """Rows to train on and to test on, drawn from all rows alike; again if a class has no row to train on."""
    random, n_test = np.random.default_rng(seed), round(len(y) * test_share)
    n_classes = len(np.unique(y))
    while True:
        order = random.permutation(len(y))
        train, test = order[n_test:], order[:n_test]
        if len(np.unique(y[train])) == n_classes:
            return train, test


def majority_votes(ensemble: BaggedPETClassifier, X: Floats) -> Array:
    """The class with the votes of most trees: the classification before any probabilities.

    Of equals the one with the larger mean frequency in the leaves, then the one that is more frequent in training.
    """
    in_bag = copy.copy(ensemble).set_params(oob_weight=0.0)
    shares = copy.copy(in_bag).set_params(voting=True).with_smoothing("raw").predict_proba(X)
    frequencies = in_bag.with_smoothing("raw").predict_proba(X)
    ballot = shares + frequencies * 0.5 / len(ensemble.trees_)  # less than a vote
    order = np.argsort(-ensemble.class_weights_, kind="stable")
    winners: Array = ensemble.classes_[order[np.round(ballot[:, order], 12).argmax(axis=1)]]
    return winners
