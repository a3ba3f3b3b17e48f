"""Brier score and log-loss split into calibration, which could be corrected, and refinement, which could not."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole._validation import check_choice
from petiole.metrics.binning import bin_of, check_binning
from petiole.metrics.logarithmic import check_base, log_losses, raised
from petiole.metrics.rows import (
    TIE_DECIMALS,
    Indices,
    class_shares,
    group_sums,
    judge,
    one_against_rest,
    target_column,
    tie_groups,
)
from petiole.metrics.scores import squared_errors

GROUPINGS = ("bins", "distinct", "isotonic")


class ScoreParts(NamedTuple):
    """A mean score and its parts: ``total = calibration + refinement + within_groups``.

    Attributes
    ----------
    total : float
        The score itself.
    calibration : float
        The distance of the probabilities of a group from the frequencies in it (reliability, miscalibration).
    refinement : float
        The score of the group frequencies as probabilities: the uncertainty that is left within the groups.
    within_groups : float
        The part that is due to differences of probabilities within groups; may be below 0. It is 0 for equal ones.
    resolution : float
        The gain from knowing the groups (discrimination): ``uncertainty - refinement``.
    uncertainty : float
        The score of the class shares as probabilities for all rows.
    """

    total: float
    calibration: float
    refinement: float
    within_groups: float
    resolution: float
    uncertainty: float


def brier_score_parts(
    y_true: Any,
    proba: Any,
    *,
    groups: str = "bins",
    n_bins: int = 10,
    strategy: str = "uniform",
    target: Any = None,
    labels: Any = None,
    sample_weight: Any = None,
) -> ScoreParts:
    """Split the Brier score into calibration and refinement, and refinement into uncertainty less resolution.

    With p̄ and ȳ the mean probabilities and the class frequencies of a group, and means taken over groups by weight:
    calibration = mean ‖p̄ − ȳ‖², refinement = mean (1 − ‖ȳ‖²), uncertainty = 1 − ‖class shares‖² (Murphy 1973). Groups
    of unequal probabilities add their variance minus twice their covariance with the truth (Stephenson, Coelho &
    Jolliffe 2008), which is ``within_groups``. The sum is exact.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    groups : {"bins", "distinct", "isotonic"}, default="bins"
        "bins": by the probability of the second of two classes; if there are more, by the most probable class and the
        bin of its probability. "distinct": rows of the same probabilities, such as those of one leaf.
        "isotonic": the probabilities are compared with the best increasing function of themselves, found by isotonic
        regression, for each class (CORP: Dimitriadis, Gneiting & Jordan 2021). Needs no bins, and the parts are never
        below 0.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal weight; see :func:`reliability_curve`.
    target : label, default=None
        A class to compare with the rest: the score is then the Brier score of these two.

    Returns
    -------
    ScoreParts
        ``total``, ``calibration``, ``refinement``, ``within_groups``, ``resolution`` and ``uncertainty``.

    Examples
    --------
    >>> from petiole.metrics import brier_score_parts
    >>> y, proba = [0, 0, 1, 1], [[0.75, 0.25], [0.75, 0.25], [0.75, 0.25], [0.5, 0.5]]
    >>> parts = brier_score_parts(y, proba, groups="distinct")
    >>> round(parts.total, 6), round(parts.calibration, 6), round(parts.refinement, 6)
    (0.46875, 0.135417, 0.333333)
    """
    _check_groups(groups, n_bins, strategy)
    judged = _for_target(judge(y_true, proba, labels, sample_weight), target)
    total = judged.mean(squared_errors(judged))
    uncertainty = float(_gini(class_shares(judged)))
    if groups == "isotonic":
        refinement = _isotonic_squared_error(judged)
        return ScoreParts(total, total - refinement, refinement, 0.0, uncertainty - refinement, uncertainty)
    found = _grouped(judged, _groups_of(judged, groups, n_bins, strategy))
    calibration = float(found.shares @ ((found.proba - found.truth) ** 2).sum(axis=1))
    refinement = float(found.shares @ _gini(found.truth))
    within = _spread_within(judged, found)
    return ScoreParts(total, calibration, refinement, within, uncertainty - refinement, uncertainty)


def log_loss_parts(
    y_true: Any,
    proba: Any,
    *,
    groups: str = "bins",
    n_bins: int = 10,
    strategy: str = "uniform",
    target: Any = None,
    base: float = 2,
    floor: float | str | None = None,
    priors: Any = None,
    labels: Any = None,
    sample_weight: Any = None,
) -> ScoreParts:
    """Split the log-loss into calibration and refinement, and refinement into uncertainty less resolution.

    With p̄ and ȳ the mean probabilities and the class frequencies of a group, and means taken over groups by weight:
    calibration = mean KL(ȳ‖p̄), refinement = mean entropy of ȳ, uncertainty = entropy of the class shares; the rest,
    which is 0 for groups of equal probabilities, is ``within_groups``. The sum is exact.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    groups : {"bins", "distinct", "isotonic"}, default="bins"
        As in :func:`brier_score_parts`. "isotonic" needs two classes, or a ``target``: with more classes the best
        increasing functions of the single probabilities do not sum to 1.
    n_bins, strategy, target
        As in :func:`brier_score_parts`.
    base, floor, priors
        As in :func:`log_loss`. With ``target`` the floor and the priors concern the original classes.

    Returns
    -------
    ScoreParts
        ``total``, ``calibration``, ``refinement``, ``within_groups``, ``resolution`` and ``uncertainty``. If the total
        is infinite, so is calibration (or, where only some rows of a group have probability 0, ``within_groups``).

    Examples
    --------
    >>> from petiole.metrics import log_loss_parts
    >>> y, proba = [0, 0, 1, 1], [[0.75, 0.25], [0.75, 0.25], [0.75, 0.25], [0.5, 0.5]]
    >>> parts = log_loss_parts(y, proba, groups="isotonic")
    >>> round(parts.total, 6), round(parts.calibration, 6), round(parts.refinement, 6)
    (0.957519, 0.268797, 0.688722)
    """
    _check_groups(groups, n_bins, strategy)
    check_base(base)
    judged = _for_target(raised(judge(y_true, proba, labels, sample_weight), floor, priors), target)
    losses = log_losses(judged, base)
    total = judged.mean(losses)
    uncertainty = float(_entropy(class_shares(judged), base))
    if groups == "isotonic":
        refinement = _isotonic_log_loss(judged, base)
        return ScoreParts(total, total - refinement, refinement, 0.0, uncertainty - refinement, uncertainty)
    found = _grouped(judged, _groups_of(judged, groups, n_bins, strategy))
    crossed, entropy = _cross_entropy(found, base), _entropy(found.truth, base)
    calibration, refinement = float(found.shares @ (crossed - entropy)), float(found.shares @ entropy)
    within = _loss_within(judged, found, losses, crossed)
    return ScoreParts(total, calibration, refinement, within, uncertainty - refinement, uncertainty)


def isotonic_fit(judged: Judged, column: int) -> Floats:
    """The increasing function of a class's probability that is nearest to the truth, for each row."""
    from sklearn.isotonic import isotonic_regression

    groups = tie_groups(judged.proba[:, column])
    weights = group_sums(groups, judged.weights)
    frequencies = group_sums(groups, judged.weights * (judged.codes == column)) / weights
    fitted = isotonic_regression(frequencies, sample_weight=weights, y_min=0.0, y_max=1.0)
    rows: Floats = fitted[groups]
    return rows


class _Grouped(NamedTuple):
    """Groups of rows: the group of each row, weights, shares, mean probabilities and class frequencies."""

    groups: Indices
    weights: Floats
    shares: Floats
    proba: Floats
    truth: Floats


def _check_groups(groups: Any, n_bins: Any, strategy: Any) -> None:
    check_choice("groups", groups, GROUPINGS)
    check_binning(n_bins, strategy)


def _for_target(judged: Judged, target: Any) -> Judged:
    return judged if target is None else one_against_rest(judged, target_column(judged.labels, target))


def _groups_of(judged: Judged, groups: str, n_bins: int, strategy: str) -> Indices:
    """The group of each row; all numbers from 0 up are used."""
    if groups == "distinct":
        keys = judged.proba.round(TIE_DECIMALS)
        return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp, copy=False)
    if judged.n_classes <= 2:
        cells = bin_of(judged.proba[:, -1], judged.weights, n_bins, strategy)
    else:
        bins = bin_of(judged.proba.max(axis=1), judged.weights, n_bins, strategy)
        cells = judged.proba.argmax(axis=1) * n_bins + bins
    return np.unique(cells, return_inverse=True)[1].astype(np.intp, copy=False)


def _grouped(judged: Judged, groups: Indices) -> _Grouped:
    weights = group_sums(groups, judged.weights)

    def means(table: Floats) -> Floats:
        sums = [group_sums(groups, judged.weights * column) for column in table.T]
        return np.column_stack(sums) / weights[:, np.newaxis]

    return _Grouped(groups, weights, weights / weights.sum(), means(judged.proba), means(judged.truth))


def _spread_within(judged: Judged, found: _Grouped) -> float:
    """Variance of the probabilities within groups, less twice their covariance with the truth."""
    proba = judged.proba - found.proba[found.groups]
    truth = judged.truth - found.truth[found.groups]
    return judged.mean((proba * (proba - 2 * truth)).sum(axis=1))


def _loss_within(judged: Judged, found: _Grouped, losses: Floats, crossed: Floats) -> float:
    """Mean log-loss of the rows, less that of the mean probabilities of their groups."""
    finite = np.isfinite(crossed)
    means = group_sums(found.groups, judged.weights * losses) / found.weights
    # a group whose probabilities are all 0 has an infinite loss for that reason, and no loss within the group
    return float(found.shares[finite] @ (means[finite] - crossed[finite]))


def _gini(shares: Floats) -> Floats:
    """Σ_k q_k (1 − q_k), over the last axis."""
    impurity: Floats = (shares * (1 - shares)).sum(axis=-1)
    return impurity


def _entropy(shares: Floats, base: float) -> Floats:
    """−Σ_k q_k log q_k, over the last axis."""
    entropy: Floats = 0.0 - xlogy(shares, shares).sum(axis=-1) / math.log(base)
    return entropy


def _cross_entropy(found: _Grouped, base: float) -> Floats:
    """The log-loss of the mean probabilities of each group."""
    crossed: Floats = 0.0 - xlogy(found.truth, found.proba).sum(axis=1) / math.log(base)
    return crossed


def _isotonic_squared_error(judged: Judged) -> float:
    """The Brier score of the best increasing function of each class's probability."""
    fitted = np.column_stack([isotonic_fit(judged, column) for column in range(judged.n_classes)])
    return judged.mean(((fitted - judged.truth) ** 2).sum(axis=1))


def _isotonic_log_loss(judged: Judged, base: float) -> float:
    """The log-loss of the best increasing function of the probability of the second of two classes."""
    if judged.n_classes > 2:
        raise ValueError(
            f"groups='isotonic': must have two classes, but there are {judged.n_classes}; pass target= for one of them "
            "against the rest, or take 'bins' or 'distinct'"
        )
    if judged.n_classes == 1:
        return 0.0
    fitted = isotonic_fit(judged, 1)
    return judged.mean(
        log_losses(Judged(judged.codes, np.column_stack([1 - fitted, fitted]), judged.labels, judged.weights), base)
    )
