"""Scorers in scikit-learn's tools."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from petiole import PETClassifier, metrics
from petiole.metrics import scorer, scorer_names
from versions import needs_required_requests

X, Y = load_iris(return_X_y=True)
NAMED = np.array(["setosa", "versicolor", "virginica"])[Y]
WEIGHTS = np.random.default_rng(0).integers(1, 4, size=len(Y)).astype(float)
# What metrics cannot do without.
PARAMETERS = {"misclassification_cost": {"cost": 1 - np.eye(3)}, "profit": {"gain": np.eye(3)}}
LOSSES = set(scorer_names()) - {"accuracy", "area_under_lift_curve", "profit"}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Told(ClassifierMixin, BaseEstimator):
    """Says the probabilities it is given as X."""

    def __init__(self, classes=None):
        self.classes = classes

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


@pytest.mark.parametrize("name", scorer_names())
def test_a_scorer_is_its_metric_with_the_right_sign(name):
    model = PETClassifier.c44().fit(X, NAMED)
    parameters = PARAMETERS.get(name, {})
    metric = getattr(metrics, name)
    for weights in (None, WEIGHTS):
        value = metric(NAMED, model.predict_proba(X), sample_weight=weights, **parameters)
        score = scorer(name, **parameters)(model, X, NAMED, sample_weight=weights)
        assert score == pytest.approx(-value if name in LOSSES else value)


@pytest.mark.parametrize("name", scorer_names())
def test_folds_without_a_class_are_scored(name):
    """The rows of iris are sorted, so the test folds have one class each; some classes are unknown to a model."""
    y, folds = NAMED[::2], KFold(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scores = cross_val_score(
            PETClassifier.c44(),
            X[::2],
            y,
            cv=folds,
            scoring=scorer(name, **PARAMETERS.get(name, {})),
            error_score="raise",
        )
    assert np.isfinite(scores).all()


def test_a_class_that_the_model_has_not_seen_has_probability_zero():
    model = Told(classes=["a", "c"]).fit(None, None)
    proba, y = [[0.25, 0.75], [0.5, 0.5]], ["b", "c"]
    full = [[0.25, 0, 0.75], [0.5, 0, 0.5]]
    expected = metrics.brier_score(y, full, labels=["a", "b", "c"])
    assert scorer("brier_score")(model, proba, y) == pytest.approx(-expected)
    assert scorer("log_loss")(model, proba, y) == -np.inf
    assert np.isfinite(scorer("log_loss", floor=0.001)(model, proba, y))


def test_labels_may_be_named():
    model = Told(classes=["a", "c"]).fit(None, None)
    proba, y = [[0.25, 0.75], [0.5, 0.5]], ["a", "c"]
    for labels, n_classes in ((None, 2), (["c", "b", "a", "x"], 4)):
        score = scorer("rmse", labels=labels)(model, proba, y)
        assert score == pytest.approx(-np.sqrt(metrics.brier_score(y, proba) / n_classes))
    with pytest.raises(ValueError, match=r"lacks the class 'c' of the model; add it"):
        scorer("rmse", labels=["a", "b"])(model, proba, y)


def test_small_probabilities_of_two_classes_are_kept():
    model = Told(classes=[0, 1]).fit(None, None)
    assert scorer("log_loss")(model, [[1e-20, 1.0]], [0]) == pytest.approx(-20 * np.log2(10))


def test_labels_of_another_type_than_the_models_are_refused():
    with pytest.raises(TypeError, match="use labels of one type"):
        scorer("brier_score")(Told(classes=[0, 1]).fit(None, None), [[0.5, 0.5]] * 2, ["no", "yes"])


def test_searches_and_pipelines():
    pipeline = make_pipeline(StandardScaler(), PETClassifier.c44())
    grid = {"petclassifier__smoothing": ["laplace", "raw", "hgs"]}
    search = GridSearchCV(pipeline, grid, scoring=scorer("log_loss", floor=0.001), cv=3, refit=True).fit(X, NAMED)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.best_params_["petclassifier__smoothing"] != "raw"
    assert search.score(X, NAMED) == pytest.approx(
        -metrics.log_loss(NAMED, search.predict_proba(X), floor=0.001), abs=1e-12
    )


def test_several_scorers_at_once():
    scoring = {name: scorer(name, **PARAMETERS.get(name, {})) for name in scorer_names()} | {"theirs": "neg_log_loss"}
    found = cross_validate(PETClassifier.c44(), X, NAMED, scoring=scoring, cv=3)
    assert {f"test_{name}" for name in scoring} <= set(found)
    np.testing.assert_allclose(found["test_log_loss"] * np.log(2), found["test_theirs"])


def test_weights_reach_the_scorers_of_a_search_as_the_version_at_hand_does_it():
    scoring = {"ours": scorer("brier_score"), "accuracy": scorer("accuracy")}
    search = GridSearchCV(PETClassifier.c44(), {"min_samples_leaf": [2, 5]}, scoring=scoring, refit="ours", cv=3)
    search.fit(X, NAMED, sample_weight=WEIGHTS)
    assert search.best_score_ < 0


def test_logistic_regression_chooses_by_a_scorer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = LogisticRegressionCV(Cs=3, scoring=scorer("log_loss"), cv=3, max_iter=500).fit(X, NAMED)
    fits = [
        cross_val_score(LogisticRegression(C=C, max_iter=500), X, NAMED, scoring=scorer("log_loss"), cv=3).mean()
        for C in (1e-4, 1, 1e4)
    ]
    assert np.ravel(model.C_)[0] == pytest.approx([1e-4, 1, 1e4][int(np.argmax(fits))])


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_when_asked_for():
    model = PETClassifier.c44().set_fit_request(sample_weight=True)
    asked = scorer("brier_score").set_score_request(sample_weight=True)
    scores = cross_validate(
        model, X, NAMED, scoring=asked, cv=KFold(3, shuffle=True, random_state=0), params={"sample_weight": WEIGHTS}
    )
    expected = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        fitted = clone(model).fit(X[train], NAMED[train], sample_weight=WEIGHTS[train])
        expected.append(-metrics.brier_score(NAMED[test], fitted.predict_proba(X[test]), sample_weight=WEIGHTS[test]))
    np.testing.assert_allclose(scores["test_score"], expected)


@needs_required_requests
@pytest.mark.usefixtures("routing")
def test_weights_are_not_routed_when_declined():
    model = PETClassifier.c44().set_fit_request(sample_weight=True)
    keys = {"cv": 3, "params": {"sample_weight": WEIGHTS}}
    declined = scorer("brier_score").set_score_request(sample_weight=False)
    plain = cross_validate(model, X, NAMED, scoring=declined, **keys)["test_score"]
    weighted = cross_validate(
        model, X, NAMED, scoring=scorer("brier_score").set_score_request(sample_weight=True), **keys
    )["test_score"]
    assert not np.allclose(plain, weighted)
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        cross_validate(model, X, NAMED, scoring=scorer("brier_score"), **keys)


@pytest.mark.usefixtures("routing")
def test_costs_of_single_rows_are_routed():
    costs = np.random.default_rng(1).uniform(size=(len(Y), 3, 3))
    asked = scorer("misclassification_cost").set_score_request(cost=True)
    scores = cross_validate(PETClassifier.c44(), X, NAMED, scoring=asked, cv=3, params={"cost": costs})["test_score"]
    assert (scores < 0).all()


def test_copies_and_pickles_score_the_same():
    model = PETClassifier.c44().fit(X, NAMED)
    one = scorer("log_loss", floor="exact", base=10)
    again = pickle.loads(pickle.dumps(one))
    assert again(model, X, NAMED) == one(model, X, NAMED)
    search = clone(GridSearchCV(model, {}, scoring=one))
    assert search.scoring(model, X, NAMED) == one(model, X, NAMED)
    assert repr(one) == "scorer('log_loss', floor='exact', base=10)"


@pytest.mark.parametrize("name", ["neg_log_loss", None, "accuracy_change"])
def test_unknown_names_are_refused(name):
    with pytest.raises(ValueError, match="must be one of 'accuracy', 'area_under_lift_curve'"):
        scorer(name)
