"""Calibration by group: against the naive version, its laws, and what is taken as a group."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import naive_groups as naive
from metric_problems import make_problem
from petiole.metrics import calibration_by_group, expected_calibration_error, worst_group_calibration_error


def two_columns(scores):
    return np.column_stack([1 - scores, scores])


def drawn(seed, n_rows, shift=0.0):
    """True probabilities but for the second of two groups, in which they are too low by ``shift``."""
    rng = np.random.default_rng(seed)
    p, group = rng.uniform(0.2, 0.7, n_rows), rng.choice(["a", "b"], n_rows)
    y = rng.uniform(size=n_rows) < p + shift * (group == "b")
    return y, two_columns(p), group


@pytest.mark.parametrize("seed", range(12))
def test_groups_equal_the_naive_ones(seed):
    problem = make_problem(seed, n_rows=150, n_classes=2 + seed % 3)
    groups = np.random.default_rng(seed).choice(["a", "b", "c"], 150)
    codes, proba, weights = problem.plain
    found = calibration_by_group(problem.y, problem.proba, groups, n_bins=3, **problem.arguments)
    columns = [1] if len(problem.labels) == 2 else range(len(problem.labels))
    expected = [(name, k) for name in sorted(set(groups[problem.weights > 0])) for k in columns]
    named = [*zip(found.group.tolist(), found.target.tolist(), strict=True)]
    assert named == [(name, problem.labels[k]) for name, k in expected]
    for place, (name, k) in enumerate(expected):
        rows = [i for i in range(150) if groups[i] == name and weights[i] > 0]
        w = [weights[i] for i in rows]
        n_bins = min(max(int(sum(w) // 30), 1), 3)
        scores, hits = [proba[i][k] for i in rows], [codes[i] == k for i in rows]
        assert found.error[place] == pytest.approx(naive.group_error(scores, hits, w, n_bins), abs=1e-9)
        assert found.mean_score[place] == pytest.approx(np.average(scores, weights=w))
        assert found.frequency[place] == pytest.approx(np.average(hits, weights=w))
        assert found.lower[place] <= found.frequency[place] <= found.upper[place]


def test_one_group_is_the_debiased_error_of_all_rows():
    y, proba, _ = drawn(0, 3000)
    found = worst_group_calibration_error(y, proba, np.zeros(3000))
    given = {"target": True, "n_bins": 10, "strategy": "quantile", "norm": "l2", "debiased": True}
    assert found == pytest.approx(expected_calibration_error(y, proba, **given), abs=1e-12)


def test_a_group_that_is_off_is_found():
    y, proba, group = drawn(1, 6000, 0.1)
    found = calibration_by_group(y, proba, group)
    assert found.error[1] == pytest.approx(0.1, abs=0.025) and found.error[0] < 0.03
    assert found.p_value[1] < 1e-6 < 1e-3 < found.p_value[0]
    assert worst_group_calibration_error(y, proba, group) == found.error.max()


def test_p_values_are_uniform_for_true_probabilities():
    p_values = [calibration_by_group(*drawn(seed, 500)).p_value for seed in range(150)]
    assert kstest(np.concatenate(p_values), "uniform").pvalue > 0.005


def test_all_ways_to_give_groups():
    y, proba, group = drawn(2, 400)
    by_labels = calibration_by_group(y, proba, group)
    by_dict = calibration_by_group(y, proba, {"sex": group, "is b": group == "b"})
    by_frame = calibration_by_group(y, proba, pd.DataFrame({"sex": group}))
    assert by_labels.group.tolist() == ["a", "b"]
    assert by_dict.group.tolist() == ["sex: a", "sex: b", "is b"]
    assert by_frame.group.tolist() == ["sex: a", "sex: b"]
    assert np.array_equal(by_dict.error[1:], by_dict.error[[1, 1]])
    for other in (calibration_by_group(y, proba, group.tolist()), calibration_by_group(y, proba, pd.Series(group))):
        assert np.array_equal(other.error, by_labels.error)
    with pytest.raises(ValueError, match="must have one entry for each of the 400 rows"):
        calibration_by_group(y, proba, group[:-1])
    with pytest.raises(ValueError, match="at least one group"):
        calibration_by_group(y, proba, {})


def test_missing_values_are_a_group_and_numbers_are_cut_into_quarters():
    y, proba, group = drawn(3, 400)
    table = pd.DataFrame({"sex": np.where(group == "a", None, group), "age": np.arange(400.0)})
    found = calibration_by_group(y, proba, table)
    assert found.group.tolist()[:2] == ["sex: b", "sex: missing"]
    assert found.weight[2:].tolist() == [100, 100, 100, 100]


def test_weights_count_rows():
    y, proba, group = drawn(4, 300)
    weights = np.random.default_rng(0).integers(0, 4, 300)
    many = np.repeat(np.arange(300), weights)
    weighted = calibration_by_group(y, proba, group, sample_weight=weights)
    repeated = calibration_by_group(y[many], proba[many], group[many])
    for one, other in zip(weighted[2:], repeated[2:], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_small_groups_do_not_count_in_the_worst():
    y, proba, _ = drawn(5, 300)
    groups = np.where(np.arange(300) < 20, "few", "many")
    y = np.where(groups == "few", True, y)
    whole = calibration_by_group(y, proba, groups)
    assert worst_group_calibration_error(y, proba, groups, min_weight=100) == whole.error[1] < whole.error[0]
    with pytest.raises(ValueError, match="lower min_weight"):
        worst_group_calibration_error(y, proba, groups, min_weight=1000)


def test_an_impossible_answer_has_no_chance():
    found = calibration_by_group([0, 1], [[1.0, 0.0], [1.0, 0.0]], ["a", "b"])
    assert found.p_value.tolist() == [1.0, 0.0]
