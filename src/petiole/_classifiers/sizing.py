"""What "auto" stands for in the growth of trees, chosen on out-of-bag rows.

The size of leaves on large tables, which limits time and memory: on small tables, trees are grown until their leaves
are pure. On many rows that takes time and memory in proportion, and the last splits hardly matter, because a forest
averages over them. So a few small forests are grown with leaves of different sizes, and each predicts rows that its
trees have not seen. Large leaves compensate for having few trees, so they must be clearly better in these small
forests to be as good in the whole one.

Where probabilities have to be monotone, leaves are pooled, which makes small ones useless, and the time grows with the
square of their number: so they have six rows, or more on tables of more than 9,000 rows.

The number of trees on large tables: the log-loss of T trees is close to L + c / T. The log-losses of two forests give
c, and with it how much more trees would gain.

The treatment of missing values: if the fact that a value is missing is informative, a branch of its own is better than
dividing such rows. Where probabilities have to be monotone, rows must not be divided.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from petiole._forest.forest import Forest
from petiole._forest.plan import MOST_TREES, N_TREES
from petiole._table.constraints import has_directions
from petiole._table.rows import EncodedRows
from petiole._tree.plan import AUTO

MANY_ROWS = 50_000  # up to which trees are grown in full
BINS = 255
LEAVES = (10_000, 3_000)  # at most so many leaves of equal size in a tree
ORDERED_ROWS, ORDERED_LEAVES = 6, 1_500  # with directions: the fewest rows of a leaf, and at most so many leaves
TRIAL_TREES = 16
GAIN = 0.005  # of the log-loss, by which larger leaves must be better, and which trees may leave
FEW_TREES = 64  # the smallest forest of a large table, and the step between sizes
MISSING_GAIN = 0.03  # the same for a branch of missing values

MISSING_TELLS = "missing values are informative: they have a branch of their own (chosen on out-of-bag rows)"

Growth = Mapping[str, Any]


class Tried(NamedTuple):
    """A small forest: its out-of-bag log-loss, and the leaves of its largest tree."""

    loss: float
    most_leaves: int


Trial = Callable[[Growth], Tried]


class Chosen(NamedTuple):
    """What the fit has chosen, and forests that were grown so to choose it: the first trees of each kind."""

    growth: Growth
    forests: Sequence[Forest] = ()


def automatic(estimator: Any) -> list[str]:
    """The parameters that the fit chooses."""
    values = {name: getattr(estimator, name) for name in (N_TREES, "min_samples_leaf", "max_bins", "missing")}
    return [name for name, value in values.items() if isinstance(value, str) and value == AUTO]


def finest_growth(estimator: Any, n_rows: int) -> dict[str, Any]:
    """The parameters with the smallest leaves that are tried."""
    many = n_rows > MANY_ROWS
    known = {
        N_TREES: MOST_TREES,
        "min_samples_leaf": _leaf(n_rows, LEAVES[0]) if many else 1,
        "max_bins": BINS if many else None,
        "missing": "fractional",
    }
    if has_directions(estimator.monotonic_cst):
        known |= {"min_samples_leaf": max(ORDERED_ROWS, _leaf(n_rows, ORDERED_LEAVES)), "missing": "separate"}
    return {name: known[name] for name in automatic(estimator)}


def choose_growth(estimator: Any, rows: EncodedRows, trial: Trial) -> Growth:
    """What "auto" stands for on these rows."""
    growth = finest_growth(estimator, len(rows))
    ordered = has_directions(estimator.monotonic_cst)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some rows may be in the samples of all of a few trees
        if "min_samples_leaf" in growth and len(rows) > MANY_ROWS and not ordered:
            growth = _choose_leaves(growth, len(rows), trial)
        if "missing" in growth and not ordered and np.isnan(rows.matrix).any():
            growth = _choose_missing(growth, trial)
        if N_TREES in growth and len(rows) > MANY_ROWS:
            growth = {**growth, N_TREES: _choose_trees(growth, trial)}
    return growth


def _choose_leaves(finest: dict[str, Any], n_rows: int, trial: Trial) -> dict[str, Any]:
    sizes = [1.0, *(_leaf(n_rows, leaves) for leaves in LEAVES)]  # full trees are small where classes are clean
    candidates = [finest | {"min_samples_leaf": size, N_TREES: TRIAL_TREES} for size in sizes]
    chosen, best = finest, np.inf
    for candidate in candidates:
        found = trial(candidate)
        if found.most_leaves <= LEAVES[0] and found.loss < (1 - GAIN) * best:
            chosen, best = candidate, found.loss
    return finest | {"min_samples_leaf": chosen["min_samples_leaf"]}


def _choose_trees(growth: dict[str, Any], trial: Trial) -> int:
    """The fewest trees that leave no more than a small share of the log-loss to the largest forest.

    With L(T) = L + c / T, the losses of two forests, one half as large, differ by c / T.
    """
    half, whole = (trial(growth | {N_TREES: n}).loss for n in (FEW_TREES // 2, FEW_TREES))
    by_tree = max(half - whole, 0.0) * FEW_TREES
    for n_trees in range(FEW_TREES, MOST_TREES, FEW_TREES):
        if by_tree * (1 / n_trees - 1 / MOST_TREES) <= GAIN * whole:
            return n_trees
    return MOST_TREES


def _choose_missing(divided: dict[str, Any], trial: Trial) -> dict[str, Any]:
    few, separate = {N_TREES: TRIAL_TREES}, divided | {"missing": "separate"}
    return separate if trial(separate | few).loss < (1 - MISSING_GAIN) * trial(divided | few).loss else divided


def _leaf(n_rows: int, leaves: int) -> float:
    return float(max(1, round(n_rows / leaves)))


def describe_growth(growth: Growth, n_rows: int, ordered: bool = False) -> list[str]:
    """Lines about what was chosen, if it differs from the usual values; ``ordered`` if there are directions.

    >>> describe_growth({"min_samples_leaf": 6.0, "max_bins": 255}, 60_000)
    ['large table (60,000 rows): leaves have at least 6 rows (chosen on out-of-bag rows), columns 255 bins']
    """
    if growth.get("missing") == "separate":
        others = describe_growth({**growth, "missing": "fractional"}, n_rows)
        return others if ordered else [MISSING_TELLS, *others]
    if n_rows <= MANY_ROWS or not set(growth) - {"missing"}:
        return []
    parts = []
    if "min_samples_leaf" in growth:
        how = "" if ordered else " (chosen on out-of-bag rows)"
        parts.append(f"leaves have at least {growth['min_samples_leaf']:g} rows{how}")
    if "max_bins" in growth:
        parts.append(f"columns {growth['max_bins']} bins")
    if growth.get(N_TREES, MOST_TREES) < MOST_TREES:
        parts.append(f"{growth[N_TREES]} trees are enough (chosen on out-of-bag rows)")
    return [f"large table ({n_rows:,} rows): {', '.join(parts)}"]
