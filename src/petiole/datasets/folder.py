"""A folder of data sets: one CSV file for each, and a manifest that says what is in them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from petiole.datasets.cells import Cell
from petiole.datasets.columns import Categorical, Numeric, Values
from petiole.datasets.csv_files import read_csv
from petiole.datasets.description import Description, LoadedColumns
from petiole.datasets.text import decode, read_bytes
from petiole.files.atomic import write_atomically

DATA_VARIABLE = "PETIOLE_DATA"
CACHE_VARIABLE = "PETIOLE_CACHE"
MANIFEST = "manifest.json"
EMPTY_CELL: frozenset[Cell] = frozenset({""})
# Class counts of the population that a set was sampled from, where classes were not drawn alike (the manifest's notes
# on kdd98-sample): a row of a class stands for population / sample rows.
POPULATIONS = {"kdd98-sample": {"0": 90_569, "1": 4_843}}

Entry = dict[str, Any]


class Folder:
    """Data sets described by the manifest of a folder."""

    def __init__(self, path: Path, entries: dict[str, Entry]) -> None:
        self.path, self.entries = path, entries

    def has_rows(self, name: str) -> bool:
        """Whether the file of the set exists, not only its description."""
        entry = self.entries.get(name)
        return entry is not None and "file" in entry and (self.path / entry["file"]).is_file()

    def describe(self, name: str) -> Description:
        """Return the description in the manifest."""
        return describe_entry(self.entries[name])

    def load(self, name: str) -> LoadedColumns:
        """Read a set and check it against the manifest."""
        entry = self.entries[name]
        path = self.path / entry["file"]
        data, _ = read_bytes(path)
        check_sha256(data, entry.get("sha256"), str(path))
        kinds = {column["name"]: column["kind"] for column in entry["columns"]}
        columns = read_csv(decode(data, path.name), path.name, kinds, EMPTY_CELL, strip=False)
        return assemble(describe_entry(entry), columns, outcome_names(entry), str(path), identifier_names(entry))

    def store(self, entry: Entry, text: str) -> None:
        """Write a set and its entry, both atomically."""
        self.path.mkdir(parents=True, exist_ok=True)
        packed = gzip.compress(text.encode("utf-8"), mtime=0)
        write_atomically(self.path / entry["file"], [packed])
        self.entries[entry["name"]] = entry
        write_atomically(self.path / MANIFEST, [json.dumps([*self.entries.values()], indent=1).encode("utf-8")])


def open_data_folder() -> Folder | None:
    """Return the folder named by PETIOLE_DATA, None if the variable is not set."""
    value = os.environ.get(DATA_VARIABLE)
    if not value:
        return None
    path = Path(value).expanduser()
    if not (path / MANIFEST).is_file():
        raise FileNotFoundError(
            f"{DATA_VARIABLE}={value!r}: there is no {MANIFEST} in it: set the variable to the folder with the data "
            "sets, or unset it"
        )
    return Folder(path, read_manifest(path / MANIFEST))


def open_cache() -> Folder:
    """Return the folder for downloads: PETIOLE_CACHE, else petiole in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(os.environ.get(CACHE_VARIABLE) or Path(home) / "petiole").expanduser()
    return Folder(path, read_manifest(path / MANIFEST) if (path / MANIFEST).is_file() else {})


def read_manifest(path: Path) -> dict[str, Entry]:
    """Return the entries of a manifest by name."""
    status = path.stat()
    return dict(_read_manifest(path, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=4)
def _read_manifest(path: Path, changed: int, size: int) -> dict[str, Entry]:
    """Parse a manifest; it is cached until its file changes."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}, column {error.colno}: not JSON ({error.msg}): correct it"
        ) from None
    if not isinstance(entries, list):
        raise ValueError(f"{path}: must be a list with one entry per data set, not a {type(entries).__name__}")
    found: dict[str, Entry] = {}
    for number, entry in enumerate(entries):
        _check_entry(entry, f"{path}, entry {number}")
        if entry["name"] in found:
            raise ValueError(f"{path}, entry {number}: {entry['name']!r} is described twice: remove one")
        found[entry["name"]] = entry
    return found


def describe_entry(entry: Entry) -> Description:
    """Turn an entry of a manifest into a description."""
    outcomes = {"class", *outcome_names(entry), *identifier_names(entry)}
    kinds = {column["name"]: column["kind"] for column in entry.get("columns", ()) if column["name"] not in outcomes}
    counts = entry.get("class_counts", {})
    return Description(
        name=entry["name"],
        source=entry.get("source", ""),
        rows=entry.get("n_rows", 0),
        classes=tuple(sorted(counts)),
        class_counts={label: counts[label] for label in sorted(counts)},
        kinds=kinds,
        n_missing=entry.get("n_missing_cells", 0),
        notes=entry.get("notes", ""),
        license=entry.get("license", ""),
        papers=tuple(entry.get("papers", ())),
        target=entry.get("target", "class"),
    )


def outcome_names(entry: Entry) -> list[str]:
    """Columns that are known only together with the class."""
    return [column["name"] for column in entry.get("columns", ()) if "outcome" in column.get("role", "")]


def identifier_names(entry: Entry) -> list[str]:
    """Columns that identify rows."""
    return [column["name"] for column in entry.get("columns", ()) if column.get("role") == "identifier"]


def assemble(
    expected: Description, columns: dict[str, Values], outcomes: list[str], where: str, identifiers: Sequence[str] = ()
) -> LoadedColumns:
    """Divide the columns into features, labels, outcomes and identifiers, after checking them."""
    named = {*expected.kinds, *outcomes, *identifiers, "class"}
    if set(columns) != named:
        odd = ", ".join(sorted(map(repr, set(columns) ^ named))[:5])
        raise _differs(where, f"the columns differ in {odd}")
    labels = columns["class"].labels()
    found, counts = np.unique(labels, return_counts=True)
    class_counts = dict(zip(found.tolist(), counts.tolist(), strict=True))
    if class_counts != expected.class_counts:
        raise _differs(where, f"its classes have {class_counts} rows, not {expected.class_counts}")
    features = {name: columns[name] for name in expected.kinds}
    n_missing = int(sum(column.is_missing.sum() for column in features.values()))
    known_outcomes = {name: column.values for name in outcomes if isinstance(column := columns[name], Numeric)}
    description = replace(
        expected,
        n_missing=n_missing,
        weights=_weights(expected.name, labels, class_counts),
        outcomes=known_outcomes,
        ids={name: columns[name] for name in identifiers},
    )
    return LoadedColumns(features, labels, description)


def check_sha256(data: bytes, expected: str | None, where: str) -> None:
    """Check the unpacked content against its checksum, if it has one."""
    found = sha256_of(data) if expected is not None else ""
    if expected is not None and found != expected.lower():
        raise ValueError(f"{where}: the SHA-256 is {found}, not {expected}: the data have changed, fetch them again")


def sha256_of(data: bytes) -> str:
    """Return the checksum in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def as_csv(columns: dict[str, Values]) -> str:
    """Write columns as the text whose SHA-256 identifies a set: whole numbers without a point, missing cells empty."""
    spelled = [_spell(column) for column in columns.values()]
    lines = [",".join(map(_quote, columns)), *(",".join(row) for row in zip(*spelled, strict=True))]
    return "\n".join(lines) + "\n"


def _spell(column: Values) -> list[str]:
    if isinstance(column, Categorical):
        categories = [*map(_quote, column.categories), ""]
        return [categories[code] for code in column.codes.tolist()]
    return ["" if value != value else repr(value).removesuffix(".0") for value in column.values.tolist()]


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n\r ;\t') else text


def _weights(name: str, labels: Any, counts: dict[str, int]) -> Any:
    population = POPULATIONS.get(name)
    if population is None:
        return None
    per_class = np.array([population[label] / counts[label] for label in sorted(counts)])
    return per_class[np.unique(labels, return_inverse=True)[1]]


def _check_entry(entry: Any, place: str) -> None:
    for key in ("name", "columns", "class_counts"):
        if not isinstance(entry, dict) or key not in entry:
            raise ValueError(f"{place}: has no {key!r}: add it")
    for column in entry["columns"]:
        if column.get("kind") not in ("numeric", "nominal"):
            raise ValueError(
                f"{place}: column {column.get('name')!r} has kind={column.get('kind')!r}: must be numeric or nominal"
            )


def _differs(where: str, how: str) -> ValueError:
    return ValueError(
        f"{where} is not what the manifest describes: {how}. Fetch the file again, or correct the manifest"
    )
