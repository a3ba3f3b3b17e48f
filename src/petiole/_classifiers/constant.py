"""Constant probabilities: a baseline for other models."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from petiole._classifiers.describing import Described
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import check_same_length, check_weights, encode_labels
from petiole._table.weights import weights_in_rows
from petiole._validation import WithoutClassWeight, check_choice
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import SavableModel

STRATEGIES = ("base_rate", "zero", "one")


class ConstantClassifier(WithoutClassWeight, Described, SavableModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The same probabilities for every row: the three constants in the tables of Zadrozny & Elkan (2001).

    Parameters
    ----------
    strategy : {"base_rate", "zero", "one"}, default="base_rate"
        "base_rate" gives each class its share of the training rows. "zero" and "one" give the positive class the
        probability 0 or 1. The other classes divide what is left in proportion to their shares.
    positive : label or None, default=None
        The positive class; None is the second of two. With more classes it is needed by "zero" and "one". "base_rate"
        does not use it.

    Attributes
    ----------
    classes_ : array of the class labels
    base_rates_ : array of shape (n_classes,)
    probabilities_ : array of shape (n_classes,)
        The probabilities that every row gets.

    Examples
    --------
    >>> from petiole import ConstantClassifier
    >>> X, y = [[0], [0], [0], [0]], ["no", "yes", "no", "no"]
    >>> ConstantClassifier().fit(X, y).predict_proba([[7]])
    array([[0.75, 0.25]])
    >>> ConstantClassifier("one").fit(X, y).predict_proba([[7]])
    array([[0., 1.]])
    """

    _saved = fields(
        classes_=checks.labels,
        base_rates_=checks.probabilities(1),
        probabilities_=checks.probabilities(1),
        n_features_in_=maybe(checks.whole(0)),
        feature_names_in_=maybe(checks.names),
    )

    def _check_saved_parameters(self) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)

    def _check_state(self, state: dict[str, Any]) -> None:
        for name in ("base_rates_", "probabilities_"):
            require(len(state[name]) == len(state["classes_"]), f"{name}: must be one per class")
        names = state.get("feature_names_in_")
        require(
            names is None or len(names) == state.get("n_features_in_"), "feature_names_in_: must be one per feature"
        )

    def __init__(self, strategy: str = "base_rate", *, positive: Any = None) -> None:
        self.strategy = strategy
        self.positive = positive

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model: count the classes. Of X only the number of rows and columns matters.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            How much each row counts relative to the others; a row of weight 0 is ignored.
        """
        check_choice("strategy", self.strategy, STRATEGIES)
        classes, codes = encode_labels(y)
        validate_data(copy.copy(self), X, skip_check_array=True)
        n_rows = _num_samples(X)
        check_same_length(n_rows, len(codes))
        weights, _ = weights_in_rows(check_weights(sample_weight, n_rows))
        totals = np.bincount(codes, weights, minlength=len(classes))
        present = totals > 0
        classes, base_rates = classes[present], totals[present] / totals.sum()
        probabilities = self._probabilities(classes, base_rates)
        validate_data(self, X, skip_check_array=True)
        self.classes_ = classes
        self.base_rates_ = base_rates
        self.probabilities_ = probabilities
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The same class probabilities for each row of X, in the order of ``classes_``."""
        check_is_fitted(self)
        validate_data(self, X, skip_check_array=True, reset=False)
        return np.tile(self.probabilities_, (_num_samples(X), 1))

    def predict_log_proba(self, X: Any) -> Floats:
        """Natural logarithms of the class probabilities; -inf where a probability is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class for each row of X; in a tie, the first."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def _probabilities(self, classes: Array, base_rates: Floats) -> Floats:
        if self.strategy == "base_rate":
            return base_rates
        positive = self._positive(classes)
        if self.strategy == "one":
            return np.asarray(np.eye(len(classes))[positive])
        if len(classes) == 1:
            raise ValueError(
                f"strategy='zero': y has one class, {classes.tolist()[0]!r}, and no other that could have the "
                "probability; give rows of another class"
            )
        others = base_rates.copy()
        others[positive] = 0.0
        return np.asarray(others / others.sum())

    def _positive(self, classes: Array) -> int:
        labels = classes.tolist()
        if self.positive is None:
            if len(labels) > 2:
                raise ValueError(
                    "Only binary classification is supported. The type of the target is multiclass, with "
                    f"strategy={self.strategy!r} and positive=None: name one of the {len(labels)} classes in positive"
                )
            return len(labels) - 1
        if self.positive not in labels:
            raise ValueError(f"positive={self.positive!r}: must be one of the classes in y, {labels}")
        return int(labels.index(self.positive))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_class = self.strategy == "base_rate" or self.positive is not None
        return tags
