"""The base class of leaf estimators, and the held-out rows that they may learn from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from petiole.files.savable import SavableEstimator

if TYPE_CHECKING:
    from petiole._tree.tree import Tree

Table = npt.NDArray[np.float64]

# Probabilities are raised to this before a logarithm is taken, so that the loss stays finite where a table has 0.
LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A tree, and the class counts at its nodes of rows that it was not grown on.

    Such rows are the folds left out in cross-fitting, or the out-of-bag rows of a tree in an ensemble. They show how
    reliable a leaf is. The tree's own rows do not, because their labels were used to choose the splits.
    """

    tree: Tree
    counts: Table

    def loss(self, table: Table, loss: str = "log") -> float:
        """The summed loss of the held-out rows under a table: bits, or half the squared distance from 1."""
        leaves = self.tree.leaves
        counts, probabilities = self.counts[leaves], table[leaves]
        if loss == "squared":
            return float(0.5 * (counts * (1.0 - probabilities) ** 2).sum())
        return float(-(counts * np.log2(np.maximum(probabilities, LEAST_PROBABILITY))).sum())


class LeafEstimator(SavableEstimator, BaseEstimator):
    """A pure function from a tree's class counts to class probabilities of its nodes.

    A subclass implements ``node_probabilities``. It never changes the tree, so one grown tree serves any number of
    estimators. Parameters follow scikit-learn's rules: ``get_params``, ``set_params`` and
    ``clone`` work, and a grid search can reach them as ``smoothing__<name>``.

    An estimator with a parameter that is to be learned returns True in ``needs_held_out``; ``learned`` then returns the
    estimator with that parameter as a number.
    """

    @property
    def needs_held_out(self) -> bool:
        """Whether a parameter has to be learned from rows that the tree has not seen."""
        return False

    @property
    def out_of_bag_serves(self) -> bool:
        """Whether an ensemble's out-of-bag rows can serve as held-out rows; otherwise further trees are grown."""
        return True

    def learned(self, held_out: Sequence[HeldOut]) -> LeafEstimator:
        """The estimator with its parameters learned from held-out rows."""
        return self

    @property
    def learns_from_own_rows(self) -> bool:
        """Whether a parameter is learned from a tree's own rows, each left out in turn."""
        return False

    def settled(self, tree: Tree) -> LeafEstimator:
        """The estimator with what it learns from the tree's own rows; its counts must have every row once.

        A bootstrap sample may contain a row several times, and leaving out one copy would leave the others in.
        """
        return self

    @property
    def is_repeatable(self) -> bool:
        """Whether the same counts quickly give the same probabilities every time; sampled ones do not."""
        return True

    def pseudo_counts(self, root: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        """The numbers added to a leaf's counts before they are divided by their sum, given the root's counts.

        None if the probabilities are not such frequencies. Frequencies have two advantages: a row can be taken out of
        them, and they can be computed for all leaves of a forest at once.
        """
        return None

    @abstractmethod
    def node_probabilities(self, tree: Tree) -> Table:
        """Class probabilities of every node, shape (n_nodes, n_classes); each row sums to 1."""

    def _check_saved_parameters(self) -> None:
        self.check_parameters()

    def check_parameters(self) -> None:
        """Raise an error that names the parameter, its value and the remedy, if one is out of range."""


def best_on_held_out(
    candidates: Sequence[LeafEstimator], held_out: Sequence[HeldOut], loss: str = "log"
) -> LeafEstimator:
    """The candidate with the least held-out loss; in a tie, the first."""
    losses = [sum(one.loss(each.node_probabilities(one.tree), loss) for one in held_out) for each in candidates]
    return candidates[int(np.argmin(losses))]


def minimise_on_held_out(
    make: Callable[[float], LeafEstimator], held_out: Sequence[HeldOut], bounds: tuple[float, float]
) -> LeafEstimator:
    """The estimator ``make(x)`` with the least held-out log-loss for x within bounds, found on the scale of log x."""
    from scipy.optimize import minimize_scalar

    def loss(log_x: float) -> float:
        estimator = make(float(np.exp(log_x)))
        return sum(one.loss(estimator.node_probabilities(one.tree)) for one in held_out)

    low, high = np.log(bounds)
    # A coarse grid first: the loss need not have a single minimum.
    grid = np.linspace(low, high, 13)
    best = int(np.argmin([loss(x) for x in grid]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 0.02})
    return make(float(np.exp(found.x)))


def need_learning(estimator: LeafEstimator, parameter: str, value: object) -> ValueError:
    """The error of an estimator that is used before its parameter was learned."""
    return ValueError(
        f"{type(estimator).__name__}({parameter}={value!r}) has to be learned from rows the trees have not seen: fit a "
        "classifier with it, or give with_smoothing the training data, with_smoothing(smoothing, X, y)"
    )


def from_parent_where_empty(tree: Tree, probabilities: Table) -> Table:
    """Give nodes without training rows the probabilities of their nearest ancestor that has some.

    A multiway split on a categorical feature has an empty branch for values not seen at the node; C4.5 and Weka's J48
    use the parent's distribution there.
    """
    if tree.weights[0] <= 0:
        return np.full_like(probabilities, 1.0 / tree.n_classes)
    return probabilities if tree.weights.all() else tree.node_counts.curtail(probabilities, 0.0)
