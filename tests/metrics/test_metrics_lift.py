"""Lift charts and the areas under them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

import naive_metrics as naive
from metric_problems import make_problem, problems, whole_problems
from petiole.metrics import area_under_lift_curve, lift_curve

GOLDEN_Y = np.array([1, 1, 0, 1, 0, 0])
GOLDEN_SCORES = np.array([0.9, 0.8, 0.8, 0.6, 0.3, 0.1])
RULES = ("right", "distinct", "exact")


def two_columns(scores):
    return np.column_stack([1 - np.asarray(scores), scores])


@pytest.mark.parametrize(
    ("rule", "areas"),
    [
        ("right", (1.463889, 1.422222, 1.443056)),
        ("distinct", (1.455556, 1.394444, 1.425000)),
        ("exact", (1.537769, 1.492673, 1.515221)),
    ],
)
def test_golden_areas(rule, areas):
    proba = two_columns(GOLDEN_SCORES)
    for target, area in zip([0, 1, None], areas, strict=True):
        assert area_under_lift_curve(GOLDEN_Y, proba, rule=rule, target=target) == pytest.approx(area, abs=1e-6)


@pytest.mark.parametrize(("size", "area"), [(5, 1.645635), (50, 1.688172)])
def test_golden_perfect_ranking(size, area):
    y, scores = np.repeat([0, 1], size), np.linspace(0.1, 0.9, 2 * size)
    assert area_under_lift_curve(y, two_columns(scores)) == pytest.approx(area, abs=1e-6)


@pytest.mark.parametrize("n_k", [1, 4, 30])
def test_perfect_ranking_in_closed_form(n_k):
    n = 40
    y = np.repeat([0, 1], [n - n_k, n_k])

    def harmonic(m):
        return sum(1 / i for i in range(1, m + 1))

    for scores in (np.linspace(0, 1, n), y.astype(float)):  # all different, or two ties
        proba = two_columns(scores)
        right = area_under_lift_curve(y, proba, target=1)
        assert right == pytest.approx(1 + harmonic(n) - harmonic(n_k))
        assert area_under_lift_curve(y, proba, target=1, rule="exact") == pytest.approx(1 - np.log(n_k / n))


@pytest.mark.parametrize("rule", RULES)
def test_scores_that_say_nothing_have_area_one(rule):
    problem = make_problem(2, n_rows=30, n_classes=4)
    flat = np.tile([0.1, 0.2, 0.3, 0.4], (30, 1))
    assert area_under_lift_curve(problem.y, flat, rule=rule, **problem.arguments) == pytest.approx(1)


def test_reversed_ranking_is_worse_than_none():
    assert area_under_lift_curve(GOLDEN_Y, two_columns(1 - GOLDEN_SCORES)) < 1


@settings(deadline=None, max_examples=60)
@given(whole_problems)
def test_areas_equal_the_naive_ones(problem):
    y, proba, w = problem.plain
    priors = np.arange(1, len(problem.labels) + 1)
    for rule in RULES:
        for given_priors in (None, priors):
            fast = area_under_lift_curve(problem.y, problem.proba, rule=rule, priors=given_priors, **problem.arguments)
            slow = naive.aulc(y, proba, w, rule, None if given_priors is None else priors.tolist())
            assert fast == pytest.approx(slow, abs=1e-7 if rule == "exact" else 1e-12)


def test_spread_ties_are_the_mean_over_all_orders():
    rng = np.random.default_rng(0)
    for _ in range(15):
        n = int(rng.integers(2, 7))
        y = np.append(rng.integers(2, size=n - 1), 1)
        scores = rng.integers(4, size=n) / 4
        fast = area_under_lift_curve(y, two_columns(scores), labels=[0, 1], target=1)
        assert fast == pytest.approx(naive.area_over_orders(y.tolist(), scores.tolist()))


@pytest.mark.parametrize("rule", RULES)
def test_rounding_does_not_break_ties(rule):
    noise = np.array([0, 1, -1, 0, 2, 0]) * 1e-15
    clean, noisy = (
        area_under_lift_curve(GOLDEN_Y, two_columns(s), rule=rule) for s in (GOLDEN_SCORES, GOLDEN_SCORES + noise)
    )
    assert noisy == pytest.approx(clean)


def test_right_rule_moves_steadily_from_weight_one_to_two():
    """Fractional weights lie between the whole ones, and near them they are near."""
    proba = two_columns(GOLDEN_SCORES)
    areas = []
    for weight in np.linspace(1, 2, 21):
        weights = np.where(np.arange(6) == 3, weight, 1.0)
        areas.append(area_under_lift_curve(GOLDEN_Y, proba, sample_weight=weights, target=1))
    steps = np.diff(areas)
    assert (np.sign(steps) == np.sign(steps[0])).all()
    assert np.abs(steps).max() < 3 * np.abs(steps).min()


@pytest.mark.parametrize("rule", ["distinct", "exact"])
def test_scale_of_weights_matters_to_the_right_rule_only(rule):
    problem = make_problem(8, n_rows=20, n_classes=3)
    keys = {"labels": problem.labels, "rule": rule}
    one = area_under_lift_curve(problem.y, problem.proba, sample_weight=problem.weights, **keys)
    assert area_under_lift_curve(problem.y, problem.proba, sample_weight=problem.weights / 7, **keys) == pytest.approx(
        one
    )
    keys["rule"] = "right"
    weighted = [
        area_under_lift_curve(problem.y, problem.proba, sample_weight=problem.weights * c, **keys) for c in (1, 2)
    ]
    assert weighted[0] != pytest.approx(weighted[1], abs=1e-4)


def test_right_rule_comes_to_the_integral_as_rows_are_repeated():
    proba = two_columns(GOLDEN_SCORES)
    exact = area_under_lift_curve(GOLDEN_Y, proba, rule="exact")
    assert area_under_lift_curve(GOLDEN_Y, proba, sample_weight=1e5) == pytest.approx(exact, abs=1e-4)


def test_priors_weigh_the_classes_that_occur():
    problem = make_problem(4, n_rows=30, n_classes=3, smooth=True)
    keep = problem.y != problem.labels[1]
    keys = {"labels": problem.labels}
    areas = [
        area_under_lift_curve(problem.y[keep], problem.proba[keep], target=problem.labels[k], **keys) for k in (0, 2)
    ]
    mixed = area_under_lift_curve(problem.y[keep], problem.proba[keep], priors=[0.3, 0.6, 0.1], **keys)
    assert mixed == pytest.approx((0.3 * areas[0] + 0.1 * areas[1]) / 0.4)


@settings(deadline=None, max_examples=60)
@given(problems)
def test_curve_is_what_it_says(problem):
    """At each point: the rows whose score is at least that of the point."""
    present = set(problem.y[problem.weights > 0].tolist())
    for column, target in enumerate(problem.labels.tolist()):
        if target not in present:
            continue
        curve = lift_curve(problem.y, problem.proba, target=target, **problem.arguments)
        positive = (problem.y == target) * problem.weights
        for share, lift, gain, score in zip(*curve, strict=True):
            above = problem.proba[:, column] >= score
            assert share == pytest.approx(problem.weights[above].sum() / problem.weights.sum())
            assert gain == pytest.approx(positive[above].sum() / positive.sum())
            assert lift == pytest.approx(gain / share)
        assert curve.shares[-1] == curve.gains[-1] == curve.lift[-1] == pytest.approx(1)
        assert all(a > b for a, b in itertools.pairwise(curve.scores))


def test_lift_at_a_share_takes_ties_in_part():
    curve = lift_curve(GOLDEN_Y, two_columns(GOLDEN_SCORES))
    for share, lift in zip(curve.shares, curve.lift, strict=True):
        assert curve.lift_at(float(share)) == pytest.approx(lift)
    assert curve.lift_at(2 / 6) == pytest.approx((1 + 0.5) / 2 / 0.5)
    assert curve.lift_at(0.01) == curve.lift_at(0) == 2
    with pytest.raises(ValueError, match=r"share=1\.5: must be a number between 0 and 1"):
        curve.lift_at(1.5)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"rule": "trapezoid"}, "rule='trapezoid': must be one of 'right', 'distinct', 'exact'"),
        ({"target": 2}, "target=2: no row is of this class"),
        ({"target": 9}, r"target=9: must be one of the classes \[0, 1, 2\]"),
        ({"priors": [0, 0, 1]}, "have no share"),
    ],
)
def test_errors_of_areas(keys, words):
    with pytest.raises(ValueError, match=words):
        area_under_lift_curve([0, 1], [[0.5, 0.5, 0], [0.2, 0.8, 0]], labels=[0, 1, 2], **keys)


def test_curve_of_many_classes_needs_a_target():
    with pytest.raises(ValueError, match=r"target=None: must be one of the classes \[0, 1, 2\]"):
        lift_curve([0, 1, 2], np.eye(3))
