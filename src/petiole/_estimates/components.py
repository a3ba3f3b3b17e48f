"""The components of the pool: statistics of a forest's leaves, one class each.

A component defines what is counted at the leaves, the probabilities of out-of-bag training rows from these counts, and
the tables for queries. To add one, write a class here and put it into ``COMPONENTS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import CountedWeights, FiledVotes, UnseenRows
from petiole._estimates.leaf_tables import frequency_tables
from petiole._forest.forest import Forest
from petiole.smoothing import Raw

Floats = npt.NDArray[np.float64]


class Component(ABC):
    """One statistic of the leaves of a forest."""

    name: str
    # Whether it is computed by the look-up of votes and has no tables.
    looks_up_votes: ClassVar[bool] = False
    # Whether it is the frequencies of a tree's own rows, by which gaps of other components are filled.
    is_own_rows: bool = False

    @abstractmethod
    def count(self, forest: Forest, n_threads: int) -> _core.LeafTables | None:
        """The counts at the leaves; None if the leaf matrices of votes are all that is needed."""

    @abstractmethod
    def unseen(self, forest: Forest, counts: _core.LeafTables | None, unseen: UnseenRows, filed: FiledVotes) -> Floats:
        """Probabilities of training rows by the trees that have not seen them, each row taken out of the counts.

        NaN where nothing is known about a row.
        """

    def tables(self, forest: Forest, counts: _core.LeafTables, n_threads: int) -> list[_core.LeafTables]:
        """Tables whose means over trees are the probabilities of queries. They may be made in place of the counts."""
        counts.normalise()
        return [counts]

    def answer(self, means: Floats, n_classes: int) -> Floats:
        """Probabilities of queries, from the means of the tables; NaN where nothing is known about a query."""
        return means

    def counted(self) -> CountedWeights | None:
        """The rows whose frequencies it takes; None if it does more."""
        return None

    def own_rows(self) -> Component:
        """The component of the same kind that fills gaps of this one."""
        return OwnRows()

    def n_classes(self, forest: Forest) -> int:
        """The classes that it has probabilities of."""
        return int(forest.core.n_classes)


class OwnRows(Component):
    """The frequencies of the rows that the tree was grown on."""

    name = "raw"
    is_own_rows = True

    def counted(self) -> CountedWeights:
        return CountedWeights(1.0, 0.0, 0.0)

    def count(self, forest: Forest, n_threads: int) -> _core.LeafTables:
        return frequency_tables(forest, Raw(), 0.0, n_threads)

    def unseen(self, forest: Forest, counts: _core.LeafTables | None, unseen: UnseenRows, filed: FiledVotes) -> Floats:
        assert counts is not None
        return unseen.means(counts)

    def tables(self, forest: Forest, counts: _core.LeafTables, n_threads: int) -> list[_core.LeafTables]:
        return [counts]


class AllRows(Component):
    """The frequencies of all rows, as in EB-PETs."""

    name = "eb"

    def counted(self) -> CountedWeights:
        return CountedWeights(1.0, 1.0, 0.0)

    def count(self, forest: Forest, n_threads: int) -> _core.LeafTables:
        return forest.core.leaf_counts(1.0, 1.0, 0.0, n_threads)

    def unseen(self, forest: Forest, counts: _core.LeafTables | None, unseen: UnseenRows, filed: FiledVotes) -> Floats:
        assert counts is not None
        return unseen.frequencies(counts, 1.0)

    def tables(self, forest: Forest, counts: _core.LeafTables, n_threads: int) -> list[_core.LeafTables]:
        # A leaf without rows takes the frequencies of an ancestor.
        return [frequency_tables(forest, Raw(), 1.0, n_threads)]


class UnseenRowsAlone(Component):
    """The frequencies of the rows that the tree has not seen, over the leaves that have such rows."""

    name = "oob"

    def counted(self) -> CountedWeights:
        return CountedWeights(0.0, 1.0, 0.0)

    def count(self, forest: Forest, n_threads: int) -> _core.LeafTables:
        return forest.core.leaf_counts(0.0, 1.0, 0.0, n_threads)

    def unseen(self, forest: Forest, counts: _core.LeafTables | None, unseen: UnseenRows, filed: FiledVotes) -> Floats:
        assert counts is not None
        return unseen.frequencies(counts, 1.0)

    def tables(self, forest: Forest, counts: _core.LeafTables, n_threads: int) -> list[_core.LeafTables]:
        counts.normalise()
        return [counts, counts.row_sums()]

    def answer(self, means: Floats, n_classes: int) -> Floats:
        # The last column is the share of leaves with such rows; 0 / 0 where there is none.
        share = means[:, n_classes:]
        return means[:, :n_classes] / np.where(share > 0, share, np.nan)


class Votes(Component):
    """The frequencies of the rows for which the ensemble votes as for the query, after MOB-ESP."""

    name = "votes"
    looks_up_votes = True

    def count(self, forest: Forest, n_threads: int) -> None:
        return None

    def unseen(self, forest: Forest, counts: _core.LeafTables | None, unseen: UnseenRows, filed: FiledVotes) -> Floats:
        return unseen.look_up(filed, _core.VoteRows.shared, 1.0)


class Coarse(Component):
    """The frequencies of all rows at the nearest ancestor that has at least ``coarse_rows`` of them."""

    name = "coarse"

    def __init__(self, least_rows: float) -> None:
        self.least_rows = least_rows

    def counted(self) -> CountedWeights:
        return CountedWeights(1.0, 1.0, self.least_rows)

    def count(self, forest: Forest, n_threads: int) -> _core.LeafTables:
        return forest.core.leaf_counts(1.0, 1.0, self.least_rows, n_threads)

    def unseen(self, forest: Forest, counts: _core.LeafTables | None, unseen: UnseenRows, filed: FiledVotes) -> Floats:
        assert counts is not None
        return unseen.frequencies(counts, 1.0)


COMPONENTS: dict[str, type[Component]] = {
    kind.name: kind for kind in (OwnRows, AllRows, UnseenRowsAlone, Votes, Coarse)
}


def make_components(names: Sequence[str], coarse_rows: float) -> tuple[Component, ...]:
    """The components of these names, in their order."""
    return tuple(Coarse(coarse_rows) if name == Coarse.name else COMPONENTS[name]() for name in names)
