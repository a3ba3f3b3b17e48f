"""A classifier that predicts the cheapest class, or the cheapest action, instead of the most probable class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _num_samples, check_is_fitted

from petiole._classifiers.describing import Described
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import check_weights
from petiole._validation import WithoutClassWeight, check_choice
from petiole.decisions.choice import decide, expected_cost
from petiole.decisions.cost_order import CostOrder, has_names
from petiole.decisions.costs import as_cost_array
from petiole.decisions.wrapping import (
    check_fitted_classes,
    check_has_probabilities,
    forget_fit,
    held_out_probabilities,
    inherit_input_tags,
    is_frozen,
    routing_enabled,
    share_columns,
    weight_arguments,
)
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import SavableModel


class CostSensitiveClassifier(
    WithoutClassWeight, Described, SavableModel, MetaEstimatorMixin, ClassifierMixin, BaseEstimator
):
    """Predict the cheapest class under a cost matrix or costs per row (Margineantu & Dietterich 2002, eq. 1.1).

    Costs are indexed ``cost[predicted, true]``. Rows and columns are in the order of ``classes_``, that is, of the
    sorted labels, unless ``labels`` or names give another order.

    Parameters
    ----------
    estimator : classifier with predict_proba
        One of petiole's, any of scikit-learn's, a pipeline, or a ``FrozenEstimator``, which is not fitted again.
    cost : array of shape (n_actions, n_classes), dict, data frame or None, default=None
        A dict of dicts, or a pandas frame, is read by names: ``cost[action][true class]``; a correct decision that it
        does not name costs 0. None: all mistakes cost the same.
    method : {"decide", "relabel"}, default="decide"
        "decide" weights the costs by the probabilities of each query. "relabel" gives every training row the label of
        its cheapest action and fits the estimator to these labels (after MetaCost, Domingos 1999). The result is one
        model that makes the decisions by itself, such as a small tree to print. The probabilities of the training rows
        are out-of-bag if the fitted estimator has them (``oob_score=True``), and otherwise from ``cv`` folds. Without
        ``cost`` the labels do not change.
    labels : list of classes, optional
        The classes of the columns of cost arrays (and of the rows, unless there are ``actions``), if they are not in
        sorted order. It may name classes that do not occur in the training rows, as happens in small folds.
    actions : list of names, optional
        The actions, one name per row of ``cost``, if they are not the classes.
    cv : int, splitter or iterable, default=5
        The folds of ``method="relabel"``.

    Attributes
    ----------
    estimator_ : fitted classifier
        Fitted to the labels as they are; its probabilities are those of ``predict_proba``.
    classes_ : array of the class labels
    actions_ : array of what ``predict`` can return: ``classes_`` unless ``actions`` are given.
    cost_ : array of shape (n_actions, n_classes), in the order of ``actions_`` and ``classes_``
        None if neither ``cost`` was given nor are the actions classes.
    relabelled_estimator_ : fitted classifier
        With ``method="relabel"``: fitted to the cheapest actions; it makes the predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from petiole import CostSensitiveClassifier, PETClassifier
    >>> data = load_breast_cancer()
    >>> X, y = data.data, data.target_names[data.target]
    >>> cost = {"benign": {"malignant": 50}, "malignant": {"benign": 1}}
    >>> model = CostSensitiveClassifier(PETClassifier.c44(), cost).fit(X[::2], y[::2])
    >>> [int((labels == "malignant").sum()) for labels in (model.estimator_.predict(X), model.predict(X))]
    [217, 238]
    >>> model.expected_cost(X[:1]).round(1)  # of "benign" and of "malignant"
    array([[48.9,  0. ]])
    """

    # Weights are for the wrapped estimator, which requests them itself.
    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012

    _saved = fields(
        estimator_=checks.fitted_classifier,
        classes_=checks.labels,
        actions_=checks.labels,
        cost_=checks.none_or(checks.floats(2)),
        relabelled_estimator_=maybe(checks.instance_of("SavableModel", "DummyClassifier")),
        n_features_in_=maybe(checks.whole(1)),
        feature_names_in_=maybe(checks.names),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        order, costs = CostOrder.of(state["classes_"], self.labels, self.actions), state["cost_"]
        require(order.actions.tolist() == state["actions_"].tolist(), "actions_: must be those of the parameters")
        shape = (len(order.actions), len(order.classes))
        require(costs is None or costs.shape == shape, f"cost_: must have the shape {shape}")
        check_fitted_classes(state["estimator_"], state["classes_"])
        checks.same_columns(state, state["estimator_"])
        self._check_relabelled(state)
        self._cost_order = order

    def _check_relabelled(self, state: dict[str, Any]) -> None:
        require(("relabelled_estimator_" in state) == (self.method == "relabel"), "method: must be that of the fit")
        relabelled = state.get("relabelled_estimator_")
        if relabelled is None:
            return
        if type(relabelled).__name__ != "DummyClassifier":  # which has been checked and does not use columns
            checks.fitted_classifier(relabelled)
            checks.same_columns(state, relabelled)
        known = state["actions_"].tolist()
        require(
            all(label in known for label in relabelled.classes_.tolist()),
            "relabelled_estimator_: must have no classes other than the actions",
        )

    def __init__(
        self,
        estimator: Any,
        cost: Any = None,
        *,
        method: str = "decide",
        labels: Any = None,
        actions: Any = None,
        cv: Any = 5,
    ) -> None:
        self.estimator = estimator
        self.cost = cost
        self.method = method
        self.labels = labels
        self.actions = actions
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> CostSensitiveClassifier:
        """Fit the estimator; with ``method="relabel"``, fit it again to the cheapest actions.

        Parameters
        ----------
        X, y
            In the form that the estimator accepts.
        sample_weight : array of shape (n_rows,), optional
            For the estimator; those of a pipeline go to its last step. With metadata routing enabled the estimator has
            to request them.
        **fit_params
            Further arguments of the estimator's fit.
        """
        self._check_parameters()
        X, y = indexable(X, y)
        arguments = self._fit_arguments(check_weights(sample_weight, _num_samples(X)), fit_params)
        estimator = clone(self.estimator).fit(X, y, **arguments)
        order = CostOrder.of(_class_array(estimator), self.labels, self.actions)
        costs = _costs_at_fit(order, self.cost, self.method)
        relabelled = None
        if self.method == "relabel" and self.cost is None:
            relabelled = estimator  # nothing to relabel by
        elif self.method == "relabel":
            proba = held_out_probabilities(self.estimator, estimator, X, y, self.cv, arguments)
            cheapest = order.actions[decide(proba, costs)]
            relabelled = _fit_relabelled(self.estimator, X, cheapest, arguments)
        # Nothing of the estimator changes before this point: a fit that fails or is stopped leaves it as it was.
        forget_fit(self)
        self._cost_order = order
        self.estimator_ = estimator
        self.classes_ = order.classes
        self.actions_ = order.actions
        self.cost_ = costs
        if relabelled is not None:
            self.relabelled_estimator_ = relabelled
        share_columns(estimator, self)
        return self

    def predict(self, X: Any, *, cost: Any = None) -> Array:
        """Return the cheapest class or action for each row; in a tie, the first.

        Parameters
        ----------
        X : the rows to decide for
        cost : array of shape (n_rows, n_actions, n_classes) or (n_actions, n_classes), dict or data frame, optional
            The costs of these decisions, in place of the ``cost`` of the classifier. With metadata routing enabled,
            ask for it with ``set_predict_request(cost=True)``.
        """
        check_is_fitted(self)
        if hasattr(self, "relabelled_estimator_"):
            if cost is not None:
                raise ValueError(
                    "cost was given to predict, but with method='relabel' costs are learned at fit: use method='decide'"
                )
            return self.relabelled_estimator_.predict(X)
        proba = self.predict_proba(X)
        return self.actions_[decide(proba, self._costs_for(cost, len(proba)))]

    def expected_cost(self, X: Any, *, cost: Any = None) -> Floats:
        """Return the expected cost of each action: shape (n_rows, n_actions), in the order of ``actions_``.

        Parameters
        ----------
        X, cost
            As in :meth:`predict`.
        """
        proba = self.predict_proba(X)
        return expected_cost(proba, self._costs_for(cost, len(proba)))

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of the estimator, in the order of ``classes_``; costs do not change them."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return natural logarithms of the class probabilities; -inf where a probability is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Arguments of fit go to the estimator; ``cost`` in ``predict`` is for this classifier."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inherit_input_tags(tags, self.estimator)
        return tags

    def _check_parameters(self) -> None:
        check_choice("method", self.method, ("decide", "relabel"))
        check_has_probabilities(self.estimator)
        if self.method == "relabel" and is_frozen(self.estimator):
            raise ValueError(
                "method='relabel' fits the estimator again, which a FrozenEstimator cannot be: use method='decide'"
            )
        if self.cost is not None and not has_names(self.cost):
            as_cost_array(self.cost)

    def _fit_arguments(self, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        if routing_enabled():
            return dict(process_routing(self, "fit", sample_weight=sample_weight, **fit_params).estimator.fit)
        return {**weight_arguments(self.estimator, sample_weight, "estimator"), **fit_params}

    def _costs_for(self, cost: Any, n_rows: int) -> Floats:
        if cost is not None:
            return self._cost_order.read(cost, n_rows)
        if self.cost_ is None:
            raise ValueError(
                "cost=None, and there is none for these actions: give cost to the classifier, or to this call as cost="
            )
        return self.cost_


def _costs_at_fit(order: CostOrder, cost: Any, method: str) -> Floats | None:
    """The costs for the fit; None if they come with the queries."""
    if cost is not None:
        return order.read(cost)
    if order.actions_are_classes:
        return 1.0 - np.eye(len(order.classes))
    if method == "relabel":
        raise ValueError("cost=None: method='relabel' needs the costs of the actions at fit")
    return None


def _fit_relabelled(estimator: Any, X: Any, cheapest: Array, arguments: dict[str, Any]) -> Any:
    if len(set(map(type, cheapest.tolist()))) > 1:
        raise ValueError("actions mix types, which learners do not take as labels: name them all with strings")
    if len(set(cheapest.tolist())) > 1:
        return clone(estimator).fit(X, cheapest, **arguments)
    from sklearn.dummy import DummyClassifier  # most learners refuse to learn a single class

    return DummyClassifier(strategy="most_frequent").fit(X, cheapest)


def _class_array(estimator: Any) -> Array:
    classes = np.asarray(estimator.classes_) if not isinstance(estimator.classes_, list) else None
    if classes is None or classes.ndim != 1:
        raise ValueError("y has several columns: fit one CostSensitiveClassifier for each")
    return classes
