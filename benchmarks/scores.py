"""Scores of class probabilities: rows of `proba` are examples, columns are classes, and `y` are class codes."""

from __future__ import annotations

import numpy as np

FLOOR = 1e-3


def log_loss_bits(y: np.ndarray, proba: np.ndarray) -> float:
    """Mean log-loss in bits; probabilities are floored at 0.001 and renormalised, lest one zero decide everything."""
    floored = np.maximum(proba, FLOOR)
    return float(-np.log2(floored[np.arange(len(y)), y] / floored.sum(axis=1)).mean())


def brier(y: np.ndarray, proba: np.ndarray) -> float:
    """Mean over the examples of the squared error summed over the classes (with two classes: from 0 to 2)."""
    truth = np.zeros_like(proba)
    truth[np.arange(len(y)), y] = 1.0
    return float(((proba - truth) ** 2).sum(axis=1).mean())


def ece(y: np.ndarray, proba: np.ndarray, n_bins: int = 15) -> float:
    """Expected calibration error of the most probable class, in bins of equal width, open on the left."""
    confidence, correct = proba.max(axis=1), proba.argmax(axis=1) == y
    bins = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    gaps = np.bincount(bins, weights=correct - confidence, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(y))


def aulc(y: np.ndarray, proba: np.ndarray, priors: np.ndarray) -> float:
    """Area under the lift chart, averaged over the classes with the training priors as weights.

    The right-endpoint rule, one step per example: for class k the mean over i of (share of k among the i examples that
    rank highest) / (share of k in `y`). The positives of tied examples are spread evenly over their ranks, which gives
    the mean over random orders of each share; scores equal to 12 decimals are tied. Classes that do not occur in `y`
    have no lift and are left out.
    """
    ranks, areas = np.arange(1, len(y) + 1), np.zeros(proba.shape[1])
    present = np.bincount(y, minlength=proba.shape[1]) > 0
    for k in np.flatnonzero(present):
        positive = y == k
        _, group, sizes = np.unique(-proba[:, k].round(12), return_inverse=True, return_counts=True)
        spread = np.repeat(np.bincount(group, weights=positive) / sizes, sizes)
        areas[k] = (spread.cumsum() / ranks).mean() / positive.mean()
    weights = np.where(present, priors, 0.0)
    return float(areas @ weights / weights.sum())


def accuracy(y: np.ndarray, proba: np.ndarray) -> float:
    """Share of examples whose most probable class is the right one; of equal classes, the first."""
    return float((proba.argmax(axis=1) == y).mean())
