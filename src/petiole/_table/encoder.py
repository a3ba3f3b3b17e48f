"""Encodes the user's table as the float matrix that the core reads."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._table.columns import (
    CategoricalColumn,
    ColumnKind,
    EmptyColumn,
    NumericColumn,
    encode_column,
    learn_column,
)
from petiole._table.dates import PARTS, DateColumn, part_text
from petiole._table.frames import (
    Array,
    Names,
    Table,
    as_float_matrix,
    is_ready,
    iter_columns,
    read_table,
    reject_infinity,
)
from petiole._table.table_format import ATTRIBUTE, check_table_format
from petiole._validation import did_you_mean
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import Savable

INDEX_IN_FILES = "Unnamed: 0"  # the name that pandas gives to a first column without one
_KINDS: dict[str, Any] = {
    "numeric": NumericColumn,
    "nominal": CategoricalColumn,
    "empty": EmptyColumn,
    "date": DateColumn,
}
_PARTS = {"nominal": "categories", "date": "parts"}  # what is kept besides the kind


def _kind_name(column: ColumnKind) -> str:
    return next(name for name, cls in _KINDS.items() if type(column) is cls)


def _saved_column(column: ColumnKind) -> dict[str, Any]:
    kind = _kind_name(column)
    return {"kind": kind} | ({_PARTS[kind]: getattr(column, _PARTS[kind])} if kind in _PARTS else {})


def _check_saved_column(column: Any) -> None:
    require(isinstance(column, dict) and column.get("kind") in _KINDS, f"must have a kind, one of {list(_KINDS)}")
    part = _PARTS.get(column["kind"])
    require(set(column) == {"kind", *([part] if part else [])}, "must have categories if nominal, parts if a date")
    if part == "parts":
        checks.texts(column["parts"])
        known = [name for name in PARTS if name in column["parts"]]
        require(known and known == column["parts"], f"parts: must be some of {[*PARTS]}, in this order")
    elif part == "categories":
        checks.labels(column["categories"])
        sorts = (
            column["categories"].dtype.kind in "biuf"
        )  # categories of these types use binary search, others a dictionary
        require(not sorts or checks.increasing(column["categories"]), "categories must be sorted")


def _column_again(column: dict[str, Any]) -> ColumnKind:
    kind: ColumnKind = _KINDS[column["kind"]](*(column[name] for name in column if name != "kind"))
    return kind


class FeatureEncoder(Savable):
    """Encodes a table as one float matrix.

    Numeric columns stay as they are, categorical columns become category codes, dates become a feature for each of
    their parts that varies, missing values become NaN. A category that did not occur in training counts as missing.

    ``owner`` is the class that error messages should name.

    Attributes
    ----------
    n_inputs, input_names : int, and a list of str or None if the training data had no names
        The columns of the user's table.
    columns : list of NumericColumn, CategoricalColumn, DateColumn or EmptyColumn
        What was learned about each of them.
    n_features, feature_names : int, and list of str or None
        The columns of the matrix, of which a date has several.
    categories : list with one entry per feature
        The sorted categories of a categorical feature, None for a numeric one.
    n_categories : int32 array
        Number of categories of each feature, 0 for a numeric one.
    table_format : dict or None
        How the cells were read, if the table was read from a file.
    reference : Reference of petiole.monitoring, or None
        What is kept of the training rows, so that later rows can be compared with them.

    Examples
    --------
    >>> encoder, matrix = FeatureEncoder.fit([[1.5, "red"], [2.5, "blue"], [None, "red"]])
    >>> matrix
    array([[1.5, 1. ],
           [2.5, 0. ],
           [nan, 1. ]])
    >>> encoder.transform([[3, "green"]])
    array([[ 3., nan]])
    """

    _saved = fields(
        owner=checks.text,
        feature_names=checks.none_or(checks.texts),
        columns=checks.list_of(_check_saved_column),
        table_format=maybe(check_table_format),
        reference=maybe(checks.instance_of("Reference")),
    )

    def __init__(self, columns: list[ColumnKind], feature_names: Names, owner: str = "FeatureEncoder") -> None:
        self.owner = owner
        self.columns = columns
        self.n_inputs = len(columns)
        self.widths = [len(column.parts) if isinstance(column, DateColumn) else 1 for column in columns]
        self.n_features = sum(self.widths)
        self.name_inputs(feature_names)
        self.table_format: dict[str, Any] | None = None
        self.reference: Any = None
        self.categories: list[Array | None] = [
            column.categories for column, width in zip(columns, self.widths, strict=True) for _ in range(width)
        ]
        self.n_categories: NDArray[np.int32] = np.array(
            [0 if categories is None else len(categories) for categories in self.categories], dtype=np.int32
        )
        self._all_numeric = not self.n_categories.any() and self.n_features == self.n_inputs

    def name_inputs(self, names: Names) -> None:
        """Set the names of the user's columns."""
        self.input_names = names
        self.feature_names: Names = None
        if names is not None:
            pairs = zip(names, self.columns, strict=True)
            named = [column.names(name) if isinstance(column, DateColumn) else [name] for name, column in pairs]
            self.feature_names = [name for of_column in named for name in of_column]

    @property
    def kinds(self) -> list[str]:
        """The kind of each of the user's columns: "numeric", "nominal", "date" or "empty"."""
        return [_kind_name(column) for column in self.columns]

    def reads_alike(self, other: FeatureEncoder) -> bool:
        """Whether the other encoder has the same column names and encodes every value as the same number."""
        return (
            self.feature_names == other.feature_names
            and self.n_categories.tolist() == other.n_categories.tolist()
            and all(
                one is two or (one is not None and two is not None and one.tolist() == two.tolist())
                for one, two in zip(self.categories, other.categories, strict=True)
            )
        )

    @classmethod
    def fit(
        cls, X: Any, categorical_features: Any = "from_dtype", owner: str = "FeatureEncoder"
    ) -> tuple[FeatureEncoder, Array]:
        """Learn the columns of the training data; return the encoder and the encoded training data."""
        table, names = read_table(X)
        categorical = choose_categorical(categorical_features, table.shape[1], names)
        columns, matrix = _learn_columns(table, names, categorical)
        _warn_of_an_index(names, columns, matrix)
        encoder = cls(columns, names, owner)
        reject_infinity(matrix, encoder.feature_names)
        encoder.table_format = _format_of(X)
        return encoder, matrix

    def _saved_state(self) -> dict[str, Any]:
        columns = [_saved_column(column) for column in self.columns]
        state: dict[str, Any] = {"owner": self.owner, "feature_names": self.input_names, "columns": columns}
        if self.table_format:
            state["table_format"] = self.table_format
        if getattr(self, "reference", None) is not None:
            state["reference"] = self.reference
        return state

    def _check_state(self, state: dict[str, Any]) -> None:
        names = state["feature_names"]
        require(names is None or len(names) == len(state["columns"]), "feature_names: must be one per column")
        if "reference" in state:
            encoder = FeatureEncoder([_column_again(column) for column in state["columns"]], names)
            require(state["reference"].fits(encoder), "reference: must be about the same columns")

    def _restore(self, state: dict[str, Any]) -> None:
        columns = [_column_again(column) for column in state["columns"]]
        self.__init__(columns, state["feature_names"], state["owner"])  # type: ignore[misc]
        self.table_format = state.get("table_format")
        self.reference = state.get("reference")

    @property
    def date_parts(self) -> list[str | None]:
        """For each feature which part of a date it is, None if it is none."""
        parts: list[str | None] = []
        for column in self.columns:
            parts += column.parts if isinstance(column, DateColumn) else [None]
        return parts

    def value_text(self, feature: int, value: float) -> str:
        """A cell of the matrix as text: the name of a category, a date, a number.

        >>> encoder, matrix = FeatureEncoder.fit([[1.5, "red"], [2.5, "blue"], [None, "red"]])
        >>> encoder.value_text(0, 1.5), encoder.value_text(1, 1.0), encoder.value_text(0, float("nan"))
        ('1.5', 'red', 'missing')
        """
        if np.isnan(value):
            return "missing"
        categories, part = self.categories[feature], self.date_parts[feature]
        if categories is not None:
            return str(categories[int(value)])
        return f"{value:.6g}" if part is None else part_text(part, value)

    def date_text(self, feature: int, value: float) -> str | None:
        """A number of a feature that is a part of a date, in words; None of other features."""
        part = self.date_parts[feature]
        return None if part is None else part_text(part, value)

    def transform(self, X: Any) -> Array:
        """Encode new data by the columns of the training data, taken by position."""
        # The case of a single row at prediction time comes first, because it has to be fast.
        if self._all_numeric and type(X) is np.ndarray and is_ready(X) and X.shape[1] == self.n_features:
            reject_infinity(X, self.feature_names)
            return X
        matrix = self._encode(X)
        reject_infinity(matrix, self.feature_names)
        return matrix

    def _encode(self, X: Any) -> Array:
        table, names = read_table(X)
        if table.shape[1] != self.n_inputs:
            raise ValueError(
                f"X has {table.shape[1]} features, but {self.owner} is expecting {self.n_inputs} "
                "features as input: give the same columns as in fit, in the same order"
            )
        if self._all_numeric and isinstance(table, np.ndarray) and table.dtype.kind in "biuf":
            return as_float_matrix(table)
        matrix = np.empty((table.shape[0], self.n_features), order="F")
        ends = np.cumsum(self.widths).tolist()
        for index, column in enumerate(iter_columns(table, names or self.input_names)):
            encoded = encode_column(self.columns[index], column)
            matrix[:, ends[index] - self.widths[index] : ends[index]] = encoded.reshape(len(matrix), -1)
        return matrix


def choose_categorical(categorical_features: Any, n_features: int, names: Names) -> Sequence[bool | None]:
    """Return for each column whether it is categorical: True, False, or None where its dtype or values decide.

    >>> choose_categorical(["city"], 2, ["age", "city"])
    [False, True]
    """
    if categorical_features is None:
        return [False] * n_features
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return [None] * n_features
    entries = _as_entries(categorical_features)
    if all(isinstance(entry, (bool, np.bool_)) for entry in entries) and entries:
        return _categorical_by_mask(entries, n_features)
    if all(isinstance(entry, numbers.Integral) and not isinstance(entry, bool) for entry in entries):
        return _categorical_by_index(entries, n_features)
    if all(isinstance(entry, str) for entry in entries):
        return _categorical_by_name(entries, n_features, names)
    raise _bad_categorical_features(categorical_features)


def _learn_columns(table: Table, names: Names, categorical: Sequence[bool | None]) -> tuple[list[ColumnKind], Array]:
    if isinstance(table, np.ndarray) and _is_numeric_throughout(table, categorical):
        return [NumericColumn() for _ in categorical], as_float_matrix(table)
    columns: list[ColumnKind] = []
    matrix = np.empty(table.shape, order="F")
    dates: dict[int, Array] = {}
    for index, column in enumerate(iter_columns(table, names)):
        kind, encoded = learn_column(column, categorical[index])
        columns.append(kind)
        if encoded.ndim == 2:
            dates[index] = encoded
        else:
            matrix[:, index] = encoded
    return columns, _with_parts(matrix, dates) if dates else matrix


def _warn_of_an_index(names: Names, columns: list[ColumnKind], matrix: Array) -> None:
    """Warn of a column that pandas has made of the index in a file, which says nothing about later rows."""
    if not names or names[0] != INDEX_IN_FILES or not isinstance(columns[0], NumericColumn) or len(names) < 2:
        return
    if len(matrix) > 1 and (np.diff(matrix[:, 0]) == 1).all():
        warnings.warn(
            f"column {INDEX_IN_FILES!r} counts the rows, as the index that pandas writes into a file, and is a feature "
            "now: leave it out, or read the file with pandas.read_csv(..., index_col=0) or petiole.datasets.read",
            UserWarning,
            stacklevel=2,
        )


def _with_parts(matrix: Array, dates: dict[int, Array]) -> Array:
    """The matrix with the columns of each date in its place."""
    parts = [dates.get(index, matrix[:, index : index + 1]) for index in range(matrix.shape[1])]
    return np.asfortranarray(np.concatenate(parts, axis=1))


def _format_of(X: Any) -> dict[str, Any] | None:
    """How the file of a pandas frame was read."""
    attributes = getattr(X, "attrs", None)
    found = attributes.get(ATTRIBUTE) if isinstance(attributes, dict) else None
    return found if isinstance(found, dict) else None


def _is_numeric_throughout(array: Array, categorical: Sequence[bool | None]) -> bool:
    if array.dtype.kind == "b":  # truth values are categorical unless the user says otherwise
        return all(flag is False for flag in categorical)
    return array.dtype.kind in "iuf" and not any(categorical)


def _as_entries(categorical_features: Any) -> list[Any]:
    if isinstance(categorical_features, (str, bytes, dict)):
        raise _bad_categorical_features(categorical_features)
    try:
        return list(categorical_features)
    except TypeError:
        raise _bad_categorical_features(categorical_features) from None


def _categorical_by_mask(mask: list[Any], n_features: int) -> list[bool]:
    if len(mask) != n_features:
        raise ValueError(
            f"categorical_features={mask!r}: the mask has {len(mask)} entries, but X has {n_features} "
            "features; give one True or False per column"
        )
    return [bool(flag) for flag in mask]


def _categorical_by_index(indices: list[Any], n_features: int) -> list[bool]:
    for index in indices:
        if not 0 <= index < n_features:
            raise ValueError(
                f"categorical_features={indices!r}: there is no column {index}; X has {n_features} features, "
                f"use 0 to {n_features - 1}"
            )
    return [index in set(map(int, indices)) for index in range(n_features)]


def _categorical_by_name(wanted: list[str], n_features: int, names: Names) -> list[bool]:
    if names is None:
        raise ValueError(
            f"categorical_features={wanted!r}: X has no column names (all strings); "
            "give column indices, or a data frame"
        )
    for name in wanted:
        if name not in names:
            hint = did_you_mean(name, names, f"the columns are {_shorten(names)}")
            raise ValueError(f"categorical_features={wanted!r}: X has no column {name!r}; {hint}")
    return [name in set(wanted) for name in names]


def _shorten(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:10]))
    return f"{shown}, ..." if len(names) > 10 else shown


def _bad_categorical_features(value: Any) -> ValueError:
    hint = f" (for one column, write [{value!r}])" if isinstance(value, (str, numbers.Integral)) else ""
    return ValueError(
        f"categorical_features={value!r}: must be 'from_dtype', None, a list of column names, a list of "
        f"column indices or a boolean mask{hint}"
    )
