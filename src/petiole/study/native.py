"""How other libraries declare categorical columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MOST_CATEGORIES = 255  # the most that scikit-learn's boosting accepts


def tell_categories(model: Any, is_categorical: npt.NDArray[np.bool_], n_categories: npt.NDArray[Any]) -> Any:
    """Declare categorical columns to an estimator; returns a transformer that its rows need, or None."""
    where = np.flatnonzero(is_categorical).tolist()
    library = type(model).__module__.split(".")[0]
    if library == "lightgbm":
        model.set_params(categorical_feature=where)
    elif library == "xgboost":
        kinds = ["c" if categorical else "q" for categorical in is_categorical]
        model.set_params(enable_categorical=True, feature_types=kinds)
    elif library == "catboost":
        model.set_params(cat_features=where)
        return CategoriesAsTexts(where)
    else:
        model.set_params(categorical_features=is_categorical & (n_categories <= MOST_CATEGORIES))
    return None


class CategoriesAsTexts:
    """Rows for CatBoost: numbers, and categories as text; a missing value is a category."""

    def __init__(self, where: list[int]) -> None:
        self._where = where

    def transform(self, matrix: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The rows as objects."""
        table = matrix.astype(object)
        for column in self._where:
            values = matrix[:, column]
            table[:, column] = np.where(np.isnan(values), "missing", np.nan_to_num(values).astype(int).astype(str))
        return table
