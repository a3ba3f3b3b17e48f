"""Growing boosted trees: one chain, or one for each fold and a number of rounds that suits all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from petiole import _core
from petiole._boosting.plan import BoostingPlan
from petiole._boosting.trees import BoostedTrees, Floats
from petiole._table.rows import EncodedRows

RowNumbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class BoostedFolds:
    """The result of cross-fitting.

    Attributes
    ----------
    models : list of BoostedTrees
        One for each fold, grown on the rows that are not in it, all with the same number of rounds.
    log_losses : array of shape (n_rounds_tried + 1,)
        The held-out log-loss in bits after each round, over the rows of all folds; the first is that of the starts.
    scores : array of shape (n_rows, n_classes)
        The held-out scores of all rows at that number of rounds; NaN for rows that are in no fold.
    """

    models: list[BoostedTrees]
    log_losses: Floats
    scores: Floats

    @property
    def n_rounds(self) -> int:
        """The number of rounds with the least held-out log-loss."""
        return self.models[0].n_rounds

    def probabilities(self) -> Floats:
        """The held-out probabilities of all rows."""
        return np.asarray(softmax(self.scores, axis=1))


def boost(
    plan: BoostingPlan,
    rows: EncodedRows,
    held_out: npt.NDArray[np.bool_] | None = None,
    starts: Floats | None = None,
    n_threads: int = 1,
    columns: _core.BoostColumns | None = None,
) -> BoostedTrees:
    """Grow one chain; Ctrl-C stops it.

    With ``held_out``, a mask of rows, it is grown on the other rows and cut off at the round with the least log-loss
    on the held-out ones. ``starts`` are initial scores of each row and class, such as the logarithms of another
    model's honest probabilities, which the trees then correct. ``columns`` is ``plan.columns(rows)``, if it has been
    computed already.
    """
    out = np.zeros(len(rows), dtype=bool) if held_out is None else held_out
    return _grow(plan, rows, [out], starts, n_threads, columns).models[0]


def boost_folds(
    plan: BoostingPlan,
    rows: EncodedRows,
    folds: npt.NDArray[np.integer],
    starts: Floats | None = None,
    n_threads: int = 1,
    columns: _core.BoostColumns | None = None,
) -> BoostedFolds:
    """Grow a chain for each fold on the rows that are not in it, all chains one round at a time.

    ``folds`` is the number of each row's fold, from 0; rows of fold -1 are in all chains and held out of none. The
    columns are coded once, and after each round the held-out log-losses of all folds are added up: one number of rounds
    is chosen for all.
    """
    masks = [folds == fold for fold in range(int(folds.max()) + 1)]
    return _grow(plan, rows, masks, starts, n_threads, columns)


def _grow(
    plan: BoostingPlan,
    rows: EncodedRows,
    held_out: Sequence[npt.NDArray[np.bool_]],
    starts: Floats | None,
    n_threads: int,
    columns: _core.BoostColumns | None,
) -> BoostedFolds:
    if rows.constraints is not None and rows.constraints.orders and len(rows.classes) > 2:
        raise ValueError("scores of more than two classes have no common order: boost one class against the others")
    if len(rows.classes) == 1:
        scores = np.where(np.any(held_out, axis=0)[:, None], 0.0, np.nan)
        models = [BoostedTrees.constant(np.zeros(1), rows.n_columns) for _ in held_out]
        return BoostedFolds(models, np.zeros(1), scores)
    found = _core.boost_chains(
        plan.columns(rows, n_threads) if columns is None else columns,
        rows.labels,
        rows.weights,
        len(rows.classes),
        [_numbers(~mask) for mask in held_out],
        [_numbers(mask) for mask in held_out],
        None if starts is None else np.ascontiguousarray(starts, dtype=np.float64),
        plan.options(rows.n_columns, rows.constraints),
        n_threads,
    )
    chains = zip(found["bases"], found["trees"], strict=True)
    models = [BoostedTrees(base=base, n_features=rows.n_columns, **trees) for base, trees in chains]
    weight = sum(rows.weights_or_ones()[mask].sum() for mask in held_out)
    losses = found["losses"].sum(axis=1) / weight if weight > 0 else np.empty(0)
    return BoostedFolds(models, losses, found["held_out_scores"])


def _numbers(mask: npt.NDArray[np.bool_]) -> RowNumbers:
    return np.flatnonzero(mask).astype(np.uint32)
