"""Durations for people to read."""

from __future__ import annotations


def duration_text(seconds: float | None) -> str:
    """A duration for people.

    >>> [duration_text(seconds) for seconds in (None, 7.2, 100, 4000)]
    ['unknown', '7 s', '1:40 min', '1:06 h']
    """
    if seconds is None:
        return "unknown"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"
