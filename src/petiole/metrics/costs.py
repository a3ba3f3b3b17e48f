"""Profit of a campaign, gain of any actions, and cost of misclassification.

Arrays are indexed ``[action, true class]`` (for costs: ``cost[predicted, true]``), with a leading axis for rows if
each row has its own costs or gains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.judged import Judged, check_judged
from petiole._table.labels import label_codes
from petiole.metrics.rows import Indices, check_flag, target_column


def misclassification_cost(
    y_true: Any,
    proba: Any,
    cost: Any,
    *,
    decisions: Any = None,
    actions: Any = None,
    average: bool = True,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Compute the cost of decisions, ``cost[decision, truth]``, as a mean per row or in total.

    Without ``decisions`` each row gets the cheapest action under its probabilities, argmin_a Σ_k p_k cost[a, k] (in a
    tie, the first), so the cost measures how good the probabilities are for this purpose.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    cost : array-like of shape (A, K) or (n, A, K)
        ``cost[a, k]``: the cost of action a if class ``labels[k]`` is true; or such an array for each row. Costs below
        0 are gains.
    decisions : array-like of shape (n,), default=None
        The action of each row; by default the cheapest.
    actions : array-like of shape (A,), default=None
        The names of the actions that ``decisions`` uses; by default the classes if there are as many actions as
        classes, else 0…A−1.
    average : bool, default=True
        The mean cost of a row; False: the sum of all.

    Returns
    -------
    float
        Less is better.

    Examples
    --------
    Overlooking a "yes" costs 5, a false alarm 1:

    >>> from petiole.metrics import misclassification_cost
    >>> cost = [[0, 5], [1, 0]]
    >>> y, proba = ["no", "yes", "no"], [[0.9, 0.1], [0.7, 0.3], [0.6, 0.4]]
    >>> misclassification_cost(y, proba, cost, average=False)
    1.0
    >>> misclassification_cost(y, proba, cost, decisions=["no", "no", "no"], average=False)
    5.0
    """
    check_flag("average", average)
    judged = check_judged(y_true, proba, labels=labels, sample_weight=sample_weight)
    costs = check_values("cost", cost, judged)
    if decisions is None:
        taken = _expected(costs, judged).argmin(axis=1)
    else:
        taken = _decided(decisions, actions, costs.shape[-2], judged)
    return _summed(_realised(costs, taken, judged), judged, average)


def profit(
    y_true: Any,
    proba: Any,
    gain: Any = None,
    *,
    expected_gain: Any = None,
    amounts: Any = None,
    cost: Any = 0.0,
    expected_amounts: Any = None,
    target: Any = None,
    decisions: Any = None,
    actions: Any = None,
    average: bool = False,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Compute the profit of decisions: of a campaign (``amounts``), or of any actions (``gain``).

    A campaign, as in Zadrozny & Elkan (2001): a row of class ``target`` brings its amount if it is solicited, other
    rows bring nothing, and each solicitation costs ``cost``. A row is solicited if p_target · expected amount > cost
    (in the paper the expected amount comes from a regression). The profit is the sum of (actual − cost) over the
    solicited rows.

    The general form: action a in class k brings ``gain[a, k]``, and each row gets the action with the largest expected
    gain under its probabilities (in a tie, the first).

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`.
    gain : array-like of shape (A, K) or (n, A, K), default=None
        The gain of each action in each class; or such an array for each row.
    expected_gain : array-like of shape (A, K) or (n, A, K), default=None
        The gains as known when the decisions were made; by default ``gain`` itself.
    amounts : float or array-like of shape (n,), default=None
        For a campaign: the amount that each row of the class brings if solicited. Those of other rows do not count.
    cost : float or array-like of shape (n,), default=0
        For a campaign: the cost of a solicitation.
    expected_amounts : float or array-like of shape (n,), default=None
        For a campaign: the amounts as expected when the decisions were made. May be left out if there is one amount
        for all, or if ``decisions`` are given.
    target : label, default=None
        For a campaign: the class that responds; by default the second of two.
    decisions : array-like of shape (n,), default=None
        For a campaign: whether each row is solicited. Else: the action of each row, as in
        :func:`misclassification_cost`. By default the best.
    actions : array-like of shape (A,), default=None
        The names of the actions that ``decisions`` uses, as in :func:`misclassification_cost`.
    average : bool, default=False
        The mean profit of a row; False: the sum of all.

    Returns
    -------
    float
        More is better.

    Examples
    --------
    A letter costs 0.68, and two of four people answer it:

    >>> from petiole.metrics import profit
    >>> y, proba = [0, 1, 0, 1], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.97, 0.03]]
    >>> round(profit(y, proba, amounts=[0, 10, 0, 20], cost=0.68, expected_amounts=[5, 8, 9, 15]), 2)
    8.64

    The same with one amount, as a campaign and as gains of the actions "none" and "letter":

    >>> round(profit(y, proba, amounts=10, cost=0.68), 2)
    7.96
    >>> round(profit(y, proba, [[0, 0], [-0.68, 10 - 0.68]]), 2)
    7.96
    """
    check_flag("average", average)
    judged = check_judged(y_true, proba, labels=labels, sample_weight=sample_weight)
    if (gain is None) == (amounts is None):
        raise ValueError(
            "gain and amounts: must pass one of the two, gain for actions in general, amounts for a campaign"
        )
    if amounts is None:
        gains = check_values("gain", gain, judged)
        brought = _gains(gains, expected_gain, decisions, actions, judged)
    else:
        column = target_column(judged.labels, target)
        brought = _campaign(amounts, cost, expected_amounts, decisions, column, judged)
    return _summed(brought, judged, average)


def _gains(gains: Floats, expected_gain: Any, decisions: Any, actions: Any, judged: Judged) -> Floats:
    """The gain of each row by the action that it gets."""
    if decisions is not None:
        taken = _decided(decisions, actions, gains.shape[-2], judged)
        return _realised(gains, taken, judged)
    known = gains if expected_gain is None else check_values("expected_gain", expected_gain, judged)
    if known.shape[-2] != gains.shape[-2]:
        raise ValueError(
            f"expected_gain has {known.shape[-2]} actions, but gain has {gains.shape[-2]}: both must have the same"
        )
    return _realised(gains, _expected(known, judged).argmax(axis=1), judged)


def _campaign(amounts: Any, cost: Any, expected_amounts: Any, decisions: Any, column: int, judged: Judged) -> Floats:
    """The gain of each row in a campaign: 0 if it is not solicited."""
    actual, costs = per_row("amounts", amounts, judged), per_row("cost", cost, judged)
    if decisions is not None:
        solicited = _solicited(decisions, judged)
    else:
        solicited = judged.proba[:, column] * _known_amounts(amounts, expected_amounts, judged) > costs
    brought: Floats = np.where(solicited, np.where(judged.codes == column, actual, 0.0) - costs, 0.0)
    return brought


def _known_amounts(amounts: Any, expected_amounts: Any, judged: Judged) -> Floats:
    if expected_amounts is not None:
        return per_row("expected_amounts", expected_amounts, judged)
    if np.ndim(amounts):
        raise ValueError(
            "expected_amounts=None: must say what was known of the amounts of single rows when the decisions were "
            "taken; pass amounts itself if all was known"
        )
    return per_row("amounts", amounts, judged)


def _solicited(decisions: Any, judged: Judged) -> Array:
    solicited = np.asarray(decisions)
    if solicited.shape != judged.codes.shape or not np.isin(solicited, [0, 1]).all():
        raise ValueError("decisions: must say True or False (or 1 or 0) for each row of a campaign")
    return solicited.astype(bool)


def check_values(name: str, values: Any, judged: Judged) -> Floats:
    """A finite number for each action and class, or for each row, action and class."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={values!r}: must be numbers, indexed [action, true class]") from None
    n_rows, n_classes = judged.proba.shape
    fits = array.ndim == 2 or (array.ndim == 3 and len(array) == n_rows)
    if not fits or array.shape[-1] != n_classes or not array.size:
        raise ValueError(
            f"{name} has shape {array.shape}: must be (actions, {n_classes}), indexed [action, true class], or "
            f"({n_rows}, actions, {n_classes}) with such an array for each row"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: must be finite; use a large number for what must not happen")
    return array


def per_row(name: str, values: Any, judged: Judged) -> Floats:
    """One finite number per row, from one for all or one for each."""
    n_rows = len(judged.codes)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={values!r}: must be a number, or one for each row") from None
    if array.shape not in ((), (n_rows,)) or not np.isfinite(array).all():
        raise ValueError(
            f"{name} has shape {array.shape}: must be a finite number, or one for each of the {n_rows} rows"
        )
    return np.broadcast_to(array, (n_rows,))


def _decided(decisions: Any, actions: Any, n_actions: int, judged: Judged) -> Indices:
    """The position of the action of each row."""
    if actions is not None:
        names = np.asarray(actions)
        if names.shape != (n_actions,) or len(set(names.tolist())) != n_actions:
            raise ValueError(f"actions={actions!r}: must be {n_actions} different names, one for each action")
    else:
        names = judged.labels if n_actions == judged.n_classes else np.arange(n_actions)
    taken = label_codes(decisions, names, "decisions", remedy="pass actions= with the name of each action")
    if len(taken) != len(judged.codes):
        raise ValueError(
            f"decisions has {len(taken)} entries, but proba has {len(judged.codes)} rows: give one per row"
        )
    return taken.astype(np.intp)


def _expected(values: Floats, judged: Judged) -> Floats:
    """The expected value of each action, for each row."""
    if values.ndim == 2:
        return judged.proba @ values.T
    expected: Floats = np.einsum("nk,nak->na", judged.proba, values)
    return expected


def _realised(values: Floats, taken: Indices, judged: Judged) -> Floats:
    """The value of the action that each row got, in the class that was true."""
    realised: Floats = (
        values[taken, judged.codes] if values.ndim == 2 else values[np.arange(len(taken)), taken, judged.codes]
    )
    return realised


def _summed(values: Floats, judged: Judged, average: bool) -> float:
    return judged.mean(values) if average else float(judged.weights @ values)
