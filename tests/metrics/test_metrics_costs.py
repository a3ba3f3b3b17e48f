"""Profit and cost of decisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import naive_metrics as naive
from metric_problems import make_problem, problems
from petiole.metrics import error_rate, misclassification_cost, profit

COST = np.array([[0.0, 5.0], [1.0, 0.0]])


@settings(deadline=None, max_examples=80)
@given(problems)
def test_costs_equal_the_naive_ones(problem):
    y, proba, w = problem.plain
    n, k = problem.proba.shape
    rng = np.random.default_rng(n)
    shared, own = rng.integers(-3, 9, size=(4, k)) / 2, rng.integers(-3, 9, size=(n, 4, k)) / 2
    decisions = rng.integers(4, size=n)
    for cost, table in ((shared, [shared.tolist()] * n), (own, own.tolist())):
        for taken in (None, decisions):
            slow = naive.cost(y, proba, w, table, None if taken is None else taken.tolist())
            keys = {"decisions": taken, "actions": [0, 1, 2, 3], **problem.arguments}
            fast = misclassification_cost(problem.y, problem.proba, cost, average=False, **keys)
            # the cheapest of two actions of equal expected cost depends on rounding
            if taken is not None or not _almost_tied(problem.proba, cost):
                assert fast == pytest.approx(slow, abs=1e-9)
                assert profit(problem.y, problem.proba, -cost, **keys) == pytest.approx(-slow, abs=1e-9)
                mean = misclassification_cost(problem.y, problem.proba, cost, **keys)
                assert mean == pytest.approx(slow / sum(w), abs=1e-9)


def _almost_tied(proba, cost):
    expected = np.sort(np.einsum("nk,nak->na", proba, np.broadcast_to(cost, (len(proba), *cost.shape[-2:]))), axis=1)
    return (np.diff(expected, axis=1)[:, 0] < 1e-9).any()


@settings(deadline=None, max_examples=80)
@given(problems)
def test_campaigns_equal_the_naive_ones(problem):
    y, proba, w = problem.plain
    n, k = problem.proba.shape
    rng = np.random.default_rng(n)
    amounts, costs, expected = rng.uniform(0, 10, size=(3, n))
    slow = naive.campaign(y, proba, w, amounts, costs, expected, k - 1)
    keys = {"amounts": amounts, "cost": costs, "target": problem.labels[-1], **problem.arguments}
    fast = profit(problem.y, problem.proba, expected_amounts=expected, **keys)
    assert fast == pytest.approx(slow, abs=1e-9)
    solicited = problem.proba[:, -1] * expected > costs
    assert profit(problem.y, problem.proba, decisions=solicited, **keys) == pytest.approx(slow, abs=1e-9)


def test_zero_one_cost_is_the_error_rate():
    problem = make_problem(1, n_rows=60, n_classes=4)
    cost = 1 - np.eye(4)
    expected = error_rate(problem.y, problem.proba, **problem.arguments)
    assert misclassification_cost(problem.y, problem.proba, cost, **problem.arguments) == pytest.approx(expected)


def test_difference_of_two_classifiers_is_the_golden_one():
    """Ten examples, cost 5 for overlooking class 1 and 1 for a false alarm: four are overlooked by the first only, and
    one is a false alarm of the first only: 21 in all, 2.1 per example."""
    y = [1] * 4 + [0] + [0] * 5
    first, second = [0] * 4 + [1] + [0] * 5, [1] * 4 + [0] + [0] * 5
    even = [[0.5, 0.5]] * 10
    dearer = misclassification_cost(y, even, COST, decisions=first, average=False)
    assert dearer - misclassification_cost(y, even, COST, decisions=second, average=False) == 21
    dearer = misclassification_cost(y, even, COST, decisions=first)
    assert dearer - misclassification_cost(y, even, COST, decisions=second) == pytest.approx(2.1)


def test_rows_are_predictions_and_columns_the_truth():
    told = [[0.9, 0.1]]
    assert misclassification_cost([1], told, COST, decisions=[0], labels=[0, 1]) == 5
    assert misclassification_cost([0], told, COST, decisions=[1], labels=[0, 1]) == 1


def test_the_truth_decides_best_in_expectation():
    rng = np.random.default_rng(0)
    for _ in range(200):
        truth, told = rng.dirichlet(np.ones(3), size=2)
        cost = rng.uniform(0, 10, size=(4, 3))

        def expected(proba, truth=truth, cost=cost):
            table = np.tile(proba, (3, 1))
            return misclassification_cost([0, 1, 2], table, cost, sample_weight=truth)

        assert expected(truth) <= expected(told) + 1e-12
        assert expected(truth) == pytest.approx((cost @ truth).min())


def test_kdd_98_mailing_everybody_and_nobody():
    rng = np.random.default_rng(3)
    gave = rng.random(1000) < 0.05
    amounts = np.where(gave, rng.gamma(2, 8, size=1000), 0.0)
    proba = np.tile([0.95, 0.05], (1000, 1))
    keys = {"amounts": amounts, "cost": 0.68}
    everybody = profit(gave, proba, expected_amounts=1e6, **keys)
    assert everybody == pytest.approx(amounts.sum() - 0.68 * 1000)
    assert profit(gave, proba, expected_amounts=0.0, **keys) == 0
    assert profit(gave, proba, expected_amounts=0.68 / 0.05, **keys) == 0  # p·y must exceed the cost
    assert profit(gave, proba, decisions=gave, **keys) == pytest.approx(amounts.sum() - 0.68 * gave.sum())
    assert profit(gave, proba, decisions=gave, average=True, **keys) == pytest.approx(
        (amounts.sum() - 0.68 * gave.sum()) / 1000
    )


def test_a_campaign_is_a_case_of_the_general_form():
    rng = np.random.default_rng(5)
    n = 200
    y, p = rng.integers(2, size=n), rng.random(n)
    amounts, expected = rng.uniform(0, 5, size=(2, n))

    def gains(values):
        table = np.zeros((n, 2, 2))
        table[:, 1, 0], table[:, 1, 1] = -0.7, values - 0.7
        return table

    proba = np.column_stack([1 - p, p])
    as_campaign = profit(y, proba, amounts=amounts, cost=0.7, expected_amounts=expected)
    assert profit(y, proba, gains(amounts), expected_gain=gains(expected)) == pytest.approx(as_campaign)


def test_decisions_are_classes_if_there_are_as_many_actions():
    keys = {"labels": ["sick", "well"], "average": False}
    y, even = ["sick", "well"], [[0.5, 0.5]] * 2
    assert misclassification_cost(y, even, [[0, 3], [7, 0]], decisions=["well", "sick"], **keys) == 10
    actions = ["treat", "wait", "test"]
    cost = [[1, 3], [9, 0], [2, 2]]
    assert misclassification_cost(y, even, cost, decisions=["wait", "test"], actions=actions, **keys) == 11
    assert misclassification_cost(y, even, cost, decisions=[1, 2], **keys) == 11


EVEN = [[0.5, 0.5]] * 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: misclassification_cost([0, 1], EVEN, [1, 2]), r"cost has shape \(2,\): must be \(actions, 2\)"),
        (lambda: misclassification_cost([0, 1], EVEN, np.eye(3)), r"cost has shape \(3, 3\)"),
        (lambda: misclassification_cost([0, 1], EVEN, np.zeros((3, 2, 2))), r"cost has shape \(3, 2, 2\)"),
        (lambda: misclassification_cost([0, 1], EVEN, [[0, np.inf], [1, 0]]), "cost: must be finite"),
        (lambda: misclassification_cost([0, 1], EVEN, "cheap"), "cost='cheap': must be numbers"),
        (lambda: misclassification_cost([0, 1], EVEN, COST, decisions=[0, 2]), "decisions has the label 2"),
        (lambda: misclassification_cost([0, 1], EVEN, COST, decisions=[0]), "decisions has 1 entries"),
        (lambda: misclassification_cost([0, 1], EVEN, COST, decisions=[0, 1], actions=["a"]), "actions="),
        (lambda: misclassification_cost([0, 1], EVEN, COST, average="yes"), "average='yes': must be True or False"),
        (lambda: profit([0, 1], EVEN), "must pass one of the two"),
        (lambda: profit([0, 1], EVEN, COST, amounts=1), "must pass one of the two"),
        (lambda: profit([0, 1], EVEN, amounts=[1, 2]), "expected_amounts=None: must say what was known"),
        (lambda: profit([0, 1], EVEN, amounts=[1, 2, 3], decisions=[1, 1]), r"amounts has shape \(3,\)"),
        (lambda: profit([0, 1], EVEN, amounts=1, cost="dear"), "cost='dear': must be a number"),
        (lambda: profit([0, 1], EVEN, amounts=1, decisions=[2, 1]), "decisions: must say True or False"),
        (lambda: profit([0, 1], EVEN, COST, expected_gain=np.zeros((3, 2))), "expected_gain has 3 actions"),
    ],
)
def test_errors_name_the_parameter_and_the_remedy(call, words):
    with pytest.raises(ValueError, match=words):
        call()
