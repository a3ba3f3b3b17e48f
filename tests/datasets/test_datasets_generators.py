"""Generators: their probabilities are those of the densities, and the labels that are drawn obey them."""

from __future__ import annotations

import numpy as np
import pytest

import naive_datasets as naive
from petiole import datasets
from petiole.datasets import (
    make_checkerboard,
    make_logistic,
    make_noisy_xor,
    make_ring_norm,
    make_three_norm,
    make_two_gaussians,
    make_two_norm,
    make_waveform,
)
from petiole.datasets.generators import _log_mixture

MAKERS = [getattr(datasets, name) for name in sorted(datasets.__all__) if name.startswith("make_")]


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_drawn_obeys_the_probabilities(make):
    """Among rows with a probability near p, a share near p has the class; and labels are as dear as the truth says."""
    n = 40_000
    X, y, proba = make(n, random_state=1)
    assert X.shape[0] == len(y) == len(proba) == n and np.isfinite(X).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    for k in range(proba.shape[1]):
        bins = np.minimum((10 * proba[:, k]).astype(int), 9)
        for b in np.unique(bins):
            said, found = proba[bins == b, k], y[bins == b] == k
            spread = np.sqrt(np.sum(said * (1 - said)))
            assert abs(found.sum() - said.sum()) <= 4.5 * spread + 1e-9, (k, b)


@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_gives_the_same_rows_again(make):
    for one, two in zip(make(20, 3), make(20, np.random.RandomState(3)), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(make(20, 3).X, make(20, 4).X)


@pytest.mark.parametrize("n_features", [1, 2, 7, 20])
@pytest.mark.parametrize(
    ("make", "slow"),
    [(make_two_norm, naive.two_norm), (make_three_norm, naive.three_norm), (make_ring_norm, naive.ring_norm)],
)
def test_normal_clouds_have_the_probabilities_of_their_densities(make, slow, n_features):
    X, _, proba = make(40, random_state=0, n_features=n_features)
    np.testing.assert_allclose(proba, [slow(x) for x in X], rtol=1e-7, atol=1e-13)


def test_waveforms_have_the_probabilities_of_the_integral():
    X, _, proba = make_waveform(40, random_state=0)
    np.testing.assert_allclose(proba, [naive.waveform(x) for x in X], rtol=1e-6, atol=1e-12)


def test_noise_attributes_say_nothing():
    X, y, proba = make_waveform(500, random_state=0, noise_attributes=True)
    plain = make_waveform(500, random_state=0)
    assert X.shape == (500, 40)
    np.testing.assert_array_equal(X[:, :21], plain.X)
    np.testing.assert_array_equal(proba, plain.proba)
    np.testing.assert_array_equal(y, plain.y)
    assert abs(np.corrcoef(X[:, 21:].T)[np.triu_indices(19, 1)]).max() < 0.25


@pytest.mark.parametrize(
    ("make", "error"),
    [(make_two_norm, 0.02275), (make_three_norm, 0.105), (make_ring_norm, 0.0124), (make_waveform, 0.133)],
)
def test_the_best_possible_error(make, error):
    """Two-norm: Φ(-2). The others by simulation, near the known 10.5 %, 1.3 % and 14 %."""
    _, y, proba = make(60_000, random_state=2)
    spread = np.sqrt(error / 60_000)
    assert abs((proba.argmax(axis=1) != y).mean() - error) < 4 * spread
    assert abs(1 - proba.max(axis=1).mean() - error) < 4 * spread


@pytest.mark.parametrize("name", ["twonorm", "waveform21"])
def test_formulas_fit_the_samples_that_others_drew(load_real, name):
    """The samples of DELVE and UCI have the same means and standard deviations, class by class."""
    frame, labels = load_real(name)
    X, theirs = frame.to_numpy(), np.unique(labels, return_inverse=True)[1]
    Z, ours, _ = {"twonorm": make_two_norm, "waveform21": make_waveform}[name](20_000, random_state=0)
    classes = range(ours.max() + 1)
    profiles = np.array([Z[ours == k].mean(axis=0) for k in classes])
    for k in classes:  # their classes may be numbered otherwise
        rows = X[theirs == k]
        nearest = np.argmin(np.abs(profiles - rows.mean(axis=0)).max(axis=1))
        assert np.abs(profiles[nearest] - rows.mean(axis=0)).max() < 0.2
        assert np.abs(Z[ours == nearest].std(axis=0) - rows.std(axis=0)).max() < 0.15


def test_two_gaussians_by_hand():
    X, _, proba = make_two_gaussians(500, random_state=0, separation=3.0, prior=0.2)
    likelihood = np.exp(-0.5 * (X - [[-1.5, 1.5]]) ** 2) * [0.8, 0.2]
    np.testing.assert_allclose(proba, likelihood / likelihood.sum(axis=1, keepdims=True), rtol=1e-10)
    assert X.shape == (500, 1)
    assert make_two_gaussians(50, 0, prior=1.0).proba[:, 1].min() == 1
    assert make_two_gaussians(50, 0, prior=0.0).y.max() == 0


def test_logistic_by_hand():
    X, _, proba = make_logistic(50, random_state=0, weights=[1.0, 0.0], bias=-1.0)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(1 - X[:, 0])))


def test_boards():
    X, y, proba = make_checkerboard(500, random_state=0, cells=3, noise=0.0, n_irrelevant=2)
    fields = (3 * X[:, :2]).astype(int)
    np.testing.assert_array_equal(y, fields.sum(axis=1) % 2)
    np.testing.assert_array_equal(proba.argmax(axis=1), y)
    assert X.shape == (500, 4)
    xor = make_noisy_xor(500, random_state=0, noise=0.25)
    odd = (xor.X[:, 0] >= 0.5) != (xor.X[:, 1] >= 0.5)
    np.testing.assert_array_equal(xor.proba[:, 1], np.where(odd, 0.75, 0.25))


def test_probabilities_far_out_stay_finite_and_exact():
    proba = make_two_norm(50, random_state=0, n_features=5000).proba
    assert np.isfinite(proba).all() and proba.min() > 0
    assert make_two_gaussians(200, 0, separation=20.0).proba.min() > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_two_norm(0), "n=0: must be a whole number at least 1"),
        (lambda: make_ring_norm(5, n_features=0), "n_features=0: must be a whole number at least 1"),
        (lambda: make_two_gaussians(5, separation=-1), "separation=-1: must be a number at least 0"),
        (lambda: make_two_gaussians(5, prior=1.5), "prior=1.5: must be a number between 0 and 1"),
        (lambda: make_checkerboard(5, cells=1), "cells=1: must be a whole number at least 2"),
        (lambda: make_checkerboard(5, noise=2), "noise=2: must be a number between 0 and 1"),
        (lambda: make_noisy_xor(5, n_irrelevant=-1), "n_irrelevant=-1: must be a whole number at least 0"),
        (lambda: make_logistic(5, weights=[]), r"weights=\[\]: must be a sequence"),
        (lambda: make_logistic(5, bias=float("nan")), "bias=nan: must be a number"),
    ],
)
def test_errors_name_the_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_waves_far_beyond_either_end_do_not_cancel():
    """The share u and 1 - u are alike, so that both ends must be: where one tail is 1 - tiny, the other is used."""
    one, two = np.array([3.0, 0.0]), np.array([0.0, 4.0])
    steps = np.array([-60.0, -9.0, -1.0, 0.3, 1.0, 9.0, 60.0])
    X = two + steps[:, None] * (one - two)
    forth, back = _log_mixture(X, one, two), _log_mixture(X, two, one)
    assert np.isfinite(forth).all()
    np.testing.assert_allclose(forth, back, rtol=1e-12)
    # by l'Hôpital the tail of the normal distribution: density at the nearest end over the distance to it
    distance = 5 * np.array([60.0, 59.0])
    expected = -0.5 * distance**2 - np.log(distance) - 0.5 * np.log(2 * np.pi) - np.log(5)
    np.testing.assert_allclose(forth[[0, -1]], expected, rtol=1e-6)
