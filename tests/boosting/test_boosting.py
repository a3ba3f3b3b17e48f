"""Laws of boosted trees."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import make_classification
from test_boosting_against_naive import random_rows

import petiole
from petiole import BoostedPETClassifier
from petiole._boosting.growing import boost, boost_folds
from petiole._boosting.plan import BoostingPlan
from petiole._boosting.trees import BoostedTrees
from petiole._table.rows import EncodedRows

PLAN = BoostingPlan(n_rounds=12, patience=12, min_samples_leaf=2, learning_rate=0.3)


def problem(n_classes=3, n_rows=300, seed=0):
    X, y = make_classification(n_rows, 6, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=seed)
    return EncodedRows(X, y.astype(np.int32), None, np.zeros(6, dtype=np.int32), np.arange(n_classes))


def log_loss(proba, labels):
    return -np.log2(proba[np.arange(len(labels)), labels]).mean()


def arrays_of(trees):
    return {name: value for name, value in trees.__getstate__().items() if name != "base"}


def assert_same_trees(one, other):
    for name, value in arrays_of(one).items():
        np.testing.assert_array_equal(value, arrays_of(other)[name], err_msg=name)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_threads_do_not_matter(seed, subsample):
    rows = random_rows(np.random.default_rng(seed))
    plan = replace(PLAN, subsample=subsample, max_features=0.7)
    one, three = (boost(plan, rows, n_threads=n) for n in (1, 3))
    assert_same_trees(one, three)
    np.testing.assert_array_equal(one.answer(rows.matrix), three.answer(rows.matrix, 3))
    folds = np.arange(len(rows)) % 3
    np.testing.assert_array_equal(*(boost_folds(plan, rows, folds, n_threads=n).scores for n in (1, 3)))


def test_threads_do_not_matter_where_one_tree_is_grown_by_all():
    rows = problem(2, 20_000)
    assert_same_trees(boost(PLAN, rows, n_threads=1), boost(PLAN, rows, n_threads=3))


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    order = rng.permutation(len(rows))
    assert_same_trees(boost(PLAN, rows), boost(PLAN, rows.take(order)))


@pytest.mark.parametrize("seed", range(12))
def test_renaming_classes_permutes_the_answer(seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    order = rng.permutation(len(rows.classes))
    renamed = replace(rows, labels=order[rows.labels].astype(np.int32))
    proba, other = (boost(replace(PLAN, n_rounds=3), r).answer(rows.matrix) for r in (rows, renamed))
    np.testing.assert_allclose(other[:, order], proba, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_weight_two_is_a_row_twice(seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    copies = rng.integers(1, 4, len(rows))
    weighted = replace(rows, weights=copies.astype(float))
    repeated = replace(rows.take(np.repeat(np.arange(len(rows)), copies)), weights=None)
    plan = replace(PLAN, n_rounds=4)
    proba, other = boost(plan, weighted).answer(rows.matrix), boost(plan, repeated).answer(rows.matrix)
    np.testing.assert_allclose(proba, other, atol=1e-7)


def test_a_vanishing_learning_rate_gives_the_base_rates():
    rows = problem()
    proba = boost(replace(PLAN, learning_rate=1e-9), rows).answer(rows.matrix)
    np.testing.assert_allclose(proba, np.tile(np.bincount(rows.labels) / len(rows), (len(rows), 1)), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_training_loss_falls_with_each_round(n_classes):
    rows = problem(n_classes)
    model = boost(replace(PLAN, learning_rate=0.1), rows)
    losses = [log_loss(model.truncated(r).answer(rows.matrix), rows.labels) for r in range(model.n_rounds + 1)]
    assert (np.diff(losses) < 0).all()


def test_interactions_are_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 5))
    y = ((X[:, 1] > 0.1) & (X[:, 3] < 0.2)).astype(np.int32)
    rows = EncodedRows(X, y, None, np.zeros(5, dtype=np.int32), np.arange(2))
    model = boost(replace(PLAN, n_rounds=20, max_leaf_nodes=3), rows)
    assert set(np.argsort(model.feature_gains())[-2:]) == {1, 3}
    assert log_loss(model.answer(X), y) < 0.02


@pytest.mark.parametrize("seed", range(12))
def test_held_out_scores_are_those_of_the_fold_models(seed):
    rows = random_rows(np.random.default_rng(seed))
    folds = np.arange(len(rows)) % 3
    found = boost_folds(replace(PLAN, subsample=0.8), rows, folds)
    for fold, model in enumerate(found.models):
        there = folds == fold
        np.testing.assert_allclose(model.scores(rows.matrix[there]), found.scores[there], atol=1e-9)
    weights = rows.weights_or_ones()
    bits = -np.log2(found.probabilities()[np.arange(len(rows)), rows.labels])
    assert found.log_losses.min() == pytest.approx(weights @ bits / weights.sum())
    assert found.n_rounds == found.log_losses.argmin()


def test_patience_ends_the_search_and_more_rounds_would_not_change_what_was_found():
    rows = problem(n_rows=120)
    folds = np.arange(len(rows)) % 4
    short = boost_folds(replace(PLAN, n_rounds=500, patience=3), rows, folds)
    assert len(short.log_losses) == short.n_rounds + 4
    longer = boost_folds(replace(PLAN, n_rounds=500, patience=6), rows, folds)
    np.testing.assert_array_equal(short.log_losses, longer.log_losses[: len(short.log_losses)])


def test_a_correction_begins_with_the_scores_that_are_given():
    rows = problem()
    first = boost(PLAN, rows)
    starts = first.scores(rows.matrix)
    nothing = boost_folds(replace(PLAN, n_rounds=0), rows, np.arange(len(rows)) % 3, starts)
    np.testing.assert_array_equal(nothing.scores, starts)
    second = boost(replace(PLAN, n_rounds=5), rows, starts=starts)
    together = second.scores(rows.matrix, starts=starts)
    whole = boost(replace(PLAN, n_rounds=17), rows).scores(rows.matrix)
    np.testing.assert_allclose(together, whole, atol=1e-7)


def test_a_mean_of_models_is_the_geometric_mean_of_their_probabilities():
    rows = problem()
    models = boost_folds(PLAN, rows, np.arange(len(rows)) % 3).models
    mean = BoostedTrees.mean_of(models)
    logs = np.mean([np.log(model.answer(rows.matrix)) for model in models], axis=0)
    np.testing.assert_allclose(mean.answer(rows.matrix), softmax(logs, axis=1))


def test_wide_and_narrow_walks_agree():
    """Thresholds that single precision cannot hold are walked in double precision."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1 + rng.permutation(400) * 2.0**-52, rng.normal(size=400), rng.integers(0, 5, 400)])
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0] - 1) * 2**52 + 50 * (X[:, 2] == 3) > 200).astype(np.int32)
    rows = EncodedRows(X, y, None, np.array([0, 0, 5], dtype=np.int32), np.arange(2))
    found = boost_folds(PLAN, rows, np.arange(400) % 2)
    assert found.log_losses[-1] < 0.5 * found.log_losses[0]
    for fold, model in enumerate(found.models):
        there = np.arange(400) % 2 == fold
        np.testing.assert_allclose(model.scores(X[there]), found.scores[there], atol=1e-9)


def test_values_beyond_single_precision_keep_their_side():
    X = np.array([[-1e300], [-1e200], [0.0], [1e200], [1e300], [np.nan]] * 8)
    y = np.array([0, 1, 0, 1, 0, 1] * 8, dtype=np.int32)
    rows = EncodedRows(X, y, None, np.zeros(1, dtype=np.int32), np.arange(2))
    model = boost(replace(PLAN, n_rounds=60), rows)
    assert (model.answer(X).argmax(axis=1) == y).all()
    assert model.answer(np.array([[np.inf]])).shape == (1, 2)


def test_a_column_of_many_categories():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3000, (20_000, 1)).astype(float)
    y = (X[:, 0] % 2).astype(np.int32)
    rows = EncodedRows(X, y, None, np.array([3000], dtype=np.int32), np.arange(2))
    model = boost(replace(PLAN, category_smoothing=1.0), rows)
    assert log_loss(model.answer(X), y) < 0.2


@pytest.mark.posix
def test_boosting_is_stopped_by_an_interrupt():
    rows = problem(2, 50_000)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        boost(BoostingPlan(n_rounds=100_000), rows)
    assert time.monotonic() - started < 5


def test_values_are_immutable_and_pickle():
    rows = problem()
    model = boost(PLAN, rows)
    expected = model.answer(rows.matrix)
    with pytest.raises(ValueError, match="read-only"):
        model.value[0] = 1
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.answer(rows.matrix), expected)


# The classifier.


def test_the_classifier_is_the_plan_on_encoded_rows():
    rows = problem()
    model = BoostedPETClassifier(
        0.3, max_iter=12, max_leaf_nodes=31, min_samples_leaf=2, l2_regularization=0, max_features=None, subsample=1.0,
        early_stopping=False, random_state=0,
    ).fit(rows.matrix, rows.labels)  # fmt: skip
    np.testing.assert_array_equal(model.predict_proba(rows.matrix), boost(PLAN, rows).answer(rows.matrix))
    assert model.n_iter_ == 12 and not hasattr(model, "cv_predict_proba_")
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_the_number_of_rounds_is_honest():
    """Where labels are noise no round helps."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)
    model = BoostedPETClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ <= 5
    assert log_loss(model.predict_proba(rng.normal(size=(400, 5))), y) < 1.02


def test_held_out_probabilities_have_a_row_for_every_row():
    rows = problem()
    weights = np.arange(len(rows)) % 3 * 1.0
    model = BoostedPETClassifier(random_state=0, max_iter=50).fit(rows.matrix, rows.labels, weights)
    assert model.cv_predict_proba_.shape == (len(rows), 3)
    absent = weights == 0
    np.testing.assert_array_equal(model.cv_predict_proba_[absent], model.predict_proba(rows.matrix[absent]))
    bits = -np.log2(model.cv_predict_proba_[np.arange(len(rows)), rows.labels])
    assert np.average(bits, weights=weights) == pytest.approx(model.validation_log_loss_.min())


def test_a_fit_without_early_stopping_forgets_the_held_out_rows_of_another():
    rows = problem()
    model = BoostedPETClassifier(random_state=0, max_iter=5).fit(rows.matrix, rows.labels)
    model.set_params(early_stopping=False).fit(rows.matrix, rows.labels)
    assert not hasattr(model, "validation_log_loss_")


def test_the_decision_function_is_the_log_odds():
    rows = problem(2)
    model = BoostedPETClassifier(random_state=0, max_iter=20).fit(rows.matrix, rows.labels)
    proba = model.predict_proba(rows.matrix)
    np.testing.assert_allclose(model.decision_function(rows.matrix), np.log(proba[:, 1] / proba[:, 0]))


def test_a_saved_model_says_the_same(tmp_path):
    rows = problem()
    model = BoostedPETClassifier(random_state=0, max_iter=20).fit(rows.matrix, rows.labels)
    model.save(tmp_path / "model.petiole")
    again = petiole.load(tmp_path / "model.petiole")
    np.testing.assert_array_equal(again.predict_proba(rows.matrix), model.predict_proba(rows.matrix))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("learning_rate", 0),
        ("learning_rate", 1.5),
        ("max_iter", 0),
        ("max_leaf_nodes", 1),
        ("min_samples_leaf", 0),
        ("l2_regularization", -1),
        ("max_bins", 256),
        ("subsample", 0),
        ("early_stopping", "auto"),
        ("n_folds", 1),
        ("max_features", 0),
        ("n_iter_no_change", 0),
    ],
)
def test_errors_name_the_parameter_and_its_value(parameter, value):
    rows = problem()
    with pytest.raises(ValueError, match=f"^{parameter}={value!r}: must be"):
        BoostedPETClassifier(**{parameter: value}).fit(rows.matrix, rows.labels)


def test_too_many_categories_are_refused():
    X = np.arange(70_000)[:, None].astype(str)
    with pytest.raises(ValueError, match="column 0 of X has 70000 categories"):
        BoostedPETClassifier(categorical_features=[0]).fit(X, np.arange(70_000) % 2)
