"""The same cells on a Dask cluster, which does the distributing; an optional extra, ``petiole[dask]``."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from petiole._validation import check_whole
from petiole.experiments._grid.cells import Task, Work
from petiole.experiments._grid.engines import ONE_THREAD
from petiole.experiments._grid.outcomes import Attempts, Outcome, attempt

TASKS_PER_THREAD = 4  # so many are with the cluster at a time: enough that no worker waits
SECONDS_WITHOUT_WORKERS = 120.0
SECONDS_TO_FETCH = 10.0
# Dask would let a cell that kills its worker kill three more before it says so; and fewer cells wait with it.
BLAME = {"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-saturation": 1.0}


class Dask:
    """Runs cells on a Dask cluster.

    A cell that kills its worker may be noted as failed together with cells that wait there, and a cluster that is left
    without workers stops the run after two minutes: the next run goes on. On one machine, processes are the better
    choice.

    Parameters
    ----------
    address : str, default=None
        Of a scheduler, such as "tcp://host:8786"; its workers need petiole and the data. By default a cluster on this
        machine is made and taken down again.
    jobs : int, default=1
        Processes of the cluster on this machine.

    Examples
    --------
    >>> from petiole.experiments import run
    >>> from petiole.experiments._grid.engine_dask import Dask
    >>> run(experiment, "results.sqlite", engine=Dask("tcp://host:8786"))  # doctest: +SKIP
    """

    def __init__(self, address: str | None = None, *, jobs: int = 1) -> None:
        check_whole("jobs", jobs, 1)
        self.address, self.jobs = address, jobs
        self._distributed, self._config_set = _import_distributed()

    def outcomes(self, work: Work, tasks: Sequence[Task], retries: int) -> Iterator[Outcome]:
        attempts, waiting = Attempts(retries), deque(tasks)
        with self._client() as client:
            there: dict[Any, Task] = {}
            while waiting or there:
                room = TASKS_PER_THREAD * max(1, sum(client.nthreads().values())) - len(there)
                for _ in range(min(room, len(waiting))):
                    task = waiting.popleft()
                    # not "pure": a result that Dask remembers from an earlier attempt would hide the next one
                    there[client.submit(attempt, work, task, pure=False, retries=0)] = task
                for future in self._wait_for_some(client, list(there)):
                    outcome = self._outcome_of(future, there[future])
                    if outcome is None:
                        continue
                    del there[future]
                    if attempts.to_try_again(outcome):
                        waiting.append(outcome.task)
                    else:
                        yield attempts.final(outcome)

    def _wait_for_some(self, client: Any, futures: list[Any]) -> Iterable[Any]:
        """The futures that are done, after waiting for the first; an error if there is nobody left to do them."""
        alone_since = None
        while True:
            try:
                done: Iterable[Any] = self._distributed.wait(futures, timeout=1, return_when="FIRST_COMPLETED").done
                return done
            except (TimeoutError, self._distributed.TimeoutError):
                alone_since = None if client.nthreads() else alone_since or time.monotonic()
            if alone_since is not None and time.monotonic() - alone_since > SECONDS_WITHOUT_WORKERS:
                raise RuntimeError(
                    f"the Dask cluster has had no workers for {SECONDS_WITHOUT_WORKERS:g} s: start some and run again, "
                    "what is finished is kept"
                )

    def _outcome_of(self, future: Any, task: Task) -> Outcome | None:
        """What the future holds; a worker that dies becomes a failure of the task it was at.

        None if it was lost with the worker that had it, in which case Dask computes it again.
        """
        try:
            outcome: Outcome = future.result(timeout=SECONDS_TO_FETCH)
            return outcome
        except (TimeoutError, self._distributed.TimeoutError):
            return None
        except Exception as error:  # of the cluster: those of the work are in the outcome
            return Outcome.of_failure(task, f"{type(error).__name__}: {error}")

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        if self.address is not None:
            with self._connect() as client:
                yield client
            return
        with self._config_set(BLAME):
            cluster = self._distributed.LocalCluster(
                n_workers=self.jobs, threads_per_worker=1, processes=True, dashboard_address=None, env=dict(ONE_THREAD)
            )
        with cluster, self._distributed.Client(cluster) as client:
            yield client

    def _connect(self) -> Any:
        try:
            return self._distributed.Client(self.address)
        except (OSError, TimeoutError, ValueError) as error:
            raise ValueError(
                f"address={self.address!r}: no Dask scheduler answers ({error}); start one with `dask scheduler` and "
                "give the address that it prints"
            ) from error


def _import_distributed() -> tuple[Any, Any]:
    try:
        import distributed
        from dask import config
    except ImportError as error:
        raise ImportError('Dask is not installed: pip install "dask[array,dataframe]" distributed') from error
    return distributed, config.set
