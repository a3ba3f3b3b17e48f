"""Classifiers inside classifiers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from petiole._table.encoder import FeatureEncoder


def with_inner_classifiers(model: Any) -> Iterator[Any]:
    """A fitted classifier and those inside it, from the outside in.

    A wrapper has its fitted classifier as ``estimator_``, scikit-learn's FrozenEstimator as ``estimator``.
    """
    from sklearn.frozen import FrozenEstimator

    while model is not None:
        yield model
        model = model.estimator if isinstance(model, FrozenEstimator) else getattr(model, "estimator_", None)


def find_encoder(model: Any) -> FeatureEncoder | None:
    """The encoder of a classifier, or of the one inside it; None if there is none."""
    encoders = (getattr(part, "encoder_", None) for part in with_inner_classifiers(model))
    return next((encoder for encoder in encoders if isinstance(encoder, FeatureEncoder)), None)
