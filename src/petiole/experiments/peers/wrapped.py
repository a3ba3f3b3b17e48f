"""Other peers: linear models, additive models, forests of other libraries, and calibration on the rows of folds."""

from __future__ import annotations

import logging
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from petiole._table.columns import Floats
from petiole._table.frames import Array

Columns = NDArray[np.bool_]
FOLDS = 5


def logistic_regression(categorical: Columns, seed: int) -> Pipeline:
    """Numbers in units of their spread, gaps filled by the median and marked; the penalty found in five folds."""
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (encoder, np.flatnonzero(categorical)), (numbers, np.flatnonzero(~categorical)), sparse_threshold=0
    )
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    model = LogisticRegressionCV(cv=folds, scoring="neg_log_loss", max_iter=1000, n_jobs=1)
    return make_pipeline(columns, model)


class CrossFitted:
    """A classifier fitted to all rows, and a calibrator fitted to what classifiers of five folds say of the others."""

    def __init__(self, model: Any, calibrator: Any, seed: int) -> None:
        self.model, self.calibrator, self.seed = model, calibrator, seed

    def fit(self, X: Floats, y: Array) -> Self:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)
        unseen = cross_val_predict(clone(self.model), X, y, cv=folds, method="predict_proba")
        self.calibrator_ = self.calibrator.fit(unseen, y)
        self.model_ = self.model.fit(X, y)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        proba: Floats = self.calibrator_.predict(self.model_.predict_proba(X))
        return proba


class EBM:
    """The explainable boosting machine of interpret-core with its defaults."""

    def __init__(self, categorical: Columns, seed: int) -> None:
        self.categorical, self.seed = categorical, seed

    def fit(self, X: Floats, y: Array) -> Self:
        from interpret.glassbox import ExplainableBoostingClassifier

        kinds = np.where(self.categorical, "nominal", "continuous").tolist()
        self.model_ = ExplainableBoostingClassifier(feature_types=kinds, random_state=self.seed, n_jobs=1).fit(X, y)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        proba: Floats = self.model_.predict_proba(X)
        return proba


class Yggdrasil:
    """A learner of YDF with the hyper-parameters that its authors recommend for benchmarks."""

    def __init__(self, learner: str, categorical: Columns, seed: int, **options: Any) -> None:
        import ydf

        ydf.verbose(0)
        logging.getLogger("absl").setLevel("ERROR")  # it warns of categories that look like numbers
        self.kind, self.categorical = getattr(ydf, learner), categorical
        template = self.kind.hyperparameter_templates()["benchmark_rank1v1"]
        self.options = {**template, **options, "random_seed": seed, "num_threads": 1}

    def fit(self, X: Floats, y: Array) -> Self:
        import ydf

        kinds = [
            ydf.Column(f"x{i}", ydf.Semantic.CATEGORICAL if is_categorical else ydf.Semantic.NUMERICAL)
            for i, is_categorical in enumerate(self.categorical)
        ]
        learner = self.kind(label="class", features=kinds, **self.options)
        self.model_ = learner.train({**self._columns(X), "class": y.astype(str)})
        return self

    def predict_proba(self, X: Floats) -> Floats:
        found = np.asarray(self.model_.predict(self._columns(X)), dtype=np.float64)
        if found.ndim == 1:  # two classes: the probability of the second
            found = np.column_stack([1 - found, found])
        return found[:, np.argsort([int(code) for code in self.model_.label_classes()])]

    def _columns(self, X: Floats) -> dict[str, Array]:
        return {
            f"x{i}": _as_text(X[:, i]) if is_categorical else X[:, i].astype(np.float32)
            for i, is_categorical in enumerate(self.categorical)
        }


def _as_text(codes: Floats) -> Array:
    """
    >>> _as_text(np.array([2.0, np.nan])).tolist()
    ['2', '']
    """
    return np.array(["" if np.isnan(code) else str(int(code)) for code in codes])


def ydf_boosting(categorical: Columns, seed: int) -> Yggdrasil:
    """YDF's gradient boosted trees."""
    return Yggdrasil("GradientBoostedTreesLearner", categorical, seed)


def ydf_forest(categorical: Columns, seed: int) -> Yggdrasil:
    """YDF's random forest, with the mean of the leaves' distributions in place of votes."""
    return Yggdrasil("RandomForestLearner", categorical, seed, winner_take_all=False)
