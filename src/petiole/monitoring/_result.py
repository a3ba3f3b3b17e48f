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
        The number of rows that were tested.
    said, came : float
        What was expected and what was observed: mean probability and frequency of the class with the largest
        difference, or the log-loss.
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
        """The new row, counted from 1, at which it first did."""
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
        The number of new rows.
    classes : array of labels
    alpha : float
        The level of each family of tests.
    calibration, loss : Finding or None
        The tests on labelled rows; None without labels; ``loss`` is also None if the model has no honest scores.
    groups : list of Finding
        Calibration by group.
    promised : dict from name to Score
        The scores to expect: those of the honest predictions for the training rows.
    observed : dict from name to Score
        Scores on the new rows, if they have labels.
    estimated : dict from name to float
        Scores estimated from the probabilities alone (:func:`estimate_scores`).
    worse_expected : bool
        Whether the log-loss estimated for the new rows exceeds the one to expect by more than three standard errors.
    columns : list of ColumnDrift
    leaves : LeafDrift or None
    remedies : list of Remedy
        What was tried on the labelled rows, the best first.
    advice : str
        What to do, in one or two sentences.
    state : dict
        Pass this as ``monitor(..., state=...)`` to continue the tests with the next rows.
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
        """Whether a test on labelled rows has raised an alarm."""
        return any(found.alarm for found in self.tests)

    @property
    def drifted(self) -> bool:
        """Whether the rows differ from the training rows."""
        leaves = self.leaves is not None and self.leaves.drifted
        return leaves or self.worse_expected or any(column.drifted for column in self.columns)

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        names = [_plain_name(found) for found in self.tests if found.alarm]
        if names:
            return f"ALARM ({', '.join(names)}): the new labels contradict the model."
        if self.drifted:
            labels = "the labels do not contradict the model" if self.tests else "check the model on labelled rows"
            return f"DRIFT: the new rows differ from the training rows; {labels}."
        if self.tests:
            return "FINE: the new rows do not contradict the model."
        return "FINE: the new rows resemble the training rows. Testing the probabilities takes labels."

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
