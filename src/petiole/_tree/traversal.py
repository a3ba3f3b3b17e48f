"""Traversals map queries to weights over a tree's nodes. The probabilities of nodes are looked up separately."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from petiole._tree.tree import Tree


def leaf_ids(tree: Tree, matrix: npt.NDArray[Any], *, n_threads: int = 1) -> npt.NDArray[np.int64]:
    """The leaf of each row; where a missing value would spread the row, the heaviest branch is followed."""
    return tree.router.apply(matrix, n_threads).astype(np.int64)


def leaf_weights(tree: Tree, matrix: npt.NDArray[Any]) -> sparse.csr_matrix:
    """W of the one equation: for each row its weights over leaves, shape (n_rows, n_nodes), rows sum to 1.

    A row without missing values has one leaf. A missing value spreads over the branches as in C4.5.
    """
    return _as_csr(tree, tree.router.traverse(matrix, False))


def path_weights(tree: Tree, matrix: npt.NDArray[Any]) -> sparse.csr_matrix:
    """For each row the weight with which it passes every node, shape (n_rows, n_nodes)."""
    return _as_csr(tree, tree.router.traverse(matrix, True))


def average(
    tree: Tree, matrix: npt.NDArray[Any], table: npt.NDArray[np.float64], *, n_threads: int = 1
) -> npt.NDArray[np.float64]:
    """W · Θ: for each row the mean of the table's rows over the leaves it reaches."""
    return tree.router.average(matrix, table, n_threads)


def class_counts(
    tree: Tree,
    matrix: npt.NDArray[Any],
    labels: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.float64]:
    """Class counts of any rows at every node; counts of batches add up."""
    return tree.router.count(matrix, labels, weights, tree.n_classes)


def _as_csr(tree: Tree, found: tuple[Any, Any, Any]) -> sparse.csr_matrix:
    start, node, weight = found
    matrix = sparse.csr_matrix((weight, node, start), shape=(len(start) - 1, tree.n_nodes))
    matrix.sort_indices()
    return matrix
