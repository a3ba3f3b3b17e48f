"""What is in the data: rows, classes, and one line per column."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole.study.data import Table

MOST_COMMON = 5  # categories that are named


def summarise(table: Table) -> dict[str, Any]:
    """A JSON-able summary of the rows, the classes and the columns.

    >>> from petiole.study.data import read_table_of_study
    >>> summary = summarise(read_table_of_study([["red", 1.5], ["blue", None], ["red", 2.5]], ["a", "b", "a"], None))
    >>> summary["n_rows"], summary["class_weights"], summary["n_missing"]
    (3, [2.0, 1.0], 1)
    >>> summary["columns"][0]
    {'name': 'x0', 'kind': 'nominal', 'n_missing': 0, 'n_distinct': 2, 'common': [['red', 2], ['blue', 1]]}
    """
    rows, shape = table.rows, table.shape
    weights = np.bincount(rows.labels, rows.weights, minlength=shape.n_classes)
    return {
        "n_rows": shape.n_rows,
        "n_attributes": shape.n_features,
        "n_numeric": shape.n_numeric,
        "n_nominal": shape.n_features - shape.n_numeric,
        "n_missing": int(np.isnan(rows.matrix).sum()),
        "weighted": rows.weights is not None,
        "classes": table.labels(),
        "class_rows": np.bincount(rows.labels, minlength=shape.n_classes).tolist(),
        "class_weights": weights.astype(float).tolist(),
        "columns": [_column(table, column) for column in range(shape.n_features)],
    }


def _column(table: Table, column: int) -> dict[str, Any]:
    values = table.rows.matrix[:, column]
    known = values[~np.isnan(values)]
    distinct, counts = np.unique(known, return_counts=True)
    found: dict[str, Any] = {
        "name": table.names[column],
        "kind": "nominal" if table.is_categorical[column] else "numeric",
        "n_missing": len(values) - len(known),
        "n_distinct": len(distinct),
    }
    if table.is_categorical[column]:
        common = np.argsort(-counts, kind="stable")[:MOST_COMMON]
        return found | {"common": [[table.value_text(column, distinct[i]), int(counts[i])] for i in common]}
    if not len(known):
        return found
    quantiles = np.quantile(known, [0, 0.25, 0.5, 0.75, 1])
    found |= {"quantiles": [float(value) for value in quantiles]}
    if table.encoder.date_parts[column] is not None:
        found["quantile_texts"] = [table.value_text(column, float(value)) for value in quantiles]
    return found
