"""Naive Bayes: the naive version, laws, frames, and binned scores."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from naive_recalibration import binned_probability, naive_bayes, repeated
from petiole import BinnedNaiveBayesClassifier
from petiole._classifiers.naive_bayes import log_odds

NUMBERS = st.one_of(st.none(), st.integers(-6, 6).map(lambda i: i / 4))
NAMES = st.one_of(st.none(), st.sampled_from("pqrs"))
ROW = st.tuples(NUMBERS, NAMES, NUMBERS)
TRAINING = st.lists(st.tuples(ROW, st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=25)


def as_frame(rows):
    numeric, names, other = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "x": np.array([np.nan if v is None else v for v in numeric], dtype=float),
            "n": pd.Series(names, dtype=object),
            "z": np.array([np.nan if v is None else v for v in other], dtype=float),
        }
    )


@settings(max_examples=150, deadline=None)
@given(TRAINING, st.lists(ROW, min_size=1, max_size=4), st.integers(1, 6), st.sampled_from([1.0, 0.5, 3.0]))
def test_against_naive(training, queries, n_bins, alpha):
    rows, labels, weights = zip(*training, strict=True)
    weights = (1, *weights[1:])  # one row somewhere, so that the others are so many rows
    model = BinnedNaiveBayesClassifier(n_bins, alpha=alpha, categorical_features=["n"])
    found = model.fit(as_frame(rows), labels, sample_weight=weights).predict_proba(as_frame(queries))
    classes = model.classes_.tolist()
    codes = [classes.index(label) for label in labels]
    many, many_codes = repeated(rows, weights), repeated(codes, weights)
    nominal = [False, True, False]
    expected = [naive_bayes(many, many_codes, len(classes), nominal, query, n_bins, alpha) for query in queries]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_golden_example():
    """Two bins and two names, counted by hand."""
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "n": ["p", "p", "q", "q"]})
    model = BinnedNaiveBayesClassifier(2).fit(X, ["no", "no", "no", "yes"])
    # P(no) = 3/4, low given no (2+1)/(3+2), p given no (2+1)/(3+2); P(yes) = 1/4, low 1/3, p 1/3.
    no, yes = 3 / 4 * 3 / 5 * 3 / 5, 1 / 4 * 1 / 3 * 1 / 3
    found = model.predict_proba(pd.DataFrame({"x": [-7.0], "n": ["p"]}))
    np.testing.assert_allclose(found, [[no / (no + yes), yes / (no + yes)]])
    np.testing.assert_allclose(model.edges_[0], [2.5])
    assert model.edges_[1] is None


def test_missing_and_unseen_values_leave_their_factor_out():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan], "n": ["p", "p", "q", "q"]})
    y = [0, 0, 1, 1]
    both = BinnedNaiveBayesClassifier().fit(X, y)
    alone = BinnedNaiveBayesClassifier().fit(X[["x"]], y)
    for strange in ("never seen", None):
        query = pd.DataFrame({"x": [1.0], "n": pd.Series([strange], dtype=object)})
        np.testing.assert_allclose(both.predict_proba(query), alone.predict_proba(query[["x"]]))
    nothing = pd.DataFrame({"x": [np.nan], "n": pd.Series([None], dtype=object)})
    np.testing.assert_allclose(both.predict_proba(nothing), [[0.5, 0.5]])


def test_categories_without_rows_do_not_count():
    """A categorical may list categories that never occur; they change nothing and say nothing."""
    names = ["p", "p", "q", "q"]
    plain = pd.DataFrame({"n": names})
    listed = pd.DataFrame({"n": pd.Categorical(names, categories=["p", "q", "r", "s"])})
    y = [0, 0, 0, 1]
    first, second = BinnedNaiveBayesClassifier().fit(plain, y), BinnedNaiveBayesClassifier().fit(listed, y)
    np.testing.assert_allclose(first.predict_proba(plain), second.predict_proba(listed))
    unseen = pd.DataFrame({"n": pd.Categorical(["r"], categories=["p", "q", "r", "s"])})
    np.testing.assert_allclose(second.predict_proba(unseen), [[0.75, 0.25]])


def test_many_attributes_do_not_underflow():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 60)
    X = random.normal(size=(60, 3000)) + y[:, np.newaxis]
    proba = BinnedNaiveBayesClassifier().fit(X, y).predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_without_correction_the_impossible_gets_the_base_rates():
    X = pd.DataFrame({"n": ["p", "q", "q"], "m": ["u", "v", "v"]})
    model = BinnedNaiveBayesClassifier(alpha=0).fit(X, [0, 1, 1])
    found = model.predict_proba(pd.DataFrame({"n": ["p", "p"], "m": ["u", "v"]}))
    np.testing.assert_allclose(found, [[1, 0], [1 / 3, 2 / 3]])


def test_a_vanishing_correction_is_none():
    X, y = load_iris(return_X_y=True)
    # With two bins per attribute no class is without rows where iris has any.
    none, little = (BinnedNaiveBayesClassifier(2, alpha=alpha).fit(X, y).predict_proba(X) for alpha in (0, 1e-12))
    np.testing.assert_allclose(none, little, atol=1e-9)


def test_a_large_correction_leaves_the_base_rates():
    X, y = load_iris(return_X_y=True)
    np.testing.assert_allclose(BinnedNaiveBayesClassifier(alpha=1e12).fit(X, y).predict_proba(X), 1 / 3, atol=1e-8)


@pytest.mark.parametrize("score_bins", [None, 6])
def test_weights_are_copies_and_zero_is_absence(score_bins):
    random = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    weights = random.integers(0, 4, len(y))
    model = BinnedNaiveBayesClassifier(score_bins=score_bins)
    weighted = clone(model).fit(X, y, sample_weight=weights).predict_proba(X)
    copied = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict_proba(X)
    np.testing.assert_allclose(weighted, copied)


def test_classes_and_columns_may_be_permuted():
    X, y = load_iris(return_X_y=True)
    first = BinnedNaiveBayesClassifier().fit(X, y).predict_proba(X)
    second = BinnedNaiveBayesClassifier().fit(X[:, ::-1], 2 - y).predict_proba(X[:, ::-1])
    np.testing.assert_allclose(first, second[:, ::-1])


def test_increasing_functions_of_an_attribute_change_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    first = BinnedNaiveBayesClassifier().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(first, BinnedNaiveBayesClassifier().fit(X**3, y).predict_proba(X**3))


def test_frames_of_all_kinds_agree():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan], "n": ["p", "q", None, "q"]})
    y = ["a", "b", "b", "a"]
    first = BinnedNaiveBayesClassifier().fit(X, y).predict_proba(X)
    other = pl.from_pandas(X)
    np.testing.assert_allclose(first, BinnedNaiveBayesClassifier().fit(other, y).predict_proba(other))


def test_columns_and_classes_at_the_edge():
    X = np.array([[np.nan, 5.0], [np.nan, 5.0], [np.nan, 5.0]])
    model = BinnedNaiveBayesClassifier.zadrozny_elkan().fit(X, ["a", "a", "b"])
    np.testing.assert_allclose(model.predict_proba(X), [[2 / 3, 1 / 3]] * 3)
    single = BinnedNaiveBayesClassifier.zadrozny_elkan().fit(X, ["a", "a", "a"])
    assert single.predict_proba(X).tolist() == [[1.0]] * 3


def test_a_class_without_known_values_has_no_preference():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    model = BinnedNaiveBayesClassifier(alpha=0).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[0.5, 0.5]])


def test_scores_are_binned_on_the_same_rows():
    X, y = load_breast_cancer(return_X_y=True)
    plain = BinnedNaiveBayesClassifier().fit(X, y)
    binned = BinnedNaiveBayesClassifier.zadrozny_elkan().fit(X, y)
    joint = plain.predict_joint_log_proba(X)
    scores = (joint[:, 1] - joint[:, 0]).tolist()
    expected = [binned_probability(scores, y.tolist(), 10, score) for score in scores[:40]]
    np.testing.assert_allclose(binned.predict_proba(X[:40])[:, 1], expected)
    assert binned.calibrator_.counts_[0].sum() == len(y)


def test_binning_mends_naive_bayes():
    """Attributes that repeat each other make naive Bayes too sure; bins make up for it."""
    random = np.random.default_rng(0)
    truth = random.normal(size=4000)
    y = (random.random(4000) < 1 / (1 + np.exp(-truth))).astype(int)
    X = truth[:, np.newaxis] + 0.1 * random.normal(size=(4000, 8))
    half = 2000

    def loss(model):
        own = model.fit(X[:half], y[:half]).predict_proba(X[half:])[np.arange(half), y[half:]]
        return -np.log2(np.maximum(own, 1e-9)).mean()

    assert loss(BinnedNaiveBayesClassifier.zadrozny_elkan()) < loss(BinnedNaiveBayesClassifier()) - 0.3


def test_log_odds_are_exact_where_probabilities_round_to_one():
    joint = np.array([[0.0, -50.0, -51.0], [-3.0, -1.0, -2.0]])
    expected = [
        [row[k] - math.log(sum(math.exp(v) for i, v in enumerate(row) if i != k)) for k in range(3)]
        for row in joint.tolist()
    ]
    np.testing.assert_allclose(log_odds(joint), expected)


def test_lives_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(FunctionTransformer(), BinnedNaiveBayesClassifier())
    assert cross_val_score(pipeline, X, y).mean() > 0.9
    search = GridSearchCV(BinnedNaiveBayesClassifier(), {"n_bins": [2, 10]}, scoring="neg_log_loss").fit(X, y)
    model = search.best_estimator_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bins": 0}, "n_bins=0: must be a whole number at least 1"),
        ({"alpha": -1}, r"alpha=-1: must be a number at least 0"),
        ({"alpha": 1.7e308}, r"alpha=1.7e\+308"),
        ({"score_bins": 1.5}, "score_bins=1.5: must be a whole number at least 1 or None"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        BinnedNaiveBayesClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_a_failed_fit_changes_nothing():
    X, y = load_iris(return_X_y=True)
    model = BinnedNaiveBayesClassifier().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="alpha"):
        model.set_params(alpha="much").fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_binned_naive_bayes_does_well_on_coil(load_real):
    """Zadrozny & Elkan's Table 4 has .13409 for naive Bayes and .10742 when binned; the base rates .11192."""
    X, y = load_real("coil2000-train")
    X_test, y_test = load_real("coil2000-test")
    truth = (y_test[:, np.newaxis] == np.unique(y)).astype(float)

    def error(model):
        return ((model.fit(X, y).predict_proba(X_test) - truth) ** 2).sum(axis=1).mean()

    plain, binned = error(BinnedNaiveBayesClassifier()), error(BinnedNaiveBayesClassifier.zadrozny_elkan())
    assert binned < 0.11192 < plain
