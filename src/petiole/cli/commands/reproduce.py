"""``petiole reproduce``: run a paper's experiment and write its page."""

from __future__ import annotations

from typing import Annotated

import typer

from petiole.cli.errors import errors_in_one_line


@errors_in_one_line
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="Name of the paper, such as nielsen-2004.", show_default=False),
    ],
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", help="Number of processes; 0 runs the cells in this process.")
    ] = 1,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials", metavar="N", help="Trials of each data set; by default as in the paper.", show_default=False
        ),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(
            "--datasets", metavar="A,B", help="Names separated by commas; all by default.", show_default=False
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="A,B", help="Names separated by commas; all by default.", show_default=False),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="Run only a few trials: minutes instead of hours.")
    ] = False,
    database: Annotated[
        str, typer.Option("--database", metavar="FILE", help="The database of finished cells.")
    ] = "petiole-experiments.sqlite",
    page: Annotated[
        str | None,
        typer.Option(
            "--page",
            metavar="FILE",
            help="The page to write; by default docs/reproduction/<paper>.md.",
            show_default=False,
        ),
    ] = None,
    page_only: Annotated[
        bool, typer.Option("--page-only", metavar="", help="Write the page from the database and compute nothing.")
    ] = False,
    engine: Annotated[
        str, typer.Option("--engine", metavar="NAME", help="How cells are computed: processes or dask.")
    ] = "processes",
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            metavar="URL",
            help="Address of a Dask scheduler; by default one is started on this machine.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run a paper's experiment and write a page that compares its tables with ours.

    Finished cells are kept in the database: you can stop at any time, and the same command continues.
    """
    from petiole.cli.io.labelled import split_names
    from petiole.experiments import command

    request = command.Request(
        paper=paper,
        jobs=jobs,
        trials=trials,
        datasets=split_names([datasets]) if datasets else None,
        methods=split_names([methods]) if methods else None,
        quick=quick,
        database=database,
        page=page,
        page_only=page_only,
        engine=engine,
        address=address,
    )
    try:
        code = command.reproduce(request)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command continues from there") from None
    raise typer.Exit(code)
