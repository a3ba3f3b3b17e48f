"""A model's probabilities for the rows of a file, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole.cli.errors import WrongInput
from petiole.cli.io.batches import Batches, RowBatch, open_batches, rows_at_once
from petiole.cli.io.labelled import NAMED_TARGET, Roles, unknown_column
from petiole.cli.io.model_columns import ModelColumns
from petiole.cli.io.sources import Source
from petiole.cli.progress import waiting


@dataclass(frozen=True)
class Scored:
    """Some rows with their probabilities."""

    batch: RowBatch
    table: Any  # as passed to the model
    proba: NDArray[np.float64]


class Scorer:
    """Reads the columns of a file that a model needs; ``others`` are further columns to read."""

    def __init__(self, model: Any, source: Source, roles: Roles, others: Sequence[str] = ()) -> None:
        self.model, self.columns = model, ModelColumns.of(model)
        self._label = source.label
        self._batches: Batches = open_batches(source, roles.signs.separator, roles.encoding)
        self.columns.prepare(roles.missing, roles.signs)
        for name, option in roles.options.items():
            if name not in self._batches.columns:
                raise unknown_column(option, name, self._batches.columns, source.label)
        self._refuse_inputs(roles)
        self._names = self._model_names({*roles.options, *([NAMED_TARGET] if source.is_name else [])})
        self._wanted = [*self._names, *(name for name in others if name not in self._names)]

    def require(self, option: str, name: str) -> None:
        """Raise an error unless the file has a column that an option names, besides those of the roles."""
        if name not in self._batches.columns:
            raise unknown_column(option, name, self._batches.columns, self._label)

    def _refuse_inputs(self, roles: Roles) -> None:
        """Refuse options that exclude a column if it is an input of the model."""
        for option, names in (("--id", roles.ids), ("--drop", roles.drop), ("--target", [roles.target])):
            for name in names:
                if name in (self.columns.names or ()):
                    raise WrongInput(
                        f"{option} {name}: is an input of the model, so its probabilities depend on it: fit it again "
                        f"with {option} {name}, or leave the option out"
                    )

    def _model_names(self, elsewhere: set[str]) -> list[str]:
        """The columns of the file that the model uses, by name, or by position if it was fitted without names."""
        found = self._batches.columns
        if self.columns.names is None:
            names = [name for name in found if name not in elsewhere]
            if len(names) != len(self.columns.columns):
                raise WrongInput(
                    f"{self._label} has {len(names)} columns for the model, which was fitted to "
                    f"{len(self.columns.columns)} without names: leave others out with --drop or --id"
                )
            return names
        for name in self.columns.names:
            if name not in found:
                raise lacking_column(name, found, self._label)
        return self.columns.names

    def __call__(self, quiet: bool, n_rows: int | None = None, *, ask: bool = True) -> Iterator[Scored]:
        """Yield the rows with their probabilities; without ``ask`` none are computed."""
        size = n_rows or rows_at_once(len(self._batches.columns))
        with waiting("scoring", self._batches.total, quiet) as bar:
            for batch in self._batches(self._wanted, size, bar.reach):
                table = self.columns.table(self._values(batch))
                proba = self.model.predict_proba(table) if ask else np.empty((batch.n_rows, 0))
                yield Scored(batch, table, proba)

    def _values(self, batch: RowBatch) -> list[Any]:
        pairs: Iterable[Any] = zip(self._names, self.columns.columns, strict=True)
        return [batch.values(name, column, self.columns) for name, column in pairs]


def lacking_column(name: str, found: Sequence[str], label: str) -> WrongInput:
    """The error about a column that the model needs."""
    from petiole.datasets.reading import nearest

    return WrongInput(f"{label} has no column {name!r}, which the model needs; {nearest(name, found)}")
