"""What monitoring has found: tests with their evidence over time, drift, estimated scores, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.monitoring._drift import ColumnDrift, LeafDrift
from petiole.monitoring._evidence import SequentialTest
from petiole.monitoring._reference import Score
from petiole.monitoring._remedies import Remedy


@dataclass(frozen=True)
class Finding:
    """A sequential test and its outcome.

    Attributes
    ----------
    name : str
        "calibration", "log_loss", or the name of a group.
    threshold : float
        The e-value from which on there is an alarm: 1/alpha, and for groups their number times that.
    test : CalibrationTest or LossTest
    n_rows : int
        How many rows it is about.
    said, came : float
        What was promised and what was seen: mean probability and observed share of the class with the largest gap, or
        the log-loss.
    target : str
        The class of ``said`` and ``came``; empty for the log-loss.
    positions : int array
        The rows among all new rows, in their order.
    """

    name: str
    threshold: float
    test: SequentialTest
    n_rows: int
    said: float
    came: float
    target: str
    positions: Array

    @property
    def alarm(self) -> bool:
        """Whether the e-value has ever reached the threshold."""
        return bool(self.test.log_highest >= np.log(self.threshold))

    @property
    def first_row(self) -> int | None:
        """The number, from 1, of the new row at which it first did."""
        place = self.test.first_row(1 / self.threshold)
        n_before = self.test.n_rows - len(self.positions)
        return None if place is None or place <= n_before else int(self.positions[place - n_before - 1]) + 1

    @property
    def evidence(self) -> Floats:
        """The logarithm to base 10 of the e-value after each of its rows."""
        return np.concatenate(self.test.history) / np.log(10) if self.test.history else np.empty(0)

    def to_dict(self) -> dict[str, Any]:
        """The figures, for JSON."""
        return {
            "name": self.name,
            "alarm": self.alarm,
            "e_value": self.test.e_value,
            "highest_e_value": self.test.highest,
            "p_value": self.test.p_value,
            "threshold": self.threshold,
            "first_row": self.first_row,
            "rows": self.n_rows,
            "target": self.target,
            "promised": self.said,
            "observed": self.came,
        }


@dataclass(frozen=True)
class Monitoring:
    """The result of :func:`petiole.monitoring.monitor`.

    Attributes
    ----------
    n_rows : int
        How many new rows there were.
    classes : array of labels
    alpha : float
        The level of each family of tests.
    calibration, loss : Finding or None
        The tests on labelled rows; None without labels, and ``loss`` also where nothing was promised.
    groups : list of Finding
        Calibration by group.
    promised : dict from name to Score
        Scores of the honest answers for the training rows.
    observed : dict from name to Score
        Scores on the new rows, if they have labels.
    estimated : dict from name to float
        What the scores are expected to be from the probabilities alone (:func:`estimate_scores`).
    worse_expected : bool
        Whether the expected log-loss is above the promised one by more than three standard errors.
    columns : list of ColumnDrift
    leaves : LeafDrift or None
    remedies : list of Remedy
        What was tried on the labelled rows, the best first.
    advice : str
        What to do, in a sentence or two.
    state : dict
        What ``monitor(..., state=...)`` needs to go on with the tests at the next rows.
    """

    n_rows: int
    classes: Array
    alpha: float
    calibration: Finding | None
    loss: Finding | None
    groups: list[Finding]
    promised: dict[str, Score]
    observed: dict[str, Score]
    estimated: dict[str, float]
    worse_expected: bool
    columns: list[ColumnDrift]
    leaves: LeafDrift | None
    remedies: list[Remedy]
    advice: str
    state: dict[str, Any] = field(repr=False)

    @property
    def tests(self) -> list[Finding]:
        """All tests on labelled rows."""
        return [found for found in (self.calibration, self.loss, *self.groups) if found is not None]

    @property
    def alarm(self) -> bool:
        """Whether a test on labelled rows says that the model is no longer true."""
        return any(found.alarm for found in self.tests)

    @property
    def drifted(self) -> bool:
        """Whether the rows themselves are others than those of the fit."""
        leaves = self.leaves is not None and self.leaves.drifted
        return leaves or self.worse_expected or any(column.drifted for column in self.columns)

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        names = [_plain_name(found) for found in self.tests if found.alarm]
        if names:
            return f"ALARM: {', '.join(names)}: the model is no longer true."
        if self.drifted:
            labels = "though the model still is true on the rows with labels" if self.tests else "look at labels"
            return f"DRIFT: the rows are not like those of the fit; {labels}."
        if self.tests:
            return "FINE: nothing speaks against the model."
        return "FINE: the rows are like those of the fit; whether the model is true of them only labels can tell."

    def to_dict(self) -> dict[str, Any]:
        """Everything but the paths of the evidence, for JSON."""
        leaves = None if self.leaves is None else vars(self.leaves)
        return {
            "rows": self.n_rows,
            "verdict": self.verdict,
            "alarm": self.alarm,
            "drift": self.drifted,
            "advice": self.advice,
            "alpha": self.alpha,
            "tests": [found.to_dict() for found in self.tests],
            "promised": {name: score._asdict() for name, score in self.promised.items()},
            "observed": {name: score._asdict() for name, score in self.observed.items()},
            "estimated": self.estimated,
            "worse_expected": self.worse_expected,
            "columns": [vars(column) for column in self.columns],
            "leaves": leaves,
            "remedies": [remedy._asdict() for remedy in self.remedies],
        }


def _plain_name(found: Finding) -> str:
    titles = {"calibration": "calibration", "log_loss": "log-loss"}
    return titles.get(found.name, f"calibration of \u201c{found.name}\u201d")
