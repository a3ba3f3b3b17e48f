"""JSON from files that may be hostile: no repeated names, no NaN, no numbers of a million digits."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from petiole.files.errors import ModelFileError

MOST_DIGITS = 1000


def parse(text: str, what: str) -> Any:
    """The value of a JSON text; ``what`` names the text in errors.

    >>> parse('{"a": 1, "a": 2}', "the header")
    Traceback (most recent call last):
    ...
    petiole.files.errors.ModelFileError: the header is no valid JSON: the name 'a' occurs twice
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_without_repeats,
            parse_int=_parse_whole,
            parse_float=_parse_float,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ModelFileError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise ModelFileError(f"{what} is no valid JSON: {error}") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {repeated[:40]!r} occurs twice")
    return found


def _parse_whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _parse_float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
