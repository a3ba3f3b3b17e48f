"""Loading of data sets for experiments: one function, so that no other code handles files or data frames."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from petiole import datasets
from petiole._table.columns import Floats
from petiole._table.frames import Array


@dataclass(frozen=True, eq=False)
class RawTable:
    """A data set as it comes.

    Attributes
    ----------
    columns : dict from name to array
        Numbers with NaN for missing ones, or objects: strings, and None for missing ones.
    labels : array of str
    """

    columns: dict[str, Array]
    labels: Array

    @property
    def missing(self) -> Array:
        """Which rows have a missing value."""
        found = np.zeros(len(self.labels), dtype=bool)
        for column in self.columns.values():
            found |= np.isnan(column) if column.dtype.kind == "f" else [value is None for value in column]
        return found

    def rows(self, kept: Array) -> RawTable:
        """Some of the rows, by index or by mask."""
        return RawTable({name: column[kept] for name, column in self.columns.items()}, self.labels[kept])

    def without(self, *names: str) -> RawTable:
        """All columns but some."""
        return RawTable({n: column for n, column in self.columns.items() if n not in names}, self.labels)

    def matrix(self) -> Floats:
        """The columns side by side, if all are numbers."""
        return np.column_stack(list(self.columns.values())).astype(np.float64)


@functools.lru_cache(maxsize=64)
def load_raw(name: str) -> RawTable:
    """A data set by name, as ``petiole.datasets`` finds it."""
    X, y, *_ = datasets.load(name)
    return from_frame(X, y)


def from_frame(X: Any, y: Any) -> RawTable:
    """A data frame of any library, and labels."""
    frame = nw.from_native(X, eager_only=True)
    columns: dict[str, Array] = {}
    for name in frame.columns:
        series = frame[name]
        if series.dtype.is_numeric():
            columns[name] = series.cast(nw.Float64).to_numpy().astype(np.float64)
        else:
            columns[name] = np.array([None if _is_missing(v) else str(v) for v in series.to_list()], dtype=object)
    return RawTable(columns, np.asarray([str(label) for label in np.asarray(y)]))


def _is_missing(value: Any) -> bool:
    return value is None or value != value
