"""Progress and the time left: nothing for two seconds, then a bar on a terminal, lines otherwise."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0  # seconds before anything is shown
SECONDS_BETWEEN_LINES = 10.0


class Waiting:
    """Progress (see ``petiole._progress``) on standard error, for work that may take only a moment.

    >>> waiting = Waiting(quiet=True)
    >>> waiting.start(2), waiting.advance("first"), waiting.stop()
    (None, None, None)
    """

    def __init__(self, what: str = "", *, quiet: bool = False, tells_time: bool = False) -> None:
        self._what, self._quiet = what, quiet
        self._tells_time = tells_time  # the texts of the steps have the time left in them
        self._lock = threading.Lock()
        self._bar: Any = None
        self._timer: threading.Timer | None = None
        self._total, self._done = 0.0, 0.0

    def start(self, total: float) -> None:
        """Begin, with this many steps to come."""
        self._total, self._done = float(total), 0.0
        self._started = self._last_line = time.monotonic()
        if self._quiet:
            return
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def advance(self, text: str = "", steps: float = 1) -> None:
        """Report that this many steps are done; ``text`` names the next or last one."""
        self.reach(self._done + steps, text)

    def reach(self, done: float, text: str = "") -> None:
        """Report that this many steps are done altogether."""
        *messages, state = text.split("\n")
        self._done, self._what = done, state or self._what
        for message in messages if not self._quiet else ():
            self._keep(message)
        with self._lock:
            if self._bar is not None:
                self._bar.update(0, completed=done, description=self._what)
        if not self._quiet and not sys.stderr.isatty():
            self._write_line_at_times()

    def stop(self) -> None:
        """End: remove the bar."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._quiet = True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _keep(self, message: str) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.console.print(message, markup=False)
            else:
                print(message, file=sys.stderr, flush=True)

    def _appear(self) -> None:
        if not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            *(() if self._tells_time else (TimeRemainingColumn(elapsed_when_finished=True),)),
        )
        with self._lock:
            if self._quiet:
                return
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(self._what, total=self._total or None, completed=self._done)
            self._bar.start()

    def _write_line_at_times(self) -> None:
        now = time.monotonic()
        if now - self._started < PATIENCE or now - self._last_line < SECONDS_BETWEEN_LINES:
            return
        self._last_line = now
        if not self._total:
            print(f"{self._what}: {now - self._started:.0f} s so far", file=sys.stderr, flush=True)
            return
        share = min(1.0, self._done / self._total)
        shows_time = self._tells_time or not share
        left = "" if shows_time else f", {(now - self._started) * (1 - share) / share:.0f} s left"
        print(f"{self._what}: {share:.0%}{left}", file=sys.stderr, flush=True)


@contextmanager
def waiting(what: str, total: float, quiet: bool) -> Iterator[Waiting]:
    """A bar that is removed at the end, also after an error."""
    bar = Waiting(what, quiet=quiet)
    bar.start(total)
    try:
        yield bar
    finally:
        bar.stop()


@contextmanager
def expecting(what: str, seconds: float, quiet: bool) -> Iterator[None]:
    """A bar for work that reports no progress but is expected to take this many seconds."""
    over = threading.Event()

    def tick(bar: Waiting) -> None:
        started = time.monotonic()
        while not over.wait(0.2):
            bar.reach(min(time.monotonic() - started, 0.99 * seconds))

    with waiting(what, seconds, quiet) as bar:
        thread = threading.Thread(target=tick, args=(bar,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
