"""Checks of cost arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array


def check_costs(cost: Any, *, n_classes: int, n_rows: int | None = None, parameter: str = "cost") -> Floats:
    """Return ``cost[predicted, true]`` as floats: one matrix (A, K), or one per row (n, A, K).

    ``n_rows=None`` allows one matrix only.

    >>> check_costs([[0, 5], [1, float("nan")]], n_classes=2)
    Traceback (most recent call last):
    ...
    ValueError: cost[1, 1]=nan: must be a finite number; give the cost of action 1 when the true class is number 1
    """
    costs = as_cost_array(cost, parameter)
    _check_shape(costs, n_classes, n_rows, parameter)
    _check_entries(costs, parameter)
    return costs


def as_cost_array(cost: Any, parameter: str = "cost") -> Floats:
    """Two or three dimensions of real numbers, of any size."""
    try:
        array = np.asarray(cost)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{parameter}={cost!r}: all rows must have the same length, one number per class") from None
    if array.dtype.kind not in "fiubO" or array.ndim not in (2, 3) or not array.size:
        raise ValueError(
            f"{parameter} has shape {array.shape} and dtype {array.dtype}: must be numbers of shape "
            "(n_actions, n_classes), or (n_rows, n_actions, n_classes) for costs per row; "
            "the entry [predicted, true] is the cost of an action when a class is true"
        )
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{parameter}={cost!r}: must be real numbers") from None


def as_names(names: Any, parameter: str, n_names: int | None = None) -> Array:
    """Distinct names of actions or classes, none of them turned into another type.

    >>> as_names([0, 1, "ask"], "actions")
    array([0, 1, 'ask'], dtype=object)
    """
    if isinstance(names, (str, bytes)) or not hasattr(names, "__len__") or np.ndim(names) > 1:
        raise ValueError(f"{parameter}={names!r}: must be a flat list of names")
    if len(names) == 0:
        raise ValueError(f"{parameter}={names!r}: must have at least one name")
    if n_names is not None and len(names) != n_names:
        raise ValueError(
            f"{parameter}={names!r}: has {len(names)} names, but cost has {n_names} rows: give one per row"
        )
    array = _name_array(names)
    if len(set(array.tolist())) != len(array):
        raise ValueError(f"{parameter}={names!r}: each name must occur once")
    return array


def _name_array(names: Sequence[Any]) -> Array:
    if isinstance(names, np.ndarray) or len({type(name) for name in names}) == 1:
        return np.asarray(names)
    array = np.empty(len(names), dtype=object)  # NumPy would turn 0 into "0" beside a string
    array[:] = list(names)
    return array


def _check_shape(costs: Floats, n_classes: int, n_rows: int | None, parameter: str) -> None:
    if costs.shape[-1] != n_classes:
        turned = "; transpose it" if costs.shape[-2] == n_classes else ""
        raise ValueError(
            f"{parameter} has shape {costs.shape}, but there are {n_classes} classes: the last axis must have one "
            f"entry per true class, as in cost[predicted, true]{turned}"
        )
    if costs.ndim == 3 and n_rows is None:
        raise ValueError(
            f"{parameter} has shape {costs.shape}: must be one matrix (n_actions, {n_classes}) here; "
            "costs per row go with the rows, to predict(X, cost=...) or decide(proba, cost)"
        )
    if costs.ndim == 3 and len(costs) != n_rows:
        raise ValueError(
            f"{parameter} has shape {costs.shape}, but there are {n_rows} rows: "
            "give one matrix per row, or one (n_actions, n_classes) for all"
        )


def _check_entries(costs: Floats, parameter: str) -> None:
    bad = ~np.isfinite(costs)
    if not bad.any():
        return
    place = np.argwhere(bad)[0]
    action, true = place[-2:]
    remedy = f"give the cost of action {action} when the true class is number {true}"
    if np.isinf(costs[tuple(place)]):
        remedy = "for a mistake that must never happen use a large number, such as 1000 times the others"
    where = ", ".join(map(str, place))
    raise ValueError(f"{parameter}[{where}]={costs[tuple(place)]}: must be a finite number; {remedy}")


def idle_action(cost: Floats, class_weights: Any = None) -> int | None:
    """The action that stands for doing nothing: the only one that costs nothing whatever is true, or, where actions are
    classes (``class_weights`` are given), the commonest class. None if there is no such action.

    >>> idle_action(np.array([[-5.0, 20.0], [0.0, 0.0]])), idle_action(np.array([[0.0, 50.0], [1.0, 0.0]]), [7, 3])
    (1, 0)
    """
    free = np.flatnonzero((cost == 0).all(axis=1))
    if len(free) == 1:
        return int(free[0])
    return None if class_weights is None else int(np.argmax(class_weights))
