"""``petiole datasets``: data sets by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from petiole.cli import options
from petiole.cli.errors import Failure, WrongInput, errors_in_one_line, nearest_of
from petiole.cli.screen import Answer, Section, note, show, warnings_as_notes

if TYPE_CHECKING:
    from petiole.datasets.folder import Folder
    from petiole.datasets.public import PublicSet

app = typer.Typer(no_args_is_help=True, help="List, describe, write and fetch data sets by name.")


@app.callback(invoke_without_command=True)
def data_sets(
    context: typer.Context,
    fetch: Annotated[
        bool, typer.Option("--fetch", metavar=options.FLAG, help="The same as the command fetch, for all data sets.")
    ] = False,
) -> None:
    """List, describe, write and fetch data sets by name."""
    if fetch and context.invoked_subcommand is None:
        fetch_sets()


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a data set; see the list.", show_default=False)]


@app.command("list")
@errors_in_one_line
def list_names(json: options.AsJson = False) -> None:
    """List the data sets: those of the folder PETIOLE_DATA, loans, and four that come with scikit-learn."""
    from petiole.datasets import loading

    with warnings_as_notes(quiet=False):
        found = loading.list_datasets()
    rows = [[name, summary] for name, summary in found.items()]
    show(Answer([Section("", ["name", "what it is"], rows)], data=found), json)


@app.command()
@errors_in_one_line
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
@errors_in_one_line
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
    """Write a data set to a file; the labels are in the last column, named class unless the set has a name for it."""
    from petiole.cli.io.labelled import texts_of
    from petiole.cli.io.sinks import open_sink
    from petiole.datasets.columns import Categorical
    from petiole.datasets.loading import load_columns

    with warnings_as_notes(quiet):
        columns, y, description = load_columns(name)
        spelled = _spelled_numbers(output)
        cells = {
            key: texts_of(column) if isinstance(column, Categorical) or spelled else column.values
            for key, column in (description.ids | columns).items()
        }
        with open_sink(output, None, [*cells, description.target]) as sink:
            sink.write(cells | {description.target: y.tolist()})
        if output is not None:
            note(f"wrote {output}: {description.summary}", quiet)


@app.command("fetch")
@errors_in_one_line
def fetch_sets(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAMES]...", help="The data sets; by default all.", show_default=False),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", metavar="", help="Fetch them; without it, the command only lists what it would do.")
    ] = False,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Fetch public data sets from OpenML into the cache; without --yes, list which would be fetched and which not."""
    from petiole.datasets.folder import open_cache

    with warnings_as_notes(quiet):
        cache, chosen = open_cache(), _public(names or ())
        wanted = [public for public in chosen if public.can_be_fetched and not cache.has_rows(public.name)]
        if not yes:
            show(_plan(chosen, wanted, str(cache.path)), json)
            return
        failed = _fetch_all(wanted, cache, quiet)
        if failed:
            raise Failure(f"{len(failed)} of {len(wanted)} data sets were not fetched: {', '.join(failed)}")
        note(f"{len(wanted)} data sets fetched into {cache.path}", quiet)


def _public(names: Sequence[str]) -> list[PublicSet]:
    from petiole.datasets.public import public_sets

    known = public_sets()
    for name in names:
        if name not in known:
            raise WrongInput(
                f"{name}: is not one of the public data sets of the experiments; {nearest_of(name, known)}"
            )
    return [known[name] for name in names or known]


def _plan(chosen: Sequence[PublicSet], wanted: Sequence[PublicSet], folder: str) -> Answer:
    """What would be fetched, what is in the cache, and what cannot be fetched."""
    without = [public.name for public in chosen if not public.can_be_fetched]
    there = [public.name for public in chosen if public.can_be_fetched and public not in wanted]
    rows = [[public.name, public.openml, public.rows, public.features, public.license] for public in wanted]
    lines = [f"would fetch {len(wanted)} data sets from OpenML into {folder}; nothing is fetched without --yes"]
    after = []
    if there:
        after.append(f"{len(there)} are in the cache: {', '.join(there)}")
    if without:
        after.append(
            f"{len(without)} cannot be fetched, because their OpenML ids are not known: {', '.join(without)}. "
            "Put them into a folder with a manifest and set PETIOLE_DATA to it"
        )
    header = ["name", "OpenML id", "rows", "features", "license"]
    how = "The ids were written from memory. A set with another fingerprint than the pinned one is refused."
    data = {"folder": folder, "fetch": [vars(public) for public in wanted], "there": there, "unpinned": without}
    return Answer([Section("", header, rows, how)] if rows else [], lines, data, after)


def _fetch_all(wanted: Sequence[PublicSet], cache: Folder, quiet: bool) -> list[str]:
    """Fetch one after another; returns the names of those that failed."""
    from petiole.datasets.openml import fetch_public

    failed = []
    for public in wanted:
        try:
            fetch_public(public, cache)
            note(f"fetched {public.name}", quiet)
        except (OSError, ValueError) as error:
            failed.append(public.name)
            note(" ".join(str(error).split()), False)
    return failed


def _spelled_numbers(output: str | None) -> bool:
    """Whether numbers are written as text: in CSV whole numbers have no point, and missing ones are empty."""
    from petiole.cli.io.sinks import format_of

    return format_of(output, None) == "csv"
