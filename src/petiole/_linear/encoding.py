"""From encoded rows to the features of a logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from petiole._linear.numeric import Floats, NumericFeatures, Positions
from petiole._linear.plan import LinearPlan
from petiole._table.rows import EncodedRows
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

# A category, or missing values, have an indicator if at least this many rows have it, and at least one row in this
# many.
LEAST_ROWS, LEAST_SHARE = 5.0, 0.01
# In place of an indicator: numbers that are present need none, and rows with a category too rare for one count as
# average.
PRESENT, AVERAGE = -1, -2
# Features with a smaller standard deviation are constant except for rounding.
LEAST_DEVIATION = 1e-9
# All features are smaller than this before they are divided by their units.
WIDEST_FEATURE = 100.0
# The ridge is stronger on products than on values: their unit is this many standard deviations.
PRODUCT_UNIT = 1 / 0.3


@dataclass(frozen=True, eq=False)
class Indicators(Savable):
    """Which indicator is 1 for each category of some columns, and where their values are missing.

    Attributes
    ----------
    columns : array of int64
    chosen : list of int64 arrays, one per column
        The indicator of each category and, last, of missing values, or ``AVERAGE``. A numeric column has two entries:
        ``PRESENT`` and the indicator of missing values.
    n_indicators : int
    """

    columns: Positions
    chosen: list[Positions]
    n_indicators: int

    _saved = fields(
        columns=checks.integers("int64"),
        chosen=checks.list_of(checks.integers("int64")),
        n_indicators=checks.whole(0, 2**31),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        require(len(state["chosen"]) == len(state["columns"]), "chosen: must be one per column")
        require((state["columns"] >= 0).all(), "columns: must be 0 or more")
        for entry in state["chosen"]:
            inside = (entry >= AVERAGE) & (entry < state["n_indicators"])
            require(len(entry) >= 2 and inside.all(), "chosen: must be numbers of indicators")

    @classmethod
    def learn(cls, matrix: npt.NDArray[Any], n_categories: npt.NDArray[np.int32], weights: Floats) -> Self:
        """Give indicators to the categories that are not rare, to all rare ones together, and to missing values."""
        least = max(LEAST_ROWS, LEAST_SHARE * weights.sum())
        columns, chosen, n_indicators = [], [], 0
        for j, n_here in enumerate(n_categories):
            n_codes = max(int(n_here), 1)
            counts: Floats = np.bincount(_codes(matrix[:, j], n_codes), weights, minlength=n_codes + 1).astype(float)
            entry = _choose(counts, least, n_indicators) if n_here else _choose_missing(counts, least, n_indicators)
            if entry.max() >= n_indicators:
                columns.append(j)
                chosen.append(entry)
                n_indicators = int(entry.max()) + 1
        return cls(np.array(columns, dtype=np.int64), chosen, n_indicators)

    def __len__(self) -> int:
        return self.n_indicators

    def raw(self, matrix: npt.NDArray[Any]) -> Floats:
        """The indicators of rows; NaN where a row counts as average."""
        table = np.zeros((len(matrix), self.n_indicators))
        for j, entry in zip(self.columns, self.chosen, strict=True):
            of_row = entry[_codes(matrix[:, j], len(entry) - 1)]
            rows = np.flatnonzero(of_row >= 0)
            table[rows, of_row[rows]] = 1.0
            table[np.ix_(of_row == AVERAGE, np.unique(entry[entry >= 0]))] = np.nan
        return table


def _codes(column: npt.NDArray[Any], n_codes: int) -> Positions:
    """The category of each row, 0 for every number; missing values come last."""
    return np.where(np.isnan(column), n_codes, np.clip(column, 0, n_codes - 1)).astype(np.int64)


def _choose(counts: Floats, least: float, first: int) -> Positions:
    """Indicators, numbered from ``first``, of the categories and of missing values."""
    chosen = np.full(len(counts), AVERAGE, dtype=np.int64)
    own = np.flatnonzero(counts >= least)
    chosen[own] = first + np.arange(len(own))
    rare = np.flatnonzero(counts[:-1] < least)
    if counts[rare].sum() >= least:
        chosen[rare] = first + len(own)
    return chosen


def _choose_missing(counts: Floats, least: float, first: int) -> Positions:
    """The same of a numeric column."""
    return np.array([PRESENT, first if counts[1] >= least else AVERAGE], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LinearEncoding(Savable):
    """Numeric features and indicators, less their means, in their units; unknown values are 0, the mean.

    Attributes
    ----------
    n_columns : int
    numeric : NumericFeatures
    indicators : Indicators
    means, units : arrays, one number per feature
        Values and ranks have their standard deviation as unit, products a larger one, indicators 1.
    """

    n_columns: int
    numeric: NumericFeatures
    indicators: Indicators
    means: Floats
    units: Floats

    _saved = fields(
        n_columns=checks.whole(1, 2**31),
        numeric=checks.instance_of("NumericFeatures"),
        indicators=checks.instance_of("Indicators"),
        means=checks.floats(1, -WIDEST_FEATURE, WIDEST_FEATURE),
        units=checks.floats(1, LEAST_DEVIATION, WIDEST_FEATURE),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        numeric, indicators = state["numeric"], state["indicators"]
        for name in ("means", "units"):
            require(len(state[name]) == len(numeric) + len(indicators), f"{name}: must be one per feature")
        for columns in (numeric.columns, indicators.columns):
            require((columns < state["n_columns"]).all(), "n_columns: must be more than the columns used")

    @classmethod
    def learn(cls, plan: LinearPlan, rows: EncodedRows) -> Self:
        """Learn the features from rows, without their labels."""
        matrix, weights = rows.matrix.astype(np.float64, copy=False), rows.weights_or_ones()
        numbers = np.flatnonzero(rows.n_categories == 0)
        numeric = NumericFeatures.learn(
            matrix, numbers, weights, ranks=plan.ranks, products=plan.degree == 2, constraints=rows.constraints
        )
        indicators = Indicators.learn(matrix, rows.n_categories, weights)
        raw = np.column_stack([numeric.raw(matrix), indicators.raw(matrix)])
        means, units = _means_and_deviations(raw, weights)
        units[len(units) - len(indicators) - numeric.n_products :] *= PRODUCT_UNIT
        units[len(numeric) :] = 1.0
        return cls(rows.n_columns, numeric, indicators, means, units)

    @property
    def n_features(self) -> int:
        return len(self.means)

    def signs(self, of_columns: Sequence[int]) -> npt.NDArray[np.int64]:
        """1 for features whose coefficients must not be negative, -1 for those that must not be positive."""
        of_numbers = self.numeric.signs(np.asarray(of_columns, dtype=np.int64))
        return np.append(of_numbers, np.zeros(len(self.indicators), dtype=np.int64))

    def features(self, matrix: npt.NDArray[Any]) -> Floats:
        """The features of encoded rows, (n_rows, n_features)."""
        table = np.column_stack([self.numeric.raw(matrix), self.indicators.raw(matrix)])
        table -= self.means
        table /= self.units
        np.nan_to_num(table, copy=False)
        return table


def _means_and_deviations(table: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Of each column, where it is not NaN; a deviation of 1 if it is constant."""
    known = ~np.isnan(table)
    total = np.maximum(weights @ known, np.finfo(float).tiny)
    means = weights @ np.where(known, table, 0.0) / total
    deviations = np.sqrt(weights @ np.where(known, table - means, 0.0) ** 2 / total)
    return means, np.where(deviations > LEAST_DEVIATION, deviations, 1.0)
