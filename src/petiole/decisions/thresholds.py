"""Thresholds for two classes and two actions: the probability at which the cheaper action changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._validation import check_choice
from petiole.decisions.costs import as_cost_array, check_costs


def threshold(cost: Any, *, dominated: str = "raise") -> Any:
    """Return the probability of the second class above which the second action is the cheaper one.

    It is a / (a + b), where a = cost[1, 0] − cost[0, 0] is the cost of a false alarm and b = cost[0, 1] − cost[1, 1]
    that of a miss.

    Parameters
    ----------
    cost : array of shape (2, 2) or (n_rows, 2, 2)
        ``cost[predicted, true]``.
    dominated : {"raise", "infinite"}, default="raise"
        What to do if one action never costs more than the other, so that there is nothing to decide. "infinite"
        returns a number for which ``p > threshold`` agrees with :func:`decide`: −inf where the second action is always
        cheaper, inf where it never is (0 and 1 where the actions cost the same at the end of the scale).

    Returns
    -------
    float, or array of shape (n_rows,)

    Examples
    --------
    >>> from petiole.decisions import threshold
    >>> threshold([[0, 4], [1, 0]])
    0.2
    >>> threshold([[0, 0], [1, 1]])
    Traceback (most recent call last):
    ...
    ValueError: cost: the second action (row 1) never costs less than the first: correct the costs, drop that action, \
or pass dominated='infinite'
    """
    check_choice("dominated", dominated, ("raise", "infinite"))
    costs = as_cost_array(cost)
    if costs.shape[-2:] != (2, 2):
        raise ValueError(
            f"cost has shape {costs.shape}: a threshold is for two actions and two classes, (2, 2) or (n_rows, 2, 2); "
            "use decide for more"
        )
    check_costs(costs, n_classes=2, n_rows=len(costs))
    false_alarm = costs[..., 1, 0] - costs[..., 0, 0]
    miss = costs[..., 0, 1] - costs[..., 1, 1]
    _check_orientation(false_alarm, miss)
    if dominated == "raise":
        _check_not_dominated(false_alarm, miss)
    found = _switch(false_alarm, miss)
    return found if costs.ndim == 3 else float(found)


def _check_orientation(false_alarm: Floats, miss: Floats) -> None:
    upside_down = (false_alarm < 0) & (miss < 0)
    if upside_down.any():
        raise ValueError(
            f"{_parameter_name(upside_down)}: the second action (row 1) is the cheaper one if the first class is true: "
            "put the action for the second class into the second row, as in cost[predicted, true]"
        )


def _check_not_dominated(false_alarm: Floats, miss: Floats) -> None:
    never = (miss <= 0) & (false_alarm >= 0)
    if never.any():
        raise ValueError(
            f"{_parameter_name(never)}: the second action (row 1) never costs less than the first: "
            "correct the costs, drop that action, or pass dominated='infinite'"
        )
    always = (false_alarm <= 0) & (miss >= 0)
    if always.any():
        raise ValueError(
            f"{_parameter_name(always)}: the second action (row 1) never costs more than the first: "
            "correct the costs, drop the first action, or pass dominated='infinite'"
        )


def _parameter_name(bad: Any) -> str:
    return "cost" if np.ndim(bad) == 0 else f"cost[{int(np.argmax(bad))}]"


def _switch(false_alarm: Floats, miss: Floats) -> Floats:
    total = false_alarm + miss
    inside = (false_alarm >= 0) & (miss >= 0) & (total > 0)
    always = (false_alarm < 0) & (miss >= 0)
    return np.where(inside, false_alarm / np.where(inside, total, 1.0), np.where(always, -np.inf, np.inf))
