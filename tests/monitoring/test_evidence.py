"""Sequential tests: against the naive versions, and what Ville's inequality promises."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import naive_monitoring as naive
from petiole.monitoring import CalibrationTest, LossTest
from petiole.monitoring._evidence import SequentialTest


def rows(seed, n_rows, n_classes=2):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 1.5), n_rows)
    codes = (proba.cumsum(axis=1) > rng.uniform(size=(n_rows, 1))).argmax(axis=1)
    return codes, proba


@pytest.mark.parametrize(
    ("n_classes", "n_rows", "alpha"), [(2, 60, 0.05), (3, 1100, 0.01), (5, 60, 0.5), (2, 1100, 0.2)]
)
def test_the_wealth_is_that_of_the_naive_bettors(n_classes, n_rows, alpha):
    codes, proba = rows(n_classes, n_rows, n_classes)
    weights = np.random.default_rng(0).integers(1, 4, n_rows).astype(float)
    test = CalibrationTest(n_classes, alpha=alpha).update(codes, proba, sample_weight=weights)
    expected = naive.calibration_path(codes.tolist(), proba.tolist(), weights.tolist(), alpha)
    np.testing.assert_allclose(np.exp(np.concatenate(test.history)), expected, rtol=1e-9)
    assert test.e_value == pytest.approx(expected[-1]) and test.highest == pytest.approx(max([1.0, *expected]))


def test_the_wealth_of_bets_on_the_loss():
    losses = np.random.default_rng(0).exponential(0.6, 80)
    test = LossTest(0.5).update(losses)
    np.testing.assert_allclose(np.exp(np.concatenate(test.history)), naive.loss_path(losses, 0.5), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_nobody_can_expect_to_win_against_the_truth(n_classes):
    """Each factor has mean 1 under the model: the sum over the labels of p times the factor."""
    _, proba = rows(1, 20, n_classes)
    for p in proba:
        factors = []
        for y in range(n_classes):
            test = CalibrationTest(n_classes)
            test.bet(*(part[:40] for part in rows(7, 40, n_classes)))  # so that some are near to their goal
            before = test.log_wealth.copy()
            test.bet(np.array([y]), p[np.newaxis])
            factors.append(np.exp(test.log_wealth - before))
        np.testing.assert_allclose(p @ np.array(factors), 1.0, rtol=1e-9)


def test_false_alarms_while_looking_at_every_row():
    alarms = [CalibrationTest(2).bet(*rows(1000 + seed, 1500)).alarm(0.1) for seed in range(200)]
    assert np.mean(alarms) < 0.1 + 3 * math.sqrt(0.09 / 200)
    weighted = []
    for seed in range(150):
        codes, proba = rows(2000 + seed, 800, 3)
        weighted.append(
            CalibrationTest(3).bet(codes, proba, np.random.default_rng(seed).exponential(size=800)).alarm(0.1)
        )
    assert np.mean(weighted) < 0.1 + 3 * math.sqrt(0.09 / 150)
    losses = [
        LossTest(0.5).update(np.random.default_rng(seed).exponential(0.5, 1000)).alarm(0.1) for seed in range(150)
    ]
    assert np.mean(losses) < 0.1 + 3 * math.sqrt(0.09 / 150)


@pytest.mark.parametrize("shift", [0.05, -0.05])
@pytest.mark.parametrize("widest", [0.45, 0.0])  # probabilities that are all 0.5 are the hardest
def test_a_shift_of_five_points_is_found_in_a_thousand_rows(shift, widest):
    found = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.5 - widest, 0.5 + widest, 1000)
        y = (rng.uniform(size=1000) < p + shift).astype(int)
        found.append(CalibrationTest(2).bet(y, np.column_stack([1 - p, p])).alarm())
    assert np.mean(found) > 0.72  # 0.9 and 0.83 in the benchmark


def test_overconfidence_is_found():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 1500)
    y = (rng.uniform(size=1500) < 0.5 + 0.75 * (p - 0.5)).astype(int)
    assert CalibrationTest(2).bet(y, np.column_stack([1 - p, p])).alarm()


def test_batches_and_states_give_the_same_as_one_go():
    codes, proba = rows(3, 300, 3)
    whole = CalibrationTest(3).bet(codes, proba)
    parts = CalibrationTest(3)
    for begin in (0, 100, 250):
        end = {0: 100, 100: 250, 250: 300}[begin]
        again = CalibrationTest(3)
        again.resume(json.loads(json.dumps(parts.state())))
        parts = again.bet(codes[begin:end], proba[begin:end])
    assert parts.e_value == pytest.approx(whole.e_value) and parts.highest == pytest.approx(whole.highest)
    assert parts.n_rows == 300
    with pytest.raises(ValueError, match="another test"):
        CalibrationTest(2).resume(parts.state())


def test_who_has_reached_the_goal_stops_for_good():
    """Also after a state, and where later rows speak for the model again."""
    codes = np.r_[np.ones(150, dtype=int), np.zeros(300, dtype=int)]
    proba = np.full((450, 2), 0.5)
    first = CalibrationTest(2).bet(codes[:260], proba[:260])
    assert first.deadline.reached.tolist() == [[True], [False]] and first.alarm()
    again = CalibrationTest(2)
    again.resume(json.loads(json.dumps(first.state())))
    again.bet(codes[260:], proba[260:])
    assert again.log_wealth[-2] == first.log_wealth[-2]
    np.testing.assert_allclose(again.log_wealth, CalibrationTest(2).bet(codes, proba).log_wealth)


def test_a_known_shift_is_not_news():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.2, 0.6, 3000)
    odds = np.log(p / (1 - p)) + 0.4
    y = (rng.uniform(size=3000) < 1 / (1 + np.exp(-odds))).astype(int)
    proba = np.column_stack([1 - p, p])
    assert CalibrationTest(2).bet(y, proba).alarm()
    assert not CalibrationTest(2, np.array([0.0, 0.0, 0.4])).bet(y, proba).alarm()


def test_first_row_and_p_value():
    p = np.full(400, 0.5)
    test = CalibrationTest(2).bet(np.ones(400, dtype=int), np.column_stack([1 - p, p]))
    path = np.concatenate(test.history)
    assert test.first_row(0.05) == int(np.argmax(path >= math.log(20))) + 1 and test.alarm(0.05)
    assert test.p_value == pytest.approx(1 / test.highest) and CalibrationTest(2).p_value == 1


def test_classes_renamed_give_the_same():
    codes, proba = rows(5, 200, 3)
    turned = CalibrationTest(3).bet(2 - codes, proba[:, ::-1])
    assert turned.e_value == pytest.approx(CalibrationTest(3).bet(codes, proba).e_value)


def test_certain_answers_and_one_class():
    proba = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert CalibrationTest(2).bet(np.array([0, 1]), proba).e_value == pytest.approx(1.0, abs=1e-4)
    assert CalibrationTest(2).bet(np.array([1, 0]), proba).alarm(1e-6) in (True, False)
    assert CalibrationTest(1).bet(np.zeros(5, dtype=int), np.ones((5, 1))).e_value == pytest.approx(1.0)
    assert isinstance(LossTest(0.0), SequentialTest)
    with pytest.raises(ValueError, match="losses"):
        LossTest(0.5).update([-1.0])
