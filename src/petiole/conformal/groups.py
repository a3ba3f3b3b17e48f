"""Groups of rows, by columns of the table or as the user gives them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Column, missing_types
from petiole._table.frames import iter_columns, read_table
from petiole._validation import did_you_mean

Names = npt.NDArray[Any]
MISSING = "missing"


def columns_of(by: Any) -> list[str | int]:
    """The columns that ``by`` names; none if it is None."""
    if by is None:
        return []
    columns = list(by) if isinstance(by, (list, tuple)) else [by]
    whole = (int, np.integer)
    if not columns or any(isinstance(one, bool) or not isinstance(one, (str, *whole)) for one in columns):
        raise ValueError(f"by={by!r}: must be None, the name or position of a column, or a list of these")
    return [int(one) if isinstance(one, whole) else one for one in columns]


def groups_by(X: Any, by: Any) -> Names:
    """The name of the group of each row, such as "sex=f, region=north".

    >>> groups_by([["f", 1.0], ["m", 2.0]], 0).tolist()
    ['f', 'm']
    """
    table, names = read_table(X)
    columns = list(iter_columns(table, names))
    chosen = [_found(columns, column, by) for column in columns_of(by)]
    texts = [_texts(column) for column in chosen]
    if len(texts) == 1:
        return texts[0]
    named = [
        np.array([f"{column.name}={value}" for value in of_one]) for column, of_one in zip(chosen, texts, strict=True)
    ]
    return np.array([", ".join(parts) for parts in zip(*named, strict=True)], dtype=object)


def given_groups(groups: Any, n_rows: int) -> Names:
    """The names of groups that the user gives, one for each row."""
    column = groups.to_list() if hasattr(groups, "to_list") else np.asarray(groups, dtype=object).ravel().tolist()
    if len(column) != n_rows:
        raise ValueError(f"groups has {len(column)} entries, but X has {n_rows} rows: give one group per row")
    return _texts(Column("groups", _objects(column)))


def _found(columns: Sequence[Column], wanted: str | int, by: Any) -> Column:
    if isinstance(wanted, int):
        if not -len(columns) <= wanted < len(columns):
            raise ValueError(f"by={by!r}: X has {len(columns)} columns; give a position below that")
        return columns[wanted]
    for column in columns:
        if column.name == wanted:
            return column
    names = [column.name for column in columns if isinstance(column.name, str)]
    hint = did_you_mean(wanted, names, "the columns have no names, so give a position" if not names else "")
    raise ValueError(f"by={by!r}: X has no column {wanted!r}; {hint}")


def _texts(column: Column) -> Names:
    missing = missing_types()
    text_of = {value: _text(value, missing) for value in {_key(value) for value in column.values.tolist()}}
    return np.asarray(column.spread(_objects([text_of[_key(value)] for value in column.values.tolist()])))


def _key(value: Any) -> Any:
    return None if value != value else value


def _text(value: Any, missing: frozenset[type]) -> str:
    if value is None or type(value) in missing:
        return MISSING
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def _objects(values: Sequence[Any]) -> Names:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
