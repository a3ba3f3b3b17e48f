"""The methods of the study over all of them: how each is made for a data set with categorical columns and a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.naive_bayes import BinnedNaiveBayesClassifier
from petiole._classifiers.oob_calibrated import OOBCalibratedClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._lazy.classifier import LazyOptionTreesClassifier
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.smoothing import Curtailment, MEstimate
from petiole.study.methods import METHODS, dual_of
from petiole.study.peers import MOST_CATEGORIES

Columns = NDArray[np.bool_]
Make = Callable[[Columns, int], Any]
FOLDS = 5


def _tree(preset: Callable[..., Any], **options: Any) -> Make:
    return lambda categorical, seed: preset(categorical_features=categorical, random_state=seed, n_jobs=1, **options)


def _of_study(name: str) -> Make:
    """A method that ``petiole.study`` compares, too: its settings stand there alone."""
    make = METHODS[name].make
    return lambda categorical, seed: make(seed, 1).set_params(categorical_features=categorical)


def _dual(base: Make) -> Make:
    return lambda categorical, seed: dual_of(base(categorical, seed), seed, 1)


def _recalibrated(categorical: Columns, seed: int) -> OOBCalibratedClassifier:
    return OOBCalibratedClassifier(_random_forest(categorical, seed))


def _naive_bayes(categorical: Columns, seed: int) -> BinnedNaiveBayesClassifier:
    return BinnedNaiveBayesClassifier(categorical_features=categorical)


def _peer_forest(categorical: Columns, seed: int) -> Pipeline:
    return one_hot(categorical, RandomForestClassifier(random_state=seed, n_jobs=1))


def _peer_calibrated(method: str) -> Make:
    def make(categorical: Columns, seed: int) -> Pipeline:
        forest = RandomForestClassifier(random_state=seed, n_jobs=1)
        return one_hot(categorical, CalibratedClassifierCV(forest, method=method, cv=FOLDS, n_jobs=1))

    return make


def one_hot(categorical: Columns, model: Any) -> Pipeline:
    """What scikit-learn's forests need: categorical columns one-hot, a missing value being one of the values.

    Missing numbers stay as they are: the forests deal with them.
    """
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(
        make_column_transformer((encoder, np.flatnonzero(categorical)), remainder="passthrough"), model
    )


class CategoryBoosting:
    """HistGradientBoostingClassifier with categorical columns named to it, as far as it can take them.

    Columns without a known value are an error to it and are left out; those with too many categories are ordinals.
    """

    def __init__(self, categorical: Columns, seed: int) -> None:
        self.categorical, self.seed = categorical, seed

    def fit(self, X: Floats, y: Array) -> Self:
        self.kept_ = ~np.isnan(X).all(axis=0)
        largest = np.nanmax(X[:, self.kept_], axis=0)
        categorical = self.categorical[self.kept_] & (largest < MOST_CATEGORIES)
        model = HistGradientBoostingClassifier(categorical_features=categorical, random_state=self.seed)
        self.model_ = self.fit_kept(model, X[:, self.kept_], y)
        return self

    def fit_kept(self, model: HistGradientBoostingClassifier, X: Floats, y: Array) -> HistGradientBoostingClassifier:
        """Fit the columns that are kept; a subclass may do it otherwise."""
        return model.fit(X, y)

    def predict_proba(self, X: Floats) -> Floats:
        proba: Floats = self.model_.predict_proba(X[:, self.kept_])
        return proba


_c44 = _tree(PETClassifier.c44)
_random_forest = _tree(BaggedPETClassifier.random_forest)
_eb_pets = _of_study("eb-pets")

TREES: dict[str, Make] = {
    "tree, raw": _tree(PETClassifier.c44, smoothing="raw"),
    "tree, Laplace": _c44,
    "tree, m-branch": _tree(PETClassifier.c44, smoothing="m_branch"),
    "tree, HGS honest": _of_study("pet"),
    "tree, C4.5 pruned": _tree(PETClassifier.c45),
    "tree, dual": _dual(_c44),
}
ENSEMBLES: dict[str, Make] = {
    "B-PETs": _of_study("b-pets"),
    "EB-PETs": _eb_pets,
    "EB-PETs, dual": _dual(_eb_pets),
    "MOB-ESP": _of_study("mob-esp"),
    "bagged curtailment": _tree(BaggedPETClassifier, bootstrap="plain", smoothing=Curtailment(smoothing=MEstimate())),
    "random forest": _random_forest,
    "random forest, OOB beta": _recalibrated,
    "probability forest": _of_study("probability-forest"),
}
OTHERS: dict[str, Make] = {
    "lazy options": _of_study("lazy-option-trees"),
    "lazy options, paper": _tree(LazyOptionTreesClassifier.paper),
    "naive Bayes": _naive_bayes,
}
PEERS: dict[str, Make] = {
    "sklearn RF": _peer_forest,
    "sklearn RF isotonic": _peer_calibrated("isotonic"),
    "sklearn RF sigmoid": _peer_calibrated("sigmoid"),
    "sklearn HistGB": CategoryBoosting,
}
MODELS = {**TREES, **ENSEMBLES, **OTHERS, **PEERS}
