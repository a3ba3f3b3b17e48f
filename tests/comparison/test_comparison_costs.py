"""BCost and BDeltaCost: golden numbers, the exact distribution, laws, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest

from naive_comparison import (
    cell_differences,
    distribution_function,
    order_statistics,
    total_distribution,
    with_cell_prior,
)
from petiole.comparison import bcost, bdelta_cost
from petiole.comparison.resampling import ROWS_PER_CELL, as_generator, central_interval, draw_totals

COST = [[0, 5], [1, 0]]
# (pred_1, pred_2, true): four times 5 and once 1, five rows on which the classifiers agree
GOLDEN = np.array([(0, 1, 1)] * 4 + [(1, 0, 0)] + [(0, 0, 0)] * 2 + [(1, 1, 1)] * 2 + [(0, 0, 1)])
TOTAL_CDF = {5: 0.01384, 6: 0.02792, 7: 0.03917, 35: 0.96981, 36: 0.98456, 37: 0.98751}


def golden(**options):
    pred_1, pred_2, y_true = GOLDEN.T
    return bdelta_cost(y_true, pred_1, pred_2, COST, **{"random_state": 0, **options})


def problem(rng, n=40, n_classes=3, n_actions=4):
    """Labels, two lots of actions that often agree, and costs with ties and zeros."""
    y = rng.integers(n_classes, size=n)
    pred_1 = rng.integers(n_actions, size=n)
    pred_2 = np.where(rng.random(n) < 0.6, pred_1, rng.integers(n_actions, size=n))
    return y, pred_1, pred_2, rng.integers(-2, 4, size=(n_actions, n_classes)).astype(float)


def largest_gap(draws, distribution):
    """Between the shares of the draws and the exact distribution function, at every total."""
    return max(abs((draws <= x + 0.25).mean() - distribution_function(distribution, x)) for x in distribution)


def test_golden_interval():
    result = golden()
    assert result.difference == 21
    assert result.mean_difference == pytest.approx(2.1)
    assert result.interval[0] in (5, 6, 7)
    assert result.interval[1] in (35, 36)
    assert result.winner == 2
    assert result.mean_interval == (result.interval[0] / 10, result.interval[1] / 10)


def test_golden_distribution():
    pred_1, pred_2, y_true = GOLDEN.T
    cost = {(i, j): COST[i][j] for i in range(2) for j in range(2)}
    exact = total_distribution(cell_differences(y_true, pred_1, pred_2, cost), 10)
    draws = golden(n_draws=40_000).draws
    for x, p in TOTAL_CDF.items():
        assert distribution_function(exact, x) == pytest.approx(p, abs=1e-5)
    assert largest_gap(draws, exact) < 2 / np.sqrt(40_000)


@pytest.mark.parametrize("seed", range(6))
def test_draws_have_the_exact_distribution(seed):
    rng = np.random.default_rng(seed)
    y, pred_1, pred_2, cost = problem(rng, n=12)
    lookup = {(i, j): int(cost[i, j]) for i in range(4) for j in range(3)}
    values = cell_differences(y.tolist(), pred_1.tolist(), pred_2.tolist(), lookup)
    names = {"labels": range(3), "actions": range(4), "n_draws": 20_000, "random_state": seed}
    result = bdelta_cost(y, pred_1, pred_2, cost, **names)
    assert result.difference == sum(values)
    assert largest_gap(result.draws, total_distribution(values, 12)) < 2 / np.sqrt(20_000)
    costs = [lookup[i, j] for i, j in zip(pred_1.tolist(), y.tolist(), strict=True)]
    single = bcost(y, pred_1, cost, **names)
    assert single.cost == sum(costs) == single.mean_cost * 12
    assert largest_gap(single.draws, total_distribution(costs, 12)) < 2 / np.sqrt(20_000)


def test_both_ways_to_draw_have_one_distribution():
    rng = np.random.default_rng(0)
    values, weights = np.arange(8.0), rng.integers(1, 5, size=8).astype(float)
    assert weights.sum() < ROWS_PER_CELL * 7
    sizes = np.full(40_000, int(weights.sum()))
    by_rows = draw_totals(values, weights, sizes, as_generator(0))
    # the same shares as fractions are drawn cell by cell
    by_cells = draw_totals(values, weights * 0.1, sizes, as_generator(1))
    for q in (0.02, 0.2, 0.5, 0.8, 0.98):
        assert (by_rows <= np.quantile(by_cells, q)).mean() == pytest.approx(
            (by_cells <= np.quantile(by_cells, q)).mean(), abs=0.015
        )
    assert by_rows.std() == pytest.approx(by_cells.std(), rel=0.02)


def test_empty_cells_get_the_prior():
    prior, n = 0.5, 30
    y, pred = np.array([0] * 20 + [1] * 10), np.array([0] * 20 + [1] * 8 + [0] * 2)
    counts = dict.fromkeys(itertools.product(range(2), range(2)), 0)
    for cell in zip(pred.tolist(), y.tolist(), strict=True):
        counts[cell] += 1
    p = with_cell_prior(counts, prior)
    draws = bcost(y, pred, [[0, 1], [1000, 0]], cell_prior=prior, n_draws=40_000, random_state=0).draws
    false_alarms, misses = np.divmod(np.rint(draws), 1000)
    assert false_alarms.mean() == pytest.approx(n * p[1, 0], rel=0.03)
    assert misses.mean() == pytest.approx(n * p[0, 1], rel=0.03)
    assert false_alarms.var() == pytest.approx(n * p[1, 0] * (1 - p[1, 0]), rel=0.05)
    assert (np.cov(false_alarms, misses)[0, 1]) == pytest.approx(-n * p[1, 0] * p[0, 1], rel=0.3)
    assert golden(cell_prior=0.5).interval[0] < golden().interval[0]


@pytest.mark.parametrize(("n_draws", "level"), [(1000, 0.95), (1000, 0.9), (100, 0.95), (200, 0.99), (40, 0.95)])
def test_ends_are_order_statistics(n_draws, level):
    result = golden(n_draws=n_draws, level=level)
    assert result.interval == order_statistics(result.draws.tolist(), level)
    assert central_interval(np.arange(1.0, 1001), 0.95) == (25, 976)


def test_swapping_the_classifiers_flips_the_sign():
    rng = np.random.default_rng(1)
    y, pred_1, pred_2, cost = problem(rng, n=300)
    names = {"labels": range(3), "actions": range(4), "n_draws": 4000}
    one = bdelta_cost(y, pred_1, pred_2, cost, random_state=1, **names)
    other = bdelta_cost(y, pred_2, pred_1, cost, random_state=2, **names)
    assert one.difference == -other.difference
    spread = one.draws.std()
    assert np.allclose(one.interval, [-end for end in reversed(other.interval)], atol=0.2 * spread)
    assert (golden().winner, bdelta_cost(*GOLDEN.T[[2, 1, 0]], COST, random_state=0).winner) == (2, 1)


def test_scaling_the_costs_scales_the_interval():
    rng = np.random.default_rng(2)
    y, pred_1, pred_2, cost = problem(rng, n=200)
    names = {"labels": range(3), "actions": range(4), "random_state": 3}
    one, scaled = (bdelta_cost(y, pred_1, pred_2, c, **names) for c in (cost, 8 * cost))
    assert scaled.difference == 8 * one.difference
    assert scaled.interval == (8 * one.interval[0], 8 * one.interval[1])
    # what every action costs alike cannot make a difference
    moved = bdelta_cost(y, pred_1, pred_2, cost + np.array([1, 20, 300]), **names)
    assert moved.interval == one.interval


@pytest.mark.parametrize("seed", range(3))
def test_labels_may_be_of_any_type(seed):
    rng = np.random.default_rng(seed)
    y, pred_1, pred_2, cost = problem(rng, n=80, n_actions=3)
    codes = bdelta_cost(y, pred_1, pred_2, cost, labels=range(3), random_state=0)
    words = np.array(["no", "perhaps", "yes"])
    for make in (np.asarray, list, pd.Series, lambda v: pl.Series(v.tolist())):
        text = bdelta_cost(make(words[y]), make(words[pred_1]), make(words[pred_2]), cost, random_state=0)
        assert text == codes
    # columns and rows of the cost table may come in another order
    turned = bdelta_cost(words[y], words[pred_1], words[pred_2], cost[::-1, ::-1], labels=words[::-1], random_state=0)
    assert turned.difference == codes.difference
    assert np.allclose(turned.interval, codes.interval, atol=0.3 * codes.draws.std())


def test_actions_need_not_be_classes():
    cost = [[0, 12], [0.68, 0.68], [3, 1]]
    result = bcost(
        ["no", "gives", "no"] * 20,
        ["nothing", "letter", "call"] * 20,
        cost,
        labels=["no", "gives"],
        actions=["nothing", "letter", "call"],
        random_state=0,
    )
    assert result.cost == pytest.approx(20 * (0 + 0.68 + 3))
    # sorted by default: call, letter, nothing and gives, no
    default = bcost(["no", "gives", "no"] * 20, ["nothing", "letter", "call"] * 20, np.array(cost)[::-1, ::-1])
    assert default.cost == pytest.approx(result.cost)


def test_a_class_may_be_absent_from_the_truth():
    assert bcost([0, 0, 2], [0, 1, 2], np.ones((3, 3)) - np.eye(3), random_state=0).cost == 1


def test_weights_are_numbers_of_rows():
    rng = np.random.default_rng(4)
    y, pred_1, pred_2, cost = problem(rng, n=50)
    weights = rng.integers(0, 4, size=50)
    rows = np.repeat(np.arange(50), weights)
    names = {"labels": range(3), "actions": range(4), "random_state": 0}
    weighted = bdelta_cost(y, pred_1, pred_2, cost, sample_weight=weights, **names)
    assert weighted == bdelta_cost(y[rows], pred_1[rows], pred_2[rows], cost, **names)
    thirds = bdelta_cost(y, pred_1, pred_2, cost, sample_weight=weights / 3, n_draws=20_000, **names)
    assert thirds.difference == pytest.approx(weighted.difference / 3)
    # a third of the rows, so the square root of three times the relative spread
    assert thirds.draws.std() * 3 == pytest.approx(weighted.draws.std() * np.sqrt(3), rel=0.1)
    assert thirds.n_examples == pytest.approx(weights.sum() / 3)


def test_false_alarms_are_five_in_a_hundred():
    """Two classifiers of the same kind, with errors of their own: the test must find a winner in 5 % of the trials."""
    rng = np.random.default_rng(5)
    n_trials, n = 1500, 400
    alarms = []
    for trial in range(n_trials):
        y = rng.integers(2, size=n)
        pred_1, pred_2 = (np.where(rng.random(n) < 0.25, 1 - y, y) for _ in range(2))
        result = bdelta_cost(y, pred_1, pred_2, [[0, 3], [1, 0]], n_draws=400, random_state=trial)
        alarms.append(result.winner)
    rate = np.mean(np.array(alarms) != 0)
    assert abs(rate - 0.05) < 3 * np.sqrt(0.05 * 0.95 / n_trials)
    assert abs(alarms.count(1) - alarms.count(2)) < 4 * np.sqrt(0.05 * n_trials)


def test_equal_predictions_tie():
    result = bdelta_cost([0, 1, 1], [0, 0, 1], [0, 0, 1], COST)
    assert (result.difference, result.interval, result.winner) == (0, (0, 0), 0)


def test_rounding_finds_no_winner():
    """Three times 0.1 less 0.3 is not zero in floating point."""
    y = np.zeros(20, dtype=int)
    pred_1, pred_2 = np.array([1] * 6 + [0] * 14), np.array([0] * 6 + [2] * 2 + [0] * 12)
    result = bdelta_cost(y, pred_1, pred_2, [[0.0] * 3, [0.1] * 3, [0.3] * 3], labels=range(3), random_state=0)
    assert result.difference == 0
    assert (result.draws == 0).sum() > 10
    assert np.abs(result.draws[result.draws != 0]).min() > 0.01


def test_a_thousand_classes():
    rng = np.random.default_rng(6)
    y, pred_1, pred_2 = rng.integers(1000, size=(3, 3000))
    cost = rng.random((1000, 1000))
    result = bdelta_cost(y, pred_1, pred_2, cost, labels=range(1000), cell_prior=0.001, n_draws=100, random_state=0)
    assert result.difference == pytest.approx((cost[pred_1, y] - cost[pred_2, y]).sum())


def test_the_same_seed_gives_the_same_interval():
    assert golden(random_state=7) == golden(random_state=7)
    assert golden(random_state=np.random.RandomState(7)) == golden(random_state=7)
    assert golden(random_state=np.random.default_rng(7)) == golden(random_state=np.random.default_rng(7))
    assert (golden(random_state=7).draws != golden(random_state=8).draws).any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_draws": 39}, "n_draws=39: must be at least 40 for an interval of level 0.95"),
        ({"n_draws": 0}, "n_draws=0: must be a whole number"),
        ({"level": 1.0}, "level=1.0"),
        ({"cell_prior": -1}, "cell_prior=-1"),
        ({"cost": [[0, 1]]}, "pass actions= with what each row"),
        ({"cost": [[0, np.nan], [1, 0]]}, r"cost\[0, 1\]=nan"),
        ({"cost": [0, 1]}, "a row per action"),
        ({"cost": [["a"]]}, "table of numbers"),
        ({"cost": np.zeros((3, 3))}, "pass labels= with the class of each column"),
        ({"pred_1": [0, 1]}, "pred_1 has 2 entries"),
        ({"pred_2": [9] * 10}, "pred_2 has the label 9.*pass actions="),
        ({"labels": [0, 0]}, "each must occur once"),
        ({"labels": [0, 1, 2]}, "must name each column of cost"),
        ({"actions": [3, 4]}, "pred_1 has the label 0"),
        ({"sample_weight": [0.01] * 10}, "sample_weight sums to 0.1: weights are numbers of rows"),
        ({"sample_weight": [-1] * 10}, r"sample_weight\[0\]"),
    ],
)
def test_what_is_refused(options, words):
    pred_1, pred_2, y_true = GOLDEN.T
    arguments = {"y_true": y_true, "pred_1": pred_1, "pred_2": pred_2, "cost": COST, **options}
    with pytest.raises(ValueError, match=words):
        bdelta_cost(**arguments)
