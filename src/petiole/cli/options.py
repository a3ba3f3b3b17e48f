"""The options that commands share. Nothing heavy may be imported here: ``petiole --help`` reads this."""

from __future__ import annotations

from typing import Annotated

import typer

COLUMNS, OUTPUT, RUN = "Columns", "Output", "Run"

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, Parquet, Arrow or ARFF, CSV and ARFF also gzipped), - for standard input, or the name of a "
        "data set such as iris.",
        show_default=False,
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, written by fit.", show_default=False)]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="The column with the class.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Nominal = Annotated[
    list[str] | None,
    typer.Option(
        "--nominal",
        metavar="A,B",
        help="Columns of names, though they look like numbers.",
        rich_help_panel=COLUMNS,
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option("--numeric", metavar="A,B", help="Columns that must be numbers.", rich_help_panel=COLUMNS),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="A,B", help="Columns to leave out.", rich_help_panel=COLUMNS),
]
Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="A,B",
        help="Columns that name rows: not used, but kept beside predictions.",
        rich_help_panel=COLUMNS,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="How many rows each row stands for.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="A,B",
        help="Cells of CSV that mean 'no value', besides empty ones.",
        rich_help_panel=COLUMNS,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Of CSV and ARFF; UTF-8 by default.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        "--costs",
        metavar="TABLE",
        help="A CSV file (a row per decision, a column per true class), or 'decision:truth=cost' with commas between: "
        "'yes:no=5,no:yes=1'. * stands for any class; right answers cost 0 unless said.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Processors to use; all by default. Results do not depend on it.",
        rich_help_panel=RUN,
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of everything that is drawn.", rich_help_panel=RUN)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no progress, no notes.", rich_help_panel=RUN)]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output.", rich_help_panel=OUTPUT)]
