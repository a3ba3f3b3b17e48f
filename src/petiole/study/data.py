"""The table of a study, encoded once: a float matrix, class codes and weights, with names of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _num_samples

from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import Array
from petiole._table.labels import check_same_length, check_weights, encode_labels, label_codes
from petiole._table.rows import EncodedRows, rows_that_count
from petiole.study.methods import Shape


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a study with the names of columns, categories and classes.

    Categorical columns are codes in ``rows.matrix``; ``is_categorical`` says which. So folds, shuffled columns and
    other libraries all work on one numeric array.
    """

    rows: EncodedRows
    encoder: FeatureEncoder
    names: list[str]

    @property
    def classes(self) -> Array:
        return self.rows.classes

    @property
    def is_categorical(self) -> npt.NDArray[np.bool_]:
        return self.encoder.n_categories > 0

    @property
    def shape(self) -> Shape:
        n_features = self.rows.n_columns
        n_numeric = n_features - int(self.is_categorical.sum())
        return Shape(len(self.rows), n_features, n_numeric, len(self.classes), int(np.isnan(self.rows.matrix).sum()))

    def labels(self) -> list[Any]:
        """The classes as plain Python values."""
        return [plain(label) for label in self.classes.tolist()]

    def value_text(self, column: int, value: float) -> str:
        """A cell of the matrix as the user would write it.

        >>> table = read_table_of_study([["red", 1.5], ["blue", None]], ["a", "b"], None)
        >>> table.value_text(0, 1.0), table.value_text(1, 1.5), table.value_text(1, float("nan"))
        ('red', '1.5', 'missing')
        """
        return self.encoder.value_text(column, value)


def read_table_of_study(X: Any, y: Any, sample_weight: Any) -> Table:
    """Check and encode the data; rows of weight 0 are removed."""
    classes, codes = encode_labels(y)
    check_same_length(_num_samples(X), len(codes))
    weights = check_weights(sample_weight, len(codes))
    encoder, matrix = FeatureEncoder.fit(X, "from_dtype", "compare_methods")
    counted = rows_that_count(weights)
    kept = np.arange(len(codes)) if counted is None else counted
    present, kept_codes = np.unique(codes[kept], return_inverse=True)
    labels, weights = kept_codes.astype(np.int32), None if weights is None else weights[kept]
    if len(present) < 2:
        raise ValueError(f"y has one class, {classes[present].tolist()[0]!r}: there must be at least two; add rows")
    rows = EncodedRows(matrix[kept], labels, weights, encoder.n_categories, classes[present], kept)
    names = encoder.feature_names or [f"x{column}" for column in range(encoder.n_features)]
    return Table(rows, encoder, [str(name) for name in names])


def read_test_rows(test: Any, table: Table) -> EncodedRows:
    """The test rows, encoded like the training rows."""
    try:
        X, y, *rest = test
        (sample_weight,) = rest or [None]
    except (TypeError, ValueError):
        raise ValueError("test: must be (X, y) or (X, y, sample_weight)") from None
    codes = label_codes(y, table.classes, "test", remedy="remove these rows, or add some of this class to y")
    check_same_length(_num_samples(X), len(codes))
    weights = check_weights(sample_weight, len(codes))
    matrix = table.encoder.transform(X)
    rows = EncodedRows(matrix, codes, weights, table.encoder.n_categories, table.classes)
    kept = rows_that_count(weights)
    return rows if kept is None else rows.take(kept)


def plain(value: Any) -> Any:
    """A label as a type that JSON has."""
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return value
    return value.item() if hasattr(value, "item") else str(value)
