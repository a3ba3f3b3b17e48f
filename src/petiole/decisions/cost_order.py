"""The order of rows and columns in a cost array, and costs by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.decisions.costs import as_names, check_costs


@dataclass(frozen=True)
class CostOrder:
    """How costs are written (``rows``, ``columns``), and how a classifier uses them (``actions``, ``classes``)."""

    rows: Array
    columns: Array
    actions: Array
    classes: Array

    @classmethod
    def of(cls, classes: Array, labels: Any = None, actions: Any = None) -> CostOrder:
        """The order that ``labels`` and ``actions`` give, or None."""
        columns = classes if labels is None else as_names(labels, "labels")
        lacking = [label for label in classes.tolist() if label not in columns.tolist()]
        if lacking:
            raise ValueError(
                f"labels={labels!r}: lacks {lacking[0]!r}, a class of y: name the class of every column of cost"
            )
        if actions is None:
            return cls(columns, columns, classes, classes)
        names = as_names(actions, "actions")
        return cls(names, columns, names, classes)

    @property
    def actions_are_classes(self) -> bool:
        return self.actions is self.classes

    def read(self, cost: Any, n_rows: int | None = None) -> Floats:
        """Costs in the order of ``actions`` and ``classes``; one matrix per row only where ``n_rows`` is given."""
        if has_names(cost):
            costs = named_costs(_as_mapping(cost), self.rows, self.columns)
            costs = check_costs(costs, n_classes=len(self.columns))
        else:
            costs = check_costs(cost, n_classes=len(self.columns), n_rows=n_rows)
        self._check_rows(costs)
        columns = _positions(self.classes, self.columns)
        rows = columns if self.actions_are_classes else np.arange(len(self.rows))
        return costs[..., rows[:, np.newaxis], columns]

    def _check_rows(self, costs: Floats) -> None:
        found, expected = costs.shape[-2], len(self.rows)
        if found != expected:
            remedy = "name what they do with actions=" if self.actions_are_classes else "give one row per action"
            raise ValueError(
                f"cost has shape {costs.shape}: {found} rows, but the actions are {self.rows.tolist()}: {remedy}"
            )


def has_names(cost: Any) -> bool:
    """Whether costs carry the names of their classes: a dict of dicts, or a pandas frame."""
    return isinstance(cost, Mapping) or (hasattr(cost, "to_dict") and hasattr(cost, "index"))


def named_costs(cost: Mapping[Any, Any], actions: Array, classes: Array) -> Floats:
    """A mapping of mappings, ``cost[action][true class]``, as a matrix. A correct decision that is not named costs 0.

    >>> classes = np.array(["healthy", "ill"])
    >>> named_costs({"ill": {"healthy": 1}, "healthy": {"ill": 50}}, classes, classes)
    array([[ 0., 50.],
           [ 1.,  0.]])
    """
    _reject_unknown(cost, actions, "an action", "the actions are")
    matrix = np.empty((len(actions), len(classes)))
    for row, action in enumerate(actions.tolist()):
        of_action = cost.get(action, {})
        if not isinstance(of_action, Mapping):
            raise ValueError(f"cost[{action!r}]={of_action!r}: must be a dict from true class to cost")
        _reject_unknown(of_action, classes, f"in cost[{action!r}] a true class", "the classes are")
        for column, label in enumerate(classes.tolist()):
            if label not in of_action and label != action:
                raise ValueError(
                    f"cost has no entry [{action!r}][{label!r}]: give the cost of {action!r} for that class"
                )
            matrix[row, column] = of_action.get(label, 0.0)
    return matrix


def _reject_unknown(mapping: Mapping[Any, Any], known: Array, what: str, but: str) -> None:
    names = known.tolist()
    for name in mapping:
        if name not in names:
            raise ValueError(f"cost names {what} {name!r}, but {but} {names}: remove or rename it")


def _as_mapping(cost: Any) -> Mapping[Any, Any]:
    return cost if isinstance(cost, Mapping) else cost.to_dict("index")


def _positions(wanted: Array, among: Array) -> Array:
    place_of = {label: place for place, label in enumerate(among.tolist())}
    return np.array([place_of[label] for label in wanted.tolist()], dtype=np.intp)
