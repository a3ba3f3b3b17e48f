"""Logistic regressions whose log-odds are monotone: signs of coefficients, and products that keep to them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from petiole._linear.cross_fitting import fit_linear_folds
from petiole._linear.encoding import LinearEncoding
from petiole._linear.ordered_products import OrderedProducts
from petiole._linear.plan import LinearPlan
from petiole._linear.solver import Axes, FoldedLoss, Limits
from petiole._table.constraints import Constraints
from petiole._table.rows import EncodedRows

SIGNS = (1, -1, 0, 0)


def rows_of(n=300, seed=0, target=1, groups=(), signs=SIGNS):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] * (1 + (X[:, 2] > 0)) + 0.5 * X[:, 1] + X[:, 2] * X[:, 3]  # along the second the data go against
    y = (score + rng.logistic(size=n) > 0).astype(np.int32)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    y = y if target == 1 else 1 - y
    return EncodedRows(
        X, y, None, np.zeros(4, dtype=np.int32), np.array([0, 1]), constraints=Constraints(signs, target, groups)
    )


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("plan", [LinearPlan(), LinearPlan(degree=2), LinearPlan(degree=2, ranks=True)], ids=str)
def test_no_pair_violates_the_order(plan, target):
    rows = rows_of(target=target)
    models = fit_linear_folds(plan, rows, np.arange(len(rows)) % 3).models
    rng = np.random.default_rng(1)
    lower = np.where(rng.uniform(size=(5000, 4)) < 0.2, np.nan, 3 * rng.normal(size=(5000, 4)))
    upper = lower + rng.exponential(size=lower.shape) * np.array(SIGNS)
    for model in models:
        fall = model.answer(lower)[:, target] - model.answer(upper)[:, target]
        assert fall.max() <= 1e-12
        assert np.ptp(model.answer(lower)[:, 1]) > 0.3


def test_coefficients_are_the_best_within_their_signs():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 3))
    labels = (features @ [1.0, 0.7, -0.5] + rng.logistic(size=200) > 0).astype(np.int32)
    signs = np.array([1, -1, 0])
    features -= features.mean(axis=0)
    loss = FoldedLoss(Axes.along(features, np.ones(200)), labels, np.ones((1, 200)), 2)
    found = loss.minimum(0.01, np.zeros(loss.shape), 1e-8, 500, Limits.of_signs(signs, 1, 2))[0]

    def objective(x):
        odds = x[0] + features @ x[1:]
        return np.mean(np.logaddexp(0, odds) - labels * odds) + 0.5 * 0.01 * (x[1:] @ x[1:]) / 2

    bounds = [(None, None), (0, None), (None, 0), (None, None)]
    wanted = minimize(objective, np.zeros(4), bounds=bounds, tol=1e-12).x
    assert np.allclose(found[1] - found[0], wanted, atol=1e-4)
    assert wanted[2] == 0  # the data go against this direction


def test_a_direction_that_the_data_have_anyway_changes_nothing():
    rows = rows_of(signs=(1, 0, 0, 0))
    free = EncodedRows(rows.matrix, rows.labels, None, rows.n_categories, rows.classes)
    plan, folds = LinearPlan(slope_left=1e-7), np.arange(len(rows)) % 3
    one, two = (fit_linear_folds(plan, some, folds).models[0].answer(rows.matrix) for some in (rows, free))
    assert np.allclose(one, two, atol=1e-4)


def test_sums_of_ordered_products_are_monotone():
    rng = np.random.default_rng(0)
    signs = np.array([1, -1, 0])
    products = OrderedProducts.of(signs, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)], 3.0)
    assert len(products) == 10
    lower = np.column_stack([rng.uniform(-3, 3, (2000, 3)), rng.uniform(0, 1, (2000, 3))])
    upper = lower.copy()
    for column in (0, 1):
        step = rng.uniform(size=2000) * signs[column]
        upper[:, column] = np.clip(lower[:, column] + step, -3, 3)
        upper[:, 3 + column] = np.clip(lower[:, 3 + column] + step * rng.uniform(), 0, 1)
    for _ in range(20):
        coefficients = rng.exponential(size=10) * products.signs
        sums = [np.multiply(*products.factors(inputs)) @ coefficients for inputs in (lower, upper)]
        assert (sums[1] >= sums[0] - 1e-12).all()


def test_products_stay_in_their_groups():
    rows = rows_of(groups=((0, 1), (2, 3)))
    numeric = LinearEncoding.learn(LinearPlan(degree=2, ranks=True), rows).numeric
    pairs = {tuple(sorted(pair)) for pair in zip(*(place.tolist() for place in numeric.pairs), strict=True)}
    assert pairs == {(0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (3, 3)}


def test_more_than_two_classes_have_no_order():
    rows = rows_of()
    three = EncodedRows(
        rows.matrix, rows.labels, None, rows.n_categories, np.arange(3), constraints=Constraints(SIGNS, 1)
    )
    with pytest.raises(ValueError, match="no common order"):
        fit_linear_folds(LinearPlan(), three, np.arange(len(rows)) % 3)
