"""The public data sets of the experiments: their sizes, and the fingerprints of their contents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources


@dataclass(frozen=True)
class PublicSet:
    """A public data set.

    Attributes
    ----------
    name, license : str
    rows, features, classes : int
    openml : int or None
        The id at OpenML, written from memory; None if it is not known.
    fingerprint : str or None
        The fingerprint of its contents, by :func:`petiole.datasets.fingerprints.fingerprint`.
    """

    name: str
    rows: int
    features: int
    classes: int
    license: str
    openml: int | None = None
    fingerprint: str | None = None

    @property
    def can_be_fetched(self) -> bool:
        return self.openml is not None and self.fingerprint is not None


@lru_cache(maxsize=1)
def public_sets() -> dict[str, PublicSet]:
    """All of them, by name."""
    text = resources.files("petiole.datasets").joinpath("files", "public.json").read_text(encoding="utf-8")
    return {entry["name"]: PublicSet(**entry) for entry in json.loads(text)}
