"""The columns that a fitted model needs of a table, with their kinds and categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._classifiers.nesting import find_encoder
from petiole._table.date_texts import ISO, DateFormat, recognise_dates
from petiole._table.dates import DateColumn
from petiole._table.number_texts import DASHES, MISSING_MARKERS, PLAIN, NumberFormat
from petiole._table.table_format import TableFormat
from petiole.cli.io.labelled import Signs, as_array, as_table
from petiole.datasets.cells import NumericBuilder
from petiole.datasets.columns import Categorical, Dates, Numeric, Values

Floats = NDArray[np.float64]
MISSING, UNKNOWN = -1, -2


def canonical(text: str) -> str:
    """One spelling for cells with the same meaning: 3, 3.0 and 3.00; True and true.

    >>> canonical(" 3.0 "), canonical("TRUE"), canonical("Rome")
    ('3', 'true', 'Rome')
    """
    stripped = text.strip()
    if stripped.lower() in ("true", "false"):
        return stripped.lower()
    try:
        number = float(stripped)
    except ValueError:
        return stripped
    return repr(number).removesuffix(".0")


class Names:
    """Codes of values by their text: by its spelling, or else by its meaning if that is unambiguous.

    >>> Names([1, 2]).codes(["2.0", "1", None, "7"])
    array([ 1,  0, -1, -2])

    With ``ignore_case``, the values are in small letters and capitals of cells do not count.
    """

    def __init__(self, values: Sequence[Any], missing: Sequence[str | None] = (), *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        texts = [str(value) for value in values]
        self._code: dict[str | None, int] = dict.fromkeys((None, *missing), MISSING)
        self._code |= {text: code for code, text in enumerate(texts)}
        meanings = [canonical(text) for text in texts]
        self._meaning = {text: code for code, text in enumerate(meanings) if meanings.count(text) == 1}
        self._missing = {text for text in missing if text is not None}

    def code(self, text: str) -> int:
        """The code of one value."""
        stripped = text.strip()
        if stripped in self._missing:
            return MISSING
        if self._ignore_case:
            stripped = stripped.lower()
        return self._code.get(stripped, self._meaning.get(canonical(stripped), UNKNOWN))

    def codes(self, cells: Sequence[str | None]) -> NDArray[np.int64]:
        """The code of each cell, -1 if it is missing, -2 if it is none of the values."""
        codes = np.fromiter(map(self._code.get, cells, repeat(UNKNOWN)), np.int64, count=len(cells))
        for position in np.flatnonzero(codes == UNKNOWN).tolist():
            codes[position] = self.code(cells[position] or "")
        return codes


@dataclass
class ModelColumn:
    """A column of the model's training data; ``categories`` is None unless it is categorical."""

    categories: NDArray[Any] | None
    ignored: bool = False  # it was empty at the fit
    names: Names | None = field(default=None, repr=False)
    number: NumberFormat = PLAIN  # how numbers were spelled at the fit
    is_date: bool = False
    date: DateFormat | None = None  # how dates were, None if the fit had dates and not texts
    lenient: bool = False  # some cells could not be read at the fit
    ignore_case: bool = False
    n_bare: int = 0  # cells without the unit that they had at the fit, and one of them:
    bare_cell: str = ""

    @property
    def kind(self) -> str:
        return "date" if self.is_date else "numeric" if self.categories is None else "nominal"

    def parse_numbers(self, cells: Sequence[str | None], markers: frozenset[str | None]) -> tuple[Floats, list[int]]:
        """The numbers in cells, and the cells that are not numbers."""
        builder = NumericBuilder(markers, self.number)
        if builder.add(cells) is None:
            return builder.parts[0], []
        values, bad = _parse_each(cells, markers | DASHES, self.number.parse_later)
        if self.number.unit:
            bare = [cell for cell in cells if cell is not None and _is_bare(cell, self.number, markers)]
            self.n_bare += len(bare)
            self.bare_cell = self.bare_cell or next(iter(bare), "")
        return values, bad

    def parse_dates(self, cells: Sequence[str | None], markers: frozenset[str | None]) -> tuple[Floats, list[int]]:
        """The dates in cells, and the cells that are not dates; without a spelling of the fit it is found here."""
        if self.date is None:
            found = recognise_dates(Counter(cell for cell in cells if cell is not None and cell not in markers))
            self.date = DateFormat(ISO) if found is None else found[0]
        return _parse_each(cells, markers | DASHES, self.date.parse)


def _is_bare(cell: str, number: NumberFormat, markers: frozenset[str | None]) -> bool:
    """Whether a cell has no unit where those of the fit had one."""
    if cell in markers or cell.strip() in markers or cell.strip() in DASHES:
        return False
    return number.parse(cell) is None and number.parse_later(cell) is not None


def _parse_each(
    cells: Sequence[str | None], markers: frozenset[str | None], parse: Callable[[str], float | None]
) -> tuple[Floats, list[int]]:
    values, bad = np.full(len(cells), np.nan), []
    for position, cell in enumerate(cells):
        if cell is None or cell in markers or cell.strip() in markers:
            continue
        value = parse(cell)
        if value is None:
            bad.append(position)
        else:
            values[position] = value
    return values, bad


@dataclass
class ModelColumns:
    """The columns of a model, in order; ``names`` is None if it was fitted to an array."""

    columns: list[ModelColumn]
    names: list[str] | None
    format: TableFormat = field(default_factory=TableFormat)
    markers: frozenset[str | None] = frozenset({None})
    unseen: dict[str, int] = field(default_factory=dict)
    example: dict[str, str] = field(default_factory=dict)
    unread: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any) -> ModelColumns:
        """What a fitted classifier has learned about columns."""
        from petiole._table.columns import EmptyColumn

        encoder = find_encoder(model)
        names = getattr(model, "feature_names_in_", None)
        if encoder is None:
            n_features = int(getattr(model, "n_features_in_", 0))
            return cls([ModelColumn(None, ignored=True)] * n_features, None if names is None else list(map(str, names)))
        format = TableFormat.from_dict(encoder.table_format or {})
        columns = [
            ModelColumn(
                column.categories,
                isinstance(column, EmptyColumn),
                number=format.number_format(name),
                is_date=isinstance(column, DateColumn),
                date=format.dates.get(name),
                lenient=name in format.strays,
                ignore_case=name in format.ignore_case,
            )
            for name, column in zip(encoder.input_names or [""] * encoder.n_inputs, encoder.columns, strict=True)
        ]
        return cls(columns, encoder.input_names, format)

    def prepare(self, missing: frozenset[str] | None, signs: Signs) -> None:
        """Set which cells mean "no value", and the conventions of numbers, if options give them."""
        told = missing if missing is not None else self.format.missing
        self.markers = frozenset({*(MISSING_MARKERS if told is None else told), None})
        for column in self.columns:
            if column.categories is not None:
                markers = [*sorted(filter(None, self.markers)), ""]
                column.names = Names(column.categories.tolist(), markers, ignore_case=column.ignore_case)
            if signs.decimal is not None or signs.thousands is not None:
                decimal = signs.decimal or column.number.decimal
                column.number = NumberFormat(decimal, signs.thousands or "", column.number.unit)

    def parsed(self, name: str, column: ModelColumn, cells: Sequence[str | None]) -> tuple[Values, int | None]:
        """A column of numbers or dates, and the position of the first cell that is neither."""
        parse = column.parse_dates if column.is_date else column.parse_numbers
        values, bad = parse(cells, self.markers)
        made: Values = Dates(values) if column.is_date else Numeric(values)
        if bad and not column.lenient:
            return made, bad[0]
        if bad:
            self.unread[name] = self.unread.get(name, 0) + len(bad)
            self.example.setdefault(name, str(cells[bad[0]]))
        return made, None

    def table(self, values: Sequence[Values]) -> Any:
        """The input of the model's predict_proba."""
        if all(isinstance(column, Numeric) for column in values):
            return np.column_stack([column.values for column in values])  # type: ignore[union-attr]
        names = self.names or [f"x{position}" for position in range(len(values))]
        by_name: Mapping[str, Values] = dict(zip(names, values, strict=True))
        if self.names is not None and all(_are_texts(column.categories) for column in self.columns):
            return as_table(by_name)
        array = as_array(by_name)
        for position, (column, value) in enumerate(zip(self.columns, values, strict=True)):
            if column.categories is not None and isinstance(value, Categorical):
                array[:, position] = np.array([*column.categories.tolist(), None], dtype=object)[value.codes]
        return array

    def categorical(
        self, name: str, column: ModelColumn, codes: NDArray[np.int64], text_of: Callable[[int], Any]
    ) -> Categorical:
        """A categorical column of the codes; categories that the model has not seen are noted and count as missing."""
        strange = codes == UNKNOWN
        if strange.any():
            self.unseen[name] = self.unseen.get(name, 0) + int(strange.sum())
            self.example.setdefault(name, str(text_of(int(strange.argmax()))))
            codes = np.where(strange, MISSING, codes)
        assert column.categories is not None
        return Categorical(codes, tuple(map(str, column.categories.tolist())))

    def notes(self) -> list[str]:
        """A line for each column with values that the model has not seen."""
        unseen = [
            f"note: {name}: {count:,} row{'s have' if count > 1 else ' has'} a value that the model has not seen (such "
            f"as {self.example[name]!r}); it counts as missing"
            for name, count in self.unseen.items()
        ]
        unread = [
            f"note: {name}: {_cells(count)} be read (such as {self.example[name]!r}) and {_count(count)} as missing, "
            "as such cells did at the fit"
            for name, count in self.unread.items()
        ]
        names = self.names or [f"column {place + 1}" for place in range(len(self.columns))]
        bare = [
            f"note: {name}: {column.n_bare:,} cell{'s' if column.n_bare > 1 else ''} without the unit "
            f"{column.number.unit!r}, which the model was fitted to: {column.bare_cell.strip()!r} is read as "
            f"{column.bare_cell.strip()} {column.number.unit}"
            for name, column in zip(names, self.columns, strict=True)
            if column.n_bare
        ]
        return unseen + unread + bare


def _cells(count: int) -> str:
    return "1 cell cannot" if count == 1 else f"{count:,} cells cannot"


def _count(count: int) -> str:
    return "counts" if count == 1 else "count"


def _are_texts(categories: NDArray[Any] | None) -> bool:
    return categories is None or all(isinstance(value, str) for value in categories.tolist())
