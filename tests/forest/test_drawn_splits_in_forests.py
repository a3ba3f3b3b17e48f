"""Forests of trees with drawn splits: all ways through one agree with its trees; what cannot be done is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.base import clone

from petiole import (
    BaggedPETClassifier,
    DualPerturbCombineClassifier,
    MOBESPClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
    distributed,
    export,
    load,
)
from petiole._forest.forest import Forest

FORESTS = [BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier]
DRAWN = ["oblique", "random"]


def problem(n=600, seed=0, missing=0.0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)) * [1, 100, 0.01, 1]
    y = np.digitize(X[:, 0] - X[:, 1] / 100 + random.normal(scale=0.3, size=n), [-0.7, 0.7])
    X[random.random(X.shape) < missing] = np.nan
    return X, y


def forest(splits="oblique", kind=BaggedPETClassifier, missing=0.0, **parameters):
    X, y = problem(missing=missing)
    return kind(6, max_features="sqrt", splits=splits, random_state=0, **parameters).fit(X, y), X, y


@pytest.mark.parametrize("splits", DRAWN)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 3, 40, 600])
def test_forest_is_the_mean_of_its_trees(splits, missing, dtype, n_rows):
    model, _, _ = forest(splits, missing=missing, smoothing="raw")
    queries = problem(n_rows, seed=9, missing=missing)[0].astype(dtype)
    trees = list(model.trees_)
    of_trees = [tree.router.average(queries, tree.inbag_class_counts / tree.weights[:, None], 1) for tree in trees]
    np.testing.assert_allclose(model.predict_proba(queries), np.mean(of_trees, axis=0), atol=1e-12)
    leaves = np.column_stack([tree.router.apply(queries, 1) for tree in trees])
    np.testing.assert_array_equal(model.apply(queries), leaves)


def test_sums_of_infinite_numbers_count_as_missing():
    model, X, _ = forest(smoothing="raw")
    queries = np.repeat(X[:1], 40, axis=0)
    matrix = queries.copy()
    matrix[::3, :2] = np.inf
    for tree in model.trees_:
        table = tree.inbag_class_counts / tree.weights[:, None]
        together = tree.router.average(matrix, table, 1)
        alone = np.concatenate([tree.router.average(row[np.newaxis], table, 1) for row in matrix])
        np.testing.assert_array_equal(together, alone)
        np.testing.assert_allclose(together.sum(axis=1), 1)


@pytest.mark.parametrize("splits", DRAWN)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_leaves_hold_the_rows_that_reach_them(splits, missing, dtype):
    X, y = problem(missing=missing)
    X = X.astype(dtype)
    model = BaggedPETClassifier(4, splits=splits, count="distinct", random_state=0).fit(X, y)
    for tree in model.trees_:
        reached = tree.router.traverse(X, False)
        rows = np.repeat(np.arange(len(X)), np.diff(reached[0]))
        counts = np.zeros((tree.n_nodes, tree.n_classes))
        np.add.at(counts, (reached[1], y[rows]), reached[2])
        both = tree.inbag_class_counts + tree.oob_class_counts
        np.testing.assert_allclose(both[tree.leaves], counts[tree.leaves], atol=1e-9)


@pytest.mark.parametrize("splits", DRAWN)
@pytest.mark.parametrize("kind", FORESTS)
def test_out_of_bag_warm_start_threads_and_files(splits, kind, tmp_path):
    model, X, y = forest(splits, kind, oob_score=True, missing=0.1)
    seen = model.oob_predict_proba_[~np.isnan(model.oob_predict_proba_).any(axis=1)]
    np.testing.assert_allclose(seen.sum(axis=1), 1)
    fewer = clone(model).set_params(n_estimators=3, warm_start=True).fit(X, y)
    grown = fewer.set_params(n_estimators=6).fit(X, y)
    np.testing.assert_array_equal(grown.predict_proba(X), model.predict_proba(X))
    threads = clone(model).set_params(n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(threads.predict_proba(X), model.predict_proba(X))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", FORESTS)
def test_updates_merges_and_shards(kind):
    model, X, y = forest(kind=kind)
    later = problem(seed=3)
    updated = clone(model).fit(X, y).update(*later)
    np.testing.assert_allclose(updated.predict_proba(X).sum(axis=1), 1)
    assert updated.trees_.structure == model.trees_.structure
    other = clone(model).set_params(random_state=5, splits="random").fit(*later)
    assert len(model.merged(other).trees_) == 12
    sharded = distributed.fit(clone(model), [(X[:300], y[:300]), (X[300:], y[300:])])
    assert sharded.trees_.is_oblique
    np.testing.assert_allclose(sharded.predict_proba(X).sum(axis=1), 1)


def test_packing_keeps_sums():
    model, _, _ = forest()
    trees = list(model.trees_)
    again = Forest.of(trees, np.ones(3))
    assert again.is_oblique
    assert again.structure == model.trees_.structure
    for tree, same in zip(trees, again, strict=True):
        assert same.equals(tree)
    plain, _, _ = forest("best")
    assert not plain.trees_.is_oblique
    assert "n_terms" not in plain.trees_.core.state()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("projection_weight", lambda a: np.full_like(a, np.nan)),
        ("projection_weight", np.zeros_like),
        ("projection_weight", lambda a: a[:-1]),
        ("projection_feature", lambda a: a + 200),
        ("projection_feature", lambda a: np.roll(a, 1)),
        ("n_terms", lambda a: a * 0),
        ("n_terms", lambda a: a[::-1].copy() + 1),
        ("n_terms_size", lambda a: a + 1),
    ],
)
def test_wrong_sums_are_refused(name, change):
    model, _, _ = forest()
    state = model.trees_.__getstate__()
    damaged = state | {"forest": state["forest"] | {name: change(np.array(state["forest"][name]))}}
    with pytest.raises(ValueError, match=r"n_terms|projection"):
        Forest._from_saved({}, damaged)
    with pytest.raises(ValueError, match=r"projection|has no part|must have all"):
        tree = model.trees_[0].__getstate__()
        type(model.trees_[0])._from_saved({}, {k: v for k, v in tree.items() if k != "projection_weight"})


def test_what_oblique_trees_cannot_do_is_refused_with_the_remedy():
    model, X, y = forest()
    tree = PETClassifier(splits="oblique", random_state=0).fit(X, y)
    for way in (export.to_onnx, export.to_c):
        for one in (tree, model):
            with pytest.raises(export.ExportError, match=r"splits='oblique'.*Fit with splits='best'"):
                way(one)
    with pytest.raises(ValueError, match=r"oblique split.*fit with splits='best'"):
        tree.to_sklearn()
    for mode in ("exact", "product"):
        for one in (PETClassifier(splits="oblique"), clone(model)):
            with pytest.raises(ValueError, match=re.escape("use mode='monte_carlo'")):
                DualPerturbCombineClassifier(one, 0.1, mode).fit(X, y).predict_proba(X)
    drawn = DualPerturbCombineClassifier(tree, 0.1, "monte_carlo", 5, random_state=0).fit(X, y)
    np.testing.assert_allclose(drawn.predict_proba(X).sum(axis=1), 1)
    for splits in DRAWN:
        with pytest.raises(ValueError, match=rf"splits='{splits}': a tree that is grown level by level"):
            distributed.fit(PETClassifier(splits=splits), [(X, y)], mode="sharded")


def test_random_cuts_are_ordinary_trees_elsewhere():
    model, X, y = forest("random")
    assert "petiole" in export.to_c(PETClassifier(splits="random", random_state=0).fit(X, y))
    soft = DualPerturbCombineClassifier(model, 0.1, "exact").fit(X, y)
    np.testing.assert_allclose(soft.predict_proba(X).sum(axis=1), 1)
