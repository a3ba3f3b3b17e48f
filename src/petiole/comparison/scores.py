"""Reading tables of scores: a row per data set, a column per method, and a third axis where there are trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import as_array, unwrap_frame


def read_vector(parameter: str, scores: Any, least: int) -> Floats:
    """Return finite scores, one per trial or data set."""
    wrapped = unwrap_frame(scores, parameter)
    vector = _as_floats(parameter, wrapped.to_numpy() if isinstance(wrapped, nw.Series) else wrapped)
    if vector.ndim != 1:
        raise ValueError(f"{parameter} has shape {vector.shape}: must be one score per trial")
    if len(vector) < least:
        raise ValueError(f"{parameter} has {len(vector)} scores: must have at least {least}")
    _check_finite(parameter, vector)
    return vector


def read_pair(scores_1: Any, scores_2: Any, least: int) -> tuple[Floats, Floats]:
    """Return two vectors of scores from the same trials."""
    first, second = read_vector("scores_1", scores_1, least), read_vector("scores_2", scores_2, least)
    if len(first) != len(second):
        raise ValueError(
            f"scores_1 has {len(first)} scores, but scores_2 has {len(second)}: "
            "the tests are paired, so give both from the same trials"
        )
    return first, second


def read_scores(parameter: str, scores: Any, *, dimensions: tuple[int, ...]) -> tuple[Floats, list[str] | None]:
    """Return a table of finite scores with the names of its columns, where it has them."""
    wrapped = unwrap_frame(scores, parameter)
    if isinstance(wrapped, nw.DataFrame):
        table, names = _as_floats(parameter, wrapped.to_numpy()), [str(name) for name in wrapped.columns]
    else:
        table, names = _as_floats(parameter, wrapped), None
    if table.ndim not in dimensions or not table.size:
        raise ValueError(f"{parameter} has shape {table.shape}: must have a row per data set and a column per method")
    if table.shape[1] < 2:
        raise ValueError(f"{parameter} has 1 column: must have a column for each of at least two methods")
    _check_finite(parameter, table)
    return table, names


def read_names(
    parameter: str, names: Sequence[Any] | None, found: list[str] | None, length: int, kind: str
) -> list[str]:
    """One distinct name each: those given, those found in the data, or numbers."""
    if names is None:
        return found if found is not None else [f"{kind} {index + 1}" for index in range(length)]
    given = [str(name) for name in names]
    if len(given) != length:
        raise ValueError(f"{parameter}={given!r}: must be {length} names, one per {kind}")
    if len(set(given)) != length:
        raise ValueError(f"{parameter}={given!r}: each name must occur once")
    return given


def _as_floats(parameter: str, scores: Any) -> Floats:
    try:
        return np.asarray(as_array(scores), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{parameter} holds something that is not a number: scores must be numbers") from None


def _check_finite(parameter: str, scores: Floats) -> None:
    bad = ~np.isfinite(scores)
    if bad.any():
        place = tuple(int(index) for index in np.argwhere(bad)[0])
        index = ", ".join(map(str, place))
        raise ValueError(
            f"{parameter}[{index}]={scores[place]}: scores must be finite; leave out data sets or trials without one"
        )
