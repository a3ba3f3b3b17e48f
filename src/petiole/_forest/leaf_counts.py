"""Counts that add up: what a batch of rows adds to the leaves of trees, wherever these trees were grown.

A tree's structure needs its training rows in one place; its counts do not. Batches are counted one by one, on any
machine, and their counts are summed.
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
from petiole._table.labels import check_same_length, check_weights, label_codes
from petiole._table.weights import weights_in_unit
from petiole._tree import traversal
from petiole._tree.tree import Tree

Floats = npt.NDArray[np.float64]
Copies = Mapping[int, npt.NDArray[Any]]

# Rows times trees that are looked at together: where so many rows are takes fifty megabytes.
CELLS_AT_ONCE = 1 << 23


@dataclass(frozen=True)
class Rows:
    """A batch of rows as the core takes them; ``copies[t]`` says how often each is in the sample of tree t.

    Trees that are not in ``copies`` have seen none of the rows.
    """

    matrix: npt.NDArray[Any]
    labels: npt.NDArray[np.int32]
    weights: Floats | None = None
    copies: Copies | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, selected: Any) -> Rows:
        """Some of the rows: a slice, or their positions."""
        copies = None if self.copies is None else {tree: times[selected] for tree, times in self.copies.items()}
        weights = None if self.weights is None else self.weights[selected]
        return Rows(self.matrix[selected], self.labels[selected], weights, copies)


class ForestCounts:
    """Class counts at the leaves of every tree of a forest, of any rows; ``a + b`` are the counts of both batches.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> from petiole._forest.leaf_counts import count
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggedPETClassifier(4, random_state=0).fit(X, y)
    >>> both = count(model, X[:50], y[:50]) + count(model, X[50:], y[50:])
    >>> both.out_of_bag(0).sum(axis=0)
    array([50., 50., 50.])
    """

    def __init__(self, core: Any) -> None:
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

    They are kept as narrow arrays, a tenth of what they take while they are asked.
    """

    def __init__(self, core: Any) -> None:
        self.state: dict[str, Any] = core.state()

    @property
    def core(self) -> Any:
        """The core's tables, not mixed yet."""
        return _core.VoteTables.from_state(self.state, False)

    def __add__(self, other: VoteCounts) -> VoteCounts:
        return VoteCounts(self.core.plus(other.core))

    def decayed_plus(self, other: VoteCounts, decay: float) -> VoteCounts:
        """``decay`` times these counts plus the others."""
        return VoteCounts(self.core.plus(other.core, decay))

    def tables(self, oob_weight: float) -> Any:
        """The core's tables, with out-of-bag rows weighted."""
        core = self.core
        core.mix(oob_weight)
        return core

    def __sizeof__(self) -> int:
        return _n_bytes(self.state)


@dataclass(frozen=True)
class Tally:
    """What a batch of rows adds to a forest: counts of its leaves and, where asked for, their vote tables."""

    counts: ForestCounts
    votes: VoteCounts | None = None

    def __add__(self, other: Tally) -> Tally:
        votes = None if self.votes is None or other.votes is None else self.votes + other.votes
        return Tally(self.counts + other.counts, votes)

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.counts) + sys.getsizeof(self.votes)


def tally_rows(forest: Forest, rows: Rows, *, distinct: bool, ballot: Any = None, n_threads: int = 1) -> Tally:
    """Count a batch of rows at the leaves of a forest, and file them by vote if there is a ballot.

    Parameters
    ----------
    forest : Forest
    rows : Rows
        Rows that are in a tree's sample count in bag there, all others out of bag.
    distinct : bool
        Whether a row that is in a sample twice counts once.
    ballot : the core's Ballot, optional
        How the trees vote; each row is filed by the vote of the trees that have not seen it.
    """
    total = None
    for part in _in_parts(rows, max(1, CELLS_AT_ONCE // max(1, len(forest)))):
        found = members_of(forest, part, n_threads)
        tally = Tally(_count(found, part, forest, distinct, n_threads))
        if ballot is not None:
            tally = Tally(tally.counts, _file(found, part, forest, distinct, ballot, n_threads))
        total = tally if total is None else total + tally
    assert total is not None
    return total


def members_of(forest: Forest, rows: Rows, n_threads: int = 1) -> Any:
    """Where rows are in each tree, and how often in its sample (the core's Members)."""
    members = forest.router.members(rows.matrix, n_threads)
    for tree, times in (rows.copies or {}).items():
        members.set_copies(tree, np.ascontiguousarray(times, dtype=np.uint32))
    return members


def count(model: Any, X: Any, y: Any, sample_weight: Any = None) -> ForestCounts | Floats:
    """Count rows that a fitted classifier, or a tree, has not seen; counts of batches add up.

    Parameters
    ----------
    model : fitted BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier or PETClassifier, or a Tree
        For a tree, X is a float matrix and y are class codes.
    X, y, sample_weight : the rows; y has no class that the model does not know

    Returns
    -------
    ForestCounts with the rows out of bag, or for a single tree an array of shape (n_nodes, n_classes).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import PETClassifier
    >>> from petiole._forest.leaf_counts import count
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PETClassifier(max_depth=1).fit(X, y)
    >>> count(model, X[::2], y[::2])
    array([[25., 25., 25.],
           [25.,  0.,  0.],
           [ 0., 25., 25.]])
    """
    if isinstance(model, Tree):
        return traversal.class_counts(model, X, np.ascontiguousarray(y, dtype=np.int32), sample_weight)
    rows = encoded_rows(model, X, y, sample_weight)
    if hasattr(model, "tree_"):
        return traversal.class_counts(model.tree_, rows.matrix, rows.labels, rows.weights)
    return tally_rows(model.trees_, rows, distinct=model.count == "distinct", n_threads=model._n_threads()).counts


def encoded_rows(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Rows:
    """A batch in the coding of a fitted classifier; rows of weight zero are gone."""
    matrix = model._encode(X)
    labels = label_codes(y, model.classes_, "y", remedy="a fitted model cannot learn new classes; leave these rows out")
    check_same_length(len(matrix), len(labels))
    weights = weights_in_unit(check_weights(sample_weight, len(labels)), getattr(model, "weight_unit_", 1.0))
    rows = Rows(matrix, labels, weights)
    return rows if weights is None or weights.all() else rows.part(np.flatnonzero(weights))


def _n_bytes(state: Mapping[str, Any]) -> int:
    return sum(array.nbytes for array in state.values() if isinstance(array, np.ndarray))


def _in_parts(rows: Rows, size: int) -> Iterator[Rows]:
    if len(rows) <= size:
        yield rows
        return
    for start in range(0, len(rows), size):
        yield rows.part(slice(start, start + size))


def _count(found: Any, rows: Rows, forest: Forest, distinct: bool, n_threads: int) -> ForestCounts:
    n_classes = forest.core.n_classes
    return ForestCounts(_core.ForestCounts.of_members(found, rows.labels, rows.weights, n_classes, distinct, n_threads))


def _file(found: Any, rows: Rows, forest: Forest, distinct: bool, ballot: Any, n_threads: int) -> VoteCounts:
    winners, _ = _core.out_of_bag_votes(found, ballot, n_threads)
    return VoteCounts(
        _core.VoteTables(found, winners, rows.labels, rows.weights, forest.core.n_classes, distinct, 1.0, n_threads)
    )
