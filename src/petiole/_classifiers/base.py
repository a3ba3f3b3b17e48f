"""Base classes of the classifiers: encoding of tables, checks and labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from petiole._classifiers.constraining import check_constrained_rows, constraints_of
from petiole._classifiers.describing import Described
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import row_blocks, settled
from petiole._table.labels import check_same_length, check_weights, encode_labels, label_codes
from petiole._table.rows import MAX_CLASSES, EncodedRows, rows_that_count
from petiole._table.weights import weights_in_rows, weights_in_unit
from petiole._validation import WithoutClassWeight, draw_seed, thread_count
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import SavableModel


class TableClassifier(WithoutClassWeight, Described, SavableModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers of tables with numeric and categorical columns, whose parameter is ``categorical_features``.

    A subclass has ``fit`` and ``_average(matrix)``, its probabilities for encoded rows.
    """

    # What sample weights mean; classifiers that can count rows have it as a parameter.
    weights = "auto"

    _saved = fields(
        encoder_=checks.instance_of("FeatureEncoder"),
        classes_=checks.labels,
        n_features_in_=checks.whole(1),
        feature_names_in_=maybe(checks.names),
        weight_unit_=maybe(checks.positive),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        encoder, names = state["encoder_"], state.get("feature_names_in_")
        require(encoder.n_inputs == state["n_features_in_"], "n_features_in_: must be the number of columns")
        require(names is None or names.tolist() == encoder.input_names, "feature_names_in_: must be the columns' names")

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Class probabilities of the rows of X, in the order of ``classes_``; each row sums to 1."""
        if issparse(X) and X.ndim == 2 and len(blocks := row_blocks(X)) > 1:
            rows = X.tocsr()
            return np.concatenate([self._average(encode_queries(self, rows[block])) for block in blocks])
        return self._average(encode_queries(self, X))

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Natural logarithms of the class probabilities; -inf where a probability is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; in a tie, the first."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def _average(self, matrix: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        raise NotImplementedError

    def _check_rows(self, rows: EncodedRows) -> None:
        """Raise ValueError if the classifier cannot be fitted on rows like these."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


class TreeBasedClassifier(TableClassifier):
    """Base of the classifiers that grow trees: threads and the seed."""

    def _check_rows(self, rows: EncodedRows) -> None:
        if len(rows.classes) > MAX_CLASSES:
            raise ValueError(
                f"y has {len(rows.classes)} classes: at most {MAX_CLASSES} are supported; is y a continuous target?"
            )
        if len(rows) >= 2**31:
            raise ValueError(f"X has {len(rows)} rows: at most {2**31 - 1} are supported; fit on a sample")
        chosen_later = isinstance(self.min_samples_leaf, str)  # by the fit
        if rows.weights is not None and self.weights == "counts" and not chosen_later:
            _warn_of_small_weights(rows.weights, 2 * float(self.min_samples_leaf))

    def _n_threads(self) -> int:
        return thread_count(self.n_jobs)


def check_parameters(model: TableClassifier) -> None:
    """Raise an error that names the parameter, its value and the remedy, if one is invalid."""
    model._check_parameters()


def seed_of(model: TreeBasedClassifier) -> int | None:
    """The seed of the fit; with None, ties go to the first feature."""
    return None if model.random_state is None else draw_seed(model.random_state)


def has_oblique_splits(model: Any) -> bool:
    """Whether a tree of a fitted tree or forest tests a sum of columns."""
    trees = getattr(model, "tree_", None) or getattr(model, "trees_", None)
    return bool(getattr(trees, "is_oblique", False))


def remember_columns(model: TableClassifier, X: Any) -> None:
    """Set ``n_features_in_`` and, where X has column names, ``feature_names_in_``."""
    validate_data(model, settled(X), skip_check_array=True)


def encode_training(model: TableClassifier, X: Any, y: Any, sample_weight: Any) -> tuple[FeatureEncoder, EncodedRows]:
    """Check and encode training data; rows of weight zero are removed.

    Does not change the classifier; :func:`remember_columns` does so when nothing can fail any more.
    """
    X = settled(X)
    classes, labels = encode_labels(y)
    # An unfitted one is checked in its place: copying a fitted one would unpack its trees.
    validate_data(type(model)(**model.get_params(deep=False)), X, skip_check_array=True)
    n_rows = _num_samples(X)
    check_same_length(n_rows, len(labels))
    weights = check_weights(sample_weight, n_rows)
    kept = rows_that_count(weights)
    if kept is not None and weights is not None:
        X, weights = _safe_indexing(X, kept), weights[kept]
        present, codes = np.unique(labels[kept], return_inverse=True)
        classes, labels = classes[present], codes.astype(np.int32)
    encoder, matrix = FeatureEncoder.fit(X, model.categorical_features, type(model).__name__)
    weights, unit = weights_in_rows(weights, model.weights)
    constraints = constraints_of(model, encoder, classes)
    rows = EncodedRows(matrix, labels, weights, encoder.n_categories, classes, kept, unit, constraints)
    check_constrained_rows(model, rows)
    model._check_rows(rows)
    return encoder, rows


def encode_queries(model: TableClassifier, X: Any) -> npt.NDArray[Any]:
    """Rows to predict, as one float matrix in the coding of the fit."""
    if "encoder_" not in model.__dict__:
        check_is_fitted(model)
    encoder: FeatureEncoder = model.encoder_
    X = settled(X)
    matrix = encoder.transform(X)
    # scikit-learn checks the names; a plain array has none, and for one row the check would take longer than the
    # prediction.
    if type(X) is not np.ndarray or encoder.input_names is not None:
        validate_data(model, X, skip_check_array=True, reset=False)
    return matrix


def encode_labelled(model: TableClassifier, X: Any, y: Any, sample_weight: Any) -> EncodedRows:
    """Rows with labels in the coding of the fit, without those of weight zero."""
    matrix = encode_queries(model, X)
    remedy = "a fitted model cannot learn new classes; leave these rows out"
    labels = label_codes(y, model.classes_, "y", remedy=remedy)
    check_same_length(len(matrix), len(labels))
    unit = getattr(model, "weight_unit_", 1.0)
    weights = weights_in_unit(check_weights(sample_weight, len(labels)), unit)
    rows = EncodedRows(matrix, labels, weights, model.encoder_.n_categories, model.classes_, None, unit)
    kept = rows_that_count(weights)
    return rows if kept is None else rows.take(kept)


def _warn_of_small_weights(weights: npt.NDArray[np.float64], least: float) -> None:
    total = float(weights.sum())
    if total < least <= len(weights):
        warnings.warn(
            f"sample_weight sums to {total:.3g}, less than 2 * min_samples_leaf = {least:g}: no node can be split. "
            "With weights='counts' a row of weight 2 counts as two rows: use weights='relative', for which only "
            "the ratios of weights matter.",
            UserWarning,
            stacklevel=5,
        )
