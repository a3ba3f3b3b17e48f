"""Progress of long work: how much is done, and an estimate of the time left."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Protocol

# Lines are printed no more often than this.
SECONDS_BETWEEN_LINES = 2.0


class Progress(Protocol):
    """Interface of a progress display, to which long work reports.

    The last line of a step's text is the state of the work, so a display may skip or overwrite it. Lines before it are
    messages, such as an error, and stay visible.
    """

    def start(self, total: int) -> None:
        """Begin; ``total`` steps are to come."""
        ...

    def advance(self, text: str) -> None:
        """Report that a step is done."""
        ...

    def stop(self) -> None:
        """End the display, also after an error or Ctrl-C."""
        ...


class Silent:
    """Progress that is not shown."""

    def start(self, total: int) -> None:
        pass

    def advance(self, text: str) -> None:
        pass

    def stop(self) -> None:
        pass


class PrintedLines:
    """Progress as lines on standard output, for ``verbose`` models: the last line, and others from time to time.

    Parameters
    ----------
    who : str
        The name in front of each line.
    """

    def __init__(self, who: str) -> None:
        self._who = who

    def start(self, total: int) -> None:
        self._left = total
        self._last = time.monotonic()

    def advance(self, text: str) -> None:
        self._left -= 1
        now = time.monotonic()
        if now - self._last > SECONDS_BETWEEN_LINES or not self._left:
            print(f"[{self._who}] {text}", flush=True)
            self._last = now

    def stop(self) -> None:
        pass


class Bar:
    """Progress as a bar on standard error, drawn by rich.

    Parameters
    ----------
    what : str
        The name of the steps, such as "cells".
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def start(self, total: int) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as RichProgress
        except ImportError as error:
            raise ImportError("a progress bar needs rich: pip install rich") from error
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[text]}", markup=False),
        )
        self._progress = RichProgress(*columns, console=Console(stderr=True))
        self._task = self._progress.add_task(self._what, total=total, text="")
        self._progress.start()

    def advance(self, text: str) -> None:
        *messages, state = text.split("\n")
        for message in messages:
            self._progress.console.print(message, markup=False)
        self._progress.update(self._task, advance=1, text=state)

    def stop(self) -> None:
        self._progress.stop()


class TimeLeft:
    """Estimates the seconds that the rest of some work takes, from the steps that are done.

    Steps differ, so each kind of step has its own mean. A kind is a tuple from the general to the particular, such as
    (data set, method); one that has not occurred yet is estimated from kinds that begin with the same entries. The
    ratio of elapsed time to computing time is learned from the work itself, so it reflects the number of jobs and the
    load of the machine.

    Parameters
    ----------
    kinds : one tuple of str for each step to come
    clock : function, default: the system's clock

    Examples
    --------
    >>> clock = iter([0.0, 10.0])
    >>> left = TimeLeft([("fast",), ("slow",)] * 2, lambda: next(clock))
    >>> left.note(("fast",), 1.0), left.note(("slow",), 9.0)
    (None, None)
    >>> left.seconds()
    10.0
    """

    def __init__(self, kinds: Iterable[tuple[str, ...]], clock: Callable[[], float] = time.perf_counter) -> None:
        self._left = Counter(kinds)
        self._seen: dict[Any, list[float]] = defaultdict(lambda: [0, 0.0])
        self._clock, self._start = clock, clock()

    def note(self, kind: tuple[str, ...], seconds: float) -> None:
        """Record that a step of this kind took so many seconds of computing."""
        self._left[kind] -= 1
        for length in range(len(kind) + 1):
            self._seen[kind[:length]][0] += 1
            self._seen[kind[:length]][1] += seconds

    def drop(self, kind: tuple[str, ...]) -> None:
        """Leave the remaining steps of this kind out of the estimate."""
        self._left[kind] = 0

    def seconds(self) -> float | None:
        """The estimated seconds left; None before the first step has ended."""
        _, computed = self._seen.get((), [0, 0.0])
        if computed <= 0:
            return None
        to_compute = sum(n * self._mean(kind) for kind, n in self._left.items())
        return to_compute * (self._clock() - self._start) / computed

    def _mean(self, kind: tuple[str, ...]) -> float:
        key = next(kind[:length] for length in range(len(kind), -1, -1) if kind[:length] in self._seen)
        n, total = self._seen[key]
        return total / n


def duration_text(seconds: float | None) -> str:
    """A duration as readable text.

    >>> [duration_text(seconds) for seconds in (None, 7.2, 100, 4000)]
    ['unknown', '7 s', '1:40 min', '1:06 h']
    """
    if seconds is None:
        return "unknown"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"
