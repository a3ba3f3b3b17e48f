"""The soft traversal of one tree: the weights over leaves of a query whose values are perturbed (Geurts 2001)."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from scipy import sparse

from petiole import _core
from petiole._dual.noise import Perturbation
from petiole._tree.tree import Tree


def soft_leaf_weights(
    tree: Tree, matrix: npt.NDArray[Any], perturbation: Perturbation, *, n_threads: int = 1
) -> sparse.csr_matrix:
    """The probability that each row, perturbed, reaches each leaf: shape (n_rows, n_nodes), rows sum to 1.

    With ``mode="product"`` that of a leaf is the product over the tests on its path (Geurts 2001, eq. 3 to 5). With
    "exact" it is the product over the features of the probability that the perturbed value lies between the tightest
    bounds of the path. The two are the same where no feature is tested twice on a path.

    >>> import numpy as np
    >>> tree = Tree.from_arrays(
    ...     feature=[0, -1, 0, -1, -1],
    ...     threshold=[2, np.nan, 3, np.nan, np.nan],
    ...     left=[1, -1, 3, -1, -1],
    ...     right=[2, -1, 4, -1, -1],
    ...     inbag_class_counts=[[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
    ... )
    >>> for mode in ("exact", "product"):
    ...     noise = Perturbation(np.array([0.5]), np.zeros(1), [np.empty(0)], mode)
    ...     soft_leaf_weights(tree, np.array([[1.5]]), noise).toarray()[0, tree.leaves].round(6)
    array([0.841345, 0.157305, 0.00135 ])
    array([8.41345e-01, 1.58441e-01, 2.14000e-04])
    """
    start, leaf, mass = _core.SoftRouter.of_tree(tree.arrays).leaves(matrix, perturbation.core, 0, n_threads)
    found = sparse.csr_matrix((mass, tree.leaves[leaf], start), shape=(len(start) - 1, tree.n_nodes))
    found.sort_indices()
    return found
