"""``petiole info``: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from petiole.cli import options
from petiole.cli.errors import errors_in_one_line
from petiole.cli.screen import Answer, Section, show, warnings_as_notes

SHOWN_CATEGORIES = 8
SCORES = {
    "oob_log_loss_": "out-of-bag log-loss (bits)",
    "oob_brier_": "out-of-bag Brier score",
    "oob_score_": "out-of-bag accuracy",
}


@errors_in_one_line
def info(model: options.Model, json: options.AsJson = False) -> None:
    """Describe a model file: method, classes, columns, parameters, size."""
    from petiole.cli.methods import load_model

    with warnings_as_notes(quiet=False):
        fitted = load_model(model)
        show(describe(fitted, model), json)


def describe(model: Any, path: str) -> Answer:
    """The facts about a fitted model."""
    from petiole.datasets.columns import KIND_TITLES

    facts = _facts(model, path)
    columns = _columns(model)
    parameters = {name: _spelled(value) for name, value in model.get_params(deep=False).items()}
    sections = [
        Section("", ["model", type(model).__name__], [[name, value] for name, value in facts.items()]),
        Section(
            "Columns",
            ["name", "kind", "values"],
            [[name, KIND_TITLES.get(kind, kind), *rest] for name, kind, *rest in columns],
        ),
        Section("Parameters", ["name", "value"], [[name, value] for name, value in parameters.items()]),
    ]
    data = {"class": type(model).__name__, "classes": model.classes_, "facts": facts, "parameters": parameters}
    data["columns"] = [{"name": name, "kind": kind, "values": values} for name, kind, values in columns]
    return Answer(sections, data=data)


def _facts(model: Any, path: str) -> dict[str, Any]:
    from petiole.cli.truths import target_of

    classes = model.classes_.tolist()
    facts: dict[str, Any] = {"file": f"{path} ({Path(path).stat().st_size / 1e6:,.2f} MB)"}
    facts["classes"] = f"{len(classes)}: {_shorten(classes)}"
    target = target_of(model)
    if target is not None:
        facts["target"] = target
    if hasattr(model, "class_weights_"):
        facts["fitted to"] = f"{float(model.class_weights_.sum()):,.6g} rows (by weight)"
    if hasattr(model, "counted_weights_"):
        facts["counts now"] = f"{float(model.counted_weights_.sum()):,.6g} rows (by weight, with updates)"
    if hasattr(model, "tree_"):
        facts["tree"] = f"{model.tree_.n_nodes:,} nodes, {model.tree_.n_leaves:,} leaves, depth {model.tree_.depth}"
    if hasattr(model, "trees_"):
        facts["trees"] = f"{len(model.trees_):,}"
    if hasattr(model, "smoothing_"):
        facts["leaf estimator"] = str(model.smoothing_)
    for name, title in SCORES.items():
        if isinstance(getattr(model, name, None), float):
            facts[title] = f"{getattr(model, name):.4f}"
    return facts


def _columns(model: Any) -> list[list[Any]]:
    from petiole.cli.io.model_columns import ModelColumns

    found = ModelColumns.of(model)
    names = found.names or [f"column {position + 1}" for position in range(len(found.columns))]
    rows = []
    for name, column in zip(names, found.columns, strict=True):
        kind = "empty at the fit" if column.ignored else column.kind
        values = (
            "" if column.categories is None else f"{len(column.categories)}: {_shorten(column.categories.tolist())}"
        )
        rows.append([name, kind, values])
    return rows


def _shorten(values: list[Any]) -> str:
    shown = ", ".join(map(str, values[:SHOWN_CATEGORIES]))
    return f"{shown}, ..." if len(values) > SHOWN_CATEGORIES else shown


def _spelled(value: Any) -> str:
    return " ".join(str(value).split())
