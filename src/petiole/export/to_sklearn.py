"""From petiole's trees and forests to scikit-learn's."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.ensemble import ForestClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._tree.importance import impurity

Floats = npt.NDArray[np.float64]

_DIGITS = 12  # significant ones of a decimal fraction; a midpoint computed from two of them is exact to 15
_LEAF = -2  # scikit-learn's feature and threshold of a leaf


def to_sklearn(model: Any) -> Any:
    """Make a fitted scikit-learn tree or forest whose nodes hold the probabilities of a petiole classifier.

    A :class:`PETClassifier` becomes a DecisionTreeClassifier, a :class:`BaggedPETClassifier` a RandomForestClassifier,
    and a scikit-learn pipeline that ends in one of them the same pipeline with the converted classifier at its end.

    For tools that read scikit-learn's trees. Nodes keep their ids; ``tree_.value`` has the smoothed probabilities,
    ``weighted_n_node_samples`` the in-bag weights, ``n_node_samples`` these rounded, ``impurity`` that of the in-bag
    counts by entropy or Gini (the latter also for "kearns_mansour").

    Only binary numeric splits can be converted. For string columns put an encoder before the classifier in a pipeline.
    MOB-ESP, the probability forest and voting forests do more with their leaves than take a mean, so no forest of
    scikit-learn can say the same: they are refused. Two things to know:

    - scikit-learn rounds queries to float32. The answers are the same for the rows that a tree was grown on, unless
      two of their values on both sides of a threshold are the same in float32. They are the same for all rows if
      values have up to six digits, there and here, as measurements have; and for all float32 rows, unless
      ``threshold="data"`` and the trees were grown on float64. Another value can change sides if it is next to a
      threshold.
    - A missing value that petiole spreads over both branches goes to the heavier child, the left one of equals, as in
      ``model.apply``. It is not refused, as a fitted model does not tell whether its training data had missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import export_text
    >>> from petiole import PETClassifier
    >>> from petiole.export.sklearn import to_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> X = X.astype(np.float32)
    >>> model = PETClassifier(max_depth=1).fit(X, y)
    >>> converted = to_sklearn(model)
    >>> np.array_equal(converted.predict_proba(X), model.predict_proba(X))
    True
    >>> print(export_text(converted))
    |--- feature_2 <= 2.45
    |   |--- class: 0
    |--- feature_2 >  2.45
    |   |--- class: 1
    <BLANKLINE>
    """
    if isinstance(model, Pipeline):
        return Pipeline([*model.steps[:-1], (model.steps[-1][0], to_sklearn(model.steps[-1][1]))])
    if not isinstance(model, (PETClassifier, BaggedPETClassifier)):
        raise TypeError(f"model is a {type(model).__name__}: {_why_not(model)}")
    check_is_fitted(model)
    if model.encoder_.n_features > model.encoder_.n_inputs:
        raise ValueError(
            "the model has columns of dates, which scikit-learn does not divide into parts: give it numbers"
        )
    converted = _sklearn_single(model) if isinstance(model, PETClassifier) else _sklearn_forest(model)
    converted.classes_ = model.classes_.copy()
    if hasattr(model, "feature_names_in_"):
        converted.feature_names_in_ = model.feature_names_in_.copy()
    return converted


def _why_not(model: Any) -> str:
    if isinstance(model, ForestClassifier):
        return (
            "it does more with its leaves than take their mean, which no forest of scikit-learn does; export it as "
            "ONNX (petiole.export.to_onnx), or convert a BaggedPETClassifier"
        )
    return "to_sklearn takes a fitted PETClassifier or BaggedPETClassifier, or a pipeline that ends in one"


def _sklearn_single(model: PETClassifier) -> DecisionTreeClassifier:
    _check_expressible(model)
    converted = DecisionTreeClassifier(**_sklearn_parameters(model))
    _set_sizes(converted, model)
    converted.max_features_ = model.n_features_in_
    converted.tree_ = _sklearn_tree(model, converted.criterion)
    return converted


def _sklearn_forest(model: BaggedPETClassifier) -> RandomForestClassifier:
    if model.voting:
        raise ValueError(
            "voting=True: the forest counts the votes of its trees, and scikit-learn's takes the mean of their "
            "probabilities: fit with voting=False"
        )
    settings = {"n_estimators": len(model.trees_), "bootstrap": model.bootstrap is not False}
    converted = RandomForestClassifier(**settings, **_sklearn_parameters(model))
    _set_sizes(converted, model)
    converted.estimator_ = DecisionTreeClassifier()
    converted.estimators_ = [_sklearn_single(single) for single in model.estimators_]
    for tree in converted.estimators_:  # in a forest trees know classes by their numbers
        tree.classes_ = np.arange(len(model.classes_), dtype=np.float64)
    return converted


def _set_sizes(converted: Any, model: Any) -> None:
    converted.n_classes_ = np.intp(len(model.classes_))
    converted.n_outputs_ = 1
    converted.n_features_in_ = model.n_features_in_


def _check_expressible(model: PETClassifier) -> None:
    tree = model.tree_
    n_children = np.diff(tree.child_start)
    refusals = (
        (
            tree.kind == "nominal",
            "is a categorical split",
            "put an encoder such as OrdinalEncoder before it, in a pipeline",
        ),
        (tree.kind == "oblique", "is an oblique split", "fit with splits='best' or 'random'"),
        (n_children > 2, "has a third branch for missing values", "fit with missing='fractional'"),
        (tree.threshold == np.inf, "splits known from missing values", "fit with missing='fractional'"),
    )
    for refused, reason, remedy in refusals:
        if refused.any():
            node = int(refused.argmax())
            names = getattr(model, "feature_names_in_", None)
            column = tree.feature[node] if names is None else repr(names[tree.feature[node]])
            raise ValueError(f"node {node} (feature {column}) {reason}: only x <= t can be converted; {remedy}")


def _sklearn_parameters(model: Any) -> dict[str, Any]:
    return {
        "criterion": "entropy" if model.criterion in ("entropy", "log_loss", "gain_ratio") else "gini",
        "max_depth": model.max_depth,
        "min_samples_leaf": max(1, math.ceil(model.min_samples_leaf)),
    }


def _sklearn_thresholds(model: PETClassifier, split: npt.NDArray[Any]) -> Floats:
    """Thresholds that leave all training rows on their sides, as far as these differ in float32.

    A threshold that is a value of the data is raised to what this value is rounded to. A midpoint stays as it is: the
    nearest float32 lies between what the values around it are rounded to. Only at a power of two, where float32 lie
    half as dense on one side, one of the values may be rounded across the midpoint, and that moves to its other side.

    In a forest, rows out of bag may lie between the two values, and data of few digits often lie on the midpoint, as
    0.13 does on that of 0.12 and 0.14. So a midpoint that is, but for the last bits of a double, a decimal fraction of
    few digits goes to the side of what this fraction is rounded to. Other values of so few digits are further away
    than float32 are from each other.
    """
    thresholds: Floats = model.tree_.threshold[split]
    if model.threshold == "data":
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.maximum(thresholds, thresholds.astype(np.float32))
    fractions, are_fractions = _decimal_fractions(thresholds)
    return np.where(are_fractions, _beside_fractions(thresholds, fractions), _between_values(thresholds))


def _between_values(thresholds: Floats) -> Floats:
    """Midpoints, or the float32 below where one of the values around it would be rounded across."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        nearest = thresholds.astype(np.float32)
        off = (thresholds - nearest) * np.sign(nearest)  # above 0: away from zero
        close = (off > 0) & (off <= np.abs(np.spacing(nearest)) / 8) & (np.abs(np.frexp(nearest)[0]) == 0.5)
        beside = np.where(nearest > 0, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    return np.where(close, beside, thresholds)


def _decimal_fractions(thresholds: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The decimal fractions nearest to thresholds, and which are so short that float32 tells their neighbours apart."""
    spelled = [f"{threshold:.{_DIGITS}g}" for threshold in thresholds.tolist()]
    fractions = np.array(spelled, dtype=np.float64)
    units = np.array([_unit_of(text) for text in spelled], dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return fractions, units >= np.abs(np.spacing(fractions.astype(np.float32)))


def _unit_of(spelled: str) -> float:
    """The value of a 1 in the last digit of a number: 0.01 for "0.13"."""
    exponent = Decimal(spelled).normalize().as_tuple().exponent
    return 10.0**exponent if isinstance(exponent, int) else 0.0  # infinite, NaN


def _beside_fractions(thresholds: Floats, fractions: Floats) -> Floats:
    """Thresholds that send each fraction, rounded to float32, where its own threshold sends it as it is."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rounded = fractions.astype(np.float32)
        below = np.nextafter(rounded, np.float32(-np.inf)).astype(np.float64)
    return np.where(fractions <= thresholds, np.maximum(thresholds, rounded), np.minimum(thresholds, below))


def _sklearn_tree(model: PETClassifier, criterion: str) -> Any:
    """scikit-learn's own tree object, made as if it were unpickled."""
    # The layout of a node differs between versions: it is taken from a tree fitted here.
    sample = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
    tree, split = model.tree_, np.flatnonzero(~model.tree_.is_leaf)
    weights = tree.inbag_class_counts.sum(axis=1)
    left, right = tree.child_nodes[tree.child_start[split]], tree.child_nodes[tree.child_start[split] + 1]
    nodes = np.zeros(tree.n_nodes, dtype=sample.__getstate__()["nodes"].dtype)
    nodes["left_child"] = nodes["right_child"] = -1
    nodes["feature"] = nodes["threshold"] = _LEAF
    nodes["left_child"][split], nodes["right_child"][split] = left, right
    nodes["feature"][split], nodes["threshold"][split] = tree.feature[split], _sklearn_thresholds(model, split)
    nodes["impurity"] = impurity(tree.inbag_class_counts, criterion)
    nodes["weighted_n_node_samples"] = weights
    nodes["n_node_samples"] = np.rint(weights)
    branch, heavier = tree.missing_branch[split], weights[left] >= weights[right]
    nodes["missing_go_to_left"][split] = np.where(branch < 0, heavier, branch == 0)
    made = type(sample)(model.n_features_in_, np.array([tree.n_classes], dtype=np.intp), 1)
    values = np.ascontiguousarray(model.node_probabilities_[:, np.newaxis, :], dtype=np.float64)
    made.__setstate__({"max_depth": tree.depth, "node_count": tree.n_nodes, "nodes": nodes, "values": values})
    return made
