"""The ``petiole`` command. Nothing large is imported before a command runs, so that help is shown at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from petiole.cli.commands import data_sets
from petiole.cli.commands.compare import compare
from petiole.cli.commands.evaluate import evaluate
from petiole.cli.commands.explain import explain
from petiole.cli.commands.export import export
from petiole.cli.commands.fit import fit
from petiole.cli.commands.info import info
from petiole.cli.commands.monitor import monitor
from petiole.cli.commands.predict import predict
from petiole.cli.commands.reproduce import reproduce
from petiole.cli.commands.update import update
from petiole.cli.errors import explain_failure
from petiole.cli.options import paragraphs_of

TERMINATED = 143  # what shells report after SIGTERM

app = typer.Typer(
    name="petiole",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Class probabilities people can act on, from decision trees and their ensembles.",
    epilog="To try it: petiole compare iris",
)
for command in (compare, fit, predict, evaluate, explain, update, monitor, info, export, reproduce):
    app.command(rich_help_panel="Commands", help=paragraphs_of(command))(command)
app.add_typer(data_sets.app, name="datasets", rich_help_panel="Commands")


def _show_version(wanted: bool) -> None:
    if wanted:
        from petiole import __version__

        typer.echo(f"petiole {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Class probabilities people can act on, from decision trees and their ensembles."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0, 1 after a failure, 2 for invalid input, 130 after Ctrl-C."""
    if arguments is None:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        app(args=None if arguments is None else list(arguments), prog_name="petiole")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except (KeyboardInterrupt, OSError) as error:
        return explain_failure(error)
    return 0


def _terminate(*_: Any) -> None:
    """End as after an error, so that half-written files are removed."""
    sys.exit(TERMINATED)
