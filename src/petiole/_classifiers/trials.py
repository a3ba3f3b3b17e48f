"""Small forests by which a fit chooses how the whole forest is grown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from petiole._classifiers.fitting import grow_forests
from petiole._classifiers.sizing import TRIAL_TREES, Tried
from petiole._estimates.members import FOREST
from petiole._forest.forest import Forest
from petiole._forest.plan import N_TREES, plans_of
from petiole._table.rows import EncodedRows

if TYPE_CHECKING:
    from petiole._classifiers.ensemble import ForestClassifier


class Trials:
    """Small forests of a model, to choose how the whole one is grown; a larger one goes on from a smaller."""

    def __init__(self, model: ForestClassifier, rows: EncodedRows, seed: int) -> None:
        self.model, self.rows, self.seed = model, rows, seed
        small = {"members": (FOREST,), "oob_score": False, N_TREES: TRIAL_TREES}
        self.few = type(model)(**{**model.get_params(deep=False), **small})
        self.forests: dict[str, list[Forest]] = {}

    def __call__(self, growth: Mapping[str, Any]) -> Tried:
        size = {N_TREES: growth.get(N_TREES, TRIAL_TREES)}
        grown = grow_forests(self.few, self.rows, self.seed, self._grown(growth), {**growth, **size})
        self.forests[_without_size(growth)] = [one.forest for one in grown]
        most_leaves = max(int(tree.is_leaf.sum()) for one in grown for tree in one.forest)
        quality = self.few._fit_estimate(grown).quality
        return Tried(np.nan if quality is None else quality.scores.log_loss, most_leaves)

    def _grown(self, growth: Mapping[str, Any]) -> list[Forest]:
        return self.forests.get(_without_size(growth), [])

    def grown_for(self, growth: Mapping[str, Any]) -> list[Forest]:
        """The trees that the whole forest has in common with the trials, none if it is smaller than these."""
        grown, plans = self._grown(growth), plans_of(self.model, self.seed, growth)
        fits = len(grown) <= len(plans) and all(len(f) <= plan.n_trees for f, plan in zip(grown, plans, strict=False))
        return grown if fits else []


def _without_size(growth: Mapping[str, Any]) -> str:
    return repr(sorted((name, value) for name, value in growth.items() if name != N_TREES))
