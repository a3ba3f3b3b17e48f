"""``petiole predict``: class probabilities for the rows of a file of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.errors import WrongInput, errors_in_one_line
from petiole.cli.option_groups import CellOptions, with_option_groups
from petiole.cli.screen import note, warnings_as_notes

PREFIX, PREDICTION, DECISION, EXPECTED_COST = "p_", "prediction", "decision", "expected_cost"
CHOICE = "Which rows to act on"


@errors_in_one_line
@with_option_groups
def predict(
    model: options.Model,
    data: options.Data,
    cells: CellOptions,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write: CSV, Parquet, Arrow or JSON by its name. CSV on standard output by default.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="csv, json, jsonl, parquet or arrow; by default according to the file's name.",
            rich_help_panel=options.OUTPUT,
            show_default=False,
        ),
    ] = None,
    decide: Annotated[
        bool,
        typer.Option(
            "--decide",
            metavar="",
            help="Add a decision: the cheapest with --costs, else by --threshold, else the most probable class.",
        ),
    ] = False,
    costs: options.Costs = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="P",
            help="Two classes: decide for the second (or --positive) if its probability is greater than this.",
            show_default=False,
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive",
            metavar="CLASS",
            help="The class for --threshold, --reasons and, without costs, --top and --budget.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="N",
            min=1,
            help="Write only the N rows with the highest expected gain (by --costs, else the highest probability).",
            rich_help_panel=CHOICE,
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="AMOUNT",
            min=0,
            help="Write only rows whose prices sum to at most this, by their gain per unit of price.",
            rich_help_panel=CHOICE,
            show_default=False,
        ),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            "--price",
            metavar="PRICE",
            help="The price of acting on a row: a number, or the name of a column.",
            rich_help_panel=CHOICE,
            show_default=False,
        ),
    ] = None,
    default: Annotated[
        str | None,
        typer.Option(
            "--default",
            metavar="DECISION",
            help="The decision for rows that are not chosen; by default the one that costs nothing, else the "
            "most frequent class.",
            rich_help_panel=CHOICE,
            show_default=False,
        ),
    ] = None,
    reasons: Annotated[
        int | None,
        typer.Option(
            "--reasons",
            metavar="N",
            min=1,
            help="Add the N columns that moved the probability most: of --positive or the second of two classes, else "
            "of the most probable class.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        float | None,
        typer.Option(
            "--sets",
            metavar="COVERAGE",
            help="Add prediction sets, which contain the true class for this share of rows, such as 0.9; for a model "
            "that was fitted with --sets.",
            show_default=False,
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            metavar="LEVEL",
            help="Add an interval for the probability of each class, which contains it for this share of rows, "
            "such as 0.9; for a model that was fitted with --intervals.",
            show_default=False,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            "--batch",
            metavar="ROWS",
            min=1,
            help="Number of rows in memory at a time; by default a few megabytes.",
            rich_help_panel=options.RUN,
            show_default=False,
        ),
    ] = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Predict class probabilities for rows, and decisions on request.

    Columns are found by their names and read as in the fit; others are ignored. The file is read in batches and may be
    larger than memory. With --top or --budget, only the rows to act on are written, best first, with their number
    (counted from 1) and their expected gain.
    """
    from petiole.cli.choosing import Limits, make_shortlist
    from petiole.cli.interval_columns import IntervalColumns
    from petiole.cli.io.sinks import open_sink
    from petiole.cli.io.sources import find_source
    from petiole.cli.methods import load_model
    from petiole.cli.reason_columns import ReasonColumns
    from petiole.cli.scoring import Scorer
    from petiole.cli.set_columns import SetColumns

    with warnings_as_notes(quiet):
        fitted = load_model(model, jobs)
        source = find_source(data)
        _check_output(output, data, model)
        roles = cells.roles
        decider = _Decider(fitted, decide, costs, threshold, positive, bool(top or budget is not None or reasons))
        limits = Limits(top, budget, price, default)
        shortlist = make_shortlist(limits, decider.costs, fitted, decider.positive, positive is not None)
        column = limits.price_column
        scorer = Scorer(fitted, source, roles, [*roles.ids, *([column] if column else [])])
        if column:
            scorer.require("--price", column)
        about = decider.positive if positive is not None or len(fitted.classes_) == 2 else None
        why = ReasonColumns(fitted, reasons, about)
        may_be = SetColumns(fitted, sets)
        between = IntervalColumns(fitted, interval)
        own = [*decider.names, *between.names, *may_be.names, *why.names]
        names = [*roles.ids, *own]
        added = [] if shortlist is None else shortlist.names
        for name in roles.ids:
            if name in (*own, *added):
                raise WrongInput(f"--id {name}: the output already has a column of this name: rename yours")
        with open_sink(output, format or ("json" if json else None), [*added[:1], *names, *added[1:]]) as sink:
            for scored in scorer(quiet, batch):
                kept = {name: scored.batch.kept(name) for name in roles.ids}
                columns = kept | decider(scored.proba) | between(scored.table)
                columns |= may_be(scored.table, scored.proba)
                columns |= why(scored.table, scored.proba)
                if shortlist is None:
                    sink.write(columns)
                else:
                    shortlist.add(columns, scored.proba, scored.batch, scorer.columns)
            if shortlist is not None:
                chosen = shortlist.chosen()
                sink.write(chosen)
                note(shortlist.summary(chosen), quiet)
        for line in [*may_be.notes(), *scorer.columns.notes()]:
            note(line, quiet)


def _check_output(output: str | None, *inputs: str) -> None:
    for path in inputs:
        if output is not None and Path(output).exists() and Path(path).exists() and Path(output).samefile(path):
            raise WrongInput(f"--output {output}: is also the input; name another file")


class _Decider:
    """From probabilities to the columns of the output."""

    def __init__(
        self,
        model: Any,
        wanted: bool,
        costs: str | None,
        threshold: float | None,
        positive: str | None,
        limited: bool,
    ) -> None:
        from petiole.cli.io.cost_tables import read_costs

        self._classes = model.classes_.tolist()
        self._columns = [f"{PREFIX}{label}" for label in self._classes]
        self.costs = read_costs(costs, self._classes)
        self._threshold, self._wanted = threshold, wanted or costs is not None or threshold is not None
        if costs is not None and threshold is not None:
            raise WrongInput("--threshold: the threshold follows from the costs; leave one of them out")
        if threshold is not None and (len(self._classes) != 2 or not 0 <= threshold <= 1):
            raise WrongInput(
                f"--threshold {threshold}: must be a probability between 0 and 1, for a model of two classes "
                f"(this one has {len(self._classes)}; use --costs)"
            )
        self.positive = self._find_positive(positive, limited)

    def _find_positive(self, positive: str | None, limited: bool) -> int:
        from petiole.cli.io.model_columns import Names

        if positive is None:
            return len(self._classes) - 1
        if self._threshold is None and not limited:
            raise WrongInput(
                f"--positive {positive}: is for --threshold, --top, --budget and --reasons; add one of them"
            )
        code = Names(self._classes).code(positive)
        if code < 0:
            raise WrongInput(f"--positive {positive}: the classes are {', '.join(map(str, self._classes))}")
        return code

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        decided = [DECISION] if self._wanted else []
        return [*self._columns, PREDICTION, *decided, *([EXPECTED_COST] if self.costs is not None else [])]

    def __call__(self, proba: Any) -> dict[str, Any]:
        import numpy as np

        labels = np.array(self._classes)
        columns = {name: proba[:, position] for position, name in enumerate(self._columns)}
        columns[PREDICTION] = labels[proba.argmax(axis=1)]
        if self.costs is not None:
            from petiole.decisions import decide, expected_cost

            columns[DECISION] = np.array(self.costs.decisions)[decide(proba, self.costs.cost)]
            columns[EXPECTED_COST] = expected_cost(proba, self.costs.cost).min(axis=1)
        elif self._threshold is not None:
            chosen = np.where(proba[:, self.positive] > self._threshold, self.positive, 1 - self.positive)
            columns[DECISION] = labels[chosen]
        elif self._wanted:
            columns[DECISION] = columns[PREDICTION]
        return columns
