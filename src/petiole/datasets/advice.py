"""Advice in messages about reading: parameters in Python, options on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """Templates; ``{name}`` is a column and ``{text}`` a cell, quoted as they have to be typed."""

    nominal: str
    numeric: str
    missing: str
    decimal: str
    separator: str
    drop_missing: str
    target: str
    ignore_case: str
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

    def cut(self, limits: Sequence[float]) -> str:
        """How to cut a target of numbers into classes.

        >>> PARAMETERS.cut([0, 2.5]), OPTIONS.cut([0, 2.5])
        ('target_bins=[0, 2.5]', '--target-bins 0,2.5')
        """
        spelled = [f"{limit:.6g}" for limit in limits]
        return f"--target-bins {','.join(spelled)}" if self.for_shell else f"target_bins=[{', '.join(spelled)}]"


PARAMETERS = Advice(
    nominal="kinds={{{name}: 'nominal'}}",
    numeric="kinds={{{name}: 'numeric'}}",
    missing="missing=[..., {text}]",
    decimal="decimal={text}",
    separator="separator={text}",
    drop_missing="drop_missing_target=True",
    target="target={name}",
    ignore_case="ignore_case=[{name}]",
)
OPTIONS = Advice(
    nominal="--nominal {name}",
    numeric="--numeric {name}",
    missing="--missing {text}",
    decimal="--decimal {text}",
    separator="--separator {text}",
    drop_missing="--drop-missing-target",
    target="--target {name}",
    ignore_case="--ignore-case {name}",
    for_shell=True,
)
