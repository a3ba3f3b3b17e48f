"""Binning of scores and the constant baselines: the naive version, laws, golden numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from naive_recalibration import bin_of, binned_probabilities, binned_probability, cut_into_bins, repeated
from petiole import BinningCalibrator, ConstantClassifier
from petiole.calibrators._binning import bin_numbers, equal_weight_edges

# Few values: ties everywhere. Eighths: midpoints are exact.
SCORES = st.integers(-8, 8).map(lambda i: i / 8)
ROWS = st.lists(st.tuples(SCORES, st.booleans(), st.integers(1, 3)), min_size=1, max_size=30)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(1, 12), st.lists(SCORES, min_size=1, max_size=5))
def test_two_classes_against_naive(rows, n_bins, queries):
    scores, positive, weights = zip(*rows, strict=True)
    weights = (1, *weights[1:])  # one row somewhere, so that the others are so many rows
    labels = ["b" if y else "a" for y in positive]
    if len(set(labels)) < 2:
        return
    calibrator = BinningCalibrator(n_bins).fit(scores, labels, sample_weight=weights)
    many_scores, many_positive = repeated(scores, weights), repeated(positive, weights)
    expected = [binned_probability(many_scores, many_positive, n_bins, query) for query in queries]
    np.testing.assert_allclose(calibrator.predict(queries), expected)
    bins = cut_into_bins(many_scores, n_bins)
    assert calibrator.counts_[0].tolist() == [len(inside) for inside in bins]
    assert bin_numbers(np.array(queries), calibrator.edges_[0]).tolist() == [bin_of(query, bins) for query in queries]


@pytest.mark.parametrize("seed", range(20))
def test_many_classes_against_naive(seed):
    random = np.random.default_rng(seed)
    n, n_classes = int(random.integers(6, 40)), int(random.integers(3, 6))
    labels = np.concatenate([np.arange(n_classes), random.integers(0, n_classes, n)])
    scores = random.integers(-3, 4, (len(labels), n_classes)).astype(float)
    n_bins = int(random.integers(1, 6))
    found = BinningCalibrator(n_bins).fit(scores, labels).predict(scores)
    expected = [binned_probabilities(scores.tolist(), labels.tolist(), n_classes, n_bins, row) for row in scores]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_base_rates_where_every_class_has_an_empty_share():
    labels = np.array([0, 0, 0, 1, 2])
    calibrator = BinningCalibrator(5).fit(np.eye(3)[labels], labels)
    np.testing.assert_allclose(calibrator.predict(np.zeros((1, 3))), [[0.6, 0.2, 0.2]])


def test_without_ties_bins_have_equal_counts():
    random = np.random.default_rng(0)
    scores = random.normal(size=200)
    calibrator = BinningCalibrator().fit(scores, random.integers(0, 2, 200))
    assert calibrator.counts_[0].tolist() == [20] * 10
    assert len(calibrator.edges_[0]) == 9


def test_golden_example():
    scores = [0.1, 0.2, 0.2, 0.2, 0.5, 0.6, 0.7, 0.9]
    calibrator = BinningCalibrator(n_bins=4).fit(scores, [0, 1, 0, 0, 1, 0, 1, 1])
    # The first boundary falls among the three 0.2 and moves behind them; the second is there already.
    np.testing.assert_allclose(calibrator.edges_[0], [0.35, 0.65])
    assert calibrator.counts_[0].tolist() == [4, 2, 2]
    np.testing.assert_allclose(calibrator.frequencies_[0], [0.25, 0.5, 1.0])
    np.testing.assert_allclose(calibrator.predict([-99, 0.35, 0.36, 99]), [0.25, 0.25, 0.5, 1.0])


def test_order_of_rows_and_names_of_classes_do_not_matter():
    random = np.random.default_rng(1)
    scores, labels = random.normal(size=(60, 3)), random.integers(0, 3, 60)
    shuffled = random.permutation(60)
    first = BinningCalibrator(5).fit(scores, labels).predict(scores)
    second = BinningCalibrator(5).fit(scores[shuffled], labels[shuffled]).predict(scores)
    np.testing.assert_allclose(first, second)
    renamed = np.array(["z", "y", "x"])[labels]
    third = BinningCalibrator(5).fit(scores[:, ::-1], renamed).predict(scores[:, ::-1])
    np.testing.assert_allclose(first[:, ::-1], third)


def test_any_increasing_function_of_the_scores_gives_the_same_answers_on_them():
    random = np.random.default_rng(2)
    scores, labels = random.normal(size=100), random.integers(0, 2, 100)
    first = BinningCalibrator().fit(scores, labels).predict(scores)
    np.testing.assert_array_equal(first, BinningCalibrator().fit(np.exp(scores), labels).predict(np.exp(scores)))


def test_mean_probability_is_the_base_rate():
    random = np.random.default_rng(3)
    scores, labels, weights = random.normal(size=80), random.integers(0, 2, 80), random.random(80)
    found = BinningCalibrator().fit(scores, labels, weights).predict(scores)
    np.testing.assert_allclose(np.average(found, weights=weights), np.average(labels, weights=weights))


def test_fractional_weights_keep_bins_in_place():
    """Tenths do not add up exactly; the bins are those of whole numbers all the same."""
    np.testing.assert_array_equal(equal_weight_edges(np.arange(6.0), np.full(6, 0.3), 3), [1.5, 3.5])
    random = np.random.default_rng(4)
    scores, weights = random.normal(size=300), random.integers(1, 5, 300).astype(float)
    whole, tenths = (equal_weight_edges(scores, weights * unit, 10) for unit in (1.0, 0.1))
    np.testing.assert_array_equal(whole, tenths)


def test_neighbouring_floats_are_told_apart():
    low = 1.0
    for _ in range(3):  # one of the midpoints is rounded upwards
        high = np.nextafter(low, 2.0)
        edges = equal_weight_edges(np.array([low, high]), None, 2)
        assert bin_numbers(np.array([low, high]), edges).tolist() == [0, 1]
        low = high


def test_zero_weights_are_absent_rows():
    scores, labels, weights = [0.1, 0.2, 0.3, 0.4, 99], [0, 0, 1, 1, 0], [1, 1, 1, 1, 0]
    found = BinningCalibrator(2).fit(scores, labels, weights)
    assert found.counts_[0].tolist() == [2, 2]
    np.testing.assert_allclose(found.edges_[0], [0.25])


def test_scores_of_another_model():
    X, y = load_iris(return_X_y=True)
    scores = cross_val_predict(LogisticRegression(max_iter=500), X, y, method="predict_proba")
    calibrator = pickle.loads(pickle.dumps(clone(BinningCalibrator(5)).fit(scores, y)))
    proba = calibrator.transform(scores)
    assert proba.shape == (150, 3)
    assert (proba.argmax(axis=1) == y).mean() > 0.9


@pytest.mark.parametrize(
    ("scores", "y", "message"),
    [
        ([0.1, np.nan], [0, 1], r"scores\[1\]=nan: must be finite"),
        ([[0.1, np.inf]], [0], r"scores\[0, 1\]=inf"),
        ([0.1, 0.2], [0, 0], "one column, but the classes of y are"),
        ([0.1, 0.2, 0.3], [0, 1, 2], "one column"),
        ([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], [0, 1, 2], "scores has 2 columns, but y has 3 classes"),
        ([0.1, 0.2], [0, 1, 1], "inconsistent numbers of samples"),
        (["a", "b"], [0, 1], "must be real numbers"),
        ([], [], "with at least one row"),
    ],
)
def test_errors_say_what_to_do(scores, y, message):
    with pytest.raises(ValueError, match=message):
        BinningCalibrator().fit(scores, y)


def test_parameters_and_shapes_are_checked():
    with pytest.raises(ValueError, match="n_bins=0: must be a whole number at least 1"):
        BinningCalibrator(0).fit([0.1, 0.2], [0, 1])
    fitted = BinningCalibrator().fit([0.1, 0.2], [0, 1])
    with pytest.raises(ValueError, match=r"must be \(n_rows,\), as in fit"):
        fitted.predict([[0.1, 0.2]])


# Constant baselines.

# KDD'98: 95,412 training rows with 4,843 donors; CoIL: 5,822 with 348 and 4,000 with 238 (Zadrozny & Elkan 2001).
KDD98 = np.repeat([0, 1], [95_412 - 4_843, 4_843])
COIL_TRAINING, COIL_TEST = np.repeat([0, 1], [5_474, 348]), np.repeat([0, 1], [3_762, 238])


def mean_squared_error(model, y):
    truth = np.eye(2)[y]
    return ((model.predict_proba(np.zeros((len(y), 1))) - truth) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize(
    ("strategy", "kdd98", "coil_training", "coil_test"),
    [("zero", 0.10151, 0.11955, 0.11900), ("one", 1.89848, 1.88045, 1.88100), ("base_rate", 0.09636, 0.11240, 0.11192)],
)
def test_constants_have_the_errors_in_the_paper(strategy, kdd98, coil_training, coil_test):
    model = ConstantClassifier(strategy).fit(np.zeros((len(KDD98), 1)), KDD98)
    assert mean_squared_error(model, KDD98) == pytest.approx(kdd98, abs=1.1e-5)
    model = ConstantClassifier(strategy).fit(np.zeros((len(COIL_TRAINING), 1)), COIL_TRAINING)
    assert mean_squared_error(model, COIL_TRAINING) == pytest.approx(coil_training, abs=1.1e-5)
    assert mean_squared_error(model, COIL_TEST) == pytest.approx(coil_test, abs=1.1e-5)


def test_base_rate_has_the_log_loss_in_the_paper():
    model = ConstantClassifier().fit(np.zeros((len(KDD98), 1)), KDD98)
    own = model.predict_proba(np.zeros((len(KDD98), 1)))[np.arange(len(KDD98)), KDD98]
    assert -np.log2(own).mean() == pytest.approx(0.28961, abs=1.1e-5)


def test_constants_of_many_classes():
    X, y = [[0]] * 4, ["a", "b", "b", "c"]
    assert ConstantClassifier().fit(X, y).predict_proba(X)[0].tolist() == [0.25, 0.5, 0.25]
    assert ConstantClassifier("one", positive="c").fit(X, y).predict_proba(X)[0].tolist() == [0, 0, 1]
    zero = ConstantClassifier("zero", positive="c").fit(X, y)
    np.testing.assert_allclose(zero.predict_proba(X)[0], [1 / 3, 2 / 3, 0])
    assert zero.predict(X).tolist() == ["b"] * 4


def test_constants_are_weighted():
    model = ConstantClassifier().fit([[0], [0], [0]], ["a", "b", "c"], sample_weight=[3, 1, 0])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.probabilities_.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (ConstantClassifier("zero"), ["a", "b", "c"], "positive=None: name one of the 3 classes"),
        (ConstantClassifier("one", positive="d"), ["a", "b", "c"], "positive='d': must be one of the classes"),
        (ConstantClassifier("zero"), ["a", "a", "a"], "y has one class, 'a'"),
        (ConstantClassifier("half"), ["a", "b", "c"], "strategy='half': must be one of 'base_rate', 'zero', 'one'"),
    ],
)
def test_constants_that_mean_nothing_are_errors(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0], [0], [0]], y)
