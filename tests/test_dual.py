"""Dual perturb and combine: laws, tuning, and the manners of an estimator."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from petiole import (
    BaggedPETClassifier,
    MOBESPClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
    from_sklearn,
)
from petiole import DualPerturbCombineClassifier as Dual
from petiole.noise_search import best_of, descend, golden_section
from petiole.noise_tuning import mean_loss, on_folds, on_one_tree, on_unseen, on_validation
from petiole.perturbation import Attributes
from petiole.perturbed_model import Noise, PerturbedModel
from petiole.smoothing import HGS

pytestmark = pytest.mark.filterwarnings("ignore:.*rows are in the samples of all trees")

ENSEMBLES = {
    "bag": BaggedPETClassifier(9, random_state=0),
    "votes": BaggedPETClassifier(9, voting="laplace", random_state=0),
    "eb": BaggedPETClassifier.eb_pets(n_estimators=9, random_state=0),
    "hgs": BaggedPETClassifier(9, smoothing=HGS(alpha="honest"), oob_weight=1, random_state=0),
    "mob": MOBESPClassifier(9, random_state=0),
    "mob, shared": MOBESPClassifier(9, rows="shared", oob_weight="auto", random_state=0),
    "pool": ProbabilityForestClassifier(12, random_state=0),
    "pool without votes": ProbabilityForestClassifier(
        12, max_features="sqrt", components=("raw", "eb", "oob", "coarse"), random_state=0
    ),
}
ALL = {"tree": PETClassifier(), "c44, hgs": PETClassifier.c44(smoothing="hgs"), **ENSEMBLES}
EVERYONE = pytest.mark.parametrize("name", list(ALL))


def two_norms(n=300, seed=0, gap=1.0):
    """Two clouds, whose border a tree draws as a staircase: noise helps."""
    random = np.random.default_rng(seed)
    y = random.integers(2, size=n)
    return random.normal(size=(n, 4)) + gap * (2 * y[:, np.newaxis] - 1) / 2, y


def mixed_frame(n=200, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    return pd.DataFrame(
        {
            "length": np.where(random.random(n) < 0.1, np.nan, y + random.normal(size=n)),
            "count": (y + random.integers(4, size=n)).astype(int),
            "colour": np.where(random.random(n) < 0.6, np.array(["red", "green", "blue"])[y], "grey"),
            "flag": pd.Categorical(np.where(random.random(n) < 0.5, "a", "b")),
        }
    ), np.array(["no", "yes", "maybe"])[y]


# ---- laws
@EVERYONE
def test_without_noise_it_is_the_estimator_itself(name):
    X, y = mixed_frame()
    plain = clone(ALL[name]).fit(X, y)
    for mode in ("exact", "product"):
        model = Dual(ALL[name], noise=0, mode=mode).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-12)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@EVERYONE
def test_rows_sum_to_one(name):
    X, y = mixed_frame()
    for mode in ("exact", "product"):
        proba = Dual(ALL[name], noise=0.4, nominal_noise=0.2, mode=mode).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("name", ["tree", "bag", "eb"])
def test_monte_carlo_converges_to_exact(name):
    X, y = two_norms()
    shared = {"noise": 0.5, "random_state": 1}
    exact = Dual(ALL[name], **shared).fit(X, y)
    drawn = Dual(ALL[name], mode="monte_carlo", n_perturbations=4000, **shared).fit(X, y)
    product = Dual(ALL[name], mode="product", **shared).fit(X, y).predict_proba(X[:100])
    found, expected = drawn.predict_proba(X[:100]), exact.predict_proba(X[:100])
    assert np.abs(found - expected).max() < 5 * 0.5 / np.sqrt(4000)
    assert np.abs(found - expected).mean() < 0.35 * np.abs(found - product).mean()


def test_monte_carlo_of_categories_converges_to_exact():
    X, y = mixed_frame()
    shared = {"noise": 0.3, "nominal_noise": 0.4}
    exact = Dual(PETClassifier(), **shared).fit(X, y).predict_proba(X[:50])
    drawn = Dual(PETClassifier(), mode="monte_carlo", n_perturbations=3000, random_state=0, **shared).fit(X, y)
    assert np.abs(drawn.predict_proba(X[:50]) - exact).max() < 5 * 0.5 / np.sqrt(3000)


def test_votes_of_a_tree():
    """The closed form counts the decisions of perturbed queries."""
    X, y = two_norms()
    exact = Dual(PETClassifier(), noise=0.5, aggregate="vote").fit(X, y).predict_proba(X[:50])
    drawn = Dual(PETClassifier(), 0.5, "monte_carlo", 3000, aggregate="vote", random_state=0).fit(X, y)
    assert np.abs(drawn.predict_proba(X[:50]) - exact).max() < 5 * 0.5 / np.sqrt(3000)
    assert np.abs(exact - Dual(PETClassifier(), noise=0.5).fit(X, y).predict_proba(X[:50])).max() > 0.05


@pytest.mark.parametrize("mode", ["exact", "product", "monte_carlo"])
def test_affine_rescaling_of_attributes_changes_nothing(mode):
    X, y = two_norms()
    other = X * [100.0, 0.01, 3.0, 1.0] + [0.0, 5.0, -1000.0, 1.0]
    first, second = (Dual(PETClassifier(), 0.3, mode, random_state=0).fit(rows, y) for rows in (X, other))
    np.testing.assert_allclose(second.scales_, first.scales_ * [100.0, 0.01, 3.0, 1.0])
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(other), atol=1e-6)


def test_a_weight_of_two_is_a_row_twice():
    X, y = mixed_frame(60)
    weights = np.random.default_rng(0).integers(1, 4, size=60)
    twice = X.loc[np.repeat(np.arange(60), weights)]
    one = Dual(PETClassifier(), 0.3, nominal_noise=0.2).fit(X, y, sample_weight=weights)
    two = Dual(PETClassifier(), 0.3, nominal_noise=0.2).fit(twice, np.repeat(y, weights))
    np.testing.assert_allclose(one.scales_, two.scales_)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)


def test_scales_are_those_of_known_values():
    matrix = np.array([[1e200, 5.0, 0.0], [3e200, 5.0, 1.0], [np.nan, 5.0, 1.0]])
    found = Attributes.of(matrix, np.array([1.0, 3.0, 7.0]), np.array([0, 0, 2]))
    np.testing.assert_allclose(found.scales, [1e200 * np.sqrt(0.75), 0.0, 0.0])
    np.testing.assert_allclose(found.frequencies[2], [1 / 11, 10 / 11])


def test_one_level_per_attribute():
    X, y = two_norms()
    levels = np.array([0.5, 0.0, 0.1, 0.3])
    model = Dual(PETClassifier(), noise=levels).fit(X, y)
    drawn = Dual(PETClassifier(), levels, "monte_carlo", 3000, random_state=0).fit(X, y)
    assert np.abs(drawn.predict_proba(X[:50]) - model.predict_proba(X[:50])).max() < 5 * 0.5 / np.sqrt(3000)
    np.testing.assert_allclose(
        Dual(PETClassifier(), noise=[0.2] * 4).fit(X, y).predict_proba(X),
        Dual(PETClassifier(), noise=0.2).fit(X, y).predict_proba(X),
    )


# ---- noise after the fit
@EVERYONE
def test_a_number_takes_effect_without_a_fit(name):
    X, y = two_norms()
    model = Dual(ALL[name], noise=0.1, random_state=0).fit(X, y)
    estimator = model.estimator_
    changed = model.set_params(noise=0.6).predict_proba(X)
    assert model.estimator_ is estimator
    np.testing.assert_allclose(changed, Dual(ALL[name], noise=0.6, random_state=0).fit(X, y).predict_proba(X))
    product = model.set_params(mode="product").predict_proba(X)
    assert not np.allclose(product, changed)


def test_what_was_not_learned_cannot_be_asked_for():
    X, y = two_norms()
    model = Dual(PETClassifier(), noise=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"noise='auto' was set after a fit that did not learn it: call fit again"):
        model.set_params(noise="auto").predict(X)
    learned = Dual(PETClassifier(), noise="auto").fit(X, y)
    found = learned.predict_proba(X)
    learned.set_params(noise=2.0).predict_proba(X)
    np.testing.assert_array_equal(learned.set_params(noise="auto").predict_proba(X), found)


# ---- golden section
def test_golden_section():
    calls = []

    def loss(x):
        calls.append(x)
        return (x - 0.7) ** 2

    found = golden_section(loss, 3.0)
    assert len(calls) == 15 and calls[0] == 0.0
    assert found.best == pytest.approx(0.7, abs=0.01)
    assert golden_section(lambda x: -x, 3.0).best > 2.98
    assert golden_section(lambda x: x, 3.0).best == 0.0
    assert golden_section(lambda x: 1.0, 3.0).best == 0.0
    assert golden_section(lambda x: float(x > 1.3), 3.0).best == 0.0
    plateau = golden_section(lambda x: abs(round(4 * x) - 3), 3.0).best
    assert 0.625 <= plateau <= 0.875
    assert best_of([(2.0, 1.0), (1.0, 1.0 + 1e-14), (0.5, 1.1)]) == 1.0


def test_losses_that_are_not_numbers_never_win():
    assert golden_section(lambda x: np.nan if x < 1 else x, 3.0).best >= 1


def test_descent_finds_a_minimum_per_attribute():
    target, used = np.log([0.5, 0.05, 1.0]), np.array([True, True, False])

    def loss(noise):
        apart = (np.log(noise) - target) * used
        return 1e5 * float(apart @ apart), 2e5 * apart

    found = descend(loss, 0.2, used, 3.0)
    np.testing.assert_allclose(found, [0.5, 0.05, 0.2], rtol=1e-3)


# ---- tuning
def test_noise_is_found_and_helps():
    X, y = two_norms(400)
    test_X, test_y = two_norms(4000, seed=1)

    def log_loss(model):
        return -np.log(np.maximum(model.predict_proba(test_X)[np.arange(4000), test_y], 1e-6)).mean()

    for estimator in (PETClassifier(), BaggedPETClassifier(15, random_state=0)):
        model = Dual(estimator, random_state=0).fit(X, y)
        assert 0.1 < model.noise_ < 3
        assert model.noise_search_.shape == (15, 2) and model.noise_search_[0, 0] == 0
        assert model.noise_ == best_of([tuple(one) for one in model.noise_search_])
        soft = log_loss(model)
        assert soft < 0.97 * log_loss(model.set_params(noise=0))


@pytest.mark.parametrize("name", list(ENSEMBLES))
def test_out_of_bag_is_what_ensembles_are_tuned_on(name):
    """The losses are those of the out-of-bag probabilities: at λ = 0 of the ensemble's own."""
    X, y = two_norms(150)
    estimator = clone(ENSEMBLES[name]).set_params(n_estimators=40, oob_score=True)
    model = Dual(estimator, random_state=0).fit(X, y)
    assert model.noise_search_[0, 1] == pytest.approx(model.estimator_.oob_log_loss_, abs=1e-9)
    wrong = Dual(estimator, objective="error", random_state=0).fit(X, y)
    assert wrong.noise_search_[0, 1] == pytest.approx(1 - wrong.estimator_.oob_score_, abs=1e-9)


def test_validation_rows_are_used_and_checked():
    X, y = two_norms()
    others = two_norms(200, seed=5)
    model = Dual(PETClassifier(), noise="auto").fit(X, y, validation=others)

    def loss(noise, X, y, weights=None):
        proba = model.set_params(noise=noise).predict_proba(X)
        return np.average(-np.log2(np.maximum(proba[np.arange(len(y)), y], 1e-6)), weights=weights)

    for noise, found in model.noise_search_:
        assert found == pytest.approx(loss(noise, *others), abs=1e-9)
    weights = np.arange(200) % 3
    weighted = Dual(PETClassifier(), noise="auto").fit(X, y, validation=(*others, weights))
    assert weighted.noise_search_[3, 1] == pytest.approx(loss(weighted.noise_search_[3, 0], *others, weights), abs=1e-9)
    with pytest.raises(ValueError, match=r"validation has the label 7, but the classes are \[0, 1\]"):
        model.set_params(noise="auto").fit(X, y, validation=(X, np.full(len(X), 7)))
    with pytest.raises(ValueError, match=r"validation: must be a pair"):
        model.fit(X, y, validation=X)
    with pytest.raises(ValueError, match=r"validation was given, but noise=0.1"):
        Dual(PETClassifier(), noise=0.1).fit(X, y, validation=others)


def test_cross_fitting_asks_models_that_have_not_seen_the_rows():
    X, y = two_norms(100)
    seen = []

    def fit(rows, labels, weights):
        seen.append(rows)
        return PerturbedModel.fit(PETClassifier(), rows, labels, weights, None)

    held_out = on_folds(fit, X, y.astype(np.int32), np.array([0, 1]), None, np.random.default_rng(0))
    assert len(held_out) == len(seen) == 5
    assert all(len(rows) == 80 for rows in seen) and sum(len(one.labels) for one in held_out) == 100
    noise = Noise(0.3, 0.0, "exact")
    by_hand = [one.loss(noise, "log_loss")[0] for one in held_out]
    assert mean_loss(held_out, noise, "log_loss") == pytest.approx(sum(by_hand) / 100)


def test_classes_that_a_fold_has_not_seen():
    X, y = two_norms(60)
    labels = np.array(["a", "b"])[y].astype(object)
    labels[0] = "rare"
    for noise in ("auto", "per_attribute"):
        model = Dual(PETClassifier(min_samples_leaf=1), noise=noise, random_state=0).fit(X, labels)
        assert model.predict_proba(X).shape == (60, 3)


def test_the_papers_shortcut_asks_one_tree():
    X, y = two_norms()
    estimator = BaggedPETClassifier(20, random_state=0)
    model = Dual(estimator, tune_on="one_tree").fit(X, y)
    training = model.estimator_._encode_training(X, y, None)[1]
    (held_out,) = on_one_tree(model.model_, training, np.random.default_rng(0))
    assert 0.3 * len(X) < len(held_out.labels) < 0.45 * len(X)
    whole = Dual(estimator, tune_on="out_of_bag").fit(X, y)
    assert model.noise_ > 0 and model.noise_search_[0, 1] > whole.noise_search_[0, 1]


@pytest.mark.parametrize("mode", ["exact", "product"])
@pytest.mark.parametrize("name", ["tree", "bag", "eb", "mob", "pool"])
def test_slopes_of_held_out_rows(name, mode):
    """The gradient is that of the log-loss of the mean, or of what stands for it."""
    X, y = two_norms(120)
    model = PerturbedModel.fit(ALL[name], X, y, None, None)
    if name == "tree":
        (held_out,) = on_validation(model, *two_norms(80, seed=3))
    else:
        training = model.inner._encode_training(X, y, None)[1]
        (held_out,) = on_unseen(model, training, np.random.default_rng(0))
    levels = np.array([0.3, 0.5, 0.2, 0.8])

    def at(levels):
        return held_out.slopes(Noise(levels, 0.0, mode, tolerance=0.0))

    loss, slopes = at(levels)
    for j in range(4):
        step = np.exp(1e-4 * np.eye(4)[j])
        numeric = (at(levels * step)[0] - at(levels / step)[0]) / 2e-4
        assert slopes[j] == pytest.approx(numeric, rel=1e-3, abs=1e-4)
    if name in ("tree", "bag"):
        bits, _ = held_out.loss(Noise(levels, 0.0, mode, tolerance=0.0), "log_loss")
        assert loss == pytest.approx(bits * np.log(2))


@pytest.mark.parametrize("name", ["tree", "bag", "mob", "pool"])
def test_noise_per_attribute_is_no_worse_on_held_out_rows(name):
    random, n = np.random.default_rng(0), 800 if name == "bag" else 200
    X, y = two_norms(n)
    X[:, 3] = y + 0.01 * random.normal(size=n)  # sharp: noise hurts
    X[random.random(n) < 0.6, 3] = 0.5
    common = Dual(ALL[name], random_state=0).fit(X, y)
    apart = Dual(ALL[name], noise="per_attribute", random_state=0).fit(X, y)
    assert apart.noise_.shape == (4,) and (apart.noise_ >= 0).all()
    if name == "bag":
        training = apart.estimator_._encode_training(X, y, None)[1]
        held_out = on_unseen(apart.model_, training, np.random.default_rng(0))
        losses = [mean_loss(held_out, Noise(m.noise_, 0.0, "exact"), "log_loss") for m in (common, apart)]
        assert losses[1] < losses[0]
        assert apart.noise_[3] < apart.noise_[:3].min()


def test_nominal_noise_is_found():
    random = np.random.default_rng(0)
    y = random.integers(2, size=400)
    said = np.where(random.random((6, 400)) < 0.3, 1 - y, y)  # six witnesses that err now and then
    X = pd.DataFrame({f"witness {i}": np.array(["no", "yes"])[one] for i, one in enumerate(said)})
    model = Dual(PETClassifier(min_samples_leaf=1, smoothing="raw"), nominal_noise="auto", random_state=0).fit(X, y)
    assert model.noise_ == 0 and len(model.noise_search_) == 0  # there is no numeric attribute
    assert model.nominal_noise_search_.shape == (15, 2)
    assert model.nominal_noise_search_[:, 1].min() < 0.97 * model.nominal_noise_search_[0, 1]
    assert model.nominal_noise_ == best_of([tuple(one) for one in model.nominal_noise_search_])
    assert Dual(PETClassifier(), nominal_noise="auto").fit(X.assign(number=y * 1.0), y).noise_search_.shape == (15, 2)


def test_nothing_to_tune_on_means_no_noise():
    one_row = Dual(PETClassifier()).fit([[1.0]], ["a"])
    assert one_row.noise_ == 0
    assert Dual(PETClassifier(), noise="per_attribute").fit([[1.0], [2.0]], ["a", "b"]).predict([[1.0]]) == ["a"]


def test_no_bootstrap_means_cross_fitting():
    X, y = two_norms(80)
    estimator = BaggedPETClassifier(3, bootstrap=False, max_features=1, random_state=0)
    assert Dual(estimator, random_state=0).fit(X, y).noise_search_.shape == (15, 2)
    with pytest.raises(ValueError, match=r"tune_on='out_of_bag': needs one of petiole's ensembles with bootstrap"):
        Dual(estimator, tune_on="out_of_bag").fit(X, y)


# ---- any classifier, by drawing
@pytest.mark.parametrize("estimator", [LogisticRegression(max_iter=500), GaussianNB(), KNeighborsClassifier()])
def test_any_classifier(estimator):
    X, y = load_iris(return_X_y=True)
    model = Dual(estimator, 0.3, "monte_carlo", 50, random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    by_hand = np.random.default_rng(model.seed_)
    total = 0
    for _ in range(50):
        total = total + clone(estimator).fit(X, y).predict_proba(X + 0.3 * X.std(axis=0) * by_hand.standard_normal(4))
        by_hand.random(8)
    np.testing.assert_allclose(proba, total / 50)
    tuned = Dual(estimator, "auto", "monte_carlo", 20, random_state=0).fit(X, y)
    assert tuned.noise_search_.shape == (15, 2)


def test_votes_of_a_classifier_without_probabilities():
    X, y = load_iris(return_X_y=True)
    names = np.array(["s", "v", "w"])[y]
    with pytest.raises(ValueError, match=r"aggregate='mean' needs probabilities, which LinearSVC has not"):
        Dual(LinearSVC(), 0.1, "monte_carlo").fit(X, names)
    model = Dual(LinearSVC(), 0.1, "monte_carlo", 10, aggregate="vote").fit(X, names)
    assert model.score(X, names) > 0.9
    np.testing.assert_allclose(model.predict_proba(X) * 10, np.rint(model.predict_proba(X) * 10), atol=1e-9)


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_keep_their_kind_on_the_way_to_the_estimator(library):
    X, y = mixed_frame()
    X = X.assign(length=X["length"].fillna(0.0), flag=X["flag"].astype(str))
    if library is pl:
        X = pl.from_pandas(X)
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    shared = {"mode": "monte_carlo", "n_perturbations": 5, "random_state": 0}
    model = Dual(pipeline, noise=0.0, nominal_noise=0.5, **shared).fit(X, y)
    proba = model.predict_proba(X)
    assert np.abs(proba - clone(pipeline).fit(X, y).predict_proba(X)).max() > 0.01
    plain = Dual(pipeline, noise=0.0, **shared).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(plain, clone(pipeline).fit(X, y).predict_proba(X))


def test_nominal_columns_of_an_array():
    random = np.random.default_rng(0)
    X, y = random.integers(4, size=(100, 2)).astype(float), random.integers(2, size=100)
    model = Dual(KNeighborsClassifier(), 1.0, "monte_carlo", 5, categorical_features=[0, 1], nominal_noise=0.9)
    proba = model.set_params(random_state=0).fit(X, y).predict_proba(X)
    assert model.scales_.tolist() == [0.0, 0.0]
    assert np.abs(proba - KNeighborsClassifier().fit(X, y).predict_proba(X)).max() > 0.1


# ---- frozen and converted models
def test_a_frozen_estimator_is_kept():
    X, y = two_norms()
    fitted = PETClassifier().fit(X, y)
    model = Dual(FrozenEstimator(fitted), noise=0.3).fit(X, y)
    assert model.estimator_.estimator is fitted
    np.testing.assert_allclose(model.predict_proba(X), Dual(PETClassifier(), noise=0.3).fit(X, y).predict_proba(X))
    tuned = Dual(FrozenEstimator(fitted)).fit(*two_norms(200, seed=7))  # rows it has not seen
    assert tuned.noise_ > 0.1
    with pytest.raises(ValueError, match=r"tune_on='cross_fit': a frozen estimator is not fitted anew"):
        Dual(FrozenEstimator(fitted), tune_on="cross_fit").fit(X, y)
    bag = BaggedPETClassifier(10, random_state=0).fit(X, y)
    assert Dual(FrozenEstimator(bag), tune_on="out_of_bag").fit(X, y).noise_ > 0
    with pytest.raises(ValueError, match=r"tune_on='out_of_bag' needs the data that the model was fitted on"):
        Dual(FrozenEstimator(bag), tune_on="out_of_bag").fit(X[:200], y[:200])


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier])
def test_scikit_learns_trees_by_conversion(kind):
    X, y = two_norms()
    sklearn_model = kind(random_state=0, **({} if kind is DecisionTreeClassifier else {"n_estimators": 5})).fit(X, y)
    exact = Dual(FrozenEstimator(from_sklearn(sklearn_model)), noise=0.4).fit(X, y)
    drawn = Dual(FrozenEstimator(sklearn_model), 0.4, "monte_carlo", 1500, random_state=0).fit(X, y)
    assert np.abs(drawn.predict_proba(X[:40]) - exact.predict_proba(X[:40])).max() < 5 * 0.5 / np.sqrt(1500)


# ---- manners
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"noise": -0.1}, r"noise=-0.1: must be a number at least 0"),
        ({"noise": np.inf}, r"noise=inf: must be a number at least 0"),
        ({"noise": "much"}, r"noise='much': must be one of 'auto', 'per_attribute', 'or a number at least 0"),
        ({"noise": [0.1, 0.2]}, r"noise=\[0.1, 0.2\]: must be 'auto', 'per_attribute', a number at least 0, or 4 such"),
        ({"noise": [0.1, 0.2, -1, 0]}, r"must be 'auto', .* or 4 such numbers, one per attribute"),
        ({"noise": None}, r"noise=None: must be 'auto'"),
        ({"noise": True}, r"noise=True: must be a number"),
        ({"nominal_noise": 1.5}, r"nominal_noise=1.5: must be a number between 0 and 1"),
        ({"nominal_noise": "x"}, r"nominal_noise='x': must be one of 'auto'"),
        ({"mode": "fast"}, r"mode='fast': must be one of 'exact', 'product', 'monte_carlo'"),
        ({"n_perturbations": 0}, r"n_perturbations=0: must be a whole number at least 1"),
        ({"aggregate": "max"}, r"aggregate='max': must be one of 'mean', 'vote'"),
        ({"objective": "brier"}, r"objective='brier': must be one of 'log_loss', 'error'"),
        ({"tune_on": "test"}, r"tune_on='test': must be one of"),
        ({"verbose": -1}, r"verbose=-1: must be a whole number at least 0"),
        ({"noise": "per_attribute", "mode": "monte_carlo"}, r"noise='per_attribute' needs a gradient"),
        ({"estimator": LogisticRegression()}, r"mode='exact': LogisticRegression is none of .* use mode='monte_carlo'"),
        ({"estimator": BaggedPETClassifier(), "aggregate": "vote"}, r"aggregate='vote': .* use mode='monte_carlo'"),
        ({"estimator": PETClassifier}, r"estimator=.*must be a classifier with fit, such as PETClassifier\(\)"),
        ({"tune_on": "one_tree"}, r"tune_on='one_tree': needs one of petiole's ensembles"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = two_norms(30)
    model = Dual(**{"estimator": PETClassifier(), **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_bad_parameters_are_refused_after_the_fit():
    X, y = two_norms(30)
    model = Dual(PETClassifier(), noise=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"noise=-1"):
        model.set_params(noise=-1).predict_proba(X)
    with pytest.raises(ValueError, match=r"4 such numbers"):
        model.set_params(noise=[0.1]).predict_proba(X)


def test_weights_for_an_estimator_that_takes_none():
    X, y = two_norms(30)
    with pytest.raises(ValueError, match=r"sample_weight was given, but KNeighborsClassifier.fit does not take it"):
        Dual(KNeighborsClassifier(), 0.1, "monte_carlo").fit(X, y, sample_weight=np.ones(30))


def test_a_fit_that_fails_changes_nothing():
    X, y = two_norms()
    model = Dual(PETClassifier(), noise=0.1).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="validation"):
        model.set_params(noise="auto").fit(X[:, :2], y, validation=(X[:, :2], np.full(len(X), 9)))
    np.testing.assert_array_equal(model.set_params(noise=0.1).predict_proba(X), before)
    assert model.n_features_in_ == 4


def test_leaf_weights():
    X, y = two_norms()
    model = Dual(PETClassifier(), noise=0.2).fit(X, y)
    weights = model.leaf_weights(X)
    np.testing.assert_allclose(np.asarray(weights.sum(axis=1)).ravel(), 1.0)
    np.testing.assert_allclose(weights @ model.estimator_.node_probabilities_, model.predict_proba(X), atol=1e-12)
    with pytest.raises(ValueError, match=r"leaf_weights: BaggedPETClassifier with mode='exact' has no single tree"):
        Dual(BaggedPETClassifier(3), noise=0.2).fit(X, y).leaf_weights(X)


@EVERYONE
def test_pickling(name):
    X, y = mixed_frame()
    model = Dual(ALL[name], noise="auto", nominal_noise=0.1, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(again.feature_names_in_, X.columns)


@EVERYONE
def test_threads_do_not_matter(name):
    X, y = two_norms(400)
    one, three = (Dual(ALL[name], random_state=0, n_jobs=n).fit(X, y) for n in (1, 3))
    assert one.noise_ == three.noise_
    np.testing.assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_searches_pipelines_and_routing():
    X, y = two_norms()
    search = GridSearchCV(Dual(PETClassifier(), noise=0.1), {"noise": [0, 0.5], "estimator__min_samples_leaf": [1, 9]})
    assert search.fit(X, y).best_params_["noise"] == 0.5
    assert make_pipeline(StandardScaler(), Dual(PETClassifier(), noise=0.3)).fit(X, y).score(X, y) > 0.6
    with config_context(enable_metadata_routing=True):
        model = (
            Dual(PETClassifier(), noise=0.3).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
        weights = np.random.default_rng(0).random(len(X)) + 0.5
        routed = cross_validate(model, X, y, params={"sample_weight": weights}, return_estimator=True)
        assert all(np.isfinite(one.scales_).all() for one in routed["estimator"])


def test_it_says_what_it_does(capsys):
    X, y = two_norms(100)
    model = Dual(PETClassifier(), verbose=1).fit(X, y)
    said = capsys.readouterr().out
    assert said.count("log_loss") == 15 and "noise=0.0000" in said
    model.predict_proba(X)
    assert "100 of 100 rows" in capsys.readouterr().out
    Dual(GaussianNB(), 0.1, "monte_carlo", 7, verbose=1).fit(X, y).predict_proba(X)
    assert "7 of 7 perturbations" in capsys.readouterr().out


def test_ctrl_c_stops_a_long_prediction():
    X, y = two_norms(20_000)
    model = Dual(BaggedPETClassifier(40, random_state=0), noise=2.0).fit(X[:6000], y[:6000])
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        model.predict_proba(X)
    assert time.perf_counter() - started < 5
    timer.join()


def test_labels_of_any_kind():
    X, y = two_norms(60)
    for labels in (["no", "yes"], [False, True], [-3, 12]):
        named = np.array(labels)[y]
        model = Dual(PETClassifier(), noise=0.2).fit(X, named)
        assert set(model.predict(X)) <= set(named)
        np.testing.assert_array_equal(model.classes_, np.sort(labels))
    assert np.isneginf(Dual(PETClassifier(smoothing="raw"), 0).fit(X, y).predict_log_proba(X)).any()
