"""The logistic regression on kernels against a slow version, and its laws."""

from __future__ import annotations

import numpy as np
import pytest

import naive_linear
from linear_problems import problem
from petiole import _core
from petiole._estimates.cross_fitted import CrossFitted
from petiole._linear.cross_fitting import fit_kernel_folds, fit_linear_folds
from petiole._linear.kernel import typical_distance
from petiole._linear.plan import LinearPlan
from petiole._table.rows import EncodedRows


def two_rings(n, seed=0):
    """Points within and around a circle, in two columns."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    inside = (points**2).sum(axis=1) < 1.4
    labels = np.where(rng.random(n) < 0.05, ~inside, inside).astype(np.int32)
    return EncodedRows(points, labels, None, np.zeros(2, dtype=np.int32), np.arange(2)), np.arange(n) % 4


def log_loss(proba, labels):
    return -np.log2(proba[np.arange(len(labels)), labels]).mean()


@pytest.mark.parametrize("seed", range(4))
def test_kernels_are_those_of_the_slow_version(seed):
    rng = np.random.default_rng(seed)
    points, landmarks = rng.normal(size=(7, 3)), rng.normal(size=(3, 5))
    expected = [[naive_linear.kernel(row, landmark, 0.7) for landmark in landmarks.T] for row in points]
    np.testing.assert_allclose(_core.gaussian_kernels(points, landmarks, 0.7, 2), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_machine_is_that_of_the_slow_version(seed):
    rows, fold_of = problem(seed, weighted=seed % 2 == 0)
    plan = LinearPlan(widths=(1.5,), strengths=(0.05,), n_landmarks=6)
    models = fit_kernel_folds(plan, rows, fold_of).models
    encoding = models[0].encoding
    points, weights = encoding.base.features(rows.matrix), rows.weights_or_ones()
    queries = points[:9]
    for fold, model in enumerate(models):
        fitted = np.where(fold_of == fold, 0.0, weights)
        found = model.answer(rows.matrix[:9])
        expected = naive_linear.kernel_machine(
            points, fitted, weights, rows.labels, rows.classes, encoding.landmarks.T, encoding.gamma, 0.05, queries
        )
        np.testing.assert_allclose(found, expected, atol=1e-3)


def test_a_circle_needs_kernels():
    rows, fold_of = two_rings(400)
    queries, _ = two_rings(400, seed=1)
    by_kernels, linear = (
        log_loss(CrossFitted(fit(LinearPlan(), rows, fold_of).models).answer(queries.matrix), queries.labels)
        for fit in (fit_kernel_folds, fit_linear_folds)
    )
    assert by_kernels < 0.55 < 0.9 < linear


def test_the_width_with_the_least_held_out_loss_is_taken():
    rows, fold_of = two_rings(300)
    each = [fit_kernel_folds(LinearPlan(widths=(width,)), rows, fold_of) for width in (30.0, 1.0, 0.02)]
    best = fit_kernel_folds(LinearPlan(widths=(30.0, 1.0, 0.02)), rows, fold_of)
    assert best.models[0].encoding.gamma == each[1].models[0].encoding.gamma
    assert min(best.losses.values()) == min(min(one.losses.values()) for one in each)


def test_a_row_gets_the_same_answer_alone_to_the_bit():
    rows, fold_of = problem(3)
    for fit in (fit_kernel_folds, fit_linear_folds):
        model = CrossFitted(fit(LinearPlan(), rows, fold_of).models)
        alone = np.concatenate([model.answer(rows.matrix[[i]]) for i in range(len(rows))])
        np.testing.assert_array_equal(alone, model.answer(rows.matrix, n_threads=3))


@pytest.mark.parametrize("n", [2, 3, 5, 300])
def test_few_rows_and_equal_rows_have_probabilities(n):
    rows = EncodedRows(np.ones((n, 2)), np.arange(n, dtype=np.int32) % 2, None, np.zeros(2, np.int32), np.arange(2))
    proba = CrossFitted(fit_kernel_folds(LinearPlan(), rows, np.arange(n) % 2).models).answer(rows.matrix)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_typical_distances():
    assert typical_distance(np.array([[0.0], [3.0], [4.0]])) == 3
    assert typical_distance(np.zeros((3, 2))) == 1 and typical_distance(np.zeros((1, 2))) == 1
