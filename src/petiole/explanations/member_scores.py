"""Shapley values of the scores of models beside the trees: linear ones, with products of columns, and kernels.

What is not known counts as average, as a missing value does in these models: its features are 0. With background rows
it has their values.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._boosting.trees import BoostedTrees
from petiole._estimates.cross_fitted import CrossFitted
from petiole._linear.encoding import LinearEncoding
from petiole._linear.kernel import KernelEncoding
from petiole._linear.model import LinearModel
from petiole.explanations.additive import Additive
from petiole.explanations.tree_sums import Asked, explain_boosted

Floats = npt.NDArray[np.float64]
Owners = npt.NDArray[np.intp]

# Products of kernels are integrated with so many points at most: more change no digit.
MOST_POINTS = 48
# So many numbers are held at once.
NUMBERS_AT_ONCE = 2**21


def explain_member(model: CrossFitted, asked: Asked, starts: Additive | None) -> Additive:
    """The scores of a member: of several models the means, which give the geometric mean of their probabilities."""
    parts = [_scores(one, asked, starts) for one in model.asked]
    return functools.reduce(Additive.plus, parts).scaled(1.0 / len(parts))


def _scores(model: Any, asked: Asked, starts: Additive | None) -> Additive:
    if isinstance(model, BoostedTrees):
        return explain_boosted(model, asked, starts)
    assert isinstance(model, LinearModel)
    if isinstance(model.encoding, KernelEncoding):
        return _of_kernels(model, model.encoding, asked)
    return _of_features(model, model.encoding, asked)


def _of_features(model: LinearModel, encoding: LinearEncoding, asked: Asked) -> Additive:
    n_rows = len(asked.matrix)
    first, second = owners_of(encoding)
    features = encoding.features(asked.matrix)
    values = np.zeros((n_rows, encoding.n_columns, model.n_classes))
    if asked.background is None:
        base = model.intercepts.copy()
        by_first = by_second = features / 2
    else:
        others = encoding.features(asked.background)
        base = model.intercepts + others.mean(axis=0) @ model.coefficients
        by_first = by_second = (features - others.mean(axis=0)) / 2
        by_first, by_second = _of_products(encoding, asked, features, others.mean(axis=0), by_first, by_second)
    for owners, part in ((first, by_first), (second, by_second)):
        for column in np.unique(owners).tolist():
            mine = owners == column
            values[:, column] += part[:, mine] @ model.coefficients[mine]
    return Additive(values, base)


def owners_of(encoding: LinearEncoding) -> tuple[Owners, Owners]:
    """The two columns of each feature; the same one twice unless the feature is a product."""
    numeric, indicators = encoding.numeric, encoding.indicators
    once = np.concatenate([numeric.columns, numeric.columns[: len(numeric.deciles)]])
    of_indicators = np.zeros(len(indicators), dtype=np.int64)
    for column, chosen in zip(indicators.columns, indicators.chosen, strict=True):
        of_indicators[chosen[chosen >= 0]] = column
    columns = [np.concatenate([once, numeric.columns[which], of_indicators]) for which in numeric.pairs]
    return columns[0].astype(np.intp), columns[1].astype(np.intp)


def _of_products(
    encoding: LinearEncoding, asked: Asked, features: Floats, mean: Floats, by_first: Floats, by_second: Floats
) -> tuple[Floats, Floats]:
    """The same for products of two columns, where one may be a row's and the other that of a background row."""
    numeric = encoding.numeric
    if not numeric.n_products:
        return by_first, by_second
    assert asked.background is not None
    by_first, by_second = by_first.copy(), by_second.copy()
    at = np.arange(len(numeric) - numeric.n_products, len(numeric))
    _, left, right = numeric.values_and_factors(asked.matrix)
    _, left_of_others, right_of_others = numeric.values_and_factors(asked.background)

    def mixed(own: Floats, foreign: Floats) -> Floats:
        """The mean over background rows of the product of a row's factor and theirs."""
        known = ~np.isnan(foreign)
        product = own * np.nan_to_num(foreign).mean(axis=0) - encoding.means[at] * known.mean(axis=0)
        return np.nan_to_num(product / encoding.units[at])

    different = np.not_equal(*numeric.pairs)
    own_first, own_second = mixed(left, right_of_others), mixed(right, left_of_others)
    both, none = features[:, at], mean[at]
    for part, alone, other in ((by_first, own_first, own_second), (by_second, own_second, own_first)):
        part[:, at[different]] = ((alone - none) + (both - other))[:, different] / 2
    return by_first, by_second


def _of_kernels(model: LinearModel, encoding: KernelEncoding, asked: Asked) -> Additive:
    """exp(−γ d²) is a product with a factor for each column, as the worth of a leaf is."""
    first, second = owners_of(encoding.base)
    if (first != second).any():
        raise ValueError("members: kernels of products of columns cannot be explained; use method='sampled'")
    columns = np.unique(first)
    points = encoding.base.features(asked.matrix)
    others = np.zeros((1, len(first)))
    if asked.background is not None:
        others = encoding.base.features(asked.background)
    base = model.intercepts + encoding.of(others).mean(axis=0) @ model.coefficients
    values = np.zeros((len(points), encoding.n_columns, model.n_classes))
    if not len(columns):
        return Additive(values, base)
    factors = _Factors(encoding, first, columns)
    step = max(1, NUMBERS_AT_ONCE // (encoding.n_features * len(columns)))
    unknown = factors(others)
    for begin in range(0, len(points), step):
        known = factors(points[begin : begin + step])
        for other in unknown:
            values[begin : begin + step, columns] += _product_values(known, other, model.coefficients) / len(others)
    return Additive(values, base)


class _Factors:
    """The factor of each column in each kernel, (n_rows, n_columns, n_landmarks)."""

    def __init__(self, encoding: KernelEncoding, owners: Owners, columns: Owners) -> None:
        self.encoding, self.owners, self.columns = encoding, owners, columns

    def __call__(self, points: Floats) -> Floats:
        found = np.empty((len(points), len(self.columns), self.encoding.n_features))
        for place, column in enumerate(self.columns.tolist()):
            mine = np.flatnonzero(self.owners == column)
            squares = sum((points[:, f, np.newaxis] - self.encoding.landmarks[f]) ** 2 for f in mine.tolist())
            found[:, place] = np.exp(-self.encoding.gamma * np.asarray(squares))
        return found


def _product_values(known: Floats, unknown: Floats, coefficients: Floats) -> Floats:
    """Shapley values of Σ over landmarks of coefficient · Π over columns of a factor that is known or not.

    The integral over t of the slopes of Π (t · known + (1 − t) · unknown), as in the core.
    """
    n_points = min(MOST_POINTS, (known.shape[1] + 1) // 2)
    places, weights = np.polynomial.legendre.leggauss(n_points)
    values = np.zeros((known.shape[0], known.shape[1], coefficients.shape[1]))
    difference = known - unknown
    for t, weight in zip(((1 + places) / 2).tolist(), (weights / 2).tolist(), strict=True):
        mixed = np.maximum(unknown + t * difference, np.finfo(float).tiny)
        slopes = difference / mixed * mixed.prod(axis=1, keepdims=True)
        values += weight * (slopes @ coefficients)
    return values
