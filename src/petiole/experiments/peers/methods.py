"""The methods of the study against other libraries. To add one, add a line to ``METHODS``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from petiole import datasets
from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.oob_calibrated import OOBCalibratedClassifier
from petiole._classifiers.probability_forest import ProbabilityForestClassifier
from petiole.calibrators import IsotonicCalibrator, StructuredMatrixCalibrator, TemperatureCalibrator
from petiole.experiments.peers import boosting, wrapped
from petiole.experiments.peers.tabpfn import TabPFN
from petiole.experiments.which_method.models import CategoryBoosting, one_hot

Columns = NDArray[np.bool_]
Make = Callable[[Columns, int], Any]


def _everywhere(data_set: str) -> bool:
    return True


@dataclass(frozen=True)
class Method:
    """A way to class probabilities.

    Attributes
    ----------
    make : function of which columns are categorical and of a seed
        Makes the classifier, not fitted. It gets matrices of numbers, with NaN for what is missing.
    library : str
        The module without which it cannot be made.
    is_slow : bool
        Whether its cells come after those of the others, the later the larger the data set.
    suits : function of the name of a data set
        Whether the method takes it.
    """

    make: Make
    library: str = "petiole"
    is_slow: bool = False
    suits: Callable[[str], bool] = _everywhere


def _of_petiole(preset: Callable[..., Any], **options: Any) -> Method:
    return Method(
        lambda categorical, seed: preset(categorical_features=categorical, random_state=seed, n_jobs=1, **options)
    )


def _forest(kind: Any, n_trees: int = 100) -> Make:
    return lambda categorical, seed: one_hot(categorical, kind(n_trees, random_state=seed, n_jobs=1))


def _out_of_bag(calibrator: Any) -> Method:
    """A random forest whose probabilities are recalibrated on its out-of-bag rows."""
    forest = _forest(RandomForestClassifier)
    return Method(lambda categorical, seed: OOBCalibratedClassifier(forest(categorical, seed), calibrator()), "sklearn")


def _cross_fitted(calibrator: Any) -> Method:
    """Extra-trees see every row, so their probabilities are recalibrated on those of five folds."""
    forest = _forest(ExtraTreesClassifier)
    return Method(
        lambda categorical, seed: wrapped.CrossFitted(forest(categorical, seed), calibrator(), seed), "sklearn"
    )


def within_tabpfn(data_set: str) -> bool:
    """What TabPFN v1 was made for: at most 1,000 rows, 100 columns and 10 classes."""
    about = datasets.describe(data_set)
    return about.rows <= 1000 and len(about.kinds) <= 100 and len(about.classes) <= 10


FLAGSHIP_V1 = {
    "n_estimators": 256,
    "max_features": ("sqrt", 1),
    "members": ("forest",),
    "components": ("raw", "oob", "votes", "coarse"),
    "min_samples_leaf": 1,
    "max_bins": None,
    "missing": "fractional",
}

METHODS: dict[str, Method] = {
    "flagship": _of_petiole(ProbabilityForestClassifier),
    "flagship v1": _of_petiole(ProbabilityForestClassifier, **FLAGSHIP_V1),
    "petiole random forest": _of_petiole(BaggedPETClassifier.random_forest),
    "petiole EB-PETs": _of_petiole(BaggedPETClassifier.eb_pets),
    "LightGBM": Method(boosting.LightGBM, "lightgbm"),
    "LightGBM stopped": Method(boosting.LightGBMStopped, "lightgbm"),
    "XGBoost": Method(boosting.XGBoost, "xgboost"),
    "XGBoost stopped": Method(boosting.XGBoostStopped, "xgboost"),
    "HistGB": Method(CategoryBoosting, "sklearn"),
    "HistGB stopped": Method(boosting.HistGBStopped, "sklearn"),
    "logistic regression": Method(wrapped.logistic_regression, "sklearn"),
    "RF": Method(_forest(RandomForestClassifier), "sklearn"),
    "RF temperature": _out_of_bag(TemperatureCalibrator),
    "RF isotonic": _out_of_bag(IsotonicCalibrator),
    "RF structured": _out_of_bag(StructuredMatrixCalibrator),
    "ExtraTrees": Method(_forest(ExtraTreesClassifier), "sklearn"),
    "ExtraTrees temperature": _cross_fitted(TemperatureCalibrator),
    "ExtraTrees isotonic": _cross_fitted(IsotonicCalibrator),
    "ExtraTrees structured": _cross_fitted(StructuredMatrixCalibrator),
    "YDF boosting": Method(wrapped.ydf_boosting, "ydf"),
    "YDF forest": Method(wrapped.ydf_forest, "ydf"),
    "CatBoost": Method(boosting.CatBoost, "catboost", is_slow=True),
    "CatBoost stopped": Method(boosting.CatBoostStopped, "catboost", is_slow=True),
    "EBM": Method(wrapped.EBM, "interpret", is_slow=True),
    "RF (500 trees)": Method(_forest(RandomForestClassifier, 500), "sklearn", is_slow=True),
    "TabPFN v1 (4)": Method(lambda _, seed: TabPFN(4, seed), "tabpfn", suits=within_tabpfn),
    "TabPFN v1 (32)": Method(lambda _, seed: TabPFN(32, seed), "tabpfn", is_slow=True, suits=within_tabpfn),
}
