"""``petiole datasets``: the data sets that have a name."""

from __future__ import annotations

from typing import Annotated

import typer

from petiole.cli import options
from petiole.cli.errors import told_in_one_line
from petiole.cli.screen import Answer, Section, note, show, warnings_as_notes

app = typer.Typer(no_args_is_help=True, help="List, describe and write the data sets that have a name.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set; see the list.", show_default=False)]


@app.command("list")
@told_in_one_line
def list_names(json: options.AsJson = False) -> None:
    """List the data sets: those of the folder PETIOLE_DATA, and four that come with scikit-learn."""
    from petiole.datasets import loading

    with warnings_as_notes(quiet=False):
        found = loading.list_datasets()
    rows = [[name, summary] for name, summary in found.items()]
    show(Answer([Section("", ["name", "what it is"], rows)], data=found), json)


@app.command()
@told_in_one_line
def describe(name: Name, json: options.AsJson = False) -> None:
    """Describe a data set: size, source, classes and columns."""
    from petiole.datasets import loading
    from petiole.datasets.columns import KIND_TITLES

    with warnings_as_notes(quiet=False):
        found = loading.describe(name)
    facts = {"summary": found.summary, "source": found.source, "license": found.license, "notes": found.notes}
    facts["papers"] = ", ".join(found.papers)
    sections = [
        Section("", ["data set", name], [[key, value] for key, value in facts.items() if value]),
        Section("Classes", ["class", "rows"], [[str(label), count] for label, count in found.class_counts.items()]),
        Section("Columns", ["name", "kind"], [[key, KIND_TITLES[kind]] for key, kind in found.kinds.items()]),
    ]
    data = {"name": name, "rows": found.rows, **facts, "classes": found.class_counts, "columns": found.kinds}
    show(Answer(sections, data=data), json)


@app.command()
@told_in_one_line
def write(
    name: Name,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write: CSV, Parquet, Arrow or JSON by its name. CSV on standard output by default.",
            show_default=False,
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a data set to a file; the labels are in the last column, named class."""
    from petiole.cli.io.labelled import NAMED_TARGET, texts_of
    from petiole.cli.io.sinks import open_sink
    from petiole.datasets.columns import Categorical
    from petiole.datasets.loading import load_columns

    with warnings_as_notes(quiet):
        columns, y, description = load_columns(name)
        spelled = _spelled_numbers(output)
        cells = {
            key: texts_of(column) if isinstance(column, Categorical) or spelled else column.values
            for key, column in columns.items()
        }
        with open_sink(output, None, [*cells, NAMED_TARGET]) as sink:
            sink.write(cells | {NAMED_TARGET: y.tolist()})
        if output is not None:
            note(f"wrote {output}: {description.summary}", quiet)


def _spelled_numbers(output: str | None) -> bool:
    """Whether numbers are written as texts: in CSV whole ones have no point, and missing ones are empty."""
    from petiole.cli.io.sinks import format_of

    return format_of(output, None) == "csv"
