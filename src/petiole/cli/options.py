"""The options that commands share. Nothing heavy may be imported here: ``petiole --help`` reads this."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

COLUMNS, OUTPUT, RUN = "Columns", "Output", "Run"
FLAG = ""  # the value of an option that has none: help says nothing about it


def paragraphs_of(command: Callable[..., Any]) -> str:
    """The docstring of a command with every paragraph in one line, so that help divides it where the window ends."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(command.__doc__ or "").split("\n\n"))


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, Parquet, Arrow or ARFF; CSV and ARFF also gzipped), - for standard input, or the name of a "
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
        help="The column that holds the labels.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Nominal = Annotated[
    list[str] | None,
    typer.Option(
        "--nominal",
        metavar="A,B",
        help="Columns to treat as categorical even if they look like numbers.",
        rich_help_panel=COLUMNS,
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option("--numeric", metavar="A,B", help="Columns to treat as numeric.", rich_help_panel=COLUMNS),
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
        help="Columns that identify rows: not used as features, but copied into predictions.",
        rich_help_panel=COLUMNS,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="The column with the weight of each row.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="A,B",
        help="Texts of CSV cells that mean a missing value, besides the usual ones (empty, ?, NA, N/A, null, None, "
        "nan); =A,B instead of these.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="SIGN",
        help="The decimal sign of numbers in CSV, . or , - found from the cells by default.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        "--thousands",
        metavar="SIGN",
        help="The thousands separator in CSV; recognised from the cells by default.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="SIGN",
        help="The separator of CSV cells; by default a comma, semicolon, tab or pipe, whichever fits.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
IgnoreCase = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-case",
        metavar="A,B",
        help="Columns in which YES, Yes and yes are the same, among them the target; read in small letters.",
        rich_help_panel=COLUMNS,
    ),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option(
        "--drop-missing-target", metavar=FLAG, help="Leave out rows without a class.", rich_help_panel=COLUMNS
    ),
]
TargetBins = Annotated[
    str | None,
    typer.Option(
        "--target-bins",
        metavar="A,B",
        help="Cut a numeric target into classes at these numbers.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Character encoding of CSV and ARFF files; UTF-8 by default.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        "--costs",
        metavar="TABLE",
        help="Costs of decisions: a CSV file (a row per decision, a column per true class), or a list "
        "'decision:truth=cost' such as 'yes:no=5,no:yes=1'. * stands for any class; correct decisions cost 0 by "
        "default.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Number of processors to use; all by default. Results do not depend on it.",
        rich_help_panel=RUN,
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the random numbers.", rich_help_panel=RUN)]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", metavar=FLAG, help="Print no summary, progress or notes.", rich_help_panel=RUN),
]
AsJson = Annotated[
    bool, typer.Option("--json", metavar=FLAG, help="Write JSON to standard output.", rich_help_panel=OUTPUT)
]
