"""Estimators that use a node's own counts only: raw frequencies, Laplace's correction, the m-estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from petiole._validation import LARGEST, as_row_numbers, check_number
from petiole.smoothing.base import (
    HeldOut,
    LeafEstimator,
    Table,
    best_on_held_out,
    from_parent_where_empty,
    minimise_on_held_out,
    need_learning,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from petiole._tree.tree import Tree

Counts = npt.NDArray[np.float64]


class Raw(LeafEstimator):
    """The frequencies of the training rows: n_k / n.

    They are unbiased at a node that is chosen beforehand. But tree growth chooses nodes where they are extreme, so the
    leaves of a deep tree give 0 or 1 with two rows. A node without rows takes its parent's frequencies.

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import Raw
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [8, 2], [1, 5]])
    >>> Raw().node_probabilities(tree).round(3).tolist()
    [[0.562, 0.438], [0.8, 0.2], [0.167, 0.833]]
    """

    def pseudo_counts(self, root: Counts) -> Counts:
        return np.zeros_like(root)

    def node_probabilities(self, tree: Tree) -> Table:
        return tree.node_counts.frequencies()


class Laplace(LeafEstimator):
    """Laplace's correction: (n_k + λ_k) / (n + Σ λ), one added row per class by default.

    C4.4 and B-PETs use it (Provost & Domingos 2003): with two classes, a leaf with two rows of one class gives 3/4
    instead of 1. A node without rows takes its parent's estimate, as in J48.

    Parameters
    ----------
    prior : float or array of shape (n_classes,), default=1.0
        The added rows, the same for every class or one number per class in the order of ``classes_``.

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
        self._prior()

    def _prior(self) -> Counts:
        remedy = f"must be a number between 0 and {LARGEST:g}, or one such number per class"
        prior = as_row_numbers("prior", self.prior, remedy)
        if not prior.size:
            raise ValueError(f"prior={self.prior!r}: {remedy}")
        return prior

    def pseudo_counts(self, root: Counts) -> Counts:
        prior = self._prior()
        if prior.ndim == 1 and prior.size != root.size:
            raise ValueError(
                f"prior has {prior.size} entries but there are {root.size} classes: give one number per class, "
                "in the order of classes_, or a single number"
            )
        return np.broadcast_to(prior, root.shape)

    def node_probabilities(self, tree: Tree) -> Table:
        return _frequencies(tree, self.pseudo_counts(tree.inbag_class_counts[0]))


# The values that m="cv" tries: 0 and powers of two.
M_GRID = (0.0, *(2.0**i for i in range(-2, 12)))


class MEstimate(LeafEstimator):
    """The m-estimate (Cestnik 1990; Zadrozny & Elkan 2001, 2.2): (n_k + m·b_k) / (n + m), b the base rates.

    It shifts a small leaf towards the base rates instead of towards equal shares, which matters when a class is rare.
    A node without rows takes its parent's estimate.

    Parameters
    ----------
    m : "auto", "cv", "honest" or float, default="auto"
        "auto" follows the papers' rule b·m = 10 for the rarest class. "cv" takes the best value of a grid by
        cross-validation with new trees, as Cussens suggests. "honest" finds the best m on rows that the tree has not
        seen: cross-fitted folds for a single tree, the out-of-bag rows in an ensemble.
    base_rate : "training", "uniform" or array of shape (n_classes,), default="training"

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import MEstimate
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [8, 2], [1, 5]])
    >>> MEstimate(m=4).node_probabilities(tree).round(3).tolist()
    [[0.562, 0.438], [0.732, 0.268], [0.325, 0.675]]
    """

    def __init__(self, m: float | str = "auto", base_rate: str | ArrayLike = "training") -> None:
        self.m = m
        self.base_rate = base_rate

    def check_parameters(self) -> None:
        if isinstance(self.m, str):
            if self.m not in ("auto", "cv", "honest"):
                raise ValueError(f"m={self.m!r}: must be 'auto', 'cv', 'honest' or a number at least 0")
        else:
            check_number("m", self.m, 0)
        if isinstance(self.base_rate, str) and self.base_rate not in ("training", "uniform"):
            raise ValueError(f"base_rate={self.base_rate!r}: must be 'training', 'uniform' or one number per class")

    @property
    def needs_held_out(self) -> bool:
        return self.m in ("cv", "honest") if isinstance(self.m, str) else False

    @property
    def out_of_bag_serves(self) -> bool:
        return not (isinstance(self.m, str) and self.m == "cv")

    def learned(self, held_out: Sequence[HeldOut]) -> LeafEstimator:
        if isinstance(self.m, str) and self.m == "cv":
            return best_on_held_out([MEstimate(m, self.base_rate) for m in M_GRID], held_out)
        if isinstance(self.m, str) and self.m == "honest":
            return minimise_on_held_out(lambda m: MEstimate(m, self.base_rate), held_out, (1e-2, 1e4))
        return self

    def pseudo_counts(self, root: Counts) -> Counts:
        self.check_parameters()
        rates = base_rates(root, self.base_rate)
        return self._m(rates) * rates

    def node_probabilities(self, tree: Tree) -> Table:
        return _frequencies(tree, self.pseudo_counts(tree.inbag_class_counts[0]))

    def _m(self, rates: Any) -> float:
        if not isinstance(self.m, str):
            return float(self.m)
        if self.m == "auto":
            return ten_of_the_rarest(rates)
        raise need_learning(self, "m", self.m)


def _frequencies(tree: Tree, pseudo: Counts) -> Table:
    smoothed = tree.inbag_class_counts + pseudo
    weights = smoothed.sum(axis=1, keepdims=True)
    return from_parent_where_empty(tree, smoothed / np.where(weights > 0, weights, 1.0))


def base_rates(root: Counts, base_rate: str | ArrayLike = "training") -> Any:
    """The base rate of every class: those of the tree's root, 1/K, or the user's."""
    if isinstance(base_rate, str) and base_rate == "uniform":
        return np.full(root.size, 1.0 / root.size)
    if isinstance(base_rate, str):
        return root / root.sum() if root.sum() > 0 else np.full(root.size, 1.0 / root.size)
    remedy = f"must be {root.size} numbers between 0 and {LARGEST:g}, one per class"
    rates = as_row_numbers("base_rate", base_rate, remedy)
    if rates.shape != root.shape or not rates.any():
        raise ValueError(f"base_rate={base_rate!r}: {remedy}")
    return rates / rates.sum()


def ten_of_the_rarest(rates: Any) -> float:
    """The number of rows that contain ten of the rarest class on average: the papers' b·m = b·v = 10."""
    return 10.0 / float(rates[rates > 0].min())
