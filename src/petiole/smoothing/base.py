"""What a leaf estimator is."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from petiole.tree import Tree


class LeafEstimator(BaseEstimator):
    """A pure function from a tree's class counts to class probabilities of its nodes.

    A subclass says what its parameters mean in ``node_probabilities``; it never changes the tree, so one grown tree
    serves any number of estimators. Parameters follow scikit-learn's rules: ``get_params``, ``set_params`` and
    ``clone`` work, and a grid search can reach them as ``smoothing__<name>``.
    """

    @abstractmethod
    def node_probabilities(self, tree: Tree) -> np.ndarray:
        """Class probabilities of every node, shape (n_nodes, n_classes); each row sums to 1."""

    def check_parameters(self) -> None:
        """Raise an error that names the parameter, its value and the remedy, if one is out of range."""


def from_parent_where_empty(tree: Tree, probabilities: np.ndarray) -> np.ndarray:
    """Give nodes that no training row reached the row of their nearest ancestor that some did.

    A multiway split on a nominal attribute has an empty branch for values not seen at the node; C4.5 and Weka's J48
    answer there with the parent's distribution. Changes ``probabilities`` in place and returns it.
    """
    empty = np.flatnonzero(tree.inbag_class_counts.sum(axis=1) <= 0)
    for node in empty[np.argsort(tree.node_depth[empty], kind="stable")]:
        parent = tree.parent[node]
        probabilities[node] = 1.0 / tree.n_classes if parent < 0 else probabilities[parent]
    return probabilities
