"""Bagged trees: what they are made of, laws, and honest learning on out-of-bag rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from petiole import (
    BaggedPETClassifier,
    MOBESPClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
    from_sklearn,
)
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, MBranch, MEstimate, Raw


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def noisy(n=400, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6))
    return X, (X[:, 0] + X[:, 1] + 1.5 * random.normal(size=n) > 0).astype(int)


def log_loss_bits(model, X, y):
    return -np.log2(np.maximum(model.predict_proba(X)[np.arange(len(y)), y], 1e-3)).mean()


def test_probabilities_are_the_mean_of_the_trees(iris):
    X, y = iris
    model = BaggedPETClassifier(5, random_state=0).fit(X, y)
    tables = [Laplace().node_probabilities(tree) for tree in model.trees_]
    leaves = model.apply(X)
    expected = np.mean([table[leaves[:, t]] for t, table in enumerate(tables)], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), expected)


def test_one_tree_without_bootstrap_is_a_pet_classifier(iris):
    X, y = iris
    bagged = BaggedPETClassifier(1, bootstrap=False, random_state=0).fit(X, y)
    single = PETClassifier().fit(X, y)
    assert bagged.trees_[0].n_nodes == single.tree_.n_nodes
    assert not bagged.trees_[0].oob_class_counts.any()


@pytest.mark.parametrize("bootstrap", ["stratified", "plain"])
def test_samples_have_the_right_sizes(iris, bootstrap):
    X, y = iris
    model = BaggedPETClassifier(20, bootstrap=bootstrap, random_state=0).fit(X, y)
    inbag = np.array([tree.inbag_class_counts[0] for tree in model.trees_])
    out = np.array([tree.oob_class_counts[0].sum() for tree in model.trees_])
    assert (inbag.sum(axis=1) == 150).all()
    assert (inbag == 50).all() == (bootstrap == "stratified")
    assert 0.3 < out.mean() / 150 < 0.44  # 0.368 expected
    distinct = BaggedPETClassifier(20, bootstrap=bootstrap, count="distinct", random_state=0).fit(X, y)
    for tree, counted in zip(model.trees_, distinct.trees_, strict=True):
        assert tree.feature.tolist() == counted.feature.tolist()
        total = counted.inbag_class_counts[0] + counted.oob_class_counts[0]
        np.testing.assert_array_equal(total, [50, 50, 50])


def test_out_of_bag_weight_mixes_the_counts(iris):
    X, y = iris
    model = BaggedPETClassifier.eb_pets(n_estimators=4, random_state=1).fit(X, y)
    for tree, table in zip(model.trees_, model.tables_, strict=True):
        mixed = tree.inbag_class_counts + tree.oob_class_counts
        np.testing.assert_allclose(table, (mixed / mixed.sum(axis=1, keepdims=True))[tree.is_leaf])
    plain = clone(model).set_params(oob_weight=0.0).fit(X, y)
    first = plain.trees_[0]
    np.testing.assert_allclose(plain.tables_[0], Raw().node_probabilities(first)[first.is_leaf])


def test_rows_of_single_precision_go_where_those_of_double_precision_go():
    """Values are neighbours in single precision, so that no threshold between them is a number of it."""
    random = np.random.default_rng(0)
    steps = random.integers(40, size=(400, 3), dtype=np.int32)
    X = (np.float32(1).view(np.int32) + steps).view(np.float32)
    y = steps.sum(axis=1) + random.integers(30, size=400) > 75
    fits = [
        BaggedPETClassifier.eb_pets(n_estimators=8, random_state=0).fit(matrix, y)
        for matrix in (X.astype(float), X, np.asfortranarray(X))
    ]
    for trees in zip(*(fit.trees_ for fit in fits), strict=True):
        assert any(np.float32(cut) != cut for cut in trees[0].threshold)
        for tree in trees[1:]:
            np.testing.assert_array_equal(tree.threshold, trees[0].threshold)
            np.testing.assert_array_equal(tree.inbag_class_counts, trees[0].inbag_class_counts)
            np.testing.assert_array_equal(tree.oob_class_counts, trees[0].oob_class_counts)


@pytest.mark.filterwarnings("ignore:.*rows are in the samples of all trees")
@pytest.mark.parametrize("kind", [BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier])
@pytest.mark.parametrize("max_depth", [1, None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_memory_layout_of_rows_does_not_matter(kind, max_depth, dtype):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 3)).astype(dtype)
    y = (X[:, 0] + random.normal(size=150) > 0).astype(int) + (X[:, 1] > 1)
    X[random.random(X.shape) < 0.05] = np.nan
    model = kind(6, max_depth=max_depth, oob_score=True, random_state=0)
    expected = clone(model).fit(X, y)
    answers = expected.predict_proba(X)
    wide = np.zeros((300, 6), dtype=dtype)
    wide[::2, 1::2] = X
    for other in (np.asfortranarray(X), wide[::2, 1::2], np.asfortranarray(wide)[::2, 1::2], X[::-1].copy()[::-1]):
        fitted = clone(model).fit(other, y)
        np.testing.assert_array_equal(fitted.oob_predict_proba_, expected.oob_predict_proba_)
        np.testing.assert_array_equal(fitted.predict_proba(X), answers)
        np.testing.assert_array_equal(expected.predict_proba(other), answers)
        np.testing.assert_array_equal(np.vstack([expected.predict_proba(row[np.newaxis]) for row in other]), answers)


def test_threads_and_seeds(iris):
    X, y = iris
    one, two = (BaggedPETClassifier(8, max_features="sqrt", random_state=5, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    other = BaggedPETClassifier(8, max_features="sqrt", random_state=6).fit(X, y)
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("make", ["b_pets", "eb_pets", "bagged_curtailment", "random_forest"])
def test_constructors_beat_a_single_tree(make):
    X, y = noisy()
    X_new, y_new = noisy(3000, seed=1)
    model = getattr(BaggedPETClassifier, make)(n_estimators=30, random_state=0).fit(X, y)
    single = PETClassifier.c44().fit(X, y)
    brier = [((m.predict_proba(X_new)[:, 1] - y_new) ** 2).mean() for m in (model, single)]
    assert brier[0] < brier[1]


ESTIMATORS = [
    Raw(),
    Laplace(),
    MEstimate(),
    MEstimate(m="honest"),
    MEstimate(m="cv"),
    Curtailment(),
    Curtailment(v="cv"),
    MBranch(),
    MBranch(M="honest"),
    HDP(n_iter=40, burn_in=10, random_state=0),
    HGS(),
    HGS(alpha="loocv"),
    HGS(alpha="cv"),
    HGS(alpha="honest"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_estimator_in_an_ensemble_on_real_data(load_real, estimator):
    frame, y = load_real("hepatitis")
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    model = BaggedPETClassifier(4, smoothing=estimator, random_state=0).fit(frame, y, sample_weight=weights)
    proba = model.predict_proba(frame)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert not model.smoothing_.needs_held_out
    again = BaggedPETClassifier(4, random_state=0).fit(frame, y, sample_weight=weights)
    again = again.with_smoothing(estimator, frame, y, weights)
    if not isinstance(estimator, HDP):
        np.testing.assert_allclose(again.predict_proba(frame), proba, atol=1e-6)


@pytest.mark.parametrize("estimator", [HGS(alpha="honest"), MEstimate(m="honest"), MBranch(M="honest")], ids=repr)
def test_honest_learning_needs_no_data_after_the_fit(estimator):
    X, y = noisy()
    X_new, y_new = noisy(3000, seed=1)
    model = BaggedPETClassifier(20, smoothing="raw", random_state=0).fit(X, y)
    honest = model.with_smoothing(estimator)
    assert log_loss_bits(honest, X_new, y_new) < log_loss_bits(model, X_new, y_new)


def test_copies_of_a_row_are_left_out_together(iris):
    """Leaving one of two copies out would leave the example in: alpha comes from counts with every row once."""
    X, y = iris
    copies = BaggedPETClassifier(3, count="copies", smoothing=HGS(alpha="loocv"), random_state=0).fit(X, y)
    distinct = BaggedPETClassifier(3, count="distinct", smoothing=HGS(alpha="loocv"), random_state=0).fit(X, y)
    for tree, once, table in zip(copies.trees_, distinct.trees_, copies.tables_, strict=True):
        alpha = HGS(alpha="loocv").alphas(once)[~once.is_leaf]
        np.testing.assert_allclose(table, HGS(alpha=alpha).node_probabilities(tree)[tree.is_leaf])
        assert not np.allclose(table, HGS(alpha="loocv").node_probabilities(tree)[tree.is_leaf])
    plain = BaggedPETClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="copies of rows"):
        plain.with_smoothing(HGS(alpha="loocv"))
    again = plain.with_smoothing(HGS(alpha="loocv"), X, y)
    np.testing.assert_allclose(again.predict_proba(X), copies.predict_proba(X))


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_scikit_learn_forest_becomes_a_bagged_classifier(kind):
    X, y = make_classification(400, 8, n_classes=3, n_informative=5, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    forest = kind(n_estimators=12, bootstrap=True, random_state=0).fit(X, names)
    model = from_sklearn(forest, X, names)
    assert isinstance(model, BaggedPETClassifier)
    np.testing.assert_allclose(model.predict_proba(X), forest.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(model.apply(X), forest.apply(X))
    smoothed = model.with_smoothing(HGS(alpha="honest")).predict_proba(X)
    np.testing.assert_allclose(smoothed.sum(axis=1), 1.0)
    assert (smoothed > 0).all()
    # without the training data there are no out-of-bag rows to learn from
    with pytest.raises(ValueError, match="rows the trees have not seen"):
        from_sklearn(forest).with_smoothing(HGS(alpha="honest"))
    assert from_sklearn(forest).with_smoothing("hgs").predict_proba(X).shape == (400, 3)


def test_copies_importances_and_errors(iris):
    X, y = iris
    model = BaggedPETClassifier(4, random_state=0, verbose=1).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    for bad, message in [
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"bootstrap": "twice"}, "bootstrap='twice'"),
        ({"bootstrap": True}, "bootstrap=True"),
        ({"oob_weight": -1}, "oob_weight=-1"),
        ({"count": "all"}, "count='all'"),
    ]:
        with pytest.raises(ValueError, match=message):
            BaggedPETClassifier(**bad).fit(X, y)


def imbalanced(n, seed):
    """Two classes, one of them rare, whose true probabilities are known."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    p = 1 / (1 + np.exp(3.5 - 1.5 * X[:, 0] - X[:, 1]))
    return X, (random.random(n) < p).astype(int), p


def test_balanced_splits_leave_probabilities_true():
    """A forest that is told to balance classes says of one row in ten that it is of the rare class, and is wrong."""
    X, y, _ = imbalanced(3000, 0)
    X_new, y_new, p_new = imbalanced(6000, 1)
    balanced = RandomForestClassifier(100, class_weight="balanced", min_samples_leaf=5, random_state=0).fit(X, y)
    ours = [
        ProbabilityForestClassifier(100, split_class_weight="balanced", random_state=0),
        BaggedPETClassifier.eb_pets(n_estimators=100, split_class_weight="balanced", random_state=0),
        MOBESPClassifier(100, split_class_weight="balanced", random_state=0),
    ]
    far_off = abs(balanced.predict_proba(X_new)[:, 1].mean() - y_new.mean())
    assert far_off > 0.05
    for model in ours:
        proba = model.fit(X, y).predict_proba(X_new)[:, 1]
        assert abs(proba.mean() - y_new.mean()) < 0.015
        error, theirs = np.mean((proba - p_new) ** 2), np.mean((balanced.predict_proba(X_new)[:, 1] - p_new) ** 2)
        assert error < 0.5 * theirs


ALL_THREE = [
    BaggedPETClassifier.eb_pets(n_estimators=20, random_state=0),
    MOBESPClassifier(20, random_state=0),
    ProbabilityForestClassifier(20, random_state=0),
]


@pytest.mark.parametrize("model", ALL_THREE, ids=lambda model: type(model).__name__)
def test_permutation_importance_finds_what_matters(model):
    X, y = noisy(300)
    found = clone(model).fit(X, y).oob_permutation_importance(X, y, n_repeats=3)
    assert found.importances.shape == (6, 3)
    assert found.importances_mean[:2].min() > found.importances_mean[2:].max()
    error = clone(model).fit(X, y).oob_permutation_importance(X, y, n_repeats=1, loss="error")
    assert 0 < error.baseline < 0.5 and error.importances_mean[:2].min() > 0
    with pytest.raises(ValueError, match="fitted on"):
        clone(model).fit(X, y).oob_permutation_importance(X[:200], y[:200])


@pytest.mark.parametrize("model", ALL_THREE, ids=lambda model: type(model).__name__)
def test_spread_of_the_trees_and_paths(model, iris):
    X, y = iris
    model = clone(model).fit(X, y)
    spread = model.predict_proba_std(X)
    assert spread.shape == (150, 3) and (spread >= 0).all() and spread.max() > 0.2
    paths, start = model.decision_path(X[:5])
    assert len(start) == len(model.trees_) + 1 and paths.shape == (5, start[-1])
    leaves = model.apply(X[:5])
    for tree in range(len(model.trees_)):
        assert all(paths[row, start[tree] + leaves[row, tree]] for row in range(5))
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_out_of_bag_rows_of_weight_zero_are_queries(iris):
    X, y = iris
    weights = np.ones(150)
    weights[::10] = 0
    model = BaggedPETClassifier.eb_pets(n_estimators=40, oob_score=True, random_state=0).fit(X, y, weights)
    assert model.oob_predict_proba_.shape == (150, 3) and model.oob_decision_.shape == (150,)
    np.testing.assert_array_equal(model.oob_predict_proba_[::10], model.predict_proba(X[::10]))
    assert not np.array_equal(model.oob_predict_proba_[1], model.predict_proba(X[1:2])[0])


def test_out_of_bag_scores_tell_the_truth():
    X, y = noisy(600)
    X_new, y_new = noisy(4000, seed=1)
    for kind in (BaggedPETClassifier.eb_pets, MOBESPClassifier, ProbabilityForestClassifier):
        model = kind(n_estimators=100, oob_score=True, random_state=0).fit(X, y)
        assert model.oob_log_loss_ == pytest.approx(log_loss_bits(model, X_new, y_new), abs=0.06)
        assert model.oob_score_ == pytest.approx(np.mean(model.predict(X_new) == y_new), abs=0.05)


def test_merging_wants_equals(iris):
    X, y = iris
    one = BaggedPETClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="same class"):
        one.merged(MOBESPClassifier(3, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="classes differ"):
        one.merged(BaggedPETClassifier(3, random_state=0).fit(X, y + 1))
    with pytest.raises(ValueError, match="columns"):
        one.merged(BaggedPETClassifier(3, random_state=0, categorical_features=[0]).fit(X, y))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"components": ("raw", "raw")}, "components"),
        ({"components": ("leaf",)}, "components='leaf'"),
        ({"components": -1}, "components=-1"),
        ({"components": "raw"}, "components='raw'"),
        ({"max_features": ()}, "max_features"),
        ({"max_features": ("sqrt", "sqrt")}, "max_features"),
        ({"bootstrap": False}, "bootstrap=False"),
        ({"floor": 0.9}, "floor=0.9"),
        ({"coarse_rows": 0}, "coarse_rows=0"),
    ],
)
def test_probability_forest_refuses(parameters, message, iris):
    with pytest.raises(ValueError, match=message):
        ProbabilityForestClassifier(4, **parameters).fit(*iris)


@pytest.mark.parametrize("kind", [BaggedPETClassifier, MOBESPClassifier])
def test_out_of_bag_rows_have_a_bounded_weight(kind, iris):
    with pytest.raises(ValueError, match=r"oob_weight=1e\+300: must be a number between 0 and 1e\+06"):
        kind(4, oob_weight=1e300).fit(*iris)
    with pytest.raises(ValueError, match=r"^oob_weight='or a number at least 0': must be "):
        kind(4, oob_weight="or a number at least 0").fit(*iris)
    X, y = iris
    proba = kind(4, oob_weight=1e6, oob_score=True, random_state=0).fit(X[::9], y[::9]).oob_predict_proba_
    np.testing.assert_allclose(proba[~np.isnan(proba[:, 0])].sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("make", [BaggedPETClassifier.eb_pets, MOBESPClassifier])
def test_heavy_rows_leave_probabilities_when_they_are_taken_out(make):
    """What is left of a leaf without its heaviest row is no difference of two large sums."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y, weights = rng.normal(size=(40, 2)).round(), rng.integers(0, 3, 40), 10 ** rng.uniform(-6, 6, 40)
        proba = make(n_estimators=12, oob_score=True, random_state=seed).fit(X, y, weights).oob_predict_proba_
        np.testing.assert_allclose(proba[~np.isnan(proba[:, 0])].sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_warm_start_wants_the_same_data(iris):
    X, y = iris
    model = BaggedPETClassifier(3, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="differ"):
        model.set_params(n_estimators=5).fit(X + 1, y)
    with pytest.raises(ValueError, match="n_estimators=2"):
        model.set_params(n_estimators=2).fit(X, y)
    with pytest.warns(UserWarning, match="no tree is added"):
        model.set_params(n_estimators=3).fit(X, y)


def test_a_pickled_forest_is_small():
    X, y = make_classification(5000, 10, n_informative=6, random_state=0)
    model = BaggedPETClassifier.random_forest(n_estimators=20, random_state=0).fit(X, y)
    n_nodes = sum(tree.n_nodes for tree in model.trees_)
    assert len(pickle.dumps(model)) < 16 * n_nodes


def test_mob_esp_on_the_one_kind_of_trees_that_a_probability_forest_has(iris):
    X, y = iris
    one_tree = ProbabilityForestClassifier(1, max_features=(2, None), random_state=0).fit(X, y)
    found = MOBESPClassifier.from_ensemble(one_tree, X, y)
    assert found.max_features == 2
    assert found.fit(X, y).predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize("kind", [BaggedPETClassifier, MOBESPClassifier, PETClassifier])
def test_several_kinds_of_trees_are_for_the_probability_forest(iris, kind):
    with pytest.raises(ValueError, match=r"max_features=\(1, 2\): must be"):
        kind(max_features=(1, 2)).fit(*iris)
