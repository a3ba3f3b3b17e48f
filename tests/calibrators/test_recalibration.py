"""Recalibration on out-of-bag rows: calibrators against naive versions, laws, and that it helps."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from naive_recalibration import beta_loss, isotonic, repeated, temperature_loss, venn_abers
from petiole import (
    BaggedPETClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    ProbabilityForestClassifier,
)
from petiole._classifiers.oob_calibrated import METHODS
from petiole.calibrators import (
    BetaCalibrator,
    BinningCalibrator,
    IsotonicCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)

# The methods with a single map of all classes.
JOINT = ("temperature", "vector", "structured_matrix")
SCORES = st.integers(0, 10).map(lambda i: i / 10)
ROWS = st.lists(st.tuples(SCORES, st.booleans(), st.integers(1, 3)), min_size=2, max_size=14)


def forest(**overrides):
    return BaggedPETClassifier.eb_pets(**{"n_estimators": 24, "random_state": 0, **overrides})


def noisy(n=300, seed=0, n_classes=2):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    scores = X[:, :n_classes] + random.gumbel(size=(n, n_classes))
    return X, scores.argmax(axis=1)


def random_probabilities(random, n, n_classes):
    proba = random.dirichlet(np.ones(n_classes), n).clip(0.01)
    proba /= proba.sum(axis=1, keepdims=True)
    labels = np.array([random.choice(n_classes, p=row) for row in proba])
    return proba, np.concatenate([np.arange(n_classes), labels[n_classes:]])


# Calibrators.


@settings(max_examples=150, deadline=None)
@given(ROWS, st.lists(st.floats(-0.2, 1.2), min_size=1, max_size=4))
def test_venn_abers_against_refitting(rows, queries):
    scores, positive, weights = zip(*rows, strict=True)
    weights = (1, *weights[1:])  # one row somewhere, so that the others are so many rows
    if len(set(positive)) < 2:
        return
    queries = [*queries, *scores]
    calibrator = VennAbersCalibrator().fit(scores, positive, sample_weight=weights)
    lower, upper = calibrator.predict_interval(queries)
    many_scores, many_positive = repeated(scores, weights), repeated(positive, weights)
    expected = np.array([venn_abers(many_scores, many_positive, query) for query in queries])
    np.testing.assert_allclose(np.column_stack([lower, upper]), expected, atol=1e-12)
    np.testing.assert_allclose(calibrator.predict(queries), upper / (1 - lower + upper))


@settings(max_examples=100, deadline=None)
@given(ROWS)
def test_isotonic_against_naive(rows):
    scores, positive, weights = zip(*rows, strict=True)
    if len(set(positive)) < 2:
        return
    found = IsotonicCalibrator().fit(scores, positive, sample_weight=weights).predict(scores)
    fitted = isotonic(repeated(scores, weights), repeated(positive, weights))
    np.testing.assert_allclose(found, [fitted[score] for score in scores], atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_venn_abers_holds_isotonic_and_never_says_never(seed):
    random = np.random.default_rng(seed)
    scores = random.random(200).round(int(random.integers(1, 4)))
    positive = random.random(200) < scores
    calibrator = VennAbersCalibrator().fit(scores, positive)
    queries = np.sort(random.random(300))
    lower, upper = calibrator.predict_interval(queries)
    assert (lower < upper).all()
    assert (np.diff(lower) >= 0).all() and (np.diff(upper) >= 0).all()
    inside = IsotonicCalibrator().fit(scores, positive).predict(scores)
    low, high = calibrator.predict_interval(scores)
    assert (low <= inside + 1e-12).all() and (inside <= high + 1e-12).all()
    middle = calibrator.predict(queries)
    assert ((lower < middle) & (middle < upper)).all()


def test_venn_abers_golden_example():
    """Scores 1 to 4, labels 0, 1, 0, 1: whether 2.5 is labelled 0 or 1, it is one block with 2 and 3."""
    calibrator = VennAbersCalibrator().fit([1, 2, 3, 4], [0, 1, 0, 1])
    lower, upper = calibrator.predict_interval([2.5, 0, 5])
    np.testing.assert_allclose(lower, [1 / 3, 0, 0.5])
    np.testing.assert_allclose(upper, [2 / 3, 0.5, 1])
    np.testing.assert_allclose(calibrator.predict([2.5]), [(2 / 3) / (1 - 1 / 3 + 2 / 3)])


def test_the_mean_lies_in_the_mean_interval():
    """One of p0 and p1 is calibrated, so that over many new rows the share of positives lies between their means."""
    random = np.random.default_rng(0)
    scores = random.random(20_000)
    positive = random.random(20_000) < scores**2
    lower, upper = VennAbersCalibrator().fit(scores[:200], positive[:200]).predict_interval(scores[200:])
    assert lower.mean() - 0.01 < positive[200:].mean() < upper.mean() + 0.01


@pytest.mark.parametrize("seed", range(12))
def test_beta_is_the_constrained_minimum(seed):
    """No step that keeps a and b at 0 or more lowers the loss (with its ridge); with weights as copies."""
    random = np.random.default_rng(seed)
    proba, positive = random.random(60), random.random(60) < (0.5 if seed % 3 else 0.1)
    if seed % 2:
        positive = random.random(60) < 1 - proba  # turned around: the constraints bind
    weights = random.integers(1, 3, 60)
    found = BetaCalibrator(0.01).fit(proba, positive, weights).calibrators_[0]
    many = repeated(proba.clip(0.01, 0.99), weights), repeated(positive, weights)

    def loss(a, b, c):
        return beta_loss(a, b, c, *many) + 0.5 * ((a - 1) ** 2 + (b - 1) ** 2 + c**2)

    best = loss(found.a, found.b, found.c)
    assert found.a >= 0 and found.b >= 0
    for step in random.normal(size=(60, 3)) * np.repeat([1e-1, 1e-2, 1e-3], 20)[:, np.newaxis]:
        a, b, c = np.array([found.a, found.b, found.c]) + step
        assert loss(max(a, 0), max(b, 0), c) >= best - 1e-7


@pytest.mark.parametrize("n_classes", [2, 5])
def test_temperature_is_the_minimum(n_classes):
    random = np.random.default_rng(n_classes)
    proba, labels = random_probabilities(random, 80, n_classes)
    weights = random.integers(1, 4, 80)
    found = TemperatureCalibrator(1e-9).fit(proba**2 / (proba**2).sum(axis=1, keepdims=True), labels, weights)
    inverse = 1 / found.calibrators_[0].temperature
    many = repeated((proba**2).tolist(), weights), repeated(labels, weights)

    def loss(inverse):
        return temperature_loss(inverse, *many) + 0.5 * (inverse - 1) ** 2

    assert loss(inverse) <= min(loss(inverse * factor) for factor in (0.9, 0.999, 1.001, 1.1)) + 1e-9
    assert inverse < 0.9  # the squares are too bold


class Scores(ClassifierMixin, BaseEstimator):
    """Takes its one attribute as the probability of the second class."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0.5).astype(int)]


def test_sigmoid_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    scores = random.random(400)
    y, weights = (random.random(400) < scores**2).astype(int), random.integers(1, 3, 400).astype(float)
    X = scores[:, np.newaxis]
    theirs = CalibratedClassifierCV(FrozenEstimator(Scores().fit(X, y)), method="sigmoid", ensemble=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that weights are for the calibration only
        theirs.fit(X, y, sample_weight=weights)
    ours = SigmoidCalibrator().fit(scores, y, weights)
    np.testing.assert_allclose(ours.predict(scores), theirs.predict_proba(X)[:, 1], atol=1e-4)


def test_sigmoid_does_not_depend_on_the_unit():
    random = np.random.default_rng(0)
    scores = random.normal(size=100)
    y = random.random(100) < 1 / (1 + np.exp(-scores))
    first = SigmoidCalibrator().fit(scores, y).predict(scores)
    second = SigmoidCalibrator().fit(1e6 * scores + 5e6, y).predict(1e6 * scores + 5e6)
    np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.parametrize("calibrator", [BetaCalibrator(1e-6), TemperatureCalibrator(1e-6)], ids=["beta", "temperature"])
def test_true_probabilities_are_left_alone(calibrator):
    random = np.random.default_rng(0)
    proba = random.random(100_000)
    found = clone(calibrator).fit(proba, random.random(100_000) < proba).predict(proba)
    np.testing.assert_allclose(found, proba, atol=0.02)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_laws_of_all_calibrators(name, n_classes):
    """Rows sum to one; weights are copies; neither the order of rows nor the names of classes matter."""
    random = np.random.default_rng(n_classes)
    proba, labels = random_probabilities(random, 120, n_classes)
    weights = random.integers(0, 3, 120)
    weights[:n_classes] = 1
    make = METHODS[name]
    found = make().fit(proba, labels, sample_weight=weights).predict(proba)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()
    copied = make().fit(np.repeat(proba, weights, axis=0), np.repeat(labels, weights)).predict(proba)
    np.testing.assert_allclose(found, copied, atol=1e-6)
    order = random.permutation(120)
    shuffled = make().fit(proba[order], labels[order], sample_weight=weights[order]).predict(proba)
    np.testing.assert_allclose(found, shuffled, atol=1e-6)
    if name != "binning" or n_classes > 2:  # whose bins are not symmetric: they are filled from below
        renamed = make().fit(proba[:, ::-1], n_classes - 1 - labels, sample_weight=weights).predict(proba[:, ::-1])
        np.testing.assert_allclose(found, renamed[:, ::-1], atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_calibrators_keep_the_order_of_scores(name):
    random = np.random.default_rng(0)
    scores = random.random(400)
    y = random.random(400) < scores**3
    found = METHODS[name]().fit(scores, y).predict(np.sort(random.random(200)))
    if name == "binning":  # the one that may fall, where a bin has fewer positives than the one below
        found = np.sort(found)
    assert (np.diff(found) >= -1e-12).all()
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("name", METHODS)
def test_one_column_and_two_agree(name):
    random = np.random.default_rng(0)
    proba, labels = random_probabilities(random, 100, 2)
    one, two = METHODS[name]().fit(proba[:, 1], labels), METHODS[name]().fit(proba, labels)
    np.testing.assert_allclose(one.predict(proba[:, 1]), two.predict(proba)[:, 1])


@pytest.mark.parametrize("name", METHODS)
def test_separable_scores_leave_finite_parameters(name):
    scores, labels = np.linspace(0, 1, 40), np.repeat([0, 1], 20)
    found = METHODS[name]().fit(scores, labels).predict(scores)
    assert np.isfinite(found).all()
    assert ((found > 0.5) == labels).all()
    if name not in ("isotonic", "binning"):  # these two do say 0 and 1
        assert (found > 0).all() and (found < 1).all()


def test_calibrators_check_what_they_get():
    with pytest.raises(ValueError, match=r"scores\[0\]=-1: must be a probability"):
        BetaCalibrator().fit([-1.0, 0.5], [0, 1])
    with pytest.raises(ValueError, match=r"floor=0.7: must be a number between 1e-12 and 0.5"):
        TemperatureCalibrator(0.7).fit([0.2, 0.5], [0, 1])
    for floor in (0, 1e-300):
        with pytest.raises(ValueError, match=rf"floor={floor}: must be a number between 1e-12 and 0.5"):
            BetaCalibrator(floor).fit([0.2, 0.5], [0, 1])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e308, 1.7e300, 1e-280, 1e-300, 5e-324])
def test_sigmoid_takes_scores_of_any_size(unit):
    rng = np.random.default_rng(0)
    scores, y = rng.uniform(-1, 1, 50), rng.integers(0, 2, 50)
    found = SigmoidCalibrator().fit(unit * scores, y).predict(unit * scores)
    # Scores that are equal as far as a slope can tell them apart get the base rate.
    expected = SigmoidCalibrator().fit(scores if unit > 1e-290 else np.zeros(50), y).predict(scores)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# The classifier.


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_calibrator_is_fitted_on_out_of_bag_rows(name, n_classes):
    X, y = noisy(n_classes=n_classes)
    labels = np.array(["b", "a", "c"])[y]
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = OOBCalibratedClassifier(forest(), method=name).fit(X, labels, sample_weight=weights)
    alone = forest(oob_score=True).fit(X, labels, sample_weight=weights)
    rows = (weights > 0) & np.isfinite(alone.oob_predict_proba_).all(axis=1)
    calibrator = METHODS[name]().fit(alone.oob_predict_proba_[rows], labels[rows], weights[rows])
    np.testing.assert_allclose(model.predict_proba(X), calibrator.predict(alone.predict_proba(X)))
    assert model.n_calibration_rows_ == rows.sum()
    assert len(model.calibrators_) == (1 if n_classes == 2 or name in JOINT else n_classes)


ENSEMBLES = {
    "EB-PETs": forest(),
    "probability forest": ProbabilityForestClassifier(24, random_state=0),
    "MOB-ESP": MOBESPClassifier(24, random_state=0),
    "random forest": RandomForestClassifier(24, random_state=0),
    "extra trees": ExtraTreesClassifier(24, bootstrap=True, random_state=0),
    "bagging": BaggingClassifier(n_estimators=24, random_state=0),
    "pipeline": make_pipeline(OneHotEncoder(handle_unknown="ignore"), RandomForestClassifier(24, random_state=0)),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles_of_all_kinds(name):
    X, y = load_iris(return_X_y=True)
    weights = np.tile([1.0, 2.0], 75)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that all of the few trees have seen
        model = OOBCalibratedClassifier(ENSEMBLES[name]).fit(X, y, sample_weight=weights)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (model.predict(X) == y).mean() > 0.9
    assert not hasattr(ENSEMBLES[name], "classes_")


def test_rows_never_out_of_bag_are_left_out():
    X, y = noisy()
    for ensemble in (forest(n_estimators=2), RandomForestClassifier(2, random_state=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = OOBCalibratedClassifier(ensemble, method="isotonic").fit(X, y)
        assert 0.4 * len(y) < model.n_calibration_rows_ < 0.75 * len(y)
        assert np.isfinite(model.predict_proba(X)).all()


def test_default_ensemble():
    X, y = load_iris(return_X_y=True)
    assert isinstance(OOBCalibratedClassifier().fit(X, y).estimator_, BaggedPETClassifier)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals(n_classes):
    X, y = noisy(n_classes=n_classes)
    model = OOBCalibratedClassifier(forest(), method="venn_abers").fit(X, y)
    lower, upper = model.predict_interval(X)
    assert lower.shape == upper.shape == (len(X), n_classes)
    assert (lower < upper).all() and (lower >= 0).all() and (upper <= 1).all()
    if n_classes == 2:
        proba = model.predict_proba(X)
        assert ((lower < proba) & (proba < upper)).all()
        np.testing.assert_allclose(lower[:, 0], 1 - upper[:, 1])
        np.testing.assert_allclose(upper[:, 0], 1 - lower[:, 1])


def test_intervals_shrink_with_the_number_of_rows():
    def width(n):
        X, y = noisy(n)
        lower, upper = OOBCalibratedClassifier(forest(), method="venn_abers").fit(X, y).predict_interval(X)
        return (upper - lower).mean()

    assert width(2000) < 0.5 * width(200)


def test_only_venn_abers_has_intervals():
    assert not hasattr(OOBCalibratedClassifier(method="beta"), "predict_interval")
    assert hasattr(OOBCalibratedClassifier(method=VennAbersCalibrator()), "predict_interval")
    with pytest.raises(AttributeError, match="predict_interval"):
        OOBCalibratedClassifier(method="beta").predict_interval([[0.0]])


def test_another_method_on_the_same_trees():
    X, y = noisy()
    model = OOBCalibratedClassifier(forest(), method="beta").fit(X, y)
    other = model.with_method(BinningCalibrator(5), y)
    assert other.estimator_ is model.estimator_
    np.testing.assert_array_equal(
        other.predict_proba(X), OOBCalibratedClassifier(forest(), BinningCalibrator(5)).fit(X, y).predict_proba(X)
    )
    assert isinstance(model.calibrator_, BetaCalibrator)


def test_a_frozen_ensemble_stays_fitted():
    X, y = noisy()
    fitted = forest(oob_score=True).fit(X, y)
    model = OOBCalibratedClassifier(FrozenEstimator(fitted), method="sigmoid").fit(X, y)
    assert model.estimator_.estimator is fitted
    expected = OOBCalibratedClassifier(forest(), method="sigmoid").fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X[:-1], y[:-1])
    with pytest.raises(ValueError, match="fit it with oob_score=True before it is frozen"):
        OOBCalibratedClassifier(FrozenEstimator(forest().fit(X, y))).fit(X, y)
    with pytest.raises(ValueError, match="y has the label 7"):
        model.fit(X, np.where(y == 1, 7, y))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OOBCalibratedClassifier(LogisticRegression()), "has no out-of-bag probabilities: give one that has"),
        (OOBCalibratedClassifier(forest(), method="platt"), "method='platt': must be one of 'sigmoid'"),
        (OOBCalibratedClassifier(forest(), method=BinningCalibrator(0)), "n_bins=0"),
        (OOBCalibratedClassifier(forest(bootstrap=False)), "bootstrap=False leaves none"),
    ],
)
def test_errors_say_what_to_do(model, message):
    X, y = noisy(60)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("ensemble", [(), 7, BaggedPETClassifier, "forest"])
def test_the_ensemble_is_a_classifier(ensemble):
    with pytest.raises(TypeError, match=r"ensemble=.*: must be a classifier object with fit"):
        OOBCalibratedClassifier(ensemble).fit(*noisy(20))


def test_nothing_out_of_bag_is_an_error():
    with (
        warnings.catch_warnings(),
        pytest.raises(ValueError, match=r"nothing to calibrate on: give more rows or more trees"),
    ):
        warnings.simplefilter("ignore")
        OOBCalibratedClassifier(forest()).fit([[0.0]], [0])


def test_a_failed_fit_changes_nothing():
    X, y = noisy()
    model = OOBCalibratedClassifier(forest()).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="method"):
        model.set_params(method="no such thing").fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_nominal_columns_and_missing_values_pass_through():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=200), "n": random.choice(["p", "q", "r"], 200)})
    y = np.where((X["x"] > 0) ^ (X["n"] == "p"), "yes", "no")
    X.loc[::7, "x"] = np.nan
    X.loc[::9, "n"] = None
    model = OOBCalibratedClassifier(forest(), method="temperature").fit(X, y)
    assert model.feature_names_in_.tolist() == ["x", "n"]
    assert (model.predict(X) == y).mean() > 0.8


def test_one_class():
    X = np.arange(20.0)[:, np.newaxis]
    for name in METHODS:
        model = OOBCalibratedClassifier(forest(), method=name).fit(X, ["a"] * 20)
        assert model.predict_proba(X).tolist() == [[1.0]] * 20


def test_lives_in_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    grid = {"method": ["beta", "temperature"], "ensemble__n_estimators": [8, 16]}
    search = GridSearchCV(OOBCalibratedClassifier(forest()), grid, scoring="neg_log_loss", cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = search.fit(X, y).best_estimator_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_metadata_routing():
    X, y = noisy(120)
    weights = np.tile([1.0, 3.0], 60)
    expected = OOBCalibratedClassifier(forest()).fit(X, y, sample_weight=weights).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = forest().set_fit_request(sample_weight=True)
        found = OOBCalibratedClassifier(asked).fit(X, y, sample_weight=weights).predict_proba(X)
        np.testing.assert_array_equal(found, expected)
        with pytest.raises(Exception, match="sample_weight"):
            OOBCalibratedClassifier(forest()).fit(X, y, sample_weight=weights)
        model = OOBCalibratedClassifier(asked).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"method": ["beta", "sigmoid"]}, cv=2)
        search.fit(X, y, sample_weight=weights)


# That it helps.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_recalibrated_forests_are_nearer_to_the_truth(n_classes):
    """Simulated rows with known P(class | x): expected log-loss and squared distance, mean over four samples."""
    losses = {name: [] for name in ("raw", *METHODS)}
    for seed in range(4):
        X, y = noisy(500, seed, n_classes)
        queries = np.random.default_rng(99).normal(size=(1000, 4))
        truth = np.exp(queries[:, :n_classes])
        truth /= truth.sum(axis=1, keepdims=True)
        model = OOBCalibratedClassifier(BaggedPETClassifier.random_forest(n_estimators=64, random_state=seed)).fit(X, y)
        answers = {name: model.with_method(name, y).predict_proba(queries) for name in METHODS}
        for name, proba in {"raw": model.estimator_.predict_proba(queries), **answers}.items():
            log_loss = -(truth * np.log2(np.maximum(proba, 1e-3))).sum(axis=1).mean()
            losses[name].append((log_loss, ((proba - truth) ** 2).sum(axis=1).mean()))
    log_loss, distance = np.mean(losses.pop("raw"), axis=0)
    for name, pairs in losses.items():
        assert np.mean(pairs, axis=0)[0] < log_loss, name
        assert np.mean(pairs, axis=0)[1] < distance * (1.05 if name == "binning" else 1), name
