"""Sections of a model card about classes and columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from petiole._table.encoder import FeatureEncoder
from petiole.datasets.columns import KIND_TITLES
from petiole.monitoring import Reference
from petiole.report.card_known import Known, commonest, parts_of
from petiole.report.card_parts import Cell, Grid, NotKnown, Part, Section, Share, Words, counted, listed, readable

MOST_CLASSES = 60
MOST_COLUMNS = 200
MOST_IMPORTANT = 20
FEW_ROWS = 30.0  # of a class


def classes_section(known: Known) -> Section:
    """The classes and how many rows each had."""
    parts: list[Part] = []
    target = (getattr(known.encoder, "table_format", None) or {}).get("target")
    if target is None:
        parts.append(NotKnown("the name of the target", "the model was fitted to labels without a name"))
    else:
        parts.append(Words(f"The target is the column \u201c{readable(target)}\u201d."))
    weights, classes = known.class_weights, known.classes
    shown = range(len(classes)) if weights is None else sorted(commonest(weights, MOST_CLASSES))
    if weights is None:
        parts.append(NotKnown("how many rows each class had", "the model keeps no counts of its training rows"))
        names = [readable(label) for label in classes[:MOST_CLASSES]]
        parts.append(Grid("Classes", ["Class"], [[name] for name in names]))
    else:
        total = max(float(weights.sum()), 1e-300)
        rows: list[Sequence[Cell]] = [
            [readable(classes[k]), f"{weights[k]:,.6g}", Share(weights[k] / total, f"{weights[k] / total:.1%}")]
            for k in shown
        ]
        parts.append(Grid("Classes", ["Class", "Rows", "Share"], rows, numeric=[1]))
        few = [classes[k] for k in range(len(classes)) if weights[k] < FEW_ROWS]
        if few:
            parts.append(
                Words(f"Fewer than {FEW_ROWS:g} rows, so that little is known of them: {listed(few)}.", "note")
            )
    if len(classes) > MOST_CLASSES:
        parts.append(Words(f"{len(classes) - MOST_CLASSES:,} more classes are not listed.", "note"))
    return Section("classes", "Classes", parts)


def columns_section(known: Known) -> Section:
    """The columns: kinds, ranges or categories, missing values."""
    title = "Columns"
    encoder = known.encoder
    if encoder is None:
        return Section("columns", title, [NotKnown("the columns", _no_columns(known.model))])
    parts: list[Part] = []
    if known.training is None:
        why = (
            "the model keeps no summary of its training rows. petiole fit lets models keep one, and so does "
            "petiole.monitoring.remember(model, X, y)"
        )
        parts.append(NotKnown("ranges of numbers, shares of categories and of missing values", why))
    header = ["Column", "Kind", "Values in training", "Missing"]
    rows = [_column(known, i) for i in range(min(encoder.n_inputs, MOST_COLUMNS))]
    parts.append(Grid("Columns", header, rows, numeric=[3], minor=[1]))
    if encoder.n_inputs > MOST_COLUMNS:
        parts.append(Words(f"{encoder.n_inputs - MOST_COLUMNS:,} more columns are not listed.", "note"))
    words = (
        "A category that is not among those of the fit counts as missing. Numbers beyond the range of the fit are "
        "predicted from rows at its ends, and it is not known how right that is."
    )
    return Section("columns", title, [*parts, Words(words, "note")])


def _no_columns(model: Any) -> str:
    n = getattr(model, "n_features_in_", None)
    return f"a {type(model).__name__} like this one uses none" + (
        "" if n is None else f" ({counted(n, 'column')} given)"
    )


def column_names(encoder: FeatureEncoder) -> list[str]:
    """The names of the user's columns, or their numbers."""
    names = encoder.input_names or [f"column {i + 1}" for i in range(encoder.n_inputs)]
    return [readable(name) for name in names]


def _column(known: Known, position: int) -> list[Cell]:
    encoder, usable = known.encoder, known.training
    assert encoder is not None
    kind = encoder.kinds[position]
    start = sum(encoder.widths[:position])
    features = range(start, start + encoder.widths[position])
    title = "empty at the fit" if kind == "empty" else KIND_TITLES[kind]
    missing = ""
    if usable is not None and features:
        weights = usable.code_weights[start]
        missing = f"{_share(weights[-1], weights.sum()):.1%}" if weights[-1] else "none"
    if kind == "nominal":
        return [column_names(encoder)[position], title, _categories(encoder, usable, start), missing]
    spans = [text for feature in features if (text := _span(encoder, usable, feature))]
    return [column_names(encoder)[position], title, "; ".join(spans), missing]


def _share(weight: float, total: float) -> float:
    return float(min(weight / total, 1.0)) if total > 0 else 0.0


def _categories(encoder: FeatureEncoder, reference: Reference | None, feature: int) -> str:
    categories = encoder.categories[feature]
    names = [] if categories is None else categories.tolist()
    if reference is None:
        return f"{len(names):,}: {listed(names, separator='; ')}"
    weights = reference.code_weights[feature]
    shown = [f"{readable(names[k], 40)} ({_share(weights[k], weights.sum()):.1%})" for k in commonest(weights[:-1], 8)]
    more = f"; and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return f"{len(names):,}: {'; '.join(shown)}{more}"


def _span(encoder: FeatureEncoder, reference: Reference | None, feature: int) -> str:
    """The range of a number, or of a part of a date; empty if it is not known."""
    if reference is None:
        return ""
    part = encoder.date_parts[feature]
    before = f"{part} " if part not in (None, "days") else ""
    if len(reference.spans) and not np.isnan(reference.spans[feature]).any():
        low, middle, high = (encoder.value_text(feature, value) for value in reference.spans[feature].tolist())
        return f"{before}{low} to {high}, median {middle}" if low != high else f"{before}always {low}"
    titles = reference.titles[feature]
    if not titles or titles == ["any"]:
        return ""
    return before + readable(f"{titles[0].split(' to ')[0]} to {titles[-1].split(' to ')[-1]}")


def importances_section(known: Known) -> Section:
    """Which columns the splits use."""
    title = "Which columns matter"
    model = next((part for part in parts_of(known.model) if _has_importances(part)), None)
    encoder = known.encoder
    if model is None or encoder is None:
        why = (
            f"a {type(known.model).__name__} has none in its file; petiole explain MODEL DATA computes them from "
            "labelled rows"
        )
        return Section("importances", title, [NotKnown("importances", why)])
    found = np.nan_to_num(np.asarray(model.feature_importances_, dtype=np.float64))
    starts = np.cumsum([0, *encoder.widths])
    of_column = np.array([found[a:b].sum() for a, b in pairwise(starts.tolist())])
    order = [i for i in commonest(of_column, MOST_IMPORTANT) if of_column[i] > 0]
    if not order:
        return Section("importances", title, [Words("The trees have no splits: no column matters to them.")])
    largest, names = float(of_column.max()), column_names(encoder)
    rows: list[Sequence[Cell]] = [[names[i], Share(of_column[i] / largest, f"{of_column[i]:.3f}")] for i in order]
    others = " Members of the pool that are not forests are not included." if hasattr(model, "pool_weights_") else ""
    lead = (
        "The share of each column in the gains of all splits on the training rows. Columns with many values are "
        f"favoured, and a large share does not mean that the column is a cause.{others}"
    )
    left = int((of_column > 0).sum()) - len(order)
    more = [Words(f"{left:,} more columns matter less.", "note")] if left else []
    return Section("importances", title, [Words(lead, "lead"), Grid("Importances", ["Column", "Share"], rows), *more])


def _has_importances(model: Any) -> bool:
    try:
        return getattr(model, "feature_importances_", None) is not None
    except (ValueError, AttributeError):
        return False
