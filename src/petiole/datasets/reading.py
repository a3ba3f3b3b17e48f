"""Reading the user's own files into frames whose columns are numeric or categorical."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from numpy.typing import NDArray

from petiole._table.number_texts import DECIMALS, THOUSANDS
from petiole._table.table_format import ATTRIBUTE, TableFormat
from petiole._validation import did_you_mean
from petiole.datasets.arff_files import looks_like_arff, read_arff
from petiole.datasets.arrow_files import arrow_format, read_arrow
from petiole.datasets.cells import KINDS, check_skipped
from petiole.datasets.csv_files import read_recognised
from petiole.datasets.frames import make_frame
from petiole.datasets.recognising import ReadingOptions, ReadTable
from petiole.datasets.targets import doubts_about_classes, take_target
from petiole.datasets.text import PathOrFile, decode, read_bytes

# Unsupported formats, by their first bytes.
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
    missing: Collection[str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    separator: str | None = None,
    drop_missing_target: bool = False,
    target_bins: Sequence[float] | None = None,
    ignore_case: Collection[str] = (),
    like: Any = None,
) -> Any: ...
@overload
def read(
    path_or_file: PathOrFile,
    target: str,
    kinds: Mapping[str, str] | None = None,
    *,
    missing: Collection[str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    separator: str | None = None,
    drop_missing_target: bool = False,
    target_bins: Sequence[float] | None = None,
    ignore_case: Collection[str] = (),
    like: Any = None,
) -> tuple[Any, NDArray[Any]]: ...
def read(
    path_or_file: PathOrFile,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
    *,
    missing: Collection[str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    separator: str | None = None,
    drop_missing_target: bool = False,
    target_bins: Sequence[float] | None = None,
    ignore_case: Collection[str] = (),
    like: Any = None,
) -> Any:
    """Read a CSV, Parquet, Feather or ARFF file; the format is found from its content.

    CSV needs a header line; commas, semicolons, tabs and pipes separate cells, and cells may be quoted. CSV and ARFF
    may be gzipped and must be UTF-8; for another encoding, open the file yourself and pass it. A line that cannot be
    read is an error that names the line.

    Numbers are recognised with decimal commas, separated thousands, currencies, percent signs and units (if all cells
    have the same), and dates in the usual spellings. If at most 2 % of the cells of a column are neither, these cells
    count as missing. A warning says what was recognised, and where.

    Parameters
    ----------
    path_or_file : path, or an open file, text or binary
    target : str, default=None
        The column with the labels. It is removed from the frame and returned separately.
    kinds : dict from column to "numeric", "nominal" or "date", default=None
        Kinds of columns that would be guessed wrongly, such as codes 1, 2, 3 for three towns; "nominal" means
        categorical. A numeric column whose cells are not all numbers is an error.
    missing : collection of str, default=None
        Texts of CSV cells that mean a missing value, instead of the usual ones: the empty cell, "?", and what pandas
        takes as missing ("NA", "N/A", "null", "None", "nan", ...). In a numeric column, "nan" and "-" always mean a
        missing value. In ARFF it is the unquoted "?", and the other formats have their own missing values.
    decimal, thousands, separator : str, default=None
        The decimal sign ("." or ","), the thousands separator and the separator of cells, if recognised wrongly.
    drop_missing_target : bool, default=False
        Leave out rows without a label, which are otherwise an error.
    target_bins : sequence of float, default=None
        Cut a numeric target into classes at these numbers; see :func:`cut_into_classes`.
    ignore_case : collection of str, default=()
        Columns of names, or of labels, in which "YES", "Yes" and "yes" are the same; they are read in small letters.
    like : fitted classifier, or frame of pandas, default=None
        Read the cells in the same way as an earlier file: the one to which the classifier was fitted, or from which
        the frame was read.

    Returns
    -------
    X : frame of pandas, else polars, else pyarrow
        Numeric columns are floats, categorical ones have the categorical type of the library, dates its datetimes.
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
    check_signs(decimal, thousands, separator)
    earlier = find_format(like)
    options = ReadingOptions(
        check_kinds(kinds) if earlier is None else _kinds_of(like) | check_kinds(kinds),
        _checked_markers(missing),
        separator,
        decimal,
        thousands,
        target,
        target_bins is not None,
        earlier,
        ignore_case=_checked_names(ignore_case),
    )
    table = parse_columns(data, file, options)
    for parameter, names in (("kinds", kinds or ()), ("ignore_case", ignore_case)):
        for name in names:
            if name not in table.columns:
                hint = nearest(name, table.columns)
                raise ValueError(f"{parameter} names {name!r}, but {file} has no such column; {hint}")
    _warn(table.findings, file)
    if target is None:
        return _framed(table)
    n_before = len(table.findings)
    taken = take_target(table, target, file, drop_missing=drop_missing_target, bins=target_bins)
    _warn([*taken.table.findings[n_before:], *doubts_about_classes(taken.labels, target)], file)
    return _framed(taken.table), taken.labels.labels()


def _warn(findings: Sequence[str], file: str) -> None:
    if findings:
        warnings.warn(f"{file}: " + "; ".join(findings), UserWarning, stacklevel=3)


def find_format(like: Any) -> TableFormat | None:
    """The format of the table from which a fitted classifier or a frame of pandas comes, or None."""
    if like is None:
        return None
    kept = getattr(like, "attrs", {}).get(ATTRIBUTE) if _is_frame(like) else _encoder_of(like).table_format
    return TableFormat.from_dict(kept or {})


def _is_frame(like: Any) -> bool:
    return isinstance(getattr(like, "attrs", None), dict) and hasattr(like, "columns")


def _encoder_of(model: Any) -> Any:
    while model is not None and not hasattr(model, "encoder_"):
        model = getattr(model, "estimator_", None) or getattr(model, "estimator", None)
    if model is None:
        raise TypeError("like: must be a fitted classifier of petiole, or a frame of pandas that read() has returned")
    return model.encoder_


def _kinds_of(like: Any) -> dict[str, str]:
    """The kinds of the columns of an earlier table, as far as they have names."""
    if _is_frame(like):
        return {str(name): _kind_of_dtype(dtype) for name, dtype in like.dtypes.items()}
    encoder = _encoder_of(like)
    return dict(zip(encoder.input_names or (), encoder.kinds, strict=False))


def _kind_of_dtype(dtype: Any) -> str:
    return {"M": "date", "O": "nominal"}.get(dtype.kind, "numeric")


def check_signs(decimal: str | None, thousands: str | None, separator: str | None) -> None:
    """Refuse signs that are not allowed in numbers and cells."""
    if decimal is not None and decimal not in DECIMALS:
        raise ValueError(f"decimal={decimal!r}: must be '.' or ','")
    if thousands is not None and (thousands not in THOUSANDS or thousands == decimal):
        raise ValueError(f"thousands={thousands!r}: must be one of {THOUSANDS} and not the decimal sign")
    if separator is not None and (not isinstance(separator, str) or len(separator) != 1 or separator in '"\n\r'):
        raise ValueError(f"separator={separator!r}: must be one character, such as ';'")


def _framed(table: ReadTable) -> Any:
    """A frame; one of pandas stores how it was read."""
    frame = make_frame(table.columns)
    kept = table.format.as_dict()
    if kept and hasattr(frame, "attrs"):
        frame.attrs[ATTRIBUTE] = kept
    return frame


def _checked_markers(missing: Any) -> Any:
    if isinstance(missing, str):
        raise TypeError(f"missing={missing!r}: must be a collection of strings: for one, write [{missing!r}]")
    return missing


def _checked_names(names: Any) -> Any:
    if isinstance(names, str):
        raise TypeError(f"ignore_case={names!r}: must be a collection of columns: for one, write [{names!r}]")
    return names


def check_kinds(kinds: Any) -> dict[str, str]:
    """Refuse anything but "numeric", "nominal" and "date"."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise TypeError(f"kinds={kinds!r}: must be a dict from the name of a column to 'numeric', 'nominal' or 'date'")
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ValueError(f"kinds[{name!r}]={kind!r}: must be 'numeric', 'nominal' or 'date'")
    return dict(kinds)


def parse_columns(data: bytes, file: str, options: ReadingOptions, skipped: Collection[str] = ()) -> ReadTable:
    """Read the unpacked content of a file; the columns named in ``skipped`` are left out, whatever they contain."""
    options = replace(options, ignored=frozenset(skipped))
    if arrow_format(data):
        return read_arrow(data, file, options, skipped)
    for magic, what in FOREIGN.items():
        if data.startswith(magic):
            raise ValueError(
                f"{file} is {what}, which is not supported: save it as CSV (plain or gzip), Parquet or ARFF"
            )
    text = decode(data, file)
    if file.lower().endswith((".arff", ".arff.gz")) or looks_like_arff(text):
        table = ReadTable(read_arff(text.replace("\r\n", "\n").replace("\r", "\n"), file, options.kinds))
    else:
        table = read_recognised(text, file, options)
    check_skipped(skipped, table.columns, file)
    return replace(table, columns={name: column for name, column in table.columns.items() if name not in skipped})


def nearest(name: str, columns: Collection[str]) -> str:
    """A hint about a name that is not a column: the nearest column, or all of them.

    >>> nearest("colour", ["size", "color"])
    "did you mean 'color'?"
    """
    shown = ", ".join(map(repr, [*columns][:8]))
    return did_you_mean(name, columns, f"its columns are {shown}{', ...' if len(columns) > 8 else ''}")
