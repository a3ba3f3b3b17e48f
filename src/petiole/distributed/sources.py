"""Sources of rows: every kind of data becomes parts that can be loaded repeatedly, each by itself."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from petiole.distributed.table_summary import take
from petiole.files.atomic import TemporaryFolder

# Cells (rows times columns) of a part of a file or a table: 128 megabytes as doubles.
PART_CELLS = 1 << 24
# The bytes that a cell takes while a tree is grown: value, codes, and what the search needs.
BYTES_PER_CELL = 40


@dataclass(frozen=True)
class Batch:
    """Rows as passed: a table without the target, labels, weights or None."""

    X: Any
    y: Any
    weights: Any = None

    def __sizeof__(self) -> int:
        # Dask uses this to manage memory.
        size = getattr(self.X, "nbytes", None)
        if size is None and hasattr(self.X, "memory_usage"):
            size = self.X.memory_usage(index=False).sum()
        return int(size or 0)


@dataclass(frozen=True)
class Fields:
    """The names of the columns that are not features."""

    target: Any
    weight: Any = None

    def split(self, table: Any, part: int) -> Batch:
        """Take the target and the weights out of a table."""
        names = _column_names(table)
        for role, name in (("target", self.target), ("sample_weight", self.weight)):
            if name is not None and name not in names:
                raise ValueError(
                    f"partition {part}: there is no column {name!r} for {role}; the columns are {names[:10]}"
                )
        weights = None if self.weight is None else table[self.weight]
        drop = [name for name in (self.target, self.weight) if name is not None]
        return Batch(_without(table, drop), table[self.target], weights)


def part_rows(n_columns: int, memory_limit: int | None) -> int:
    """Rows of a part of a table with this many columns, so that growth takes at most a third of the memory."""
    cells = PART_CELLS if memory_limit is None else min(PART_CELLS, memory_limit // (3 * BYTES_PER_CELL))
    return max(1000, cells // max(1, n_columns))


def slices_of(X: Any, y: Any, weights: Any, n_rows: int) -> list[Callable[[], Batch]]:
    """Parts of data that is in memory."""
    total = _num_samples(X)
    if _num_samples(y) != total:
        raise ValueError(f"target has {_num_samples(y)} labels, but data has {total} rows: give one label per row")

    def cut(start: int) -> Callable[[], Batch]:
        rows = np.arange(start, min(total, start + n_rows))

        def taken(values: Any) -> Any:
            return None if values is None else take(values, rows)

        return lambda: Batch(taken(X), taken(y), taken(weights))

    return [cut(start) for start in range(0, max(1, total), n_rows)]


# Arrow.


@dataclass(frozen=True)
class ArrowPart:
    """Row groups of Parquet files, or whole files of another format; it can be sent to a worker."""

    fragments: Sequence[Any]
    columns: list[str] | None
    fields: Fields
    number: int

    def __call__(self) -> Batch:
        import pyarrow as pa

        tables = [fragment.to_table(columns=self.columns) for fragment in self.fragments]
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
        return self.fields.split(table.unify_dictionaries(), self.number)


def arrow_parts(data: Any, fields: Fields, columns: Sequence[str] | None, memory_limit: int | None) -> list[ArrowPart]:
    """The parts of a Parquet file or folder, or of an Arrow dataset: neighbouring row groups together."""
    dataset = _open_dataset(data)
    names = list(dataset.schema.names)
    for role, name in (("target", fields.target), ("sample_weight", fields.weight)):
        if name is not None and name not in names:
            raise ValueError(f"{role}={name!r}: there is no such column; the columns are {names[:10]}")
    wanted = None
    if columns is not None:
        wanted = [*columns, *(name for name in (fields.target, fields.weight) if name is not None)]
    n_rows = part_rows(len(wanted or names), memory_limit)
    groups: list[list[Any]] = []
    size = n_rows
    for fragment, rows in _row_groups(dataset):
        if size + rows > n_rows:
            groups.append([])
            size = 0
        groups[-1].append(fragment)
        size += rows
    if not groups:
        raise ValueError(f"data={data!r}: there are no rows")
    return [ArrowPart(group, wanted, fields, number) for number, group in enumerate(groups)]


def _open_dataset(data: Any) -> Any:
    try:
        import pyarrow.dataset as arrow
    except ImportError as error:
        raise ImportError("Parquet and Arrow need pyarrow: pip install pyarrow") from error
    if isinstance(data, arrow.Dataset):
        return data
    path = Path(data)
    if not path.exists():
        raise FileNotFoundError(f"data={str(data)!r}: there is no such file or folder")
    return arrow.dataset(path, format="parquet")


def _row_groups(dataset: Any) -> Iterator[tuple[Any, int]]:
    for fragment in dataset.get_fragments():
        if not hasattr(fragment, "split_by_row_group"):
            yield fragment, fragment.count_rows()
            continue
        for piece in fragment.split_by_row_group():
            yield piece, sum(group.num_rows for group in piece.row_groups)


# Batches that can be read only once.


class Spilled:
    """Batches that are written to a temporary folder for several passes; ``close`` removes it."""

    def __init__(self, batches: Iterable[Any], fields: Fields, n_cells: int) -> None:
        self._folder = TemporaryFolder()
        self.parts: list[Callable[[], Batch]] = []
        for number, given in enumerate(batches):
            for batch in _cut(_as_batch(given, fields, number), n_cells):
                self._write(batch)
        if not self.parts:
            raise ValueError("data has no batches: give at least one with rows")

    def _write(self, batch: Batch) -> None:
        path = self._folder.path / f"{len(self.parts)}.pickle"
        with path.open("wb") as file:
            pickle.dump(batch, file, protocol=5)
        self.parts.append(_SpilledPart(path))

    def close(self) -> None:
        self._folder.close()


@dataclass(frozen=True)
class _SpilledPart:
    path: Path

    def __call__(self) -> Batch:
        with self.path.open("rb") as file:
            batch: Batch = pickle.load(file)
        return batch


def batch_parts(batches: Sequence[Any], fields: Fields) -> list[Callable[[], Batch]]:
    """The parts of a list of batches, which is in memory already."""

    def part(number: int) -> Callable[[], Batch]:
        return lambda: _as_batch(batches[number], fields, number)

    return [part(number) for number in range(len(batches))]


def _as_batch(given: Any, fields: Fields, number: int) -> Batch:
    if not isinstance(given, tuple):
        if fields.target is None:
            raise ValueError(
                f"batch {number} is a {type(given).__name__}: give pairs (X, y), triples (X, y, weights), or tables "
                "and the name of the target column"
            )
        return fields.split(given, number)
    if len(given) not in (2, 3):
        raise ValueError(f"batch {number} has {len(given)} entries: give pairs (X, y) or triples (X, y, weights)")
    return Batch(*given)


def _cut(batch: Batch, n_cells: int) -> Iterator[Batch]:
    total = _num_samples(batch.X)
    width = batch.X.shape[1] if hasattr(batch.X, "shape") and len(batch.X.shape) > 1 else 1
    n_rows = max(1000, n_cells // max(1, width))
    if total <= n_rows:
        yield batch
        return
    yield from (load() for load in slices_of(batch.X, batch.y, batch.weights, n_rows))


def _column_names(table: Any) -> list[Any]:
    return list(getattr(table, "column_names", None) or table.columns)


def _without(table: Any, names: list[Any]) -> Any:
    if type(table).__module__.startswith("pandas"):
        return table.drop(columns=names)
    return table.drop(names) if hasattr(table, "drop") else table.drop_columns(names)
