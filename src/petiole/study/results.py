"""The result of a study: a table of methods, the winner, how certain that is, and the model fitted on all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._sheet import Sheet, SmallTable
from petiole._table.columns import Floats
from petiole._table.rows import EncodedRows
from petiole._tree.text import shorten_list
from petiole.comparison.rendering import as_text
from petiole.study.data import Table
from petiole.study.methods import Method
from petiole.study.scoring import Interval, log_loss_floor

SCORE_TITLES = {
    "log_loss": "log-loss (bits)",
    "brier": "Brier score",
    "ece": "calibration error",
    "aulc": "area under lift",
    "accuracy": "accuracy",
    "cost": "cost per row",
    "fit_seconds": "fit (s)",
    "predict_seconds": "predict (s)",
}


@dataclass(frozen=True)
class MethodResult:
    """The scores of one method.

    Attributes
    ----------
    name, title : str
    is_peer : bool
        Whether it belongs to another library.
    scores : dict from score to Interval
        Keys are "log_loss" (bits), "brier", "ece", "aulc", "accuracy", "cost" (if costs were given), "fit_seconds" and
        "predict_seconds".
    p_value : float or None
        Two-tailed, for the difference from the winner in the deciding score; None for the winner.
    by_split : dict from score to the values on the single splits
    """

    name: str
    title: str
    is_peer: bool
    scores: dict[str, Interval]
    p_value: float | None
    by_split: dict[str, list[float]] = field(repr=False)


@dataclass(frozen=True)
class Design:
    """How the methods were compared, to repeat it."""

    folds: int | None  # None: a test set was given
    repeats: int | None
    seed: int
    n_jobs: int
    decides: str
    seconds: float
    methods: list[str]
    n_test_rows: int


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """A comparison of methods on one table; made by :func:`compare_methods`.

    Attributes
    ----------
    name : str or None
        Name of the data.
    table : list of MethodResult
        Best first.
    winner : str
        Name of the method with the least log-loss, or the least cost if costs were given.
        It need not be clearly ahead: see ``is_sure``.
    is_sure : bool
        Whether the winner's lead over every other method is more than chance (p at most 0.05).
    recommended : str
        Name of the method to use: the winner if it is clearly ahead; otherwise, of the methods that are about as good,
        a simple one, or one that predicts much faster.
    verdict : str
        Which method wins and how certain that is; if none clearly does, which one is recommended.
    warnings : list of str
        What is suspicious about the data, and methods that failed.
    data_summary : dict
    classes : list
        The labels, in the order of costs and probabilities.
    cost : array of shape (D, K) or None
        ``cost[decision, true]``.
    decisions : list
        The names of the rows of ``cost``: the classes, or those that were given.
    baseline : float
        The deciding score (log-loss or cost) of predicting the class frequencies for every row.
    design : Design
    judged : EncodedRows
        The rows that the methods were scored on: all (each by a model that was not fitted to it), or the test set.
    probabilities : dict from method to array of shape (n_judged, K)
        The probabilities of each method for these rows, in single precision.
    """

    name: str | None
    table: list[MethodResult]
    winner: str
    is_sure: bool
    recommended: str
    verdict: str
    warnings: list[str]
    data_summary: dict[str, Any]
    classes: list[Any]
    cost: Floats | None
    decisions: list[Any]
    baseline: float
    design: Design
    judged: EncodedRows
    probabilities: dict[str, npt.NDArray[np.float32]]
    data: Table
    given: tuple[Any, Any, Any]  # X, y and sample_weight as they were passed
    methods: dict[str, Method]

    @property
    def petiole_winner(self) -> str | None:
        """The best of petiole's own methods; None if there was none."""
        return next((result.name for result in self.table if not result.is_peer), None)

    @property
    def score_names(self) -> list[str]:
        """The scores of the table; the deciding one comes first."""
        found = [name for name in SCORE_TITLES if name in self.table[0].scores]
        return sorted(found, key=lambda name: name != self.design.decides)

    def result(self, name: str) -> MethodResult:
        """Return the result of one method."""
        for result in self.table:
            if result.name == name:
                return result
        raise ValueError(f"name={name!r}: must be one of {', '.join(result.name for result in self.table)}")

    def fit_winner(self, *, petiole_only: bool = False) -> Any:
        """Return the winner, fitted on all rows of the table that was given to :func:`compare_methods`.

        Parameters
        ----------
        petiole_only : bool, default=False
            Fit the best of petiole's own methods, even if a method of another library won.
        """
        name = self.petiole_winner if petiole_only else self.winner
        if name is None:
            raise ValueError("petiole_only=True: none of petiole's methods was compared; name one in methods=")
        return self.fit(name)

    def fit(self, name: str) -> Any:
        """Return one of the compared methods, fitted on all rows of the table."""
        self.result(name)
        model = self.methods[name].make(self.design.seed, self.design.n_jobs)
        X, y, sample_weight = self.given
        return model.fit(X, y) if sample_weight is None else model.fit(X, y, sample_weight=sample_weight)

    def to_text(self) -> str:
        """Return the table as plain text, best method first."""
        header, rows = self._cells()
        return as_text(header, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but rows and probabilities as a dict that can be written as JSON."""
        return {
            "name": self.name,
            "winner": self.winner,
            "petiole_winner": self.petiole_winner,
            "is_sure": self.is_sure,
            "recommended": self.recommended,
            "baseline": self.baseline,
            "verdict": self.verdict,
            "warnings": list(self.warnings),
            "classes": list(self.classes),
            "cost": None if self.cost is None else self.cost.tolist(),
            "decisions": list(self.decisions),
            "log_loss_floor": log_loss_floor(len(self.classes)),
            "design": vars(self.design).copy(),
            "methods": [_result_dict(result) for result in self.table],
            "data": self.data_summary,
        }

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The header and the rows of the table, best method first."""
        scores = self.score_names
        rows = [
            [
                result.title,
                *(f"{result.scores[score].mean:.4g}" for score in scores),
                "" if result.p_value is None else f"{result.p_value:.2g}",
            ]
            for result in self.table
        ]
        return ["method", *(SCORE_TITLES[score] for score in scores), "p"], rows

    def describe(self) -> str:
        """The results as text; a notebook shows the same."""
        return self._sheet().to_text()

    def _repr_html_(self) -> str:
        return self._sheet().to_html()

    def _sheet(self) -> Sheet:
        header, rows = self._cells()
        facts = [] if self.name is None else [("data", self.name)]
        facts += [("rows", f"{self.data_summary['n_rows']:,}"), ("classes", shorten_list([*map(str, self.classes)]))]
        return Sheet(self.verdict, facts, [SmallTable("", header, rows)], note="\n".join(self.warnings))

    def __repr__(self) -> str:
        named = "" if self.name is None else f"{self.name!r}, "
        return f"Study({named}{len(self.table)} methods, winner={self.winner!r}, recommended={self.recommended!r})"

    def __str__(self) -> str:
        return f"{self.to_text()}\n\n{self.verdict}"


def _result_dict(result: MethodResult) -> dict[str, Any]:
    scores: Mapping[str, Interval] = result.scores
    return {
        "name": result.name,
        "title": result.title,
        "is_peer": result.is_peer,
        "p_value": result.p_value,
        "scores": {name: interval._asdict() for name, interval in scores.items()},
        "by_split": result.by_split,
    }
