"""Geurts (2001), "Dual perturb and combine algorithm": the experiments behind table 2 and figures 2 to 4.

Six data sets with a fixed test set, ten random divisions of the rest into a growing and a pruning set. A cell grows one
tree, or 25 bagged ones, prunes them with the pruning set and finds the noise level on it.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._dual.classifier import DualPerturbCombineClassifier
from petiole._forest.forest import Forest
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import label_codes
from petiole._table.rows import EncodedRows
from petiole._tree.pruning import prune_together
from petiole.comparison import BiasVarianceStudy, bias_variance_study
from petiole.datasets.papers import GEURTS, GrowPruneTest, geurts
from petiole.experiments._grid.cells import Experiment, Task

NAME = "geurts-2001"
TRIALS, QUICK_TRIALS = 10, 2
SETTINGS = {"n_trees": 25, "min_samples_leaf": 1}
TREE, BAGGING = "DT", "Bagging"

STUDY_NAME = f"{NAME}-noise"
STUDY_SETTINGS = {"n_pool": 18_000, "n_test": 2_000, "n_sets": 50, "set_size": 500}
STUDY_LEVELS = (*np.arange(0, 0.5, 0.05).round(2).tolist(), *np.arange(0.5, 2.01, 0.1).round(1).tolist())
CURVE = "curve"
PARTS = ("error", "squared_bias", "variance")


def experiment() -> Experiment:
    """The grid of table 2: 6 data sets × 10 divisions × a tree and bagged trees."""
    return Experiment(NAME, list(GEURTS), [TREE, BAGGING], TRIALS, run_cell, SETTINGS)


def run_cell(task: Task) -> dict[str, float]:
    """Grow, prune, find the noise level, and judge on the test set: without noise, with the paper's, with exact noise.

    Errors are shares of the test rows, ``noise`` is λ, ``leaves`` is the mean number of leaves of a tree.
    """
    data = geurts(task.cell.data_set, repetition=task.cell.trial)
    settings = {"min_samples_leaf": task.settings["min_samples_leaf"], "smoothing": "raw", "random_state": task.seed}
    if task.cell.method == TREE:
        model, leaves = grow_tree(data, settings)
    else:
        model, leaves = grow_bag(data, settings, task.settings["n_trees"])
    scores = {"error": error(model, data.test), "leaves": leaves}
    for mode, prefix in (("product", ""), ("exact", "exact_")):
        dual = DualPerturbCombineClassifier(FrozenEstimator(model), mode=mode, objective="error")
        dual.fit(data.grow.X, data.grow.y, validation=(data.prune.X, data.prune.y))
        scores |= {f"{prefix}dual_error": error(dual, data.test), f"{prefix}noise": float(dual.noise_)}
    return scores


def grow_tree(data: GrowPruneTest, settings: dict[str, Any]) -> tuple[PETClassifier, float]:
    """One tree, pruned with the pruning set; and its number of leaves."""
    model = PETClassifier(pruning="pruning_set", **settings)
    model.fit(data.grow.X, data.grow.y, pruning_set=(data.prune.X, data.prune.y))
    return model, float(model.tree_.n_leaves)


def grow_bag(data: GrowPruneTest, settings: dict[str, Any], n_trees: int) -> tuple[BaggedPETClassifier, float]:
    """Bagged trees, pruned together with the pruning set; and their mean number of leaves."""
    bag = BaggedPETClassifier(n_trees, bootstrap="plain", n_jobs=1, **settings).fit(data.grow.X, data.grow.y)
    matrix, labels = bag.encoder_.transform(data.prune.X), label_codes(data.prune.y, bag.classes_, "pruning set")
    held_out = EncodedRows(matrix, labels, None, bag.encoder_.n_categories, bag.classes_)
    trees = prune_together(list(bag.trees_), held_out)
    pruned = copy.copy(bag)
    pruned.trees_ = Forest.of(trees, bag.class_weights_)
    return pruned.with_smoothing("raw"), float(np.mean([tree.n_leaves for tree in trees]))


def error(model: Any, part: Any) -> float:
    """The share of rows that are given another class than their own."""
    return float(np.mean(model.predict(part.X) != part.y))


# Figures 2 to 4.


def study_experiment() -> Experiment:
    """Bias and variance as the noise grows: one cell, 50 trees."""
    return Experiment(STUDY_NAME, [CURVE], [TREE], 1, run_study, STUDY_SETTINGS)


def run_study(task: Task) -> dict[str, float]:
    """Error, bias and variance of decisions (figure 3) and of probabilities (figure 4) at each noise level."""
    study = noise_study(seed=task.seed, **task.settings)
    parts = {"decisions": study.decisions, "probabilities": study.probabilities or []}
    return {
        study_score(kind, part, level): getattr(one, part)
        for kind, of_levels in parts.items()
        for level, one in zip(study.values, of_levels, strict=True)
        for part in PARTS
    }


def study_score(kind: str, part: str, level: float) -> str:
    """The name of a score of the study.

    >>> study_score("decisions", "variance", 0.25)
    'decisions variance 0.25'
    """
    return f"{kind} {part} {level:.2f}"


def noise_study(*, seed: int, n_pool: int, n_test: int, n_sets: int, set_size: int) -> BiasVarianceStudy:
    """Section 2.4 on the curve: trees from learning sets drawn from a pool, judged on one test set."""
    X, y = make_curve(n_pool + n_test, np.random.default_rng(seed))
    model = DualPerturbCombineClassifier(study_tree(), noise=0.0, mode="product")
    return bias_variance_study(
        model,
        X[:n_pool],
        y[:n_pool],
        X[n_pool:],
        y[n_pool:],
        parameter="noise",
        values=list(STUDY_LEVELS),
        n_sets=n_sets,
        set_size=set_size,
        refit=False,
        random_state=seed,
    )


def study_tree() -> PETClassifier:
    """A tree grown until its leaves are pure."""
    return PETClassifier(min_samples_leaf=1, smoothing="raw")


def make_curve(n: int, random: np.random.Generator) -> tuple[Floats, Array]:
    """Points of a square, in two equally large classes with a curve between them and no uncertainty.

    The paper's problem, which has these properties, stands in a picture only.
    """
    X = random.random((n, 2))
    return X, np.where(X[:, 1] > 0.5 + 0.3 * np.sin(2 * np.pi * X[:, 0]), "full", "empty")
