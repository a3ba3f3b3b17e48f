"""Leaf estimators: pure functions from a tree's class counts to the class probabilities of its nodes.

Pass one to a classifier by name or as an object, ``PETClassifier(smoothing="laplace")`` or
``PETClassifier(smoothing=Laplace(prior=0.5))``, or change it afterwards with ``with_smoothing``.
"""

from __future__ import annotations

from petiole.smoothing.base import LeafEstimator
from petiole.smoothing.frequencies import Laplace, Raw

__all__ = ["Laplace", "LeafEstimator", "Raw", "as_leaf_estimator"]

# What a name stands for: the estimator with its default parameters.
_BY_NAME: dict[str, type[LeafEstimator]] = {"raw": Raw, "laplace": Laplace}


def as_leaf_estimator(smoothing: str | LeafEstimator) -> LeafEstimator:
    """The estimator for a name, or the object itself, with its parameters checked."""
    if isinstance(smoothing, str):
        if smoothing not in _BY_NAME:
            known = ", ".join(repr(name) for name in _BY_NAME)
            raise ValueError(
                f"smoothing={smoothing!r}: must be one of {known}, or an object such as Laplace(prior=0.5)"
            )
        return _BY_NAME[smoothing]()
    if not callable(getattr(smoothing, "node_probabilities", None)):
        raise TypeError(
            f"smoothing={smoothing!r}: must be a name such as 'laplace' or an object with a method "
            "node_probabilities(tree)"
        )
    check = getattr(smoothing, "check_parameters", None)
    if check is not None:
        check()
    return smoothing
