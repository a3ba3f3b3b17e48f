"""m-branch smoothing: m-estimates from the root down to the leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from petiole import _core
from petiole._validation import check_choice, check_number
from petiole.smoothing.base import HeldOut, LeafEstimator, Table, minimise_on_held_out, need_learning

if TYPE_CHECKING:
    from petiole._tree.tree import Tree


class MBranch(LeafEstimator):
    """m-branch smoothing (Ferri, Flach & Hernández-Orallo 2003): each node is an m-estimate towards its parent's.

    From the uniform distribution down, θ = (n_k + m·θ_parent) / (n + m) with m = M·(1 + (1 - 1/h)·√N), where h is 1 at
    the leaf and grows upwards: nodes near the root, which have many rows, are pulled more towards their parents. The
    formula is that of the code published with Zhang, Petitjean & Buntine (2020); see the provenance page.

    Parameters
    ----------
    M : float or "honest", default=4
        The strength at the leaf. The HGS authors' code uses 1. "honest" finds the best M on rows the tree has not seen.
    height : {"branch", "subtree"}, default="branch"
        Whether h is counted up from the leaf in question, or from the deepest leaf below a node.

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import MBranch
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [8, 2], [1, 5]])
    >>> MBranch(M=4).node_probabilities(tree).round(3).tolist()
    [[0.55, 0.45], [0.724, 0.276], [0.314, 0.686]]
    """

    def __init__(self, M: float | str = 4, height: str = "branch") -> None:
        self.M = M
        self.height = height

    def check_parameters(self) -> None:
        check_choice("height", self.height, ("branch", "subtree"))
        if isinstance(self.M, str):
            if self.M != "honest":
                raise ValueError(f"M={self.M!r}: must be 'honest' or a number at least 0")
        else:
            check_number("M", self.M, 0)

    @property
    def needs_held_out(self) -> bool:
        return isinstance(self.M, str)

    def learned(self, held_out: Sequence[HeldOut]) -> LeafEstimator:
        if not isinstance(self.M, str):
            return self
        return minimise_on_held_out(lambda M: MBranch(M, self.height), held_out, (1e-2, 1e3))

    def node_probabilities(self, tree: Tree) -> Table:
        self.check_parameters()
        if isinstance(self.M, str):
            raise need_learning(self, "M", self.M)
        return tree.node_counts.m_branch(float(self.M), getattr(_core.Height, self.height))
