"""Numbers for people: as many decimals as needed, and as many for each of those that stand together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def decimals(values: Iterable[float]) -> int:
    """How many decimals show three digits of the largest of some numbers: the same for all of them.

    >>> decimals([0.0318, 0.5]), decimals([212.345, 0.1]), decimals([1.5, 2.25]), decimals([3.0, 12.0])
    (3, 0, 2, 0)
    """
    finite = [abs(float(value)) for value in values if np.isfinite(value)]
    largest = max(finite, default=0.0)
    if largest == 0 or all(value == round(value) for value in finite):
        return 0
    return int(np.clip(2 - np.floor(np.log10(largest)), 0, 6))


def number(value: float, digits: int) -> str:
    """A number with so many decimals, thousands apart, and no negative zero.

    >>> number(-0.00001, 2), number(12345.678, 1), number(-3.0, 0)
    ('0.00', '12,345.7', '\u22123')
    """
    rounded = round(float(value), digits) + 0.0
    return f"{rounded:,.{digits}f}".replace("-", "\u2212")
