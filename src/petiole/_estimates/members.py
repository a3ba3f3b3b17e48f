"""PoolMembers of the pool that are no statistics of a forest's leaves: models of the encoded rows, cross-fitted.

To add one, write a function that fits it to all folds and put it into ``MEMBERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._estimates.cross_fitted import CrossFitted
from petiole._linear.cross_fitting import fit_linear_folds
from petiole._linear.plan import LinearPlan
from petiole._table.rows import EncodedRows
from petiole._tree.held_out import deal_into_folds
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]
FoldNumbers = npt.NDArray[np.int64]

N_FOLDS = 4


@dataclass(frozen=True)
class Folding(Savable):
    """How rows are dealt into folds: it depends on their labels, their order and the seed only."""

    n_folds: int
    seed: int

    _saved = fields(n_folds=checks.whole(1, 1000), seed=checks.whole(0, 2**62))

    def of(self, labels: npt.NDArray[np.int32]) -> FoldNumbers:
        """The fold of each row."""
        return deal_into_folds(labels, self.n_folds, np.random.default_rng(self.seed))


# Fits a model to all folds of the rows but one, for each fold in turn.
FitMember = Callable[[EncodedRows, FoldNumbers, int, int], CrossFitted]


def _linear(plan: LinearPlan) -> FitMember:
    def fit(rows: EncodedRows, fold_of: FoldNumbers, seed: int, n_threads: int) -> CrossFitted:
        return CrossFitted(fit_linear_folds(replace(plan, seed=seed), rows, fold_of).models)

    return fit


# What the trees of the pool are called among its members; the models beside them; and which of these enter by default.
FOREST = "forest"
MEMBERS: dict[str, FitMember] = {
    "linear": _linear(LinearPlan()),
    "quadratic": _linear(LinearPlan(degree=2)),
}
AUTO_MEMBERS: tuple[str, ...] = tuple(MEMBERS)


@dataclass(frozen=True, eq=False)
class PoolMembers(Savable):
    """The cross-fitted models of a pool by name, and how the training rows were dealt into folds for them."""

    folding: Folding
    models: dict[str, CrossFitted] = field(default_factory=dict)

    _saved = fields(folding=checks.instance_of("Folding"), models=checks.anything)

    def _check_state(self, state: dict[str, Any]) -> None:
        models = state["models"]
        require(type(models) is dict and set(models) <= set(MEMBERS), "models: must be members of the pool by name")
        for model in models.values():
            checks.check_part("models", checks.instance_of("CrossFitted"), model)

    def check_fits(self, n_columns: int, n_classes: int) -> None:
        """Raise ValueError unless the models have so many columns and classes."""
        for model in self.models.values():
            fits = (model.n_columns, model.n_classes) == (n_columns, n_classes)
            require(fits, f"models: must have {n_columns} columns and {n_classes} classes")

    @property
    def names(self) -> list[str]:
        return list(self.models)

    def kept(self, names: Sequence[str]) -> PoolMembers:
        """Those of these names alone."""
        return replace(self, models={name: self.models[name] for name in names})

    def joined(self, others: Sequence[PoolMembers]) -> PoolMembers:
        """For each member that one of several pools has, the models of all that have it."""
        every = [self, *others]
        names = [name for name in MEMBERS if any(name in one.models for one in every)]
        models = {}
        for name in names:
            first, *more = [one.models[name] for one in every if name in one.models]
            models[name] = first.joined(more)
        return replace(self, models=models)


class FittedMembers(NamedTuple):
    """PoolMembers, and their answers for the rows that they were fitted on."""

    members: PoolMembers
    unseen: list[Floats]

    @property
    def names(self) -> list[str]:
        return self.members.names

    def kept(self, names: Sequence[str]) -> PoolMembers:
        return self.members.kept(names)


def fit_members(names: Sequence[str], rows: EncodedRows, seed: int, n_threads: int) -> FittedMembers:
    """Cross-fit the members of these names."""
    folding = Folding(min(N_FOLDS, max(2, len(rows))), seed)
    fold_of = folding.of(rows.labels)
    models = {name: MEMBERS[name](rows, fold_of, seed, n_threads) for name in names}
    unseen = [model.held_out_answer(rows.matrix, fold_of, n_threads) for model in models.values()]
    return FittedMembers(PoolMembers(folding, models), unseen)
