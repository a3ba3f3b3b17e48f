"""Mailing policies, which weight the amount of a gift by its probability, and their profit."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.judged import check_probabilities
from petiole._table.labels import check_weights

# The cost of a letter in the campaign of the KDD'98 contest, in dollars.
LETTER = 0.68


def mail_policy(proba: Any, amount: Any, cost: Any = LETTER) -> Array:
    """Return whom to write to: those with P(gift | x) · amount(x) > cost (Zadrozny & Elkan 2001, section 1).

    Parameters
    ----------
    proba : array of shape (n_rows,) or (n_rows, 2)
        The probability of a gift; of two columns, the second.
    amount : float or array of shape (n_rows,)
        The expected gift of a person, given that there is one.
    cost : float or array of shape (n_rows,), default=0.68
        The cost of a letter; the default is that of the KDD'98 contest, in dollars.

    Returns
    -------
    array of shape (n_rows,), bool

    Examples
    --------
    >>> from petiole.decisions import mail_policy
    >>> mail_policy([0.05, 0.05, 0.02], [15, 10, 50])
    array([ True, False,  True])
    """
    chances = _chances(proba)
    return chances * _per_row("amount", amount, len(chances)) > _per_row("cost", cost, len(chances))


def campaign_profit(mailed: Any, amount: Any, cost: Any = LETTER, *, sample_weight: Any = None) -> float:
    """Compute the profit of a campaign: the sum of gift − cost over those written to (Zadrozny & Elkan 2001, section
    3).

    Parameters
    ----------
    mailed : array of shape (n_rows,), bool
    amount : array of shape (n_rows,)
        The gifts of people who got a letter, or would have given: 0 for those who give nothing.
    cost : float or array of shape (n_rows,), default=0.68
    sample_weight : array of shape (n_rows,), optional
        The number of people that each row stands for.

    Examples
    --------
    >>> from petiole.decisions import campaign_profit
    >>> round(campaign_profit([True, True, False], [15, 0, 20]), 2)
    13.64
    """
    chosen = np.asarray(mailed)
    if chosen.ndim != 1 or chosen.dtype.kind != "b":
        raise ValueError(
            f"mailed has shape {chosen.shape} and dtype {chosen.dtype}: must be True or False, one per row"
        )
    gains = _per_row("amount", amount, len(chosen)) - _per_row("cost", cost, len(chosen))
    weights = check_weights(sample_weight, len(chosen))
    return float(gains[chosen].sum() if weights is None else weights[chosen] @ gains[chosen])


def _chances(proba: Any) -> Floats:
    table = np.asarray(proba)
    if table.ndim == 2 and table.shape[1] == 2:
        return check_probabilities(table)[:, 1]
    if table.ndim != 1 or table.dtype.kind not in "fiub":
        raise ValueError(
            f"proba has shape {table.shape} and dtype {table.dtype}: must be one probability of a gift per row, "
            "or two columns of which the second is that"
        )
    chances = table.astype(np.float64)
    bad = ~((chances >= 0) & (chances <= 1))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"proba[{row}]={chances[row]}: must be a probability between 0 and 1; correct or drop the row")
    return chances


def _per_row(name: str, values: Any, n_rows: int) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" or array.ndim > 1 or (array.ndim == 1 and len(array) != n_rows):
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}: must be one number, or one for each of the "
            f"{n_rows} rows"
        )
    floats = np.broadcast_to(array.astype(np.float64), (n_rows,))
    bad = ~np.isfinite(floats)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"{name}[{row}]={floats[row]}: must be a finite number; correct or drop the row")
    return floats
