"""Reading the user's own files into frames whose columns are numeric or categorical."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from petiole._validation import did_you_mean
from petiole.datasets.arff_files import looks_like_arff, read_arff
from petiole.datasets.arrow_files import arrow_format, read_arrow
from petiole.datasets.cells import KINDS, check_skipped
from petiole.datasets.columns import Values
from petiole.datasets.csv_files import read_csv
from petiole.datasets.frames import make_frame
from petiole.datasets.text import PathOrFile, decode, read_bytes

MISSING_MARKERS = ("", "?", "NA")
# Formats that people try, by their first bytes.
FOREIGN = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with zstandard",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x89HDF": "an HDF5 file",
}


@overload
def read(
    path_or_file: PathOrFile,
    target: None = None,
    kinds: Mapping[str, str] | None = None,
    *,
    missing: Collection[str] = MISSING_MARKERS,
) -> Any: ...
@overload
def read(
    path_or_file: PathOrFile,
    target: str,
    kinds: Mapping[str, str] | None = None,
    *,
    missing: Collection[str] = MISSING_MARKERS,
) -> tuple[Any, NDArray[Any]]: ...
def read(
    path_or_file: PathOrFile,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
    *,
    missing: Collection[str] = MISSING_MARKERS,
) -> Any:
    """Read a CSV, Parquet, Feather or ARFF file; the format is found from its content.

    CSV needs a header line; commas, semicolons and tabs separate cells, and cells may be quoted. CSV and ARFF may be
    gzipped and must be UTF-8; for another encoding open the file yourself and pass it. A line that cannot be read is an
    error that names it.

    Parameters
    ----------
    path_or_file : path, or an open file, text or binary
    target : str, default=None
        The column with the labels. It is removed from the frame and returned separately.
    kinds : dict from column to "numeric" or "nominal", default=None
        Kinds of columns that would be guessed wrongly, such as codes 1, 2, 3 for three towns; "nominal" means
        categorical. A column that is not named here is numeric if the file says so (ARFF, Parquet, Feather) or if all
        its cells are numbers (CSV).
    missing : collection of str, default=("", "?", "NA")
        Texts of CSV cells that mean a missing value; "nan" in a numeric column always does. In ARFF it is the unquoted
        "?", and the other formats have a missing value of their own.

    Returns
    -------
    X : frame of pandas, else polars, else pyarrow
        Numeric columns are floats, categorical ones have the categorical type of the library.
    y : array, only with a ``target``
        Strings, or whole numbers if every label is one.

    Examples
    --------
    >>> import io
    >>> X, y = read(io.StringIO("size,colour,toy\\n1.5,red,ball\\n?,blue,doll\\n"), target="toy")
    >>> X
       size colour
    0   1.5    red
    1   NaN   blue
    >>> y
    array(['ball', 'doll'], dtype='<U4')
    """
    data, file = read_bytes(path_or_file)
    columns = parse_columns(data, file, check_kinds(kinds), missing)
    for name in kinds or ():
        if name not in columns:
            raise ValueError(f"kinds names {name!r}, but {file} has no such column; {nearest(name, columns)}")
    if target is None:
        return make_frame(columns)
    labels = _take_target(columns, target, file)
    return make_frame(columns), labels


def check_kinds(kinds: Any) -> dict[str, str]:
    """Refuse anything but "numeric" and "nominal"."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise TypeError(f"kinds={kinds!r}: must be a dict from the name of a column to 'numeric' or 'nominal'")
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ValueError(f"kinds[{name!r}]={kind!r}: must be 'numeric' or 'nominal'")
    return dict(kinds)


def parse_columns(
    data: bytes, file: str, kinds: Mapping[str, str], missing: Collection[str], skipped: Collection[str] = ()
) -> dict[str, Values]:
    """Read the content of a file, unpacked; the columns named in ``skipped`` are left out, whatever is in them."""
    if isinstance(missing, str):
        raise TypeError(f"missing={missing!r}: must be a collection of strings: for one, write [{missing!r}]")
    if arrow_format(data):
        return read_arrow(data, file, kinds, skipped)
    for magic, what in FOREIGN.items():
        if data.startswith(magic):
            raise ValueError(f"{file} is {what}, which is not read: save it as CSV (plain or gzip), Parquet or ARFF")
    text = decode(data, file)
    if file.lower().endswith((".arff", ".arff.gz")) or looks_like_arff(text):
        columns = read_arff(text.replace("\r\n", "\n").replace("\r", "\n"), file, kinds)
    else:
        columns = read_csv(text, file, kinds, frozenset(missing))
    check_skipped(skipped, columns, file)
    return {name: column for name, column in columns.items() if name not in skipped}


def _take_target(columns: dict[str, Values], target: str, file: str) -> NDArray[Any]:
    if target not in columns:
        raise ValueError(f"target={target!r}: {file} has no such column; {nearest(target, columns)}")
    column = columns.pop(target)
    if not columns:
        raise ValueError(f"target={target!r}: {file} has no other column: there is nothing to predict it from")
    if column.is_missing.any():
        row = int(np.argmax(column.is_missing))
        count = int(column.is_missing.sum())
        raise ValueError(
            f"target={target!r}: {count} of {len(column)} rows of {file} have no class, the first is row {row + 1} "
            "after the header: remove them"
        )
    return column.labels()


def nearest(name: str, columns: Collection[str]) -> str:
    """A hint about a name that is none of the columns: the nearest one, or all of them.

    >>> nearest("colour", ["size", "color"])
    "did you mean 'color'?"
    """
    shown = ", ".join(map(repr, [*columns][:8]))
    return did_you_mean(name, columns, f"its columns are {shown}{', ...' if len(columns) > 8 else ''}")
