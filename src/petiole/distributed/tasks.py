"""Tasks on one part: summarise it, grow trees on it, count it. Tasks do not change their arguments."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import OutOfBagRows
from petiole._estimates.vote_look_up import make_ballot
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import Tally, members_of, picked, tally_rows
from petiole._forest.plan import ForestPlan, grow_range
from petiole._table.encoder import FeatureEncoder
from petiole._table.rows import EncodedRows
from petiole._table.weights import LEAST_SHARE
from petiole.distributed.shards import Assignment
from petiole.distributed.sources import Batch
from petiole.distributed.table_summary import Survey, encode_part, kept_rows, survey_rows

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Coding:
    """How every part is read."""

    encoder: FeatureEncoder
    survey: Survey
    weight_unit: float = 1.0

    @classmethod
    def of(cls, survey: Survey, model: Any) -> Coding:
        """The coding by which a model that is fitted on all parts reads each of them."""
        unit = survey.weight_unit(model.weights)
        return cls(survey.encoder(type(model).__name__), survey.measured(unit), unit)

    @property
    def classes(self) -> npt.NDArray[Any]:
        return self.survey.classes

    def rows(self, batch: Batch, part: int) -> EncodedRows | None:
        """The rows of a part in the form for the core; None if there are none."""
        kept = kept_rows(batch.X, batch.y, batch.weights, part)
        if kept is None:
            return None
        matrix, labels = encode_part(kept, self.survey, self.encoder, part)
        weights = self._in_rows(kept.weights, len(labels))
        return EncodedRows(matrix, labels, weights, self.encoder.n_categories, self.classes)

    def _in_rows(self, weights: Floats | None, n_rows: int) -> Floats | None:
        """Weights measured in rows of all parts together, as :mod:`petiole._table.weights` says."""
        if weights is None:
            return None if self.weight_unit == 1.0 else np.full(n_rows, 1.0 / self.weight_unit)
        measured = np.maximum(weights / self.weight_unit, LEAST_SHARE * self.survey.most_weight)
        return np.rint(measured) if self.survey.whole_weights else measured


@dataclass(frozen=True)
class Piece:
    """Some trees of a kind, and how many times each row of a part is in their samples: ``copies[part][tree]``."""

    kind: int
    first: int
    forest: Forest
    copies: dict[int, dict[int, npt.NDArray[np.uint8]]]
    class_weights: Floats


def survey_part(batch: Batch, part: int, categorical: Any, sketches: bool) -> Survey | None:
    """Summarise a part."""
    rows = kept_rows(batch.X, batch.y, batch.weights, part)
    return survey_rows(rows, part, categorical, sketches=sketches)


def grow_shard(
    batches: Sequence[Batch],
    parts: Sequence[int],
    coding: Coding,
    plans: Sequence[ForestPlan],
    assigned: Sequence[Assignment],
) -> list[Piece]:
    """Grow trees on some parts together."""
    rows = [coding.rows(batch, part) for batch, part in zip(batches, parts, strict=True)]
    present = [(part, one) for part, one in zip(parts, rows, strict=True) if one is not None]
    training = _joined([one for _, one in present])
    sizes = [(part, len(one)) for part, one in present]
    return [_grow_piece(training, sizes, plans[task.kind], task) for task in assigned]


def _grow_piece(training: EncodedRows, sizes: Sequence[tuple[int, int]], plan: ForestPlan, task: Assignment) -> Piece:
    forest, _ = grow_range(plan, training, task.first, task.first + task.n_trees)
    copies: dict[int, dict[int, npt.NDArray[np.uint8]]] = {part: {} for part, _ in sizes}
    for tree in range(task.first, task.first + task.n_trees):
        drawn = plan.sample(training, tree)
        times = np.minimum(drawn, 255).astype(np.uint8) if drawn.size else np.ones(len(training), dtype=np.uint8)
        start = 0
        for part, n_rows in sizes:
            copies[part][tree] = times[start : start + n_rows]
            start += n_rows
    return Piece(task.kind, task.first, forest, copies, training.class_weights())


def class_weights_of(pieces: Sequence[Piece]) -> tuple[int, Floats]:
    """The first part of a shard and the weights of its classes."""
    return min(pieces[0].copies), pieces[0].class_weights


def copies_in(pieces: Sequence[Piece], part: int) -> list[tuple[int, dict[int, npt.NDArray[np.uint8]]]]:
    """The trees that were grown on a part: kinds and copies."""
    return [(piece.kind, piece.copies[part]) for piece in pieces]


class Standing:
    """A forest while rows are counted, with its votes if they are needed."""

    def __init__(self, forest: Forest, prior: Floats, votes: bool) -> None:
        self.forest = forest
        self._prior = prior
        self._votes = votes

    @functools.cached_property
    def ballot(self) -> _core.Ballot | None:
        return make_ballot(self.forest, self._prior) if self._votes else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "ballot"}


def stand(pieces: Sequence[Sequence[Piece]], n_kinds: int, prior: Floats, votes: bool) -> list[Standing]:
    """The trees of all shards, kind by kind and in their order."""
    every = sorted((piece for of_shard in pieces for piece in of_shard), key=lambda piece: (piece.kind, piece.first))
    return [
        Standing(Forest.joined([piece.forest for piece in every if piece.kind == kind]), prior, votes)
        for kind in range(n_kinds)
    ]


@dataclass(frozen=True)
class Sample:
    """A few rows, to learn weights from the trees in which they are out of bag; ``copies[kind][tree]``."""

    rows: EncodedRows
    copies: list[dict[int, npt.NDArray[np.uint8]]]

    def __add__(self, other: Sample) -> Sample:
        copies = [
            _joined_copies(one, len(self.rows), two, len(other.rows))
            for one, two in zip(self.copies, other.copies, strict=True)
        ]
        return Sample(_joined([self.rows, other.rows]), copies)

    def in_forest(self, kind: int, forest: Forest, n_threads: int) -> OutOfBagRows:
        """The rows in the trees of a kind."""
        return OutOfBagRows(members_of(forest, self.rows, self.copies[kind], n_threads), self.rows, n_threads)


@dataclass(frozen=True)
class PartTally:
    """The counts that a part adds to the forests of all kinds, and those of its rows that were requested."""

    tallies: list[Tally]
    sample: Sample | None

    def __add__(self, other: PartTally) -> PartTally:
        tallies = [one + two for one, two in zip(self.tallies, other.tallies, strict=True)]
        samples = [sample for sample in (self.sample, other.sample) if sample is not None]
        return PartTally(tallies, sum(samples[1:], start=samples[0]) if samples else None)

    def __sizeof__(self) -> int:
        # Dask asks, to know when memory runs short.
        sample = 0 if self.sample is None else self.sample.rows.matrix.nbytes
        return sample + sum(sys.getsizeof(tally) for tally in self.tallies)


def count_part(
    batch: Batch,
    part: int,
    coding: Coding,
    standing: Sequence[Standing],
    copies: Sequence[Sequence[tuple[int, dict[int, npt.NDArray[np.uint8]]]]],
    wanted: npt.NDArray[np.intp],
    distinct: bool,
) -> PartTally | None:
    """Count a part at the leaves of all trees, and pick the rows that are wanted."""
    rows = coding.rows(batch, part)
    if rows is None:
        return None
    of_kind: list[dict[int, npt.NDArray[np.uint8]]] = [{} for _ in standing]
    for of_shard in copies:
        for kind, drawn in of_shard:
            of_kind[kind].update(drawn)
    tallies = []
    for one, drawn in zip(standing, of_kind, strict=True):
        tally = tally_rows(one.forest, rows, drawn, distinct=distinct, ballot=one.ballot)
        tallies.append(Tally(tally.counts.out_of_bag_alone(), tally.votes))
    return PartTally(tallies, _pick(rows, of_kind, wanted))


def _pick(rows: EncodedRows, of_kind: Sequence[dict[int, Any]], wanted: npt.NDArray[np.intp]) -> Sample | None:
    if not len(wanted):
        return None
    return Sample(rows.take(wanted), [picked(drawn, wanted) for drawn in of_kind])


def _joined(parts: Sequence[EncodedRows]) -> EncodedRows:
    if len(parts) == 1:
        return parts[0]
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate([part.weights_or_ones() for part in parts])
    matrix, labels = np.concatenate([part.matrix for part in parts]), np.concatenate([part.labels for part in parts])
    return replace(parts[0], matrix=matrix, labels=labels, weights=weights, kept=None)


def _joined_copies(one: dict[int, Any], n_one: int, two: dict[int, Any], n_two: int) -> dict[int, Any]:
    nothing = (np.zeros(n_one, dtype=np.uint8), np.zeros(n_two, dtype=np.uint8))
    return {tree: np.concatenate([one.get(tree, nothing[0]), two.get(tree, nothing[1])]) for tree in sorted(one | two)}
