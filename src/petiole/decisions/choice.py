"""From probabilities and costs to actions: expected costs, and the cheapest action."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.judged import check_probabilities
from petiole.decisions.costs import as_names, check_costs


def expected_cost(proba: Any, cost: Any) -> Floats:
    """Return the expected cost of each action: Σ_k P(k | x) · cost[action, k] (Margineantu & Dietterich 2002, eq. 1.1).

    Parameters
    ----------
    proba : array of shape (n_rows, n_classes)
        Class probabilities; each row sums to 1.
    cost : array of shape (n_actions, n_classes) or (n_rows, n_actions, n_classes)
        ``cost[predicted, true]``: the cost of an action when a class is true, for all rows or for each. Actions need
        not be classes. Gains are negative costs.

    Returns
    -------
    array of shape (n_rows, n_actions)

    Examples
    --------
    >>> from petiole.decisions import expected_cost
    >>> expected_cost([[0.9, 0.1]], [[0, 50], [1, 0]])  # overlooking the second class costs 50
    array([[5. , 0.9]])
    """
    table = check_probabilities(proba)
    return _expected_costs(table, check_costs(cost, n_classes=table.shape[1], n_rows=len(table)))


def decide(proba: Any, cost: Any, *, actions: Any = None) -> Array:
    """Return the cheapest action for every row; in a tie, the one with the lowest index.

    Costs count as equal if they differ by no more than the rounding of their sums.

    Parameters
    ----------
    proba : array of shape (n_rows, n_classes)
    cost : array of shape (n_actions, n_classes) or (n_rows, n_actions, n_classes)
        As in :func:`expected_cost`.
    actions : list of n_actions names, optional
        What to return instead of the index of an action, such as the class labels.

    Returns
    -------
    array of shape (n_rows,)

    Examples
    --------
    >>> from petiole.decisions import decide
    >>> proba = [[0.9, 0.1], [0.999, 0.001]]
    >>> decide(proba, [[0, 50], [1, 0]])
    array([1, 0])
    >>> decide(proba, [[0, 50], [1, 0]], actions=["send home", "treat"])
    array(['treat', 'send home'], dtype='<U9')
    """
    table = check_probabilities(proba)
    costs = check_costs(cost, n_classes=table.shape[1], n_rows=len(table))
    chosen = cheapest(table, costs)
    return chosen if actions is None else as_names(actions, "actions", costs.shape[-2])[chosen]


def cheapest(proba: Floats, costs: Floats) -> Array:
    """:func:`decide` for arguments that have been checked."""
    expected = _expected_costs(proba, costs)
    # A sum of K products has an error of at most K units in the last place, and two sums are compared.
    rounding = 2 * proba.shape[1] * np.finfo(np.float64).eps * np.abs(costs).max(axis=(-2, -1))
    least = expected.min(axis=1) + rounding
    return (expected <= least[:, np.newaxis]).argmax(axis=1)


def _expected_costs(proba: Floats, costs: Floats) -> Floats:
    if costs.ndim == 2:
        return proba @ costs.T
    return np.matmul(costs, proba[:, :, np.newaxis])[:, :, 0]
