"""``petiole info``: what is in a model file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from petiole.cli import options
from petiole.cli.errors import WrongInput, errors_in_one_line
from petiole.cli.option_groups import CardOptions, with_option_groups
from petiole.cli.screen import Answer, Section, note, show, warnings_as_notes

SHOWN_CATEGORIES = 8
SCORES = {
    "oob_log_loss_": "out-of-bag log-loss (bits)",
    "oob_brier_": "out-of-bag Brier score",
    "oob_score_": "out-of-bag accuracy",
}


@errors_in_one_line
@with_option_groups
def info(model: options.Model, about: CardOptions, json: options.AsJson = False) -> None:
    """Describe a model file: method, classes, columns, parameters, size; or write a model card.

    A card shows what a model is for, what it was fitted to, how good its probabilities are, also by group, and
    what is not known about it.
    """
    from petiole.cli.commands.fit import check_place
    from petiole.cli.methods import load_model

    with warnings_as_notes(quiet=False):
        about.check()
        if about.card is not None:
            check_place(about.card, "--card")
        notes = about.named_notes
        fitted = load_model(model)
        if about.card is not None:
            _write_card(fitted, model, about, notes)
        show(describe(fitted, model), json)
        if about.card is not None:
            note(f"wrote {about.card}", quiet=False)


def _write_card(fitted: Any, model: str, about: CardOptions, notes: dict[str, str]) -> None:
    from petiole.cli.io.labelled import split_names
    from petiole.report import write_model_card

    assert about.card is not None
    write_model_card(
        fitted,
        about.card,
        file=model,
        purpose=about.purpose,
        owner=about.owner,
        notes=notes,
        groups=split_names(about.by) or None,
        reference=None if about.test is None else _new_rows(fitted, about.test, about.target),
        command=shlex.join(["petiole", *sys.argv[1:]]),
    )


def _new_rows(fitted: Any, data: str, target: str | None) -> Any:
    """A summary of labelled rows that the model has not seen."""
    from petiole.cli.option_groups import BinnedLabelOptions
    from petiole.cli.truths import read_all
    from petiole.monitoring import reference_of

    rows = read_all(fitted, data, BinnedLabelOptions(target=target).roles, None, quiet=False)
    if rows.labels is None:
        raise WrongInput(f"--test {data}: has no labels; name their column with --target")
    return reference_of(fitted, rows.table, rows.labels, rows.weights, rows="new")


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
