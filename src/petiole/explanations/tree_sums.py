"""Shapley values of what trees add up to: means over a forest's leaf tables, and scores of boosted trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._boosting.trees import BoostedTrees
from petiole._forest.forest import Forest
from petiole._tree.tree import Tree
from petiole.explanations.additive import Additive

Floats = npt.NDArray[np.float64]


class Asked(NamedTuple):
    """The rows that are explained, encoded, and what stands in for columns that are not known.

    Without background rows, a row with an unknown column is divided at its splits as the training rows were.
    """

    matrix: npt.NDArray[Any]
    background: npt.NDArray[Any] | None
    n_threads: int


def explain_tree(tree: Tree, tables: _core.LeafTables, asked: Asked) -> Additive:
    """What one tree's table says."""
    found = _core.shapley_of_trees([tree.arrays], tables, asked.matrix, asked.background, asked.n_threads)
    return _shaped(found, asked, tables.n_columns)


def explain_forest(forest: Forest, tables: _core.LeafTables, asked: Asked) -> Additive:
    """The mean over trees of what their tables say."""
    found = _core.shapley_of_forest(forest.core, tables, asked.matrix, asked.background, asked.n_threads)
    return _shaped(found, asked, tables.n_columns).scaled(1.0 / len(forest))


def explain_boosted(trees: BoostedTrees, asked: Asked, starts: Additive | None = None) -> Additive:
    """The score of each class; ``starts`` take the place of the base scores."""
    if trees.weight is None and asked.background is None:
        raise ValueError(
            "background=None: boosted trees from a file of an earlier version do not say how many rows were at their "
            "nodes; pass background=rows of the training data, or fit again"
        )
    n_rows, n_columns = asked.matrix.shape
    values, base = np.zeros((n_rows, n_columns, trees.n_classes)), np.zeros(trees.n_classes)
    for score in range(trees.n_scores if trees.n_trees else 0):
        numbers = range(score, trees.n_trees, trees.n_scores)
        found = _core.shapley_of_trees(
            [trees.tree_arrays(number) for number in numbers],
            _core.LeafTables([_leaf_scores(trees, number) for number in numbers], 1),
            asked.matrix,
            asked.background,
            asked.n_threads,
        )
        of_score = _shaped(found, asked, 1)
        k = 1 if trees.n_classes == 2 else score
        values[:, :, k], base[k] = of_score.values[:, :, 0], of_score.base[0]
    return Additive(values, base).plus(starts or Additive(np.zeros((1, 1, trees.n_classes)), trees.base))


def _leaf_scores(trees: BoostedTrees, number: int) -> Floats:
    nodes = slice(trees.node_start[number], trees.node_start[number + 1])
    return np.ascontiguousarray(trees.value[nodes][trees.feature[nodes] < 0][:, np.newaxis])


def _shaped(found: tuple[Any, Any], asked: Asked, n_outputs: int) -> Additive:
    values, base = found
    return Additive(np.asarray(values).reshape(*asked.matrix.shape, n_outputs), np.asarray(base))
