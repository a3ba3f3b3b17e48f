"""Where experiments get their data sets: one function, so that nothing else knows of files or data frames."""

from __future__ import annotations

import csv
import functools
import gzip
import importlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array


@dataclass(frozen=True, eq=False)
class RawTable:
    """A data set as it comes.

    Attributes
    ----------
    columns : dict from name to array
        Numbers with NaN for missing ones, or objects: strings, and None for missing ones.
    labels : array of str
    """

    columns: dict[str, Array]
    labels: Array

    @property
    def missing(self) -> Array:
        """Which rows have a missing value."""
        found = np.zeros(len(self.labels), dtype=bool)
        for column in self.columns.values():
            found |= np.isnan(column) if column.dtype.kind == "f" else [value is None for value in column]
        return found

    def rows(self, kept: Array) -> RawTable:
        """Some of the rows, by index or by mask."""
        return RawTable({name: column[kept] for name, column in self.columns.items()}, self.labels[kept])

    def without(self, *names: str) -> RawTable:
        """All columns but some."""
        return RawTable({n: column for n, column in self.columns.items() if n not in names}, self.labels)

    def matrix(self) -> Floats:
        """The columns side by side, if all are numbers."""
        return np.column_stack(list(self.columns.values())).astype(np.float64)


@functools.lru_cache(maxsize=64)
def load_raw(name: str) -> RawTable:
    """A data set by name: from ``petiole.datasets`` if it is there, else from the folder named by PETIOLE_DATA."""
    datasets = _datasets_module()
    if datasets is None:
        return _read_folder(name)
    X, y, *_ = datasets.load(name)
    return from_frame(X, y)


def from_frame(X: Any, y: Any) -> RawTable:
    """A data frame of any library, and labels."""
    frame = nw.from_native(X, eager_only=True)
    columns: dict[str, Array] = {}
    for name in frame.columns:
        series = frame[name]
        if series.dtype.is_numeric():
            columns[name] = series.cast(nw.Float64).to_numpy().astype(np.float64)
        else:
            columns[name] = np.array([None if _is_missing(v) else str(v) for v in series.to_list()], dtype=object)
    return RawTable(columns, np.asarray([str(label) for label in np.asarray(y)]))


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _datasets_module() -> Any:
    try:
        return importlib.import_module("petiole.datasets")
    except ModuleNotFoundError:
        return None


def _read_folder(name: str) -> RawTable:
    folder = os.environ.get("PETIOLE_DATA")
    if not folder:
        raise FileNotFoundError(f"data set {name!r}: set PETIOLE_DATA to the folder with the data sets")
    manifest = {entry["name"]: entry for entry in json.loads((Path(folder) / "manifest.json").read_text("utf-8"))}
    if name not in manifest:
        raise FileNotFoundError(f"data set {name!r}: not in the manifest of PETIOLE_DATA={folder}")
    return _read_file(Path(folder) / manifest[name]["file"], manifest[name])


def _read_file(path: Path, entry: Mapping[str, Any]) -> RawTable:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        cells = dict(zip(header, zip(*reader, strict=True), strict=True))
    columns = {}
    for column in entry["columns"]:
        if column["name"] == "class" or "outcome" in column.get("role", ""):
            continue
        values = cells[column["name"]]
        if column["kind"] == "numeric":
            columns[column["name"]] = np.array([float(value) if value else np.nan for value in values])
        else:
            columns[column["name"]] = np.array([value or None for value in values], dtype=object)
    return RawTable(columns, np.array(cells["class"]))
