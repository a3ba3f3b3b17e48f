"""How fine the trees of a large table are, so that fit, model and predictions stay small; chosen by out-of-bag rows.

On small tables trees are grown until their leaves are pure. On many rows that takes time and memory in proportion, and
the last splits say little: a forest averages them away. So a few small forests are grown with leaves of different
sizes, each answers rows that its trees have not seen, and the largest leaves that lose nothing are taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from petiole._table.rows import EncodedRows
from petiole._tree.plan import AUTO

MANY_ROWS = 50_000  # up to which trees are grown in full
BINS = 255
LEAVES = (30_000, 10_000, 3_000)  # at most so many leaves of equal size in a tree
TRIAL_TREES = 16
TOLERANCE = 0.001  # of the log-loss: what may be lost for smaller trees

Growth = Mapping[str, Any]


class Tried(NamedTuple):
    """A small forest: its out-of-bag log-loss, and the leaves of its largest tree."""

    loss: float
    most_leaves: int


Trial = Callable[[Growth], Tried]


def automatic(estimator: Any) -> list[str]:
    """The parameters that the fit chooses."""
    values = {name: getattr(estimator, name) for name in ("min_samples_leaf", "max_bins")}
    return [name for name, value in values.items() if isinstance(value, str) and value == AUTO]


def finest_growth(estimator: Any, n_rows: int) -> dict[str, Any]:
    """The parameters with the smallest leaves that are tried."""
    many = n_rows > MANY_ROWS
    known = {"min_samples_leaf": _leaf(n_rows, LEAVES[0]) if many else 1, "max_bins": BINS if many else None}
    return {name: known[name] for name in automatic(estimator)}


def choose_growth(estimator: Any, rows: EncodedRows, trial: Trial) -> Growth:
    """What "auto" stands for on these rows."""
    finest = finest_growth(estimator, len(rows))
    if len(rows) <= MANY_ROWS or "min_samples_leaf" not in finest:
        return finest
    sizes = [1.0, *(_leaf(len(rows), leaves) for leaves in LEAVES)]  # full trees are small where classes are clean
    candidates = [finest | {"min_samples_leaf": size} for size in sizes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some rows may be in the samples of all of a few trees
        tried = [trial(candidate) for candidate in candidates]
    pairs = zip(candidates, tried, strict=True)
    small = [(one, found.loss) for one, found in pairs if found.most_leaves <= LEAVES[0]]
    best = min((loss for _, loss in small if not np.isnan(loss)), default=np.nan)
    good = [one for one, loss in small if loss <= (1 + TOLERANCE) * best]
    return good[-1] if good else finest


def _leaf(n_rows: int, leaves: int) -> float:
    return float(max(1, round(n_rows / leaves)))


def describe_growth(growth: Growth, n_rows: int) -> list[str]:
    """A line about the choice, if there was one.

    >>> describe_growth({"min_samples_leaf": 6.0, "max_bins": 255}, 60_000)
    ['60,000 rows are many: leaves have at least 6 rows (chosen by out-of-bag rows), columns 255 bins']
    """
    if n_rows <= MANY_ROWS or not growth:
        return []
    told = []
    if "min_samples_leaf" in growth:
        told.append(f"leaves have at least {growth['min_samples_leaf']:g} rows (chosen by out-of-bag rows)")
    if "max_bins" in growth:
        told.append(f"columns {growth['max_bins']} bins")
    return [f"{n_rows:,} rows are many: {', '.join(told)}"]
