"""Bias and variance: exact fractions, identities, the study over a parameter, and its picture."""

from __future__ import annotations

from fractions import Fraction

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_moons
from sklearn.linear_model import Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from naive_comparison import kohavi_wolpert, probability_parts, unbiased_kohavi_wolpert
from petiole import BaggedPETClassifier, PETClassifier
from petiole.comparison import bias_variance, bias_variance_study, probability_bias_variance
from petiole.comparison.resampling import as_generator


@st.composite
def problems(draw):
    """Predictions (n_sets, n) and true probabilities in tenths, of one to four classes."""
    n_sets, n_rows, n_classes = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    predictions = rng.integers(n_classes, size=(n_sets, n_rows))
    shares = rng.multinomial(10, np.full(n_classes, 1 / n_classes), size=n_rows)
    return predictions, shares


def parts(result):
    return result.error, result.squared_bias, result.variance, result.noise


@given(problems())
@settings(max_examples=80, deadline=None)
def test_kohavi_wolpert_in_fractions(problem):
    predictions, shares = problem
    classes = range(shares.shape[1])
    truth = [{c: Fraction(int(row[c]), 10) for c in classes} for row in shares]
    exact = kohavi_wolpert(predictions.tolist(), truth, classes)
    assert exact[0] == exact[1] + exact[2] + exact[3]
    if len(classes) == 1:
        return  # a table of one column cannot be told from a column of labels
    given_truth = shares / 10
    result = bias_variance(predictions, given_truth, labels=classes)
    assert parts(result) == pytest.approx([float(part) for part in exact], abs=1e-12)
    if len(predictions) > 1:
        exact = unbiased_kohavi_wolpert(predictions.tolist(), truth, classes)
        unbiased = bias_variance(predictions, given_truth, labels=classes, unbiased=True)
        assert parts(unbiased) == pytest.approx([float(part) for part in exact], abs=1e-12)
        assert unbiased.error == pytest.approx(result.error)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_labels_are_certain_probabilities(problem):
    predictions, shares = problem
    y, n_classes = shares.argmax(axis=1), shares.shape[1]
    words = np.array(["a", "b", "c", "d"])
    result = bias_variance(words[predictions], words[y])
    truth = [{c: Fraction(int(c == label)) for c in range(n_classes)} for label in y.tolist()]
    exact = kohavi_wolpert(predictions.tolist(), truth, range(n_classes))
    assert parts(result) == pytest.approx([float(part) for part in exact], abs=1e-12)
    assert result.noise == 0
    assert result.error == pytest.approx((predictions != y).mean())


@given(problems(), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_probabilities(problem, seed):
    predictions, shares = problem
    if shares.shape[1] == 1:
        return
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(shares.shape[1]), size=predictions.shape)
    result = probability_bias_variance(proba, shares / 10)
    assert parts(result) == pytest.approx(probability_parts(proba.tolist(), (shares / 10).tolist()), abs=1e-12)
    y = shares.argmax(axis=1)
    brier = ((proba - np.eye(shares.shape[1])[y]) ** 2).mean()
    assert probability_bias_variance(proba, y, labels=range(shares.shape[1])).error == pytest.approx(brier)


def test_certain_votes_are_the_decisions():
    """Half the sum of squares over two classes is their mean: the decompositions agree on votes as probabilities."""
    rng = np.random.default_rng(0)
    predictions, truth = rng.integers(2, size=(9, 20)), rng.dirichlet([1, 1], size=20)
    votes = np.eye(2)[predictions]
    decisions, probabilities = bias_variance(predictions, truth), probability_bias_variance(votes, truth)
    assert parts(decisions) == pytest.approx(parts(probabilities))
    assert decisions.row_variance == pytest.approx(probabilities.row_variance)


def test_unbiased_is_unbiased():
    """Few learning sets: the plain squared bias is too large on average, the corrected one is right."""
    rng = np.random.default_rng(1)
    q, p, n_sets, n_studies = 0.3, 0.8, 3, 20_000
    predictions = (rng.random((n_sets, n_studies)) < q).astype(int)
    truth = np.tile([1 - p, p], (n_studies, 1))
    corrected, plain = (bias_variance(predictions, truth, unbiased=unbiased) for unbiased in (True, False))
    assert corrected.squared_bias == pytest.approx((p - q) ** 2, abs=0.006)
    assert corrected.variance == pytest.approx(q * (1 - q), abs=0.004)
    assert plain.squared_bias > (p - q) ** 2 + 0.05
    proba = np.stack([1 - predictions, predictions], axis=2)
    assert probability_bias_variance(proba, truth, unbiased=True).squared_bias == pytest.approx(corrected.squared_bias)


def test_weights_are_numbers_of_rows():
    rng = np.random.default_rng(2)
    predictions, y, weights = rng.integers(3, size=(5, 12)), rng.integers(3, size=12), rng.integers(0, 3, size=12)
    rows = np.repeat(np.arange(12), weights)
    weighted = bias_variance(predictions, y, sample_weight=weights)
    assert parts(weighted) == pytest.approx(parts(bias_variance(predictions[:, rows], y[rows])))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bias_variance([0, 1], [0, 1]), "a row per learning set"),
        (lambda: bias_variance([[0, 1]], [0, 1, 0]), "predictions has 2 test rows, but y_true has 3"),
        (lambda: bias_variance([[0, 1]], [0, 1], unbiased=True), "at least two learning sets"),
        (lambda: bias_variance([[0, 1]], [[0.5, 0.4], [1, 0]]), r"y_true\[0\] sums to 0.9"),
        (lambda: bias_variance([[0, 0]], [[0.5, 0.5], [1, 0]]), "pass labels="),
        (lambda: bias_variance([[0, 2]], [0, 1], labels=[0, 1]), "predictions has the label 2"),
        (lambda: bias_variance([[0, 1]], [0, 1], labels=[0, 0]), "occur once"),
        (lambda: probability_bias_variance([[0.5, 0.5]], [0]), r"must be \(n_sets, n, n_classes\)"),
        (lambda: probability_bias_variance([[[0.5, 0.5]]], [0]), "pass labels="),
        (lambda: probability_bias_variance([[[0.5, 0.6]]], [0], labels=[0, 1]), "sums to 1.1"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_labels_of_two_types_are_refused():
    with pytest.raises(TypeError, match="convert truth and predictions to one type"):
        bias_variance([["0", "1"]], [0, 1])


# the study


@pytest.fixture
def moons():
    X, y = make_moons(400, noise=0.3, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


def learning_sets(n_pool, n_sets, size, seed):
    """The rows that the study draws."""
    random = as_generator(seed)
    return [random.choice(n_pool, size, replace=False) for _ in range(n_sets)]


def naive_study(estimator, moons, parameter, values, n_sets, size, seed):
    """Keep all predictions, decompose at the end."""
    X, y, X_test, y_test = moons
    rows, found = learning_sets(len(X), n_sets, size, seed), []
    for value in values:
        models = [type(estimator)(**{parameter: value}).fit(X[r], y[r]) for r in rows]
        found.append(
            (
                parts(bias_variance([m.predict(X_test) for m in models], y_test)),
                parts(probability_bias_variance([m.predict_proba(X_test) for m in models], y_test)),
            )
        )
    return found


@pytest.mark.parametrize("refit", [True, False])
def test_study_is_the_naive_one(moons, refit):
    """The number of neighbours plays no part in the fit, so it need not be repeated."""
    values = [1, 5, 25]
    study = bias_variance_study(
        KNeighborsClassifier(),
        *moons,
        parameter="n_neighbors",
        values=values,
        n_sets=6,
        set_size=60,
        refit=refit,
        random_state=3,
    )
    expected = naive_study(KNeighborsClassifier(), moons, "n_neighbors", values, 6, 60, 3)
    for i in range(3):
        assert parts(study.decisions[i]) == pytest.approx(expected[i][0], abs=1e-12)
        assert parts(study.probabilities[i]) == pytest.approx(expected[i][1], abs=1e-12)
    assert study.error == pytest.approx(study.squared_bias + study.variance + study.noise)
    assert study.variance[0] > study.variance[2]
    assert study.best_value in values
    assert (study.n_sets, study.set_size) == (6, 60)


class CountsFits(KNeighborsClassifier):
    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize(("refit", "n_fits"), [(True, 12), (False, 4)])
def test_without_refit_there_is_one_fit_per_learning_set(moons, refit, n_fits):
    CountsFits.n_fits = 0
    estimator = CountsFits()
    bias_variance_study(estimator, *moons, parameter="n_neighbors", values=[1, 3, 5], n_sets=4, refit=refit)
    assert CountsFits.n_fits == n_fits
    assert estimator.n_neighbors == 5 and not hasattr(estimator, "classes_")


def test_jobs_and_seeds(moons):
    options = {"parameter": "max_features", "values": [1, 2], "n_sets": 4, "set_size": 50, "random_state": 5}
    forest = BaggedPETClassifier(n_estimators=3, random_state=0)
    one = bias_variance_study(forest, *moons, **options)
    with joblib.parallel_config("threading"):
        two = bias_variance_study(forest, *moons, n_jobs=2, **options)
    assert (one.error == two.error).all() and (one.variance == two.variance).all()
    other = bias_variance_study(forest, *moons, **{**options, "random_state": 6})
    assert (one.error != other.error).any()


def test_pipelines_frames_strings_weights_and_true_probabilities(moons):
    X, y, X_test, _ = moons
    words = np.array(["no", "yes"])[y]
    truth = np.random.default_rng(0).dirichlet([1, 1], size=len(X_test))
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier())
    options = {"parameter": "kneighborsclassifier__n_neighbors", "values": [3], "n_sets": 3, "random_state": 0}
    names = ["a", "b"]
    results = [
        bias_variance_study(pipeline, make(X), words, make(X_test), truth, **options)
        for make in (np.asarray, lambda v: pd.DataFrame(v, columns=names), lambda v: pl.DataFrame(v, schema=names))
    ]
    assert len({result.error[0] for result in results}) == 1
    assert results[0].noise[0] == pytest.approx((truth * (1 - truth)).sum() / 2 / len(truth))
    weighted = bias_variance_study(
        PETClassifier(), X, words, X_test, truth, parameter="max_depth", values=[2], n_sets=3,
        sample_weight=np.where(words == "no", 1.0, 0.0), random_state=0,
    )  # fmt: skip
    # nothing of "yes" is seen, so "no" is all that is predicted
    assert weighted.decisions[0].variance == 0
    assert weighted.error[0] == pytest.approx(truth[:, 1].mean())


def test_learning_sets_may_lack_classes_and_tests_may_have_more():
    X, y = make_classification(200, n_informative=6, n_classes=6, random_state=0)
    labels = y * 10
    options = {"parameter": "max_depth", "values": [1, None], "n_sets": 10, "set_size": 8, "random_state": 0}
    y_test, classes = np.append(labels[101:], 77), [0, 10, 20, 30, 40, 50, 77]
    study = bias_variance_study(PETClassifier(), X[:100], labels[:100], X[100:], y_test, **options)
    assert study.error == pytest.approx(study.squared_bias + study.variance)
    proba = np.zeros((10, 100, 7))
    for place, rows in enumerate(learning_sets(100, 10, 8, 0)):
        model = PETClassifier().fit(X[rows], labels[rows])
        for column, label in enumerate(model.classes_):
            proba[place, :, classes.index(label)] = model.predict_proba(X[100:])[:, column]
    expected = probability_bias_variance(proba, y_test, labels=classes)
    assert parts(study.probabilities[1]) == pytest.approx(parts(expected))
    assert (proba.max(axis=(1, 2)) > 0).all() and (proba.sum(axis=1) == 0).any()


def test_estimators_without_probabilities(moons):
    study = bias_variance_study(Perceptron(), *moons, parameter="max_iter", values=[1000], n_sets=2, random_state=0)
    assert study.probabilities is None
    assert len(study.plot()) == 1
    assert study.to_text().splitlines()[0].split() == ["max_iter", "error", "squared", "bias", "variance", "noise"]


def test_picture(moons, capsys):
    study = bias_variance_study(
        PETClassifier(), *moons, parameter="criterion", values=["gini", "entropy"], n_sets=3, random_state=0, verbose=1
    )
    assert "learning set 3 of 3" in capsys.readouterr().out
    axes = study.plot()
    labels = [line.get_label() for line in axes[0].lines]
    assert labels == ["error", "squared bias", "variance"]
    assert axes[0].lines[0].get_ydata() == pytest.approx(study.error)
    assert [tick.get_text() for tick in axes[1].get_xticklabels()] == ["gini", "entropy"]
    assert study.to_markdown().count("\n") == 3
    _, given_axes = plt.subplots(1, 2)
    assert study.plot(axes=given_axes) == list(given_axes)
    with pytest.raises(ValueError, match="axes has 1 axes"):
        study.plot(axes=given_axes[:1])
    plt.close("all")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"parameter": "depth"}, "parameter='depth': PETClassifier has the parameters"),
        ({"values": []}, "values=.*at least one"),
        ({"n_sets": 0}, "n_sets=0"),
        ({"set_size": 0}, "set_size=0"),
        ({"set_size": 301}, "set_size=301"),
        ({"set_size": 1.5}, "set_size=1.5"),
        ({"X_test": np.zeros((3, 2))}, "X_test has 3 test rows, but y_true has 100"),
        ({"y": [0, 1]}, "inconsistent numbers of samples"),
        ({"sample_weight": [1.0]}, "sample_weight has 1 weights"),
    ],
)
def test_studies_that_are_refused(moons, options, words):
    arguments = dict(zip(("X", "y", "X_test", "y_test"), moons, strict=True))
    arguments |= {"parameter": "max_depth", "values": [1], **options}
    with pytest.raises(ValueError, match=words):
        bias_variance_study(PETClassifier(), **arguments)
