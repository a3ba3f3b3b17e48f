"""``petiole evaluate``: how good a model's probabilities are on labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.errors import WrongInput, told_in_one_line
from petiole.cli.screen import Answer, Section, note, show, warnings_as_notes

if TYPE_CHECKING:
    from petiole._table.judged import Judged
    from petiole.cli.scoring import Scored

MISSING = -1  # the code of a missing label
TITLES = {
    "log_loss": "log-loss (bits)",
    "brier": "Brier score",
    "ece": "calibration error",
    "aulc": "area under lift",
    "accuracy": "accuracy",
    "cost": "cost per row",
}


@told_in_one_line
def evaluate(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
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
    weight: options.Weight = None,
    drop: options.Drop = None,
    ids: options.Ids = None,
    missing: options.Missing = None,
    encoding: options.Encoding = None,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    drop_missing_target: options.DropMissingTarget = False,
    target_bins: options.TargetBins = None,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Score a model on labelled rows that it was not fitted to, with 95% bootstrap intervals."""
    from petiole.cli.io.cost_tables import read_costs
    from petiole.cli.io.labelled import make_roles
    from petiole.cli.io.sinks import open_sink
    from petiole.cli.methods import load_model

    with warnings_as_notes(quiet):
        fitted = load_model(model, jobs)
        table = read_costs(costs, fitted.classes_.tolist())
        roles = make_roles(
            target,
            weight,
            ids,
            (),
            (),
            drop,
            missing,
            encoding,
            signs=(separator, decimal, thousands),
            drop_missing_target=drop_missing_target,
            bins=target_bins,
        )
        judged = _judge(fitted, data, roles, quiet)
        found = _intervals(judged, None if table is None else table.cost, draws, seed, quiet)
        rows = [[name, TITLES[name], *interval] for name, interval in found.items()]
        if output is not None:
            header = ["score", "title", "mean", "low", "high"]
            with open_sink(output, None, header) as sink:
                sink.write(dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)))
        show(_answer(judged, rows, draws, model, data), json)


def _judge(model: Any, data: str, roles: Any, quiet: bool) -> Judged:
    """The model's answers beside the truth."""
    import numpy as np

    from petiole._table.judged import check_judged
    from petiole.cli.inspecting import tell
    from petiole.cli.io.model_columns import ModelColumn
    from petiole.cli.io.sources import find_source
    from petiole.cli.scoring import Scorer

    source = find_source(data)
    roles = _with_target(roles, source, model)
    scorer = Scorer(model, source, roles, [name for name in (roles.target, roles.weight) if name])
    reader = _Labels(model.classes_, roles, source.label, scorer.columns)
    proba, weights = [], []
    first: Scored | None = None
    for scored in scorer(quiet):
        first = first or scored
        kept = reader.add(scored.batch.texts(roles.target))
        proba.append(scored.proba[kept])
        if roles.weight:
            found = scored.batch.values(roles.weight, ModelColumn(None), scorer.columns)
            weights.append(found.values[kept])  # type: ignore[union-attr]
    note_left_out(reader.n_left_out, quiet)
    for line in scorer.columns.notes():
        note(line, quiet)
    sample_weight = np.concatenate(weights) if weights else _weights_of_name(source)
    if first is not None and not reader.n_left_out:
        tell(_warnings(first, reader.labels, sample_weight, scorer.columns.names), quiet)
    return check_judged(reader.labels, np.concatenate(proba), labels=model.classes_, sample_weight=sample_weight)


def _warnings(first: Scored, labels: Any, weights: Any, names: list[str] | None) -> list[str]:
    """What is suspicious about the first batch of rows, which is all of them unless the file is large."""
    from petiole.cli.inspecting import said_of_some, warnings_about_judged

    n = first.batch.n_rows
    found = warnings_about_judged(first.table, labels[:n], names, None if weights is None else weights[:n])
    return found if n == len(labels) else said_of_some(found, f"the first {n:,} of {len(labels):,}")


def note_left_out(count: int, quiet: bool) -> None:
    """Say how many rows had no class."""
    if count:
        note(f"note: {count:,} rows have no class and are left out", quiet)


def _with_target(roles: Any, source: Any, model: Any) -> Any:
    """The roles with a target: that of the data set's name, or the one the model was fitted to."""
    import dataclasses

    from petiole.cli.io.labelled import NAMED_TARGET
    from petiole.cli.io.model_columns import find_encoder

    if roles.target is None and source.is_name:
        return dataclasses.replace(roles, target=NAMED_TARGET)
    known = (getattr(find_encoder(model), "table_format", None) or {}).get("target")
    if roles.target is None and known is None:
        raise WrongInput(f"--target is needed: say which column of {source.label} holds the class")
    return roles if roles.target is not None else dataclasses.replace(roles, target=known)


def _weights_of_name(source: Any) -> Any:
    from petiole.datasets.loading import load_columns

    return load_columns(source.text).description.weights if source.is_name else None


class _Labels:
    """Collects the labels of batches; one that the model does not know is an error that names the row."""

    def __init__(self, classes: Any, roles: Any, label: str, columns: Any) -> None:
        from petiole._table.number_texts import MISSING_LABELS
        from petiole.cli.io.model_columns import Names

        self._classes, self._target, self._label = classes, roles.target, label
        self._names = Names(classes.tolist(), sorted(MISSING_LABELS if roles.missing is None else roles.missing))
        self._codes: list[Any] = []
        self._drops, self._seen, self.n_left_out = roles.drop_missing_target, 0, 0
        self._columns, self._bins = columns, roles.bins or columns.format.target_bins

    def add(self, texts: list[str | None]) -> Any:
        """Add the labels of some rows; which of these have one."""
        codes = self._names.codes(self._cut(texts) if self._bins else texts)
        kept = codes != MISSING if self._drops else codes == codes
        if (codes[kept] < 0).any():
            position = int(((codes < 0) & kept).argmax())
            row = self._seen + position + 1
            raise _unknown_label(texts[position], row, self._classes.tolist(), self._target, self._label)
        self._codes.append(codes[kept])
        self._seen += len(codes)
        self.n_left_out += int((~kept).sum())
        return kept

    def _cut(self, texts: list[str | None]) -> list[str | None]:
        """The names of the classes into which numbers are cut, as at the fit."""
        from petiole.cli.io.model_columns import ModelColumn
        from petiole.datasets.targets import cut_into_classes

        column = ModelColumn(None, number=self._columns.format.number_format(self._target))
        numbers, bad = column.parse_numbers(texts, self._columns.markers)
        if bad:
            row = self._seen + bad[0] + 1
            raise WrongInput(f"--target {self._target}: row {row} of {self._label} has {texts[bad[0]]!r}, not a number")
        names: list[str | None] = cut_into_classes(numbers, self._bins).tolist()
        return names

    @property
    def labels(self) -> Any:
        import numpy as np

        return self._classes[np.concatenate(self._codes)]


def _unknown_label(text: str | None, row: int, classes: list[Any], target: str, label: str) -> WrongInput:
    known = ", ".join(map(str, classes[:8])) + (", ..." if len(classes) > 8 else "")
    if text is None or not text.strip():
        return WrongInput(f"--target {target}: row {row} of {label} has no class: remove it, or --drop-missing-target")
    return WrongInput(f"--target {target}: row {row} of {label} has {text!r}, but the model's classes are {known}")


def _intervals(judged: Judged, cost: Any, draws: int, seed: int, quiet: bool) -> dict[str, tuple[float, float, float]]:
    """Each score with the ends of its interval."""
    import numpy as np

    from petiole.cli.progress import waiting
    from petiole.comparison import bootstrap_interval
    from petiole.metrics import area_under_lift_curve, expected_calibration_error
    from petiole.study.scoring import row_losses

    def mean_of(losses: Any) -> Any:
        return lambda y, proba, sample_weight: float(np.average(losses, weights=sample_weight))

    metrics = {name: mean_of(losses) for name, losses in row_losses(judged, cost).items()}
    metrics |= {"ece": expected_calibration_error, "aulc": area_under_lift_curve}
    # numbers instead of labels: the rows are drawn a thousand times, and strings would be sorted in each draw
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
            )
            found[name] = (drawn.estimate, *drawn.interval)
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
