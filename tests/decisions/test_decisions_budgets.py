"""Which rows to act on: compared with all choices that there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from petiole.decisions import best_rows
from petiole.decisions.costs import idle_action


def gain_of_every_choice(gain, budget, price):
    """The best gain of any set of rows that the budget pays for."""
    rows = range(len(gain))
    sets = [list(chosen) for n in range(len(gain) + 1) for chosen in combinations(rows, n)]
    return max(gain[chosen].sum() for chosen in sets if price[chosen].sum() <= budget)


def test_the_top_rows_are_the_best_and_none_is_a_loss():
    random = np.random.default_rng(0)
    for _ in range(50):
        gain, n = random.integers(-3, 6, random.integers(1, 12)).astype(float), int(random.integers(1, 8))
        chosen = best_rows(gain, top=n)
        assert gain[chosen].tolist() == sorted(gain[gain > 0], reverse=True)[:n]
        assert len(set(chosen.tolist())) == len(chosen)


def test_a_budget_is_kept_and_well_spent():
    random = np.random.default_rng(1)
    for _ in range(200):
        size = int(random.integers(1, 9))
        gain, price = random.normal(1, 2, size), random.uniform(0.5, 4, size)
        budget = float(random.uniform(0, 8))
        chosen = best_rows(gain, budget=budget, price=price)
        best = gain_of_every_choice(gain, budget, price)
        affordable = gain[(price <= budget) & (gain > 0)]
        assert price[chosen].sum() <= budget * (1 + 1e-9) and (gain[chosen] > 0).all()
        assert best - (affordable.max() if len(affordable) else 0) - 1e-9 <= gain[chosen].sum() <= best + 1e-9
        same = best_rows(gain, budget=budget, price=2.0)
        assert gain[same].sum() == pytest.approx(gain_of_every_choice(gain, budget, np.full(size, 2.0)))


def test_what_is_refused():
    with pytest.raises(ValueError, match="gain: must be finite"):
        best_rows([1.0, np.nan], top=1)
    with pytest.raises(ValueError, match="price: 0 is not above 0"):
        best_rows([1.0], budget=3, price=0)
    with pytest.raises(ValueError, match="top=0: must be"):
        best_rows([1.0], top=0)
    with pytest.raises(ValueError, match="budget=-1"):
        best_rows([1.0], budget=-1)


def test_doing_nothing_is_what_is_free_or_the_commonest_class():
    assert idle_action(np.array([[3.0, -1], [0, 0]]), None) == 1
    assert idle_action(np.array([[0.0, 5], [1, 0]]), [2, 8]) == 1
    assert idle_action(np.array([[1.0, 5], [1, 2]]), None) is None
