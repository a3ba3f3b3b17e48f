"""The data of Zadrozny & Elkan (2001): KDD'98, as a sample or in the contest's own files, and the CoIL challenge."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.experiments._data.loading import RawTable, from_frame, load_raw

KDD98, KDD98_SAMPLE, COIL, COIL_REDRAWN = "kdd98", "kdd98-sample", "coil2000", "coil2000-redrawn"
# Names a folder with cup98LRN.txt, cup98VAL.txt and valtargt.txt.
FOLDER_VARIABLE = "PETIOLE_KDD98"
# People in the contest's training and test set (section 3 of the paper): profits are scaled to these numbers.
PEOPLE = (95_412, 96_367)
# Of the seven features (from memory, see docs/provenance.md) under the sample's names; RFA_2A is made from
# LAST_GIFT_AMT.
SAMPLE_NUMBERS = ("INCOME_GROUP", "MONTHS_SINCE_FIRST_GIFT", "MONTHS_SINCE_LAST_GIFT")
SAMPLE_HISTORY = ("LAST_GIFT_AMT", "RECENT_AVG_GIFT_AMT")
# Lower ends of the classes D, E, F and G of RFA_2A, in dollars (from memory, see docs/provenance.md).
RFA_2A_DOLLARS = (5.0, 10.0, 15.0, 25.0)


@dataclass(frozen=True, eq=False)
class People:
    """Rows to train or to test on.

    Attributes
    ----------
    X : array of numbers, categorical features as codes
    y : array of bool
    weights : array
        How many people each row stands for, up to a common factor.
    gifts, history : arrays or None
        What people gave, 0 for nothing; and what they gave before, the regressors of the amount.
    """

    X: Floats
    y: Array
    weights: Floats
    gifts: Floats | None = None
    history: Floats | None = None

    def rows(self, kept: Array) -> People:
        return People(
            self.X[kept],
            self.y[kept],
            self.weights[kept],
            None if self.gifts is None else self.gifts[kept],
            None if self.history is None else self.history[kept],
        )


@dataclass(frozen=True, eq=False)
class Division:
    """Training and test rows, and the numbers of the categorical features."""

    train: People
    test: People
    categorical: tuple[int, ...]


def kdd98_folder() -> Path | None:
    """The folder with the contest's own files, if the environment names one."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else None


def load_division(name: str, seed: int) -> Division:
    """A data set of the paper in its own division, or in one drawn with a seed."""
    if name == KDD98:
        folder = kdd98_folder()
        if folder is None:
            raise FileNotFoundError(f"{FOLDER_VARIABLE} is not set: it must name the folder with the contest's files")
        return load_contest(folder)
    if name == KDD98_SAMPLE:
        everyone = _sample()
        train, test = halves(everyone.y, seed)
        return Division(everyone.rows(train), everyone.rows(test), (5, 6))
    if name == COIL:
        return _coil()
    if name == COIL_REDRAWN:
        return redrawn(_coil(), seed)
    raise ValueError(f"name={name!r}: must be one of {', '.join((KDD98, KDD98_SAMPLE, COIL, COIL_REDRAWN))}")


def halves(y: Array, seed: int) -> tuple[Array, Array]:
    """Each class divided into halves at random; an odd row is for training."""
    random = np.random.default_rng(seed)
    train, test = [], []
    for label in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == label))
        middle = (len(rows) + 1) // 2
        train.append(rows[:middle])
        test.append(rows[middle:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def redrawn(division: Division, seed: int) -> Division:
    """The same rows divided anew at random into parts of the same sizes."""
    n_train, n_test = len(division.train.y), len(division.test.y)
    both = People(
        np.concatenate([division.train.X, division.test.X]),
        np.concatenate([division.train.y, division.test.y]),
        np.concatenate([division.train.weights, division.test.weights]),
    )
    order = np.random.default_rng(seed).permutation(n_train + n_test)
    return Division(both.rows(order[:n_train]), both.rows(order[n_train:]), division.categorical)


@functools.lru_cache(maxsize=1)
def load_contest(folder: Path, *, check_size: bool = True) -> Division:
    """The contest's own files in its own division."""
    from petiole.datasets.papers import kdd98, kdd98_gift_history

    loaded, history = kdd98(folder, check_size=check_size), kdd98_gift_history(folder)
    tables = [from_frame(part.X, part.y) for part in loaded]
    parts = []
    for part, table, before, X in zip(loaded, tables, history, _coded(tables), strict=True):
        gifts = np.nan_to_num(part.description.outcomes["TARGET_D"])
        parts.append(People(X, table.labels == "1", np.ones(len(X)), gifts, before))
    return Division(parts[0], parts[1], _categorical(tables[0]))


@functools.lru_cache(maxsize=1)
def _sample() -> People:
    from petiole.datasets.papers import kdd98_sample

    frame, y, description = kdd98_sample()
    columns = from_frame(frame, y).columns
    columns = {name: column for name, column in columns.items() if column.dtype.kind == "f"} | {
        "PEP_STAR": np.array([float(value) for value in columns["PEP_STAR"]])
    }
    share = columns["LIFETIME_GIFT_COUNT"] / columns["LIFETIME_PROM"]
    last_gift = np.digitize(columns["LAST_GIFT_AMT"], RFA_2A_DOLLARS).astype(np.float64)
    features = [*(columns[name] for name in SAMPLE_NUMBERS), share, columns["FREQUENCY_STATUS_97NK"]]
    return People(
        np.column_stack([*features, last_gift, columns["PEP_STAR"]]),
        y == "1",
        np.asarray(description.weights, dtype=np.float64),
        np.nan_to_num(description.outcomes["TARGET_D"]),
        np.column_stack([columns[name] for name in SAMPLE_HISTORY]),
    )


@functools.lru_cache(maxsize=1)
def _coil() -> Division:
    tables = [load_raw(f"coil2000-{part}") for part in ("train", "test")]
    parts = [People(X, table.labels == "1", np.ones(len(X))) for X, table in zip(_coded(tables), tables, strict=True)]
    return Division(parts[0], parts[1], _categorical(tables[0]))


def _categorical(table: RawTable) -> tuple[int, ...]:
    return tuple(j for j, column in enumerate(table.columns.values()) if column.dtype.kind != "f")


def _coded(tables: list[RawTable]) -> list[Floats]:
    """Matrices of numbers; the categories of a feature become codes that the tables share."""
    coded: list[list[Floats]] = [[] for _ in tables]
    for name, first in tables[0].columns.items():
        if first.dtype.kind == "f":
            columns = [table.columns[name] for table in tables]
        else:
            names = sorted({value for table in tables for value in table.columns[name] if value is not None})
            codes: dict[str | None, float] = {value: float(code) for code, value in enumerate(names)}
            codes[None] = np.nan
            columns = [np.array([codes[value] for value in table.columns[name]]) for table in tables]
        for matrix, column in zip(coded, columns, strict=True):
            matrix.append(column)
    return [np.column_stack(matrix) for matrix in coded]
