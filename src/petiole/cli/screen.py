"""Output to the terminal: notes on standard error, tables or JSON on standard output."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

WIDTH_OF_FILES = 160  # of tables that do not go to a terminal


@dataclass(frozen=True)
class Section:
    """A titled table; cells are texts or numbers."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    key: str = ""  # its name in JSON; the title by default
    tall: bool = False  # cells have several lines
    most: int | None = None  # rows that are shown on the terminal; JSON has all

    def to_dict(self) -> list[dict[str, Any]]:
        """One object per row."""
        return [dict(zip(self.header, map(plain, row), strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Answer:
    """The result of a command: sections for people, a dict for programs."""

    sections: Sequence[Section] = ()
    lines: Sequence[str] = ()
    data: dict[str, Any] = field(default_factory=dict)
    after: Sequence[str] = ()  # lines below the sections


def show(answer: Answer, as_json: bool) -> None:
    """Write an answer to standard output."""
    if as_json:
        write_json(answer.data)
        return
    for line in answer.lines:
        write_line(line)
    for section in answer.sections:
        show_section(section)
    for line in answer.after:
        write_line(line)


def write_json(data: Any) -> None:
    """Write one JSON document to standard output."""
    print(json.dumps(plain(data), indent=2, ensure_ascii=False), flush=True)


def write_line(text: str) -> None:
    """Write a line to standard output."""
    print(text, flush=True)


def note(text: str, quiet: bool) -> None:
    """Write a line to standard error, unless ``quiet``."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def show_section(section: Section) -> None:
    """Draw a table; one that is too wide for the terminal is divided, with the first column in each part."""
    from rich.text import Text

    if not section.header:
        return
    console = _console()
    rows = [[str(cell) if section.tall else spell(cell) for cell in row] for row in section.rows[: section.most]]
    if section.title:
        console.print(Text(f"\n{section.title}", style="bold"))
    for number, columns in enumerate(fitting_columns([section.header, *rows], console.width)):
        if number:
            console.print()
        _draw(console, section, rows, columns)
    left = len(section.rows) - len(rows)
    more = f"... and {left:,} more. " if left > 0 else ""
    if more or section.note:
        console.print(Text(more + section.note))


def _console() -> Any:
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:  # rich would end the process, with another exit code than petiole
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else WIDTH_OF_FILES
    return Output(width=width, highlight=False, markup=False, emoji=False)


def _draw(console: Any, section: Section, rows: list[list[str]], columns: list[int]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        numeric = bool(section.rows) and all(_is_number(row[column]) for row in section.rows)
        table.add_column(Text(section.header[column]), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(row[column]) for column in columns))
    console.print(table)


def fitting_columns(cells: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Groups of columns that fit side by side; each group begins with the first column.

    >>> fitting_columns([["method", "loss", "time"], ["a", "0.5", "1.25"]], width=18)
    [[0, 1], [0, 2]]
    """
    widths = [
        max((len(line) for row in cells for line in row[c].split("\n")), default=0) + 3 for c in range(len(cells[0]))
    ]
    groups: list[list[int]] = []
    room = 0
    for column in range(1, len(widths)):
        if not groups or widths[column] > room:
            groups.append([0])
            room = width - widths[0] + 2
        groups[-1].append(column)
        room -= widths[column]
    return groups or [list(range(len(widths)))]


def _is_number(cell: Any) -> bool:
    text = spell(cell).lstrip("-+<")
    return isinstance(cell, (int, float)) or not text or text[0].isdigit()


def spell(value: Any) -> str:
    """A cell of a table for people: four significant digits.

    >>> spell(0.123456), spell(1234567), spell(None), spell("a")
    ('0.1235', '1,234,567', '', 'a')
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return " ".join(str(value).splitlines())
    if isinstance(value, int) or (math.isfinite(value) and value == round(value) and abs(value) < 1e15):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def plain(value: Any) -> Any:
    """The same value in the types of JSON; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)


@contextmanager
def warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Show each warning of the library once, as a line on standard error."""
    seen: set[str] = set()

    def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in seen and "valid feature names" not in text:
            seen.add(text)
            note(f"note: {text}", quiet)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show_warning
        yield
