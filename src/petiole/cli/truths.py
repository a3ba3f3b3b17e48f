"""Rows with predictions and labels, in batches: for ``evaluate`` and ``update``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._classifiers.nesting import find_encoder
from petiole._table.number_texts import MISSING_LABELS
from petiole.cli.errors import WrongInput
from petiole.cli.io.batches import open_batches
from petiole.cli.io.labelled import NAMED_TARGET, Roles
from petiole.cli.io.model_columns import ModelColumn, Names
from petiole.cli.io.sources import Source, find_source
from petiole.cli.scoring import Scored, Scorer
from petiole.cli.screen import note

MISSING = -1  # the code of a missing label


@dataclass(frozen=True)
class Truths:
    """Some rows that have a class: inputs and predictions of the model, labels, and weights if there are any."""

    table: Any
    proba: NDArray[np.float64]
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    kept: dict[str, list[str | None]] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class AllRows:
    """All rows of a file: inputs of the model, labels and weights if there are any, and the values to sort them by."""

    table: Any
    labels: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    time: NDArray[Any] | None


class LabelledRows:
    """Reads rows with labels for a model; the target is the one of the model's fit unless the user names another."""

    def __init__(self, model: Any, data: str, roles: Roles, *, keep: Sequence[str] = (), ask: bool = True) -> None:
        self._keep, self._ask = keep, ask
        self._source = find_source(data)
        self._target = _target(roles, self._source, model)
        self._roles = dataclasses.replace(roles, target=self._target)
        others = [name for name in (self._target, roles.weight, *keep) if name]
        self._scorer = Scorer(model, self._source, self._roles, others)
        self._columns = self._scorer.columns
        self._classes = model.classes_
        missing = MISSING_LABELS if roles.missing is None else roles.missing
        ignore_case = self._target in self._columns.format.ignore_case
        self._codes = Names(model.classes_.tolist(), sorted(missing), ignore_case=ignore_case)
        self._bins = roles.bins or self._columns.format.target_bins
        self._n_read = 0
        self.n_left_out = 0  # rows without a class

    def require(self, option: str, name: str) -> None:
        """Raise unless the file has a column that an option names."""
        self._scorer.require(option, name)

    @property
    def names(self) -> list[str] | None:
        """The columns that the model reads."""
        return self._columns.names

    def notes(self) -> list[str]:
        """Lines about values that the model has not seen."""
        return self._columns.notes()

    def __call__(self, quiet: bool) -> Iterator[Truths]:
        """Yield the rows, batch by batch."""
        known = None if self._roles.weight else _weights_of_name(self._source)
        for scored in self._scorer(quiet, ask=self._ask):
            codes, kept = self._labels(scored.batch.texts(self._target))
            weights = self._weights(scored)
            if known is not None:
                weights = known[self._n_read : self._n_read + len(kept)]
            self._n_read += len(kept)
            self.n_left_out += int((~kept).sum())
            weights = weights if weights is None else weights[kept]
            texts = {name: np.array(scored.batch.texts(name), dtype=object)[kept].tolist() for name in self._keep}
            yield Truths(_some(scored.table, kept), scored.proba[kept], self._classes[codes[kept]], weights, texts)

    def _labels(self, texts: list[str | None]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The codes of the labels, and which rows have one."""
        codes = self._codes.codes(self._cut(texts) if self._bins else texts)
        kept = codes != MISSING if self._roles.drop_missing_target else np.ones(len(codes), dtype=bool)
        wrong = (codes < 0) & kept
        if wrong.any():
            position = int(wrong.argmax())
            raise self._unknown_label(texts[position], self._n_read + position + 1)
        return codes, kept

    def _cut(self, texts: list[str | None]) -> list[str | None]:
        """The names of the classes into which numbers are cut, as at the fit."""
        from petiole.datasets.targets import cut_into_classes

        column = ModelColumn(None, number=self._columns.format.number_format(self._target))
        numbers, bad = column.parse_numbers(texts, self._columns.markers)
        if bad:
            row, text = self._n_read + bad[0] + 1, texts[bad[0]]
            raise WrongInput(f"--target {self._target}: row {row} of {self._source.label} has {text!r}, not a number")
        names: list[str | None] = cut_into_classes(numbers, self._bins).tolist()
        return names

    def _weights(self, scored: Scored) -> NDArray[np.float64] | None:
        if not self._roles.weight:
            return None
        found = scored.batch.values(self._roles.weight, ModelColumn(None), self._columns)
        return found.values  # type: ignore[union-attr]

    def _unknown_label(self, text: str | None, row: int) -> WrongInput:
        target, label = self._target, self._source.label
        classes = [str(name) for name in self._classes.tolist()]
        known = ", ".join(classes[:8]) + (", ..." if len(classes) > 8 else "")
        if text is None or not text.strip():
            return WrongInput(
                f"--target {target}: row {row} of {label} has no class: remove such rows, or leave them out with "
                "--drop-missing-target"
            )
        return WrongInput(f"--target {target}: row {row} of {label} has {text!r}, but the model's classes are {known}")


def read_all(model: Any, data: str, roles: Roles, time: str | None, quiet: bool) -> AllRows:
    """All rows of a file for a model, with labels if the file has the column of the target."""
    keep = [time] if time else []
    source = find_source(data)
    if roles.target is None and not source.is_name and not _has_target(model, source, roles):
        scorer = Scorer(model, source, roles, [name for name in (roles.weight, time) if name])
        for name, option in ((time, "--time"),):
            if name:
                scorer.require(option, name)
        parts = list(scorer(quiet, ask=False))
        weights = [part.batch.values(roles.weight, ModelColumn(None), scorer.columns) for part in parts if roles.weight]
        known = np.concatenate([one.values for one in weights]) if weights else None  # type: ignore[union-attr]
        times = [text for part in parts for text in (part.batch.texts(time) if time else ())]
        return AllRows(stacked([part.table for part in parts]), None, known, _sortable(times) if time else None)
    rows = LabelledRows(model, data, roles, keep=keep, ask=False)
    if time:
        rows.require("--time", time)
    found = list(rows(quiet))
    for line in rows.notes():
        note(line, quiet)
    labels = np.concatenate([part.labels for part in found])
    weights_of = [part.weights for part in found if part.weights is not None]
    times = [text for part in found for text in part.kept.get(time or "", ())]
    return AllRows(
        stacked([part.table for part in found]),
        labels,
        np.concatenate(weights_of) if weights_of else None,
        _sortable(times) if time else None,
    )


def _has_target(model: Any, source: Source, roles: Roles) -> bool:
    """Whether a file has the column that the model was fitted to."""
    target = target_of(model)
    if target is None:
        return False
    return target in open_batches(source, roles.signs.separator, roles.encoding).columns


def _sortable(texts: list[str | None]) -> NDArray[Any]:
    """Numbers if all texts are, else the texts: dates from the year down sort as they should."""
    try:
        return np.array([float(text or "nan") for text in texts])
    except ValueError:
        return np.array([text or "" for text in texts])


def stacked(tables: Sequence[Any]) -> Any:
    """Tables with the same columns as one."""
    if len(tables) == 1:
        return tables[0]
    if all(isinstance(table, np.ndarray) for table in tables):
        return np.concatenate(tables)
    import narwhals.stable.v2 as nw

    return nw.concat([nw.from_native(table) for table in tables], how="vertical").to_native()


def target_of(model: Any) -> str | None:
    """The column of labels to which a model was fitted, if the model has its name."""
    found: str | None = (getattr(find_encoder(model), "table_format", None) or {}).get("target")
    return found


def _target(roles: Roles, source: Source, model: Any) -> str:
    """The column of labels: the given one, that of the data set, or the one to which the model was fitted."""
    if roles.target is not None:
        return NAMED_TARGET if source.is_name and roles.target == _own_target(source) else roles.target
    found = NAMED_TARGET if source.is_name else target_of(model)
    if found is None:
        raise WrongInput(f"--target is required: name the column of {source.label} that holds the class")
    return found


def _own_target(source: Source) -> str:
    """The column of labels in the files of a data set that has a name."""
    from petiole.datasets.loading import describe

    return describe(source.text).target


def _some(table: Any, kept: NDArray[np.bool_]) -> Any:
    from sklearn.utils import _safe_indexing

    if kept.all():
        return table
    return table[kept] if isinstance(table, np.ndarray) else _safe_indexing(table, np.flatnonzero(kept))


def _weights_of_name(source: Source) -> Any:
    from petiole.datasets.loading import load_columns

    return load_columns(source.text).description.weights if source.is_name else None
