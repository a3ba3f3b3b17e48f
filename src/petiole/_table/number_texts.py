"""Texts that are numbers: decimal commas, thousands, money, percent signs and units.

A :class:`NumberFormat` describes how the cells of a column are spelled. It is recognised once, when a model is fitted,
and used afterwards.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

# Always missing in a column of numbers.
DASHES = frozenset({"-", "--", "—", "–", "."})
# What pandas takes as missing, and the question mark of the UCI files.
MISSING_MARKERS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>"),
    *("null", "NULL", "Null", "None", "nan", "NaN", "NAN", "-nan", "-NaN", "NaT"),
)
# For a column of classes, where "None" is usually a class.
MISSING_LABELS = tuple(marker for marker in MISSING_MARKERS if marker != "None")

DECIMALS, THOUSANDS = (".", ","), ("", ",", ".", " ", "'")
CURRENCIES = ("$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF")
# The most likely first; thousands together with a decimal comma are rarer than either alone.
_SPELLINGS = ((".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
LONGEST = 60  # characters of a number with its unit
_SPACES = dict.fromkeys(map(ord, "\u00a0\u2009\u202f"), " ") | {ord("−"): "-", ord("’"): "'"}
_AFFIX = r"[^\d\s.,'+()-][^\d]*?"
_PARTS = re.compile(rf"([-+]?)\s*({_AFFIX})?\s*([-+]?\d[\d.,' ]*?(?:[eE][-+]?\d+)?|[-+]?[.,]\d+)\s*({_AFFIX})?")


@dataclass(frozen=True)
class NumberFormat:
    """How the cells of a column spell numbers.

    >>> NumberFormat(thousands=",", unit="$").parse(" -$1,234.50 ")
    -1234.5
    >>> NumberFormat(decimal=",", unit="%").parse("12,5 %")
    12.5
    >>> NumberFormat().parse("51 years") is None
    True
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether cells are spelled as in a program."""
        return self == NumberFormat()

    def parse(self, text: str) -> float | None:
        """The number, or None if the text is not a number in this format."""
        parts = split_affixes(text)
        if parts is None or not self._has_unit(parts[1]):
            return None
        return _number(parts[0], self.decimal, self.thousands)

    def parse_later(self, text: str) -> float | None:
        """The number in a later table, where the unit may be absent.

        >>> NumberFormat(unit="%").parse_later("14.1"), NumberFormat(unit="%").parse_later("14.1 m")
        (14.1, None)
        """
        found = self.parse(text)
        return found if found is not None or not self.unit else replace(self, unit="").parse(text)

    def _has_unit(self, unit: str) -> bool:
        return unit == self.unit or (not unit and self.unit in CURRENCIES)

    def __str__(self) -> str:
        told = [f"a decimal {'comma' if self.decimal == ',' else 'point'}"] if self.decimal != "." else []
        if self.thousands:
            told.append(f"{self.thousands!r} between thousands")
        return " and ".join([*told, *([f"the unit {self.unit!r}"] if self.unit else [])])


PLAIN = NumberFormat()


def split_affixes(text: str) -> tuple[str, str] | None:
    """The digits of a text with their sign, and the text before or after them; None if there are no digits.

    >>> split_affixes("-$1,234.50"), split_affixes("51 years"), split_affixes("(3)"), split_affixes("A4")
    (('-1,234.50', '$'), ('51', 'years'), ('-3', ''), None)
    """
    stripped = text.translate(_SPACES).strip()
    if len(stripped) > LONGEST:
        return None
    if not stripped.isascii() and any(letter.isdecimal() and not letter.isascii() for letter in stripped):
        return None  # digits of other scripts are names
    if stripped[:1] == "(" and stripped[-1:] == ")":
        stripped = "-" + stripped[1:-1]
    found = _PARTS.fullmatch(stripped)
    if found is None:
        return None
    sign, before, digits, behind = found.groups(default="")
    if (before and (behind or before.strip() not in CURRENCIES)) or (sign and digits[0] in "+-"):
        return None
    return sign + digits, (before or behind).strip()


@dataclass(frozen=True)
class NumberSigns:
    """What is known about the signs in a file: given by the user, or found elsewhere in the file.

    ``comma_likely`` decides for a decimal comma where "1,234" could be either, ``comma_found`` also for thousands in
    "1.234".
    """

    decimal: str | None = None
    thousands: str | None = None
    comma_likely: bool = False
    comma_found: bool = False

    def spellings(self) -> list[tuple[str, str]]:
        """The pairs of decimal and thousands signs that are possible."""
        return [
            (point, group)
            for point, group in _SPELLINGS
            if self.decimal in (None, point) and self.thousands in (None, group)
        ] or [(self.decimal or ("." if self.thousands != "." else ","), self.thousands or "")]

    def choose(self, equals: list[tuple[str, str]]) -> tuple[tuple[str, str], bool]:
        """One of the pairs that read the same number of cells, and whether that is in doubt."""
        plain, comma = (".", "") in equals, (",", "") in equals
        if plain and (comma or (",", ".") not in equals or not self.comma_found):
            return (".", ""), False
        if plain:
            return (",", "."), True
        # "1,234": a decimal comma needs no thousands and so comes first, but is the less likely of the two
        doubtful = comma and (".", ",") in equals
        return ((".", ",") if doubtful and not (self.comma_likely or self.comma_found) else equals[0]), doubtful


def recognise_numbers(counts: Mapping[str, int], signs: NumberSigns) -> tuple[NumberFormat, bool] | None:
    """The format in which most of the texts are numbers, and whether another format would read the same texts.

    ``counts`` has the number of occurrences of each text.

    >>> recognise_numbers({"1,234.50": 1, "17": 3}, NumberSigns())
    (NumberFormat(decimal='.', thousands=',', unit=''), False)
    >>> recognise_numbers({"1,234": 1, "5,678": 1}, NumberSigns())
    (NumberFormat(decimal='.', thousands=',', unit=''), True)
    >>> recognise_numbers({"red": 1}, NumberSigns()) is None
    True
    """
    parts = {text: split_affixes(text) for text in counts}
    units = Counter[str]()
    for text, found in parts.items():
        if found is not None:
            units[found[1]] += counts[text]
    if not units:
        return None
    unit = _common_unit(units)
    digits = Counter[str]()
    for text, found in parts.items():
        if found is not None and NumberFormat(unit=unit)._has_unit(found[1]):
            digits[found[0]] += counts[text]
    read = {pair: _count_numbers(digits, *pair) for pair in signs.spellings()}
    most = max(read.values())
    if not most:
        return None
    chosen, doubtful = signs.choose([pair for pair, count in read.items() if count == most])
    return NumberFormat(*chosen, unit), doubtful


def _common_unit(units: Counter[str]) -> str:
    """The unit of most cells; cells of money may do without."""
    money = [unit for unit in units if unit in CURRENCIES]
    if money and units[money[0]] + units[""] == units.total():
        return money[0]
    return units.most_common(1)[0][0]


def _count_numbers(digits: Mapping[str, int], decimal: str, thousands: str) -> int:
    return sum(count for text, count in digits.items() if _number(text, decimal, thousands) is not None)


def _number(digits: str, decimal: str, thousands: str) -> float | None:
    if _spelling(decimal, thousands).fullmatch(digits) is None:
        return None
    return float((digits.replace(thousands, "") if thousands else digits).replace(decimal, "."))


@functools.cache
def _spelling(decimal: str, thousands: str) -> re.Pattern[str]:
    whole = rf"[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+|\d+" if thousands else r"\d+"
    point = re.escape(decimal)
    return re.compile(rf"[-+]?(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?")
