"""The user's own estimators in a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from petiole._table.encoder import FeatureEncoder
from petiole.files.savable import SavableModel
from petiole.study.data import Table
from petiole.study.methods import METHODS, Method
from petiole.study.peers import PeerClassifier, weights_for


def extra_methods(extra: Any, table: Table) -> list[Method]:
    """The user's estimators as methods; a dict of them by name, or a list."""
    if extra is None:
        return []
    named = dict(extra) if isinstance(extra, Mapping) else _named(extra)
    for name, estimator in named.items():
        _check(name, estimator)
    return [
        Method(
            name,
            name,
            not isinstance(estimator, SavableModel),
            partial(_make, _taking_tables(estimator, table.encoder)),
        )
        for name, estimator in named.items()
    ]


def _named(extra: Any) -> dict[str, Any]:
    if isinstance(extra, (str, bytes)) or not hasattr(extra, "__iter__"):
        raise ValueError(f"extra={extra!r}: must be a dict of estimators by name, or a list of estimators")
    found: dict[str, Any] = {}
    for estimator in extra:
        name = type(estimator).__name__
        if name in found:
            raise ValueError(f"extra: two estimators are of the class {name}; give them names in a dict")
        found[name] = estimator
    return found


def _check(name: Any, estimator: Any) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"extra: {name!r} is not a name for an estimator; use a string")
    if name in METHODS:
        raise ValueError(f"extra: {name!r} is the name of a method of petiole.study; choose another")
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ValueError(
            f"extra: {name}={estimator!r} is not an estimator; pass an object such as LogisticRegression()"
        )
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"extra: {name} gives no probabilities: it has no predict_proba; wrap it in CalibratedClassifierCV"
        )


def _taking_tables(estimator: Any, encoder: FeatureEncoder) -> Any:
    """Estimators for tables stay as they are, pipelines get the table, and others a matrix of numbers."""
    if "categorical_features" in estimator.get_params(deep=False) and isinstance(
        estimator, (SavableModel, PeerClassifier)
    ):
        return estimator
    if isinstance(estimator, Pipeline):
        return TablePipeline(estimator, encoder)
    takes_missing = get_tags(estimator).input_tags.allow_nan
    return PeerClassifier(estimator, missing="keep" if takes_missing else "impute")


def _make(estimator: Any, random_state: Any, n_jobs: int) -> Any:
    """A new copy, seeded if it has no seed, so that a study can be repeated."""
    model = clone(estimator)
    seeds = {name for name, value in model.get_params().items() if name.endswith("random_state") and value is None}
    return model.set_params(**dict.fromkeys(seeds, random_state))


class TablePipeline(ClassifierMixin, BaseEstimator):
    """A pipeline of the user, which gets the rows of a study as the table that was given.

    A study works on one float matrix. Before the pipeline sees rows of it they are a table with names and categories
    again; other rows go to it as they are.

    Parameters
    ----------
    pipeline : Pipeline
    encoder : FeatureEncoder
        Which has made the matrix.
    """

    def __init__(self, pipeline: Any, encoder: Any) -> None:
        self.pipeline = pipeline
        self.encoder = encoder

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the pipeline; weights go to its last step."""
        self.pipeline_ = clone(self.pipeline)
        self.pipeline_.fit(self._table(X), y, **weights_for(self.pipeline_, sample_weight))
        self.classes_ = self.pipeline_.classes_
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Class probabilities of the rows."""
        return np.asarray(self.pipeline_.predict_proba(self._table(X)), dtype=np.float64)

    def _table(self, X: Any) -> Any:
        return decoded(self.encoder, X) if isinstance(X, np.ndarray) and X.dtype.kind == "f" else X


def decoded(encoder: FeatureEncoder, matrix: npt.NDArray[Any]) -> Any:
    """The table that an encoder has made a matrix of: a frame if it had names, else an array.

    >>> from petiole.study.data import read_table_of_study
    >>> table = read_table_of_study([["red", 1.5], ["blue", None], ["red", 2.5]], ["a", "b", "a"], None)
    >>> decoded(table.encoder, table.rows.matrix).tolist()
    [['red', 1.5], ['blue', nan], ['red', 2.5]]
    """
    if encoder.feature_names is None and all(of is None for of in encoder.categories):
        return matrix
    columns = [_values(matrix[:, j], of) for j, of in enumerate(encoder.categories)]
    if encoder.feature_names is None:
        return np.column_stack([column.astype(object) for column in columns])
    try:
        import pandas as pd
    except ImportError:
        import polars as pl

        return pl.DataFrame(dict(zip(encoder.feature_names, columns, strict=True)))
    return pd.DataFrame(dict(zip(encoder.feature_names, columns, strict=True)))


def _values(codes: npt.NDArray[Any], categories: Any) -> npt.NDArray[Any]:
    if categories is None:
        return codes
    missing = np.isnan(codes)
    values = np.asarray(categories, dtype=object)[np.where(missing, 0, codes).astype(np.intp)]
    values[missing] = None
    return values
