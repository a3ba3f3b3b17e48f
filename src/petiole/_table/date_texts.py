"""Texts that are dates or times: recognition of the spelling of a column, and parsing."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ISO = "iso"  # 2021-03-04, 2021-03-04 05:06, 2021-03-04T05:06:07.5+01:00
_DAYS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y")
_NAMED = ("%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%y")
_HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
PATTERNS = (
    ISO,
    *(day + hours for hours in _HOURS for day in (*_DAYS, *_NAMED)),
    *("%Y-%m", "%H:%M", "%H:%M:%S"),
)
# The other interpretation of the same texts, if no day is beyond the twelfth.
_SWAPPED = (("%m/%d/", "%d/%m/"), ("%m-%d-", "%d-%m-"))
TRIED = 50  # texts from which a spelling is guessed
EPOCH = datetime.datetime(1970, 1, 1)
EXAMPLE = datetime.datetime(2021, 12, 31, 23, 59, 58)


@dataclass(frozen=True)
class DateFormat:
    """How the cells of a column spell dates: a pattern of ``strptime``, or "iso".

    >>> DateFormat("%d.%m.%Y").parse("2.1.1970"), DateFormat("iso").parse("1970-01-01 12:00")
    (1.0, 0.5)
    >>> DateFormat("iso").parse("next week") is None
    True
    """

    pattern: str

    def parse(self, text: str) -> float | None:
        """Days since the first of January 1970, in local time; None if the text is not a date."""
        try:
            if self.pattern == ISO:
                found = datetime.datetime.fromisoformat(text.strip())
            else:
                found = datetime.datetime.strptime(text.strip(), self.pattern)
        except ValueError:
            return None
        return days_since_epoch(found)

    def has_zone(self, texts: Iterable[str]) -> bool:
        """Whether one of some texts names a time zone.

        >>> DateFormat("iso").has_zone(["2021-12-31 12:00+02:00"]), DateFormat("iso").has_zone(["2021-12-31"])
        (True, False)
        """
        return self.pattern == ISO and any(map(_has_zone, texts))

    def __str__(self) -> str:
        if self.pattern == ISO:
            return "dates such as 2021-12-31"
        what = "dates" if "%d" in self.pattern or "%Y" in self.pattern else "times"
        return f"{what} such as {EXAMPLE.strftime(self.pattern)}"


def _has_zone(text: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(text.strip()).tzinfo is not None
    except ValueError:
        return False


def days_since_epoch(moment: datetime.date) -> float:
    """A date or a moment as days; time zones are ignored, so hours are local hours.

    >>> days_since_epoch(datetime.date(1970, 1, 3))
    2.0
    """
    if not isinstance(moment, datetime.datetime):
        return float((moment - EPOCH.date()).days)
    return (moment.replace(tzinfo=None) - EPOCH) / datetime.timedelta(days=1)


def recognise_dates(counts: Mapping[str, int]) -> tuple[DateFormat, bool] | None:
    """The spelling in which most of the texts are dates, and whether days and months could be swapped.

    >>> recognise_dates({"31.12.2020": 5, "1.1.2021": 2})
    (DateFormat(pattern='%d.%m.%Y'), False)
    >>> recognise_dates({"1/2/2021": 5})
    (DateFormat(pattern='%m/%d/%Y'), True)
    """
    some = [text for text in counts if any(map(str.isdecimal, text))][:TRIED]
    if not some or not any(mark in some[0] for mark in "-/.: "):
        return None
    hopeful = [pattern for pattern in PATTERNS if _count_dates(dict.fromkeys(some, 1), pattern) > len(some) / 2]
    if not hopeful:
        return None
    read = {pattern: _count_dates(counts, pattern) for pattern in hopeful}
    best = max(hopeful, key=read.__getitem__)
    others = [best.replace(american, european) for american, european in _SWAPPED if american in best]
    return DateFormat(best), any(read.get(other) == read[best] for other in others)


def _count_dates(counts: Mapping[str, int], pattern: str) -> int:
    parse = _parser(pattern)
    return sum(count for text, count in counts.items() if parse(text) is not None)


@functools.cache
def _parser(pattern: str) -> functools._lru_cache_wrapper[float | None]:
    return functools.lru_cache(maxsize=1024)(DateFormat(pattern).parse)
