"""Estimators that look at a node's own counts only: raw frequencies and Laplace's correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from petiole.smoothing.base import LeafEstimator, from_parent_where_empty

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from petiole.tree import Tree


class Raw(LeafEstimator):
    """The frequencies of the training rows: n_k / n.

    Unbiased at a node chosen beforehand, but growth looks for nodes where they are extreme: leaves of a deep tree say 0
    or 1 on the evidence of two rows. A node without rows takes its parent's frequencies.

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import Raw
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [8, 2], [1, 5]])
    >>> Raw().node_probabilities(tree).round(3).tolist()
    [[0.562, 0.438], [0.8, 0.2], [0.167, 0.833]]
    """

    def node_probabilities(self, tree: Tree) -> np.ndarray:
        counts = tree.inbag_class_counts
        weights = counts.sum(axis=1, keepdims=True)
        return from_parent_where_empty(tree, counts / np.where(weights > 0, weights, 1.0))


class Laplace(LeafEstimator):
    """Laplace's correction: (n_k + λ_k) / (n + Σ λ), one pretended row per class by default.

    C4.4 and B-PETs use it (Provost & Domingos 2003): a leaf with two rows of one class says 3/4 rather than 1. A node
    without rows takes its parent's estimate, as in J48.

    Parameters
    ----------
    prior : float or array of shape (n_classes,), default=1.0
        The pretended rows, the same for every class or one number per class in the order of ``classes_``.

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import Laplace
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [8, 2], [1, 5]])
    >>> Laplace().node_probabilities(tree).round(3).tolist()
    [[0.556, 0.444], [0.75, 0.25], [0.25, 0.75]]
    """

    def __init__(self, prior: float | ArrayLike = 1.0) -> None:
        self.prior = prior

    def check_parameters(self) -> None:
        prior = np.asarray(self.prior, dtype=float)
        if prior.ndim > 1 or prior.size == 0 or not np.all(np.isfinite(prior)) or np.any(prior < 0):
            raise ValueError(f"prior={self.prior!r}: must be a number at least 0, or one such number per class")

    def node_probabilities(self, tree: Tree) -> np.ndarray:
        self.check_parameters()
        prior = np.asarray(self.prior, dtype=float)
        if prior.ndim == 1 and prior.size != tree.n_classes:
            raise ValueError(
                f"prior has {prior.size} entries but there are {tree.n_classes} classes: give one number per class, "
                "in the order of classes_, or a single number"
            )
        smoothed = tree.inbag_class_counts + prior
        weights = smoothed.sum(axis=1, keepdims=True)
        return from_parent_where_empty(tree, smoothed / np.where(weights > 0, weights, 1.0))
