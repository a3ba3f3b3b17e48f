"""``petiole monitor``: whether a model still holds for new rows."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.errors import WrongInput, errors_in_one_line
from petiole.cli.option_groups import BinnedLabelOptions, with_option_groups
from petiole.cli.screen import Answer, Section, note, show, warnings_as_notes

if TYPE_CHECKING:
    from petiole.monitoring import Monitoring

ALARM, DRIFT = 3, 4
MOST_COLUMNS = 8


def _written(name: str, help: str) -> Any:
    return typer.Option(name, metavar="FILE", help=help, rich_help_panel=options.OUTPUT, show_default=False)


@errors_in_one_line
@with_option_groups
def monitor(
    model: options.Model,
    data: options.Data,
    columns: BinnedLabelOptions,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", "--groups", metavar="A,B", help="Columns whose groups are tested one by one."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="COLUMN", help="Column by which the rows are sorted; by default, the order of the file."
        ),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option("--alpha", metavar="A", min=1e-6, max=0.5, help="Probability of a false alarm, for each test."),
    ] = 0.05,
    state: Annotated[
        str | None,
        _written("--state", "Continue the tests of earlier runs, which are kept in this file."),
    ] = None,
    report: Annotated[str | None, _written("--report", "Write an HTML page with the evidence over time.")] = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Test whether a model still holds for new rows.

    With labels (--target, or the model's own target if the file has it), calibration and log-loss are tested row by
    row. The tests can be repeated as often as you like. Without labels, columns and leaves are compared with those of
    the training rows. The exit code is 0 if nothing is found, 3 for an alarm, and 4 for drift alone.
    """
    from petiole.cli.commands.fit import check_place
    from petiole.cli.io.labelled import split_names
    from petiole.cli.methods import load_model
    from petiole.monitoring import monitor as ask

    with warnings_as_notes(quiet):
        fitted = load_model(model, jobs)
        for path, option in ((report, "--report"), (state, "--state")):
            if path is not None:
                check_place(path, option)
        rows = _read(fitted, data, columns.roles, time, quiet)
        groups = split_names(by)
        if groups and rows.labels is None:
            raise WrongInput(f"--by {groups[0]}: testing groups takes labels; name their column with --target")
        found = ask(
            fitted,
            rows.table,
            rows.labels,
            sample_weight=rows.weights,
            by=groups or None,
            time=rows.time,
            alpha=alpha,
            state=_earlier(state),
        )
        _note_what_is_not_known(fitted, found, quiet)
        show(_answer(found, model, data), json)
        if state is not None:
            _keep(state, found.state)
        if report is not None:
            from petiole.report import write_monitoring

            command = shlex.join(["petiole", *sys.argv[1:]])
            write_monitoring(found, report, title=f"Monitoring {model}", command=command)
            note(f"wrote {report}", quiet)
    if found.alarm or found.drifted:
        raise typer.Exit(ALARM if found.alarm else DRIFT)


def _read(model: Any, data: str, roles: Any, time: str | None, quiet: bool) -> Any:
    """All rows of the file, with labels if it has any."""
    from petiole.cli.truths import read_all

    return read_all(model, data, roles, time, quiet)


def _note_what_is_not_known(model: Any, found: Monitoring, quiet: bool) -> None:
    from petiole.monitoring import kept_reference

    known = kept_reference(model)
    if known is None:
        note(
            "note: the model has no summary of its training rows, so drift of columns and the log-loss are not tested; "
            "petiole fit stores the summary, and so does petiole.monitoring.remember(model, X, y) in Python",
            quiet,
        )
    elif not found.promised:
        note(
            f"note: a {type(model).__name__} has no out-of-bag rows, so the log-loss to expect is not known; "
            "calibration is tested nevertheless",
            quiet,
        )


def _earlier(path: str | None) -> Any:
    import json
    from pathlib import Path

    if path is None or not Path(path).exists():
        return None
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or not {"model", "tests"} <= set(found):
        raise WrongInput(f"--state {path}: was not written by petiole monitor; name another file")
    return found


def _keep(path: str, state: dict[str, Any]) -> None:
    import json

    from petiole.files.atomic import write_atomically

    write_atomically(path, [json.dumps(state, indent=1).encode("utf-8")])


def _answer(found: Monitoring, model: str, data: str) -> Answer:
    sections = []
    if found.tests:
        rows = [
            [
                one.name.replace("log_loss", "log-loss (bits)") + (f" ({one.target})" if one.target else ""),
                "ALARM" if one.alarm else "fine",
                f"{one.said:.3f}",
                f"{one.came:.3f}",
                _spelled(one.test.highest),
                f"{one.threshold:,.0f}",
                "" if one.first_row is None else f"{one.first_row:,}",
            ]
            for one in found.tests
        ]
        header = ["test", "outcome", "expected", "observed", "highest e-value", "alarm at", "first at row"]
        sections.append(Section(f"{model} on {data}: {found.n_rows:,} rows with labels", header, rows))
    sections.append(_scores(found))
    if found.columns:
        rows = [
            [one.name, "drift" if one.drifted else "", f"{one.distance:.3f}", f"{one.p_value:.3g}",
             f"{one.changed}: {one.before:.1%} to {one.now:.1%}"]
            for one in found.columns
        ]  # fmt: skip
        header = ["column", "", "distance", "p", "changed most"]
        sections.append(Section("Columns, compared with the training rows", header, rows, most=MOST_COLUMNS))
    leaves = []
    if found.leaves is not None:
        drift = "drift" if found.leaves.drifted else "no drift"
        leaves = [f"Leaves of the trees: distance {found.leaves.distance:.3f}, p {found.leaves.p_value:.3g}: {drift}"]
    data_found = {"model": model, "data": data} | found.to_dict()
    return Answer(sections, data=data_found, after=[*leaves, found.verdict, f"What to do: {found.advice}"])


def _scores(found: Monitoring) -> Section:
    header = ["score", "at the fit", "95% interval", "estimated now"] + (["observed"] if found.observed else [])
    rows = []
    for name, value in found.estimated.items():
        promised = found.promised.get(name)
        row = [name.replace("_", " "), "", "", f"{value:.4f}"]
        if promised is not None:
            row[1:3] = [f"{promised.mean:.4f}", f"{promised.low:.4f} to {promised.high:.4f}"]
        if found.observed:
            row.append(f"{found.observed[name].mean:.4f}" if name in found.observed else "")
        rows.append(row)
    return Section(
        "Scores",
        header,
        rows,
        note="Estimated now: the score to expect if the probabilities for the new rows are right.",
    )


def _spelled(value: float) -> str:
    return f"{value:,.1f}" if value < 1e6 else f"{value:.1e}"
