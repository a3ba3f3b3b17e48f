"""What a model card says, as plain values, which are written as HTML or as Markdown."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from petiole._table.columns import Floats

LONGEST = 80  # characters of a name


@dataclass(frozen=True)
class Words:
    """A paragraph. The look is "" for plain text, "lead" for what explains a section, "note" for small print."""

    text: str
    look: str = ""


@dataclass(frozen=True)
class NotKnown:
    """What the model file does not say, why, and what to do about it."""

    what: str
    why: str


class Limits(NamedTuple):
    """A figure with its interval below it; it may stand out."""

    text: str
    low_to_high: str
    strong: bool = False


class Share(NamedTuple):
    """A share from 0 to 1 that is drawn as a bar."""

    share: float
    text: str


Cell = str | Limits | Share


@dataclass(frozen=True)
class Grid:
    """A table; columns of numbers are aligned to the right, and minor columns are not shown on phones."""

    label: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric: Sequence[int] = ()
    minor: Sequence[int] = ()


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    entries: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


class Curve(NamedTuple):
    """The reliability of a class: mean probability, observed share and weight of each bin."""

    title: str
    axis: str
    bins: Floats


@dataclass(frozen=True)
class Reliability:
    """Reliability diagrams side by side."""

    curves: Sequence[Curve]


Part = Words | NotKnown | Grid | Facts | Bullets | Reliability


@dataclass(frozen=True)
class Section:
    """A part of the card with a heading; ``name`` is its anchor."""

    name: str
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Card:
    """A model card: a title, a sentence, some figures with titles and remarks, and sections."""

    title: str
    summary: str
    figures: Sequence[tuple[str, str, str]]
    sections: Sequence[Section] = field(default_factory=list)

    def not_known(self) -> list[str]:
        """What the card could not say, in the order of its sections."""
        parts = [part for section in self.sections for part in section.parts]
        return [part.what for part in parts if isinstance(part, NotKnown)]


def readable(value: Any, longest: int = LONGEST) -> str:
    """A name from the data as one line of text: shortened, and without characters that cannot be seen.

    Control characters, and those that change the direction of text, are written as escapes, because names with them
    would not look like what they are.

    >>> readable("a\\n  b"), readable("x" * 100, 5), readable("abc\\u202edef")
    ('a b', 'xxxx…', 'abc\\\\u202edef')
    """
    line = " ".join(str(value)[: 4 * longest].split())
    shown = "".join(c if unicodedata.category(c)[0] != "C" else c.encode("unicode_escape").decode() for c in line)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def counted(number: float, one: str, several: str | None = None) -> str:
    """A number with the thing that it counts.

    >>> counted(1, "row"), counted(2500.0, "row"), counted(2, "class", "classes")
    ('1 row', '2,500 rows', '2 classes')
    """
    shown = f"{number:,.0f}" if number == round(number) and abs(number) < 1e15 else f"{number:,.6g}"
    return f"{shown} {one if shown == '1' else several or one + 's'}"


def listed(names: Sequence[Any], most: int = 8, separator: str = ", ") -> str:
    """The first few of some names.

    >>> listed(["a", "b", "c"], 2)
    'a, b, and 1 more'
    """
    shown = separator.join(readable(name, 40) for name in names[:most])
    return shown if len(names) <= most else f"{shown}{separator}and {len(names) - most:,} more"
