"""Bins of equal counts, with which Zadrozny & Elkan turn scores into probabilities, and their edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole._validation import check_whole
from petiole.calibrators._base import ScoreCalibrator, ScoreMapBase
from petiole.files import checks
from petiole.files.checks import fields, require

# Sums of fractional weights are rounded: a bin may begin at a share that is too small by at most this.
ROUNDING = 1e-9


@dataclass(frozen=True)
class BinMap(ScoreMapBase):
    """The bins of one class: ``edges`` between them, the weight of rows in each, the positive share of it."""

    edges: Floats
    counts: Floats
    frequencies: Floats

    _saved = fields(
        edges=checks.floats(1),
        counts=checks.floats(1, 0.0),
        frequencies=checks.floats(1, 0.0, 1.0 + 1e-9),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        edges, n_bins = state["edges"], len(state["edges"]) + 1
        require(checks.increasing(edges), "edges: must increase")
        same = len(state["counts"]) == n_bins and len(state["frequencies"]) == n_bins
        require(same, f"counts and frequencies: must be {n_bins}, one per bin")

    @property
    def keeps_order(self) -> bool:
        return bool((np.diff(self.frequencies) >= 0).all())

    def __call__(self, scores: Floats) -> Floats:
        return self.frequencies[bin_numbers(scores, self.edges)]


class BinningCalibrator(ScoreCalibrator):
    """Scores to probabilities by bins of equal counts (Zadrozny & Elkan 2001, section 2.5).

    The scores are sorted and cut into bins of equal counts. A new score gets the share of positive rows in its bin.
    Equal scores share a bin: a boundary among them moves behind them, and bins that become empty are dropped.
    Boundaries lie halfway between neighbouring bins, and belong to the lower one; the outer bins are unbounded.

    Scores may be anything that ranks: probabilities, log-odds, margins. Take them from rows that the model has not
    seen, such as those of ``cross_val_predict`` or the out-of-bag ones of a forest; naive Bayes has few enough
    parameters for its own training rows (:meth:`petiole.BinnedNaiveBayesClassifier.zadrozny_elkan`).

    Parameters
    ----------
    n_bins : int, default=10
        The paper's b: the number of bins. More bins give a finer resolution and a larger variance.

    Attributes
    ----------
    edges_ : list of arrays
        Boundaries between bins; one array with two classes (of the second class), else one per class.
    counts_ : list of arrays
        The weight of rows in each bin.
    frequencies_ : list of arrays
        The positive share of it: the calibrated probability.
    classes_ : array of the class labels
    base_rates_ : array of shape (n_classes,)
        The shares of the classes; predicted where a row is in bins without positives for every class.
    calibrators_ : list of BinMap
        The maps themselves.

    Examples
    --------
    >>> from petiole import BinningCalibrator
    >>> scores = [0.1, 0.2, 0.3, 0.4, 0.6, 0.9]
    >>> calibrator = BinningCalibrator(n_bins=3).fit(scores, ["no", "no", "yes", "no", "yes", "yes"])
    >>> calibrator.edges_[0], calibrator.frequencies_[0]
    (array([0.25, 0.5 ]), array([0. , 0.5, 1. ]))
    >>> calibrator.predict([0.05, 0.35, 7.0])
    array([0. , 0.5, 1. ])
    """

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    @property
    def edges_(self) -> list[Floats]:
        return [bins.edges for bins in self.calibrators_]

    @property
    def counts_(self) -> list[Floats]:
        return [bins.counts for bins in self.calibrators_]

    @property
    def frequencies_(self) -> list[Floats]:
        return [bins.frequencies for bins in self.calibrators_]

    def _check_parameters(self) -> None:
        check_whole("n_bins", self.n_bins, 1)

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> BinMap:
        edges = equal_weight_edges(scores, weights, int(self.n_bins))
        numbers = bin_numbers(scores, edges)
        counts: Floats = np.bincount(numbers, weights).astype(np.float64)
        return BinMap(edges, counts, np.bincount(numbers, weights * positive) / counts)


def bin_numbers(values: npt.NDArray[np.floating], edges: Floats) -> npt.NDArray[np.intp]:
    """The bin of each value; an edge itself belongs to the lower bin."""
    return np.searchsorted(edges, values, side="left")


def equal_weight_edges(values: npt.NDArray[np.floating], weights: Floats | None, n_bins: int) -> Floats:
    """Boundaries of at most ``n_bins`` bins of equal weight; a value of weight 2 counts twice.

    A value is in the bin in which the first of its equals is: number ⌊B · (weight before it) / (all weight)⌋.

    >>> equal_weight_edges(np.array([1.0, 2.0, 2.0, 2.0, 5.0, 6.0]), None, 3)
    array([3.5])
    """
    if not len(values):
        return np.empty(0)
    distinct, position = np.unique(values, return_inverse=True)
    distinct = distinct.astype(np.float64)
    ends = np.cumsum(np.bincount(position, weights))
    before = np.concatenate([[0.0], ends[:-1]])
    numbers = np.floor(before * n_bins / ends[-1] + ROUNDING)
    first = np.flatnonzero(numbers[1:] > numbers[:-1]) + 1
    return _halfway(distinct[first - 1], distinct[first])


def _halfway(low: Floats, high: Floats) -> Floats:
    """Midpoints, at least ``low`` and less than ``high`` in spite of rounding."""
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)
