"""``petiole compare``: which method gives the best probabilities on this table, and how certain that is."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from petiole.cli import options
from petiole.cli.errors import WrongInput, errors_in_one_line, nearest_of
from petiole.cli.option_groups import ComparisonOptions, ComparisonOutputs, TrainingOptions, with_option_groups
from petiole.cli.screen import Answer, Section, note, show, warnings_as_notes

if TYPE_CHECKING:
    from petiole.cli.io.labelled import Labelled, Roles

HEADINGS = {
    "log_loss": "log-loss (bits)",
    "brier": "Brier",
    "ece": "ECE",
    "aulc": "AULC",
    "accuracy": "accuracy",
    "cost": "cost",
    "fit_seconds": "fit (s)",
    "predict_seconds": "predict (s)",
}
TIMES = ("fit_seconds", "predict_seconds")


@errors_in_one_line
@with_option_groups
def compare(
    data: options.Data,
    columns: TrainingOptions,
    design: ComparisonOptions,
    outputs: ComparisonOutputs,
    costs: options.Costs = None,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Compare methods on labelled rows: scores, whether one is clearly ahead, and which one to use."""
    from petiole.cli.extra import load_estimators
    from petiole.cli.inspecting import about_left_out, tell
    from petiole.cli.methods import n_processors
    from petiole.cli.next_commands import next_commands
    from petiole.cli.progress import Waiting

    with warnings_as_notes(quiet):
        _check_outputs(outputs)
        roles, chosen, own = columns.roles, _methods(design.methods), load_estimators(design.extra or ())
        n_jobs = n_processors(jobs)
        table = _read(data, roles, quiet)
        cost, decisions = _costs(costs, table)
        groups = _groups(outputs.by, table, outputs.report)
        judged, named, numbers = None, table.ids, table.row_numbers
        if design.test is not None:
            judged, named, numbers = _test_set(design.test, roles, table)

        from petiole.study import compare_methods

        study = compare_methods(
            table.X,
            table.y,
            methods=chosen,
            extra=own,
            cost=cost,
            decisions=decisions,
            sample_weight=table.weights,
            test=judged,
            folds=design.folds,
            repeats=design.repeats,
            random_state=seed,
            n_jobs=n_jobs,
            progress=Waiting("comparing", quiet=quiet, tells_time=True),
            name=table.label,
        )
        study = dataclasses.replace(study, warnings=[*about_left_out(table.left_out), *study.warnings])
        tell(study.warnings, quiet)
        show(_answer(study), json)  # before anything is written: with a full disk, the result is still shown
        for line in _write(study, table, save=outputs.save, output=outputs.output):
            note(line, quiet)
        if outputs.report is not None:
            _write_report(
                study,
                outputs.report,
                by=groups,
                ids=named,
                row_numbers=numbers,
                notes=[*table.findings],
                next_commands=next_commands(study, data, roles, table, costs),
            )
            note(f"wrote {outputs.report}", quiet)


def _check_outputs(outputs: ComparisonOutputs) -> None:
    """Refuse output files that cannot be written, before the work."""
    from petiole.cli.commands.fit import check_place

    for path, option in ((outputs.save, "--save"), (outputs.report, "--report"), (outputs.output, "--output")):
        if path is not None:
            check_place(path, option)
    if outputs.output is not None:
        _check_table_file(outputs.output)


def _read(data: str, roles: Roles, quiet: bool) -> Labelled:
    """The table without identifiers; a summary of it is printed."""
    from petiole.cli.inspecting import without_identifiers
    from petiole.cli.io.labelled import check_several_classes, read_labelled, summarise

    table = read_labelled(data, roles)
    check_several_classes(table)
    table = without_identifiers(table, roles)
    summarise(table, quiet)
    return table


def _write_report(study: Any, path: str, **parts: Any) -> None:
    from petiole.report import write_report

    write_report(study, path, command=shlex.join(["petiole", *sys.argv[1:]]), **parts)


def _methods(text: str) -> Any:
    from petiole.cli.io.labelled import split_names
    from petiole.study import METHODS

    if text in ("auto", "all"):
        return text
    names = split_names([text])
    for name in names:
        if name != "auto" and name not in METHODS:
            raise WrongInput(f"--methods {name}: is unknown; {nearest_of(name, [*METHODS])}")
        if name in METHODS and not METHODS[name].is_installed:
            raise WrongInput(f"--methods {name}: is not installed: pip install {METHODS[name].package}")
    if not names:
        raise WrongInput("--methods: name at least one method, or write auto or all")
    return names


def _check_table_file(output: str) -> None:
    """Refuse the name of a file to which the table cannot be written, before the work."""
    from petiole.cli.io.sinks import format_of

    if output.lower().endswith((".html", ".htm")):
        raise WrongInput(f"--output {output}: is for the table of scores; --report {output} writes the page")
    format_of(output, None)


def _costs(costs: str | None, table: Labelled) -> tuple[Any, list[str] | None]:
    """The costs and the names of the decisions, None where these are the classes."""
    import numpy as np

    from petiole.cli.io.cost_tables import read_costs

    classes = np.unique(table.y).tolist()
    found = read_costs(costs, classes)
    if found is None:
        return None, None
    return (found.square(classes), None) if found.are_classes(classes) else (found.cost, found.decisions)


def _groups(by: list[str] | None, table: Labelled, report: str | None) -> list[str]:
    """The columns to group by in the report."""
    from petiole.cli.io.labelled import split_names, unknown_column

    names = split_names(by)
    if names and report is None:
        raise WrongInput(f"--by {names[0]}: is for the report; add --report FILE")
    parts = _date_parts(table)
    known = [*(name for name in table.columns if name not in parts), *(part for of in parts.values() for part in of)]
    for name in names:
        if name in parts:
            listed = ", ".join(map(repr, parts[name]))
            raise WrongInput(f"--by {name}: is a column of dates; group by a part of them: {listed}")
        if name not in known:
            raise unknown_column("--by", name, known, table.label)
    return names


def _date_parts(table: Labelled) -> dict[str, list[str]]:
    """The columns of dates, and the features that they become."""
    from petiole._table.dates import DateColumn
    from petiole.datasets.columns import Dates

    dates = {name: column for name, column in table.columns.items() if isinstance(column, Dates)}
    return {name: DateColumn.learned(column.values).names(name) for name, column in dates.items()}


def _test_set(test: str, roles: Any, table: Labelled) -> tuple[tuple[Any, ...], dict[str, list[Any]], list[int] | None]:
    """The test rows, read like the training rows, with the same columns and labels; their names and numbers."""
    import numpy as np

    from petiole.cli.io.labelled import as_table, read_labelled, texts_of
    from petiole.cli.io.model_columns import Names
    from petiole.cli.scoring import lacking_column

    other = read_labelled(test, _like(roles, table))
    for name in table.columns:
        if name not in other.columns:
            raise lacking_column(name, [*other.columns], other.label)
    classes = np.unique(table.y)
    texts = texts_of(other.target)
    codes = Names(classes.tolist()).codes(texts)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise WrongInput(
            f"--test {test}: row {row + 1} is of the class {texts[row]!r}, which {table.label} does not have"
        )
    ids = other.ids | {name: texts_of(other.columns[name]) for name in table.left_out if name in other.columns}
    X = as_table({name: other.columns[name] for name in table.columns})
    return (X, classes[codes], other.weights), ids, other.row_numbers


def _like(roles: Any, table: Labelled) -> Any:
    """The roles of a file that is read in the same way as the table."""
    from petiole._table.table_format import TableFormat

    like = TableFormat.from_dict(table.format)
    return dataclasses.replace(roles, categorical=(), numeric=(), learned=table.kinds, like=like)


def _write(study: Any, table: Labelled, *, save: str | None, output: str | None) -> Iterator[str]:
    """Write the requested files; returns a line about each."""
    from petiole.cli.methods import remember_rows
    from petiole.study import METHODS

    if save is not None:
        chosen = study.result(study.recommended)
        own = not chosen.is_peer and chosen.name in METHODS
        model = study.fit(chosen.name) if own else study.fit_winner(petiole_only=True)
        _name_columns(model, table)
        remember_rows(model, *study.given)
        model.save(save)
        yield f"wrote {save}: {type(model).__name__}{'' if own else ', the best method of petiole'}"
    if output is not None:
        from petiole.cli.io.sinks import open_sink

        rows = [_flat(result) for result in study.table]
        with open_sink(output, None, [*rows[0]]) as sink:
            sink.write({name: [row[name] for row in rows] for name in rows[0]})
        yield f"wrote {output}"


def _name_columns(model: Any, table: Labelled) -> None:
    """Store in a model the names of its columns and how they were read."""
    from petiole._classifiers.nesting import find_encoder
    from petiole.cli.methods import remember_format, remember_names

    remember_format(model, table.format)
    encoder = find_encoder(model)
    if encoder is not None and encoder.feature_names is None:
        remember_names(model, [*table.columns])


def _flat(result: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"method": result.name, "title": result.title, "p_value": result.p_value}
    for name, interval in result.scores.items():
        row |= {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
    return row


def _answer(study: Any) -> Answer:
    present = [name for name in HEADINGS if name in study.table[0].scores]
    if "cost" in present:  # which then decides
        present = ["cost", *(name for name in present if name != "cost")]
    section = Section(
        "",
        ["method", HEADINGS[present[0]], "p", *(HEADINGS[name] for name in present[1:])],
        [_row(result, present) for result in study.table],
        note="Below each score: its 95% interval. p: against the winner.",
        tall=True,
    )
    return Answer([section], data=study.to_dict(), after=[study.verdict])


def _row(result: Any, present: list[str]) -> list[str]:
    first, *others = (_cell(name, result.scores[name]) for name in present)
    return [result.title, first, "" if result.p_value is None else _p_value(result.p_value), *others]


def _cell(name: str, interval: Any) -> str:
    if name in TIMES:
        return f"{interval.mean:.2f}"
    between = "–" if interval.low >= 0 else " to "  # a dash beside a minus cannot be read
    return f"{interval.mean:.3f}\n{interval.low:.3f}{between}{interval.high:.3f}"


def _p_value(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
