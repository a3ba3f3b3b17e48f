"""Bias and variance over many learning sets: of the 0/1 error, after Kohavi and Wolpert, and of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array, as_array
from petiole._table.judged import check_probabilities
from petiole._table.labels import Codes, check_weights, encode_labels, label_codes
from petiole.comparison.classes import distinct_names, union


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """An expected error and its parts: ``error == squared_bias + variance + noise``.

    Attributes
    ----------
    error, squared_bias, variance, noise : float
        Means over the test rows, by their weights.
    row_squared_bias, row_variance, row_noise : arrays of shape (n,)
        The parts at each test row; with ``unbiased=True`` a squared bias may be below zero.
    n_sets : int
        Number of learning sets.
    """

    error: float
    squared_bias: float
    variance: float
    noise: float
    row_squared_bias: Floats
    row_variance: Floats
    row_noise: Floats
    n_sets: int

    def __repr__(self) -> str:
        parts = f"squared_bias={self.squared_bias:.6g}, variance={self.variance:.6g}, noise={self.noise:.6g}"
        return f"BiasVariance(error={self.error:.6g}, {parts}, n_sets={self.n_sets})"


def bias_variance(
    predictions: Any, y_true: Any, *, labels: Any = None, sample_weight: Any = None, unbiased: bool = False
) -> BiasVariance:
    """Decompose the 0/1 error of models from L learning sets, after Kohavi and Wolpert 1996.

    At a point x, with P(C|x) the true probabilities and Q(C|x) the share of the models that predict C (Geurts 2001,
    equations 7 to 10)::

        noise  = 1/2 (1 - sum_C P(C|x)^2)
        bias^2 = 1/2 sum_C (P(C|x) - Q(C|x))^2
        var    = 1/2 (1 - sum_C Q(C|x)^2)

    and their sum is the expected error 1 - sum_C P(C|x) Q(C|x), exactly.

    Parameters
    ----------
    predictions : array of shape (n_sets, n)
        The labels that the model of each learning set predicts for the test rows.
    y_true : array of shape (n,) or (n, n_classes)
        True labels, or the true probabilities P(C|x) where they are known. With labels the noise counts as bias,
        because one label per row cannot tell them apart.
    labels : array of shape (n_classes,), default: the sorted labels
        The classes, in the order of the columns of P(C|x).
    sample_weight : array of shape (n,), default=None
        Weights of the test rows.
    unbiased : bool, default=False
        With few learning sets, Q varies by chance, and this variance counts as bias. True moves it, var / (L - 1),
        from the squared bias to the variance, as Kohavi & Wolpert (1996) do. Both are then unbiased.

    Returns
    -------
    BiasVariance

    Examples
    --------
    Four models and two test rows; half of the models are wrong about the first:

    >>> from petiole.comparison import bias_variance
    >>> bias_variance([["a", "b"], ["a", "b"], ["b", "b"], ["b", "b"]], ["a", "b"])
    BiasVariance(error=0.25, squared_bias=0.125, variance=0.125, noise=0, n_sets=4)
    """
    table = _read_predictions(predictions)
    truth, classes = read_truth(y_true, labels, also=encode_labels(table.ravel())[0])
    codes = label_codes(table.ravel(), classes, "predictions", remedy="pass labels= with all classes").reshape(
        table.shape
    )
    check_rows(table.shape[1], len(truth), "predictions")
    votes = np.stack([(codes == k).mean(axis=0) for k in range(len(classes))], axis=1)
    return of_votes(votes, truth, len(table), read_row_weights(sample_weight, len(truth)), unbiased)


def probability_bias_variance(
    proba: Any, y_true: Any, *, labels: Any = None, sample_weight: Any = None, unbiased: bool = False
) -> BiasVariance:
    """Decompose the squared error of class probabilities from L learning sets (Geurts 2001, equations 11 and 12).

    With m classes and the mean over the learning sets E::

        bias^2 = 1/m sum_C (E p(C|x) - P(C|x))^2
        var    = 1/m sum_C E (p(C|x) - E p(C|x))^2
        noise  = 1/m sum_C P(C|x) (1 - P(C|x))

    and their sum is the expected squared error against the label, E 1/m sum_C (p(C|x) - [y = C])^2: the Brier score
    over m.

    Parameters
    ----------
    proba : array of shape (n_sets, n, n_classes)
        The probabilities that the model of each learning set gives.
    y_true : array of shape (n,) or (n, n_classes)
        True labels, or the true probabilities P(C|x) where they are known. With labels the noise counts as bias.
    labels : array of shape (n_classes,), default: the sorted labels of y_true
        The class of each column of ``proba``.
    sample_weight : array of shape (n,), default=None
    unbiased : bool, default=False
        Divide the variance by L - 1 rather than L, and take the difference from the squared bias.

    Returns
    -------
    BiasVariance

    Examples
    --------
    >>> from petiole.comparison import probability_bias_variance
    >>> probability_bias_variance([[[0.9, 0.1]], [[0.5, 0.5]]], [[0.8, 0.2]])
    BiasVariance(error=0.21, squared_bias=0.01, variance=0.04, noise=0.16, n_sets=2)
    """
    tables = np.asarray(proba)
    if tables.ndim != 3 or not tables.size:
        raise ValueError(f"proba has shape {tables.shape}: must be (n_sets, n, n_classes)")
    n_sets, n_rows, n_classes = tables.shape
    tables = check_probabilities(tables.reshape(-1, n_classes)).reshape(tables.shape)
    truth, classes = read_truth(y_true, np.arange(n_classes) if labels is None and _is_table(y_true) else labels)
    if len(classes) != n_classes:
        raise ValueError(
            f"proba has {n_classes} columns, but the classes are {classes.tolist()}: "
            "pass labels= with the class of each column"
        )
    check_rows(n_rows, len(truth), "proba")
    mean = tables.mean(axis=0)
    variance = ((tables - mean) ** 2).mean(axis=0)
    return of_probabilities(mean, variance, truth, n_sets, read_row_weights(sample_weight, n_rows), unbiased)


def of_votes(votes: Floats, truth: Floats, n_sets: int, weights: Floats, unbiased: bool) -> BiasVariance:
    """Kohavi and Wolpert's parts from the share of models that vote for each class."""
    squared_bias = 0.5 * ((truth - votes) ** 2).sum(axis=1)
    # sums of v (1 - v) rather than 1 - sum of v^2, so that the variance of certain votes is exactly 0
    variance = 0.5 * (votes * (1 - votes)).sum(axis=1)
    noise = 0.5 * (truth * (1 - truth)).sum(axis=1)
    return _decomposition(squared_bias, variance, noise, n_sets, weights, unbiased)


def of_probabilities(
    mean: Floats, variance: Floats, truth: Floats, n_sets: int, weights: Floats, unbiased: bool
) -> BiasVariance:
    """The squared parts from means and variances over the learning sets."""
    squared_bias = ((mean - truth) ** 2).mean(axis=1)
    noise = (truth * (1 - truth)).mean(axis=1)
    return _decomposition(squared_bias, variance.mean(axis=1), noise, n_sets, weights, unbiased)


def _decomposition(
    squared_bias: Floats, variance: Floats, noise: Floats, n_sets: int, weights: Floats, unbiased: bool
) -> BiasVariance:
    if unbiased:
        if n_sets < 2:
            raise ValueError("unbiased=True: needs predictions from at least two learning sets")
        scatter = variance / (n_sets - 1)
        squared_bias, variance = squared_bias - scatter, variance + scatter
    bias, var, rest = (float(np.average(part, weights=weights)) for part in (squared_bias, variance, noise))
    return BiasVariance(bias + var + rest, bias, var, rest, squared_bias, variance, noise, n_sets)


def read_truth(y_true: Any, labels: Any = None, *, also: Array | None = None) -> tuple[Floats, Array]:
    """P(C|x), one line per row, and the classes of its columns; labels become ones and zeros.

    ``also`` holds classes beside those of ``y_true``, in which some may not occur.
    """
    if _is_table(y_true):
        table = check_probabilities(y_true, parameter="y_true")
        return table, _classes_of_table(table.shape[1], also if labels is None else labels, labels is None)
    if labels is None:
        classes, codes = _classes_of_both(y_true, also)
    else:
        classes = distinct_names("labels", labels, len(labels), "class")
        codes = label_codes(y_true, classes, "y_true", remedy="add it to labels= or remove these rows")
    truth = np.zeros((len(codes), len(classes)))
    truth[np.arange(len(codes)), codes] = 1.0
    return truth, classes


def read_row_weights(sample_weight: Any, n_rows: int) -> Floats:
    """One weight per test row."""
    weights = check_weights(sample_weight, n_rows)
    return np.ones(n_rows) if weights is None else weights


def check_rows(n_predicted: int, n_true: int, parameter: str) -> None:
    """Predictions and truth are of the same test rows."""
    if n_predicted != n_true:
        raise ValueError(
            f"{parameter} has {n_predicted} test rows, but y_true has {n_true}: give both for the same rows"
        )


def _is_table(y_true: Any) -> bool:
    return np.ndim(y_true) == 2 and np.shape(y_true)[1] > 1


def _classes_of_table(n_columns: int, classes: Any, guessed: bool) -> Array:
    if guessed and len(classes) != n_columns:
        raise ValueError(
            f"y_true has {n_columns} columns, but the classes predicted are {classes.tolist()}: "
            "pass labels= with the class of each column"
        )
    return distinct_names("labels", classes, n_columns, "column of y_true")


def _classes_of_both(y_true: Any, also: Array | None) -> tuple[Array, Codes]:
    classes, codes = encode_labels(y_true)
    if also is None:
        return classes, codes
    both = union(classes, also)
    return both, label_codes(classes, both, "labels")[codes]


def _read_predictions(predictions: Any) -> Array:
    table = as_array(predictions)
    if table.ndim != 2 or not table.size:
        raise ValueError(
            f"predictions has shape {table.shape}: must have a row per learning set, a column per test row"
        )
    return table
