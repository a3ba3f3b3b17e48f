"""Counts that add up: what a batch of rows adds to the leaves of trees.

Growing a tree needs its training rows in one place; counting does not. Batches are counted one by one, on any machine,
and their counts are summed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._forest.forest import Forest
from petiole._table.rows import EncodedRows

Floats = npt.NDArray[np.float64]
Copies = Mapping[int, npt.NDArray[Any]]

# Rows times trees that are counted together: their positions take fifty megabytes.
CELLS_AT_ONCE = 1 << 23


class ForestCounts:
    """Class counts at the leaves of every tree of a forest, of any rows; ``a + b`` are the counts of both batches.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggedPETClassifier.eb_pets(n_estimators=4, random_state=0).fit(X, y)
    >>> both = model.counts_of(X[:50], y[:50]) + model.counts_of(X[50:], y[50:])
    >>> both.parts[0].counts.out_of_bag(0).sum(axis=0)
    array([50., 50., 50.])
    """

    def __init__(self, core: _core.ForestCounts) -> None:
        self.core = core

    @classmethod
    def of(cls, forest: Forest) -> ForestCounts:
        """The counts that a forest holds."""
        return cls(_core.ForestCounts.of_forest(forest.core))

    def __len__(self) -> int:
        return int(self.core.n_trees)

    def __add__(self, other: ForestCounts) -> ForestCounts:
        return ForestCounts(self.core.plus(other.core))

    def decayed_plus(self, other: ForestCounts, decay: float) -> ForestCounts:
        """``decay`` times these counts plus the others."""
        return ForestCounts(self.core.plus(other.core, decay))

    def out_of_bag_alone(self) -> ForestCounts:
        """The out-of-bag counts; where they are placed, in-bag counts stay as they were."""
        return ForestCounts(self.core.out_of_bag_alone())

    def in_bag(self, tree: int) -> Floats:
        """Counts of rows in the sample of a tree, shape (n_leaves, n_classes); no leaves if there are no counts."""
        return np.asarray(self.core.table(tree, False))

    def out_of_bag(self, tree: int) -> Floats:
        """Counts of rows that a tree has not seen."""
        return np.asarray(self.core.table(tree, True))

    def placed_in(self, forest: Forest, prior: Floats | None = None, n_threads: int = 1) -> Forest:
        """The same trees with these counts instead of their own.

        How missing values are spread does not change. Leaves keep their votes unless ``prior`` is given, the weight of
        each class, by which ties are decided: then they vote by their in-bag counts.
        """
        counted = Forest(self.core.placed_in(forest.core, prior, n_threads), forest.n_features)
        for name in ("router", "structure"):  # these do not depend on counts
            if name in vars(forest):
                vars(counted)[name] = vars(forest)[name]
        return counted

    def __getstate__(self) -> dict[str, Any]:
        return self.core.state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.core = _core.ForestCounts.from_state(state)

    def __sizeof__(self) -> int:
        return _n_bytes(self.core.state())


class VoteCounts:
    """MOB-ESP's leaf matrices of a batch of rows; ``a + b`` are those of both batches.

    They are kept as narrow arrays, a tenth of the memory that they take while in use.
    """

    def __init__(self, core: _core.VoteTables) -> None:
        self.state: dict[str, Any] = core.state()

    @property
    def core(self) -> _core.VoteTables:
        """The core's tables, not mixed yet."""
        return _core.VoteTables.from_state(self.state, False)

    def __add__(self, other: VoteCounts) -> VoteCounts:
        return VoteCounts(self.core.plus(other.core))

    def decayed_plus(self, other: VoteCounts, decay: float) -> VoteCounts:
        """``decay`` times these counts plus the others."""
        return VoteCounts(self.core.plus(other.core, decay))

    def tables(self, oob_weight: float) -> _core.VoteTables:
        """The core's tables, with out-of-bag rows weighted."""
        core = self.core
        core.mix(oob_weight)
        return core

    def __sizeof__(self) -> int:
        return _n_bytes(self.state)


@dataclass(frozen=True)
class Tally:
    """What a batch of rows adds to a forest: counts of its leaves and, if requested, their vote tables."""

    counts: ForestCounts
    votes: VoteCounts | None = None

    def __add__(self, other: Tally) -> Tally:
        votes = None if self.votes is None or other.votes is None else self.votes + other.votes
        return Tally(self.counts + other.counts, votes)

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.counts) + sys.getsizeof(self.votes)


def tally_rows(
    forest: Forest,
    rows: EncodedRows,
    copies: Copies | None = None,
    *,
    distinct: bool,
    ballot: _core.Ballot | None = None,
    n_threads: int = 1,
) -> Tally:
    """Count a batch of rows at the leaves of a forest, and file them by vote if there is a ballot.

    Parameters
    ----------
    forest : Forest
    rows : EncodedRows
    copies : mapping from tree to array of shape (n_rows,), optional
        The number of copies of each row in the tree's sample. Rows in the sample count in bag, others out of bag.
        Trees without an entry have seen none of the rows.
    distinct : bool
        Whether a row that is in a sample twice counts once.
    ballot : the core's Ballot, optional
        How the trees vote; each row is filed by the vote of the trees that have not seen it.
    """
    total = None
    for part in _slices(len(rows), max(1, CELLS_AT_ONCE // max(1, len(forest)))):
        batch = rows.take(part)
        found = members_of(forest, batch, None if copies is None else picked(copies, part), n_threads)
        tally = Tally(_count(found, batch, distinct, n_threads))
        if ballot is not None:
            tally = Tally(tally.counts, _file(found, batch, distinct, ballot, n_threads))
        total = tally if total is None else total + tally
    assert total is not None
    return total


def members_of(forest: Forest, rows: EncodedRows, copies: Copies | None = None, n_threads: int = 1) -> _core.Members:
    """Where rows are in each tree, and how often in its sample (the core's Members)."""
    members = forest.router.members(rows.matrix, n_threads)
    for tree, times in (copies or {}).items():
        members.set_copies(tree, np.ascontiguousarray(times, dtype=np.uint32))
    return members


def picked(copies: Copies, selected: Any) -> dict[int, npt.NDArray[Any]]:
    """The copies of some of the rows: a slice, or their positions."""
    return {tree: times[selected] for tree, times in copies.items()}


def recounted(
    forest: Forest, counts: ForestCounts, decay: float, n_threads: int, prior: Floats | None = None
) -> Forest:
    """The trees with their counts times ``decay`` plus others; with a prior, leaves vote again."""
    return ForestCounts.of(forest).decayed_plus(counts, decay).placed_in(forest, prior, n_threads)


def refiled(tables: _core.VoteTables, tally: Tally, decay: float, oob_weight: float) -> _core.VoteTables:
    """MOB-ESP's leaf matrices times ``decay`` plus others."""
    assert tally.votes is not None
    return VoteCounts(tables).decayed_plus(tally.votes, decay).tables(oob_weight)


def _n_bytes(state: Mapping[str, Any]) -> int:
    return sum(array.nbytes for array in state.values() if isinstance(array, np.ndarray))


def _slices(n_rows: int, size: int) -> Iterator[slice]:
    """All rows, some at a time; one empty slice if there are none."""
    for start in range(0, max(1, n_rows), size):
        yield slice(start, min(start + size, n_rows))


def _count(found: _core.Members, rows: EncodedRows, distinct: bool, n_threads: int) -> ForestCounts:
    n_classes = len(rows.classes)
    return ForestCounts(_core.ForestCounts.of_members(found, rows.labels, rows.weights, n_classes, distinct, n_threads))


def _file(found: _core.Members, rows: EncodedRows, distinct: bool, ballot: _core.Ballot, n_threads: int) -> VoteCounts:
    winners, _ = _core.out_of_bag_votes(found, ballot, n_threads)
    return VoteCounts(
        _core.VoteTables(found, winners, rows.labels, rows.weights, len(rows.classes), distinct, 1.0, n_threads)
    )
