"""Dual perturb and combine by sampling: any classifier predicts several perturbed copies of each query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from petiole._dual.noise import Perturbation
from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import read_table

LARGEST_VALUE = np.finfo(np.float64).max


class Draws(NamedTuple):
    """The noise of one perturbed copy: shifts of numbers, and for categorical features a category or -1 (kept)."""

    shift: Floats
    category: npt.NDArray[np.int64]


def draw(perturbation: Perturbation, n_perturbations: int, seed: int) -> Iterator[Draws]:
    """Draw the noise of each copy, from the seed alone.

    All queries get the same noise (the ε^i of Geurts 2001, eq. 1, do not depend on the query), so the prediction for a
    query does not depend on the others, and predictions at two noise levels differ by the level only.
    """
    random = np.random.default_rng(seed)
    n = len(perturbation.scale)
    for _ in range(n_perturbations):
        normal, kept, which = random.standard_normal(n), random.random(n), random.random(n)
        category = np.full(n, -1, dtype=np.int64)
        for j, frequencies in enumerate(perturbation.frequencies):
            if len(frequencies) and kept[j] < perturbation.swap[j]:
                category[j] = min(np.searchsorted(np.cumsum(frequencies), which[j], "right"), len(frequencies) - 1)
        yield Draws(perturbation.scale * normal, category)


def perturbed_matrix(matrix: npt.NDArray[Any], draws: Draws) -> Floats:
    """Encoded rows with noise; missing values stay missing."""
    found = shifted(matrix, draws.shift)
    for j in np.flatnonzero(draws.category >= 0):
        found[~np.isnan(found[:, j]), j] = draws.category[j]
    return found


def shifted(values: npt.NDArray[Any], shift: Any) -> Floats:
    """Values with noise added; they stay finite."""
    with np.errstate(over="ignore"):
        return np.clip(values.astype(np.float64) + shift, -LARGEST_VALUE, LARGEST_VALUE)


class PerturbedTable:
    """The user's rows with noise, in the user's own kind of table.

    >>> encoder, matrix = FeatureEncoder.fit([[1.5, "red"], [2.5, "blue"]])
    >>> draws = Draws(np.array([0.25, 0.0]), np.array([-1, 0]))
    >>> PerturbedTable([[1.5, "red"], [2.5, "blue"]], encoder).perturbed(draws)
    array([[1.75, 'blue'],
           [2.75, 'blue']], dtype=object)
    """

    def __init__(self, X: Any, encoder: FeatureEncoder) -> None:
        self.encoder = encoder
        self.matrix = encoder.transform(X)
        table, _ = read_table(X)
        wrapped = nw.from_native(X, pass_through=True, eager_only=True)
        self.frame: Any = wrapped if isinstance(wrapped, nw.DataFrame) else None
        self.array: Any = None if self.frame is not None else table

    def perturbed(self, draws: Draws) -> Any:
        """The table for one draw."""
        moved = np.flatnonzero(draws.shift)
        drawn = np.flatnonzero(draws.category >= 0)
        if self.frame is not None:
            return self._frame(draws, moved, drawn)
        return self._array(draws, moved, drawn)

    def _array(self, draws: Draws, moved: npt.NDArray[Any], drawn: npt.NDArray[Any]) -> Any:
        as_numbers = self.array.dtype.kind in "iufb"
        found = self.array.astype(np.float64 if as_numbers else object)
        for j in moved:
            known = ~np.isnan(self.matrix[:, j])
            found[known, j] = shifted(self.matrix[known, j], draws.shift[j])
        for j in drawn:
            found[~np.isnan(self.matrix[:, j]), j] = self._category(j, draws)
        return found

    def _frame(self, draws: Draws, moved: npt.NDArray[Any], drawn: npt.NDArray[Any]) -> Any:
        names = self.frame.columns
        backend = self.frame.implementation
        changed = []
        for j in moved:
            values = shifted(self.matrix[:, j], draws.shift[j])
            changed.append(nw.new_series(names[j], values, nw.Float64(), backend=backend))
        for j in drawn:
            old, value = self.frame[names[j]], self._category(j, draws)
            known = ~np.isnan(self.matrix[:, j])
            changed.append(_category_series(old, [value if one else None for one in known], backend))
        if self.frame.implementation.is_pandas():
            index = self.frame.to_native().index
            changed = [nw.from_native(one.to_native().set_axis(index), series_only=True) for one in changed]
        return self.frame.with_columns(*changed).to_native()

    def _category(self, j: int, draws: Draws) -> Any:
        categories = self.encoder.categories[j]
        assert categories is not None
        return categories[draws.category[j]]


def _category_series(old: Any, values: list[Any], backend: Any) -> Any:
    """A column like another one with other categories in it."""
    if backend.is_pandas():
        import pandas as pd

        native = pd.Series(values, dtype=old.to_native().dtype, name=old.name)
        return nw.from_native(native, series_only=True)
    return nw.new_series(old.name, values, old.dtype, backend=backend)
