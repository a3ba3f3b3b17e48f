"""Pruning, a stage after growth: each function takes a tree and returns another one."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from petiole import _core
from petiole._table.rows import EncodedRows
from petiole._tree.traversal import class_counts, path_weights
from petiole._tree.tree import Tree
from petiole.smoothing import Raw

PRUNINGS = (None, "collapse", "error_based", "pruning_set")


def added_errors(n: float, e: float, confidence: float = 0.25, z: float | None = None) -> float:
    """The number that C4.5 adds to the ``e`` errors at a leaf of weight ``n``, to estimate the errors on new rows.

    ``z`` is the normal quantile of 1 - confidence, as in Weka's J48. C4.5 itself interpolates a short table, which
    gives 0.6925 for the confidence 0.25 (see the provenance page).

    >>> round(added_errors(6, 0), 6), round(added_errors(16, 1), 6)
    (1.237797, 1.475715)
    """
    return _core.added_errors(n, e, confidence, _quantile(confidence) if z is None else z)


def collapse(tree: Tree) -> Tree:
    """Turn every node into a leaf whose subtree makes no fewer training errors than the node would as a leaf."""
    return _from_core(tree, _core.collapse(tree.arrays))


def prune_by_error(tree: Tree, training: EncodedRows, confidence: float = 0.25) -> Tree:
    """C4.5's pruning: collapse, then bottom-up replace subtrees by a leaf or by their heaviest branch ("raising").

    A replacement is made if its estimated errors, the upper end of a confidence interval on the training errors,
    exceed those of the subtree by at most 0.1 rows.
    """
    arrays = _core.prune_by_error(
        tree.arrays, training.matrix, training.labels, training.weights, confidence, _quantile(confidence)
    )
    return _from_core(tree, arrays)


def prune_with_set(tree: Tree, pruning: EncodedRows) -> Tree:
    """Weakest-link pruning: of the trees on the cost-complexity path, the one with the least error on held-out rows.

    In a tie, the smallest tree. The path uses the entropy of the growing rows (Breiman et al. 1984, ch. 3; Geurts 2001
    also prunes with a held-out set). A row with missing values counts at each leaf in proportion to its weight there.
    """
    counts = class_counts(tree, pruning.matrix, pruning.labels, pruning.weights)
    errors = counts.sum(axis=1) - counts[np.arange(tree.n_nodes), _majority_classes(tree)]
    path = _weakest_links(tree)
    # The error of each tree on the path is that of the last one plus what the nodes cut at this step change.
    current = float(errors[tree.is_leaf].sum())
    best, n_best = current, 0
    leaf_errors = _LeafSums(tree, errors)
    for step, (_, nodes) in enumerate(path, start=1):
        current += sum(leaf_errors.cut(node) for node in nodes)
        if current <= best + 1e-9:
            best, n_best = current, step
    cut = [node for _, nodes in path[:n_best] for node in nodes]
    return tree.pruned_at(cut) if cut else tree


def prune_together(trees: Sequence[Tree], pruning: EncodedRows) -> list[Tree]:
    """Weakest-link pruning of an ensemble: one price per leaf for all trees, with the least error of their mean.

    As :func:`prune_with_set`, but the errors on held-out rows are those of the mean of the trees' class shares (in a
    tie, the first class). Of equally good prices the largest is taken. Geurts (2001, section 3) prunes bagged trees
    "in a combined fashion" without details; see the provenance page.
    """
    mean = _MeanVote(trees, pruning)
    steps = [(price, at, nodes) for at, tree in enumerate(trees) for price, nodes in _weakest_links(tree)]
    steps.sort(key=lambda step: step[:2])
    best, n_best = mean.errors(), 0
    for done, (price, at, nodes) in enumerate(steps, start=1):
        mean.cut(at, nodes)
        if done < len(steps) and steps[done][0] <= _as_weak_as(price):
            continue
        errors = mean.errors()
        if errors <= best + 1e-9:
            best, n_best = errors, done
    cut: list[list[int]] = [[] for _ in trees]
    for _, at, nodes in steps[:n_best]:
        cut[at] += nodes
    return [tree.pruned_at(nodes) if nodes else tree for tree, nodes in zip(trees, cut, strict=True)]


class _MeanVote:
    """The mean prediction of several trees for the pruning rows, kept up to date while nodes are cut."""

    def __init__(self, trees: Sequence[Tree], pruning: EncodedRows) -> None:
        self._labels = pruning.labels
        self._weights = pruning.weights_or_ones()
        self._trees = trees
        self._is_leaf = [tree.is_leaf.copy() for tree in trees]
        self._passing = [path_weights(tree, pruning.matrix).tocsc() for tree in trees]
        self._shares = [Raw().node_probabilities(tree) for tree in trees]
        self._votes = np.zeros((len(pruning), len(pruning.classes)))
        for at, tree in enumerate(trees):
            for leaf in tree.leaves:
                self._add(at, int(leaf), 1.0)
        self._is_wrong = np.ones(len(pruning), dtype=bool)
        self._changed = np.ones(len(pruning), dtype=bool)

    def cut(self, at: int, nodes: Sequence[int]) -> None:
        """Make these nodes of a tree leaves, none below another."""
        for node in nodes:
            pending = [node]
            while pending:
                below = pending.pop()
                if self._is_leaf[at][below]:
                    self._add(at, below, -1.0)
                else:
                    pending.extend(self._trees[at].children(below).tolist())
            self._is_leaf[at][node] = True
            self._changed[self._add(at, node, 1.0)] = True

    def errors(self) -> float:
        """The weight of the rows that the mean prediction classifies wrongly."""
        rows = np.flatnonzero(self._changed)
        # Rounded, so that sums that differ only by the order of additions are equal.
        self._is_wrong[rows] = np.round(self._votes[rows], 9).argmax(axis=1) != self._labels[rows]
        self._changed[rows] = False
        return float(self._weights[self._is_wrong].sum())

    def _add(self, at: int, node: int, sign: float) -> npt.NDArray[np.int32]:
        """Add the prediction of a node to those for the rows that pass it; returns these rows."""
        passing = self._passing[at]
        part = slice(passing.indptr[node], passing.indptr[node + 1])
        rows: npt.NDArray[np.int32] = passing.indices[part]
        self._votes[rows] += sign * passing.data[part, np.newaxis] * self._shares[at][node]
        return rows


def _quantile(confidence: float) -> float:
    return float(ndtri(1.0 - confidence))


def _from_core(tree: Tree, arrays: dict[str, npt.NDArray[Any]]) -> Tree:
    return Tree._trusted(n_features=tree.n_features, **arrays)


def _majority_classes(tree: Tree) -> npt.NDArray[np.intp]:
    """The most frequent class of each node, in a tie the lower one; an empty node takes its parent's."""
    # Rounded, so that sums of weights that differ only by rounding are equal.
    majority: npt.NDArray[np.intp] = np.round(tree.inbag_class_counts, 9).argmax(axis=1)
    empty = np.flatnonzero(tree.inbag_class_counts.sum(axis=1) <= 0)
    for node in empty[np.argsort(tree.node_depth[empty], kind="stable")]:
        if tree.parent[node] >= 0:
            majority[node] = majority[tree.parent[node]]
    return majority


class _LeafSums:
    """Sums of a node quantity over the leaves below each node, kept up to date while nodes are cut."""

    def __init__(self, tree: Tree, values: npt.NDArray[np.float64]) -> None:
        self.parent = tree.parent
        self.own = values
        self.below = _sums_over_leaves(tree, np.where(tree.is_leaf, values, 0.0))

    def cut(self, node: int) -> float:
        """Make ``node`` a leaf; returns by how much the sum over all leaves changes."""
        change = float(self.own[node] - self.below[node])
        at = node
        while at >= 0:
            self.below[at] += change
            at = self.parent[at]
        return change


def _sums_over_leaves(tree: Tree, leaf_values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    sums = leaf_values.copy()
    for depth in range(tree.depth, 0, -1):
        level = np.flatnonzero(tree.node_depth == depth)
        np.add.at(sums, tree.parent[level], sums[level])
    return sums


def _as_weak_as(strength: float) -> float:
    """Links up to this strength count as equal."""
    return strength + 1e-9 * max(1.0, abs(strength))


def _weakest_links(tree: Tree) -> list[tuple[float, list[int]]]:
    """Each step of cost-complexity pruning until only the root is left: bits per leaf, nodes that become leaves.

    The bits never fall from step to step.
    """
    counts = tree.inbag_class_counts
    weights = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(counts > 0, np.log2(counts / weights[:, None]), 0.0)
    risk = -(counts * logs).sum(axis=1)
    risks = _LeafSums(tree, risk)
    leaves = _LeafSums(tree, np.ones(tree.n_nodes))
    alive = ~tree.is_leaf
    version = np.zeros(tree.n_nodes, dtype=np.int64)

    def link(node: int) -> float:
        return float((risk[node] - risks.below[node]) / (leaves.below[node] - 1))

    heap = [(link(node), node, 0) for node in np.flatnonzero(alive).tolist()]
    heapq.heapify(heap)
    path: list[tuple[float, list[int]]] = []
    price = 0.0
    while heap:
        weakest, node, seen = heapq.heappop(heap)
        if not alive[node] or seen != version[node]:
            continue
        nodes = [node]
        # Links as weak as this one are cut in the same step, the upper ones together with those below them.
        while heap and heap[0][0] <= _as_weak_as(weakest):
            _, other, seen = heapq.heappop(heap)
            if alive[other] and seen == version[other]:
                nodes.append(other)
        cut = _topmost(tree, nodes)
        for node in cut:
            _mark_removed(tree, node, alive)
            risks.cut(node)
            leaves.cut(node)
        price = max(price, weakest)  # they rise in any case, except for rounding
        path.append((price, cut))
        for node in cut:
            at = tree.parent[node]
            while at >= 0 and alive[at]:
                version[at] += 1
                heapq.heappush(heap, (link(int(at)), int(at), int(version[at])))
                at = tree.parent[at]
    return path


def _topmost(tree: Tree, nodes: list[int]) -> list[int]:
    """The nodes that are not below another one of them."""
    chosen = set(nodes)
    return [node for node in nodes if not chosen.intersection(tree.path(node)[:-1].tolist())]


def _mark_removed(tree: Tree, node: int, alive: npt.NDArray[np.bool_]) -> None:
    """Mark the internal nodes of a subtree as removed."""
    pending = [node]
    while pending:
        at = pending.pop()
        if alive[at]:
            alive[at] = False
            pending.extend(tree.children(at).tolist())
