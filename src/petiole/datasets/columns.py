"""A column on its way from a file to a frame: numbers, or codes of names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Kinds of columns as files and parameters spell them, and the words for them in texts.
KIND_TITLES = {"numeric": "numeric", "nominal": "categorical"}


@dataclass(frozen=True, eq=False)
class Numeric:
    """Numbers; NaN is missing."""

    values: NDArray[np.float64]
    kind = "numeric"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.isnan(self.values)

    def take(self, rows: NDArray[Any]) -> Numeric:
        """Return some of the rows."""
        return Numeric(self.values[rows])

    def labels(self) -> NDArray[Any]:
        """Return class labels: whole numbers where all are."""
        whole = np.isfinite(self.values).all() and bool((self.values == np.round(self.values)).all())
        return self.values.astype(np.int64) if whole else self.values


@dataclass(frozen=True, eq=False)
class Categorical:
    """Names; a code is the position among the categories, and -1 is missing.

    >>> Categorical(np.array([0, 1, -1]), ("b", "a")).sorted().codes
    array([ 1,  0, -1])
    """

    codes: NDArray[np.int64]
    categories: tuple[str, ...]
    kind = "nominal"

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return self.codes < 0

    def take(self, rows: NDArray[Any]) -> Categorical:
        """Return some of the rows; the categories stay."""
        return Categorical(self.codes[rows], self.categories)

    def sorted(self) -> Categorical:
        """Return the same names with sorted categories, so that the order of rows does not show."""
        order = sorted(range(len(self.categories)), key=self.categories.__getitem__)
        rank = np.empty(len(order) + 1, dtype=np.int64)
        rank[order] = np.arange(len(order))
        rank[-1] = -1  # where code -1 looks
        return Categorical(rank[self.codes], tuple(self.categories[index] for index in order))

    def names(self) -> NDArray[Any]:
        """Return one string per row, None where missing."""
        return np.array([*self.categories, None], dtype=object)[self.codes]

    def labels(self) -> NDArray[Any]:
        """Return class labels as an array of strings; none may be missing."""
        return np.array(self.categories, dtype=str)[self.codes]


Values = Numeric | Categorical


def from_names(names: NDArray[Any]) -> Categorical:
    """Make a categorical column of strings with None for missing."""
    present = np.array([name is not None for name in names], dtype=bool)
    codes = np.full(len(names), -1, dtype=np.int64)
    categories, codes[present] = np.unique(np.array(names)[present].astype(str), return_inverse=True)
    return Categorical(codes, tuple(categories.tolist()))
