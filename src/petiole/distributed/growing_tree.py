"""A tree that grows level by level: nodes in the order in which they were made, laid out at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._tree.tree import Tree

Floats = npt.NDArray[np.float64]


@dataclass
class Node:
    """A node: its counts, its position, and its rule once it is split."""

    counts: Floats
    depth: int
    key: int
    feature: int = -1
    threshold: float = float("nan")
    missing_branch: int = -1
    category_branch: list[int] = field(default_factory=list)
    first_child: int = -1
    n_children: int = 0


@dataclass(frozen=True)
class NodeSplit:
    """A rule and the class counts of its branches."""

    feature: int
    rule: dict[str, Any]
    counts: Floats
    n_children: int


class GrowingTree:
    """Nodes are numbered as they are made; children of a node are consecutive."""

    def __init__(self, counts: Floats, key: int) -> None:
        self.nodes = [Node(counts, 0, key)]

    def split(self, index: int, split: NodeSplit, key_of: Callable[[int], int]) -> list[int]:
        """Make the children of a node; returns their numbers."""
        node = self.nodes[index]
        node.feature = split.feature
        for name, value in split.rule.items():
            setattr(node, name, value)
        node.first_child, node.n_children = len(self.nodes), split.n_children
        for branch in range(split.n_children):
            self.nodes.append(Node(split.counts[branch], node.depth + 1, key_of(branch)))
        return list(range(node.first_child, len(self.nodes)))

    def laid_flat(self, n_features: int) -> Tree:
        """The tree so far, with nodes in the order in which they were made, for routing rows."""
        return _as_tree(self.nodes, list(range(len(self.nodes))), n_features)

    def laid_out(self, n_features: int) -> Tree:
        """The tree in depth-first order with each node's children consecutive."""
        order, pending = [0], [0]
        while pending:
            node = self.nodes[pending.pop()]
            children = list(range(node.first_child, node.first_child + node.n_children))
            order += children
            pending += children[::-1]
        return _as_tree(self.nodes, order, n_features)


def graft(tree: GrowingTree, index: int, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Put a grown subtree in the place of a node."""
    offset = len(tree.nodes) - 1  # node i of the subtree becomes offset + i; its root keeps its place
    start, categories = arrays["child_start"], arrays["category_start"]
    for i in range(len(arrays["feature"])):
        node = tree.nodes[index] if i == 0 else Node(arrays["inbag_class_counts"][i], 0, 0)
        if i > 0:
            tree.nodes.append(node)
        node.feature = int(arrays["feature"][i])
        node.threshold = float(arrays["threshold"][i])
        node.missing_branch = int(arrays["missing_branch"][i])
        node.category_branch = arrays["category_branch"][categories[i] : categories[i + 1]].tolist()
        children = arrays["child_nodes"][start[i] : start[i + 1]]
        node.n_children = len(children)
        node.first_child = offset + int(children[0]) if len(children) else -1


def _as_tree(nodes: Sequence[Node], order: Sequence[int], n_features: int) -> Tree:
    new_id = np.empty(len(nodes), dtype=np.int64)
    new_id[list(order)] = np.arange(len(order))
    listed = [nodes[index] for index in order]
    children = [new_id[node.first_child : node.first_child + node.n_children] for node in listed if node.n_children]
    categories = [np.asarray(node.category_branch) for node in listed if node.category_branch]
    nothing = np.empty(0, dtype=np.int64)
    return Tree._trusted(
        n_features=n_features,
        feature=np.array([node.feature for node in listed]),
        threshold=np.array([node.threshold for node in listed]),
        child_start=_starts([node.n_children for node in listed]),
        child_nodes=np.concatenate([nothing, *children]),
        missing_branch=np.array([node.missing_branch for node in listed]),
        category_start=_starts([len(node.category_branch) for node in listed]),
        category_branch=np.concatenate([nothing, *categories]),
        inbag_class_counts=np.stack([node.counts for node in listed]),
    )


def _starts(sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))])
