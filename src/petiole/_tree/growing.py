"""From the parameters of a classifier to the options of the core, and from coded data to a tree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._table.weights import check_meaning
from petiole._tree.tree import Tree
from petiole._validation import (
    check_choice,
    check_number,
    check_whole,
    resolve_class_scale,
    resolve_max_features,
)
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import Savable

CRITERIA = ("entropy", "gain_ratio", "gini", "kearns_mansour")
NOMINAL_SPLITS = ("multiway", "binary")
MISSING = ("fractional", "separate")
THRESHOLDS = ("midpoint", "data")

# Class labels are 16 bits wide in the core.
MAX_CLASSES = 65_535


@dataclass(frozen=True)
class TrainingSet(Savable):
    """Rows as the core takes them: a float matrix, labels as class codes, weights or None."""

    matrix: npt.NDArray[Any]
    labels: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64] | None
    n_categories: npt.NDArray[np.int32]
    classes: npt.NDArray[Any]
    # Positions of these rows in the user's data, where rows of weight zero were left out; None: all are here.
    kept: npt.NDArray[np.intp] | None = None
    # The weight of the user's that is one row here.
    weight_unit: float = 1.0

    _saved = fields(
        matrix=checks.anything,
        labels=checks.integers("int32"),
        weights=checks.none_or(checks.weights(1, 1 / checks.LARGEST)),
        n_categories=checks.integers("int32"),
        classes=checks.labels,
        kept=checks.none_or(checks.integers("int64")),
        weight_unit=maybe(checks.positive),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        matrix, labels, weights = state["matrix"], state["labels"], state["weights"]
        is_matrix = isinstance(matrix, np.ndarray) and matrix.dtype.name in ("float32", "float64") and matrix.ndim == 2
        require(is_matrix and matrix.size, "matrix: must be a matrix of floating-point numbers with a cell or more")
        require(not np.isinf(matrix).any(), "matrix: must hold finite numbers or NaN")
        require(len(labels) == len(matrix), "labels: must be one per row")
        require(len(state["classes"]) <= MAX_CLASSES, "classes: too many")
        require((labels >= 0).all() and (labels < len(state["classes"])).all(), "labels: must be those of the classes")
        require(weights is None or len(weights) == len(labels), "weights: must be one per row")
        require(len(state["n_categories"]) == matrix.shape[1], "n_categories: must be one per column")
        require((state["n_categories"] >= 0).all(), "n_categories: must be 0 or more")
        for j in np.flatnonzero(state["n_categories"]):
            codes = matrix[:, j][~np.isnan(matrix[:, j])]
            fits = (codes >= 0) & (codes < state["n_categories"][j]) & (codes == np.floor(codes))
            require(fits.all(), f"matrix: column {j} must hold codes of categories")

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    def class_weights(self) -> npt.NDArray[np.float64]:
        """The sum of weights of each class."""
        return np.bincount(self.labels, self.weights, minlength=len(self.classes)).astype(np.float64)

    def rows(self, selected: npt.NDArray[Any]) -> TrainingSet:
        """The training set with the selected rows only."""
        weights = None if self.weights is None else self.weights[selected]
        return replace(self, matrix=self.matrix[selected], labels=self.labels[selected], weights=weights, kept=None)


def check_growth_parameters(model: Any) -> None:
    """Check all growth parameters of a tree-based classifier before any work starts."""
    check_choice("criterion", model.criterion, CRITERIA)
    check_choice("nominal_splits", model.nominal_splits, NOMINAL_SPLITS)
    check_choice("missing", model.missing, MISSING)
    check_choice("threshold", model.threshold, THRESHOLDS)
    check_whole("max_depth", model.max_depth, 1, optional=True)
    check_number("min_samples_leaf", model.min_samples_leaf, 1)
    check_whole("max_bins", model.max_bins, 2, optional=True)
    check_meaning(model.weights)
    kinds = model.max_features if isinstance(model.max_features, (tuple, list)) else (model.max_features,)
    for kind in kinds:
        resolve_max_features(kind, 1)


def growth_options(model: Any, training: TrainingSet, seed: int | None) -> _core.GrowOptions:
    """The core's options for a classifier's parameters; without a seed ties go to the first attribute."""
    n_features = training.matrix.shape[1]
    options = _core.GrowOptions()
    options.criterion = getattr(_core.Criterion, model.criterion)
    options.nominal_splits = getattr(_core.NominalSplits, model.nominal_splits)
    options.missing = getattr(_core.Missing, model.missing)
    if model.max_depth is not None:
        options.max_depth = min(int(model.max_depth), 2**31 - 1)
    options.min_samples_leaf = float(model.min_samples_leaf)
    n_drawn = resolve_max_features(model.max_features, n_features)
    options.max_features = 0 if n_drawn >= n_features else n_drawn
    options.class_scale = resolve_class_scale(model.split_class_weight, training.classes, training.class_weights())
    options.thresholds_from_data = model.threshold == "data"
    options.random_ties = seed is not None
    options.seed = 0 if seed is None else seed
    return options


def coding_options(model: Any) -> _core.CodingOptions:
    """How columns are coded: exactly, or in bins."""
    options = _core.CodingOptions()
    options.max_bins = 0 if model.max_bins is None else min(int(model.max_bins), 2**31 - 1)
    options.keep_distinct = model.threshold == "data"
    return options


def grow_tree(model: Any, training: TrainingSet, *, seed: int | None, n_threads: int) -> Tree:
    """Grow one tree; Ctrl-C stops it."""
    arrays = _core.grow_tree(
        training.matrix,
        training.labels,
        training.weights,
        training.n_categories,
        coding_options(model),
        growth_options(model, training, seed),
        len(training.classes),
        n_threads,
    )
    return Tree._trusted(n_features=training.matrix.shape[1], **arrays)
