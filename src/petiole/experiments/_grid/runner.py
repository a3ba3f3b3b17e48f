"""Run the cells of an experiment that the database does not have."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from petiole._progress import Progress, Silent
from petiole._validation import check_whole
from petiole.experiments._grid.cells import Cell, Experiment
from petiole.experiments._grid.database import Database
from petiole.experiments._grid.engines import InProcess, Processes
from petiole.experiments._grid.outcomes import Engine
from petiole.experiments._grid.progress import CellTexts


@dataclass(frozen=True)
class Summary:
    """How a run went.

    Attributes
    ----------
    n_cells, n_skipped, n_finished : int
        Cells of the grid; those that were there before; those that were computed now.
    errors : dict from Cell to str
        The cells that failed in this run. The next run tries them again.
    seconds : float
    """

    n_cells: int
    n_skipped: int
    n_finished: int
    errors: dict[Cell, str]
    seconds: float

    def __str__(self) -> str:
        text = f"{self.n_finished} cells computed in {self.seconds:.0f} s, {self.n_skipped} were there already"
        return f"{text}, {len(self.errors)} failed" if self.errors else text


def run(
    experiment: Experiment,
    database: str | os.PathLike[str],
    *,
    jobs: int = 1,
    engine: Engine | None = None,
    retries: int = 1,
    progress: Progress | None = None,
) -> Summary:
    """Compute the cells of an experiment that are not in the database yet.

    Every cell is written as soon as it is finished. Stop the run whenever you like (Ctrl-C, kill): the same call goes
    on from there, and loses at most the cells that were being computed. The scores do not depend on the number of jobs
    or on the engine.

    Parameters
    ----------
    experiment : Experiment
    database : path of an SQLite file, made if it does not exist
    jobs : int, default=1
        Processes. 0 runs the cells in this process, which helps when looking for an error; no time limit holds then.
    engine : default: processes on this machine
        Such as :class:`petiole.experiments._grid.engine_dask.Dask`; ``jobs`` is then not used.
    retries : int, default=1
        How often a cell that fails is tried again. Its error is written, and the other cells go on.
    progress : object with start(total), advance(text), stop(), default: silent

    Returns
    -------
    Summary

    Examples
    --------
    >>> import os, tempfile
    >>> from petiole.experiments import Experiment, run
    >>> def work(task):
    ...     return {"half": task.cell.trial / 2}
    >>> experiment = Experiment("demo", ["iris"], ["tree"], 3, work)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "demo.sqlite")
    ...     first, second = run(experiment, path, jobs=0), run(experiment, path, jobs=0)
    >>> first.n_finished, second.n_finished, second.n_skipped
    (3, 0, 3)
    """
    check_whole("jobs", jobs, 0)
    check_whole("retries", retries, 0)
    engine = engine or (Processes(jobs, experiment.time_limit) if jobs else InProcess())
    progress = progress or Silent()
    start = time.perf_counter()
    with Database(database) as store:
        cells = experiment.cells()
        there = store.settled(experiment)
        tasks = [experiment.task(cell) for cell in cells if cell not in there]
        errors: dict[Cell, str] = {}
        texts = CellTexts([task.cell for task in tasks], len(cells) - len(tasks))
        progress.start(len(tasks))
        try:
            for outcome in engine.outcomes(experiment.work, tasks, retries) if tasks else ():
                store.record(experiment, outcome)
                if outcome.error is not None:
                    errors[outcome.task.cell] = outcome.error
                progress.advance(texts.after(outcome))
        finally:
            progress.stop()
    seconds = time.perf_counter() - start
    return Summary(len(cells), len(cells) - len(tasks), len(tasks) - len(errors), errors, seconds)
