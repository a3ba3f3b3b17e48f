"""The steps of an ensemble's fit that are done elsewhere, too: on workers and shards, or with trees that exist."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from petiole._classifiers.base import TableClassifier, remember_columns, seed_of
from petiole._classifiers.intervals import forget_intervals
from petiole._classifiers.out_of_bag import keep_out_of_bag, keep_quality
from petiole._classifiers.pet import PETClassifier
from petiole._estimates.base import Fit, ForestEstimate
from petiole._estimates.scores import judge_out_of_bag
from petiole._forest.forest import Forest
from petiole._forest.plan import NOTHING_CHOSEN, GrownForest, grow, plans_of
from petiole._table.encoder import FeatureEncoder
from petiole._table.rows import EncodedRows

if TYPE_CHECKING:
    from petiole._classifiers.ensemble import ForestClassifier

Floats = npt.NDArray[np.float64]


def forest_estimate_of(model: ForestClassifier) -> ForestEstimate:
    """The estimate of a fitted ensemble."""
    estimate: ForestEstimate = model._estimate
    return estimate


def fresh_seed(model: ForestClassifier) -> int:
    """The seed of a new fit."""
    seed = seed_of(model)
    return int(np.random.default_rng().integers(2**31)) if seed is None else seed


def grow_forests(
    model: ForestClassifier,
    rows: EncodedRows,
    seed: int,
    earlier: Sequence[Forest],
    growth: Mapping[str, Any] = NOTHING_CHOSEN,
) -> list[GrownForest]:
    """The forests of the model's plans, continuing those of an earlier fit; plans without trees are left out."""
    keep = model._needs_members or model.oob_score
    return [
        grow(plan, rows, earlier=forest, keep_members=keep, n_threads=model._n_threads())
        for plan, forest in itertools.zip_longest(plans_of(model, seed, growth), earlier)
        if plan.n_trees
    ]


def finish_fit(
    model: ForestClassifier,
    X: Any,
    encoder: FeatureEncoder,
    rows: EncodedRows,
    grown: Sequence[GrownForest],
    seed: int,
    fingerprint: str | None,
    growth: Mapping[str, Any] = NOTHING_CHOSEN,
) -> None:
    """From grown forests to a fitted classifier; a later warm start compares the ``fingerprint`` of the rows."""
    fit = model._fit_estimate(grown)
    out_of_bag = None if fit.out_of_bag is None else judge_out_of_bag(fit.out_of_bag, rows)
    # Nothing of the estimator changes before this point: a fit that fails or is stopped leaves it as it was.
    remember_columns(model, X)
    keep_fit(model, fit, encoder, rows.classes, rows.class_weights(), rows.weight_unit)
    model.seed_ = seed
    model._keep_growth(growth)
    if fingerprint is not None:
        model.fingerprint_ = fingerprint
    if out_of_bag is not None:
        keep_out_of_bag(model, out_of_bag, X, rows.kept)


def keep_fit(
    model: ForestClassifier,
    fit: Fit,
    encoder: FeatureEncoder,
    classes: npt.NDArray[Any],
    class_weights: Floats,
    weight_unit: float,
) -> None:
    """Set the fitted attributes that all ensembles have."""
    model.encoder_ = encoder
    model.weight_unit_ = weight_unit
    model.classes_ = classes
    model.class_weights_ = class_weights
    model.__dict__.pop("counted_weights_", None)
    forget_intervals(model)
    model._keep_estimate(fit.estimate)
    if fit.quality is not None:
        keep_quality(model, fit.quality)
        model.oob_component_log_loss_ = fit.component_log_loss


def single_trees(model: ForestClassifier) -> list[PETClassifier]:
    """The trees of a fitted ensemble as classifiers that share its columns and parameters."""
    estimate, given = forest_estimate_of(model), model.get_params(deep=False)
    shared = {name: given[name] for name in PETClassifier().get_params() if name in given}
    kinds = zip(plans_of(model, 0), estimate.forests, strict=False)
    plans = [plan.tree for plan, forest in kinds for _ in range(len(forest))]
    singles = []
    for tree, plan in zip(estimate.single_trees(), plans, strict=True):
        single = PETClassifier(**{**shared, **plan.chosen(), "smoothing": tree.estimator})
        share_columns(model, single)
        single._keep_estimate(tree)
        singles.append(single)
    return singles


def share_columns(fitted: TableClassifier, other: TableClassifier) -> None:
    """Copy the columns, classes and weights of a fitted classifier to another one."""
    other.encoder_ = fitted.encoder_
    other.classes_ = fitted.classes_
    other.n_features_in_ = fitted.n_features_in_
    if "weight_unit_" in vars(fitted):
        other.weight_unit_ = fitted.weight_unit_
    if "feature_names_in_" in vars(fitted):
        other.feature_names_in_ = fitted.feature_names_in_


def fingerprint_of(rows: EncodedRows) -> str:
    """A hash of training data."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (rows.matrix, rows.labels, rows.weights, rows.classes.astype(str)):
        if array is not None:
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()
