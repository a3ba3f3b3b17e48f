"""What is known of the rows that a model was fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from petiole._classifiers.boosted import BoostedPETClassifier
from petiole._classifiers.nesting import find_encoder, with_inner_classifiers
from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole.metrics.calibration import wilson_limits
from petiole.monitoring import Reference, kept_reference
from petiole.report.card_parts import counted

LEVEL = 0.95


def parts_of(model: Any) -> list[Any]:
    """A fitted classifier of petiole and those inside it, from the outside in."""
    return [part for part in with_inner_classifiers(model) if not isinstance(part, FrozenEstimator)]


@dataclass(frozen=True)
class Known:
    """A fitted classifier, the summary that it keeps of its training rows, and that of the rows of its scores."""

    model: Any
    encoder: FeatureEncoder | None
    training: Reference | None
    reference: Reference | None

    @classmethod
    def of(cls, model: Any, reference: Reference | None) -> Known:
        """What is known of a model; its scores are those of ``reference``, if it is given."""
        encoder, kept = find_encoder(model), kept_reference(model)
        is_training = kept is not None and kept.answers == "training" and encoder is not None and kept.fits(encoder)
        return cls(model, encoder, kept if is_training else None, kept if reference is None else reference)

    @property
    def classes(self) -> list[Any]:
        """The labels of the classes."""
        return list(np.asarray(self.model.classes_).tolist())

    @property
    def class_weights(self) -> Floats | None:
        """The weight of the training rows of each class, if the model has it."""
        if self.training is not None:
            return np.asarray(self.training.class_shares * self.training.n_rows)
        for part in parts_of(self.model):
            if getattr(part, "class_weights_", None) is not None:
                return np.asarray(part.class_weights_, dtype=np.float64)
            if hasattr(part, "tree_"):
                return np.asarray(part.tree_.inbag_class_counts[0], dtype=np.float64)
        return None

    @property
    def n_rows(self) -> float | None:
        """The weight of the training rows."""
        weights = self.class_weights
        return None if weights is None else float(weights.sum())

    @property
    def counted_now(self) -> float | None:
        """The weight of all rows that an updated model counts; None if it was not updated."""
        for part in parts_of(self.model):
            if "counted_weights_" in vars(part):
                return float(part.counted_weights_.sum())
        return None

    @property
    def has_honest(self) -> bool:
        """Whether there are honest scores with their rows."""
        return self.reference is not None and self.reference.n_honest > 0

    def honest_rows(self) -> str:
        """Which rows the scores are of."""
        assert self.reference is not None
        n = counted(self.reference.n_honest, "row")
        if self.reference.answers == "new":
            return f"{n} that the model has not seen"
        boosted = any(isinstance(part, BoostedPETClassifier) for part in parts_of(self.model))
        how = "by boosted trees of other folds" if boosted else "out of bag, by trees that have not seen them"
        return f"{n} of the fit, predicted {how}"

    @property
    def why_no_scores(self) -> str:
        """Why there are no honest scores, and what gives some."""
        name = type(self.model).__name__
        remedy = "give rows that it has not seen: --test on the command line, reference= in Python"
        if self.reference is not None:
            return f"a {name} has no out-of-bag rows. To have scores, {remedy}"
        return (
            f"this {name} keeps no summary of its training rows. petiole fit lets models keep one, and so does "
            f"petiole.monitoring.remember(model, X, y); or {remedy}"
        )


def share_limits(shares: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The limits of shares that were observed in rows of so much weight."""
    return wilson_limits(np.clip(shares, 0.0, 1.0), np.maximum(weights, 1e-9), LEVEL)


def commonest(shares: Floats, most: int) -> list[int]:
    """The places of the largest shares."""
    return [int(k) for k in np.argsort(-np.asarray(shares), kind="stable")[:most]]
