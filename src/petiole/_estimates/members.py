"""Members of the pool that are not statistics of a forest's leaves: cross-fitted models of the encoded rows.

To add one, write a function that fits it to all folds and put it into ``MEMBERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._boosting.growing import boost_folds
from petiole._boosting.plan import BoostingPlan
from petiole._estimates.cross_fitted import CrossFitted
from petiole._linear.cross_fitting import fit_kernel_folds, fit_linear_folds
from petiole._linear.plan import LinearPlan
from petiole._table.rows import EncodedRows
from petiole._tree.held_out import deal_into_folds
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]
FoldNumbers = npt.NDArray[np.int64]

N_FOLDS = 4
# From this many rows on, boosted trees are larger.
MANY_ROWS = 5_000
# Below this log-loss of the forest, in bits, members are fitted on fewer rows in proportion, but not on fewer than
# ENOUGH_ROWS: where the forest is nearly always sure there is little left to learn.
NEARLY_SURE, ENOUGH_ROWS = 0.04, 1_000
# So many rows of each class are taken in any case.
LEAST_OF_CLASS = 20
# The work of logistic regressions, and of boosting as rows × scores × rounds, which leaves FEWEST_ROUNDS at least.
LINEAR_PRODUCTS, BOOSTING_STEPS, FEWEST_ROUNDS = 3_000_000, 60_000_000, 50
# Searches for the coefficients of kernels, which are many for a few rows, may end a little earlier than others.
KERNEL_SLOPE = 3e-3


@dataclass(frozen=True)
class Folding(Savable):
    """The assignment of rows to folds, which depends only on their labels, their order and the seed."""

    n_folds: int
    seed: int

    _saved = fields(n_folds=checks.whole(1, 1000), seed=checks.whole(0, 2**62))

    def of(self, labels: npt.NDArray[np.int32]) -> FoldNumbers:
        """The fold of each row."""
        return deal_into_folds(labels, self.n_folds, np.random.default_rng(self.seed))


class TrainingRows(NamedTuple):
    """The rows on which members are fitted, their folds, and the forest's out-of-bag predictions for them.

    ``starts`` are the logarithms of these predictions, None if the forest has not predicted all rows.
    """

    rows: EncodedRows
    fold_of: FoldNumbers
    starts: Floats | None
    seed: int
    n_threads: int


# Fits a model to all folds of the rows but one, for each fold in turn; None if it would be the same as another member.
FitMember = Callable[[TrainingRows], CrossFitted | None]


def _linear_plan(training: TrainingRows, **settings: Any) -> LinearPlan:
    return LinearPlan(most_products=LINEAR_PRODUCTS, seed=training.seed, **settings)


def _fit_linear(training: TrainingRows) -> CrossFitted:
    plan = _linear_plan(training)
    return CrossFitted(fit_linear_folds(plan, training.rows, training.fold_of).models)


def _fit_curved(training: TrainingRows) -> CrossFitted | None:
    if training.rows.n_categories.all():
        return None
    plan = _linear_plan(training, degree=2, ranks=True)
    return CrossFitted(fit_linear_folds(plan, training.rows, training.fold_of).models)


def _fit_kernel(training: TrainingRows) -> CrossFitted:
    plan = _linear_plan(training, slope_left=KERNEL_SLOPE)
    return CrossFitted(fit_kernel_folds(plan, training.rows, training.fold_of).models)


def _fit_boosted(training: TrainingRows) -> CrossFitted | None:
    folds = boost_folds(boosting_plan(training), training.rows, training.fold_of, training.starts, training.n_threads)
    return CrossFitted(folds.models) if folds.n_rounds else None


def boosting_plan(training: TrainingRows) -> BoostingPlan:
    """Small trees and steps; larger ones where there are many rows, and fewer rounds of many rows and classes."""
    n_rows, n_classes = len(training.rows), len(training.rows.classes)
    large = n_rows > MANY_ROWS
    affordable = BOOSTING_STEPS // (n_rows * (n_classes if n_classes > 2 else 1))
    return BoostingPlan(
        n_rounds=min(1000 if large else 200, max(FEWEST_ROUNDS, affordable)),
        patience=20 if large else 10,
        learning_rate=0.1 if large else 0.05,
        max_leaf_nodes=31 if large else 8,
        min_samples_leaf=20 if large else 5,
        l2=1.0,
        max_features=0.5,
        subsample=0.7,
        seed=training.seed,
    )


# The name of the forest among the members; the other models; and the default members.
FOREST, KERNEL = "forest", "kernel"
MEMBERS: dict[str, FitMember] = {
    "linear": _fit_linear,
    "curved": _fit_curved,
    KERNEL: _fit_kernel,
    "boosted": _fit_boosted,
}
AUTO_MEMBERS: tuple[str, ...] = tuple(MEMBERS)


def without_kernels(names: Sequence[str]) -> tuple[str, ...]:
    """The members that can keep to constraints: kernels are of all columns together."""
    return tuple(name for name in names if name != KERNEL)


@dataclass(frozen=True, eq=False)
class PoolMembers(Savable):
    """The cross-fitted models of a pool.

    Attributes
    ----------
    folding : Folding
        The assignment of training rows to folds.
    models : dict from name to CrossFitted
    corrects : bool
        Whether "boosted" starts from the forest's predictions, which it corrects, or from the base rates.
    """

    folding: Folding
    models: dict[str, CrossFitted] = field(default_factory=dict)
    corrects: bool = False

    _saved = fields(folding=checks.instance_of("Folding"), models=checks.anything, corrects=checks.truth)

    def _check_state(self, state: dict[str, Any]) -> None:
        models = state["models"]
        require(type(models) is dict and set(models) <= set(MEMBERS), "models: must be members of the pool by name")
        for name, model in models.items():
            checks.check_part("models", checks.instance_of("CrossFitted"), model)
            kind = "BoostedTrees" if name == "boosted" else "LinearModel"
            for one in model.models:
                checks.check_part(name, checks.instance_of(kind), one)

    def check_fits(self, n_columns: int, n_classes: int) -> None:
        """Raise ValueError unless the models have these numbers of columns and classes."""
        for model in self.models.values():
            fits = (model.n_columns, model.n_classes) == (n_columns, n_classes)
            require(fits, f"models: must have {n_columns} columns and {n_classes} classes")

    @property
    def names(self) -> list[str]:
        return list(self.models)

    @property
    def needs_starts(self) -> bool:
        """Whether a model needs the forest's predictions."""
        return self.corrects and "boosted" in self.models

    def answers(self, ask: Callable[[CrossFitted, Floats | None], Floats], starts: Floats | None) -> list[Floats]:
        """The predictions of each model; ``starts`` are the logarithms of the forest's, if a model needs them."""
        return [ask(model, starts if name == "boosted" else None) for name, model in self.models.items()]

    def kept(self, names: Sequence[str]) -> PoolMembers:
        """The members with these names."""
        return replace(self, models={name: self.models[name] for name in names})

    def joined(self, others: Sequence[PoolMembers]) -> PoolMembers:
        """For each member of any of several pools, the models of all pools that have it."""
        every = [self, *others]
        boosted = [one for one in every if "boosted" in one.models]
        if len({one.corrects for one in boosted}) > 1:
            raise ValueError("boosted trees of some of the models correct a forest, and those of others do not")
        models = {}
        for name in MEMBERS:
            having = [one.models[name] for one in every if name in one.models]
            if having:
                models[name] = having[0].joined(having[1:])
        return PoolMembers(self.folding, models, bool(boosted) and boosted[0].corrects)


class FittedMembers(NamedTuple):
    """Members, and their predictions for the rows on which they were fitted."""

    members: PoolMembers
    unseen: list[Floats]


def fit_members(
    names: Sequence[str],
    rows: EncodedRows,
    seed: int,
    starts: Floats | None,
    n_threads: int,
    *,
    loss: float = np.inf,
    asked: npt.NDArray[Any] | slice = slice(None),
) -> FittedMembers:
    """Cross-fit the members of these names.

    ``loss`` is the forest's log-loss in bits, by which fewer rows may do; ``asked`` are the rows whose answers are
    wanted.
    """
    folding = Folding(min(N_FOLDS, max(2, len(rows))), seed)
    fold_of = folding.of(rows.labels)
    chosen, few = rows_to_fit(rows, loss, seed)
    training = TrainingRows(few, fold_of[chosen], None if starts is None else starts[chosen], seed, n_threads)
    fitted = {name: MEMBERS[name](training) for name in names if len(rows) > 1 and len(rows.classes) > 1}
    models = {name: model for name, model in fitted.items() if model is not None}
    members = PoolMembers(folding, models, starts is not None)

    def ask(model: CrossFitted, starts: Floats | None) -> Floats:
        return model.held_out_answer(rows.matrix[asked], fold_of[asked], n_threads, starts)

    of_asked = starts[asked] if starts is not None and members.needs_starts else None
    return FittedMembers(members, members.answers(ask, of_asked))


def rows_to_fit(rows: EncodedRows, loss: float, seed: int) -> tuple[npt.NDArray[np.intp], EncodedRows]:
    """The rows that members are fitted on, and their positions: all, or a sample where the forest is nearly always
    sure.

    The sample has a share of each class, but LEAST_OF_CLASS rows of each that has so many. Weights make up for that.
    """
    n_rows = max(ENOUGH_ROWS, int(len(rows) * min(1.0, loss / NEARLY_SURE)))
    if len(rows) <= n_rows:
        return np.arange(len(rows)), rows
    random, taken, factors = np.random.default_rng(seed), [], []
    for of_class in (np.flatnonzero(rows.labels == label) for label in range(len(rows.classes))):
        size = min(len(of_class), max(LEAST_OF_CLASS, round(n_rows * len(of_class) / len(rows))))
        taken.append(random.choice(of_class, size, replace=False))
        factors.append(np.full(size, len(of_class) / max(size, 1)))
    order = np.argsort(np.concatenate(taken))
    chosen, weights = np.concatenate(taken)[order], np.concatenate(factors)[order]
    weights = weights * rows.weights_or_ones()[chosen]
    return chosen, replace(rows.take(chosen), weights=weights / weights.mean())
