"""Reliability curves, calibration errors, and scores split into parts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from sklearn.calibration import calibration_curve

import naive_metrics as naive
from metric_problems import make_problem, problems, whole_problems
from petiole.metrics import (
    brier_score,
    brier_score_parts,
    expected_calibration_error,
    log_loss,
    log_loss_parts,
    reliability_curve,
)

BINNINGS = [(1, "uniform"), (4, "uniform"), (15, "uniform"), (1, "quantile"), (3, "quantile"), (50, "quantile")]


def two_columns(scores):
    return np.column_stack([1 - np.asarray(scores), scores])


@settings(deadline=None, max_examples=60)
@given(problems)
def test_curves_equal_the_naive_ones(problem):
    y, proba, w = problem.plain
    targets = {label: column for column, label in enumerate(problem.labels.tolist())} | {"top": "top"}
    for n_bins, strategy in BINNINGS:
        for target, column in targets.items():
            curve = reliability_curve(
                problem.y, problem.proba, target=target, n_bins=n_bins, strategy=strategy, **problem.arguments
            )
            slow = naive.binned(*naive.scores_and_hits(y, proba, column), w, n_bins, strategy)
            np.testing.assert_allclose(np.column_stack([curve.weight, curve.mean_score, curve.frequency]), slow)
            limits = [naive.wilson(frequency, weight, 0.95) for weight, _, frequency in slow]
            np.testing.assert_allclose(np.column_stack([curve.lower, curve.upper]), limits, atol=1e-9)


@settings(deadline=None, max_examples=15)
@given(whole_problems)
def test_errors_equal_the_naive_ones(problem):
    y, proba, w = problem.plain
    targets = {label: column for column, label in enumerate(problem.labels.tolist())}
    targets |= {"top": "top", "classwise": "classwise"}
    for n_bins, strategy in BINNINGS:
        for target, column in targets.items():
            for norm, debiased in [("l1", False), ("l2", False), ("squared", True), ("l2", True), ("max", False)]:
                keys = {"n_bins": n_bins, "strategy": strategy, "norm": norm, "debiased": debiased}
                fast = expected_calibration_error(problem.y, problem.proba, target=target, **keys, **problem.arguments)
                slow = naive.calibration_error(y, proba, w, column, n_bins, strategy, norm, debiased)
                assert fast == pytest.approx(slow, abs=1e-7)


def test_debiased_l1_equals_the_naive_one():
    for seed in range(8):
        problem = make_problem(seed, n_rows=30, n_classes=3, whole_weights=True)
        keys = {"norm": "l1", "debiased": True, "n_bins": 3, **problem.arguments}
        fast = expected_calibration_error(problem.y, problem.proba, **keys)
        slow = naive.calibration_error(*problem.plain, "top", 3, "uniform", "l1", True)
        assert fast == pytest.approx(slow, abs=1e-7)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_scikit_learn_has_the_same_curve(strategy):
    rng = np.random.default_rng(0)
    scores = rng.random(400)
    y = (rng.random(400) < scores).astype(int)
    frequency, mean_score = calibration_curve(y, scores, n_bins=8, strategy=strategy)
    curve = reliability_curve(y, two_columns(scores), n_bins=8, strategy=strategy)
    np.testing.assert_allclose(curve.frequency, frequency)
    np.testing.assert_allclose(curve.mean_score, mean_score)
    plain = np.average(np.abs(frequency - mean_score), weights=curve.weight)
    error = expected_calibration_error(y, two_columns(scores), target=1, n_bins=8, strategy=strategy)
    assert error == pytest.approx(plain)


def test_bins_are_open_on_the_left_and_quantiles_keep_ties_together():
    curve = reliability_curve([0, 1, 1], two_columns([0.0, 0.5, 1.0]), n_bins=2)
    assert curve.mean_score.tolist() == [0.25, 1.0]
    curve = reliability_curve([0, 1, 1, 0, 1], two_columns([0.2, 0.2, 0.2, 0.2, 0.9]), n_bins=5, strategy="quantile")
    assert curve.weight.tolist() == [4, 1]
    equal = reliability_curve([0, 1] * 50, two_columns(np.linspace(0, 1, 100)), n_bins=10, strategy="quantile")
    assert equal.weight.tolist() == [10] * 10


def test_default_target_is_the_second_class_or_the_most_probable():
    two, three = make_problem(1, n_rows=40, n_classes=2), make_problem(1, n_rows=40, n_classes=3)
    for problem, target in ((two, "a"), (three, "top")):
        default = reliability_curve(problem.y, problem.proba, **problem.arguments)
        named = reliability_curve(problem.y, problem.proba, target=target, **problem.arguments)
        np.testing.assert_array_equal(default, named)


def test_band_holds_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        y = np.append((rng.random(30) < 0.3).astype(int), [0, 1])
        curve = reliability_curve(y, np.tile([0.7, 0.3], (32, 1)), sample_weight=[1] * 30 + [0, 0], confidence=0.9)
        inside += int(curve.lower[0] <= 0.3 <= curve.upper[0])
    assert 0.85 < inside / 400 < 0.95


def test_debiasing_takes_the_scatter_off():
    """True probabilities: the plain error is well above 0, the mean of the debiased square is 0."""
    rng = np.random.default_rng(2)
    told = np.repeat([0.1, 0.35, 0.6, 0.85], 10)
    found = {"plain": [], "l1": [], "squared": []}
    for _ in range(300):
        y = (rng.random(len(told)) < told).astype(int)
        keys = {"labels": [0, 1], "target": 1, "n_bins": 4}
        proba = two_columns(told)
        found["plain"].append(expected_calibration_error(y, proba, norm="squared", **keys))
        found["squared"].append(expected_calibration_error(y, proba, norm="squared", debiased=True, **keys))
        found["l1"].append(
            expected_calibration_error(y, proba, debiased=True, **keys) - expected_calibration_error(y, proba, **keys)
        )
    expected_scatter = np.mean(told * (1 - told)) / 10
    assert np.mean(found["plain"]) == pytest.approx(expected_scatter, rel=0.15)
    assert abs(np.mean(found["squared"])) < 4 * np.std(found["squared"]) / math.sqrt(300)
    assert np.mean(found["l1"]) < -0.01


def test_debiased_square_is_right_where_probabilities_are_wrong():
    rng = np.random.default_rng(3)
    squares = []
    for _ in range(600):
        y = (rng.random(20) < 0.5).astype(int)
        proba = np.tile([0.7, 0.3], (20, 1))
        squares.append(expected_calibration_error(y, proba, norm="squared", debiased=True, target=1, labels=[0, 1]))
    assert np.mean(squares) == pytest.approx(0.04, abs=4 * np.std(squares) / math.sqrt(600))


def test_a_bin_of_one_row_counts_as_no_error_when_debiased():
    y, proba = [0, 1], two_columns([0.1, 0.4])
    assert expected_calibration_error(y, proba, target=1, norm="squared", debiased=True) == 0


@settings(deadline=None, max_examples=60)
@given(problems)
@example(make_problem(45884))  # the middle of tied scores is on the border of two bins
def test_parts_equal_the_naive_ones_and_sum_to_the_whole(problem):
    y, proba, w = problem.plain
    keys = problem.arguments
    for how, n_bins, strategy in [("distinct", 10, "uniform"), *(("bins", *binning) for binning in BINNINGS)]:
        groups = naive.groups_of(proba, w, how, n_bins, strategy)
        choice = {"groups": how, "n_bins": n_bins, "strategy": strategy}
        squared = brier_score_parts(problem.y, problem.proba, **choice, **keys)
        assert squared.total == pytest.approx(brier_score(problem.y, problem.proba, **keys))
        np.testing.assert_allclose(squared[1:3], naive.brier_parts(y, proba, w, groups), atol=1e-12)
        assert sum(squared[1:4]) == pytest.approx(squared.total, abs=1e-12)
        bits = log_loss_parts(problem.y, problem.proba, **choice, **keys)
        assert bits.total == log_loss(problem.y, problem.proba, **keys)
        np.testing.assert_allclose(bits[1:3], naive.log_parts(y, proba, w, groups), atol=1e-12)
        assert sum(bits[1:4]) == pytest.approx(bits.total, abs=1e-9)
        for parts in (squared, bits):
            assert parts.resolution + parts.refinement == pytest.approx(parts.uncertainty, abs=1e-12)
            assert min(parts.calibration, parts.refinement, parts.resolution) > -1e-12
            if how == "distinct":
                assert parts.within_groups == pytest.approx(0, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(problems)
def test_isotonic_parts_equal_the_naive_ones(problem):
    kept = problem.weights > 0
    y, proba, w = (list(np.asarray(part)[kept]) for part in problem.plain)
    keys = problem.arguments
    squared = brier_score_parts(problem.y, problem.proba, groups="isotonic", **keys)
    columns = range(len(problem.labels))
    fitted = [naive.isotonic([row[k] for row in proba], [label == k for label in y], w) for k in columns]
    rows = [list(row) for row in zip(*fitted, strict=True)]
    assert squared.refinement == pytest.approx(naive.brier(y, rows, w), abs=1e-12)
    assert squared.calibration + squared.refinement == pytest.approx(squared.total, abs=1e-12)
    assert squared.calibration > -1e-12 and squared.resolution > -1e-12
    for k, label in enumerate(problem.labels.tolist()):
        bits = log_loss_parts(problem.y, problem.proba, groups="isotonic", target=label, **keys)
        two = [[1 - p, p] for p in fitted[k]]
        best = naive.log_loss([int(code == k) for code in y], two, w)
        assert bits.refinement == pytest.approx(best, abs=1e-9)
        assert bits.calibration > -1e-9 and bits.resolution > -1e-9


def test_true_probabilities_are_all_refinement():
    """Each distinct row holds the classes in the proportions it says."""
    rows = np.array([[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]])
    proba, y, weights = np.repeat(rows, 3, axis=0), np.tile([0, 1, 2], 2), rows.ravel()
    for split in (brier_score_parts, log_loss_parts):
        parts = split(y, proba, groups="distinct", sample_weight=weights)
        assert parts.calibration == pytest.approx(0, abs=1e-12)
        assert parts.refinement == pytest.approx(parts.total)


def test_base_rates_have_neither_resolution_nor_miscalibration():
    y = [0, 0, 0, 1]
    proba = [[0.75, 0.25]] * 4
    for split in (brier_score_parts, log_loss_parts):
        for groups in ("bins", "distinct", "isotonic"):
            parts = split(y, proba, groups=groups)
            np.testing.assert_allclose([parts.calibration, parts.resolution, parts.within_groups], 0, atol=1e-12)
            assert parts.total == pytest.approx(parts.uncertainty)


def test_isotonic_parts_do_not_see_increasing_changes_of_the_scores():
    problem = make_problem(4, n_rows=60, n_classes=2, smooth=True)
    bent = two_columns(problem.proba[:, 1] ** 3)
    for split in (brier_score_parts, log_loss_parts):
        plain, other = (split(problem.y, p, groups="isotonic", **problem.arguments) for p in (problem.proba, bent))
        assert plain.refinement == pytest.approx(other.refinement)
        assert other.calibration > plain.calibration


def test_one_class_against_the_rest():
    problem = make_problem(7, n_rows=50, n_classes=4)
    two = np.column_stack([np.delete(problem.proba, 2, axis=1).sum(axis=1), problem.proba[:, 2]])
    hit = problem.y == problem.labels[2]
    for split in (brier_score_parts, log_loss_parts):
        for groups in ("bins", "distinct", "isotonic"):
            named = split(problem.y, problem.proba, groups=groups, target=problem.labels[2], **problem.arguments)
            by_hand = split(hit, two, groups=groups, labels=[False, True], sample_weight=problem.weights)
            np.testing.assert_allclose(named, by_hand)


def test_small_probabilities_beside_a_large_one_are_not_lost():
    parts = log_loss_parts([0, 1], [[1.0, 1e-20], [1e-20, 1.0]], labels=[0, 1], target=0)
    assert parts.total == 0
    parts = log_loss_parts([1, 0], [[1.0, 1e-20], [1e-20, 1.0]], labels=[0, 1], target=0)
    assert parts.total == pytest.approx(20 * math.log2(10))


def test_infinite_losses_are_placed_where_they_arise():
    all_of_a_group = log_loss_parts([0, 1], [[1, 0], [1, 0]], groups="distinct")
    assert all_of_a_group.total == all_of_a_group.calibration == math.inf
    assert all_of_a_group.within_groups == 0
    some_of_a_group = log_loss_parts([0, 1, 1], [[0.95, 0.05], [1, 0], [0.2, 0.8]])
    assert some_of_a_group.total == some_of_a_group.within_groups == math.inf
    assert math.isfinite(some_of_a_group.calibration)
    floored = log_loss_parts([0, 1], [[1, 0], [1, 0]], groups="distinct", floor="exact", base=math.e)
    assert floored.total == pytest.approx(log_loss([0, 1], [[1, 0], [1, 0]], floor="exact", base=math.e))
    assert sum(floored[1:4]) == pytest.approx(floored.total)


EVEN = ([0, 1, 2], np.full((3, 3), 1 / 3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: reliability_curve(*EVEN, n_bins=0), "n_bins=0: must be a whole number at least 1"),
        (lambda: reliability_curve(*EVEN, strategy="kmeans"), "strategy='kmeans': must be one of"),
        (lambda: reliability_curve(*EVEN, confidence=95), "confidence=95: must be a number strictly between 0 and 1"),
        (lambda: reliability_curve(*EVEN, target="best"), r"target='best': must be one of the classes \[0, 1, 2\]"),
        (lambda: expected_calibration_error(*EVEN, norm="l3"), "norm='l3': must be one of"),
        (lambda: expected_calibration_error(*EVEN, debiased=1), "debiased=1: must be True or False"),
        (lambda: expected_calibration_error(*EVEN, norm="max", debiased=True), "debiased=True: not available for"),
        (lambda: brier_score_parts(*EVEN, groups="leaves"), "groups='leaves': must be one of"),
        (lambda: log_loss_parts(*EVEN, groups="isotonic"), "groups='isotonic': must have two classes"),
        (lambda: log_loss_parts(*EVEN, base=-1), "base=-1"),
    ],
)
def test_errors_name_the_parameter_and_the_remedy(call, words):
    with pytest.raises(ValueError, match=words):
        call()
