"""Zhang, Petitjean & Buntine (2020): scores over all folds, wins and losses, and which of the paper's findings "
"hold."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from petiole._table.columns import Floats
from petiole.comparison import SignTest, sign_test, sign_test_of_counts
from petiole.experiments._grid.results import Results, read_stored
from petiole.experiments._pages.building import Agreement, ComparedSigns
from petiole.experiments.published import read_published
from petiole.experiments.zhang_2020 import (
    ESTIMATORS,
    FOLDS,
    FOREST_SIZES,
    FORESTS,
    HGS_NAME,
    experiment,
    forest_name,
)

ALPHA = 0.05
DRAW = 1e-6  # scores this close are a draw; the paper does not say when it counts one
LARGE = 10_000
# The columns of the paper's tables, and the scores of ours.
COLUMNS = {"rmse": "RMSE", "zero_one_loss": "0-1 loss"}
RIVALS = [name for name in ESTIMATORS if name != HGS_NAME]
# The lines of table 1 by the names of table 2.
PRINTED_LINES = {name: f"HGS vs. {name.replace('M-estimation', 'M-esti')}" for name in RIVALS}
LARGE_SETS_WON_BY_HDP, LARGE_SETS = 14, 20  # section 4.3, of figure 2
SMOOTHED_UP_TO = 3  # section 4.5: "HGS makes RF worse after three trees"
ONE_TREE_BEATS_UP_TO = 7  # section 4.6: one tree with HGS is better than a forest of 7


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores over all folds.

    Attributes
    ----------
    results : Results
    rmse, zero_one_loss, seconds : arrays of shape (n_data_sets, n_methods)
        Errors are pooled over the rows of all folds; seconds are the mean time of a fit.
    rows : array of shape (n_data_sets,)
        The size of each data set.
    forests : dict from the name of a forest to an array of shape (n_data_sets,)
        The RMSE of the forests of figure 4.
    """

    results: Results
    rmse: Floats
    zero_one_loss: Floats
    seconds: Floats
    rows: Floats
    forests: dict[str, Floats] = field(repr=False)

    def of(self, column: str, method: str) -> Floats:
        """One method's scores, one for each data set."""
        table: Floats = getattr(self, column)
        return table[:, self.results.methods.index(method)]

    def mean(self, column: str, method: str) -> float:
        return float(self.of(column, method).mean())

    def forest(self, n_trees: int, smoothed: bool) -> float:
        """The mean RMSE of random forests of a size."""
        return float(self.forests[forest_name(n_trees, smoothed)].mean())

    def compare(self, column: str, rival: str, method: str = HGS_NAME) -> SignTest:
        """Wins, draws and losses of a method against a rival, with the two-tailed sign test of section 4.1."""
        return sign_test(self.of(column, method), self.of(column, rival), alpha=ALPHA, tie_tolerance=DRAW)


def read_scores(database: str | os.PathLike[str]) -> Scores:
    """The scores in a database file."""
    whole = experiment()
    trees = read_stored(database, whole.restricted(methods=list(ESTIMATORS)))
    forests = read_stored(database, whole.restricted(methods=[FORESTS], data_sets=trees.data_sets))
    if forests.data_sets != trees.data_sets or forests.trials != trees.trials:
        raise ValueError(f"the database {str(database)!r} has no forests for some trees: run both")
    return pool(trees, forests)


def pool(results: Results, forests: Results) -> Scores:
    """Put the folds together, each with the weight of its rows."""
    n_test = results.tables["n_test"]
    share = n_test / n_test.sum(axis=2, keepdims=True)
    names = [forest_name(n, smoothed) for n in FOREST_SIZES for smoothed in (False, True)]
    return Scores(
        results,
        np.sqrt((results.tables["squared_error"] * share).sum(axis=2)),
        (results.tables["zero_one_loss"] * share).sum(axis=2),
        results.tables["fit_seconds"].mean(axis=2),
        np.round(n_test[:, 0].mean(axis=1) * FOLDS),
        {name: np.sqrt((forests.tables[name] * share[:, :1]).sum(axis=(1, 2))) for name in names},
    )


def published_counts(column: str, rival: str) -> SignTest:
    """Table 1: wins, draws and losses of HGS as printed, with the sign test that follows from them."""
    printed = read_published("zhang_2020_table_1").cell(PRINTED_LINES[rival], column)
    wins, draws, losses = (int(count) for count in printed.split("-"))
    return sign_test_of_counts(wins, draws, losses, alpha=ALPHA)


def agreements(database: str | os.PathLike[str]) -> list[Agreement]:
    """The paper's comparisons, and whether ours agree."""
    return agreements_of(read_scores(database))


def agreements_of(scores: Scores) -> list[Agreement]:
    """The same from scores; "second" is HGS, or what the paper finds better."""
    found = [
        Agreement.of([_counts(scores, column, rival) for rival in RIVALS], f"table 1, {title}: HGS against the others")
        for column, title in COLUMNS.items()
    ]
    found += [
        Agreement.of([_means(scores, column, rival) for rival in RIVALS], f"table 2, mean {title}: HGS and the others")
        for column, title in COLUMNS.items()
    ]
    times = [_faster(scores, rival) for rival in ("HDP", "M-branch")]
    found.append(Agreement.of(times, "table 2, run time: HGS against HDP and M-branch"))
    if (scores.rows > LARGE).any():
        found.append(Agreement.of([_large_sets(scores)], f"figure 2, more than {LARGE:,} rows: HDP against HGS"))
    found.append(Agreement.of(_smoothed_forests(scores), "figure 4, RMSE: forests with HGS against those without"))
    found.append(Agreement.of(_one_tree(scores), "figure 4, RMSE: a tree with HGS against forests"))
    return found


def sign(value: float) -> int:
    """1, 0 or -1."""
    return (value > 0) - (value < 0)


def _counts(scores: Scores, column: str, rival: str) -> ComparedSigns:
    tests = published_counts(column, rival), scores.compare(column, rival)
    signs = [sign(test.wins - test.losses) for test in tests]
    marks = [one if test.winner else 0 for one, test in zip(signs, tests, strict=True)]
    return ComparedSigns((signs[0], signs[1]), (marks[0], marks[1]))


def _means(scores: Scores, column: str, rival: str) -> ComparedSigns:
    table = read_published("zhang_2020_table_2")
    printed = [float(table.cell(name, column)) for name in (rival, HGS_NAME)]
    ours = [scores.mean(column, name) for name in (rival, HGS_NAME)]
    differences = [one - other for one, other in zip(ours, printed, strict=True)]
    return ComparedSigns((sign(printed[0] - printed[1]), sign(ours[0] - ours[1])), None, differences)


def _faster(scores: Scores, rival: str) -> ComparedSigns:
    table = read_published("zhang_2020_table_2")
    printed = float(table.cell(rival, "runtime")) - float(table.cell(HGS_NAME, "runtime"))
    return ComparedSigns((sign(printed), sign(scores.mean("seconds", rival) - scores.mean("seconds", HGS_NAME))))


def large_sets(scores: Scores) -> tuple[int, int, NDArray[np.bool_]]:
    """The number of the large data sets HDP has the least RMSE of the three hierarchical ones, and HGS has less."""
    large = scores.rows > LARGE
    hdp, hgs, branch = (scores.of("rmse", name)[large] for name in ("HDP", HGS_NAME, "M-branch"))
    return int(((hdp < hgs) & (hdp < branch)).sum()), int((hgs < hdp).sum()), large


def _large_sets(scores: Scores) -> ComparedSigns:
    best, _, large = large_sets(scores)
    return ComparedSigns((sign(2 * LARGE_SETS_WON_BY_HDP - LARGE_SETS), sign(2 * best - int(large.sum()))))


def _smoothed_forests(scores: Scores) -> list[ComparedSigns]:
    """The second has HGS."""
    found = []
    for n in FOREST_SIZES:
        if n != SMOOTHED_UP_TO:  # where the curves cross, the paper says neither
            gain = scores.forest(n, False) - scores.forest(n, True)
            found.append(ComparedSigns((1 if n < SMOOTHED_UP_TO else -1, sign(gain))))
    return found


def _one_tree(scores: Scores) -> list[ComparedSigns]:
    """The second is the single tree."""
    tree = scores.mean("rmse", HGS_NAME)
    sizes = [n for n in FOREST_SIZES if n <= ONE_TREE_BEATS_UP_TO]
    return [ComparedSigns((1, sign(scores.forest(n, False) - tree))) for n in sizes]
