"""From scikit-learn's trees to petiole's and back.

The two differ in what they compare. scikit-learn rounds a query to float32 first, ``float32(x) <= threshold``; petiole
takes it as given, ``x <= threshold``. Rounding is monotone, so one float64 threshold says the same for every query:
the largest number that is rounded to or below scikit-learn's. The way back has no such freedom, see :func:`to_sklearn`.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._forest.forest import Forest
from petiole._table.columns import NumericColumn
from petiole._table.encoder import FeatureEncoder
from petiole._table.labels import check_same_length, check_weights, label_codes
from petiole._table.rows import EncodedRows
from petiole._tree.importance import impurity
from petiole._tree.traversal import class_counts
from petiole._tree.tree import Tree

Floats = npt.NDArray[np.float64]

_FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
# Older scikit-learn counted training rows with missing values at nodes that they do not reach when predicted.
_COUNTS_MISSING_WHERE_ROUTED = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
_LEAF = -2  # scikit-learn's feature and threshold of a leaf
_BEYOND_FLOAT32 = 2.0**128  # what would follow the largest float32, if its exponent could grow


def from_sklearn(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None
) -> PETClassifier | BaggedPETClassifier:
    """Make a fitted petiole classifier from the tree or trees of a scikit-learn classifier.

    A single tree becomes a :class:`petiole.PETClassifier`, a forest a :class:`petiole.BaggedPETClassifier`. Nodes keep
    their ids. Leaves give raw frequencies at first, as in scikit-learn; ``with_smoothing`` puts any other leaf
    estimator in their place. Every query takes the same path as in scikit-learn: float32 or float64, missing or
    not, however close to a threshold. Thresholds are moved by less than the distance of two float32 for that.

    Parameters of growth that petiole does not have (``splitter``, ``monotonic_cst``, ...) are left behind.

    Parameters
    ----------
    model : fitted DecisionTree-, ExtraTree-, RandomForest- or ExtraTreesClassifier
    X, y, sample_weight : the data that the model was fitted on, optional
        Needed if it has a ``class_weight``: its counts are weighted then, and the true ones are counted anew. The
        probabilities are those of the data and no longer those of ``class_weight``. With them the trees of a forest
        get their out-of-bag counts, from which ``HGS(alpha="honest")`` and its kin learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from petiole.export.sklearn import from_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = from_sklearn(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    >>> model.predict_proba(X[50:51]).round(3)
    array([[0.   , 0.907, 0.093]])
    >>> model.with_smoothing("laplace").predict_proba(X[50:51]).round(3)
    array([[0.018, 0.877, 0.105]])
    """
    converted: PETClassifier | BaggedPETClassifier
    if isinstance(model, _FORESTS):
        trees = trees_from_sklearn(model, X, y, sample_weight)
        shared = _petiole_parameters(model, trees[0].weights[0])
        bootstrap = "plain" if model.bootstrap else False
        converted = BaggedPETClassifier(len(trees), bootstrap=bootstrap, smoothing="raw", **shared)
        prior = np.sum([tree.inbag_class_counts[0] + tree.oob_class_counts[0] for tree in trees], axis=0)
        converted.trees_ = Forest.of(trees, prior)
        converted.class_weights_ = prior / len(trees)
    else:
        _check_single_tree(model)
        converted = PETClassifier(**_petiole_parameters(model, model.tree_.n_node_samples[0]))
        converted.tree_ = _tree_of(model, X, y, sample_weight)
    encoder = _numeric_encoder(model)
    converted.encoder_ = encoder
    converted.classes_ = model.classes_.copy()
    converted.n_features_in_ = model.n_features_in_
    if encoder.feature_names is not None:
        converted.feature_names_in_ = model.feature_names_in_.copy()
    return converted.with_smoothing("raw")


def _tree_of(model: Any, X: Any, y: Any, sample_weight: Any) -> Tree:
    training = _training_set(model, _numeric_encoder(model), X, y, sample_weight)
    tree = _structure(model)
    if training is None:
        return tree
    return _recounted(tree, training, training.weights, model.class_weight is not None)


def trees_from_sklearn(model: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> list[Tree]:
    """Return the trees of a scikit-learn forest, with node ids, thresholds and missing values as in
    :func:`from_sklearn`.

    Parameters
    ----------
    model : fitted RandomForestClassifier or ExtraTreesClassifier
    X, y, sample_weight : the data that the model was fitted on, optional
        With ``bootstrap=True`` each tree's sample is drawn once more and the rows left out of it are counted as
        ``oob_class_counts``, each with its weight; without data these are zero. Needed if the model has a
        ``class_weight``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from petiole.export.sklearn import trees_from_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> trees = trees_from_sklearn(forest, X, y)
    >>> [tree.inbag_class_counts[0].sum().item() for tree in trees]
    [150.0, 150.0, 150.0]
    >>> all(0 < tree.oob_class_counts[0].sum() < 75 for tree in trees)
    True
    """
    _check_forest(model)
    training = _training_set(model, _numeric_encoder(model), X, y, sample_weight)
    trees = [_structure(member) for member in model.estimators_]
    if training is None:
        return trees
    _check_draws(model)
    bags = _row_multiplicities(model, len(training))
    return [_with_bag(tree, model, training, bag) for tree, bag in zip(trees, bags, strict=True)]


def to_sklearn(model: PETClassifier) -> DecisionTreeClassifier:
    """Make a fitted scikit-learn DecisionTreeClassifier whose nodes hold the probabilities of a petiole classifier.

    For tools that read scikit-learn's trees. Nodes keep their ids; ``tree_.value`` has the smoothed probabilities,
    ``weighted_n_node_samples`` the in-bag weights, ``n_node_samples`` these rounded, ``impurity`` that of the in-bag
    counts by entropy or Gini (the latter also for "kearns_mansour").

    Only binary numeric splits can be converted. Two things to know:

    - scikit-learn rounds queries to float32. On float32 data the answers are the same. A float64 value next to a
      threshold can change sides: rare with ``threshold="midpoint"``, common with ``threshold="data"``, where thresholds
      are values of the data; a warning tells. Fit on ``X.astype("float32")`` to avoid it.
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
    if not isinstance(model, PETClassifier):
        raise TypeError(f"model is a {_kind(model)}: to_sklearn takes a fitted PETClassifier")
    check_is_fitted(model)
    _check_expressible(model)
    _warn_of_rounding(model)
    converted = DecisionTreeClassifier(**_sklearn_parameters(model))
    converted.classes_ = model.classes_.copy()
    converted.n_classes_ = np.intp(len(model.classes_))
    converted.n_outputs_ = 1
    converted.n_features_in_ = model.n_features_in_
    converted.max_features_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        converted.feature_names_in_ = model.feature_names_in_.copy()
    converted.tree_ = _sklearn_tree(model, converted.criterion)
    return converted


def unrounded_threshold(threshold: npt.ArrayLike) -> Floats:
    """The d for which ``x <= d`` equals ``float32(x) <= threshold`` for every float64 x.

    Let a be the largest float32 not above the threshold and b the next one. Rounding to nearest takes to a or below
    what lies below the middle of a and b, and the middle itself if a is the even one of the two.

    >>> d = unrounded_threshold(1.0)  # between 1 and 1 + 2**-23, and 1 is even
    >>> (d - 1) * 2**24
    array([1.])
    """
    given = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    with np.errstate(over="ignore", under="ignore"):
        nearest = given.astype(np.float32)
        a = np.where(nearest > given, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        b = np.nextafter(a, np.float32(np.inf))
        limits = np.clip([a, b], -_BEYOND_FLOAT32, _BEYOND_FLOAT32, dtype=np.float64)
        middle = limits[0] / 2 + limits[1] / 2
        goes_down = middle.astype(np.float32) == a
    d = np.where(goes_down, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isfinite(given), d, given)


def _check_single_tree(model: Any) -> None:
    _check_kind(model, DecisionTreeClassifier, "tree or forest classifier")


def _check_forest(model: Any) -> None:
    if isinstance(model, DecisionTreeClassifier):
        raise TypeError(f"model is a {_kind(model)}, a single tree: use from_sklearn(model).tree_")
    _check_kind(model, _FORESTS, "RandomForestClassifier or ExtraTreesClassifier")


def _check_kind(model: Any, kinds: Any, names: str) -> None:
    if not isinstance(model, kinds):
        hint = "; take it out of a pipeline or a search first"
        if isinstance(model, type):
            hint = "; give a fitted object, not the class"
        elif getattr(model, "_estimator_type", None) == "regressor" or "Regressor" in _kind(model):
            hint = "; a regressor has no class counts, fit a classifier"
        raise TypeError(f"model is a {_kind(model)}: must be a fitted scikit-learn {names}{hint}")
    check_is_fitted(model)
    if model.n_outputs_ != 1:
        raise ValueError(f"model has {model.n_outputs_} outputs: fit one model per output, with a 1-D y")


def _kind(model: Any) -> str:
    return f"class ({model.__name__})" if isinstance(model, type) else type(model).__name__


def _numeric_encoder(model: Any) -> FeatureEncoder:
    names = getattr(model, "feature_names_in_", None)
    columns: list[Any] = [NumericColumn() for _ in range(model.n_features_in_)]
    return FeatureEncoder(columns, None if names is None else [str(name) for name in names], "PETClassifier")


def _training_set(model: Any, encoder: FeatureEncoder, X: Any, y: Any, sample_weight: Any) -> EncodedRows | None:
    if X is None and y is None:
        if model.class_weight is not None:
            raise ValueError(
                f"model has class_weight={model.class_weight!r}, so its counts are weighted: give the training data X "
                "and y (and sample_weight, if fit had it) to count anew"
            )
        if sample_weight is not None:
            raise ValueError("sample_weight was given without X and y: give all three, as in fit, or none")
        return None
    if X is None or y is None:
        raise ValueError(f"{'X' if X is None else 'y'} is missing: give both X and y, as in fit, or neither")
    matrix, labels = encoder.transform(X), label_codes(y, model.classes_, "y")
    check_same_length(len(matrix), len(labels))
    weights = check_weights(sample_weight, len(matrix))
    return EncodedRows(matrix, labels, weights, encoder.n_categories, model.classes_)


def _structure(model: Any) -> Tree:
    """The tree of a fitted scikit-learn tree, with the class counts that it stores."""
    nodes = model.tree_
    is_leaf = nodes.children_left < 0
    tree = Tree.from_arrays(
        feature=np.where(is_leaf, -1, nodes.feature),
        threshold=unrounded_threshold(nodes.threshold),
        left=nodes.children_left,
        right=nodes.children_right,
        inbag_class_counts=_stored_counts(nodes),
        n_features=int(nodes.n_features),
    )
    # Trees that take missing values say at every split where they go, also if training had none: to the larger child.
    if not get_tags(model).input_tags.allow_nan:
        return tree
    branch = np.where(nodes.missing_go_to_left == 0, 1, 0)
    return dataclasses.replace(tree, missing_branch=np.where(is_leaf, -1, branch).astype(np.int32))


def _stored_counts(nodes: Any) -> Floats:
    """The class counts of every node; what is a whole number but for the last digits becomes one."""
    shares = nodes.value[:, 0, :]
    if not (np.abs(shares.sum(axis=1) - 1) < 1e-6).all():
        raise ValueError("tree_.value has no class fractions that sum to 1: fit with scikit-learn 1.6 or later")
    weights = nodes.weighted_n_node_samples[:, np.newaxis]
    counts = shares * weights
    if (counts < -1e-9 * weights).any():
        node = int((counts < -1e-9 * weights).any(axis=1).argmax())
        raise ValueError(f"node {node} has negative class counts: fit with sample_weight of 0 or more")
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) <= 2e-15 * whole, whole, np.maximum(counts, 0.0))


def _recounted(tree: Tree, training: EncodedRows, weights: Floats | None, has_class_weight: bool) -> Tree:
    """The tree with in-bag counts of the data; the stored ones may differ by a factor per class."""
    counts, stored = class_counts(tree, training.matrix, training.labels, weights), tree.inbag_class_counts
    factor = stored[0] / np.where(counts[0] > 0, counts[0], 1.0) if has_class_weight else 1.0
    off = np.abs(counts * factor - stored).max(axis=1)
    if not _COUNTS_MISSING_WHERE_ROUTED and np.isnan(training.matrix).any():
        off = off[:1]
    if (off > 1e-7 * stored[0].sum()).any():
        node = int(off.argmax())
        raise ValueError(
            f"X, y and sample_weight are not what the model was fitted on: at node {node} they have the class counts "
            f"{counts[node].tolist()}, the model {stored[node].tolist()}; give the data of fit"
        )
    return tree.with_counts(inbag=counts)


def _check_draws(model: Any) -> None:
    if _draws_by_weight(model) and model.class_weight not in (None, "balanced_subsample"):
        raise ValueError(
            f"model has class_weight={model.class_weight!r}, and bootstrap samples were drawn by it: they do not tell "
            "how frequent the classes are; fit with class_weight='balanced_subsample' or bootstrap=False"
        )


def _draws_by_weight(model: Any) -> bool:
    """Whether rows were drawn in proportion to their weights (new scikit-learn), not weighted after the draw."""
    return bool(model.bootstrap) and hasattr(model, "_sample_weight")


def _row_multiplicities(model: Any, n_rows: int) -> list[npt.NDArray[np.intp]]:
    """How often each row is in the sample of each tree."""
    bags = [np.bincount(drawn, minlength=n_rows) for drawn in model.estimators_samples_]
    if any(len(bag) > n_rows for bag in bags):
        raise ValueError(f"X has {n_rows} rows, fewer than the model was fitted on: give the data of fit")
    return bags


def _with_bag(tree: Tree, model: Any, training: EncodedRows, bag: npt.NDArray[np.intp]) -> Tree:
    weights = training.weights_or_ones()
    inbag = bag.astype(np.float64) if _draws_by_weight(model) else bag * weights
    tree = _recounted(tree, training, inbag, model.class_weight is not None)
    if not model.bootstrap:
        return tree
    return tree.with_counts(oob=class_counts(tree, training.matrix, training.labels, weights * (bag == 0)))


def _petiole_parameters(model: Any, n_rows: float) -> dict[str, Any]:
    least = model.min_samples_leaf
    if isinstance(least, float):  # a share of the rows
        least = max(1, math.ceil(least * n_rows))
    return {
        "criterion": "entropy" if model.criterion in ("entropy", "log_loss") else "gini",
        "max_depth": model.max_depth,
        "min_samples_leaf": least,
        "max_features": model.max_features,
        "categorical_features": None,
        "random_state": model.random_state,
    }


def _check_expressible(model: PETClassifier) -> None:
    tree = model.tree_
    n_children = np.diff(tree.child_start)
    refusals = (
        (tree.kind == "nominal", "is a categorical split", "encode categorical columns as numbers before fit"),
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


def _warn_of_rounding(model: PETClassifier) -> None:
    cuts = model.tree_.threshold[~model.tree_.is_leaf]
    with np.errstate(over="ignore", under="ignore"):
        n_crossing = int((cuts.astype(np.float32) > cuts).sum())
    if model.threshold == "data" and n_crossing:
        warnings.warn(
            f"threshold='data': {n_crossing} of {len(cuts)} thresholds are values of the data that scikit-learn rounds "
            "up to float32, so that rows with these values change sides. Fit on X.astype('float32').",
            UserWarning,
            stacklevel=3,
        )


def _sklearn_parameters(model: PETClassifier) -> dict[str, Any]:
    return {
        "criterion": "entropy" if model.criterion in ("entropy", "log_loss", "gain_ratio") else "gini",
        "max_depth": model.max_depth,
        "min_samples_leaf": max(1, math.ceil(model.min_samples_leaf)),
    }


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
    nodes["feature"][split], nodes["threshold"][split] = tree.feature[split], tree.threshold[split]
    nodes["impurity"] = impurity(tree.inbag_class_counts, criterion)
    nodes["weighted_n_node_samples"] = weights
    nodes["n_node_samples"] = np.rint(weights)
    branch, heavier = tree.missing_branch[split], weights[left] >= weights[right]
    nodes["missing_go_to_left"][split] = np.where(branch < 0, heavier, branch == 0)
    made = type(sample)(model.n_features_in_, np.array([tree.n_classes], dtype=np.intp), 1)
    values = np.ascontiguousarray(model.node_probabilities_[:, np.newaxis, :], dtype=np.float64)
    made.__setstate__({"max_depth": tree.depth, "node_count": tree.n_nodes, "nodes": nodes, "values": values})
    return made
