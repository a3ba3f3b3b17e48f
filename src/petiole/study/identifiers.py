"""Detection of columns that identify rows (customer numbers, keys, invoices), also in columns that come in parts."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

LEAST_ROWS = 20  # with fewer, values may all differ by chance
NEARLY_ALL = 0.9  # of the rows have a distinct name
FEW_GAPS = 2  # consecutive numbers span less than this many times their count
EXPECTED_REPEATS = 5  # if this many pairs of equal numbers are expected by chance, their absence is suspicious


def mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Other numbers that look drawn at random, one for each: the finaliser of SplitMix64."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: npt.NDArray[np.uint64] = bits ^ (bits >> np.uint64(31))
    return found


class ColumnWatch:
    """Collects evidence on whether a column identifies rows.

    Parts of the column are added one after another. Memory is bounded by sampling one distinct value in ``every``: a
    value is sampled or not wherever it occurs, so that repeats are seen and their number can be estimated.

    >>> watch = ColumnWatch()
    >>> watch.add_numbers(np.arange(1000.0, 1300.0))
    >>> watch.is_identifier, watch.may_be_identifier
    (True, True)
    """

    def __init__(self, every: int = 1) -> None:
        self._every = every
        self._n_rows = self._n_present = self._n_looked_at = 0
        self._whole = True
        self._low, self._high = np.inf, -np.inf
        self._numbers: list[npt.NDArray[np.float64]] = []
        self._texts: set[str] = set()
        self._are_names = False

    def add_numbers(self, values: npt.NDArray[np.floating], *, are_names: bool = False) -> None:
        """Add values, NaN where they are missing; ``are_names`` if they are codes of names."""
        present = values[~np.isnan(values)].astype(np.float64)
        self._n_rows += len(values)
        self._n_present += len(present)
        self._are_names |= are_names
        if not len(present):
            return
        self._whole &= bool((present == np.rint(present)).all())
        if not self._are_names and not self._may_be_counted:
            self._numbers.clear()  # it is a measurement, whatever follows
            return
        self._low, self._high = min(self._low, present.min()), max(self._high, present.max())
        kept = present[self._is_sampled(present)]
        self._n_looked_at += len(kept)
        self._numbers.append(np.unique(kept))

    def add_texts(self, n_rows: int, counts: Iterable[tuple[str, int]]) -> None:
        """Add a part with this many rows, in which the names have these counts."""
        self._are_names = True
        self._n_rows += n_rows
        for text, count in counts:
            self._n_present += count
            if zlib.crc32(text.encode("utf-8", "surrogatepass")) % self._every == 0:
                self._n_looked_at += count
                self._texts.add(text)

    def _is_sampled(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        bits = (values + 0.0).view(np.uint64)  # 0.0 and -0.0 are one value
        chosen: npt.NDArray[np.bool_] = mixed(bits) % np.uint64(self._every) == 0
        return chosen

    @property
    def _n_distinct_looked_at(self) -> int:
        return len(self._texts) + (len(np.unique(np.concatenate(self._numbers))) if self._numbers else 0)

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has a distinct name, or a consecutive number."""
        if self._n_rows < LEAST_ROWS:
            return False
        if self._are_names:
            return self._every * self._n_distinct_looked_at > NEARLY_ALL * self._n_rows
        # Measurements may all differ; whole numbers that all differ and leave few gaps are consecutive.
        return self._are_distinct_whole_numbers and self._span < FEW_GAPS * self._n_rows

    @property
    def may_be_identifier(self) -> bool:
        """Whether whole numbers all differ although some measurements of this range would be equal by chance."""
        if self._n_rows < LEAST_ROWS or self._are_names:
            return self.is_identifier
        expected = self._n_rows * self._n_rows / (2 * max(self._span, 1.0))
        return self._are_distinct_whole_numbers and expected >= EXPECTED_REPEATS

    @property
    def _span(self) -> float:
        return float(self._high - self._low)

    @property
    def _are_distinct_whole_numbers(self) -> bool:
        if not self._may_be_counted:
            return False
        n_distinct = self._n_distinct_looked_at
        # a value that fills many rows need not be among those that are looked at, but leaves few of them
        return n_distinct == self._n_looked_at and self._every * n_distinct > NEARLY_ALL * self._n_rows

    @property
    def _may_be_counted(self) -> bool:
        return self._whole and self._n_present == self._n_rows
