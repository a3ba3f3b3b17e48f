"""Expected costs, decisions, thresholds and abstention: against the loops of naive_decisions, and by their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_decisions as naive
from petiole.decisions import decide, decide_or_abstain, expected_cost, threshold, with_abstention

COSTS = [[0, 5], [1, 0]]  # cost[predicted, true] of the golden numbers


def random_problem(seed, *, per_example=False, n_actions=None):
    """Probabilities with zeros and ties, and small whole costs, so that many actions cost the same."""
    rng = np.random.default_rng(seed)
    n_rows, n_classes = rng.integers(1, 12), rng.integers(1, 6)
    n_actions = int(rng.integers(1, 6)) if n_actions is None else n_actions or int(n_classes)
    counts = rng.integers(0, 4, size=(n_rows, n_classes))
    counts[counts.sum(axis=1) == 0] = 1
    shape = (n_rows, n_actions, n_classes) if per_example else (n_actions, n_classes)
    return counts / counts.sum(axis=1, keepdims=True), rng.integers(-3, 5, size=shape)


@pytest.mark.parametrize("per_example", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_costs_and_decisions_equal_the_loops(seed, per_example):
    proba, cost = random_problem(seed, per_example=per_example)
    np.testing.assert_allclose(expected_cost(proba, cost), naive.expected_cost(proba, cost.tolist()), atol=1e-14)
    assert decide(proba, cost).tolist() == naive.decide(proba, cost.tolist())


def test_golden_difference_of_two_classifiers():
    """Four rows of class 1 predicted as 0 by the first and as 1 by the second, one of class 0 the other way round."""
    truth = np.eye(2)[[1] * 4 + [0] + [0, 0, 0, 1, 1]]
    first, second = [0] * 4 + [1] + [0, 0, 1, 1, 0], [1] * 4 + [0] + [0, 0, 1, 1, 0]
    costs = expected_cost(truth, COSTS)
    rows = np.arange(10)
    assert (costs[rows, first] - costs[rows, second]).sum() == 21


def test_rows_are_actions_and_columns_are_true_classes():
    assert expected_cost([[1.0, 0.0], [0.0, 1.0]], [[10, 20], [30, 40], [50, 60]]).tolist() == [
        [10, 30, 50],
        [20, 40, 60],
    ]


@pytest.mark.parametrize("seed", range(30))
def test_equal_costs_of_mistakes_give_the_most_probable_class(seed):
    proba, _ = random_problem(seed)
    n_classes = proba.shape[1]
    assert decide(proba, 1 - np.eye(n_classes)).tolist() == proba.argmax(axis=1).tolist()


@pytest.mark.parametrize("n_classes", [2, 3, 5, 7, 10, 49, 1000])
def test_ties_go_to_the_lowest_index_however_sums_round(n_classes):
    uniform = np.full((3, n_classes), 1 / n_classes)
    assert decide(uniform, 0.1 * (1 - np.eye(n_classes))).tolist() == [0, 0, 0]
    assert decide(uniform, np.tile(0.3 * (1 - np.eye(n_classes)), (3, 1, 1))).tolist() == [0, 0, 0]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.5, 3.0, 1000.0, 1e-9]))
def test_scale_and_column_constants_leave_decisions_alone(seed, per_example, factor):
    proba, cost = random_problem(seed, per_example=per_example)
    constants = np.random.default_rng(seed).integers(-5, 5, size=proba.shape[1])
    before = decide(proba, cost)
    assert (decide(proba, factor * cost) == before).all()
    assert (decide(proba, cost + constants) == before).all()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_no_decision_is_cheaper_in_expectation(seed, per_example):
    proba, cost = random_problem(seed, per_example=per_example, n_actions=0)
    costs, rows = expected_cost(proba, cost), np.arange(len(proba))
    chosen = costs[rows, decide(proba, cost)]
    assert (chosen <= costs[rows, proba.argmax(axis=1)] + 1e-12).all()
    np.testing.assert_allclose(chosen, costs.min(axis=1), atol=1e-12)


def test_renamed_classes_and_reordered_actions():
    rng = np.random.default_rng(0)
    proba, cost = rng.dirichlet(np.ones(4), size=50), rng.uniform(size=(5, 4))
    classes, actions = rng.permutation(4), rng.permutation(5)
    assert (actions[decide(proba[:, classes], cost[actions][:, classes])] == decide(proba, cost)).all()


def test_one_matrix_per_example_is_that_example_alone():
    rng = np.random.default_rng(1)
    proba, cost = rng.dirichlet(np.ones(3), size=20), rng.uniform(size=(20, 4, 3))
    alone = [decide(proba[[i]], cost[i])[0] for i in range(20)]
    assert decide(proba, cost).tolist() == alone


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["no", "yes"], ["yes", "no"]),
        (np.array([7, 9]), [9, 7]),
        ([0, "ask"], ["ask", 0]),
        ((False, True), [True, False]),
        ([None, 2.5], [2.5, None]),
    ],
)
def test_names_of_actions_keep_their_types(actions, expected):
    answer = decide([[0.5, 0.5], [0.9, 0.1]], COSTS, actions=actions)
    assert answer.tolist() == expected
    assert [type(name) for name in answer.tolist()] == [type(name) for name in expected]


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ([[0, np.nan], [1, 0]], r"cost\[0, 1\]=nan: must be a finite number; give the cost of action 0"),
        ([[0, 1], [np.inf, 0]], r"cost\[1, 0\]=inf.*use a large number"),
        ([[0, 1], [-np.inf, 0]], r"cost\[1, 0\]=-inf"),
        ([[[0, 1], [1, 0]], [[0, 1], [1, np.nan]]], r"cost\[1, 1, 1\]=nan"),
        ([[0, 1, 2], [1, 0, 2]], r"shape \(2, 3\), but there are 2 classes.*; transpose it"),
        ([[0, 1, 2], [1, 0, 2], [0, 0, 0]], r"shape \(3, 3\), but there are 2 classes.*true\]$"),
        ([0, 1], r"shape \(2,\)"),
        (np.zeros((3, 2, 2)), r"shape \(3, 2, 2\), but there are 2 rows"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
        ([["a", "b"], ["c", "d"]], "dtype"),
        ([[0, 1], [1]], "same length"),
        ([[0, 1j], [1, 0]], "dtype complex"),
        (np.array([[0, None], [1, "x"]], dtype=object), "real numbers"),
    ],
)
def test_bad_costs_are_refused(cost, words):
    for function in (expected_cost, decide):
        with pytest.raises(ValueError, match=words):
            function([[0.5, 0.5], [0.2, 0.8]], cost)


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (["a"], "has 1 names, but cost has 2 rows"),
        (["a", "a"], "occur once"),
        ("ab", "flat list"),
        ([[1, 2]], "flat list"),
    ],
)
def test_bad_names_of_actions_are_refused(actions, words):
    with pytest.raises(ValueError, match=words):
        decide([[0.5, 0.5]], COSTS, actions=actions)


def test_probabilities_are_checked():
    with pytest.raises(ValueError, match=r"proba\[0\] sums to"):
        decide([[0.5, 0.4]], COSTS)


def test_threshold_by_hand():
    assert threshold([[0, 4], [1, 0]]) == 0.2
    assert threshold([[0, 1], [1, 0]]) == 0.5
    assert threshold([[-10, 20], [0, 5]]) == 0.4  # a = 10, b = 15
    assert isinstance(threshold(COSTS), float)


@pytest.mark.parametrize("seed", range(20))
def test_threshold_is_where_the_loops_switch(seed):
    rng = np.random.default_rng(seed)
    right, wrong = rng.integers(-3, 3, size=2), rng.integers(1, 9, size=2)
    cost = [[int(right[0]), int(right[1] + wrong[1])], [int(right[0] + wrong[0]), int(right[1])]]
    at = naive.switches_at(cost)
    assert at - 1e-4 - 1e-12 <= threshold(cost) <= at


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_threshold_says_what_decide_says(seed):
    rng = np.random.default_rng(seed)
    cost = rng.integers(-2, 4, size=(40, 2, 2))
    upside_down = (cost[:, 1, 0] < cost[:, 0, 0]) & (cost[:, 0, 1] < cost[:, 1, 1])
    cost = cost[~upside_down]
    p = rng.choice([0.01, 0.2, 0.35, 0.71, 0.99], size=len(cost))
    switch = threshold(cost, dominated="infinite")
    apart = np.abs(p - switch) > 1e-9
    assert ((p > switch) == decide(np.column_stack([1 - p, p]), cost))[apart].all()


def test_threshold_per_example():
    np.testing.assert_allclose(threshold([[[0, 4], [1, 0]], [[0, 1], [3, 0]]]), [0.2, 0.75])


@pytest.mark.parametrize(
    ("cost", "words", "infinite"),
    [
        ([[0, 0], [1, 1]], "never costs less than the first", np.inf),
        ([[0, 1], [0, 1]], "never costs less than the first", np.inf),
        ([[0, 0], [1, 0]], "never costs less than the first", 1.0),
        ([[0, 0], [0, 1]], "never costs less than the first", np.inf),
        ([[1, 1], [0, 0]], "never costs more than the first", -np.inf),
        ([[0, 1], [0, 0]], "never costs more than the first", 0.0),
        ([[1, 0], [0, 0]], "never costs more than the first", -np.inf),
    ],
)
def test_threshold_of_dominated_actions(cost, words, infinite):
    with pytest.raises(ValueError, match=words):
        threshold(cost)
    with pytest.raises(ValueError, match=r"cost\[1\]: the second action"):
        threshold([COSTS, cost])
    assert threshold(cost, dominated="infinite") == infinite


def test_threshold_refuses_what_has_none():
    for dominated in ("raise", "infinite"):
        with pytest.raises(ValueError, match="second row"):
            threshold([[1, 0], [0, 4]], dominated=dominated)
    with pytest.raises(ValueError, match=r"shape \(3, 2\).*use decide"):
        threshold([[0, 1], [1, 0], [2, 2]])
    with pytest.raises(ValueError, match=r"cost\[0, 1\]=nan"):
        threshold([[0, np.nan], [1, 0]])
    with pytest.raises(ValueError, match="dominated='clip'"):
        threshold(COSTS, dominated="clip")


@pytest.mark.parametrize("abstain_cost", [0.5, 2, [1, 3]])
def test_abstention_adds_a_row(abstain_cost):
    assert with_abstention(COSTS, abstain_cost).tolist() == naive.with_abstention(COSTS, abstain_cost)


def test_abstention_per_example():
    shared = with_abstention(COSTS, [[1], [2]])
    assert shared.shape == (2, 3, 2)
    assert shared[1].tolist() == [[0, 5], [1, 0], [2, 2]]
    own = with_abstention([COSTS, [[0, 9], [9, 0]]], [[1, 2], [3, 4]])
    assert own[:, 2].tolist() == [[1, 2], [3, 4]]
    assert with_abstention([COSTS, COSTS], 7)[:, 2].tolist() == [[7, 7], [7, 7]]


@pytest.mark.parametrize("limit", [0.05, 0.2, 0.35])
def test_with_equal_costs_abstention_is_a_limit_on_doubt(limit):
    p = np.linspace(0.013, 0.987, 100)
    proba = np.column_stack([1 - p, p])
    answer = decide_or_abstain(proba, [[0, 1], [1, 0]], limit)
    assert (answer == np.where(np.minimum(p, 1 - p) > limit, -1, proba.argmax(axis=1))).all()


def test_abstention_is_never_taken_if_dear_and_always_if_free():
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    cost = 1 - np.eye(3)
    assert (decide_or_abstain(proba, cost, 1.0) == decide(proba, cost)).all()
    assert (decide_or_abstain(proba, cost, -0.1) == -1).all()


def test_abstention_is_labelled():
    proba = [[0.95, 0.05], [0.6, 0.4]]
    cost = [[0, 1], [1, 0]]
    assert decide_or_abstain(proba, cost, 0.1, actions=["n", "y"], abstain="?").tolist() == ["n", "?"]
    assert decide_or_abstain(proba, cost, 0.1, actions=[0, 1]).tolist() == [0, "abstain"]
    assert decide_or_abstain(proba, cost, 0.1, abstain=2).tolist() == [0, 2]
    assert decide_or_abstain(proba, cost, 0.4).tolist() == [0, 0]  # a tie is not abstained from


@pytest.mark.parametrize(
    ("abstain_cost", "words"),
    [
        (np.nan, "must be finite"),
        ([1, 2, 3], r"one per class \(2\)"),
        ("dear", "must be a number"),
        (np.zeros((3, 2)), r"\(n_rows, 1\)"),
        (np.zeros((1, 1, 1)), r"\(n_rows, 1\)"),
    ],
)
def test_bad_costs_of_abstention_are_refused(abstain_cost, words):
    with pytest.raises(ValueError, match=words):
        with_abstention([COSTS, COSTS], abstain_cost)
    with pytest.raises(ValueError, match="each name must occur once"):
        decide_or_abstain([[0.5, 0.5]], COSTS, 1, actions=["a", "b"], abstain="a")
