"""Tuning of noise on a validation set, on the out-of-bag rows of an ensemble, or on folds left out of the fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from petiole import _core
from petiole._dual.closed_form import SoftForest, counted_rows
from petiole._dual.line_search import Searched, descend, golden_section
from petiole._dual.model import Noise, PerturbedModel
from petiole._dual.noise import Perturbation
from petiole._forest.plan import ForestPlan, plans_of
from petiole._table.columns import Floats
from petiole._table.frames import read_table, unwrap_frame
from petiole._table.labels import check_weights, label_codes
from petiole._table.rows import EncodedRows, rows_that_count
from petiole._table.weights import weights_in_rows
from petiole._tree.held_out import N_FOLDS, deal_into_folds
from petiole.smoothing.base import LEAST_PROBABILITY

MOST_NOISE = 3.0
# The second start of noise per feature: a feature that tolerates no noise can keep the common level near zero,
# where the loss is flat.
ELSEWHERE = 0.3
# The most rows from which one or two numbers are learned; fewer if the leaves of every row in all trees are kept.
MOST_ROWS, MOST_ROWS_WITH_LEAVES = 5_000, 1_000

Slopes = tuple[float, Floats]


@dataclass(frozen=True)
class RowsToTune:
    """Rows that a model has not seen: its predictions for them under noise, and the gradient of its log-loss in nats.

    ``labels`` are codes among the columns of ``ask``'s result; -1 for a class that the model does not have.
    """

    labels: npt.NDArray[np.int32]
    weights: Floats
    ask: Callable[[Noise], Floats]
    slopes: Callable[[Noise], Slopes] | None
    is_mean: bool = True  # the slopes are those of what ask returns, not of something near it

    def loss(self, noise: Noise, objective: str) -> tuple[float, float]:
        """The summed loss (bits, or errors) and the summed weight of rows that have a prediction."""
        proba = self.ask(noise)
        known = ~np.isnan(proba[:, 0])
        labels, weights, proba = self.labels[known], self.weights[known], proba[known]
        if objective == "error":
            lost = (proba.argmax(axis=1) != labels).astype(np.float64)
        else:
            own = np.where(labels >= 0, proba[np.arange(len(labels)), labels], 0.0)
            lost = -np.log2(np.maximum(own, LEAST_PROBABILITY))
        return float(weights @ lost), float(weights.sum())


def mean_loss(held_out: Sequence[RowsToTune], noise: Noise, objective: str) -> float:
    """The weighted mean over all held-out rows; NaN if there is none."""
    sums = np.sum([one.loss(noise, objective) for one in held_out], axis=0) if held_out else np.zeros(2)
    return float(sums[0] / sums[1]) if sums[1] > 0 else float("nan")


@dataclass(frozen=True)
class Tuned:
    """The results, and all (value, loss) that were tried for each parameter."""

    noise: float | Floats
    nominal_noise: float
    tried: list[tuple[float, float]]
    nominal_tried: list[tuple[float, float]]


def tune(
    held_out: Sequence[RowsToTune],
    noise: Noise,
    given: tuple[Any, Any],
    objective: str,
    used: npt.NDArray[np.bool_],
    any_categorical: bool,
) -> Tuned:
    """Learn the noise: ``given`` are the parameters noise and nominal_noise, a number or what to learn."""
    level, nominal = given
    searched, nominal_searched = Searched(0.0, []), Searched(0.0, [])
    learns_level, learns_nominal = isinstance(level, str), isinstance(nominal, str)
    noise = replace(noise, level=0.0 if learns_level else level, nominal_noise=0.0 if learns_nominal else nominal)
    if learns_level and used.any():
        searched = _search(held_out, objective, lambda x: replace(noise, level=x), MOST_NOISE, noise, "noise")
        noise = replace(noise, level=searched.best)
    if learns_nominal and any_categorical:
        nominal_searched = _search(
            held_out, objective, lambda q: replace(noise, nominal_noise=q), 1.0, noise, "nominal_noise"
        )
        noise = replace(noise, nominal_noise=nominal_searched.best)
    if isinstance(level, str) and level == "per_attribute":
        noise = replace(noise, level=_per_feature(held_out, noise, objective, used))
    return Tuned(noise.level, noise.nominal_noise, searched.tried, nominal_searched.tried)


def _search(
    held_out: Sequence[RowsToTune],
    objective: str,
    with_value: Callable[[float], Noise],
    most: float,
    noise: Noise,
    name: str,
) -> Searched:
    def loss(value: float) -> float:
        found = mean_loss(held_out, replace(with_value(value), verbose=False), objective)
        if noise.verbose:
            print(f"[DualPerturbCombineClassifier] {name}={value:.4f}: {objective} {found:.5f}")
        return found

    searched = golden_section(loss, most)
    # Without rows there is no loss, and nothing has been tried.
    return searched if np.isfinite([loss for _, loss in searched.tried]).any() else Searched(0.0, [])


def _per_feature(
    held_out: Sequence[RowsToTune], noise: Noise, objective: str, used: npt.NDArray[np.bool_]
) -> float | Floats:
    """One level per feature, if that is better on the held-out rows than one for all; else that one for all."""
    common = float(noise.level)

    def slopes(levels: Floats) -> Slopes:
        found = [one.slopes(replace(noise, level=levels)) for one in held_out if one.slopes is not None]
        return sum(value for value, _ in found), np.sum([slope for _, slope in found], axis=0)

    levels = np.full(len(used), common)
    if not held_out or not used.any():
        return levels
    is_mean = all(one.is_mean for one in held_out)
    candidates = [levels]
    for start in (common, ELSEWHERE):
        found = descend(slopes, start, used, MOST_NOISE)
        candidates.append(found if is_mean else _resized(held_out, noise, objective, found))
    losses = [
        mean_loss(held_out, replace(noise, level=candidate, verbose=False), objective) for candidate in candidates
    ]
    return candidates[int(np.nanargmin(losses))] if np.isfinite(losses).any() else levels


def _resized(held_out: Sequence[RowsToTune], noise: Noise, objective: str, levels: Floats) -> Floats:
    """Levels learned on an approximation: their proportions are kept, and their size is found on the predictions."""
    searched = _search(held_out, objective, lambda k: replace(noise, level=k * levels), MOST_NOISE, noise, "factor")
    return searched.best * levels


# ---- the rows
def on_validation(model: PerturbedModel, X: Any, y: Any, sample_weight: Any = None) -> list[RowsToTune]:
    """The rows of a validation set."""
    prepared, labels = model.prepare(X), _known_codes(y, model.classes)
    weights, _ = weights_in_rows(check_weights(sample_weight, len(labels)))
    return [_held_out(model, prepared, labels, np.ones(len(labels)) if weights is None else weights)]


def on_folds(
    fit: Callable[[Any, Any, Any], PerturbedModel],
    X: Any,
    labels: npt.NDArray[np.int32],
    classes: npt.NDArray[Any],
    weights: Floats | None,
    random: np.random.Generator,
) -> list[RowsToTune]:
    """Cross-fitting: every fold is predicted by a model fitted on the others."""
    X = _rows_to_select(X)
    in_rows, _ = weights_in_rows(weights)
    present = rows_that_count(weights)
    present = np.arange(len(labels)) if present is None else present
    fold_of = deal_into_folds(labels[present], min(N_FOLDS, len(present)), random)
    held_out = []
    for fold in np.unique(fold_of):
        inside, outside = present[fold_of != fold], present[fold_of == fold][: MOST_ROWS // N_FOLDS]
        if not inside.size:
            continue
        of_rows = None if weights is None else weights[inside]
        model = fit(_safe_indexing(X, inside), classes[labels[inside]], of_rows)
        codes = _known_codes(classes[labels[outside]], model.classes, strict=False)
        held = np.ones(len(outside)) if in_rows is None else in_rows[outside]
        held_out.append(_held_out(model, model.prepare(_safe_indexing(X, outside)), codes, held))
    return held_out


def _rows_to_select(X: Any) -> Any:
    """A frame as it is, anything else as an array."""
    return X if isinstance(unwrap_frame(X, "X"), nw.DataFrame) else read_table(X)[0]


def _held_out(model: PerturbedModel, prepared: Any, labels: npt.NDArray[np.int32], weights: Floats) -> RowsToTune:
    def slopes(noise: Noise) -> Slopes:
        soft, known = model.soft(), labels >= 0
        rows = np.ascontiguousarray(prepared[known]), labels[known], np.ascontiguousarray(weights[known])
        return _slopes(soft.means(), [[(*rows, None)]] * len(soft.means()), model.perturbation(noise), noise.n_threads)

    if isinstance(prepared, np.ndarray):
        return RowsToTune(labels, weights, lambda noise: model.answer(prepared, noise), slopes, model.soft().is_mean)
    return RowsToTune(labels, weights, lambda noise: model.answer(prepared, noise), None)


def _slopes(means: Any, rows_of_parts: Any, perturbation: Perturbation, n_threads: int) -> Slopes:
    """Log-loss in nats and its slopes, summed over routers and the parts of their rows."""
    loss, slopes = 0.0, np.zeros(len(perturbation.scale))
    for (router, tables), parts in zip(means, rows_of_parts, strict=True):
        for matrix, labels, weights, counted in parts:
            found = router.loss(
                matrix, labels, weights, tables, perturbation.core, counted, LEAST_PROBABILITY, n_threads
            )
            loss, slopes = loss + found[0], slopes + found[1]
    return loss, slopes


def on_unseen(model: PerturbedModel, training: EncodedRows, random: np.random.Generator) -> list[RowsToTune]:
    """Out-of-bag rows of an ensemble, each predicted by trees that have not seen it."""
    soft, plans = model.soft(), plans_of(model.inner, model.inner.seed_)
    assert isinstance(soft, SoftForest)
    most = MOST_ROWS_WITH_LEAVES if soft.keeps_leaves else MOST_ROWS
    rows = _some(np.arange(len(training)), most, random)
    weights = training.weights_or_ones()[rows]
    answers: dict[int, Callable[[Perturbation], Floats]] = {}

    def ask(noise: Noise) -> Floats:
        if noise.n_threads not in answers:
            answers[noise.n_threads] = soft.unseen_answer(plans, training, rows, noise.n_threads)
        return answers[noise.n_threads](model.perturbation(noise))

    parts: list[Any] = []

    def slopes(noise: Noise) -> Slopes:
        means = soft.means()
        if not parts:
            parts.extend(_unseen_of_forests(soft, plans, training, rows))
        return _slopes(means, parts, model.perturbation(noise), noise.n_threads)

    return [RowsToTune(training.labels[rows], weights, ask, slopes, soft.is_mean)]


def _unseen_of_forests(
    soft: SoftForest, plans: Sequence[ForestPlan], training: EncodedRows, rows: npt.NDArray[np.intp]
) -> list[Any]:
    """For each of the forests that an ensemble consists of: rows, and where they are counted."""
    found = []
    for forest, plan in zip(soft.estimate.forests, plans, strict=False):
        parts = counted_rows(forest, plan, training, rows, MOST_ROWS)
        found.append([(part.rows.matrix, part.rows.labels, part.rows.weights, part.counted) for part in parts])
    return found


def on_one_tree(model: PerturbedModel, training: EncodedRows, random: np.random.Generator) -> list[RowsToTune]:
    """The paper's shortcut: the first tree of an ensemble alone, on the rows outside its sample."""
    soft, plan = model.soft(), plans_of(model.inner, model.inner.seed_)[0]
    assert isinstance(soft, SoftForest)
    rows = _some(np.flatnonzero(plan.sample(training, 0) == 0), MOST_ROWS, random)
    if not rows.size:
        return []
    forest = soft.estimate.forests[0]
    table = np.asarray(soft.means()[0][1].of_tree(0))
    means = [(_core.SoftRouter.of_tree(forest[0].arrays), _core.LeafTables([table], table.shape[1]))]
    matrix, labels = np.ascontiguousarray(training.matrix[rows]), np.ascontiguousarray(training.labels[rows])
    weights = np.ones(len(rows)) if training.weights is None else np.ascontiguousarray(training.weights[rows])

    def ask(noise: Noise) -> Floats:
        router, tables = means[0]
        return np.asarray(router.average(matrix, tables, model.perturbation(noise).core, None, noise.n_threads))

    def slopes(noise: Noise) -> Slopes:
        return _slopes(means, [[(matrix, labels, weights, None)]], model.perturbation(noise), noise.n_threads)

    return [RowsToTune(labels, weights, ask, slopes)]


def _some(rows: npt.NDArray[np.intp], most: int, random: np.random.Generator) -> npt.NDArray[np.intp]:
    return rows if len(rows) <= most else np.sort(random.choice(rows, most, replace=False))


def _known_codes(y: Any, classes: npt.NDArray[Any], *, strict: bool = True) -> npt.NDArray[np.int32]:
    if strict:
        return label_codes(y, classes, "validation")
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([code_of.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.int32)
