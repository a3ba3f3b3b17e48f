"""Parameters are checked with errors that name them, their value and what to do."""

from __future__ import annotations

from fractions import Fraction

import joblib
import numpy as np
import pytest

from from_the_core import leave_one_out
from petiole import BaggedPETClassifier, LazyOptionTreesClassifier, PETClassifier
from petiole._classifiers.ensemble import MOST_OOB_WEIGHT
from petiole._validation import LARGEST, MOST_THREADS, SMALLEST, check_number, thread_count
from petiole.smoothing import HGS, Curtailment, Laplace, MBranch
from petiole.smoothing import hgs as hgs_module

X, Y = np.arange(24.0).reshape(12, 2), np.arange(12) % 3


@pytest.mark.parametrize("value", [0, 1.5, np.float32(2), Fraction(1, 3), 10**100, LARGEST])
def test_numbers_that_are_taken(value):
    check_number("x", value, 0)


@pytest.mark.parametrize("value", [-1, float("nan"), float("-inf"), None, "1", True, np.True_, [1], 1j])
def test_numbers_that_are_not(value):
    with pytest.raises(ValueError, match=r"^x=.*: must be a number at least 0$"):
        check_number("x", value, 0)


@pytest.mark.parametrize("value", [1e101, 10**101, 10**400, np.float64(1e308), float("inf")])
def test_numbers_that_are_so_large_that_products_of_them_overflow(value):
    with pytest.raises(ValueError, match=r"^x=.*: must be a number between 0 and 1e\+100$"):
        check_number("x", value, 0)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (PETClassifier(smoothing=Laplace(1e308)), "prior"),
        (PETClassifier(smoothing=Laplace([1.0, 1e308, 1.0])), "prior"),
        (PETClassifier(smoothing=HGS(1e308)), "alpha"),
        (PETClassifier(smoothing=Curtailment(smoothing=7)), "smoothing"),
        (BaggedPETClassifier(3, oob_weight=1e308), "oob_weight"),
        (LazyOptionTreesClassifier(3, path_prior=5e299), "path_prior"),
        (LazyOptionTreesClassifier(3, gain_prior=1e308), "gain_prior"),
        (BaggedPETClassifier(3, oob_weight=5e-324), "oob_weight"),
        (PETClassifier(smoothing=MBranch(M=5e-324)), "M"),
        (PETClassifier(smoothing=HGS(alpha=1e-300)), "alpha"),
    ],
)
def test_parameters_that_would_give_no_probabilities(model, name):
    with pytest.raises((ValueError, TypeError), match=f"^{name}="):
        model.fit(X, Y)


def test_the_largest_numbers_give_probabilities():
    for model in (
        PETClassifier(smoothing=Laplace(LARGEST)),
        BaggedPETClassifier(3, oob_weight=MOST_OOB_WEIGHT, random_state=0),
        LazyOptionTreesClassifier(3, path_prior=LARGEST, gain_prior=LARGEST, random_state=0),
    ):
        proba = model.fit(X, Y).predict_proba(X)
        assert np.isfinite(proba).all() and np.allclose(proba.sum(axis=1), 1)


def test_the_smallest_numbers_give_probabilities():
    for model in (
        PETClassifier(smoothing=MBranch(M=SMALLEST)),
        PETClassifier(smoothing=HGS(alpha=SMALLEST)),
        BaggedPETClassifier(3, oob_weight=SMALLEST, smoothing="m_estimate", random_state=0),
    ):
        proba = model.fit(X, Y).predict_proba(X)
        assert np.isfinite(proba).all() and np.allclose(proba.sum(axis=1), 1)


def test_threads_are_as_many_as_are_asked_for_and_not_more_than_are_of_use():
    assert thread_count(None) == 1 and thread_count(3) == 3
    assert thread_count(-1) == joblib.effective_n_jobs(-1)
    assert thread_count(4096) == max(MOST_THREADS, 4 * joblib.cpu_count())


def test_one_thread_in_a_worker_process_is_no_reason_to_warn(monkeypatch):
    """joblib warns where a daemon asks for more than one; a cap on threads must not ask."""
    asked = []
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n_jobs: asked.append(n_jobs) or n_jobs)
    assert thread_count(1) == 1 and asked == []
    assert thread_count(2) == 2 and asked == [2]


def test_gradient_descent_has_an_end(monkeypatch):
    """With a small step and no tolerance its own rule would stop it after millions of steps."""
    monkeypatch.setattr(hgs_module, "MAX_STEPS", 5)
    tree = PETClassifier(min_samples_leaf=1).fit(X, Y).tree_
    alphas = np.ones(tree.n_nodes)
    for _ in range(5):
        alphas = alphas - 1e-6 * leave_one_out(tree, alphas)[1]
    assert np.array_equal(HGS("gd", learning_rate=1e-6, tol=0).alphas(tree), np.maximum(alphas, 0))
