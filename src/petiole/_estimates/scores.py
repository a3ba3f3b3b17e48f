"""Scores of out-of-bag predictions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from petiole._table.rows import EncodedRows
from petiole.smoothing.base import LEAST_PROBABILITY

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OutOfBagScores:
    """Weighted means over rows; NaN if there is none."""

    log_loss: float  # in bits
    brier: float  # summed over classes
    accuracy: float


@dataclass(frozen=True)
class Quality:
    """How good the probabilities of some rows are; see :func:`reliability_of`."""

    scores: OutOfBagScores
    reliability: Floats


def score(proba: Floats, labels: npt.NDArray[np.int32], weights: Floats) -> OutOfBagScores:
    """The scores of the probabilities of some rows."""
    total = weights.sum()
    if not total > 0:
        return OutOfBagScores(*(3 * [float("nan")]))
    own = proba[np.arange(len(labels)), labels]
    # Rounding may leave a probability above 1 and a square below 0 by a bit, and a loss is at least 0.
    squares = np.maximum((proba**2).sum(axis=1) - 2 * own + 1, 0.0)
    bits = -np.log2(np.clip(own, LEAST_PROBABILITY, 1.0)) + 0.0  # not -0.0
    return OutOfBagScores(
        log_loss=float(weights @ bits / total),
        brier=float(weights @ squares / total),
        accuracy=float(weights @ (proba.argmax(axis=1) == labels) / total),
    )


def reliability_of(proba: Floats, labels: npt.NDArray[np.int32], weights: Floats, n_bins: int = 10) -> Floats:
    """The reliability of the most probable class.

    A row per bin of its probability that has rows: the mean probability, the share that is right, the rows' weight.

    >>> proba = np.array([[0.9, 0.1], [0.1, 0.9], [0.4, 0.6]])
    >>> reliability_of(proba, np.array([0, 0, 1], dtype=np.int32), np.ones(3)).round(2)
    array([[0.6, 1. , 1. ],
           [0.9, 0.5, 2. ]])
    """
    claimed = proba.max(axis=1, initial=0.0)
    bins = np.minimum((claimed * n_bins).astype(np.int64), n_bins - 1)
    weight, says, right = (
        np.bincount(bins, values, minlength=n_bins)
        for values in (weights, weights * claimed, weights * (proba.argmax(axis=1) == labels))
    )
    used = weight > 0
    return np.column_stack([says[used] / weight[used], right[used] / weight[used], weight[used]])


def quality_of(proba: Floats, rows: EncodedRows) -> Quality:
    """The scores and the reliability of predictions, skipping rows without one (NaN)."""
    known = ~np.isnan(proba[:, 0])
    judged = proba[known], rows.labels[known], rows.weights_or_ones()[known]
    return Quality(score(*judged), reliability_of(*judged))


def score_rows(proba: Floats, rows: EncodedRows) -> OutOfBagScores:
    """The scores of predictions, skipping rows without one (NaN)."""
    known = ~np.isnan(proba[:, 0])
    return score(proba[known], rows.labels[known], rows.weights_or_ones()[known])


def mean_log_loss(proba: Floats, rows: EncodedRows) -> float:
    """Log-loss in bits of the rows that have probabilities; NaN if none has."""
    return score_rows(proba, rows).log_loss


@dataclass(frozen=True)
class OutOfBag:
    """Out-of-bag predictions for all training rows, the predicted classes, and their scores."""

    proba: Floats
    decision: npt.NDArray[np.int64]
    quality: Quality


def judge_out_of_bag(proba: Floats, rows: EncodedRows, stacklevel: int = 4) -> OutOfBag:
    """Predict classes and score; rows without a prediction get the most frequent class, with a warning."""
    known = ~np.isnan(proba[:, 0])
    if not known.all():
        warnings.warn(
            f"{np.count_nonzero(~known)} of {len(known)} rows are in the samples of all trees and have no out-of-bag "
            "probabilities: more trees (n_estimators) help",
            UserWarning,
            stacklevel=stacklevel,
        )
    decision = np.where(known, np.nan_to_num(proba).argmax(axis=1), rows.class_weights().argmax())
    return OutOfBag(proba, decision, quality_of(proba, rows))
