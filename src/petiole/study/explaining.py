"""Explanations that need further fits: which columns matter and how, and a tree that can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from petiole._classifiers.pet import PETClassifier
from petiole._table.judged import Judged
from petiole.smoothing import HGS
from petiole.study.effects import Effect, effects
from petiole.study.importance import Importance, parts_of, permutation_importance
from petiole.study.results import Study
from petiole.study.running import fit_on
from petiole.study.scoring import row_losses

N_EFFECTS = 6  # columns whose effects are shown
READABLE_DEPTH = 4
READABLE_LEAF = 0.02  # of the rows, but at least so many:
FEWEST_IN_LEAF = 5


@dataclass(frozen=True, eq=False)
class Explanation:
    """Made by :func:`explain`.

    Attributes
    ----------
    importance : list of Importance
        The columns, the most important ones for the recommended method first.
    effects : list of Effect
        Of the first few of them.
    tree : PETClassifier
        A single tree that is small enough to read, fitted on all rows.
    tree_scores : dict from "shown" and "full" to float
        The log-loss, on rows that they were not fitted to, of trees like the one that is shown and of full ones.
    """

    importance: list[Importance]
    effects: list[Effect]
    tree: PETClassifier
    tree_scores: dict[str, float]


def explain(study: Study) -> Explanation:
    """Fit what a report of the study shows besides the scores."""
    importance = permutation_importance(study, study.recommended)
    part, threads = parts_of(study)[0], study.design.n_jobs
    model, _ = fit_on(
        study.methods[study.recommended].make(study.design.seed, threads), study.data, part.train, threads
    )
    columns = [found.name for found in importance[:N_EFFECTS]]
    shown_effects = effects(model, study.data, part.test.matrix, columns, study.design.seed)
    scores = {
        "shown": held_out_log_loss(study, readable_tree(study)),
        "full": held_out_log_loss(study, full_tree(study)),
    }
    return Explanation(importance, shown_effects, single_tree(study), scores)


def full_tree(study: Study) -> PETClassifier:
    """The study's single tree, not fitted."""
    return PETClassifier.c44(smoothing=HGS(alpha="honest"), random_state=study.design.seed, n_jobs=study.design.n_jobs)


def readable_tree(study: Study) -> PETClassifier:
    """A tree of a few levels with leaves of some size, not fitted."""
    least = max(FEWEST_IN_LEAF, READABLE_LEAF * len(study.data.rows))
    tree: PETClassifier = full_tree(study).set_params(
        max_depth=READABLE_DEPTH, min_samples_leaf=least, nominal_splits="binary"
    )
    return tree


def single_tree(study: Study) -> PETClassifier:
    """The tree to be read, fitted on all rows."""
    X, y, sample_weight = study.given
    return readable_tree(study).fit(X, y, sample_weight)


def held_out_log_loss(study: Study, model: Any) -> float:
    """The log-loss of trees like this one on the test rows of the first repetition."""
    losses, weights = [], []
    for part in parts_of(study):
        fitted, _ = fit_on(model, study.data, part.train, study.design.n_jobs)
        proba = np.zeros((len(part.test), len(study.classes)))
        proba[:, fitted.classes_] = fitted.predict_proba(part.test.matrix)
        judged = Judged(part.test.labels, proba, np.arange(len(study.classes)), part.test.weights_or_ones())
        losses.append(row_losses(judged, None)["log_loss"])
        weights.append(judged.weights)
    return float(np.average(np.concatenate(losses), weights=np.concatenate(weights)))
