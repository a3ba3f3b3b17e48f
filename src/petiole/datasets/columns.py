"""Columns between a file and a frame: numbers, or codes of names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MICROSECONDS_OF_DAY = 86_400_000_000
# Kinds of columns as spelled in files and parameters, and the words for them in messages.
KIND_TITLES = {"numeric": "numeric", "nominal": "categorical", "date": "dates"}


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
class Dates:
    """Dates and moments, as days since the first of January 1970; NaN is missing.

    >>> Dates(np.array([0.5, np.nan])).moments()
    array(['1970-01-01T12:00:00.000000',                        'NaT'],
          dtype='datetime64[us]')
    """

    values: NDArray[np.float64]
    kind = "date"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.isnan(self.values)

    def take(self, rows: NDArray[Any]) -> Dates:
        """Return some of the rows."""
        return Dates(self.values[rows])

    def moments(self) -> NDArray[Any]:
        """Return NumPy's datetimes, to the microsecond."""
        moments = np.full(len(self.values), np.datetime64("NaT"), dtype="datetime64[us]")
        known = ~self.is_missing
        moments[known] = np.rint(self.values[known] * MICROSECONDS_OF_DAY).astype(np.int64).view("datetime64[us]")
        return moments

    def labels(self) -> NDArray[Any]:
        """Return class labels as texts."""
        return np.array([text.removesuffix("T00:00:00.000000") for text in self.moments().astype(str).tolist()])


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
        """Return the same names with sorted categories, which do not depend on the order of rows."""
        order = sorted(range(len(self.categories)), key=self.categories.__getitem__)
        rank = np.empty(len(order) + 1, dtype=np.int64)
        rank[order] = np.arange(len(order))
        rank[-1] = -1  # the entry of code -1
        return Categorical(rank[self.codes], tuple(self.categories[index] for index in order))

    def in_small_letters(self) -> Categorical:
        """Return the same names in small letters, so that those which differ only in capitals are one.

        >>> Categorical(np.array([0, 1, 2, -1]), ("NO", "Yes", "yes")).in_small_letters().names()
        array(['no', 'yes', 'yes', None], dtype=object)
        """
        small = [name.lower() for name in self.categories]
        kept = sorted(set(small))
        recoded = np.array([*map(kept.index, small), -1], dtype=np.int64)
        return Categorical(recoded[self.codes], tuple(kept))

    def names(self) -> NDArray[Any]:
        """Return one string per row, None where missing."""
        return np.array([*self.categories, None], dtype=object)[self.codes]

    def labels(self) -> NDArray[Any]:
        """Return class labels as an array of strings; none may be missing."""
        return np.array(self.categories, dtype=str)[self.codes]


Values = Numeric | Categorical | Dates


def from_names(names: NDArray[Any]) -> Categorical:
    """Make a categorical column of strings with None for missing."""
    present = np.array([name is not None for name in names], dtype=bool)
    codes = np.full(len(names), -1, dtype=np.int64)
    categories, codes[present] = np.unique(np.array(names)[present].astype(str), return_inverse=True)
    return Categorical(codes, tuple(categories.tolist()))
