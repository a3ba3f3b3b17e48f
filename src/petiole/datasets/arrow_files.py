"""Reading Parquet and Feather (Arrow IPC) files through pyarrow, or polars where pyarrow is not installed."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from petiole._table.frames import CATEGORICAL_DTYPES
from petiole.datasets.cells import NumericBuilder, Place, check_skipped
from petiole.datasets.columns import Numeric, Values, from_names

MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather"}


def arrow_format(data: bytes) -> str | None:
    """Say which of the formats the bytes are in, if in any.

    >>> arrow_format(b"PAR1...")
    'parquet'
    """
    return next((name for magic, name in MAGIC.items() if data.startswith(magic)), None)


def read_arrow(data: bytes, file: str, kinds: Mapping[str, str], skipped: Collection[str] = ()) -> dict[str, Values]:
    """Read Parquet or Feather: numbers are numeric; strings, truth values and dictionaries are categorical."""
    frame = nw.from_native(_open(data, file), eager_only=True)
    if not len(frame) or not frame.columns:
        raise ValueError(f"{file}: the table has {len(frame)} rows and {len(frame.columns)} columns: it is empty")
    check_skipped(skipped, frame.columns, file)
    names = [name for name in frame.columns if name not in skipped]
    return {name: _read_column(frame[name], kinds.get(name), Place(file, column=name)) for name in names}


def _open(data: bytes, file: str) -> Any:
    kind = arrow_format(data)
    try:
        return _open_with_pyarrow(data, kind)
    except ImportError:
        pass
    except Exception as error:  # pyarrow has a class of its own for every kind of damage
        raise ValueError(f"{file}: not a sound {kind} file ({error}): write or fetch it again") from None
    try:
        import polars as pl
    except ImportError:
        raise ImportError(f"{file}: reading {kind} needs pyarrow or polars: pip install pyarrow") from None
    return pl.read_parquet(io.BytesIO(data)) if kind == "parquet" else pl.read_ipc(io.BytesIO(data))


def _open_with_pyarrow(data: bytes, kind: str | None) -> Any:
    import pyarrow as pa

    if kind == "parquet":
        from pyarrow import parquet

        return parquet.read_table(pa.BufferReader(data))
    from pyarrow import feather

    return feather.read_table(pa.BufferReader(data))


def _read_column(series: Any, wanted: str | None, place: Place) -> Values:
    dtype = series.dtype
    categorical = dtype in CATEGORICAL_DTYPES
    if not categorical and not dtype.is_numeric():
        raise ValueError(
            f"{place}: is of type {dtype}, neither numeric nor categorical: convert it to numbers (a date to days "
            "since some date) or to strings, or remove it"
        )
    kind = wanted or ("nominal" if categorical else "numeric")
    if kind == "nominal":
        return from_names(
            np.array([None if _is_missing(value) else str(value) for value in series.to_list()], dtype=object)
        )
    return Numeric(_parse(series, place) if categorical else _floats(series))


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _floats(series: Any) -> NDArray[np.float64]:
    if series.dtype.is_float() or (series.dtype.is_integer() and not series.null_count()):
        return np.array(series.to_numpy(), dtype=np.float64)  # without an object for every cell
    return np.array([np.nan if value is None else float(value) for value in series.to_list()])


def _parse(series: Any, place: Place) -> NDArray[np.float64]:
    builder = NumericBuilder(frozenset({None}))
    cells = [None if value is None else str(value) for value in series.to_list()]
    bad = builder.add(cells)
    if bad is not None:
        raise ValueError(f"{place}: row {bad} holds {cells[bad]!r}, which is not a number: declare the column nominal")
    return builder.parts[0]
