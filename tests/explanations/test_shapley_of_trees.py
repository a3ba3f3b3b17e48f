"""The core's Shapley values: those of the definition, for every kind of split, and laws for forests."""

from __future__ import annotations

import numpy as np
import pytest

from naive_shapley import said, shapley_values, tree_values
from petiole import BaggedPETClassifier, PETClassifier, _core

SPLITS = ("best", "random", "oblique")


def rows(seed, n=60, n_columns=4, gaps=0.15):
    """Numbers with ties or without, a column of categories, and missing values."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (n, n_columns)).astype(float) + random.random((n, n_columns)) * (seed % 2)
    X[:, 0] = random.integers(0, 4, n)
    X[random.random(X.shape) < gaps] = np.nan
    y = random.integers(0, 2 + seed % 2, n)
    y[:3] = np.arange(3) % (2 + seed % 2)
    return X, y


def core_values(tree, tables, X, background=None, n_threads=1):
    values, base = _core.shapley_of_trees([tree.arrays], tables, X, background, n_threads)
    return values.reshape(*X.shape, -1), base


@pytest.mark.parametrize("wide", [False, True], ids=["few outputs", "many outputs"])
@pytest.mark.parametrize("nominal", ["multiway", "binary"])
@pytest.mark.parametrize("missing", ["fractional", "separate"])
@pytest.mark.parametrize("splits", SPLITS)
def test_values_are_those_of_the_definition(splits, missing, nominal, wide):
    """Few outputs are added up on the way to the root, many at the leaves."""
    for seed in range(2):
        X, y = rows(seed)
        parameters = {"splits": splits, "missing": missing, "nominal_splits": nominal, "random_state": seed}
        model = PETClassifier(min_samples_leaf=1, max_depth=5, categorical_features=[0], **parameters).fit(X, y)
        tree, table = model.tree_, model.node_probabilities_
        if wide:
            random = np.random.default_rng(seed)
            table = np.where(random.random((tree.n_nodes, 30)) < 0.1, random.normal(size=(tree.n_nodes, 30)), 0.0)
        tables = _core.LeafTables([np.ascontiguousarray(table[tree.leaves])], table.shape[1])
        queries, others = rows(seed + 10)[0][:4], X[20:23]
        queries[0, 0] = 9  # no such category
        for background in (None, others):
            values, base = core_values(tree, tables, queries, background)
            for row, found in zip(queries, values, strict=True):
                expected, start = tree_values(tree, table, row, (None,) if background is None else background)
                np.testing.assert_allclose(found, expected, atol=1e-12)
                np.testing.assert_allclose(base, start, atol=1e-12)


def test_a_deep_tree_needs_many_points_and_gets_them():
    """With twelve columns on one path a few points of the integral would not do."""
    n = 12
    X = np.tril(np.ones((n + 1, n)))
    y = np.arange(n + 1) % 2
    tree = PETClassifier(min_samples_leaf=1, smoothing="raw").fit(X, y).tree_
    assert tree.depth == n or len(set(tree.feature.tolist())) > 10
    table = np.random.default_rng(0).normal(size=(tree.n_nodes, 1))
    tables = _core.LeafTables([np.ascontiguousarray(table[tree.leaves])], 1)
    row = X[5]
    values, _ = core_values(tree, tables, row[np.newaxis])
    expected = shapley_values(lambda some: said(tree, table, row, [{p} for p in some]), n)
    np.testing.assert_allclose(values[0], expected, atol=1e-12)


def test_background_rows_are_means_and_may_be_many():
    """More than 64 fill several words; each row's values are the mean of those by single background rows."""
    X, y = rows(3, n=150)
    model = BaggedPETClassifier(5, random_state=0, categorical_features=[0]).fit(X, y)
    tables, core = model._estimate.tables, model.trees_.core
    queries = X[:6]
    together, base = _core.shapley_of_forest(core, tables, queries, X)
    alone = [_core.shapley_of_forest(core, tables, queries, X[i : i + 1]) for i in range(len(X))]
    np.testing.assert_allclose(together, np.mean([values for values, _ in alone], axis=0), atol=1e-12)
    np.testing.assert_allclose(base, np.mean([start for _, start in alone], axis=0), atol=1e-12)


def test_threads_single_precision_and_strides_change_nothing():
    X, y = rows(1, n=200)
    model = BaggedPETClassifier(4, random_state=0, categorical_features=[0], splits="oblique").fit(X, y)
    tables, core = model._estimate.tables, model.trees_.core
    X = X.astype(np.float32).astype(np.float64)
    for background in (None, X[:9]):
        expected, _ = _core.shapley_of_forest(core, tables, X, background, 1)
        for same, n_threads in (
            (X.astype(np.float32), 1),
            (np.asfortranarray(X), 3),
            (np.repeat(X, 2, axis=1)[:, ::2], 2),
        ):
            found, _ = _core.shapley_of_forest(core, tables, same, background, n_threads)
            assert np.array_equal(found, expected)


def test_what_does_not_fit_is_refused():
    X, y = rows(0)
    model = BaggedPETClassifier(3, random_state=0).fit(X, y)
    other = BaggedPETClassifier(3, random_state=1).fit(X, y)
    core, tables = model.trees_.core, model._estimate.tables
    with pytest.raises(ValueError, match="the tables belong to other trees"):
        _core.shapley_of_forest(core, other._estimate.tables, X, None)
    with pytest.raises(ValueError, match="the matrix has fewer columns"):
        _core.shapley_of_forest(core, tables, np.ascontiguousarray(X[:, :1]), None)
    with pytest.raises(ValueError, match="background: must have the rows' columns"):
        _core.shapley_of_forest(core, tables, X, np.ascontiguousarray(X[:, :1]))
    with pytest.raises(ValueError, match="background: must have a row"):
        _core.shapley_of_forest(core, tables, X, X[:0])
