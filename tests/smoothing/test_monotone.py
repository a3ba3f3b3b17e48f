"""The leaf estimator that makes others monotone, beside slow versions of order and pooling."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

import naive_monotone as naive
from petiole import PETClassifier, Tree, _core
from petiole.smoothing import HGS, Laplace, MBranch, Raw
from petiole.smoothing.monotone import Monotone, with_share


def grown(seed, signs=(1, -1, 0), *, missing=0.2, splits="best", n_rows=60, constrained=True, **parameters):
    """A tree of three columns, the last of categories, and how many categories there are."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n_rows, 3)).astype(float)
    X[:, 2] = rng.integers(0, 3, n_rows)
    X[rng.uniform(size=X.shape) < missing] = np.nan
    y = rng.integers(0, 2, n_rows)
    model = PETClassifier(
        missing="separate",
        splits=splits,
        min_samples_leaf=1,
        max_depth=5,
        categorical_features=[2],
        monotonic_cst=list(signs) if constrained else None,
        random_state=seed,
        **parameters,
    ).fit(X, y)
    return model.tree_, model.encoder_.n_categories


def shares_of(tree, signs, values, weights):
    return np.asarray(_core.ordered_shares(tree.arrays, list(signs), values, weights))


SIGNS = [(1, -1, 0), (1, 0, 0), (0, -1, 0), (1, 1, 0), (-1, -1, 0), (0, 0, 0)]


@pytest.mark.parametrize("seed", range(18))
def test_values_are_those_of_the_slow_version(seed):
    signs = SIGNS[seed % len(SIGNS)]
    kinds = "binary" if seed % 2 else "multiway"
    tree, n_categories = grown(seed, signs, constrained=any(signs), nominal_splits=kinds)
    rng = np.random.default_rng(seed)
    leaves = tree.leaves.tolist()
    values, weights = rng.choice(9, len(leaves)) / 8, rng.choice([0.5, 1.0, 3.0], len(leaves))
    pairs = naive.pairs_of_leaves(tree, signs, n_categories) if any(signs) else set()
    wanted = naive.pooled(
        dict(zip(leaves, values, strict=True)),
        dict(zip(leaves, weights, strict=True)),
        naive.from_below(tree, signs),
        pairs,
    )
    found = shares_of(tree, signs, values, weights)
    assert np.allclose(found, [wanted[leaf] for leaf in leaves], atol=1e-12)
    assert np.isclose(found @ weights, values @ weights)  # pooling keeps sums


@pytest.mark.parametrize("splits", ["best", "oblique", "random"])
@pytest.mark.parametrize("signs", SIGNS[:5])
def test_no_row_is_above_one_that_it_can_become(splits, signs):
    tree, n_categories = grown(7, signs, splits=splits)
    rng = np.random.default_rng(0)
    values = rng.uniform(size=tree.n_leaves)
    table = dict(zip(tree.leaves.tolist(), shares_of(tree, signs, values, np.ones(tree.n_leaves)), strict=True))
    lower = rng.uniform(-1, 7, (20_000, 3))
    lower[:, 2] = rng.integers(0, n_categories[2], len(lower))
    lower[rng.uniform(size=lower.shape) < 0.2] = np.nan
    upper = lower + np.array(signs) * rng.exponential(2, lower.shape)
    fell = [
        table[naive.leaf_of(tree, x)] > table[naive.leaf_of(tree, y)] + 1e-12
        for x, y in zip(lower[:2000], upper[:2000], strict=True)
    ]
    assert not any(fell)


def test_along_one_column_it_is_isotonic_regression():
    rng = np.random.default_rng(3)
    n = 40
    # A tree that cuts one column again and again, on its right.
    feature, left, right = np.full(2 * n - 1, -1), np.full(2 * n - 1, -1), np.full(2 * n - 1, -1)
    inner = np.arange(0, 2 * n - 2, 2)
    feature[inner], left[inner], right[inner] = 0, inner + 1, inner + 2
    tree = Tree.from_arrays(
        feature=feature,
        threshold=np.arange(2 * n - 1.0),
        left=left,
        right=right,
        inbag_class_counts=np.ones((2 * n - 1, 2)),
    )
    for sign in (1, -1):
        values, weights = rng.uniform(size=n), rng.uniform(0.1, 3, n)
        wanted = isotonic_regression(values, sample_weight=weights, increasing=sign > 0)
        assert np.allclose(shares_of(tree, [sign], values, weights), wanted)


@pytest.mark.parametrize("seed", range(4))
def test_monotone_values_stay_as_they_are(seed):
    signs = (1, -1, 0)
    tree, _ = grown(seed, signs)
    rng = np.random.default_rng(seed)
    once = shares_of(tree, signs, rng.uniform(size=tree.n_leaves), np.ones(tree.n_leaves))
    assert np.array_equal(shares_of(tree, signs, once, rng.uniform(0.1, 2, tree.n_leaves)), once)


@pytest.mark.parametrize("seed", range(4))
def test_falling_along_a_column_is_rising_along_its_negative(seed):
    rng = np.random.default_rng(seed)
    tree, _ = grown(seed, (1, 0, 0), missing=0)
    values = rng.uniform(size=tree.n_leaves)
    rising = shares_of(tree, (1, 0, 0), values, np.ones(tree.n_leaves))
    falling = shares_of(tree, (-1, 0, 0), -values, np.ones(tree.n_leaves))
    pairs = naive.pairs_of_leaves(tree, (1, 0, 0), [0, 0, 3])
    at = {leaf: i for i, leaf in enumerate(tree.leaves.tolist())}
    assert all(rising[at[low]] <= rising[at[up]] for low, up in pairs)
    assert all(-falling[at[low]] <= -falling[at[up]] for low, up in pairs)


def test_a_sum_whose_terms_point_apart_says_nothing():
    """x0 - x1 <= 0 with both rising: no order of its two leaves would do, so that they answer alike."""
    arrays = PETClassifier(max_depth=1).fit([[0.0, 0.0], [1.0, 1.0]] * 2, [0, 1] * 2).tree_.arrays
    arrays = arrays | {
        "projection_start": np.array([0, 2, 2, 2], dtype=np.int32),
        "projection_feature": np.array([0, 1], dtype=np.int32),
        "projection_weight": np.array([1.0, -1.0]),
    }
    apart = np.asarray(_core.ordered_shares(arrays, [1, 1], np.array([0.2, 0.8]), np.ones(2)))
    assert np.allclose(apart, 0.5)
    assert np.asarray(_core.ordered_shares(arrays, [1, -1], np.array([0.2, 0.8]), np.ones(2))).tolist() == [0.2, 0.8]


@pytest.mark.parametrize("inner", [Raw(), Laplace(), MBranch(), HGS()])
def test_other_classes_share_what_is_left_as_before(inner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 3, 120)
    tree = PETClassifier(max_depth=4, monotonic_cst=[1, 0], monotonic_class=2).fit(X, y).tree_
    plain, made = inner.node_probabilities(tree), Monotone(inner, [1, 0], 2).node_probabilities(tree)
    assert np.allclose(made.sum(axis=1), 1) and (made >= 0).all()
    moved = np.flatnonzero(made[:, 2] != plain[:, 2])
    assert moved.size
    untouched = np.setdiff1d(np.arange(tree.n_nodes), moved)
    assert np.array_equal(made[untouched], plain[untouched])
    both = plain[moved][:, :2].sum(axis=1) > 0
    ratio = plain[moved][both][:, 0] / plain[moved][both][:, :2].sum(axis=1)
    assert np.allclose(made[moved][both][:, 0] / made[moved][both][:, :2].sum(axis=1), ratio)


def test_a_class_that_had_everything_leaves_the_rest_to_the_others():
    rows = np.array([[0.0, 1.0, 0.0], [0.2, 0.6, 0.2]])
    made = with_share(rows, 1, np.array([0.5, 0.6]), np.array([3.0, 9.0, 1.0]))
    assert np.allclose(made, [[0.375, 0.5, 0.125], [0.2, 0.6, 0.2]])
    assert np.allclose(with_share(rows[:1], 1, np.array([0.5]), np.zeros(3)), [[0.25, 0.5, 0.25]])


def test_errors_name_the_parameter():
    tree = grown(0)[0]
    with pytest.raises(ValueError, match="estimator=3"):
        Monotone(3, [1]).check_parameters()
    with pytest.raises(ValueError, match="signs"):
        Monotone(Raw(), [2]).check_parameters()
    with pytest.raises(ValueError, match="give a sign for each column"):
        Monotone(Raw(), [1]).node_probabilities(tree)
