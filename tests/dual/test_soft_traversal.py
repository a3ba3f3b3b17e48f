"""Soft traversal against a slow version that is easy to check by eye, golden numbers, and its laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

import naive_dual
from ensemble_cases import cases, examples
from from_the_core import soft_average
from petiole import PETClassifier, Tree, _core
from petiole._classifiers.base import encode_queries, encode_training
from petiole._dual.noise import Attributes, Perturbation
from petiole._dual.traversal import soft_leaf_weights
from petiole._tree.traversal import leaf_weights

GOLDEN = Tree.from_arrays(
    feature=[0, -1, 1, -1, -1],
    threshold=[2, np.nan, 1, np.nan, np.nan],
    left=[1, -1, 3, -1, -1],
    right=[2, -1, 4, -1, -1],
    inbag_class_counts=[[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
)
REPEATED = Tree.from_arrays(
    feature=[0, -1, 0, -1, -1],
    threshold=[2, np.nan, 3, np.nan, np.nan],
    left=[1, -1, 3, -1, -1],
    right=[2, -1, 4, -1, -1],
    inbag_class_counts=[[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
)


def perturbation(scale, mode="exact", *, swap=None, frequencies=None, tolerance=0.0):
    scale = np.asarray(scale, dtype=float)
    frequencies = [np.empty(0)] * len(scale) if frequencies is None else frequencies
    swap = np.zeros(len(scale)) if swap is None else np.asarray(swap, dtype=float)
    return Perturbation(scale, swap, frequencies, mode, tolerance)


def as_naive(made):
    return naive_dual.Perturbed(made.scale, made.swap, made.frequencies, made.mode)


# ---- golden numbers
def test_golden_leaf_masses():
    found = soft_leaf_weights(GOLDEN, np.array([[1.5, 1.2]]), perturbation([0.5, 1.0])).toarray()
    np.testing.assert_allclose(found[0, [1, 3, 4]], [0.841345, 0.066753, 0.091903], atol=5e-7)


@pytest.mark.parametrize(("counts", "expected"), [("laplace", [0.693648, 0.306352]), ("raw", [0.730153, 0.269847])])
@pytest.mark.parametrize("mode", ["exact", "product"])
def test_golden_probabilities(counts, expected, mode):
    table = GOLDEN.inbag_class_counts + (counts == "laplace")
    table = table / table.sum(axis=1, keepdims=True)
    found = soft_average(GOLDEN, np.array([[1.5, 1.2]]), table, perturbation([0.5, 1.0], mode))
    np.testing.assert_allclose(found[0], expected, atol=5e-7)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("exact", [0.841345, 0.157305, 0.001350]), ("product", [0.841345, 0.158441, 0.000214])],
)
def test_golden_repeated_attribute(mode, expected):
    found = soft_leaf_weights(REPEATED, np.array([[1.5]]), perturbation([0.5], mode)).toarray()
    np.testing.assert_allclose(found[0, [1, 3, 4]], expected, atol=5e-7)


def test_normal_distribution_function():
    z = np.concatenate([np.linspace(-9, 9, 200_001), [-1e300, 1e300, -np.inf, np.inf, 0.0, 8.5, -8.5, 1e-300]])
    np.testing.assert_allclose(_core.normal_cdf(z), ndtr(z), rtol=0, atol=1e-14)


# ---- against the slow version
def random_queries(random, matrix, tree, n=12):
    X = np.column_stack([random.permutation(np.resize(random.permutation(column), n)) for column in matrix.T])
    X[random.random(X.shape) < 0.1] = np.nan
    cuts = [(j, cut) for j, cut in zip(tree.feature, tree.threshold, strict=True) if cut < np.inf]
    for row in range(n // 2 if cuts else 0):
        j, cut = cuts[random.integers(len(cuts))]
        X[row, j] = (cut, np.nextafter(cut, np.inf), cut + random.normal())[row % 3]
    return X


def random_perturbation(random, attributes, mode):
    noise = random.choice([0.0, 1e-3, 0.1, 0.5, 2.0, 50.0])
    return attributes.perturbation(noise, random.choice([0.0, 0.1, 0.7, 1.0]), mode, tolerance=0.0)


@examples(120)
@given(case=cases(), mode=st.sampled_from(["exact", "product"]))
def test_leaf_masses(case, mode):
    """Trees with nominal, multiway and repeated tests, missing values, ties, and categories that a node has not met."""
    random = case.random
    model = case.single_tree().fit(case.X, case.y, case.w)
    training = encode_training(model, case.X, case.y, case.w)[1]
    attributes = Attributes.of(training.matrix, training.weights, training.n_categories)
    queries = random_queries(random, training.matrix, model.tree_)
    made = random_perturbation(random, attributes, mode)
    found = soft_leaf_weights(model.tree_, queries, made).toarray()
    expected = np.zeros_like(found)
    for row, query in zip(expected, queries, strict=True):
        for leaf, mass in naive_dual.leaf_masses(model.tree_, query, as_naive(made)).items():
            row[leaf] = mass
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-9)
    table = random.random((model.tree_.n_nodes, 3))
    averaged = soft_average(model.tree_, queries, table, made)
    np.testing.assert_allclose(averaged, naive_dual.average(model.tree_, queries, table, as_naive(made)), atol=1e-9)


def random_tree(random, depth, n_features):
    """Tests in any order, so that some can never be passed: x <= 1 and then x > 2."""
    feature, threshold, left, right = [], [], [], []

    def grow(level):
        node = len(feature)
        leaf = level == depth or random.random() < 0.15
        feature.append(-1 if leaf else int(random.integers(n_features)))
        threshold.append(np.nan if leaf else round(float(random.normal()), 1))
        left.append(-1)
        right.append(-1)
        if not leaf:
            left[node] = grow(level + 1)
            right[node] = grow(level + 1)
        return node

    grow(0)
    counts = random.random((len(feature), 2))
    return Tree.from_arrays(
        feature=feature, threshold=threshold, left=left, right=right, inbag_class_counts=counts, n_features=n_features
    )


@pytest.mark.parametrize("mode", ["exact", "product"])
@pytest.mark.parametrize("seed", range(8))
def test_leaf_masses_where_every_attribute_repeats(seed, mode):
    random = np.random.default_rng(seed)
    tree = random_tree(random, 7, 2)
    queries = random.normal(size=(9, 2)).astype(np.float32 if seed % 2 else np.float64)
    made = perturbation(random.choice([0.05, 0.3, 1.0, 4.0], size=2), mode)
    found = soft_leaf_weights(tree, queries, made).toarray()
    for row, query in zip(found, queries, strict=True):
        masses = naive_dual.leaf_masses(tree, query.astype(float), as_naive(made))
        np.testing.assert_allclose(row, [masses.get(node, 0.0) for node in range(tree.n_nodes)], atol=1e-9)


# ---- laws
def numeric_tree(seed=0, n=400, n_features=3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.5 * random.normal(size=n) > 0).astype(int)
    return X, PETClassifier().fit(X, y)


@pytest.mark.parametrize("mode", ["exact", "product"])
def test_without_noise_it_is_the_hard_traversal(mode):
    X, model = numeric_tree()
    X[::7, 1] = np.nan
    none = perturbation(np.zeros(3), mode)
    np.testing.assert_array_equal(
        soft_leaf_weights(model.tree_, X, none).toarray(), leaf_weights(model.tree_, X).toarray()
    )
    little = soft_leaf_weights(model.tree_, X, perturbation(np.full(3, 1e-9), mode)).toarray()
    np.testing.assert_allclose(little, leaf_weights(model.tree_, X).toarray(), atol=1e-9)


def test_much_noise_forgets_the_query():
    """Product: 2^-depth for every leaf. Exact: nothing is left of leaves that an attribute bounds on both sides."""
    X, model = numeric_tree()
    tree = model.tree_
    product = soft_leaf_weights(tree, X[:3], perturbation(np.full(3, 1e9), "product")).toarray()
    np.testing.assert_allclose(product[:, tree.leaves], np.tile(0.5 ** tree.node_depth[tree.leaves], (3, 1)), atol=1e-6)
    exact = soft_leaf_weights(REPEATED, np.array([[2.5]]), perturbation([1e9])).toarray()
    np.testing.assert_allclose(exact[0, [1, 3, 4]], [0.5, 0.0, 0.5], atol=1e-6)


@pytest.mark.parametrize("mode", ["exact", "product"])
def test_negligible_branches_move_no_more_than_the_tolerance(mode):
    X, model = numeric_tree(n=2000)
    scale = np.full(3, 0.2)
    exact = soft_leaf_weights(model.tree_, X, perturbation(scale, mode)).toarray()
    for tolerance in (1e-6, 1e-4, 1e-2):
        cut = soft_leaf_weights(model.tree_, X, perturbation(scale, mode, tolerance=tolerance))
        np.testing.assert_allclose(np.asarray(cut.sum(axis=1)).ravel(), 1.0, atol=1e-12)
        moved = 0.5 * np.abs(cut.toarray() - exact).sum(axis=1)
        assert 0 < moved.max() <= tolerance
        assert cut.nnz < (exact > 0).sum()


@pytest.mark.parametrize("mode", ["exact", "product"])
def test_affine_rescaling_of_attributes_changes_nothing(mode):
    X, model = numeric_tree()
    factor, shift = np.array([1000.0, 0.01, 3.0]), np.array([-5.0, 7.0, 1e4])
    y = model.predict(X)
    first, second = PETClassifier().fit(X, y), PETClassifier().fit(X * factor + shift, y)

    def weights(model, X):
        attributes = Attributes.of(X, None, np.zeros(3, dtype=np.int32))
        return soft_leaf_weights(model.tree_, X, attributes.perturbation(0.3, 0.0, mode)).toarray()

    np.testing.assert_allclose(weights(first, X), weights(second, X * factor + shift), atol=1e-7)


def test_monte_carlo_converges_to_exact_and_not_to_product():
    random = np.random.default_rng(1)
    n, scale = 40_000, np.array([0.4, 0.4, 0.4])
    X, model = numeric_tree(3)
    gaps = {"exact": [], "product": []}
    for query in X[:6]:
        drawn = model.tree_.router.apply(query + scale * random.normal(size=(n, 3)), 1)
        shares = np.bincount(drawn, minlength=model.tree_.n_nodes) / n
        for mode in gaps:
            expected = soft_leaf_weights(model.tree_, query[np.newaxis], perturbation(scale, mode)).toarray()[0]
            error = np.sqrt(np.maximum(expected * (1 - expected), 1e-5) / n)
            gaps[mode].append(np.max(np.abs(shares - expected) / error))
    assert max(gaps["exact"]) < 5
    assert min(gaps["product"]) > 20


def test_monte_carlo_of_categories():
    """Multiway and binary tests, missing-like categories, several tests on the same attribute."""
    random = np.random.default_rng(5)
    codes = random.integers(6, size=(300, 2)).astype(float)
    y = ((codes[:, 0] + codes[:, 1]) % 3 == 0).astype(int)
    model = PETClassifier(categorical_features=[0, 1], nominal_splits="binary", min_samples_leaf=1).fit(codes, y)
    matrix = encode_queries(model, codes)
    attributes = Attributes.of(matrix, None, model.encoder_.n_categories)
    made, n = attributes.perturbation(0.0, 0.4, "exact", tolerance=0.0), 40_000
    for query in matrix[:4]:
        drawn = np.tile(query, (n, 1))
        for j in range(2):
            swapped = random.random(n) < 0.4
            drawn[swapped, j] = random.choice(6, size=swapped.sum(), p=attributes.frequencies[j])
        shares = np.bincount(model.tree_.router.apply(drawn, 1), minlength=model.tree_.n_nodes) / n
        expected = soft_leaf_weights(model.tree_, query[np.newaxis], made).toarray()[0]
        assert np.max(np.abs(shares - expected) / np.sqrt(np.maximum(expected, 1e-4) / n)) < 5


def test_threads_and_blocks_do_not_matter():
    X, model = numeric_tree(n=5000)
    table, made = model.node_probabilities_, perturbation(np.full(3, 0.1), tolerance=1e-6)
    whole = soft_average(model.tree_, X, table, made)
    np.testing.assert_array_equal(whole, soft_average(model.tree_, X, table, made, n_threads=3))
    parts = [soft_average(model.tree_, part, table, made) for part in np.array_split(X, [1, 2, 2050])]
    np.testing.assert_allclose(whole, np.concatenate(parts), atol=1e-14)


# ---- the gradient
@pytest.mark.parametrize("mode", ["exact", "product"])
@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_those_of_the_loss(seed, mode):
    random = np.random.default_rng(seed)
    tree = random_tree(random, 6, 3)
    queries, labels = random.normal(size=(50, 3)), random.integers(2, size=50).astype(np.int32)
    queries[::9, 0] = np.nan
    weights = random.random(50) + 0.1
    table = random.random((tree.n_nodes, 2)) + 0.01
    tables = _core.LeafTables([np.ascontiguousarray(table[tree.leaves])], 2)
    router = _core.SoftRouter.of_tree(tree.arrays)

    def loss(log_scale):
        made = perturbation(np.exp(log_scale), mode).core
        return router.loss(queries, labels, weights, tables, made, None, 1e-6, 1)

    at = np.log([0.3, 0.8, 0.1])
    value, slopes = loss(at)
    proba = soft_average(tree, queries, table, perturbation(np.exp(at), mode))[np.arange(50), labels]
    assert value == pytest.approx(-(weights @ np.log(proba)))
    for j in range(3):
        step = 1e-5 * np.eye(3)[j]
        numeric = (loss(at + step)[0] - loss(at - step)[0]) / 2e-5
        assert slopes[j] == pytest.approx(numeric, abs=1e-5 * abs(value))
