"""The meaning of weights: how much rows count relative to each other, or how often each row occurs.

Leaves of at least two rows, Laplace's correction and all other pseudo-counts are measured in rows. Weights come in any
unit, so one row has to be a weight. Only the ratios of weights matter:

- Where all weights are whole multiples of the smallest, that is one row. A row of weight 2 among rows of weight 1 is
  that row twice, and so is one of weight 0.2 among rows of weight 0.1.
- Otherwise weights say how much rows count beside each other, and the mean weight is one row.

Both can be asked for: "counts" takes weights as they are, "relative" takes the mean weight as one row in any case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._validation import check_choice

Floats = npt.NDArray[np.float64]

MEANINGS = ("auto", "relative", "counts")
# Sums of weights have some sixteen digits. Weights below this share of the largest are raised to it: any smaller ones
# would be lost in rounding, and all rows of a class with them.
LEAST_SHARE = 1e-12
# Above 2 ** 53 not every whole number is a double; below the other limit a leaf with rows would seem empty.
MOST_COUNT, LEAST_COUNT = 2.0**53, 1e-9
# Rounding that a whole multiple may show, as a share of it.
ROUNDING = 1e-9


class WeightsInRows(NamedTuple):
    """Weights measured in rows (None: every row is one), and the weight that is one row."""

    weights: Floats | None
    unit: float


def check_meaning(meaning: str) -> None:
    """Raise ValueError unless ``weights`` is one of the meanings."""
    check_choice("weights", meaning, MEANINGS)


def weights_in_rows(weights: Floats | None, meaning: str = "auto") -> WeightsInRows:
    """Measure finite weights in rows; those of zero stay, and at least one is positive.

    >>> weights_in_rows(np.array([0.1, 0.1, 0.2]))
    WeightsInRows(weights=array([1., 1., 2.]), unit=0.1)
    >>> weights_in_rows(np.array([0.1, 0.1, 0.4]), "relative")
    WeightsInRows(weights=array([0.5, 0.5, 2. ]), unit=0.2)
    >>> weights_in_rows(np.array([3.0, 3.0])), weights_in_rows(np.array([3.0, 3.0]), "counts")
    (WeightsInRows(weights=None, unit=3.0), WeightsInRows(weights=array([3., 3.]), unit=1.0))
    """
    if weights is None:
        return WeightsInRows(None, 1.0)
    most = float(weights.max())
    shares = np.where(weights > 0, np.maximum(weights / most, LEAST_SHARE), 0.0)
    if meaning == "counts":
        check_counts(most, float(shares.sum()) * most)
        return WeightsInRows(shares * most, 1.0)
    present = shares[shares > 0]  # rows of weight zero must not even change how sums are rounded
    least = float(present.min())
    if meaning == "auto" and _are_multiples(shares, least):
        return _ones_as_none(np.rint(shares / least), least * most)
    mean = float(present.mean())
    return _ones_as_none(shares / mean, mean * most)


def weights_in_unit(weights: Floats | None, unit: float) -> Floats | None:
    """Weights of rows that come after a fit, in which a weight of ``unit`` was one row."""
    if weights is None:
        return None
    with np.errstate(over="ignore"):
        measured = weights / unit
        total = float(measured.sum())
    if total > MOST_COUNT:
        raise ValueError(
            f"sample_weight is up to {float(weights.max()):.3g}, where the fit counted a weight of {unit:.3g} as one "
            "row: that makes more than 2**53 rows; give weights in the unit of those of the fit"
        )
    return measured


def common_measure(weights: Floats) -> float:
    """The largest number of which all weights are whole multiples; 0 if it is far below the smallest of them.

    >>> common_measure(np.array([4.0, 6.0, 10.0])), common_measure(np.array([1.0, np.pi]))
    (2.0, 0.0)
    """
    least = measure = float(weights.min())
    while measure > 1e-6 * least:
        off = np.abs(weights - measure * np.rint(weights / measure))
        odd = int(np.argmax(off / weights))
        if off[odd] <= ROUNDING * weights[odd]:
            return measure
        measure = float(off[odd])  # Euclid: what measures all weights measures what is left of them
    return 0.0


def check_counts(most: float, total: float) -> None:
    """Raise ValueError unless these are the largest and the sum of weights that can be numbers of rows."""
    remedy = "multiply the weights by a constant, or use weights='relative', for which only their ratios matter"
    if total > MOST_COUNT:
        raise ValueError(f"weights='counts': sample_weight sums to {total:.3g}, more than 2**53 rows; {remedy}")
    if most < LEAST_COUNT:
        raise ValueError(f"weights='counts': the largest sample_weight is {most:.3g} rows; {remedy}")


def _are_multiples(shares: Floats, least: float) -> bool:
    ratios = shares / least
    return bool((np.abs(ratios - np.rint(ratios)) <= ROUNDING * ratios).all())


def _ones_as_none(weights: Floats, unit: float) -> WeightsInRows:
    return WeightsInRows(None if (weights == 1.0).all() else weights, unit)
