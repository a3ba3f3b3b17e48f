"""The interface of estimates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import PlainQueries, Queries, UnseenRows
from petiole._estimates.scores import Quality
from petiole._estimates.single_tree import SingleTree
from petiole._forest.forest import Forest
from petiole._table.rows import EncodedRows

Floats = npt.NDArray[np.float64]
# Predictions for training rows, from their positions in each forest of an estimate.
UnseenAnswer = Callable[[Sequence[UnseenRows]], Floats]


class Estimate(Protocol):
    """Class probabilities from the leaves of one or several forests. Estimates are immutable."""

    @property
    def structure(self) -> Sequence[bytes]:
        """Equal for estimates whose trees have the same splits, whatever their counts."""

    @property
    def looks_up_votes(self) -> bool:
        """Whether a query's leaves in all trees are needed at once, so that few queries are predicted at a time."""

    def predict(self, matrix: npt.NDArray[Any], n_threads: int) -> Floats:
        """Class probabilities of encoded rows."""

    def answer(self, queries: Iterable[Queries]) -> Floats:
        """The same for queries that have been routed to the leaves of each forest."""

    # New rows.

    def check_updatable(self) -> None:
        """Raise ValueError if new rows would not change any prediction."""

    def counts_of(self, rows: EncodedRows, n_threads: int) -> tuple[Any, ...]:
        """The counts that new rows add, for each forest or for the tree."""

    def held_counts(self) -> tuple[Any, ...]:
        """The counts of all rows so far."""

    def with_counts(self, counts: Sequence[Any], decay: float, class_weights: Floats | None, n_threads: int) -> Self:
        """Earlier counts times ``decay`` plus others; ``class_weights`` are those of all rows counted then."""


class ForestEstimate(Estimate, Protocol):
    """An estimate of forests, whose training rows can be predicted out of bag."""

    @property
    def forests(self) -> Sequence[Forest]:
        """The forests, ordered by kind."""

    @property
    def is_mean(self) -> bool:
        """Whether the prediction is a mean over trees, so that its derivatives follow from :meth:`mean_tables`."""

    @property
    def leaves_rows_out(self) -> bool:
        """Whether an unseen row is taken out of the counts in which it is looked up."""

    def unseen_answer(self, n_threads: int) -> UnseenAnswer:
        """Predictions for training rows by the trees that have not seen them, NaN where there is no such tree.

        The tables for this are made only once.
        """

    def mean_tables(self) -> list[_core.LeafTables]:
        """For each forest, tables of its trees' own rows, whose mean over trees is the prediction or near it."""

    def spread_tables(self, n_threads: int) -> list[_core.LeafTables]:
        """For each forest the tables of its single trees, from which the standard deviation over trees is computed."""

    def single_trees(self) -> Iterator[SingleTree]:
        """The trees one by one, ordered by kind, each with its own estimate."""

    def joined(self, others: Sequence[Self], prior: Floats, class_weights: Floats) -> Self:
        """One estimate with the trees of this one and of others.

        ``prior`` has the weights of classes in all training rows, ``class_weights`` those in all rows counted.
        """


class OneForest(ABC):
    """Base of the estimates of a single forest."""

    forest: Forest

    @property
    def forests(self) -> Sequence[Forest]:
        return [self.forest]

    @property
    def structure(self) -> Sequence[bytes]:
        return [self.forest.structure]

    def predict(self, matrix: npt.NDArray[Any], n_threads: int) -> Floats:
        return self.answer([PlainQueries(self.forest, matrix, n_threads)])

    @abstractmethod
    def answer(self, queries: Iterable[Queries]) -> Floats:
        """Class probabilities of queries in the leaves of the forest."""


@dataclass(frozen=True)
class Fit:
    """A fitted estimate, with its results for the training rows.

    Attributes
    ----------
    estimate : ForestEstimate
    out_of_bag : array of shape (n_rows, n_classes), optional
        Its predictions for the training rows by the trees that have not seen them, if requested.
    quality : Quality, optional
        On the out-of-bag rows from which weights were learned.
    component_log_loss : dict from component to its log-loss in bits on the same rows, optional
    """

    estimate: ForestEstimate
    out_of_bag: Floats | None = None
    quality: Quality | None = None
    component_log_loss: dict[str, float] | None = None
