"""Many methods on many data sets: Friedman's test of their mean ranks and Nemenyi's critical difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from petiole._table.columns import Floats
from petiole._validation import check_fraction
from petiole.comparison.rendering import as_markdown, as_text, p_text
from petiole.comparison.scores import read_names, read_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class RankComparison:
    """Mean ranks of methods, and the difference at which two methods differ significantly.

    Attributes
    ----------
    names : list of str
        The methods, in the order of the columns.
    mean_ranks : array of shape (n_methods,)
        1 is best.
    statistic, p_value : float
        Friedman's chi-squared, corrected for ties, of the hypothesis that all methods are equally good.
    f_statistic, f_p_value : float
        Iman and Davenport's F of the same hypothesis, less conservative.
    critical_difference : float
        Nemenyi's: two methods whose mean ranks differ by at least this much are significantly different.
    alpha : float
    n_data_sets : int
    ranks : array of shape (n_data_sets, n_methods)
        Tied methods share the mean of their ranks.
    """

    names: list[str]
    mean_ranks: Floats
    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float
    critical_difference: float
    alpha: float
    n_data_sets: int
    ranks: Floats = field(repr=False, compare=False)

    @property
    def order(self) -> list[int]:
        """The columns from the best mean rank to the worst."""
        return [int(index) for index in np.argsort(self.mean_ranks, kind="stable")]

    def differs(self) -> np.ndarray:
        """A table of truth values: whether two methods are significantly different, by Nemenyi's test."""
        gaps = np.abs(self.mean_ranks[:, None] - self.mean_ranks)
        return np.asarray((gaps >= self.critical_difference) & (gaps > 0))

    def p_values(self) -> Floats:
        """A table with Nemenyi's p for each pair of methods."""
        k = len(self.names)
        gaps = np.abs(self.mean_ranks[:, None] - self.mean_ranks)
        above = np.triu_indices(k, 1)
        table = np.ones((k, k))
        standard_error = math.sqrt(k * (k + 1) / (12 * self.n_data_sets))
        table[above] = stats.studentized_range.sf(gaps[above] / standard_error, k, np.inf)
        return np.minimum(table, table.T)

    def groups(self) -> list[list[str]]:
        """The largest groups in which no two methods differ significantly; a single method is not a group."""
        order, found, reached = self.order, [], 0
        for start, first in enumerate(order):
            near = self.mean_ranks[order[start:]] - self.mean_ranks[first] < self.critical_difference
            end = start + max(1, int(near.sum()))
            if end > reached and end - start > 1:
                found.append([self.names[index] for index in order[start:end]])
            reached = max(reached, end)
        return found

    def to_text(self) -> str:
        """Mean ranks from the best to the worst, and the test below, as plain text."""
        return as_text(*self._table()) + "\n" + self._summary()

    def to_markdown(self) -> str:
        """Mean ranks from the best to the worst, and the test below, in Markdown."""
        return as_markdown(*self._table()) + "\n\n" + self._summary()

    def plot(self, *, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Draw the critical-difference diagram: see :func:`critical_difference_diagram`."""
        from petiole.comparison.diagram import critical_difference_diagram

        return critical_difference_diagram(self, ax=ax, title=title)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["method", "mean rank"], [[self.names[i], f"{self.mean_ranks[i]:.2f}"] for i in self.order]

    def _summary(self) -> str:
        return (
            f"Friedman: chi-squared {self.statistic:.2f}, p {p_text(self.p_value)}; critical difference "
            f"{self.critical_difference:.2f} (Nemenyi, alpha {self.alpha:g}, {self.n_data_sets} data sets)"
        )


def friedman_nemenyi(
    scores: Any, *, names: Sequence[Any] | None = None, alpha: float = 0.05, greater_is_better: bool = False
) -> RankComparison:
    """Compare methods by their mean ranks over data sets.

    Friedman's test decides whether the methods differ at all, Nemenyi's test which of them do: two methods differ if
    their mean ranks are q sqrt(k (k + 1) / (6 N)) or more apart, for k methods on N data sets, q being the upper alpha
    quantile of the studentized range over sqrt 2 (Demšar 2006).

    Parameters
    ----------
    scores : array or data frame of shape (n_data_sets, n_methods)
        One score for each data set and method. With several trials, give their means.
    names : list of str, default: the columns of the data frame, or numbers
    alpha : float, default=0.05
    greater_is_better : bool, default=False
        False for losses and errors, True for accuracies.

    Returns
    -------
    RankComparison

    Examples
    --------
    >>> from petiole.comparison import friedman_nemenyi
    >>> scores = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.2, 0.2, 0.5], [0.1, 0.4, 0.5], [0.3, 0.4, 0.6], [0.1, 0.2, 0.4]]
    >>> result = friedman_nemenyi(scores, names=["forest", "tree", "stump"])
    >>> print(result.to_text())
    method  mean rank
    forest       1.08
    tree         2.08
    stump        2.83
    Friedman: chi-squared 9.65, p 0.00802; critical difference 1.35 (Nemenyi, alpha 0.05, 6 data sets)
    >>> result.groups()
    [['forest', 'tree'], ['tree', 'stump']]
    """
    check_fraction("alpha", alpha)
    table, found = read_scores("scores", scores, dimensions=(2,))
    n, k = table.shape
    if n < 2:
        raise ValueError("scores has 1 row: must have at least two data sets")
    ranks = stats.rankdata(-table if greater_is_better else table, axis=1)
    statistic, f_statistic = _friedman(ranks)
    return RankComparison(
        names=read_names("names", names, found, k, "method"),
        mean_ranks=ranks.mean(axis=0),
        statistic=statistic,
        p_value=float(stats.chi2.sf(statistic, k - 1)),
        f_statistic=f_statistic,
        f_p_value=float(stats.f.sf(f_statistic, k - 1, (k - 1) * (n - 1))),
        critical_difference=_nemenyi(k, n, alpha),
        alpha=alpha,
        n_data_sets=n,
        ranks=ranks,
    )


def _friedman(ranks: Floats) -> tuple[float, float]:
    """Friedman's chi-squared, corrected for ties, and Iman and Davenport's F."""
    n, k = ranks.shape
    # the sum of squared ranks is that of 1 to k where nothing is tied, and less by what ties take away
    spread = (ranks**2).sum() - n * k * (k + 1) ** 2 / 4
    if spread <= 0:
        return 0.0, 0.0
    between = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    chi_squared = float(n * (k - 1) * between / spread)
    rest = n * (k - 1) - chi_squared
    return chi_squared, (n - 1) * chi_squared / rest if rest > 1e-9 else math.inf


def _nemenyi(k: int, n: int, alpha: float) -> float:
    q = float(stats.studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2)
    return q * math.sqrt(k * (k + 1) / (6 * n))
