"""Lazy option trees as a classifier: laws, limits, errors, explanations."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from petiole import LazyOptionTreesClassifier, _core
from petiole._lazy.classifier import CHOICES

VARIANTS = [{}, {"gain_prior": 0, "path_prior": 0}, {"max_tests": 1}, {"cousin_rule": "strict"}, {"cousin_rule": False}]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    return LazyOptionTreesClassifier(n_estimators=6, random_state=0).fit(*iris)


def mixed_frame(n=60, seed=0):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n).round(1),
            "colour": random.choice(["red", "green", "blue"], n),
            "count": random.integers(0, 5, n).astype(float),
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "colour"] = None
    y = np.where(frame["size"].fillna(0) + (frame["colour"] == "red") > 0.5, "yes", "no")
    return frame, np.where(random.random(n) < 0.2, "perhaps", y)


# Laws.


@pytest.mark.parametrize("parameters", VARIANTS)
def test_whole_weights_are_repeated_rows(parameters):
    frame, y = mixed_frame()
    copies = np.random.default_rng(1).integers(0, 4, len(y))
    model = LazyOptionTreesClassifier(n_estimators=1, bootstrap=False, **parameters)
    weighted = clone(model).fit(frame, y, sample_weight=copies)
    rows = np.repeat(np.arange(len(y)), copies)
    repeated = clone(model).fit(frame.iloc[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(frame), repeated.predict_proba(frame), atol=1e-12)


def test_real_weights_count_as_what_they_are():
    """Weights in halves, with half the least weight, say what whole weights say; tiny changes change little."""
    frame, y = mixed_frame()
    copies = np.random.default_rng(2).integers(1, 5, len(y))
    model = LazyOptionTreesClassifier.paper(n_estimators=1, bootstrap=False, min_samples_leaf=4, weights="counts")
    whole = clone(model).fit(frame, y, sample_weight=copies).predict_proba(frame)
    halves = clone(model).set_params(min_samples_leaf=2).fit(frame, y, sample_weight=copies / 2).predict_proba(frame)
    np.testing.assert_allclose(halves, whole, atol=1e-12)
    odd = clone(model).set_params(min_samples_leaf=4 / 3).fit(frame, y, sample_weight=copies / 3).predict_proba(frame)
    np.testing.assert_allclose(odd, whole, atol=1e-9)


@pytest.mark.parametrize("parameters", VARIANTS)
def test_order_of_rows_and_names_of_classes_do_not_matter(parameters):
    frame, y = mixed_frame()
    model = LazyOptionTreesClassifier(n_estimators=1, bootstrap=False, **parameters)
    expected = clone(model).fit(frame, y).predict_proba(frame)
    order = np.random.default_rng(3).permutation(len(y))
    np.testing.assert_allclose(clone(model).fit(frame.iloc[order], y[order]).predict_proba(frame), expected, atol=1e-12)
    renamed = np.vectorize({"no": "c", "perhaps": "a", "yes": "b"}.get)(y)
    other = clone(model).fit(frame, renamed)
    np.testing.assert_allclose(other.predict_proba(frame)[:, [2, 0, 1]], expected, atol=1e-12)


def test_threads_and_company_do_not_matter(iris):
    X, y = iris
    model = LazyOptionTreesClassifier(n_estimators=4, random_state=0).fit(X, y)
    everyone = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).predict_proba(X), everyone)
    model.set_params(n_jobs=None)
    np.testing.assert_array_equal(
        np.vstack([model.predict_proba(X[i : i + 1]) for i in range(0, 150, 15)]), everyone[::15]
    )
    np.testing.assert_array_equal(model.predict_proba(np.vstack([X[:30], X[:30]])), np.vstack([everyone[:30]] * 2))


def test_queries_in_parts(iris, fitted, monkeypatch):
    everyone = fitted.predict_proba(np.vstack([iris[0]] * 8))
    monkeypatch.setattr("petiole._lazy.classifier.CELLS_AT_ONCE", 1)
    np.testing.assert_array_equal(fitted.predict_proba(np.vstack([iris[0]] * 8)), everyone)


def test_a_query_without_values_gets_the_class_shares(iris):
    X, y = iris
    y = np.where(y == 2, 1, y)
    model = LazyOptionTreesClassifier.paper(n_estimators=1, bootstrap=False).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 4), np.nan)), [[1 / 3, 2 / 3]])


def test_limits_of_the_priors(iris):
    X, y = iris
    model = LazyOptionTreesClassifier(n_estimators=2, path_prior=1e12, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:5]), 1 / 3, atol=1e-6)
    paper = LazyOptionTreesClassifier.paper(n_estimators=2, random_state=0).fit(X, y)
    plain = LazyOptionTreesClassifier(n_estimators=2, gain_prior=0, path_prior=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(paper.predict_proba(X), plain.predict_proba(X))
    # With a prior on the path nothing is impossible.
    assert LazyOptionTreesClassifier(n_estimators=2, random_state=0).fit(X, y).predict_proba(X).min() > 0


def test_the_gain_prior_prefers_larger_children():
    X, y = make_classification(300, 6, n_informative=3, flip_y=0.2, random_state=0)
    sizes = []
    for prior in (0, 50):
        model = LazyOptionTreesClassifier(n_estimators=1, bootstrap=False, gain_prior=prior).fit(X, y)
        graphs = [model.explain(query).trees[0] for query in X[:20]]
        sizes.append(np.mean([graph.class_counts[graph.child[0]].sum() for graph in graphs]))
    assert sizes[1] > 1.2 * sizes[0]


def test_one_class_one_row_constant_columns():
    model = LazyOptionTreesClassifier(n_estimators=3, random_state=0)
    np.testing.assert_array_equal(model.fit([[1.0]], ["a"]).predict_proba([[5.0], [np.nan]]), 1.0)
    proba = model.fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1]).predict_proba(np.ones((2, 2)))
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_a_thousand_classes():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(3000, 2)), random.integers(0, 1000, 3000)
    proba = LazyOptionTreesClassifier(n_estimators=2, random_state=0).fit(X, y).predict_proba(X[:5])
    assert proba.shape == (5, len(np.unique(y)))
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_defaults_beat_the_paper_where_the_truth_is_known():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 1)) + np.repeat([0, 1], 300)[:, None]
    y = np.repeat([0, 1], 300)
    queries = np.linspace(-2, 3, 60)[:, None]
    truth = 1 / (1 + np.exp(0.5 - queries[:, 0]))

    def error(model):
        return np.sqrt(np.mean((model.fit(X, y).predict_proba(queries)[:, 1] - truth) ** 2))

    assert error(LazyOptionTreesClassifier(random_state=0)) < error(LazyOptionTreesClassifier.paper(random_state=0))


# As a scikit-learn estimator.


def test_frames_pickles_clones_and_searches():
    frame, y = mixed_frame()
    model = LazyOptionTreesClassifier(n_estimators=3, random_state=0).fit(frame, y)
    proba = model.predict_proba(frame)
    assert list(model.feature_names_in_) == ["size", "colour", "count"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(frame), proba)
    np.testing.assert_array_equal(clone(model).fit(frame, y).predict_proba(frame), proba)
    unseen = frame.assign(colour="purple")
    np.testing.assert_allclose(model.predict_proba(unseen).sum(axis=1), 1)
    search = GridSearchCV(model, {"max_tests": [1, 2], "gain_prior": [0, 10]}, cv=2, scoring="neg_log_loss")
    assert search.fit(frame, y).best_params_["max_tests"] in (1, 2)


def test_pipelines_and_routing(iris):
    X, y = iris
    pipe = make_pipeline(StandardScaler(), LazyOptionTreesClassifier(n_estimators=3, random_state=0))
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.85
    with sklearn.config_context(enable_metadata_routing=True):
        model = LazyOptionTreesClassifier(n_estimators=2, random_state=0).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        weights = np.where(y == 0, 0.0, 1.0)
        piped = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
    assert piped[-1].classes_.tolist() == [1, 2]


def test_the_model_keeps_its_own_rows(iris):
    X, y = iris[0].copy(), iris[1]
    model = LazyOptionTreesClassifier(n_estimators=2, random_state=0).fit(X, y)
    queries = X[:10].copy()
    before = model.predict_proba(queries)
    X[:] = 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(queries), before)


def test_a_failing_fit_changes_nothing(fitted, iris):
    model = pickle.loads(pickle.dumps(fitted))
    before, state = model.predict_proba(iris[0][:5]), set(vars(model))
    with pytest.raises(ValueError, match="infinity"):
        model.fit([[np.inf], [1.0]], [0, 1])
    assert set(vars(model)) == state
    np.testing.assert_array_equal(model.predict_proba(iris[0][:5]), before)


def test_out_of_bag_tells_the_truth():
    X, y = make_classification(500, 5, n_informative=3, flip_y=0.1, random_state=0)
    model = LazyOptionTreesClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X[:300], y[:300])
    assert model.oob_predict_proba_.shape == (300, 2)
    assert abs(model.oob_score_ - model.score(X[300:], y[300:])) < 0.1
    own = model.oob_predict_proba_[np.arange(300), y[:300]]
    assert model.oob_log_loss_ == pytest.approx(-np.log2(own).mean())


def test_out_of_bag_rows_of_weight_zero_are_queries(iris):
    X, y = iris
    weights = np.where(np.arange(150) % 10 == 0, 0.0, 1.0)
    model = LazyOptionTreesClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.oob_predict_proba_[::10], model.predict_proba(X[::10]))


def test_auto_takes_the_value_with_the_least_out_of_bag_loss():
    X, y = make_classification(200, 4, n_informative=2, n_redundant=0, flip_y=0.4, random_state=0)
    model = LazyOptionTreesClassifier.paper(n_estimators=8, min_samples_leaf="auto", random_state=0).fit(X, y)
    losses = {}
    for value in CHOICES["min_samples_leaf"]:
        other = LazyOptionTreesClassifier.paper(n_estimators=8, min_samples_leaf=value, oob_score=True, random_state=0)
        losses[value] = other.fit(X, y).oob_log_loss_
    assert model.min_samples_leaf_ == min(losses, key=losses.get)
    assert model.min_samples_leaf_ > 2  # noise wants larger leaves


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0: must be a whole number at least 1"),
        ({"max_tests": 1.5}, "max_tests=1.5: must be a whole number at least 1"),
        ({"min_gain": -0.1}, "min_gain=-0.1: must be a number between 0 and 1"),
        ({"min_gain": 2}, "min_gain=2: must be a number between 0 and 1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0: must be a number at least 1"),
        ({"min_samples_leaf": "big"}, "min_samples_leaf='big': must be a number at least 1, or 'auto'"),
        ({"bootstrap": "balanced"}, "bootstrap='balanced': must be one of 'stratified', 'plain', False"),
        ({"cousin_rule": "no"}, "cousin_rule='no': must be one of True, False, 'strict'"),
        ({"gain_prior": -1}, "gain_prior=-1: must be a number at least 0"),
        ({"path_prior": np.nan}, "path_prior=nan: must be a number at least 0"),
        ({"path_prior": 1e300}, "path_prior=1e+300: must be a number between 0 and 1e+100"),
        ({"oob_score": "yes"}, "oob_score='yes': must be one of True, False"),
        ({"verbose": -1}, "verbose=-1: must be a whole number at least 0"),
        ({"oob_score": True, "bootstrap": False}, "oob_score=True needs rows outside the samples"),
        ({"path_prior": "auto", "bootstrap": False}, "path_prior='auto' needs rows outside the samples"),
    ],
)
def test_bad_parameters_are_refused(parameters, message, iris):
    with pytest.raises(ValueError) as error:
        LazyOptionTreesClassifier(**parameters).fit(*iris)
    assert str(error.value).startswith(message)


# Extremes.


@pytest.mark.parametrize("weights", [None, "fractions"])
@pytest.mark.parametrize(
    "parameters", [{"path_prior": 1e100}, {"gain_prior": 1e100}, {"gain_prior": 0, "path_prior": 0}]
)
def test_leaves_larger_than_the_data_leave_the_root_to_answer(iris, parameters, weights):
    X, y = iris
    weights = None if weights is None else np.random.default_rng(0).uniform(0.1, 3, len(y))
    model = LazyOptionTreesClassifier(
        n_estimators=3, bootstrap="stratified", random_state=0, oob_score=True, **parameters
    )
    for size in (1000, 1e18, 1e100):
        model.set_params(min_samples_leaf=size).fit(X, y, sample_weight=weights)
        answers = model.predict_proba(X)
        np.testing.assert_allclose(answers.sum(axis=1), 1)
        assert (answers == answers[0]).all()
        np.testing.assert_allclose(answers[0], 1 / 3, atol=0.1)
        asked = ~np.isnan(model.oob_predict_proba_[:, 0])
        np.testing.assert_allclose(model.oob_predict_proba_[asked].sum(axis=1), 1)


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-30, 1e30, 1e305])
def test_the_core_bears_weights_of_any_scale(iris, scale):
    X, y = iris
    bags, options = _core.LazyBagOptions(), _core.LazyTreeOptions()
    bags.bootstrap, bags.n_bags = _core.Bootstrap.none, 1
    options.path_prior, options.gain_prior = 0.5, 1000.0
    weights = scale * np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    trees = _core.LazyOptionTrees.of(X, y.astype(np.int32), weights, np.zeros(4, dtype=np.int32), bags, 3, 1)
    answers = np.asarray(trees.predict(X, options, None, 1, None))
    np.testing.assert_allclose(answers.sum(axis=1), 1)


def test_the_work_for_a_query_is_bounded():
    """Thirty rows have millions of option paths where many tests are good enough, sixty more than fit into memory."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)), random.integers(0, 2, 60)
    for n_rows in (30, 60):
        model = LazyOptionTreesClassifier(n_estimators=1, max_tests=50, min_gain=0.01, max_nodes=None, random_state=0)
        [graph] = model.fit(X[:n_rows], y[:n_rows]).explain([0.0, 0.0, 0.0]).trees
        assert len(graph.child) < 300_000
        np.testing.assert_allclose(model.predict_proba([[0.0, 0.0, 0.0]]).sum(), 1)


# Long predictions.

LONG = """
import sys, numpy as np
from petiole import LazyOptionTreesClassifier
X = np.random.default_rng(0).normal(size=(4000, 20))
y = np.random.default_rng(1).integers(0, 4, 4000)
model = LazyOptionTreesClassifier(n_jobs=int(sys.argv[1]), verbose=1).fit(X, y)
print("predicting", flush=True)
try:
    model.predict_proba(X)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.posix
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_told_and_control_c_stops_it(n_jobs):
    process = subprocess.Popen([sys.executable, "-c", LONG, str(n_jobs)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "predicting\n"
    line = process.stdout.readline()
    assert line.startswith("[LazyOptionTreesClassifier]") and "of 120,000 trees in" in line
    sent = time.perf_counter()
    process.send_signal(signal.SIGINT)
    while line.startswith("[Lazy"):
        line = process.stdout.readline()
    assert line == "interrupted\n"
    # one second is the promise; two leave room for a machine that runs other tests beside this one
    assert time.perf_counter() - sent < 2
    process.wait(timeout=60)


# Explanations.


def test_paths_add_up_to_the_answer(fitted, iris):
    for row in (0, 70, 133):
        explanation = fitted.explain(iris[0][row])
        assert explanation.n_paths == len(explanation.paths)
        assert sum(path.share for path in explanation.paths) == pytest.approx(1)
        np.testing.assert_allclose(explanation.probabilities, fitted.predict_proba(iris[0][[row]])[0])
        for path in explanation.paths[:5]:
            assert path.class_counts.sum() >= 2


def test_every_test_is_true_for_the_query():
    frame, y = mixed_frame()
    model = LazyOptionTreesClassifier(n_estimators=2, random_state=0).fit(frame, y)
    explanation = model.explain(frame.iloc[[5]])
    query = frame.iloc[5]
    np.testing.assert_array_equal(model.explain(query).probabilities, explanation.probabilities)
    np.testing.assert_array_equal(model.explain(query.tolist()).probabilities, explanation.probabilities)
    holds = {">": lambda a, b: a > b, "<": lambda a, b: a < b, "≠": lambda a, b: a != b}
    tests = [test for path in explanation.paths for test in path.tests]
    assert {"≠"} < {test.sign for test in tests}
    assert all(holds[test.sign](query[test.name], test.value) for test in tests)


def test_lazy_trees_have_one_path_each(iris):
    model = LazyOptionTreesClassifier.paper(n_estimators=4, max_tests=1, random_state=0).fit(*iris)
    explanation = model.explain(iris[0][60])
    assert explanation.n_paths == 4
    assert [path.share for path in explanation.paths] == [0.25] * 4


def test_explanations_are_printed_and_drawn(fitted, iris):
    explanation = fitted.explain(iris[0][70], trees=[1])
    assert repr(explanation).startswith("LazyExplanation(1 trees")
    assert "x" in str(explanation).splitlines()[0]
    ax = explanation.plot()
    assert any("share" in text.get_text() for text in ax.texts)
    given = plt.subplots()[1]
    assert explanation.plot(max_depth=1, ax=given) is given
    plt.close("all")


def test_explanations_refuse(fitted, iris):
    with pytest.raises(ValueError, match="x has 2 rows: explain one query at a time"):
        fitted.explain(iris[0][:2])
    with pytest.raises(ValueError, match=r"trees=\[6\]: must be numbers of bootstrap samples, 0 to 5"):
        fitted.explain(iris[0][0], trees=[6])
    explanation = fitted.explain(iris[0][0])
    with pytest.raises(ValueError, match="tree=9: must be a position in trees, 0 to 5"):
        explanation.plot(9)
    with pytest.raises(ValueError, match="max_depth=-1: must be a whole number at least 0 or None"):
        explanation.plot(max_depth=-1)


def test_weights_as_counts_go_with_a_leaf_size_that_is_chosen(iris):
    X, y = iris
    weights = np.full(len(y), 2.0)
    model = LazyOptionTreesClassifier(4, min_samples_leaf="auto", weights="counts", random_state=0)
    assert model.fit(X[::3], y[::3], weights[::3]).min_samples_leaf_ >= 2
