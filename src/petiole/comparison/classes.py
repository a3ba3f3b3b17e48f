"""Lists of classes and actions: checks that each occurs once, and unions."""

from __future__ import annotations

from typing import Any

from petiole._table.frames import Array, as_array


def distinct_names(parameter: str, names: Any, length: int, what: str) -> Array:
    """Names of the classes or actions, as given; each must occur once.

    >>> distinct_names("labels", ["no", "no"], 2, "column of cost")
    Traceback (most recent call last):
    ...
    ValueError: labels=['no', 'no']: each must occur once
    """
    found = as_array(list(names) if isinstance(names, range) else names)
    if found.shape != (length,):
        raise ValueError(f"{parameter}={names!r}: must name each {what}, of which there are {length}")
    if len(set(found.tolist())) != length:
        raise ValueError(f"{parameter}={names!r}: each must occur once")
    return found


def union(*parts: Array) -> Array:
    """All classes of several lists, sorted.

    >>> import numpy as np
    >>> union(np.array([3, 1]), np.array([2, 3]))
    array([1, 2, 3])
    """
    classes = {label for part in parts for label in part.tolist()}
    try:
        return as_array(sorted(classes))
    except TypeError:
        types = ", ".join(sorted({type(label).__name__ for label in classes}))
        raise TypeError(f"labels are of types {types}: convert truth and predictions to one type") from None
