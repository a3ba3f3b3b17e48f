"""The option not to decide: a further action, with its own cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.decisions.choice import decide
from petiole.decisions.costs import as_cost_array, as_names, check_costs


def with_abstention(cost: Any, abstain_cost: Any) -> Floats:
    """Add abstaining to the costs as the last action, for example asking an expert.

    Parameters
    ----------
    cost : array of shape (n_actions, n_classes) or (n_rows, n_actions, n_classes)
    abstain_cost : float, or array
        The cost of abstaining: a number, one per true class (shape (n_classes,)), or one per row (shape (n_rows, 1)
        or (n_rows, n_classes)).

    Returns
    -------
    array of shape (n_actions + 1, n_classes) or (n_rows, n_actions + 1, n_classes)

    Examples
    --------
    >>> from petiole.decisions import decide, with_abstention
    >>> costs = with_abstention([[0, 10], [10, 0]], 2)
    >>> costs
    array([[ 0., 10.],
           [10.,  0.],
           [ 2.,  2.]])
    >>> decide([[0.9, 0.1], [0.4, 0.6]], costs, actions=["no", "yes", "ask"])
    array(['no', 'ask'], dtype='<U3')
    """
    costs = as_cost_array(cost)
    row = _abstention_row(abstain_cost, costs)
    leading = np.broadcast_shapes(costs.shape[:-2], row.shape[:-1])
    n_actions, n_classes = costs.shape[-2:]
    extended = np.empty((*leading, n_actions + 1, n_classes))
    extended[..., :n_actions, :] = costs
    extended[..., n_actions, :] = row
    return check_costs(extended, n_classes=n_classes, n_rows=len(extended))


def decide_or_abstain(proba: Any, cost: Any, abstain_cost: Any, *, actions: Any = None, abstain: Any = None) -> Array:
    """Return the cheapest action for every row, or a mark where abstaining is cheaper than all actions.

    Parameters
    ----------
    proba, cost
        As in :func:`decide`.
    abstain_cost
        As in :func:`with_abstention`.
    actions : list of n_actions names, optional
        What to return instead of indices.
    abstain : optional
        The mark; by default −1 beside indices and "abstain" beside names.

    Examples
    --------
    >>> from petiole.decisions import decide_or_abstain
    >>> proba = [[0.95, 0.05], [0.6, 0.4]]
    >>> decide_or_abstain(proba, [[0, 1], [1, 0]], 0.1)
    array([ 0, -1])
    >>> decide_or_abstain(proba, [[0, 1], [1, 0]], 0.1, actions=["no", "yes"])
    array(['no', 'abstain'], dtype='<U7')
    """
    n_actions = as_cost_array(cost).shape[-2]
    if abstain is None:
        abstain = -1 if actions is None else "abstain"
    names = as_names(range(n_actions) if actions is None else actions, "actions", n_actions).tolist()
    return decide(proba, with_abstention(cost, abstain_cost), actions=[*names, abstain])


def _abstention_row(abstain_cost: Any, costs: Floats) -> Floats:
    n_classes = costs.shape[-1]
    row = np.asarray(abstain_cost)
    good = row.dtype.kind in "fiub" and row.ndim <= 2 and (row.ndim == 0 or row.shape[-1] in (1, n_classes))
    if good and row.ndim == 2 and costs.ndim == 3:
        good = len(row) == len(costs)
    if not good:
        raise ValueError(
            f"abstain_cost has shape {row.shape} and dtype {row.dtype}: must be a number, one per class ({n_classes}), "
            f"or of shape (n_rows, 1) or (n_rows, {n_classes}) for one per row"
        )
    if not np.isfinite(row.astype(np.float64)).all():
        raise ValueError(f"abstain_cost={abstain_cost!r}: must be finite; leave abstention out if it is not allowed")
    return np.broadcast_to(row.astype(np.float64), (*row.shape[:-1], n_classes))
