"""The ensembles against slow versions that are easy to check by eye, and their laws."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier

import naive_ensemble as naive
from ensemble_cases import (
    BOTH_COUNTS,
    EVERY_COMPONENT,
    PSEUDO_COUNTS,
    RAW,
    STRUCTURE,
    assert_close,
    at_empty_leaves,
    cases,
    examples,
    for_all_rows,
    naive_forest,
    numeric_data,
    queries_for,
    shared_rows,
    slow_parts,
    with_prior,
)
from petiole import BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier
from petiole._classifiers.base import encode_queries, encode_training
from petiole._forest.log_pool import Ridges, fit_pool
from petiole._tree.growing import grow_tree
from petiole._tree.plan import TreePlan
from petiole.export.sklearn import trees_from_sklearn
from petiole.smoothing import MEstimate

RIDGES = Ridges()
# The slow version knows statistics of leaves alone.
FOREST_ALONE = ("forest",)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*rows are in the samples of all trees"),
    pytest.mark.filterwarnings("ignore:sample_weight sums to"),
]


# ---- the ground that comparisons stand on
@examples(40)
@given(case=cases(prunings=(None, "collapse", "error_based", "pruning_set")))
def test_samples_and_counts(case):
    """Samples have the right sizes; every leaf has the counts of the naive version; growth does not know `count`."""
    fitted = {count: case.fit(BaggedPETClassifier, count=count) for count in ("copies", "distinct")}
    for count, model in fitted.items():
        forest = naive_forest(model, *case[:3])
        for t, tree in enumerate(model.trees_):
            assert forest.copies[t].sum() == len(forest.y)
            if case.growth["bootstrap"] == "stratified":
                assert all(forest.copies[t][rows].sum() == len(rows) for rows in naive.strata(forest.y))
            for leaf, expected in naive.in_bag_counts(forest, t, count).items():
                assert_close(tree.inbag_class_counts[leaf], expected)
            for leaf, expected in naive.out_of_bag_counts(forest, t).items():
                assert_close(tree.oob_class_counts[leaf], expected)
    if case.growth["pruning"] == "pruning_set":
        return  # rounding decides which class is the larger one: see below
    for tree, distinct in zip(fitted["copies"].trees_, fitted["distinct"].trees_, strict=True):
        for name in STRUCTURE:
            np.testing.assert_array_equal(getattr(tree, name), getattr(distinct, name))
        assert_close(distinct.spread_weights, tree.spread_weights)
        if case.growth["pruning"] is None:
            assert_close(tree.spread_weights, tree.inbag_class_counts.sum(axis=1))


def test_pruning_does_not_depend_on_how_rows_count():
    """At the root two classes weigh 4.9, but for the last digit."""
    random = np.random.default_rng(54)
    n = int(random.integers(12, 30))
    y = random.integers(3, size=n)
    X = np.column_stack([(y + random.integers(3, size=n)) * 0.5, random.normal(size=n).round(1)])
    X[random.random(X.shape) < 0.2] = np.nan
    w = random.choice([0.25, 0.5, 1, 1.7], size=n)
    shared = {"pruning": "pruning_set", "min_samples_leaf": 1, "random_state": 54}
    copies, distinct = (BaggedPETClassifier(1, count=k, **shared).fit(X, y, w) for k in ("copies", "distinct"))
    assert copies.trees_[0].n_nodes == distinct.trees_[0].n_nodes


def predict_bagged(forest, queries, **rule):
    result = naive.predict_bagged(forest, queries, **rule)
    for t, tree in enumerate(forest.trees):
        more = at_empty_leaves(forest, t, **rule)
        for q, row in enumerate(queries if more else []):
            for leaf, share in naive.leaf_shares(tree, row).items():
                result[q] += share * more.get(leaf, 0.0) / len(forest.trees)
    return result


def oob_bagged(forest, **rule):
    result = naive.oob_bagged(forest, **rule)
    if rule["oob_weight"] > 0:
        return result  # a row that counts leaves none of its leaves empty
    n_unseen = (np.array(forest.copies) == 0).sum(axis=0)
    for t in range(len(forest.trees)):
        more = at_empty_leaves(forest, t, **rule)
        for i in np.flatnonzero(forest.copies[t] == 0):
            for leaf, share in forest.shares[t][i].items():
                result[i] += share * more.get(leaf, 0.0) / n_unseen[i]
    return result


@BOTH_COUNTS
@pytest.mark.parametrize("oob_weight", [0, 1, 2.5])
@examples(20)
@given(case=cases(prunings=(None, None, "error_based", "pruning_set")), smoothing=st.sampled_from(list(PSEUDO_COUNTS)))
def test_bagged(oob_weight, count, case, smoothing):
    estimator, pseudo = PSEUDO_COUNTS[smoothing]
    rule = {"oob_weight": oob_weight, "count": count}
    model = case.fit(BaggedPETClassifier, smoothing=estimator, oob_score=True, **rule)
    forest, queries = naive_forest(model, *case[:3]), queries_for(model, case)
    rule["pseudo"] = pseudo(forest.n_classes)

    def slow(matrix):
        return predict_bagged(forest, matrix, **rule)

    assert_close(model.predict_proba(queries), slow(encode_queries(model, queries)))
    expected = for_all_rows(model, case.X, case.w, oob_bagged(forest, **rule), slow)
    assert_close(model.oob_predict_proba_, expected)


# ---- votes
@examples(25)
@given(case=cases(nominal=False, missing=False))
def test_voting_is_the_share_of_votes(case):
    model = case.fit(BaggedPETClassifier, voting=True, **RAW)
    forest, queries = naive_forest(model, *case[:3]), queries_for(model, case)
    queries = queries[~np.isnan(queries).any(axis=1)]
    shares = np.zeros((len(queries), forest.n_classes))
    for q, row in enumerate(queries):
        for t, tree in enumerate(forest.trees):
            (leaf,) = naive.leaf_shares(tree, row)
            shares[q, naive.leaf_votes(forest, t)[leaf]] += 1 / len(forest.trees)
    assert_close(model.predict_proba(queries), shares)
    smoothed = case.fit(BaggedPETClassifier, voting="laplace", **RAW).predict_proba(queries)
    assert_close(smoothed, (case.n_trees * shares + 1) / (case.n_trees + forest.n_classes))


@examples(25)
@given(case=cases())
def test_a_row_in_several_leaves_divides_its_vote(case):
    model = case.fit(BaggedPETClassifier, voting=True, **RAW)
    forest, queries = naive_forest(model, *case[:3]), queries_for(model, case)
    expected = np.zeros((len(queries), forest.n_classes))
    for q, row in enumerate(encode_queries(model, queries)):
        for t, tree in enumerate(forest.trees):
            for leaf, share in naive.leaf_shares(tree, row).items():
                expected[q, naive.leaf_votes(forest, t)[leaf]] += share / len(forest.trees)
    assert_close(model.predict_proba(queries), expected)


def test_classes_of_equal_weight_are_equal_where_votes_are_tied():
    model = BaggedPETClassifier(1, bootstrap=False, voting=True, **RAW)
    model.fit(np.zeros((3, 1)), [1, 1, 0], [0.1, 0.2, 0.3])  # a tie at the leaf and in all: the first class
    np.testing.assert_array_equal(model.predict_proba([[0.0]]), [[1.0, 0.0]])


# ---- MOB-ESP
def voting_trees(voters, n_trees):
    return list(range(n_trees if voters == "all" else max(1, round(0.37 * n_trees))))


def predict_shared(forest, queries, *, oob_weight, count, vote_trees):
    rule = {"oob_weight": oob_weight, "count": count}
    yhat, _ = naive.oob_votes(forest, count)
    tables = [naive.vote_tables(forest, t, yhat, **rule) for t in range(len(forest.trees))]
    result = naive.predict_bagged(forest, queries, pseudo=0.0, **rule)
    for q, row in enumerate(queries):
        shares = {t: naive.leaf_shares(tree, row) for t, tree in enumerate(forest.trees)}
        _, votes = naive.ensemble_vote(forest, {t: shares[t] for t in vote_trees}, count)
        found = shared_rows(tables, shares, votes)
        if found is not None:
            result[q] = found
    return result


def oob_shared(forest, *, oob_weight, count):
    """Each row by the trees that have not seen it, taken out of the tables: it is in the row of its own vote only."""
    rule = {"oob_weight": oob_weight, "count": count}
    yhat, votes = naive.oob_votes(forest, count)
    result = naive.oob_bagged(forest, pseudo=0.0, **rule)
    for i in range(len(forest.y)):
        unseeing = [t for t in range(len(forest.trees)) if naive.is_out_of_bag(forest, t, i)]
        tables = {t: naive.vote_tables(forest, t, yhat, without=i, **rule) for t in unseeing}
        found = shared_rows(tables, {t: forest.shares[t][i] for t in unseeing}, votes[i])
        if found is not None:
            result[i] = found
    return result


SLOW_MOB_ESP = {
    "winner": (naive.predict_mob_esp, naive.oob_mob_esp),
    "shared": (predict_shared, oob_shared),
}


@pytest.mark.parametrize("rows", list(SLOW_MOB_ESP))
@BOTH_COUNTS
@pytest.mark.parametrize("oob_weight", [0, 1, 2])
@examples(10)
@given(case=cases(max_rows=40, prunings=(None, None, None, "error_based", "pruning_set")))
def test_mob_esp(oob_weight, count, rows, case):
    rule = {"oob_weight": oob_weight, "count": count}
    slow_predict, slow_oob = SLOW_MOB_ESP[rows]
    for voters in ("all", "as_out_of_bag"):
        model = case.fit(MOBESPClassifier, rows=rows, voters=voters, oob_score=voters == "all", **rule)
        forest, queries = naive_forest(model, *case[:3]), queries_for(model, case)
        trees = voting_trees(voters, case.n_trees)

        def slow(matrix, forest=forest, trees=trees):
            return slow_predict(forest, matrix, vote_trees=trees, **rule)

        assert_close(model.predict_proba(queries), slow(encode_queries(model, queries)))
        if voters == "all":
            expected = slow_oob(forest, **rule)
            kept = slice(None) if case.w is None else case.w > 0
            assert_close(model.oob_predict_proba_[kept], expected)
            if case.w is not None and not case.w.all():
                absent = encode_queries(model, case.X[case.w == 0])  # rows in no sample are queries
                assert_close(model.oob_predict_proba_[case.w == 0], slow(absent))


@pytest.mark.parametrize("weighted", [False, True])
def test_mob_esp_with_many_votes_and_classes_in_a_leaf(weighted):
    random = np.random.default_rng(0)
    y = random.integers(20, size=300)
    X = np.column_stack([factor * y % 20 + random.integers(8, size=300) for factor in (1, 3, 7, 9)]).astype(float)
    w = random.choice([0.5, 1.0, 2.0], size=300) if weighted else None
    model = MOBESPClassifier(8, max_depth=3, max_features=1, oob_score=True, random_state=0).fit(X, y, w)
    forest, rule = naive_forest(model, X, y, w), {"oob_weight": 1, "count": "distinct"}
    table = naive.vote_tables(forest, 0, naive.oob_votes(forest, "distinct")[0], **rule)
    n_entries = Counter()
    for (leaf, _), weights in table.items():
        n_entries[leaf] += np.count_nonzero(weights)
    assert max(n_entries.values()) > 32
    assert_close(model.predict_proba(X[:20]), naive.predict_mob_esp(forest, X[:20], vote_trees=list(range(8)), **rule))
    assert_close(model.oob_predict_proba_, naive.oob_mob_esp(forest, **rule))


def test_fallback_of_out_of_bag_rows_without_out_of_bag_weight():
    """The last row is alone with its category, so the tree that has not seen it has an empty leaf for it."""
    X, y = np.array([[0.0]] * 4 + [[1.0]] * 4 + [[2.0]]), np.array([0, 0, 0, 1, 1, 1, 1, 0, 0])
    shared = {"categorical_features": [0], "oob_weight": 0, "count": "copies", "oob_score": True, "random_state": 0}
    model = MOBESPClassifier(2, **shared).fit(X, y)
    bagged = BaggedPETClassifier(2, max_features="sqrt", **RAW, **shared).fit(X, y)
    forest = naive_forest(model, X, y)
    assert [copies[-1] for copies in forest.copies] == [1, 0]
    expected = naive.oob_mob_esp(forest, oob_weight=0, count="copies")[-1]
    np.testing.assert_allclose(expected, [5 / 9, 4 / 9])  # of the root
    np.testing.assert_allclose(bagged.oob_predict_proba_[-1], expected)
    assert_close(model.oob_predict_proba_[-1], expected)


@examples(15)
@given(case=cases(max_rows=40))
def test_mob_esp_merged(case):
    """Leaves keep the rows as their own model filed them; all trees vote."""
    rule = {"oob_weight": 1.0, "count": "distinct"}
    models = [case.fit(MOBESPClassifier, random_state=seed, n_estimators=3 + seed, **rule) for seed in (0, 1)]
    forests = [naive_forest(model, *case[:3]) for model in models]
    trees, copies = ([one for forest in forests for one in getattr(forest, name)] for name in ("trees", "copies"))
    together = naive.TrainedForest(trees, copies, *(getattr(forests[0], n) for n in ("X", "y", "weights", "n_classes")))
    merged = models[0].merged(models[1])
    queries = queries_for(merged, case)
    matrix = encode_queries(merged, queries)
    expected = naive.predict_bagged(together, matrix, pseudo=0.0, **rule)
    tables = [
        naive.vote_tables(forest, t, naive.oob_votes(forest, "distinct")[0], **rule)
        for forest in forests
        for t in range(len(forest.trees))
    ]
    for q, row in enumerate(matrix):
        winner = np.eye(together.n_classes)[naive.query_vote(together, row, "distinct")]
        found = shared_rows(tables, {t: naive.leaf_shares(tree, row) for t, tree in enumerate(trees)}, winner)
        expected[q] = expected[q] if found is None else found
    assert_close(merged.predict_proba(queries), expected)
    assert_same_answers(pickle.loads(pickle.dumps(merged)), merged, queries)


# ---- other people's trees
@BOTH_COUNTS
@pytest.mark.parametrize("growth_count", ["copies", "distinct"])
@examples(10)
@given(case=cases(), rows=st.sampled_from(["winner", "shared"]), oob_weight=st.sampled_from([0, 1, 2.5, "auto"]))
def test_mob_esp_of_petioles_own_ensemble(growth_count, count, case, rows, oob_weight):
    rule = {"rows": rows, "oob_weight": oob_weight, "count": count}
    bagged = case.fit(BaggedPETClassifier, count=growth_count)
    queries = queries_for(bagged, case)
    made = MOBESPClassifier.from_ensemble(bagged, case.X, case.y, case.w, **rule)
    fitted = case.fit(MOBESPClassifier, **rule)
    assert made.oob_weight_ == fitted.oob_weight_
    assert_close(made.predict_proba(queries), fitted.predict_proba(queries))


@BOTH_COUNTS
@pytest.mark.parametrize("rows", list(SLOW_MOB_ESP))
@examples(8)
@given(
    case=cases(max_rows=40, nominal=False, missing=False, weights=False),
    oob_weight=st.sampled_from([0, 1, 2]),
    voters=st.sampled_from(["all", "as_out_of_bag"]),
)
def test_mob_esp_of_a_scikit_learn_forest(rows, count, case, oob_weight, voters):
    seed = case.growth["random_state"]
    forest = RandomForestClassifier(case.n_trees, min_samples_leaf=2, random_state=seed).fit(case.X, case.y)
    rule = {"oob_weight": oob_weight, "count": count}
    model = MOBESPClassifier.from_ensemble(forest, case.X, case.y, rows=rows, voters=voters, **rule)
    trees = trees_from_sklearn(forest, case.X, case.y)
    codes = np.searchsorted(forest.classes_, case.y)
    copies = [np.bincount(drawn, minlength=len(codes)) for drawn in forest.estimators_samples_]
    slow = naive.TrainedForest(trees, copies, case.X, codes, None, len(forest.classes_))
    queries = np.column_stack([case.random.permutation(column) for column in case.X.T])
    expected = SLOW_MOB_ESP[rows][0](slow, queries, vote_trees=voting_trees(voters, case.n_trees), **rule)
    assert_close(model.predict_proba(queries), expected)
    assert_same_answers(pickle.loads(pickle.dumps(model)), model, queries)


class OneLeaf(BaseEstimator):
    """An ensemble whose only member was grown on the first three of four rows, and never split."""

    classes_ = np.array([0, 1])
    estimators_samples_ = (np.array([0, 1, 2]),)

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def apply(self, X):
        return np.zeros((len(X), 1), dtype=int)


def test_equal_weights_at_a_leaf_of_another_ensemble_are_equal():
    X, y, w = np.zeros((4, 1)), [1, 1, 0, 0], [0.1, 0.2, 0.3, 1.0]
    model = MOBESPClassifier.from_ensemble(OneLeaf().fit(X, y), X, y, w)
    assert model.tables_.leaf_votes[0][0] == 0  # the larger class of the training set


# ---- laws
ENSEMBLES = pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (BaggedPETClassifier, {"oob_score": True}),
        (BaggedPETClassifier, {"oob_score": True, "oob_weight": 1.0, "count": "distinct", **RAW}),
        (MOBESPClassifier, {"oob_score": True}),
        (MOBESPClassifier, {"oob_score": True, "rows": "shared", "count": "copies", "oob_weight": "auto"}),
        (ProbabilityForestClassifier, {"oob_score": True, "max_features": ("sqrt", 1)}),
        (ProbabilityForestClassifier, {"oob_score": True, "components": ("eb", "raw"), "count": "copies"}),
    ],
    ids=["b-pets", "eb-pets", "mob-esp", "mob-esp-shared", "pool", "pool-of-one-kind"],
)


def assert_same_answers(found, expected, queries):
    """Bit for bit, out of bag as well."""
    np.testing.assert_array_equal(found.predict_proba(queries), expected.predict_proba(queries))
    if hasattr(expected, "oob_predict_proba_"):
        np.testing.assert_array_equal(found.oob_predict_proba_, expected.oob_predict_proba_)
        np.testing.assert_array_equal(found.oob_decision_, expected.oob_decision_)


@examples(20)
@given(case=cases(nominal=False, missing=False))
def test_without_smoothing_and_out_of_bag_rows_it_is_the_mean_of_raw_frequencies(case):
    model = case.fit(BaggedPETClassifier, oob_weight=0, **RAW)
    expected = np.zeros((len(case.X), len(model.classes_)))
    for tree, leaves in zip(model.trees_, model.apply(case.X).T, strict=True):
        counts = tree.inbag_class_counts[leaves]
        expected += counts / counts.sum(axis=1, keepdims=True) / case.n_trees
    assert_close(model.predict_proba(case.X), expected)


@examples(40)
@given(
    case=cases(max_features=1, prunings=(None, "collapse", "error_based")),
    smoothing=st.sampled_from(list(PSEUDO_COUNTS)),
    oob_weight=st.sampled_from([0, 1]),
    count=st.sampled_from(["copies", "distinct"]),
)
def test_one_tree_without_bootstrap_is_a_single_tree(case, smoothing, oob_weight, count):
    """With one attribute: how ties between attributes are drawn depends on the number of the tree."""
    shared = {"smoothing": PSEUDO_COUNTS[smoothing][0], "bootstrap": False}
    bagged = case.fit(BaggedPETClassifier, **{**shared, "n_estimators": 1, "oob_weight": oob_weight, "count": count})
    single = case.single_tree(smoothing=shared["smoothing"]).fit(case.X, case.y, case.w)
    assert_close(bagged.predict_proba(case.X), single.predict_proba(case.X))
    queries = queries_for(bagged, case)
    assert_close(bagged.predict_proba(queries), single.predict_proba(queries))


def mixed(z):
    """The finaliser of SplitMix64, which makes independent seeds from near ones."""
    z = (z + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


@examples(30)
@given(case=cases())
def test_every_tree_without_bootstrap_is_a_single_tree_with_a_seed_of_its_own(case):
    bagged = case.fit(BaggedPETClassifier, n_estimators=3, bootstrap=False)
    single = case.single_tree()
    training = encode_training(single, case.X, case.y, case.w)[1]
    for t, tree in enumerate(bagged.trees_):
        expected = grow_tree(TreePlan.of(single), training, seed=mixed(bagged.seed_ ^ mixed(t + 1)), n_threads=1)
        for name in STRUCTURE:
            np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))
        assert_close(tree.inbag_class_counts, expected.inbag_class_counts)
        assert not tree.oob_class_counts.any()


@ENSEMBLES
@examples(8)
@given(case=cases(prunings=(None, "error_based")))
def test_the_number_of_threads_does_not_matter(kind, parameters, case):
    one, two, three = (case.fit(kind, n_jobs=n, **parameters) for n in (1, 2, 3))
    queries = queries_for(one, case)
    assert_same_answers(two, one, queries)
    assert_same_answers(three, one, queries)


def after_a_warm_start(case, kind, parameters, is_pickled):
    """Eight trees grown at once and in two parts."""
    at_once = case.fit(kind, **{**parameters, "n_estimators": 8})
    in_parts = case.fit(kind, **{**parameters, "n_estimators": 3, "warm_start": True})
    in_parts = pickle.loads(pickle.dumps(in_parts)) if is_pickled else in_parts
    in_parts.set_params(n_estimators=8).fit(case.X, case.y, case.w)
    assert all(one.equals(two) for one, two in zip(in_parts.trees_, at_once.trees_, strict=True))
    return at_once, in_parts


@ENSEMBLES
@pytest.mark.parametrize("is_pickled", [False, True])
@examples(6)
@given(case=cases(nominal=False, missing=False, prunings=(None, "error_based", "pruning_set")))
def test_a_warm_start_is_growth_at_once(kind, parameters, is_pickled, case):
    at_once, in_parts = after_a_warm_start(case, kind, parameters, is_pickled)
    assert_same_answers(in_parts, at_once, queries_for(at_once, case))


@ENSEMBLES
@pytest.mark.parametrize("is_pickled", [False, True])
@examples(6)
@given(case=cases(prunings=(None, "error_based", "pruning_set")))
def test_a_warm_start_with_missing_values_is_growth_at_once(kind, parameters, is_pickled, case):
    if kind is not ProbabilityForestClassifier:
        parameters = {**parameters, "oob_weight": 1.0}
    at_once, in_parts = after_a_warm_start(case, kind, parameters, is_pickled)
    queries = queries_for(at_once, case)
    assert_close(in_parts.predict_proba(queries), at_once.predict_proba(queries))
    assert_close(in_parts.oob_predict_proba_, at_once.oob_predict_proba_)


@pytest.mark.parametrize("kind", [BaggedPETClassifier, MOBESPClassifier])
def test_a_warm_start_with_missing_values_is_growth_at_once_bit_for_bit(kind):
    X, y = numeric_data(200, n_missing=150)
    at_once = kind(8, oob_score=True, random_state=0).fit(X, y)
    in_parts = kind(3, oob_score=True, random_state=0, warm_start=True).fit(X, y).set_params(n_estimators=8).fit(X, y)
    assert_same_answers(in_parts, at_once, X)


@settings(examples(15), phases=[Phase.explicit, Phase.generate])
@given(case=cases(), smoothing=st.sampled_from(list(PSEUDO_COUNTS)), voting=st.sampled_from([False, True]))
def test_merged_bags_are_the_mean_weighted_with_trees(case, smoothing, voting):
    shared = {"smoothing": PSEUDO_COUNTS[smoothing][0], "oob_weight": 0.5, "voting": voting}
    models = [case.fit(BaggedPETClassifier, n_estimators=n, random_state=n, **shared) for n in (3, 5, 4)]
    merged = models[0].merged(*models[1:])
    queries = queries_for(merged, case)
    expected = sum(len(model.trees_) * model.predict_proba(queries) for model in models) / 12
    assert_close(merged.predict_proba(queries), expected)
    assert_same_answers(pickle.loads(pickle.dumps(merged)), merged, queries)


def test_merged_bags_of_different_data():
    models = [BaggedPETClassifier(n, random_state=n).fit(*numeric_data(seed=n)) for n in (3, 7)]
    queries = numeric_data(seed=1)[0]
    expected = (3 * models[0].predict_proba(queries) + 7 * models[1].predict_proba(queries)) / 10
    assert_close(models[0].merged(models[1]).predict_proba(queries), expected)


@ENSEMBLES
@examples(8)
@given(case=cases(prunings=(None, "collapse")))
def test_names_of_classes_do_not_matter(kind, parameters, case):
    model = case.fit(kind, **parameters)
    queries = queries_for(model, case)
    for names in (np.array([-7, 2, 30, 31]), np.array(["a", "b", "ba", "c"])):
        renamed = case.unfitted(kind, **parameters).fit(case.X, names[case.y], case.w)
        np.testing.assert_array_equal(renamed.classes_, names[model.classes_])
        np.testing.assert_array_equal(renamed.predict_proba(queries), model.predict_proba(queries))
        np.testing.assert_array_equal(renamed.oob_predict_proba_, model.oob_predict_proba_)
        np.testing.assert_array_equal(renamed.predict(queries), names[model.predict(queries)])


@ENSEMBLES
@examples(8)
@given(case=cases(weights=False))
def test_weights_of_one_are_no_weights(kind, parameters, case):
    model = case.fit(kind, **parameters)
    weighted = case.unfitted(kind, **parameters).fit(case.X, case.y, np.ones(len(case.y)))
    assert_same_answers(weighted, model, queries_for(model, case))


@ENSEMBLES
def test_blocks_of_queries_of_any_size(kind, parameters):
    X, y = numeric_data(n_missing=30)
    X = np.column_stack([X, np.random.default_rng(1).integers(4, size=len(X))])
    model = kind(9, categorical_features=[4], random_state=0, **parameters).fit(X, y)
    queries = np.concatenate([numeric_data(1500, seed=2, n_missing=500)[0], np.arange(1500)[:, None] % 6], axis=1)
    one_by_one = np.concatenate([model.predict_proba(queries[i : i + 1]) for i in range(len(queries))])
    for size in (1, 5, 17, 1500):
        np.testing.assert_array_equal(model.predict_proba(queries[:size]), one_by_one[:size])
    in_blocks = [model.predict_proba(queries[i : i + 17]) for i in range(0, 1500, 17)]
    np.testing.assert_array_equal(np.concatenate(in_blocks), one_by_one)
    model.set_params(n_jobs=3)
    np.testing.assert_array_equal(model.predict_proba(queries), one_by_one)


@ENSEMBLES
@examples(8)
@given(case=cases())
def test_single_and_double_precision_agree(kind, parameters, case):
    """Where values are representable in both."""
    single, double = case.X.astype(np.float32), case.X.astype(np.float32).astype(np.float64)
    models = [case.unfitted(kind, **parameters).fit(X, case.y, case.w) for X in (single, double)]
    queries = queries_for(models[0], case).astype(np.float32)
    expected = models[1].predict_proba(queries.astype(np.float64))
    for model in models:
        np.testing.assert_array_equal(model.predict_proba(queries), expected)
        np.testing.assert_array_equal(model.predict_proba(queries.astype(np.float64)), expected)
    np.testing.assert_array_equal(models[0].oob_predict_proba_, models[1].oob_predict_proba_)


@pytest.mark.parametrize("threshold", ["midpoint", "data"])
@pytest.mark.parametrize("kind", [BaggedPETClassifier, MOBESPClassifier])
def test_values_equal_to_thresholds(kind, threshold):
    """They go left: an answer changes above a threshold, never at it. Neighbouring floats included."""
    X, y = numeric_data(60, 1)
    model = kind(7, threshold=threshold, random_state=0).fit(X, y)
    forest = naive_forest(model, X, y)
    cuts = np.unique([cut for tree in model.trees_ for cut in tree.threshold if not np.isnan(cut)])
    below, above = np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)
    answers = [model.predict_proba(values[:, None]) for values in (below, cuts, above)]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert not np.array_equal(answers[1], answers[2])
    for values, found in zip((below, cuts, above), answers, strict=True):
        if kind is MOBESPClassifier:
            expected = naive.predict_mob_esp(forest, values[:, None], oob_weight=1, count="distinct")
        else:
            expected = naive.predict_bagged(forest, values[:, None], oob_weight=0, count="copies", pseudo=1.0)
        assert_close(found, expected)


@ENSEMBLES
@examples(8)
@given(case=cases(prunings=(None, "error_based", "pruning_set")))
def test_pickling(kind, parameters, case):
    model = case.fit(kind, **parameters)
    again, queries = pickle.loads(pickle.dumps(model)), queries_for(model, case)
    assert_same_answers(again, model, queries)
    assert all(one.equals(two) for one, two in zip(again.trees_, model.trees_, strict=True))
    assert_same_answers(clone(again).fit(case.X, case.y, case.w), model, queries)


@pytest.mark.parametrize("parameters", [{"voting": True, **RAW}, {"voting": "laplace"}, {"smoothing": MEstimate(m=3)}])
@examples(8)
@given(case=cases())
def test_pickling_votes_and_estimators_that_know_the_root(parameters, case):
    model = case.fit(BaggedPETClassifier, **parameters)
    assert_same_answers(pickle.loads(pickle.dumps(model)), model, queries_for(model, case))


def pool_objective(components, labels, weights, floor):
    """Log-loss of a pool in nats plus the ridges, as a function of weights (C x K) and then intercepts (K)."""

    def objective(pool):
        *of_components, intercepts = np.reshape(pool, (-1, components[0].shape[1]))
        proba = naive.log_pool(components, of_components, intercepts, floor)
        loss = -(weights @ np.log(proba[np.arange(len(labels)), labels]))
        n = len(components) - 1  # the base rates come last and start at 0, the others at 1 / n
        for c, of_classes in enumerate(of_components):
            mean = np.mean(of_classes)
            loss += RIDGES.mean / 2 * (mean - (1 / n if c < n else 0)) ** 2
            loss += RIDGES.classes / 2 * np.sum((of_classes - mean) ** 2)
        return loss + RIDGES.intercepts / 2 * np.sum(intercepts**2)

    return objective


def assert_least(objective, weights, intercepts, random):
    """Nothing in the neighbourhood is better; slopes are zero or, where a weight is at its bound, not downwards."""
    assert (weights >= 0).all()
    pool, n_weights = np.append(weights, intercepts), weights.size
    least = objective(pool)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(3):
            other = pool + scale * random.normal(size=len(pool))
            other[:n_weights] = np.maximum(other[:n_weights], 0)
            assert objective(other) >= least - 1e-6 * max(1.0, least)
    steps = 1e-5 * np.eye(len(pool))
    slopes = np.array([(objective(pool + step) - objective(pool - step)) / 2e-5 for step in steps])
    at_bound = np.append(weights.ravel() == 0, np.zeros(len(intercepts), dtype=bool))
    assert np.abs(slopes[~at_bound]).max() < SLOPE * max(1.0, least)
    assert slopes[at_bound].min(initial=0) > -SLOPE * max(1.0, least)


# What L-BFGS-B leaves of the slopes when the loss falls by less than 1e-8 of itself, in units of the loss.
SLOPE = 2e-3
KINDS = st.sampled_from(["sqrt", ("sqrt", 1), (1, None, "sqrt")])


def pooled(case, **parameters):
    """A probability forest with all components, whose coarse nodes are neither all leaves nor all roots."""
    shared = {"components": EVERY_COMPONENT, "coarse_rows": int(case.random.choice([3, 8, 30])), **parameters}
    return case.fit(ProbabilityForestClassifier, members=FOREST_ALONE, **shared)


@BOTH_COUNTS
@examples(12)
@given(case=cases(max_rows=40, prunings=(None, None, "error_based")), max_features=KINDS)
def test_probability_forest(count, case, max_features):
    model = pooled(case, max_features=max_features, count=count)
    parts, queries = slow_parts(model, *case[:3]), queries_for(model, case, 10)
    matrix = encode_queries(model, queries)
    expected = with_prior(parts, [part.of_queries(EVERY_COMPONENT, matrix) for part in parts])
    found = model.component_proba(queries)
    assert list(found) == model.component_names_
    for name, component in zip(model.component_names_, expected, strict=True):
        np.testing.assert_allclose(found[name], component, rtol=0, atol=1e-9, err_msg=name)
    pool = naive.log_pool(expected, model.pool_weights_, model.pool_intercepts_, model.floor)
    assert_close(model.predict_proba(queries), pool)


@BOTH_COUNTS
@pytest.mark.parametrize("max_features", ["sqrt", ("sqrt", 1)])
@examples(5)
@given(case=cases(max_rows=30, prunings=(None, None, "error_based")))
def test_probability_forest_out_of_bag(max_features, count, case):
    """What the pool has learned from; it is the best pool for that."""
    model = pooled(case, max_features=max_features, count=count, oob_score=True, n_estimators=24)
    parts = slow_parts(model, *case[:3])
    honest = with_prior(parts, [part.out_of_bag(EVERY_COMPONENT) for part in parts])
    known = ~np.isnan([part[:, 0] for part in honest]).any(axis=0)
    found = model.oob_predict_proba_ if case.w is None else model.oob_predict_proba_[case.w > 0]
    pool = naive.log_pool(honest, model.pool_weights_, model.pool_intercepts_, model.floor)
    assert_close(found[known], pool[known])
    if case.w is not None and not case.w.all():
        absent = case.w == 0  # rows in no sample are queries
        assert_close(model.oob_predict_proba_[absent], model.predict_proba(case.X[absent]))
    if not known.all():
        return
    labels, weights = parts[0].forest.y, parts[0].forest.weights
    for name, component in zip(model.component_names_, honest, strict=True):
        own = np.log2(np.maximum(component[np.arange(len(labels)), labels], 1e-6))
        assert model.oob_component_log_loss_[name] == pytest.approx(-(weights @ own) / weights.sum(), abs=1e-9)
    own = np.log2(pool[np.arange(len(labels)), labels])
    assert model.oob_log_loss_ == pytest.approx(-(weights @ own) / weights.sum(), abs=1e-9)
    objective = pool_objective(honest, labels, weights, model.floor)
    assert_least(objective, model.pool_weights_, model.pool_intercepts_, case.random)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_pool_has_the_least_loss(n_classes, weighted):
    random, n = np.random.default_rng(n_classes), 300
    truth = random.dirichlet(np.ones(n_classes), size=n)
    labels = np.array([random.choice(n_classes, p=p) for p in truth], dtype=np.int32)
    # One too bold, one too timid, one that knows nothing; and the base rates.
    components = [truth**power * random.uniform(0.5, 2, truth.shape) for power in (3, 0.4)]
    components.append(random.dirichlet(np.ones(n_classes), size=n))
    components.append(np.tile(np.bincount(labels, minlength=n_classes), (n, 1)))
    components = [p / p.sum(axis=1, keepdims=True) for p in components]
    weights = random.uniform(0.2, 3, size=n) if weighted else None
    fits = [fit_pool(components, labels, weights, np.array([1, 1, 1, 0]) / 3, 0.002, n_jobs) for n_jobs in (1, 3)]
    pool = fits[0]
    assert (pool.weights == 0).any()
    assert_close(pool.combine(components), naive.log_pool(components, pool.weights, pool.intercepts, 0.002))
    objective = pool_objective(components, labels, np.ones(n) if weights is None else weights, 0.002)
    assert_least(objective, pool.weights, pool.intercepts, random)
    np.testing.assert_array_equal(fits[1].weights, pool.weights)


def test_a_pool_is_learned_from_rows_that_all_kinds_of_trees_know():
    X, y = numeric_data(60, n_classes=2)
    model = ProbabilityForestClassifier(8, members=FOREST_ALONE, oob_score=True, random_state=0).fit(X, y)
    parts = slow_parts(model, X, y)
    honest = with_prior(parts, [part.out_of_bag(model.components) for part in parts])
    asked = ~np.isnan([part[:, 0] for part in honest]).any(axis=0)
    assert 10 < asked.sum() < 60
    objective = pool_objective([part[asked] for part in honest], y[asked], np.ones(asked.sum()), model.floor)
    assert_least(objective, model.pool_weights_, model.pool_intercepts_, np.random.default_rng(0))


def test_coarse_counts_leave_out_the_whole_of_a_row_in_several_leaves():
    """A row without values is all of it at the root, which is what "coarse" asks here."""
    X, y = numeric_data(40, 1, n_classes=2)
    X[0] = np.nan
    shared = {"max_features": 1, "components": ("coarse",), "coarse_rows": 40, "bootstrap": "plain", "random_state": 0}
    model = ProbabilityForestClassifier(30, members=FOREST_ALONE, oob_score=True, **shared).fit(X, y)
    others = np.bincount(y[1:]) / 39
    expected = naive.log_pool(
        [others[None], np.bincount(y)[None] / 40], model.pool_weights_, model.pool_intercepts_, model.floor
    )
    assert_close(model.oob_predict_proba_[:1], expected)


@examples(8)
@given(case=cases(max_rows=40), max_features=KINDS)
def test_probability_forest_merged(case, max_features):
    models = [
        pooled(case, max_features=max_features, coarse_rows=8, random_state=seed, n_estimators=4 + seed)
        for seed in (0, 2)
    ]
    merged = models[0].merged(models[1])
    queries = queries_for(merged, case, 8)
    sizes = [[len(part.forest) for part in model.parts_] for model in models]
    assert [len(part.forest) for part in merged.parts_] == np.sum(sizes, axis=0).tolist()
    said, components = [model.component_proba(queries) for model in models], merged.component_proba(queries)
    for index, name in enumerate(merged.component_names_):
        if name.split(",")[0] in ("raw", "eb", "coarse"):  # means over all leaves
            n_trees = [of_model[index // len(EVERY_COMPONENT)] for of_model in sizes]
            assert_close(components[name], np.average([one[name] for one in said], axis=0, weights=n_trees))
    pool = naive.log_pool([*components.values()], merged.pool_weights_, merged.pool_intercepts_, merged.floor)
    assert_close(merged.predict_proba(queries), pool)
    assert_close(pool.sum(axis=1), 1.0)
    assert_same_answers(pickle.loads(pickle.dumps(merged)), merged, queries)


def all_in_one(parts):
    """The naive forest with the trees of all kinds."""
    forests = [part.forest for part in parts]
    trees, copies = ([one for forest in forests for one in getattr(forest, name)] for name in ("trees", "copies"))
    return naive.TrainedForest(trees, copies, *(getattr(forests[0], n) for n in ("X", "y", "weights", "n_classes")))


@BOTH_COUNTS
@examples(6)
@given(case=cases(max_rows=40), rows=st.sampled_from(["winner", "shared"]))
def test_mob_esp_of_a_probability_forest(count, case, rows):
    """Each tree has the sample it was grown on."""
    model = case.fit(
        ProbabilityForestClassifier, members=FOREST_ALONE, max_features="sqrt", components=("raw",), count=count
    )
    forest, queries = all_in_one(slow_parts(model, *case[:3])), queries_for(model, case, 8)
    made = MOBESPClassifier.from_ensemble(model, *case[:3], rows=rows)
    rule = {"oob_weight": 1, "count": count, "vote_trees": list(range(case.n_trees))}
    assert_close(made.predict_proba(queries), SLOW_MOB_ESP[rows][0](forest, encode_queries(made, queries), **rule))


def test_mob_esp_of_a_probability_forest_wants_one_kind_of_trees():
    """Each kind has samples of its own."""
    X, y = numeric_data(40)
    model = ProbabilityForestClassifier(10, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="2 kinds"):
        MOBESPClassifier.from_ensemble(model, X, y)
    one = ProbabilityForestClassifier(10, max_features="sqrt", random_state=0).fit(X, y)
    made = MOBESPClassifier.from_ensemble(one, X, y, count="copies")
    expected = naive.predict_mob_esp(all_in_one(slow_parts(one, X, y)), X, oob_weight=1, count="copies")
    assert_close(made.predict_proba(X), expected)
    same_count = MOBESPClassifier.from_ensemble(one, X, y)
    baselines = [each.oob_permutation_importance(X, y, n_repeats=1).baseline for each in (same_count, one)]
    assert baselines[0] == pytest.approx(baselines[1])
