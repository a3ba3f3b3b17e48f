"""Rows with what a model says of them and what is true, in batches: for ``evaluate`` and ``update``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole.cli.errors import WrongInput
from petiole.cli.io.labelled import NAMED_TARGET, Roles
from petiole.cli.io.model_columns import ModelColumn, Names
from petiole.cli.io.sources import Source, find_source
from petiole.cli.scoring import Scored, Scorer


@dataclass(frozen=True)
class Truths:
    """Some rows: what the model says, the labels, and the weights if there are any."""

    scored: Scored
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None


class LabelledRows:
    """Reads rows with labels for a model; the target is the one of the model's fit unless the user names another."""

    def __init__(self, model: Any, data: str, roles: Roles) -> None:
        self._source = find_source(data)
        self._target = _target(roles, self._source, model)
        self._roles = dataclasses.replace(roles, target=self._target)
        others = [name for name in (self._target, roles.weight) if name]
        self._scorer = Scorer(model, self._source, self._roles, others)
        self._classes = model.classes_
        self._names = Names(model.classes_.tolist(), sorted(roles.missing))
        self._n_read = 0

    @property
    def names(self) -> list[str] | None:
        """The columns that the model reads."""
        return self._scorer.columns.names

    def notes(self) -> list[str]:
        """Lines about values that the model has not seen."""
        return self._scorer.columns.notes()

    def __call__(self, quiet: bool) -> Iterator[Truths]:
        """Yield the rows, batch by batch."""
        known = None if self._roles.weight else _weights_of_name(self._source)
        for scored in self._scorer(quiet):
            labels = self._labels(scored.batch.texts(self._target))
            weights = self._weights(scored)
            if known is not None:
                weights = known[self._n_read : self._n_read + len(labels)]
            self._n_read += len(labels)
            yield Truths(scored, labels, weights)

    def _labels(self, texts: list[str | None]) -> NDArray[Any]:
        codes = self._names.codes(texts)
        if (codes < 0).any():
            position = int((codes < 0).argmax())
            raise self._unknown_label(texts[position], self._n_read + position + 1)
        found: NDArray[Any] = self._classes[codes]
        return found

    def _weights(self, scored: Scored) -> NDArray[np.float64] | None:
        if not self._roles.weight:
            return None
        found = scored.batch.values(self._roles.weight, ModelColumn(None), self._scorer.columns)
        return found.values  # type: ignore[union-attr]

    def _unknown_label(self, text: str | None, row: int) -> WrongInput:
        target, label = self._target, self._source.label
        classes = [str(name) for name in self._classes.tolist()]
        known = ", ".join(classes[:8]) + (", ..." if len(classes) > 8 else "")
        if text is None or not text.strip():
            return WrongInput(f"--target {target}: row {row} of {label} has no class: remove it")
        return WrongInput(f"--target {target}: row {row} of {label} has {text!r}, but the model's classes are {known}")


def _target(roles: Roles, source: Source, model: Any) -> str:
    if roles.target is not None:
        return roles.target
    found: str | None = NAMED_TARGET if source.is_name else getattr(model, "target_name_", None)
    if found is None:
        raise WrongInput(f"--target is needed: say which column of {source.label} holds the class")
    return found


def _weights_of_name(source: Source) -> Any:
    from petiole.datasets.loading import load_columns

    return load_columns(source.text).description.weights if source.is_name else None
