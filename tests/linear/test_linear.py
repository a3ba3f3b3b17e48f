"""The logistic regression against a slow version and scikit-learn, and its laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive_linear
from linear_problems import problem
from petiole._linear.cross_fitting import _affordable_rows, fit_linear_folds
from petiole._linear.encoding import LinearEncoding
from petiole._linear.model import LinearModel
from petiole._linear.plan import LinearPlan
from petiole._linear.solver import Axes, FoldedLoss
from petiole._table.rows import EncodedRows

PLANS = [
    LinearPlan(slope_left=1e-4),
    LinearPlan(ranks=True, slope_left=1e-4),
    LinearPlan(degree=2, ranks=True, slope_left=1e-4),
]


def plain_rows(matrix, labels, n_classes):
    none = np.zeros(matrix.shape[1], dtype=np.int32)
    return EncodedRows(matrix, np.asarray(labels, dtype=np.int32), None, none, np.arange(n_classes))


def answers(plan, rows, fold_of):
    """What the models of all folds say of all rows."""
    return np.stack([model.answer(rows.matrix) for model in fit_linear_folds(plan, rows, fold_of).models])


# The features.


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("seed", range(4))
def test_features_are_those_of_the_slow_version(plan, seed):
    rows, _ = problem(seed, weighted=seed % 2 == 0)
    queries, _ = problem(seed + 100)
    found = LinearEncoding.learn(plan, rows).features(queries.matrix)
    expected = naive_linear.features(
        rows.matrix.tolist(),
        rows.weights_or_ones().tolist(),
        rows.n_categories.tolist(),
        queries.matrix.tolist(),
        ranks=plan.ranks,
        products=plan.degree == 2,
    )
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_products_are_left_out_where_rows_do_not_allow_them():
    rng = np.random.default_rng(0)
    few, many = (plain_rows(rng.normal(size=(n, 12)), np.arange(n) % 2, 2) for n in (100, 400))
    plan = LinearPlan(degree=2)
    assert len(LinearEncoding.learn(plan, few).means) == 12
    assert len(LinearEncoding.learn(plan, many).means) == 12 + 78


def test_values_at_the_ends_of_a_double():
    most = np.finfo(float).max
    matrix = np.array([[-most, 5e-324], [most, 0.0], [1.0, 0.0], [np.nan, 0.0]] * 6)
    rows, fold_of = plain_rows(matrix, np.arange(24) % 2, 2), np.arange(24) % 3
    for plan in PLANS:
        assert np.isfinite(LinearEncoding.learn(plan, rows).features(matrix)).all()
        proba = answers(plan, rows, fold_of)
        np.testing.assert_allclose(proba.sum(axis=2), 1)


# The fit.


@pytest.mark.parametrize(("n_rows", "n_columns", "n_classes"), [(60, 4, 2), (80, 5, 3), (150, 3, 5), (20, 40, 3)])
@pytest.mark.parametrize("strength", [1.0, 0.03, 0.001])
def test_coefficients_are_those_of_scikit_learn(n_rows, n_columns, n_classes, strength):
    rng = np.random.default_rng([n_rows, n_columns])
    features = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    weights = rng.uniform(0.5, 2, n_rows)
    features -= weights @ features / weights.sum()
    labels = (
        (features @ rng.normal(size=(n_columns, n_classes)) + 2 * rng.gumbel(size=(n_rows, n_classes)))
        .argmax(axis=1)
        .astype(np.int32)
    )
    of_class = np.full(n_classes, 1 / n_classes)
    with_classes = np.concatenate([features, np.zeros((n_classes, n_columns))])
    all_labels = np.concatenate([labels, np.arange(n_classes, dtype=np.int32)])
    folds = np.stack([weights, weights * (np.arange(n_rows) % 2)])
    axes = Axes.of(with_classes, np.concatenate([weights, of_class]))
    loss = FoldedLoss(axes, all_labels, np.column_stack([folds, np.tile(of_class, (2, 1))]), n_classes)
    found = loss.minimum(strength, np.zeros(loss.shape), slope_left=1e-8, most_iterations=2000)
    for fold, of_fold in zip(found, folds, strict=True):
        kept = of_fold > 0
        coefficients, intercepts = naive_linear.fit(features[kept], labels[kept], of_fold[kept], n_classes, strength)
        np.testing.assert_allclose(axes.directions @ fold[:, 1:].T, coefficients, atol=1e-4)
        np.testing.assert_allclose(fold[:, 0] - fold[:, 0].mean(), intercepts - intercepts.mean(), atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("plan", PLANS)
def test_folds_are_those_of_the_slow_version(plan, n_classes):
    rows, fold_of = problem(7, n_classes=n_classes)
    found = fit_linear_folds(plan, rows, fold_of)
    features = LinearEncoding.learn(plan, rows).features(rows.matrix)  # compared above
    weights = rows.weights_or_ones()
    losses = {}
    for strength in found.losses:
        honest = np.empty((len(rows), n_classes))
        for fold in range(3):
            kept = fold_of != fold
            fitted = naive_linear.fit(features[kept], rows.labels[kept], weights[kept], n_classes, strength)
            honest[~kept] = naive_linear.answer(features[~kept], *fitted)
            if strength == found.strength:
                said = found.models[fold].answer(rows.matrix)
                np.testing.assert_allclose(said, naive_linear.answer(features, *fitted), atol=2e-3)
        floored = np.maximum(honest, plan.floor)
        own = (floored / floored.sum(axis=1, keepdims=True))[np.arange(len(rows)), rows.labels]
        losses[strength] = -np.average(np.log(own), weights=weights)
    assert losses == pytest.approx(found.losses, abs=1e-4)
    assert found.losses[found.strength] == min(found.losses.values())


def test_the_search_stops_when_ridges_no_longer_help():
    rows, fold_of = problem(3)
    patient = fit_linear_folds(LinearPlan(patience=99), rows, fold_of)
    found = fit_linear_folds(LinearPlan(), rows, fold_of)
    tried = list(found.losses)
    assert tried == list(patient.losses)[: len(tried)] and len(tried) < len(patient.losses)
    assert tried[-2] == found.strength


def test_a_fold_does_not_see_its_rows():
    rows, fold_of = problem(5)
    plan = LinearPlan(strengths=(0.01,), slope_left=1e-4)
    before = fit_linear_folds(plan, rows, fold_of).models
    changed = replace(rows, labels=np.where(fold_of == 1, (rows.labels + 1) % 3, rows.labels).astype(np.int32))
    after = fit_linear_folds(plan, changed, fold_of).models
    for fold, (one, other) in enumerate(zip(before, after, strict=True)):
        apart = np.abs(one.answer(rows.matrix) - other.answer(rows.matrix)).max()
        assert apart < 1e-3 if fold == 1 else apart > 0.01


# Laws.


@pytest.mark.parametrize("plan", PLANS)
def test_a_weight_is_as_many_copies(plan):
    rows, fold_of = problem(11)
    copies = np.repeat(np.arange(len(rows)), rows.weights.astype(int))
    copied = replace(rows.take(copies), weights=None)
    weighted = answers(plan, rows, fold_of)
    np.testing.assert_allclose(weighted[:, copies], answers(plan, copied, fold_of[copies]), atol=1e-3)


@pytest.mark.parametrize("plan", PLANS)
def test_the_order_of_rows_classes_and_columns_does_not_matter(plan):
    rows, fold_of = problem(12, n_classes=4)
    rng = np.random.default_rng(0)
    expected = answers(plan, rows, fold_of)
    order = rng.permutation(len(rows))
    np.testing.assert_allclose(answers(plan, rows.take(order), fold_of[order]), expected[:, order], atol=1e-3)
    names = rng.permutation(4).astype(np.int32)
    renamed = answers(plan, replace(rows, labels=names[rows.labels]), fold_of)
    np.testing.assert_allclose(renamed[:, :, names], expected, atol=1e-3)
    columns = rng.permutation(rows.n_columns)
    moved = replace(rows, matrix=rows.matrix[:, columns], n_categories=rows.n_categories[columns])
    np.testing.assert_allclose(answers(plan, moved, fold_of), expected, atol=1e-3)


@pytest.mark.parametrize("plan", PLANS)
def test_the_unit_and_the_origin_of_a_number_do_not_matter(plan):
    rows, fold_of = problem(13)
    numbers = rows.n_categories == 0
    other = np.where(numbers, 1024 * rows.matrix - 32, rows.matrix)
    np.testing.assert_allclose(
        answers(plan, replace(rows, matrix=other), fold_of), answers(plan, rows, fold_of), atol=1e-3
    )


def test_a_row_gets_the_same_answer_alone():
    rows, fold_of = problem(14)
    model = fit_linear_folds(PLANS[2], rows, fold_of).models[0]
    alone = np.concatenate([model.answer(rows.matrix[[i]]) for i in range(len(rows))])
    np.testing.assert_allclose(alone, model.answer(rows.matrix), rtol=1e-12)


def test_the_geometric_mean_is_the_mean_of_coefficients():
    rows, fold_of = problem(15)
    models = fit_linear_folds(LinearPlan(), rows, fold_of).models
    product = np.exp(np.mean([np.log(model.answer(rows.matrix)) for model in models], axis=0))
    np.testing.assert_allclose(
        LinearModel.fused(models)[0].answer(rows.matrix), product / product.sum(axis=1, keepdims=True), rtol=1e-9
    )


# Little data, and much.


def test_one_class():
    rows = plain_rows(np.random.default_rng(0).normal(size=(9, 2)), np.zeros(9), 1)
    np.testing.assert_array_equal(answers(LinearPlan(), rows, np.arange(9) % 3), 1.0)


def test_a_class_that_a_fold_lacks_has_a_probability():
    rows = plain_rows(np.random.default_rng(0).normal(size=(30, 2)), np.r_[2, np.arange(29) % 2], 3)
    proba = answers(LinearPlan(), rows, np.arange(30) % 3)[0]  # the first fold holds the only row of class 2 out
    assert ((proba[:, 2] > 0.001) & (proba[:, 2] < 0.1)).all()


def test_one_row_per_class():
    rows = plain_rows(np.arange(4.0)[:, np.newaxis], np.arange(4), 4)
    for plan in PLANS:
        np.testing.assert_allclose(answers(plan, rows, np.arange(4)).sum(axis=2), 1)


@pytest.mark.parametrize("column", [np.full(20, 3.0), np.full(20, np.nan)])
def test_a_column_that_says_nothing_leaves_the_base_rates(column):
    rows = plain_rows(column[:, np.newaxis], np.arange(20) % 5 == 0, 2)
    proba = answers(LinearPlan(), rows, np.arange(20) % 2)
    np.testing.assert_allclose(proba[:, :, 1], 2.5 / 11, atol=1e-3)  # two of ten rows, and half a row more


def test_missing_values_say_what_they_tell():
    labels = np.arange(60) % 2
    column = np.where(labels == 1, np.nan, np.random.default_rng(0).normal(size=60))
    proba = answers(LinearPlan(), plain_rows(column[:, np.newaxis], labels, 2), np.arange(60) % 3)
    assert proba[:, labels == 1, 1].min() > 0.9 and proba[:, labels == 0, 1].max() < 0.1


def test_wide_data_need_no_more_axes_than_rows():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(100, 10_000)).astype(np.float32)
    labels = (matrix[:, :50].sum(axis=1) > 0).astype(int)
    rows = plain_rows(matrix, labels, 2)
    features = LinearEncoding.learn(LinearPlan(), rows).features(matrix)
    assert Axes.of(features, np.ones(100)).directions.shape == (10_000, 99)
    np.testing.assert_allclose(answers(LinearPlan(degree=2), rows, np.arange(100) % 4).sum(axis=2), 1)


def test_long_data_are_sampled():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(20_000, 3))
    rows = plain_rows(matrix, matrix[:, 0] + rng.logistic(size=20_000) > 0, 2)
    plan = LinearPlan(most_rows=2_000)
    fold_of = np.arange(20_000) % 4
    found, whole = (fit_linear_folds(one, rows, fold_of) for one in (plan, LinearPlan()))
    few, all_ = (LinearModel.fused(one.models)[0].answer(matrix) for one in (found, whole))
    assert 0.001 < np.abs(few - all_).max() < 0.1
    np.testing.assert_array_equal(
        few, LinearModel.fused(fit_linear_folds(plan, rows, fold_of).models)[0].answer(matrix)
    )


@pytest.mark.parametrize("n_kernels", [0, 128])
@pytest.mark.parametrize("most", [1e6, 1e7])
@pytest.mark.parametrize(("n_features", "n_classes"), [(0, 1), (50, 2), (50, 300), (10_000, 2), (10_000, 300)])
def test_the_work_of_a_search_is_bounded(n_features, n_classes, most, n_kernels):
    n_rows = _affordable_rows(LinearPlan(most_products=int(most)), n_features, n_kernels, n_classes)
    assert n_rows >= 100
    unknowns = max(n_kernels or n_features, 32)  # of each class; a score counts as much as 32
    assert n_rows == 100 or n_rows * min(n_rows, unknowns) * n_classes <= most
    assert n_rows == 100 or n_rows * n_features <= 2e7


def test_many_classes():
    rng = np.random.default_rng(0)
    rows = plain_rows(rng.normal(size=(900, 4)), np.arange(900) % 300, 300)
    np.testing.assert_allclose(answers(LinearPlan(), rows, np.arange(900) // 300).sum(axis=2), 1)


# The plan.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"degree": 3}, "degree=3"),
        ({"ranks": "no"}, "ranks='no'"),
        ({"strengths": ()}, "strengths="),
        ({"strengths": (0.1, 1.0)}, "the largest first"),
        ({"strengths": (0.0,)}, "strengths=0.0"),
        ({"patience": 0}, "patience=0"),
        ({"most_rows": 5}, "most_rows=5"),
        ({"floor": 0}, "floor=0"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_a_plan_is_checked_when_it_is_made(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearPlan(**parameters)
