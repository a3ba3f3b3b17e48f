"""A fitted logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from petiole import _core
from petiole._linear.encoding import LinearEncoding
from petiole._linear.kernel import KernelEncoding
from petiole._linear.numeric import Floats
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

# The number of cells whose features are computed at once.
CELLS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class LinearModel(Savable):
    """softmax(intercepts + features · coefficients): a tree that consists of a root only, with a linear leaf.

    Attributes
    ----------
    encoding : LinearEncoding or KernelEncoding
        The features of encoded rows.
    coefficients : array of shape (n_features, n_classes)
    intercepts : array of shape (n_classes,)
    """

    encoding: LinearEncoding | KernelEncoding
    coefficients: Floats
    intercepts: Floats

    _saved = fields(
        encoding=checks.instance_of("LinearEncoding", "KernelEncoding"),
        coefficients=checks.floats(2, -checks.LARGEST, checks.LARGEST),
        intercepts=checks.floats(1, -checks.LARGEST, checks.LARGEST),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        require(len(state["intercepts"]) > 0, "intercepts: must be one per class")
        shape = state["encoding"].n_features, len(state["intercepts"])
        require(state["coefficients"].shape == shape, f"coefficients: must have the shape {shape}")

    def __repr__(self) -> str:
        n_features, n_classes = self.coefficients.shape
        return f"LinearModel({self.encoding.n_columns} columns, {n_features} features, {n_classes} classes)"

    @property
    def n_classes(self) -> int:
        return len(self.intercepts)

    @property
    def n_columns(self) -> int:
        return self.encoding.n_columns

    def answer(self, matrix: npt.NDArray[Any], n_threads: int = 1) -> Floats:
        """The probabilities of encoded rows, (n_rows, n_classes)."""
        proba = np.empty((len(matrix), self.n_classes))
        step = max(1, CELLS_AT_ONCE // max(1, len(self.coefficients)))
        for begin in range(0, len(matrix), step):
            features = self.encoding.features(matrix[begin : begin + step])
            scores = _core.affine(features, self.coefficients, self.intercepts, n_threads)
            proba[begin : begin + step] = softmax(scores, axis=1)
        return proba

    @classmethod
    def fused(cls, models: Sequence[Self]) -> Sequence[Self]:
        """One model if all have the same features: means of coefficients make the geometric mean of probabilities."""
        first = models[0]
        if any(model.encoding is not first.encoding for model in models):
            return models
        coefficients = np.mean([model.coefficients for model in models], axis=0)
        return [replace(first, coefficients=coefficients, intercepts=np.mean([m.intercepts for m in models], axis=0))]
