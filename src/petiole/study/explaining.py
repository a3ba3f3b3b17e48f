"""What explains a study beyond its scores and needs models fitted: which features matter, and one tree to look at."""

from __future__ import annotations

from dataclasses import dataclass

from petiole._classifiers.pet import PETClassifier
from petiole.study.importance import Importance, permutation_importance
from petiole.study.results import Study


@dataclass(frozen=True, eq=False)
class Explanation:
    """Made by :func:`explain`.

    Attributes
    ----------
    importance : list of Importance
        The features, those that matter most to petiole's best method first.
    tree : PETClassifier
        A single tree, fitted on all rows.
    """

    importance: list[Importance]
    tree: PETClassifier


def explain(study: Study) -> Explanation:
    """Fit what a report of the study shows besides the scores."""
    return Explanation(permutation_importance(study, study.petiole_winner or study.winner), single_tree(study))


def single_tree(study: Study) -> PETClassifier:
    """The study's single tree, or one like it if it was not compared, fitted on all rows."""
    if any(result.name == "pet" for result in study.table):
        model: PETClassifier = study.fit("pet")
        return model
    X, y, sample_weight = study.given
    return PETClassifier.c44(smoothing="hgs").fit(X, y, sample_weight)
