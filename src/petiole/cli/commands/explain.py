"""``petiole explain``: why a row has its probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.errors import WrongInput, errors_in_one_line
from petiole.cli.screen import Answer, Section, show, warnings_as_notes

if TYPE_CHECKING:
    from petiole.cli.scoring import Scored
    from petiole.explanations import Explanation

MOST_COLUMNS = 12


@errors_in_one_line
def explain(
    model: options.Model,
    data: options.Data,
    row: Annotated[
        int | None,
        typer.Option("--row", metavar="N", min=1, help="The number of the row, counted from 1.", show_default=False),
    ] = None,
    by_id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN=VALUE", help="The row that has this value in this column.", show_default=False
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="The class to explain; by default the most probable one.",
            show_default=False,
        ),
    ] = None,
    trees: Annotated[
        int, typer.Option("--trees", metavar="N", min=0, help="Number of trees or paths of an ensemble to show.")
    ] = 3,
    reasons: Annotated[
        int, typer.Option("--reasons", metavar="N", min=1, help="Number of columns in the sentence at the top.")
    ] = 4,
    drop: options.Drop = None,
    missing: options.Missing = None,
    encoding: options.Encoding = None,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Explain the probability of one row: the contribution of each column, and the leaves and counts behind it."""
    from petiole.cli.io.labelled import make_roles
    from petiole.cli.io.sources import find_source
    from petiole.cli.methods import load_model
    from petiole.cli.scoring import Scorer

    with warnings_as_notes(quiet):
        fitted = load_model(model, 1)
        column, _, value = (by_id or "").partition("=")
        if (row is None) == (by_id is None) or (by_id is not None and not column):
            raise WrongInput("name a row: either --row N or --id COLUMN=VALUE")
        roles = make_roles(
            ids=[column] if column else (),
            drop=drop,
            missing=missing,
            encoding=encoding,
            signs=(separator, decimal, thousands),
        )
        scorer = Scorer(fitted, find_source(data), roles, roles.ids)
        found, position = _by_value(scorer, column, value) if column else _by_number(scorer, row or 1, data)
        query = _one_row(found.table, position)
        k = _class_code(fitted, label, query)
        show(_answer(fitted, query, k, trees, reasons), json)


def _by_number(scorer: Any, number: int, data: str) -> tuple[Scored, int]:
    before = 0
    for scored in scorer(quiet=True, ask=False):
        if number <= before + scored.batch.n_rows:
            return scored, number - before - 1
        before += scored.batch.n_rows
    raise WrongInput(f"--row {number}: {data} has {before:,} rows")


def _by_value(scorer: Any, column: str, value: str) -> tuple[Scored, int]:
    for scored in scorer(quiet=True, ask=False):
        texts = scored.batch.texts(column)
        if value in texts:
            return scored, texts.index(value)
    raise WrongInput(f"--id {column}={value}: no row has this value")


def _one_row(table: Any, position: int) -> Any:
    import numpy as np
    from sklearn.utils import _safe_indexing

    return table[position : position + 1] if isinstance(table, np.ndarray) else _safe_indexing(table, [position])


def _class_code(model: Any, label: str | None, query: Any) -> int:
    from petiole.cli.io.model_columns import Names

    if label is None:
        return int(model.predict_proba(query)[0].argmax())
    code = Names(model.classes_.tolist()).code(label)
    if code < 0:
        raise WrongInput(f"--class {label}: the classes are {', '.join(map(str, model.classes_.tolist()))}")
    return code


def _answer(model: Any, query: Any, k: int, n_trees: int, n_reasons: int) -> Answer:
    from petiole.cli.explanations import reasons_of
    from petiole.cli.reason_columns import contributions

    moved = contributions(model, query)
    proba = model.predict_proba(query)[0]
    classes = [str(name) for name in model.classes_.tolist()]
    headline = f"P({classes[k]}) = {proba[k]:.4f} ({type(model).__name__})"
    order = sorted(range(len(classes)), key=lambda c: -proba[c])[:12]
    answers = Section(
        "", ["class", "probability"], [[classes[c], f"{proba[c]:.4f}"] for c in order], key="probabilities"
    )
    sections = [answers, *_contributions(moved, k), _values(model, query), *reasons_of(model, query, k, n_trees)]
    data: dict[str, Any] = {"class": classes[k], "model": type(model).__name__}
    data["reasons"] = (
        []
        if moved is None
        else [reason._asdict() for reason in moved.reasons(0, n_reasons, label=moved.class_names[k])]
    )
    data["probabilities"] = dict(zip(classes, proba.tolist(), strict=True))
    data |= {section.key or section.title: section.to_dict() for section in sections[1:]}
    return Answer(
        sections, [headline, *([] if moved is None else [moved.words(0, n_reasons, label=moved.class_names[k])])], data
    )


def _contributions(moved: Explanation | None, k: int) -> list[Section]:
    """The contributions of columns to the difference between the base value and this row's probability."""
    if moved is None:
        return []
    label = moved.class_names[k]
    reasons = moved.reasons(0, None, label=label)
    rows = [["(no column known)", "", f"{moved.base_values[k]:.4f}"]]
    rows += [[reason.column, reason.value, f"{reason.contribution:+.4f}"] for reason in reasons]
    note = (
        "Shapley values: the mean effect of each column over all orders in which columns become known. They describe "
        "the model, not causes."
    )
    header = ["column", "value", f"adds to P({label})"]
    return [Section("What each column adds", header, rows, note, "contributions", most=MOST_COLUMNS)]


def _values(model: Any, query: Any) -> Section:
    """The row as read by the model."""
    from petiole._classifiers.nesting import find_encoder

    encoder = find_encoder(model)
    if encoder is None:
        return Section("", [], [], key="values")
    encoded = encoder.transform(query)[0]
    names = encoder.feature_names or [f"x{j}" for j in range(len(encoded))]
    rows = []
    parts = zip(encoder.categories, encoder.date_parts, strict=True)
    plain = [categories is None and part is None for categories, part in parts]
    for j, (name, value) in enumerate(zip(names, encoded.tolist(), strict=True)):
        rows.append([name, value if plain[j] and value == value else encoder.value_text(j, value)])
    return Section("The row", ["column", "value"], rows, key="values")
