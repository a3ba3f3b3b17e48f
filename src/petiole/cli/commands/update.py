"""``petiole update``: count labelled rows that came after the fit."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.errors import WrongInput, errors_in_one_line
from petiole.cli.option_groups import LabelOptions, with_option_groups
from petiole.cli.screen import Answer, note, show, warnings_as_notes


@errors_in_one_line
@with_option_groups
def update(
    model: options.Model,
    data: options.Data,
    columns: LabelOptions,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The model file to write; by default MODEL is replaced.",
            show_default=False,
        ),
    ] = None,
    decay: Annotated[
        float,
        typer.Option("--decay", metavar="D", min=0, max=1, help="Factor for earlier counts; 0 removes them all."),
    ] = 1.0,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Add labelled rows to the counts of a model, which updates its probabilities but not its splits.

    The rows must be new to the model; those of an earlier update would count twice. Before they are counted, the model
    predicts them, and the log-loss is printed.
    """
    from petiole.cli.commands.evaluate import note_left_out
    from petiole.cli.commands.fit import check_place
    from petiole.cli.methods import load_model
    from petiole.cli.truths import LabelledRows

    with warnings_as_notes(quiet):
        fitted = load_model(model, jobs)
        _check_updatable(fitted, model)
        check_place(output or model, "--output")
        rows = LabelledRows(fitted, data, columns.roles)
        counts, n_rows, loss = _count(fitted, rows, quiet)
        note_left_out(rows.n_left_out, quiet)
        for line in rows.notes():
            note(line, quiet)
        changed = fitted.updated(counts, decay=decay)
        changed.save(output or model)
        if json or not quiet:
            show(_answer(fitted, output or model, n_rows, loss, decay), json)


def _check_updatable(model: Any, path: str) -> None:
    if not hasattr(model, "counts_of"):
        raise WrongInput(
            f"{path}: a {type(model).__name__} cannot be updated; single trees, bagged trees, MOB-ESP and the "
            "probability forest can. Fit it again on all rows"
        )


def _count(model: Any, rows: Any, quiet: bool) -> tuple[Any, int, float]:
    """The counts of all rows, their number, and the log-loss of the model on them before they are counted."""
    import numpy as np

    from petiole._table.judged import check_judged
    from petiole.study.scoring import row_losses

    counts, n_rows, losses = None, 0, []
    for part in rows(quiet):
        found = model.counts_of(part.table, part.labels, part.weights)
        counts = found if counts is None else counts + found
        judged = check_judged(part.labels, part.proba, labels=model.classes_, sample_weight=part.weights)
        losses.append((row_losses(judged, None)["log_loss"], judged.weights))
        n_rows += len(part.labels)
    values, weights = (np.concatenate(pieces) for pieces in zip(*losses, strict=True))
    return counts, n_rows, float(np.average(values, weights=weights))


def _answer(model: Any, output: str, n_rows: int, loss: float, decay: float) -> Answer:
    promised = getattr(model, "oob_log_loss_", None)
    before = "" if promised is None else f"; estimated at the fit: {promised:.4f}"
    lines = [
        f"{type(model).__name__}: log-loss of {n_rows:,} new rows before they were counted: {loss:.4f} bits{before}",
        f"wrote {output}: {n_rows:,} rows added" + ("" if decay == 1 else f", earlier counts times {decay:g}"),
    ]
    found = {"file": output, "rows": n_rows, "log_loss_before": loss, "oob_log_loss": promised, "decay": decay}
    return Answer(lines=lines, data=found)
