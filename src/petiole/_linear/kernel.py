"""Features that are Gaussian kernels: how near a row is to some of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist

from petiole import _core
from petiole._linear.encoding import LinearEncoding
from petiole._linear.numeric import Floats
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

# Directions in which the landmarks vary less than this share of the most are left out.
LEAST_SPREAD = 1e-5


@dataclass(frozen=True, eq=False)
class KernelEncoding(Savable):
    """exp(−γ · d²) for each landmark, d being the distance between the features of a row and those of the landmark.

    Attributes
    ----------
    base : LinearEncoding
        The features in which distances are measured.
    landmarks : array of shape (n_base_features, n_landmarks)
    gamma : float
    """

    base: LinearEncoding
    landmarks: Floats
    gamma: float

    _saved = fields(
        base=checks.instance_of("LinearEncoding"),
        landmarks=checks.floats(2, -checks.LARGEST, checks.LARGEST),
        gamma=checks.number(0.0, checks.LARGEST),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        width = len(state["base"].means)
        require(state["landmarks"].shape[0] == width, f"landmarks: must have {width} features")

    @property
    def n_columns(self) -> int:
        return self.base.n_columns

    @property
    def n_features(self) -> int:
        return int(self.landmarks.shape[1])

    def features(self, matrix: npt.NDArray[Any]) -> Floats:
        """The kernels of encoded rows, (n_rows, n_landmarks)."""
        return self.of(self.base.features(matrix))

    def of(self, points: Floats) -> Floats:
        """The kernels of rows whose features are known."""
        return np.asarray(_core.gaussian_kernels(np.ascontiguousarray(points), self.landmarks, self.gamma, 1))


def typical_distance(points: Floats) -> float:
    """The median distance of pairs of different points; 1 if that is 0 or there is no pair."""
    distances = pdist(points)
    return float(np.median(distances)) or 1.0 if distances.size else 1.0


class Whitening(NamedTuple):
    """From kernels to features whose ridge is that of the kernel's own space (Nyström's method), less their means."""

    directions: Floats
    means: Floats

    @classmethod
    def of(cls, encoding: KernelEncoding, kernels: Floats, weights: Floats) -> Self:
        spread, directions = np.linalg.eigh(encoding.of(encoding.landmarks.T))
        kept = spread > LEAST_SPREAD * spread[-1]
        directions = directions[:, kept] / np.sqrt(spread[kept])
        return cls(directions, weights @ (kernels @ directions) / weights.sum())

    def features(self, kernels: Floats) -> Floats:
        found: Floats = kernels @ self.directions - self.means
        return found

    def undone(self, coefficients: Floats, intercepts: Floats) -> tuple[Floats, Floats]:
        """Coefficients and intercepts for the kernels themselves."""
        return self.directions @ coefficients, intercepts - self.means @ coefficients
