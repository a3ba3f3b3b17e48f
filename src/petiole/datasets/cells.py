"""From the cells of a text file to columns of numbers or of names, with errors that name the line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from petiole._table.date_texts import DateFormat
from petiole._table.number_texts import DASHES, PLAIN, NumberFormat
from petiole.datasets.columns import Categorical, Numeric, Values

Cell = str | None
KINDS = ("numeric", "nominal", "date")


@dataclass(frozen=True)
class Place:
    """Where in which file something is, for error messages."""

    file: str
    line: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        return f"{self.file}{line}" + ("" if self.column is None else f", column {self.column!r}")


class UnknownColumn(ValueError):
    """A file has no column of this name; ``columns`` are those it has."""

    def __init__(self, name: str, columns: Collection[str], file: str) -> None:
        self.name, self.columns, self.file = name, list(columns), file
        super().__init__(f"{name!r}: {file} has no such column; its columns are {', '.join(map(repr, self.columns))}")


def check_skipped(skipped: Collection[str], columns: Collection[str], file: str) -> None:
    """Raise an error unless the columns to be left out exist."""
    for name in skipped:
        if name not in columns:
            raise UnknownColumn(name, columns, file)


@dataclass
class ColumnPlan:
    """The plan of a column: its kind (None: decided by its cells) and, if declared, its categories or the spelling of
    its dates."""

    name: str
    kind: str | None = None
    categories: tuple[str, ...] | None = None
    date: DateFormat | None = None


def parse_number(cell: str) -> float:
    """Read a number in plain ASCII; Python would also read "1_000" and digits of other scripts.

    >>> parse_number(" 1e3 ")
    1000.0
    """
    if "_" in cell or not cell.isascii():
        raise ValueError(cell)
    return float(cell)


class NumericBuilder:
    """Collects the cells of a numeric column; a cell with the character ``refused`` is not a number."""

    def __init__(self, missing: frozenset[Cell], format: NumberFormat = PLAIN, refused: str | None = None) -> None:
        self.missing, self.format, self.refused = missing | DASHES, format, refused
        self.parts: list[NDArray[np.float64]] = []
        self.markers: Counter[str] = Counter()  # the number of cells by missing marker

    def add(self, cells: Sequence[Cell]) -> int | None:
        """Add some cells; if one is not a number, add nothing and return the index of the first such cell."""
        try:
            self.parts.append(self._parse_plain_numbers(cells))
            return None
        except (ValueError, TypeError):
            pass
        numbers, markers = np.empty(len(cells)), Counter[str]()
        for index, cell in enumerate(cells):
            marker = self._marker(cell)
            if marker is not None:
                markers[marker] += 1
                numbers[index] = np.nan
                continue
            try:
                numbers[index] = self._parse(cell or "")
            except ValueError:
                return index
        self.markers += markers
        self.parts.append(numbers)
        return None

    def _parse(self, cell: str) -> float:
        if self.format.is_plain:
            if self.refused is not None and self.refused in cell:
                raise ValueError(cell)
            return parse_number(cell)
        number = self.format.parse(cell)
        if number is None:
            raise ValueError(cell)
        return number

    def _parse_plain_numbers(self, cells: Sequence[Cell]) -> NDArray[np.float64]:
        joined = "".join(cells)  # type: ignore[arg-type]
        if "_" in joined or not joined.isascii() or not self.format.is_plain or (self.refused or "_") in joined:
            raise ValueError
        return np.fromiter(map(float, cells), np.float64, count=len(cells))  # type: ignore[arg-type]

    def _marker(self, cell: Cell) -> str | None:
        """The marker of a missing cell, None if it is not missing."""
        stripped = None if cell is None else cell.strip()
        return (stripped or "") if cell in self.missing or stripped in self.missing else None

    def finish(self) -> Values:
        """Return the column."""
        return Numeric(np.concatenate(self.parts) if self.parts else np.empty(0))


class CodeBook(dict[Cell, int]):
    """Codes of names in the order of appearance; -1 is missing. Other spellings of a name are added when they occur."""

    def __init__(self, missing: Iterable[Cell], declared: tuple[str, ...] | None, strip: bool) -> None:
        super().__init__(dict.fromkeys(missing, -1))
        self.strip, self.closed = strip, declared is not None
        self.names = list(declared or ())
        self.update({name: code for code, name in enumerate(self.names)})

    def __missing__(self, cell: str) -> int:
        name = cell.strip() if self.strip else cell
        if name != cell and name in self:
            code = self[name]
        elif self.closed:
            raise KeyError(cell)
        else:
            code = self[name] = len(self.names)
            self.names.append(name)
        self[cell] = code
        return code


class TextBuilder:
    """Collects the cells of a column whose kind is decided when all of them are known."""

    def __init__(self) -> None:
        self.book = CodeBook((None,), None, strip=True)
        self.parts: list[NDArray[np.int64]] = []

    def add(self, cells: Sequence[Cell]) -> None:
        """Add some cells."""
        self.parts.append(np.fromiter(map(self.book.__getitem__, cells), np.int64, count=len(cells)))

    def codes(self) -> NDArray[np.int64]:
        """The position of each row's cell among the distinct cells."""
        return np.concatenate(self.parts) if self.parts else np.empty(0, dtype=np.int64)


class CategoricalBuilder:
    """Collects the cells of a categorical column."""

    def __init__(self, missing: frozenset[Cell], declared: tuple[str, ...] | None, strip: bool) -> None:
        self.book = CodeBook(missing, declared, strip)
        self.parts: list[NDArray[np.int64]] = []

    def add(self, cells: Sequence[Cell]) -> int | None:
        """Add some cells; return the index of the first that was not declared, if there is one."""
        try:
            self.parts.append(np.fromiter(map(self.book.__getitem__, cells), np.int64, count=len(cells)))
            return None
        except KeyError as error:
            return list(cells).index(error.args[0])

    def finish(self) -> Values:
        """Return the column, declared categories in their order and others sorted."""
        codes = np.concatenate(self.parts) if self.parts else np.empty(0, dtype=np.int64)
        column = Categorical(codes, tuple(self.book.names))
        return column if self.book.closed else column.sorted()
