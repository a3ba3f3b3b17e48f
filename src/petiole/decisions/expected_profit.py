"""Two models in one: the probability of a gift, and its amount."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.judged import check_probabilities
from petiole._table.labels import check_weights, encode_labels
from petiole._table.rows import rows_that_count
from petiole._validation import WithoutClassWeight, check_choice, check_number
from petiole.decisions.mailing import LETTER
from petiole.decisions.wrapping import (
    add_column,
    check_fitted_classes,
    check_has_probabilities,
    forget_fit,
    held_out_probabilities,
    inherit_input_tags,
    share_columns,
    weight_arguments,
)
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import SavableModel

# The name of the probability among the regressors of a data frame.
PROBABILITY_COLUMN = "probability_of_a_gift"


class ExpectedProfitClassifier(WithoutClassWeight, SavableModel, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Choose the rows whose expected gift exceeds the cost of a letter (Zadrozny & Elkan 2001).

    A classifier estimates the probability of a gift, a regression its amount. ``predict`` returns the positive class
    for rows in which the product of the two exceeds the cost, even if a gift is improbable.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Estimates the probability of a gift.
    regressor : regressor or None, default=None
        Estimates the amount; fitted to the rows that gave. None: linear regression, as in the paper.
    cost : float, default=0.68
        The cost of a letter in the unit of the amounts; the default is that of the KDD'98 contest.
    pos_label : class label, optional
        The class of those who give; by default the second of the sorted classes.
    amount_columns : list of column names or numbers, or None, default=None
        The columns of X for the regression; None: all.
    add_probability : bool, default=False
        Whether the probability of a gift is added as the last regressor: the amounts are known only for those who
        gave, and those who are likely to give may give less. It is the correction after Heckman that Zadrozny & Elkan
        use in another paper (see the provenance page). In training, the probabilities are out-of-bag if the fitted
        estimator has them, and otherwise from ``cv`` folds.
    max_amount : float or None, default=None
        Larger gifts are treated as outliers and left out of the regression; 50 dollars in Zadrozny & Elkan's amount
        model (see the provenance page).
    cv : int, splitter or iterable, default=5
        The folds for ``add_probability``.

    Attributes
    ----------
    estimator_, regressor_ : the fitted models
    classes_ : array of the two class labels
    pos_label_ : the class of those who give
    n_amounts_ : int
        The number of gifts to which the regression was fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from petiole.decisions import ExpectedProfitClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 2))
    >>> gave = rng.uniform(size=2000) < 0.1 * X[:, 0]
    >>> gift = np.where(gave, 5 + 20 * X[:, 1], np.nan)  # those who gave nothing have no amount
    >>> model = ExpectedProfitClassifier(LogisticRegression()).fit(X, gave, amount=gift)
    >>> people = [[0.9, 0.9], [0.9, 0.0], [0.1, 0.9]]
    >>> model.predict_amount(people).round(1)
    array([23.,  5., 23.])
    >>> model.mail(people)
    array([ True, False, False])
    >>> model.expected_profit(people).round(2)
    array([ 1.95, -0.25, -0.09])
    """

    _saved = fields(
        estimator_=checks.fitted_classifier,
        regressor_=checks.instance_of("LinearRegression"),
        classes_=checks.labels,
        pos_label_=checks.label,
        n_amounts_=checks.whole(1),
        n_features_in_=maybe(checks.whole(1)),
        feature_names_in_=maybe(checks.names),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        classes = state["classes_"].tolist()
        require(len(classes) == 2 and state["pos_label_"] in classes, "pos_label_: must be one of two classes")
        check_fitted_classes(state["estimator_"], state["classes_"])
        checks.same_columns(state, state["estimator_"])
        checks.check_part("regressor", checks.none_or(checks.instance_of("LinearRegression")), self.regressor)
        regressor, columns = state["regressor_"], self._regressor_columns(state)
        require(hasattr(regressor, "coef_"), "regressor_: must be fitted")
        require(regressor.n_features_in_ == len(columns), f"regressor_: must have {len(columns)} columns")
        names = getattr(regressor, "feature_names_in_", None)
        require(names is None or names.tolist() == columns, "regressor_: must have the names of the columns")

    def _regressor_columns(self, state: dict[str, Any]) -> list[Any]:
        """The columns of the regression, by name where there are names, else by number."""
        names = state.get("feature_names_in_")
        known = list(range(state["n_features_in_"])) if names is None else names.tolist()
        chosen = known if self.amount_columns is None else _chosen(known, self.amount_columns)
        return [*chosen, PROBABILITY_COLUMN] if self.add_probability else chosen

    def __init__(
        self,
        estimator: Any,
        regressor: Any = None,
        *,
        cost: float = LETTER,
        pos_label: Any = None,
        amount_columns: Any = None,
        add_probability: bool = False,
        max_amount: float | None = None,
        cv: Any = 5,
    ) -> None:
        self.estimator = estimator
        self.regressor = regressor
        self.cost = cost
        self.pos_label = pos_label
        self.amount_columns = amount_columns
        self.add_probability = add_probability
        self.max_amount = max_amount
        self.cv = cv

    def fit(self, X: Any, y: Any, amount: Any = None, sample_weight: Any = None) -> ExpectedProfitClassifier:
        """Fit the classifier to all rows and the regression to those that gave.

        Parameters
        ----------
        X : table of shape (n_rows, n_features), in a form that both models accept
        y : labels of two classes
        amount : array of shape (n_rows,), optional
            The gift of each row; only read where the label is the positive one. None: every gift is worth two letters,
            so that rows are chosen if they are more likely to give than not.
        sample_weight : array of shape (n_rows,), optional
            For both models.
        """
        self._check_parameters()
        X, y = indexable(X, y)
        weights = check_weights(sample_weight, _num_samples(X))
        classes, codes = _two_classes(y, weights)
        positive = _column_of(classes, self.pos_label)
        gave = codes == positive
        amounts = _amounts(amount, gave, self.cost)
        estimator = clone(self.estimator).fit(X, y, **weight_arguments(self.estimator, weights, "estimator"))
        _check_same_classes(estimator, classes)
        features = self._regressors(X, lambda: self._held_out(estimator, X, y, positive, weights))
        rows = np.flatnonzero(gave & self._is_no_outlier(amounts))
        regressor = self._fit_regressor(features, amounts, rows, weights)
        # Nothing of the estimator changes before this point: a fit that fails or is stopped leaves it as it was.
        forget_fit(self)
        self.estimator_ = estimator
        self.regressor_ = regressor
        self.classes_ = classes
        self.pos_label_ = classes[positive]
        self.n_amounts_ = len(rows)
        share_columns(estimator, self)
        return self

    def predict(self, X: Any) -> Array:
        """Return the positive class for rows that are worth a letter, the other class for all others."""
        mailed = self.mail(X)
        positive = self._positive_column
        return self.classes_[np.where(mailed, positive, 1 - positive)]

    def mail(self, X: Any) -> Array:
        """Return whether each row is worth a letter, as booleans."""
        return self.expected_profit(X) > 0

    def expected_profit(self, X: Any) -> Floats:
        """Return the expected profit of a letter to each row: P(gift | x) · amount(x) − cost."""
        chances = self._chances_of(X)
        return chances * self._amounts_of(X, chances) - self.cost

    def predict_amount(self, X: Any) -> Floats:
        """Return the expected gift of each row, given that there is one."""
        return self._amounts_of(X, self._chances_of(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of the classifier, in the order of ``classes_``."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        inherit_input_tags(tags, self.estimator, self._regressor())
        return tags

    def _check_parameters(self) -> None:
        check_has_probabilities(self.estimator)
        check_number("cost", self.cost, 0)
        check_choice("add_probability", self.add_probability, (True, False))
        if self.max_amount is not None:
            check_number("max_amount", self.max_amount, 0)
        columns = self.amount_columns
        if columns is not None and (isinstance(columns, (str, bytes)) or not np.iterable(columns)):
            raise ValueError(f"amount_columns={columns!r}: must be a list of names or of numbers of columns, or None")

    def _regressor(self) -> Any:
        if self.regressor is not None:
            return self.regressor
        from sklearn.linear_model import LinearRegression

        return LinearRegression()

    def _is_no_outlier(self, amounts: Floats) -> Array:
        return np.full(len(amounts), True) if self.max_amount is None else amounts <= self.max_amount

    def _fit_regressor(self, features: Any, amounts: Floats, rows: Array, weights: Floats | None) -> Any:
        if not len(rows):
            raise ValueError(
                f"max_amount={self.max_amount!r}: all gifts are larger, and none is left to learn from: raise it"
            )
        model = clone(self._regressor())
        arguments = weight_arguments(model, None if weights is None else weights[rows], "regressor")
        return model.fit(_safe_indexing(features, rows), amounts[rows], **arguments)

    def _held_out(self, fitted: Any, X: Any, y: Any, positive: int, weights: Any) -> Floats:
        arguments = weight_arguments(self.estimator, weights, "estimator")
        return held_out_probabilities(self.estimator, fitted, X, y, self.cv, arguments)[:, positive]

    def _regressors(self, X: Any, chances: Any) -> Any:
        """The regression's columns; ``chances`` is called only if probabilities are one of them."""
        columns = self.amount_columns
        features = X if columns is None else _safe_indexing(X, list(columns), axis=1)
        return add_column(features, chances(), PROBABILITY_COLUMN) if self.add_probability else features

    def _chances_of(self, X: Any) -> Floats:
        return check_probabilities(self.predict_proba(X))[:, self._positive_column]

    @property
    def _positive_column(self) -> int:
        return self.classes_.tolist().index(self.pos_label_)

    def _amounts_of(self, X: Any, chances: Floats) -> Floats:
        return np.asarray(self.regressor_.predict(self._regressors(X, lambda: chances)), dtype=np.float64).ravel()


def _chosen(known: list[Any], amount_columns: Any) -> list[Any]:
    """The columns that are chosen by name, by number or by a mask."""
    alike = isinstance(amount_columns, np.ndarray) or len(set(map(type, amount_columns))) <= 1
    require(alike, "amount_columns: must be all names or all numbers")
    if len(amount_columns) == 0:
        return []
    asked = np.asarray(amount_columns)
    require(asked.ndim == 1 and asked.dtype.kind in "iubUO", "amount_columns: must be a list of names or of numbers")
    if asked.dtype.kind in "UO":
        require(all(column in known for column in asked.tolist()), "amount_columns: must be columns of the fit")
        return asked.tolist()
    try:
        return np.array(known, dtype=object)[asked].tolist()
    except IndexError as error:
        raise ValueError(f"amount_columns: {error}") from None


def _two_classes(y: Any, weights: Floats | None) -> tuple[Array, Array]:
    classes, codes = encode_labels(y)
    kept = rows_that_count(weights)
    present = classes[np.unique(codes if kept is None else codes[kept])].tolist()
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y has the classes {classes.tolist()}; say only whether a row gave"
        )
    if len(present) < 2:
        raise ValueError(f"y has one class, {present[0]!r}: rows that gave and rows that did not are both needed")
    return classes, codes


def _check_same_classes(estimator: Any, classes: Array) -> None:
    """A frozen estimator may have been fitted to other labels."""
    known = np.asarray(estimator.classes_).tolist()
    if known != classes.tolist():
        raise ValueError(
            f"y has the classes {classes.tolist()}, but the estimator knows {known}: give it the same labels"
        )


def _column_of(classes: Array, pos_label: Any) -> int:
    if pos_label is None:
        return 1
    if pos_label not in classes.tolist():
        raise ValueError(f"pos_label={pos_label!r}: must be one of the classes {classes.tolist()}")
    return classes.tolist().index(pos_label)


def _amounts(amount: Any, gave: Array, cost: float) -> Floats:
    if amount is None:
        return np.full(len(gave), 2.0 * cost if cost > 0 else 1.0)
    amounts = np.asarray(amount)
    if amounts.shape != gave.shape or amounts.dtype.kind not in "fiub":
        raise ValueError(
            f"amount has shape {amounts.shape} and dtype {amounts.dtype}: must be one number for each of the "
            f"{len(gave)} rows; it is not read where nothing was given"
        )
    bad = gave & ~np.isfinite(amounts)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"amount[{row}]={amounts[row]}: row {row} gave, so it needs a finite amount; correct or drop it"
        )
    return np.where(gave, amounts, 0.0)
