"""``petiole evaluate``: how good a model's probabilities are on labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.errors import errors_in_one_line
from petiole.cli.option_groups import BinnedLabelOptions, with_option_groups
from petiole.cli.screen import Answer, Section, note, show, warnings_as_notes

if TYPE_CHECKING:
    from petiole._table.judged import Judged
    from petiole.cli.truths import Truths

TITLES = {
    "log_loss": "log-loss (bits)",
    "brier": "Brier score",
    "ece": "calibration error",
    "aulc": "area under lift",
    "accuracy": "accuracy",
    "cost": "cost per row",
}


@errors_in_one_line
@with_option_groups
def evaluate(
    model: options.Model,
    data: options.Data,
    columns: BinnedLabelOptions,
    costs: options.Costs = None,
    draws: Annotated[
        int, typer.Option("--draws", metavar="N", min=40, help="Number of bootstrap draws for the intervals.")
    ] = 1000,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the scores to CSV, Parquet or JSON.", show_default=False
        ),
    ] = None,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Score a model on labelled rows that it was not fitted to, with 95% bootstrap intervals."""
    from petiole.cli.io.cost_tables import read_costs
    from petiole.cli.io.sinks import open_sink
    from petiole.cli.methods import load_model

    with warnings_as_notes(quiet):
        fitted = load_model(model, jobs)
        table = read_costs(costs, fitted.classes_.tolist())
        judged = _judge(fitted, data, columns.roles, quiet)
        found = _intervals(judged, None if table is None else table.cost, draws, seed, quiet)
        rows = [[name, TITLES[name], *interval] for name, interval in found.items()]
        if output is not None:
            header = ["score", "title", "mean", "low", "high"]
            with open_sink(output, None, header) as sink:
                sink.write(dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)))
        show(_answer(judged, rows, draws, model, data), json)


def _judge(model: Any, data: str, roles: Any, quiet: bool) -> Judged:
    """The model's predictions and the labels."""
    import numpy as np

    from petiole._table.judged import check_judged
    from petiole.cli.inspecting import tell
    from petiole.cli.truths import LabelledRows

    rows = LabelledRows(model, data, roles)
    parts = list(rows(quiet))
    note_left_out(rows.n_left_out, quiet)
    for line in rows.notes():
        note(line, quiet)
    first = parts[0]
    labels, proba = np.concatenate([part.labels for part in parts]), np.concatenate([part.proba for part in parts])
    weights = None if first.weights is None else np.concatenate([part.weights for part in parts])
    if not rows.n_left_out:
        tell(_warnings(first, len(labels), rows.names), quiet)
    return check_judged(labels, proba, labels=model.classes_, sample_weight=weights)


def _warnings(first: Truths, n_rows: int, names: list[str] | None) -> list[str]:
    """Warnings about the first batch of rows, which is all of them unless the file is large."""
    from petiole.cli.inspecting import warnings_about_judged, warnings_about_some

    n = len(first.labels)
    found = warnings_about_judged(first.table, first.labels, names, first.weights)
    return found if n == n_rows else warnings_about_some(found, f"the first {n:,} of {n_rows:,}")


def note_left_out(count: int, quiet: bool) -> None:
    """Note how many rows had no class."""
    if count:
        note(f"note: {count:,} rows have no class and are left out", quiet)


def _intervals(judged: Judged, cost: Any, draws: int, seed: int, quiet: bool) -> dict[str, tuple[float, float, float]]:
    """Each score with the ends of its interval."""
    import numpy as np

    from petiole.cli.progress import waiting
    from petiole.comparison import bootstrap_interval
    from petiole.metrics import area_under_lift_curve, expected_calibration_error
    from petiole.study.scoring import bootstrap_method, row_losses, within_limits

    def mean_of(losses: Any) -> Any:
        return lambda y, proba, sample_weight: float(np.average(losses, weights=sample_weight))

    metrics = {name: mean_of(losses) for name, losses in row_losses(judged, cost).items()}
    metrics |= {"ece": expected_calibration_error, "aulc": area_under_lift_curve}
    # codes instead of labels: the rows are drawn a thousand times, and strings would be sorted in each draw
    codes, numbers = judged.codes, np.arange(judged.n_classes)
    found = {}
    with waiting("drawing rows", len(metrics), quiet) as bar:
        for name in (name for name in TITLES if name in metrics):
            drawn = bootstrap_interval(
                metrics[name],
                codes,
                judged.proba,
                labels=numbers,
                sample_weight=judged.weights,
                n_draws=draws,
                random_state=seed,
                method=bootstrap_method(name),
            )
            found[name] = (drawn.estimate, *within_limits(name, drawn.interval))
            bar.advance()
    return found


def _answer(judged: Judged, rows: list[list[Any]], draws: int, model: str, data: str) -> Answer:
    section = Section(
        f"{model} on {data}: {len(judged.codes):,} rows",
        ["score", "value", "95% interval"],
        [[title, f"{mean:.4f}", f"{low:.4f} to {high:.4f}"] for _, title, mean, low, high in rows],
        note=f"Intervals: {draws:,} bootstrap draws of the rows. In log-loss, probabilities below {_floor(judged):g} "
        "count as that.",
    )
    scores = {name: {"value": mean, "low": low, "high": high} for name, _, mean, low, high in rows}
    return Answer([section], data={"model": model, "data": data, "rows": len(judged.codes), "scores": scores})


def _floor(judged: Judged) -> float:
    from petiole.study.scoring import log_loss_floor

    return log_loss_floor(judged.n_classes)
