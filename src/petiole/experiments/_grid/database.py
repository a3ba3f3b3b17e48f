"""Finished cells in one SQLite file: each is there as soon as it is finished, and stays there."""

from __future__ import annotations

import datetime
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from petiole.experiments._grid.cells import Cell, Experiment
from petiole.experiments._grid.outcomes import TIMED_OUT, Outcome

APPLICATION = 0x70657469  # "peti": by which a file is known to be ours
LAYOUT = 1
PATIENCE = 60.0  # seconds to wait while another process writes
TABLES = """
CREATE TABLE cells (
    id INTEGER PRIMARY KEY,
    experiment TEXT NOT NULL,
    settings TEXT NOT NULL,
    data_set TEXT NOT NULL,
    trial INTEGER NOT NULL,
    method TEXT NOT NULL,
    split_seed INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('finished', 'failed')),
    seconds REAL NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    version TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    UNIQUE (experiment, settings, data_set, trial, method)
);
CREATE TABLE scores (
    cell INTEGER NOT NULL REFERENCES cells (id) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    value REAL,
    PRIMARY KEY (cell, metric)
) WITHOUT ROWID;
"""


class Database:
    """The cells of any number of experiments in one SQLite file.

    A cell is written in one transaction when it ends. Killing the writer at any moment leaves a whole file with all
    cells that ended before. NaN is stored as NULL, which is SQLite's way.

    Parameters
    ----------
    path : path-like
        Made if it does not exist; its folder, too.

    Examples
    --------
    >>> from petiole.experiments import Database
    >>> with Database(":memory:") as database:
    ...     database.query("SELECT count(*) FROM cells")
    [(0,)]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(path)
        if self.path != ":memory:":
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of an SQL query, for what the other methods do not give."""
        return self._connection.execute(sql, parameters).fetchall()

    def record(self, experiment: Experiment, outcome: Outcome) -> None:
        """Write a cell that has ended. A failure does not replace scores that are there."""
        task = outcome.task
        key = (experiment.name, experiment.settings_text, *task.cell)
        with self._transaction():
            there = self.query(f"SELECT id, status FROM cells WHERE {_KEY}", key)
            if there and there[0][1] == "finished" and outcome.failed:
                return
            self._connection.execute(f"DELETE FROM cells WHERE {_KEY}", key)
            inserted = self._connection.execute(
                f"INSERT INTO cells ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",
                (*key, task.split_seed, task.seed, *_report(outcome)),
            )
            self._connection.executemany(
                "INSERT INTO scores (cell, metric, value) VALUES (?, ?, ?)",
                [(inserted.lastrowid, metric, value) for metric, value in (outcome.scores or {}).items()],
            )

    def finished(self, experiment: Experiment) -> set[Cell]:
        """The cells of an experiment that have scores."""
        return {Cell(*row) for row in self._cells(experiment, "finished", "data_set, trial, method")}

    def errors(self, experiment: Experiment) -> dict[Cell, str]:
        """The cells that failed, with their error messages."""
        rows = self._cells(experiment, "failed", "data_set, trial, method, error")
        return {Cell(*row[:3]): row[3] for row in rows}

    def settled(self, experiment: Experiment) -> set[Cell]:
        """The cells that are not to be computed: they have scores, or their method was too slow for their data set."""
        late = {
            (cell.data_set, cell.method)
            for cell, error in self.errors(experiment).items()
            if error.startswith(TIMED_OUT)
        }
        slow = {cell for cell in experiment.cells() if (cell.data_set, cell.method) in late}
        return self.finished(experiment) | slow

    def scores(self, experiment: Experiment) -> dict[Cell, dict[str, float]]:
        """The scores of every finished cell."""
        found: dict[Cell, dict[str, float]] = {}
        rows = self.query(
            "SELECT data_set, trial, method, metric, value FROM cells JOIN scores ON scores.cell = cells.id "
            "WHERE experiment = ? AND settings = ? AND status = 'finished' ORDER BY cells.id, metric",
            (experiment.name, experiment.settings_text),
        )
        for data_set, trial, method, metric, value in rows:
            scores = found.setdefault(Cell(data_set, trial, method), {})
            scores[metric] = math.nan if value is None else value
        return found

    def seconds(self, experiment: Experiment) -> dict[Cell, float]:
        """How long every finished cell took."""
        rows = self._cells(experiment, "finished", "data_set, trial, method, seconds")
        return {Cell(*row[:3]): row[3] for row in rows}

    def versions(self, experiment: Experiment) -> list[str]:
        """The versions of petiole that computed the finished cells."""
        return sorted({row[0] for row in self._cells(experiment, "finished", "version")})

    def _cells(self, experiment: Experiment, status: str, columns: str) -> list[tuple[Any, ...]]:
        return self.query(
            f"SELECT {columns} FROM cells WHERE experiment = ? AND settings = ? AND status = ? ORDER BY id",
            (experiment.name, experiment.settings_text, status),
        )

    def _prepare(self) -> None:
        try:
            self._connection.execute("PRAGMA foreign_keys = ON")
            with self._transaction():
                application = self.query("PRAGMA application_id")[0][0]
                layout = self.query("PRAGMA user_version")[0][0]
                is_empty = not self.query("SELECT 1 FROM sqlite_master LIMIT 1")
                if application == 0 and is_empty:
                    self._make_tables()
                    return
        except sqlite3.DatabaseError as error:
            raise ValueError(f"database={self.path!r}: cannot be used ({error}); name another file") from error
        if application != APPLICATION:
            raise ValueError(f"database={self.path!r}: holds something else than experiments; name another file")
        if layout != LAYOUT:
            raise ValueError(
                f"database={self.path!r}: has layout {layout}, this version of petiole knows {LAYOUT}; "
                "name another file, or use the version that wrote it"
            )

    def _make_tables(self) -> None:
        for statement in TABLES.split(";\n"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {LAYOUT}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


_KEY = "experiment = ? AND settings = ? AND data_set = ? AND trial = ? AND method = ?"
_COLUMNS = (
    *("experiment", "settings", "data_set", "trial", "method", "split_seed", "seed"),
    *("status", "seconds", "attempts", "error", "version", "ended_at"),
)


def _report(outcome: Outcome) -> tuple[Any, ...]:
    """The columns with the outcome of a cell."""
    from petiole import __version__

    status = "failed" if outcome.failed else "finished"
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return status, outcome.seconds, outcome.attempts, outcome.error, __version__, now
