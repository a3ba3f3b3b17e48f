"""The papers' changes to data sets: selected rows and columns, names as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from petiole.datasets.columns import Categorical, Numeric, Values
from petiole.datasets.description import Description, Loaded
from petiole.datasets.frames import make_frame


def columns_of(loaded: Loaded) -> dict[str, Values]:
    """The columns of the frame of a data set."""
    frame = nw.from_native(loaded.X, eager_only=True)
    kinds = loaded.description.kinds
    return {name: _column(frame[name], kinds[name]) for name in frame.columns}


def _column(series: Any, kind: str) -> Values:
    if kind == "numeric":
        return Numeric(np.array(series.to_numpy(), dtype=np.float64))
    values = series.to_list()
    names = sorted({value for value in values if isinstance(value, str)})
    code_of = {name: code for code, name in enumerate(names)}
    return Categorical(np.array([code_of.get(value, -1) for value in values], dtype=np.int64), tuple(names))


def rebuild(loaded: Loaded, columns: Mapping[str, Values], rows: NDArray[Any], name: str, notes: str) -> Loaded:
    """Make a data set of some columns and rows of another."""
    taken = {key: column.take(rows) for key, column in columns.items()}
    y = loaded.y[rows]
    weights = loaded.description.weights
    classes, counts = np.unique(y, return_counts=True)
    description = replace(
        loaded.description,
        name=name,
        rows=len(y),
        classes=tuple(classes.tolist()),
        class_counts=dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        kinds={key: column.kind for key, column in taken.items()},
        n_missing=int(sum(column.is_missing.sum() for column in taken.values())),
        notes=f"{notes} {loaded.description.notes}".strip(),
        weights=None if weights is None else weights[rows],
        outcomes={key: values[rows] for key, values in loaded.description.outcomes.items()},
    )
    return Loaded(make_frame(taken), y, description)


def complete_rows(columns: Mapping[str, Values]) -> NDArray[np.bool_]:
    """Mark rows without missing values."""
    return ~np.any([column.is_missing for column in columns.values()], axis=0)


def as_numbers(column: Values, order: Mapping[str, int] | None = None) -> Numeric:
    """Turn names into whole numbers: those given, else 0, 1, ... in sorted order."""
    if not isinstance(column, Categorical):
        return Numeric(column.values)
    given = order or {name: code for code, name in enumerate(column.categories)}
    numbers = np.array([*(given[name] for name in column.categories), np.nan])
    return Numeric(numbers[column.codes])


def varying(columns: Mapping[str, Values], rows: NDArray[Any]) -> dict[str, Values]:
    """Return the columns that have more than one value in the rows."""
    return {name: column for name, column in columns.items() if _n_distinct(column.take(rows)) > 1}


def _n_distinct(column: Values) -> int:
    return len(np.unique(column.codes if isinstance(column, Categorical) else column.values))


def among(y: NDArray[Any], classes: Iterable[str]) -> NDArray[np.bool_]:
    """Mark labels that are among the classes."""
    return np.isin(y, list(classes))


def marked(description: Description, paper: str) -> bool:
    """Whether a description names the paper, as certain or as probable."""
    return any(paper in name for name in description.papers)
