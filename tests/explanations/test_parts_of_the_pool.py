"""The members' Shapley values against all sets of columns, and the rule by which sums are carried on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from naive_shapley import shapley_values
from petiole._estimates.cross_fitted import CrossFitted
from petiole._linear.cross_fitting import fit_kernel_folds, fit_linear_folds
from petiole._linear.plan import LinearPlan
from petiole._table.rows import EncodedRows
from petiole.explanations.additive import (
    Additive,
    log_odds_of_scores,
    logs_of_probabilities,
    logs_of_scores,
    matched,
    softmax_of_scores,
)
from petiole.explanations.member_scores import explain_member
from petiole.explanations.tree_sums import Asked
from petiole.explanations.votes import quotient


def encoded(seed, n=200):
    random = np.random.default_rng(seed)
    matrix = np.column_stack([random.normal(size=(n, 3)), random.integers(0, 3, n)]).astype(float)
    matrix[random.random(matrix.shape) < 0.1] = np.nan
    labels = (np.nan_to_num(matrix[:, 0] * matrix[:, 1] + matrix[:, 2]) > 0).astype(np.int32)
    labels[: n // 5] = 2
    return EncodedRows(matrix, labels, None, np.array([0, 0, 0, 3], dtype=np.int32), np.arange(3))


def member(kind, rows):
    folds = np.arange(len(rows)) % 3
    if kind == "kernel":
        return CrossFitted(fit_kernel_folds(LinearPlan(n_landmarks=20), rows, folds).models)
    plan = LinearPlan(degree=2, ranks=True) if kind == "curved" else LinearPlan()
    return CrossFitted(fit_linear_folds(plan, rows, folds).models)


def scores(model, features, encoding):
    """What a linear model says of features that may be changed on the way."""
    return features @ model.coefficients + model.intercepts


@pytest.mark.parametrize("kind", ["linear", "curved", "kernel"])
def test_members_without_background_know_features_of_known_columns_only(kind):
    """A feature whose columns are not all known counts as average: it is 0."""
    rows = encoded(0)
    model = member(kind, rows)
    queries = rows.matrix[:5]
    found = explain_member(model, Asked(queries, None, 1), None)
    (one,) = model.asked
    for row, values in zip(queries, found.values, strict=True):

        def worth(known, row=row):
            base = one.encoding.base if kind == "kernel" else one.encoding
            # A value that is not known is missing, but its column's indicators are not told so.
            features = base.features(row[np.newaxis])
            for feature, columns in enumerate(feature_columns(base)):
                if not columns <= known:
                    features[:, feature] = 0
            if kind == "kernel":
                features = one.encoding.of(features)
            return scores(one, features, base)[0]

        np.testing.assert_allclose(values, shapley_values(worth, 4), atol=1e-9)
        np.testing.assert_allclose(found.base, worth(set()), atol=1e-9)


def feature_columns(encoding):
    """Which columns each feature needs, found by changing the columns one by one."""
    random = np.random.default_rng(0)
    start = np.concatenate([random.normal(size=(300, 3)), random.integers(0, 3, (300, 1))], axis=1)
    needed = [set() for _ in range(encoding.n_features)]
    for column in range(4):
        changed = start.copy()
        changed[:, column] = start[random.permutation(len(start)), column]
        changed[::3, column] = np.nan
        moved = np.abs(encoding.features(changed) - encoding.features(start)).max(axis=0) > 0
        for feature in np.flatnonzero(moved).tolist():
            needed[feature].add(column)
    return needed


@pytest.mark.parametrize("kind", ["linear", "curved", "kernel"])
def test_members_with_background_are_asked_about_rows_of_two(kind):
    rows = encoded(1)
    model = member(kind, rows)
    queries, others = rows.matrix[:4], rows.matrix[50:57]
    found = explain_member(model, Asked(queries, others, 1), None)
    (one,) = model.asked
    for row, values in zip(queries, found.values, strict=True):

        def worth(known, row=row):
            mixed = others.copy()
            mixed[:, sorted(known)] = row[sorted(known)]
            return scores(one, one.encoding.features(mixed), None).mean(axis=0)

        np.testing.assert_allclose(values, shapley_values(worth, 4), atol=1e-9)
        np.testing.assert_allclose(found.base, worth(set()), atol=1e-9)


def additive(seed, n_outputs=3, scale=1.0, n=40):
    random = np.random.default_rng(seed)
    return Additive(scale * random.normal(size=(n, 4, n_outputs)), scale * random.normal(size=n_outputs))


@pytest.mark.parametrize("scale", [1e-9, 0.01, 1.0, 30.0, 400.0])
def test_softmax_and_its_logarithms_keep_their_sums(scale):
    given = additive(0, scale=scale)
    proba = softmax_of_scores(given)
    np.testing.assert_allclose(proba.totals, softmax(given.totals, axis=1), atol=1e-12)
    np.testing.assert_allclose(proba.values.sum(axis=2), 0, atol=1e-12 * (1 + scale))
    if scale < 100:  # else the floor is reached
        logs = logs_of_scores(given, 1e-300).totals
        np.testing.assert_allclose(logs, given.totals - logsumexp(given.totals, axis=1, keepdims=True), atol=1e-10)
    odds = log_odds_of_scores(given)
    expected = given.totals - (given.totals.sum(axis=1, keepdims=True) - given.totals) / 2
    np.testing.assert_allclose(odds.totals, expected, atol=1e-10)
    raised = logs_of_scores(given, 0.002)
    floored = np.maximum(softmax(given.totals, axis=1), 0.002)
    np.testing.assert_allclose(raised.totals, np.log(floored / floored.sum(axis=1, keepdims=True)), atol=1e-9)


def test_two_classes_are_carried_by_the_secant():
    given = additive(1, 2)
    proba = softmax_of_scores(given)
    odds = given.values[:, :, 1] - given.values[:, :, 0]
    change = proba.totals[:, 1] - proba.base[1]
    expected = odds * (change / odds.sum(axis=1))[:, np.newaxis]
    np.testing.assert_allclose(proba.values[:, :, 1], expected, atol=1e-10)


def probabilities(seed, n=50):
    """Shares of columns that add up to probabilities, and to 0 over classes."""
    random = np.random.default_rng(seed)
    base, ends = random.dirichlet(np.ones(3)), random.dirichlet(np.full(3, 0.2), n)
    values = random.normal(size=(n, 4, 3)) * 0.1
    values -= values.mean(axis=2, keepdims=True)
    values[:, 3] += ends - base - values.sum(axis=1)
    return Additive(values, base)


@pytest.mark.parametrize("floor", [1e-12, 0.002, 0.2])
def test_logarithms_of_probabilities_keep_their_sums(floor):
    given = probabilities(0)
    logs = logs_of_probabilities(given, floor)
    raised = np.maximum(given.totals, floor)
    np.testing.assert_allclose(
        logs.totals, np.log(raised / raised.sum(axis=1, keepdims=True)), atol=1e-15 / floor + 1e-9
    )


def test_logarithms_above_the_floor_are_carried_by_the_secant():
    given = probabilities(1)
    given = Additive(given.values[(given.totals > 0.01).all(axis=1)], given.base)
    logs = logs_of_probabilities(given, 1e-9)
    slope = (np.log(given.totals) - np.log(given.base)) / (given.totals - given.base)
    np.testing.assert_allclose(logs.values, given.values * slope[:, np.newaxis], atol=1e-9)


def test_quotients_keep_their_sums_and_end_with_the_divisor():
    random = np.random.default_rng(0)
    below = Additive(random.normal(size=(20, 4, 1)) * 0.01, np.array([0.5]))
    above = Additive(random.normal(size=(20, 4, 3)) * 0.01, np.array([0.1, 0.1, 0.3]))
    below.values[0] = above.values[0] = 0
    below.values[0, 1], above.values[0, 2] = -0.5, -above.base
    found = quotient(above, below)
    np.testing.assert_allclose(found.totals[1:], above.totals[1:] / below.totals[1:], atol=1e-12)
    np.testing.assert_allclose(found.totals[0], found.base, atol=1e-12)
    nothing = quotient(above, Additive(below.values, np.zeros(1)))
    assert not nothing.values.any() and not nothing.base.any()


def test_values_are_matched_to_totals_in_proportion():
    values = np.array([[[1.0], [-3.0]], [[0.0], [0.0]]])
    np.testing.assert_allclose(matched(values, np.array([[2.0], [1.0]]))[:, :, 0], [[2.0, 0.0], [0.5, 0.5]])
