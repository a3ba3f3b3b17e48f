"""Multinomial logistic regression with a ridge, on several folds at once.

For each fold f it minimises over coefficients b and free intercepts a

    Σ_i w_fi · −ln softmax(a + b x_i)[y_i]  +  ½ · strength · Σ_i w_fi · ‖b‖²,

where w_fi is 0 for the rows that the fold holds out. The folds share the rows and one search.

A ridge does not change when the features are rotated. So the features are first expressed by their principal axes, of
which there are no more than rows, however many columns there are. Along them the curvature of the loss is known well
enough to give all unknowns a common scale, which shortens the search.

Where coefficients of features must not be negative, or not positive, features stay as they are: after a rotation these
would no longer be bounds of single unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize

Floats = npt.NDArray[np.float64]

# Axes along which the features vary less than this share of the largest variance are rounding errors.
LEAST_VARIANCE = 1e-10
# The largest number of steps.
MOST_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class Axes:
    """Features by their principal axes: ``values`` has a row per axis, ``directions`` leads back to the features.

    Without directions the axes are the features themselves.
    """

    values: Floats
    directions: Floats | None
    variances: Floats

    @classmethod
    def of(cls, features: Floats, weights: Floats) -> Axes:
        """The axes of features of shape (n_rows, n_features), whose weighted means are 0."""
        n_rows, n_features = features.shape
        roots = np.sqrt(weights / weights.sum())[:, np.newaxis]
        scaled = roots * features
        if n_features <= n_rows:
            variances, directions = np.linalg.eigh(scaled.T @ scaled)
        else:
            variances, by_row = np.linalg.eigh(scaled @ scaled.T)
            with np.errstate(divide="ignore", invalid="ignore"):
                directions = (scaled.T @ by_row) / np.sqrt(variances)
        kept = variances > LEAST_VARIANCE * max(variances.max(initial=0.0), 0.0)
        variances, directions = variances[kept], directions[:, kept]
        return cls(np.ascontiguousarray((features @ directions).T), directions, variances)

    @classmethod
    def along(cls, features: Floats, weights: Floats) -> Axes:
        """The features themselves."""
        return cls(np.ascontiguousarray(features.T), None, weights @ features**2 / weights.sum())

    def coefficients(self, along: Floats) -> Floats:
        """Those of the features, from those along the axes, which are rows."""
        return along if self.directions is None else np.asarray(self.directions @ along)


class Limits(NamedTuple):
    """The least and the largest coefficients, (n_classes, n_axes)."""

    lowest: Floats
    highest: Floats

    @classmethod
    def of_signs(cls, signs: npt.NDArray[np.int64], target: int, n_classes: int) -> Limits:
        """For coefficients by which the log-odds of one of two classes rise with features of sign 1 and fall with -1.

        Each class by itself: with a ridge the coefficients of two classes are opposite anyway.
        """
        way = np.where(np.arange(n_classes) == target, 1, -1)[:, np.newaxis] * signs
        return cls(np.where(way > 0, 0.0, -np.inf), np.where(way < 0, 0.0, np.inf))

    def of_unknowns(self, n_folds: int) -> Bounds:
        """For the unknowns of all folds, with free intercepts."""
        free = np.full((len(self.lowest), 1), np.inf)
        ends = np.hstack([-free, self.lowest]), np.hstack([free, self.highest])
        return Bounds(*(np.tile(end.ravel(), n_folds) for end in ends))


class FoldedLoss:
    """The loss per row of all folds together; unknowns have the shape (n_folds, n_classes, 1 + n_axes)."""

    def __init__(self, axes: Axes, labels: npt.NDArray[np.int32], weights: Floats, n_classes: int) -> None:
        """``weights`` has a row per fold."""
        self.labels, self.weights = labels, weights / weights.sum(axis=1, keepdims=True)
        self.inputs = np.concatenate([np.ones((1, len(labels))), axes.values])
        self.inputs_by_row = np.ascontiguousarray(self.inputs.T)
        self.shape = len(weights), n_classes, len(self.inputs)
        self.at = np.arange(len(labels))
        rates = np.stack([np.bincount(labels, fold, minlength=n_classes) for fold in self.weights])
        curvature = (rates * (1 - rates))[:, :, np.newaxis] * np.append(1.0, axes.variances)
        self.curvature = np.maximum(curvature, 1e-6 / len(labels))

    def scores(self, coefficients: Floats) -> Floats:
        """The logits of every row in every fold, (n_folds, n_classes, n_rows)."""
        n_folds, n_classes, n_inputs = self.shape
        scores: Floats = (coefficients.reshape(-1, n_inputs) @ self.inputs).reshape(n_folds, n_classes, -1)
        return scores

    def __call__(self, coefficients: Floats) -> tuple[float, Floats]:
        """The loss without the ridge, and its slopes."""
        scores = self.scores(coefficients)
        scores -= scores.max(axis=1, keepdims=True)
        of_label = scores[:, self.labels, self.at]
        np.exp(scores, out=scores)
        sums = scores.sum(axis=1)
        loss = float(np.vdot(self.weights, np.log(sums) - of_label))
        scores *= (self.weights / sums)[:, np.newaxis]
        scores[:, self.labels, self.at] -= self.weights
        slopes = (scores.reshape(-1, len(self.at)) @ self.inputs_by_row).reshape(self.shape)
        return loss, slopes

    def minimum(
        self,
        strength: float,
        start: Floats,
        slope_left: float,
        most_iterations: int = MOST_ITERATIONS,
        limits: Limits | None = None,
    ) -> Floats:
        """The unknowns with the least loss plus ridge, within limits; the search begins at ``start``."""
        ridge = np.append(0.0, np.full(self.shape[2] - 1, strength))
        unit = np.sqrt(self.curvature + ridge)

        def objective(x: Floats) -> tuple[float, Floats]:
            coefficients = x.reshape(self.shape) / unit
            loss, slopes = self(coefficients)
            pull = ridge * coefficients
            return loss + 0.5 * np.vdot(coefficients, pull), ((slopes + pull) / unit).ravel()

        bounds = None if limits is None else limits.of_unknowns(self.shape[0])
        found = minimize(
            objective,
            (start * unit).ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": most_iterations, "gtol": slope_left, "ftol": 0.0},
        )
        minimum: Floats = found.x.reshape(self.shape) / unit
        return minimum
