"""Splits that are drawn for a node (splits="oblique" and "random"): the core against the naive version, and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from against_naive import assert_same_tree, grow_both, random_data, random_options, training_set
from petiole import PETClassifier, Tree
from petiole._tree.growing import grow_tree
from petiole._tree.plan import TreePlan

DRAWN = ["oblique", "random"]
slow_example = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])


def problem(n=400, n_features=5, seed=0, missing=0.0):
    """Classes that are divided by an oblique line, and columns that say nothing."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features)) * 10.0 ** np.arange(-2, n_features - 2)
    y = np.digitize(X[:, 0] * 100 + X[:, 1] * 10, [-1, 1]) + (random.random(n) < 0.1)
    X[random.random(X.shape) < missing] = np.nan
    return X, y


def grown(X, y, w=None, n_categories=None, seed=3, n_threads=1, **parameters):
    n_categories = [0] * X.shape[1] if n_categories is None else n_categories
    rows = training_set(X, y, w, n_categories, int(y.max()) + 1)
    return grow_tree(TreePlan(**parameters), rows, seed=seed, n_threads=n_threads)


@pytest.mark.parametrize("splits", DRAWN)
@slow_example
@given(seed=st.integers(0, 2**32 - 1))
def test_core_grows_the_naive_tree(splits, seed):
    random = np.random.default_rng(seed)
    X, y, w, n_categories, n_classes = random_data(random)
    chosen = random_options(random, n_classes) | {"threshold": "midpoint", "splits": splits}
    slow, fast = grow_both(X, y, w, n_categories, n_classes, **chosen)
    assert_same_tree(slow, fast)


@pytest.mark.parametrize("splits", DRAWN)
@pytest.mark.parametrize("missing_share", [0.0, 0.1])
@pytest.mark.parametrize("missing", ["fractional", "separate"])
@pytest.mark.parametrize("criterion", ["entropy", "gini", "gain_ratio"])
def test_core_grows_the_naive_tree_on_more_rows(splits, missing_share, missing, criterion):
    random = np.random.default_rng(1)
    X, y = problem(missing=missing_share)
    X[:, 3] = random.integers(4, size=len(y))
    X[:, 4] = X[:, 4].round(-2)
    X[random.random(len(y)) < missing_share, 3] = np.nan
    chosen = {"criterion": criterion, "missing": missing, "nominal_splits": "binary", "splits": splits}
    slow, fast = grow_both(X, y, None, [0, 0, 0, 4, 0], int(y.max()) + 1, **chosen)
    assert_same_tree(slow, fast)
    assert fast.n_leaves > 10


def test_oblique_tree_of_one_numeric_column_is_the_best_tree():
    X, y = problem(n_features=3)
    X[:, 1:] = np.random.default_rng(5).integers(3, size=(len(y), 2))
    best, oblique = (grown(X, y, n_categories=[0, 3, 3], splits=splits) for splits in ("best", "oblique"))
    assert oblique.equals(best)
    assert not oblique.is_oblique


def test_sum_with_a_column_that_adds_nothing_is_the_column():
    X, y = problem(n=60)
    binary = PETClassifier(max_depth=4).fit(X, y).tree_
    start = np.concatenate([[0], np.cumsum(2 * ~binary.is_leaf)]).astype(np.int32)
    features = np.column_stack([binary.feature, (binary.feature + 1) % 5])[~binary.is_leaf].ravel()
    weights = np.tile([1.0, 5e-324], (~binary.is_leaf).sum())
    state = binary.__getstate__() | {
        "projection_start": start,
        "projection_feature": features,
        "projection_weight": weights,
    }
    same = Tree(**state)
    np.testing.assert_array_equal(same.router.apply(X, 1), binary.router.apply(X, 1))


@pytest.mark.parametrize("splits", DRAWN)
@pytest.mark.parametrize("missing_share", [0.0, 0.1])
def test_threads_and_the_order_of_rows_change_nothing(splits, missing_share):
    X, y = problem(n=20_000, missing=missing_share)
    one = grown(X, y, splits=splits, missing="separate", max_depth=6)
    assert grown(X, y, splits=splits, missing="separate", max_depth=6, n_threads=4).equals(one)
    order = np.random.default_rng(2).permutation(len(y))
    assert grown(X[order], y[order], splits=splits, missing="separate", max_depth=6).equals(one)


@pytest.mark.parametrize("splits", DRAWN)
def test_weight_two_is_a_row_twice(splits):
    X, y = problem()
    twice = np.arange(len(y)) % 3 == 0
    weighted = grown(X, y, 1.0 + twice, splits=splits)
    doubled = grown(np.concatenate([X, X[twice]]), np.concatenate([y, y[twice]]), splits=splits)
    assert doubled.equals(weighted)


@pytest.mark.parametrize("splits", DRAWN)
@pytest.mark.parametrize("missing_share", [0.0, 0.15])
def test_training_rows_are_in_the_leaves_that_counted_them(splits, missing_share):
    X, y = problem(missing=missing_share)
    model = PETClassifier(splits=splits, random_state=0).fit(X, y)
    reached = model.leaf_weights(X).toarray()
    counts = np.column_stack([reached[y == k].sum(axis=0) for k in model.classes_])
    leaves = model.tree_.leaves
    np.testing.assert_allclose(counts[leaves], model.tree_.inbag_class_counts[leaves], atol=1e-9)


def test_scales_of_columns_by_powers_of_two_do_not_matter():
    X, y = problem()
    factors = np.array([1.0, 2.0**20, 2.0**-30, 4.0, 0.5])
    one, other = grown(X, y, splits="oblique"), grown(X * factors, y, splits="oblique")
    np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_array_equal(one.projection_weight, other.projection_weight * factors[other.projection_feature])


def test_random_cuts_are_uniform_between_the_smallest_and_the_largest_value():
    X = np.concatenate([np.zeros(99), [1.0]])[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    cuts = [grown(X, y, seed=seed, splits="random").threshold[0] for seed in range(400)]
    assert abs(np.mean(cuts) - 0.5) < 0.05
    assert abs(np.std(cuts) - 12**-0.5) < 0.03


def test_random_sets_of_categories_differ():
    X = np.arange(400.0)[:, np.newaxis] % 4
    y = (X[:, 0] > 1).astype(int)
    trees = [
        grown(X, y, n_categories=[4], seed=seed, splits="random", nominal_splits="binary", max_depth=1)
        for seed in range(200)
    ]
    sets = {tuple(tree.category_branch) for tree in trees}
    assert len(sets) == 14  # all but those that leave one side empty


@pytest.mark.parametrize("splits", DRAWN)
def test_seeds_give_other_trees(splits):
    X, y = problem()
    assert not grown(X, y, splits=splits, seed=1).equals(grown(X, y, splits=splits, seed=2))
    assert not PETClassifier(splits=splits).fit(X, y).tree_.equals(PETClassifier(splits=splits).fit(X, y).tree_)


@pytest.mark.parametrize("values", [1e300, 5e-324, np.finfo(float).max])
def test_huge_and_tiny_values_are_split(values):
    X, y = problem(n=100, n_features=3)
    X[:, 2] = np.where(y > 0, values, -values)
    for splits in DRAWN:
        tree = grown(X, y, splits=splits)
        assert np.isfinite(tree.threshold[~tree.is_leaf]).all()
        assert tree.n_leaves > 1


def test_what_threshold_data_means_is_not_said_for_drawn_cuts():
    X, y = problem()
    with pytest.raises(ValueError, match=r"threshold='data': is for the cuts of splits='best'"):
        PETClassifier.c44(splits="oblique").fit(X, y)
    with pytest.raises(ValueError, match="splits='diagonal': must be one of 'best', 'oblique', 'random'"):
        PETClassifier(splits="diagonal").fit(X, y)


def test_text_names_the_sum():
    X, y = problem()
    model = PETClassifier(splits="oblique", max_depth=1, random_state=0).fit(X, y)
    tree = model.tree_
    assert tree.kind[0] == "oblique"
    (a, b), (v, w) = tree.tested_features(0), tree.projection_weight
    expected = f"{v:.6g}*x{a} {'-' if w < 0 else '+'} {abs(w):.6g}*x{b} <= "
    assert model.export_text().startswith(expected.replace("1*", ""))
    assert tree.to_frame()["feature"][0] in model.export_text()
    assert tree.plot() is not None


def test_features_of_a_sum_share_its_gain():
    X, y = problem()
    model = PETClassifier(splits="oblique", max_depth=1, random_state=0).fit(X, y)
    expected = np.zeros(5)
    expected[model.tree_.tested_features(0)] = 0.5
    np.testing.assert_allclose(model.feature_importances_, expected)


@pytest.mark.parametrize("pruning", ["collapse", "error_based", "pruning_set"])
def test_pruned_trees_keep_their_sums(pruning):
    X, y = problem(missing=0.05)
    whole = PETClassifier(splits="oblique", random_state=0).fit(X, y).tree_
    pruned = PETClassifier(splits="oblique", random_state=0, pruning=pruning).fit(X, y)
    assert pruned.tree_.n_nodes < whole.n_nodes
    assert pruned.tree_.is_oblique
    np.testing.assert_allclose(pruned.predict_proba(X).sum(axis=1), 1)
    Tree(**pruned.tree_.__getstate__())  # passes all checks
