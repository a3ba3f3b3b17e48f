"""The scores of an experiment as arrays, for tests and tables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from petiole._table.columns import Floats
from petiole.experiments._grid.cells import Cell, Experiment
from petiole.experiments._grid.database import Database


@dataclass(frozen=True, eq=False)
class Results:
    """Scores of every data set, method and trial that all have in common.

    Attributes
    ----------
    data_sets, methods, metrics : lists of str
    trials : list of int
        Those that every data set and every method has.
    tables : dict from metric to array of shape (n_data_sets, n_methods, n_trials)
        As :func:`petiole.comparison.win_tie_loss` takes them.
    n_missing : int
        Cells of the grid that are not there (not computed yet, or failed).
    mean_seconds, total_seconds : float
        Of a cell, and of all cells that are there.
    versions : list of str
        Of petiole, that computed the cells.
    """

    data_sets: list[str]
    methods: list[str]
    trials: list[int]
    tables: dict[str, Floats]
    n_missing: int
    mean_seconds: float
    total_seconds: float
    versions: list[str]

    @property
    def metrics(self) -> list[str]:
        return list(self.tables)

    @cached_property
    def _positions(self) -> dict[str, dict[str, int]]:
        return {
            "method": {name: i for i, name in enumerate(self.methods)},
            "data set": {name: i for i, name in enumerate(self.data_sets)},
        }

    def trial_scores(self, metric: str, method: str) -> Floats:
        """One method's scores, of shape (n_data_sets, n_trials)."""
        scores: Floats = self.tables[metric][:, self._positions["method"][method]]
        return scores

    def mean(self, metric: str, data_set: str, method: str) -> float:
        """The mean over trials."""
        return float(self.trial_scores(metric, method)[self._positions["data set"][data_set]].mean())


def read_results(database: Database, experiment: Experiment) -> Results:
    """The results that a database has of an experiment; data sets without a whole trial are left out."""
    scores = database.scores(experiment)
    whole = _whole_trials(experiment, set(scores))
    data_sets = [name for name in experiment.data_sets if whole[name]]
    if not data_sets:
        raise ValueError(
            f"the database {database.path!r} has no data set of {experiment.name!r} with a trial that all methods "
            "have: run the experiment first"
        )
    common = sorted(set.intersection(*(whole[name] for name in data_sets)))
    if not common:
        raise ValueError(
            f"the data sets of {experiment.name!r} in {database.path!r} have no trial in common: run the same trials "
            "of each"
        )
    metrics = list(scores[Cell(data_sets[0], common[0], experiment.methods[0])])
    tables = {
        metric: np.array(
            [[[scores[Cell(d, t, m)][metric] for t in common] for m in experiment.methods] for d in data_sets]
        )
        for metric in metrics
    }
    grid = experiment.cells()
    n_missing = sum(cell not in scores for cell in grid)
    seconds = database.seconds(experiment)
    taken = [seconds[cell] for cell in grid if cell in seconds]
    versions = database.versions(experiment)
    methods = list(experiment.methods)
    return Results(data_sets, methods, common, tables, n_missing, float(np.mean(taken)), float(np.sum(taken)), versions)


def read_stored(database: str | os.PathLike[str], experiment: Experiment) -> Results:
    """The results in a database file, which has to exist."""
    if not Path(database).exists():
        raise FileNotFoundError(f"database={str(database)!r}: there is no such file; run the experiment first")
    with Database(database) as store:
        return read_results(store, experiment)


def _whole_trials(experiment: Experiment, there: set[Cell]) -> dict[str, set[int]]:
    """The trials of each data set that all methods have."""
    return {
        name: {
            trial
            for trial in range(experiment.trials)
            if all(Cell(name, trial, method) in there for method in experiment.methods)
        }
        for name in experiment.data_sets
    }
