"""Warnings about the data: columns that give the class away, identifiers, duplicates, rare classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._classifiers.pet import PETClassifier
from petiole.study.data import Table
from petiole.study.identifiers import ColumnWatch, mixed
from petiole.study.splits import fold_numbers

FEW_ROWS = 10  # a class with fewer is rare
MUCH_MISSING = 0.5
MANY_DUPLICATES = 0.01
GIVES_AWAY = 0.99  # accuracy of a single column
LOOKED_AT = 2000  # rows that the search for columns that give the class away needs
MOST_NAMED = 5  # columns or classes that one warning lists


def inspect(table: Table) -> list[str]:
    """Warnings about the data, the most serious first; each says what to do.

    >>> from petiole.study.data import read_table_of_study
    >>> X = [[i % 7, 5] for i in range(60)]
    >>> print(*inspect(read_table_of_study(X, ["no", "yes"] * 30, None)), sep="\\n")
    53 of 60 rows (88%) repeat the features of an earlier row, and 60 rows have a twin of another class: a model \
that is fitted to one of them is scored too well on the other; if they are copies, drop them.
    Column 'x1' holds a single value: it can be left out.
    """
    looks = (_giveaways, _rare, _identifiers, _duplicates, _missing, _constant)
    return [text for look in looks for text in look(table)]


def inspect_sample(table: Table) -> list[str]:
    """Warnings that can be drawn from some of the rows: none about rare classes, repeats and identifiers."""
    return [text for look in (_giveaways, _missing, _constant) for text in look(table)]


def named(names: list[str]) -> str:
    """Names in a sentence, the first few of many.

    >>> named(["a", "b"]), named(list("abcdefgh"))
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 3 more")
    """
    shown = [repr(name) for name in names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - MOST_NAMED} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _columns(names: list[str], one: str, several: str) -> Iterator[str]:
    if names:
        yield f"Column {named(names)} {one}" if len(names) == 1 else f"Columns {named(names)} {several}"


def _giveaways(table: Table) -> Iterator[str]:
    """Single columns that predict nearly every held-out row, where the most frequent class would not."""
    rows = table.rows
    if len(rows) < 4 * FEW_ROWS or np.bincount(rows.labels).max() >= 0.95 * len(rows):
        return
    random = np.random.default_rng(0)
    sample = random.permutation(len(rows))[:LOOKED_AT]
    codes = rows.labels[sample]
    held = fold_numbers(codes, 2, random) == 0
    if not held.any():
        return  # every class has a single row, which is needed to learn from
    names = []
    for column, name in enumerate(table.names):
        accuracy = _accuracy_alone(rows.matrix[sample, column], codes, held, bool(table.is_categorical[column]))
        if accuracy >= GIVES_AWAY:
            names.append(name)
    what = "is it known at the time of the prediction? If it is a consequence of the class, drop it."
    yield from _columns(
        names,
        f"alone predicts the class of nearly every row that it was not fitted to: {what}",
        "each predict the class of nearly every row that they were not fitted to, all alone: are they known at the "
        "time of the prediction? If they are consequences of the class, drop them.",
    )


def _accuracy_alone(values: npt.NDArray[Any], codes: npt.NDArray[Any], held: Any, categorical: bool) -> float:
    values = values[:, np.newaxis]
    if np.isnan(values).all():
        return 0.0
    model = PETClassifier(categorical_features=[True] if categorical else None)
    model.fit(values[~held], codes[~held])
    return float((model.predict(values[held]) == codes[held]).mean())


def _rare(table: Table) -> Iterator[str]:
    sizes = np.bincount(table.rows.labels)
    labels = [str(label) for label in table.labels()]
    alone = [label for label, size in zip(labels, sizes, strict=True) if size == 1]
    rare = [label for label, size in zip(labels, sizes, strict=True) if 1 < size < FEW_ROWS]
    if alone:
        many = len(alone) > 1
        yield (
            f"{'Classes' if many else 'Class'} {named(alone)} {'have' if many else 'has'} one row only, which cannot "
            "be learned from and tested on: merge rare classes, or collect more rows."
        )
    if rare:
        many = len(rare) > 1
        yield (
            f"{'Classes' if many else 'Class'} {named(rare)} {'have' if many else 'has'} fewer than {FEW_ROWS} rows: "
            f"what is said of {'them' if many else 'it'} rests on very little."
        )


def identifiers(table: Table) -> list[str]:
    """Names of the columns that look like identifiers, from which nothing can be learned for other rows.

    >>> from petiole.study.data import read_table_of_study
    >>> X = [[i % 7, 4000 + i] for i in range(60)]
    >>> identifiers(read_table_of_study(X, ["no", "yes"] * 30, None))
    ['x1']
    """
    return [name for name, watch in _column_watches(table) if watch.is_identifier]


def _column_watches(table: Table) -> Iterator[tuple[str, ColumnWatch]]:
    for column, name in enumerate(table.names):
        watch = ColumnWatch()
        watch.add_numbers(table.rows.matrix[:, column], are_names=bool(table.is_categorical[column]))
        yield name, watch


def _identifiers(table: Table) -> Iterator[str]:
    watches = dict(_column_watches(table))
    yield from _columns(
        [name for name, watch in watches.items() if watch.is_identifier],
        "looks like an identifier, since nearly every row has a value of its own: drop it unless it means something.",
        "look like identifiers, since nearly every row has a value of its own: drop them unless they mean something.",
    )
    yield from warn_of_doubtful_numbers(watches)


def warn_of_doubtful_numbers(watches: Mapping[str, ColumnWatch]) -> Iterator[str]:
    """A warning about columns that may be identifiers or not."""
    yield from _columns(
        [name for name, watch in watches.items() if watch.may_be_identifier and not watch.is_identifier],
        "holds whole numbers of which no two are equal: drop it if they only name rows, as numbers of customers do.",
        "hold whole numbers of which no two are equal: drop them if they only name rows, as numbers of customers do.",
    )


def _duplicates(table: Table) -> Iterator[str]:
    _, group = np.unique(_keys_of_rows(table.rows.matrix), return_inverse=True)
    n_repeated = len(table.rows) - (int(group.max()) + 1)
    if n_repeated < MANY_DUPLICATES * len(table.rows):
        return
    lowest = np.full(group.max() + 1, np.iinfo(np.int32).max)
    highest = np.full(group.max() + 1, -1)
    np.minimum.at(lowest, group, table.rows.labels)
    np.maximum.at(highest, group, table.rows.labels)
    n_torn = int((lowest < highest)[group].sum())
    torn = f", and {n_torn} rows have a twin of another class" if n_torn else ""
    n_rows = len(table.rows)
    yield (
        f"{n_repeated} of {n_rows} rows ({n_repeated / n_rows:.0%}) repeat the features of an earlier row"
        f"{torn}: a model that is fitted to one of them is scored too well on the other; if they are copies, drop them."
    )


def _keys_of_rows(matrix: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """A number for each row, the same for equal rows; others are equal once in 2^64 pairs. A column at a time, because
    the table may be as large as memory allows."""
    keys = np.zeros(len(matrix), dtype=np.uint64)
    for column in range(matrix.shape[1]):
        values = np.nan_to_num(matrix[:, column].astype(np.float64), nan=np.inf) + 0.0  # no NaN, no negative zero
        keys = mixed(keys ^ mixed(values.view(np.uint64)))
    return keys


def _missing(table: Table) -> Iterator[str]:
    shares = np.isnan(table.rows.matrix).mean(axis=0)
    names = [name for name, share in zip(table.names, shares, strict=True) if MUCH_MISSING < share < 1]
    yield from _columns(
        names,
        "lacks more than half of its values.",
        "lack more than half of their values.",
    )


def _constant(table: Table) -> Iterator[str]:
    matrix = table.rows.matrix
    empty = [name for name, gone in zip(table.names, np.isnan(matrix).all(axis=0), strict=True) if gone]
    yield from _columns(
        empty, "holds no value at all: it can be left out.", "hold no value at all: they can be left out."
    )
    constant = []
    for column, name in enumerate(table.names):
        values = matrix[:, column]
        if not np.isnan(values).any() and (values == values[0]).all():
            constant.append(name)
    yield from _columns(
        constant, "holds a single value: it can be left out.", "hold a single value each: they can be left out."
    )
