"""What is known about a data set, and a data set with its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from petiole.datasets.columns import KIND_TITLES, Values

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Description:
    """What is known about a data set.

    Attributes
    ----------
    name, source, license, notes : str
    rows : int
    classes : tuple of labels, sorted
    class_counts : dict from label to number of rows
    kinds : dict from the name of a feature to "numeric" or "nominal" (categorical), in the order of the columns
    n_missing : int
        Number of missing values among the features.
    papers : tuple of str
        Papers that use the data set, with "probably" where that is a guess.
    weights : float array or None
        One weight per row, if rows were drawn with unequal probabilities; only :func:`petiole.datasets.load` fills
        it in.
    outcomes : dict from str to array
        Columns that become known together with the class, and so must not be used to predict it; filled in by
        :func:`petiole.datasets.load`.
    ids : dict from str to column
        Columns that identify rows, such as customer numbers.
    target : str
        The name of the column of labels in a file of the set.

    Examples
    --------
    >>> print(Description("dice", rows=6, classes=("even", "odd"), kinds={"weight": "numeric"}))
    dice: 6 rows, 1 feature (numeric), 2 classes
    """

    name: str
    source: str = ""
    rows: int = 0
    classes: tuple[Any, ...] = ()
    class_counts: dict[Any, int] = field(default_factory=dict, repr=False)
    kinds: dict[str, str] = field(default_factory=dict, repr=False)
    n_missing: int = 0
    notes: str = ""
    license: str = field(default="", repr=False)
    papers: tuple[str, ...] = field(default=(), repr=False)
    weights: Floats | None = field(default=None, repr=False)
    outcomes: dict[str, Floats] = field(default_factory=dict, repr=False)
    ids: dict[str, Values] = field(default_factory=dict, repr=False)
    target: str = "class"

    @property
    def summary(self) -> str:
        """One line: rows, features by kind, classes, missing cells."""
        parts = [_count(self.rows, "row"), self._features(), _count(len(self.classes), "class")]
        if self.n_missing:
            parts.append(f"{_count(self.n_missing, 'cell')} missing")
        return ", ".join(parts)

    def _features(self) -> str:
        kinds = list(self.kinds.values())
        counts = {title: kinds.count(kind) for kind, title in KIND_TITLES.items()}
        present = [kind for kind, count in counts.items() if count]
        spelled = present[0] if len(present) == 1 else ", ".join(f"{counts[kind]} {kind}" for kind in present)
        return f"{_count(len(self.kinds), 'feature')} ({spelled})"

    def __str__(self) -> str:
        return f"{self.name}: {self.summary}"


class LoadedColumns(NamedTuple):
    """A data set before its features are put into a frame, which needs a library for frames."""

    columns: dict[str, Values]
    y: NDArray[Any]
    description: Description


class Loaded(NamedTuple):
    """A data set: a frame of features, an array of labels, and what is known about them."""

    X: Any
    y: NDArray[Any]
    description: Description


def _count(number: int, what: str) -> str:
    plural = what if number == 1 else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number:,} {plural}"
