"""``petiole fit``: fit a model to a table and write it to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.constraint_options import ConstraintOptions
from petiole.cli.errors import WrongInput, errors_in_one_line
from petiole.cli.option_groups import SetOptions, TrainingOptions, with_option_groups
from petiole.cli.screen import Answer, show, warnings_as_notes

if TYPE_CHECKING:
    from petiole.cli.methods import Fitted

DEFAULT_METHOD = "probability-forest"


@errors_in_one_line
@with_option_groups
def fit(
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.", show_default=False)
    ],
    columns: TrainingOptions,
    constraints: ConstraintOptions,
    sets: SetOptions,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="One of probability-forest, boosted, mob-esp, eb-pets, b-pets, pet, lazy-option-trees, dual and "
            "naive-bayes.",
        ),
    ] = DEFAULT_METHOD,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the method; may be repeated.", show_default=False
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            metavar="",
            help="Store the training rows in the model file, for predict --interval.",
            show_default=False,
        ),
    ] = False,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="Memory limit, such as 2GB: read a Parquet, Arrow or CSV file in parts that fit into it. Large "
            "files and folders of Parquet are always read in parts.",
            rich_help_panel=options.RUN,
            show_default=False,
        ),
    ] = None,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Fit a model to labelled rows and write it to a file."""
    from petiole.cli.inspecting import tell, warnings_about, without_identifiers
    from petiole.cli.io.labelled import check_several_classes, read_labelled, summarise
    from petiole.cli.large import fit_in_parts, is_large
    from petiole.cli.methods import Fitted, fit_model, make_model, n_processors

    with warnings_as_notes(quiet):
        check_place(output, "--output")
        roles = columns.roles
        inner = make_model(method, settings or (), seed, n_processors(jobs))
        model = sets.around(inner, seed)
        if intervals and not hasattr(model, "learn_intervals"):
            raise WrongInput(
                f"--intervals: a {type(model).__name__} has no intervals; use the method probability-forest, "
                "eb-pets or b-pets"
            )
        in_parts = memory_limit is not None or is_large(data)
        constraints.check(inner, method, in_parts)
        if in_parts:
            if intervals:
                raise WrongInput("--intervals: needs all rows in memory, so it is not for files that are read in parts")
            done = fit_in_parts(model, data, roles, memory_limit, quiet)
        else:
            table = read_labelled(data, roles)
            check_several_classes(table)
            table = without_identifiers(table, roles)
            summarise(table, quiet)
            warnings = warnings_about(table)
            tell(warnings, quiet)
            constraints.put_into(inner, table)
            done = Fitted(table.n_rows, table.kinds, fit_model(model, table, quiet), table.left_out, warnings)
            if intervals:
                _learn_intervals(model, table)
        model.save(output)
        if json or not quiet:
            show(_answer(model, method, done, output, constraints), json)


def _about_growth(model: Any, n_rows: int) -> list[str]:
    """How the size of the trees was limited, if it was."""
    from petiole._classifiers.sizing import automatic, describe_growth
    from petiole._table.constraints import has_directions

    if not getattr(model, "sizes_trees", False):
        return []
    chosen = [name for name in automatic(model) if hasattr(model, f"{name}_")]
    growth = {name: getattr(model, f"{name}_") for name in chosen}
    return describe_growth(growth, n_rows, has_directions(model.monotonic_cst))


def _learn_intervals(model: Any, table: Any) -> None:
    try:
        model.learn_intervals(table.X, table.y, table.weights)
    except ValueError as error:
        raise WrongInput(f"--intervals: {error}") from None


def check_place(path: str, option: str) -> None:
    """Refuse a file that cannot be written, before the work and not after it."""
    import os
    from pathlib import Path

    folder = Path(path).absolute().parent
    if Path(path).is_dir():
        raise WrongInput(f"{option} {path}: is a folder; name a file in it")
    if not folder.is_dir():
        raise WrongInput(f"{option} {path}: there is no folder {str(folder)!r}")
    if not os.access(folder, os.W_OK):
        from petiole.cli.errors import Failure

        raise Failure(f"{option} {path}: the folder {str(folder)!r} cannot be written to")


def _answer(model: Any, method: str, done: Fitted, output: str, constraints: ConstraintOptions) -> Answer:
    from petiole._classifiers.nesting import with_inner_classifiers

    *_, innermost = with_inner_classifiers(model)
    loss = getattr(innermost, "oob_log_loss_", None)
    lines = [f"{type(model).__name__} fitted to {done.n_rows:,} rows in {done.seconds:.1f} s"]
    if loss is not None:
        lines.append(f"expected log-loss of new rows: {loss:.4f} bits (out of bag)")
    lines += _about_growth(innermost, done.n_rows)
    lines += constraints.lines()
    if hasattr(model, "predict_set"):
        lines.append(f"prediction sets calibrated on {model.n_calibration_rows_:,} rows ({model.calibrated_on_})")
    if "interval_rows_" in vars(innermost):
        lines.append(f"stores {len(innermost.interval_rows_):,} training rows for intervals")
    lines.append(f"wrote {output}")
    found = {
        "file": output,
        "method": method,
        "class": type(model).__name__,
        "rows": done.n_rows,
        "columns": done.kinds,
        "left_out": done.left_out,
        "warnings": done.warnings,
        "classes": model.classes_,
        "seconds": done.seconds,
        "oob_log_loss": loss,
    }
    return Answer(lines=lines, data=found)
