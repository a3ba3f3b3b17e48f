"""Pruning, a stage after growth: each function takes a tree and returns another one."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from petiole import _core
from petiole.grow import TrainingSet
from petiole.traversal import class_counts
from petiole.tree import Tree

PRUNINGS = (None, "collapse", "error_based", "pruning_set")


def added_errors(n: float, e: float, confidence: float = 0.25, z: float | None = None) -> float:
    """What C4.5 adds to the ``e`` errors seen at a leaf of weight ``n`` to get the errors to expect.

    ``z`` is the normal quantile of 1 - confidence, as in Weka's J48; C4.5 itself interpolates a short table (0.6925 for
    the confidence 0.25, a number recalled from memory and not checked against its source).

    >>> round(added_errors(6, 0), 6), round(added_errors(16, 1), 6)
    (1.237797, 1.475715)
    """
    return _core.added_errors(n, e, confidence, _quantile(confidence) if z is None else z)


def collapse(tree: Tree) -> Tree:
    """Turn every node into a leaf whose subtree makes no fewer training errors than the node would as a leaf."""
    return _from_core(tree, _core.collapse(tree.arrays))


def prune_by_error(tree: Tree, training: TrainingSet, confidence: float = 0.25) -> Tree:
    """C4.5's pruning: collapse, then bottom-up replace subtrees by a leaf or by their heaviest branch ("raising").

    A replacement is made where it is expected to err no more than 0.1 rows worse than the subtree, by the upper end of
    a confidence interval on the training errors.
    """
    arrays = _core.prune_by_error(
        tree.arrays, training.matrix, training.labels, training.weights, confidence, _quantile(confidence)
    )
    return _from_core(tree, arrays)


def prune_with_set(tree: Tree, pruning: TrainingSet) -> Tree:
    """Weakest-link pruning: of the trees on the cost-complexity path, the one that errs least on rows not grown on.

    Of equals the smallest. The path uses the entropy of the growing rows (Breiman et al. 1984, ch. 3; Geurts 2001
    prunes with a held-out set in the same spirit). A row with missing values counts at each leaf in proportion to its
    weight there.
    """
    counts = class_counts(tree, pruning.matrix, pruning.labels, pruning.weights)
    errors = counts.sum(axis=1) - counts[np.arange(tree.n_nodes), _majority_classes(tree)]
    path = _weakest_links(tree)
    # The error of each tree on the path is that of the last one plus what the nodes cut at this step change.
    current = float(errors[tree.is_leaf].sum())
    best, n_best = current, 0
    leaf_errors = _LeafSums(tree, errors)
    for step, nodes in enumerate(path, start=1):
        current += sum(leaf_errors.cut(node) for node in nodes)
        if current <= best + 1e-9:
            best, n_best = current, step
    cut = [node for nodes in path[:n_best] for node in nodes]
    return tree.pruned_at(cut) if cut else tree


def _quantile(confidence: float) -> float:
    return float(ndtri(1.0 - confidence))


def _from_core(tree: Tree, arrays: dict[str, npt.NDArray]) -> Tree:
    return Tree._trusted(n_features=tree.n_features, **arrays)


def _majority_classes(tree: Tree) -> npt.NDArray[np.intp]:
    """The most frequent class of each node, the lower one of equals; an empty node takes its parent's."""
    # Rounded, so that sums of weights that differ only by rounding are equal.
    majority = np.round(tree.inbag_class_counts, 9).argmax(axis=1)
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


def _weakest_links(tree: Tree) -> list[list[int]]:
    """The nodes that become leaves at each step of cost-complexity pruning, until only the root is left."""
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
    path: list[list[int]] = []
    while heap:
        weakest, node, seen = heapq.heappop(heap)
        if not alive[node] or seen != version[node]:
            continue
        nodes = [node]
        # Links as weak as this one are cut in the same step, the upper ones swallowing those below them.
        while heap and heap[0][0] <= weakest + 1e-9 * max(1.0, abs(weakest)):
            _, other, seen = heapq.heappop(heap)
            if alive[other] and seen == version[other]:
                nodes.append(other)
        cut = _topmost(tree, nodes)
        for node in cut:
            _kill(tree, node, alive)
            risks.cut(node)
            leaves.cut(node)
        path.append(cut)
        for node in cut:
            at = tree.parent[node]
            while at >= 0 and alive[at]:
                version[at] += 1
                heapq.heappush(heap, (link(int(at)), int(at), int(version[at])))
                at = tree.parent[at]
    return path


def _topmost(tree: Tree, nodes: list[int]) -> list[int]:
    """Those of the nodes that lie below no other of them."""
    chosen = set(nodes)
    return [node for node in nodes if not chosen.intersection(tree.path(node)[:-1].tolist())]


def _kill(tree: Tree, node: int, alive: npt.NDArray[np.bool_]) -> None:
    """Mark the internal nodes of a subtree as gone."""
    pending = [node]
    while pending:
        at = pending.pop()
        if alive[at]:
            alive[at] = False
            pending.extend(tree.children(at).tolist())
