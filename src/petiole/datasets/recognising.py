"""Columns of texts that are numbers or dates: recognised, read, and reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._table.date_texts import DateFormat, recognise_dates
from petiole._table.number_texts import (
    DASHES,
    MISSING_LABELS,
    MISSING_MARKERS,
    PLAIN,
    NumberFormat,
    NumberSigns,
    recognise_numbers,
)
from petiole._table.table_format import TableFormat
from petiole.datasets.advice import PARAMETERS, Advice
from petiole.datasets.cells import NumericBuilder
from petiole.datasets.columns import Categorical, Dates, Numeric, Values, from_names

MOST_STRAYS = 0.02  # of the cells of a column may be other than numbers, and count as missing
LEAST_DISTINCT = 10  # distinct numbers; with fewer, the column may contain codes
FEW_DISTINCT = 3  # distinct numbers; with fewer, there is no warning
NEARLY = 0.5  # of the cells are numbers: a warning says that they are not treated as numbers
USUAL_MARKERS = frozenset({"", "?", "NA", "nan", "NaN"})  # which need not be reported
SHOWN = 3


@dataclass(frozen=True)
class ReadingOptions:
    """What is known about a file before it is read.

    Attributes
    ----------
    kinds : dict from column to kind
    missing : collection of str, or None for the usual markers
    separator, decimal, thousands : str or None
    target : str or None
        The column of labels, whose cells stay as they are, unless ``cuts_target`` is set, which means numbers.
    like : TableFormat or None
        How an earlier table was read; this one is read in the same way.
    ignored : collection of str
        Columns that are left out, about which there are no warnings.
    ignore_case : collection of str
        Columns of names in which capitals do not count.
    advice : Advice
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    missing: Collection[str] | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    target: str | None = None
    cuts_target: bool = False
    like: TableFormat | None = None
    ignored: Collection[str] = ()
    ignore_case: Collection[str] = ()
    advice: Advice = PARAMETERS

    def markers(self, name: str | None = None) -> frozenset[str | None]:
        """The texts that mean "missing" in a column."""
        wording = self.missing if self.missing is not None or self.like is None else self.like.missing
        if wording is not None:
            return frozenset({*wording, None})
        return frozenset({*(MISSING_LABELS if name is not None and name == self.target else MISSING_MARKERS), None})

    def ignores_case(self, name: str) -> bool:
        """Whether the names of a column are read in small letters."""
        return name in self.ignore_case or (self.like is not None and name in self.like.ignore_case)

    def keeps_texts(self, name: str) -> bool:
        """Whether only plain numbers are recognised in the column."""
        return (name == self.target and not self.cuts_target) or name in self.ignored


@dataclass(frozen=True)
class ReadTable:
    """Columns, how they were read, and warnings about that."""

    columns: dict[str, Values]
    format: TableFormat = field(default_factory=TableFormat)
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Texts:
    """A column of texts: its distinct cells, and which of them each row has (-1: none)."""

    name: str
    kind: str | None
    names: list[str]
    codes: NDArray[np.int64]

    def counts(self) -> dict[str, int]:
        found = np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))
        return {text: int(count) for text, count in zip(self.names, found, strict=True)}

    def first_row(self, text: str) -> int:
        return int(np.argmax(self.codes == self.names.index(text)))


LineOf = Callable[[int], str]
Parse = Callable[[str], float | None]


class Recogniser:
    """Decides on the kinds of text columns, and collects warnings."""

    def __init__(self, file: str, options: ReadingOptions, signs: NumberSigns, *, typed: bool = False) -> None:
        self.file, self.options, self.signs = file, options, signs
        self.typed = typed  # the file format has missing values, so names such as "NA" are names
        self._numbers: dict[str, NumberFormat] = {}
        self._dates: dict[str, DateFormat] = {}
        self._strays: list[str] = []
        self._findings: list[str] = []
        self._examples: dict[str, str] = {}
        self._markers: dict[str, Counter[str]] = {}
        self._doubtful: set[str] = set()

    @property
    def found_comma(self) -> bool:
        """Whether some column cannot be read without a decimal comma."""
        return any(one.decimal == "," for name, one in self._numbers.items() if name not in self._doubtful)

    def numeric_builder(self, name: str) -> NumericBuilder:
        """The builder for plain numbers; if decimals have a comma, cells with a point are not numbers."""
        like = self.options.like
        if like is not None:
            return NumericBuilder(self.options.markers(name), like.number_format(name))
        comma = self.signs.decimal == "," or self.signs.comma_found
        return NumericBuilder(self.options.markers(name), PLAIN, "." if comma else None)

    def count_markers(self, name: str, markers: Mapping[str, int]) -> None:
        """Record which texts were taken as missing."""
        message = Counter({text: count for text, count in markers.items() if text not in USUAL_MARKERS and count})
        if message and self.options.missing is None and name not in self.options.ignored:
            self._markers[name] = message

    def column(self, texts: Texts, line_of: LineOf) -> Values:
        """The column of the texts."""
        missing = self.options.markers(texts.name)
        counts = texts.counts()
        present = {text: count for text, count in counts.items() if text not in missing}
        absent = {text: count for text, count in counts.items() if text in missing}
        values = self._read(texts, present, line_of)
        if values is None and self.typed:
            return self._names(texts, ())
        if values is None:
            self.count_markers(texts.name, absent)
            self._say_dashes(texts.name, present)
            return self._names(texts, missing)
        self.count_markers(texts.name, absent | {text: n for text, n in present.items() if text in DASHES})
        return values

    def _names(self, texts: Texts, missing: Collection[str | None]) -> Categorical:
        """The texts as names; those that mean "missing" have no code."""
        column, options = _categorical(texts, missing), self.options
        if options.ignores_case(texts.name):
            return column.in_small_letters()
        known = options.like is not None or texts.kind == "nominal" or texts.name == options.target
        alike = None if known or texts.name in options.ignored else alike_but_for_case(column.categories)
        if alike is not None:
            count, small = len(column.categories), len({name.lower() for name in column.categories})
            self._findings.append(
                f"{texts.name}: {count:,} categories, of which {listed_as_alike(alike)} differ only in capitals; "
                f"{options.advice.say('ignore_case', name=texts.name)} makes them {small:,}"
            )
        return column

    def _say_dashes(self, name: str, present: Mapping[str, int]) -> None:
        """Warn about dashes among names, which may mean a missing value; together with a plus they are categories."""
        options = self.options
        if options.missing is None and options.like is None and name not in options.ignored and "+" not in present:
            self._findings.extend(
                f"{name}: {text!r} is a category, of {_rows(present[text])}; "
                f"{options.advice.say('missing', text=text)} if it means a missing value"
                for text in sorted(DASHES & present.keys())
            )

    def _read(self, texts: Texts, present: dict[str, int], line_of: LineOf) -> Values | None:
        name, like = texts.name, self.options.like
        if texts.kind == "nominal" or self.options.keeps_texts(name):
            return None
        cells = {text: count for text, count in present.items() if text not in DASHES}
        if not cells:
            return self._numeric(texts, cells, PLAIN, line_of)
        if texts.kind == "date" or (texts.kind is None and like is None):
            found = self._as_dates(texts, cells, line_of)
            if found is not None or texts.kind == "date":
                return found
        if texts.kind is None and like is not None:
            return None
        return self._as_numbers(texts, cells, line_of)

    def _as_dates(self, texts: Texts, cells: dict[str, int], line_of: LineOf) -> Values | None:
        known = None if self.options.like is None else self.options.like.dates.get(texts.name)
        found = (known, False) if known is not None else recognise_dates(cells)
        if found is None:
            if texts.kind == "date":
                raise ValueError(f"{self.file}, column {texts.name!r}: {next(iter(cells))!r} is not a date")
            return None
        format, doubtful = found
        strays = [text for text in cells if format.parse(text) is None]
        if texts.kind is None and _share(strays, cells) > MOST_STRAYS:
            return None
        self._dates[texts.name] = format
        self._say_strays(texts, strays, cells, "dates", line_of)
        message = f"{texts.name}: read as {format}"
        if format.has_zone(cells):
            message += ", by the clock of each time zone"
        if doubtful:
            message += f"; {next(iter(cells))!r} could have the day first instead: if it has, write dates as 2021-12-31"
        self._findings.append(f"{message} ({self.options.advice.say('nominal', name=texts.name)} keeps texts)")
        return Dates(_values(texts, format.parse))

    def _as_numbers(self, texts: Texts, cells: dict[str, int], line_of: LineOf) -> Values | None:
        like, name = self.options.like, texts.name
        found = (like.number_format(name), False) if like is not None else recognise_numbers(cells, self.signs)
        if found is None:
            self._check_kind(texts, next(iter(cells)), line_of)
            return None
        format, doubtful = found
        parse = format.parse if like is None else format.parse_later
        strays = [text for text in cells if parse(text) is None]
        if like is not None and format.unit:
            self._say_bare(texts, cells, format)
        n_distinct = len(cells) - len(strays)
        accepted = not strays or (_share(strays, cells) <= MOST_STRAYS and n_distinct >= LEAST_DISTINCT)
        if strays and (texts.kind == "numeric" and not (like is not None and name in like.strays)):
            self._check_kind(texts, strays[0], line_of)
        if not accepted and like is None:
            self._say_nearly(texts, strays, cells, line_of)
            return None
        if doubtful:
            self._doubtful.add(name)
        return self._numeric(texts, cells, format, line_of, strays, doubtful)

    def _say_bare(self, texts: Texts, cells: dict[str, int], format: NumberFormat) -> None:
        """Tell of numbers without the unit that those of the earlier table had."""
        bare = [text for text in cells if format.parse(text) is None and format.parse_later(text) is not None]
        if bare:
            count = sum(map(cells.__getitem__, bare))
            self._findings.append(
                f"{texts.name}: {_cells(count)} without the unit {format.unit!r} of the earlier table: {bare[0]!r} is "
                f"read as {bare[0]} {format.unit}"
            )

    def _numeric(
        self,
        texts: Texts,
        cells: dict[str, int],
        format: NumberFormat,
        line_of: LineOf,
        strays: Collection[str] = (),
        doubtful: bool = False,
    ) -> Values:
        if not format.is_plain:
            self._numbers[texts.name] = format
            unusual = (text for text in cells if PLAIN.parse(text) is None and text not in strays)
            self._examples[texts.name] = next(unusual, next(iter(cells)))
        self._say_strays(texts, strays, cells, "numbers", line_of)
        if doubtful:
            wording = self.options.advice.say("decimal", text="." if format.decimal == "," else ",")
            example = self._examples[texts.name]
            self._findings.append(
                f"{texts.name}: {example!r} is read as {format.parse(example):g}; {wording} if it is not"
            )
        return Numeric(_values(texts, format.parse if self.options.like is None else format.parse_later))

    def _check_kind(self, texts: Texts, text: str, line_of: LineOf) -> None:
        """Raise ValueError about a text that is not a number if the user declared numbers."""
        if texts.kind == "numeric":
            say = self.options.advice.say
            raise ValueError(
                f"{self.file}, {line_of(texts.first_row(text))}, column {texts.name!r}: {text!r} is not a number: "
                f"correct it, declare it missing with {say('missing', text=text)}, or take the column as categorical "
                f"with {say('nominal', name=texts.name)}"
            )

    def _say_strays(
        self, texts: Texts, strays: Collection[str], cells: dict[str, int], what: str, line_of: LineOf
    ) -> None:
        if strays:
            self._strays.append(texts.name)
            self._findings.append(
                f"{_strays_text(texts, strays, cells, what, line_of)}, and "
                f"{'counts' if sum(map(cells.__getitem__, strays)) == 1 else 'such cells count'} as missing "
                f"({self.options.advice.say('nominal', name=texts.name)} keeps texts)"
            )

    def _say_nearly(self, texts: Texts, strays: list[str], cells: dict[str, int], line_of: LineOf) -> None:
        if texts.kind is None and _share(strays, cells) <= NEARLY and len(cells) - len(strays) >= FEW_DISTINCT:
            self._findings.append(
                f"{_strays_text(texts, strays, cells, 'numbers', line_of)}. The column is taken as categorical: "
                "correct these cells, or declare them missing with "
                f"{self.options.advice.say('missing', text=strays[0])}"
            )

    def finished(self, columns: dict[str, Values]) -> ReadTable:
        """The table, with the warnings about it."""
        options = self.options
        decimal = options.decimal or ("," if self.found_comma or self.signs.comma_found else None)
        usual = TableFormat(decimal).number_format("")
        format = TableFormat(
            decimal,
            None if options.missing is None else tuple(sorted(options.missing)),
            {name: one for name, one in self._numbers.items() if one != usual},
            self._dates,
            tuple(self._strays),
            ignore_case=tuple(sorted(set(options.ignore_case) & columns.keys())),
        )
        if options.like is not None:
            format = options.like
        return ReadTable(columns, format, (*self._say_formats(), *self._findings, *self._say_markers()))

    def _say_formats(self) -> list[str]:
        if self.options.like is not None:
            return []
        by_format: dict[str, list[str]] = {}
        for name, one in self._numbers.items():
            by_format.setdefault(str(one), []).append(name)
        return [
            f"{_listed(names)}: read as numbers with {how}, such as {self._examples[names[0]]!r}"
            for how, names in by_format.items()
        ]

    def _say_markers(self) -> list[str]:
        by_text: dict[str, dict[str, int]] = {}
        for name, counts in self._markers.items():
            for text, count in counts.items():
                by_text.setdefault(text, {})[name] = count
        return [
            f"{text!r} is read as missing: {_cells(sum(counts.values()))} in {_listed([*counts])}"
            for text, counts in by_text.items()
        ]


def _share(strays: Collection[str], cells: Mapping[str, int]) -> float:
    return sum(map(cells.__getitem__, strays)) / sum(cells.values())


def _strays_text(texts: Texts, strays: Collection[str], cells: Mapping[str, int], what: str, line_of: LineOf) -> str:
    rows = sorted((texts.first_row(text), text) for text in strays)
    total, bad = sum(cells.values()), sum(map(cells.__getitem__, strays))
    shown = ", ".join(f"{line_of(row)} ({text!r})" for row, text in rows[:SHOWN])
    if bad > min(len(rows), SHOWN):
        told = f"{bad:,} are not, such as {shown}"
    else:
        told = f"{shown} {'is not' if bad == 1 else 'are not'}"
    return f"{texts.name}: {total - bad:,} of {total:,} cells are {what}; {told}"


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count:,} cells"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return (
        shown
        if len(names) <= SHOWN
        else f"{shown} and {len(names) - SHOWN} more column{'s' if len(names) > SHOWN + 1 else ''}"
    )


def _values(texts: Texts, parse: Parse) -> NDArray[np.float64]:
    """The number of each row, NaN where the text is not a number."""
    found = [parse(text) for text in texts.names]
    numbers = np.array([*(np.nan if one is None else one for one in found), np.nan])
    return numbers[texts.codes]  # code -1 is the last entry


def alike_but_for_case(names: Collection[str]) -> list[str] | None:
    """The first names that differ only in capitals, if there are any.

    >>> alike_but_for_case(["NO", "Yes", "maybe", "yes"])
    ['Yes', 'yes']
    """
    by_letters: dict[str, list[str]] = {}
    for name in names:
        by_letters.setdefault(name.lower(), []).append(name)
    return next((alike for alike in by_letters.values() if len(alike) > 1), None)


def listed_as_alike(names: Sequence[str]) -> str:
    """Names in quotes, the last after "and".

    >>> listed_as_alike(["YES", "Yes", "yes"])
    "'YES', 'Yes' and 'yes'"
    """
    return f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"


def _categorical(texts: Texts, missing: Collection[str | None]) -> Categorical:
    """The texts as names; those that mean "missing" have no code."""
    kept = [text for text in texts.names if text not in missing]
    code_of = {text: code for code, text in enumerate(kept)}
    recoded = np.array([*(code_of.get(text, -1) for text in texts.names), -1], dtype=np.int64)
    return Categorical(recoded[texts.codes], tuple(kept)).sorted()


def without_row_numbers(table: ReadTable, kinds: Mapping[str, str], name: str) -> ReadTable:
    """The table without a nameless column that counts the rows, as pandas writes it, called ``name`` here."""
    column = table.columns.get(name)
    if name in kinds or not isinstance(column, Numeric) or len(table.columns) < 2:
        return table
    if len(column) > 1 and not (np.diff(column.values) == 1).all():
        return table
    message = "a column without a name counts the rows, as pandas writes its index: it is left out"
    columns = {other: values for other, values in table.columns.items() if other != name}
    return replace(table, columns=columns, findings=(message, *table.findings))


def texts_of_objects(name: str, kind: str | None, cells: NDArray[Any]) -> Texts:
    """Texts of an array of strings with None for missing."""
    column = from_names(np.array([None if cell is None else cell.strip() for cell in cells], dtype=object))
    return Texts(name, kind, list(column.categories), column.codes)
