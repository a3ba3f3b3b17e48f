"""Frames of whichever library is installed: pandas, else polars, else pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from petiole.datasets.columns import Categorical, Dates, Numeric, Values


def make_frame(columns: Mapping[str, Values]) -> Any:
    """Make a frame: numeric columns of floats, categorical columns of the library's categorical type."""
    for library, make in MAKERS.items():
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        return make(module, columns)
    raise ImportError(
        "data sets are data frames, but none of pandas, polars and pyarrow is installed: pip install pandas"
    )


def _make_pandas(pd: Any, columns: Mapping[str, Values]) -> Any:
    numbers = [column.values for column in columns.values() if isinstance(column, Numeric)]
    if numbers and len(numbers) == len(columns):  # one block, which is read without a copy
        return pd.DataFrame(np.column_stack(numbers), columns=[*columns])
    series = {name: _pandas_values(pd, column) for name, column in columns.items()}
    return pd.DataFrame(series, columns=[*columns])


def _pandas_values(pd: Any, column: Values) -> Any:
    if isinstance(column, Categorical):
        return pd.Categorical.from_codes(column.codes, categories=list(column.categories))
    return column.moments() if isinstance(column, Dates) else column.values


def _make_polars(pl: Any, columns: Mapping[str, Values]) -> Any:
    return pl.DataFrame([_polars_series(pl, name, column) for name, column in columns.items()])


def _polars_series(pl: Any, name: str, column: Values) -> Any:
    if isinstance(column, Categorical):
        return pl.Series(name, column.names().tolist(), dtype=pl.Enum(list(column.categories)))
    if isinstance(column, Dates):
        return pl.Series(name, column.moments())
    return pl.Series(name, column.values, nan_to_null=True)


def _make_pyarrow(pa: Any, columns: Mapping[str, Values]) -> Any:
    return pa.table({name: _arrow_values(pa, column) for name, column in columns.items()})


def _arrow_values(pa: Any, column: Values) -> Any:
    if isinstance(column, Categorical):
        codes = pa.array(column.codes.astype(np.int32), mask=column.is_missing)
        return pa.DictionaryArray.from_arrays(codes, pa.array(list(column.categories), type=pa.string()))
    if isinstance(column, Dates):
        return pa.array(column.moments())
    return pa.array(column.values, from_pandas=True)


MAKERS: dict[str, Callable[[Any, Mapping[str, Values]], Any]] = {
    "pandas": _make_pandas,
    "polars": _make_polars,
    "pyarrow": _make_pyarrow,
}
