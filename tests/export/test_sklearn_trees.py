"""Conversion between scikit-learn's trees and petiole's."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, export_text, plot_tree
from sklearn.utils.validation import check_is_fitted

from petiole import BaggedPETClassifier, MOBESPClassifier, PETClassifier, ProbabilityForestClassifier, Tree
from petiole.export.sklearn import from_sklearn, to_sklearn, trees_from_sklearn, unrounded_threshold
from petiole.smoothing import Laplace

INF32 = np.float32(np.inf)
LARGEST = float(np.finfo(np.float32).max)


def make_data(n=400, seed=0, n_classes=3, missing=0.0):
    X, y = make_classification(
        n, n_features=6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=seed, n_clusters_per_class=1
    )
    if missing:
        X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    return X, y


def next_to_thresholds(tree, n_features, n=4000, seed=0):
    """Rows whose values are thresholds, their float32 neighbours, the middles of these, and what is next to them."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, n_features))
    for feature in np.unique(tree.feature[tree.feature >= 0]):
        cuts = tree.threshold[tree.feature == feature]
        near = cuts.astype(np.float32)
        floats = np.concatenate([near, np.nextafter(near, INF32), np.nextafter(near, -INF32)]).astype(np.float64)
        middles = (floats[:, None] + floats[None, :])[np.abs(floats[:, None] - floats[None, :]) < 1e-4] / 2
        values = np.concatenate([cuts, floats, middles])
        values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
        rows[:, feature] = random.choice(values, size=n)
    return rows


def assert_same_answers(model, other, X):
    np.testing.assert_array_equal(model.apply(X), other.apply(X))
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


def recount(member, X, y, weights, n_classes):
    """Class counts of every node from the leaves that scikit-learn names; children come after their parent."""
    nodes = member.tree_
    counts = np.zeros((nodes.node_count, n_classes))
    np.add.at(counts, (member.apply(X), y), weights)
    for node in np.flatnonzero(nodes.children_left >= 0)[::-1]:
        counts[node] = counts[nodes.children_left[node]] + counts[nodes.children_right[node]]
    return counts


def test_unrounded_threshold_is_the_exact_boundary():
    """d is rounded to float32 at or below the threshold, the next double is not."""
    random = np.random.default_rng(0)
    floats = random.integers(0, 2**32, size=20_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    special = [0, -0.0, 1, -1, 1e-45, -1e-45, 1e-50, -1e-50, 2**-126, 0.1, 1 / 3, 2**24, 2**24 + 1, 2**25 + 2]
    values = np.concatenate([floats[np.isfinite(floats)].astype(np.float64), special])
    next_float = np.nextafter(values.astype(np.float32), INF32).astype(np.float64)
    values = np.concatenate([values, values / 2 + next_float / 2, values * (1 + 1e-9)])
    values = np.append(values[np.abs(values) < LARGEST], [LARGEST, -LARGEST])
    d = unrounded_threshold(values)
    with np.errstate(over="ignore"):
        assert (d.astype(np.float32) <= values).all()
        assert (np.nextafter(d, np.inf).astype(np.float32) > values).all()
    assert unrounded_threshold(np.inf) == np.inf


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6, 1e-40])
def test_queries_next_to_thresholds_take_the_same_path(kind, scale):
    X, y = make_data()
    fitted = kind(random_state=0).fit(X * scale, y)
    model = from_sklearn(fitted)
    queries = next_to_thresholds(fitted.tree_, X.shape[1])
    assert_same_answers(model, fitted, queries)
    assert_same_answers(model, fitted, queries.astype(np.float32))


def test_values_that_are_neighbours_in_float32():
    """A threshold in the middle of two neighbouring float32: a query there goes to the even one, ties decide."""
    random = np.random.default_rng(0)
    steps = random.integers(0, 40, size=(300, 2)).astype(np.uint32)
    X = (np.float32(1.5).view(np.uint32) + steps).view(np.float32)
    y = (steps.sum(axis=1) + random.integers(0, 5, 300)) % 3
    fitted = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert_same_answers(from_sklearn(fitted), fitted, next_to_thresholds(fitted.tree_, 2))


@pytest.mark.parametrize("parameters", [{}, {"criterion": "entropy"}, {"max_leaf_nodes": 9}, {"ccp_alpha": 0.005}])
def test_everything_works_on_a_converted_tree(parameters):
    X, y = make_data()
    fitted = DecisionTreeClassifier(random_state=0, **parameters).fit(X, y)
    model = from_sklearn(fitted)
    assert_same_answers(model, fitted, X)
    assert (model.decision_path(X) != fitted.decision_path(X)).nnz == 0
    np.testing.assert_allclose(model.feature_importances_, fitted.feature_importances_, atol=1e-12)
    assert model.get_depth() == fitted.get_depth() and model.get_n_leaves() == fitted.get_n_leaves()
    assert model.n_features_in_ == 6 and not hasattr(model, "feature_names_in_") and "<=" in model.export_text()
    assert_same_answers(pickle.loads(pickle.dumps(model)), fitted, X)
    assert clone(model).fit(X, y).score(X, y) > 0.5


def test_leaf_estimators_see_the_counts():
    iris = from_sklearn(DecisionTreeClassifier(max_depth=2, random_state=0).fit(*load_iris(return_X_y=True)))
    assert iris.tree_.inbag_class_counts.tolist() == [[50, 50, 50], [50, 0, 0], [0, 50, 50], [0, 49, 5], [0, 1, 45]]
    assert iris.criterion == "gini" and iris.max_depth == 2 and iris.smoothing == "raw"
    X, y = make_data()
    fitted = DecisionTreeClassifier(min_samples_leaf=7, random_state=0).fit(X, y)
    model = from_sklearn(fitted)
    counts = model.tree_.inbag_class_counts
    np.testing.assert_array_equal(counts, np.rint(counts))
    np.testing.assert_array_equal(counts[0], np.bincount(y))
    smoothed = model.with_smoothing(Laplace(prior=2.0))
    expected = (counts + 2) / (counts.sum(axis=1, keepdims=True) + 6)
    np.testing.assert_allclose(smoothed.predict_proba(X), expected[fitted.apply(X)], rtol=1e-12)
    np.testing.assert_array_equal(from_sklearn(fitted, X, y).tree_.inbag_class_counts, counts)


def test_labels_and_names_are_kept():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = np.array(["red", "green", "blue"])[y]
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame, labels)
    model = from_sklearn(fitted)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert_same_answers(model, fitted, frame)
    again = model.to_sklearn()
    assert_same_answers(again, fitted, frame)
    assert again.feature_names_in_.tolist() == list("abcdef")
    root = f"{frame.columns[fitted.tree_.feature[0]]} <= "
    assert root in model.export_text() and root in export_text(again, feature_names=list(frame.columns))
    assert "class: green" in export_text(again) and plot_tree(again)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("fedcba")])


def test_sample_weight():
    X, y = make_data()
    weights = np.random.default_rng(0).choice([0.0, 0.25, 1.5, 3.0], size=len(y))
    fitted = DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(X, y, sample_weight=weights)
    model = from_sklearn(fitted)
    assert_same_answers(model, fitted, X)
    np.testing.assert_allclose(model.tree_.inbag_class_counts[0], np.bincount(y, weights), rtol=1e-12)
    recounted = from_sklearn(fitted, X, y, sample_weight=weights)
    np.testing.assert_allclose(recounted.tree_.inbag_class_counts, model.tree_.inbag_class_counts, atol=1e-9)
    with pytest.raises(ValueError, match="not what the model was fitted on"):
        from_sklearn(fitted, X, y)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 5.5, 2: 0.3}, {0: 0.0, 1: 1.0, 2: 2.0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weight_needs_the_data(class_weight, weighted):
    X, y = make_data()
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y)) if weighted else None
    fitted = DecisionTreeClassifier(class_weight=class_weight, max_depth=4, random_state=0).fit(X, y, weights)
    with pytest.raises(ValueError, match=r"class_weight=.*give the training data X and y"):
        from_sklearn(fitted)
    model = from_sklearn(fitted, X, y, sample_weight=weights)
    expected = recount(fitted, X, y, 1.0 if weights is None else weights, 3)
    np.testing.assert_allclose(model.tree_.inbag_class_counts, expected)
    np.testing.assert_array_equal(model.apply(X), fitted.apply(X))
    with pytest.raises(ValueError, match="not what the model was fitted on"):
        from_sklearn(fitted, X[::-1], y, sample_weight=weights)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_missing_values_take_the_same_path(kind, missing):
    """Also where training had none: scikit-learn sends them to the larger child then."""
    X, y = make_data(missing=missing)
    fitted = kind(random_state=0).fit(X, y)
    model = from_sklearn(fitted)
    queries, _ = make_data(seed=1, missing=0.4)
    assert_same_answers(model, fitted, queries)
    assert_same_answers(model, fitted, X)
    splits = ~model.tree_.is_leaf
    assert set(model.tree_.missing_branch[splits]) == {0, 1} and (model.tree_.missing_branch[~splits] == -1).all()


def test_a_split_of_known_from_missing_values():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan], [np.nan]])
    fitted = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    assert fitted.tree_.threshold[0] == np.inf
    model = from_sklearn(fitted)
    assert_same_answers(model, fitted, np.array([[1e30], [-5.0], [np.nan]]))
    with pytest.raises(ValueError, match=r"node 0 \(feature 0\) splits known from missing"):
        to_sklearn(model)


def test_monotonic_constraints_and_one_leaf_with_labels_of_every_kind():
    X, y = make_data(n_classes=2)
    fitted = DecisionTreeClassifier(monotonic_cst=[1, 0, 0, -1, 0, 0], random_state=0).fit(X, y)
    assert_same_answers(from_sklearn(fitted), fitted, X)
    one = DecisionTreeClassifier().fit(X, np.zeros(len(X)))
    assert_same_answers(from_sklearn(one), one, X)
    X = np.zeros((3, 2), dtype=np.float32)
    for y in ([1, 1, 1], ["a", "b", "a"], [True, False, True], [10**30, 10**31, 10**30]):
        model = PETClassifier().fit(X, y)
        assert_same_answers(model.to_sklearn(), model, X)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("parameters", [{}, {"max_samples": 0.4}, {"class_weight": "balanced_subsample"}])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_out_of_bag_counts(kind, parameters, weighted, missing):
    X, y = make_data(missing=missing)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y)) if weighted else np.ones(len(y))
    forest = kind(n_estimators=7, bootstrap=True, random_state=3, **parameters)
    forest.fit(X, y, sample_weight=weights if weighted else None)
    trees = trees_from_sklearn(forest, X, y, sample_weight=weights if weighted else None)
    for tree, member, rows in zip(trees, forest.estimators_, forest.estimators_samples_, strict=True):
        bag = np.bincount(rows, minlength=len(y))
        # New scikit-learn draws rows by their weights, old scikit-learn weights the rows drawn.
        inbag = bag if hasattr(forest, "_sample_weight") else bag * weights
        np.testing.assert_allclose(tree.inbag_class_counts, recount(member, X, y, inbag, 3), atol=1e-9)
        np.testing.assert_allclose(tree.oob_class_counts, recount(member, X, y, weights * (bag == 0), 3), atol=1e-9)
        assert 0 < tree.oob_class_counts[0].sum() < weights.sum()


def test_forest_without_data_and_without_bootstrap():
    X, y = make_data()
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    for tree, counted in zip(trees_from_sklearn(forest), trees_from_sklearn(forest, X, y), strict=True):
        assert isinstance(tree, Tree) and not tree.oob_class_counts.any()
        assert tree.with_counts(oob=counted.oob_class_counts).equals(counted)
    extra = ExtraTreesClassifier(n_estimators=3, class_weight="balanced", random_state=0).fit(X, y)
    for tree in trees_from_sklearn(extra, X, y):
        assert tree.inbag_class_counts[0].tolist() == np.bincount(y).tolist()
        assert not tree.oob_class_counts.any()


def test_forest_with_class_weight():
    X, y = make_data()
    forest = RandomForestClassifier(n_estimators=3, class_weight="balanced", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="give the training data X and y"):
        trees_from_sklearn(forest)
    if hasattr(forest, "_sample_weight"):
        with pytest.raises(ValueError, match=r"bootstrap samples were drawn by it.*balanced_subsample"):
            trees_from_sklearn(forest, X, y)
    else:
        assert [tree.inbag_class_counts[0].sum() for tree in trees_from_sklearn(forest, X, y)] == [len(y)] * 3


MODELS = [
    PETClassifier(),
    PETClassifier(smoothing="raw", criterion="gini"),
    PETClassifier(criterion="kearns_mansour", max_depth=3, min_samples_leaf=2.5),
    PETClassifier.c44(),
    PETClassifier.c45(smoothing=Laplace(prior=0.5)),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("grown_on", [np.float32, np.float64])
def test_float32_data_get_the_same_answers(model, grown_on):
    X, y = make_data()
    model = clone(model).fit(X.astype(grown_on), y)
    converted = model.to_sklearn()
    check_is_fitted(converted)
    moved = grown_on == np.float64 and model.threshold == "data"  # to what the values of the data are rounded to
    X = X if moved else X.astype(np.float32)
    for queries in (X,) if moved else (X, next_to_thresholds(model.tree_, 6).astype(np.float32)):
        assert_same_answers(converted, model, queries)
        assert (converted.decision_path(queries) != model.decision_path(queries)).nnz == 0
    assert_same_answers(pickle.loads(pickle.dumps(converted)), model, X)
    assert_same_answers(from_sklearn(converted), model, X)
    np.testing.assert_allclose(converted.tree_.value[:, 0], model.node_probabilities_)
    assert converted.get_depth() == model.get_depth() and converted.get_n_leaves() == model.get_n_leaves()
    if model.criterion != "kearns_mansour":
        np.testing.assert_allclose(converted.feature_importances_, model.feature_importances_, atol=1e-12)
    assert clone(converted).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("threshold", ["midpoint", "data"])
@pytest.mark.parametrize("spread", [1e-6, 1e-3, 1.0])
def test_no_training_row_changes_sides(threshold, spread):
    """Values lie as close as those of float32 do; rows that float32 cannot tell apart are left out before."""
    random = np.random.default_rng(0)
    for sign in 10 * [1, -1]:
        X = sign + spread * random.normal(size=(300, 2))
        for column in X.T:
            _, first = np.unique(column.astype(np.float32), return_index=True)
            column[:] = random.choice(column[first], size=len(column))
        y = random.integers(0, 3, size=len(X))
        model = PETClassifier(threshold=threshold, smoothing="laplace").fit(X, y)
        assert model.tree_.n_nodes > 5
        np.testing.assert_array_equal(model.to_sklearn().apply(X), model.apply(X))


FORESTS = {
    "B-PETs": BaggedPETClassifier.b_pets(n_estimators=5, random_state=0),
    "EB-PETs": BaggedPETClassifier.eb_pets(n_estimators=5, random_state=0),
    "random forest": BaggedPETClassifier.random_forest(n_estimators=5, random_state=0),
    "HGS": BaggedPETClassifier(5, smoothing="hgs", random_state=0),
}


@pytest.mark.parametrize("name", FORESTS)
def test_forests_become_random_forests(name):
    X, y = make_data()
    names = np.array(["a", "b", "c"])[y]
    model = clone(FORESTS[name]).fit(pd.DataFrame(X, columns=list("abcdef")), names)
    converted = model.to_sklearn()
    assert isinstance(converted, RandomForestClassifier) and converted.feature_names_in_.tolist() == list("abcdef")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    np.testing.assert_allclose(converted.predict_proba(frame), model.predict_proba(frame), atol=1e-12)
    np.testing.assert_array_equal(converted.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(converted.apply(frame), model.apply(frame))
    again = pickle.loads(pickle.dumps(converted))
    np.testing.assert_array_equal(again.predict_proba(frame), converted.predict_proba(frame))
    assert clone(converted).fit(frame, names).score(frame, names) > 0.8


@pytest.mark.parametrize("threshold", ["midpoint", "data"])
@pytest.mark.parametrize("units", [1, 10, 100, 10_000, -1_000])
def test_rows_on_a_threshold_of_a_forest_stay_on_their_side(threshold, units):
    """Values are decimal fractions, so rows out of bag are often the midpoint of two others: float32 rounds it up or
    down, and a midpoint like that of 0.1 and 0.2 is not quite 0.15."""
    random = np.random.default_rng(0)
    X, y = make_data(600)
    X = np.round(X * 100 * random.uniform(1, 50, size=6)) / units
    model = BaggedPETClassifier(20, threshold=threshold, random_state=0).fit(X[:300], y[:300])
    np.testing.assert_array_equal(model.to_sklearn().apply(X), model.apply(X))


def test_a_forest_of_measurements_becomes_a_random_forest():
    X, y = load_breast_cancer(return_X_y=True)
    for make in (BaggedPETClassifier.random_forest, BaggedPETClassifier.eb_pets):
        model = make(n_estimators=30, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.to_sklearn().predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12)


def test_forests_that_do_more_than_a_mean_are_refused():
    X, y = make_data()
    for model in (MOBESPClassifier(3), ProbabilityForestClassifier(4)):
        with pytest.raises(TypeError, match=r"more with its leaves than take their mean.*to_onnx"):
            to_sklearn(model.fit(X, y))
    with pytest.raises(ValueError, match="voting=True"):
        BaggedPETClassifier(3, voting=True).fit(X, y).to_sklearn()


def test_pipelines_with_an_encoder_are_converted():
    X, y = make_data()
    frame = pd.DataFrame({"x": X[:, 0], "town": np.where(X[:, 1] > 0, "Rome", np.where(X[:, 2] > 0, "Bern", "Oslo"))})
    encoder = make_column_transformer((OrdinalEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(encoder, PETClassifier(min_samples_leaf=5)).fit(frame, y)
    converted = to_sklearn(model)
    assert isinstance(converted[-1], DecisionTreeClassifier)
    np.testing.assert_allclose(converted.predict_proba(frame), model.predict_proba(frame), atol=1e-12)
    with pytest.raises(ValueError, match=r"is a categorical split.*OrdinalEncoder before it, in a pipeline"):
        PETClassifier().fit(frame[["town"]], y).to_sklearn()


def test_back_and_there():
    X, y = make_data(missing=0.0)
    fitted = DecisionTreeClassifier(random_state=0).fit(X, y)
    again = to_sklearn(from_sklearn(fitted))
    queries, _ = make_data(seed=1, missing=0.2)
    assert_same_answers(again, fitted, queries)
    assert_same_answers(again, fitted, next_to_thresholds(fitted.tree_, 6))
    np.testing.assert_array_equal(again.tree_.n_node_samples, fitted.tree_.n_node_samples)
    np.testing.assert_allclose(again.tree_.impurity, fitted.tree_.impurity, atol=1e-12)


def test_spread_missing_values_go_to_the_heavier_child():
    X, y = make_data(missing=0.1)
    model = PETClassifier().fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(model.to_sklearn().apply(X), model.apply(X.astype(np.float32)))


def test_categorical_splits_and_third_branches_are_refused():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": np.arange(40.0)})
    with pytest.raises(ValueError, match=r"node 0 \(feature 'colour'\) is a categorical split.*encode"):
        PETClassifier().fit(frame, [0, 1] * 20).to_sklearn()
    X, y = make_data(missing=0.2)
    with pytest.raises(ValueError, match=r"node \d+ \(feature \d\) has a third branch.*fractional"):
        PETClassifier(missing="separate").fit(X, y).to_sklearn()


REFUSED = [
    (from_sklearn, DecisionTreeClassifier(), NotFittedError, "DecisionTreeClassifier instance is not fitted"),
    (from_sklearn, DecisionTreeRegressor(), TypeError, "Regressor: must be .* fit a classifier"),
    (from_sklearn, RandomForestClassifier(), NotFittedError, "RandomForestClassifier instance is not fitted"),
    (from_sklearn, ExtraTreesClassifier(), NotFittedError, "ExtraTreesClassifier instance is not fitted"),
    (from_sklearn, LogisticRegression(), TypeError, "model is a LogisticRegression"),
    (from_sklearn, make_pipeline(DecisionTreeClassifier()), TypeError, "Pipeline: .* out of a pipeline"),
    (from_sklearn, DecisionTreeClassifier, TypeError, r"class \(DecisionTreeClassifier\): .* not the class"),
    (from_sklearn, PETClassifier(), TypeError, "model is a PETClassifier"),
    (trees_from_sklearn, RandomForestClassifier(), NotFittedError, "RandomForestClassifier instance is not fitted"),
    (trees_from_sklearn, DecisionTreeClassifier(), TypeError, r"single tree: use from_sklearn\(model\).tree_"),
    (trees_from_sklearn, LogisticRegression(), TypeError, "must be a fitted scikit-learn RandomForestClassifier"),
    (to_sklearn, PETClassifier(), NotFittedError, "PETClassifier instance is not fitted"),
    (to_sklearn, DecisionTreeClassifier(), TypeError, "Classifier: to_sklearn takes a fitted PETClassifier"),
]


@pytest.mark.parametrize(("convert", "model", "error", "message"), REFUSED)
def test_models_that_are_refused(convert, model, error, message):
    with pytest.raises(error, match=message):
        convert(model)


def test_data_that_do_not_fit():
    X, y = make_data()
    fitted = DecisionTreeClassifier(random_state=0).fit(X, y)
    for arguments, message in [
        ({"X": X}, "y is missing: give both"),
        ({"y": y}, "X is missing: give both"),
        ({"sample_weight": np.ones(400)}, "sample_weight was given without"),
        ({"X": X[:, :2], "y": y}, "expecting 6 features"),
        ({"X": X, "y": y[:-1]}, "inconsistent numbers of samples"),
        ({"X": X, "y": y + 1}, "label 3, but the classes are"),
        ({"X": X[:100], "y": y[:100]}, "not what the model was fitted on: at node 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            from_sklearn(fitted, **arguments)
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    for other in ((X[:100], y[:100]), (X[::-1], y[::-1]), (X, (y + 1) % 3)):
        with pytest.raises(ValueError, match="fitted on"):
            trees_from_sklearn(forest, *other)


def test_several_outputs_and_negative_weights_are_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="model has 2 outputs: fit one model per output"):
        from_sklearn(DecisionTreeClassifier().fit(X, np.column_stack([y, y])))
    weights = np.where(np.arange(400) == np.flatnonzero(y == 0)[0], -500.0, 2.0)
    fitted = DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="node 0 has negative class counts"):
        from_sklearn(fitted)


def test_shap_explains_the_smoothed_probabilities():
    shap = pytest.importorskip("shap")
    X, y = make_data()
    model = PETClassifier(max_depth=4).fit(X.astype(np.float32), y)
    explainer = shap.TreeExplainer(model.to_sklearn())
    total = explainer.shap_values(X[:20]).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict_proba(X[:20]), atol=1e-6)


def test_onnx_says_the_same():
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    X, y = make_data()
    X = X.astype(np.float32)
    model = PETClassifier().fit(X, y)
    graph = skl2onnx.to_onnx(model.to_sklearn(), X[:1], options={"zipmap": False})
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    queries = np.concatenate([X, next_to_thresholds(model.tree_, 6).astype(np.float32)])
    _, probabilities = session.run(None, {"X": queries})
    np.testing.assert_allclose(probabilities, model.predict_proba(queries), atol=1e-6)
