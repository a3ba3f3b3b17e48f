"""A page about one object, as plain text and as HTML for notebooks: a title, facts, small tables, pictures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from html import escape

STYLE = (
    "<style>.petiole{font-family:system-ui,sans-serif;font-size:13px;line-height:1.4}"
    ".petiole table{border-collapse:collapse;margin:.4em 1.5em .4em 0;display:inline-table;vertical-align:top}"
    ".petiole th,.petiole td{text-align:left;font-size:13px;padding:.1em .8em .1em 0;border:0;background:none}"
    ".petiole caption{text-align:left;font-weight:600;color:inherit;caption-side:top;padding:0}"
    ".petiole .columns td.number{text-align:right;font-variant-numeric:tabular-nums}"
    ".petiole figure{margin:.4em 0;overflow-x:auto}.petiole svg{height:auto}</style>"
)


@dataclasses.dataclass(frozen=True)
class SmallTable:
    """Rows of a name and numbers, formatted as text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclasses.dataclass(frozen=True)
class Picture:
    """A drawing, and the same as text."""

    title: str
    svg: str
    text: str


@dataclasses.dataclass(frozen=True)
class Sheet:
    """The description of one object."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    tables: Sequence[SmallTable] = ()
    pictures: Sequence[Picture] = ()
    note: str = ""

    def to_text(self) -> str:
        """The sheet as plain text.

        >>> table = SmallTable("Columns", ["column", "share"], [["size", "0.8"], ["colour", "0.2"]])
        >>> print(Sheet("A model", [("rows", "12")], [table]).to_text())
        A model
          rows  12
        <BLANKLINE>
        Columns
          column  share
          size    0.8
          colour  0.2
        """
        parts = ["\n".join([self.title, *_aligned(self.facts)])]
        parts += [
            "\n".join([*filter(None, [table.title]), *_aligned([table.header, *table.rows])]) for table in self.tables
        ]
        parts += [f"{picture.title}\n{picture.text}" for picture in self.pictures]
        return "\n\n".join([*parts, self.note] if self.note else parts)

    def to_html(self, more: str = "") -> str:
        """The sheet as self-contained HTML; ``more`` is HTML that follows."""
        facts = _html_table(SmallTable("", [], self.facts)) if self.facts else ""
        tables = "".join(map(_html_table, self.tables))
        drawn = "".join(
            f"<figure><figcaption>{escape(picture.title)}</figcaption>{picture.svg}</figure>"
            for picture in self.pictures
        )
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return f'{STYLE}<div class="petiole"><b>{escape(self.title)}</b><br>{facts}{tables}{drawn}{note}{more}</div>'


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [f"  {line.rstrip()}" for line in padded]


def _html_table(table: SmallTable) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    kind = " class=columns" if head else ""
    return f"<table{kind}>{caption}{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def _cell(text: str) -> str:
    is_number = text[:1].isdigit() and text.replace(".", "").replace(",", "").isdigit()
    return f"<td{' class=number' if is_number else ''}>{escape(text)}</td>"
