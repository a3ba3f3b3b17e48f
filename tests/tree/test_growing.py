"""Growth: the core against the naive version, against scikit-learn, and by its laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from against_naive import assert_same_tree, grow_both, training_set
from petiole import PETClassifier
from petiole._tree.growing import grow_tree
from petiole._tree.plan import TreePlan

CRITERIA = ["entropy", "gini", "kearns_mansour", "gain_ratio"]
slow_example = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def encoded_data(draw, max_rows=40):
    """Data full of ties: few distinct values, repeated columns, missing cells, weights, at times one class or row."""
    n = draw(st.integers(1, max_rows))
    n_classes = draw(st.integers(1, 4))
    y = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    columns, n_categories = [], []
    for _ in range(draw(st.integers(1, 4))):
        n_values = draw(st.integers(1, 5))
        nominal = draw(st.booleans())
        known = st.integers(0, n_values - 1).map(float) if nominal else st.sampled_from([-1.5, 0.1, 0.2, 3.0, 7.0])
        cell = st.one_of(known, known, known, st.just(np.nan)) if draw(st.booleans()) else known
        columns.append(draw(st.lists(cell, min_size=n, max_size=n)))
        n_categories.append(n_values if nominal else 0)
        if draw(st.integers(0, 5)) == 0:
            columns.append(columns[-1])
            n_categories.append(n_categories[-1])
    weights = st.sampled_from([[1.0], [1.0, 2.0, 3.0], [0.25, 0.5, 1.0, 1.7]])
    w = draw(st.lists(st.sampled_from(draw(weights)), min_size=n, max_size=n))
    return np.array(columns).T, np.array(y), np.array(w), n_categories, n_classes


@st.composite
def options(draw, n_classes=4):
    chosen = {
        "criterion": draw(st.sampled_from(CRITERIA)),
        "nominal_splits": draw(st.sampled_from(["multiway", "binary"])),
        "missing": draw(st.sampled_from(["fractional", "separate"])),
        "threshold": draw(st.sampled_from(["midpoint", "data"])),
        "min_samples_leaf": draw(st.sampled_from([1, 2, 3, 5])),
        "min_gain": draw(st.sampled_from([0.0, 0.0, 1e-9, 0.0123, 0.0987])),
        "max_depth": draw(st.sampled_from([None, None, 1, 3])),
    }
    if draw(st.integers(0, 3)) == 0:
        factors = st.sampled_from([0.5, 1.0, 2.0, 3.3])
        chosen["split_class_weight"] = draw(st.lists(factors, min_size=n_classes, max_size=n_classes))
    return chosen


@slow_example
@given(data=encoded_data(), chosen=options())
def test_core_grows_the_naive_tree(data, chosen):
    X, y, w, n_categories, n_classes = data
    if "split_class_weight" in chosen:
        chosen["split_class_weight"] = chosen["split_class_weight"][:n_classes]
    slow, fast = grow_both(X, y, w, n_categories, n_classes, **chosen)
    assert_same_tree(slow, fast)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("missing", ["fractional", "separate"])
@pytest.mark.parametrize("nominal_splits", ["multiway", "binary"])
def test_core_grows_the_naive_tree_on_more_rows(criterion, missing, nominal_splits):
    random = np.random.default_rng(CRITERIA.index(criterion))
    n = 300
    y = random.integers(3, size=n)
    X = np.column_stack([random.normal(size=n).round(1) + y, random.integers(6, size=n), random.normal(size=n)])
    X[random.random(X.shape) < 0.1] = np.nan
    w = random.choice([0.5, 1.0, 2.0], size=n)
    chosen = {"criterion": criterion, "missing": missing, "nominal_splits": nominal_splits}
    slow, fast = grow_both(X, y, w, [0, 6, 0], 3, **chosen)
    assert_same_tree(slow, fast)
    assert fast.n_leaves > 20


def few_values_and_many_classes(n_classes, seed, n=400):
    """Five attributes of a few whole numbers each, which have to do with the class, and weights of 1 to 3."""
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n)
    X = np.stack([(y * factor + random.integers(4, size=n)) % 7 for factor in (1, 2, 3, 5, 0)], axis=1).astype(float)
    return X, y, random.integers(1, 4, size=n).astype(float), random


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_classes", [3, 9, 20, 30, 50])
@pytest.mark.parametrize("missing_share", [0.0, 0.1])
def test_core_grows_the_naive_tree_of_few_values_and_many_classes(criterion, n_classes, missing_share):
    X, y, w, random = few_values_and_many_classes(n_classes, seed=CRITERIA.index(criterion))
    X[random.random(X.shape) < missing_share] = np.nan
    slow, fast = grow_both(X, y, w, [0] * 5, n_classes, criterion=criterion, missing="separate", min_samples_leaf=2)
    assert_same_tree(slow, fast)
    assert fast.n_leaves > 20


@pytest.mark.parametrize("criterion", ["entropy", "gini", "kearns_mansour"])
@pytest.mark.parametrize("factor", [40, 5_000, 30_000])
def test_weights_of_any_size_give_the_same_splits(criterion, factor):
    X, y, w, _ = few_values_and_many_classes(12, seed=1)
    trees = [
        PETClassifier(criterion=criterion, min_samples_leaf=1, weights="counts")
        .fit(X, y, sample_weight=scale * w)
        .tree_
        for scale in (1, factor)
    ]
    assert trees[0].feature.tolist() == trees[1].feature.tolist()
    np.testing.assert_array_equal(trees[0].threshold, trees[1].threshold)
    np.testing.assert_allclose(factor * trees[0].inbag_class_counts, trees[1].inbag_class_counts)


@pytest.mark.parametrize("name", ["crx", "hepatitis", "vote", "breast-cancer", "bridges", "horse-colic", "audiology"])
def test_c44_is_c45_node_by_node_on_real_data(load_real, name):
    import naive

    frame, y = load_real(name)
    model = PETClassifier.c44().fit(frame, y)
    encoder = model.encoder_
    assert encoder.n_categories.any() and np.isnan(encoder.transform(frame)).any()
    codes = np.searchsorted(model.classes_, y)
    c44 = naive.GrowOptions(criterion="gain_ratio", threshold="data")
    slow = naive.grow(
        encoder.transform(frame),
        codes,
        np.ones(len(y)),
        encoder.n_categories.tolist(),
        len(model.classes_),
        c44,
    )
    assert_same_tree(slow, model.tree_)
    assert model.tree_.n_leaves > 5


def same_as_scikit_learn(ours, theirs, node=0, their_node=0):
    assert ours.feature[node] == max(theirs.feature[their_node], -1)
    n = theirs.weighted_n_node_samples[their_node]
    np.testing.assert_allclose(ours.inbag_class_counts[node], theirs.value[their_node][0] * n, atol=1e-6)
    if ours.feature[node] < 0:
        return
    assert ours.threshold[node] == pytest.approx(theirs.threshold[their_node], rel=1e-12)
    left, right = ours.children(node)
    same_as_scikit_learn(ours, theirs, left, theirs.children_left[their_node])
    same_as_scikit_learn(ours, theirs, right, theirs.children_right[their_node])


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize(
    ("n_features", "n_classes", "min_samples_leaf"), [(1, 2, 1), (1, 3, 15), (8, 2, 60), (8, 4, 60)]
)
def test_equals_scikit_learn_where_nothing_ties(criterion, n_features, n_classes, min_samples_leaf):
    """Two classes of one attribute down to single rows; otherwise leaves large enough that no two splits gain alike."""
    random = np.random.default_rng(7)
    X = random.normal(size=(1500, n_features)).astype(np.float32)
    score = X[:, 0] + random.normal(size=1500)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    parameters = {"criterion": criterion, "min_samples_leaf": min_samples_leaf}
    ours = PETClassifier(**parameters).fit(X, y).tree_
    theirs = DecisionTreeClassifier(**parameters, random_state=0).fit(X, y).tree_
    assert ours.n_nodes == theirs.node_count
    same_as_scikit_learn(ours, theirs)


def grown(X, y, w=None, n_categories=None, seed=None, n_threads=1, **parameters):
    n_categories = np.zeros(X.shape[1]) if n_categories is None else n_categories
    training = training_set(X, y, w, n_categories, int(max(y)) + 1)
    return grow_tree(TreePlan.of(PETClassifier(**parameters)), training, seed=seed, n_threads=n_threads)


@slow_example
@given(data=encoded_data(), chosen=options(), seed=st.integers(0, 99))
def test_permuting_rows_changes_nothing(data, chosen, seed):
    X, y, w, n_categories, _ = data
    chosen["split_class_weight"] = None
    order = np.random.default_rng(seed).permutation(len(y))
    before = grown(X, y, w, n_categories, **chosen)
    after = grown(X[order], y[order], w[order], n_categories, **chosen)
    assert before.feature.tolist() == after.feature.tolist()
    np.testing.assert_array_equal(before.threshold, after.threshold)
    np.testing.assert_allclose(before.inbag_class_counts, after.inbag_class_counts, atol=1e-9)


@slow_example
@given(data=encoded_data(), chosen=options(), seed=st.integers(0, 99))
def test_weight_two_is_a_row_twice(data, chosen, seed):
    X, y, _, n_categories, _ = data
    chosen["split_class_weight"] = None
    w = np.random.default_rng(seed).integers(1, 4, size=len(y))
    weighted = grown(X, y, w.astype(float), n_categories, **chosen)
    repeated = grown(np.repeat(X, w, axis=0), np.repeat(y, w), None, n_categories, **chosen)
    assert weighted.feature.tolist() == repeated.feature.tolist()
    np.testing.assert_array_equal(weighted.threshold, repeated.threshold)
    np.testing.assert_allclose(weighted.inbag_class_counts, repeated.inbag_class_counts, atol=1e-9)


@pytest.mark.parametrize("max_bins", [None, 16])
def test_renaming_classes_permutes_the_counts(max_bins):
    random = np.random.default_rng(3)
    X, y = random.normal(size=(400, 4)), random.integers(3, size=400)
    renamed = np.array([2, 0, 1])[y]
    before, after = grown(X, y, max_bins=max_bins), grown(X, renamed, max_bins=max_bins)
    assert before.feature.tolist() == after.feature.tolist()
    np.testing.assert_array_equal(before.inbag_class_counts, after.inbag_class_counts[:, [2, 0, 1]])


@pytest.mark.parametrize("missing_share", [0.0, 0.05])
@pytest.mark.parametrize("max_features", [None, "sqrt"])
def test_threads_change_nothing(missing_share, max_features):
    random = np.random.default_rng(4)
    X, y = random.normal(size=(20_000, 9)), random.integers(2, size=20_000)
    X[random.random(X.shape) < missing_share] = np.nan
    parameters = {"max_features": max_features, "max_depth": 8, "seed": 11}
    assert grown(X, y, n_threads=1, **parameters).equals(grown(X, y, n_threads=3, **parameters))


def test_bins_are_exact_when_there_are_enough():
    random = np.random.default_rng(5)
    X, y = random.integers(40, size=(500, 3)).astype(float), random.integers(2, size=500)
    assert grown(X, y, max_bins=40).equals(grown(X, y))


def test_bins_bound_the_number_of_cuts_and_hold_equal_weight():
    random = np.random.default_rng(6)
    X = random.normal(size=(5000, 1))
    y = random.integers(2, size=5000)
    tree = grown(X, y, max_bins=8, min_samples_leaf=1)
    cuts = np.unique(tree.threshold[~tree.is_leaf])
    assert len(cuts) <= 7
    shares = np.diff(np.concatenate([[0], np.searchsorted(np.sort(X[:, 0]), cuts, side="right"), [5000]])) / 5000
    assert shares.max() < 0.4
    full = grown(X, y, max_bins=8, min_samples_leaf=1, max_depth=30)
    assert full.n_leaves == 8
    np.testing.assert_allclose(full.inbag_class_counts[full.is_leaf].sum(axis=1), 625, atol=2)


def test_split_class_weight_steers_splits_and_keeps_counts_true():
    random = np.random.default_rng(8)
    X, y = random.normal(size=(2000, 5)), (random.random(2000) < 0.1).astype(int)
    plain = grown(X, y, max_depth=4)
    balanced = grown(X, y, max_depth=4, split_class_weight="balanced")
    assert not plain.equals(balanced)
    np.testing.assert_array_equal(balanced.inbag_class_counts[0], np.bincount(y))
    leaves = balanced.inbag_class_counts[balanced.is_leaf]
    np.testing.assert_array_equal(leaves.sum(axis=0), np.bincount(y))
    np.testing.assert_array_equal(leaves, leaves.round())


def test_random_ties_come_from_the_seed_and_are_even():
    random = np.random.default_rng(9)
    column = random.normal(size=60)
    X, y = np.column_stack([column] * 4), (column > 0).astype(int)
    roots = [int(grown(X, y, seed=seed).feature[0]) for seed in range(400)]
    assert roots == [int(grown(X, y, seed=seed).feature[0]) for seed in range(400)]
    assert np.bincount(roots, minlength=4).min() > 60  # 100 expected, standard deviation 8.7
    assert grown(X, y).feature[0] == 0


def test_drawn_attributes_are_even_and_more_are_drawn_when_none_serves():
    random = np.random.default_rng(10)
    X, y = random.normal(size=(60, 5)), random.integers(2, size=60)
    roots = [int(grown(X, y, seed=seed, max_features=1, max_depth=1).feature[0]) for seed in range(500)]
    assert np.bincount(roots, minlength=5).min() > 60  # 100 expected
    X[:, 1:] = 0.0
    assert all(grown(X, y, seed=seed, max_features=1, max_depth=1).feature[0] == 0 for seed in range(20))


def test_without_redrawing_a_node_whose_features_cannot_be_split_is_a_leaf():
    y = np.arange(40) % 2
    X = np.column_stack([np.zeros(40), y, np.ones(40), y])
    one = {"max_features": 1, "max_depth": 1}
    redrawn = [int(grown(X, y, seed=seed, **one).feature[0]) for seed in range(600)]
    literal = [int(grown(X, y, seed=seed, redraw=False, **one).feature[0]) for seed in range(600)]
    assert set(redrawn) == {1, 3}
    assert 240 < literal.count(-1) < 360  # each second draw is of a constant
    assert all(kept in (-1, drawn) for drawn, kept in zip(redrawn, literal, strict=True))
    two = [int(grown(X, y, seed=seed, redraw=False, max_features=2, max_depth=1).feature[0]) for seed in range(600)]
    assert 60 < two.count(-1) < 140  # both are constants in one of six draws


def test_splits_that_gain_nothing_are_made_unless_a_gain_is_asked_for():
    X = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 5, axis=0)
    y = np.logical_xor(*X.T).astype(int)  # neither column tells anything alone
    assert grown(X, y, criterion="entropy").n_leaves == 4
    assert grown(X, y, criterion="entropy", min_gain=1e-9).n_leaves == 1
    with pytest.raises(ValueError, match="min_gain=-1: must be"):
        PETClassifier(min_gain=-1).fit(X, y)
    with pytest.raises(ValueError, match="redraw='no': must be"):
        PETClassifier(redraw="no").fit(X, y)


def test_thresholds_lie_between_neighbours_whatever_the_scale():
    tiny = np.nextafter(1.0, 2.0)
    for low, high in [(1.0, tiny), (1e300, 1.1e300), (-1e-310, 1e-310), (0.0, 1e-12)]:
        X = np.array([[low], [low], [high], [high]])
        tree = grown(X, np.array([0, 0, 1, 1]))
        assert low <= tree.threshold[0] < high
        model = PETClassifier(smoothing="raw").fit(X, [0, 0, 1, 1])
        assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_degenerate_data_give_one_leaf():
    assert grown(np.array([[1.0]]), np.array([0])).n_nodes == 1
    assert grown(np.zeros((30, 2)), np.arange(30) % 2).n_nodes == 1
    assert grown(np.full((30, 2), np.nan), np.arange(30) % 2).n_nodes == 1
    assert grown(np.arange(30.0)[:, None], np.zeros(30, dtype=int)).n_nodes == 1


def test_thousand_categories_and_thousand_classes():
    random = np.random.default_rng(12)
    X = np.column_stack([random.integers(1000, size=5000), random.normal(size=5000)]).astype(float)
    for n_classes in (2, 1000):
        y = random.permutation(np.arange(5000) % n_classes)
        for splits in ("multiway", "binary"):
            tree = grown(X, y, n_categories=[1000, 0], nominal_splits=splits)
            np.testing.assert_array_equal(tree.inbag_class_counts[tree.is_leaf].sum(axis=0), np.bincount(y))


def test_known_three_leaf_rule_is_found():
    random = np.random.default_rng(13)
    X = random.uniform(size=(2000, 3))
    y = np.where(X[:, 1] <= 0.3, 0, np.where(X[:, 2] <= 0.7, 1, 2))
    tree = grown(X, y)
    assert tree.n_leaves == 3
    assert sorted(tree.feature[~tree.is_leaf].tolist()) == [1, 2]
    np.testing.assert_allclose(sorted(tree.threshold[~tree.is_leaf]), [0.3, 0.7], atol=0.01)
