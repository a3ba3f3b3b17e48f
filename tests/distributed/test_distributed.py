"""Fitting part by part, in this process: with Dask's threads or without Dask."""

from __future__ import annotations

import subprocess
import sys
import threading

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import naive_distributed as naive
import naive_ensemble
from petiole import (
    BaggedPETClassifier,
    LazyOptionTreesClassifier,
    MOBESPClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
    metrics,
)
from petiole._classifiers.base import seed_of
from petiole.distributed import accuracy, apply, brier_score, fit, log_loss, predict, predict_proba
from petiole.distributed import level_wise as levels
from petiole.distributed.executors import FAN_IN, RunningSum, Serial, add_all
from petiole.distributed.shards import assign, make_shards
from petiole.smoothing import HGS

FORESTS = [BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier]
pytestmark = pytest.mark.filterwarnings("ignore:.*rows are in the samples of all trees")


def problem(seed=0, n=400, n_classes=3, missing=True):
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n)
    X = np.column_stack(
        [
            y + random.normal(size=n).round(1),
            np.where(random.random(n) < 0.5, random.integers(4, size=n), y),
            random.normal(size=n).round(2),
            y % 2 + random.random(n).round(2),
        ]
    )
    if missing:
        X[random.random(X.shape) < 0.05] = np.nan
    return X, y, random.choice([1.0, 2.0, 3.0], size=n)


def frame_of(X, y, w):
    names = np.array(["red", "green", "blue", "black"], dtype=object)
    colour = [None if np.isnan(code) else names[int(code)] for code in X[:, 1]]
    return pd.DataFrame(
        {"a": X[:, 0], "colour": colour, "b": X[:, 2], "c": X[:, 3], "y": np.array(["p", "q", "r"])[y], "w": w},
        index=np.arange(len(y)) * 10,
    )


def cut(n, n_parts=5):
    return np.array_split(np.arange(n), n_parts)


def same(one, two, X):
    return np.array_equal(one.predict_proba(X), two.predict_proba(X))


# Sums.


class Term:
    def __init__(self, name):
        self.name = name

    def __add__(self, other):
        return Term((self.name, other.name))


def test_both_engines_add_up_in_the_same_order():
    for n in range(1, 3 * FAN_IN**2):
        running, level = RunningSum(), [Term(i) for i in range(n)]
        for term in level:
            running.add(term)
        while len(level) > 1:
            level = [add_all(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        assert running.total().name == level[0].name


def test_trees_are_dealt_to_all_shards():
    for n_trees, n_shards in [(1, 1), (5, 2), (64, 7), (3, 8)]:
        assigned = assign([n_trees], n_shards, [11])
        trees = [tree for task in assigned for tree in range(task.first, task.first + task.n_trees)]
        assert sorted(trees) == list(range(n_trees))
        sizes = [task.n_trees for task in assigned]
        assert len({task.shard for task in assigned}) == len(assigned) == min(n_trees, n_shards)
        assert max(sizes) - min(sizes) <= 1
    assert make_shards({}, 5) == []


# Sharded forests.


def shards_of(model, parts, shard_rows, seed):
    shards = make_shards({i: len(part) for i, part in enumerate(parts) if len(part)}, shard_rows)
    shard_of_tree = {}
    for task in assign([model.n_estimators], len(shards), [seed]):
        shard_of_tree.update(dict.fromkeys(range(task.first, task.first + task.n_trees), task.shard))
    return [shard.parts for shard in shards], [shard_of_tree[tree] for tree in range(model.n_estimators)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", ["distinct", "copies"])
def test_every_row_counts_in_every_tree(count, weighted):
    X, y, w = problem(1, n=150)
    weights = w if weighted else None
    parts = cut(150)
    batches = [(X[part], y[part], None if weights is None else weights[part]) for part in parts]
    options = {"n_estimators": 6, "count": count, "random_state": 4}
    bagged = fit(
        BaggedPETClassifier(oob_weight=1.0, smoothing="raw", **options), batches, mode="sharded", shard_rows=60
    )
    voted = fit(MOBESPClassifier(max_features=None, **options), batches, mode="sharded", shard_rows=60)
    seed = seed_of(BaggedPETClassifier(random_state=4))
    shards, of_tree = shards_of(bagged, parts, 60, seed)
    copies = naive.copies_of_all_rows(bagged, X, y, parts, shards, seed, of_tree)
    oracle = naive.trained(bagged, X, y, weights, copies)
    for t, tree in enumerate(bagged.trees_):
        counts = naive_ensemble.out_of_bag_counts(oracle, t)
        expected = np.array([counts[leaf] for leaf in tree.leaves])
        np.testing.assert_allclose(tree.oob_class_counts[tree.leaves], expected, atol=1e-9)
    expected = naive_ensemble.predict_bagged(oracle, X[:40], oob_weight=1.0, count=count, pseudo=np.zeros(3))
    np.testing.assert_allclose(bagged.predict_proba(X[:40]), expected, atol=1e-9)
    oracle = naive.trained(voted, X, y, weights, copies)
    expected = naive_ensemble.predict_mob_esp(oracle, X[:40], oob_weight=1.0, count=count)
    np.testing.assert_allclose(voted.predict_proba(X[:40]), expected, atol=1e-9)


@pytest.mark.parametrize("kind", FORESTS)
def test_all_ways_to_give_the_same_parts_give_the_same_model(kind, tmp_path):
    X, y, w = problem(2)
    frame = frame_of(X, y, w)
    parts = [frame.iloc[part] for part in cut(400)]
    model = kind(6, random_state=1, oob_score=True)
    options = {"target": "y", "sample_weight": "w", "mode": "sharded", "shard_rows": 100}
    first = fit(model, parts, **options)
    queries = frame.drop(columns=["y", "w"])[:50]
    assert first is model and np.isfinite(first.oob_log_loss_) and not hasattr(first, "seed_")

    def again(data, **changes):
        return fit(kind(6, random_state=1, oob_score=True), data, **{**options, **changes})

    for i, part in enumerate(parts):
        pa.parquet.write_table(
            pa.Table.from_pandas(part, preserve_index=False), tmp_path / f"{i}.parquet", row_group_size=80
        )
    lazy = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    triples = [(part.drop(columns=["y", "w"]), part["y"], part["w"]) for part in parts]
    ways = {
        "iterator": again(iter(parts)),
        "function": again(lambda: iter(parts)),
        "triples": again(triples, target=None, sample_weight=None),
        "dask": again(lazy),
        "dask series": again(lazy.drop(columns=["y", "w"]), target=lazy["y"], sample_weight=lazy["w"]),
    }
    for name, found in ways.items():
        assert same(first, found, queries), name
        assert found.oob_log_loss_ == first.oob_log_loss_, name
    # Files are cut by cells, so small ones are one part; named columns are the same model as all of them.
    files = again(tmp_path)
    assert same(files, again(pyarrow.dataset.dataset(tmp_path)), queries)
    assert same(files, again(str(tmp_path), features=["a", "colour", "b", "c"]), queries)
    assert same(files, again([frame], shard_rows=1), queries)


def test_an_array_of_dask_is_a_list_of_its_blocks():
    X, y, w = problem(3)
    blocks = [(X[part], y[part], w[part]) for part in cut(400, 4)]
    expected = fit(MOBESPClassifier(6, random_state=0), blocks, mode="sharded", shard_rows=100)
    lazy = da.from_array(X, chunks=(100, 2))
    options = {"mode": "sharded", "shard_rows": 100}
    found = fit(MOBESPClassifier(6, random_state=0), lazy, da.from_array(y, chunks=150), sample_weight=w, **options)
    assert same(expected, found, X)
    with pytest.raises(ValueError, match="target has 399 rows, but data has 400"):
        fit(MOBESPClassifier(6), lazy, da.from_array(y[1:], chunks=100))
    with pytest.raises(ValueError, match="with a Dask Array it must be an array of labels"):
        fit(MOBESPClassifier(6), lazy, "y")


def test_the_seed_and_the_parts_decide():
    X, y, _ = problem(4)
    whole = [(X[part], y[part]) for part in cut(400, 4)]
    options = {"mode": "sharded", "shard_rows": 100}
    model = fit(BaggedPETClassifier(8, random_state=0), whole, **options)
    assert same(model, fit(BaggedPETClassifier(8, random_state=0), whole, **options), X)
    assert not same(model, fit(BaggedPETClassifier(8, random_state=1), whole, **options), X)
    assert not same(model, fit(BaggedPETClassifier(8, random_state=0), whole[::-1], **options), X)


def test_counting_all_rows_beats_counting_one_shard():
    random = np.random.default_rng(0)
    X = random.random((12_000, 3))
    y = (random.random(12_000) < 0.2 + 0.6 * (X[:, 0] > X[:, 1])).astype(int)
    batches = [(X[part], y[part]) for part in cut(8000, 8)]
    model = BaggedPETClassifier.eb_pets(n_estimators=8, random_state=0, min_samples_leaf=5)
    counted = fit(model, batches, mode="sharded", shard_rows=1000)
    alone = BaggedPETClassifier.eb_pets(n_estimators=8, random_state=0, min_samples_leaf=5).fit(X[:1000], y[:1000])
    losses = [metrics.log_loss(y[8000:], one.predict_proba(X[8000:]), floor=1e-6) for one in (counted, alone)]
    assert losses[0] < losses[1] - 0.02


@pytest.mark.parametrize("kind", FORESTS)
def test_odd_partitions_do_no_harm(kind):
    X, y, w = problem(5, n=300)
    frame = frame_of(X, y, w)
    frame["colour"] = frame["colour"].astype("category")
    frame["rare"] = pd.Series([None] * 300, dtype=object, index=frame.index)
    frame.loc[frame.index[250:], "rare"] = "seen"
    pieces = [
        frame[:80],
        frame[:0],
        frame[80:200][frame["y"][80:200] == "p"].copy(),
        frame[200:250].copy(),
        frame[250:].copy(),
        frame[200:203].assign(w=0.0),
    ]
    for piece in pieces[2:]:
        piece["colour"] = piece["colour"].cat.remove_unused_categories()
    model = fit(kind(8, random_state=0), pieces, target="y", sample_weight="w", mode="sharded", shard_rows=60)
    assert model.classes_.tolist() == ["p", "q", "r"]
    assert model.encoder_.categories[1].tolist() == ["black", "blue", "green", "red"]
    assert model.encoder_.categories[4].tolist() == ["seen"]
    kept = pd.concat(pieces[:5])
    np.testing.assert_allclose(model.class_weights_, kept.groupby("y")["w"].sum())
    proba = model.predict_proba(frame.drop(columns=["y", "w"]))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.feature_names_in_.tolist() == ["a", "colour", "b", "c", "rare"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda part: part.assign(a=part["a"].astype(str)),
            "partition 3: column 'a' is categorical, but numeric in partition 0",
        ),
        (lambda part: part.rename(columns={"a": "z"}), "partition 3: unknown column 'z', unlike partition 0"),
        (lambda part: part.drop(columns="b"), "partition 3: no column 'b', unlike partition 0"),
        (lambda part: part.drop(columns="y"), "partition 3: there is no column 'y' for target"),
        (lambda part: part.assign(y=1), "partition 3: y mixes labels of types int, str"),
        (lambda part: part.assign(w=-1.0), r"partition 3: sample_weight\[0\]=-1.0: must not be negative"),
    ],
)
def test_a_partition_that_differs_is_named(change, message):
    X, y, w = problem(6, n=100)
    parts = [frame_of(X, y, w).iloc[part] for part in cut(100)]
    parts[3] = change(parts[3])
    model = BaggedPETClassifier(4)
    with pytest.raises((ValueError, TypeError), match=message):
        fit(model, parts, "y", sample_weight="w", mode="sharded")
    assert vars(model) == vars(BaggedPETClassifier(4))


def test_rows_sorted_by_class_are_noticed():
    X, y, _ = problem(7, n=6000, missing=False)
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match="rows seem to be sorted"):
        fit(
            BaggedPETClassifier(4, max_depth=2),
            [(X[order][part], y[order][part]) for part in cut(6000, 3)],
            mode="sharded",
            shard_rows=1000,
        )


@pytest.mark.parametrize(
    "options",
    [
        {"split_class_weight": "balanced"},
        {"pruning": "error_based"},
        {"pruning": "pruning_set"},
        {"smoothing": HGS(alpha="honest")},
        {"voting": "laplace", "smoothing": "raw"},
        {"max_bins": 8, "bootstrap": "plain"},
    ],
)
def test_parameters_of_growth_and_estimation_work_on_shards(options):
    X, y, _ = problem(8)
    batches = [(X[part], y[part]) for part in [*cut(399, 3), np.array([399])]]
    model = fit(
        BaggedPETClassifier(6, random_state=0, oob_score=True, **options), batches, mode="sharded", shard_rows=100
    )
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.mean(proba.argmax(axis=1) == y) > 0.6 and 0 < model.oob_log_loss_ < 2


def test_mob_esp_chooses_its_weight_on_a_sample():
    X, y, _ = problem(9)
    model = fit(MOBESPClassifier(12, oob_weight="auto", random_state=0), [(X, y)], mode="sharded")
    local = MOBESPClassifier(12, oob_weight="auto", random_state=0).fit(X, y)
    # One part of few rows: the sample is all rows, and what is learned is what the local model learns.
    assert model.oob_weight_ == local.oob_weight_
    np.testing.assert_allclose(model.predict_proba(X), local.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("kind", FORESTS)
def test_one_shard_of_all_rows_is_the_local_model(kind):
    X, y, w = problem(10)
    model = fit(kind(10, random_state=3), [(X, y, w)], mode="sharded")
    np.testing.assert_allclose(
        model.predict_proba(X), kind(10, random_state=3).fit(X, y, w).predict_proba(X), atol=1e-9
    )


@pytest.mark.parametrize("kind", [*FORESTS, PETClassifier])
def test_a_fitted_model_of_shards_is_complete(kind):
    import pickle

    X, y, _ = problem(11)
    model = kind(random_state=0) if kind is PETClassifier else kind(6, random_state=0)
    model.fit(X[:100], y[:100])
    fit(model, [(X[part], y[part]) for part in cut(400, 4)], mode="sharded", shard_rows=100)
    again = pickle.loads(pickle.dumps(model))
    assert same(model, again, X)
    assert model.apply(X[:3]).shape[0] == 3 and model.feature_importances_.shape == (4,)
    assert model.n_features_in_ == 4
    if kind is not PETClassifier:
        assert model.predict_proba_std(X).shape == (400, 3)
        assert len(model.merged(again).trees_) == 12


# Broadcast.


@pytest.mark.parametrize("kind", [*FORESTS, PETClassifier])
def test_broadcast_is_the_local_model(kind):
    X, y, w = problem(12)
    frame = frame_of(X, y, np.where(np.arange(400) % 7 == 0, 0.0, w))
    parts = [frame.iloc[part] for part in cut(400)]
    made = (
        (lambda: kind(random_state=5)) if kind is PETClassifier else (lambda: kind(7, random_state=5, oob_score=True))
    )
    features = frame.drop(columns=["y", "w"])
    local = made().fit(features, frame["y"], frame["w"])
    lazy = dd.from_pandas(frame, npartitions=4)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for data in (parts, lazy, iter(parts), frame, [table.slice(0, 150), table.slice(150)]):
        found = fit(made(), data, "y", sample_weight="w")
        assert same(local, found, features)
        for name in ("oob_predict_proba_", "oob_decision_"):
            if hasattr(local, name):
                np.testing.assert_array_equal(getattr(local, name), getattr(found, name))


def test_broadcast_grows_some_trees_on_each_worker(monkeypatch):
    X, y, _ = problem(12)
    monkeypatch.setattr("petiole.distributed.executors.OnDask.n_workers", 3)
    for kind in FORESTS:
        found = fit(kind(7, random_state=5), da.from_array(X, chunks=(90, 4)), y, mode="broadcast")
        assert same(found, kind(7, random_state=5).fit(X, y), X)


def test_large_data_is_sharded_and_small_data_is_broadcast(monkeypatch):
    X, y, _ = problem(13)
    batches = [(X[part], y[part]) for part in cut(400, 4)]
    small = fit(BaggedPETClassifier(4, random_state=0), batches)
    assert hasattr(small, "seed_")
    large = fit(BaggedPETClassifier(4, random_state=0), batches, memory_limit="10kB")
    assert not hasattr(large, "seed_")


def test_a_forest_that_is_fitted_warm_goes_on_locally():
    X, y, _ = problem(14)
    model = fit(BaggedPETClassifier(4, random_state=0, warm_start=True), [(X[:200], y[:200]), (X[200:], y[200:])])
    model.set_params(n_estimators=8).fit(X, y)
    assert same(model, BaggedPETClassifier(8, random_state=0).fit(X, y), X)


# A single tree.

TREES = [
    {},
    {"max_bins": 12},
    {"criterion": "gini", "max_features": 2, "random_state": 3},
    {"criterion": "kearns_mansour", "max_depth": 4},
    {"criterion": "gain_ratio", "threshold": "data"},
    {"criterion": "gain_ratio", "threshold": "data", "categorical_features": [1], "max_bins": 20},
    {"categorical_features": [1], "nominal_splits": "binary", "min_samples_leaf": 5},
    {"missing": "separate", "categorical_features": [1]},
    {"missing": "separate", "nominal_splits": "binary", "categorical_features": [1], "criterion": "gini"},
    {"pruning": "collapse", "random_state": 0, "max_features": 1},
]


@pytest.mark.parametrize("finish_rows", [0, 60, 10_000])
@pytest.mark.parametrize("options", TREES)
def test_a_tree_of_summed_histograms_is_the_local_one_node_by_node(options, finish_rows, monkeypatch):
    monkeypatch.setattr(levels, "FINISH_ROWS", finish_rows)
    monkeypatch.setattr(levels, "GATHER_ROWS", 100)
    monkeypatch.setattr(levels, "HISTOGRAM_BYTES", 30_000)
    for seed in range(2):
        X, y, w = problem(seed, n=300, n_classes=2 + seed, missing="missing" in options)
        batches = [(X[part], y[part], w[part]) for part in [*cut(150, 3), np.array([], dtype=int), np.arange(150, 300)]]
        found = fit(PETClassifier(**options), batches, mode="sharded")
        local = PETClassifier(**options).fit(X, y, w)
        assert found.tree_.equals(local.tree_)
        assert same(found, local, X)


@pytest.mark.parametrize("options", [{}, {"categorical_features": [1], "criterion": "gain_ratio"}])
@pytest.mark.parametrize("weights", ["missing", "fractional", "scaled"])
def test_a_tree_with_weights_that_are_no_counts_is_the_local_one_up_to_rounding(options, weights, monkeypatch):
    monkeypatch.setattr(levels, "FINISH_ROWS", 50)
    X, y, _ = problem(3, n=250, missing=weights == "missing")
    w = np.random.default_rng(0).choice([0.5, 1.3, 2.0], size=250) if weights == "fractional" else None
    growth = {**options, "min_samples_leaf": 4}
    if weights == "scaled":
        growth["split_class_weight"] = "balanced"
    batches = [(X[part], y[part], None if w is None else w[part]) for part in cut(250)]
    found = fit(PETClassifier(**growth), batches, mode="sharded").tree_
    local = PETClassifier(**growth).fit(X, y, w).tree_
    np.testing.assert_array_equal(found.feature, local.feature)
    np.testing.assert_allclose(found.threshold, local.threshold)
    np.testing.assert_allclose(found.inbag_class_counts, local.inbag_class_counts, atol=1e-6)


def test_a_tree_of_many_values_is_binned_by_the_sketch(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000, 2))
    y = (X[:, 0] + random.normal(size=30_000) > 0).astype(int)
    model = fit(PETClassifier(max_depth=4), [(X[part], y[part]) for part in cut(30_000, 6)], mode="sharded")
    local = PETClassifier(max_depth=4).fit(X, y)
    losses = [metrics.log_loss(y, one.predict_proba(X)) for one in (model, local)]
    assert losses[0] < losses[1] + 0.005
    np.testing.assert_allclose(model.tree_.inbag_class_counts[0], np.bincount(y))
    leaves = model.tree_.inbag_class_counts[model.tree_.leaves]
    counted = np.zeros_like(model.tree_.inbag_class_counts)
    np.add.at(counted, (model.apply(X), y), 1)
    np.testing.assert_array_equal(counted[model.tree_.leaves], leaves)


# Errors.


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (LazyOptionTreesClassifier(), {}, "model is a LazyOptionTreesClassifier: must be one of"),
        (BaggedPETClassifier(4), {"mode": "fast"}, "mode='fast': must be one of 'auto', 'broadcast', 'sharded'"),
        (BaggedPETClassifier(4), {"shard_rows": 0}, "shard_rows=0: must be a whole number at least 1"),
        (BaggedPETClassifier(4), {"memory_limit": "lots"}, "memory_limit='lots': must be a number of bytes"),
        (BaggedPETClassifier(0), {}, "n_estimators=0"),
        (BaggedPETClassifier(4, bootstrap=False), {}, "bootstrap=False: trees of one shard would all be alike"),
        (BaggedPETClassifier(4, smoothing=HGS(alpha="cv")), {}, "use mode='broadcast'"),
        (PETClassifier(pruning="error_based"), {}, "pruning='error_based' sends the training rows down the tree again"),
        (PETClassifier(smoothing=HGS(alpha="honest")), {}, "learns from trees that are grown on parts of the rows"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_remedy(model, options, message):
    X, y, _ = problem(15, n=60)
    with pytest.raises((ValueError, TypeError), match=message):
        fit(model, [(X, y)], **{"mode": "sharded", **options})


def test_wrong_data_is_refused(tmp_path):
    model = BaggedPETClassifier(2)
    X, y, _ = problem(16, n=60)
    with pytest.raises(ValueError, match="data has no batches"):
        fit(model, iter([]))
    with pytest.raises(ValueError, match="data has no rows of positive weight"):
        fit(model, [(X, y, np.zeros(60))])
    with pytest.raises(ValueError, match="batch 0 has 4 entries"):
        fit(model, [(X, y, y, y)])
    with pytest.raises(ValueError, match="batch 0 is a DataFrame: give pairs"):
        fit(model, [pd.DataFrame(X)])
    with pytest.raises(FileNotFoundError, match="there is no such file or folder"):
        fit(model, tmp_path / "absent", "y")
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="target='z': there is no such column; the columns are"):
        fit(model, tmp_path, "z")
    with pytest.raises(ValueError, match="target=None: must be the name of a column of the files"):
        fit(model, tmp_path)
    with pytest.raises(ValueError, match="features is for Parquet"):
        fit(model, X, y, features=["a"])
    with pytest.raises(ValueError, match="target has 59 labels, but data has 60 rows"):
        fit(model, X, y[1:])


# Asking.


@pytest.mark.parametrize("kind", [*FORESTS, PETClassifier])
def test_answers_stay_lazy_and_keep_the_index(kind):
    X, y, w = problem(17)
    frame = frame_of(X, y, w)
    features = frame.drop(columns=["y", "w"])
    model = (kind(random_state=0) if kind is PETClassifier else kind(5, random_state=0)).fit(features, frame["y"])
    lazy = dd.from_pandas(frame, npartitions=3)  # with columns that the model does not know
    proba, leaves, labels = predict_proba(model, lazy), apply(model, lazy), predict(model, lazy)
    for answer in (proba, leaves, labels):
        assert hasattr(answer, "__dask_graph__")
        pd.testing.assert_index_equal(answer.compute(scheduler="sync").index, frame.index)
    assert list(proba.columns) == ["p", "q", "r"]
    np.testing.assert_array_equal(proba.compute(scheduler="sync"), model.predict_proba(features))
    np.testing.assert_array_equal(leaves.compute(scheduler="sync"), model.apply(features).reshape(400, -1))
    np.testing.assert_array_equal(labels.compute(scheduler="sync"), model.predict(features))
    by_name = lazy[["w", "c", "b", "a", "colour"]]
    np.testing.assert_array_equal(
        predict_proba(model, by_name).compute(scheduler="sync"), model.predict_proba(features)
    )
    with pytest.raises(ValueError, match="data has no column 'a', which the model was fitted on"):
        predict_proba(model, lazy[["b"]]).compute(scheduler="sync")


def test_answers_on_arrays_and_metrics_are_sums():
    X, y, w = problem(18)
    model = ProbabilityForestClassifier(6, random_state=0).fit(X, y)
    lazy, truth, weights = (da.from_array(array, chunks=150) for array in (X, y, w))
    proba = predict_proba(model, lazy)
    local = model.predict_proba(X)
    assert proba.shape == (400, 3)
    np.testing.assert_array_equal(proba.compute(scheduler="sync"), local)
    np.testing.assert_array_equal(predict(model, lazy).compute(scheduler="sync"), model.predict(X))
    assert apply(model, lazy).compute(scheduler="sync").shape == (400, 6)
    options = {"sample_weight": weights, "labels": model.classes_}
    found = [metric(truth, proba, **options).compute() for metric in (log_loss, brier_score, accuracy)]
    hits = np.average(local.argmax(axis=1) == y, weights=w)
    expected = [metrics.log_loss(y, local, sample_weight=w), metrics.brier_score(y, local, sample_weight=w), hits]
    np.testing.assert_allclose(found, expected)
    with pytest.raises(ValueError, match="labels=None: must name the class of each column"):
        log_loss(truth, proba)
    with pytest.raises(TypeError, match="for data in memory call model"):
        predict_proba(model, X)


def test_dask_is_not_needed_for_files(tmp_path):
    X, y, _ = problem(19, n=200, missing=False)
    columns = {"a": X[:, 0], "b": X[:, 2], "y": y}
    pa.parquet.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=50)
    code = f"""
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
from petiole import BaggedPETClassifier
from petiole.distributed import fit
model = fit(BaggedPETClassifier(4, random_state=0), {str(tmp_path)!r}, "y", mode="sharded")
print(model.trees_[0].oob_class_counts[0].sum() > 0, model.feature_names_in_.tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True ['a', 'b']", done.stderr


def test_the_bar_is_gone_after_an_error():
    """Also while the error is kept: a bar that goes on would draw over what comes next, with the cursor hidden."""

    def fail():
        raise ValueError("no such part")

    engine = Serial([], verbose=1)
    for work in (engine.sum, engine.keep):
        with pytest.raises(ValueError, match="no such part") as kept:
            work([fail], "looking")
        for thread in threading.enumerate():
            if type(thread).__module__.startswith("rich"):
                thread.join(timeout=5)  # it has been told to end
                assert not thread.is_alive() and kept.value is not None
