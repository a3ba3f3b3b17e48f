"""Reason codes beside predictions: the columns that moved the probability of each row most."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole.cli.errors import WrongInput
from petiole.contributions import has_paths, path_contributions

REASON = "reason_"


class ReasonColumns:
    """Adds columns of reasons, for one class or for the most probable class of each row."""

    def __init__(self, model: Any, n: int | None, k: int | None) -> None:
        if n is not None and not has_paths(model):
            raise WrongInput(f"--reasons {n}: a {type(model).__name__} has no tree paths; use a tree or a forest")
        self._model, self._n, self._k = model, n or 0, k
        self.names = [f"{REASON}{number + 1}" for number in range(self._n)]

    def __call__(self, table: Any, proba: NDArray[np.float64]) -> dict[str, list[str]]:
        """The columns for some rows."""
        if not self._n:
            return {}
        of_class = proba.argmax(axis=1) if self._k is None else np.full(len(proba), self._k)
        found: dict[str, list[str]] = {name: [""] * len(proba) for name in self.names}
        for k in np.unique(of_class).tolist():
            moved = path_contributions(self._model, table, self._model.classes_[k])
            for row in np.flatnonzero(of_class == k).tolist():
                for name, reason in zip(self.names, moved.reasons(row, self._n), strict=False):
                    found[name][row] = str(reason)
        return found
