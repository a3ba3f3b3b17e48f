"""Growth plans of boosted trees."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from petiole import _core
from petiole._table.constraints import Constraints
from petiole._table.rows import EncodedRows
from petiole._validation import check_number, check_whole, resolve_max_features

# Numeric columns have at most this many bins, so that a code takes a byte.
MOST_BINS = 255
# Small tables have fewer bins: one for this many rows, but at least FEWEST_BINS.
ROWS_PER_BIN = 4
FEWEST_BINS = 32
_UNLIMITED = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class BoostingPlan:
    """The settings from which boosted trees are grown.

    Attributes
    ----------
    n_rounds : int
        The most rounds; each adds a tree, or with more than two classes a tree per class.
    patience : int
        Boosting stops after this many rounds without a smaller held-out log-loss.
    learning_rate : float
        The share of each tree's step that is taken.
    max_leaf_nodes, max_depth : int or None
        Limits of a tree.
    min_samples_leaf : float
        In rows, that is, in sums of weights.
    min_hessian : float
        The least sum of second derivatives of a leaf.
    l2 : float
        Added to the sum of second derivatives of each leaf, which makes steps shorter.
    max_bins : int
        Bins of a numeric column, from 2 to 255.
    category_smoothing : float
        The number of average rows added to each category when categories are sorted, and of rows without gradient
        added to each side of a split of more than two categories.
    subsample : float
        The share of rows on which the trees of a round are grown.
    max_features : None, "sqrt", "log2", int or float
        The number or share of features that are drawn for each tree.
    seed : int

    Examples
    --------
    >>> BoostingPlan(learning_rate=0.05)
    BoostingPlan(learning_rate=0.05)
    >>> BoostingPlan(max_leaf_nodes=1)
    Traceback (most recent call last):
    ...
    ValueError: max_leaf_nodes=1: must be a whole number at least 2 or None
    """

    n_rounds: int = 500
    patience: int = 20
    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: float = 20
    min_hessian: float = 1e-3
    l2: float = 0.0
    max_bins: int = MOST_BINS
    category_smoothing: float = 10.0
    subsample: float = 1.0
    max_features: int | float | str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("n_rounds", self.n_rounds, 0)
        check_whole("patience", self.patience, 1)
        check_number("learning_rate", self.learning_rate, 1e-9, 1)
        check_whole("max_leaf_nodes", self.max_leaf_nodes, 2, optional=True)
        check_whole("max_depth", self.max_depth, 1, optional=True)
        check_number("min_samples_leaf", self.min_samples_leaf, 1)
        check_number("min_hessian", self.min_hessian, 1e-9)
        check_number("l2", self.l2, 0)
        check_bins("max_bins", self.max_bins)
        check_number("category_smoothing", self.category_smoothing, 0)
        check_number("subsample", self.subsample, 1e-9, 1)
        resolve_max_features(self.max_features, 1)

    def __repr__(self) -> str:
        """Shows only what differs from the defaults."""
        changed = [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default]
        return f"BoostingPlan({', '.join(f'{name}={value!r}' for name, value in changed)})"

    def n_bins(self, n_rows: float) -> int:
        """The bins of each numeric column of a table with this many rows."""
        return min(int(self.max_bins), max(FEWEST_BINS, int(min(n_rows, MOST_BINS * ROWS_PER_BIN)) // ROWS_PER_BIN))

    def columns(self, rows: EncodedRows, n_threads: int = 1) -> _core.BoostColumns:
        """The columns of a table, coded for boosting; all chains on rows of the table can share them."""
        bins = self.n_bins(rows.class_weights().sum())
        return _core.BoostColumns(rows.matrix, rows.weights, rows.n_categories, bins, n_threads)

    def options(self, n_features: int, constraints: Constraints | None = None) -> _core.BoostOptions:
        """The core's options for a table with this many columns.

        The order of constraints is that of the score of the second of two classes.
        """
        options = _core.BoostOptions()
        options.n_rounds = _at_most(self.n_rounds)
        options.patience = _at_most(self.patience)
        options.max_leaf_nodes = 0 if self.max_leaf_nodes is None else _at_most(self.max_leaf_nodes)
        options.max_depth = 0 if self.max_depth is None else _at_most(self.max_depth)
        n_drawn = resolve_max_features(self.max_features, n_features)
        options.max_features = 0 if n_drawn >= n_features else n_drawn
        for name in ("learning_rate", "l2", "min_samples_leaf", "min_hessian", "category_smoothing", "subsample"):
            setattr(options, name, float(getattr(self, name)))
        options.seed = self.seed
        if constraints is not None:
            options.signs = [sign if constraints.target == 1 else -sign for sign in constraints.signs]
            options.groups = [list(group) for group in constraints.groups]
        return options


def check_bins(name: str, value: Any) -> None:
    """Raise ValueError unless a number of bins is possible."""
    check_whole(name, value, 2)
    if value > MOST_BINS:
        raise ValueError(f"{name}={value!r}: must be at most {MOST_BINS}")


def _at_most(number: int) -> int:
    return min(int(number), _UNLIMITED)
