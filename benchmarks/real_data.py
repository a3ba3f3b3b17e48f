"""The real data sets of the studies: those of the folder named by PETIOLE_DATA."""

from __future__ import annotations

from petiole import datasets
from petiole.datasets import Description


def descriptions() -> dict[str, Description]:
    """What there is, by name; scikit-learn's sets are left out, as they are there in the folder as well."""
    described = {name: datasets.describe(name) for name in datasets.list()}
    found = {name: about for name, about in described.items() if about.source != "scikit-learn"}
    if not found:
        raise SystemExit("PETIOLE_DATA: set it to the folder with the data sets and their manifest.json")
    return found
