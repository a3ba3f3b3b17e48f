"""The inputs of an ONNX model: the user's columns, as one matrix of numbers and category codes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import EmptyColumn
from petiole._table.encoder import FeatureEncoder
from petiole.export.onnx_graph import ML, Graph
from petiole.export.refusal import ExportError

MISSING_CODE = -1  # of a category that is missing or unknown


def add_inputs(graph: Graph, encoder: FeatureEncoder) -> str:
    """One matrix ``X`` if all columns are numbers, else an input per column with the column's name.

    Columns without any value in training are always missing.
    """
    matrix = _add_columns(graph, encoder)
    is_empty = np.array([isinstance(column, EmptyColumn) for column in encoder.columns])
    if not is_empty.any():
        return matrix
    return graph.add("Where", graph.constant(is_empty), graph.constant(np.nan), matrix)


def _add_columns(graph: Graph, encoder: FeatureEncoder) -> str:
    if not encoder.n_categories.any():
        return graph.input("X", np.float64, encoder.n_features)
    names = encoder.feature_names or [f"x{index}" for index in range(encoder.n_features)]
    columns = []
    for name, categories in zip(names, encoder.categories, strict=True):
        if categories is None:
            columns.append(graph.input(str(name), np.float64, 1))
        else:
            columns.append(_codes(graph, str(name), categories))
    return graph.add("Concat", *columns, axis=1)


def _codes(graph: Graph, name: str, categories: npt.NDArray[Any]) -> str:
    """Category codes of a categorical column; what is not among the categories is missing."""
    values = categories.tolist()
    codes = np.arange(len(values), dtype=np.float32).tolist()
    if all(isinstance(value, str) for value in values):
        given, keys = graph.input(name, str, 1), {"keys_strings": values}
    elif all(isinstance(value, (bool, int, float)) and float(value).is_integer() for value in values):
        given, keys = graph.input(name, np.int64, 1), {"keys_int64s": [int(value) for value in values]}
    else:
        raise ExportError(
            f"column {name!r} has categories such as {values[0]!r}: ONNX looks up texts and whole numbers only; give "
            "the column one of these types and fit again"
        )
    encoded = graph.add(
        "LabelEncoder", given, domain=ML, values_floats=codes, default_float=float(MISSING_CODE), **keys
    )
    return graph.cast(encoded, np.float64)


def add_branch_columns(graph: Graph, matrix: str, tables: Sequence[tuple[int, tuple[int, ...]]]) -> str:
    """The matrix with a column for each (feature, branches of its codes and last of what is missing)."""
    if not tables:
        return matrix
    # One look-up for all columns of a feature: a graph of thousands of operators takes long to load.
    order = sorted(range(len(tables)), key=lambda column: tables[column][0])
    found = []
    for feature, columns in itertools.groupby(order, key=lambda column: tables[column][0]):
        table = np.array([tables[column][1] for column in columns], dtype=np.float64).T
        # The code of what is missing is -1, which is the last row of the table.
        found.append(graph.look_up(table, graph.cast(graph.columns(matrix, feature, feature + 1), np.int64)))
    in_order = graph.take_columns(graph.add("Concat", *found, axis=1), np.argsort(order))
    return graph.add("Concat", matrix, in_order, axis=1)


def add_label(graph: Graph, proba: str, classes: npt.NDArray[Any]) -> tuple[str, Any]:
    """The most probable class (in a tie, the first), and its type."""
    best = graph.add("ArgMax", proba, axis=1, keepdims=0)
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        keys: dict[str, Any] = {"keys_int64s": list(range(len(values))), "values_strings": values}
        return graph.add("LabelEncoder", best, domain=ML, **keys), str
    if all(isinstance(value, (bool, int)) for value in values):
        return graph.add("Gather", graph.constant(np.array(values, dtype=np.int64)), best, axis=0), np.int64
    if all(isinstance(value, float) for value in values):
        return graph.add("Gather", graph.constant(np.array(values, dtype=np.float64)), best, axis=0), np.float64
    raise ExportError(f"classes such as {values[0]!r} have no type in ONNX: fit with texts or numbers as labels")
