"""What becomes of a task: scores, or an error that is kept."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Protocol

from petiole.experiments._grid.cells import Task, Work

TIMED_OUT = "TimeoutError:"  # how the error of a cell begins that took longer than it may


@dataclass(frozen=True)
class Outcome:
    """The scores of a task, or its error; the time it took; how many attempts were made."""

    task: Task
    scores: Mapping[str, float] | None
    error: str | None
    seconds: float
    attempts: int = 1

    @property
    def failed(self) -> bool:
        return self.scores is None

    @property
    def timed_out(self) -> bool:
        return self.error is not None and self.error.startswith(TIMED_OUT)

    @classmethod
    def of_failure(cls, task: Task, error: str, seconds: float = 0.0) -> Outcome:
        return cls(task, None, error, seconds)


class Engine(Protocol):
    """Runs tasks somewhere and yields their outcomes as they come, in any order; no error of a task stops it."""

    def outcomes(self, work: Work, tasks: Sequence[Task], retries: int) -> Iterator[Outcome]: ...


def attempt(work: Work, task: Task) -> Outcome:
    """Run one task; an exception becomes part of the outcome."""
    start = time.perf_counter()
    try:
        scores = _checked(work(task))
    except Exception:
        return Outcome.of_failure(task, traceback.format_exc(), time.perf_counter() - start)
    return Outcome(task, scores, None, time.perf_counter() - start)


def _checked(scores: Mapping[str, float]) -> dict[str, float]:
    good = isinstance(scores, Mapping) and all(
        isinstance(name, str) and isinstance(value, Real) for name, value in scores.items()
    )
    if not good:
        raise TypeError(f"the work returned {scores!r}: it must return a dict from names to numbers")
    return {name: float(value) for name, value in scores.items()}


class Attempts:
    """Counts attempts and decides which failures are tried again."""

    def __init__(self, retries: int) -> None:
        self._retries = retries
        self._failures: dict[tuple[str, int, str], int] = {}

    def to_try_again(self, outcome: Outcome) -> bool:
        """Note a failure, and whether there is another attempt left."""
        if not outcome.failed:
            return False
        failures = self._failures[outcome.task.cell] = self._failures.get(outcome.task.cell, 0) + 1
        return failures <= self._retries

    def final(self, outcome: Outcome) -> Outcome:
        """The outcome with the number of attempts it took."""
        failures = self._failures.get(outcome.task.cell, 0)
        return replace(outcome, attempts=failures + (0 if outcome.failed else 1))
