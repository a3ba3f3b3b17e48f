"""Kinds of trees in one forest: how parameters name them, and that each is grown as a forest of its own would be."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import petiole
from petiole import DualPerturbCombineClassifier, MOBESPClassifier, ProbabilityForestClassifier
from petiole._classifiers.base import encode_training
from petiole._forest.kinds import DEFAULT_KINDS, TreeKind, kinds_of
from petiole._forest.plan import ForestPlan, grow, kind_seed, plans_of
from petiole._tree.plan import TreePlan
from petiole.distributed import fit as fit_distributed
from petiole.export import ExportError, to_onnx

THREE = {"max_features": ("sqrt", 1, "sqrt"), "splits": ("best", "random", "oblique")}


def data(n=240, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    X[random.random((n, 4)) < 0.05] = np.nan
    return X, (np.nan_to_num(X[:, 0] + X[:, 1]) > 0).astype(int) + (np.nan_to_num(X[:, 2]) > 1)


def forest(n_trees=18, **parameters):
    chosen = {"members": ("forest",), "missing": "fractional", "random_state": 0}
    return ProbabilityForestClassifier(n_trees, **chosen | parameters)


@pytest.mark.parametrize(
    ("max_features", "splits", "expected"),
    [
        ("auto", "auto", [("sqrt", "best"), (1, "random")]),
        ("auto", "best", [("sqrt", "best"), (1, "best")]),
        ("auto", "oblique", [("sqrt", "oblique"), (1, "oblique")]),
        ("auto", ("best", "oblique"), [("sqrt", "best"), ("sqrt", "oblique")]),
        ("sqrt", "auto", [("sqrt", "best")]),
        (None, "random", [(None, "random")]),
        (("sqrt", 1), "auto", [("sqrt", "best"), (1, "best")]),
        (["sqrt", 1], ["best", "random"], [("sqrt", "best"), (1, "random")]),
        (("sqrt", 0.5), "random", [("sqrt", "random"), (0.5, "random")]),
        (1, ("best", "random"), [(1, "best"), (1, "random")]),
    ],
)
def test_the_kinds_that_parameters_name(max_features, splits, expected):
    assert [(kind.max_features, kind.splits) for kind in kinds_of(max_features, splits)] == expected


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"max_features": ("sqrt", 1), "splits": ("best",) * 3},
            "name 2 and 3 kinds of trees: give tuples of the same",
        ),
        ({"max_features": ("sqrt", "sqrt")}, "one kind of trees or several that differ"),
        ({"splits": ("best", "best")}, "one kind of trees or several that differ"),
        ({"max_features": ()}, "one kind of trees or several that differ"),
        ({"splits": "straight"}, "splits='straight': must be one of"),
        ({"splits": ("best", "straight")}, "splits='straight': must be one of"),
        ({"max_features": ("sqrt", "many")}, "max_features='many': must be"),
        ({"splits": "auto", "threshold": "data"}, "threshold='data': is for the cuts of splits='best'"),
        ({"n_estimators": "many"}, "n_estimators='many': must be a whole number"),
    ],
)
def test_kinds_that_cannot_be_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        forest(**{"n_trees" if name == "n_estimators" else name: value for name, value in parameters.items()}).fit(
            *data(40)
        )


def test_each_kind_is_the_forest_that_it_would_be_alone():
    X, y = data()
    model = forest(**THREE).fit(X, y)
    _, rows = encode_training(model, X, y, None)
    assert [len(one) for one in model._estimate.forests] == [6, 6, 6]
    assert [one.is_oblique for one in model._estimate.forests] == [False, False, True]
    pairs = zip(THREE["max_features"], THREE["splits"], model._estimate.forests, strict=True)
    for number, (max_features, splits, of_kind) in enumerate(pairs):
        tree = TreePlan(max_features=max_features, splits=splits, nominal_splits="binary")
        plan = ForestPlan(tree=tree, n_trees=6, seed=kind_seed(model.seed_, number), count="distinct")
        assert grow(plan, rows).forest.structure == of_kind.structure
        assert (
            len([name for name in model.component_names_ if name.endswith(f", {TreeKind(max_features, splits)}")]) == 4
        )


def test_components_are_named_by_what_tells_kinds_apart():
    model = ProbabilityForestClassifier(4, members=("forest",), random_state=0).fit(*data(60))
    assert [str(kind) for kind in DEFAULT_KINDS] == ["max_features=sqrt", "max_features=1, splits=random"]
    assert model.component_names_[:5:4] == ["raw, max_features=sqrt", "raw, max_features=1, splits=random"]
    older = ProbabilityForestClassifier(4, max_features=("sqrt", 1), members=("forest",), random_state=0)
    assert older.fit(*data(60)).component_names_[4] == "raw, max_features=1"


def test_fewer_trees_than_kinds():
    model = forest(2, **THREE).fit(*data())
    assert [len(one) for one in model._estimate.forests] == [1, 1]
    assert not any("oblique" in name for name in model.component_names_)


def test_a_warm_start_goes_on_with_every_kind():
    X, y = data()
    model = forest(6, warm_start=True, **THREE).fit(X, y).set_params(n_estimators=17).fit(X, y)
    whole = forest(17, warm_start=True, **THREE).fit(X, y)
    assert model._estimate.structure == whole._estimate.structure
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    with pytest.warns(UserWarning, match="no tree is added"):
        model.set_params(n_estimators="auto").fit(X, y)
    assert len(model.trees_) == 17 and model.n_estimators_ == 17


def test_kinds_are_kept_by_files_pickles_updates_and_merging(tmp_path):
    X, y = data()
    model = forest(**THREE).fit(X, y)
    model.save(tmp_path / "m.petiole")
    for again in (petiole.load(tmp_path / "m.petiole"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.component_names_ == model.component_names_
    merged = model.merged(forest(6, **THREE).fit(*data(seed=1)))
    assert [len(one) for one in merged._estimate.forests] == [8, 8, 8]
    other = forest(**THREE | {"splits": ("random", "best", "oblique")}).fit(X, y)
    with pytest.raises(ValueError, match="differ in max_features, splits or components"):
        model.merged(other)
    assert len(model.estimators_) == 18 and model.estimators_[12].splits == "oblique"
    before = model.predict_proba(X)
    assert not np.array_equal(model.update(*data(80, seed=2)).predict_proba(X), before)


def test_workers_and_shards_grow_every_kind():
    X, y = data()
    wanted = {"n_jobs": 1, **THREE}
    model = fit_distributed(forest(**wanted), X, y, mode="broadcast")
    np.testing.assert_array_equal(model.predict_proba(X), forest(**wanted).fit(X, y).predict_proba(X))
    sharded = fit_distributed(forest(**wanted), X, y, mode="sharded")
    assert [len(one) for one in sharded._estimate.forests] == [6, 6, 6] and len(sharded.component_names_) == 13


def test_mob_esp_takes_the_trees_of_one_kind():
    X, y = data()
    one = forest(6, max_features="sqrt", splits="random").fit(X, y)
    made = MOBESPClassifier.from_ensemble(one, X, y)
    assert (made.splits, made.n_estimators) == ("random", 6)
    with pytest.raises(ValueError, match="3 kinds"):
        MOBESPClassifier.from_ensemble(forest(**THREE).fit(X, y), X, y)


def test_an_oblique_kind_is_refused_where_there_is_no_such_test():
    X, y = data()
    model = forest(**THREE).fit(X, y)
    with pytest.raises(ExportError, match="splits='oblique'"):
        to_onnx(model)
    with pytest.raises(ValueError, match="mode='monte_carlo'"):
        DualPerturbCombineClassifier(clone(model), noise=0.1, mode="exact").fit(X, y).predict_proba(X)
    drawn = DualPerturbCombineClassifier(clone(model), noise=0.1, mode="monte_carlo", random_state=0).fit(X, y)
    np.testing.assert_allclose(drawn.predict_proba(X[:5]).sum(axis=1), 1.0)


def test_trees_are_divided_as_evenly_as_can_be():
    for n_trees, splits in itertools.product(
        range(1, 9), [("best",), ("best", "random"), ("best", "random", "oblique")]
    ):
        sizes = [plan.n_trees for plan in plans_of(forest(n_trees, max_features="sqrt", splits=splits), 0)]
        assert sum(sizes) == n_trees and max(sizes) - min(sizes) <= 1 and sizes == sorted(sizes, reverse=True)
