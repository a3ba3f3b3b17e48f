"""Profit and cost curves: against the slow versions, and their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_curves as naive
from metric_problems import make_problem
from petiole import metrics

seeds = st.integers(0, 10**6)


def table(scores):
    return np.column_stack([1 - np.asarray(scores), scores])


def campaign(seed, n_rows, scalar):
    rng = np.random.default_rng(seed)
    if scalar:
        return float(rng.integers(1, 20)), float(rng.integers(0, 5))
    return rng.integers(0, 20, n_rows).astype(float), rng.integers(0, 5, n_rows).astype(float)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, scalar=st.booleans(), expected=st.booleans())
def test_profit_of_a_campaign_is_that_of_each_threshold(seed, scalar, expected):
    problem = make_problem(seed)
    amounts, cost = campaign(seed, len(problem.y), scalar)
    hoped = np.random.default_rng(seed + 1).integers(0, 20, len(problem.y)) if expected else None
    target = problem.labels[seed % len(problem.labels)]
    column = seed % len(problem.labels)
    arguments = {"amounts": amounts, "cost": cost, "target": target, **problem.arguments}
    curve = metrics.profit_curve(problem.y, problem.proba, expected_amounts=hoped, **arguments)
    scores = problem.proba[:, column] * (1.0 if hoped is None else hoped)
    acting = np.where(problem.y == target, amounts, 0.0) - cost
    rows = scores.tolist(), acting.tolist(), [0.0] * len(acting), problem.weights.tolist()
    for threshold, profit, share in zip(curve.thresholds, curve.profit, curve.shares, strict=True):
        assert profit == pytest.approx(naive.profit_above(threshold, *rows), abs=1e-9)
        assert share == pytest.approx(naive.share_above(threshold, rows[0], rows[3]), abs=1e-12)
        decisions = scores > threshold
        said = metrics.profit(problem.y, problem.proba, decisions=decisions, **arguments)
        assert profit == pytest.approx(said, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, per_row=st.booleans())
def test_profit_of_two_actions_is_that_of_each_threshold(seed, per_row):
    problem = make_problem(seed)
    n_rows, n_classes = problem.proba.shape
    rng = np.random.default_rng(seed)
    gain = rng.normal(size=(n_rows, 2, n_classes) if per_row else (2, n_classes))
    target, column = problem.labels[0], 0
    curve = metrics.profit_curve(problem.y, problem.proba, gain, target=target, average=True, **problem.arguments)
    for threshold, profit in zip(curve.thresholds, curve.profit, strict=True):
        decisions = (problem.proba[:, column] > threshold).astype(int)
        arguments = {"decisions": decisions, "actions": [0, 1], "average": True, **problem.arguments}
        assert profit == pytest.approx(metrics.profit(problem.y, problem.proba, gain, **arguments), abs=1e-9)


def test_between_scores_nothing_changes():
    y, scores = [0, 1, 1, 0], [0.2, 0.4, 0.4, 0.9]
    curve = metrics.profit_curve(y, table(scores), amounts=5, cost=1)
    np.testing.assert_array_equal(curve.thresholds, [-np.inf, 0.2, 0.4, 0.9])
    np.testing.assert_array_equal(curve.profit, [6, 7, -1, 0])
    np.testing.assert_array_equal(curve.shares, [1, 0.75, 0.25, 0])
    np.testing.assert_array_equal(curve.profit_at([-1, 0, 0.2, 0.3, 0.399, 0.4, 1]), [6, 6, 7, 7, 7, -1, 0])
    assert curve.profit_at(0.3) == 7
    assert curve.best_threshold == pytest.approx(0.3)
    assert curve.best_profit == 7


def test_the_best_may_be_all_or_nobody():
    y, proba = [0, 1], table([0.2, 0.6])
    assert metrics.profit_curve(y, proba, amounts=5, cost=0).best_threshold == pytest.approx(0.4)
    assert metrics.profit_curve(y, proba, [[0, 0], [1, 1]]).best_threshold == -np.inf
    nobody = metrics.profit_curve(y, proba, amounts=5, cost=7)
    assert nobody.best_threshold == 0.6 and nobody.best_profit == 0


def test_of_equal_profits_the_one_that_acts_least():
    curve = metrics.profit_curve([1, 0, 1], table([0.1, 0.5, 0.9]), amounts=2, cost=1)
    np.testing.assert_array_equal(curve.profit, [1, 0, 1, 0])
    assert curve.best_threshold == pytest.approx(0.7)


def test_break_even():
    y, proba = ["n", "y"], table([0.2, 0.6])
    assert metrics.profit_curve(y, proba, amounts=10, cost=2).break_even == pytest.approx(0.2)
    assert metrics.profit_curve(y, proba, amounts=[3, 10], cost=2).break_even is None
    assert metrics.profit_curve(y, proba, amounts=[3, 10], expected_amounts=[4, 9], cost=2).break_even == 2
    assert metrics.profit_curve(y, proba, amounts=10, expected_amounts=9, cost=[1, 2]).break_even is None
    assert metrics.profit_curve(y, proba, amounts=1, cost=2).break_even is None
    gain = [[0, 0], [-2, 8]]
    assert metrics.profit_curve(y, proba, gain).break_even == pytest.approx(0.2)
    assert metrics.profit_curve(y, proba, np.array(gain)[:, ::-1], target="n").break_even == pytest.approx(0.2)


def test_at_the_break_even_profit_is_that_of_the_best_decisions():
    rng = np.random.default_rng(0)
    scores = rng.random(200)
    y = rng.random(200) < scores
    curve = metrics.profit_curve(y, table(scores), amounts=10, cost=3)
    assert curve.profit_at(curve.break_even) == pytest.approx(metrics.profit(y, table(scores), amounts=10, cost=3))


def test_truth_wins_near_the_break_even():
    rng = np.random.default_rng(0)
    scores = rng.random(200_000)
    y = rng.random(200_000) < scores
    curve = metrics.profit_curve(y, table(scores), amounts=10, cost=3)
    assert curve.best_threshold == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "gain and amounts: must pass one of the two"),
        ({"gain": [[0, 0], [1, 1]], "amounts": 1}, "gain and amounts: must pass one of the two"),
        ({"gain": [[0, 0], [1, 1], [2, 2]]}, "gain has 3 actions: must have two"),
        ({"gain": [[0, 0], [1, 1]], "expected_amounts": 3}, "expected_amounts: goes with amounts"),
        ({"amounts": [1, 2, 3]}, "amounts has shape"),
        ({"amounts": 1, "average": 2}, "average=2: must be True or False"),
        ({"amounts": 1, "target": "z"}, "target='z': must be one of the classes"),
    ],
)
def test_profit_curve_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        metrics.profit_curve(["n", "y"], table([0.2, 0.6]), **arguments)


def cost_problem(seed):
    """A problem with rows of the class and of others, and what the naive versions take."""
    problem = make_problem(seed, n_rows=3 + seed % 30, n_classes=2 + seed % 3)
    y, weights = problem.y.copy(), problem.weights.copy()
    y[:2], weights[:2] = problem.labels[:2], 1.0
    rows = problem.proba[:, 0].tolist(), (y == problem.labels[0]).tolist(), weights.tolist()
    curve = metrics.cost_curve(y, problem.proba, target=problem.labels[0], labels=problem.labels, sample_weight=weights)
    return curve, rows


@settings(max_examples=80, deadline=None)
@given(seed=seeds)
def test_cost_curve_is_that_of_the_naive_version(seed):
    curve, rows = cost_problem(seed)
    for threshold, *rates in zip(curve.thresholds, curve.false_alarms, curve.misses, strict=True):
        assert rates == pytest.approx(naive.error_rates(threshold, *rows), abs=1e-12)
    grid = np.concatenate([np.linspace(0, 1, 23), curve.probability_cost])
    envelope = [naive.least_cost(x, *rows) for x in grid]
    np.testing.assert_allclose(curve.cost_at(grid), envelope, atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(seed=seeds)
def test_own_decisions_cost_what_the_naive_version_says(seed):
    curve, rows = cost_problem(seed)
    grid = np.linspace(0, 1, 23) ** 1.013  # scores are fractions, on whose thresholds rounding would decide
    own = [naive.cost_of_own_decisions(x, *rows) for x in grid]
    np.testing.assert_allclose(curve.cost_of_decisions(grid), own, atol=1e-12)
    assert (curve.cost_of_decisions(grid) >= curve.cost_at(grid) - 1e-12).all()


def test_envelope_is_below_the_trivial_lines_and_perfect_ranking_costs_nothing():
    x = np.linspace(0, 1, 101)
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    curve = metrics.cost_curve(rng.random(300) < scores, table(scores))
    assert (curve.cost_at(x) <= np.minimum(x, 1 - x) + 1e-12).all()
    assert (np.diff(curve.probability_cost) > 0).all()
    perfect = metrics.cost_curve(scores > 0.5, table(scores))
    np.testing.assert_allclose(perfect.cost_at(x), 0, atol=1e-12)
    useless = metrics.cost_curve(rng.random(300) < 0.5, table(np.full(300, 0.5)))
    np.testing.assert_allclose(useless.cost_at(x), np.minimum(x, 1 - x), atol=1e-12)


def test_true_probabilities_decide_as_well_as_hindsight():
    rng = np.random.default_rng(1)
    scores = rng.beta(0.6, 2, 100_000)
    y = rng.random(100_000) < scores
    x = np.linspace(0.02, 0.98, 49)
    true, distorted = metrics.cost_curve(y, table(scores)), metrics.cost_curve(y, table(np.sqrt(scores)))
    np.testing.assert_allclose(true.cost_of_decisions(x), true.cost_at(x), atol=0.004)
    np.testing.assert_allclose(distorted.cost_at(x), true.cost_at(x), atol=1e-12)
    assert (distorted.cost_of_decisions(x) - distorted.cost_at(x)).max() > 0.05


@pytest.mark.parametrize(("y", "words"), [([0, 0], "no row is"), ([1, 1], "all rows are")])
def test_cost_curve_needs_both_sides(y, words):
    with pytest.raises(ValueError, match=f"target=1: {words} of this class"):
        metrics.cost_curve(y, table([0.2, 0.6]), labels=[0, 1])


def test_a_large_curve_is_quick():
    rng = np.random.default_rng(2)
    scores = rng.random(200_000)
    curve = metrics.cost_curve(rng.random(200_000) < scores, table(scores))
    assert len(curve.probability_cost) < 2000  # the corners alone
