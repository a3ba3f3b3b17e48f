"""Features of numeric columns: squashed values, ranks and products."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from petiole._linear.ordered_products import OrderedProducts
from petiole._table.constraints import Constraints
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]

QUARTILES, DECILES = (0.25, 0.5, 0.75), tuple(np.arange(11) / 10)
# The distance of the quartiles of a normal distribution, in standard deviations.
NORMAL_QUARTILES = 1.349
# Squashed values stay within this many standard deviations. Beyond the second number, squashing changes nothing.
WIDEST, FARTHEST = 3.0, 1e6
# Pairs are multiplied only if there are at most this many, with at least four rows for each.
FREE_PAIRS, MOST_PAIRS, ROWS_PER_PAIR = 60, 820, 4


@dataclass(frozen=True, eq=False)
class NumericFeatures(Savable):
    """Features of numeric columns: squashed values, then ranks, then products of pairs of squashed values.

    A value is squashed to z / √(1 + (z/3)²), where z counts robust standard deviations from the median: values near
    the median hardly change, and extreme ones count as at most three standard deviations (as in RealMLP, Holzmüller et
    al. 2024). Its rank is interpolated between the deciles of the column.

    Attributes
    ----------
    columns : array of int64
        The columns, those without two different values are absent.
    centers, scales : arrays, one number per column
    deciles : array of shape (n_columns, 11), or (0, 11) without ranks
    first, second : arrays of int64
        The pairs to multiply, as positions in ``columns``.
    ordered : OrderedProducts or None
        Products of constrained columns, whose inputs are the squashed values and the ranks.
    """

    columns: Positions
    centers: Floats
    scales: Floats
    deciles: Floats
    first: Positions
    second: Positions
    ordered: OrderedProducts | None = None

    _saved = fields(
        columns=checks.integers("int64"),
        centers=checks.floats(1),
        scales=checks.floats(1, np.finfo(float).tiny),
        deciles=checks.floats(2),
        first=checks.integers("int64"),
        second=checks.integers("int64"),
        ordered=maybe(checks.none_or(checks.instance_of("OrderedProducts"))),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        columns, deciles = state["columns"], state["deciles"]
        require((columns >= 0).all(), "columns: must be 0 or more")
        for name in ("centers", "scales"):
            require(state[name].shape == columns.shape, f"{name}: must be one per column")
        require(
            deciles.shape in ((0, len(DECILES)), (len(columns), len(DECILES))), "deciles: must be eleven per column"
        )
        require((deciles[:, 1:] >= deciles[:, :-1]).all(), "deciles: must not decrease")
        require(state["first"].shape == state["second"].shape, "first: must be as many as second")
        for name in ("first", "second"):
            inside = (state[name] >= 0) & (state[name] < len(columns))
            require(inside.all(), f"{name}: must be positions in columns")
        ordered = state.get("ordered")
        if ordered is not None:
            require(len(deciles) == len(columns), "deciles: must be eleven per column")
            for inputs in (ordered.left, ordered.right):
                inside = (inputs >= 0) & (inputs < 2 * len(columns))
                require(inside.all(), "ordered: must be products of values and ranks")

    @classmethod
    def learn(
        cls,
        matrix: Floats,
        columns: Positions,
        weights: Floats,
        *,
        ranks: bool,
        products: bool,
        constraints: Constraints | None = None,
    ) -> Self:
        """Learn centers, scales and deciles of numeric columns. Constraints limit products."""
        wanted = DECILES if ranks else ()
        known = [quantiles(matrix[:, j], weights, (*QUARTILES, 0.0, 1.0, *wanted)) for j in columns]
        table = np.array(known).reshape(len(columns), len(QUARTILES) + 2 + len(wanted))
        scales = _scales(table)
        varies = scales > 0
        table, columns = table[varies], columns[varies]
        first, second = _pairs(len(columns), float(weights.sum())) if products else _pairs(0, 0.0)
        ordered = None
        if constraints is not None:
            allowed = constraints.may_interact(matrix.shape[1])[columns[first], columns[second]]
            first, second, ordered = _keep_order(first[allowed], second[allowed], columns, constraints)
            ordered = ordered if ranks else None  # these are among its inputs
        deciles = table[:, 5:] if ranks else np.empty((0, len(DECILES)))
        return cls(columns, table[:, 1].copy(), scales[varies], deciles.copy(), first, second, ordered)

    def __len__(self) -> int:
        return len(self.columns) + len(self.deciles) + self.n_products

    @property
    def n_products(self) -> int:
        return len(self.first) + (0 if self.ordered is None else len(self.ordered))

    @property
    def pairs(self) -> tuple[Positions, Positions]:
        """The columns of both factors of each product, as positions in ``columns``."""
        if self.ordered is None:
            return self.first, self.second
        n = len(self.columns)
        return np.append(self.first, self.ordered.left % n), np.append(self.second, self.ordered.right % n)

    def signs(self, of_columns: Positions) -> Positions:
        """1 for features whose coefficients must not be negative, -1 for those that must not be positive."""
        values = of_columns[self.columns]
        of_products = [] if self.ordered is None else [self.ordered.signs]
        free = np.zeros(len(self.first), dtype=np.int64)
        return np.concatenate([values, values[: len(self.deciles)], free, *of_products])

    def raw(self, matrix: npt.NDArray[Any]) -> Floats:
        """The features of rows; NaN where a value is missing."""
        values, left, right = self.values_and_factors(matrix)
        return np.column_stack([values, left * right])

    def values_and_factors(self, matrix: npt.NDArray[Any]) -> tuple[Floats, Floats, Floats]:
        """Squashed values with ranks, and both factors of each product."""
        values = matrix[:, self.columns].astype(np.float64)
        ranks = _ranks(values[:, : len(self.deciles)], self.deciles)
        with np.errstate(over="ignore"):  # for values near the limits of doubles; halves cannot overflow
            deviations = (values / 2 - self.centers / 2) / (self.scales / 2)
        deviations = np.clip(deviations, -FARTHEST, FARTHEST)
        squashed = deviations / np.sqrt(1 + (deviations / WIDEST) ** 2)
        inputs = np.column_stack([squashed, ranks])
        left, right = squashed[:, self.first], squashed[:, self.second]
        if self.ordered is None:
            return inputs, left, right
        more = self.ordered.factors(inputs)
        return inputs, np.column_stack([left, more[0]]), np.column_stack([right, more[1]])


def quantiles(column: Floats, weights: Floats, shares: tuple[float, ...]) -> Floats:
    """The smallest values that at least these shares of the weight do not exceed; NaN if all are missing.

    >>> quantiles(np.array([3.0, 1.0, np.nan, 2.0]), np.array([1.0, 1.0, 1.0, 2.0]), (0.0, 0.25, 0.5, 1.0))
    array([1., 1., 2., 3.])
    """
    order = np.argsort(column)
    order = order[: np.count_nonzero(~np.isnan(column))]  # NaN comes last
    if not len(order):
        return np.full(len(shares), np.nan)
    below = np.cumsum(weights[order])
    found: Floats = column[order[np.minimum(np.searchsorted(below, np.array(shares) * below[-1]), len(order) - 1)]]
    return found


def _scales(table: Floats) -> Floats:
    """Robust standard deviations; half the range where the quartiles are equal, 0 where nothing varies."""
    lower, upper, least, most = table[:, [0, 2, 3, 4]].T / 2
    with np.errstate(over="ignore"):
        quarters = (upper - lower) * (2 / NORMAL_QUARTILES)
    scales = np.where(quarters > 0, quarters, most - least)
    return np.where(scales >= np.finfo(float).tiny, np.minimum(scales, np.finfo(float).max), 0.0)


def _ranks(values: Floats, deciles: Floats) -> Floats:
    """Between 0 and 1, interpolated between deciles; half the share of a value that is several deciles is below it."""
    ranks = np.zeros(values.shape)
    if not ranks.size:
        return ranks
    for low, high in itertools.pairwise(deciles.T / 2):
        ahead, width = values / 2 - low, high - low
        with np.errstate(over="ignore"):
            inside = np.clip(ahead / np.where(width > 0, width, 1.0), 0.0, 1.0)
        ranks += np.where(width > 0, inside, (np.sign(ahead) + 1) / 2)
    return ranks / (len(DECILES) - 1)


def _keep_order(
    first: Positions, second: Positions, columns: Positions, constraints: Constraints
) -> tuple[Positions, Positions, OrderedProducts | None]:
    """Pairs of free columns, and ordered products of all others."""
    if not constraints.orders:
        return first, second, None
    signs = np.array(constraints.signs, dtype=np.int64)[columns]
    free = (signs[first] == 0) & (signs[second] == 0)
    pairs = [
        (one, other) if signs[one] else (other, one)
        for one, other in zip(first[~free].tolist(), second[~free].tolist(), strict=True)
    ]
    return first[free], second[free], OrderedProducts.of(signs, pairs, WIDEST) if pairs else None


def _pairs(n_columns: int, n_rows: float) -> tuple[Positions, Positions]:
    """All pairs of columns, also each with itself; none if they are too many."""
    n_pairs = n_columns * (n_columns + 1) // 2
    if n_pairs > min(MOST_PAIRS, max(FREE_PAIRS, n_rows / ROWS_PER_PAIR)):
        n_columns = 0
    first, second = np.triu_indices(n_columns)
    return first.astype(np.int64), second.astype(np.int64)
