"""A table with labels for compare, fit and evaluate: which column is what, and a summary of it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from petiole.cli.errors import WrongInput
from petiole.cli.io.sources import Source, find_source, read_columns
from petiole.cli.screen import note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from petiole.datasets.columns import Values

SHOWN = 6  # columns or classes that are named in a summary
DEFAULT_MISSING = "?,NA"
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
    missing: frozenset[str] = frozenset({"", "?", "NA"})
    encoding: str | None = None
    learned: Mapping[str, str] = field(default_factory=dict)  # kinds of columns that another file has told

    @property
    def options(self) -> dict[str, str]:
        """Which option named a column."""
        named: dict[str, str] = {}
        for option, names in (
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


def make_roles(
    target: str | None = None,
    weight: str | None = None,
    ids: Iterable[str] | None = None,
    categorical: Iterable[str] | None = None,
    numeric: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    missing: str = DEFAULT_MISSING,
    encoding: str | None = None,
) -> Roles:
    """The roles that the options of a command give to columns."""
    roles = Roles(
        target,
        weight,
        ids=split_names(ids),
        categorical=split_names(categorical),
        numeric=split_names(numeric),
        drop=split_names(drop),
        missing=frozenset({"", *split_names([missing])}),
        encoding=encoding,
    )
    for name in roles.categorical:
        if name in roles.numeric:
            raise WrongInput(f"--nominal {name}: is also named by --numeric; say one of them")
    for option, names in (("--drop", roles.drop), ("--id", roles.ids)):
        for name in names:
            if name in (target, weight):
                raise WrongInput(f"{option} {name}: is also named by {Roles(target, weight).options[name]}")
    return roles


def split_names(values: Iterable[str] | None) -> list[str]:
    """Names with commas between them; a name with a comma in it is put into double quotes.

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
    ids: dict[str, list[str | None]] = field(default_factory=dict)  # what names the rows

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

    from petiole.datasets.columns import Categorical

    if not any(isinstance(column, Categorical) for column in columns.values()):
        return np.column_stack([column.values for column in columns.values()])  # type: ignore[union-attr]
    table = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for position, column in enumerate(columns.values()):
        table[:, position] = column.names() if isinstance(column, Categorical) else column.values
    return table


def read_labelled(text: str, roles: Roles) -> Labelled:
    """Read what DATA names, with its labels."""
    source = find_source(text)
    table = _read_name(source, roles) if source.is_name else _read_file(source, roles)
    if not table.columns:
        raise WrongInput(
            f"{table.label} has no other column than {table.target_name!r}: there is nothing to learn from"
        )
    return table


def _read_file(source: Source, roles: Roles) -> Labelled:
    columns = columns_of(source, roles, keep_ids=True)
    ids = {name: texts_of(columns.pop(name)) for name in roles.ids}
    if roles.target is None:
        raise WrongInput(f"--target is needed: say which column of {source.label} holds the class; {_name(columns)}")
    target = columns.pop(roles.target)
    _check_labels(target, roles.target, source.label)
    weights = columns.pop(roles.weight).values if roles.weight else None  # type: ignore[union-attr]
    return Labelled(source.label, columns, target, roles.target, weights, ids=ids)


def columns_of(source: Source, roles: Roles, *, keep_ids: bool) -> dict[str, Values]:
    """The columns of a file, with errors in terms of options."""
    from petiole.datasets.cells import UnknownColumn

    skipped = {*roles.drop, *(() if keep_ids else roles.ids)}
    kinds = {name: kind for name, kind in roles.kinds.items() if name not in skipped}
    if keep_ids:
        kinds |= dict.fromkeys(roles.ids, "nominal")
    try:
        columns = read_columns(source, kinds, skipped=skipped, missing=roles.missing, encoding=roles.encoding)
    except UnknownColumn as error:
        raise unknown_column(roles.options[error.name], error.name, error.columns, source.label) from None
    for name, option in roles.options.items():
        if name not in columns and name not in skipped:
            raise unknown_column(option, name, columns, source.label)
    return columns


def unknown_column(option: str, name: str, columns: Iterable[str], label: str) -> WrongInput:
    """The error about a column that is not there."""
    from petiole.datasets.reading import nearest

    return WrongInput(f"{option} {name}: {label} has no such column; {nearest(name, list(columns))}")


def _read_name(source: Source, roles: Roles) -> Labelled:
    from petiole.datasets.columns import from_names
    from petiole.datasets.loading import load_columns

    columns, y, description = load_columns(source.text)
    if roles.target not in (None, NAMED_TARGET):
        raise WrongInput(f"--target {roles.target}: the data set {source.text!r} has its own; leave the option away")
    for name, option in roles.options.items():
        if name not in columns and name != NAMED_TARGET:
            raise unknown_column(option, name, columns, source.text)
    kept = {name: column for name, column in columns.items() if name not in {*roles.drop, *roles.ids}}
    kept = {name: with_kind(column, roles.kinds.get(name), name) for name, column in kept.items()}
    weights = kept.pop(roles.weight).values if roles.weight else description.weights  # type: ignore[union-attr]
    return Labelled(source.text, kept, from_names(y.astype(object)), NAMED_TARGET, weights)


def with_kind(column: Values, kind: str | None, name: str) -> Values:
    """The column as the other kind, if that is asked for."""
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
    """The cells as a CSV file would have them; whole numbers without a point."""
    from petiole.datasets.columns import Categorical

    if isinstance(column, Categorical):
        return list(column.names().tolist())
    return [None if value != value else repr(value).removesuffix(".0") for value in column.values.tolist()]


def _check_labels(target: Values, name: str, label: str) -> None:
    import numpy as np

    if target.is_missing.any():
        count, first = int(target.is_missing.sum()), int(np.argmax(target.is_missing)) + 1
        raise WrongInput(
            f"--target {name}: {count} of {len(target)} rows of {label} have no class, the first is row {first}: "
            "remove them"
        )


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
    """Print what was read, so that the user sees a wrong guess about a column."""
    if quiet:
        return
    import numpy as np

    from petiole.datasets.columns import KIND_TITLES

    classes, counts = np.unique(table.y, return_counts=True)
    n_missing = sum(int(column.is_missing.sum()) for column in table.columns.values())
    missing = f", {n_missing:,} cells missing" if n_missing else ""
    weighted = f", weights sum to {table.weights.sum():,.6g}" if table.weights is not None else ""
    note(f"{table.label}: {table.n_rows:,} rows{missing}{weighted}", quiet)
    per_class = [f"{label} {count:,}" for label, count in zip(classes.tolist(), counts.tolist(), strict=True)]
    note(f"  target       {table.target_name} ({_shorten(per_class)})", quiet)
    for kind, title in KIND_TITLES.items():
        names = [_described(name, column) for name, column in table.columns.items() if column.kind == kind]
        if names:
            note(f"  {title:<11}  {len(names):,}: {_shorten(names)}", quiet)


def _described(name: str, column: Values) -> str:
    from petiole.datasets.columns import Categorical

    return f"{name} ({len(column.categories)} categories)" if isinstance(column, Categorical) else name


def _shorten(names: Sequence[str]) -> str:
    more = f", ... {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _name(columns: Mapping[str, Any]) -> str:
    return f"its columns are {_shorten([*columns])}"
