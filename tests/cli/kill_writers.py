"""Kill the commands that write files, with signal 9 and at any moment, and look at what they leave.

    python tests/files/kill_writers.py --kills 200 --seed 0

A killed command leaves the earlier file or all of the new one, never a part of it. What it leaves beside them is
removed by the next run that writes the same file. A killed `reproduce` keeps every cell that it had finished.

Most of the time of a command is the import of libraries. So one process imports them, and forks another for each run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from command_line import table, write

EARLIER = b"the earlier file"
PNG_END = b"IEND\xaeB`\x82"


class Runner:
    """Runs the command in forks of a process that has all libraries already."""

    def __init__(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "PETIOLE_DATA"}
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def start(self, arguments: list[str]) -> int:
        """Start a run; returns its process id. ``end`` must follow."""
        self._process.stdin.write(json.dumps([str(argument) for argument in arguments]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self) -> int:
        """Wait for the end of a run; returns its exit code, below zero if a signal ended it."""
        return int(self._process.stdout.readline())

    def run(self, arguments: list[str]) -> float:
        """A run that nobody disturbs; returns how long it took."""
        began = time.monotonic()
        self.start(arguments)
        code = self.end()
        assert code == 0, (code, arguments)
        return time.monotonic() - began


def serve() -> None:
    """The process that forks."""
    import matplotlib

    matplotlib.use("Agg")
    import petiole.cli
    import petiole.cli.commands.compare
    import petiole.cli.commands.fit
    import petiole.cli.commands.predict
    import petiole.experiments.command
    import petiole.report
    import petiole.study  # noqa: F401

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run_quietly(json.loads(line))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run_quietly(arguments: list[str]) -> None:
    from petiole.cli import main

    nowhere = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nowhere, handle)
    code = 1
    with contextlib.suppress(BaseException):
        code = main(arguments)
    os._exit(code or 0)


# The commands: what is run, what is written, and what it must be.


class Writer:
    """A command that writes one file, which is the same every time unless ``is_whole`` says otherwise."""

    name = ""

    def __init__(self, folder: Path, runner: Runner) -> None:
        self.folder = folder
        folder.mkdir()
        self.target = folder / self.file
        self.prepare(runner)
        self.seconds = runner.run(self.arguments)
        self.whole = self.target.read_bytes()
        assert self.leftovers() == []

    def prepare(self, runner: Runner) -> None:
        write(self.folder / "train.csv", table(200))

    def before(self) -> None:
        self.target.write_bytes(EARLIER)

    def check(self) -> str:
        """What a killed run has left; raises if it is something torn."""
        found = self.target.read_bytes()
        if found == EARLIER:
            return "earlier"
        assert self.is_whole(found), f"{self.target.name}: its {len(found)} bytes are neither the earlier nor the new"
        return "new"

    def is_whole(self, found: bytes) -> bool:
        return found == self.whole

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.folder.rglob("*") if path.name.endswith((".part", ".tmp", "-journal")))


class Fit(Writer):
    name, file = "fit", "model.petiole"

    @property
    def arguments(self):
        trees = ["--set", "n_estimators=40", "-j", 1, "--seed", 1, "-q"]
        return ["fit", self.folder / "train.csv", "-t", "y", "--id", "id", *trees, "-o", self.target]


class Predict(Writer):
    name, file = "predict", "answers.csv"

    def prepare(self, runner):
        super().prepare(runner)
        model = ["-m", "pet", "-q", "-o", self.folder / "model.petiole"]
        runner.run(["fit", self.folder / "train.csv", "-t", "y", "--id", "id", *model])

    @property
    def arguments(self):
        rows = [self.folder / "model.petiole", self.folder / "train.csv"]
        return ["predict", *rows, "--batch", 2, "-q", "-o", self.target]


class Compare(Writer):
    name, file = "compare --report", "report.html"

    @property
    def arguments(self):
        methods = ["-m", "pet,naive-bayes", "--folds", 2, "-j", 1, "-q"]
        return ["compare", self.folder / "train.csv", "-t", "y", "--id", "id", *methods, "--report", self.target]

    def is_whole(self, found):  # it names the time
        return found.startswith(b"<!DOCTYPE html>") and found.rstrip().endswith(b"</html>")


class Reproduce(Writer):
    """The database is not replaced but added to; the page and its pictures are files like others."""

    name, file = "reproduce", "page.md"

    def prepare(self, runner):
        self.finished = set()

    @property
    def arguments(self):
        part = ["--datasets", "iris", "--trials", 4, "-j", 0, "--database", self.folder / "cells.sqlite"]
        return ["reproduce", "margineantu-dietterich-2002", *part, "--page", self.target]

    def before(self):
        super().before()
        if self.cells() >= self.all_cells():  # begin anew
            (self.folder / "cells.sqlite").unlink()
            self.finished = set()

    def check(self):
        outcome = super().check()
        cells = self.cells()
        assert self.finished <= cells, "finished cells are lost"
        self.finished = cells
        for picture in self.folder.rglob("*.png"):
            assert picture.read_bytes().endswith(PNG_END), f"{picture.name}: cut off"
        return outcome

    def cells(self):
        with contextlib.closing(sqlite3.connect(self.folder / "cells.sqlite")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            if not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
                return set()
            query = "SELECT data_set, trial, method FROM cells WHERE status = 'finished'"
            return set(connection.execute(query).fetchall())

    def all_cells(self):
        if not hasattr(self, "_all"):
            self._all = self.cells()
        return self._all


WRITERS = (Fit, Predict, Compare, Reproduce)


def kill_once(writer: Writer, runner: Runner, rng: np.random.Generator) -> str:
    """Start runs until one is killed before its end: at any moment, or as soon as it has begun to write."""
    while True:
        if _starts_and_is_killed(writer, runner, rng):
            return f"{writer.check()}{', with leftovers' if writer.leftovers() else ''}"


def _starts_and_is_killed(writer: Writer, runner: Runner, rng: np.random.Generator) -> bool:
    writer.before()
    delay = float(rng.uniform(0, 1.05 * writer.seconds))
    waits_for_file = rng.uniform() < 0.5
    process = runner.start(writer.arguments)
    began = time.monotonic()
    while time.monotonic() - began < (3 * writer.seconds if waits_for_file else delay):
        if waits_for_file and writer.leftovers():
            time.sleep(float(rng.choice([0.0, 0.001, 0.01])))
            break
        time.sleep(0.0005)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    return runner.end() == -signal.SIGKILL


def kill_many(kills: int, seed: int, folder: Path, writers=WRITERS) -> dict[str, Counter]:
    """Kill each command so many times, and let it run once more; returns what was found after the kills."""
    rng = np.random.default_rng(seed)
    runner = Runner()
    try:
        outcomes: dict[str, Counter] = {}
        for number, kind in enumerate(writers):
            writer = kind(folder / str(number), runner)
            outcomes[writer.name] = Counter(kill_once(writer, runner, rng) for _ in range(kills))
            writer.before()
            runner.run(writer.arguments)
            assert writer.check() == "new"
            assert writer.leftovers() == [], f"{writer.name}: a later run has not removed {writer.leftovers()}"
        return outcomes
    finally:
        runner.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="of each of the four commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runner", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.runner:
        serve()
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, outcomes in kill_many(options.kills, options.seed, Path(folder)).items():
            print(f"{name}: {sum(outcomes.values())} kills, {dict(outcomes)}")


if __name__ == "__main__":
    main()
