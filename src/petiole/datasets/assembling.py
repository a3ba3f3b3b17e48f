"""Rows of cells into columns, a block of rows at a time, deciding on the way which columns are numeric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from petiole.datasets.cells import CategoricalBuilder, Cell, ColumnPlan, NumericBuilder, Place
from petiole.datasets.columns import Values

Row = tuple[int, Sequence[Cell]]  # the number of its first line, and its cells
BLOCK = 256  # rows; a few hundred keep the strings in cache, which halves the time


class Assembler:
    """Puts cells into columns.

    ``missing`` are the cells that mean "no value". ``strip`` says whether blanks around names are to be dropped.
    """

    def __init__(self, file: str, plans: list[ColumnPlan], missing: frozenset[Cell], strip: bool) -> None:
        self.file, self.plans, self.missing, self.strip = file, plans, missing, strip

    def assemble(self, rows: Callable[[], Iterator[Row]]) -> dict[str, Values]:
        """Read the rows, and once more if a column turned out categorical after a block of numbers."""
        kinds = [plan.kind or "numeric" for plan in self.plans]
        builders, complete = self._read(rows(), kinds)
        if not complete:
            builders, _ = self._read(rows(), kinds)
        return {plan.name: builder.finish() for plan, builder in zip(self.plans, builders, strict=True)}

    def _read(self, rows: Iterator[Row], kinds: list[str]) -> tuple[list[NumericBuilder | CategoricalBuilder], bool]:
        """Fill one builder per column, changing ``kinds`` where the cells demand it; False if a column lost a block."""
        builders = [self._builder(plan, kind) for plan, kind in zip(self.plans, kinds, strict=True)]
        complete = True
        while block := list(islice(rows, BLOCK)):
            columns = zip(*(cells for _, cells in block), strict=True)
            for index, cells in enumerate(columns):
                bad = builders[index].add(cells)
                if bad is None:
                    continue
                if self.plans[index].kind is not None:
                    raise self._refusal(self.plans[index], block[bad][0], cells[bad])
                complete = complete and not builders[index].parts
                kinds[index] = "nominal"
                builders[index] = self._builder(self.plans[index], "nominal")
                builders[index].add(cells)
        return builders, complete

    def _builder(self, plan: ColumnPlan, kind: str) -> NumericBuilder | CategoricalBuilder:
        if kind == "numeric":
            return NumericBuilder(self.missing)
        return CategoricalBuilder(self.missing, plan.categories, self.strip)

    def _refusal(self, plan: ColumnPlan, line: int, cell: Cell) -> ValueError:
        place = Place(self.file, line, plan.name)
        if plan.categories is None:
            return ValueError(
                f"{place}: {cell!r} is not a number: correct it, or declare the column with "
                f"kinds={{{plan.name!r}: 'nominal'}}"
            )
        return ValueError(f"{place}: {cell!r} is none of the declared values {_shorten(plan.categories)}: add it there")


def _shorten(values: Sequence[str]) -> str:
    shown = ", ".join(map(repr, values[:8]))
    return f"{shown}, ..." if len(values) > 8 else shown
