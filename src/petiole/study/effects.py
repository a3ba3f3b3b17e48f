"""How the probabilities depend on a column, on average over rows that the model was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole.explanations.effects import MOST_ROWS, dependence
from petiole.study.data import Table


@dataclass(frozen=True, eq=False)
class Effect:
    """The mean probability of each class where a column has a value: partial dependence (Friedman 2001).

    Attributes
    ----------
    column : str
    values : array of float or list of str
        Numbers, or the names of the most frequent categories.
    shares : array
        The share of the rows near each value.
    probabilities : array of shape (n_values, n_classes)
    texts : list of str or None
        The numbers as text if they are a part of a date, such as weekdays.
    part : str or None
        Which part: "days", "year", "month", "weekday" or "hour".
    """

    column: str
    values: Any
    shares: Floats
    probabilities: Floats
    texts: list[str] | None = None
    part: str | None = None


def effects(model: Any, table: Table, matrix: npt.NDArray[Any], columns: Sequence[str], seed: int) -> list[Effect]:
    """The effects of some columns on the probabilities of a model for rows that it was not fitted to.

    The rows keep all their other values, even if the combination never occurs.
    """
    rows = matrix[np.sort(np.random.default_rng(seed).permutation(len(matrix))[:MOST_ROWS])]
    found = []
    for name in columns:
        column = table.names.index(name)
        known = table.rows.matrix[:, column].astype(np.float64)
        known = known[~np.isnan(known)]
        if len(known):
            found.append(_effect(model, table, rows, column, known))
    return found


def _effect(model: Any, table: Table, rows: npt.NDArray[Any], column: int, known: Floats) -> Effect:
    def ask(matrix: npt.NDArray[Any]) -> Floats:
        proba = np.zeros((len(matrix), len(table.classes)))
        proba[:, model.classes_] = model.predict_proba(matrix)
        return proba

    categorical = bool(table.is_categorical[column])
    found = dependence(ask, rows, column, known, categorical=categorical)
    texts = [table.value_text(column, point) for point in found.points.tolist()]
    part = table.encoder.date_parts[column]
    values: Any = texts if categorical else found.points
    return Effect(table.names[column], values, found.shares, found.means, None if part is None else texts, part)
