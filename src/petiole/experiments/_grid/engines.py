"""Where cells run on one machine: in this process, or in several processes that may die without harm to the others."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait

from petiole._validation import check_whole
from petiole.experiments._grid.cells import Task, Work, check_picklable
from petiole.experiments._grid.outcomes import TIMED_OUT, Attempts, Outcome, attempt

# Numerical libraries read these when they are loaded. The cells are what runs in parallel.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SECONDS_TO_END = 5.0
TIME_IS_OVER = int(getattr(signal, "SIGXCPU", 0))  # 0 on Windows, which has no such limit


class InProcess:
    """Runs one cell after the other in this process: for debugging."""

    def outcomes(self, work: Work, tasks: Sequence[Task], retries: int) -> Iterator[Outcome]:
        attempts = Attempts(retries)
        for task in tasks:
            outcome = attempt(work, task)
            while attempts.to_try_again(outcome):
                outcome = attempt(work, task)
            yield attempts.final(outcome)


class Processes:
    """Runs cells in ``jobs`` processes.

    A process that dies (killed, out of memory, a crash in compiled code) is replaced; the cell it was at is tried
    again or noted as failed. The processes are ended when the iteration ends, by whatever cause, and end by themselves
    if this process is killed. With a time limit, a process that needs more of the processor's time for a cell is
    killed by the system, where there is such a limit: on Linux and macOS.
    """

    def __init__(self, jobs: int, time_limit: float | None = None) -> None:
        check_whole("jobs", jobs, 1)
        self.jobs, self.time_limit = jobs, time_limit

    def outcomes(self, work: Work, tasks: Sequence[Task], retries: int) -> Iterator[Outcome]:
        check_picklable(work)
        attempts, crew = Attempts(retries), _Crew(work, self.jobs, self.time_limit)
        waiting = deque(tasks)
        try:
            crew.hand_out(waiting)
            while crew.busy:
                finished = []
                for outcome in crew.collect():
                    if outcome.timed_out:
                        finished += [outcome, *_given_up(waiting, outcome)]
                    elif attempts.to_try_again(outcome):
                        waiting.append(outcome.task)
                    else:
                        finished.append(attempts.final(outcome))
                crew.hand_out(waiting)  # before the outcomes are dealt with, so that nobody waits for that
                yield from finished
        finally:
            crew.end()


def _given_up(waiting: deque[Task], late: Outcome) -> list[Outcome]:
    """The outcomes of the other trials of a method that was too slow for a data set; they no longer wait."""
    cell = late.task.cell
    alike = [task for task in waiting if (task.cell.data_set, task.cell.method) == (cell.data_set, cell.method)]
    for task in alike:
        waiting.remove(task)
    return [Outcome.of_failure(task, f"{late.error}, in trial {cell.trial}") for task in alike]


class _Crew:
    """The processes: those at work, and those that wait for the next task."""

    def __init__(self, work: Work, jobs: int, time_limit: float | None) -> None:
        self._work, self._jobs, self._time_limit = work, jobs, time_limit
        self.busy: dict[Connection, _Worker] = {}
        self._idle: list[_Worker] = []

    def hand_out(self, waiting: deque[Task]) -> None:
        while waiting and len(self.busy) < self._jobs:
            worker = self._idle.pop() if self._idle else _Worker(self._work, self._time_limit)
            worker.give(waiting.popleft())
            self.busy[worker.connection] = worker

    def collect(self) -> Iterator[Outcome]:
        """The outcomes that are there, after waiting for the first."""
        for connection in wait(list(self.busy)):
            worker = self.busy[connection]  # type: ignore[index]
            if not worker.is_ready:
                worker.greet()
                continue
            outcome = worker.receive()
            del self.busy[worker.connection]
            if worker.is_alive:
                self._idle.append(worker)
            yield outcome

    def end(self) -> None:
        for worker in [*self.busy.values(), *self._idle]:
            worker.end()


class _Worker:
    """A process and the pipe to it. It reports that it is ready before it takes tasks."""

    def __init__(self, work: Work, time_limit: float | None) -> None:
        self._time_limit = time_limit
        context = multiprocessing.get_context("spawn")  # a fork would hold the lines of its sisters open
        self.connection, far_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(far_end, work, time_limit), daemon=True)
        with _interrupts_ignored(), _environment(ONE_THREAD):
            self._process.start()
        far_end.close()
        self._task: Task | None = None
        self.is_ready, self.is_alive = False, True

    def give(self, task: Task) -> None:
        self._task = task
        with contextlib.suppress(OSError):  # it has died, which receive() will find
            self.connection.send(task)

    def greet(self) -> None:
        try:
            self.connection.recv()
        except (EOFError, OSError):
            self._wait_for_end()
            raise RuntimeError(
                f"a worker process ended with exit code {self._process.exitcode} before it was ready; what it printed "
                "says why. In a script, start experiments under `if __name__ == '__main__':`."
            ) from None
        self.is_ready = True

    def receive(self) -> Outcome:
        assert self._task is not None
        try:
            outcome: Outcome = self.connection.recv()
            return outcome
        except (EOFError, OSError):
            self._wait_for_end()
            if TIME_IS_OVER and self._process.exitcode == -TIME_IS_OVER:
                error = f"{TIMED_OUT} not finished after {self._time_limit:g} seconds of processor time"
                return Outcome.of_failure(self._task, error, self._time_limit or 0.0)
            error = f"the process ended with exit code {self._process.exitcode} before the cell was finished"
            return Outcome.of_failure(self._task, error)

    def _wait_for_end(self) -> None:
        """It is dying by itself: wait for that, so that its exit code is its own."""
        self.is_alive = False
        self._process.join(SECONDS_TO_END)
        self.end()

    def end(self) -> None:
        self.connection.close()
        if self._task is not None:
            self._process.terminate()
        self._process.join(SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(connection: Connection, work: Work, time_limit: float | None) -> None:
    """Answer tasks until the other side is gone."""
    with contextlib.suppress(EOFError, OSError):
        connection.send("ready")
        while True:
            task = connection.recv()
            if time_limit is not None and TIME_IS_OVER:
                _limit_processor_time(time_limit)
            connection.send(attempt(work, task))


def _limit_processor_time(seconds: float) -> None:
    """Have this process killed by the signal TIME_IS_OVER when it has taken so many more seconds."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """A process started meanwhile ignores Ctrl-C, which is for the process that started it to deal with."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
