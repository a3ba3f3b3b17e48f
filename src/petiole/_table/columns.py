"""One column at a time: numbers stay numbers, categorical values become codes, missing values become NaN.

A column learned in training is one of three kinds. Each kind has ``categories`` (None unless categorical) and
``encode``, which turns the values of a column into numbers. New kinds of columns belong here, not in ``if``s
elsewhere.
"""

from __future__ import annotations

import numbers
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._table.date_texts import recognise_dates
from petiole._table.dates import DateColumn, days_of_objects, hours_of_objects
from petiole._table.number_texts import DASHES, MISSING_MARKERS, NumberSigns, recognise_numbers

Floats = NDArray[np.float64]
SCALAR_TYPES = (str, numbers.Real, Decimal, np.bool_)
CATEGORICAL_TYPES = (str, bool, np.bool_)
MISSING = float("nan")
TRIED_TEXTS = 100  # distinct texts; if none of them has a digit, no others are examined
LEAST_TEXTS = 10  # the most distinct texts of a column that are examined for numbers and dates
MOST_STRAYS = 0.1  # the largest share of texts that are not numbers; with more it is a column of names


@dataclass(frozen=True)
class Column:
    """The values of one column as passed, with what follows from its dtype."""

    name: str | int  # the index where the table has no names
    values: NDArray[Any]  # 1-D, any dtype; missing is NaN, None, pandas.NA or pandas.NaT
    categorical_by_dtype: bool | None = None  # None: the values decide, because the dtype does not
    positions: NDArray[np.intp] | None = None  # of each row's value in values; None: one value per row
    holds_dates: bool = False  # as days since the first of January 1970
    holds_texts: bool = False  # by its dtype, if it is not a categorical one

    def spread(self, per_value: NDArray[Any]) -> NDArray[Any]:
        """Turn results for each distinct value into one entry per row."""
        return per_value if self.positions is None else per_value[self.positions]

    def __str__(self) -> str:
        return describe_column(self.name)


class NumericColumn:
    """Values are compared by size."""

    categories: None = None

    def encode(self, column: Column) -> NDArray[Any]:
        """Return a number (of any numeric dtype) for each value of the column."""
        return as_numbers(column)


class CategoricalColumn:
    """Values are names without an order; the code of a value is its position among the categories.

    >>> CategoricalColumn(np.array([1, 2])).encode(Column(0, np.array([2.0, 1.0, 7.0])))
    array([ 1.,  0., nan])
    """

    def __init__(self, categories: NDArray[Any]) -> None:
        self.categories = categories
        self._code_of = {value: code for code, value in enumerate(categories.tolist())}

    def encode(self, column: Column) -> Floats:
        """Return a code for each value of the column; a value never seen in training is missing."""
        check_dtype(column)
        if _sorts_like(column.values, self.categories):
            return _positions(column.values, self.categories)
        values = column.values.tolist()
        check_scalars(set(map(type, values)), column)
        return look_up(self._code_of, values)


class EmptyColumn:
    """Every value was missing in training, so nothing was learned and every value stays missing.

    Without this kind, a text column that happens to be empty in one training fold would count as numeric, and its text
    would be refused at prediction time.
    """

    categories: None = None

    def encode(self, column: Column) -> Floats:
        """Return NaN for each value of the column."""
        return np.full(len(column.values), MISSING)


ColumnKind = NumericColumn | CategoricalColumn | EmptyColumn | DateColumn


def learn_column(column: Column, categorical: bool | None = None) -> tuple[ColumnKind, NDArray[Any]]:
    """Decide what kind a training column is and encode its rows; ``categorical=None`` lets the column decide.

    >>> kind, codes = learn_column(Column("city", np.array(["Rome", None, "Bern"], dtype=object)))
    >>> kind.categories, codes
    (array(['Bern', 'Rome'], dtype=object), array([ 1., nan,  0.]))
    """
    column = with_dates(column)
    check_dtype(column)
    kind: ColumnKind
    if column.holds_dates and not categorical:
        dates = DateColumn.learned(column.values)
        return dates, dates.parts_of(column.values)
    if is_categorical(column) if categorical is None else categorical:
        if categorical is None and (column.holds_texts or column.categorical_by_dtype is None):
            warn_of_texts(column)
        categories = find_categories(column)
        kind = CategoricalColumn(categories) if len(categories) else EmptyColumn()
        return kind, column.spread(kind.encode(column))
    encoded = as_numbers(column)
    untyped = column.values.dtype.kind == "O"
    kind = EmptyColumn() if untyped and np.isnan(encoded).all() else NumericColumn()
    return kind, column.spread(encoded)


def warn_of_texts(column: Column) -> None:
    """Warn if texts that become categories are nearly all numbers, or dates."""
    counts = _count_texts(column)
    some = dict(islice(counts.items(), TRIED_TEXTS))
    if len(counts) < LEAST_TEXTS or not any(map(_has_digit, some)):
        return
    dates, numbers = recognise_dates(counts), recognise_numbers(counts, NumberSigns())
    strays = [text for text in counts if numbers is None or numbers[0].parse(text) is None]
    n_texts, n_strays = counts.total(), sum(counts[text] for text in strays)
    if dates is not None and all(dates[0].parse(text) is not None for text in counts):
        note = (
            f"texts that are dates (such as {next(iter(counts))!r}): convert them first, such as by pandas.to_datetime"
        )
    elif n_strays <= MOST_STRAYS * n_texts:
        stray = f" ({strays[0]!r} is not)" if strays else f" (such as {next(iter(counts))!r})"
        note = (
            f"texts, and {n_texts - n_strays:,} of {n_texts:,} are numbers{stray}: convert them first, such as by "
            "pandas.to_numeric"
        )
    else:
        return
    listed = "categorical_features" if isinstance(column.name, int) else f"categorical_features=[{column.name!r}, ...]"
    warnings.warn(
        f"{column} holds {note}, or read the file with petiole.datasets.read. They are taken as categories now; "
        f"{listed} says that this is meant",
        UserWarning,
        stacklevel=2,
    )


def _count_texts(column: Column) -> Counter[str]:
    """The number of occurrences of each text that does not mean "missing"."""
    values = column.values.tolist()
    times = [1] * len(values) if column.positions is None else np.bincount(column.positions, minlength=len(values))
    counts: Counter[str] = Counter()
    for value, count in zip(values, times, strict=True):
        if isinstance(value, str) and value not in DASHES and value not in MISSING_MARKERS:
            counts[value] += int(count)
    return counts


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))


def encode_column(kind: ColumnKind, column: Column) -> NDArray[Any]:
    """The rows of a column as its kind in training; of dates one column for each part."""
    column = with_dates(column)
    if not isinstance(kind, DateColumn):
        if column.holds_dates and isinstance(kind, NumericColumn):
            raise TypeError(f"{column} holds dates, and it held numbers in fit: convert them in the same way")
        return column.spread(kind.encode(column))
    if column.holds_dates:
        return kind.parts_of(column.values)
    if np.isnan(numbers := _numbers_or_empty(column)).all():
        return kind.parts_of(numbers)
    raise TypeError(
        f"{column} held dates in fit and holds {column.values[~np.isnan(numbers)][0]!r} now: convert it to dates, "
        "such as by pandas.to_datetime"
    )


def _numbers_or_empty(column: Column) -> Floats:
    """NaN where a value is missing, and 0 elsewhere."""
    missing = missing_types()
    is_missing = [type(value) in missing or value != value for value in column.values.tolist()]
    return column.spread(np.where(is_missing, MISSING, 0.0))


def with_dates(column: Column) -> Column:
    """The column, Python's dates as days and times of day as hours."""
    if column.values.dtype.kind != "O" or column.holds_dates:
        return column
    days = days_of_objects(column.values, missing_types())
    if days is not None:
        return replace(column, values=days, categorical_by_dtype=False, holds_dates=True)
    hours = hours_of_objects(column.values, missing_types())
    return column if hours is None else replace(column, values=hours, categorical_by_dtype=False)


def is_categorical(column: Column) -> bool:
    """Whether a column is categorical: by its dtype if that tells, else if it holds a string or a truth value."""
    if column.categorical_by_dtype is not None:
        return column.categorical_by_dtype
    if column.values.dtype.kind != "O":
        return column.values.dtype.kind in "Ub"
    types = set(map(type, column.values.tolist()))
    check_scalars(types, column)
    return any(issubclass(type_, CATEGORICAL_TYPES) for type_ in types)


def as_numbers(column: Column) -> NDArray[Any]:
    """Read the values as numbers; strings count if they spell a number."""
    check_dtype(column)
    if column.values.dtype.kind in "biuf":
        return column.values
    values = column.values.tolist()
    types = set(map(type, values))
    check_scalars(types, column)
    missing = missing_types()
    if not types.isdisjoint(missing):
        values = [MISSING if type(value) in missing else value for value in values]
    try:
        return np.array(values, dtype=object).astype(np.float64)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{column} holds {_first_non_number(values)!r}, which is not a number: "
            "convert the column to numbers, or list it in categorical_features when fitting"
        ) from None


def find_categories(column: Column) -> NDArray[Any]:
    """Return the distinct values, without missing ones, sorted so that the order of rows does not matter."""
    values = column.values
    if values.dtype.kind in "biuf":
        found: NDArray[Any] = np.unique(values)
        return found[: np.count_nonzero(~np.isnan(found))]  # NaN is sorted to the end
    distinct = set(values.tolist()) if values.dtype.kind == "U" else _distinct_objects(column)
    return _as_native_if_uniform(sort_values(distinct))


def sort_values(values: Iterable[Any]) -> list[Any]:
    """Sort by value where values compare; else numbers first, then by type name and spelling.

    >>> sort_values(["b", 2, "a", 1.5])
    [1.5, 2, 'a', 'b']
    """
    listed = list(values)
    try:
        return sorted(listed)
    except TypeError:
        return sorted(listed, key=_mixed_sort_key)


def look_up(code_of: Mapping[Any, int], values: list[Any]) -> Floats:
    """Return the code of each value, NaN where there is none: missing values are never keys."""
    codes = map(code_of.get, values, repeat(MISSING))
    return np.fromiter(codes, np.float64, count=len(values))


def missing_types() -> frozenset[type]:
    """Return the types that mean missing; pandas has its own, if the user has imported it."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return frozenset({type(None)})
    return frozenset({type(None), type(pandas.NA), type(pandas.NaT)})


def check_dtype(column: Column) -> None:
    """Refuse dtypes of neither numbers nor names."""
    kind = column.values.dtype.kind
    if kind == "c":
        raise complex_not_supported(str(column))
    if kind not in "biufUO":
        raise unsupported_dtype(str(column), column.values.dtype)


def check_scalars(types: set[type], column: Column) -> None:
    """Refuse columns of objects other than strings, numbers, truth values and missing values."""
    for type_ in types - missing_types():
        if issubclass(type_, (complex, np.complexfloating)):
            raise complex_not_supported(str(column))
        if not issubclass(type_, SCALAR_TYPES):
            example = next(value for value in column.values.tolist() if type(value) is type_)
            raise TypeError(
                f"{column}: argument must be a string or a real number, not {type_.__name__!r} "
                f"({example!r}): convert the column to numbers or strings"
            )


def describe_column(name: str | int) -> str:
    """Return the name of a column for error messages."""
    return f"column {name!r}"


def complex_not_supported(what: str) -> ValueError:
    """Build the error for complex numbers, in the words scikit-learn uses."""
    return ValueError(f"Complex data not supported ({what}): give real and imaginary parts as two columns")


def unsupported_dtype(what: str, dtype: object) -> TypeError:
    """Build the error for lists, bytes and the like."""
    return TypeError(
        f"{what} has dtype {dtype}, which is neither numeric nor categorical: convert it to numbers "
        "(lists to one column per entry) or to strings"
    )


def _sorts_like(values: NDArray[Any], categories: NDArray[Any]) -> bool:
    """Whether a binary search is exact; numpy would compare int64 with uint64 as floats."""
    if values.dtype.kind not in "biuf" or categories.dtype.kind not in "biuf":
        return False
    both_whole = values.dtype.kind != "f" and categories.dtype.kind != "f"
    return not (both_whole and np.result_type(values, categories).kind == "f")


def _positions(values: NDArray[Any], categories: NDArray[Any]) -> Floats:
    found = np.searchsorted(categories, values)
    np.minimum(found, len(categories) - 1, out=found)
    return np.where(categories[found] == values, found, MISSING)


def _distinct_objects(column: Column) -> set[Any]:
    values = column.values.tolist()
    check_scalars(set(map(type, values)), column)
    missing = missing_types()
    distinct = {value for value in set(values) if type(value) not in missing}
    # NaN is the one value that differs from itself
    return {_plain(value) for value in distinct if value == value}


def _plain(value: Any) -> Any:
    """Convert numpy's scalars to Python's, so that categories from any source print in the same way."""
    return value.item() if isinstance(value, np.generic) else value


def _as_native_if_uniform(values: list[Any]) -> NDArray[Any]:
    for native in (bool, int, float):
        if values and all(type(value) is native for value in values):
            return np.array(values)
    return np.array(values, dtype=object)


def _mixed_sort_key(value: Any) -> tuple[str, float, str]:
    if isinstance(value, str):
        return (type(value).__name__, 0.0, value)
    return ("", float(value), "")


def _first_non_number(values: list[Any]) -> Any:
    for value in values:
        try:
            float(value)
        except (ValueError, OverflowError):
            return value
    raise AssertionError("every value is a number")  # pragma: no cover
