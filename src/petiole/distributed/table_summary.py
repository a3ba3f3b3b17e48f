"""Summaries of the parts of a table: columns, categories, classes, quantiles. They can be added up.

A part may lack a class, a category or all values of a column. Parts that contradict each other are refused, and the
error names both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from petiole._table.columns import (
    CategoricalColumn,
    Column,
    ColumnKind,
    EmptyColumn,
    NumericColumn,
    find_categories,
    learn_column,
)
from petiole._table.dates import DateColumn
from petiole._table.encoder import FeatureEncoder, choose_categorical
from petiole._table.frames import Array, Names, iter_columns, read_table, reject_infinity
from petiole._table.labels import Codes, check_same_length, check_weights, encode_labels
from petiole._table.rows import rows_that_count
from petiole._table.weights import ROUNDING, check_counts, common_measure
from petiole.distributed.quantile_sketch import QuantileSketch

Floats = npt.NDArray[np.float64]

# Weights up to this can be summed over any number of rows.
MOST_WEIGHT = 1e290


@dataclass(frozen=True)
class ColumnSurvey:
    """The kind of a column: "numeric", "categorical", or "empty" (no value was seen); ``part`` is where it was seen."""

    kind: str
    categories: Array | None
    part: int
    sketch: QuantileSketch | None = None
    n_missing: float = 0.0

    def merged(self, other: ColumnSurvey, name: Any) -> ColumnSurvey:
        """Both parts together."""
        sketches = [survey.sketch for survey in (self, other) if survey.sketch is not None]
        sketch = None if not sketches else sketches[0] if len(sketches) == 1 else sketches[0] + sketches[1]
        known = replace(
            other if self.kind == "empty" else self, sketch=sketch, n_missing=self.n_missing + other.n_missing
        )
        if "empty" in (self.kind, other.kind):
            return known
        if self.kind != other.kind:
            raise ValueError(
                f"partition {other.part}: column {name!r} is {other.kind}, but {self.kind} in partition {self.part}: "
                "give it one dtype throughout, or name the categorical columns in categorical_features"
            )
        if self.categories is None:
            return known
        assert other.categories is not None
        return replace(known, categories=_union(self.categories, other.categories))

    def as_kind(self) -> ColumnKind:
        """The column in the form for an encoder."""
        if self.kind == "categorical":
            assert self.categories is not None
            return CategoricalColumn(self.categories)
        return NumericColumn() if self.kind == "numeric" else EmptyColumn()


@dataclass(frozen=True)
class Survey:
    """A summary of the parts seen so far; ``n_rows`` has the rows of positive weight in each."""

    names: Names
    columns: list[ColumnSurvey]
    classes: Array
    class_weights: Floats
    n_rows: dict[int, int]
    example: Any
    single: bool
    most_weight: float
    # Of which all weights are whole multiples; 0 if there is none.
    weight_measure: float
    least_weight: float
    first_part: int

    def __add__(self, other: Survey) -> Survey:
        _check_columns(self, other)
        columns = [
            one.merged(two, self.names[i] if self.names else i)
            for i, (one, two) in enumerate(zip(self.columns, other.columns, strict=True))
        ]
        classes, weights = _merged_classes(self, other)
        return Survey(
            self.names,
            columns,
            classes,
            weights,
            self.n_rows | other.n_rows,
            self.example,
            self.single and other.single,
            max(self.most_weight, other.most_weight),
            _merged_measure(self.weight_measure, other.weight_measure),
            min(self.least_weight, other.least_weight),
            self.first_part,
        )

    def weight_unit(self, meaning: str) -> float:
        """The weight that is one row, see :mod:`petiole._table.weights`."""
        total = float(self.class_weights.sum())
        if meaning == "counts":
            check_counts(self.most_weight, total)
            return 1.0
        if meaning == "auto" and self.weight_measure >= (1.0 - ROUNDING) * self.least_weight:
            return self.least_weight
        return total / sum(self.n_rows.values())

    def measured(self, unit: float) -> Survey:
        """The same with weights in rows."""
        columns = [replace(column, n_missing=column.n_missing / unit) for column in self.columns]
        return replace(
            self,
            columns=columns,
            class_weights=self.class_weights / unit,
            most_weight=self.most_weight / unit,
            weight_measure=self.weight_measure / unit,
            least_weight=self.least_weight / unit,
        )

    @property
    def whole_weights(self) -> bool:
        """Whether all weights are whole numbers."""
        nearest = np.rint(self.weight_measure)
        return bool(nearest >= 1 and abs(self.weight_measure - nearest) <= ROUNDING * nearest)

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def encoder(self, owner: str) -> FeatureEncoder:
        """An encoder that reads every part in the same way."""
        return FeatureEncoder([column.as_kind() for column in self.columns], self.names, owner)


@dataclass(frozen=True)
class RowsOfPart:
    """Rows of positive weight of one part, as passed."""

    X: Any
    y: Any
    weights: Floats | None


def take(values: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Some rows of anything that has rows."""
    if type(values).__module__.startswith("pyarrow"):
        return values.take(rows)
    return _safe_indexing(values, rows)


def kept_rows(X: Any, y: Any, sample_weight: Any, part: int) -> RowsOfPart | None:
    """The rows of positive weight; None if there are none. An error names the part."""
    n_rows = 0 if X is None else len(X)
    if n_rows == 0:
        return None
    with named(part):
        check_same_length(n_rows, len(y))
        weights = None if sample_weight is None else _weights_of_part(sample_weight, n_rows)
    kept = rows_that_count(weights)
    if kept is None or weights is None:
        return RowsOfPart(X, y, weights)
    return RowsOfPart(take(X, kept), take(y, kept), weights[kept]) if len(kept) else None


def survey_rows(
    rows: RowsOfPart | None,
    part: int,
    categorical_features: Any,
    *,
    sketches: bool = False,
    capacity: int | None = None,
) -> Survey | None:
    """Summarise one part; None if it has no rows."""
    if rows is None:
        return None
    with named(part):
        table, names = read_table(rows.X)
        categorical = choose_categorical(categorical_features, table.shape[1], names)
        columns = [
            _survey_column(column, categorical[i], part, rows.weights, capacity if sketches else 0)
            for i, column in enumerate(iter_columns(table, names))
        ]
        classes, codes = encode_labels(rows.y, warn=False)
    weights = np.bincount(codes, rows.weights, minlength=len(classes)).astype(np.float64)
    single = isinstance(table, np.ndarray) and table.dtype == np.float32
    example = take(rows.X, np.arange(1))
    given = np.ones(1) if rows.weights is None else rows.weights
    scale = (float(given.max()), common_measure(given), float(given.min()))
    return Survey(names, columns, classes, weights, {part: len(codes)}, example, single, *scale, part)


def merged(surveys: Sequence[Survey | None]) -> Survey | None:
    """The surveys of several parts together."""
    present = [survey for survey in surveys if survey is not None]
    return None if not present else sum(present[1:], start=present[0])


def encode_part(rows: RowsOfPart, survey: Survey, encoder: FeatureEncoder, part: int) -> tuple[Array, Codes]:
    """A part as float matrix and class codes, in the coding that all parts share."""
    with named(part):
        matrix = encoder.transform(rows.X)
        classes, codes = encode_labels(rows.y, warn=False)
    code_of = {label: code for code, label in enumerate(survey.classes.tolist())}
    return matrix, np.array([code_of[label] for label in classes.tolist()], dtype=np.int32)[codes]


class named:
    """A context in which errors name the part of the data in which they occur."""

    def __init__(self, part: int) -> None:
        self.part = part

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, (ValueError, TypeError)):
            raise type(error)(f"partition {self.part}: {error}") from error


def _weights_of_part(sample_weight: Any, n_rows: int) -> Floats | None:
    # A part may have nothing but rows of weight zero; all parts together may not.
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape == (n_rows,) and not weights.any():
        return weights
    if weights.size and weights.max() > MOST_WEIGHT:
        raise ValueError(
            f"sample_weight is up to {weights.max():.3g}, so that sums over all parts may be infinite: divide the "
            "weights by a constant"
        )
    return check_weights(sample_weight, n_rows)


def _survey_column(
    column: Column, categorical: bool | None, part: int, weights: Floats | None, capacity: int | None
) -> ColumnSurvey:
    kind, encoded = learn_column(column, categorical)
    if isinstance(kind, DateColumn):
        raise TypeError(f"{column} holds dates, which are not read in parts: convert it to numbers first")
    lost = np.isnan(encoded)
    n_missing = float(lost.sum() if weights is None else weights[lost].sum())
    if kind.categories is not None:
        return ColumnSurvey("categorical", kind.categories, part, None, n_missing)
    if isinstance(kind, EmptyColumn):
        return ColumnSurvey("empty", None, part, None, n_missing)
    reject_infinity(
        np.asarray(encoded, dtype=np.float64)[:, np.newaxis], None if isinstance(column.name, int) else [column.name]
    )
    sketch = None
    if capacity != 0:
        sketch = (
            QuantileSketch.of(encoded, weights) if capacity is None else QuantileSketch.of(encoded, weights, capacity)
        )
    return ColumnSurvey("numeric", None, part, sketch, n_missing)


def _union(one: Array, two: Array) -> Array:
    if one.dtype != two.dtype:
        one, two = one.astype(object), two.astype(object)
    return find_categories(Column("", np.concatenate([one, two])))


def _check_columns(one: Survey, two: Survey) -> None:
    if one.names == two.names and len(one.columns) == len(two.columns):
        return
    if one.names is None or two.names is None:
        raise ValueError(
            f"partition {two.first_part}: {len(two.columns)} columns, names {two.names}, but partition "
            f"{one.first_part} has {len(one.columns)}, names {one.names}: give every partition the same columns"
        )
    unknown = [name for name in two.names if name not in one.names]
    lacking = [name for name in one.names if name not in two.names]
    what = f"unknown column {unknown[0]!r}" if unknown else f"no column {lacking[0]!r}" if lacking else "another order"
    raise ValueError(
        f"partition {two.first_part}: {what}, unlike partition {one.first_part}: give every partition the same columns "
        "in the same order"
    )


def _merged_measure(one: float, two: float) -> float:
    return common_measure(np.array([one, two])) if one > 0 and two > 0 else 0.0


def _merged_classes(one: Survey, two: Survey) -> tuple[Array, Floats]:
    if one.classes.dtype == two.classes.dtype and one.classes.tolist() == two.classes.tolist():
        return one.classes, one.class_weights + two.class_weights
    with named(two.first_part):
        classes, codes = encode_labels(np.concatenate([one.classes, two.classes]), warn=False)
    weights = np.bincount(codes, np.concatenate([one.class_weights, two.class_weights]), minlength=len(classes))
    return classes, weights.astype(np.float64)
