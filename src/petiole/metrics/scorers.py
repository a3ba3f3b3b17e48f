"""Metrics as scorers for ``cross_val_score``, ``GridSearchCV`` and similar tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import encode_labels
from petiole.metrics.calibration import expected_calibration_error
from petiole.metrics.costs import misclassification_cost, profit
from petiole.metrics.lift import area_under_lift_curve
from petiole.metrics.logarithmic import log_loss
from petiole.metrics.scores import accuracy, brier_score, error_rate, rmse, zero_one_mse

_LOSSES: dict[str, Callable[..., float]] = {
    "brier_score": brier_score,
    "error_rate": error_rate,
    "expected_calibration_error": expected_calibration_error,
    "log_loss": log_loss,
    "misclassification_cost": misclassification_cost,
    "rmse": rmse,
    "zero_one_mse": zero_one_mse,
}
_GAINS: dict[str, Callable[..., float]] = {
    "accuracy": accuracy,
    "area_under_lift_curve": area_under_lift_curve,
    "profit": profit,
}


def scorer_names() -> list[str]:
    """Return the names that :func:`scorer` accepts.

    Examples
    --------
    >>> from petiole.metrics import scorer_names
    >>> scorer_names()[:3]
    ['accuracy', 'area_under_lift_curve', 'brier_score']
    """
    return sorted(_LOSSES | _GAINS)


def scorer(name: str, **parameters: Any) -> ProbabilityScorer:
    """Make a scorer of a metric for the parameter ``scoring`` of scikit-learn's tools; losses are negated.

    Parameters
    ----------
    name : str
        One of :func:`scorer_names`.
    **parameters
        Passed to the metric, such as ``floor=0.001`` for "log_loss" or ``cost=[[0, 5], [1, 0]]`` for
        "misclassification_cost". ``labels`` may name all classes; a class that a model has not seen has probability 0.

    Returns
    -------
    ProbabilityScorer
        Called as ``scorer(model, X, y, sample_weight=None)``. With metadata routing, request weights by
        ``scorer.set_score_request(sample_weight=True)``, and other arguments with one value per row likewise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from petiole import PETClassifier
    >>> from petiole.metrics import scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_val_score(PETClassifier.c44(), X, y, scoring=scorer("brier_score")).round(3)
    array([-0.073, -0.067, -0.135, -0.15 , -0.067])
    """
    metric = (_LOSSES | _GAINS).get(name) if isinstance(name, str) else None
    if metric is None:
        raise ValueError(f"name={name!r}: must be one of {', '.join(map(repr, scorer_names()))}")
    return ProbabilityScorer(name, metric, name in _GAINS, parameters)


class ProbabilityScorer:
    """A metric of probabilities, to be called with a model; made by :func:`scorer`.

    It uses the probabilities of all classes of the model. Scorers of :func:`sklearn.metrics.make_scorer` pass only one
    column if there are two classes, so that a probability of 1e-20 in the other becomes 0, and do not pass the classes
    of the columns, so that a fold without one of the classes cannot be scored. The metadata requests are those of such
    a scorer.
    """

    def __init__(
        self, name: str, metric: Callable[..., float], greater_is_better: bool, parameters: dict[str, Any]
    ) -> None:
        self._name, self._metric, self._parameters = name, metric, parameters
        self._sign = 1 if greater_is_better else -1
        self._routing = make_scorer(
            metric, response_method="predict_proba", greater_is_better=greater_is_better, **parameters
        )

    def __call__(self, estimator: Any, X: Any, y_true: Any, *, sample_weight: Any = None, **metadata: Any) -> float:
        """The score of a fitted model on labelled rows; more is better."""
        given = {**self._parameters, **metadata}
        labels, proba = _aligned(estimator, X, y_true, given.pop("labels", None))
        return self._sign * self._metric(y_true, proba, labels=labels, sample_weight=sample_weight, **given)

    def set_score_request(self, **requests: Any) -> ProbabilityScorer:
        """Which metadata the scorer asks for, as in scikit-learn: ``set_score_request(sample_weight=True)``."""
        self._routing.set_score_request(**requests)
        return self

    def get_metadata_routing(self) -> Any:
        """The metadata that the scorer asks for."""
        return self._routing.get_metadata_routing()

    def _accept_sample_weight(self) -> bool:
        # scikit-learn needs this of scorers among several while metadata routing is off
        return True

    def __repr__(self) -> str:
        parameters = "".join(f", {name}={value!r}" for name, value in self._parameters.items())
        return f"scorer({self._name!r}{parameters})"


def _aligned(estimator: Any, X: Any, y_true: Any, labels: Any) -> tuple[Array, Floats]:
    """All classes, and a table with a column for each: the model's probabilities, and 0 for unknown classes."""
    known = np.asarray(estimator.classes_)
    proba = np.asarray(estimator.predict_proba(X))
    found, _ = encode_labels(y_true)
    classes = union_of_classes(known.tolist(), found.tolist()) if labels is None else np.asarray(labels)
    return classes, in_columns_of(classes, proba, known)


def in_columns_of(classes: Array, proba: Floats, known: Array) -> Floats:
    """A column for each of ``classes``: the probabilities of a model that has some of them, and 0 for the others."""
    position = {label: column for column, label in enumerate(classes.tolist())}
    missing = [label for label in known.tolist() if label not in position]
    if missing:
        raise ValueError(f"labels={classes.tolist()!r}: lacks the class {missing[0]!r} of the model; add it")
    table = np.zeros((len(proba), len(classes)), dtype=proba.dtype)
    table[:, [position[label] for label in known.tolist()]] = proba
    return table


def union_of_classes(known: list[Any], found: list[Any]) -> Array:
    """The sorted classes of the model and of the truth."""
    try:
        return np.array(sorted({*known, *found}), dtype=object)
    except TypeError:
        raise TypeError(
            f"y_true has labels such as {found[0]!r}, the model such as {known[0]!r}: use labels of one type"
        ) from None
