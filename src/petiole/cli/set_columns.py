"""Prediction sets beside predictions: the classes that hold the true one with the probability that is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole.cli.errors import WrongInput

SET, SET_SIZE = "set", "set_size"


class SetColumns:
    """Adds the classes of each row's set, the most probable first, and their number."""

    def __init__(self, model: Any, coverage: float | None) -> None:
        if coverage is not None and not hasattr(model, "predict_set"):
            raise WrongInput(
                f"--sets {coverage:g}: a {type(model).__name__} keeps no rows to calibrate sets on: fit it with "
                "petiole fit --sets lac"
            )
        if coverage is not None and not 0 < coverage < 1:
            raise WrongInput(f"--sets {coverage:g}: must be a share of the rows between 0 and 1, such as 0.9")
        self._model, self._coverage = model, coverage
        self.names = [] if coverage is None else [SET, SET_SIZE]

    def __call__(self, table: Any, proba: NDArray[np.float64]) -> dict[str, Any]:
        """The columns for some rows."""
        if self._coverage is None:
            return {}
        sets = self._model.sets_from_proba(table, proba, self._coverage)
        return {SET: sets.texts(), SET_SIZE: sets.sizes}

    def notes(self) -> list[str]:
        """Groups and classes that are in sets for want of rows to calibrate on."""
        if self._coverage is None:
            return []
        return [f"note: {cell.reason}" for cell in self._model.cells(self._coverage) if cell.reason]
