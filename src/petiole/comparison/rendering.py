"""Tables as plain text and as Markdown."""

from __future__ import annotations

Rows = list[list[str]]


def as_text(header: list[str], rows: Rows) -> str:
    """Columns of even width: the first to the left, the others to the right.

    >>> print(as_text(["method", "rank"], [["tree", "1.50"]]))
    method  rank
    tree    1.50
    """
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(cells: list[str]) -> str:
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join([first, *others]).rstrip()

    return "\n".join(line(row) for row in [header, *rows])


def as_markdown(header: list[str], rows: Rows) -> str:
    """A table in Markdown; bars in a cell are escaped.

    >>> print(as_markdown(["method", "rank"], [["tree", "1.50"]]))
    | method | rank |
    |---|---|
    | tree | 1.50 |
    """

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(header), "|" + "---|" * len(header), *(line(row) for row in rows)])


def p_text(p_value: float) -> str:
    """A p-value with three figures."""
    return f"{p_value:.3g}"
