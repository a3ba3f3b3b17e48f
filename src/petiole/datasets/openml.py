"""Data sets from OpenML, by an id and a checksum that the manifest pins."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml

from petiole.datasets.columns import Categorical, Numeric, Values, from_names
from petiole.datasets.fingerprints import fingerprint
from petiole.datasets.folder import Entry, Folder, as_csv, check_sha256, sha256_of
from petiole.datasets.public import PublicSet


def is_pinned(entry: Entry | None) -> bool:
    """Whether the manifest pins an OpenML id and a checksum: ``"openml": {"data_id": 61, "sha256": "..."}``."""
    return entry is not None and isinstance(entry.get("openml"), dict)


def fetch_into(cache: Folder, entry: Entry) -> None:
    """Fetch a pinned set, check it against the checksum, and keep it in the cache."""
    pin, name = entry["openml"], entry["name"]
    where = f"{name!r} (OpenML, data_id={pin.get('data_id')!r})"
    text = as_csv(_fetch_columns(pin.get("data_id"), where, [column["name"] for column in entry["columns"]]))
    _check_pin(pin, text, where)
    kept = {key: value for key, value in entry.items() if key not in ("openml", "file", "sha256")}
    cache.store({**kept, "file": f"{name}.csv.gz", "sha256": pin["sha256"]}, text)


def fetch_public(public: PublicSet, cache: Folder) -> None:
    """Fetch a public set, check its contents against its fingerprint, and keep it in the cache."""
    where = f"{public.name!r} (OpenML, data_id={public.openml})"
    bunch = _fetch(public.openml, where)
    columns = {str(name): column for name, column in zip(bunch.feature_names, _columns_of(bunch), strict=True)}
    labels = from_names(np.array([str(label) for label in bunch.target], dtype=object))
    found = fingerprint(columns, labels)
    if found != public.fingerprint:
        raise ValueError(
            f"{where} holds other rows than the set that petiole knows ({len(labels):,} rows and {len(columns)} "
            f"features; {public.rows:,} and {public.features} are expected): it is not kept"
        )
    text = as_csv(columns | {"class": labels})
    kinds = [{"name": name, "kind": column.kind} for name, column in (columns | {"class": labels}).items()]
    counts = np.bincount(labels.codes)
    cache.store(
        {
            "name": public.name,
            "file": f"{public.name}.csv.gz",
            "n_rows": len(labels),
            "columns": kinds,
            "class_counts": dict(zip(labels.categories, counts.tolist(), strict=True)),
            "n_missing_cells": int(sum(column.is_missing.sum() for column in columns.values())),
            "source": f"OpenML, data_id={public.openml}",
            "license": public.license,
            "sha256": sha256_of(text.encode("utf-8")),
        },
        text,
    )


def _check_pin(pin: dict[str, Any], text: str, where: str) -> None:
    data = text.encode("utf-8")
    if "sha256" not in pin:
        found = sha256_of(data)
        raise ValueError(
            f"{where}: the manifest pins no sha256; that of what was fetched is {found}: add it if you trust it"
        )
    check_sha256(data, pin["sha256"], where)


def _fetch(data_id: Any, where: str) -> Any:
    try:
        # this parser needs no pandas, and codes categories by their declared order
        return fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
    except Exception as error:  # no network, no such id, a damaged file: all get the same advice
        raise OSError(
            f"{where} could not be fetched ({error}): check the network, or set PETIOLE_DATA to a folder that has it"
        ) from error


def _columns_of(bunch: Any) -> list[Values]:
    matrix = bunch.data.toarray() if hasattr(bunch.data, "toarray") else np.asarray(bunch.data)
    categories = bunch.categories or {}
    return [_column(matrix[:, index], categories.get(name)) for index, name in enumerate(bunch.feature_names)]


def _fetch_columns(data_id: Any, where: str, names: list[str]) -> dict[str, Values]:
    bunch = _fetch(data_id, where)
    columns = _columns_of(bunch)
    if len(names) != len(columns) + 1:
        raise ValueError(f"{where} has {len(columns)} features, but the manifest names {len(names) - 1}: correct it")
    labels = from_names(np.array([str(label) for label in bunch.target], dtype=object))
    return {**dict(zip(names[:-1], columns, strict=True)), names[-1]: labels}


def _column(values: Any, categories: Any) -> Values:
    numbers = np.asarray(values, dtype=np.float64)
    if categories is None:
        return Numeric(numbers)
    codes = np.where(np.isnan(numbers), -1, numbers).astype(np.int64)
    return Categorical(codes, tuple(map(str, categories))).sorted()
