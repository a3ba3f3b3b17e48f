"""What weights mean: only their ratios matter, whole multiples are rows several times, extremes do no harm."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier

import naive
import petiole
from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    ConstantClassifier,
    CostSensitiveClassifier,
    DualPerturbCombineClassifier,
    LazyOptionTreesClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole._table.weights import common_measure, weights_in_rows
from petiole.distributed import fit as fit_parts
from petiole.smoothing import HDP, HGS, MEstimate
from versions import before_sklearn_19

CLASSIFIERS = {
    "tree": PETClassifier(),
    "c45": PETClassifier.c45(),
    "binned tree": PETClassifier(max_bins=8, smoothing=MEstimate()),
    "honest tree": PETClassifier(smoothing=HGS(alpha="honest"), random_state=0),
    "hdp tree": PETClassifier(smoothing=HDP(n_iter=20, burn_in=5, random_state=0)),
    "B-PETs": BaggedPETClassifier.b_pets(n_estimators=8, oob_score=True, random_state=0),
    "EB-PETs": BaggedPETClassifier.eb_pets(n_estimators=8, random_state=0),
    "MOB-ESP": MOBESPClassifier(8, oob_weight="auto", random_state=0),
    "probability forest": ProbabilityForestClassifier(16, oob_score=True, random_state=0),
    "lazy option trees": LazyOptionTreesClassifier(4, random_state=0),
    "dual": DualPerturbCombineClassifier(BaggedPETClassifier(4, random_state=0), random_state=0),
    "naive Bayes": BinnedNaiveBayesClassifier(),
    "constant": ConstantClassifier(),
    "cost-sensitive": CostSensitiveClassifier(PETClassifier()),
    "recalibrated": OOBCalibratedClassifier(BaggedPETClassifier(16, random_state=0), method="sigmoid"),
    "recalibrated scikit-learn": OOBCalibratedClassifier(RandomForestClassifier(30, random_state=0), method="isotonic"),
}


def problem(kind, n=60):
    random = np.random.default_rng(5)
    X = random.integers(0, 6, size=(n, 3)).astype(float)
    y = (X[:, 0] + random.normal(size=n) > 2.5).astype(int) + (random.random(n) < 0.2)
    weights = {
        "whole": random.integers(1, 4, n).astype(float),
        "fractional": random.uniform(0.2, 3.0, n),
        "with zeros": random.integers(0, 3, n) * random.uniform(0.5, 2.0, n),
    }
    return X, y, weights[kind]


@given(
    st.lists(st.one_of(st.integers(0, 9).map(float), st.floats(1e-3, 1e3)), min_size=1, max_size=12),
    st.sampled_from([1.0, 0.1, 1 / 3, 1e-200, 7e150]),
)
@settings(max_examples=300, deadline=None)
def test_rows_are_those_of_the_naive_version(weights, factor):
    if not any(weights):
        return
    expected, unit = naive.weights_in_rows(weights)
    found = weights_in_rows(factor * np.array(weights))
    rows = np.ones(len(weights)) if found.weights is None else found.weights
    np.testing.assert_allclose(rows, expected, rtol=1e-8)
    assert found.unit == pytest.approx(factor * unit, rel=1e-8)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.sampled_from([1.0, 0.1, 3e-7, 1e9]))
@settings(deadline=None)
def test_the_common_measure_of_whole_numbers_is_their_greatest_common_divisor(numbers, unit):
    assert common_measure(unit * np.array(numbers, dtype=float)) == pytest.approx(unit * np.gcd.reduce(numbers))


def test_weights_without_a_common_measure_have_none():
    assert common_measure(np.array([1.0, np.sqrt(2.0), np.e])) == 0.0


@pytest.mark.parametrize("kind", ["whole", "fractional", "with zeros"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_constant_factor_changes_nothing(name, kind):
    if "scikit-learn" in name and before_sklearn_19:
        pytest.skip("before 1.9, the trees of scikit-learn's forests depend on the unit of the weights")
    X, y, weights = problem(kind)
    expected = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=weights).predict_proba(X)
    for factor in (1 / weights.sum(), 1e-9, 3.0, 1e12):
        model = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=factor * weights)
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["tree", "c45", "EB-PETs", "probability forest", "lazy option trees", "naive Bayes"])
def test_equal_weights_are_no_weights(name):
    X, y, _ = problem("whole")
    expected = clone(CLASSIFIERS[name]).fit(X, y).predict_proba(X)
    model = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=np.full(len(y), 1 / len(y)))
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_whole_multiples_are_rows_several_times():
    X, y, weights = problem("whole")
    times = weights.astype(int)
    repeated = PETClassifier().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    for factor in (1.0, 0.1):
        weighted = PETClassifier().fit(X, y, sample_weight=factor * weights)
        np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_relative_and_counts_can_be_asked_for():
    X, y, weights = problem("whole")
    relative = PETClassifier(weights="relative").fit(X, y, sample_weight=weights)
    assert relative.tree_.inbag_class_counts[0].sum() == pytest.approx(len(y))
    assert relative.weight_unit_ == pytest.approx(weights.mean())
    counts = PETClassifier(weights="counts").fit(X, y, sample_weight=2 * weights)
    assert counts.tree_.inbag_class_counts[0].sum() == 2 * weights.sum()
    with pytest.raises(ValueError, match=r"weights='rows': must be one of 'auto', 'relative', 'counts'"):
        PETClassifier(weights="rows").fit(X, y)
    with pytest.raises(ValueError, match=r"sums to 6e\+17, more than 2\*\*53 rows; multiply .*weights='relative'"):
        PETClassifier(weights="counts").fit(X, y, sample_weight=np.full(len(y), 1e16))
    with pytest.raises(ValueError, match=r"weights='counts': the largest sample_weight is 1e-200 rows"):
        PETClassifier(weights="counts").fit(X, y, sample_weight=np.full(len(y), 1e-200))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("seed", range(3))
def test_extreme_weights_give_probabilities_that_can_be_kept(name, seed, tmp_path):
    X, y, _ = problem("whole", n=30)
    weights = 10.0 ** np.random.default_rng(seed).uniform(-300, 300, len(y))
    model = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=weights)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-9)
    assert (proba >= 0).all()
    assert len(model.classes_) == 3  # no class is lost in rounding
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), proba)
    if "scikit-learn" not in name:
        model.save(tmp_path / "model.petiole")
        np.testing.assert_array_equal(petiole.load(tmp_path / "model.petiole").predict_proba(X), proba)


def test_adaboost_around_a_tree():
    X, y = load_breast_cancer(return_X_y=True)
    for model in (PETClassifier(max_depth=2), PETClassifier(max_depth=1, min_samples_leaf=5)):
        boosted = AdaBoostClassifier(model, n_estimators=60, random_state=0).fit(X[::2], y[::2])
        assert len(boosted.estimators_) == 60
        assert boosted.score(X[1::2], y[1::2]) > 0.93


def test_later_rows_are_measured_as_those_of_the_fit():
    X, y, weights = problem("fractional")
    once = PETClassifier().fit(X[:40], y[:40], weights[:40]).update(X[40:], y[40:], weights[40:])
    again = PETClassifier().fit(X[:40], y[:40], 50 * weights[:40]).update(X[40:], y[40:], 50 * weights[40:])
    np.testing.assert_allclose(again.tree_.inbag_class_counts, once.tree_.inbag_class_counts)
    with pytest.raises(ValueError, match=r"sample_weight is up to 1e\+300, where the fit counted a weight of"):
        once.update(X[40:], y[40:], np.full(20, 1e300))


def in_parts(X, y, weights, n_parts=3):
    return [(X[i::n_parts], y[i::n_parts], weights[i::n_parts]) for i in range(n_parts)]


SHARDED = {
    "tree": PETClassifier(max_bins=16),
    "EB-PETs": BaggedPETClassifier.eb_pets(n_estimators=6, random_state=0),
    "MOB-ESP": MOBESPClassifier(6, random_state=0),
    "probability forest": ProbabilityForestClassifier(6, random_state=0),
}


@pytest.mark.parametrize("kind", ["whole", "fractional"])
@pytest.mark.parametrize("name", SHARDED)
def test_a_constant_factor_changes_nothing_for_shards(name, kind):
    X, y, weights = problem(kind)
    found = []
    for factor in (1.0, 0.1, 3e6):
        model = fit_parts(clone(SHARDED[name]), in_parts(X, y, factor * weights), mode="sharded")
        rows = weights_in_rows(factor * weights)
        assert model.weight_unit_ == pytest.approx(rows.unit)
        found.append(model.predict_proba(X))
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)
    np.testing.assert_allclose(found[2], found[0], atol=1e-9)


@pytest.mark.parametrize("name", SHARDED)
def test_a_part_without_weights_has_weights_of_one(name):
    X, y, _ = problem("whole")
    parts = [(X[:30], y[:30], np.full(30, 0.5)), (X[30:], y[30:])]
    explicit = [parts[0], (X[30:], y[30:], np.ones(30))]
    models = [fit_parts(clone(SHARDED[name]), data, mode="sharded") for data in (parts, explicit)]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


@pytest.mark.parametrize("name", SHARDED)
def test_extreme_weights_in_shards(name):
    X, y, weights = problem("fractional")
    weights[7] = 1e280
    model = fit_parts(clone(SHARDED[name]), in_parts(X, y, weights), mode="sharded")
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match=r"partition 0: sample_weight is up to 1e\+308.*by a constant"):
        fit_parts(clone(SHARDED[name]), in_parts(X, y, np.full(len(y), 1e308)), mode="sharded")
