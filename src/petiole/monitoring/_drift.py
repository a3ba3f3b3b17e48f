"""Whether new rows are distributed as the training rows are: by columns, and by the leaves that they reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2

from petiole._forest.forest import Forest
from petiole._table.columns import Floats
from petiole._table.groups import Codes, ColumnGroups
from petiole._tree.tree import Tree
from petiole.monitoring._reference import Reference

FAR = 0.1  # Jensen-Shannon distance from which on a drift that is sure counts as large
LEAST_EXPECTED = 5.0
MOST_TREES = 64
SHARE_OF_REGION = 1 / 16  # of the training rows: leaves with fewer are joined with their neighbours


@dataclass(frozen=True)
class ColumnDrift:
    """How much the distribution of a column has changed in new rows.

    Attributes
    ----------
    name : str
        The column.
    distance : float
        Jensen–Shannon distance of the distributions over categories, tenths of a number, and missing values: the root
        of the divergence in bits, from 0 to 1.
    p_value : float
        That of a χ² test that both distributions are the same, adjusted for the number of columns (Holm).
    changed : str
        The category or range whose share has changed most.
    before, now : float
        The share of this category or range among the training rows and the new rows.
    drifted : bool
        Whether the p-value is below the level and the distance at least 0.1.
    """

    name: str
    distance: float
    p_value: float
    changed: str
    before: float
    now: float
    drifted: bool


@dataclass(frozen=True)
class LeafDrift:
    """How much the distribution of rows over the leaves of a model's trees has changed.

    Attributes
    ----------
    distance : float
        Jensen–Shannon distance of the distributions over regions of a tree, the median over trees. Regions are leaves,
        and those with few training rows are joined.
    p_value : float
        The smallest p-value of a tree's χ² test, times the number of trees.
    n_trees : int
        The number of trees that were compared.
    drifted : bool
        Whether the p-value is below the level and the distance at least 0.1.
    """

    distance: float
    p_value: float
    n_trees: int
    drifted: bool


def column_drift(
    reference: Reference, columns: ColumnGroups, cells: Codes, weights: Floats, alpha: float = 0.05
) -> list[ColumnDrift]:
    """Compare the columns of new rows with those of the training rows, the most different first.

    Parameters
    ----------
    reference : Reference
    columns : ColumnGroups
        As ``reference.columns(encoder)`` gives them.
    cells : int array of shape (n_rows, n_features)
        The code of each row in each feature, as ``columns.codes`` gives them.
    weights : array of shape (n_rows,)
    """
    found = []
    for j, (name, n_codes) in enumerate(zip(columns.names, columns.n_codes, strict=True)):
        old, new = reference.code_weights[j], np.bincount(cells[:, j], weights, minlength=n_codes).astype(np.float64)
        before, now = old / old.sum(), new / new.sum()
        most = int(np.abs(now - before).argmax())
        found.append(
            (name, distance(before, now), homogeneity(old, new), columns.title(j, most), before[most], now[most])
        )
    adjusted = holm([entry[2] for entry in found])
    drifts = [
        ColumnDrift(name, far, p, title, float(before), float(now), bool(p < alpha and far >= FAR))
        for (name, far, _, title, before, now), p in zip(found, adjusted, strict=True)
    ]
    return sorted(drifts, key=lambda one: -one.distance)


def leaf_drift(model: Any, matrix: Any, weights: Floats, alpha: float = 0.05) -> LeafDrift | None:
    """Compare the leaves that new rows reach with those of the training rows; None for models without trees of counts.

    The counts of the trees' nodes are the training rows, in bag and out of bag, so nothing else has to be kept.
    """
    trees = trees_of(model)
    if not trees:
        return None
    distances, p_values = [], []
    for tree in trees:
        region, shares, n = regions(tree)
        leaf = np.asarray(tree.router.apply(matrix, 1)).ravel().astype(np.intp)
        new = np.bincount(region[leaf], weights, minlength=len(shares)).astype(np.float64)
        distances.append(distance(shares, new / new.sum()))
        # A row is in the sample of a tree more than once: the counts say less than as many rows would.
        p_values.append(homogeneity(shares * n / 2, new))
    far, p_value = float(np.median(distances)), min(1.0, len(trees) * min(p_values))
    return LeafDrift(far, p_value, len(trees), bool(p_value < alpha and far >= FAR))


def trees_of(model: Any) -> list[Tree]:
    """Some trees of a model whose nodes hold counts of rows."""
    while model is not None:
        if isinstance(getattr(model, "tree_", None), Tree):
            return [model.tree_]
        if isinstance(getattr(model, "trees_", None), Forest):
            return [model.trees_[i] for i in range(min(len(model.trees_), MOST_TREES))]
        model = getattr(model, "estimator_", None) or getattr(model, "estimator", None)
    return []


def regions(tree: Tree) -> tuple[Codes, Floats, float]:
    """The region of every node of a tree, the share of the training rows in each region, and the weight of all rows.

    A node with fewer than a sixteenth of the rows belongs to the region of its parent.
    """
    counts = (tree.inbag_class_counts + tree.oob_class_counts).sum(axis=1)
    total = float(counts[0])
    head = np.arange(tree.n_nodes)
    for node in np.argsort(tree.node_depth, kind="stable")[1:].tolist():
        if counts[node] < SHARE_OF_REGION * total:
            head[node] = head[tree.parent[node]]
    ends = np.flatnonzero(tree.is_leaf)
    names, region_of_leaf = np.unique(head[ends], return_inverse=True)
    region = np.zeros(tree.n_nodes, dtype=np.intp)
    region[ends] = region_of_leaf
    weights = np.bincount(region_of_leaf, counts[ends], minlength=len(names))
    return region, weights / weights.sum(), total


def distance(one: Floats, other: Floats) -> float:
    """The Jensen–Shannon distance of two distributions, with logarithms to base 2.

    >>> distance(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    middle = (one + other) / 2
    entropies = [float(-xlogy(p, p).sum() / np.log(2)) for p in (middle, one, other)]
    return float(np.sqrt(max(entropies[0] - (entropies[1] + entropies[2]) / 2, 0.0)))


def homogeneity(old: Floats, new: Floats) -> float:
    """The p-value of the χ² test that two samples come from one distribution; rare values are taken together."""
    n_old, n_new = old.sum(), new.sum()
    expected = (old + new) * min(n_old, n_new) / (n_old + n_new)
    rare = expected < LEAST_EXPECTED
    table = np.stack([old, new])
    merged = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    merged = merged[:, merged.sum(axis=0) > 0]
    if merged.shape[1] < 2:
        return 1.0
    means = merged.sum(axis=0) * np.array([[n_old], [n_new]]) / (n_old + n_new)
    return float(chi2.sf(((merged - means) ** 2 / means).sum(), merged.shape[1] - 1))


def holm(p_values: list[float]) -> list[float]:
    """P-values adjusted for their number.

    >>> holm([0.01, 0.04, 0.5])
    [0.03, 0.08, 0.5]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    scaled = np.array(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    found: list[float] = adjusted.tolist()
    return found
