"""The data sets that are always available: one that comes with petiole, and those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from petiole.datasets.columns import Numeric, Values
from petiole.datasets.description import Description, LoadedColumns
from petiole.datasets.folder import MANIFEST, Folder, read_manifest

NOTES = {
    "breast-cancer": "Breast Cancer Wisconsin (Diagnostic), the rows of wdbc. Not the Ljubljana breast cancer set, "
    "which data folders have under the name breast-cancer.",
    "iris": "Two rows differ from the UCI file, as scikit-learn's documentation says.",
    "wine": "",
    "digits": "Test part of optdigits: 8 x 8 images of handwritten digits.",
}
LOADERS: dict[str, Callable[[], Any]] = {
    "breast-cancer": load_breast_cancer,
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
}
PREFIX = "sklearn-"


def own_folder() -> Folder:
    """The folder of the data sets that come with petiole."""
    path = Path(str(resources.files("petiole.datasets"))) / "files"
    return Folder(path, read_manifest(path / MANIFEST))


def bundled_name(name: str) -> str | None:
    """Return scikit-learn's name for a set, None if it has none.

    >>> bundled_name("sklearn-iris"), bundled_name("iris"), bundled_name("wdbc"), bundled_name("letter")
    ('iris', 'iris', 'breast-cancer', None)
    """
    plain = "breast-cancer" if name == "wdbc" else name.removeprefix(PREFIX)
    return plain if plain in LOADERS else None


def load_bundled(name: str) -> LoadedColumns:
    """Load a set of scikit-learn; the labels are the names of the classes."""
    plain = bundled_name(name)
    assert plain is not None
    bunch = LOADERS[plain]()
    columns: dict[str, Values] = {
        str(key): Numeric(bunch.data[:, index]) for index, key in enumerate(bunch.feature_names)
    }
    labels = np.asarray(bunch.target_names).astype(str)[bunch.target]
    classes, counts = np.unique(labels, return_counts=True)
    description = Description(
        name=name,
        source="scikit-learn",
        rows=len(labels),
        classes=tuple(classes.tolist()),
        class_counts=dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        kinds=dict.fromkeys(columns, "numeric"),
        notes=NOTES[plain],
        license="BSD-3-Clause (scikit-learn), data of the UCI ML repository",
    )
    return LoadedColumns(columns, labels, description)
