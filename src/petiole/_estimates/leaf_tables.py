"""Tables of probabilities by leaf estimators, with a row for each leaf of each tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.single_tree import SingleTree
from petiole._forest.forest import Forest
from petiole._tree.tree import Tree
from petiole.smoothing import LeafEstimator, Raw

Floats = npt.NDArray[np.float64]

# A node with less than this has no rows.
LEAST_WEIGHT = 1e-12


def frequency_tables(
    forest: Forest, estimator: LeafEstimator, oob_weight: float, n_threads: int = 1
) -> _core.LeafTables:
    """The leaf tables of an estimator that has pseudo-counts, out-of-bag rows weighted in."""
    if isinstance(estimator, Raw):
        # A leaf without rows takes the frequencies of its nearest ancestor that has some.
        tables = forest.core.leaf_counts(1.0, oob_weight, LEAST_WEIGHT, n_threads)
        tables.normalise()
        without_rows = ~np.asarray(forest.core.root_counts(1.0, oob_weight)).any(axis=1)
        for tree in np.flatnonzero(without_rows).tolist():
            tables.set_tree(tree, np.full(tables.of_tree(tree).shape, 1.0 / forest.core.n_classes))
        return tables
    tables, with_empty_leaves = counts_with_pseudo(forest, estimator, oob_weight)
    tables.normalise()
    for index in with_empty_leaves:  # these take those of their parents
        tables.set_tree(index, node_tables(forest[index], estimator, oob_weight))
    return tables


def counts_with_pseudo(
    forest: Forest, estimator: LeafEstimator, oob_weight: float
) -> tuple[_core.LeafTables, list[int]]:
    """Leaf counts plus pseudo-counts, whose shares are the probabilities; and which trees have empty leaves."""
    tables = forest.core.leaf_counts(1.0, oob_weight)
    with_empty_leaves = tables.trees_with_empty_rows()
    roots = np.asarray(forest.core.root_counts(1.0, oob_weight))
    tables.add(np.ascontiguousarray([estimator.pseudo_counts(root) for root in roots]))
    return tables, with_empty_leaves


def node_tables(tree: Tree, estimator: LeafEstimator, oob_weight: float) -> Floats:
    """The estimator's probabilities of a tree's leaves, out-of-bag rows weighted in."""
    single = SingleTree.in_forest(tree, estimator, oob_weight)
    return np.ascontiguousarray(single.node_probabilities[tree.is_leaf])


def estimator_tables(
    forest: Forest,
    estimator: LeafEstimator,
    settled: Sequence[LeafEstimator] | None,
    prior: Floats,
    oob_weight: float,
    n_threads: int,
) -> _core.LeafTables:
    """The probabilities of all leaves; ``settled`` has one estimator per tree if it learns from a tree's own rows."""
    if settled is None and estimator.pseudo_counts(prior) is not None:
        return frequency_tables(forest, estimator, oob_weight, n_threads)
    each = [estimator] * len(forest) if settled is None else settled
    leaves = [node_tables(tree, one, oob_weight) for tree, one in zip(forest, each, strict=True)]
    return _core.LeafTables(leaves, len(prior))


def votes_of_leaves(forest: Forest, n_classes: int) -> _core.LeafTables:
    """One vote per leaf, by the rows that its tree was grown on."""
    votes = (np.asarray(forest.core.leaf_votes(index)) for index in range(len(forest)))
    return _core.LeafTables([np.eye(n_classes)[winners] for winners in votes], n_classes)


def votes_of_tables(tables: _core.LeafTables, prior: Floats) -> _core.LeafTables:
    """One vote per leaf: for the most probable class; in a tie the more frequent one, then the first."""
    order = np.argsort(-prior, kind="stable")
    votes = []
    for index in range(tables.n_trees):
        table = np.round(np.asarray(tables.of_tree(index)), 12)
        winners = order[table[:, order].argmax(axis=1)]
        votes.append(np.eye(len(prior))[winners])
    return _core.LeafTables(votes, len(prior))
