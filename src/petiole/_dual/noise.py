"""How values are perturbed: Gaussian noise on numbers, categories drawn again, missing values unchanged."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._table.rows import rows_that_count
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]

# The largest share of a query's mass that may end in a wrong leaf because negligible branches are not entered.
TOLERANCE = 1e-4
# The largest standard deviation of noise, so that random values are finite.
MOST_SCALE = 1e306


@dataclass(frozen=True)
class Perturbation:
    """Noise per feature, in the form for the core.

    Parameters
    ----------
    scale : array of shape (n_features,)
        Standard deviations of the noise; 0 does not change a feature.
    swap : array of shape (n_features,)
        The probability that a category is drawn again.
    frequencies : sequence of arrays
        The frequencies for the draw, one array per feature; empty for a numeric one.
    mode : {"exact", "product"}
        Whether the tests of a path on the same feature share the noise, or each has its own.
    tolerance : float, default=1e-4
        The largest share of a query's mass that may end in a wrong leaf of a tree because negligible branches are not
        entered.
    """

    scale: Floats
    swap: Floats
    frequencies: Sequence[Floats]
    mode: str = "exact"
    tolerance: float = TOLERANCE

    @functools.cached_property
    def core(self) -> _core.Perturbation:
        """The core's object."""
        frequencies = [np.ascontiguousarray(one, dtype=np.float64) for one in self.frequencies]
        scale, swap = (np.ascontiguousarray(one, dtype=np.float64) for one in (self.scale, self.swap))
        return _core.Perturbation(self.mode == "product", float(self.tolerance), scale, swap, frequencies)


@dataclass(frozen=True)
class Attributes(Savable):
    """The scales of noise: the standard deviations of numeric features and the frequencies of categories.

    Model files refer to the class by its name, hence the word of the papers.

    >>> matrix = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]])
    >>> features = Attributes.of(matrix, None, np.array([0, 2]))
    >>> features.scales
    array([1., 0.])
    >>> features.frequencies[1]
    array([0.33333333, 0.66666667])
    """

    scales: Floats
    frequencies: list[Floats]

    _saved = fields(
        scales=checks.floats(1, 0.0),
        frequencies=checks.list_of(checks.floats(1, 0.0, 1.0 + 1e-9)),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        require(len(state["frequencies"]) == len(state["scales"]), "frequencies: must be one array per feature")
        for shares in state["frequencies"]:
            require(not shares.size or abs(shares.sum() - 1) < 1e-6, "frequencies: must sum to 1")

    @classmethod
    def of(cls, matrix: npt.NDArray[Any], weights: Floats | None, n_categories: npt.NDArray[np.int32]) -> Attributes:
        """Learn them from encoded training rows; σ is that of the whole set (no correction of degrees of freedom).

        Rows of weight zero are ignored.
        """
        scales, frequencies = np.zeros(len(n_categories)), []
        kept = rows_that_count(weights)
        if kept is not None and weights is not None:
            matrix, weights = matrix[kept], weights[kept]
        for j, n in enumerate(n_categories):
            known = ~np.isnan(matrix[:, j])
            values, of_values = matrix[known, j], None if weights is None else weights[known]
            frequencies.append(_frequencies(values, of_values, int(n)))
            if n == 0:
                scales[j] = _deviation(values.astype(np.float64), of_values)
        return cls(scales, frequencies)

    @property
    def is_numeric(self) -> npt.NDArray[np.bool_]:
        """Which features Gaussian noise has an effect on."""
        return self.scales > 0

    @property
    def any_categorical(self) -> bool:
        return any(len(one) > 1 for one in self.frequencies)

    def perturbation(
        self, noise: float | Floats, nominal_noise: float, mode: str, tolerance: float = TOLERANCE
    ) -> Perturbation:
        """Noise of λσ on numbers (one λ, or one per feature), and of probability q on categories."""
        swap = np.array([nominal_noise if one.size else 0.0 for one in self.frequencies])
        with np.errstate(over="ignore"):
            scale = np.minimum(self.scales * noise, MOST_SCALE)
        return Perturbation(scale, swap, self.frequencies, mode, tolerance)


def _deviation(values: Floats, weights: Floats | None) -> float:
    if values.size == 0 or values.min() == values.max():
        return 0.0
    # Measured from the least: squares of large numbers would overflow, and deviations from a large mean be lost.
    least, most = values.min(), values.max()
    half = 0.5 if most / 2 - least / 2 > MOST_SCALE else 1.0  # the distance itself may overflow
    above = half * values - half * least
    scaled = above / above.max()
    mean = np.average(scaled, weights=weights)
    return float(above.max() * (np.sqrt(np.average((scaled - mean) ** 2, weights=weights)) / half))


def _frequencies(values: npt.NDArray[Any], weights: Floats | None, n_categories: int) -> Floats:
    """Shares of the categories; none for a numeric feature, and where nothing is known."""
    if n_categories == 0 or values.size == 0:
        return np.empty(0)
    counts = np.bincount(values.astype(np.intp), weights, minlength=n_categories).astype(np.float64)
    return counts / counts.sum() if counts.sum() > 0 else np.empty(0)
