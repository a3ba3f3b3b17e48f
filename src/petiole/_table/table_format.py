"""How the cells of a table were read; a model stores it, so that later tables are read in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from petiole._table.date_texts import DateFormat
from petiole._table.number_texts import DECIMALS, PLAIN, THOUSANDS, NumberFormat
from petiole.files import checks
from petiole.files.checks import require

ATTRIBUTE = "petiole_format"  # of pandas frames, in ``attrs``


@dataclass(frozen=True)
class TableFormat:
    """How the cells of a file were read.

    Attributes
    ----------
    decimal : str or None
        The decimal sign of the file, if it was given or recognised.
    missing : tuple of str or None
        The texts that mean a missing value, if the user has named them.
    numbers, dates : dict from column to its format
        Only columns that are not spelled like the rest of the file.
    strays : tuple of str
        Columns of numbers or dates in which a few cells are neither, and count as missing.
    target, target_bins : str or None, tuple of float
        The column of labels, and where a column of numbers was cut into classes.
    ignore_case : tuple of str
        Columns of names that are all in small letters, however the file spells them.
    """

    decimal: str | None = None
    missing: tuple[str, ...] | None = None
    numbers: Mapping[str, NumberFormat] = field(default_factory=dict)
    dates: Mapping[str, DateFormat] = field(default_factory=dict)
    strays: tuple[str, ...] = ()
    target: str | None = None
    target_bins: tuple[float, ...] = ()
    ignore_case: tuple[str, ...] = ()

    def number_format(self, name: str) -> NumberFormat:
        """The format of a column of numbers."""
        return self.numbers.get(name, PLAIN if self.decimal in (None, ".") else NumberFormat(",", "."))

    def as_dict(self) -> dict[str, Any]:
        """The parts that differ from the defaults, as lists, dicts and strings."""
        parts = {
            "decimal": self.decimal,
            "missing": None if self.missing is None else list(self.missing),
            "numbers": {name: asdict(one) for name, one in self.numbers.items()},
            "dates": {name: one.pattern for name, one in self.dates.items()},
            "strays": list(self.strays),
            "target": self.target,
            "target_bins": list(self.target_bins),
            "ignore_case": list(self.ignore_case),
        }
        return {name: value for name, value in parts.items() if value or (name == "missing" and value is not None)}

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> TableFormat:
        """The format again.

        >>> TableFormat.from_dict(TableFormat(decimal=",").as_dict()) == TableFormat(decimal=",")
        True
        """
        missing = parts.get("missing")
        return cls(
            parts.get("decimal"),
            None if missing is None else tuple(missing),
            {name: NumberFormat(**one) for name, one in parts.get("numbers", {}).items()},
            {name: DateFormat(pattern) for name, pattern in parts.get("dates", {}).items()},
            tuple(parts.get("strays", ())),
            parts.get("target"),
            tuple(parts.get("target_bins", ())),
            tuple(parts.get("ignore_case", ())),
        )


def check_table_format(value: Any) -> None:
    """Raise ValueError unless a value from a file is what :meth:`TableFormat.as_dict` gives."""
    require(type(value) is dict, "must be a dict")
    known = {
        "decimal": lambda one: require(one in DECIMALS, f"must be one of {DECIMALS}"),
        "missing": checks.texts,
        "numbers": _check_numbers,
        "dates": _check_texts_by_name,
        "strays": checks.texts,
        "target": checks.text,
        "target_bins": checks.list_of(checks.number()),
        "ignore_case": checks.texts,
    }
    for name, part in value.items():
        require(name in known, f"has no part {name!r}")
        checks.check_part(name, known[name], part)


def _check_texts_by_name(value: Any) -> None:
    require(type(value) is dict, "must be a dict")
    for name, one in value.items():
        checks.text(name)
        checks.text(one)


def _check_numbers(value: Any) -> None:
    require(type(value) is dict, "must be a dict")
    for name, one in value.items():
        checks.text(name)
        require(
            type(one) is dict and set(one) == {"decimal", "thousands", "unit"}, "must have decimal, thousands, unit"
        )
        require(
            one["decimal"] in DECIMALS and one["thousands"] in THOUSANDS, "must be a decimal sign and a thousands one"
        )
        require(one["decimal"] != one["thousands"], "must be two signs")
        checks.text(one["unit"])
