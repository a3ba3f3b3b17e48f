"""Scores without labels: what they are expected to be if the probabilities are true."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from petiole._table.columns import Floats
from petiole._table.judged import check_probabilities
from petiole._table.labels import check_weights


def estimate_scores(proba: Any, *, sample_weight: Any = None) -> dict[str, float]:
    """Estimate scores of a model on rows without labels, from its probabilities alone.

    If the probabilities p are true, the expected accuracy of the most probable class is mean(max_k p_k), the expected
    log-loss is the mean entropy, and the expected Brier score is mean(1 − Σ_k p_k²). With two classes the entries of
    the confusion matrix are sums of probabilities, too: of the rows that are called the second class, Σ p are expected
    to be right and Σ (1 − p) wrong. That is confidence-based performance estimation (CBPE, as NannyML calls it). It
    sees a change in which rows come. It cannot see that the probabilities have become wrong.

    Parameters
    ----------
    proba : array of shape (n_rows, n_classes)
    sample_weight : array of shape (n_rows,), optional

    Returns
    -------
    dict
        ``log_loss`` (bits), ``accuracy`` and ``brier`` (summed over classes); with two classes also ``precision``,
        ``recall`` and ``roc_auc`` of the second. NaN where a denominator is 0.

    Examples
    --------
    >>> from petiole.monitoring import estimate_scores
    >>> estimate_scores([[0.9, 0.1], [0.4, 0.6]])["accuracy"]
    0.75
    """
    table = check_probabilities(proba)
    weights = check_weights(sample_weight, len(table))
    shares = np.full(len(table), 1 / len(table)) if weights is None else weights / weights.sum()
    found = {
        "log_loss": float(shares @ row_entropies(table)),
        "accuracy": float(shares @ table.max(axis=1)),
        "brier": float(shares @ (1 - (table**2).sum(axis=1))),
    }
    return found | _of_two(table[:, 1], shares) if table.shape[1] == 2 else found


def row_entropies(proba: Floats) -> Floats:
    """The expected log-loss of each row in bits."""
    entropies: Floats = -xlogy(proba, proba).sum(axis=1) / np.log(2)
    return np.maximum(entropies, 0.0)


def _of_two(p: Floats, shares: Floats) -> dict[str, float]:
    called = p > 0.5
    right, wanted = float(shares[called] @ p[called]), float(shares @ p)
    n_called = float(shares[called].sum())
    return {
        "precision": right / n_called if n_called > 0 else float("nan"),
        "recall": right / wanted if wanted > 0 else float("nan"),
        "roc_auc": _area(p, shares),
    }


def _area(p: Floats, shares: Floats) -> float:
    """The expected area under the ROC curve: cells of equal scores count half."""
    _, group = np.unique(p, return_inverse=True)
    hits, misses = np.bincount(group.ravel(), shares * p), np.bincount(group.ravel(), shares * (1 - p))
    total = hits.sum() * misses.sum()
    below = np.cumsum(misses) - misses / 2
    return float(hits @ below / total) if total > 0 else float("nan")
