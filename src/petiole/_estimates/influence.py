"""How much each training row moves a prediction: the infinitesimal jackknife of trees that are grown on samples.

A row i acts in two ways. It is counted in leaves, and it has a say in the splits of the trees that have drawn it. With
N_bi copies of the row in the sample of tree b, t_b the tree's answer and g_bi the derivative of the answer by the
weight of the row in the counts, its influence is

    U_i = mean over trees of   (N_bi - 1) · t_b  +  m_bi · (2 - N_bi) · g_bi

m_bi is the weight of the row in the leaves of the tree. The first term is the infinitesimal jackknife of Efron (2014)
and Wager, Hastie & Efron (2014). For rows that count in leaves whether or not they were drawn, the first term lacks
their direct effect m_bi · g_bi. It holds the same effect a second time where they were drawn, (N_bi - 1) · m_bi · g_bi,
which is 0 on average over samples where leaves do not depend on draws; taking it out lowers the noise. The variance of
the prediction is the sum of squares of U_i.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from petiole._estimates.components import AllRows, Coarse, Component, OwnRows, UnseenRowsAlone, Votes
from petiole._estimates.leaf_mean import LeafMean
from petiole._estimates.pool import Part
from petiole._forest.forest import Forest
from petiole._forest.plan import ForestPlan
from petiole._table.rows import EncodedRows
from petiole._tree import traversal
from petiole._tree.tree import Tree
from petiole.smoothing import Raw

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# A scipy.sparse.csr_matrix.
Csr: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows that a statistic counts together: those of a leaf, of an ancestor, or of a leaf and a vote.

    Attributes
    ----------
    of_leaf : csr matrix of shape (n_leaves, n_cells)
        The cell in which a query in a leaf is looked up; for votes one cell per class, ordered by leaf and class.
    rows : csr matrix of shape (n_cells, n_rows)
        The weight of each row in the counts of each cell.
    direct : csr matrix of the same shape
        The same times 2 - N_bi.
    totals : array of shape (n_cells,)
        What counts are divided by, pseudo-counts included.
    frequencies : array of shape (n_cells, n_classes)
    known : array of shape (n_cells,)
        Whether a cell takes part in the mean.
    """

    of_leaf: Csr
    rows: Csr
    direct: Csr
    totals: Floats
    frequencies: Floats
    known: Mask

    @classmethod
    def joined(cls, trees: Sequence[Cells]) -> Cells:
        """Those of all trees, in order."""
        return cls(
            sparse.block_diag([one.of_leaf for one in trees], format="csr"),
            sparse.vstack([one.rows for one in trees], format="csr"),
            sparse.vstack([one.direct for one in trees], format="csr"),
            *(np.concatenate([getattr(one, name) for one in trees]) for name in ("totals", "frequencies", "known")),
        )

    @functools.cached_property
    def weights(self) -> Csr:
        """The share of each row in each cell, without pseudo-counts."""
        without = np.asarray(self.rows.sum(axis=1)).ravel()
        return sparse.csr_matrix(sparse.diags(_inverse(without)) @ self.rows)

    def gains(self, k: int, labels: npt.NDArray[np.int32]) -> Csr:
        """The direct effect of each row on the frequency of a class in each cell."""
        entries = self.direct.tocoo()
        moved = (
            entries.data
            * _inverse(self.totals)[entries.row]
            * ((labels[entries.col] == k) - self.frequencies[entries.row, k])
        )
        found = sparse.csr_matrix((moved, (entries.row, entries.col)), shape=entries.shape)
        found.eliminate_zeros()
        return found


@dataclass(frozen=True, eq=False)
class Statistic:
    """One mean over the trees of a forest.

    Attributes
    ----------
    cells : Cells
        Of all trees.
    tree_of : array
        The tree of each cell.
    gains : list of csr matrix
        For each class but the last, the direct effect of rows on its frequency in each cell; empty if there is none.
    is_ratio : bool
        Whether the mean is over the trees that know something, and not over all.
    by_vote : bool
        Whether cells are those of a leaf and a vote, weighted by the votes for the query.
    """

    cells: Cells
    tree_of: npt.NDArray[np.intp]
    gains: list[Csr]
    is_ratio: bool = False
    by_vote: bool = False

    @classmethod
    def of(
        cls,
        trees: Sequence[Cells],
        labels: npt.NDArray[np.int32],
        *,
        is_ratio: bool = False,
        by_vote: bool = False,
        follows_counts: bool = True,
    ) -> Statistic:
        """From the cells of each tree; a statistic that does not follow its counts has no direct effects."""
        cells = Cells.joined(trees)
        tree_of = np.repeat(np.arange(len(trees)), [len(one.totals) for one in trees])
        n_classes = cells.frequencies.shape[1]
        gains = [cells.gains(k, labels) for k in range(n_classes - 1)] if follows_counts else []
        return cls(cells, tree_of, gains, is_ratio, by_vote)


@dataclass(frozen=True, eq=False)
class InfluenceRows:
    """The training rows in one kind of trees: how often they were drawn, and the cells in which they are counted.

    Attributes
    ----------
    forest : Forest
    copies : array of shape (n_trees, n_rows)
    statistics : list of Statistic
    """

    forest: Forest
    copies: npt.NDArray[np.float32]
    statistics: list[Statistic]

    @property
    def n_classes(self) -> int:
        return int(self.forest.core.n_classes)

    @property
    def n_rows(self) -> int:
        return int(self.copies.shape[1])


class Placed(NamedTuple):
    """Queries in the leaves of a forest: their weights over the leaves of all trees, and the votes of the ensemble.

    ``used`` says which trees answer which query, of shape (n_trees, n_rows); None if all do.
    """

    leaves: Csr
    n_trees: int
    votes: Floats | None
    used: Mask | None = None

    @property
    def n_used(self) -> npt.NDArray[np.intp]:
        """How many trees answer each query; at least 1."""
        if self.used is None:
            return np.full(self.leaves.shape[0], self.n_trees)
        return np.asarray(np.maximum(self.used.sum(axis=0), 1), dtype=np.intp)


class Influences(NamedTuple):
    """The influence of training rows on queries.

    Attributes
    ----------
    rows : array of shape (n_classes, n_queries, n_rows)
    noise : array of shape (n_queries, n_classes)
        What the sum of squares is too large by on average, because there are so many trees and no more.
    """

    rows: Floats
    noise: Floats


def leaf_weights(forest: Forest, matrix: npt.NDArray[Any]) -> list[Csr]:
    """For each tree the weights of encoded rows over its leaves."""
    return [traversal.leaf_weights(tree, matrix)[:, np.flatnonzero(tree.is_leaf)].tocsr() for tree in forest]


def copies_of(plan: ForestPlan, rows: EncodedRows, n_trees: int) -> npt.NDArray[np.float32]:
    """How often each row is in the sample of each tree."""
    return np.array([plan.sample(rows, index) for index in range(n_trees)], dtype=np.float32)


# The cells of each estimate.


def rows_of_mean(estimate: LeafMean, plan: ForestPlan, rows: EncodedRows) -> InfluenceRows:
    """The training rows in the trees of a mean."""
    forest, tables = estimate.forest, estimate.tables_by_tree()
    copies, leaves = copies_of(plan, rows, len(forest)), leaf_weights(forest, rows.matrix)
    trees = []
    for index, tree in enumerate(forest):
        mass = _mass(copies[index], rows, plan.count, 1.0, estimate.oob_weight)
        pseudo = 0.0
        if estimate.estimator.pseudo_counts(estimate.prior) is not None:
            roots = tree.inbag_class_counts[0] + estimate.oob_weight * tree.oob_class_counts[0]
            added = estimate.estimator.pseudo_counts(roots)
            pseudo = float(np.broadcast_to(np.asarray(added, dtype=np.float64), roots.shape).sum())
        n_leaves = leaves[index].shape[1]
        same = sparse.identity(n_leaves, format="csr")
        cells = _cells(same, leaves[index], mass, copies[index], rows.labels, tables[index].shape[1])
        known = np.ones(n_leaves, dtype=bool)
        trees.append(Cells(same, cells.rows, cells.direct, cells.totals + pseudo, tables[index], known))
    # Votes do not change with small changes of counts.
    statistic = Statistic.of(trees, rows.labels, follows_counts=not estimate.voting)
    return InfluenceRows(forest, copies, [statistic])


def rows_of_part(part: Part, plan: ForestPlan, rows: EncodedRows, winners: npt.NDArray[np.int32]) -> InfluenceRows:
    """The training rows in the trees of one part of a pool; ``winners`` are the classes their trees vote for."""
    forest, trees = part.forest, list(part.forest)
    copies, leaves = copies_of(plan, rows, len(forest)), leaf_weights(forest, rows.matrix)
    statistics = []
    for component in part.components:
        found = [
            _cells_of_component(component, part, index, tree, leaves[index], copies[index], rows, winners, plan.count)
            for index, tree in enumerate(trees)
        ]
        votes = isinstance(component, Votes)
        is_ratio = votes or isinstance(component, UnseenRowsAlone)
        statistics.append(Statistic.of(found, rows.labels, is_ratio=is_ratio, by_vote=votes))
    return InfluenceRows(forest, copies, statistics)


def _cells_of_component(
    component: Component,
    part: Part,
    index: int,
    tree: Tree,
    leaves: Csr,
    copies: npt.NDArray[np.float32],
    rows: EncodedRows,
    winners: npt.NDArray[np.int32],
    count: str,
) -> Cells:
    n_leaves, n_classes = leaves.shape[1], part.n_classes
    same = sparse.identity(n_leaves, format="csr")
    if isinstance(component, OwnRows):
        cells = _cells(same, leaves, _mass(copies, rows, count, 1.0, 0.0), copies, rows.labels, n_classes)
        table = np.asarray(part.tables.of_tree(index))[:, :n_classes]
        return Cells(same, cells.rows, cells.direct, cells.totals, table, np.ones(n_leaves, dtype=bool))
    if isinstance(component, UnseenRowsAlone):
        return _cells(same, leaves, _mass(copies, rows, count, 0.0, 1.0), copies, rows.labels, n_classes)
    mass = _mass(copies, rows, count, 1.0, 1.0)
    if isinstance(component, Votes):
        by_vote = _by_vote(leaves, winners, n_classes)
        pairs = np.arange(n_leaves * n_classes)
        of_leaf = sparse.csr_matrix((np.ones(len(pairs)), (pairs // n_classes, pairs)))
        return _cells(of_leaf, by_vote, mass, copies, rows.labels, n_classes)
    if isinstance(component, Coarse):
        nodes, cell_of = np.unique(_coarse_nodes(tree, component.least_rows), return_inverse=True)
        paths = traversal.path_weights(tree, rows.matrix)[:, nodes].tocsr()
        of_leaf = sparse.csr_matrix((np.ones(n_leaves), (np.arange(n_leaves), cell_of)), shape=(n_leaves, len(nodes)))
        return _cells(of_leaf, paths, mass, copies, rows.labels, n_classes)
    assert isinstance(component, AllRows)
    cells = _cells(same, leaves, mass, copies, rows.labels, n_classes)
    whole = Raw().node_probabilities(tree.with_counts(inbag=tree.inbag_class_counts + tree.oob_class_counts))
    return Cells(same, cells.rows, cells.direct, cells.totals, whole[tree.is_leaf], np.ones(n_leaves, dtype=bool))


def _mass(copies: npt.NDArray[np.float32], rows: EncodedRows, count: str, in_bag: float, out_of_bag: float) -> Floats:
    """The weight of each row in the leaves of a tree."""
    drawn = np.minimum(copies, 1) if count == "distinct" else copies
    return np.asarray((in_bag * drawn + out_of_bag * (copies == 0)) * rows.weights_or_ones())


def _cells(
    of_leaf: Csr,
    shares: Csr,
    mass: Floats,
    copies: npt.NDArray[np.float32],
    labels: npt.NDArray[np.int32],
    n_classes: int,
) -> Cells:
    """Cells from the share of each row in each, of shape (n_rows, n_cells)."""
    counted = sparse.diags(mass) @ shares
    rows = sparse.csr_matrix(counted.T)
    rows.eliminate_zeros()
    direct = sparse.csr_matrix(rows @ sparse.diags(2.0 - copies.astype(np.float64)))
    classes = sparse.csr_matrix(
        (np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), n_classes)
    )
    counts = np.asarray((rows @ classes).todense())
    totals = counts.sum(axis=1)
    known = totals > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        frequencies = np.where(known[:, np.newaxis], counts / totals[:, np.newaxis], 0.0)
    return Cells(of_leaf, rows, direct, totals, frequencies, known)


def _by_vote(leaves: Csr, winners: npt.NDArray[np.int32], n_classes: int) -> Csr:
    """Rows over pairs of leaf and vote; a row for which nobody votes is in none."""
    entries = leaves.tocoo()
    voted = winners[entries.row] >= 0
    pair = entries.col[voted].astype(np.int64) * n_classes + winners[entries.row[voted]]
    shape = (leaves.shape[0], leaves.shape[1] * n_classes)
    return sparse.csr_matrix((entries.data[voted], (entries.row[voted], pair)), shape=shape)


def _coarse_nodes(tree: Tree, least_rows: float) -> npt.NDArray[np.int64]:
    """For each leaf the nearest node, from itself upwards, that has enough rows; the root if none has."""
    weight = (tree.inbag_class_counts + tree.oob_class_counts).sum(axis=1)
    nodes = np.flatnonzero(tree.is_leaf)
    while True:
        small = (weight[nodes] < least_rows * (1 - 1e-12)) & (nodes > 0)
        if not small.any():
            return nodes
        nodes = np.where(small, tree.parent[nodes], nodes)


# Influences.


def influences(of_rows: InfluenceRows, placed: Placed, slopes: Sequence[Floats | None]) -> Influences:
    """The influence of each training row on the answers of one kind of trees.

    Parameters
    ----------
    of_rows : InfluenceRows
    placed : Placed
    slopes : for each statistic an array of shape (n_queries, n_classes, n_classes), or None
        The derivative of each class's probability by the statistic; None is the identity.
    """
    n_trees, n_rows = of_rows.copies.shape
    n_queries, n_classes = placed.leaves.shape[0], of_rows.n_classes
    n_used = placed.n_used
    found = np.zeros((n_classes, n_queries, n_rows))
    answers = np.zeros((n_queries, n_classes, n_trees))
    leaves = mean_over_trees(of_rows, placed)
    for statistic, slope in zip(of_rows.statistics, slopes, strict=True):
        over = query_weights(statistic, leaves, placed.votes)
        slope = np.eye(n_classes)[np.newaxis] if slope is None else slope
        answers += slope @ _answers_by_tree(statistic, over, n_trees)
        for j, gains in enumerate(statistic.gains):
            moved = (over @ gains).toarray()
            # Frequencies sum to 1: what one class gains the last one loses.
            by_class = slope[:, :, j] - slope[:, :, -1]
            for k in range(n_classes):
                found[k] += by_class[:, k, np.newaxis] * moved
    answers *= n_used[:, np.newaxis, np.newaxis]
    centred = answers - answers.sum(axis=2, keepdims=True) / n_used[:, np.newaxis, np.newaxis]
    if placed.used is not None:
        centred *= placed.used.T[:, np.newaxis, :]
    drawn = of_rows.copies - 1.0
    for k in range(n_classes):
        found[k] += (centred[:, k] @ drawn) / n_used[:, np.newaxis]
    noise = n_rows * np.square(centred).sum(axis=2) / np.square(n_used)[:, np.newaxis]
    return Influences(found, noise)


def kernel(of_rows: InfluenceRows, placed: Placed, shares: Floats) -> Csr:
    """The weight of each row's label in the answers to queries, of shape (n_queries, n_rows).

    ``shares`` are those of the statistics in the answer.
    """
    leaves = mean_over_trees(of_rows, placed)
    found = sparse.csr_matrix((leaves.shape[0], of_rows.n_rows))
    for statistic, share in zip(of_rows.statistics, shares, strict=True):
        if share > 0:
            found = found + share * (query_weights(statistic, leaves, placed.votes) @ statistic.cells.weights)
    return sparse.csr_matrix(found)


def mean_over_trees(of_rows: InfluenceRows, placed: Placed) -> Csr:
    """Weights over leaves whose sum over all trees is 1, without the trees that do not answer."""
    weights = sparse.csr_matrix(sparse.diags(1.0 / placed.n_used) @ placed.leaves)
    if placed.used is None:
        return weights
    entries = weights.tocoo()
    data = entries.data * placed.used[_trees_of_leaves(of_rows.forest)[entries.col], entries.row]
    return sparse.csr_matrix((data, (entries.row, entries.col)), shape=entries.shape)


def _trees_of_leaves(forest: Forest) -> npt.NDArray[np.intp]:
    n_leaves = [len(tree.leaves) for tree in forest]
    return np.asarray(np.repeat(np.arange(len(forest)), n_leaves), dtype=np.intp)


def query_weights(statistic: Statistic, leaves: Csr, votes: Floats | None) -> Csr:
    """The weights of queries over cells, with which the mean of frequencies is the statistic."""
    cells, n_classes = statistic.cells, statistic.cells.frequencies.shape[1]
    entries = (leaves @ cells.of_leaf).tocoo()
    data = entries.data * cells.known[entries.col]
    if statistic.is_ratio:
        # For votes, the mean is taken among the cells of each vote, and the means are weighted by the votes.
        kind = entries.col % n_classes if statistic.by_vote else np.zeros(len(entries.col), dtype=np.intp)
        share = np.zeros((leaves.shape[0], n_classes if statistic.by_vote else 1))
        np.add.at(share, (entries.row, kind), data)
        counted = np.ones(share.shape) if votes is None or not statistic.by_vote else np.where(share > 0, votes, 0.0)
        factor = counted * _inverse(counted.sum(axis=1))[:, np.newaxis] * _inverse(share)
        data = data * factor[entries.row, kind]
    return sparse.csr_matrix((data, (entries.row, entries.col)), shape=(leaves.shape[0], len(cells.totals)))


def _answers_by_tree(statistic: Statistic, over: Csr, n_trees: int) -> Floats:
    """What each tree adds to the statistic, of shape (n_queries, n_classes, n_trees)."""
    entries, frequencies = over.tocoo(), statistic.cells.frequencies
    place = entries.row * np.int64(n_trees) + statistic.tree_of[entries.col]
    size = over.shape[0] * n_trees
    centre = np.asarray(over @ frequencies) if statistic.is_ratio else np.zeros((over.shape[0], frequencies.shape[1]))
    by_class = [
        np.bincount(place, entries.data * (frequencies[entries.col, k] - centre[entries.row, k]), size).reshape(
            -1, n_trees
        )
        for k in range(frequencies.shape[1])
    ]
    return np.stack(by_class, axis=1)


def _inverse(values: Any) -> Floats:
    """1 / values, 0 where these are 0."""
    return np.asarray(np.divide(1.0, values, out=np.zeros(np.shape(values)), where=np.asarray(values) > 0))
