"""Scores of probabilities: laws that all metrics obey, the proper scores, and figures from the papers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.metrics
from hypothesis import given, settings

import naive_metrics as naive
from metric_problems import make_problem, problems
from petiole import metrics

# Each is a metric with one number as its answer.
NUMBERS = {
    "zero_one_mse": metrics.zero_one_mse,
    "brier": metrics.brier_score,
    "brier, half": lambda *a, **k: metrics.brier_score(*a, scale="half", **k),
    "rmse": metrics.rmse,
    "rmse, truth": lambda *a, **k: metrics.rmse(*a, over="truth", **k),
    "error_rate": metrics.error_rate,
    "accuracy": metrics.accuracy,
    "log_loss": metrics.log_loss,
    "log_loss, exact": lambda *a, **k: metrics.log_loss(*a, floor="exact", **k),
    "log_loss, floor": lambda *a, **k: metrics.log_loss(*a, floor=0.01, base=math.e, **k),
    "aulc": metrics.area_under_lift_curve,
    "aulc, distinct": lambda *a, **k: metrics.area_under_lift_curve(*a, rule="distinct", **k),
    "aulc, exact": lambda *a, **k: metrics.area_under_lift_curve(*a, rule="exact", **k),
    "ece": metrics.expected_calibration_error,
    "ece, quantile": lambda *a, **k: metrics.expected_calibration_error(*a, strategy="quantile", n_bins=4, **k),
    "ece, classwise": lambda *a, **k: metrics.expected_calibration_error(*a, target="classwise", **k),
    "ece, debiased": lambda *a, **k: metrics.expected_calibration_error(
        *a, norm="squared", debiased=True, n_bins=3, **k
    ),
    "brier parts": lambda *a, **k: metrics.brier_score_parts(*a, **k).calibration,
    "brier parts, isotonic": lambda *a, **k: metrics.brier_score_parts(*a, groups="isotonic", **k).calibration,
    "log parts": lambda *a, **k: metrics.log_loss_parts(*a, groups="distinct", **k).calibration,
    "cost": lambda *a, **k: metrics.misclassification_cost(*a, cost_between_classes(k["labels"]), **k),
    "profit": lambda *a, **k: metrics.profit(*a, -cost_between_classes(k["labels"]), **k),
}
NAMES = pytest.mark.parametrize("name", NUMBERS)


def cost_between_classes(labels):
    """Costs that depend on the names of the classes, not on their order."""
    codes = np.array([ord(label) for label in labels])
    return np.abs(codes[:, None] - codes).astype(float) * (1 + (codes[:, None] > codes))


@NAMES
def test_order_of_rows_does_not_matter(name):
    for seed in range(20):
        problem = make_problem(seed)
        order = np.random.default_rng(seed).permutation(len(problem.y))
        whole = NUMBERS[name](problem.y, problem.proba, **problem.arguments)
        shuffled = NUMBERS[name](
            problem.y[order], problem.proba[order], labels=problem.labels, sample_weight=problem.weights[order]
        )
        assert shuffled == pytest.approx(whole, abs=1e-12)


@NAMES
def test_order_of_classes_does_not_matter(name):
    for seed in range(20):
        problem = make_problem(seed, smooth=True)  # with ties the first of the most probable classes would change
        order = np.random.default_rng(seed).permutation(len(problem.labels))
        whole = NUMBERS[name](problem.y, problem.proba, **problem.arguments)
        turned = NUMBERS[name](
            problem.y, problem.proba[:, order], labels=problem.labels[order], sample_weight=problem.weights
        )
        assert turned == pytest.approx(whole, abs=1e-12)


@NAMES
def test_weight_two_is_a_row_twice_and_weight_zero_a_row_absent(name):
    for seed in range(30):
        problem = make_problem(seed, whole_weights=True)
        rows = np.repeat(np.arange(len(problem.y)), problem.weights.astype(int))
        weighted = NUMBERS[name](problem.y, problem.proba, **problem.arguments)
        repeated = NUMBERS[name](problem.y[rows], problem.proba[rows], labels=problem.labels)
        assert weighted == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in ("cost", "profit")])  # their costs need names
def test_labels_may_be_left_out_if_sorted_and_complete(name):
    y, proba = np.array(list("abcabc")), make_problem(3, n_rows=6, n_classes=3, smooth=True).proba
    metric = NUMBERS[name]
    assert metric(y, proba) == metric(y, proba, labels=["a", "b", "c"])


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 1],
        np.array([False, True, True]),
        ["no", "yes", "yes"],
        pd.Series(["no", "yes", "yes"], dtype="category"),
        pl.Series(["no", "yes", "yes"]),
        np.array([-1.0, 1.0, 1.0]),
    ],
)
def test_labels_of_any_type(y):
    proba = [[0.5, 0.5], [0.75, 0.25], [0.5, 0.5]]
    assert metrics.log_loss(y, proba) == pytest.approx(4 / 3)
    assert metrics.lift_curve(y, proba).gains.tolist() == [0.5, 1.0]


@settings(deadline=None, max_examples=80)
@given(problems)
def test_scores_equal_the_naive_ones(problem):
    y, proba, w = problem.plain
    for metric, slow in [
        (metrics.brier_score, naive.brier),
        (metrics.zero_one_mse, naive.zero_one_mse),
        (metrics.error_rate, naive.error_rate),
        (metrics.log_loss, naive.log_loss),
    ]:
        assert metric(problem.y, problem.proba, **problem.arguments) == pytest.approx(slow(y, proba, w), abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(problems)
def test_rules_for_zeros_equal_the_naive_ones(problem):
    y, proba, w = problem.plain
    for floor in ("exact", "clip", 0.001, 0.2, 0):
        for priors in (None, np.arange(1, len(problem.labels) + 1) / 500):
            fast = metrics.log_loss(problem.y, problem.proba, floor=floor, priors=priors, **problem.arguments)
            shares = None if priors is None else (priors / priors.sum()).tolist()
            assert fast == pytest.approx(naive.log_loss(y, proba, w, 2, floor, shares), abs=1e-12)


def expectation(metric, truth, told):
    """The expected score of probabilities where others are true, exactly: the classes weighted by their chances."""
    classes = np.arange(len(truth))
    return metric(classes, np.tile(told, (len(truth), 1)), labels=classes, sample_weight=truth)


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [(name, n_classes) for name in ("brier", "rmse", "log_loss") for n_classes in (2, 3, 7)] + [("zero_one_mse", 2)],
)
def test_the_truth_wins_in_expectation(name, n_classes):
    rng = np.random.default_rng(n_classes)
    for _ in range(50):
        truth, told = rng.dirichlet(np.ones(n_classes), size=2)
        assert expectation(NUMBERS[name], truth, truth) < expectation(NUMBERS[name], truth, told)


def test_zero_one_mse_is_not_proper_for_three_classes():
    truth = np.array([0.5, 0.3, 0.2])
    overrated = np.array([0.613, 0.355, 0.032])
    assert expectation(metrics.zero_one_mse, truth, overrated) < expectation(metrics.zero_one_mse, truth, truth)


@pytest.mark.parametrize(
    ("donors", "people", "figures"),
    [
        (4843, 95412, (0.10151, 1.89848, 0.09636, 0.28961)),  # training set
        (4873, 96367, (0.10113, 1.89886, 0.09602, 0.28880)),  # test set
    ],
)
def test_scores_of_base_rates_are_those_of_the_paper(donors, people, figures):
    """Zadrozny & Elkan (2001), tables 1 and 2: the MSE of telling everybody 0, 1 or the training base rate, and the
    log-loss of the last. The paper cuts off after five decimals; the numbers of donors are from memory."""
    b = 4843 / 95412
    keys = {"labels": [0, 1], "sample_weight": [people - donors, donors]}
    zero, one, base = ([row, row] for row in ([1, 0], [0, 1], [1 - b, b]))
    found = [metrics.brier_score([0, 1], proba, **keys) for proba in (zero, one, base)]
    found.append(metrics.log_loss([0, 1], base, **keys))
    assert [math.floor(score * 1e5) / 1e5 for score in found] == list(figures)
    assert metrics.log_loss([0, 1], zero, **keys) == metrics.log_loss([0, 1], one, **keys) == math.inf


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scikit_learn_has_the_same_scores(n_classes):
    problem = make_problem(1, n_rows=200, n_classes=n_classes, smooth=True)
    y, proba, w = np.array(problem.codes), problem.proba, problem.weights
    theirs = sklearn.metrics.log_loss(y, proba, sample_weight=w)
    assert metrics.log_loss(y, proba, sample_weight=w, base=math.e) == pytest.approx(theirs)
    assert metrics.log_loss(y, proba, sample_weight=w) == pytest.approx(theirs / math.log(2))
    assert metrics.error_rate(y, proba, sample_weight=w) == pytest.approx(
        sklearn.metrics.zero_one_loss(y, proba.argmax(axis=1), sample_weight=w)
    )
    if n_classes == 2:
        theirs = sklearn.metrics.brier_score_loss(y, proba[:, 1], sample_weight=w)
        assert metrics.brier_score(y, proba, sample_weight=w, scale="half") == pytest.approx(theirs)


def test_conventions_of_squared_errors():
    problem = make_problem(5, n_rows=50, n_classes=4)
    arguments = problem.y, problem.proba
    keys = problem.arguments
    brier = metrics.brier_score(*arguments, **keys)
    assert metrics.brier_score(*arguments, scale="half", **keys) == pytest.approx(brier / 2)
    assert metrics.brier_score(*arguments, scale="mean", **keys) == pytest.approx(brier / 4)
    assert metrics.rmse(*arguments, **keys) == pytest.approx(math.sqrt(brier / 4))
    assert metrics.rmse(*arguments, over="truth", **keys) ** 2 == pytest.approx(
        metrics.zero_one_mse(*arguments, **keys)
    )
    two = make_problem(6, n_rows=50, n_classes=2)
    halves = metrics.zero_one_mse(two.y, two.proba, **two.arguments)
    assert metrics.brier_score(two.y, two.proba, **two.arguments) == pytest.approx(2 * halves)


def test_nielsens_rule_for_two_classes_keeps_the_sums():
    y, proba = [0, 1, 0, 1], [[1, 0], [1, 0], [0.001, 0.999], [0, 1]]
    bits = [-math.log2(0.995), -math.log2(0.005), -math.log2(0.001), -math.log2(0.995)]
    assert metrics.log_loss(y, proba, floor="exact") == pytest.approx(np.mean(bits))
    bits[2] = -math.log2(0.005)
    assert metrics.log_loss(y, proba, floor="clip") == pytest.approx(np.mean(bits))
    # a rare class makes ε smaller than 0.005
    assert metrics.log_loss([0, 1], [[1, 0], [1, 0]], floor="exact", priors=[0.998, 0.002]) == pytest.approx(
        (-math.log2(0.999) - math.log2(0.001)) / 2
    )


def test_infinity_is_reported_as_infinity_and_only_for_rows_that_count(recwarn):
    y, proba = [0, 1, 0], [[1, 0], [1, 0], [0.5, 0.5]]
    assert metrics.log_loss(y, proba) == math.inf
    assert metrics.log_loss(y, proba, sample_weight=[1, 0, 1]) == 0.5
    assert str(metrics.log_loss([0, 1], np.eye(2))) == "0.0"
    assert not recwarn.list


def test_accuracy_change_is_the_difference_of_two_accuracies():
    for seed in range(20):
        problem = make_problem(seed, n_classes=3)
        votes = problem.labels[np.random.default_rng(seed).integers(3, size=len(problem.y))]
        voted = np.average(votes == problem.y, weights=problem.weights)
        expected = metrics.accuracy(problem.y, problem.proba, **problem.arguments) - voted
        change = metrics.accuracy_change(problem.y, problem.proba, votes, **problem.arguments)
        assert change == pytest.approx(expected, abs=1e-12)
        decided = problem.labels[problem.proba.argmax(axis=1)]
        assert metrics.accuracy_change(problem.y, problem.proba, votes=decided, **problem.arguments) == 0


GOOD = ([0, 1], [[0.5, 0.5], [0.25, 0.75]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.brier_score(*GOOD, scale="double"), "scale='double': must be one of 'sum', 'half', 'mean'"),
        (lambda: metrics.rmse(*GOOD, over="rows"), "over='rows': must be one of"),
        (lambda: metrics.log_loss(*GOOD, base=1), "base=1: must be a number greater than 1"),
        (lambda: metrics.log_loss(*GOOD, base="e"), "base='e'"),
        (
            lambda: metrics.log_loss(*GOOD, floor="nielsen"),
            "floor='nielsen': must be None, 'exact', 'clip' or a number",
        ),
        (lambda: metrics.log_loss(*GOOD, floor=1.0), "floor=1.0"),
        (lambda: metrics.log_loss(*GOOD, floor=True), "floor=True"),
        (lambda: metrics.log_loss(*GOOD, floor="exact", priors=[1]), r"priors=\[1\]: must be a share or a count"),
        (lambda: metrics.log_loss(*GOOD, priors=[1, np.nan]), "priors="),
        (lambda: metrics.log_loss(*GOOD, priors=["a", "b"]), "priors="),
        (lambda: metrics.accuracy_change(*GOOD, votes=[0, 2]), "votes has the label 2"),
        (lambda: metrics.accuracy_change(*GOOD, votes=[0]), "votes has 1 labels, but proba has 2 rows"),
        (lambda: metrics.zero_one_mse([0, 1], [0.1, 0.9]), "numpy.column_stack"),
        (lambda: metrics.zero_one_mse([0, 2], GOOD[1], labels=[0, 1]), "y_true has the label 2"),
    ],
)
def test_errors_name_the_parameter_and_the_remedy(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_metrics_is_an_attribute_of_petiole():
    import petiole

    assert petiole.metrics is metrics
    assert sorted(metrics.__all__) == metrics.__all__
