"""Fingerprints of tables, which do not depend on the names of columns, categories and classes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from petiole.datasets.columns import Categorical, Values

DIGITS = 9  # numbers that agree in this many digits count as equal, since copies are written differently


def fingerprint(columns: Mapping[str, Values], labels: Values) -> str:
    """A hash of the contents of columns and labels that does not depend on names and the order of columns and rows.

    >>> from petiole.datasets.columns import Numeric, from_names
    >>> size, kind = Numeric(np.array([1.0, 2.0, 2.0])), from_names(np.array(["x", "y", "y"], dtype=object))
    >>> other = from_names(np.array(["b", "a", "b"], dtype=object))
    >>> one = fingerprint({"size": size, "kind": kind}, other)
    >>> one == fingerprint({"a": kind, "b": size}, other), one == fingerprint({"size": size}, other)
    (True, False)
    """
    digests = sorted(_contents(column) for column in columns.values())
    whole = "\n".join([str(len(labels)), *digests, "class " + _contents(labels)])
    return hashlib.sha256(whole.encode()).hexdigest()


def _contents(column: Values) -> str:
    """Sorted numbers, or the counts of categories; whole numbers with few values count as either."""
    missing = int(column.is_missing.sum())
    if isinstance(column, Categorical):
        counts = np.bincount(column.codes[column.codes >= 0])
        return f"{missing} categories {sorted(counts[counts > 0].tolist())}"
    values = np.sort(column.values[~np.isnan(column.values)])
    text = " ".join(f"{value + 0.0:.{DIGITS}g}" for value in values.tolist())
    return f"{missing} numbers {hashlib.sha256(text.encode()).hexdigest()}"
