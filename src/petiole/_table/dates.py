"""Columns of dates, each of which becomes a few numbers: days, year, month, weekday and hour, where they vary."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._table.date_texts import days_since_epoch

Floats = NDArray[np.float64]


def _months(days: Floats) -> NDArray[np.int64]:
    """Months since January 1970."""
    months: NDArray[np.int64] = np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return months


# Parts of a date, from days since the first of January 1970 (a Thursday). Monday is 1.
PARTS: dict[str, Callable[[Floats], NDArray[Any]]] = {
    "days": lambda days: days,
    "year": lambda days: 1970 + _months(days) // 12,
    "month": lambda days: 1 + _months(days) % 12,
    "weekday": lambda days: 1 + (np.floor(days) + 3) % 7,
    "hour": lambda days: 24 * (days - np.floor(days)),
}


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
YEARS = range(1, 10_000)  # that Python's dates have


def part_text(part: str, value: float) -> str:
    """A part of a date in words; a value between two weekdays or months, such as a threshold, is the earlier one.

    >>> part_text("days", 18901.0), part_text("days", 18901.5), part_text("weekday", 5.5), part_text("hour", 14.25)
    ('2021-10-01', '2021-10-01 12:00', 'Friday', '14:15')
    """
    if part == "weekday" and 1 <= value < 8:
        return WEEKDAYS[int(value) - 1]
    if part == "month" and 1 <= value < 13:
        return MONTHS[int(value) - 1]
    if part == "hour" and 0 <= value < 24:
        minutes = round(60 * value)
        return f"{minutes // 60}:{minutes % 60:02}"
    if part == "days" and YEARS.start < 1970 + value / 366 and 1970 + value / 365 < YEARS.stop:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(minutes=round(24 * 60 * value))
        return f"{moment:%Y-%m-%d}" if value == int(value) else f"{moment:%Y-%m-%d %H:%M}"
    return f"{value:.6g}"


class DateColumn:
    """Dates are several numbers: those of the parts that varied in training.

    >>> DateColumn(["year", "weekday"]).parts_of(np.array([0.0, np.nan, 366.0]))
    array([[1970.,    4.],
           [  nan,   nan],
           [1971.,    6.]])
    """

    categories: None = None

    def __init__(self, parts: Sequence[str]) -> None:
        self.parts = list(parts)

    @classmethod
    def learned(cls, days: Floats) -> DateColumn:
        """The column of training dates; of times without a date only the hour is kept."""
        known = days[~np.isnan(days)]
        varying = [name for name, part in PARTS.items() if known.size and np.ptp(part(known)) > 0]
        if varying == ["days", "hour"]:
            return cls(["hour"])
        return cls(varying or ["days"])

    def parts_of(self, days: Floats) -> Floats:
        """One column per part."""
        known = ~np.isnan(days)
        found = np.full((len(days), len(self.parts)), np.nan)
        for position, name in enumerate(self.parts):
            found[known, position] = PARTS[name](days[known])
        return found

    def names(self, column: str) -> list[str]:
        """The names of the parts.

        >>> DateColumn(["days", "month"]).names("signed")
        ['signed (days)', 'signed (month)']
        """
        return [f"{column} ({part})" for part in self.parts]


def days_of_objects(values: NDArray[Any], missing: frozenset[type]) -> Floats | None:
    """Days of an array of Python's dates, None if it holds anything else."""
    listed = values.tolist()
    types = set(map(type, listed)) - missing
    if not types or not all(issubclass(type_, (datetime.date, float)) for type_ in types):
        return None
    if not any(issubclass(type_, datetime.date) for type_ in types):
        return None
    found = [np.nan if type(one) in missing or one != one else _days(one) for one in listed]
    return None if None in found else np.array(found, dtype=np.float64)


def hours_of_objects(values: NDArray[Any], missing: frozenset[type]) -> Floats | None:
    """Hours of an array of Python's times of day, None if it holds anything else.

    >>> hours_of_objects(np.array([datetime.time(10, 30), None], dtype=object), frozenset({type(None)}))
    array([10.5,  nan])
    """
    listed = values.tolist()
    if not any(isinstance(one, datetime.time) for one in listed):
        return None
    found = [_hours(one) for one in listed if isinstance(one, datetime.time)]
    known = [isinstance(one, datetime.time) for one in listed]
    if not all(is_time or type(one) in missing or one != one for is_time, one in zip(known, listed, strict=True)):
        return None
    hours = np.full(len(listed), np.nan)
    hours[known] = found
    return hours


def _hours(time: datetime.time) -> float:
    return time.hour + time.minute / 60 + (time.second + time.microsecond / 1e6) / 3600


def _days(value: Any) -> float | None:
    return days_since_epoch(value) if isinstance(value, datetime.date) else None
