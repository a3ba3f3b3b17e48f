"""How the probabilities depend on a column, on average over rows that the model was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole.study.data import Table

MOST_ROWS = 200
MOST_POINTS = 15  # of a numeric column
MOST_CATEGORIES = 8


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
    points, shares = _points(known, bool(table.is_categorical[column]))
    copies = np.repeat(rows[np.newaxis], len(points), axis=0)
    copies[:, :, column] = points[:, np.newaxis]
    proba = np.zeros((len(points) * len(rows), len(table.classes)))
    proba[:, model.classes_] = model.predict_proba(copies.reshape(-1, rows.shape[1]))
    means = proba.reshape(len(points), len(rows), -1).mean(axis=1)
    categorical = table.is_categorical[column]
    values: Any = [table.value_text(column, point) for point in points] if categorical else points
    part = table.encoder.date_parts[column]
    texts = None if part is None else [table.value_text(column, point) for point in points]
    return Effect(table.names[column], values, shares, means, texts, part)


def _points(known: Floats, categorical: bool) -> tuple[Floats, Floats]:
    """The most frequent categories, or numbers at equal steps of rank; and the share of rows near each."""
    distinct, counts = np.unique(known, return_counts=True)
    if categorical:
        common = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        return distinct[common], counts[common] / len(known)
    if len(distinct) <= MOST_POINTS:
        return distinct, counts / len(known)
    points = np.unique(np.quantile(known, np.linspace(0.01, 0.99, MOST_POINTS), method="nearest"))
    nearest = np.abs(known[:, np.newaxis] - points).argmin(axis=1)
    return points, np.bincount(nearest, minlength=len(points)) / len(known)
