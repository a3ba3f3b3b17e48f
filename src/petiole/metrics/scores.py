"""Scores of probability vectors, and of the decisions that follow from them."""

from __future__ import annotations

import math
from typing import Any

from petiole._table.columns import Floats
from petiole._table.judged import Judged, check_judged
from petiole._table.labels import label_codes
from petiole._validation import check_choice
from petiole.metrics.rows import judge


def zero_one_mse(y_true: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Mean squared error of the probability of the true class: mean of (1 − p_y)² (Nielsen 2004, eq. 10).

    With two classes it is half the Brier score. With more it is not a proper score: it uses only the probability of
    the true class and rewards overrating the probable classes; prefer :func:`brier_score`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Class labels.
    proba : array-like of shape (n, K)
        Class probabilities; each row sums to 1.
    labels : array-like of shape (K,), default=None
        The class of each column; by default the sorted labels of ``y_true``.
    sample_weight : array-like of shape (n,), default=None
        Weights; a row of weight 2 counts twice.

    Returns
    -------
    float
        Between 0 and 1; less is better.

    Examples
    --------
    >>> from petiole.metrics import zero_one_mse
    >>> round(zero_one_mse(["no", "yes"], [[0.9, 0.1], [0.4, 0.6]]), 6)
    0.085
    """
    judged = judge(y_true, proba, labels, sample_weight)
    return judged.mean((1 - judged.proba_of_truth) ** 2)


def brier_score(y_true: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None, scale: str = "sum") -> float:
    """Mean of the squared errors of all classes: mean of Σ_k (p_k − y_k)².

    The MSE of Zadrozny & Elkan (2001). A proper score: the true probabilities have the least expectation.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    scale : {"sum", "half", "mean"}, default="sum"
        "sum" is the sum over classes, from 0 to 2, as in the papers. "half" divides it by 2: with two classes this is
        the squared error of one of them, as in scikit-learn. "mean" divides it by the number of classes.

    Returns
    -------
    float
        Less is better.

    Examples
    --------
    >>> from petiole.metrics import brier_score
    >>> y, proba = ["no", "yes"], [[0.9, 0.1], [0.4, 0.6]]
    >>> round(brier_score(y, proba), 6), round(brier_score(y, proba, scale="half"), 6)
    (0.17, 0.085)
    """
    check_choice("scale", scale, ("sum", "half", "mean"))
    judged = judge(y_true, proba, labels, sample_weight)
    divisor = {"sum": 1, "half": 2, "mean": judged.n_classes}[scale]
    return judged.mean(squared_errors(judged)) / divisor


def rmse(y_true: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None, over: str = "classes") -> float:
    """Root mean squared error of the probabilities.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    over : {"classes", "truth"}, default="classes"
        "classes": the mean over rows and classes, √(Brier/K). This is what the code of Zhang, Petitjean & Buntine
        (2020, HGS) computes; the paper itself does not define it. It shrinks as the number of classes grows.
        "truth": the true class alone, the root of :func:`zero_one_mse`.

    Returns
    -------
    float
        Between 0 and 1; less is better.

    Examples
    --------
    >>> from petiole.metrics import rmse
    >>> y, proba = ["a", "b", "c"], [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]]
    >>> round(rmse(y, proba), 6), round(rmse(y, proba, over="truth"), 6)
    (0.221108, 0.310913)
    """
    check_choice("over", over, ("classes", "truth"))
    if over == "truth":
        return math.sqrt(zero_one_mse(y_true, proba, labels=labels, sample_weight=sample_weight))
    return math.sqrt(brier_score(y_true, proba, labels=labels, sample_weight=sample_weight, scale="mean"))


def error_rate(y_true: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Share of rows whose most probable class (in a tie, the first) is not the true one: 0-1 loss.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.

    Returns
    -------
    float
        Between 0 and 1; less is better.

    Examples
    --------
    >>> from petiole.metrics import error_rate
    >>> error_rate(["no", "yes"], [[0.9, 0.1], [0.6, 0.4]])
    0.5
    """
    judged = judge(y_true, proba, labels, sample_weight)
    return judged.mean(judged.proba.argmax(axis=1) != judged.codes)


def accuracy(y_true: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Share of rows whose most probable class (in a tie, the first) is the true one.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.

    Returns
    -------
    float
        Between 0 and 1; more is better.

    Examples
    --------
    >>> from petiole.metrics import accuracy
    >>> accuracy(["no", "yes", "no"], [[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]], sample_weight=[1, 1, 2])
    0.5
    """
    judged = judge(y_true, proba, labels, sample_weight)
    return judged.mean(judged.proba.argmax(axis=1) == judged.codes)


def accuracy_change(y_true: Any, proba: Any, votes: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Difference in accuracy between the most probable class and the votes.

    ΔAcc of Nielsen (2004, eq. 13 and 14), where the votes are the majority of an ensemble's trees.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    votes : array-like of shape (n,)
        The class chosen without the probabilities, one label per row.

    Returns
    -------
    float
        Between −1 and 1; above 0 if the probabilities give the better decisions.

    Examples
    --------
    >>> from petiole.metrics import accuracy_change
    >>> accuracy_change(["no", "yes"], [[0.9, 0.1], [0.4, 0.6]], votes=["no", "no"])
    0.5
    """
    judged = check_judged(y_true, proba, labels=labels, sample_weight=sample_weight)
    voted = label_codes(votes, judged.labels, "votes", remedy="add it to labels= or correct the votes")
    if len(voted) != len(judged.codes):
        raise ValueError(f"votes has {len(voted)} labels, but proba has {len(judged.codes)} rows: give one per row")
    decided = judged.proba.argmax(axis=1)
    return judged.mean((decided == judged.codes).astype(float) - (voted == judged.codes))


def squared_errors(judged: Judged) -> Floats:
    """The sum over the classes of (p_k − y_k)², for each row."""
    errors: Floats = ((judged.proba - judged.truth) ** 2).sum(axis=1)
    return errors
