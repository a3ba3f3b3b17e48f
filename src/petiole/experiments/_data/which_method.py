"""The data sets of studies over many methods: one matrix of numbers for all of them, chosen by a rule."""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

from petiole import datasets
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.datasets import Description
from petiole.experiments._data.loading import load_raw

Codes = NDArray[np.int64]

# Data sets that are made from the same rows as another, or from rows of the same study, under another name.
FAMILIES = {
    "ann": "hypothyroid",
    "australian": "crx",
    "cleveland": "heart",
    "flare": "solar",
    "sick": "hypothyroid",
    "spectf": "spect",
    "splice": "dna",
    "waveform40": "waveform21",
    "wpbc": "wdbc",
}


@dataclass(frozen=True, eq=False)
class StudyTable:
    """A data set as numbers, which every library takes.

    Attributes
    ----------
    X : array of shape (n_rows, n_features)
        Numeric columns as they are, categorical ones as codes; NaN is a missing value of either.
    categorical : bool array of shape (n_features,)
    y : codes of the classes, from 0
    """

    X: Floats
    categorical: NDArray[np.bool_]
    y: Codes

    def rows(self, kept: Array) -> StudyTable:
        """Some of the rows, by index or by mask; classes that are left without rows are gone."""
        return StudyTable(self.X[kept], self.categorical, np.unique(self.y[kept], return_inverse=True)[1])


def descriptions() -> dict[str, Description]:
    """The data sets of the folder named by PETIOLE_DATA."""
    described = {name: datasets.describe(name) for name in datasets.list()}
    found = {name: about for name, about in described.items() if about.source != "scikit-learn"}
    if not found:
        raise FileNotFoundError("PETIOLE_DATA: set it to the folder with the data sets and their manifest.json")
    return found


@functools.cache  # folds and splits come back to the same data sets
def load_table(name: str) -> StudyTable:
    """A data set by name."""
    raw = load_raw(name)
    columns = [encode_column(column) for column in raw.columns.values()]
    X = np.column_stack([numbers for numbers, _ in columns])
    categorical = np.array([is_categorical for _, is_categorical in columns])
    return StudyTable(X, categorical, np.unique(raw.labels, return_inverse=True)[1])


def encode_column(column: Array) -> tuple[Floats, bool]:
    """A column as numbers, and whether it is categorical.

    >>> encode_column(np.array(["b", None, "a"], dtype=object))
    (array([ 1., nan,  0.]), True)
    """
    if column.dtype.kind == "f":
        return column, False
    known = np.array([value is not None for value in column])
    numbers = np.full(len(column), np.nan)
    numbers[known] = np.unique(column[known].astype(str), return_inverse=True)[1]
    return numbers, True


def without_small_classes(table: StudyTable, least: int) -> StudyTable:
    """The rows of the classes that have at least so many."""
    return table.rows(np.bincount(table.y)[table.y] >= least)


def stratified_split(y: Codes, seed: int, test_share: float) -> tuple[Array, Array]:
    """Rows to train on and to test on, the classes in the same shares."""
    splitter = StratifiedShuffleSplit(1, train_size=1 - test_share, test_size=test_share, random_state=seed)
    train, test = next(splitter.split(y, y))
    return train, test


def had_a_part(name: str) -> bool:
    """Whether a data set was one to choose the probability forest's defaults on: by a hash of its family's name.

    >>> had_a_part("iris"), had_a_part("wine")
    (False, False)
    """
    family = name.split("-")[0]
    return zlib.crc32(FAMILIES.get(family, family).encode()) % 5 < 2
