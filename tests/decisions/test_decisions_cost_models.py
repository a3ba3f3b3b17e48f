"""The random cost models of Margineantu & Dietterich (2002): ranges, diagonals, distributions, priors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import naive_decisions as naive
from petiole.decisions import COST_MODELS, random_costs

PRIORS = [0.6, 0.3, 0.1]


def test_there_are_eight():
    assert COST_MODELS == ("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8")


@pytest.mark.parametrize("model", COST_MODELS)
@pytest.mark.parametrize("priors", [PRIORS, [0.5, 0.5], [0.05, 0.15, 0.3, 0.5]])
def test_every_entry_is_uniform_up_to_the_published_end(model, priors):
    costs = random_costs(model, priors, n_matrices=2000, random_state=0)
    n_classes = len(priors)
    assert costs.shape == (2000, n_classes, n_classes)
    for i in range(n_classes):
        for j in range(n_classes):
            end = naive.largest_cost(model, priors, i, j)
            if end == 0:
                assert (costs[:, i, j] == 0).all()
            else:
                assert kstest(costs[:, i, j] / end, "uniform").pvalue > 1e-4, (i, j)


@pytest.mark.parametrize("model", COST_MODELS)
def test_entries_and_matrices_are_independent(model):
    flat = random_costs(model, PRIORS, n_matrices=4000, random_state=1).reshape(4000, 9)
    drawn = flat[:, flat.any(axis=0)]
    correlation = np.corrcoef(drawn.T) - np.eye(drawn.shape[1])
    assert np.abs(correlation).max() < 0.08
    assert np.abs([np.corrcoef(column[:-1], column[1:])[0, 1] for column in drawn.T]).max() < 0.08


def test_overlooking_a_rare_class_is_dear_in_m5_and_cheap_in_m6():
    m5, m6 = (random_costs(model, PRIORS, n_matrices=3000, random_state=2).mean(axis=0) for model in ("M5", "M6"))
    np.testing.assert_allclose(m5[0, 2], 500 * 6, rtol=0.05)  # predicted common, true rare
    np.testing.assert_allclose(m5[2, 0], 500 / 6, rtol=0.05)
    np.testing.assert_allclose(m6[0, 2], 500 / 6, rtol=0.05)
    np.testing.assert_allclose(m6[2, 0], 500 * 6, rtol=0.05)


def test_labels_give_the_priors():
    y = ["b"] * 6 + ["c"] * 3 + ["a"]
    np.testing.assert_allclose(
        random_costs("M5", y=y, random_state=3), random_costs("M5", [0.1, 0.6, 0.3], random_state=3)
    )
    weighted = random_costs("M5", y=["a", "b"], sample_weight=[1, 3], random_state=3)
    np.testing.assert_allclose(weighted, random_costs("M5", [0.25, 0.75], random_state=3))


def test_the_same_seed_gives_the_same_matrices():
    first = random_costs("M1", PRIORS, n_matrices=3, random_state=5)
    assert (random_costs("M1", PRIORS, n_matrices=3, random_state=5) == first).all()
    assert (random_costs("M1", PRIORS, n_matrices=3, random_state=6) != first).any()
    np.testing.assert_allclose(random_costs("M4", PRIORS, n_matrices=3, random_state=5), 1000 * first)
    drawn = random_costs("M1", PRIORS, n_matrices=3, random_state=np.random.RandomState(5))
    assert (drawn == first).all()
    assert random_costs("M8", [1.0], random_state=0).shape == (25, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": "M9", "priors": PRIORS}, "model='M9': must be one of"),
        ({"model": "M1"}, "either priors"),
        ({"model": "M1", "priors": PRIORS, "y": [0, 1]}, "either priors"),
        ({"model": "M1", "priors": [0.5, 0.6]}, "sum to 1"),
        ({"model": "M1", "priors": [1.5, -0.5]}, "at least 0"),
        ({"model": "M1", "priors": [np.nan, 1]}, "at least 0"),
        ({"model": "M1", "priors": [6, 3]}, "divide counts"),
        ({"model": "M1", "priors": ["a", "b"]}, "labels go to y="),
        ({"model": "M1", "priors": [[0.5, 0.5]]}, "flat list"),
        ({"model": "M1", "priors": PRIORS, "sample_weight": [1]}, "sample_weight"),
        ({"model": "M5", "priors": [1.0, 0.0]}, r"priors\[1\]=0"),
        ({"model": "M6", "y": [0, 1], "sample_weight": [0, 1]}, r"priors\[0\]=0"),
        ({"model": "M1", "priors": PRIORS, "n_matrices": 0}, "n_matrices=0: must be a whole number at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        random_costs(**arguments)
