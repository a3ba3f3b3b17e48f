"""The tables of the papers as data: every cell as it is printed."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    Attributes
    ----------
    caption : str
    notes : list of str
    columns : list of str
    rows : list of dict from column to text
        As printed, so that the number of digits is known; "inf" for ∞.
    """

    caption: str
    notes: list[str]
    columns: list[str]
    rows: list[dict[str, str]]

    def column(self, name: str) -> list[str]:
        """The cells of a column, from the top down."""
        self._check(name)
        return [row[name] for row in self.rows]

    def cell(self, row: str, column: str) -> str:
        """The cell of a row, which is found by the text of any of its cells that identifies it."""
        self._check(column)
        found = [one for one in self.rows if row in one.values()]
        if len(found) != 1:
            raise ValueError(f"row={row!r}: must be the text of a cell that occurs once in the table {self.caption!r}")
        return found[0][column]

    def _check(self, column: str) -> None:
        if column not in self.columns:
            raise ValueError(f"column={column!r}: must be one of {', '.join(self.columns)}")


def read_published(name: str) -> PublishedTable:
    """A table by the name of its file.

    >>> table = read_published("nielsen_2004_table_2")
    >>> table.caption
    'Nielsen 2004, Table 2: Effect of B-PETs Enhancements (EB-PETs) by Dataset'
    >>> table.cell("iris", "mse_b_pets")
    '0.0009'
    """
    names = published_names()
    if name not in names:
        raise ValueError(f"name={name!r}: must be one of {', '.join(names)}")
    lines = (resources.files(__name__) / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    remarks = [line[2:] for line in lines if line.startswith("# ")]
    reader = csv.DictReader(line for line in lines if not line.startswith("#"))
    return PublishedTable(remarks[0], remarks[1:], list(reader.fieldnames or []), list(reader))


def published_names() -> list[str]:
    """The names of all tables."""
    files = (path.name for path in resources.files(__name__).iterdir())
    return sorted(name.removesuffix(".csv") for name in files if name.endswith(".csv"))
