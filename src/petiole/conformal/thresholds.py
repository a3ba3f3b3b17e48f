"""Scores of rows whose class is known, and the thresholds that hold new rows with the coverage that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

Cells = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Rounding that sums of weights may show, as a share of them.
ROUNDING = 1e-9


class Limits(NamedTuple):
    """The largest score inside and, among ties with it, the largest tie-breaking number, for each cell."""

    scores: Floats
    ties: Floats

    def hold(self, cells: Cells, scores: Floats, ties: Floats) -> Mask:
        """Whether scores are inside the limits of their cells."""
        limit = self.scores[cells]
        inside: Mask = (scores < limit) | ((scores == limit) & (ties <= self.ties[cells]))
        return inside


class Thresholds(NamedTuple):
    """Two neighbouring limits for each cell, and the share of rows for which the outer one is taken."""

    inner: Limits
    outer: Limits
    share: Floats

    def hold(self, cells: Cells, scores: Floats, numbers: Floats | None) -> Mask:
        """Whether scores are inside; each row has two random numbers, or none for the larger sets throughout."""
        if numbers is None:
            outermost = np.zeros(len(scores))
            inner, outer = (limits.hold(cells, scores, outermost) for limits in (self.inner, self.outer))
            return np.where(self.share[cells] > 0, outer, inner)
        inner, outer = (limits.hold(cells, scores, numbers[:, 0]) for limits in (self.inner, self.outer))
        return np.where(numbers[:, 1] < self.share[cells], outer, inner)

    @property
    def scores(self) -> Floats:
        """The larger of the two limits where both are used."""
        return np.where(self.share > 0, self.outer.scores, self.inner.scores)


@dataclass(frozen=True, eq=False)
class CalibrationScores(Savable):
    """The scores of the true classes of calibrating rows, cell by cell, each cell in rising order.

    A cell is a group of rows, a class, or a class in a group, whichever get thresholds of their own.

    Attributes
    ----------
    scores, ties, weights : arrays
        Of each row: its score, the number by which it is placed among rows of the same score, and its weight in rows.
    start : array of int64
        Where the rows of each cell begin, and the number of rows.
    """

    scores: Floats
    ties: Floats
    weights: Floats
    start: Cells

    _saved = fields(
        scores=checks.floats(1, 0.0),
        ties=checks.floats(1, 0.0, 1.0),
        weights=checks.weights(1, 1 / checks.LARGEST),
        start=checks.integers("int64"),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        n, start = len(state["scores"]), state["start"]
        require(len(state["ties"]) == len(state["weights"]) == n, "scores, ties and weights: must be one per row")
        require(len(start) > 1 and start[0] == 0 and start[-1] == n, "start: must reach from the first row to the last")
        require((start[1:] >= start[:-1]).all(), "start: must not fall")
        cell = np.repeat(np.arange(len(start) - 1), np.diff(start))
        rising = np.lexsort((state["ties"], state["scores"], cell))
        places = (cell, state["scores"], state["ties"])
        require(all(np.array_equal(one, one[rising]) for one in places), "scores: must rise within each cell")

    @classmethod
    def of(cls, scores: Floats, ties: Floats, weights: Floats | None, cells: Cells, n_cells: int) -> CalibrationScores:
        """From the score, the tie-breaking number, the weight and the cell of each row."""
        order = np.lexsort((ties, scores, cells))
        weights = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=np.float64)
        start = np.searchsorted(cells[order], np.arange(n_cells + 1)).astype(np.int64)
        return cls(scores[order], ties[order], weights[order], start)

    @property
    def n_cells(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Floats:
        """The weight of each cell in rows."""
        sums = np.concatenate([[0.0], np.cumsum(self.weights)])
        return np.asarray(sums[self.start[1:]] - sums[self.start[:-1]])

    def thresholds(self, coverage: float) -> Thresholds:
        """The thresholds of all cells; infinite where a cell has too few rows for the coverage.

        Among the n rows of a cell and the new row, the score of the new row is as likely to have any of the n + 1
        places. It is among the first t = (n + 1)·coverage of them with exactly the coverage if t is whole. Otherwise
        the limit is the score at place ⌊t⌋ + 1 for a share t − ⌊t⌋ of the new rows, and that at place ⌊t⌋ for the
        others. A row of weight w is w rows, the new row is one.
        """
        inner, outer = (Limits(np.full(self.n_cells, np.inf), np.ones(self.n_cells)) for _ in range(2))
        share = np.zeros(self.n_cells)
        for cell, (begin, end) in enumerate(zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True)):
            sums = np.cumsum(self.weights[begin:end])
            total = float(sums[-1]) if len(sums) else 0.0
            place = coverage * (total + 1.0)
            whole = np.floor(place * (1 + ROUNDING))
            if place > total * (1 + ROUNDING):
                continue
            share[cell] = max(place - whole, 0.0) if place - whole > ROUNDING * place else 0.0
            for limits, wanted in ((inner, whole), (outer, whole + 1)):
                self._set_limit(limits, cell, begin, int(np.searchsorted(sums, wanted * (1 - ROUNDING))), end, wanted)
        return Thresholds(inner, outer, share)

    def _set_limit(self, limits: Limits, cell: int, begin: int, place: int, end: int, wanted: float) -> None:
        if wanted <= 0:
            limits.scores[cell] = -np.inf
        elif begin + place < end:
            limits.scores[cell], limits.ties[cell] = self.scores[begin + place], self.ties[begin + place]


def least_rows(coverage: float) -> int:
    """The smallest number of rows whose largest score is a threshold with this coverage.

    >>> least_rows(0.9), least_rows(0.95), least_rows(0.5)
    (9, 19, 1)
    """
    return int(np.ceil(coverage / (1 - coverage) * (1 - ROUNDING)))
