"""Prediction sets: the classes that each row may be of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import check_same_length, check_weights, label_codes

Mask = npt.NDArray[np.bool_]


class PredictionSets:
    """The sets of classes that are predicted for rows.

    Attributes
    ----------
    contains : array of bool, shape (n_rows, n_classes)
        Whether each class is in the set of each row.
    classes : array
        The labels of the columns.
    proba : array of shape (n_rows, n_classes)
        The probabilities from which the sets are made.
    coverage : float
        The share of new rows whose set contains their class.
    reasons : array of str
        Why the set of a row has classes for which there are too few calibrating rows; empty for other rows.

    Examples
    --------
    >>> import numpy as np
    >>> sets = PredictionSets(np.array([[True, False], [True, True]]), np.array(["no", "yes"]))
    >>> sets.sizes, sets.texts()
    (array([1, 2]), ['no', 'no|yes'])
    >>> sets.covered(["no", "yes"]), sets.mean_size()
    (1.0, 1.5)
    """

    def __init__(
        self,
        contains: Mask,
        classes: Array,
        proba: Floats | None = None,
        coverage: float = 0.9,
        reasons: Array | None = None,
    ) -> None:
        self.contains = contains
        self.classes = classes
        self.proba = np.full(contains.shape, np.nan) if proba is None else proba
        self.coverage = coverage
        self.reasons: Array = np.full(len(contains), "", dtype=object) if reasons is None else reasons

    def __len__(self) -> int:
        return len(self.contains)

    def __getitem__(self, rows: Any) -> PredictionSets:
        """The sets of some rows: a slice, positions or a mask."""
        chosen = np.arange(len(self))[rows]
        chosen = np.atleast_1d(chosen)
        return PredictionSets(
            self.contains[chosen], self.classes, self.proba[chosen], self.coverage, self.reasons[chosen]
        )

    def __repr__(self) -> str:
        sizes = self.sizes
        counts = ", ".join(f"{(sizes == size).sum():,} of {size}" for size in np.unique(sizes).tolist())
        return f"PredictionSets({len(self):,} rows, coverage={self.coverage:g}; classes in a set: {counts})"

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of classes in each set."""
        return self.contains.sum(axis=1).astype(np.int64)

    def labels(self) -> list[Array]:
        """The classes of each set, the most probable first."""
        order = np.argsort(-np.nan_to_num(self.proba), axis=1, kind="stable")
        return [self.classes[ranked[inside[ranked]]] for ranked, inside in zip(order, self.contains, strict=True)]

    def texts(self, separator: str = "|") -> list[str]:
        """The classes of each set in one text, the most probable first."""
        return [separator.join(map(str, labels.tolist())) for labels in self.labels()]

    def to_frame(self) -> Any:
        """A pandas data frame with a column of truth values for each class, and the size and the reason of each set."""
        import pandas as pd

        columns = dict(zip(self.classes.tolist(), self.contains.T, strict=True))
        return pd.DataFrame({**columns, "size": self.sizes, "reason": self.reasons})

    # How good they are, on rows whose classes are known.

    def hits(self, y: Any) -> Mask:
        """Whether each set contains the class of its row. Unknown labels are in no set."""
        known = {label: code for code, label in enumerate(self.classes.tolist())}
        labels = np.asarray(y, dtype=object).ravel().tolist()
        check_same_length(len(self), len(labels))
        codes = np.array([known.get(label, -1) for label in labels])
        return np.asarray((codes >= 0) & self.contains[np.arange(len(self)), codes])

    def covered(self, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose set contains their class."""
        return float(np.average(self.hits(y), weights=check_weights(sample_weight, len(self))))

    def covered_by_class(self, y: Any, sample_weight: Any = None) -> Floats:
        """The same among the rows of each class; NaN for a class without rows."""
        codes, hits = label_codes(y, self.classes, "y"), self.hits(y)
        weights = check_weights(sample_weight, len(self))
        totals = np.bincount(codes, weights, len(self.classes))
        inside = np.bincount(codes, hits if weights is None else hits * weights, len(self.classes))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(inside / totals)

    def mean_size(self, sample_weight: Any = None) -> float:
        """The mean number of classes in a set."""
        return float(np.average(self.sizes, weights=check_weights(sample_weight, len(self))))
