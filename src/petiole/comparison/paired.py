"""Tests for two methods: the paired t-test, its correction for splits that share rows, and the sign test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from petiole._table.columns import Floats
from petiole._validation import check_choice, check_fraction, check_number, check_whole
from petiole.comparison.scores import read_pair


@dataclass(frozen=True)
class PairedTest:
    """Result of a t-test.

    Attributes
    ----------
    difference : float
        Mean of the first scores minus the second.
    statistic : float
        Student's t.
    p_value : float
        Two-tailed.
    interval : (float, float)
        For the difference, of level 1 - alpha.
    n_trials : int
    alpha : float
    winner : int
        1 or 2 for the method that is significantly better, 0 for a tie.
    """

    difference: float
    statistic: float
    p_value: float
    interval: tuple[float, float]
    n_trials: int
    alpha: float
    winner: int


@dataclass(frozen=True)
class SignTest:
    """Result of a sign test.

    Attributes
    ----------
    wins, ties, losses : int
        Of the first method.
    p_value : float
        Two-tailed and exact.
    alpha : float
    winner : int
        1 or 2 for the method that is significantly better, 0 for a tie.
    """

    wins: int
    ties: int
    losses: int
    p_value: float
    alpha: float
    winner: int


def paired_t_test(scores_1: Any, scores_2: Any, *, alpha: float = 0.05, greater_is_better: bool = False) -> PairedTest:
    """Paired t-test over trials, two-tailed.

    The test is valid only if the trials are independent. Scores of random splits of one data set are not, because the
    splits share rows: use :func:`corrected_resampled_t_test` for them. Nielsen 2004 uses it with alpha = 0.1.

    Parameters
    ----------
    scores_1, scores_2 : arrays of shape (n_trials,)
        Scores of two methods on the same trials.
    alpha : float, default=0.05
        A difference with ``p_value <= alpha`` is significant.
    greater_is_better : bool, default=False
        False for losses and errors, True for accuracies.

    Returns
    -------
    PairedTest

    Examples
    --------
    >>> from petiole.comparison import paired_t_test
    >>> test = paired_t_test([0.21, 0.25, 0.19, 0.23], [0.24, 0.27, 0.24, 0.25])
    >>> round(test.difference, 4), round(test.statistic, 3), round(test.p_value, 4), test.winner
    (-0.03, -4.243, 0.024, 1)
    """
    first, second = read_pair(scores_1, scores_2, least=2)
    return _t_test(first - second, 1 / len(first), alpha, greater_is_better)


def corrected_resampled_t_test(
    scores_1: Any,
    scores_2: Any,
    *,
    n_train: float,
    n_test: float,
    alpha: float = 0.05,
    greater_is_better: bool = False,
) -> PairedTest:
    """Paired t-test over random splits of one data set, corrected for their overlap; two-tailed.

    Splits share rows, so the variance of the mean over J splits does not fall like 1 / J. Nadeau & Bengio (2003)
    replace 1 / J by 1 / J + n_test / n_train. For repeated k-fold cross-validation the ratio is 1 / (k - 1), and J
    counts all folds of all repetitions.

    Parameters
    ----------
    scores_1, scores_2 : arrays of shape (n_trials,)
        Scores of two methods on the same splits.
    n_train, n_test : numbers
        Rows, or shares of the rows, in the training and test part of a split. Only their ratio counts.
    alpha : float, default=0.05
    greater_is_better : bool, default=False

    Returns
    -------
    PairedTest

    Examples
    --------
    >>> from petiole.comparison import corrected_resampled_t_test
    >>> test = corrected_resampled_t_test([0.21, 0.25, 0.19, 0.23], [0.24, 0.27, 0.24, 0.25], n_train=2/3, n_test=1/3)
    >>> round(test.statistic, 3), round(test.p_value, 4), test.winner
    (-2.449, 0.0917, 0)
    """
    for name, value in (("n_train", n_train), ("n_test", n_test)):
        check_number(name, value, 0)
        if value == 0:
            raise ValueError(f"{name}={value!r}: must be greater than 0")
    first, second = read_pair(scores_1, scores_2, least=2)
    return _t_test(first - second, 1 / len(first) + n_test / n_train, alpha, greater_is_better)


def sign_test(
    scores_1: Any,
    scores_2: Any,
    *,
    alpha: float = 0.05,
    greater_is_better: bool = False,
    tie_tolerance: float = 0.0,
    ties: str = "drop",
) -> SignTest:
    """Sign test over data sets, two-tailed and exact: which method wins more often, by any margin.

    Under the null hypothesis a win is as likely as a loss, so wins are binomial with probability 1/2. Zhang et al. 2020
    use it with alpha = 0.05, and call p <= alpha significant.

    Parameters
    ----------
    scores_1, scores_2 : arrays of shape (n_data_sets,)
        Scores of two methods on the same data sets.
    alpha : float, default=0.05
    greater_is_better : bool, default=False
    tie_tolerance : float, default=0
        Scores that differ by this much or less are a tie.
    ties : {"drop", "split"}, default="drop"
        Leave ties out, or give each side half of them (of an odd number, one is left out).

    Returns
    -------
    SignTest

    Examples
    --------
    >>> from petiole.comparison import sign_test
    >>> test = sign_test([0.1, 0.2, 0.1, 0.3, 0.2, 0.1, 0.2], [0.2, 0.3, 0.2, 0.4, 0.3, 0.2, 0.2])
    >>> (test.wins, test.ties, test.losses), test.p_value, test.winner
    ((6, 1, 0), 0.03125, 1)
    """
    first, second = read_pair(scores_1, scores_2, least=1)
    check_number("tie_tolerance", tie_tolerance, 0)
    marks = win_marks(first, second, greater_is_better, tie_tolerance)
    wins, losses = int((marks > 0).sum()), int((marks < 0).sum())
    return sign_test_of_counts(wins, len(marks) - wins - losses, losses, alpha=alpha, ties=ties)


def sign_test_of_counts(wins: int, n_ties: int, losses: int, *, alpha: float = 0.05, ties: str = "drop") -> SignTest:
    """Sign test of given numbers of wins, ties and losses, such as those printed in papers.

    Parameters
    ----------
    wins, n_ties, losses : int
        Of the first method.
    alpha : float, default=0.05
    ties : {"drop", "split"}, default="drop"
        As in :func:`sign_test`.

    Returns
    -------
    SignTest

    Examples
    --------
    HGS against m-branch, 0-1 loss, in table 1 of Zhang et al. 2020:

    >>> from petiole.comparison import sign_test_of_counts
    >>> test = sign_test_of_counts(59, 32, 52)
    >>> round(test.p_value, 3), test.winner
    (0.569, 0)
    """
    for name, count in (("wins", wins), ("n_ties", n_ties), ("losses", losses)):
        check_whole(name, count, 0)
    check_fraction("alpha", alpha)
    check_choice("ties", ties, ("drop", "split"))
    shared = n_ties // 2 if ties == "split" else 0
    p_value = sign_test_p_value(wins + shared, losses + shared)
    winner = 0 if p_value > alpha or wins == losses else 1 if wins > losses else 2
    return SignTest(int(wins), int(n_ties), int(losses), p_value, alpha, winner)


def sign_test_p_value(wins: int, losses: int) -> float:
    """Twice the binomial probability of at most the smaller count, at most 1."""
    return min(1.0, 2 * float(stats.binom.cdf(min(wins, losses), wins + losses, 0.5)))


def win_marks(first: Floats, second: Floats, greater_is_better: bool, tie_tolerance: float) -> Floats:
    """1 where the first score is better, -1 where the second is, 0 where they differ by at most the tolerance."""
    difference = first - second if greater_is_better else second - first
    return np.where(np.abs(difference) <= tie_tolerance, 0.0, np.sign(difference))


def t_statistics(differences: Floats, factor: float) -> tuple[Floats, Floats, Floats]:
    """Student's t, two-tailed p and standard error of mean differences over the last axis.

    ``factor`` times the variance of the trials is the variance of their mean. Without any variance the t of a
    difference is infinite, and its p is 0; without a difference t is 0 and p is 1.
    """
    n_trials = differences.shape[-1]
    mean = differences.mean(axis=-1)
    error = differences.std(axis=-1, ddof=1) * math.sqrt(factor)
    # the deviation of equal differences is only the rounding of their mean
    error = np.where(error <= 1e-14 * np.abs(differences).max(axis=-1), 0.0, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, mean / error, np.where(mean == 0, 0.0, np.copysign(np.inf, mean)))
    return t, 2 * stats.t.sf(np.abs(t), n_trials - 1), error


def _t_test(differences: Floats, factor: float, alpha: float, greater_is_better: bool) -> PairedTest:
    check_fraction("alpha", alpha)
    t, p_value, error = (float(value) for value in t_statistics(differences, factor))
    mean, n_trials = float(differences.mean()), len(differences)
    half = float(stats.t.ppf(1 - alpha / 2, n_trials - 1)) * error
    better = 0 if p_value > alpha else int(np.sign(mean)) * (1 if greater_is_better else -1)
    winner = {1: 1, -1: 2, 0: 0}[better]
    return PairedTest(mean, t, p_value, (mean - half, mean + half), n_trials, alpha, winner)
