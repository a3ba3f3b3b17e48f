"""Intervals beside predictions: between which values the probability of a class may be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole.cli.errors import WrongInput

LOWER, UPPER = "lower_", "upper_"


class IntervalColumns:
    """Adds the ends of an interval for the probability of each class."""

    def __init__(self, model: Any, level: float | None) -> None:
        if level is not None and not 0 < level < 1:
            raise WrongInput(f"--interval {level:g}: must be a share of the intervals between 0 and 1, such as 0.9")
        if level is not None and not hasattr(model, "predict_proba_interval"):
            raise WrongInput(
                f"--interval {level:g}: a {type(model).__name__} has no intervals; fit a probability-forest, "
                "eb-pets or b-pets with petiole fit --intervals"
            )
        self._model, self._level = model, level
        labels = [] if level is None else model.classes_.tolist()
        self.names = [f"{end}{label}" for label in labels for end in (LOWER, UPPER)]

    def __call__(self, table: Any) -> dict[str, NDArray[np.float64]]:
        """The columns for some rows."""
        if self._level is None:
            return {}
        try:
            found = self._model.predict_proba_interval(table, self._level)
        except ValueError as error:
            if "learn_intervals" not in str(error):
                raise
            raise WrongInput(
                f"--interval {self._level:g}: the model keeps no training rows: fit it with petiole fit --intervals"
            ) from None
        ends = np.stack([found.lower, found.upper], axis=2).reshape(len(found), -1)
        return dict(zip(self.names, ends.T, strict=True))
