"""Forests on distributed data: trees grow on shards, and then every row is counted in every tree.

Grow each tree on one shard; then one pass over all parts counts their rows at the leaves of all trees. Most of them are
rows that a tree has not seen, so they are what EB-PETs and MOB-ESP call out-of-bag rows (Nielsen 2004).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.base import remember_columns, seed_of
from petiole._classifiers.ensemble import Floats, ForestClassifier
from petiole._classifiers.fitting import fresh_seed, keep_fit
from petiole._classifiers.mob_esp import MOBESPClassifier
from petiole._classifiers.out_of_bag import keep_quality
from petiole._classifiers.pool_parameters import kind_names, member_names, pool_components
from petiole._classifiers.probability_forest import ProbabilityForestClassifier
from petiole._estimates.asking import FiledVotes, OutOfBagRows
from petiole._estimates.base import Fit, ForestEstimate
from petiole._estimates.leaf_mean import fit_leaf_mean
from petiole._estimates.pool import MOST_POOL_ROWS, PoolTask, fit_pooled_components
from petiole._estimates.scores import quality_of
from petiole._estimates.vote_look_up import VoteLookUp, best_oob_weight, make_ballot
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import Tally
from petiole._forest.plan import ForestPlan, plans_of
from petiole._validation import thread_count
from petiole.distributed.shards import SHARD_ROWS, Assignment, Shard, assign, make_shards
from petiole.distributed.tasks import (
    Coding,
    PartTally,
    Standing,
    class_weights_of,
    copies_in,
    count_part,
    grow_shard,
    stand,
)
from petiole.smoothing import as_leaf_estimator

# A class with this share of all rows should be in every shard of this many rows.
COMMON_CLASS, LARGE_SHARD = 0.01, 1000


def fit_sharded(model: ForestClassifier, engine: Any, coding: Coding, shard_rows: int | None) -> ForestClassifier:
    """Fit a copy of the model; it depends on the seed and on the parts only."""
    check_sharded(model)
    seed = fresh_seed(model)
    kinds = shard_plans(model, seed, coding)
    n_rows = coding.survey.n_rows
    shards = make_shards(n_rows, SHARD_ROWS if shard_rows is None else shard_rows)
    assigned = assign([kind.n_trees for kind in kinds], len(shards), [kind.seed for kind in kinds])
    shared = engine.share(coding)
    pieces = _grow(engine, shared, kinds, shards, assigned)
    prior = coding.survey.class_weights
    votes = not isinstance(model, BaggedPETClassifier)
    every = list(pieces.values())
    (standing,) = engine.keep([engine.call(stand, every, len(kinds), prior, votes)], "joining the trees")
    tally = _count(engine, shared, standing, pieces, shards, rows_wanted(n_rows, seed), model.count == "distinct")
    _warn_of_sorted_rows(engine.gather([engine.call(class_weights_of, piece) for piece in every]), coding)
    return finish(model, engine.get(standing), tally, coding)


def check_sharded(model: Any) -> None:
    """Refuse parameters that need all training rows in one place."""
    if model.bootstrap is False:
        raise ValueError("bootstrap=False: trees of one shard would all be alike; use 'stratified' or 'plain'")
    if not isinstance(model, BaggedPETClassifier):
        return
    estimator = as_leaf_estimator(model.smoothing)
    if estimator.learns_from_own_rows and model.count != "distinct":
        raise ValueError(
            f"smoothing={estimator!r} leaves rows out of the counts, but these count copies of rows: use "
            "count='distinct' or mode='broadcast'"
        )
    if estimator.needs_held_out and not estimator.out_of_bag_serves:
        raise ValueError(
            f"smoothing={estimator!r} learns from trees that are grown on parts of all rows: use mode='broadcast', or "
            "an estimator that learns from out-of-bag rows, such as HGS(alpha='honest')"
        )


def shard_plans(model: Any, seed: int, coding: Coding) -> list[ForestPlan]:
    """The growth plans of the model, with class weights that mean the same on every shard."""
    plans = [plan for plan in plans_of(model, seed) if plan.n_trees]
    if not isinstance(model.split_class_weight, str):
        return plans
    # "balanced" means by all rows, not by those of a shard, in which a class may be absent.
    weights = coding.survey.class_weights
    scale = dict(zip(coding.classes.tolist(), (weights.sum() / (len(weights) * weights)).tolist(), strict=True))
    return [replace(plan, tree=replace(plan.tree, split_class_weight=scale)) for plan in plans]


def unfitted(model: Any) -> Any:
    """A model with the same parameters, not fitted."""
    return type(model)(**model.get_params(deep=False))


def rows_wanted(n_rows: dict[int, int], seed: int) -> dict[int, npt.NDArray[np.intp]]:
    """The rows that weights are learned from, in each part: all, or some of them if there are many."""
    total = sum(n_rows.values())
    drawn = np.arange(total)
    if total > MOST_POOL_ROWS:
        drawn = np.sort(np.random.default_rng(seed).choice(total, MOST_POOL_ROWS, replace=False))
    found, start = {}, 0
    for part in sorted(n_rows):
        end = start + n_rows[part]
        low, high = np.searchsorted(drawn, [start, end])
        found[part] = drawn[low:high] - start
        start = end
    return found


def _grow(
    engine: Any, shared: Any, kinds: Sequence[ForestPlan], shards: Sequence[Shard], assigned: Sequence[Assignment]
) -> dict[int, Any]:
    """The pieces of each shard that has trees."""
    used = sorted({task.shard for task in assigned})
    calls = []
    for index in used:
        parts = list(shards[index].parts)
        tasks = [task for task in assigned if task.shard == index]
        calls.append(engine.call(grow_shard, [engine.parts[part] for part in parts], parts, shared, list(kinds), tasks))
    return dict(zip(used, engine.keep(calls, f"growing on {len(used)} shards"), strict=True))


def _count(
    engine: Any,
    shared: Any,
    standing: Any,
    pieces: dict[int, Any],
    shards: Sequence[Shard],
    wanted: dict[int, npt.NDArray[np.intp]],
    distinct: bool,
) -> PartTally:
    calls = []
    for index, shard in enumerate(shards):
        for part in shard.parts:
            copies = [engine.call(copies_in, pieces[index], part)] if index in pieces else []
            calls.append(
                engine.call(count_part, engine.parts[part], part, shared, standing, copies, wanted[part], distinct)
            )
    tally: PartTally = engine.sum(calls, f"counting {len(calls)} parts")
    return tally


def _warn_of_sorted_rows(shards: Sequence[tuple[int, Floats]], coding: Coding) -> None:
    weights = coding.survey.class_weights
    common = weights >= COMMON_CLASS * weights.sum()
    for part, of_shard in shards:
        absent = np.flatnonzero(common & (of_shard == 0))
        if len(absent) and of_shard.sum() >= LARGE_SHARD:
            warnings.warn(
                f"the class {coding.classes[absent[0]]!r} is in {weights[absent[0]] / weights.sum():.1%} of all rows "
                f"but in none of partition {part}: rows seem to be sorted, and trees are grown on neighbouring rows; "
                "shuffle them between the partitions",
                UserWarning,
                stacklevel=4,
            )
            return


def finish(model: Any, standing: Sequence[Standing], tally: PartTally, coding: Coding) -> Any:
    """From grown trees and the counts of all rows to a fitted copy of the model."""
    fresh = unfitted(model)
    n_threads, class_weights = thread_count(model.n_jobs), coding.survey.class_weights
    forests = [
        of_kind.counts.placed_in(one.forest, n_threads=n_threads)
        for one, of_kind in zip(standing, tally.tallies, strict=True)
    ]
    assert tally.sample is not None
    sample = tally.sample
    unseen = [sample.in_forest(kind, forest, n_threads) for kind, forest in enumerate(forests)]
    fit = _FIT[type(model)](fresh, forests, tally.tallies, unseen, class_weights)
    remember_columns(fresh, coding.survey.example)
    keep_fit(fresh, fit, coding.encoder, coding.classes, class_weights, coding.weight_unit)
    if fit.out_of_bag is not None:  # for the sample alone, so only scores are kept
        keep_quality(fresh, quality_of(fit.out_of_bag, sample.rows))
    return fresh


def _fit_bagged(
    model: BaggedPETClassifier,
    forests: Sequence[Forest],
    tallies: Sequence[Tally],
    unseen: Sequence[OutOfBagRows],
    prior: Floats,
) -> Fit:
    estimate = fit_leaf_mean(
        forests[0],
        as_leaf_estimator(model.smoothing),
        plans_of(model, 0)[0],
        None,
        prior=prior,
        oob_weight=float(model.oob_weight),
        voting=model.voting,
        samples_known=False,
        n_threads=thread_count(model.n_jobs),
    )
    return _fit_with_sample(model, estimate, unseen)


def _fit_mob_esp(
    model: MOBESPClassifier,
    forests: Sequence[Forest],
    tallies: Sequence[Tally],
    unseen: Sequence[OutOfBagRows],
    prior: Floats,
) -> Fit:
    n_threads = thread_count(model.n_jobs)
    filed = _filed(forests[0], tallies[0], prior, n_threads)
    if model.oob_weight == "auto":
        weight = best_oob_weight(filed, unseen[0], model.rows)
    else:
        weight = float(model.oob_weight)
        filed.tables.mix(weight)
    estimate = VoteLookUp(forests[0], filed, weight, prior, model.voters, model.rows, n_threads)
    return _fit_with_sample(model, estimate, unseen)


def _fit_with_sample(model: Any, estimate: ForestEstimate, unseen: Sequence[OutOfBagRows]) -> Fit:
    return Fit(estimate, estimate.unseen_answer(thread_count(model.n_jobs))(unseen) if model.oob_score else None)


def _fit_probability_forest(
    model: ProbabilityForestClassifier,
    forests: Sequence[Forest],
    tallies: Sequence[Tally],
    unseen: Sequence[OutOfBagRows],
    prior: Floats,
) -> Fit:
    n_threads = thread_count(model.n_jobs)
    task = PoolTask(
        forests=forests,
        filed=[_filed(forest, tally, prior, n_threads) for forest, tally in zip(forests, tallies, strict=True)],
        unseen=unseen,
        wanted=member_names(model),
        seed=seed_of(model) or 0,
        prior=prior,
        learn_from=np.arange(len(unseen[0].rows), dtype=np.uint32),
        floor=float(model.floor),
        answer_all=model.oob_score,
        n_threads=n_threads,
    )
    return fit_pooled_components(task, pool_components(model), kind_names(model, len(forests)))


def _filed(forest: Forest, tally: Tally, prior: Floats, n_threads: int) -> FiledVotes:
    """The leaf matrices of all rows."""
    assert tally.votes is not None
    return FiledVotes(tally.votes.tables(1.0), make_ballot(forest, prior, n_threads))


_FIT: dict[type, Callable[..., Fit]] = {
    BaggedPETClassifier: _fit_bagged,
    MOBESPClassifier: _fit_mob_esp,
    ProbabilityForestClassifier: _fit_probability_forest,
}


def take_over(model: Any, fitted: Any) -> None:
    """Replace the fitted attributes of a model by those of a fitted copy."""

    def learned(of: Any) -> dict[str, Any]:
        parameters = of.get_params(deep=False)
        return {
            name: value
            for name, value in vars(of).items()
            if name not in parameters and (name.endswith("_") or name == "_estimate")
        }

    for name in learned(model):
        delattr(model, name)
    vars(model).update(learned(fitted))
