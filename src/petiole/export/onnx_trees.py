"""Trees as the nodes of ONNX's tree ensemble, which can only compare numbers with thresholds.

A numeric split becomes one node. A categorical split becomes a search by halves: over the category codes where every
child is found in one piece of them, otherwise over the numbers of its branches, which come in as a further column. ONNX
has no row that is in several leaves at once, so where petiole would divide a row over branches (a missing value, a
category that the node has never seen) the row ends in a leaf that says it is lost.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._tree.tree import Tree
from petiole.export.leaf_sums import Entries, LeafSums, ScoreTree
from petiole.export.onnx_columns import MISSING_CODE, add_branch_columns
from petiole.export.onnx_graph import ML, Graph

LOST = -1  # in place of a child: the row would be divided
_FIELDS = ("featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")


class BranchColumns:
    """Columns with the branch that a category takes at categorical splits; equal splits share one."""

    def __init__(self, n_features: int) -> None:
        self.first = n_features
        self._positions: dict[tuple[int, tuple[int, ...]], int] = {}

    def column(self, feature: int, branches: Sequence[int]) -> int:
        """The column for these branches of codes 0, 1, …, and last the branch of what is missing."""
        return self._positions.setdefault((feature, tuple(branches)), self.first + len(self._positions))

    def tables(self) -> list[tuple[int, tuple[int, ...]]]:
        """The feature and the branches of each column, in order."""
        return list(self._positions)


class TreeNodes:
    """The nodes of one tree, node ids kept, with those that categorical splits need behind them."""

    def __init__(self, tree: Tree | ScoreTree, branch_columns: BranchColumns, to_check: Set[int]) -> None:
        self._tree = tree
        self._branch_columns = branch_columns
        is_split = ~tree.is_leaf
        self.columns: dict[str, list[Any]] = {
            "featureids": np.where(is_split, tree.feature, 0).tolist(),
            "values": np.where(np.isnan(tree.threshold), 0.0, tree.threshold).tolist(),
            "modes": np.where(is_split, "BRANCH_LEQ", "LEAF").tolist(),
            "truenodeids": self._child(is_split, 0).tolist(),
            "falsenodeids": self._child(is_split, 1).tolist(),
            # A missing value fails every comparison, which leads it to branch 1.
            "missing_value_tracks_true": (is_split & (tree.missing_branch == 0)).astype(int).tolist(),
        }
        self.copies: list[tuple[int, int]] = []  # leaves that occur once more, and what they are copies of
        self.lost: list[int] = []
        self._used: set[int] = set()
        for node in divisions(tree, to_check):
            self._check_missing(node, LOST)
        for node in np.flatnonzero(is_split & ~np.isnan(tree.threshold) & (tree.missing_branch > 1)).tolist():
            self._check_missing(node, int(tree.child_nodes[tree.child_start[node] + tree.missing_branch[node]]))
        for node in np.flatnonzero(is_split & np.isnan(tree.threshold)).tolist():
            self._search(node)

    def __len__(self) -> int:
        return len(self.columns["values"])

    def _child(self, is_split: npt.NDArray[np.bool_], branch: int) -> npt.NDArray[Any]:
        tree = self._tree
        has_it = is_split & (np.diff(tree.child_start) > branch)
        position = np.where(has_it, tree.child_start[:-1] + branch, 0)
        return np.where(has_it, tree.child_nodes[position], 0) if len(tree.child_nodes) else np.zeros(tree.n_nodes, int)

    def _check_missing(self, node: int, goal: int) -> None:
        """Lead rows that lack the feature elsewhere before they come to a node."""
        feature, after = self.columns["featureids"][node], self._append()
        for name in _FIELDS:
            self.columns[name][after] = self.columns[name][node]
        check = (feature, np.inf, "BRANCH_LEQ", after, self._leaf_or_child(goal), 0)
        for name, value in zip(_FIELDS, check, strict=True):
            self.columns[name][node] = value

    def _search(self, node: int) -> None:
        """Replace a categorical split by comparisons."""
        tree = self._tree
        branches = tree.category_branch[tree.category_start[node] : tree.category_start[node + 1]].tolist()
        children = tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]].tolist()
        otherwise = int(tree.missing_branch[node])
        branches = [branch if branch >= 0 else otherwise for branch in branches]
        goals = [children[branch] if branch >= 0 else LOST for branch in (otherwise, *branches)]
        pieces = [0] + [i for i in range(1, len(goals)) if goals[i] != goals[i - 1]]
        found = [goals[start] for start in pieces]
        if any(found.count(goal) > 1 and goal != LOST and not tree.is_leaf[goal] for goal in found):
            lost = len(children)
            column = [branch if branch >= 0 else lost for branch in (*branches, otherwise)]
            feature = self._branch_columns.column(int(tree.feature[node]), column)
            goals = [*children, LOST] if lost in column else children
            self._halve(node, feature, goals, list(range(len(goals))))
        else:
            self._halve(node, int(tree.feature[node]), found, [start + MISSING_CODE for start in pieces])

    def _halve(self, node: int, feature: int, goals: list[int], starts: list[int]) -> None:
        """Lead values from ``starts[i]`` up to the next start to ``goals[i]``."""
        middle = max(1, len(goals) // 2)
        bound = starts[middle] - 0.5 if middle < len(starts) else float(starts[0])
        children = []
        for part in (slice(0, middle), slice(middle, None)):
            inner = goals[part]
            if len(inner) > 1:
                children.append(self._append())
                self._halve(children[-1], feature, inner, starts[part])
            else:
                children.append(self._leaf_or_child(inner[0] if inner else goals[0]))
        for name, value in zip(_FIELDS, (feature, bound, "BRANCH_LEQ", *children, 0), strict=True):
            self.columns[name][node] = value

    def _leaf_or_child(self, goal: int) -> int:
        if goal == LOST:
            self.lost.append(self._append())
            return self.lost[-1]
        if goal in self._used and self._tree.is_leaf[goal]:
            self.copies.append((self._append(), goal))
            return self.copies[-1][0]
        self._used.add(goal)
        return goal

    def _append(self) -> int:
        for name, value in zip(_FIELDS, (0, 0.0, "LEAF", 0, 0, 0), strict=True):
            self.columns[name].append(value)
        return len(self) - 1


def missing_by_tree(trees: Sequence[Tree | ScoreTree]) -> tuple[list[int], set[int]]:
    """Numeric features whose missing values every split divides; those of which only some splits do."""
    dividing: set[int] = set()
    leading: set[int] = set()
    for tree in trees:
        numeric = ~tree.is_leaf & ~np.isnan(tree.threshold)
        dividing.update(tree.feature[numeric & (tree.missing_branch < 0)].tolist())
        leading.update(tree.feature[numeric & (tree.missing_branch >= 0)].tolist())
    return sorted(dividing - leading), dividing & leading


def divisions(tree: Tree | ScoreTree, features: Set[int]) -> list[int]:
    """The splits that divide rows which lack one of these features, as far as such rows come to them."""
    found: list[int] = []
    pending: list[tuple[int, frozenset[int]]] = [(0, frozenset(features))] if features else []
    while pending:
        node, open_features = pending.pop()
        feature, branch = int(tree.feature[node]), int(tree.missing_branch[node])
        if feature in open_features and branch < 0:
            found.append(node)
        for position, child in enumerate(
            tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]].tolist()
        ):
            known = feature in open_features and position != branch
            pending.append((child, open_features - {feature} if known else open_features))
    return found


def tree_ensemble_attributes(sums: LeafSums, branch_columns: BranchColumns) -> tuple[dict[str, Any], bool]:
    """The attributes of a TreeEnsembleRegressor, and whether rows can get lost.

    If they can, one more column counts the trees in which a row is lost.
    """
    _, to_check = missing_by_tree(sums.trees)
    columns: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", *_FIELDS)}
    targets: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    loses_rows = False
    for index, (tree, entries) in enumerate(zip(sums.trees, sums.entries, strict=True)):
        nodes = TreeNodes(tree, branch_columns, to_check)
        columns["treeids"] += [index] * len(nodes)
        columns["nodeids"] += range(len(nodes))
        for name in _FIELDS:
            columns[name] += nodes.columns[name]
        at_node = _at_nodes(nodes, tree, entries, sums.n_columns)
        targets["treeids"].append(np.full(len(at_node.leaf), index))
        for name, array in zip(("nodeids", "ids", "weights"), at_node, strict=True):
            targets[name].append(array)
        loses_rows = loses_rows or bool(nodes.lost)
    attributes: dict[str, Any] = {
        "n_targets": sums.n_columns + loses_rows,
        "nodes_values_as_tensor": np.array(columns.pop("values"), dtype=np.float64),
        "target_weights_as_tensor": np.concatenate(targets.pop("weights")).astype(np.float64),
    }
    if not any(columns["missing_value_tracks_true"]):  # which is what a reader takes for granted
        del columns["missing_value_tracks_true"]
    attributes |= {f"nodes_{name}": values for name, values in columns.items()}
    attributes |= {f"target_{name}": np.concatenate(parts).tolist() for name, parts in targets.items()}
    return attributes, loses_rows


def _at_nodes(nodes: TreeNodes, tree: Tree | ScoreTree, entries: Entries, lost_column: int) -> Entries:
    """What leaves add, by node id, with the copies of leaves and the leaves of lost rows."""
    parts = [entries._replace(leaf=tree.leaves[entries.leaf])]
    for copy, original in nodes.copies:
        at_original = parts[0].leaf == original
        n = np.count_nonzero(at_original)
        parts.append(Entries(np.full(n, copy), parts[0].column[at_original], parts[0].value[at_original]))
    lost = np.array(nodes.lost, dtype=np.int64)
    parts.append(Entries(lost, np.full(len(lost), lost_column), np.ones(len(lost))))
    return Entries.together(parts)


def sum_leaves(graph: Graph, matrix: str, sums: LeafSums) -> str:
    """The sums over the trees in double precision; rows that get lost become NaN."""
    branch_columns = BranchColumns(sums.trees[0].n_features)
    attributes, loses_rows = tree_ensemble_attributes(sums, branch_columns)
    columns = add_branch_columns(graph, matrix, branch_columns.tables())
    found = graph.add("TreeEnsembleRegressor", columns, domain=ML, aggregate_function="SUM", **attributes)
    total = graph.cast(found, np.float64)
    if loses_rows:
        is_lost = graph.add("Greater", graph.columns(total, sums.n_columns, sums.n_columns + 1), graph.constant(0.5))
        total = _nan_where(graph, is_lost, graph.columns(total, 0, sums.n_columns))
    spread, _ = missing_by_tree(sums.trees)
    if spread:
        is_missing = graph.is_missing(graph.take_columns(matrix, np.array(spread, dtype=np.int64)))
        any_missing = graph.largest(graph.cast(is_missing, np.float64))
        total = _nan_where(graph, graph.add("Greater", any_missing, graph.constant(0.5)), total)
    return total


def _nan_where(graph: Graph, condition: str, values: str) -> str:
    graph.loses_rows = True
    return graph.add("Where", condition, graph.constant(np.nan), values)
