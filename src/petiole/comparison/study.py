"""How bias and variance of an estimator change with one of its parameters, over many learning sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import Codes, check_same_length, check_weights, encode_labels, label_codes
from petiole._validation import check_whole
from petiole.comparison.decomposition import BiasVariance, check_rows, of_probabilities, of_votes, read_truth
from petiole.comparison.rendering import as_markdown, as_text
from petiole.comparison.resampling import Wholes, as_generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BATCH = 10  # number of learning sets whose predictions are in memory at once
PARTS = ("error", "squared_bias", "variance", "noise")


@dataclass(frozen=True, eq=False)
class BiasVarianceStudy:
    """Error, squared bias, variance and noise for each value of a parameter.

    Attributes
    ----------
    parameter : str
    values : list
    decisions : list of BiasVariance
        Of the 0/1 error of ``predict``, for each value.
    probabilities : list of BiasVariance, or None
        Of the squared error of ``predict_proba``, for each value; None for estimators that have no probabilities.
    n_sets, set_size : int
    """

    parameter: str
    values: list[Any]
    decisions: list[BiasVariance]
    probabilities: list[BiasVariance] | None
    n_sets: int
    set_size: int

    @property
    def error(self) -> Floats:
        """0/1 error, one per value."""
        return _collected(self.decisions, "error")

    @property
    def squared_bias(self) -> Floats:
        """Squared bias of the decisions, one per value."""
        return _collected(self.decisions, "squared_bias")

    @property
    def variance(self) -> Floats:
        """Variance of the decisions, one per value."""
        return _collected(self.decisions, "variance")

    @property
    def noise(self) -> Floats:
        """Noise in the decisions, one per value."""
        return _collected(self.decisions, "noise")

    @property
    def best_value(self) -> Any:
        """The value with the least 0/1 error; in a tie, the first."""
        return self.values[int(self.error.argmin())]

    def to_text(self) -> str:
        """A line per value, as plain text."""
        return as_text(*self._table())

    def to_markdown(self) -> str:
        """A line per value, in Markdown."""
        return as_markdown(*self._table())

    def plot(self, *, axes: Sequence[Axes] | None = None) -> list[Axes]:
        """Draw error, squared bias and variance over the values, as figures 3 and 4 of Geurts 2001.

        The left panel shows the decisions, the right one the probabilities, if the estimator has any. ``axes`` holds
        one matplotlib Axes per panel; by default a new figure.
        """
        from petiole.comparison.study_plot import draw_study

        return draw_study(self, axes)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        header = [self.parameter, *(part.replace("_", " ") for part in PARTS)]
        columns = [_collected(self.decisions, part) for part in PARTS]
        if self.probabilities is not None:
            header += [f"p: {part.replace('_', ' ')}" for part in PARTS]
            columns += [_collected(self.probabilities, part) for part in PARTS]
        rows = [[f"{value}", *(f"{column[i]:.4f}" for column in columns)] for i, value in enumerate(self.values)]
        return header, rows


def bias_variance_study(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    parameter: str,
    values: Iterable[Any],
    n_sets: int = 50,
    set_size: float = 0.5,
    refit: bool = True,
    replace: bool = False,
    sample_weight: Any = None,
    unbiased: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BiasVarianceStudy:
    """Estimate bias and variance over learning sets for each value of a parameter (Geurts 2001, section 2.4).

    ``n_sets`` learning sets are drawn from the pool (X, y). On each, the estimator is fitted with each value of the
    parameter and predicts the test rows. All values see the same learning sets.

    Parameters
    ----------
    estimator : scikit-learn classifier
        If it has ``predict_proba``, its probabilities are decomposed, too. The estimator is cloned and not changed. If
        it draws random numbers, set its ``random_state`` so that the study can be repeated.
    X, y : the rows from which learning sets are drawn
    X_test, y_test : the test rows
        ``y_test`` holds labels, or true probabilities P(C|x) with a column per class of ``y``, in sorted order.
    parameter : str
        A name for ``set_params``, also "estimator__max_depth".
    values : iterable
    n_sets : int, default=50
        The paper's number.
    set_size : int or float, default=0.5
        Rows in a learning set, or the share of the pool. The paper draws 500 of 18,000.
    refit : bool, default=True
        False fits once per learning set, with the first value, and only sets the parameter before each prediction. Use
        it for parameters that do not affect the fit, such as the noise of dual perturb and combine or a number of
        neighbours.
    replace : bool, default=False
        Whether a learning set may contain a row twice.
    sample_weight : array of shape (n_pool,), default=None
        Passed to ``fit``.
    unbiased : bool, default=False
        See :func:`bias_variance`.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int, default=None
        Number of learning sets processed in parallel; does not change the result.
    verbose : int, default=0
        Above 0, print how many learning sets are done.

    Returns
    -------
    BiasVarianceStudy

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from petiole import PETClassifier
    >>> from petiole.comparison import bias_variance_study
    >>> X, y = make_moons(1500, noise=0.3, random_state=0)
    >>> study = bias_variance_study(
    ...     PETClassifier(), X[:1000], y[:1000], X[1000:], y[1000:],
    ...     parameter="max_depth", values=[1, 3, 9], n_sets=10, set_size=100, random_state=0,
    ... )
    >>> study.squared_bias.round(3), study.variance.round(3)
    (array([0.15 , 0.099, 0.088]), array([0.088, 0.064, 0.067]))
    """
    check_whole("n_sets", n_sets, 1)
    values = list(values)
    if not values:
        raise ValueError("values=[]: must hold at least one value of the parameter")
    _check_parameter(estimator, parameter)
    pool = _Pool(X, y, check_weights(sample_weight, _num_samples(X)))
    truth, classes = _read_test(y_test, pool.classes)
    check_rows(_num_samples(X_test), len(truth), "X_test")
    size = _resolve_size(set_size, pool.n_rows, replace)
    random = as_generator(random_state)
    learning_sets = [random.choice(pool.n_rows, size, replace=replace) for _ in range(n_sets)]
    work = _Work(estimator, parameter, values, refit, X_test, classes)
    tallies = [_Tally(len(truth), len(classes)) for _ in values]
    for start in range(0, n_sets, BATCH):
        batch = learning_sets[start : start + BATCH]
        for answer in Parallel(n_jobs=n_jobs)(delayed(work.predict)(pool, rows) for rows in batch):
            for tally, (codes, proba) in zip(tallies, answer, strict=True):
                tally.add(codes, proba)
        if verbose > 0:
            print(f"learning set {start + len(batch)} of {n_sets}")
    decisions = [tally.decisions(truth, unbiased) for tally in tallies]
    probabilities = [tally.probabilities(truth, unbiased) for tally in tallies] if tallies[0].has_proba else None
    return BiasVarianceStudy(parameter, values, decisions, probabilities, n_sets, size)


class _Pool:
    """The rows that learning sets are drawn from."""

    def __init__(self, X: Any, y: Any, weights: Floats | None) -> None:
        self.classes, codes = encode_labels(y)
        self.n_rows = _num_samples(X)
        check_same_length(self.n_rows, len(codes))
        self._X, self._y, self._weights = X, self.classes[codes], weights

    def fit(self, model: Any, rows: Wholes) -> Any:
        weights = {} if self._weights is None else {"sample_weight": self._weights[rows]}
        return model.fit(_safe_indexing(self._X, rows), self._y[rows], **weights)


@dataclass(frozen=True)
class _Work:
    """What is done on each learning set."""

    estimator: Any
    parameter: str
    values: list[Any]
    refit: bool
    X_test: Any
    classes: Array

    def predict(self, pool: _Pool, rows: Wholes) -> list[tuple[Codes, Floats | None]]:
        """Class codes and probabilities of the test rows, for each value."""
        answers, model = [], None
        for value in self.values:
            if model is None or self.refit:
                model = pool.fit(clone(self.estimator).set_params(**{self.parameter: value}), rows)
            else:
                model.set_params(**{self.parameter: value})
            codes = label_codes(model.predict(self.X_test), self.classes, "predict")
            answers.append((codes, self._probabilities(model)))
        return answers

    def _probabilities(self, model: Any) -> Floats | None:
        if not hasattr(model, "predict_proba"):
            return None
        given = np.asarray(model.predict_proba(self.X_test), dtype=np.float64)
        proba = np.zeros((len(given), len(self.classes)))
        # a learning set may lack classes
        proba[:, label_codes(model.classes_, self.classes, "y")] = given
        return proba


class _Tally:
    """Votes, and running means and variances of probabilities, over learning sets (Welford's update)."""

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self._votes = np.zeros((n_rows, n_classes))
        self._mean = np.zeros((n_rows, n_classes))
        self._squares = np.zeros((n_rows, n_classes))
        self._n_sets, self.has_proba = 0, True

    def add(self, codes: Codes, proba: Floats | None) -> None:
        self._n_sets += 1
        self._votes[np.arange(len(codes)), codes] += 1
        if proba is None:
            self.has_proba = False
            return
        step = proba - self._mean
        self._mean += step / self._n_sets
        self._squares += step * (proba - self._mean)

    def decisions(self, truth: Floats, unbiased: bool) -> BiasVariance:
        return of_votes(self._votes / self._n_sets, truth, self._n_sets, np.ones(len(truth)), unbiased)

    def probabilities(self, truth: Floats, unbiased: bool) -> BiasVariance:
        variance = self._squares / self._n_sets
        return of_probabilities(self._mean, variance, truth, self._n_sets, np.ones(len(truth)), unbiased)


def _check_parameter(estimator: Any, parameter: str) -> None:
    known = estimator.get_params(deep=True)
    if parameter not in known:
        names = ", ".join(sorted(known))
        raise ValueError(f"parameter={parameter!r}: {type(estimator).__name__} has the parameters {names}")


def _read_test(y_test: Any, classes: Array) -> tuple[Floats, Array]:
    if np.ndim(y_test) == 2 and np.shape(y_test)[1] > 1:
        return read_truth(y_test, classes)
    return read_truth(y_test, also=classes)


def _resolve_size(set_size: Any, n_rows: int, replace: bool) -> int:
    if isinstance(set_size, float) and 0 < set_size < 1:
        return max(1, round(set_size * n_rows))
    whole = isinstance(set_size, Integral) and not isinstance(set_size, bool)
    if whole and int(set_size) >= 1 and (replace or int(set_size) <= n_rows):
        return int(set_size)
    raise ValueError(
        f"set_size={set_size!r}: must be a share between 0 and 1, or a whole number from 1 to {n_rows}, the rows of X "
        "(more only with replace=True)"
    )


def _collected(parts: list[BiasVariance], name: str) -> Floats:
    return np.array([getattr(part, name) for part in parts])
