"""What classifiers share: data in, labels out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from petiole._table.encoder import FeatureEncoder
from petiole._table.labels import check_same_length, check_weights, encode_labels
from petiole._table.weights import weights_in_rows
from petiole._tree.growing import MAX_CLASSES, TrainingSet
from petiole._validation import draw_seed, thread_count
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import SavableModel


class TableClassifier(SavableModel, ClassifierMixin, BaseEstimator):
    """Base of classifiers of tables with numeric and nominal columns, whose parameter is ``categorical_features``.

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
        require(encoder.n_features == state["n_features_in_"], "n_features_in_: must be the number of columns")
        require(
            names is None or names.tolist() == encoder.feature_names, "feature_names_in_: must be the columns' names"
        )

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Class probabilities of the rows of X, in the order of ``classes_``; each row sums to 1."""
        return self._average(self._encode(X))

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Natural logarithms of the class probabilities; -inf where a probability is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row, the first of equals."""
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def _average(self, matrix: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        raise NotImplementedError

    def _encode_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[FeatureEncoder, TrainingSet]:
        """Check and encode the training data; rows of weight zero are absent from here on.

        Leaves the classifier as it was; ``_remember_columns`` does the rest when nothing can fail any more.
        """
        classes, labels = encode_labels(y)
        # An unfitted one is checked in its place: copying a fitted one would unpack its trees.
        validate_data(type(self)(**self.get_params(deep=False)), X, skip_check_array=True)
        n_rows = _num_samples(X)
        check_same_length(n_rows, len(labels))
        weights = check_weights(sample_weight, n_rows)
        kept = None
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            X, weights = _safe_indexing(X, kept), weights[kept]
            present, codes = np.unique(labels[kept], return_inverse=True)
            classes, labels = classes[present], codes.astype(np.int32)
        encoder, matrix = FeatureEncoder.fit(X, self.categorical_features, type(self).__name__)
        weights, unit = weights_in_rows(weights, self.weights)
        return encoder, TrainingSet(matrix, labels, weights, encoder.n_categories, classes, kept, unit)

    def _remember_columns(self, X: Any) -> None:
        """Set ``n_features_in_`` and, where X has column names, ``feature_names_in_``."""
        validate_data(self, X, skip_check_array=True)

    def _encode(self, X: Any) -> npt.NDArray[Any]:
        """Rows to predict, as one float matrix."""
        if "encoder_" not in self.__dict__:
            check_is_fitted(self)
        encoder: FeatureEncoder = self.encoder_
        matrix = encoder.transform(X)
        # Names are scikit-learn's to check; a plain array has none, and for one row the check would cost more than the
        # prediction.
        if type(X) is not np.ndarray or encoder.feature_names is not None:
            validate_data(self, X, skip_check_array=True, reset=False)
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class TreeBasedClassifier(TableClassifier):
    """Base of the classifiers that grow trees: what the core can hold, threads and the seed."""

    def _encode_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[FeatureEncoder, TrainingSet]:
        encoder, training = super()._encode_training(X, y, sample_weight)
        if len(training.classes) > MAX_CLASSES:
            raise ValueError(
                f"y has {len(training.classes)} classes: at most {MAX_CLASSES} are supported; is y a continuous target?"
            )
        if training.n_rows >= 2**31:
            raise ValueError(f"X has {training.n_rows} rows: at most {2**31 - 1} are supported; fit on a sample")
        self._warn_of_small_weights(training.weights)
        return encoder, training

    def _warn_of_small_weights(self, weights: npt.NDArray[np.float64] | None) -> None:
        if weights is None or self.weights != "counts":
            return
        total, least = float(weights.sum()), 2 * float(self.min_samples_leaf)
        if total < least <= len(weights):
            warnings.warn(
                f"sample_weight sums to {total:.3g}, less than 2 * min_samples_leaf = {least:g}: no node can be split. "
                "With weights='counts' a row of weight 2 counts as two rows: use weights='relative', for which only "
                "the ratios of weights matter.",
                UserWarning,
                stacklevel=4,
            )

    def _seed(self) -> int | None:
        """The seed that enters at fit; None leaves ties to the first attribute."""
        return None if self.random_state is None else draw_seed(self.random_state)

    def _n_threads(self) -> int:
        return thread_count(self.n_jobs)
