"""Fitted attributes of out-of-bag rows, which the ensembles and lazy option trees have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from petiole import _core
from petiole._estimates.leaf_tables import frequency_tables
from petiole._estimates.scores import OutOfBag, OutOfBagScores, Quality, score
from petiole._forest.forest import Forest
from petiole._table.rows import EncodedRows
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.smoothing import Laplace

# Those that model files keep.
OUT_OF_BAG_FIELDS = fields(
    oob_predict_proba_=maybe(checks.floats(2, 0.0, 1.0 + 1e-9, nan=True)),
    oob_decision_=maybe(checks.anything),
    oob_score_=maybe(checks.number(0.0, 1.0 + 1e-9, nan=True)),
    oob_log_loss_=maybe(checks.number(0.0, nan=True)),
    oob_brier_=maybe(checks.number(0.0, 2.0 + 1e-9, nan=True)),
    oob_reliability_=maybe(checks.floats(2, 0.0)),
)


def check_out_of_bag(state: dict[str, Any]) -> None:
    """Raise ValueError unless the out-of-bag parts of a saved model fit its classes."""
    reliable = state.get("oob_reliability_")
    require(reliable is None or reliable.shape[1:] == (3,), "oob_reliability_: must have three columns")
    if "oob_predict_proba_" not in state:
        return
    proba, decided = state["oob_predict_proba_"], state.get("oob_decision_")
    require(proba.shape[1] == len(state["classes_"]), "oob_predict_proba_: must have a column per class")
    require(isinstance(decided, np.ndarray) and decided.shape == proba.shape[:1], "oob_decision_: must be one per row")


def keep_quality(model: Any, quality: Quality) -> None:
    """Set the attributes that hold scores and reliability of out-of-bag probabilities."""
    model.oob_reliability_ = quality.reliability
    model.oob_score_ = quality.scores.accuracy
    model.oob_log_loss_ = quality.scores.log_loss
    model.oob_brier_ = quality.scores.brier


def keep_out_of_bag(model: Any, found: OutOfBag, X: Any, kept: npt.NDArray[np.intp] | None) -> None:
    """Set all out-of-bag attributes of a model that is fitted otherwise.

    They have a row for every row of X. Rows of weight zero are predicted by all trees, none of which has seen them.
    """
    proba, decision = found.proba, model.classes_[found.decision]
    if kept is not None:
        proba = model.predict_proba(X)
        decision = model.classes_[proba.argmax(axis=1)]
        proba[kept], decision[kept] = found.proba, model.classes_[found.decision]
    model.oob_predict_proba_ = proba
    model.oob_decision_ = decision
    keep_quality(model, found.quality)


LOSSES: dict[str, Callable[[OutOfBagScores], float]] = {
    "log": lambda scores: scores.log_loss,
    "brier": lambda scores: scores.brier,
    "error": lambda scores: 1.0 - scores.accuracy,
}


def permutation_importance(
    forest: Forest,
    members: _core.Members,
    rows: EncodedRows,
    n_repeats: int,
    loss: str,
    random_state: int | None,
    n_threads: int,
) -> Bunch:
    """How much worse trees predict training rows that they have not seen when the values of a feature are permuted.

    Leaves use Laplace's correction of their trees' own rows.
    """
    tables = frequency_tables(forest, Laplace(), 0.0)
    weights = rows.weights_or_ones()

    def loss_of(matrix: npt.NDArray[Any]) -> float:
        proba, _, n_used = forest.router.average(matrix, tables, members, False, n_threads)
        asked = n_used > 0
        return LOSSES[loss](score(proba[asked], rows.labels[asked], weights[asked]))

    random = np.random.default_rng(random_state)
    baseline = loss_of(rows.matrix)
    importances = np.zeros((rows.n_columns, n_repeats))
    shuffled = np.array(rows.matrix)
    for feature in range(rows.n_columns):
        for repeat in range(n_repeats):
            shuffled[:, feature] = random.permutation(rows.matrix[:, feature])
            importances[feature, repeat] = loss_of(shuffled) - baseline
        shuffled[:, feature] = rows.matrix[:, feature]
    return Bunch(
        importances=importances,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        baseline=baseline,
    )
