"""Permutation importance: how much the log-loss on held-out rows rises when the values of one feature are shuffled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole._table.rows import EncodedRows
from petiole.study.results import Study
from petiole.study.running import TrainAndTest, fit_on
from petiole.study.scoring import row_losses
from petiole.study.splits import Plan, make_splits

MOST_PREDICTIONS = 20_000  # permuted rows that are predicted, for all features together
MOST_REPEATS = 5
FEWEST_ROWS = 50
CELLS_AT_ONCE = 4_000_000
# From this many cells on, one fit is enough: its test part has enough rows.
ONE_FIT_FROM = 1_000_000


class Importance(NamedTuple):
    """The importance of a feature in bits of log-loss: the mean over shuffles, and its standard error."""

    name: str
    mean: float
    error: float


def permutation_importance(study: Study, method: str) -> list[Importance]:
    """The features of a study, the most important first.

    The method is fitted on the training part of each fold, and predicts rows of the test part with the values of one
    feature shuffled among them. The increase of its log-loss, in bits, is the importance of the feature. If two
    features contain the same information, neither may seem to matter.

    >>> from sklearn.datasets import load_iris
    >>> from petiole.study import compare_methods
    >>> X, y = load_iris(return_X_y=True)
    >>> study = compare_methods(X, y, methods=["naive-bayes"], folds=3, repeats=1)
    >>> sorted(found.name for found in permutation_importance(study, "naive-bayes")[:2])
    ['x2', 'x3']
    """
    random = np.random.default_rng(study.design.seed)
    parts = parts_of(study)
    n_columns = study.data.shape.n_features
    allowed = max(MOST_PREDICTIONS // n_columns, FEWEST_ROWS)
    per_part = math.ceil(allowed / len(parts))
    trials, threads = [], study.design.n_jobs
    for part in parts:
        test = part.test
        n_rows = min(len(test), per_part)
        repeats = min(max(per_part // n_rows, 1), MOST_REPEATS)
        model, _ = fit_on(study.methods[method].make(study.design.seed, threads), study.data, part.train, threads)
        rows = test.take(np.sort(random.permutation(len(test))[:n_rows]))
        trials += [_log_loss_increases(model, rows, len(study.classes), random) for _ in range(repeats)]
    table = np.array(trials)
    errors = table.std(axis=0, ddof=1) / math.sqrt(len(table)) if len(table) > 1 else np.zeros(n_columns)
    means = table.mean(axis=0)
    order = np.argsort(-means, kind="stable")
    return [Importance(study.data.names[i], float(means[i]), float(errors[i])) for i in order]


def parts_of(study: Study) -> list[TrainAndTest]:
    """The folds of the first repetition, as the study had them, or the test set."""
    rows, design = study.data.rows, study.design
    if design.folds is None:
        return [TrainAndTest(rows, None, study.judged)]
    splits = make_splits(rows.labels, Plan(design.folds, 1), np.random.default_rng(design.seed))
    if study.data.shape.cells >= ONE_FIT_FROM:
        splits = splits[:1]
    return [TrainAndTest(rows, split) for split in splits]


def _log_loss_increases(model: Any, rows: EncodedRows, n_classes: int, random: np.random.Generator) -> Floats:
    """The increase of the log-loss with each column shuffled in turn; several columns are predicted at once."""
    n_columns = rows.n_columns
    baseline = _log_losses(model, rows.matrix, rows, n_classes)[0]
    rises = np.empty(n_columns)
    step = max(1, CELLS_AT_ONCE // rows.matrix.size)
    for start in range(0, n_columns, step):
        columns = range(start, min(start + step, n_columns))
        copies = np.repeat(rows.matrix[np.newaxis], len(columns), axis=0)
        for copy, column in zip(copies, columns, strict=True):
            copy[:, column] = random.permutation(copy[:, column])
        losses = _log_losses(model, copies.reshape(-1, n_columns), rows, n_classes)
        rises[start : start + step] = losses - baseline
    return rises


def _log_losses(model: Any, matrix: npt.NDArray[Any], rows: EncodedRows, n_classes: int) -> Floats:
    """The log-loss of each copy of the rows."""
    n_copies = len(matrix) // len(rows)
    proba = np.zeros((len(matrix), n_classes))
    proba[:, model.classes_] = model.predict_proba(matrix)
    codes, weights = np.tile(rows.labels, n_copies), np.tile(rows.weights_or_ones(), n_copies)
    losses = row_losses(Judged(codes, proba, np.arange(n_classes), weights), None)["log_loss"]
    found: Floats = np.average(losses.reshape(n_copies, len(rows)), axis=1, weights=rows.weights_or_ones())
    return found
