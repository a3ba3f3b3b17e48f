"""Counts that add up: leaves, vote tables, the pool's loss, quantiles and columns."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import naive_counting as naive
import naive_ensemble
from count_problems import batches_of, problem
from petiole import BaggedPETClassifier, MOBESPClassifier, PETClassifier, ProbabilityForestClassifier, _core
from petiole._classifiers.base import encode_labelled, encode_training
from petiole._estimates.vote_look_up import make_ballot
from petiole._forest.leaf_counts import ForestCounts, Tally, VoteCounts, picked, tally_rows
from petiole._forest.log_pool import fit_pool, fit_pool_on, pool_batch
from petiole._forest.plan import as_grown, plans_of, sample_copies
from petiole._table.encoder import FeatureEncoder
from petiole._tree import traversal
from petiole.distributed.quantile_sketch import QuantileSketch
from petiole.distributed.table_summary import encode_part, kept_rows, merged, survey_rows


def grown(seed, count="distinct", **options):
    X, y, w = problem(seed, **options)
    model = MOBESPClassifier(6, count=count, random_state=seed, categorical_features=[1]).fit(X, y, w)
    training = encode_training(model, X, y, w)[1]
    copies = {t: sample_copies(training, model.bootstrap, model.seed_, t) for t in range(6)}
    return model, training, copies


def tally_part(model, rows, copies, part, **options):
    return tally_rows(model.trees_, rows.take(part), picked(copies, part), **options)


def count(model, X, y, sample_weight=None):
    """The counts of rows that no tree has seen."""
    rows = encode_labelled(model, X, y, sample_weight)
    if hasattr(model, "tree_"):
        return traversal.class_counts(model.tree_, rows.matrix, rows.labels, rows.weights)
    return tally_rows(model.trees_, rows, distinct=True).counts


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("counting", ["distinct", "copies"])
@pytest.mark.parametrize("seed", range(3))
def test_batches_add_up_to_the_naive_counts(seed, counting, weights):
    model, training, copies = grown(seed, counting, weights=weights)
    ballot = make_ballot(model.trees_, training.class_weights())
    parts = batches_of(len(training), np.random.default_rng(seed))
    distinct = counting == "distinct"
    tallies = [tally_part(model, training, copies, part, distinct=distinct, ballot=ballot) for part in parts]
    total = sum(tallies[1:], start=tallies[0])
    (plan,) = plans_of(model, model.seed_)
    trees = [as_grown(plan, tree, training, t) for t, tree in enumerate(model.trees_)]
    oracle = naive.forest_of(trees, list(copies.values()), training.matrix, training.labels, training.weights, 3)
    for t in range(6):
        in_bag, out_of_bag = naive.counted(oracle, t, distinct=distinct)
        np.testing.assert_allclose(total.counts.in_bag(t), in_bag, atol=1e-9)
        np.testing.assert_allclose(total.counts.out_of_bag(t), out_of_bag, atol=1e-9)
    yhat, _ = naive_ensemble.oob_votes(oracle, counting)
    for t, tree in enumerate(model.trees_):
        expected = naive_ensemble.vote_tables(oracle, t, yhat, oob_weight=0.5, count=counting)
        found = tables_of_tree(total.votes, t, tree, 0.5)
        assert found.keys() == expected.keys()
        for key in expected:
            np.testing.assert_allclose(found[key], expected[key], atol=1e-9)


def tables_of_tree(votes, t, tree, oob_weight):
    """(leaf, vote) -> class counts, from the arrays of vote tables."""
    state = votes.core.state()
    first_leaf = int(state["n_leaves"][:t].sum())
    row = int(state["rows_per_leaf"][:first_leaf].sum())
    entry = int(state["entries_per_row"][:row].sum())
    tables = {}
    for leaf in range(int(state["n_leaves"][t])):
        for _ in range(int(state["rows_per_leaf"][first_leaf + leaf])):
            counts = np.zeros(state["n_classes"])
            for _ in range(int(state["entries_per_row"][row])):
                counts[state["entry_class"][entry]] += state["in_bag"][entry] + oob_weight * state["out_of_bag"][entry]
                entry += 1
            tables[int(tree.leaves[leaf]), int(state["row_vote"][row])] = counts
            row += 1
    return tables


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_batches_does_not_matter(seed):
    model, training, copies = grown(seed)
    ballot = make_ballot(model.trees_, training.class_weights())
    parts = batches_of(len(training), np.random.default_rng(seed), 5)
    a, b, c, d, e = (tally_part(model, training, copies, part, distinct=True, ballot=ballot) for part in parts)
    one, other = ((a + b) + (c + d)) + e, e + (d + (c + (b + a)))
    for t in range(6):
        np.testing.assert_allclose(one.counts.out_of_bag(t), other.counts.out_of_bag(t), atol=1e-9)
    X = training.matrix
    for which in ("winner", "shared"):
        rows_of = getattr(_core.VoteRows, which)
        found = [
            tally.votes.tables(1.0).look_up(model.trees_.router, X, ballot, 6, rows_of, None, 1)[2]
            for tally in (one, other)
        ]
        np.testing.assert_allclose(*found, atol=1e-12)


def test_all_training_rows_give_back_the_counts_and_tables_of_the_fit():
    model, training, copies = grown(3, missing=False)
    tally = tally_rows(
        model.trees_, training, copies, distinct=True, ballot=make_ballot(model.trees_, training.class_weights())
    )
    placed = tally.counts.placed_in(model.trees_)
    assert all(one.equals(two) for one, two in zip(placed, model.trees_, strict=True))
    for name, array in model.vote_tables_.state().items():
        np.testing.assert_array_equal(array, tally.votes.core.state()[name], err_msg=name)


def test_many_parts_are_counted_as_one(monkeypatch):
    model, rows, copies = grown(4)
    whole = tally_rows(model.trees_, rows, copies, distinct=True)
    monkeypatch.setattr("petiole._forest.leaf_counts.CELLS_AT_ONCE", 60)
    cut = tally_rows(model.trees_, rows, copies, distinct=True)
    for t in range(6):
        np.testing.assert_allclose(whole.counts.in_bag(t), cut.counts.in_bag(t), atol=1e-9)


def test_counts_survive_pickling_and_decay():
    model, training, copies = grown(5)
    tally = tally_rows(
        model.trees_, training, copies, distinct=True, ballot=make_ballot(model.trees_, training.class_weights())
    )
    again = pickle.loads(pickle.dumps(tally))
    assert isinstance(again, Tally) and isinstance(again.votes, VoteCounts)
    np.testing.assert_array_equal(again.counts.out_of_bag(2), tally.counts.out_of_bag(2))
    halved = tally.counts.decayed_plus(tally.counts, 0.5)
    np.testing.assert_allclose(halved.in_bag(1), 1.5 * tally.counts.in_bag(1))
    forgotten = tally.votes.decayed_plus(tally.votes, 0.0)
    np.testing.assert_array_equal(forgotten.core.state()["in_bag"], tally.votes.core.state()["in_bag"])


def test_placed_counts_change_what_leaves_say_but_not_how_missing_values_spread():
    X, y, w = problem(6)
    model = BaggedPETClassifier(4, random_state=0, count="copies").fit(X, y, w)
    more = count(model, X, y, w)
    forest = (ForestCounts.of(model.trees_) + more).placed_in(model.trees_)
    for before, after in zip(model.trees_, forest, strict=True):
        np.testing.assert_allclose(after.spread_weights, before.spread_weights, rtol=1e-12)
        np.testing.assert_allclose(after.oob_class_counts[0], before.oob_class_counts[0] + np.bincount(y, w))
    alone = more.out_of_bag_alone().placed_in(model.trees_)
    np.testing.assert_allclose(alone[0].inbag_class_counts, model.trees_[0].inbag_class_counts)
    np.testing.assert_array_equal(forest.router.apply(X, 1), model.apply(X))


def test_leaves_vote_anew_where_a_prior_is_given():
    X, y, _ = problem(7, n_classes=2, weights="none", missing=False)
    model = BaggedPETClassifier(3, random_state=0, max_depth=2).fit(X, y)
    rows, nine_times = encode_labelled(model, X, 1 - y, None), {t: np.full(len(y), 9) for t in range(3)}
    flipped = tally_rows(model.trees_, rows, nine_times, distinct=False).counts
    total = (ForestCounts.of(model.trees_) + flipped).placed_in(model.trees_, np.array([1.0, 1.0]))
    for t in range(3):
        counts = total[t].inbag_class_counts[total[t].leaves]
        clear = np.abs(counts[:, 0] - counts[:, 1]) > 1e-9
        np.testing.assert_array_equal(total.core.leaf_votes(t)[clear], counts.argmax(axis=1)[clear])
    kept = (ForestCounts.of(model.trees_) + flipped).placed_in(model.trees_)
    np.testing.assert_array_equal(kept.core.leaf_votes(0), model.trees_.core.leaf_votes(0))


@pytest.mark.parametrize("kind", [PETClassifier, BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier])
def test_count_takes_labels_and_tables_of_any_kind(kind):
    frame = pd.DataFrame({"size": [1.0, 2, 3, 4] * 10, "colour": ["red", "blue", "red", None] * 10})
    y = np.array(["no", "yes", "yes", "no"] * 10)
    model = kind(random_state=0) if kind is PETClassifier else kind(8, random_state=0)
    model.fit(frame, y)
    weights = np.arange(40.0)
    found = count(model, frame, y, weights)
    root = found[0] if kind is PETClassifier else found.out_of_bag(0).sum(axis=0)
    np.testing.assert_allclose(root, [weights[y == "no"].sum(), weights[y == "yes"].sum()])
    with pytest.raises(ValueError, match=r"label 'maybe'.*cannot learn new classes"):
        count(model, frame[:1], ["maybe"])


def test_a_tree_counts_a_matrix():
    X, y, w = problem(8)
    tree = PETClassifier().fit(X, y, w).tree_
    labels = y.astype(np.int32)
    both = [traversal.class_counts(tree, X[part], labels[part], w[part]) for part in (slice(50), slice(50, None))]
    np.testing.assert_allclose(traversal.class_counts(tree, X, labels, w), both[0] + both[1])


def test_counts_of_another_forest_are_refused():
    X, y, _ = problem(9)
    small, large = (BaggedPETClassifier(n, random_state=0).fit(X, y) for n in (2, 3))
    with pytest.raises(ValueError, match="different forests"):
        count(small, X, y) + count(large, X, y)
    with pytest.raises(ValueError, match="different forests"):
        count(small, X, y).placed_in(large.trees_)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_pool_learned_from_batches_is_that_of_all_rows(weighted):
    random = np.random.default_rng(0)
    y = random.integers(3, size=300).astype(np.int32)
    components = [random.dirichlet([1, 1, 1], size=300), random.dirichlet([2, 1, 1], size=300)]
    components[0][np.arange(300), y] += 1
    components = [proba / proba.sum(axis=1, keepdims=True) for proba in components]
    w = random.random(300) if weighted else None
    starts = np.array([0.5, 0.5])
    whole = fit_pool(components, y, w, starts, 0.002)
    batches = [
        pool_batch([proba[part] for proba in components], y[part], None if w is None else w[part], 0.002)
        for part in batches_of(300, random)
    ]
    summed = fit_pool_on(batches, starts, 3, 0.002)
    np.testing.assert_allclose(summed.weights, whole.weights, atol=1e-5)
    np.testing.assert_allclose(summed.intercepts, whole.intercepts, atol=1e-5)


# Sketches.


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sketch_errs_by_no_more_than_it_says(seed, weighted):
    random = np.random.default_rng(seed)
    values = random.normal(size=2000).round(3)
    weights = random.choice([0.5, 1.0, 3.0], size=2000) if weighted else np.ones(2000)
    sketches = [QuantileSketch.of(values[part], weights[part], capacity=64) for part in batches_of(2000, random, 8)]
    a, b, c, d, e, f, g, h = sketches
    merged_ = ((a + b) + (c + d)) + ((e + f) + (g + h))
    assert len(merged_.values) <= 64 and not merged_.exact
    assert merged_.values[0] == values.min() and merged_.values[-1] == values.max()
    np.testing.assert_allclose(merged_.total, weights.sum())
    heaviest = weights.max() / weights.sum()
    assert naive.rank_error(merged_, values, weights) <= 4 / 63 + heaviest


@pytest.mark.parametrize("seed", range(4))
def test_an_exact_sketch_has_the_bins_of_growth(seed):
    random = np.random.default_rng(seed)
    values = random.integers(-40, 40, size=500) / 4.0
    weights = random.choice([1.0, 2.0], size=500)
    parts = batches_of(500, random)
    sketch = sum(
        (QuantileSketch.of(values[p], weights[p]) for p in parts[1:]),
        QuantileSketch.of(values[parts[0]], weights[parts[0]]),
    )
    assert sketch.exact
    for max_bins in (2, 7, 32, 1000):
        low, high = sketch.bins(max_bins)
        codes = np.searchsorted(high, values)
        np.testing.assert_array_equal(codes, naive.bin_of(values, weights, max_bins))
        np.testing.assert_array_equal(low, [values[codes == code].min() for code in range(len(low))])
        np.testing.assert_array_equal(high, [values[codes == code].max() for code in range(len(high))])


def test_a_sketch_of_nothing_changes_nothing():
    empty, some = QuantileSketch.of([np.nan]), QuantileSketch.of([-0.0, 0.0, 2.0])
    assert some.values.tolist() == [0.0, 2.0]
    assert (empty + some).values.tolist() == (some + empty).values.tolist() == [0.0, 2.0]
    assert [len(edges) for edges in empty.bins(4)] == [0, 0]


# Surveys.


def surveyed(frames, labels, weights=None, **options):
    parts = [
        kept_rows(X, y, None if weights is None else weights[i], i)
        for i, (X, y) in enumerate(zip(frames, labels, strict=True))
    ]
    return parts, merged([survey_rows(part, i, "from_dtype", **options) for i, part in enumerate(parts)])


def test_parts_agree_on_what_all_rows_together_say():
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan, 3, 4, 5, 6],
            "name": pd.Categorical(["b", "a", None, "c", "a", "b"]),
            "flag": [True, False, True, True, False, True],
            "late": pd.Series([None, None, None, "x", "y", None], dtype=object),
        }
    )
    y = np.array(["q", "p", "q", "r", "q", "q"])
    cuts = [slice(0, 3), slice(3, 3), slice(3, 4), slice(4, 6)]
    frames = [frame[cut].copy() for cut in cuts]
    frames[3]["name"] = frames[3]["name"].cat.remove_unused_categories()
    parts, survey = surveyed(frames, [y[cut] for cut in cuts])
    encoder = survey.encoder("Model")
    whole, matrix = FeatureEncoder.fit(frame)
    assert encoder.reads_alike(whole)
    assert survey.classes.tolist() == ["p", "q", "r"] and survey.class_weights.tolist() == [1, 4, 1]
    encoded = [encode_part(part, survey, encoder, i) for i, part in enumerate(parts) if part is not None]
    np.testing.assert_array_equal(np.concatenate([one for one, _ in encoded]), matrix)
    assert np.concatenate([codes for _, codes in encoded]).tolist() == [1, 0, 1, 2, 1, 1]
    assert survey.n_rows == {0: 3, 2: 1, 3: 2}


@pytest.mark.parametrize(
    "labels", [[[1, 2], [2, 7]], [[True, False], [True, True]], [[1.0, 2.0], [3.0, 1.0]], [["b", "a"], ["c", "c"]]]
)
def test_classes_are_those_of_all_labels(labels):
    X = np.zeros((2, 1))
    _, survey = surveyed([X, X], [np.array(part) for part in labels])
    expected = PETClassifier().fit(np.zeros((4, 1)), np.concatenate(labels)).classes_
    assert survey.classes.tolist() == expected.tolist() and survey.classes.dtype == expected.dtype


def test_rows_of_weight_zero_are_absent():
    X = np.array([["a", 1], ["b", 2], ["c", 3], ["d", 4]], dtype=object)
    _, survey = surveyed([X[:2], X[2:]], [[0, 1], [2, 3]], [np.array([1.0, 0.0]), np.array([0.0, 0.0])])
    assert survey.encoder("Model").categories[0].tolist() == ["a"] and survey.classes.tolist() == [0]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"a": ["x", "y"], "b": [1.0, 2.0]}, r"partition 1: column 'a' is categorical, but numeric in partition 0"),
        ({"a": [1.0, 2.0], "c": [1.0, 2.0]}, r"partition 1: unknown column 'c', unlike partition 0"),
        ({"a": [1.0, 2.0]}, r"partition 1: no column 'b', unlike partition 0"),
        ({"b": [1.0, 2.0], "a": [1.0, 2.0]}, r"partition 1: another order"),
        ({"a": [1.0, np.inf], "b": [1.0, 2.0]}, r"partition 1: X contains infinity: column 'a'"),
        ({"a": pd.to_datetime(["2020", "2021"]), "b": [1.0, 2.0]}, r"partition 1: column 'a' holds dates"),
    ],
)
def test_parts_that_contradict_each_other_are_named(second, message):
    first = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    with pytest.raises((ValueError, TypeError), match=message):
        surveyed([first, pd.DataFrame(second)], [[0, 1], [0, 1]])


def test_labels_of_two_types_are_named():
    X = np.zeros((2, 1))
    with pytest.raises((ValueError, TypeError), match="partition 1: y mixes labels"):
        surveyed([X, X], [[0, 1], ["a", "b"]])
    with pytest.raises(ValueError, match="partition 1: y contains NaN"):
        surveyed([X, X], [[0, 1], [np.nan, 1]])
    with pytest.raises(ValueError, match=r"partition 1: .*inconsistent numbers of samples: \[2, 1\]"):
        surveyed([X, X], [[0, 1], [1]])
