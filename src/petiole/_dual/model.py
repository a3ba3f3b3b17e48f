"""A fitted classifier that predicts perturbed queries: in closed form, or by sampling."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import has_fit_parameter

from petiole._classifiers.base import encode_queries
from petiole._classifiers.updating import estimate_of
from petiole._dual.closed_form import SoftModel, is_soft, soft_model
from petiole._dual.noise import TOLERANCE, Attributes, Perturbation
from petiole._dual.sampling import Draws, PerturbedTable, draw, perturbed_matrix
from petiole._progress import PrintedLines, Progress, Silent
from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.labels import check_weights, label_codes
from petiole._table.weights import weights_in_rows
from petiole._validation import thread_count
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable


@dataclass(frozen=True)
class Noise:
    """How queries are perturbed and how the predictions are combined."""

    level: float | Floats
    nominal_noise: float
    mode: str
    aggregate: str = "mean"
    n_perturbations: int = 100
    seed: int = 0
    n_threads: int = 1
    verbose: bool = False
    tolerance: float = TOLERANCE

    def progress(self) -> Progress:
        """The progress display of long predictions."""
        return PrintedLines("DualPerturbCombineClassifier") if self.verbose else Silent()


class PerturbedModel(Savable):
    """A fitted classifier, the encoder of its columns, and the scales of noise on them."""

    _saved = fields(
        estimator=checks.fitted_classifier,
        encoder=checks.instance_of("FeatureEncoder"),
        attributes=checks.instance_of("Attributes"),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        inner, encoder, attributes = unwrapped(state["estimator"]), state["encoder"], state["attributes"]
        require(getattr(inner, "n_features_in_", None) == encoder.n_inputs, "estimator: must have the same columns")
        require(not is_soft(inner) or inner.encoder_.reads_alike(encoder), "encoder: must be that of the estimator")
        sizes = [len(shares) for shares in attributes.frequencies]
        fits = len(sizes) == encoder.n_features
        fits = fits and all(n in (0, known) for n, known in zip(sizes, encoder.n_categories, strict=True))
        require(fits, "attributes: must be those of the columns")

    def __init__(self, estimator: Any, encoder: FeatureEncoder, attributes: Attributes) -> None:
        self.estimator = estimator
        self.encoder = encoder
        self.attributes = attributes

    @classmethod
    def fit(cls, estimator: Any, X: Any, y: Any, sample_weight: Any, categorical_features: Any) -> PerturbedModel:
        """Clone and fit; scikit-learn's FrozenEstimator is not fitted again."""
        fitted = fit_clone(estimator, X, y, sample_weight)
        inner = unwrapped(fitted)
        if is_soft(inner):
            encoder = inner.encoder_
            matrix = encoder.transform(X)
        else:
            encoder, matrix = FeatureEncoder.fit(X, categorical_features, type(inner).__name__)
            if encoder.n_features > encoder.n_inputs:
                raise TypeError(
                    f"X has dates, on which noise is not drawn for a {type(inner).__name__}: convert them to numbers, "
                    "or give a tree or forest of petiole"
                )
        weights, _ = weights_in_rows(check_weights(sample_weight, len(matrix)))
        return cls(fitted, encoder, Attributes.of(matrix, weights, encoder.n_categories))

    @property
    def classes(self) -> npt.NDArray[Any]:
        return np.asarray(self.estimator.classes_)

    @property
    def inner(self) -> Any:
        """The classifier itself, if it is frozen."""
        return unwrapped(self.estimator)

    def prepare(self, X: Any) -> Any:
        """Rows to predict, which are read only once."""
        return encode_queries(self.inner, X) if is_soft(self.inner) else PerturbedTable(X, self.encoder)

    def perturbation(self, noise: Noise) -> Perturbation:
        mode = "product" if noise.mode == "product" else "exact"
        return self.attributes.perturbation(noise.level, noise.nominal_noise, mode, noise.tolerance)

    def answer(self, prepared: Any, noise: Noise) -> Floats:
        """Class probabilities of prepared rows."""
        perturbation = self.perturbation(noise)
        if noise.mode == "monte_carlo":
            return self._by_drawing(prepared, perturbation, noise)
        soft = self.soft(noise.aggregate == "vote")
        answers, n_rows = [], len(prepared)
        progress = noise.progress()
        progress.start(-(-n_rows // soft.rows_at_a_time))
        for begin in range(0, n_rows, soft.rows_at_a_time):
            part = prepared[begin : begin + soft.rows_at_a_time]
            answers.append(soft.answer(part, perturbation, noise.n_threads))
            progress.advance(f"{begin + len(part):,} of {n_rows:,} rows")
        progress.stop()
        return np.concatenate(answers)

    def soft(self, vote: bool = False) -> SoftModel:
        """The classifier's trees, laid out for soft walks."""
        return self._soft_votes if vote else self._soft

    @functools.cached_property
    def _soft(self) -> SoftModel:
        return soft_model(self.inner)

    @functools.cached_property
    def _soft_votes(self) -> SoftModel:
        return soft_model(self.inner, vote=True)

    def _by_drawing(self, prepared: Any, perturbation: Perturbation, noise: Noise) -> Floats:
        ask = self._asker(prepared, noise.aggregate == "vote")
        progress = noise.progress()
        progress.start(noise.n_perturbations)
        total: Any = 0.0
        for index, draws in enumerate(draw(perturbation, noise.n_perturbations, noise.seed)):
            total = total + ask(draws)
            progress.advance(f"{index + 1:,} of {noise.n_perturbations:,} perturbations")
        progress.stop()
        return np.asarray(total / noise.n_perturbations)

    def _asker(self, prepared: Any, vote: bool) -> Callable[[Draws], Floats]:
        """Return a function for the class probabilities of all rows, or their votes, for one draw."""
        classes = self.classes
        if is_soft(self.inner):
            n_threads = thread_count(self.inner.n_jobs)

            def ask(draws: Draws) -> Floats:
                proba = estimate_of(self.inner).predict(perturbed_matrix(prepared, draws), n_threads)
                return np.eye(len(classes))[proba.argmax(axis=1)] if vote else proba

            return ask
        if vote:
            return lambda draws: np.eye(len(classes))[
                label_codes(self.estimator.predict(prepared.perturbed(draws)), classes, "predict")
            ]
        return lambda draws: np.asarray(self.estimator.predict_proba(prepared.perturbed(draws)), dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_soft")}


def unwrapped(estimator: Any) -> Any:
    """The estimator inside scikit-learn's FrozenEstimator, or the estimator itself."""
    return estimator.estimator if is_frozen(estimator) else estimator


def is_frozen(estimator: Any) -> bool:
    return isinstance(estimator, FrozenEstimator)


def fit_clone(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """A fitted clone; weights are passed on only if there are any."""
    fitted = clone(estimator)
    if sample_weight is None or is_frozen(fitted):
        return fitted.fit(X, y)
    if not has_fit_parameter(fitted, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but {type(fitted).__name__}.fit does not take it: leave it out, or wrap an "
            "estimator that takes weights"
        )
    return fitted.fit(X, y, sample_weight=sample_weight)
