"""Errors, the line that is printed about each, and the exit code."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import typer

FAILURE, WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
TRACEBACK_VARIABLE = "PETIOLE_TRACEBACK"

Function = TypeVar("Function", bound=Callable[..., Any])


class Failure(Exception):
    """The command failed; the exit code is 1."""

    exit_code = FAILURE


class WrongInput(Failure):
    """The user's arguments or data are invalid; the exit code is 2."""

    exit_code = WRONG_INPUT


def errors_in_one_line(function: Function) -> Function:
    """A command whose errors end in one line on standard error and an exit code, without a traceback."""

    @functools.wraps(function)
    def command(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (typer.Exit, SystemExit):
            raise
        except BaseException as error:
            if os.environ.get(TRACEBACK_VARIABLE):
                raise
            raise typer.Exit(explain_failure(error)) from None

    return command  # type: ignore[return-value]


def explain_failure(error: BaseException) -> int:
    """Write the line about an error to standard error; the exit code."""
    if isinstance(error, BrokenPipeError):
        _discard_output()
        return BROKEN_PIPE
    code, line = _exit_code_and_message(error)
    print(line, file=sys.stderr, flush=True)
    return code


def _exit_code_and_message(error: BaseException) -> tuple[int, str]:
    text = " ".join(str(error).split())
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, text or "stopped"
    if isinstance(error, Failure):
        return error.exit_code, text
    if isinstance(error, OSError):
        named = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else text
        return (WRONG_INPUT if isinstance(error, (FileNotFoundError, IsADirectoryError)) else FAILURE), named
    if isinstance(error, MemoryError):
        return FAILURE, "there is not enough memory for this"
    if isinstance(error, ImportError):
        return FAILURE, text
    if isinstance(error, ValueError):
        return WRONG_INPUT, _advised_in_commands(error) or text
    hint = f"set {TRACEBACK_VARIABLE}=1 to see the traceback"
    return FAILURE, f"{type(error).__name__}: {text} (an error in petiole; {hint})"


def _advised_in_commands(error: ValueError) -> str | None:
    """The line about an error whose own message advises calls in Python."""
    loading = sys.modules.get("petiole.datasets.loading")  # not imported before it is needed
    if loading is not None and isinstance(error, loading.UnknownDataSet):
        return f"{error.name}: {error.reason} (petiole datasets list shows what there is)"
    return None


def _discard_output() -> None:
    """The reader of standard output has closed it (``| head -1``): discard what is buffered without an error."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is not a file, as in tests
        pass


def nearest_of(name: str, known: Collection[str]) -> str:
    """A hint about an unknown name: the nearest known one, or all.

    >>> nearest_of("prune", ["predict", "probe"])
    "did you mean 'probe'?"
    """
    from petiole._validation import did_you_mean  # imports NumPy, which `petiole --help` does not need

    return did_you_mean(name, known, f"there are {', '.join(known)}")
