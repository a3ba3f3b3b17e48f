"""Other libraries' classifiers on petiole's tables: categorical columns one-hot or as categories."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import TableClassifier, encode_training, remember_columns
from petiole._table.columns import Floats
from petiole._validation import check_choice
from petiole.study.native import tell_categories

NOMINAL, MISSING = ("one_hot", "native"), ("keep", "impute")
MOST_CATEGORIES = (
    255  # the most that scikit-learn's boosting accepts, and the most columns that one categorical column becomes
)


class PeerClassifier(TableClassifier):
    """Wrap a scikit-learn classifier so that it accepts the tables that petiole's classifiers accept.

    The table may contain strings, categories and missing values. It becomes one float matrix, by the same code as for
    petiole's own classifiers. Categorical columns are then one-hot encoded (a missing value is one of the values) or
    declared to the estimator as categorical. Columns with only missing values are left out.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted; must accept missing numbers if there are any.
    nominal : {"one_hot", "native"}, default="one_hot"
        "native" declares the categorical columns to the estimator, in the form of scikit-learn's boosting, LightGBM,
        XGBoost and CatBoost. For scikit-learn, columns of more than 255 categories are then treated as numbers;
        "one_hot" merges the rarest of so many categories.
    missing : {"keep", "impute"}, default="keep"
        "impute" replaces missing numbers by the median and adds an indicator column, for estimators that do not accept
        missing values.
    categorical_features : as in :class:`petiole.PETClassifier`, default="from_dtype"

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : array of the class labels

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = [["red", 1.0], ["blue", None], ["red", 3.0], ["blue", 4.0]]
    >>> model = PeerClassifier(RandomForestClassifier(random_state=0)).fit(X, ["a", "b", "a", "b"])
    >>> model.predict([["red", None]])
    array(['a'], dtype=object)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        nominal: str = "one_hot",
        missing: str = "keep",
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.estimator = estimator
        self.nominal = nominal
        self.missing = missing
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator to the encoded rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            Passed to the estimator; rows of weight 0 are left out.
        """
        check_choice("nominal", self.nominal, NOMINAL)
        check_choice("missing", self.missing, MISSING)
        encoder, training = encode_training(self, X, y, sample_weight)
        kept = np.flatnonzero(~np.isnan(training.matrix).all(axis=0))
        is_categorical = training.n_categories[kept] > 0
        matrix, prepare, model = training.matrix[:, kept], None, clone(self.estimator)
        if self.nominal == "native" and is_categorical.any():
            prepare = tell_categories(model, is_categorical, training.n_categories[kept])
        elif self.missing == "impute" or is_categorical.any():
            prepare = _preparation(is_categorical, self.missing).fit(matrix)
        columns = _columns(matrix, prepare)
        model.fit(columns, training.labels, **weights_for(model, training.weights))
        remember_columns(self, X)
        self.encoder_ = encoder
        self.classes_ = training.classes
        self.estimator_ = model
        self.prepare_ = prepare
        self.kept_columns_ = kept
        return self

    def _average(self, matrix: npt.NDArray[Any]) -> Floats:
        check_is_fitted(self)
        columns = _columns(matrix[:, self.kept_columns_], self.prepare_)
        return np.asarray(self.estimator_.predict_proba(columns), dtype=np.float64)


def _preparation(is_categorical: npt.NDArray[np.bool_], missing: str) -> Any:
    """The transformer that one-hot encodes categorical columns and, if required, imputes missing numbers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False, dtype=np.float32
    )
    rest = SimpleImputer(strategy="median", add_indicator=True) if missing == "impute" else "passthrough"
    return ColumnTransformer([("categorical", one_hot, np.flatnonzero(is_categorical))], remainder=rest)


def _columns(matrix: npt.NDArray[Any], prepare: Any) -> Any:
    if prepare is None:
        return matrix if matrix.shape[1] else np.zeros((len(matrix), 1))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Found unknown categories")
        return prepare.transform(matrix)


def weights_for(model: Any, weights: Any) -> dict[str, Any]:
    """The argument of ``fit`` that passes on the weights, to the last step of a pipeline."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if weights is None:
        return {}
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(f"{type(last).__name__} does not accept weights: leave it out, or compare without weights")
    return {f"{model.steps[-1][0]}__sample_weight" if isinstance(model, Pipeline) else "sample_weight": weights}


def calibrated_forest(n_trees: int, random_state: Any, n_jobs: int) -> Any:
    """scikit-learn's forest with isotonic calibration in five folds, also if a class has fewer rows than folds."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_trees, random_state=random_state, n_jobs=n_jobs)
    return CalibratedClassifierCV(forest, method="isotonic", cv=AnyClassSizes(5))


class AnyClassSizes:
    """Stratified folds without a least size of classes, which scikit-learn derives from ``n_splits``.

    A class with fewer rows than folds is missing in the test part of some folds; its only row stays in training.
    """

    def __init__(self, n_folds: int) -> None:
        self.n_folds = n_folds

    def split(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Yield the positions of training and test rows of every fold."""
        from petiole.study.splits import fold_numbers

        folds = fold_numbers(np.asarray(y), min(self.n_folds, len(y)), np.random.default_rng(0))
        for fold in range(folds.max() + 1):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_folds
