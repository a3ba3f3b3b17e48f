"""A model card as Markdown, with tables instead of pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from petiole.metrics.calibration import wilson_limits
from petiole.report.card_parts import (
    Bullets,
    Card,
    Cell,
    Facts,
    Grid,
    Limits,
    NotKnown,
    Reliability,
    Share,
    Words,
)

# What CommonMark and GitHub read as more than text; "<" and "&" as well, because Markdown may hold HTML.
SIGNS = re.compile(r"[\\`*{}\[\]<>|~^$&@]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=\bwww)\.|(?<=\d)[.)](?=\s)", re.IGNORECASE)
BEGINNING = re.compile(r"^(?=[-+=#])|^(?=\d+[.)]$)")


def card_text(card: Card) -> str:
    """The card as Markdown."""
    lines = [f"# {plain(card.title)}", "", paragraph(card.summary), ""]
    lines += [f"- **{plain(title)}:** {plain(value)} ({plain(remark)})" for title, value, remark in card.figures]
    missing = card.not_known()
    if missing:
        lines += ["", f"Not known: {plain(', '.join(missing))}."]
    for section in card.sections:
        lines += ["", f"## {plain(section.title)}"]
        for part in section.parts:
            show: Callable[[Any], list[str]] = WRITERS[type(part)]
            lines += ["", *show(part)]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    r"""Text in which nothing is markup.

    >>> print(plain("a|b <script> [x](http://y) *z* snake_case"))
    a\|b \<script\> \[x\](http\://y) \*z\* snake_case
    """
    return SIGNS.sub(r"\\\g<0>", text)


def paragraph(text: str) -> str:
    """The same at the beginning of a line, where more signs are markup."""
    return BEGINNING.sub(r"\\", plain(text))


def _words(part: Words) -> list[str]:
    return [paragraph(part.text)]


def _not_known(part: NotKnown) -> list[str]:
    return [f"**Not known:** {plain(part.what)}. {plain(part.why[0].upper() + part.why[1:])}."]


def _grid(part: Grid) -> list[str]:
    return _table(part.header, [[_cell(cell) for cell in row] for row in part.rows], part.numeric)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int]) -> list[str]:
    rule = ["---:" if place in numeric else "---" for place in range(len(header))]
    heads = [plain(name) for name in header]
    return [f"| {' | '.join(cells)} |" for cells in [heads, rule, *rows]]


def _cell(cell: Cell) -> str:
    if isinstance(cell, Limits):
        shown = f"**{plain(cell.text)}**" if cell.strong else plain(cell.text)
        return f"{shown} ({plain(cell.low_to_high)})"
    return plain(cell.text if isinstance(cell, Share) else cell)


def _facts(part: Facts) -> list[str]:
    return [f"- **{plain(name)}:** {plain(value)}" for name, value in part.entries]


def _bullets(part: Bullets) -> list[str]:
    return [f"- {paragraph(item)}" for item in part.items]


def _reliability(part: Reliability) -> list[str]:
    lines = []
    for curve in part.curves:
        low, high = wilson_limits(np.clip(curve.bins[:, 1], 0, 1), curve.bins[:, 2], 0.95)
        rows = [
            [f"{p:.3f}", f"{came:.3f} ({a:.3f} to {b:.3f})", f"{weight:,.6g}"]
            for (p, came, weight), a, b in zip(curve.bins.tolist(), low, high, strict=True)
        ]
        header = [f"Mean {curve.axis}", "Observed share", "Rows"]
        lines += [*_table(header, rows, [0, 1, 2]), ""]
    return lines[:-1]


WRITERS: dict[type, Callable[[Any], list[str]]] = {
    Words: _words,
    NotKnown: _not_known,
    Grid: _grid,
    Facts: _facts,
    Bullets: _bullets,
    Reliability: _reliability,
}
