"""Curtailment: small leaves are replaced by an ancestor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from petiole._validation import check_number
from petiole.smoothing.base import HeldOut, LeafEstimator, Table, best_on_held_out, need_learning
from petiole.smoothing.frequencies import Raw, base_rates, ten_of_the_rarest

if TYPE_CHECKING:
    from petiole._tree.tree import Tree

# The values that v="cv" tries.
V_GRID = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)


class Curtailment(LeafEstimator):
    """Curtailment (Zadrozny & Elkan 2001, 2.3): a query stops at the last node of its path that has enough rows.

    If the child to which a query would go has fewer than ``v`` rows, the query stops at the node. So one node can
    serve as a leaf for some queries and pass others on, which no pruning can do. An empty branch always stops the
    query. A row with missing values is stopped in each of its branches separately.

    Parameters
    ----------
    v : "auto", "cv" or float, default="auto"
        The least number of rows of a node at which a query may stop. "auto" follows the papers' rule b·v = 10 for the
        rarest class; "cv" takes the best value of a grid by cross-validation with new trees.
    smoothing : leaf estimator or None, default=None
        The estimator at the node where a query stops; None takes raw frequencies.
        ``Curtailment(smoothing=MEstimate())`` is the paper's smoothed curtailment.

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import Curtailment
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [8, 2], [1, 5]])
    >>> Curtailment(v=7).node_probabilities(tree).round(3).tolist()
    [[0.562, 0.438], [0.8, 0.2], [0.562, 0.438]]
    """

    def __init__(self, v: float | str = "auto", smoothing: LeafEstimator | None = None) -> None:
        self.v = v
        self.smoothing = smoothing

    @property
    def is_repeatable(self) -> bool:
        return self.smoothing is None or self.smoothing.is_repeatable

    def check_parameters(self) -> None:
        if isinstance(self.v, str):
            if self.v not in ("auto", "cv"):
                raise ValueError(f"v={self.v!r}: must be 'auto', 'cv' or a number at least 0")
        else:
            check_number("v", self.v, 0)
        if self.smoothing is None:
            return
        if not isinstance(self.smoothing, LeafEstimator):
            raise ValueError(f"smoothing={self.smoothing!r}: must be None or a LeafEstimator such as MEstimate()")
        self.smoothing.check_parameters()

    @property
    def needs_held_out(self) -> bool:
        inner = self.smoothing is not None and self.smoothing.needs_held_out
        return inner or (isinstance(self.v, str) and self.v == "cv")

    @property
    def out_of_bag_serves(self) -> bool:
        inner = self.smoothing is None or self.smoothing.out_of_bag_serves
        return inner and not (isinstance(self.v, str) and self.v == "cv")

    @property
    def learns_from_own_rows(self) -> bool:
        return self.smoothing is not None and self.smoothing.learns_from_own_rows

    def settled(self, tree: Tree) -> LeafEstimator:
        return self if self.smoothing is None else Curtailment(self.v, self.smoothing.settled(tree))

    def learned(self, held_out: Sequence[HeldOut]) -> LeafEstimator:
        inner = None if self.smoothing is None else self.smoothing.learned(held_out)
        if isinstance(self.v, str) and self.v == "cv":
            return best_on_held_out([Curtailment(v, inner) for v in V_GRID], held_out)
        return Curtailment(self.v, inner)

    def node_probabilities(self, tree: Tree) -> Table:
        self.check_parameters()
        table = (Raw() if self.smoothing is None else self.smoothing).node_probabilities(tree)
        return tree.node_counts.curtail(table, self._v(tree))

    def _v(self, tree: Tree) -> float:
        if not isinstance(self.v, str):
            return float(self.v)
        if self.v == "auto":
            return ten_of_the_rarest(base_rates(tree.inbag_class_counts[0]))
        raise need_learning(self, "v", self.v)
