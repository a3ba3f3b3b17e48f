"""What estimators that wrap others share: arguments to pass on, tags to inherit, and probabilities of training rows."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _check_method_params, _num_samples, has_fit_parameter

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import encode_labels


def is_frozen(estimator: Any) -> bool:
    """Whether the estimator is frozen, so that a fit has no effect."""
    from sklearn.frozen import FrozenEstimator  # not needed to import petiole

    return isinstance(estimator, FrozenEstimator)


def check_has_probabilities(estimator: Any) -> None:
    """Raise an error unless the estimator has probabilities."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise TypeError(f"estimator={estimator!r}: must be a classifier object with fit and predict_proba")
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator={estimator!r}: has no predict_proba, and decisions need probabilities; "
            "wrap it in sklearn.calibration.CalibratedClassifierCV"
        )


def routing_enabled() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def weight_arguments(estimator: Any, sample_weight: Any, parameter: str) -> dict[str, Any]:
    """The arguments by which weights are passed to a fit; the weights of a pipeline are those of its last step."""
    if sample_weight is None or is_frozen(estimator):
        return {}
    if has_fit_parameter(estimator, "sample_weight") or routing_enabled():
        return {"sample_weight": sample_weight}
    if hasattr(estimator, "steps") and has_fit_parameter(estimator.steps[-1][1], "sample_weight"):
        return {f"{estimator.steps[-1][0]}__sample_weight": sample_weight}
    raise ValueError(
        f"sample_weight was given, but {parameter}={type(estimator).__name__} takes no weights: "
        "leave them out or use another learner"
    )


def inherit_input_tags(tags: Any, *estimators: Any) -> None:
    """Inherit the tags of the wrapped estimators: the wrapper accepts what all of them accept."""
    inner = [get_tags(estimator) for estimator in estimators]
    for name in ("sparse", "allow_nan", "categorical", "string"):
        setattr(tags.input_tags, name, all(getattr(found.input_tags, name) for found in inner))
    tags.no_validation = any(found.no_validation for found in inner)
    tags.non_deterministic = any(found.non_deterministic for found in inner)
    tags._skip_test = any(found._skip_test for found in inner)


def share_columns(estimator: Any, model: Any) -> None:
    """Copy ``n_features_in_`` and ``feature_names_in_`` of a fitted estimator to a model, as far as it has them."""
    if hasattr(estimator, "n_features_in_"):
        model.n_features_in_ = estimator.n_features_in_
    if hasattr(estimator, "feature_names_in_"):
        model.feature_names_in_ = estimator.feature_names_in_


def check_fitted_classes(estimator: Any, classes: Array) -> None:
    """Raise ValueError unless an estimator from a file is fitted to these classes."""
    found = getattr(estimator, "classes_", None)
    if found is None or np.asarray(found).tolist() != classes.tolist():
        raise ValueError("estimator_: must be fitted to the same classes")


def forget_fit(model: Any) -> None:
    """Remove the fitted attributes of an earlier fit."""
    for name in [name for name in vars(model) if name.endswith("_") and not name.startswith("__")]:
        delattr(model, name)


def held_out_probabilities(estimator: Any, fitted: Any, X: Any, y: Any, cv: Any, arguments: dict[str, Any]) -> Floats:
    """Probabilities of the training rows by models that were not fitted to them, in the order of ``fitted.classes_``.

    They are the out-of-bag probabilities of ``fitted`` if it has any, those of ``cv`` folds otherwise. A row that all
    members of an ensemble have seen gets the probabilities of the whole.
    """
    classes = np.asarray(fitted.classes_)
    if len(classes) == 1:
        return np.ones((_num_samples(X), 1))
    proba = _out_of_bag(fitted, _num_samples(X), len(classes))
    if proba is None:
        return _cross_fitted(estimator, classes, X, y, cv, arguments)
    unknown = ~(np.abs(proba.sum(axis=1) - 1) < 1e-6)  # NaN, or zeros
    if unknown.any():
        proba = proba.copy()
        proba[unknown] = fitted.predict_proba(_safe_indexing(X, np.flatnonzero(unknown)))
    return proba


def _out_of_bag(fitted: Any, n_rows: int, n_classes: int) -> Floats | None:
    model = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    for name in ("oob_predict_proba_", "oob_decision_function_"):  # petiole's name, scikit-learn's name
        proba = np.asarray(getattr(model, name, np.nan), dtype=np.float64)
        if proba.shape == (n_rows, n_classes):
            return proba
    return None


def _cross_fitted(estimator: Any, classes: Array, X: Any, y: Any, cv: Any, arguments: dict[str, Any]) -> Floats:
    proba = np.zeros((_num_samples(X), len(classes)))
    column_of = {label: column for column, label in enumerate(classes.tolist())}
    for train, test in _folds(X, y, cv):
        part = _check_method_params(X, arguments, indices=train)
        model = clone(estimator).fit(_safe_indexing(X, train), _safe_indexing(y, train), **part)
        # A class that is rare may be missing from a fold; its probability is then 0.
        columns = np.array([column_of[label] for label in np.asarray(model.classes_).tolist()])
        proba[np.ix_(test, columns)] = model.predict_proba(_safe_indexing(X, test))
    return proba


def _folds(X: Any, y: Any, cv: Any) -> list[tuple[Array, Array]]:
    from sklearn.model_selection import check_cv

    _, codes = encode_labels(y)
    if isinstance(cv, numbers.Integral):
        most = int(np.bincount(codes).max())
        if most < 2:
            raise ValueError(f"y has {len(codes)} rows and no class twice, so no row can be held out: use more rows")
        cv = min(int(cv), most)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = list(check_cv(cv, codes, classifier=True).split(X, codes))
    held_out = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(codes))
    if (held_out != 1).any():
        raise ValueError(f"cv={cv!r}: must hold every row out once, as KFold does")
    return folds


def add_column(X: Any, column: Floats, name: str) -> Any:
    """X with a further column at the end: arrays, sparse matrices and frames with column names keep their type."""
    if issparse(X):
        from scipy.sparse import csr_array, hstack

        return hstack([X, csr_array(column[:, np.newaxis])], format="csr")
    names = getattr(X, "columns", None) if not hasattr(X, "column_names") else X.column_names
    if names is None or not all(isinstance(known, str) for known in names):
        return np.column_stack([np.asarray(X), column])
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    if name in frame.columns:
        raise ValueError(f"X has a column named {name!r}, which is to be added: rename it")
    series = nw.new_series(name, column, backend=frame.implementation)
    return frame.with_columns(series).to_native()
