"""Products of two columns whose coefficients have a sign, so that their sums are monotone along constrained columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OrderedProducts(Savable):
    """Products of two factors from 0 to 1, the first of a constrained column, the second of this or another one.

    Let u be the value of a constrained column and v the rank of the other, both turned so that the probability must not
    fall as they rise, where one is demanded. For two constrained columns there are u·v, whose coefficient must not be
    negative, and (1 − u)(1 − v), whose coefficient must not be positive. For a free second column there are u·v and
    u·(1 − v), and neither coefficient may be negative: the slope along the constrained column then depends on the
    other, and keeps its sign.

    Attributes
    ----------
    left, right : arrays of int64
        The inputs of both factors.
    constants, slopes : arrays of shape (n_products, 2)
        Each factor is a constant plus a slope times its input.
    signs : array of int64
        1 if a coefficient must not be negative, -1 if it must not be positive.
    """

    left: Positions
    right: Positions
    constants: Floats
    slopes: Floats
    signs: Positions

    _saved = fields(
        left=checks.integers("int64"),
        right=checks.integers("int64"),
        constants=checks.floats(2, -checks.LARGEST, checks.LARGEST),
        slopes=checks.floats(2, -checks.LARGEST, checks.LARGEST),
        signs=checks.integers("int64"),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        n = len(state["left"])
        require(len(state["right"]) == n and len(state["signs"]) == n, "right, signs: must be one per product")
        for name in ("constants", "slopes"):
            require(state[name].shape == (n, 2), f"{name}: must be two per product")
        require((np.abs(state["signs"]) == 1).all(), "signs: must be 1 or -1")

    def __len__(self) -> int:
        return len(self.left)

    @classmethod
    def of(cls, signs: Positions, pairs: list[tuple[int, int]], widest: float) -> Self:
        """Two products for each pair.

        ``signs`` has the direction of each column. The inputs are the values of all columns, from ``-widest`` to
        ``widest``, followed by their ranks. The first column of a pair is constrained.
        """
        n, found = len(signs), []
        for first, second in pairs:
            up = (0.5, signs[first] * 0.5 / widest)
            rank = (0.0, 1.0) if signs[second] >= 0 else (1.0, -1.0)
            both = bool(signs[second])
            found.append((first, n + second, up, rank, 1))
            found.append((first, n + second, _one_less(up) if both else up, _one_less(rank), -1 if both else 1))
        left, right, lefts, rights, ways = zip(*found, strict=True) if found else ((), (), (), (), ())
        factors = np.array([lefts, rights], dtype=np.float64).reshape(2, len(found), 2)
        return cls(
            np.array(left, dtype=np.int64),
            np.array(right, dtype=np.int64),
            np.ascontiguousarray(factors[:, :, 0].T),
            np.ascontiguousarray(factors[:, :, 1].T),
            np.array(ways, dtype=np.int64),
        )

    def factors(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Both factors of each product, for rows of inputs."""
        constants, slopes = self.constants.T, self.slopes.T
        return (
            constants[0] + slopes[0] * inputs[:, self.left],
            constants[1] + slopes[1] * inputs[:, self.right],
        )


def _one_less(factor: tuple[float, float]) -> tuple[float, float]:
    """One less the factor."""
    return 1.0 - factor[0], -factor[1]
