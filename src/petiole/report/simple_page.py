"""A page without a library for charts: words, tables, and pictures drawn as SVG."""

from __future__ import annotations

import string
from collections.abc import Sequence
from importlib import resources
from typing import Any

from petiole.report.markup import Markup, element, text


def simple_page(title: str, brand: str, top: Sequence[Any], sections: Sequence[Markup]) -> str:
    """A page in the report's style; it needs neither the network nor other files."""
    assets = resources.files("petiole.report").joinpath("assets")
    page = string.Template(assets.joinpath("simple.html").read_text(encoding="utf-8"))
    parts: dict[str, Any] = {
        "title": title,
        "brand": brand,
        "style": Markup(assets.joinpath("style.css").read_text(encoding="utf-8")),
        "top": Markup("".join(text(part) for part in top)),
        "body": Markup("\n".join(sections)),
        "script": Markup(assets.joinpath("theme.js").read_text(encoding="utf-8")),
    }
    return page.substitute({name: text(part) for name, part in parts.items()})


def section(name: str, title: str, *children: Any) -> Markup:
    """A section with a heading."""
    return element("section", element("h2", title, id=f"h-{name}"), *children, id=name, aria_labelledby=f"h-{name}")


def lead(words: str) -> Markup:
    """The paragraph that says what follows."""
    return element("p", words, class_="lead")


def cards(entries: Sequence[tuple[str, str, str]]) -> Markup:
    """Figures with a title and a remark each."""
    shown = [
        element("div", element("dt", t), element("dd", v, element("small", s)), class_="card") for t, v, s in entries
    ]
    return element("dl", *shown, class_="cards small")


def facts(entries: Sequence[tuple[str, Any]]) -> Markup:
    """Names and values."""
    pairs = [part for name, value in entries for part in (element("dt", name), element("dd", value))]
    return element("dl", *pairs, class_="facts")


def share_bar(share: float, words: str) -> Markup:
    """A share as a bar with words."""
    bar = element("span", class_="bar", style=f"width:{100 * min(max(share, 0.0), 1.0):.1f}%")
    return Markup(element("span", bar, class_="track") + text(f" {words}"))
