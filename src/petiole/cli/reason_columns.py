"""Reason codes beside predictions: the columns that moved the probability of each row most."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole.cli.errors import WrongInput
from petiole.decisions import CostSensitiveClassifier
from petiole.explanations import Explanation, explain
from petiole.explanations.computing import is_explainable

REASON = "reason_"


def contributions(model: Any, table: Any) -> Explanation | None:
    """What each column adds to the probabilities; None for models of which that is not known."""
    if isinstance(model, CostSensitiveClassifier):  # costs do not change the probabilities
        model = model.estimator_
    return explain(model, table, output="probability") if is_explainable(model) else None


class ReasonColumns:
    """Adds columns of reasons, for one class or for the most probable class of each row."""

    def __init__(self, model: Any, n: int | None, k: int | None) -> None:
        inner = model.estimator_ if isinstance(model, CostSensitiveClassifier) else model
        if n is not None and not is_explainable(inner):
            raise WrongInput(
                f"--reasons {n}: a {type(model).__name__} has no trees to explain; use a tree, a forest or boosted "
                "trees"
            )
        self._model, self._n, self._k = model, n or 0, k
        self.names = [f"{REASON}{number + 1}" for number in range(self._n)]

    def __call__(self, table: Any, proba: NDArray[np.float64]) -> dict[str, list[str]]:
        """The columns for some rows."""
        if not self._n:
            return {}
        of_class = proba.argmax(axis=1) if self._k is None else np.full(len(proba), self._k)
        found: dict[str, list[str]] = {name: [""] * len(proba) for name in self.names}
        moved = contributions(self._model, table)
        assert moved is not None
        for row, k in enumerate(of_class.tolist()):
            reasons = moved.reasons(row, self._n, label=moved.class_names[k])
            for name, reason in zip(self.names, reasons, strict=False):
                found[name][row] = str(reason)
        return found
