"""How far a run is and how long it will take: a bar on a terminal, lines otherwise."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TextIO

from petiole._durations import duration_text
from petiole.experiments._grid.cells import Cell
from petiole.experiments._grid.outcomes import Outcome

SECONDS_BETWEEN_LINES = 10.0


class Progress(Protocol):
    """Told when a run starts, after every cell, and when it stops."""

    def start(self, cells: Sequence[Cell], n_skipped: int) -> None: ...
    def advance(self, outcome: Outcome) -> None: ...
    def stop(self) -> None: ...


class Silent:
    """Says nothing."""

    def start(self, cells: Sequence[Cell], n_skipped: int) -> None:
        pass

    def advance(self, outcome: Outcome) -> None:
        pass

    def stop(self) -> None:
        pass


class TimeLeft:
    """Estimates the seconds that the rest of a run takes.

    Cells of a large data set take longer than others, so each kind of cell (data set and method) has its own mean; a
    kind that has not occurred yet is taken to be like its data set, or like all. What a second of computing costs on
    the clock is learned from the run itself: it covers the number of jobs and a busy machine.

    Parameters
    ----------
    cells : the cells to come
    clock : function, default: the system's clock
    """

    def __init__(self, cells: Sequence[Cell], clock: Callable[[], float] = time.perf_counter) -> None:
        self._left = Counter((cell.data_set, cell.method) for cell in cells)
        self._seen: dict[Any, list[float]] = defaultdict(lambda: [0, 0.0])
        self._clock, self._start = clock, clock()

    def note(self, cell: Cell, seconds: float) -> None:
        """A cell has ended after so many seconds of computing."""
        self._left[cell.data_set, cell.method] -= 1
        for key in ((cell.data_set, cell.method), cell.data_set, None):
            self._seen[key][0] += 1
            self._seen[key][1] += seconds

    def seconds(self) -> float | None:
        """The estimate; None before the first cell."""
        _, computed = self._seen.get(None, [0, 0.0])
        if computed <= 0:
            return None
        to_compute = sum(n * self._mean(*kind) for kind, n in self._left.items())
        return to_compute * (self._clock() - self._start) / computed

    def _mean(self, data_set: str, method: str) -> float:
        key = next(key for key in ((data_set, method), data_set, None) if key in self._seen)
        n, total = self._seen[key]
        return total / n


class Lines:
    """Writes a line now and then, also to a file or a log."""

    def __init__(self, file: TextIO | None = None, every: float = SECONDS_BETWEEN_LINES) -> None:
        self._file, self._every = file or sys.stderr, every

    def start(self, cells: Sequence[Cell], n_skipped: int) -> None:
        self._time_left, self._total, self._done, self._failed = TimeLeft(cells), len(cells), 0, 0
        self._last = time.perf_counter()
        there = f", {n_skipped} are there already" if n_skipped else ""
        print(f"{len(cells)} cells to compute{there}", file=self._file, flush=True)

    def advance(self, outcome: Outcome) -> None:
        self._time_left.note(outcome.task.cell, outcome.seconds)
        self._done += 1
        self._failed += outcome.failed
        if outcome.failed:
            print(failure_text(outcome), file=self._file, flush=True)
        if time.perf_counter() - self._last >= self._every or self._done == self._total:
            self._last = time.perf_counter()
            failed = f", {self._failed} failed" if self._failed else ""
            left = duration_text(self._time_left.seconds())
            print(f"{self._done} of {self._total} cells{failed}, {left} left", file=self._file, flush=True)

    def stop(self) -> None:
        pass


class Bar:
    """A bar with the time left, by rich."""

    def start(self, cells: Sequence[Cell], n_skipped: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]} left"),
        )
        self._time_left = TimeLeft(cells)
        self._progress = RichProgress(*columns, console=Console(stderr=True))
        total = len(cells) + n_skipped
        self._bar = self._progress.add_task("cells", total=total, completed=n_skipped, left=duration_text(None))
        self._progress.start()

    def advance(self, outcome: Outcome) -> None:
        self._time_left.note(outcome.task.cell, outcome.seconds)
        if outcome.failed:
            self._progress.console.print(failure_text(outcome), markup=False)
        self._progress.update(self._bar, advance=1, left=duration_text(self._time_left.seconds()))

    def stop(self) -> None:
        self._progress.stop()


def make_progress() -> Progress:
    """A bar on a terminal, lines otherwise."""
    return Bar() if sys.stderr.isatty() else Lines()


def failure_text(outcome: Outcome) -> str:
    """A line about a cell that failed: the last of its traceback."""
    cell, lines = outcome.task.cell, (outcome.error or "").strip().splitlines()
    return f"{cell.data_set}, trial {cell.trial}, {cell.method}: {lines[-1] if lines else 'failed'}"
