"""Rows in the form for the core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.constraints import Constraints
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import Savable

# Class labels are 16 bits wide in the core.
MAX_CLASSES = 65_535


@dataclass(frozen=True)
class EncodedRows(Savable):
    """Rows in the form for the core: a float matrix, labels as class codes, weights or None.

    Attributes
    ----------
    matrix : array of shape (n_rows, n_columns), float32 or float64
        Numbers as they are, categories as codes from 0, NaN where a value is missing.
    labels : array of int32
        Positions among ``classes``.
    weights : array of float64 or None
        None means that every row has weight 1. No weight is zero: such rows are left out.
    n_categories : array of int32
        For each column the number of its categories, 0 for numbers.
    classes : array
        The labels as the user wrote them.
    kept : array or None
        The positions of these rows in the user's data; None if they are all of it.
    weight_unit : float
        The weight in the user's data that counts as one row here.
    constraints : Constraints or None
        What is demanded of the columns. It is not saved: models that keep their rows have no constraints.
    """

    matrix: npt.NDArray[Any]
    labels: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64] | None
    n_categories: npt.NDArray[np.int32]
    classes: npt.NDArray[Any]
    kept: npt.NDArray[np.intp] | None = None
    weight_unit: float = 1.0
    constraints: Constraints | None = None

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

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_columns(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def positions(self) -> npt.NDArray[np.intp]:
        """Where these rows are in the user's data."""
        return np.arange(len(self)) if self.kept is None else self.kept

    def weights_or_ones(self) -> npt.NDArray[np.float64]:
        return np.ones(len(self)) if self.weights is None else self.weights

    def class_weights(self) -> npt.NDArray[np.float64]:
        """The sum of weights of each class."""
        return np.bincount(self.labels, self.weights, minlength=len(self.classes)).astype(np.float64)

    def against_others(self, target: int) -> EncodedRows:
        """The same rows with two classes: 1 is the target, 0 all others."""
        constraints = self.constraints and replace(self.constraints, target=1)
        labels = (self.labels == target).astype(np.int32)
        return replace(self, labels=labels, classes=np.array([False, True]), constraints=constraints)

    def without_order(self) -> EncodedRows:
        """The same rows for a model whose probabilities need not be monotone."""
        groups = () if self.constraints is None else self.constraints.groups
        return replace(self, constraints=Constraints(groups=groups) if groups else None)

    def take(self, selected: npt.NDArray[Any] | slice) -> EncodedRows:
        """Some of the rows: a slice, their positions, or a mask."""
        return replace(
            self,
            matrix=self.matrix[selected],
            labels=self.labels[selected],
            weights=None if self.weights is None else self.weights[selected],
            kept=self.positions[selected],
        )


def rows_that_count(weights: npt.NDArray[np.float64] | None) -> npt.NDArray[np.intp] | None:
    """The positions of the rows of positive weight; None if all rows have one.

    >>> rows_that_count(np.array([1.0, 0.0, 2.0]))
    array([0, 2])
    """
    return None if weights is None or weights.all() else np.flatnonzero(weights)
