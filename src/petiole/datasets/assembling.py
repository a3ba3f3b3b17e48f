"""Turns rows of cells into columns, in blocks of rows, and decides which columns are numeric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from petiole.datasets.cells import CategoricalBuilder, Cell, ColumnPlan, NumericBuilder, Place, TextBuilder
from petiole.datasets.columns import Values
from petiole.datasets.recognising import Recogniser, Texts

Row = tuple[int, Sequence[Cell]]  # the number of its first line, and its cells
Builder = NumericBuilder | CategoricalBuilder | TextBuilder
BLOCK = 256  # rows; a few hundred keep the strings in cache, which halves the time


class Assembler:
    """Puts cells into columns.

    ``missing`` are the cells that mean "no value". ``strip`` is whether blanks around names are removed. A
    ``recogniser`` decides on columns that are not plain numbers; without one they are categorical.
    """

    def __init__(
        self,
        file: str,
        plans: list[ColumnPlan],
        missing: frozenset[Cell],
        strip: bool,
        recogniser: Recogniser | None = None,
    ) -> None:
        self.file, self.plans, self.missing, self.strip = file, plans, missing, strip
        self.recogniser = recogniser

    def assemble(self, rows: Callable[[], Iterator[Row]]) -> dict[str, Values]:
        """Read the rows, and again if a column turns out not to be numeric after a block of numbers."""
        kinds = [self._first_kind(plan) for plan in self.plans]
        builders, complete = self._read(rows(), kinds)
        if not complete:
            builders, _ = self._read(rows(), kinds)
        pairs = zip(self.plans, builders, strict=True)
        return {plan.name: self._finish(plan, builder, rows) for plan, builder in pairs}

    def _read(self, rows: Iterator[Row], kinds: list[str]) -> tuple[list[Builder], bool]:
        """Fill one builder per column, changing ``kinds`` as the cells require; False if a column lost a block."""
        builders = [self._builder(plan, kind) for plan, kind in zip(self.plans, kinds, strict=True)]
        complete = True
        while block := list(islice(rows, BLOCK)):
            columns = zip(*(cells for _, cells in block), strict=True)
            for index, cells in enumerate(columns):
                bad = builders[index].add(cells)
                if bad is None:
                    continue
                if not self._may_change(self.plans[index]):
                    raise self._refusal(self.plans[index], block[bad][0], cells[bad])
                complete = complete and not builders[index].parts
                kinds[index] = "nominal" if self.recogniser is None else "text"
                builders[index] = self._builder(self.plans[index], kinds[index])
                builders[index].add(cells)
        return builders, complete

    def _first_kind(self, plan: ColumnPlan) -> str:
        if plan.kind is None or self.recogniser is None:
            return plan.kind or "numeric"
        return "numeric" if plan.kind == "numeric" else "text"

    def _may_change(self, plan: ColumnPlan) -> bool:
        return plan.kind is None or (self.recogniser is not None and plan.kind == "numeric")

    def _builder(self, plan: ColumnPlan, kind: str) -> Builder:
        if kind == "text":
            return TextBuilder()
        if kind == "numeric":
            return self._numeric_builder(plan)
        return CategoricalBuilder(self.missing, plan.categories, self.strip)

    def _numeric_builder(self, plan: ColumnPlan) -> NumericBuilder:
        if self.recogniser is None:
            return NumericBuilder(self.missing)
        return self.recogniser.numeric_builder(plan.name)

    def _finish(self, plan: ColumnPlan, builder: Builder, rows: Callable[[], Iterator[Row]]) -> Values:
        if isinstance(builder, TextBuilder):
            assert self.recogniser is not None
            texts = Texts(plan.name, plan.kind, builder.book.names, builder.codes())
            return self.recogniser.column(texts, lambda row: f"line {next(islice(rows(), row, None))[0]}")
        if isinstance(builder, NumericBuilder) and self.recogniser is not None:
            self.recogniser.count_markers(plan.name, builder.markers)
        return builder.finish()

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
