"""What a reader may change, in the words of those who read: parameters in Python, options on the command line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """Templates; ``{name}`` is a column and ``{text}`` a cell, quoted as the reader would have to."""

    nominal: str
    numeric: str
    missing: str
    decimal: str
    separator: str
    drop_missing: str
    bins: str
    target: str
    for_shell: bool = False

    def quoted(self, text: str) -> str:
        """A name or cell as it is typed."""
        return shlex.quote(text) if self.for_shell else repr(text)

    def say(self, what: str, *, name: str = "", text: str = "") -> str:
        """One of the templates, filled in.

        >>> PARAMETERS.say("nominal", name="town"), OPTIONS.say("nominal", name="home town")
        ("kinds={'town': 'nominal'}", "--nominal 'home town'")
        """
        template: str = getattr(self, what)
        return template.format(name=self.quoted(name), text=self.quoted(text))


PARAMETERS = Advice(
    nominal="kinds={{{name}: 'nominal'}}",
    numeric="kinds={{{name}: 'numeric'}}",
    missing="missing=[..., {text}]",
    decimal="decimal={text}",
    separator="separator={text}",
    drop_missing="drop_missing_target=True",
    target="target={name}",
    bins="petiole.datasets.cut_into_classes(y, [...])",
)
OPTIONS = Advice(
    nominal="--nominal {name}",
    numeric="--numeric {name}",
    missing="--missing {text}",
    decimal="--decimal {text}",
    separator="--separator {text}",
    drop_missing="--drop-missing-target",
    target="--target {name}",
    bins="--target-bins 0,10,100",
    for_shell=True,
)
