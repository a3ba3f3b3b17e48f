"""Tables of wins, ties and losses, by plain comparison or by a t-test on each data set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._table.columns import Floats
from petiole._validation import check_choice, check_fraction, check_number
from petiole.comparison.paired import sign_test_p_value, t_statistics, win_marks
from petiole.comparison.rendering import Rows, as_markdown, as_text
from petiole.comparison.scores import read_names, read_scores

RULES = ("plain", "t_test", "corrected_t_test")


@dataclass(frozen=True, eq=False)
class WinTieLossTable:
    """Wins, ties and losses against each opponent under each metric.

    Attributes
    ----------
    reference : str
        The method that all others are compared with.
    opponents : list of str
        The others, in the order of the columns.
    metrics, data_sets : lists of str
    wins, ties, losses : arrays of whole numbers, of shape (n_opponents, n_metrics)
        Those of the reference; with ``wins_of="opponents"``, those of the opponents.
    p_values : array of shape (n_opponents, n_metrics)
        Two-tailed sign test of the wins against the losses; ties are left out.
    marks : array of shape (n_opponents, n_metrics, n_data_sets)
        1 for a win, 0 for a tie, -1 for a loss.
    reference_scores : array of shape (n_metrics, n_data_sets)
    opponent_scores : array of shape (n_opponents, n_metrics, n_data_sets)
        Means over the trials, if there are trials.
    alpha : float
        For the t-tests on the data sets, if there are any.
    sign_alpha : float
        For the sign test.
    """

    reference: str
    opponents: list[str]
    metrics: list[str]
    data_sets: list[str]
    marks: NDArray[np.int64]
    reference_scores: Floats
    opponent_scores: Floats
    wins_of: str
    rule: str
    alpha: float
    sign_alpha: float

    @property
    def wins(self) -> NDArray[np.int64]:
        return (self.marks > 0).sum(axis=2)

    @property
    def ties(self) -> NDArray[np.int64]:
        return (self.marks == 0).sum(axis=2)

    @property
    def losses(self) -> NDArray[np.int64]:
        return (self.marks < 0).sum(axis=2)

    @property
    def p_values(self) -> Floats:
        pairs = zip(self.wins.ravel().tolist(), self.losses.ravel().tolist(), strict=True)
        return np.array([sign_test_p_value(*pair) for pair in pairs]).reshape(self.wins.shape)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, separator: str = "-") -> str:
        """Plain text: a line per opponent, a column per metric; a star where the sign test is significant.

        Zhang et al. 2020 write 108-2-33, Nielsen 2004 writes 13/5/2: choose by ``separator``.
        """
        return as_text(*self._table(separator, "{}*", "{} ")) + "\n" + self._caption("*")

    def to_markdown(self, *, separator: str = "-") -> str:
        """Markdown: a line per opponent, a column per metric; bold where the sign test is significant."""
        return as_markdown(*self._table(separator, "**{}**", "{}")) + "\n\n" + self._caption("bold")

    def details(self, opponent: str | None = None, *, markdown: bool = False, digits: int = 3) -> str:
        """Scores on each data set against one opponent, with W, L or nothing, as in tables 2 and 6 of Nielsen 2004.

        ``opponent`` may be left out if there is only one.
        """
        index = self._opponent_index(opponent)
        sides = [(self.opponents[index], self.opponent_scores[index]), (self.reference, self.reference_scores)]
        if self.wins_of == "opponents":
            sides.reverse()  # the label says whose wins they are
        header = ["data set"]
        for metric in self.metrics:
            header += [f"{metric}: {sides[0][0]}", sides[1][0], "win"]
        rows = [[name, *self._detail_cells(index, row, sides, digits)] for row, name in enumerate(self.data_sets)]
        return as_markdown(header, rows) if markdown else as_text(header, rows)

    def _detail_cells(self, opponent: int, row: int, sides: list[tuple[str, Floats]], digits: int) -> list[str]:
        cells = []
        for column in range(len(self.metrics)):
            cells += [f"{scores[column, row]:.{digits}f}" for _, scores in sides]
            cells.append({1: "W", 0: "", -1: "L"}[int(self.marks[opponent, column, row])])
        return cells

    def _opponent_index(self, opponent: str | None) -> int:
        if opponent is None and len(self.opponents) == 1:
            return 0
        if opponent not in self.opponents:
            raise ValueError(f"opponent={opponent!r}: must be one of {self.opponents}")
        return self.opponents.index(opponent)

    def _table(self, separator: str, significant: str, otherwise: str) -> tuple[list[str], Rows]:
        counts = np.stack([self.wins, self.ties, self.losses], axis=2)
        rows = []
        for i, name in enumerate(self.opponents):
            first = f"{name} vs. {self.reference}" if self.wins_of == "opponents" else f"{self.reference} vs. {name}"
            cells = [separator.join(map(str, counts[i, m])) for m in range(len(self.metrics))]
            marked = self.p_values[i] <= self.sign_alpha
            rows.append(
                [first, *((significant if s else otherwise).format(c) for c, s in zip(cells, marked, strict=True))]
            )
        return ["wins, ties, losses", *self.metrics], rows

    def _caption(self, mark: str) -> str:
        how = {
            "plain": "by plain comparison",
            "t_test": f"by paired t-tests at {self.alpha:g}",
            "corrected_t_test": f"by corrected resampled t-tests at {self.alpha:g}",
        }[self.rule]
        return f"{len(self.data_sets)} data sets, {how}; {mark}: two-tailed sign test at {self.sign_alpha:g}"


def win_tie_loss(
    scores: Any,
    *,
    reference: Any,
    names: Sequence[Any] | None = None,
    data_sets: Sequence[Any] | None = None,
    greater_is_better: bool | Collection[str] = False,
    rule: str | None = None,
    alpha: float | None = None,
    sign_alpha: float = 0.05,
    tie_tolerance: float = 0.0,
    test_ratio: float | None = None,
    wins_of: str = "reference",
) -> WinTieLossTable:
    """Count on how many data sets one method wins, ties and loses against the others.

    Without trials, the better score wins and a sign test is applied to the counts, as in table 1 of Zhang et al. 2020.
    With trials, a t-test decides on each data set whether there is a winner, as in tables 2 to 6 of Nielsen 2004 (at
    0.1).

    Parameters
    ----------
    scores : array or data frame of shape (n_data_sets, n_methods), or array (n_data_sets, n_methods, n_trials), or dict
        A dict goes from the names of several metrics to their scores.
    reference : str or int
        The method that the others are compared with, by name or by column.
    names : list of str, default: the columns of a data frame, or numbers
        The methods.
    data_sets : list of str, default: numbers
    greater_is_better : bool or collection of metric names, default=False
        True or False for all metrics, or the names of the metrics for which it is true.
    rule : {"plain", "t_test", "corrected_t_test"}, default: "t_test" if there are trials, else "plain"
        With trials, "plain" compares their means.
    alpha : float, default=0.1
        For the t-tests: Nielsen's level.
    sign_alpha : float, default=0.05
        For the sign test: Zhang's level.
    tie_tolerance : float, default=0
        For "plain": scores that differ by this much or less are a tie.
    test_ratio : float
        For "corrected_t_test", and needed there: n_test / n_train of a split.
    wins_of : {"reference", "opponents"}, default="reference"
        Whose wins to count. Nielsen's tables 3 and 4 count those of the variants against a fixed baseline.

    Returns
    -------
    WinTieLossTable

    Examples
    --------
    >>> from petiole.comparison import win_tie_loss
    >>> rmse = [[0.31, 0.30, 0.26], [0.22, 0.21, 0.20], [0.40, 0.41, 0.39], [0.12, 0.13, 0.11], [0.25, 0.25, 0.25],
    ...         [0.35, 0.33, 0.30], [0.29, 0.26, 0.25]]
    >>> print(win_tie_loss({"RMSE": rmse}, reference="HGS", names=["raw", "Laplace", "HGS"]))
    wins, ties, losses    RMSE
    HGS vs. raw         6-1-0*
    HGS vs. Laplace     6-1-0*
    7 data sets, by plain comparison; *: two-tailed sign test at 0.05
    """
    tables, methods, has_trials = _read_metrics(scores, names)
    rule = ("t_test" if has_trials else "plain") if rule is None else rule
    alpha = 0.1 if alpha is None else alpha
    _check_options(rule, has_trials, alpha, sign_alpha, tie_tolerance, test_ratio, wins_of)
    metrics = list(tables)
    better = _greater_is_better(greater_is_better, metrics)
    column = _column_of(reference, methods)
    others = [index for index in range(len(methods)) if index != column]
    n_data_sets = len(next(iter(tables.values())))
    marks = np.array(
        [
            [_marks(tables[m], column, i, rule, better[m], alpha, tie_tolerance, test_ratio) for m in metrics]
            for i in others
        ]
    )
    means = np.array([table.mean(axis=2) if table.ndim == 3 else table for table in tables.values()])
    return WinTieLossTable(
        reference=methods[column],
        opponents=[methods[index] for index in others],
        metrics=metrics,
        data_sets=read_names("data_sets", data_sets, None, n_data_sets, "data set"),
        marks=(-marks if wins_of == "opponents" else marks).astype(np.int64),
        reference_scores=means[:, :, column],
        opponent_scores=means[:, :, others].transpose(2, 0, 1),
        wins_of=wins_of,
        rule=rule,
        alpha=alpha,
        sign_alpha=sign_alpha,
    )


def _marks(
    table: Floats,
    reference: int,
    opponent: int,
    rule: str,
    greater_is_better: bool,
    alpha: float,
    tie_tolerance: float,
    test_ratio: float | None,
) -> Floats:
    """1 where the reference wins, -1 where the opponent does, 0 elsewhere; one per data set."""
    if rule == "plain":
        means = table.mean(axis=2) if table.ndim == 3 else table
        return win_marks(means[:, reference], means[:, opponent], greater_is_better, tie_tolerance)
    differences = table[:, reference] - table[:, opponent]
    factor = 1 / table.shape[2] + (test_ratio or 0.0)
    t, p_values, _ = t_statistics(differences, factor)
    signs = np.sign(t) if greater_is_better else -np.sign(t)
    return np.where(p_values <= alpha, signs, 0.0)


def _read_metrics(scores: Any, names: Sequence[Any] | None) -> tuple[dict[str, Floats], list[str], bool]:
    given = scores if isinstance(scores, Mapping) else {"score": scores}
    if not given:
        raise ValueError("scores={}: must hold the scores of at least one metric")
    tables, found = {}, None
    for metric, table in given.items():
        name = f"scores[{metric!r}]" if isinstance(scores, Mapping) else "scores"
        tables[str(metric)], columns = read_scores(name, table, dimensions=(2, 3))
        found = columns if found is None else found
    first = next(iter(tables.values()))
    for metric, table in tables.items():
        if table.shape[:2] != first.shape[:2] or table.ndim != first.ndim:
            raise ValueError(
                f"scores[{metric!r}] has shape {table.shape}, but the first metric has {first.shape}: "
                "give the same data sets and methods for every metric, and trials for all or none"
            )
    return tables, read_names("names", names, found, first.shape[1], "method"), first.ndim == 3


def _check_options(
    rule: str,
    has_trials: bool,
    alpha: float,
    sign_alpha: float,
    tie_tolerance: float,
    test_ratio: float | None,
    wins_of: str,
) -> None:
    check_choice("rule", rule, RULES)
    check_choice("wins_of", wins_of, ("reference", "opponents"))
    check_fraction("alpha", alpha)
    check_fraction("sign_alpha", sign_alpha)
    check_number("tie_tolerance", tie_tolerance, 0)
    if rule != "plain" and not has_trials:
        raise ValueError(f"rule={rule!r}: needs scores of shape (n_data_sets, n_methods, n_trials)")
    if (rule == "corrected_t_test") != (test_ratio is not None):
        raise ValueError(f"test_ratio={test_ratio!r}: must be n_test / n_train with rule='corrected_t_test', else None")
    if test_ratio is not None:
        check_number("test_ratio", test_ratio, 0)


def _greater_is_better(greater_is_better: bool | Collection[str], metrics: list[str]) -> dict[str, bool]:
    if isinstance(greater_is_better, bool):
        return dict.fromkeys(metrics, greater_is_better)
    chosen = [greater_is_better] if isinstance(greater_is_better, str) else list(greater_is_better)
    unknown = [name for name in chosen if name not in metrics]
    if unknown:
        raise ValueError(f"greater_is_better names {unknown[0]!r}, but the metrics are {metrics}: remove or rename it")
    return {metric: metric in chosen for metric in metrics}


def _column_of(reference: Any, methods: list[str]) -> int:
    if isinstance(reference, str) and reference in methods:
        return methods.index(reference)
    whole = isinstance(reference, (int, np.integer)) and not isinstance(reference, bool)
    if whole and -len(methods) <= reference < len(methods):
        return int(reference) % len(methods)
    raise ValueError(f"reference={reference!r}: must be one of {methods}, or the number of a column")
