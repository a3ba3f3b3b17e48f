"""What has been computed so far: means of methods on the splits that they have in common, ranks and ratios."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from petiole._table.columns import Floats
from petiole.comparison import RankComparison, SignTest, friedman_nemenyi, sign_test
from petiole.experiments._data.which_method import had_a_part
from petiole.experiments._grid.cells import Cell
from petiole.experiments._grid.database import Database
from petiole.experiments.peers import METRICS, SETTINGS, sizes, whole_grid

SECONDS = "seconds"
# The scores that methods are ranked by, with their titles.
RANKED = {
    "log_loss": "log-loss",
    "brier": "Brier",
    "calibration_error": "calibration error",
    "auc": "AUC",
    "accuracy": "accuracy",
    SECONDS: "time",
}
FLAGSHIPS = ("flagship", "flagship v1")
# What a method must have to be ranked with the others, as a share of the data sets of the one that has the most.
RANKED_SHARE = 0.8
DRAW = 1e-9
# Added to both log-losses, in bits, before their ratio is taken: where both are near 0, ratios mean little.
LEAST_LOSS = 0.01
# Added to times, in seconds: clocks of processor time may stand still for some milliseconds.
LEAST_SECONDS = 0.001


@dataclass(frozen=True, eq=False)
class Found:
    """The cells that have ended.

    Attributes
    ----------
    scores : dict from Cell to dict of scores
        "seconds" is the time of fit and prediction together.
    errors : dict from Cell to str
        Of cells that failed or took too long.
    rows : dict from data set to its number of rows, small ones first
    """

    scores: dict[Cell, dict[str, float]] = field(repr=False)
    errors: dict[Cell, str] = field(repr=False)
    rows: dict[str, int] = field(repr=False)

    @cached_property
    def _trials(self) -> dict[tuple[str, str], set[int]]:
        """The trials that have ended, by data set and method."""
        ended: dict[tuple[str, str], set[int]] = {}
        for cell in (*self.scores, *self.errors):
            ended.setdefault((cell.data_set, cell.method), set()).add(cell.trial)
        return ended

    @property
    def flagship(self) -> str:
        """The latest flagship with as many data sets as any."""
        return max(FLAGSHIPS, key=lambda name: len(self.data_sets(name)))

    def methods(self) -> list[str]:
        """The methods with a cell that has ended, in the order of the study."""
        there = {method for _, method in self._trials}
        return [name for name in whole_grid().methods if name in there]

    def data_sets(self, *methods: str) -> list[str]:
        """Those of which all these methods have ended a trial in common."""
        return [name for name in self.rows if self.common_trials(name, methods)]

    def common_trials(self, data_set: str, methods: Sequence[str]) -> set[int]:
        """The trials that all these methods have ended."""
        return set.intersection(*(self._trials.get((data_set, method), set()) for method in methods))

    def common(self, methods: Sequence[str]) -> CommonScores:
        """Means over the trials that all these methods have ended."""
        names = self.data_sets(*methods)
        trials = [sorted(self.common_trials(name, methods)) for name in names]
        tables = {
            metric: np.array(
                [[self._mean(metric, d, m, t) for m in methods] for d, t in zip(names, trials, strict=True)]
            ).reshape(len(names), len(methods))
            for metric in (*METRICS, SECONDS)
        }
        return CommonScores(names, list(methods), tables, [len(t) for t in trials])

    def _mean(self, metric: str, data_set: str, method: str, trials: Sequence[int]) -> float:
        """NaN if a trial failed. A median for times: the first fit of a process also loads what it needs."""
        values = [self.scores.get(Cell(data_set, t, method), {}).get(metric, np.nan) for t in trials]
        return float(np.median(values) if metric.endswith(SECONDS) else np.mean(values))

    def losses(self, data_set: str, methods: Sequence[str]) -> tuple[dict[str, float], int]:
        """The log-loss of those of the methods that have ended a trial, over their common ones, and how many these are.

        NaN for a method that failed.
        """
        there = [method for method in methods if self.common_trials(data_set, [method])]
        trials = sorted(self.common_trials(data_set, there)) if there else []
        if not trials:
            return {}, 0
        return {method: self._mean("log_loss", data_set, method, trials) for method in there}, len(trials)

    def ranked(self) -> CommonScores:
        """The flagship and the methods that are nearly everywhere, on the data sets that all of them have."""
        suits = methods_without_limits()
        numbers = {m: len(self.data_sets(self.flagship, m)) for m in self.methods() if suits[m] and m not in FLAGSHIPS}
        most = max(numbers.values(), default=0)
        return self.common([self.flagship, *(m for m, n in numbers.items() if n and n >= RANKED_SHARE * most)])


def is_ours(method: str) -> bool:
    """Whether a method is petiole's.

    >>> is_ours("flagship v1"), is_ours("EBM")
    (True, False)
    """
    return method.startswith(("flagship", "petiole"))


def methods_without_limits() -> dict[str, bool]:
    """Which methods take every data set."""
    cells = whole_grid().cells()
    names = {method: {cell.data_set for cell in cells if cell.method == method} for method in whole_grid().methods}
    most = max(len(found) for found in names.values())
    return {method: len(found) == most for method, found in names.items()}


@dataclass(frozen=True, eq=False)
class CommonScores:
    """Scores of methods on the data sets that all of them have.

    Attributes
    ----------
    data_sets, methods : lists of str
    tables : dict from metric to array of shape (n_data_sets, n_methods)
        NaN where a method failed.
    n_splits : list of int
        Of each data set.
    """

    data_sets: list[str]
    methods: list[str]
    tables: dict[str, Floats] = field(repr=False)
    n_splits: list[int] = field(repr=False)

    def of(self, metric: str, method: str) -> Floats:
        """A method's scores, one for each data set."""
        return self.tables[metric][:, self.methods.index(method)]

    def kept(self, mask: NDArray[np.bool_]) -> CommonScores:
        """On some of the data sets."""
        names = [name for name, keep in zip(self.data_sets, mask, strict=True) if keep]
        splits = [n for n, keep in zip(self.n_splits, mask, strict=True) if keep]
        tables = {metric: table[mask] for metric, table in self.tables.items()}
        return CommonScores(names, self.methods, tables, splits)

    def report(self) -> CommonScores:
        """On the data sets on which the flagship was not developed."""
        return self.kept(np.array([not had_a_part(name) for name in self.data_sets], dtype=bool))

    def ranks(self, metric: str) -> RankComparison:
        """Mean ranks; scores that differ by rounding only are tied, and methods that failed share the last ranks."""
        table = self.tables[metric].round(9)
        more = METRICS.get(metric, False)
        worst = -1.0 if more else 1.0 + np.nanmax(table)
        return friedman_nemenyi(np.where(np.isnan(table), worst, table), names=self.methods, greater_is_better=more)

    def ratios(self, method: str, rival: str) -> Floats:
        """The rival's log-loss as a multiple of the method's; NaN where one of the two failed."""
        return loss_ratio(self.of("log_loss", rival), self.of("log_loss", method))

    def mean_ratio(self, method: str, rival: str) -> float:
        """The geometric mean of the ratios of log-loss; NaN without any."""
        return _geometric_mean(self.ratios(method, rival))

    def mean_time_ratio(self, method: str, rival: str) -> float:
        """The same of times."""
        ours, theirs = self.of(SECONDS, method), self.of(SECONDS, rival)
        return _geometric_mean((theirs + LEAST_SECONDS) / (ours + LEAST_SECONDS))

    def compare(self, metric: str, method: str, rival: str) -> SignTest:
        """On how many data sets a method is better, the same or worse; one that failed is worse."""
        more = METRICS.get(metric, False)
        worst = -np.inf if more else np.inf
        one, other = (np.where(np.isnan(s), worst, s) for s in (self.of(metric, method), self.of(metric, rival)))
        both_failed = np.isinf(one) & np.isinf(other)
        one, other = (np.clip(s[~both_failed], -1e9, 1e9) for s in (one, other))
        return sign_test(one, other, greater_is_better=more, tie_tolerance=DRAW)


def _geometric_mean(ratios: Floats) -> float:
    """Of those that are known.

    >>> round(_geometric_mean(np.array([4.0, np.nan, 1.0])), 9)
    2.0
    """
    known = ratios[np.isfinite(ratios)]
    return float(np.exp(np.log(known).mean())) if len(known) else float("nan")


def loss_ratio(one: Floats, other: Floats) -> Floats:
    """One log-loss as a multiple of the other, both with a little added.

    >>> loss_ratio(np.array([0.19, 0.001]), np.array([0.09, 0.001]))
    array([2., 1.])
    """
    return (one + LEAST_LOSS) / (other + LEAST_LOSS)


def read_found(database: str | os.PathLike[str]) -> Found:
    """What a database has of the study."""
    grid = whole_grid()
    with Database(database) as store:
        scores, errors = store.scores(grid), store.errors(grid)
    for one in scores.values():
        one[SECONDS] = one["fit_seconds"] + one["predict_seconds"]
    if not scores:
        raise ValueError(f"database={str(database)!r}: has no results of {grid.name!r}; run the experiment first")
    return Found(scores, errors, sizes(SETTINGS))
