"""Reads tables: arrays, lists and data frames, each as a 2-D array or as a stream of columns.

Data frames of every library come in through narwhals, so none of these libraries is imported here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import issparse

from petiole._table.columns import Column, complex_not_supported, describe_column, unsupported_dtype

Array = NDArray[Any]
Table = Array | nw.DataFrame[Any]
Names = list[str] | None

CATEGORICAL_DTYPES = (nw.String, nw.Boolean, nw.Categorical, nw.Enum)
UNSUPPORTED_DTYPES = (nw.Binary,)
MANY_ROWS = 10_000  # from here on, frame libraries find distinct values faster than Python
LARGE_WHEN_DENSE = 1_000_000_000  # bytes of a dense copy of a sparse matrix, above which there is a warning
MICROSECONDS_OF_DAY = 86_400_000_000
LARGEST_EXACT_INTEGER = 2**53  # beyond it, neighbouring integers share one float64


def read_table(X: Any) -> tuple[Table, Names]:
    """Return X as a 2-D array or a narwhals frame, with its column names where every name is a string.

    >>> read_table([[1, "a"], [2, None]])
    (array([[1, 'a'],
           [2, None]], dtype=object), None)
    """
    X = settled(X)
    if isinstance(X, np.ndarray):
        return _as_2d_array(X), None
    native = unwrap_frame(X, "X")
    if isinstance(native, nw.DataFrame):
        try:
            return _read_frame(native)
        except DuplicateError as error:
            raise _same_names("X", error) from None
    if isinstance(native, nw.Series):
        raise _not_two_dimensional((len(native),))
    return _as_2d_array(native), None


def settled(X: Any) -> Any:
    """The table in memory: sparse matrices become dense, lazy frames of polars are collected, others stay."""
    if isinstance(X, np.ndarray):
        return X
    if issparse(X):
        return _dense(X)
    return X.collect() if type(X).__module__.startswith("polars.") and type(X).__name__ == "LazyFrame" else X


def _dense(X: Any) -> Array:
    """A sparse matrix as an array, column by column in memory; only the array itself is allocated."""
    if X.ndim != 2:
        raise _not_two_dimensional(X.shape)
    if X.dtype.kind == "c":
        raise complex_not_supported("X")
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    size = np.dtype(dtype).itemsize * X.shape[0] * X.shape[1]
    if size > LARGE_WHEN_DENSE:
        warnings.warn(
            f"X is sparse, and petiole needs it dense: {X.shape[0]:,} x {X.shape[1]:,} values take "
            f"{size / 1e9:.1f} GB. Choose columns first (sklearn.feature_selection) if that is too much",
            UserWarning,
            stacklevel=2,
        )
    dense: Array = X.astype(dtype).toarray(order="F")
    return dense


def row_blocks(X: Any) -> list[slice]:
    """Blocks of rows that are made dense together, to save memory in predictions; one block if X is not sparse."""
    n_rows, n_columns = X.shape
    at_once = max(1, LARGE_WHEN_DENSE // (8 * max(1, n_columns)) // 8)
    return [slice(begin, begin + at_once) for begin in range(0, n_rows, at_once)]


def iter_columns(table: Table, names: Names) -> Iterator[Column]:
    """Yield the columns one by one, in their order."""
    if isinstance(table, np.ndarray):
        for index in range(table.shape[1]):
            yield Column(names[index] if names else index, table[:, index])
        return
    for index, series in enumerate(table.iter_columns()):
        yield read_series(series, names[index] if names else index)


def is_ready(X: Array) -> bool:
    """Whether the core can read this array without a copy: native floats in two dimensions, at any stride."""
    dtype = X.dtype
    return X.ndim == 2 and dtype.char in "fd" and dtype.isnative and X.flags.aligned and X.size > 0


def as_float_matrix(array: Array) -> Array:
    """Convert an array of numbers to native float32 or float64, without a copy if it is one already."""
    if is_ready(array):
        return array
    dtype = np.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else np.float64
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, which is refused later
        return array.astype(dtype)


def reject_infinity(matrix: Array, names: Names) -> None:
    """Raise ValueError that names the column if a value is infinite.

    The largest and the smallest value suffice: unlike a sum they cannot overflow, and fmax and fmin skip NaN.
    """
    if np.fmax.reduce(matrix, axis=None) != np.inf and np.fmin.reduce(matrix, axis=None) != -np.inf:
        return
    index = next(index for index in range(matrix.shape[1]) if np.isinf(matrix[:, index]).any())
    row = int(np.isinf(matrix[:, index]).argmax())
    raise ValueError(
        f"X contains infinity: {describe_column(names[index] if names else index)}, row {row}. "
        "Replace it by NaN if the value is missing, else by a finite bound"
    )


def unwrap_frame(data: Any, parameter: str) -> Any:
    """Wrap data frames and series with narwhals; return anything else unchanged."""
    try:
        wrapped: Any = nw.from_native(data, pass_through=True, allow_series=True)
    except DuplicateError as error:
        raise _same_names(parameter, error) from None
    if isinstance(wrapped, nw.LazyFrame) and wrapped.implementation.is_polars():
        return wrapped.collect()
    if isinstance(wrapped, nw.LazyFrame):
        raise TypeError(f"{parameter} is a lazy {type(data).__name__}: call .collect() on it first")
    return wrapped


def _same_names(parameter: str, error: Exception) -> ValueError:
    return ValueError(f"{parameter} has columns of the same name: rename them. {' '.join(str(error).split())}")


def as_array(data: Any) -> Array:
    """Make an array of anything but frames; masked entries become missing, mixed lists keep their types."""
    if isinstance(data, np.ma.MaskedArray):
        return _fill_masked(data)
    try:
        array: Array = np.asarray(data)
    except ValueError as error:
        raise ValueError(f"{error} Give every row the same number of values.") from None
    if array.dtype.kind in "US" and not hasattr(data, "dtype"):
        # numpy has converted the numbers, None and NaN of a mixed list to strings: read it again as objects.
        return np.asarray(data, dtype=object)
    # StringDType (numpy 2) knows missing strings, which only objects can carry through
    return array.astype(object) if array.dtype.kind == "T" else array


def read_series(series: Any, name: str | int) -> Column:
    """Return one narwhals series as a column."""
    dtype = series.dtype
    if dtype.is_nested() or dtype in UNSUPPORTED_DTYPES:
        raise unsupported_dtype(describe_column(name), dtype)
    if dtype.is_temporal():
        return Column(name, days_of(series), categorical_by_dtype=False, holds_dates=dtype in (nw.Date, nw.Datetime))
    if dtype in CATEGORICAL_DTYPES and len(series) >= MANY_ROWS:
        values, positions = _distinct_values(series)
        return Column(name, values, categorical_by_dtype=True, positions=positions, holds_texts=dtype == nw.String)
    return Column(name, _values(series), _categorical_by_dtype(dtype), holds_texts=dtype == nw.String)


def days_of(series: Any) -> NDArray[np.float64]:
    """Dates and moments as days since the first of January 1970, durations as days, times of day as hours."""
    if series.dtype == nw.Time:
        clock = [None if one is None else one.hour + one.minute / 60 + one.second / 3600 for one in series.to_list()]
        return np.array(clock, dtype=np.float64)
    if series.dtype == nw.Datetime:
        series = series.dt.replace_time_zone(None)  # local hours
    is_duration = series.dtype == nw.Duration
    counted = series.dt.total_microseconds() if is_duration else series.dt.timestamp("us")
    microseconds = _with_nulls(counted, np.nan, np.asarray(_without_nulls(counted).to_numpy(), dtype=np.float64))
    return np.asarray(microseconds, dtype=np.float64) / MICROSECONDS_OF_DAY


def reject_sparse(data: Any, parameter: str) -> None:
    """Raise for SciPy's sparse matrices and arrays."""
    if issparse(data):
        raise TypeError(
            f"{parameter} is a sparse {type(data).__name__}, but dense data is required: "
            f"call {parameter}.toarray() to make it dense"
        )


def _read_frame(frame: nw.DataFrame[Any]) -> tuple[Table, Names]:
    columns: list[Any] = frame.columns
    _check_not_empty(frame.shape)
    names = columns if all(isinstance(name, str) for name in columns) else None
    dtypes = set(frame.schema.values())
    if dtypes == {nw.Float64()} or dtypes == {nw.Float32()}:
        # pandas returns the block that it stores, without a copy
        return frame.to_numpy(), names
    return frame, names


def _as_2d_array(data: Any) -> Array:
    array = as_array(data)
    if array.ndim != 2:
        raise _not_two_dimensional(array.shape)
    _check_not_empty(array.shape)
    kind = array.dtype.kind
    if kind == "c":
        raise complex_not_supported("X")
    if kind not in "biufUO":
        raise unsupported_dtype("X", array.dtype)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _fill_masked(data: Any) -> Array:
    if data.dtype.kind in "iuf":
        return np.asarray(data.astype(np.result_type(data.dtype, np.float32)).filled(np.nan))
    values: Array = np.array(data.data, dtype=object)
    values[np.ma.getmaskarray(data)] = None
    return values


def _values(series: Any) -> Array:
    """Return one value per row; nulls are NaN among floats and None elsewhere.

    Nulls are put in here rather than left to the frame library, since pyarrow's dictionary columns lose
    theirs on the way to numpy, and integers with nulls turn into floats, which cannot hold large identifiers.
    """
    dtype = series.dtype
    if dtype.is_decimal() or dtype in (nw.Int128, nw.UInt128):  # numpy has no such numbers
        return np.array(series.to_list(), dtype=object)
    if dtype.is_float() or series.null_count() == 0:
        return np.asarray(series.to_numpy())
    if dtype.is_integer() and _fits_in_floats(floats := np.asarray(series.to_numpy())):
        return floats
    return _with_nulls(series, None, _without_nulls(series).to_numpy())


def _distinct_values(series: Any) -> tuple[Array, NDArray[np.intp]]:
    """Return the distinct values, None last, and the position of each row's value among them.

    The frame library finds them without a Python object per row, which is faster for many rows.
    """
    present = _without_nulls(series).alias("value")  # old narwhals needs a name here
    distinct = present.unique().to_list()
    values: Array = np.array([*distinct, None], dtype=object)
    if not distinct:
        return values, np.zeros(len(series), dtype=np.intp)
    ranks = list(range(len(distinct)))
    positions = present.replace_strict(distinct, ranks, return_dtype=nw.Int64).to_numpy()
    return values, _with_nulls(series, len(distinct), positions).astype(np.intp, copy=False)


def _without_nulls(series: Any) -> Any:
    if series.implementation.is_pyarrow() and series.dtype == nw.String:
        series = series.cast(nw.String)  # pyarrow cannot filter string views
    return series.drop_nulls()


def _with_nulls(series: Any, null: Any, present: Array) -> Array:
    """Return one entry per row of the series: ``null``, or the next of ``present``."""
    is_null = series.is_null().to_numpy()
    if not is_null.any():
        return present
    filled: Array = np.full(len(series), null, dtype=object if null is None else present.dtype)
    filled[~is_null] = present
    return filled


def _fits_in_floats(floats: Array) -> bool:
    return bool(np.fmax.reduce(np.abs(floats)) <= LARGEST_EXACT_INTEGER)


def _categorical_by_dtype(dtype: nw.dtypes.DType) -> bool | None:
    if dtype in CATEGORICAL_DTYPES:
        return True
    return False if dtype.is_numeric() else None


def _not_two_dimensional(shape: tuple[int, ...]) -> ValueError:
    if len(shape) > 2:
        return ValueError(
            f"Found array with dim {len(shape)} (shape={shape}), while dim <= 2 is required. "
            "Reshape your data to two dimensions, array.reshape(len(array), -1)."
        )
    found = "1D array" if len(shape) == 1 else "scalar array"
    return ValueError(
        f"Expected 2D array, got {found} instead (shape={shape}). Reshape your data either using "
        "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a "
        "single sample."
    )


def _check_not_empty(shape: tuple[int, ...]) -> None:
    for count, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={tuple(shape)}) while a minimum of 1 is required. "
                "Give X at least one row and one column."
            )
