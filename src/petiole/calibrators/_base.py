"""The base class of calibrators: checks scores and labels, and maps each of many classes against the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from petiole._table.columns import Floats
from petiole._table.frames import Array, as_array
from petiole._table.labels import Codes, check_same_length, check_weights, encode_labels
from petiole._table.rows import rows_that_count
from petiole._table.weights import weights_in_rows
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable, SavableModel

# From the scores of one class to its probabilities.
ScoreMap = Callable[[Floats], Floats]


class ScoreMapBase(Savable):
    """Base of the maps that calibrators learn."""

    @property
    def keeps_order(self) -> bool:
        """Whether, with two classes, a larger score never becomes a smaller probability."""
        return False


class ScoreCalibrator(SavableModel, BaseEstimator):
    """Base of the calibrators. A subclass has ``_learn(scores, positive, weights)``, which returns a map of one class.

    With two classes there is one map, for the second class. With more there is one per class, each learned against the
    rest; their results are divided by their sum, and replaced by the base rates where all are zero.
    """

    classes_: Array
    calibrators_: list[Any]
    base_rates_: Floats
    n_score_columns_: int | None

    _saved = fields(
        classes_=checks.labels,
        calibrators_=checks.list_of(checks.instance_of("ScoreMapBase")),
        base_rates_=checks.probabilities(1),
        n_score_columns_=checks.none_or(checks.whole(1)),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        n_classes, n_columns = len(state["classes_"]), state["n_score_columns_"]
        require(len(state["base_rates_"]) == n_classes, "base_rates_: must be one per class")
        fits = n_classes == 2 if n_columns is None else n_columns == n_classes
        require(fits, "n_score_columns_: must be one per class, or None for two classes")
        n_maps = self._n_maps(n_classes)
        require(len(state["calibrators_"]) == n_maps, f"calibrators_: must be {n_maps} maps")
        kind = type(self).__name__.replace("Calibrator", "Map").replace("Binning", "Bin")
        for found in state["calibrators_"]:
            require(type(found).__name__ == kind, f"calibrators_: must be of the class {kind}")

    def _n_maps(self, n_classes: int) -> int:
        """The number of maps for this many classes."""
        return {1: 0, 2: 1}.get(n_classes, n_classes)

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the calibrator to scores and labels.

        Parameters
        ----------
        scores : array of shape (n_rows,) or (n_rows, n_classes)
            Scores of rows that the model has not seen: one per row, for the second of two classes, or one per class,
            in the order of the sorted labels. Of two columns the second is used.
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            How much each row counts relative to the others; a row of weight 0 is ignored.
        """
        self._check_parameters()
        table = self._read(scores)
        classes, codes = encode_labels(y)
        check_same_length(len(table), len(codes))
        weights, _ = weights_in_rows(check_weights(sample_weight, len(table)))
        check_columns(table, classes)
        return self._fit_checked(table, codes, weights, classes)

    def predict(self, scores: Any) -> Floats:
        """Probabilities in the shape of the scores: of the second class, or a column for each class."""
        table = self._read_to_predict(scores)
        if table.ndim == 1:
            return self.calibrators_[0](table)
        if table.shape[1] == 1:
            return np.ones_like(table)
        return self._probabilities(table)

    def transform(self, scores: Any) -> Floats:
        """The same as ``predict``."""
        return self.predict(scores)

    # A subclass may provide these.

    def _check_parameters(self) -> None:
        """Raise if a parameter is invalid."""

    def _read(self, scores: Any) -> Floats:
        return read_scores(scores)

    def _learn(self, scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> ScoreMap:
        raise NotImplementedError

    def _learn_all(self, table: Floats, codes: Codes, weights: Floats, n_classes: int) -> list[Any]:
        if n_classes == 1:
            return []
        if table.ndim == 1 or n_classes == 2:
            return [self._learn(table if table.ndim == 1 else table[:, 1], codes == 1, weights)]
        return [self._learn(table[:, k], codes == k, weights) for k in range(n_classes)]

    def _probabilities(self, table: Floats) -> Floats:
        """Rows that sum to 1, for at least two columns of scores."""
        if table.shape[1] == 2:
            second = self.calibrators_[0](table[:, 1])
            return np.column_stack([1 - second, second])
        each = [calibrate(column) for calibrate, column in zip(self.calibrators_, table.T, strict=True)]
        return divided_by_sum(np.column_stack(each), self.base_rates_)

    # The same for all calibrators.

    def _fit_checked(self, table: Floats, codes: Codes, weights: Floats | None, classes: Array) -> Self:
        """Learn from data that have been checked; a class may have no rows."""
        if weights is None:
            weights = np.ones(len(codes))
        kept = rows_that_count(weights)
        if kept is not None:
            table, codes, weights = table[kept], codes[kept], weights[kept]
        calibrators = self._learn_all(table, codes, weights, len(classes))
        totals = np.bincount(codes, weights, minlength=len(classes))
        self.classes_ = classes
        self.calibrators_ = calibrators
        self.base_rates_ = totals / totals.sum()
        self.n_score_columns_ = None if table.ndim == 1 else table.shape[1]
        return self

    def _read_to_predict(self, scores: Any) -> Floats:
        check_is_fitted(self)
        table = self._read(scores)
        n_columns = None if table.ndim == 1 else table.shape[1]
        if n_columns != self.n_score_columns_:
            wanted = "(n_rows,)" if self.n_score_columns_ is None else f"(n_rows, {self.n_score_columns_})"
            raise ValueError(f"scores has shape {table.shape}: must be {wanted}, as in fit")
        return table

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "calibrators_")

    def __sklearn_tags__(self) -> Any:
        # The input are scores, not features: each column belongs to a class, and one dimension is enough.
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def read_scores(scores: Any) -> Floats:
    """Finite numbers, one per row or one per row and class.

    >>> read_scores([0.2, float("nan")])
    Traceback (most recent call last):
    ...
    ValueError: scores[1]=nan: must be finite; drop the rows without a score
    """
    array = as_array(scores)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(
            f"scores has shape {array.shape}: must be (n_rows,) or (n_rows, n_classes), with at least one row"
        )
    if array.dtype.kind not in "fiub":
        raise ValueError(f"scores has dtype {array.dtype}: must be real numbers")
    table = array.astype(np.float64, copy=False)
    bad = ~np.isfinite(table)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"scores[{', '.join(map(str, place))}]={table[place]}: must be finite; drop the rows without a score"
        )
    return table


def read_probability_scores(scores: Any) -> Floats:
    """Scores that are probabilities, between 0 and 1.

    >>> read_probability_scores([0.2, 1.5])
    Traceback (most recent call last):
    ...
    ValueError: scores[1]=1.5: must be a probability between 0 and 1; use a calibrator that takes any score
    """
    table = read_scores(scores)
    bad = (table < 0) | (table > 1 + 1e-6)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"scores[{', '.join(map(str, place))}]={table[place]:g}: must be a probability between 0 and 1; "
            "use a calibrator that takes any score"
        )
    return np.minimum(table, 1.0)


def check_columns(table: Floats, classes: Array) -> None:
    """Raise an error unless there is a score for each class, or one for two classes."""
    if table.ndim == 1 and len(classes) != 2:
        raise ValueError(
            f"scores has one column, but the classes of y are {classes.tolist()}: one score per row is that of the "
            "second of two classes; give rows of both classes, or scores of shape (n_rows, n_classes)"
        )
    if table.ndim == 2 and table.shape[1] != len(classes):
        raise ValueError(
            f"scores has {table.shape[1]} columns, but y has {len(classes)} classes: give a column for each class, in "
            "the order of the sorted labels, and rows of each"
        )


def divided_by_sum(table: Floats, instead: Floats) -> Floats:
    """Rows divided by their sums; ``instead`` where the sum is zero.

    >>> divided_by_sum(np.array([[0.2, 0.2], [0.0, 0.0]]), np.array([0.9, 0.1]))
    array([[0.5, 0.5],
           [0.9, 0.1]])
    """
    sums = table.sum(axis=1, keepdims=True)
    return np.where(sums > 0, table, instead) / np.where(sums > 0, sums, 1.0)


def mirrored(columns: Sequence[Floats]) -> Floats:
    """A table of two columns from values of the second class: one minus the first array, and the second array.

    >>> mirrored([np.array([0.25]), np.array([0.5])])
    array([[0.75, 0.5 ]])
    """
    return np.column_stack([1 - columns[0], columns[1]])
