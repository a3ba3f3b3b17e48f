"""Log-loss in any base, with the papers' rules for probabilities of 0."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole.metrics.rows import check_priors, judge


def log_loss(
    y_true: Any,
    proba: Any,
    *,
    labels: Any = None,
    sample_weight: Any = None,
    base: float = 2,
    floor: float | str | None = None,
    priors: Any = None,
) -> float:
    """Mean of −log p_y, in bits: the cost of encoding the labels by a code that is optimal for ``proba``.

    The average log-loss of Zadrozny & Elkan (2001) and Nielsen (2004, eq. 11). A proper score: the true probabilities
    have the least expectation. A row whose class has probability 0 makes it infinite, unless ``floor`` is given.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    base : float, default=2
        Base of the logarithm: 2 for bits, ``math.e`` for nats (as in scikit-learn).
    floor : None, float, "exact" or "clip", default=None
        The treatment of probabilities of 0. None: they are not changed. A number: lower probabilities are raised to
        it. "exact" (Nielsen 2004, footnote 9): 0 becomes ε and 1 becomes 1 − ε, other values stay; ε = min(0.005, ½
        min_k prior_k). "clip": values below ε become ε and those above 1 − ε become 1 − ε. Afterwards rows are divided
        by their sums (with two classes, "exact" and "clip" keep the sums at 1, as in the paper).
    priors : array-like of shape (K,), default=None
        Shares (or counts) of the classes in training, from which ε is computed; by default their shares in ``y_true``.
        Classes with a share of 0 do not count.

    Returns
    -------
    float
        At least 0, possibly infinite; less is better.

    Examples
    --------
    >>> from petiole.metrics import log_loss
    >>> log_loss(["no", "yes"], [[0.5, 0.5], [0.75, 0.25]])
    1.5
    >>> log_loss(["no", "yes"], [[0.5, 0.5], [1.0, 0.0]])
    inf
    >>> round(log_loss(["no", "yes"], [[0.5, 0.5], [1.0, 0.0]], floor="exact"), 6)
    4.321928
    """
    check_base(base)
    judged = judge(y_true, proba, labels, sample_weight)
    return judged.mean(log_losses(raised(judged, floor, priors), base))


def check_base(base: Any) -> None:
    """``base`` is a base of logarithms."""
    if not isinstance(base, Real) or isinstance(base, bool) or not 1 < float(base) < math.inf:
        raise ValueError(f"base={base!r}: must be a number greater than 1, such as 2 for bits or math.e for nats")


def log_losses(judged: Judged, base: float) -> Floats:
    """−log p_y of each row; infinity where p_y is 0."""
    with np.errstate(divide="ignore"):
        bits = np.log2(judged.proba_of_truth)
    losses: Floats = 0.0 - bits / math.log2(base)  # 0 − 0 is 0, while −0 would be printed with its sign
    return losses


def raised(judged: Judged, floor: float | str | None, priors: Any) -> Judged:
    """The same rows after a rule for probabilities of 0."""
    shares = check_priors(priors, judged)
    if floor is None:
        return judged
    table = _raise(judged.proba, floor, shares)
    return Judged(judged.codes, table / table.sum(axis=1, keepdims=True), judged.labels, judged.weights)


def _raise(proba: Floats, floor: Any, shares: Floats) -> Floats:
    epsilon = nielsen_epsilon(shares)
    if isinstance(floor, str) and floor == "clip":
        return np.clip(proba, epsilon, 1 - epsilon)
    if isinstance(floor, str) and floor == "exact":
        return np.where(proba <= 0, epsilon, np.where(proba >= 1, 1 - epsilon, proba))
    if isinstance(floor, Real) and not isinstance(floor, bool) and 0 <= float(floor) < 1:
        return np.maximum(proba, float(floor))
    raise ValueError(f"floor={floor!r}: must be None, 'exact', 'clip' or a number at least 0 and below 1")


def nielsen_epsilon(shares: Floats) -> float:
    """min(0.005, half the smallest prior) of Nielsen (2004, footnote 9)."""
    return min(0.005, 0.5 * float(shares[shares > 0].min()))
