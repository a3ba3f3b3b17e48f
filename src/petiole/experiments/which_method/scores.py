"""The study over all methods: scores of each data set, mean ranks, and how two methods compare."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from petiole._table.columns import Floats
from petiole.comparison import RankComparison, SignTest, friedman_nemenyi, sign_test
from petiole.experiments._data.which_method import had_a_part
from petiole.experiments._grid.results import Results, read_stored
from petiole.experiments.which_method import METRICS, experiment

ALPHA = 0.05
SECONDS = "seconds"
# The scores that methods are ranked by, with their titles.
RANKED = {
    "log_loss": "log-loss",
    "brier": "Brier",
    "lift_area": "AULC",
    "cost": "cost",
    "accuracy": "accuracy",
    SECONDS: "time",
}
DRAW = 1e-9


@dataclass(frozen=True, eq=False)
class MethodScores:
    """Scores of methods on data sets.

    Attributes
    ----------
    data_sets, methods : lists of str
        Methods that have a score on every data set.
    partial : list of str
        The others, which were too slow for some data sets.
    scores : dict from metric to array of shape (n_data_sets, n_methods + n_partial)
        Means over splits; times are medians, and "seconds" is that of fit and prediction together. NaN where a method
        was too slow.
    n_splits : int
    """

    data_sets: list[str]
    methods: list[str]
    partial: list[str]
    scores: dict[str, Floats] = field(repr=False)
    n_splits: int
    _ranks: dict[str, RankComparison] = field(default_factory=dict, repr=False)

    def of(self, metric: str, method: str) -> Floats:
        """A method's scores, one for each data set."""
        return self.scores[metric][:, [*self.methods, *self.partial].index(method)]

    def table(self, metric: str) -> Floats:
        """The scores of the methods that are everywhere."""
        return self.scores[metric][:, : len(self.methods)]

    def ranks(self, metric: str) -> RankComparison:
        """Mean ranks of the methods that are everywhere; scores that differ by rounding only are tied."""
        if metric not in self._ranks:  # the critical difference takes a while
            table, more = self.table(metric).round(9), is_greater_better(metric)
            self._ranks[metric] = friedman_nemenyi(table, names=self.methods, alpha=ALPHA, greater_is_better=more)
        return self._ranks[metric]

    def mean_rank(self, metric: str, method: str) -> float:
        ranks = self.ranks(metric)
        return float(ranks.mean_ranks[ranks.names.index(method)])

    def best(self, metric: str, among: list[str] | None = None) -> list[str]:
        """Methods from the best mean rank to the worst, all or some of them."""
        ranks = self.ranks(metric)
        ordered = [ranks.names[i] for i in ranks.order]
        return [name for name in ordered if among is None or name in among]

    def compare(self, metric: str, method: str, rival: str) -> SignTest:
        """On how many data sets a method is better, the same or worse than a rival; where both have a score."""
        one, other = self.of(metric, method), self.of(metric, rival)
        both = np.isfinite(one) & np.isfinite(other)
        return sign_test(
            one[both], other[both], alpha=ALPHA, greater_is_better=is_greater_better(metric), tie_tolerance=DRAW
        )

    def rows(self, kept: NDArray[np.bool_]) -> MethodScores:
        """The study on some of the data sets."""
        names = [name for name, keep in zip(self.data_sets, kept, strict=True) if keep]
        tables = {metric: table[kept] for metric, table in self.scores.items()}
        return MethodScores(names, self.methods, self.partial, tables, self.n_splits)

    def unseen(self) -> MethodScores:
        """On the data sets that had no part in choosing the probability forest's defaults."""
        return self.rows(np.array([not had_a_part(name) for name in self.data_sets]))

    def where(self, method: str) -> MethodScores:
        """On the data sets where a method that is not everywhere has a score, with that method among the others."""
        kept = np.isfinite(self.of("log_loss", method))
        position = [*self.methods, *self.partial].index(method)
        columns = [*range(len(self.methods)), position]
        tables = {metric: table[np.ix_(kept, columns)] for metric, table in self.scores.items()}
        names = [name for name, keep in zip(self.data_sets, kept, strict=True) if keep]
        return MethodScores(names, [*self.methods, method], [], tables, self.n_splits)

    def median_seconds(self, method: str) -> float:
        """Of fit and prediction, over data sets."""
        return float(np.nanmedian(self.of(SECONDS, method)))


def is_greater_better(metric: str) -> bool:
    return METRICS.get(metric, False)


def read_study(database: str | os.PathLike[str]) -> MethodScores:
    """The study in a database file."""
    return study_of(read_stored(database, experiment()))


def study_of(results: Results) -> MethodScores:
    """Put the splits together."""
    tables = dict(results.tables)
    tables[SECONDS] = tables["fit_seconds"] + tables["predict_seconds"]
    # a median, because the first fit of a process also loads what it needs
    scores = {
        name: np.median(table, axis=2) if name.endswith(SECONDS) else table.mean(axis=2)
        for name, table in tables.items()
    }
    everywhere = np.isfinite(scores["log_loss"]).all(axis=0)
    somewhere = np.isfinite(scores["log_loss"]).any(axis=0) & ~everywhere
    order = [*np.flatnonzero(everywhere), *np.flatnonzero(somewhere)]
    return MethodScores(
        results.data_sets,
        [results.methods[i] for i in np.flatnonzero(everywhere)],
        [results.methods[i] for i in np.flatnonzero(somewhere)],
        {name: table[:, order] for name, table in scores.items()},
        len(results.trials),
    )
