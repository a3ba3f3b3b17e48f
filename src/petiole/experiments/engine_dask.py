"""The same cells on a Dask cluster, which does the distributing; an optional extra, ``petiole[dask]``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from petiole.experiments.cells import Task, Work
from petiole.experiments.engines import ONE_THREAD
from petiole.experiments.outcomes import Attempts, Outcome, attempt
from petiole.parameters import check_whole

TASKS_PER_THREAD = 4  # so many are with the cluster at a time: enough that no worker waits


class Dask:
    """Runs cells on a Dask cluster.

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
    >>> from petiole.experiments.engine_dask import Dask
    >>> run(experiment, "results.sqlite", engine=Dask("tcp://host:8786"))  # doctest: +SKIP
    """

    def __init__(self, address: str | None = None, *, jobs: int = 1) -> None:
        check_whole("jobs", jobs, 1)
        self.address, self.jobs = address, jobs
        self._distributed = _import_distributed()

    def outcomes(self, work: Work, tasks: Sequence[Task], retries: int) -> Iterator[Outcome]:
        attempts, waiting = Attempts(retries), iter(tasks)
        with self._client() as client:
            n_threads = max(1, sum(client.nthreads().values()))
            there: dict[Any, Task] = {}

            def submit(task: Task) -> Any:
                # not "pure": a result that Dask remembers from an earlier attempt would hide the next one
                future = client.submit(attempt, work, task, pure=False)
                there[future.key] = task
                return future

            first = [submit(task) for task in islice(waiting, TASKS_PER_THREAD * n_threads)]
            completed = self._distributed.as_completed(first)
            for future in completed:
                outcome = _outcome_of(future, there.pop(future.key))
                if attempts.to_try_again(outcome):
                    completed.add(submit(outcome.task))
                    continue
                for task in islice(waiting, 1):
                    completed.add(submit(task))
                yield attempts.final(outcome)

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        if self.address is not None:
            with self._connect() as client:
                yield client
            return
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


def _outcome_of(future: Any, task: Task) -> Outcome:
    """What the future holds; a worker that dies becomes a failure of the task it was at."""
    error = future.exception()
    if error is not None:
        return Outcome.of_failure(task, f"{type(error).__name__}: {error}")
    outcome: Outcome = future.result()
    return outcome


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError('Dask is not installed: pip install "petiole[dask]"') from error
    return distributed
