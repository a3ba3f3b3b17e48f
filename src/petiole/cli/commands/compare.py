"""``petiole compare``: which method gives the best probabilities on this table, and how sure that is."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.errors import WrongInput, nearest_of, told_in_one_line
from petiole.cli.io.labelled import DEFAULT_MISSING
from petiole.cli.screen import Answer, Section, note, show, warnings_as_notes

if TYPE_CHECKING:
    from petiole.cli.io.labelled import Labelled

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


@told_in_one_line
def compare(
    data: options.Data,
    target: options.Target = None,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            "-m",
            metavar="A,B",
            help="auto (the methods that suit the table), all, or a list of names such as pet,eb-pets.",
        ),
    ] = "auto",
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="DATA",
            help="Score the methods on these rows instead of by cross-validation.",
            show_default=False,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds", metavar="N", min=2, help="Number of folds of the cross-validation.", show_default=False
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats", metavar="N", min=1, help="Number of repeats of the cross-validation.", show_default=False
        ),
    ] = None,
    costs: options.Costs = None,
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Write a model file with the best of petiole's methods, fitted to all rows.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write an HTML report with tables and charts.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the table to CSV, Parquet or JSON.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    nominal: options.Nominal = None,
    numeric: options.Numeric = None,
    drop: options.Drop = None,
    ids: options.Ids = None,
    weight: options.Weight = None,
    missing: options.Missing = DEFAULT_MISSING,
    encoding: options.Encoding = None,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Compare methods on labelled rows: scores, the winner, and whether the differences are significant."""
    from petiole.cli.commands.fit import check_place
    from petiole.cli.inspecting import about_left_out, tell, without_identifiers
    from petiole.cli.io.labelled import check_several_classes, make_roles, read_labelled, summarise
    from petiole.cli.methods import n_processors
    from petiole.cli.progress import Waiting

    with warnings_as_notes(quiet):
        for path, option in ((save, "--save"), (report, "--report"), (output, "--output")):
            if path is not None:
                check_place(path, option)
        if report is not None and find_spec("plotly") is None:
            raise WrongInput("--report: needs plotly: pip install plotly")
        roles = make_roles(target, weight, ids, nominal, numeric, drop, missing, encoding)
        chosen = _methods(methods)
        n_jobs = n_processors(jobs)
        table = read_labelled(data, roles)
        check_several_classes(table)
        table = without_identifiers(table, roles)
        summarise(table, quiet)
        cost = _square_costs(costs, table)

        from petiole.study import compare_methods

        study = compare_methods(
            table.X,
            table.y,
            methods=chosen,
            cost=cost,
            sample_weight=table.weights,
            test=None if test is None else _test_set(test, roles, table),
            folds=folds,
            repeats=repeats,
            random_state=seed,
            n_jobs=n_jobs,
            progress=Waiting("comparing", quiet=quiet, tells_time=True),
            name=table.label,
        )
        study = dataclasses.replace(study, warnings=[*about_left_out(table.left_out), *study.warnings])
        tell(study.warnings, quiet)
        show(_answer(study), json)  # before anything is written: a full disk must not take the answer away
        for line in _write(study, table, save=save, report=report, output=output):
            note(line, quiet)


def _methods(text: str) -> Any:
    from petiole.cli.io.labelled import split_names
    from petiole.study import METHODS

    if text in ("auto", "all"):
        return text
    names = split_names([text])
    for name in names:
        if name not in METHODS:
            raise WrongInput(f"--methods {name}: is not known; {nearest_of(name, [*METHODS])}")
    if not names:
        raise WrongInput("--methods: name at least one method, or say auto or all")
    return names


def _square_costs(costs: str | None, table: Labelled) -> Any:
    import numpy as np

    from petiole.cli.io.cost_tables import read_costs

    classes = np.unique(table.y).tolist()
    found = read_costs(costs, classes)
    return None if found is None else found.square(classes)


def _test_set(test: str, roles: Any, table: Labelled) -> tuple[Any, ...]:
    """The rows to judge on, read as those to learn from were, with the same labels."""
    import numpy as np

    from petiole.cli.io.labelled import as_table, read_labelled, texts_of
    from petiole.cli.io.model_columns import Names
    from petiole.cli.scoring import lacking_column

    other = read_labelled(test, dataclasses.replace(roles, categorical=(), numeric=(), learned=table.kinds))
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
    X, y = as_table({name: other.columns[name] for name in table.columns}), classes[codes]
    return (X, y) if other.weights is None else (X, y, other.weights)


def _write(study: Any, table: Labelled, *, save: str | None, report: str | None, output: str | None) -> Iterator[str]:
    """Write the files that are asked for; a line about each."""
    if save is not None:
        winner = next(result for result in study.table if result.name == study.winner)
        model = study.fit_winner(petiole_only=True) if winner.is_peer else study.fit_winner()
        _name_columns(model, table)
        model.save(save)
        yield f"wrote {save}: {type(model).__name__}{', the best of petiole itself' if winner.is_peer else ''}"
    if report is not None:
        from petiole.report import write_report

        write_report(study, report, command=shlex.join(["petiole", *sys.argv[1:]]))
        yield f"wrote {report}"
    if output is not None:
        from petiole.cli.io.sinks import open_sink

        rows = [_flat(result) for result in study.table]
        with open_sink(output, None, [*rows[0]]) as sink:
            sink.write({name: [row[name] for row in rows] for name in rows[0]})
        yield f"wrote {output}"


def _name_columns(model: Any, table: Labelled) -> None:
    from petiole.cli.io.model_columns import find_encoder
    from petiole.cli.methods import remember_names

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
    return f"{interval.mean:.3f}\n{interval.low:.3f}–{interval.high:.3f}"


def _p_value(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
