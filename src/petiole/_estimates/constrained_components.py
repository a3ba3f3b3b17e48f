"""The components of a pool that keep to constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import CountedWeights, FiledVotes, UnseenRows
from petiole._estimates.components import Component, OwnRows
from petiole._forest.forest import Forest
from petiole._table.constraints import Constraints

Floats = npt.NDArray[np.float64]


class Ordered(Component):
    """Another statistic of one class against all others, with probabilities that are monotone along some columns.

    Leaves whose frequencies go the wrong way are pooled. A leaf without rows takes the frequencies of an ancestor, so
    that the mean is over the same trees for all queries.
    """

    def __init__(self, of: Component, order: Constraints) -> None:
        weights = of.counted()
        assert weights is not None
        self.name, self.is_own_rows, self.order, self.weights = of.name, of.is_own_rows, order, weights

    def counted(self) -> CountedWeights:
        return self.weights

    def own_rows(self) -> Component:
        return Ordered(OwnRows(), self.order)

    def n_classes(self, forest: Forest) -> int:
        return 2

    def count(self, forest: Forest, n_threads: int) -> _core.LeafTables:
        return forest.core.ordered_tables(*self.weights, self.order.signs, self.order.target, n_threads)

    def unseen(self, forest: Forest, counts: _core.LeafTables | None, unseen: UnseenRows, filed: FiledVotes) -> Floats:
        shares = unseen.ordered_shares(forest, self.weights, self.order)
        both = np.column_stack([1.0 - shares, shares])
        return both[:, ::-1] if forest.core.n_classes == 2 and self.order.target == 0 else both

    def tables(self, forest: Forest, counts: _core.LeafTables, n_threads: int) -> list[_core.LeafTables]:
        return [counts]


class PoolComponents(NamedTuple):
    """The components of a pool, and those of the pool that a named class has for itself, if it has one."""

    whole: tuple[Component, ...]
    named: tuple[Component, ...] = ()


def constrained_components(
    components: tuple[Component, ...], constraints: Constraints | None, n_classes: int
) -> PoolComponents:
    """Components that keep to constraints, monotone where they must be; those that cannot are left out.

    With more than two classes the probability of the named one is that of a pool for itself, and only that is monotone.
    """
    if constraints is None:
        return PoolComponents(components)
    possible = tuple(one for one in components if one.counted() is not None)
    if not constraints.orders:
        return PoolComponents(possible)
    ordered = tuple(Ordered(one, constraints) for one in possible)
    if n_classes == 2:
        return PoolComponents(ordered)
    return PoolComponents(possible if constraints.groups else components, ordered)
