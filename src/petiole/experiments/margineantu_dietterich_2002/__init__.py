"""Margineantu & Dietterich (2002), "Improved class probability estimates from decision tree models": both experiments.

Experiment 2 (figure 1.5): 16 data sets, ten folds, 200 cost matrices. A cell compares the decisions of two methods on
one fold by BDeltaCost, matrix by matrix, and counts. Experiment 1 (figures 1.2 to 1.4): two Gaussians, whose true
probabilities are known.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils import _safe_indexing

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._lazy.classifier import LazyOptionTreesClassifier
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import encode_labels, label_codes
from petiole._tree.held_out import deal_into_folds
from petiole.comparison import bdelta_cost
from petiole.datasets import Loaded, load, make_two_gaussians
from petiole.datasets.papers import MARGINEANTU_DIETTERICH, margineantu_dietterich
from petiole.datasets.papers.variants import columns_of, rebuild
from petiole.decisions import COST_MODELS, decide, random_costs
from petiole.experiments._grid.cells import Experiment, Task, seed_of
from petiole.metrics import brier_score, error_rate, log_loss

NAME = "margineantu-dietterich-2002"
FOLDS, QUICK_FOLDS = 10, 1
SETTINGS = {"n_trees": 30, "min_samples_leaf": 2, "n_matrices": 25, "n_draws": 1000}

# The text names ten data sets; the other six are labels of a picture. These are from memory of the authors' work
# of that time (docs/provenance.md).
FROM_MEMORY = ("breast-cancer", "bupa", "glass", "hepatitis", "sonar", "wbc")

B_LOTS, B_PETS, ONE_TREE = "B-LOTs", "B-PETs", "C4.5"
# The parameters of experiment 2 are not printed; those of experiment 1 are taken, and for B-LOTs also larger leaves.
B_LOTS_10, LARGE_LEAF = "B-LOTs with MinLeaf 10", 10
MAIN_PAIR, LOTS_TREE_PAIR, PETS_TREE_PAIR = (
    f"{B_LOTS} against {B_PETS}",
    f"{B_LOTS} against C4.5",
    f"{B_PETS} against C4.5",
)
LOTS_10_PAIR = f"{B_LOTS_10} against {B_PETS}"
PAIRS = {
    MAIN_PAIR: (B_LOTS, B_PETS),
    LOTS_TREE_PAIR: (B_LOTS, ONE_TREE),
    PETS_TREE_PAIR: (B_PETS, ONE_TREE),
    LOTS_10_PAIR: (B_LOTS_10, B_PETS),
}
OUTCOMES = ("wins", "ties", "losses")

LEAVES_NAME = f"{NAME}-leaves"
# Other versions of data sets that the paper may mean by their names.
READINGS_NAME = f"{NAME}-readings"
READINGS = {
    "abalone, a class per number of rings": "abalone",
    "audiology, training part": "audiology",
    "segmentation, 210 rows": "segmentation",
    "soybean, training part": "soybean",
}
TRAINING_PARTS = {"audiology": slice(26, 226), "soybean": slice(0, 307)}

GAUSSIANS_NAME = f"{NAME}-gaussians"
GAUSSIANS_TRIALS = 10
GAUSSIANS_SETTINGS = {"n_rows": 1000, "n_queries": 1000, "n_trees": 30, "min_samples_leaf": 2}
SEPARATIONS = {"0.5 apart": 0.5, "1 apart": 1.0, "2 apart": 2.0}
WITHOUT_LAPLACE = "B-PETs without Laplace"
FAR_OFF = 0.2


def make_model(method: str, settings: Mapping[str, Any], seed: int) -> Any:
    """A method of the paper, not fitted: sections 1.2 to 1.5."""
    bagged = {
        "n_estimators": settings["n_trees"],
        "min_samples_leaf": settings["min_samples_leaf"],
        "bootstrap": "plain",
        "random_state": seed,
        "n_jobs": 1,
    }
    c45 = {"criterion": "gain_ratio", "threshold": "data"}
    if method == B_LOTS:
        return LazyOptionTreesClassifier.paper(**bagged)
    if method == B_LOTS_10:
        return LazyOptionTreesClassifier.paper(**{**bagged, "min_samples_leaf": LARGE_LEAF})
    if method == B_PETS:
        return BaggedPETClassifier.b_pets(**bagged, **c45)
    if method == WITHOUT_LAPLACE:
        return BaggedPETClassifier.b_pets(**bagged, **c45, smoothing="raw")
    return PETClassifier.c45(min_samples_leaf=settings["min_samples_leaf"], random_state=seed)


# Experiment 2.


def experiment() -> Experiment:
    """The grid of figure 1.5: 16 data sets × 10 folds × pairs of methods."""
    pairs = [MAIN_PAIR, LOTS_TREE_PAIR, PETS_TREE_PAIR]
    return Experiment(NAME, [*MARGINEANTU_DIETTERICH, *FROM_MEMORY], pairs, FOLDS, run_cell, SETTINGS)


def leaves_experiment() -> Experiment:
    """The same for B-LOTs with larger leaves."""
    return Experiment(LEAVES_NAME, [*MARGINEANTU_DIETTERICH, *FROM_MEMORY], [LOTS_10_PAIR], FOLDS, run_cell, SETTINGS)


def readings_experiment() -> Experiment:
    """The same with other versions of four data sets."""
    return Experiment(READINGS_NAME, list(READINGS), [MAIN_PAIR], FOLDS, run_cell, SETTINGS)


def run_cell(task: Task) -> dict[str, float]:
    """Compare two methods on one fold.

    For each cost model, ``M1 wins`` to ``M8 losses``: with how many matrices the first method is significantly cheaper,
    neither is, or the second is. Also the mean cost of each method over the 25 matrices (divided by the mean entry of
    their mistakes), and the error, the log-loss and the Brier score of its probabilities.
    """
    y, test = read_fold(task.cell.data_set, task.cell.trial)
    codes = encode_labels(y)[1]
    settings = tuple(sorted(task.settings.items()))
    both = [
        fold_probabilities(task.cell.data_set, task.cell.trial, method, settings, task.split_seed)
        for method in PAIRS[task.cell.method]
    ]
    scores: dict[str, float] = {}
    for model in COST_MODELS:
        seed = seed_of(NAME, task.cell.data_set, model)  # the same matrices for all folds and pairs
        costs = random_costs(model, y=y, n_matrices=task.settings["n_matrices"], random_state=seed)
        draws = seed_of(task.split_seed, model)
        scores |= compare_costs(model, codes[test], both, costs, task.settings["n_draws"], draws)
    for place, proba in zip(("first", "second"), both, strict=True):
        scores |= {f"{place} {name}": value for name, value in judge(codes[test], proba).items()}
    return scores


def judge(truth: Array, proba: Floats) -> dict[str, float]:
    """Error, log-loss and Brier score of probabilities."""
    codes = np.arange(proba.shape[1])
    with warnings.catch_warnings():
        # a fold may have almost as many classes as rows
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        return {
            "error": error_rate(truth, proba, labels=codes),
            "log-loss": log_loss(truth, proba, labels=codes, floor=0.001),
            "Brier score": brier_score(truth, proba, labels=codes),
        }


def compare_costs(
    model: str, truth: Array, both: list[Floats], costs: Floats, n_draws: int, seed: int
) -> dict[str, float]:
    """BDeltaCost with each matrix: wins, ties and losses of the first, and what each method costs per row."""
    marks, spent = [], np.zeros(2)
    classes = np.arange(costs.shape[1])
    for index, cost in enumerate(costs):
        first, second = (decide(proba, cost) for proba in both)
        test = bdelta_cost(
            truth, first, second, cost, n_draws=n_draws, random_state=(seed + index) % 2**32, labels=classes
        )
        marks.append({1: "wins", 0: "ties", 2: "losses"}[test.winner])
        scale = cost[~np.eye(len(cost), dtype=bool)].mean() * len(costs)
        spent += [cost[chosen, truth].mean() / scale for chosen in (first, second)]
    counts = {f"{model} {outcome}": float(marks.count(outcome)) for outcome in OUTCOMES}
    return counts | {f"{model} first cost": float(spent[0]), f"{model} second cost": float(spent[1])}


@functools.lru_cache(maxsize=8)
def fold_probabilities(
    data_set: str, fold: int, method: str, settings: tuple[tuple[str, Any], ...], split_seed: int
) -> Floats:
    """The probabilities of a method for the rows of a fold, fitted to the other folds; cached for several pairs."""
    X, y, _ = load_data(data_set)
    _, test = read_fold(data_set, fold)
    train = np.setdiff1d(np.arange(len(y)), test)
    model = make_model(method, dict(settings), seed_of(split_seed, method))
    model.fit(_safe_indexing(X, train), y[train])
    classes, _ = encode_labels(y)
    proba = np.zeros((len(test), len(classes)))
    proba[:, label_codes(model.classes_, classes, "y")] = model.predict_proba(_safe_indexing(X, test))
    return proba


def read_fold(data_set: str, fold: int) -> tuple[Array, Array]:
    """All labels of a data set, and the rows of one of its folds; every fold has its share of each class."""
    y = load_data(data_set).y
    random = np.random.default_rng(seed_of(NAME, data_set))
    return y, np.flatnonzero(deal_into_folds(encode_labels(y)[1], FOLDS, random) == fold)


@functools.lru_cache(maxsize=32)
def load_data(name: str) -> Loaded:
    """A data set of experiment 2, by the paper's name, by one of ``FROM_MEMORY`` or by one of ``READINGS``."""
    if name in FROM_MEMORY:
        return load(name)
    if name not in READINGS:
        return margineantu_dietterich(name)
    if READINGS[name] == "abalone":
        return load("abalone")
    loaded = margineantu_dietterich(READINGS[name])
    rows = np.arange(len(loaded.y))
    rows = rows[TRAINING_PARTS[READINGS[name]]] if READINGS[name] in TRAINING_PARTS else _thirty_of_each(loaded.y)
    return rebuild(loaded, columns_of(loaded), rows, name, "A part of the set.")


def _thirty_of_each(y: Array) -> Array:
    """As many rows of each class as the training file at UCI has, drawn at random."""
    random = np.random.default_rng(seed_of(NAME, "210 rows"))
    return np.concatenate([random.choice(np.flatnonzero(y == label), 30, replace=False) for label in np.unique(y)])


# Experiment 1.


def gaussians_experiment() -> Experiment:
    """The grid of figures 1.3 and 1.4, repeated: distances of the means × trials × methods."""
    return Experiment(
        GAUSSIANS_NAME,
        list(SEPARATIONS),
        [B_PETS, B_LOTS, WITHOUT_LAPLACE],
        GAUSSIANS_TRIALS,
        run_gaussians,
        GAUSSIANS_SETTINGS,
    )


def run_gaussians(task: Task) -> dict[str, float]:
    """How far estimates are from the true probabilities, and how well they rank the queries."""
    found = estimate_gaussians(task)
    truth, estimates = found[:, 0], found[:, 1]
    low, high = np.quantile(estimates, [0.05, 0.95])
    return {
        "rmse": float(np.sqrt(np.mean((estimates - truth) ** 2))),
        "rank_correlation": float(stats.spearmanr(estimates, truth).statistic),
        "low": float(low),
        "high": float(high),
        "far_off": float(np.mean(np.abs(estimates - truth) > FAR_OFF)),
    }


def estimate_gaussians(task: Task) -> Floats:
    """True and estimated probabilities of class 1, a row per query."""
    settings, separation = task.settings, SEPARATIONS[task.cell.data_set]
    random = np.random.RandomState(task.split_seed)
    X, y, _ = make_two_gaussians(settings["n_rows"], random, separation=separation)
    queries, _, truth = make_two_gaussians(settings["n_queries"], random, separation=separation)
    model = make_model(task.cell.method, settings, task.seed).fit(X, y)
    return np.column_stack([truth[:, 1], model.predict_proba(queries)[:, 1]])


FURTHER = (gaussians_experiment, readings_experiment, leaves_experiment)
