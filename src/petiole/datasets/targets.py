"""The column of labels: rows without one, and numbers that are cut into classes."""

from __future__ import annotations

import itertools
import string
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from petiole._table.number_texts import NumberSigns, recognise_numbers
from petiole._validation import did_you_mean
from petiole.datasets.advice import PARAMETERS, Advice
from petiole.datasets.columns import Categorical, Numeric, Values, from_names
from petiole.datasets.recognising import MOST_STRAYS, ReadTable, alike_but_for_case, listed_as_alike

MOST_NUMBERS = 30  # distinct whole numbers that are taken as classes without an error
# With this many, of which larger ones are rarer, there is a warning about counts: codes of classes are fewer, or about
# equally frequent.
FEWEST_COUNTS = 6
LARGEST_UPPER_HALF = 1 / 3  # of the rows have one of the larger half of the numbers
FEWEST_ROWS = 20  # of which half having a class of their own is odd
LEAST_OF_CLASS = 0.2  # of the rows are in each of the classes that are proposed


def cut_into_classes(y: ArrayLike, bins: Sequence[float]) -> NDArray[Any]:
    """Cut numbers into classes, which are named by their limits; a number that is a limit is in the class above it.

    The names begin with letters, so that sorting them as text, as classifiers and spreadsheets do, keeps the order of
    the numbers.

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
    ['a) below 0', 'b) 0 to 10', 'b) 0 to 10', 'c) 10 to 100', 'd) 100 and more']
    """
    limits, numbers = check_bins(bins), np.asarray(y, dtype=np.float64)
    spelled = [f"{limit:.12g}" for limit in limits]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(spelled)]
    ranges = [f"below {spelled[0]}", *between, f"{spelled[-1]} and more"]
    names = np.array([f"{mark}) {name}" for mark, name in zip(_marks(len(ranges)), ranges, strict=True)], dtype=object)
    labels: NDArray[Any] = names[np.searchsorted(limits, numbers, side="right")]
    labels[np.isnan(numbers)] = None
    return labels if np.isnan(numbers).any() else labels.astype(str)


def _marks(count: int) -> list[str]:
    """Distinct texts in alphabetical order, all of the same length.

    >>> _marks(3), _marks(30)[24:28]
    (['a', 'b', 'c'], ['ay', 'az', 'ba', 'bb'])
    """
    length = 1
    while len(string.ascii_lowercase) ** length < count:
        length += 1
    letters = itertools.product(string.ascii_lowercase, repeat=length)
    return ["".join(mark) for mark in itertools.islice(letters, count)]


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
    columns, wording = dict(table.columns), advice.say("target", name=target)
    if target not in columns:
        shown = ", ".join(map(repr, [*columns][:8])) + (", ..." if len(columns) > 8 else "")
        raise ValueError(
            f"{wording}: {file} has no such column; {did_you_mean(target, columns, f'its columns are {shown}')}"
        )
    labels = columns.pop(target)
    if not columns:
        raise ValueError(f"{wording}: {file} has no other column: there is nothing to predict it from")
    kept = ~labels.is_missing
    format, findings = replace(table.format, target=target), table.findings
    if not kept.all():
        _check_missing(kept, drop_missing, f"{wording}: ", file, advice)
        findings = (*findings, f"{len(kept) - kept.sum():,} of {len(kept):,} rows have no class and are left out")
        columns = {name: column.take(kept) for name, column in columns.items()}
        labels = labels.take(kept)
    if bins is not None:
        limits = check_bins(bins, "target_bins" if not advice.for_shell else "--target-bins")
        labels, format = _cut(labels, limits, wording), replace(format, target_bins=limits)
    return Taken(ReadTable(columns, format, findings), labels, kept)


def check_classes(labels: Values, target: str, advice: Advice) -> None:
    """Raise an error if labels are numbers that are unlikely to be names of classes, or if most rows have their own."""
    if isinstance(labels, Categorical):
        spelled = numbers_in(labels)
        if spelled is None:
            _check_repeated(labels, target, advice)
            return
        labels = spelled
    if not isinstance(labels, Numeric):
        return
    found = np.unique(labels.values[~np.isnan(labels.values)])
    fractional = bool((found != np.round(found)).any())
    if not fractional and len(found) <= MOST_NUMBERS:
        return
    what = "numbers" if fractional else "whole numbers"
    limits = propose_limits(labels.values[~np.isnan(labels.values)])
    cut = advice.cut(limits) if limits else advice.cut((0, 10, 100))
    raise ValueError(
        f"{advice.say('target', name=target)}: holds {len(found):,} different {what}, from {found[0]:g} to "
        f"{found[-1]:g}, and petiole predicts classes: cut them into classes with {cut}, or take each "
        f"number as the name of a class with {advice.say('nominal', name=target)}"
    )


def numbers_in(labels: Categorical) -> Numeric | None:
    """Labels that are many different numbers in a spelling with units or commas; None of those that are names.

    >>> prices = [f"${price}.50" for price in range(40)]
    >>> numbers_in(from_names(np.array(prices, dtype=object))).values[:2]
    array([0.5, 1.5])
    >>> numbers_in(from_names(np.array(["10%", "20%", "30%"], dtype=object))) is None
    True
    """
    if len(labels.categories) <= MOST_NUMBERS:
        return None
    counts = np.bincount(labels.codes, minlength=len(labels.categories)).tolist()
    found = recognise_numbers(dict(zip(labels.categories, counts, strict=True)), NumberSigns())
    if found is None:
        return None
    numbers = [found[0].parse(text) for text in labels.categories]
    if sum(number is None for number in numbers) > MOST_STRAYS * len(numbers):
        return None
    return Numeric(np.array([np.nan if number is None else number for number in numbers])[labels.codes])


def _check_repeated(labels: Categorical, target: str, advice: Advice) -> None:
    alike = alike_but_for_case(labels.categories)
    if alike is not None:
        raise ValueError(_alike_text(alike, target, advice))
    n_classes, n = len(labels.categories), len(labels)
    if n >= FEWEST_ROWS and n_classes > n / 2:
        raise ValueError(
            f"{advice.say('target', name=target)}: holds {n_classes:,} different texts in {n:,} rows, and a class "
            f"needs several rows: name another column, or take each text as the name of a class with "
            f"{advice.say('nominal', name=target)}"
        )


def _alike_text(alike: Sequence[str], target: str, advice: Advice) -> str:
    return (
        f"{advice.say('target', name=target)}: the classes {listed_as_alike(alike)} differ only in capitals: "
        f"{advice.say('ignore_case', name=target)} takes them as one class, and {advice.say('nominal', name=target)} "
        "as different ones"
    )


def doubts_about_classes(labels: Values, target: str, advice: Advice = PARAMETERS) -> list[str]:
    """Warnings about labels that may be counts, although there are few enough to be classes.

    >>> visits = Numeric(np.repeat([0.0, 1, 2, 3, 4, 5, 7], [60, 30, 14, 8, 4, 2, 1]))
    >>> print(*doubts_about_classes(visits, "visits"))
    target='visits': holds 7 different whole numbers, with few rows for the larger ones, as if they counted something. \
Each is a class of its own now; target_bins=[1, 2] makes ranges of them (50 %, 25 %, 24 % of the rows), and \
kinds={'visits': 'nominal'} says that they are names
    """
    if isinstance(labels, Categorical) and not advice.for_shell:  # the command line has asked back
        alike = alike_but_for_case(labels.categories)
        return [] if alike is None else [_alike_text(alike, target, advice)]
    if not isinstance(labels, Numeric):
        return []
    numbers = labels.values
    found, counts = np.unique(numbers, return_counts=True)
    if not FEWEST_COUNTS <= len(found) <= MOST_NUMBERS or not _thin_out(found, counts):
        return []
    limits = propose_limits(numbers)
    if not limits:
        return []
    shares = np.bincount(np.searchsorted(limits, numbers, side="right")) / len(numbers)
    share_texts = ", ".join(f"{share:.0%}".replace("%", " %") for share in shares)
    return [
        f"{advice.say('target', name=target)}: holds {len(found)} different whole numbers, with few rows for the "
        f"larger ones, as if they counted something. Each is a class of its own now; {advice.cut(limits)} makes ranges "
        f"of them ({share_texts} of the rows), and {advice.say('nominal', name=target)} says that they are names"
    ]


def _thin_out(found: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    """Whether whole numbers begin at 0 or 1, have few gaps, and the larger half of them is rare."""
    whole = bool((found == np.round(found)).all())
    starts, span = found[0] in (0, 1), found[-1] - found[0] + 1
    upper = counts[len(counts) // 2 :].sum() / counts.sum()
    return bool(whole and starts and span <= 2 * len(found) and upper < LARGEST_UPPER_HALF)


def propose_limits(numbers: NDArray[np.float64]) -> tuple[float, ...]:
    """Limits that cut numbers into a few classes with enough rows, at numbers that occur; none if that fails.

    >>> propose_limits(np.repeat([0.0, 1, 2, 3, 4], [60, 20, 10, 6, 4]))
    (1.0, 2.0)
    """
    found, counts = np.unique(numbers, return_counts=True)
    limits: list[float] = []
    least, gathered, left = LEAST_OF_CLASS * len(numbers), 0, len(numbers)
    for number, count in zip(found.tolist(), counts.tolist(), strict=True):
        if gathered >= least and left >= least:
            limits.append(number)
            gathered = 0
        gathered += count
        left -= count
    return tuple(limits)


def _check_missing(kept: NDArray[np.bool_], drop_missing: bool, wording: str, file: str, advice: Advice) -> None:
    count, first = int((~kept).sum()), int(np.argmin(kept)) + 1
    if not kept.any():
        raise ValueError(f"{wording}no row of {file} has a class: name another column")
    if not drop_missing:
        raise ValueError(
            f"{wording}{count:,} of {len(kept):,} rows of {file} have no class, the first is row {first} after the "
            f"header: remove them, or leave them out with {advice.say('drop_missing')}"
        )


def _cut(labels: Values, limits: tuple[float, ...], wording: str) -> Values:
    if not isinstance(labels, Numeric):
        raise ValueError(f"{wording}: is not a column of numbers, so that it cannot be cut into classes")
    return from_names(cut_into_classes(labels.values, limits).astype(object))
