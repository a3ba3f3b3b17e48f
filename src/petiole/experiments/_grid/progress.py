"""How far a run of cells is and how long it will take: a bar on a terminal, lines otherwise."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from petiole._progress import Bar, Progress, TimeLeft, duration_text
from petiole.experiments._grid.cells import Cell
from petiole.experiments._grid.outcomes import Outcome

SECONDS_BETWEEN_LINES = 10.0


def make_progress() -> Progress:
    """A bar on a terminal, lines otherwise."""
    return Bar("cells") if sys.stderr.isatty() else Lines()


class Lines:
    """Writes a line now and then, also to a file or a log."""

    def __init__(self, file: TextIO | None = None, every: float = SECONDS_BETWEEN_LINES) -> None:
        self._file, self._every = file or sys.stderr, every

    def start(self, total: int) -> None:
        self._total, self._done = total, 0
        self._last = time.perf_counter()
        self._write(f"{total} cells to compute")

    def advance(self, text: str) -> None:
        self._done += 1
        *messages, state = text.split("\n")
        for message in messages:
            self._write(message)
        if time.perf_counter() - self._last >= self._every or self._done == self._total:
            self._last = time.perf_counter()
            self._write(f"{self._done} of {self._total} cells, {state}")

    def stop(self) -> None:
        pass

    def _write(self, line: str) -> None:
        print(line, file=self._file, flush=True)


class CellTexts:
    """Reports of a run as its cells end: which failed, how many, and the time left.

    Parameters
    ----------
    cells : the cells to come
    n_skipped : int
        Cells that were there before, which the first text tells.
    """

    def __init__(self, cells: Sequence[Cell], n_skipped: int) -> None:
        self._time_left = TimeLeft(kind_of(cell) for cell in cells)
        self._n_failed, self._n_skipped = 0, n_skipped
        self._told: set[str] = set()

    def after(self, outcome: Outcome) -> str:
        """The text for :meth:`Progress.advance`."""
        self._time_left.note(kind_of(outcome.task.cell), outcome.seconds)
        self._n_failed += outcome.failed
        messages = [f"{self._n_skipped} cells are there already"] if self._n_skipped else []
        self._n_skipped = 0
        if outcome.failed and gist_of(outcome.error) not in self._told:  # not a line for every cell
            self._told.add(gist_of(outcome.error))
            messages.append(failure_text(outcome))
        failed = f"{self._n_failed} failed, " if self._n_failed else ""
        return "\n".join([*messages, f"{failed}{duration_text(self._time_left.seconds())} left"])


def kind_of(cell: Cell) -> tuple[str, str]:
    """Cells of one data set and method take about as long as each other."""
    return cell.data_set, cell.method


def last_line(error: str | None) -> str:
    """The line of a traceback that says what went wrong."""
    lines = (error or "").strip().splitlines()
    return lines[-1] if lines else "failed"


def gist_of(error: str | None) -> str:
    """Equal for errors that differ only in the name of a data set.

    >>> gist_of("ValueError: name='iris': is not here") == gist_of("ValueError: name='wine': is not here")
    True
    """
    return re.sub(r"name='[^']*'", "", last_line(error))


def failure_text(outcome: Outcome) -> str:
    """A line about a cell that failed: the last of its traceback."""
    cell = outcome.task.cell
    return f"{cell.data_set}, trial {cell.trial}, {cell.method}: {last_line(outcome.error)}"
