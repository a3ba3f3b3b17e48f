"""Constraints of the pool as a whole: monotone probabilities, named classes, and columns that may be together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import petiole
from monotone_cases import SIGNS, n_violations, table
from petiole import (
    BaggedPETClassifier,
    CostSensitiveClassifier,
    DualPerturbCombineClassifier,
    OOBCalibratedClassifier,
    ProbabilityForestClassifier,
)
from petiole._classifiers.oob_calibrated import METHODS
from petiole.conformal import ConformalClassifier

pytestmark = pytest.mark.filterwarnings("ignore:.*rows are in the samples of all trees")

EVERY = ("raw", "eb", "oob", "votes", "coarse")


def forest(n_estimators=16, *, signs=SIGNS, target=1, **parameters):
    settings = {"categorical_features": [4], "random_state": 0, **parameters}
    return ProbabilityForestClassifier(n_estimators, monotonic_cst=signs, monotonic_class=target, **settings)


def directions(target):
    """The first class becomes less probable as the score of the table rises, all others are to become more so."""
    return [-sign for sign in SIGNS] if target == 0 else SIGNS


def log_loss(model, X, y):
    return -np.log2(model.predict_proba(X)[np.arange(len(y)), y]).mean()


# Monotone.


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_no_pair_violates_the_order(n_classes, missing):
    X, y = table(400, n_classes, missing=missing)
    weights = np.random.default_rng(0).uniform(0.1, 2, len(y))
    for target in range(n_classes):
        signs = directions(target)
        model = forest(signs=signs, target=target, components=EVERY, oob_score=True).fit(X, y, weights)
        assert n_violations(model.predict_proba, X, signs, target) == 0
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
        known = ~np.isnan(model.oob_predict_proba_[:, 0])
        assert np.allclose(model.oob_predict_proba_[known].sum(axis=1), 1)
        assert not any("kernel" in name for name in model.component_names_)
        assert not (model.pool_weights_ < 0).any()
    free = forest(signs=None, target=None).fit(X, y, weights)
    assert n_violations(free.predict_proba, X, SIGNS, n_classes - 1) > 50


@pytest.mark.parametrize("splits", ["best", "random", "oblique", ("best", "oblique")], ids=str)
@pytest.mark.parametrize("members", [("forest",), "auto"], ids=str)
def test_no_pair_violates_the_order_whatever_the_splits(splits, members):
    X, y = table(300, missing=0.1)
    model = forest(splits=splits, members=members, max_features="sqrt").fit(X, y)
    assert n_violations(model.predict_proba, X, SIGNS, n_pairs=5000) == 0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("target", [0, 1])
def test_every_component_is_monotone(n_classes, target):
    X, y = table(400, n_classes, missing=0.1)
    signs = directions(target)
    model = forest(signs=signs, target=target, components=EVERY, members=("forest", "linear", "curved", "boosted"))
    model.fit(X, y)
    pool = model._estimate if n_classes == 2 else model._estimate.named.pool
    names = {name.split(",")[0] for name in pool.names}
    assert names >= {"raw", "eb", "oob", "coarse", "prior"} and "votes" not in names
    column = target if n_classes == 2 else 1
    for place, name in enumerate(pool.names):

        def answer(rows, place=place):
            return pool.component_proba(model.encoder_.transform(rows), 1)[place]

        assert n_violations(answer, X, signs, column, n_pairs=3000) == 0, name


def test_all_members_are_monotone_even_those_that_did_not_help():
    from petiole._classifiers.base import encode_training
    from petiole._estimates.members import fit_members

    for target in (0, 1):
        X, y = table(400, missing=0.1)
        signs = directions(target)
        encoder, rows = encode_training(forest(signs=signs, target=target), X, y, None)
        found = fit_members(("linear", "curved", "boosted"), rows, 0, None, 1).members.models
        assert list(found) == ["linear", "curved", "boosted"]
        for name, model in found.items():

            def answer(rows, model=model, encoder=encoder):
                return model.answer(encoder.transform(rows))

            assert n_violations(answer, X, signs, target, n_pairs=5000) == 0, name
            assert np.ptp(answer(X)[:, 1]) > 0.5, name


def test_the_named_class_has_a_pool_and_the_others_divide_the_rest_as_before():
    X, y = table(400, 3)
    names = np.array(["low", "middle", "high"])[y]
    model = forest(target="high").fit(X, names)
    assert n_violations(model.predict_proba, X, SIGNS, model.classes_.tolist().index("high")) == 0
    estimate = model._estimate
    whole = estimate.pool.combine(estimate.component_proba(model.encoder_.transform(X), 1))
    made = model.predict_proba(X)
    high, rest = model.classes_.tolist().index("high"), [model.classes_.tolist().index(c) for c in ("low", "middle")]
    own = estimate.named.pool.predict(model.encoder_.transform(X), 1)[:, 1]
    assert np.array_equal(made[:, high], own)
    assert np.allclose(made[:, rest[0]] * whole[:, rest[1]], made[:, rest[1]] * whole[:, rest[0]])
    assert model.named_pool_.names[-1] == "prior"
    model.set_params(monotonic_cst=None, monotonic_class=None).fit(X, names)
    assert not hasattr(model, "named_pool_")


def test_a_true_order_costs_little():
    X, y = table(1000)
    queries, labels = table(4000, seed=1)
    free = forest(64, signs=None, target=None).fit(X, y)
    assert log_loss(forest(64).fit(X, y), queries, labels) < 1.01 * log_loss(free, queries, labels)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_out_of_bag_predictions_are_honest(n_classes):
    """Leaves are pooled by the labels of their rows. A row that had been in them would be predicted too well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = rng.integers(0, n_classes, 600)
    model = ProbabilityForestClassifier(64, monotonic_cst=[1, 1, 1, 1], monotonic_class=1, random_state=0).fit(X, y)
    queries = rng.normal(size=(4000, 4))
    expected = -np.log2(model.predict_proba(queries)).mean()
    assert abs(model.oob_log_loss_ - expected) < 0.04
    assert model.oob_log_loss_ > np.log2(n_classes) - 0.03
    others = {name: loss for name, loss in model.oob_component_log_loss_.items() if name.startswith(("oob", "coarse"))}
    assert others and min(others.values()) > np.log2(n_classes) - 0.03


def test_columns_of_frames_go_by_name_and_more_classes_need_a_named_one():
    X, y = table()
    frame = pd.DataFrame(X, columns=["income", "debt", "a", "b", "town"])
    frame["town"] = np.array(["w", "x", "y", "z"])[frame["town"].astype(int)]
    settings = {"categorical_features": "from_dtype", "target": None}
    by_name = forest(signs={"debt": -1, "income": 1}, **settings).fit(frame, y)
    by_place = forest(signs=np.array(SIGNS), **settings).fit(frame, y)
    assert np.array_equal(by_name.predict_proba(frame), by_place.predict_proba(frame))
    with pytest.raises(ValueError, match="say with monotonic_class of which"):
        forest(target=None).fit(*table(n_classes=3))


def test_missing_values_get_a_branch_of_their_own():
    X, y = table(missing=0.1)
    assert forest().fit(X, y).missing_ == "separate"
    with pytest.raises(ValueError, match="use missing='separate'"):
        forest(missing="fractional").fit(X, y)
    model = forest().fit(*table())
    assert n_violations(model.predict_proba, table(missing=0.3, seed=5)[0], SIGNS) == 0


# What comes after a fit.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_later_rows_and_merging_keep_the_order(n_classes):
    X, y = table(300, n_classes, missing=0.1)
    against = n_classes - 1 - table(300, n_classes, missing=0.1, seed=1)[1]
    later = table(300, n_classes, missing=0.1, seed=1)[0]
    model = forest().fit(X, y)
    before = model.predict_proba(X)
    model.relearn_pool(later, against)
    assert n_violations(model.predict_proba, X, SIGNS) == 0
    model.update(later, against)
    assert n_violations(model.predict_proba, X, SIGNS) == 0
    assert not np.allclose(model.predict_proba(X), before)
    parts = [forest().fit(*table(300, n_classes, seed=seed)) for seed in (0, 1)]
    merged = parts[0].merged(parts[1])
    assert n_violations(merged.predict_proba, X, SIGNS) == 0
    assert np.allclose(merged.predict_proba(X).sum(axis=1), 1)


def test_models_with_other_constraints_do_not_merge():
    X, y = table()
    free = forest(signs=None, target=None).fit(X, y)
    with pytest.raises(ValueError, match="merge models with equal constraints"):
        forest().fit(X, y).merged(free)
    with pytest.raises(ValueError, match="merge models with equal constraints"):
        BaggedPETClassifier(2, monotonic_cst=SIGNS).fit(X, y).merged(BaggedPETClassifier(2).fit(X, y))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_saved_model_says_the_same_and_goes_on(tmp_path, n_classes):
    X, y = table(300, n_classes, missing=0.1)
    model = forest(members=("forest", "curved", "boosted")).fit(X, y)
    model.save(tmp_path / "model.petiole")
    loaded = petiole.load(tmp_path / "model.petiole")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for one in (model, loaded):
        one.update(X, y)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert n_violations(loaded.predict_proba, X, SIGNS) == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_noise_on_queries_keeps_the_order(n_classes):
    """But for what soft routes leave out, which is less than 1e-8."""
    X, y = table(200, n_classes)
    noisy = DualPerturbCombineClassifier(forest(8), noise=0.2, nominal_noise=0.1).fit(X, y)

    def answer(rows):
        return noisy.predict_proba(rows).round(8)

    assert n_violations(answer, X, SIGNS, n_pairs=500) == 0
    learned = DualPerturbCombineClassifier(forest(8)).fit(X, y)
    assert np.allclose(learned.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("method", METHODS)
def test_recalibrated_probabilities_are_monotone_or_refused(method):
    X, y = table(300)
    model = OOBCalibratedClassifier(forest(), method)
    if method in ("binning", "structured_matrix"):
        with pytest.raises(ValueError, match="its map falls somewhere"):
            model.fit(X, y)
        return
    assert n_violations(model.fit(X, y).predict_proba, X, SIGNS, n_pairs=4000) == 0


def test_recalibration_that_breaks_the_order_says_so():
    X, y = table(300)
    with pytest.raises(ValueError, match="corrections for groups"):
        OOBCalibratedClassifier(forest(), groups=[4]).fit(X, y)
    fitted = OOBCalibratedClassifier(forest()).fit(X, y)
    with pytest.raises(ValueError, match="its map falls somewhere"):
        fitted.with_method("structured_matrix", y)
    with pytest.raises(ValueError, match="more than two classes"):
        OOBCalibratedClassifier(forest()).fit(*table(300, 3))


def test_wrappers_pass_monotone_probabilities_on():
    X, y = table(300)
    costs = CostSensitiveClassifier(forest(), cost=[[0, 5], [1, 0]]).fit(X, y)
    assert n_violations(costs.predict_proba, X, SIGNS, n_pairs=2000) == 0
    sets = ConformalClassifier(forest(), random_state=0).fit(X, y)
    assert n_violations(sets.predict_proba, X, SIGNS, n_pairs=2000) == 0


def test_explanations_add_up_to_the_monotone_answer():
    X, y = table(200)
    model = forest().fit(X, y)
    found = model.explain(X[:10], output="probability")
    assert np.allclose(found.values.sum(axis=1) + found.base_values, model.predict_proba(X[:10]))
    named = forest().fit(*table(200, 3))
    with pytest.raises(ValueError, match="use method='sampled'"):
        named.explain(X[:5])
    sampled = named.explain(X[:3], method="sampled", output="probability", background=X[:20])
    assert np.allclose(sampled.values.sum(axis=1) + sampled.base_values, named.predict_proba(X[:3]), atol=1e-6)


def test_single_trees_are_monotone():
    X, y = table(200)
    for single in forest(4).fit(X, y).estimators_:
        assert n_violations(single.predict_proba, X, SIGNS, n_pairs=1000) == 0


def test_one_class_and_no_direction_demand_nothing():
    X, y = table(200)
    assert (forest(4).fit(X, np.ones(len(y))).predict_proba(X) == 1).all()
    nothing = forest(8, signs=[0] * 5).fit(X, y)
    free = forest(8, signs=None, target=None).fit(X, y)
    assert np.array_equal(nothing.predict_proba(X), free.predict_proba(X))


def test_the_result_does_not_depend_on_threads():
    X, y = table(300, 3, missing=0.1)
    one, two = (clone(forest()).set_params(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 3))
    assert np.array_equal(one, two)


# Interactions.


def test_without_interactions_members_are_sums_of_columns():
    X, y = table(300)
    model = forest(
        signs=None, target=None, interaction_cst="no_interactions", members=("forest", "linear", "curved", "boosted")
    ).fit(X, y)
    assert not any("votes" in name for name in model.component_names_)
    both, one, other = X.copy(), X.copy(), X.copy()
    both[:, 2], both[:, 3] = 1.0, -1.0
    one[:, 2], other[:, 3] = 1.0, -1.0
    for name in {"linear", "curved"} & set(model.members_.models):

        def score(rows, name=name):
            proba = model.members_.models[name].answer(model.encoder_.transform(rows))
            return np.log(proba[:, 1] / proba[:, 0])

        assert np.allclose(score(both) - score(one) - score(other) + score(X), 0), name
    for tree in model.trees_:
        assert len({int(feature) for feature in tree.feature if feature >= 0}) <= 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_groups_and_directions_together(n_classes):
    X, y = table(300, n_classes)
    model = forest(interaction_cst=[[0, 1], [2, 3, 4]], members=("forest", "curved", "boosted")).fit(X, y)
    assert n_violations(model.predict_proba, X, SIGNS) == 0
    pools = [model._estimate] + ([] if n_classes == 2 else [model._estimate.named.pool])
    for pool in pools:
        curved = pool.members.models.get("curved")
        if curved is None:
            continue
        numeric = curved.models[0].encoding.numeric
        for first, second in zip(*(numeric.columns[place] for place in numeric.pairs), strict=True):
            assert {int(first), int(second)} <= {0, 1} or {int(first), int(second)} <= {2, 3, 4}


# Errors.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": ("forest", "kernel")}, "kernels are functions of all columns together"),
        ({"components": ("votes",)}, "add 'raw', 'eb', 'oob' or 'coarse'"),
        ({"signs": [1, 0]}, "2 entries, but X has 5"),
        ({"target": 9}, "monotonic_class=9: must be one of the classes"),
        ({"splits": ("best", "oblique"), "interaction_cst": "pairwise"}, "splits='oblique' tests sums"),
    ],
    ids=str,
)
def test_errors_say_what_to_do(parameters, message):
    X, y = table(60)
    with pytest.raises(ValueError, match=message):
        forest(**parameters).fit(X, y)
