"""Inspection of labelled rows for all commands: identifiers are left out, other problems are reported."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from petiole.cli.errors import WrongInput
from petiole.cli.io.labelled import Labelled, Roles, texts_of
from petiole.cli.screen import note

if TYPE_CHECKING:
    from petiole.study.data import Table
    from petiole.study.identifiers import ColumnWatch

ROWS_OF_SAMPLE = 50_000  # for a file that is read in parts
MOST_ROWS_AT_ONCE = 1 << 17


def without_identifiers(table: Labelled, roles: Roles) -> Labelled:
    """The table without columns that look like identifiers, unless the user says what kind of feature they are."""
    from petiole.study.inspection import identifiers

    left_out = _left_out(identifiers(_encoded(table)), table.columns, roles, table.label)
    columns = {name: column for name, column in table.columns.items() if name not in left_out}
    ids = table.ids | {name: texts_of(table.columns[name]) for name in left_out}
    return dataclasses.replace(table, columns=columns, left_out=left_out, ids=ids)


def _left_out(found: Sequence[str], columns: Collection[str], roles: Roles, label: str) -> list[str]:
    # the days of a date may be consecutive and still be informative
    left_out = [name for name in found if name in columns and name not in {*roles.categorical, *roles.numeric}]
    if len(left_out) == len(columns):
        raise WrongInput(
            f"{label} has no features: in {_named(left_out)} nearly every row has a value of its own, as in "
            "identifiers; name features with --numeric or --nominal"
        )
    return left_out


def about_left_out(names: Sequence[str]) -> list[str]:
    """The note about columns that were left out.

    >>> about_left_out(["customer"])
    ["Column 'customer' looks like an identifier and is left out, since nearly every row has a value of its own: name \
it with --numeric or --nominal if it means something."]
    """
    if not names:
        return []
    if len(names) == 1:
        which, what, them, mean = "Column", "looks like an identifier and is", "it", "it means"
    else:
        which, what, them, mean = "Columns", "look like identifiers and are", "them", "they mean"
    return [
        f"{which} {_named(names)} {what} left out, since nearly every row has a value of its own: name {them} with "
        f"--numeric or --nominal if {mean} something."
    ]


def warnings_about(table: Labelled) -> list[str]:
    """Warnings about a table, the most serious first."""
    from petiole.study.inspection import inspect

    return [*about_left_out(table.left_out), *inspect(_encoded(table))]


def warnings_about_some(warnings: Sequence[str], which: str) -> list[str]:
    """Warnings that are about some of the rows only.

    >>> warnings_about_some(["Column 'a' holds a single value."], "50 of 100")
    ["In 50 of 100 rows: column 'a' holds a single value."]
    """
    return [f"In {which} rows: {text[0].lower()}{text[1:]}" for text in warnings]


def tell(warnings: Sequence[str], quiet: bool) -> None:
    """Write warnings as notes."""
    for line in warnings:
        note(f"note: {line}", quiet)


def warnings_about_judged(X: Any, y: Any, names: Sequence[str] | None, weights: Any) -> list[str]:
    """Warnings about rows on which a model is evaluated."""
    import numpy as np

    from petiole.study.inspection import inspect

    if len(np.unique(y)) < 2:
        return []
    return inspect(_table(X, y, weights, names))


def _encoded(table: Labelled) -> Table:
    return _table(table.X, table.y, table.weights, [*table.columns])


def _table(X: Any, y: Any, weights: Any, names: Sequence[str] | None) -> Table:
    from petiole.study.data import read_table_of_study

    encoded = read_table_of_study(X, y, weights)
    if names is None:
        return encoded
    encoded.encoder.name_inputs(list(names))
    return dataclasses.replace(encoded, names=list(encoded.encoder.feature_names or names))


def _named(names: Sequence[str]) -> str:
    from petiole.study.inspection import named

    return named(list(names))


# Files that are read in parts.


def inspect_parts(
    dataset: Any, features: Sequence[str], roles: Roles, *, label: str, n_rows: int, batch_rows: int
) -> tuple[list[str], list[str]]:
    """Columns of an Arrow dataset to leave out, and warnings: from one pass, ``batch_rows`` at a time."""
    from petiole.study.inspection import warn_of_doubtful_numbers

    every = max(1, n_rows // ROWS_OF_SAMPLE)
    watches, sample = _scan_columns(dataset, features, roles, every, batch_rows)
    found = [name for name, watch in watches.items() if watch.is_identifier]
    left_out = _left_out(found, features, roles, label)
    kept = {name: watch for name, watch in watches.items() if name not in left_out}
    warnings = [*about_left_out(left_out), *warn_of_doubtful_numbers(kept)]
    return left_out, [*warnings, *_warnings_about_sample(sample, left_out, roles, n_rows)]


def _scan_columns(
    dataset: Any, features: Sequence[str], roles: Roles, every: int, batch_rows: int
) -> tuple[dict[str, ColumnWatch], list[Any]]:
    """The watch of each column, and a regular sample of rows, as tables."""
    import numpy as np
    import pyarrow as pa

    from petiole.study.identifiers import ColumnWatch

    watches = {name: ColumnWatch(every) for name in features}
    sampled, start = [], 0
    columns = [*features, *(name for name in (roles.target, roles.weight) if name)]
    for batch in _batches(dataset, columns, min(batch_rows, MOST_ROWS_AT_ONCE)):
        for name, watch in watches.items():
            _add(watch, batch.column(name), name in roles.categorical)
        rows = pa.array(np.arange(-start % every, batch.num_rows, every))
        sampled.append(pa.Table.from_batches([batch]).take(rows))
        start += batch.num_rows
    return watches, sampled


def _batches(dataset: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
    """Some rows at a time; row group by row group, because Arrow would read ahead the whole file."""
    for fragment in dataset.get_fragments():
        pieces = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]
        for piece in pieces:
            yield from piece.to_batches(columns=columns, batch_size=n_rows, batch_readahead=1, fragment_readahead=1)


def _add(watch: ColumnWatch, column: Any, are_names: bool) -> None:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        counted = column.drop_null().value_counts()
        names, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
        watch.add_texts(len(column), zip(names, counts, strict=True))
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        decoded = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        numbers = decoded.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        watch.add_numbers(numbers, are_names=are_names)


def _warnings_about_sample(sample: list[Any], left_out: list[str], roles: Roles, n_rows: int) -> list[str]:
    from petiole.study.inspection import inspect, inspect_sample

    try:
        table = _sampled_table(sample, left_out, roles)
    except (TypeError, ValueError):  # the fit reports what is wrong with the rows
        return []
    n_sampled = sum(part.num_rows for part in sample)
    if n_sampled == n_rows:
        return inspect(table)
    return warnings_about_some(inspect_sample(table), f"{n_sampled:,} of {n_rows:,}")


def _sampled_table(sample: list[Any], left_out: list[str], roles: Roles) -> Table:
    import pyarrow as pa

    rows = pa.concat_tables(sample, promote_options="permissive")
    rows = rows.filter(rows[roles.target].is_valid())
    weights = None if roles.weight is None else rows[roles.weight].to_numpy()
    X = rows.drop_columns([*left_out, *(name for name in (roles.target, roles.weight) if name)])
    for name in roles.categorical:
        X = X.set_column(X.column_names.index(name), name, X[name].cast(pa.string()))
    return _table(X, rows[roles.target].to_numpy(), weights, X.column_names)
