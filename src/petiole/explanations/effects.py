"""How predictions depend on a column: with the column set to each of some values, and with the rows as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MOST_ROWS = 200
MOST_POINTS = 15  # of a numeric column
MOST_CATEGORIES = 8


@dataclass(frozen=True, eq=False)
class Dependence:
    """Predictions with a column set to some values: individual curves and their mean, the partial dependence.

    Attributes
    ----------
    points : array of shape (n_points,)
        Numbers or codes of categories; NaN, the last one, where missing values were asked for.
    shares : array of shape (n_points,)
        The share of the given cells that are near each point, or equal to it.
    curves : array of shape (n_points, n_rows, n_classes)
        The prediction for each row with its cell replaced.
    """

    points: Floats
    shares: Floats
    curves: Floats

    @property
    def means(self) -> Floats:
        """Partial dependence (Friedman 2001), (n_points, n_classes)."""
        means: Floats = self.curves.mean(axis=1)
        return means


def dependence(
    ask: Callable[[npt.NDArray[Any]], Floats],
    rows: npt.NDArray[Any],
    column: int,
    cells: Floats,
    *,
    categorical: bool,
    with_missing: bool = False,
) -> Dependence:
    """Ask a model about rows whose cell in a column has each of some values instead of its own.

    All other cells stay as they are, even if the combination never occurs.

    Parameters
    ----------
    ask : function from encoded rows to probabilities
    rows : encoded rows
    column : int
    cells : array
        The column in a sample of rows, from which the values are chosen: at equal steps of rank, or the most frequent
        categories.
    categorical : bool
    with_missing : bool, default=False
        Whether a missing value is one of the values, if there is any among the cells.
    """
    known = cells[~np.isnan(cells)]
    points, shares = _points(known, categorical)
    if with_missing and len(known) < len(cells):
        points = np.append(points, np.nan)
        shares = np.append(shares * len(known), len(cells) - len(known)) / len(cells)
    copies = np.repeat(rows[np.newaxis], len(points), axis=0)
    copies[:, :, column] = points[:, np.newaxis]
    curves = ask(copies.reshape(-1, rows.shape[1]))
    return Dependence(points, shares, curves.reshape(len(points), len(rows), -1))


def nearest_points(points: Floats, cells: Floats, *, categorical: bool) -> npt.NDArray[np.intp]:
    """The position of the point that each cell is at or nearest to, -1 for categories and missing cells without one."""
    place = np.full(len(cells), -1, dtype=np.intp)
    known, numbers = ~np.isnan(cells), points[~np.isnan(points)]
    if len(numbers):
        distance = np.abs(cells[known, np.newaxis] - numbers)
        near = distance.argmin(axis=1)
        place[known] = np.where(distance.min(axis=1) > 0, -1, near) if categorical else near
    if len(numbers) < len(points):
        place[~known] = len(points) - 1
    return place


def _points(known: Floats, categorical: bool) -> tuple[Floats, Floats]:
    """The most frequent categories, or numbers at equal steps of rank; and the share of rows near each."""
    distinct, counts = np.unique(known, return_counts=True)
    if categorical:
        common = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        return distinct[common], counts[common] / max(len(known), 1)
    if len(distinct) <= MOST_POINTS:
        return distinct, counts / max(len(known), 1)
    points = np.unique(np.quantile(known, np.linspace(0.01, 0.99, MOST_POINTS), method="nearest"))
    near = nearest_points(points, known, categorical=False)
    return points, np.bincount(near, minlength=len(points)) / len(known)
