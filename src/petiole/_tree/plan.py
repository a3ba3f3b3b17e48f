"""The growth plan of a tree, made from the parameters of an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._table.constraints import Constraints
from petiole._validation import check_choice, check_number, check_whole, resolve_class_scale, resolve_max_features

CRITERIA = ("entropy", "gain_ratio", "gini", "kearns_mansour")
# scikit-learn's names for the same.
OTHER_NAMES = {"log_loss": "entropy"}
AUTO = "auto"  # a parameter that the fit may choose
NOMINAL_SPLITS = ("multiway", "binary")
MISSING = ("fractional", "separate")
THRESHOLDS = ("midpoint", "data")
SPLITS = ("best", "oblique", "random")


@dataclass(frozen=True, kw_only=True)
class TreePlan:
    """The settings from which a tree is grown; the parameters are those of :class:`PETClassifier`.

    >>> TreePlan(max_depth=3)
    TreePlan(max_depth=3)
    >>> TreePlan(criterion="chance")
    Traceback (most recent call last):
    ...
    ValueError: criterion='chance': must be one of 'entropy', 'gain_ratio', 'gini', 'kearns_mansour'
    """

    criterion: str = "entropy"
    max_depth: int | None = None
    min_samples_leaf: float = 1
    min_gain: float = 0.0
    max_features: int | float | str | None = None
    redraw: bool = True
    max_bins: int | None = None
    splits: str = "best"
    nominal_splits: str = "multiway"
    missing: str = "fractional"
    threshold: str = "midpoint"
    split_class_weight: str | Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("splits", self.splits, SPLITS)
        check_choice("nominal_splits", self.nominal_splits, NOMINAL_SPLITS)
        check_choice("missing", self.missing, MISSING)
        check_choice("threshold", self.threshold, THRESHOLDS)
        if self.splits != "best" and self.threshold == "data":
            raise ValueError(
                f"threshold='data': is for the cuts of splits='best', not of splits={self.splits!r}; use 'midpoint'"
            )
        check_whole("max_depth", self.max_depth, 1, optional=True)
        check_number("min_samples_leaf", self.min_samples_leaf, 1)
        check_number("min_gain", self.min_gain, 0)
        check_choice("redraw", self.redraw, (True, False))
        check_whole("max_bins", self.max_bins, 2, optional=True)
        resolve_max_features(self.max_features, 1)

    @classmethod
    def of(cls, estimator: Any, **changed: Any) -> Self:
        """The plan with the parameters of an estimator, some of which may be replaced.

        For parameters that are "auto", it has what the fit has chosen, and the default before the fit.
        """
        settings: dict[str, Any] = {field.name: getattr(estimator, field.name, field.default) for field in fields(cls)}
        for field in fields(cls) if getattr(estimator, "sizes_trees", False) else ():
            if isinstance(settings[field.name], str) and settings[field.name] == AUTO:
                settings[field.name] = vars(estimator).get(f"{field.name}_", field.default)
        settings |= changed
        if isinstance(settings["criterion"], str):
            settings["criterion"] = OTHER_NAMES.get(settings["criterion"], settings["criterion"])
        return cls(**settings)

    def chosen(self) -> dict[str, Any]:
        """The parameters that an ensemble may choose in the fit, or for one kind of trees."""
        names = ("max_features", "splits", "min_samples_leaf", "max_bins", "missing")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        """Shows only what differs from the defaults, as scikit-learn does."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = [f"{f.name}={chosen[f.name]!r}" for f in fields(self) if chosen[f.name] != f.default]
        return f"TreePlan({', '.join(changed)})"

    def coding(self) -> _core.CodingOptions:
        """How columns are coded: exactly, or in bins."""
        options = _core.CodingOptions()
        options.max_bins = 0 if self.max_bins is None else min(int(self.max_bins), 2**31 - 1)
        options.keep_distinct = self.threshold == "data"
        return options

    def options(
        self,
        n_features: int,
        classes: npt.NDArray[Any],
        class_weights: npt.NDArray[np.float64],
        seed: int | None,
        constraints: Constraints | None = None,
    ) -> _core.GrowOptions:
        """The core's options for a table with this many columns; without a seed ties go to the first feature."""
        options = _core.GrowOptions()
        options.criterion = getattr(_core.Criterion, self.criterion)
        options.splits = getattr(_core.Splits, self.splits)
        options.nominal_splits = getattr(_core.NominalSplits, self.nominal_splits)
        options.missing = getattr(_core.Missing, self.missing)
        if self.max_depth is not None:
            options.max_depth = min(int(self.max_depth), 2**31 - 1)
        options.min_samples_leaf = float(self.min_samples_leaf)
        options.min_gain = float(self.min_gain)
        options.redraw = bool(self.redraw)
        n_drawn = resolve_max_features(self.max_features, n_features)
        options.max_features = 0 if n_drawn >= n_features else n_drawn
        options.class_scale = resolve_class_scale(self.split_class_weight, classes, class_weights)
        options.thresholds_from_data = self.threshold == "data"
        options.random_ties = seed is not None
        options.seed = 0 if seed is None else seed
        if constraints is not None:
            options.signs, options.ordered_class = list(constraints.signs), constraints.target
            options.groups = [list(group) for group in constraints.groups]
        return options
