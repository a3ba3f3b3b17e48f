"""Which rows to act on if there is a limit: a number of rows, or a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._validation import check_number, check_whole


def best_rows(gain: Any, *, top: int | None = None, budget: float | None = None, price: Any = 1.0) -> Array:
    """Return the positions of the rows to act on, those with the highest gain first.

    Only rows whose gain is positive are chosen. With ``budget``, rows are taken in order of their gain per unit of
    price, skipping rows that cost more than what is left. If all prices are equal, no choice gains more. Otherwise the
    choice gains at least as much as the best one, less the largest gain of a single row that the budget could pay for.

    Parameters
    ----------
    gain : array of shape (n_rows,)
        The expected gain of acting on a row, such as the difference of two columns of :func:`expected_cost`. A price
        that has to be paid should be deducted already.
    top : int, default=None
        The largest number of rows to choose.
    budget : float, default=None
        The prices of the chosen rows sum to at most this.
    price : float or array of shape (n_rows,), default=1.0
        The price of acting on a row, which must be above 0.

    Returns
    -------
    array of int

    Examples
    --------
    >>> from petiole.decisions import best_rows
    >>> best_rows([3.0, -1.0, 8.0, 5.0], top=2)
    array([2, 3])
    >>> best_rows([3.0, -1.0, 8.0, 5.0], budget=4, price=[1, 1, 4, 2])
    array([0, 3])
    """
    gains = _finite("gain", gain)
    check_whole("top", top, 1, optional=True)
    prices = np.broadcast_to(_finite("price", price), gains.shape)
    if (prices <= 0).any():
        raise ValueError(f"price: {float(prices.min()):g} is not above 0; acting on a row must cost something")
    if budget is not None:
        check_number("budget", budget, 0)
    order = np.argsort(-(gains if budget is None else gains / prices), kind="stable")
    order = order[gains[order] > 0]
    return (order if budget is None else _paid(order, prices, float(budget)))[:top]


def _finite(name: str, values: Any) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError(f"{name}: must be finite numbers; correct or drop the rows for which it is unknown")
    return found


def _paid(order: Array, prices: Floats, budget: float) -> Array:
    """The rows that are chosen one after another until the budget is spent."""
    left, chosen = budget * (1 + 1e-12), []
    for row in order.tolist():
        if prices[row] <= left:
            left -= prices[row]
            chosen.append(row)
    return np.array(chosen, dtype=np.intp)
