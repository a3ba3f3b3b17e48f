"""Constraints: probabilities that are monotone along columns, and columns that may be tested together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import petiole
from monotone_cases import SIGNS, n_violations, table
from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    DualPerturbCombineClassifier,
    LazyOptionTreesClassifier,
    MOBESPClassifier,
    PETClassifier,
)
from petiole.smoothing import HDP, HGS, Curtailment, MEstimate

GROWTH = {"categorical_features": [4], "nominal_splits": "binary", "random_state": 0}
MONOTONE = {"monotonic_cst": SIGNS, "monotonic_class": 1, "missing": "separate", **GROWTH}
ESTIMATORS = [
    "raw",
    "laplace",
    "m_estimate",
    "curtailment",
    "m_branch",
    "hgs",
    HDP(n_iter=10, burn_in=5),
    HGS(alpha="honest"),
    HGS(alpha="loocv"),
    Curtailment(smoothing=MEstimate()),
]


def forests(**parameters):
    yield PETClassifier(**MONOTONE, **parameters)
    yield BaggedPETClassifier(4, max_features="sqrt", oob_weight=1.0, count="distinct", **MONOTONE, **parameters)


# Monotone.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("smoothing", ESTIMATORS, ids=str)
def test_no_pair_violates_the_order(smoothing, n_classes):
    X, y = table(300, n_classes, missing=0.1)
    for model in forests(smoothing=smoothing):
        proba = model.fit(X, y, np.random.default_rng(0).uniform(0.1, 2, len(y))).predict_proba
        assert n_violations(proba, X, SIGNS, n_pairs=4000) == 0
        assert np.allclose(proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("splits", ["best", "oblique", "random"])
@pytest.mark.parametrize("nominal_splits", ["binary", "multiway"])
def test_no_pair_violates_the_order_whatever_the_splits(splits, nominal_splits):
    X, y = table(missing=0.1)
    for model in forests(splits=splits):
        model.set_params(nominal_splits=nominal_splits)
        assert n_violations(model.fit(X, y).predict_proba, X, SIGNS) == 0


@pytest.mark.parametrize("pruning", ["collapse", "error_based", "pruning_set"])
def test_pruned_trees_are_monotone(pruning):
    X, y = table()
    for model in forests(pruning=pruning):
        assert n_violations(model.fit(X, y).predict_proba, X, SIGNS) == 0


def test_without_constraints_there_are_violations():
    X, y = table()
    for model in forests():
        free = clone(model).set_params(monotonic_cst=None, monotonic_class=None).fit(X, y)
        assert n_violations(free.predict_proba, X, SIGNS) > 100


def test_missing_values_that_training_rows_did_not_have_are_no_violation():
    """No row is divided over branches: where nothing is known, the heaviest branch is followed."""
    X, y = table()
    queries = table(missing=0.3, seed=5)[0]
    for model in forests():
        model.set_params(missing="fractional").fit(X, y)
        assert n_violations(model.predict_proba, queries, SIGNS) == 0
    leaves = petiole.PETClassifier(**MONOTONE).fit(X, y).leaf_weights(queries)
    assert leaves.data.tolist() == [1.0] * len(queries)


def test_the_class_can_be_named():
    X, y = table(n_classes=3)
    names = np.array(["low", "middle", "high"])[y]
    for model in forests():
        model.set_params(monotonic_class="low", monotonic_cst=[-sign for sign in SIGNS]).fit(X, names)
        low = model.classes_.tolist().index("low")
        assert n_violations(model.predict_proba, X, [-sign for sign in SIGNS], low) == 0
    first = PETClassifier(monotonic_cst=SIGNS, monotonic_class=0).fit(X, y > 0)
    assert n_violations(first.predict_proba, X, SIGNS, 0) == 0
    assert n_violations(PETClassifier(monotonic_cst=SIGNS).fit(X, y > 0).predict_proba, X, SIGNS, 1) == 0


def test_columns_of_frames_go_by_name():
    X, y = table()
    frame = pd.DataFrame(X, columns=["income", "debt", "a", "b", "town"])
    frame["town"] = np.array(["w", "x", "y", "z"])[frame["town"].astype(int)]
    by_name = PETClassifier(monotonic_cst={"debt": -1, "income": 1}).fit(frame, y)
    by_place = PETClassifier(monotonic_cst=np.array(SIGNS)).fit(frame, y)
    assert np.array_equal(by_name.predict_proba(frame), by_place.predict_proba(frame))
    assert not np.array_equal(by_name.predict_proba(frame), PETClassifier().fit(frame, y).predict_proba(frame))


def test_splits_go_the_right_way():
    X, y = table(800)
    for criterion in ("entropy", "gini", "gain_ratio", "kearns_mansour"):
        for weights in (None, np.random.default_rng(0).uniform(0.5, 2, len(y))):
            tree = PETClassifier(criterion, monotonic_cst=SIGNS, categorical_features=[4]).fit(X, y, weights).tree_
            shares = tree.inbag_class_counts[:, 1] / np.maximum(tree.weights, 1e-9)
            for node in np.flatnonzero(np.isin(tree.feature, [0, 1])):
                left, right = tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]]
                assert SIGNS[tree.feature[node]] * (shares[right] - shares[left]) >= -1e-9


def test_later_rows_and_other_estimators_keep_the_order():
    X, y = table(missing=0.1)
    later = table(missing=0.1, seed=1)
    for model in forests():
        model.fit(X, y)
        assert n_violations(model.with_smoothing("hgs").predict_proba, X, SIGNS) == 0
        model.update(later[0], 1 - later[1])  # against the order
        assert n_violations(model.predict_proba, X, SIGNS) == 0
    parts = [BaggedPETClassifier(3, **MONOTONE).fit(*table(seed=seed)) for seed in (0, 1)]
    assert n_violations(parts[0].merged(parts[1]).predict_proba, X, SIGNS) == 0


def test_votes_are_monotone():
    X, y = table()
    for voting in (True, "laplace"):
        model = BaggedPETClassifier(5, voting=voting, **MONOTONE).fit(X, y)
        assert n_violations(model.predict_proba, X, SIGNS) == 0


def test_noise_on_queries_keeps_the_order():
    X, y = table(missing=0.1)
    for model in forests():
        noisy = DualPerturbCombineClassifier(model, noise=0.2, nominal_noise=0.1).fit(X, y)
        assert n_violations(noisy.predict_proba, X, SIGNS, n_pairs=1000) == 0


def test_out_of_bag_answers_are_those_of_monotone_tables():
    X, y = table(n_classes=3)
    model = BaggedPETClassifier(30, oob_score=True, **MONOTONE | {"monotonic_class": 2}).fit(X, y)
    free = BaggedPETClassifier(30, oob_score=True, **GROWTH).fit(X, y)
    assert model.oob_log_loss_ < 1.02 * free.oob_log_loss_
    assert np.allclose(model.oob_predict_proba_.sum(axis=1), 1)


def test_a_saved_model_says_the_same(tmp_path):
    X, y = table(missing=0.1)
    for model in forests(smoothing="m_branch"):
        model.fit(X, y).save(tmp_path / "model.petiole")
        loaded = petiole.load(tmp_path / "model.petiole")
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert loaded.monotonic_cst == SIGNS
        assert np.array_equal(
            loaded.with_smoothing("raw").predict_proba(X), model.with_smoothing("raw").predict_proba(X)
        )


def test_one_class_and_no_direction_demand_nothing():
    X, y = table()
    for model in forests():
        free = clone(model).set_params(monotonic_cst=None, monotonic_class=None).fit(X, y)
        nothing = clone(model).set_params(monotonic_cst=[0] * 5).fit(X, y)
        assert np.array_equal(nothing.predict_proba(X), free.predict_proba(X))
        assert (clone(model).fit(X, np.ones(len(y))).predict_proba(X) == 1).all()


# Interactions.


def columns_on_paths(tree):
    """The columns that are tested on the way to each leaf."""
    paths, pending = [], [(0, frozenset())]
    while pending:
        node, tested = pending.pop()
        if tree.feature[node] < 0:
            paths.append(set(tested))
            continue
        for child in tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]]:
            pending.append((child, tested | {int(tree.feature[node])}))
    return paths


GROUPS = [
    ("pairwise", [{i, j} for i in range(5) for j in range(i)]),
    ("no_interactions", [{i} for i in range(5)]),
    ([[0, 1], [2, 3, 4]], [{0, 1}, {2, 3, 4}]),
    ([[0, 1], [1, 2]], [{0, 1}, {1, 2}, {3, 4}]),
    ([[3]], [{3}, {0, 1, 2, 4}]),
]


@pytest.mark.parametrize(("given", "groups"), GROUPS, ids=str)
@pytest.mark.parametrize(
    "parameters", [{}, {"splits": "random"}, {"max_features": 2}, {"monotonic_cst": SIGNS}], ids=str
)
def test_paths_keep_to_a_group(given, groups, parameters):
    X, y = table(600)
    model = BaggedPETClassifier(4, interaction_cst=given, **GROWTH, **parameters).fit(X, y)
    several = set()
    for tree in model.trees_:
        for path in columns_on_paths(tree):
            assert any(path <= group for group in groups)
            several |= path
    assert several


def test_groups_go_by_name_and_all_columns_are_no_constraint():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    one = PETClassifier(interaction_cst=[["a", "b"], ["c", "d"]]).fit(frame, y)
    two = PETClassifier(interaction_cst=[[0, 1], [2, 3]]).fit(frame, y)
    assert np.array_equal(one.predict_proba(frame), two.predict_proba(frame))
    every = PETClassifier(interaction_cst=[range(5)]).fit(frame, y)
    assert np.array_equal(every.predict_proba(frame), PETClassifier().fit(frame, y).predict_proba(frame))


# Errors.

BAD = [
    ({"monotonic_cst": [1, 0]}, "2 entries, but X has 5"),
    ({"monotonic_cst": [2, 0, 0, 0, 0]}, "must be a dict from column names to -1, 0 or 1"),
    ({"monotonic_cst": "up"}, "must be a dict"),
    ({"monotonic_cst": 1}, "must be a dict"),
    ({"monotonic_cst": {"a": 1}}, "X has no column names"),
    ({"monotonic_cst": [0, 0, 0, 0, 1]}, "column 4 is categorical: its categories have no order"),
    ({"monotonic_cst": SIGNS, "monotonic_class": 7}, "monotonic_class=7: must be one of the classes"),
    ({"monotonic_class": 1}, "say with monotonic_cst along which columns"),
    ({"interaction_cst": "some"}, "interaction_cst='some': must be 'pairwise'"),
    ({"interaction_cst": 3}, "interaction_cst=3"),
    ({"interaction_cst": [[0, 9]]}, "there is no column 9"),
    ({"interaction_cst": [["a"]]}, "X has no column names"),
    ({"interaction_cst": [[]]}, "must be 'pairwise'"),
    ({"interaction_cst": "pairwise", "splits": "oblique"}, "splits='oblique' tests sums"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD, ids=str)
def test_errors_say_what_to_do(parameters, message):
    X, y = table(60)
    for kind in (PETClassifier, BaggedPETClassifier):
        with pytest.raises(ValueError, match=message):
            kind(categorical_features=[4], **parameters).fit(X, y)


def test_errors_about_rows():
    X, y = table(60, 3, missing=0.1)
    with pytest.raises(ValueError, match="say with monotonic_class of which"):
        PETClassifier(monotonic_cst=SIGNS, missing="separate").fit(X, y)
    with pytest.raises(ValueError, match="use missing='separate'"):
        PETClassifier(monotonic_cst=SIGNS).fit(X, y > 0)
    with pytest.raises(ValueError, match="use voting=False"):
        BaggedPETClassifier(2, voting=True, **MONOTONE).fit(X, y)
    frame = pd.DataFrame({"income": [1.0, 2, 3, 4], "day": pd.date_range("2020-01-01", periods=4)})
    with pytest.raises(ValueError, match="did you mean 'income'"):
        PETClassifier(monotonic_cst={"incom": 1}).fit(frame, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="'day' is a date"):
        PETClassifier(monotonic_cst={"day": 1}).fit(frame, [0, 1, 0, 1])


@pytest.mark.parametrize(
    "kind", [MOBESPClassifier, LazyOptionTreesClassifier, BinnedNaiveBayesClassifier, DualPerturbCombineClassifier]
)
@pytest.mark.parametrize("name", ["monotonic_cst", "monotonic_class", "interaction_cst"])
def test_what_cannot_be_constrained_says_why(kind, name):
    with pytest.raises(TypeError, match=f"{name}: {kind.__name__} has no such parameter, because .*: use|inside has"):
        kind(**{name: SIGNS})


def test_other_ways_to_such_models_say_why_not():
    X, y = table(60)
    forest = BaggedPETClassifier(3, **MONOTONE).fit(X, y)
    with pytest.raises(ValueError, match="MOBESPClassifier cannot, because"):
        MOBESPClassifier.from_ensemble(forest, X, y)
    with pytest.raises(ValueError, match="monotonic_cst: trees on shards are grown without constraints"):
        petiole.distributed.fit(BaggedPETClassifier(3, **MONOTONE), [(X, y)])
