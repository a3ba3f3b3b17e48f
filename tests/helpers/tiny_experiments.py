"""Experiments that take no time, and some that sleep, fail or die; in a module of their own for other processes."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from petiole.experiments import Experiment, run

DATA_SETS, METHODS = ["one", "two", "three"], ["fast", "slow"]


def values(task):
    """Scores that depend on nothing but the task."""
    cell = task.cell
    return {
        "own": task.seed / 2**31,
        "shared": task.split_seed / 2**31,
        "sum": cell.trial + len(cell.data_set) + len(cell.method) + task.settings.get("extra", 0),
    }


def sleeping(task):
    """The same after a while; leaves files that tell the number of the process and that the cell was computed."""
    folder = Path(task.settings["folder"])
    (folder / f"{os.getpid()}.pid").touch()
    time.sleep(task.settings["seconds"])
    (folder / "{}-{}-{}.done".format(*task.cell)).touch()
    return values(task)


def failing(task):
    """Fails on one data set."""
    if task.cell.data_set == "two":
        raise ZeroDivisionError(f"trial {task.cell.trial} went wrong")
    return values(task)


def dying(task):
    """The process is killed at one cell, and at another one the first time."""
    if task.cell == ("two", 1, "slow") or (task.cell == ("one", 0, "fast") and _first_time(task)):
        os.kill(os.getpid(), signal.SIGKILL)
    return values(task)


def _first_time(task):
    """Whether nobody has asked this before."""
    flag = Path(task.settings["folder"]) / "died"
    asked_before = flag.exists()
    flag.touch()
    return not asked_before


def burning(task):
    """Never ends on one data set with one method."""
    while (task.cell.data_set, task.cell.method) == ("two", "slow"):
        pass
    return values(task)


def half_a_second(task):
    """Takes half a second of processor time."""
    start = time.process_time()
    while time.process_time() < start + 0.5:
        pass
    return values(task)


def wrong_kind(task):
    """Returns something that is no dict of numbers."""
    return {"text": "no number"}


def tiny(work=values, trials=3, **settings):
    return Experiment("tiny", DATA_SETS, METHODS, trials, work, settings)


def main(database, folder, seconds, trials):
    """Run the sleeping experiment, for tests that kill it."""
    try:
        run(tiny(sleeping, int(trials), folder=folder, seconds=float(seconds)), database, jobs=2)
    except KeyboardInterrupt:
        print("stopped", flush=True)
        sys.exit(130)


if __name__ == "__main__":
    # so that the worker processes find the work under the name of its module
    import tiny_experiments

    tiny_experiments.main(*sys.argv[1:])
