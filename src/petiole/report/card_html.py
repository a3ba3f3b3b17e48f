"""A model card as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from petiole.report.card_parts import (
    Bullets,
    Card,
    Cell,
    Facts,
    Grid,
    Limits,
    NotKnown,
    Part,
    Reliability,
    Share,
    Words,
)
from petiole.report.markup import Markup, element, joined, table
from petiole.report.simple_page import cards, facts, section, share_bar, simple_page
from petiole.report.svg_charts import reliability_chart


def card_page(card: Card) -> str:
    """The page as text."""
    missing = card.not_known()
    top = [element("p", card.summary, class_="verdict"), cards(card.figures)]
    if missing:
        top.append(element("p", f"Not known: {', '.join(missing)}.", class_="note"))
    links = joined(element("a", one.title, href=f"#{one.name}") for one in card.sections)
    top.append(element("nav", links, aria_label="Sections"))
    sections = [section(one.name, one.title, *map(_shown, one.parts)) for one in card.sections]
    return simple_page(card.title, "petiole model card", top, sections)


def _shown(part: Part) -> Markup:
    show: Callable[[Any], Markup] = WRITERS[type(part)]
    return show(part)


def _words(part: Words) -> Markup:
    return element("p", part.text, class_=part.look or None)


def _not_known(part: NotKnown) -> Markup:
    return element("p", element("b", "Not known:"), f" {part.what}. ", _sentence(part.why), class_="unknown")


def _sentence(why: str) -> str:
    return f"{why[0].upper()}{why[1:]}."


def _grid(part: Grid) -> Markup:
    rows = [[_cell(cell) for cell in row] for row in part.rows]
    return table(part.header, rows, label=part.label, numeric=part.numeric, minor=part.minor)


def _cell(cell: Cell) -> Markup | str:
    if isinstance(cell, Limits):
        shown = element("b", cell.text) if cell.strong else cell.text
        return joined([shown, element("small", cell.low_to_high)])
    return share_bar(cell.share, cell.text) if isinstance(cell, Share) else cell


def _facts(part: Facts) -> Markup:
    return facts(part.entries)


def _bullets(part: Bullets) -> Markup:
    return element("ul", *(element("li", item) for item in part.items), class_="notes")


def _reliability(part: Reliability) -> Markup:
    figures = [
        element("figure", element("figcaption", one.title), reliability_chart(one.bins, one.axis))
        for one in part.curves
    ]
    return element("div", *figures, class_="pictures")


WRITERS: dict[type, Callable[[Any], Markup]] = {
    Words: _words,
    NotKnown: _not_known,
    Grid: _grid,
    Facts: _facts,
    Bullets: _bullets,
    Reliability: _reliability,
}
