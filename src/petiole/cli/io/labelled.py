"""A table with labels for compare, fit and evaluate: the roles of its columns, and a summary of it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from petiole.cli.errors import WrongInput
from petiole.cli.io.sources import Source, find_source, read_table
from petiole.cli.screen import note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from petiole._table.table_format import TableFormat
    from petiole.datasets.columns import Values
    from petiole.datasets.recognising import ReadingOptions, ReadTable

SHOWN = 6  # number of columns or classes that a summary names
NAMED_TARGET = "class"  # of the data sets that have a name


@dataclass(frozen=True)
class Roles:
    """The roles of columns, as the options give them."""

    target: str | None = None
    weight: str | None = None
    ids: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    drop: Sequence[str] = ()
    missing: frozenset[str] | None = None  # None: the usual ones
    encoding: str | None = None
    learned: Mapping[str, str] = field(default_factory=dict)  # kinds of columns that are known from another file
    signs: Signs = field(default_factory=lambda: Signs())
    drop_missing_target: bool = False
    bins: tuple[float, ...] | None = None
    ignore_case: Sequence[str] = ()
    like: TableFormat | None = None  # how another file was read

    @property
    def options(self) -> dict[str, str]:
        """Which option named a column."""
        named: dict[str, str] = {}
        for option, names in (
            ("--ignore-case", self.ignore_case),
            ("--target", [self.target] if self.target else []),
            ("--weight", [self.weight] if self.weight else []),
            ("--id", self.ids),
            ("--nominal", self.categorical),
            ("--numeric", self.numeric),
            ("--drop", self.drop),
        ):
            named |= dict.fromkeys(names, option)
        return named

    @property
    def kinds(self) -> dict[str, str]:
        kinds = dict.fromkeys(self.categorical, "nominal") | dict.fromkeys(self.numeric, "numeric")
        return {**self.learned, **kinds} | ({self.weight: "numeric"} if self.weight else {})

    def reading(self, ids: Sequence[str] = ()) -> ReadingOptions:
        """How a file is read; columns in ``ids`` stay text."""
        from petiole.datasets.advice import OPTIONS
        from petiole.datasets.recognising import ReadingOptions

        return ReadingOptions(
            {**self.kinds, **dict.fromkeys(ids, "nominal")},
            self.missing,
            self.signs.separator,
            self.signs.decimal,
            self.signs.thousands,
            self.target,
            self.bins is not None,
            self.like,
            ignore_case=self.ignore_case,
            advice=OPTIONS,
        )


@dataclass(frozen=True)
class Signs:
    """The conventions of a CSV file, as given by the options."""

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None


def make_roles(
    target: str | None = None,
    weight: str | None = None,
    ids: Iterable[str] | None = None,
    categorical: Iterable[str] | None = None,
    numeric: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    missing: str | None = None,
    encoding: str | None = None,
    *,
    signs: tuple[str | None, str | None, str | None] = (None, None, None),
    drop_missing_target: bool = False,
    bins: str | None = None,
    ignore_case: Iterable[str] | None = None,
) -> Roles:
    """The roles that the options of a command give to columns."""
    roles = Roles(
        target,
        weight,
        ids=split_names(ids),
        categorical=split_names(categorical),
        numeric=split_names(numeric),
        drop=split_names(drop),
        missing=read_markers(missing),
        encoding=encoding,
        signs=read_signs(*signs),
        drop_missing_target=drop_missing_target,
        bins=_read_bins(bins),
        ignore_case=split_names(ignore_case),
    )
    for name in roles.categorical:
        if name in roles.numeric:
            raise WrongInput(f"--nominal {name}: is also named by --numeric; leave one of them out")
    for option, names in (("--drop", roles.drop), ("--id", roles.ids)):
        for name in names:
            if name in (target, weight):
                raise WrongInput(f"{option} {name}: is also named by {Roles(target, weight).options[name]}")
    return roles


def read_signs(separator: str | None, decimal: str | None, thousands: str | None) -> Signs:
    """The signs of a CSV file, checked."""
    from petiole.datasets.reading import check_signs

    separator = {"tab": "\t", "\\t": "\t"}.get(separator or "", separator)
    try:
        check_signs(decimal, thousands, separator)
    except ValueError as error:
        raise WrongInput(f"--{error}") from None
    return Signs(separator, decimal, thousands)


def read_markers(text: str | None) -> frozenset[str] | None:
    """The texts that mean "missing": besides the usual ones, or instead of them after "=".

    >>> sorted(read_markers("=?,x"))
    ['', '?', 'x']
    """
    from petiole._table.number_texts import MISSING_MARKERS

    if text is None:
        return None
    usual = () if text.startswith("=") else MISSING_MARKERS
    return frozenset({"", *usual, *split_names([text.removeprefix("=")])})


def _read_bins(text: str | None) -> tuple[float, ...] | None:
    from petiole.datasets.targets import check_bins

    if text is None:
        return None
    try:
        return check_bins(text.split(","))
    except ValueError:
        raise WrongInput(f"--target-bins {text}: must be increasing numbers, such as 0,10,100") from None


def split_names(values: Iterable[str] | None) -> list[str]:
    """Names separated by commas; a name that contains a comma is put into double quotes.

    >>> split_names(["a,b", '"c,d"'])
    ['a', 'b', 'c,d']
    """
    found = [name.strip() for row in csv.reader(values or (), skipinitialspace=True) for name in row]
    return [name for name in found if name]


@dataclass
class Labelled:
    """Features, labels and weights of a table."""

    label: str
    columns: dict[str, Values]
    target: Values
    target_name: str
    weights: NDArray[np.float64] | None = None
    left_out: list[str] = field(default_factory=list)  # columns that look like identifiers
    format: dict[str, Any] = field(default_factory=dict)  # how the file was read
    findings: Sequence[str] = ()  # notes about that
    ids: dict[str, list[str | None]] = field(default_factory=dict)  # the columns that identify rows
    row_numbers: list[int] | None = None  # in the file, if some of its rows are left out

    @property
    def n_rows(self) -> int:
        return len(self.target)

    @property
    def y(self) -> NDArray[Any]:
        return self.target.labels()

    @property
    def X(self) -> Any:
        return as_table(self.columns)

    @property
    def kinds(self) -> dict[str, str]:
        return {name: column.kind for name, column in self.columns.items()}


def as_table(columns: Mapping[str, Values]) -> Any:
    """A frame of whichever library is installed; an array where none is."""
    from petiole.datasets.frames import make_frame

    try:
        return make_frame(columns)
    except ImportError:
        return as_array(columns)


def as_array(columns: Mapping[str, Values]) -> NDArray[Any]:
    """Numbers if all columns are numeric, else objects: floats, and strings with None for missing."""
    import numpy as np

    from petiole.datasets.columns import Categorical, Dates, Numeric

    if all(isinstance(column, Numeric) for column in columns.values()):
        return np.column_stack([column.values for column in columns.values()])  # type: ignore[union-attr]
    table = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for position, column in enumerate(columns.values()):
        if isinstance(column, Dates):
            table[:, position] = column.moments().astype(object)
        else:
            table[:, position] = column.names() if isinstance(column, Categorical) else column.values
    return table


def read_labelled(text: str, roles: Roles) -> Labelled:
    """Read what DATA names, with its labels."""
    source = find_source(text)
    table = _read_name(source, roles) if source.is_name else _read_file(source, roles)
    if not table.columns:
        raise WrongInput(f"{table.label} has only the column {table.target_name!r}: there are no features")
    return table


def _read_file(source: Source, roles: Roles) -> Labelled:
    from petiole.datasets.advice import OPTIONS
    from petiole.datasets.targets import check_classes, doubts_about_classes, take_target

    read = table_of(source, roles, keep_ids=True)
    if roles.target is None:
        named = _name(read.columns)
        raise WrongInput(f"--target is required: name the column of {source.label} that holds the class; {named}")
    try:
        table, target, kept = take_target(
            read, roles.target, source.label, drop_missing=roles.drop_missing_target, bins=roles.bins, advice=OPTIONS
        )
        if roles.kinds.get(roles.target) != "nominal":
            check_classes(target, roles.target, OPTIONS)
    except ValueError as error:
        raise WrongInput(str(error)) from None
    columns = dict(table.columns)
    weights = columns.pop(roles.weight).values if roles.weight else None  # type: ignore[union-attr]
    ids = {name: texts_of(columns.pop(name)) for name in roles.ids}
    findings = (*table.findings, *doubts_about_classes(target, roles.target, OPTIONS))
    return Labelled(
        source.label,
        columns,
        target,
        roles.target,
        weights,
        format=table.format.as_dict(),
        findings=findings,
        ids=ids,
        row_numbers=None if kept.all() else [row + 1 for row in kept.nonzero()[0].tolist()],
    )


def table_of(source: Source, roles: Roles, *, keep_ids: bool = False) -> ReadTable:
    """The columns of a file, without identifiers unless these are wanted, with errors in terms of options."""
    from petiole.datasets.cells import UnknownColumn

    skipped = {*roles.drop, *(() if keep_ids else roles.ids)}
    try:
        read = read_table(
            source, roles.reading(roles.ids if keep_ids else ()), skipped=skipped, encoding=roles.encoding
        )
    except UnknownColumn as error:
        raise unknown_column(roles.options[error.name], error.name, error.columns, source.label) from None
    for name, option in roles.options.items():
        if name not in read.columns and name not in skipped:
            raise unknown_column(option, name, read.columns, source.label)
    return read


def unknown_column(option: str, name: str, columns: Iterable[str], label: str) -> WrongInput:
    """The error about a column that does not exist."""
    from petiole.datasets.reading import nearest

    return WrongInput(f"{option} {name}: {label} has no such column; {nearest(name, list(columns))}")


def _read_name(source: Source, roles: Roles) -> Labelled:
    from petiole.datasets.columns import Categorical, from_names
    from petiole.datasets.loading import load_columns

    columns, y, description = load_columns(source.text)
    if roles.target not in (None, NAMED_TARGET, description.target):
        raise WrongInput(f"--target {roles.target}: the data set {source.text!r} has its own; leave the option out")
    for name, option in roles.options.items():
        if name not in columns and name not in (NAMED_TARGET, description.target):
            raise unknown_column(option, name, columns, source.text)
    kept = {name: column for name, column in columns.items() if name not in {*roles.drop, *roles.ids}}
    kept = {name: with_kind(column, roles.kinds.get(name), name) for name, column in kept.items()}
    kept |= {
        name: column.in_small_letters()
        for name, column in kept.items()
        if name in roles.ignore_case and isinstance(column, Categorical)
    }
    weights = kept.pop(roles.weight).values if roles.weight else description.weights  # type: ignore[union-attr]
    return Labelled(source.text, kept, from_names(y.astype(object)), roles.target or NAMED_TARGET, weights)


def with_kind(column: Values, kind: str | None, name: str) -> Values:
    """The column as the other kind, if an option sets it."""
    import numpy as np

    from petiole.datasets.cells import NumericBuilder
    from petiole.datasets.columns import from_names

    if kind is None or kind == column.kind:
        return column
    texts = texts_of(column)
    if kind == "nominal":
        return from_names(np.array(texts, dtype=object))
    builder = NumericBuilder(frozenset({None}))
    bad = builder.add(texts)
    if bad is not None:
        raise WrongInput(f"--numeric {name}: row {bad + 1} holds {texts[bad]!r}, which is not a number")
    return builder.finish()


def texts_of(column: Values) -> list[str | None]:
    """The cells as text in a CSV file; whole numbers without a point."""
    from petiole.datasets.columns import Categorical, Dates

    if isinstance(column, Categorical):
        return list(column.names().tolist())
    if isinstance(column, Dates):
        return [
            None if missing else str(text) for missing, text in zip(column.is_missing, column.labels(), strict=True)
        ]
    return [None if value != value else repr(value).removesuffix(".0") for value in column.values.tolist()]


def check_several_classes(table: Labelled) -> None:
    """Refuse labels of a single class."""
    import numpy as np

    classes = np.unique(table.y)
    if len(classes) < 2:
        raise WrongInput(
            f"--target {table.target_name}: all rows of {table.label} are of the class {str(classes[0])!r}: "
            "there must be at least two classes"
        )


def summarise(table: Labelled, quiet: bool) -> None:
    """Print a summary of what was read, so that the user can notice a wrong guess about a column."""
    if quiet:
        return
    import numpy as np

    from petiole.datasets.columns import KIND_TITLES

    classes, counts = np.unique(table.y, return_counts=True)
    n_missing = sum(int(column.is_missing.sum()) for column in table.columns.values())
    missing = f", {n_missing:,} cells missing" if n_missing else ""
    weighted = f", weights sum to {table.weights.sum():,.6g}" if table.weights is not None else ""
    note(f"{table.label}: {table.n_rows:,} rows{missing}{weighted}", quiet)
    between = ": " if any(" " in str(label) for label in classes.tolist()) else " "
    per_class = [f"{label}{between}{count:,}" for label, count in zip(classes.tolist(), counts.tolist(), strict=True)]
    note(f"  target       {table.target_name} ({_shorten(per_class)})", quiet)
    for kind, title in KIND_TITLES.items():
        names = [_described(name, column) for name, column in table.columns.items() if column.kind == kind]
        if names:
            note(f"  {title:<11}  {len(names):,}: {_shorten(names)}", quiet)
    for finding in table.findings:
        note(f"note: {finding}", quiet)


def _described(name: str, column: Values) -> str:
    from petiole._table.dates import DateColumn
    from petiole.datasets.columns import Categorical, Dates

    if isinstance(column, Dates):
        return f"{name} ({', '.join(DateColumn.learned(column.values).parts)})"
    return f"{name} ({len(column.categories)} categories)" if isinstance(column, Categorical) else name


def _shorten(names: Sequence[str]) -> str:
    more = f", ... {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _name(columns: Mapping[str, Any]) -> str:
    return f"its columns are {_shorten([*columns])}"
