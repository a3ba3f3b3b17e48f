"""Numbers between 0 and 1 that look random and depend on nothing but a row's values and a seed.

A prediction set that is drawn at random would differ from one call to the next. Numbers made of the row itself keep the
sets as exact as random ones, and give a row the same set alone, in a batch and tomorrow.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from petiole._table.columns import Column, Floats
from petiole._table.frames import iter_columns, read_table

Words = npt.NDArray[np.uint64]

_ROUND_1, _ROUND_2, _STEP = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)
_MISSING = np.uint64(0x7FF8000000000000)


def row_numbers(X: Any, seed: int, n_numbers: int = 2) -> Floats:
    """So many numbers for each row of a table of any kind, shape (n_rows, n_numbers).

    >>> numbers = row_numbers([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]], seed=0)
    >>> bool((numbers[0] == numbers[2]).all()), bool((numbers[0] == numbers[1]).any())
    (True, False)
    """
    with np.errstate(over="ignore"):
        words = _sparse_words(X, seed) if issparse(X) else _table_words(X, seed)
        drawn = [_mixed(words + np.uint64(i + 1) * _STEP) for i in range(n_numbers)]
    return np.column_stack([(word >> np.uint64(11)).astype(np.float64) * 2.0**-53 for word in drawn])


def _mixed(words: Words) -> Words:
    """Every bit of the result depends on every bit of the word (the finaliser of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * _ROUND_1
    words = (words ^ (words >> np.uint64(27))) * _ROUND_2
    return words ^ (words >> np.uint64(31))


def _place(column: Any, seed: int) -> Any:
    """What stands for a column (or for an array of them) in the words of its cells."""
    return _mixed(np.asarray(column, dtype=np.uint64) * _STEP + np.uint64(seed) + _STEP)


def _of_floats(values: npt.NDArray[Any], place: Any) -> Words:
    """Words of numbers; those of 0 are 0, so that sparse matrices need not be made dense."""
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    bits = np.where(np.isnan(numbers), _MISSING, numbers.view(np.uint64))
    return np.where(numbers == 0, np.uint64(0), _mixed(_mixed(bits + _STEP) ^ place))


def _table_words(X: Any, seed: int) -> Words:
    table, names = _as_table(X)
    words = np.zeros(len(table), dtype=np.uint64)
    for position, column in enumerate(iter_columns(table, names)):
        words += column.spread(_of_column(column, _place(position, seed)))
    return words


def _as_table(X: Any) -> Any:
    try:
        return read_table(X)
    except (TypeError, ValueError):  # texts for a pipeline, one for each row, and the like
        cells = np.empty((len(X), 1), dtype=object)
        cells[:, 0] = [repr(row) for row in X]
        return cells, None


def _of_column(column: Column, place: Any) -> Words:
    values = column.values
    if values.dtype.kind in "biuf":
        return _of_floats(values, place)
    texts = {text: _of_text(text) for text in set(map(_text, values.tolist()))}
    return _mixed(np.array([texts[_text(value)] for value in values.tolist()], dtype=np.uint64) ^ place)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _of_text(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def _sparse_words(X: Any, seed: int) -> Words:
    rows = X.tocsr()
    words = np.zeros(rows.shape[0], dtype=np.uint64)
    cells = _of_floats(rows.data, _place(rows.indices, seed))
    np.add.at(words, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), cells)
    return words
