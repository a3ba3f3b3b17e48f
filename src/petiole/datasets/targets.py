"""The column of labels: rows without one, and numbers that are cut into classes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from petiole._validation import did_you_mean
from petiole.datasets.advice import PARAMETERS, Advice
from petiole.datasets.columns import Numeric, Values, from_names
from petiole.datasets.recognising import ReadTable

MOST_NUMBERS = 30  # different whole numbers that are taken as classes without asking


def cut_into_classes(y: ArrayLike, bins: Sequence[float]) -> NDArray[Any]:
    """Cut numbers into classes, which are named by their limits; a number that is a limit is in the class above it.

    Parameters
    ----------
    y : array of numbers
    bins : increasing sequence of float
        Where to cut.

    Returns
    -------
    Array of str; a missing number gives None.

    Examples
    --------
    >>> cut_into_classes([-3, 0, 9.5, 10, 400], [0, 10, 100]).tolist()
    ['below 0', '0 to 10', '0 to 10', '10 to 100', '100 and more']
    """
    limits, numbers = check_bins(bins), np.asarray(y, dtype=np.float64)
    spelled = [f"{limit:.12g}" for limit in limits]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(spelled)]
    names = np.array([f"below {spelled[0]}", *between, f"{spelled[-1]} and more"], dtype=object)
    labels: NDArray[Any] = names[np.searchsorted(limits, numbers, side="right")]
    labels[np.isnan(numbers)] = None
    return labels if np.isnan(numbers).any() else labels.astype(str)


def check_bins(bins: Any, parameter: str = "bins") -> tuple[float, ...]:
    """The limits of classes: increasing numbers, at least one."""
    try:
        limits = tuple(map(float, bins))
    except (TypeError, ValueError):
        limits = ()
    if not limits or not np.isfinite(limits).all() or not (np.diff(limits) > 0).all():
        raise ValueError(f"{parameter}={bins!r}: must be one or more increasing numbers, such as 0,10,100")
    return limits


class Taken(NamedTuple):
    """A table without its column of labels, that column, and which rows have a label."""

    table: ReadTable
    labels: Values
    kept: NDArray[np.bool_]


def take_target(
    table: ReadTable,
    target: str,
    file: str,
    *,
    drop_missing: bool = False,
    bins: Sequence[float] | None = None,
    advice: Advice = PARAMETERS,
) -> Taken:
    """Take the labels out of a table."""
    columns, said = dict(table.columns), advice.say("target", name=target)
    if target not in columns:
        shown = ", ".join(map(repr, [*columns][:8])) + (", ..." if len(columns) > 8 else "")
        raise ValueError(
            f"{said}: {file} has no such column; {did_you_mean(target, columns, f'its columns are {shown}')}"
        )
    labels = columns.pop(target)
    if not columns:
        raise ValueError(f"{said}: {file} has no other column: there is nothing to predict it from")
    kept = ~labels.is_missing
    format, findings = replace(table.format, target=target), table.findings
    if not kept.all():
        _check_missing(kept, drop_missing, f"{said}: ", file, advice)
        findings = (*findings, f"{len(kept) - kept.sum():,} of {len(kept):,} rows have no class and are left out")
        columns = {name: column.take(kept) for name, column in columns.items()}
        labels = labels.take(kept)
    if bins is not None:
        limits = check_bins(bins, "target_bins" if not advice.for_shell else "--target-bins")
        labels, format = _cut(labels, limits, said), replace(format, target_bins=limits)
    return Taken(ReadTable(columns, format, findings), labels, kept)


def check_classes(labels: Values, target: str, advice: Advice) -> None:
    """Ask back if labels are numbers that are hardly names of classes."""
    if not isinstance(labels, Numeric):
        return
    found = np.unique(labels.values)
    fractional = bool((found != np.round(found)).any())
    if not fractional and len(found) <= MOST_NUMBERS:
        return
    what = "numbers" if fractional else "whole numbers"
    raise ValueError(
        f"{advice.say('target', name=target)}: holds {len(found):,} different {what}, from {found[0]:g} to "
        f"{found[-1]:g}, and petiole predicts classes: cut them into classes with {advice.say('bins')}, or take each "
        f"number as the name of a class with {advice.say('nominal', name=target)}"
    )


def _check_missing(kept: NDArray[np.bool_], drop_missing: bool, said: str, file: str, advice: Advice) -> None:
    count, first = int((~kept).sum()), int(np.argmin(kept)) + 1
    if not kept.any():
        raise ValueError(f"{said}no row of {file} has a class: name another column")
    if not drop_missing:
        raise ValueError(
            f"{said}{count:,} of {len(kept):,} rows of {file} have no class, the first is row {first} after the "
            f"header: remove them, or leave them out with {advice.say('drop_missing')}"
        )


def _cut(labels: Values, limits: tuple[float, ...], said: str) -> Values:
    if not isinstance(labels, Numeric):
        raise ValueError(f"{said}: is not a column of numbers, so that it cannot be cut into classes")
    return from_names(cut_into_classes(labels.values, limits).astype(object))
