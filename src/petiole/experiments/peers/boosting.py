"""Gradient boosting of four libraries: with defaults, and stopped early by the log-loss of held-out rows.

All take categorical columns as such. Those that stop early hold out a fifth of the training rows, make up to a thousand
rounds, and stop when fifty rounds have not improved on the best; other parameters stay at their defaults.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole.experiments.which_method.models import CategoryBoosting

Columns = NDArray[np.bool_]
ROUNDS, PATIENCE, HELD_OUT = 1000, 50, 0.2


class Boosting:
    """A classifier of another library, made when it is fitted: it may want to know the number of classes."""

    model_: Any

    def __init__(self, categorical: Columns, seed: int) -> None:
        self.categorical, self.seed = categorical, seed

    def columns(self, X: Floats) -> Any:
        """The rows as the library takes them."""
        return X

    def predict_proba(self, X: Floats) -> Floats:
        proba: Floats = self.model_.predict_proba(self.columns(X))
        return proba

    def held_out(self, X: Floats, y: Array) -> tuple[Any, Any, Array, Array]:
        """The rows to fit on and those to stop by, each class in both; then their labels."""
        X, X_held, y, y_held = train_test_split(X, y, test_size=HELD_OUT, stratify=y, random_state=self.seed)
        return self.columns(X), self.columns(X_held), y, y_held


class LightGBM(Boosting):
    """LightGBM with its defaults."""

    def fit(self, X: Floats, y: Array) -> Self:
        self.model_ = self._make().fit(X, y, categorical_feature=self._indices())
        return self

    def _make(self, **options: Any) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(random_state=self.seed, n_jobs=1, verbose=-1, **options)

    def _indices(self) -> list[int]:
        return [int(index) for index in np.flatnonzero(self.categorical)]


class LightGBMStopped(LightGBM):
    """LightGBM, stopped early."""

    def fit(self, X: Floats, y: Array) -> Self:
        from lightgbm import early_stopping

        X, X_held, y, y_held = self.held_out(X, y)
        self.model_ = self._make(n_estimators=ROUNDS).fit(
            X,
            y,
            categorical_feature=self._indices(),
            eval_set=[(X_held, y_held)],
            callbacks=[early_stopping(PATIENCE, verbose=False)],
        )
        return self


class XGBoost(Boosting):
    """XGBoost with its defaults."""

    def fit(self, X: Floats, y: Array) -> Self:
        self.model_ = self._make().fit(X, y)
        return self

    def _make(self, **options: Any) -> Any:
        from xgboost import XGBClassifier

        kinds = np.where(self.categorical, "c", "q").tolist()
        return XGBClassifier(random_state=self.seed, n_jobs=1, feature_types=kinds, enable_categorical=True, **options)


class XGBoostStopped(XGBoost):
    """XGBoost, stopped early."""

    def fit(self, X: Floats, y: Array) -> Self:
        X, X_held, y, y_held = self.held_out(X, y)
        metric = "logloss" if y.max() == 1 else "mlogloss"
        self.model_ = self._make(n_estimators=ROUNDS, early_stopping_rounds=PATIENCE, eval_metric=metric)
        self.model_.fit(X, y, eval_set=[(X_held, y_held)], verbose=False)
        return self


class CatBoost(Boosting):
    """CatBoost with its defaults."""

    def fit(self, X: Floats, y: Array) -> Self:
        self.model_ = self._make(y).fit(self.columns(X), y)
        return self

    def columns(self, X: Floats) -> Any:
        """A data frame: whole numbers for the categories, with -1 for a missing one."""
        import pandas as pd

        codes = np.nan_to_num(X, nan=-1).astype(np.int64)
        return pd.DataFrame({f"x{i}": (codes if nominal else X)[:, i] for i, nominal in enumerate(self.categorical)})

    def _make(self, y: Array, **options: Any) -> Any:
        from catboost import CatBoostClassifier

        loss = "Logloss" if y.max() == 1 else "MultiClass"
        return CatBoostClassifier(
            loss_function=loss,
            cat_features=[f"x{i}" for i in np.flatnonzero(self.categorical)],
            random_seed=self.seed,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
            **options,
        )


class CatBoostStopped(CatBoost):
    """CatBoost, stopped early. A thousand rounds are its default."""

    def fit(self, X: Floats, y: Array) -> Self:
        X, X_held, y, y_held = self.held_out(X, y)
        self.model_ = self._make(y, early_stopping_rounds=PATIENCE)
        self.model_.fit(X, y, eval_set=(X_held, y_held), use_best_model=True)
        return self


class HistGBStopped(Boosting):
    """scikit-learn's histogram gradient boosting, stopped early."""

    def fit(self, X: Floats, y: Array) -> Self:
        X, X_held, y, y_held = self.held_out(X, y)
        self.model_ = _StoppedCategoryBoosting(self.categorical, self.seed, X_held, y_held).fit(X, y)
        return self


class _StoppedCategoryBoosting(CategoryBoosting):
    def __init__(self, categorical: Columns, seed: int, X_held: Floats, y_held: Array) -> None:
        super().__init__(categorical, seed)
        self.X_held, self.y_held = X_held, y_held

    def fit_kept(self, model: HistGradientBoostingClassifier, X: Floats, y: Array) -> HistGradientBoostingClassifier:
        model.set_params(max_iter=ROUNDS, early_stopping=True, n_iter_no_change=PATIENCE)
        return model.fit(X, y, X_val=self.X_held[:, self.kept_], y_val=self.y_held)
