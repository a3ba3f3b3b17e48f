"""Turns roles in docstrings, such as :class:`Tree`, into links to the reference; other names stay code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

API = Path(__file__).parent / "api"
ROLE = re.compile(r":(?:class|meth|func|mod|attr|data):`~?([\w.]+)`")


def documented() -> dict[str, str]:
    """The places of the reference by the full and by the last part of their names."""
    found = [path for page in API.glob("*.md") for path in re.findall(r"^::: ([\w.]+)", page.read_text("utf-8"), re.M)]
    return {name: path for path in found for name in (path, path.rpartition(".")[2])}


class Roles(griffe.Extension):
    """Rewrites the docstring of every object when it is loaded."""

    def __init__(self) -> None:
        self._places = documented()

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(lambda match: self._link(match[1]), obj.docstring.value)

    def _link(self, name: str) -> str:
        """The name as a link to itself or, for a method, to its class."""
        owner, _, last = name.removeprefix("petiole.").rpartition(".")
        for place in (name, f"petiole.{name}", last, owner, owner.rpartition(".")[2]):
            if place in self._places:
                return f"[`{name}`][{self._places[place]}]"
        return f"`{name}`"
