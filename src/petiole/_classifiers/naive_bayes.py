"""Naive Bayes on bins of equal counts, and Zadrozny & Elkan's binning of its scores."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import TableClassifier, encode_queries, encode_training, remember_columns
from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import settled
from petiole._table.rows import EncodedRows
from petiole._validation import WithoutConstraints, check_number, check_whole
from petiole.calibrators._binning import BinningCalibrator, bin_numbers, equal_weight_edges
from petiole.files import checks
from petiole.files.checks import fields, require

# A class that is impossible has log-odds of this size instead of infinite ones.
IMPOSSIBLE = 1e9
# The logarithm of the least probability that a double can hold is larger than this.
LEAST_LOG = -750.0


class BinnedNaiveBayesClassifier(WithoutConstraints, TableClassifier):
    """Naive Bayes with numeric features in bins of equal counts.

        P(k | x)  ∝  P(k) · Π_j P(x_j | k),      P(x_j = v | k) = (n_kv + α) / (n_k + α·V)

    A numeric feature is cut at the training rows' quantiles, with equal values in the same bin; a categorical one has
    its categories. V is the number of bins or categories that occur. A missing value, or a category that did not occur
    in training, leaves its factor out. Logarithms are added, so any number of features is possible.

    Naive Bayes ranks well but is overconfident, because features are not independent. ``score_bins`` corrects this as
    Zadrozny & Elkan (2001, section 2.5) do: the training rows are sorted by their log-odds and cut into bins, and the
    probability is the class's share of the rows in the bin. With more than two classes, each is binned against the
    rest.

    Parameters
    ----------
    n_bins : int, default=10
        Bins of each numeric feature (fewer where values are equal). The paper does not mention how it cut features.
    alpha : float, default=1.0
        Laplace's correction: rows added to each bin or category. With 0, a query that is impossible in every
        class gets the base rates.
    score_bins : int or None, default=None
        The paper's b: bins of the scores. None does not bin the scores; ``zadrozny_elkan`` sets 10.
    categorical_features : "from_dtype", None, names, indices or mask, default="from_dtype"
        As in :class:`petiole.PETClassifier`.

    Attributes
    ----------
    classes_ : array of the class labels
    class_weights_ : array of shape (n_classes,)
        The weight of rows of each class.
    edges_ : list with one entry per feature
        Boundaries between the bins of a numeric feature, None for a categorical one.
    feature_log_prob_ : list of arrays of shape (n_values, n_classes)
        ln P(x_j = v | k) of each feature.
    calibrator_ : BinningCalibrator or None
        The bins of the log-odds, if ``score_bins`` is set.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from petiole import BinnedNaiveBayesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X[:, :5]
    >>> int(y[31])
    0
    >>> BinnedNaiveBayesClassifier().fit(X, y).predict_proba(X[31:32]).round(4)
    array([[0.0031, 0.9969]])
    >>> BinnedNaiveBayesClassifier.zadrozny_elkan().fit(X, y).predict_proba(X[31:32]).round(4)
    array([[0.0702, 0.9298]])
    """

    no_constraints = (
        "the frequencies of its bins are counted one by one, in no order, and columns never interact: use "
        "PETClassifier, or any other classifier of trees"
    )

    _saved = fields(
        class_weights_=checks.weights(1, 1 / checks.LARGEST),
        edges_=checks.list_of(checks.none_or(checks.floats(1))),
        feature_log_prob_=checks.list_of(checks.floats(2, most=1e-9, infinite=True)),
        calibrator_=checks.none_or(checks.instance_of("BinningCalibrator")),
    )

    def _check_parameters(self) -> None:
        check_whole("n_bins", self.n_bins, 1)
        check_number("alpha", self.alpha, 0)
        check_whole("score_bins", self.score_bins, 1, optional=True)

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        encoder, n_classes, calibrator = state["encoder_"], len(state["classes_"]), state["calibrator_"]
        weights, edges, tables = state["class_weights_"], state["edges_"], state["feature_log_prob_"]
        require(weights.shape == (n_classes,), "class_weights_: must be one per class")
        require(len(edges) == len(tables) == encoder.n_features, "edges_, feature_log_prob_: must be one per column")
        for n_categories, of_column, table in zip(encoder.n_categories, edges, tables, strict=True):
            require((of_column is None) == (n_categories > 0), "edges_: must be None for categorical columns only")
            require(of_column is None or checks.increasing(of_column), "edges_: must increase")
            n_values = n_categories if of_column is None else len(of_column) + 1
            require(table.shape == (n_values, n_classes), "feature_log_prob_: must have a row per value")
            possible = table[~np.isneginf(table)]
            require((possible >= LEAST_LOG).all(), "feature_log_prob_: must be logarithms of probabilities")
        if calibrator is not None:
            fits = calibrator.__sklearn_is_fitted__() and calibrator.n_score_columns_ == n_classes
            require(fits, "calibrator_: must be fitted to the same classes")

    def __init__(
        self,
        n_bins: int = 10,
        *,
        alpha: float = 1.0,
        score_bins: int | None = None,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.n_bins = n_bins
        self.alpha = alpha
        self.score_bins = score_bins
        self.categorical_features = categorical_features

    @classmethod
    def zadrozny_elkan(cls, **overrides: Any) -> BinnedNaiveBayesClassifier:
        """Binned naive Bayes (Zadrozny & Elkan 2001): scores in ten bins, learned on the same training rows."""
        return cls(**{"score_bins": 10, **overrides})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model: count the class frequencies of each feature's values.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts twice and one of weight 0 not at all; bins have equal weights.
        """
        self._check_parameters()
        X = settled(X)
        encoder, training = encode_training(self, X, y, sample_weight)
        edges = [self._edges_of(training, j) for j in range(encoder.n_features)]
        tables = [self._log_factors(training, j, edges[j]) for j in range(encoder.n_features)]
        priors = training.class_weights()
        joint = joint_log_proba(training.matrix, edges, tables, priors)
        calibrator = self._bin_scores(joint, training)
        remember_columns(self, X)
        self.encoder_: FeatureEncoder = encoder
        self.classes_ = training.classes
        self.class_weights_ = priors
        self.edges_ = edges
        self.feature_log_prob_ = tables
        self.calibrator_ = calibrator
        return self

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """ln P(k) + Σ_j ln P(x_j | k) of each row and class, before it is divided by its sum or binned."""
        check_is_fitted(self)
        return self._joint(encode_queries(self, X))

    def _joint(self, matrix: npt.NDArray[Any]) -> Floats:
        return joint_log_proba(matrix, self.edges_, self.feature_log_prob_, self.class_weights_)

    def _average(self, matrix: npt.NDArray[Any]) -> Floats:
        joint = self._joint(matrix)
        if self.calibrator_ is not None:
            return self.calibrator_.predict(log_odds(joint))
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    def _edges_of(self, training: EncodedRows, j: int) -> Floats | None:
        if training.n_categories[j]:
            return None
        column = training.matrix[:, j]
        known = ~np.isnan(column)
        weights = None if training.weights is None else training.weights[known]
        return equal_weight_edges(column[known], weights, int(self.n_bins))

    def _log_factors(self, training: EncodedRows, j: int, edges: Floats | None) -> Floats:
        """ln P(x_j = v | k) of each value and class."""
        n_values = int(training.n_categories[j]) if edges is None else len(edges) + 1
        n_classes = len(training.classes)
        column = training.matrix[:, j]
        known = np.flatnonzero(~np.isnan(column))
        cells = value_numbers(column[known], edges) * n_classes + training.labels[known]
        weights = None if training.weights is None else training.weights[known]
        counts: Floats = np.bincount(cells, weights, minlength=n_values * n_classes).astype(np.float64)
        return log_shares(counts.reshape(n_values, n_classes), float(self.alpha))

    def _bin_scores(self, joint: Floats, training: EncodedRows) -> BinningCalibrator | None:
        if self.score_bins is None:
            return None
        calibrator = BinningCalibrator(int(self.score_bins))
        return calibrator._fit_checked(log_odds(joint), training.labels, training.weights, training.classes)


def value_numbers(column: npt.NDArray[Any], edges: Floats | None) -> npt.NDArray[np.intp]:
    """The bins of known numbers, or the codes of known categories."""
    return column.astype(np.intp) if edges is None else bin_numbers(column, edges)


def log_shares(counts: Floats, alpha: float) -> Floats:
    """Logarithms of each value's share of its class (the columns), Laplace's correction added.

    >>> np.exp(log_shares(np.array([[3.0, 0.0], [1.0, 2.0]]), 1.0)).round(3)
    array([[0.667, 0.25 ],
           [0.333, 0.75 ]])
    """
    n_values = len(counts)
    totals = counts.sum(axis=0) + alpha * n_values
    # A class all of whose values are missing gets equal shares, which is also the limit of a vanishing alpha.
    shares = np.where(totals > 0, (counts + alpha) / np.where(totals > 0, totals, 1.0), 1 / n_values)
    with np.errstate(divide="ignore"):
        return np.log(shares)


def joint_log_proba(
    matrix: npt.NDArray[Any], edges: list[Floats | None], tables: list[Floats], class_weights: Floats
) -> Floats:
    """Logarithms of P(class, x); the base rates where x is impossible in every class."""
    prior = np.log(class_weights / class_weights.sum())
    joint = np.tile(prior, (len(matrix), 1))
    for j, table in enumerate(tables):
        column = matrix[:, j]
        known = ~np.isnan(column)
        if known.all():
            joint += table[value_numbers(column, edges[j])]
        else:
            joint[known] += table[value_numbers(column[known], edges[j])]
    joint[np.isneginf(joint).all(axis=1)] = prior
    return joint


def log_odds(joint: Floats) -> Floats:
    """ln P(k, x) − ln Σ_{other} P(other, x): exact where probabilities would round to 1.

    >>> log_odds(np.log([[0.1, 0.3, 0.6]])).round(3)
    array([[-2.197, -0.847,  0.405]])
    """
    nothing = np.full((len(joint), 1), -np.inf)
    before = np.logaddexp.accumulate(np.hstack([nothing, joint[:, :-1]]), axis=1)
    after = np.logaddexp.accumulate(np.hstack([nothing, joint[:, :0:-1]]), axis=1)[:, ::-1]
    return np.clip(joint - np.logaddexp(before, after), -IMPOSSIBLE, IMPOSSIBLE)
