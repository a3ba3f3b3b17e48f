"""Rows as the core takes them, and a tree grown on them by a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._tree.plan import TreePlan
from petiole._tree.tree import Tree
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import Savable

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


def grow_tree(plan: TreePlan, training: TrainingSet, *, seed: int | None, n_threads: int) -> Tree:
    """Grow one tree; Ctrl-C stops it."""
    arrays = _core.grow_tree(
        training.matrix,
        training.labels,
        training.weights,
        training.n_categories,
        plan.coding(),
        plan.options(training.matrix.shape[1], training.classes, training.class_weights(), seed),
        len(training.classes),
        n_threads,
    )
    return Tree._trusted(n_features=training.matrix.shape[1], **arrays)
