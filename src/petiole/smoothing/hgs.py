"""Hierarchical gradient smoothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize

from petiole import _core
from petiole._validation import LARGEST, as_row_numbers, check_choice, check_number
from petiole.smoothing.base import HeldOut, LeafEstimator, Table, best_on_held_out, need_learning

if TYPE_CHECKING:
    from petiole._tree.tree import Tree

Floats = npt.NDArray[np.float64]

# The values that alpha="cv" tries.
ALPHA_GRID = tuple(2.0**i for i in range(-5, 7))
# |ln alpha| stays below this while it is optimised.
LARGEST_LOG_ALPHA = 10.0
# Small trees converge in fewer steps; on large ones the cost hardly falls after these.
MAX_ITERATIONS = 30
# With a tiny step and no tolerance, the descent would never end.
MAX_STEPS = 10_000
# How strongly levels are pulled towards their common alpha, in bits per squared step of ln alpha.
LEVEL_PENALTY = 4.0

_NAMES = ("ones", "gd", "loocv", "cv", "honest")


class PerLevel(tuple[float, ...]):
    """One alpha per depth, the root's first; deeper nodes take the last one."""

    def __new__(cls, alphas: Sequence[float]) -> PerLevel:
        return super().__new__(cls, (float(alpha) for alpha in alphas))

    def __repr__(self) -> str:
        return f"PerLevel([{', '.join(f'{alpha:.4g}' for alpha in self)}])"

    def of(self, tree: Tree) -> Floats:
        """The alpha of every node of a tree."""
        return np.array(self)[np.minimum(tree.node_depth, len(self) - 1)]


class HGS(LeafEstimator):
    """Hierarchical gradient smoothing (Zhang, Petitjean & Buntine 2020): a leaf is smoothed towards all its ancestors.

    θ_k = (n_k + Σ_p α_p n_pk/n_p) / (n + Σ_p α_p), summed over the proper ancestors p (eq. 4): with α = 1 each
    ancestor's distribution counts as one more row. A tree that is a single leaf gives raw frequencies, and a class
    absent from training gets 0.

    Parameters
    ----------
    alpha : "ones", "gd", "loocv", "cv", "honest", a number, an array, or PerLevel, default="ones"
        "ones" is α = 1 everywhere. "gd" is exactly the paper's Algorithm 1; with its settings it stops after one step
        on nearly every tree (103 of 106 data sets), which leaves α within 0.001 of 1. "loocv" minimises the paper's
        leave-one-out cost, and usually predicts worse, because the left-out labels were used to choose the splits.
        "cv" takes one shared α from a grid by cross-validation with new trees. "honest" learns one α per depth, pulled
        towards a shared one, on rows that the tree has not seen: cross-fitted folds for a single tree, the out-of-bag
        rows in an ensemble. A number is shared by all nodes; an array has one per internal node, in the order of node
        ids.
    loss : {"log", "squared"}, default="log"
        The loss that "gd", "loocv", "cv" and "honest" minimise.
    learning_rate, tol : float, default=0.01 and 1e-4
        Step and stopping difference of "gd".

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import HGS
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [8, 2], [1, 5]])
    >>> HGS().node_probabilities(tree).round(3).tolist()
    [[0.562, 0.438], [0.778, 0.222], [0.223, 0.777]]
    """

    def __init__(
        self,
        alpha: str | float | npt.ArrayLike | PerLevel = "ones",
        loss: str = "log",
        learning_rate: float = 0.01,
        tol: float = 1e-4,
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.learning_rate = learning_rate
        self.tol = tol

    def check_parameters(self) -> None:
        check_choice("loss", self.loss, ("log", "squared"))
        check_number("learning_rate", self.learning_rate, 1e-12, 1e12)
        check_number("tol", self.tol, 0)
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, _NAMES)
        else:
            remedy = f"must be a name, a number between 0 and {LARGEST:g}, or one per internal node"
            as_row_numbers("alpha", self.alpha, remedy)
        if isinstance(self.alpha, PerLevel) and not self.alpha:
            raise ValueError("alpha=PerLevel([]): must have a number for the root at least")

    @property
    def needs_held_out(self) -> bool:
        return isinstance(self.alpha, str) and self.alpha in ("cv", "honest")

    @property
    def out_of_bag_serves(self) -> bool:
        return not (isinstance(self.alpha, str) and self.alpha == "cv")

    @property
    def learns_from_own_rows(self) -> bool:
        return isinstance(self.alpha, str) and self.alpha in ("gd", "loocv")

    def settled(self, tree: Tree) -> LeafEstimator:
        return self._with_alpha(self.alphas(tree)[~tree.is_leaf]) if self.learns_from_own_rows else self

    def learned(self, held_out: Sequence[HeldOut]) -> LeafEstimator:
        if not self.needs_held_out:
            return self
        if self.alpha == "cv":
            return best_on_held_out([self._with_alpha(alpha) for alpha in ALPHA_GRID], held_out, self.loss)
        return self._with_alpha(learn_levels(held_out, self.loss))

    def node_probabilities(self, tree: Tree) -> Table:
        self.check_parameters()
        return tree.node_counts.hgs(self.alphas(tree))

    def alphas(self, tree: Tree) -> Floats:
        """The alpha of every node; those of leaves are never used."""
        if isinstance(self.alpha, PerLevel):
            return self.alpha.of(tree)
        if not isinstance(self.alpha, str):
            return _spread(np.asarray(self.alpha, dtype=float), tree)
        if self.alpha == "gd":
            return descend(tree, self.loss, self.learning_rate, self.tol)
        if self.alpha == "loocv":
            return minimise_leave_one_out(tree, self.loss)
        if self.needs_held_out:
            raise need_learning(self, "alpha", self.alpha)
        return np.ones(tree.n_nodes)

    def _with_alpha(self, alpha: Any) -> HGS:
        return HGS(alpha, self.loss, self.learning_rate, self.tol)


def _spread(alpha: Floats, tree: Tree) -> Floats:
    """One number, or one per internal node, as an array over all nodes."""
    alphas = np.zeros(tree.n_nodes)
    internal = np.flatnonzero(~tree.is_leaf)
    if alpha.ndim == 1 and len(alpha) != len(internal):
        raise ValueError(
            f"alpha has {len(alpha)} entries, but the tree has {len(internal)} internal nodes: give one each"
        )
    alphas[internal] = alpha
    return alphas


def descend(tree: Tree, loss: str, learning_rate: float, tol: float) -> Floats:
    """Algorithm 1: from alpha = 1, steps against the gradient until the cost falls by less than ``tol``."""
    alphas = np.ones(tree.n_nodes)
    cost_at = tree.node_counts.leave_one_out_loss(getattr(_core.Loss, loss))
    cost, gradient = cost_at(alphas)
    for _ in range(MAX_STEPS):
        alphas = alphas - learning_rate * gradient
        new_cost, gradient = cost_at(alphas)
        if not cost - new_cost > tol:
            break
        cost = new_cost
    return np.clip(alphas, 0.0, LARGEST)


def minimise_leave_one_out(tree: Tree, loss: str) -> Floats:
    """The minimum of the same cost over ln alpha, which keeps alpha positive."""
    internal = np.flatnonzero(~tree.is_leaf)
    if internal.size == 0:
        return np.ones(tree.n_nodes)
    alphas = np.ones(tree.n_nodes)
    cost_at = tree.node_counts.leave_one_out_loss(getattr(_core.Loss, loss))

    # Small nodes hardly affect the cost; on this scale their derivatives are nearly as large as the root's.
    scale = (tree.weights[internal] / tree.weights[0]) ** 0.25

    def objective(x: Floats) -> tuple[float, Floats]:
        alphas[internal] = np.exp(x / scale)
        cost, gradient = cost_at(alphas)
        return cost, gradient[internal] * alphas[internal] / scale

    bounds = Bounds(-LARGEST_LOG_ALPHA * scale, LARGEST_LOG_ALPHA * scale)
    # The cost is an average over all rows, so its gradient is small: the stopping rule must be smaller.
    options = {"maxiter": MAX_ITERATIONS, "maxcor": 5, "ftol": 1e-10, "gtol": 1e-10}
    found = minimize(objective, np.zeros(internal.size), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    alphas[internal] = np.exp(found.x / scale)
    return alphas


def learn_levels(held_out: Sequence[HeldOut], loss: str, penalty: float = LEVEL_PENALTY) -> PerLevel:
    """One alpha per depth with the least held-out loss plus a penalty on its distance from the alpha they share."""
    depth = max((one.tree.depth for one in held_out), default=0)
    if depth == 0:
        return PerLevel([1.0])
    kind = getattr(_core.Loss, loss)
    losses = [one.tree.node_counts.held_out_loss(one.counts, kind) for one in held_out]
    levels_of = [np.minimum(one.tree.node_depth, depth - 1) for one in held_out]

    def objective(x: Floats) -> tuple[float, Floats]:
        by_level = np.exp(x[0] + x[1:])
        cost, slopes = 0.5 * penalty * float(x[1:] @ x[1:]), np.zeros(depth)
        for loss_at, levels in zip(losses, levels_of, strict=True):
            alphas = by_level[levels]
            part, gradient = loss_at(alphas)
            cost += part
            slopes += np.bincount(levels, gradient * alphas, minlength=depth)
        return cost, np.concatenate([[slopes.sum()], slopes + penalty * x[1:]])

    bounds = Bounds(np.full(depth + 1, -LARGEST_LOG_ALPHA), np.full(depth + 1, LARGEST_LOG_ALPHA))
    options = {"maxiter": 50, "ftol": 1e-7}
    found = minimize(objective, np.zeros(depth + 1), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return PerLevel(np.exp(found.x[0] + found.x[1:]))
