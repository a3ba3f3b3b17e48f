"""Scores in bins: the bin of each row, and the contents of each bin."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole._validation import check_choice, check_whole
from petiole.metrics.rows import Indices, group_sums, tie_groups

STRATEGIES = ("uniform", "quantile")


class Binned(NamedTuple):
    """The bins that contain rows, from low scores up: weight, mean score, and share of hits."""

    weight: Floats
    mean_score: Floats
    frequency: Floats


def check_binning(n_bins: Any, strategy: Any) -> None:
    """Raise an error unless the parameters of a binning are valid."""
    check_whole("n_bins", n_bins, 1)
    check_choice("strategy", strategy, STRATEGIES)


def bin_of(scores: Floats, weights: Floats, n_bins: int, strategy: str) -> Indices:
    """The bin of each score; bins need not all be used.

    "uniform": n_bins intervals of equal width in [0, 1], open on the left. "quantile": bins of equal weight; tied
    scores share the bin in which the middle of their weight lies.
    """
    if strategy == "uniform":
        return np.clip(np.ceil(scores * n_bins).astype(np.intp) - 1, 0, n_bins - 1)
    groups = tie_groups(scores)
    sums = group_sums(groups, weights)
    middles = (np.cumsum(sums) - sums / 2) / weights.sum()
    # Rounded, so that a middle on the border of two bins is in the upper one in whatever order weights are summed.
    bins = np.minimum(np.round(middles * n_bins, 9).astype(np.intp), n_bins - 1)
    return bins[groups]


def summarise(scores: Floats, hits: npt.NDArray[np.bool_], weights: Floats, bins: Indices) -> Binned:
    """The contents of each bin; bins without rows are left out."""
    weight = group_sums(bins, weights)
    used = weight > 0
    mean_score = group_sums(bins, weights * scores)[used] / weight[used]
    frequency = group_sums(bins, weights * hits)[used] / weight[used]
    return Binned(weight[used], mean_score, frequency)


def scores_and_hits(judged: Judged, column: int | None) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The score of each row and whether it is right: of the class of a column, or (None) of the most probable one."""
    if column is None:
        return judged.proba.max(axis=1), judged.proba.argmax(axis=1) == judged.codes
    return judged.proba[:, column], judged.codes == column
