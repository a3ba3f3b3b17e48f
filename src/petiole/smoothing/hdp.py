"""Hierarchical Dirichlet process smoothing, by Gibbs sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from petiole import _core
from petiole._validation import check_choice, check_number, check_whole, draw_seed
from petiole.smoothing.base import LeafEstimator, Table

if TYPE_CHECKING:
    from petiole._tree.tree import Tree

LEAST, MOST = 1e-6, 1e9  # of concentrations and of their prior's parameters


class HDP(LeafEstimator):
    """Hierarchical Dirichlet process smoothing (Petitjean et al. 2018, as used by Zhang, Petitjean & Buntine 2020).

    Every node's class distribution is drawn around its parent's, with a concentration that determines how close; the
    posterior mean is found by Gibbs sampling over table counts. The root's base measure is uniform and its tables are
    summed out exactly. Leaf counts that are not whole, because of weights or missing values, are rounded for the table
    counts and used as they are in the estimate. Memory does not grow with the counts. The model's details follow the
    HGS authors' code.

    Parameters
    ----------
    n_iter : int, default=1000
        Iterations of the sampler, the burn-in included.
    burn_in : int, default=100
        Iterations before averaging starts.
    tying : {"single", "level", "parent", "none"}, default="single"
        Which nodes share a concentration: all, those of a depth, siblings, or none.
    concentration_prior : (shape, rate), default=(2.0, None)
        The gamma prior of the concentrations, each number from 1e-6 to 1e9; a rate of None is the number of classes.
    concentration : float or None, default=None
        A fixed concentration from 1e-6 to 1e9 instead of sampled ones.
    random_state : int, RandomState or None, default=None
        The same seed gives the same probabilities.

    Examples
    --------
    >>> from petiole import Tree
    >>> from petiole.smoothing import HDP
    >>> tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[2.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
    ...                         inbag_class_counts=[[9, 7], [8, 2], [1, 5]])
    >>> HDP(random_state=0).node_probabilities(tree).shape
    (3, 2)
    """

    def __init__(
        self,
        n_iter: int = 1000,
        burn_in: int = 100,
        tying: str = "single",
        concentration_prior: tuple[float, float | None] = (2.0, None),
        concentration: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.tying = tying
        self.concentration_prior = concentration_prior
        self.concentration = concentration
        self.random_state = random_state

    def check_parameters(self) -> None:
        check_whole("n_iter", self.n_iter, 1)
        check_whole("burn_in", self.burn_in, 0)
        if self.burn_in >= self.n_iter:
            raise ValueError(f"burn_in={self.burn_in!r}: must be less than n_iter={self.n_iter!r}")
        check_choice("tying", self.tying, ("single", "level", "parent", "none"))
        if self.concentration is not None:
            check_number("concentration", self.concentration, LEAST, MOST)
        try:
            shape, rate = self.concentration_prior
        except (TypeError, ValueError):
            raise ValueError(
                f"concentration_prior={self.concentration_prior!r}: must be a pair (shape, rate), rate a number or None"
            ) from None
        check_number("concentration_prior[0]", shape, LEAST, MOST)
        if rate is not None:
            check_number("concentration_prior[1]", rate, LEAST, MOST)

    @property
    def is_repeatable(self) -> bool:
        return False

    def node_probabilities(self, tree: Tree) -> Table:
        self.check_parameters()
        shape, rate = self.concentration_prior
        options = _core.HdpOptions()
        options.n_iter, options.burn_in = int(self.n_iter), int(self.burn_in)
        options.tying = getattr(_core.Tying, self.tying)
        options.prior_shape, options.prior_rate = float(shape), 0.0 if rate is None else float(rate)
        options.concentration = 0.0 if self.concentration is None else float(self.concentration)
        options.seed = draw_seed(self.random_state)
        table, _ = tree.node_counts.hdp(options)
        return table
