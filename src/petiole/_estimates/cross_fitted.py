"""Models that were each fitted without one fold of the rows; they predict together, or each the rows of its fold."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from petiole._boosting.trees import BoostedTrees
from petiole.files import checks
from petiole.files.checks import require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]

# Probabilities are raised to this before their logarithms are taken.
LEAST_PROBABILITY = 1e-15


class FoldModel(Protocol):
    """A model that predicts encoded rows."""

    @property
    def n_classes(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    def answer(self, matrix: npt.NDArray[Any], n_threads: int = 1) -> Floats:
        """The probabilities of encoded rows, (n_rows, n_classes)."""

    @classmethod
    def fused(cls, models: Sequence[Self]) -> Sequence[Self]:
        """Models with the same geometric mean, fewer if possible."""


@dataclass(frozen=True, eq=False)
class CrossFitted(Savable):
    """One model per fold, which has not seen the rows of its fold.

    New rows get the geometric mean of all models' probabilities, divided by its sum; the rows of a fold are predicted
    by the one model that has not seen them.
    """

    models: Sequence[FoldModel]

    _saved = checks.fields(models=checks.list_of(checks.instance_of("LinearModel", "BoostedTrees")))

    def _check_state(self, state: dict[str, Any]) -> None:
        require(state["models"], "models: must be one or more")
        sizes = {(model.n_columns, model.n_classes) for model in state["models"]}
        require(len(sizes) == 1, "models: must have the same columns and classes")

    def __repr__(self) -> str:
        return f"CrossFitted({len(self.models)} × {self.models[0]!r})"

    @functools.cached_property
    def asked(self) -> Sequence[FoldModel]:
        """The models that predict queries."""
        kinds = {type(model) for model in self.models}
        return kinds.pop().fused(self.models) if len(kinds) == 1 else self.models

    def __getstate__(self) -> dict[str, Any]:
        return {"models": self.models}

    @property
    def n_classes(self) -> int:
        return self.models[0].n_classes

    @property
    def n_columns(self) -> int:
        return self.models[0].n_columns

    def answer(self, matrix: npt.NDArray[Any], n_threads: int = 1, starts: Floats | None = None) -> Floats:
        """The geometric mean of the models' probabilities for encoded rows; rows sum to 1.

        ``starts`` are the initial scores of models that correct another model.
        """
        if len(self.asked) == 1:
            return _ask(self.asked[0], matrix, n_threads, starts)
        logs = np.zeros((len(matrix), self.n_classes))
        for model in self.asked:
            logs += np.log(np.maximum(_ask(model, matrix, n_threads, starts), LEAST_PROBABILITY))
        logs /= len(self.asked)
        proba: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
        proba /= proba.sum(axis=1, keepdims=True)
        return proba

    def held_out_answer(
        self,
        matrix: npt.NDArray[Any],
        fold_of: npt.NDArray[np.integer[Any]],
        n_threads: int = 1,
        starts: Floats | None = None,
    ) -> Floats:
        """The probabilities of training rows, each by the model of the fold that holds it out."""
        proba = np.empty((len(matrix), self.n_classes))
        for fold, model in enumerate(self.models):
            rows = fold_of == fold
            proba[rows] = _ask(model, matrix[rows], n_threads, None if starts is None else starts[rows])
        return proba

    def joined(self, others: Sequence[CrossFitted]) -> CrossFitted:
        """All models of several, with equal weight."""
        every = CrossFitted([model for one in (self, *others) for model in one.models])
        if any((one.n_columns, one.n_classes) != (self.n_columns, self.n_classes) for one in every.models):
            raise ValueError("the models differ in columns or classes: join models with the same ones")
        return every


def _ask(model: FoldModel, matrix: npt.NDArray[Any], n_threads: int, starts: Floats | None) -> Floats:
    if starts is None:
        return model.answer(matrix, n_threads)
    assert isinstance(model, BoostedTrees)
    return model.answer(matrix, n_threads, starts)
