"""Reading Parquet and Feather (Arrow IPC) files through pyarrow, or polars where pyarrow is not installed."""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from petiole._table.frames import CATEGORICAL_DTYPES, days_of
from petiole._table.number_texts import NumberSigns
from petiole.datasets.cells import Place, check_skipped
from petiole.datasets.columns import Dates, Numeric, Values, from_names
from petiole.datasets.recognising import ReadingOptions, ReadTable, Recogniser, texts_of_objects, without_row_numbers

PANDAS_INDEX = "__index_level_0__"
MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather"}


def arrow_format(data: bytes) -> str | None:
    """Return the format of the bytes, or None.

    >>> arrow_format(b"PAR1...")
    'parquet'
    """
    return next((name for magic, name in MAGIC.items() if data.startswith(magic)), None)


def read_arrow(data: bytes, file: str, options: ReadingOptions, skipped: Collection[str] = ()) -> ReadTable:
    """Read Parquet or Feather: numbers are numeric; strings, truth values and dictionaries are categorical.

    Strings that are numbers or dates are converted, as in CSV.
    """
    frame = nw.from_native(_open(data, file), eager_only=True)
    if not len(frame) or not frame.columns:
        raise ValueError(f"{file}: the table has {len(frame)} rows and {len(frame.columns)} columns: it is empty")
    check_skipped(skipped, frame.columns, file)
    recogniser = Recogniser(file, options, NumberSigns(options.decimal, options.thousands), typed=True)
    names = [name for name in frame.columns if name not in skipped]
    columns = {name: _read_column(frame[name], options, Place(file, column=name), recogniser) for name in names}
    table = recogniser.finished(columns)
    return without_row_numbers(table, options.kinds, PANDAS_INDEX)


def _open(data: bytes, file: str) -> Any:
    kind = arrow_format(data)
    try:
        return _open_with_pyarrow(data, kind)
    except ImportError:
        pass
    except Exception as error:  # pyarrow has a different exception for every kind of damage
        raise ValueError(f"{file}: not a valid {kind} file ({error}): write or fetch it again") from None
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


def _read_column(series: Any, options: ReadingOptions, place: Place, recogniser: Recogniser) -> Values:
    dtype, name = series.dtype, str(place.column)
    wanted = options.kinds.get(name)
    is_text = dtype in (nw.String, nw.Categorical, nw.Enum)
    recognised = wanted != "nominal" and not options.keeps_texts(name)
    if is_text and (recognised or options.ignores_case(name)):
        return recogniser.column(texts_of_objects(name, wanted, _texts(series)), lambda row: f"row {row + 1}")
    categorical = dtype in CATEGORICAL_DTYPES
    if not categorical and not dtype.is_numeric() and not dtype.is_temporal():
        raise ValueError(
            f"{place}: is of type {dtype}, neither numeric nor categorical: convert it to numbers or to strings, or "
            "remove it"
        )
    if categorical or wanted == "nominal":
        return from_names(_texts(series))
    if dtype.is_temporal():
        return Dates(days_of(series)) if dtype in (nw.Date, nw.Datetime) else Numeric(days_of(series))
    return Numeric(_floats(series))


def _texts(series: Any) -> NDArray[Any]:
    return np.array([None if _is_missing(value) else str(value) for value in series.to_list()], dtype=object)


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _floats(series: Any) -> NDArray[np.float64]:
    if series.dtype.is_float() or (series.dtype.is_integer() and not series.null_count()):
        return np.array(series.to_numpy(), dtype=np.float64)  # without an object for every cell
    return np.array([np.nan if value is None else float(value) for value in series.to_list()])
