"""Data that fit in each worker's memory: each grows some of the trees; the model is the local one, bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from petiole._classifiers.base import check_parameters, encode_training
from petiole._classifiers.ensemble import ForestClassifier
from petiole._classifiers.fitting import fingerprint_of, finish_fit, fresh_seed, grow_forests
from petiole._forest.forest import Forest
from petiole._forest.plan import ForestPlan, grow_range, plans_of
from petiole._table.encoder import FeatureEncoder
from petiole._table.rows import EncodedRows
from petiole.distributed.sharded import unfitted
from petiole.distributed.sources import Batch


@dataclass(frozen=True)
class Prepared:
    """The training data in one place."""

    X: Any
    encoder: FeatureEncoder
    rows: EncodedRows


def fit_broadcast(model: Any, engine: Any) -> Any:
    """Fit a copy of the model on all parts together."""
    if not isinstance(model, ForestClassifier):
        return engine.get(engine.call(_fit_alone, unfitted(model), list(engine.parts)))
    check_parameters(model)
    seed = fresh_seed(model)
    (prepared,) = engine.keep([engine.call(prepare, unfitted(model), list(engine.parts))], "bringing rows together")
    growth = engine.get(engine.call(choose_growth, prepared, unfitted(model), seed))
    pieces = []
    plans = [plan for plan in plans_of(model, seed, growth) if plan.n_trees]
    for plan in plans:
        bounds = np.linspace(0, plan.n_trees, min(plan.n_trees, engine.n_workers) + 1).astype(int).tolist()
        pieces.append([engine.call(grow_some, prepared, plan, low, high) for low, high in itertools.pairwise(bounds)])
    flat = engine.keep(
        [piece for of_kind in pieces for piece in of_kind], f"growing {sum(plan.n_trees for plan in plans)} trees"
    )
    of_kinds, at = [], 0
    for of_kind in pieces:
        of_kinds.append(flat[at : at + len(of_kind)])
        at += len(of_kind)
    return engine.get(engine.call(finish_grown, prepared, unfitted(model), seed, growth, of_kinds))


def _fit_alone(model: Any, batches: Sequence[Batch]) -> Any:
    whole = join_batches(batches)
    return model.fit(whole.X, whole.y, whole.weights)


def prepare(model: Any, batches: Sequence[Batch]) -> Prepared:
    """Bring the parts together and encode them as ``fit`` does."""
    whole = join_batches(batches)
    encoder, rows = encode_training(model, whole.X, whole.y, whole.weights)
    return Prepared(whole.X, encoder, rows)


def choose_growth(prepared: Prepared, model: Any, seed: int) -> dict[str, Any]:
    """Parameters of trees that the fit chooses on the rows."""
    return dict(model._choose_growth(prepared.rows, seed).growth)


def grow_some(prepared: Prepared, plan: ForestPlan, first: int, end: int) -> Forest:
    """Some trees of a plan."""
    return grow_range(plan, prepared.rows, first, end)[0]


def finish_grown(
    prepared: Prepared, model: Any, seed: int, growth: Mapping[str, Any], pieces: Sequence[Sequence[Forest]]
) -> Any:
    """The rest of ``fit``, given all trees: a warm start without further trees."""
    joined = [Forest.joined(of_kind) for of_kind in pieces]
    grown = grow_forests(model, prepared.rows, seed, joined, growth)
    fingerprint = fingerprint_of(prepared.rows) if model.warm_start else None
    finish_fit(model, prepared.X, prepared.encoder, prepared.rows, grown, seed, fingerprint, growth)
    return model


def join_batches(batches: Sequence[Batch]) -> Batch:
    """All rows of the parts, in their order; parts without rows are skipped."""
    present = [batch for batch in batches if batch.X is not None and len(batch.X)]
    if not present:
        raise ValueError("data has no rows: give at least one")
    if len(present) == 1:
        return present[0]
    some_weights = any(batch.weights is not None for batch in present)
    weights = _join([batch.weights for batch in present]) if some_weights else None
    return Batch(_join([batch.X for batch in present]), _join([batch.y for batch in present]), weights)


def _join(pieces: Sequence[Any]) -> Any:
    module = type(pieces[0]).__module__.split(".")[0]
    if module == "pandas":
        import pandas as pd

        return pd.concat(pieces)
    if module == "pyarrow":
        import pyarrow as pa

        if isinstance(pieces[0], pa.Table):
            return pa.concat_tables(pieces, promote_options="permissive")
        return pa.chunked_array([chunk for piece in pieces for chunk in getattr(piece, "chunks", [piece])])
    if module == "polars":
        import polars as pl

        return pl.concat(pieces)
    return np.concatenate([np.asarray(piece) for piece in pieces])
