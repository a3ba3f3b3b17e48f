"""Intervals for probabilities: how much they would vary with other training rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import encode_queries
from petiole._estimates.jackknife import Jackknife
from petiole._estimates.leaf_mean import LeafMean
from petiole._estimates.pool import PooledComponents
from petiole._forest.plan import plans_of
from petiole._table.rows import EncodedRows
from petiole._validation import check_fraction
from petiole.files import checks
from petiole.files.checks import fields, maybe, require

Floats = npt.NDArray[np.float64]

# What :meth:`WithIntervals.learn_intervals` keeps.
INTERVAL_FIELDS = fields(
    interval_rows_=maybe(checks.instance_of("EncodedRows")),
    interval_scale_=maybe(checks.number(0.0, checks.LARGEST)),
)
# What is made of it when it is first needed, and is not saved.
MADE = "_jackknife"


class ProbabilityIntervals:
    """An interval for the probability of each class in each row; ``lower, upper = intervals`` takes it apart.

    Attributes
    ----------
    lower, upper : arrays of shape (n_rows, n_classes)
    proba : array of shape (n_rows, n_classes)
        The probabilities, which lie inside the intervals.
    classes : array
        The labels of the columns.
    level : float or None
        The share of intervals that contain the probability; None for bounds without a level.

    Examples
    --------
    >>> intervals = ProbabilityIntervals(np.array([[0.2]]), np.array([[0.5]]), np.array([[0.3]]), np.array(["yes"]))
    >>> lower, upper = intervals
    >>> upper - lower
    array([[0.3]])
    """

    def __init__(
        self, lower: Floats, upper: Floats, proba: Floats, classes: npt.NDArray[Any], level: float | None = 0.9
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.proba = proba
        self.classes = classes
        self.level = level

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.lower, self.upper))

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, rows: Any) -> ProbabilityIntervals:
        """The intervals of some rows: a slice, positions or a mask."""
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        lower, upper, proba = self.lower[chosen], self.upper[chosen], self.proba[chosen]
        return ProbabilityIntervals(lower, upper, proba, self.classes, self.level)

    def __repr__(self) -> str:
        level = "" if self.level is None else f", level={self.level:g}"
        width = float(np.mean(self.width)) if len(self) else float("nan")
        return f"ProbabilityIntervals({len(self):,} rows, {len(self.classes)} classes{level}; mean width {width:.3f})"

    @property
    def width(self) -> Floats:
        """``upper - lower``."""
        return self.upper - self.lower

    def to_frame(self) -> Any:
        """A pandas data frame with the columns ``lower_<class>`` and ``upper_<class>``."""
        import pandas as pd

        columns = {}
        for k, label in enumerate(self.classes.tolist()):
            columns[f"lower_{label}"], columns[f"upper_{label}"] = self.lower[:, k], self.upper[:, k]
        return pd.DataFrame(columns)

    def held(self, proba: Any) -> Floats:
        """For each class, the share of rows whose interval contains a known probability, for simulated data."""
        known = np.asarray(proba, dtype=np.float64)
        if known.shape != self.lower.shape:
            raise ValueError(f"proba has the shape {known.shape}: must have that of the intervals, {self.lower.shape}")
        return np.asarray(((self.lower <= known) & (known <= self.upper)).mean(axis=0))


class WithIntervals:
    """An ensemble that is a mean or a pool of trees and has intervals for its probabilities."""

    classes_: npt.NDArray[Any]
    seed_: int
    bootstrap: Any
    _estimate: Any
    interval_rows_: EncodedRows
    interval_scale_: float

    def learn_intervals(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Prepare :meth:`predict_proba_interval`: store the training rows, and measure how much they move predictions.

        The encoded rows become part of the model and of its files. :meth:`update` and a further ``fit`` remove them.

        Parameters
        ----------
        X, y, sample_weight : the data that the model was fitted on
        """
        from petiole._classifiers.ensemble import training_again

        model: Any = self
        check_is_fitted(model)
        if not isinstance(self._estimate, (LeafMean, PooledComponents)):
            raise ValueError(
                f"learn_intervals: {type(self).__name__} looks up its predictions by votes, and intervals are for "
                "means and pools of trees: use BaggedPETClassifier or ProbabilityForestClassifier"
            )
        if isinstance(self._estimate, PooledComponents) and self._estimate.order is not None:
            raise ValueError(
                "learn_intervals: a pool with monotonic_cst has no intervals; leave the directions out, or use "
                "BaggedPETClassifier with them"
            )
        rows = training_again(model, X, y, sample_weight, "learn_intervals")
        n_threads = model._n_threads()
        made = Jackknife.of(self._estimate, plans_of(self, self.seed_), rows, n_threads)
        scale = made.scale(n_threads)
        self.interval_rows_, self.interval_scale_ = rows, scale
        vars(self)[MADE] = made
        return self

    def predict_proba_interval(self, X: Any, level: float = 0.9) -> ProbabilityIntervals:
        """An interval for the probability of each class, which shows how much it would vary with other training rows.

        Call :meth:`learn_intervals` once before. The variance is that of the infinitesimal jackknife; the interval is
        Wilson's for a share with this variance. It does not include bias: if trees are wrong on average over training
        sets, it contains the mean of their predictions, not the true probability. Unlike :meth:`predict_proba_std`, it
        is about other rows, and not about other trees grown on the same rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        level : float, default=0.9
            The share of intervals that contain the probability. Each is for a single class and row.

        Returns
        -------
        ProbabilityIntervals, with ``lower`` and ``upper`` of shape (n_rows, n_classes)
        """
        model: Any = self
        check_is_fitted(model)
        check_fraction("level", level)
        if "interval_rows_" not in vars(self):
            raise ValueError(
                "predict_proba_interval needs the rows that the model was fitted on, and the model does not hold them: "
                "call learn_intervals(X, y) with them first; it makes them part of the model and of its files"
            )
        n_threads = model._n_threads()
        if MADE not in vars(self):
            plans = plans_of(self, self.seed_)
            vars(self)[MADE] = Jackknife.of(self._estimate, plans, self.interval_rows_, n_threads)
        found = vars(self)[MADE].spread(encode_queries(model, X), n_threads)
        lower, upper = found.intervals(float(level), self.interval_scale_)
        return ProbabilityIntervals(lower, upper, found.proba, self.classes_, float(level))


def forget_intervals(model: Any) -> None:
    """Remove what was kept for intervals."""
    for name in (*INTERVAL_FIELDS, MADE):
        vars(model).pop(name, None)


def check_intervals(state: dict[str, Any]) -> None:
    """Raise ValueError unless the rows of a saved model fit it."""
    require(("interval_rows_" in state) == ("interval_scale_" in state), "interval_rows_: needs interval_scale_")
    if "interval_rows_" not in state:
        return
    rows, encoder = state["interval_rows_"], state["encoder_"]
    require("seed_" in state, "interval_rows_: needs seed_")
    require(np.array_equal(rows.classes, state["classes_"]), "interval_rows_: must have the classes of the model")
    require(rows.n_columns == encoder.n_features, "interval_rows_: must have the columns of the model")
    require(np.array_equal(rows.n_categories, encoder.n_categories), "interval_rows_: must have the same categories")
    require(
        np.allclose(rows.class_weights(), state["class_weights_"]), "interval_rows_: must have the classes' weights"
    )
