"""Dual perturb and combine: laws, and the manners of an estimator."""

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
    load,
)
from petiole import DualPerturbCombineClassifier as Dual
from petiole._dual.noise import Attributes
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


@EVERYONE
@pytest.mark.parametrize("mode", ["exact", "product", "monte_carlo"])
def test_a_row_alone_gets_the_answer_that_it_gets_among_others(name, mode):
    """To the last bit, also beside rows with missing values: a rounding error can turn the vote of an ensemble."""
    X, y = two_norms(120)
    X[::7, 0], X[::11, 1] = np.nan, np.nan
    model = Dual(clone(ALL[name]), noise=0.3, mode=mode, n_perturbations=3, random_state=0).fit(X, y)
    answers = model.predict_proba(X)
    np.testing.assert_array_equal(np.vstack([model.predict_proba(row[np.newaxis]) for row in X]), answers)
    np.testing.assert_array_equal(model.predict_proba(np.asfortranarray(X[::-1]))[::-1], answers)
    without_missing = X[~np.isnan(X).any(axis=1)]
    np.testing.assert_array_equal(model.predict_proba(without_missing), answers[~np.isnan(X).any(axis=1)])


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


@pytest.mark.parametrize(
    "values, deviation",
    [([1e16, 1e16 + 2, 1e16 + 4], np.sqrt(8 / 3)), ([-1.7e308, 1.7e308], 1.7e308), ([1e-310, 3e-310], 1e-310)],
)
def test_scales_of_far_and_large_and_small_values(values, deviation):
    found = Attributes.of(np.array(values)[:, None], None, np.array([0]))
    np.testing.assert_allclose(found.scales, [deviation], rtol=1e-9)


def test_rows_of_weight_zero_are_absent():
    """Also where they alone have a value."""
    X, y = two_norms(60)
    weights = np.ones(60)
    weights[:20] = 0
    X[20:, 1] = np.nan
    model = Dual(PETClassifier(), 0.3).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.scales_, [*Dual(PETClassifier(), 0.3).fit(X[20:], y[20:]).scales_])
    assert model.scales_[1] == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("estimator", [PETClassifier(), DecisionTreeClassifier()])
def test_perturbed_values_stay_finite(estimator):
    X, y = two_norms(40)
    X *= 1e30 if isinstance(estimator, DecisionTreeClassifier) else 1e307
    for noise in (1.0, 1e100) if isinstance(estimator, PETClassifier) else (1.0,):
        model = Dual(clone(estimator), noise, "monte_carlo", 4, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_nothing_is_searched_where_no_row_is_unseen(tmp_path):
    X, y = two_norms(2)
    model = Dual(BaggedPETClassifier(1, random_state=0), random_state=0).fit(X[:1], y[:1])
    assert model.noise_ == 0 and model.noise_search_.shape == (0, 2)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


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


# ---- any classifier, by drawing
@pytest.mark.parametrize("estimator", [LogisticRegression(max_iter=500), GaussianNB(), KNeighborsClassifier()])
def test_any_classifier(estimator):
    X, y = load_iris(return_X_y=True)
    model = Dual(estimator, 0.3, "monte_carlo", 50, random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    by_hand = np.random.default_rng(model.seed_)
    total, fitted = 0, clone(estimator).fit(X, y)
    for _ in range(50):
        total = total + fitted.predict_proba(X + 0.3 * X.std(axis=0) * by_hand.standard_normal(4))
        by_hand.random(8)
    np.testing.assert_allclose(proba, total / 50)
    tuned = Dual(estimator, "auto", "monte_carlo", 5, random_state=0).fit(X, y)
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
    with pytest.raises(ValueError, match=r"tune_on='cross_fit': a frozen estimator is not fitted again"):
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
        ({"noise": np.inf}, r"noise=inf: must be a number between 0 and 1e\+100"),
        (
            {"noise": "much"},
            r"noise='much': must be one of 'auto', 'per_attribute', or a number at least 0, or one per",
        ),
        ({"noise": [0.1, 0.2]}, r"noise=\[0.1, 0.2\]: must be 'auto', .* a number between 0 and 1e\+100, or 4 such"),
        ({"noise": [0.1, 0.2, -1, 0]}, r"must be 'auto', .* or 4 such numbers, one per feature"),
        ({"noise": [0.1, 0.2, 1e300, 0]}, r"must be 'auto', .* or 4 such numbers, one per feature"),
        ({"noise": 1e300}, r"noise=1e\+300: must be a number between 0 and 1e\+100"),
        ({"noise": "or a number at least 0, or one per feature"}, r"noise='or a .*: must be one of 'auto'"),
        ({"noise": None}, r"noise=None: must be 'auto'"),
        ({"noise": True}, r"noise=True: must be a number"),
        ({"nominal_noise": 1.5}, r"nominal_noise=1.5: must be a number between 0 and 1"),
        ({"nominal_noise": "x"}, r"nominal_noise='x': must be one of 'auto', or a number between 0 and 1"),
        ({"nominal_noise": "or a number between 0 and 1"}, r"nominal_noise='or a .*: must be one of 'auto'"),
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


@pytest.mark.posix
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
