"""Honest probabilities of training rows: those of trees, chains or folds that have not seen the row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from petiole._classifiers.ensemble import ForestClassifier, training_again
from petiole._classifiers.oob_calibrated import OOBCalibratedClassifier
from petiole._estimates.asking import OutOfBagRows
from petiole._forest.plan import find_rows, plans_of
from petiole._table.columns import Floats
from petiole._table.frames import settled
from petiole.decisions import CostSensitiveClassifier

# petiole's ensembles, scikit-learn's forests, and boosted trees keep them under these names.
KEPT_AS = ("oob_predict_proba_", "oob_decision_function_", "cv_predict_proba_")


def gives_honest_answers(estimator: Any) -> bool:
    """Whether a classifier, fitted or not, can answer its training rows honestly without being fitted again."""
    model = _inner(estimator)
    if isinstance(model, ForestClassifier):
        return model.bootstrap is not False
    if isinstance(model, OOBCalibratedClassifier) or any(hasattr(model, name) for name in KEPT_AS):
        return True
    if isinstance(model, CostSensitiveClassifier):
        return gives_honest_answers(model.estimator)
    return _keeps_when_fitted(model)


def _inner(estimator: Any) -> Any:
    """The classifier in a frozen estimator, or at the end of a pipeline."""
    model = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _keeps_when_fitted(model: Any) -> bool:
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    draws_rows = parameters.get("bootstrap", True) is not False
    return ("oob_score" in parameters and draws_rows) or bool(parameters.get("early_stopping") and _is_boosted(model))


def _is_boosted(model: Any) -> bool:
    return type(model).__name__ == "BoostedPETClassifier"


def asked_to_keep(estimator: Any) -> Any:
    """The same unfitted estimator, told to keep out-of-bag probabilities where that is a parameter."""
    name = f"{estimator.steps[-1][0]}__oob_score" if isinstance(estimator, Pipeline) else "oob_score"
    if isinstance(estimator, FrozenEstimator) or name not in estimator.get_params():
        return estimator
    return estimator if estimator.get_params()[name] else estimator.set_params(**{name: True})


def honest_probabilities(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Floats | None:
    """The honest probabilities of the training rows; NaN for rows without any. None if the classifier has none."""
    model = _inner(estimator)
    if isinstance(model, OOBCalibratedClassifier):
        proba = honest_probabilities(model.estimator_, X, y, sample_weight)
        return None if proba is None else _recalibrated(model, proba, X)
    if isinstance(model, CostSensitiveClassifier):
        return honest_probabilities(model.estimator_, X, y, sample_weight)
    for name in KEPT_AS:
        if hasattr(model, name):
            return _with_gaps(np.asarray(getattr(model, name), dtype=np.float64))
    if isinstance(model, ForestClassifier) and model.bootstrap is not False:
        return _found_again(model, X, y, sample_weight)
    return None


def _recalibrated(model: OOBCalibratedClassifier, proba: Floats, X: Any) -> Floats:
    """Out-of-bag probabilities after the maps that were learned from them."""
    known = ~np.isnan(proba[:, 0])
    mapped = np.full(proba.shape, np.nan)
    if known.any():
        mapped[known] = model.calibrator_.predict(proba[known])
    if known.any() and "group_calibrator_" in vars(model):
        rows = _safe_indexing(settled(X), np.flatnonzero(known))
        mapped[known] = model.group_calibrator_.predict(mapped[known], rows)
    return mapped


def _with_gaps(proba: Floats) -> Floats:
    """Rows that all members of an ensemble have seen are NaN or zeros; here they are NaN."""
    known = np.isfinite(proba).all(axis=1) & (np.abs(np.nan_to_num(proba).sum(axis=1) - 1) < 1e-6)
    return np.where(known[:, np.newaxis], proba, np.nan)


def _found_again(model: ForestClassifier, X: Any, y: Any, sample_weight: Any) -> Floats:
    """Out-of-bag probabilities of a forest that has kept none, from its seed and the training rows."""
    rows = training_again(model, X, y, sample_weight, "from_oob")
    n_threads = model._n_threads()
    kinds = zip(plans_of(model, model.seed_), model._estimate.forests, strict=False)
    unseen = [OutOfBagRows(find_rows(plan, forest, rows, n_threads), rows, n_threads) for plan, forest in kinds]
    found = model._estimate.unseen_answer(n_threads)(unseen)
    proba = np.full((len(y), found.shape[1]), np.nan)
    proba[rows.positions] = found
    return _with_gaps(proba)
