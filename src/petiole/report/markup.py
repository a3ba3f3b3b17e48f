"""HTML by small functions: text is escaped unless it is markup already, so nothing from the data can break out."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

EMPTY = frozenset({"input", "br", "meta", "col"})


class Markup(str):
    """A string that is HTML; other strings are text."""


def element(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; attributes of None or False are left out, ``class_`` and ``for_`` lose their underscore.

    >>> element("p", "1 < 2 ", element("b", "& so on"), class_="note")
    '<p class="note">1 &lt; 2 <b>&amp; so on</b></p>'
    >>> element("a", "x", title='"><script>')
    '<a title="&quot;&gt;&lt;script&gt;">x</a>'
    """
    kept = {key: value for key, value in attributes.items() if value is not None and value is not False}
    given = "".join(_attribute(key, value) for key, value in kept.items())
    if name in EMPTY:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{''.join(text(child) for child in children)}</{name}>")


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value), quote=True)}"'


def text(value: Any) -> Markup:
    """Text made safe; markup stays as it is."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value), quote=True))


def joined(parts: Iterable[Any]) -> Markup:
    """Several pieces as one."""
    return Markup("".join(text(part) for part in parts))


def table(
    header: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    label: str,
    numeric: Sequence[int] = (),
    minor: Sequence[int] = (),
) -> Markup:
    """A table in a box that scrolls sideways where the page is narrow; the first cell of a row is its head.

    ``minor`` columns are not shown on phones.
    """

    def cell(column: int, content: Any, scope: str | None) -> Markup:
        name = "td" if scope is None else "th"
        looks = [word for word, some in (("number", numeric), ("minor", minor)) if column in some]
        return element(name, content, scope=scope, class_=" ".join(looks) or None)

    head = element("tr", *(cell(i, content, "col") for i, content in enumerate(header)))
    body = [element("tr", *(cell(i, content, None if i else "row") for i, content in enumerate(row))) for row in rows]
    inner = element("table", element("thead", head), element("tbody", *body))
    return element("div", inner, class_="scroll", role="region", aria_label=label, tabindex="0")


def json_for_script(data: Any) -> Markup:
    """JSON that cannot end the script element it stands in.

    >>> json_for_script({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    encoded = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return Markup(encoded)
