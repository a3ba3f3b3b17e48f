"""The scores of the studies: petiole's metrics with the settings that their tables are made with.

Rows of `proba` are examples, columns are classes, and `y` are class codes, of which a split may lack some.
"""

from __future__ import annotations

import numpy as np

from petiole import metrics

FLOOR = 1e-3


def log_loss_bits(y: np.ndarray, proba: np.ndarray) -> float:
    """Mean log-loss in bits; probabilities are floored at 0.001 and renormalised, lest one zero decide everything."""
    return metrics.log_loss(y, proba, labels=_codes(proba), floor=FLOOR)


def brier(y: np.ndarray, proba: np.ndarray) -> float:
    """Mean over the examples of the squared error summed over the classes (with two classes: from 0 to 2)."""
    return metrics.brier_score(y, proba, labels=_codes(proba))


def rmse(y: np.ndarray, proba: np.ndarray) -> float:
    """Root of the squared error's mean over examples and classes, as in the HGS paper's tables."""
    return metrics.rmse(y, proba, labels=_codes(proba))


def zero_one_mse(y: np.ndarray, proba: np.ndarray) -> float:
    """Nielsen's mean of (1 − p_y)²."""
    return metrics.zero_one_mse(y, proba, labels=_codes(proba))


def ece(y: np.ndarray, proba: np.ndarray, n_bins: int = 15) -> float:
    """Expected calibration error of the most probable class, in bins of equal width, open on the left."""
    return metrics.expected_calibration_error(y, proba, labels=_codes(proba), n_bins=n_bins)


def aulc(y: np.ndarray, proba: np.ndarray, priors: np.ndarray) -> float:
    """Area under the lift chart by the right-endpoint rule, averaged over the classes with the training priors."""
    return metrics.area_under_lift_curve(y, proba, labels=_codes(proba), priors=priors)


def accuracy(y: np.ndarray, proba: np.ndarray) -> float:
    """Share of examples whose most probable class is the right one; of equal classes, the first."""
    return metrics.accuracy(y, proba, labels=_codes(proba))


def accuracy_change(y: np.ndarray, proba: np.ndarray, votes: np.ndarray) -> float:
    """Accuracy of the most probable class less that of the votes."""
    return metrics.accuracy_change(y, proba, votes, labels=_codes(proba))


def _codes(proba: np.ndarray) -> np.ndarray:
    return np.arange(proba.shape[1])
