"""Leaf estimators: pure functions from a tree's class counts to the class probabilities of its nodes.

Pass one to a classifier by name or as an object, ``PETClassifier(smoothing="hgs")`` or
``PETClassifier(smoothing=HGS(alpha="honest"))``, or change it afterwards with ``with_smoothing``.
"""

from __future__ import annotations

from petiole.smoothing.base import HeldOut, LeafEstimator
from petiole.smoothing.curtailment import Curtailment
from petiole.smoothing.frequencies import Laplace, MEstimate, Raw
from petiole.smoothing.hdp import HDP
from petiole.smoothing.hgs import HGS, PerLevel
from petiole.smoothing.m_branch import MBranch

__all__ = [
    "HDP",
    "HGS",
    "Curtailment",
    "HeldOut",
    "Laplace",
    "LeafEstimator",
    "MBranch",
    "MEstimate",
    "PerLevel",
    "Raw",
    "as_leaf_estimator",
]

# The estimator that a name stands for, with its default parameters.
_BY_NAME: dict[str, type[LeafEstimator]] = {
    "raw": Raw,
    "laplace": Laplace,
    "m_estimate": MEstimate,
    "curtailment": Curtailment,
    "m_branch": MBranch,
    "hdp": HDP,
    "hgs": HGS,
}


def as_leaf_estimator(smoothing: str | LeafEstimator) -> LeafEstimator:
    """The estimator for a name, or the object itself, with its parameters checked."""
    if isinstance(smoothing, str):
        if smoothing not in _BY_NAME:
            known = ", ".join(repr(name) for name in _BY_NAME)
            raise ValueError(
                f"smoothing={smoothing!r}: must be one of {known}, or an object such as HGS(alpha='honest')"
            )
        return _BY_NAME[smoothing]()
    if not isinstance(smoothing, LeafEstimator):
        raise TypeError(
            f"smoothing={smoothing!r}: must be a name such as 'laplace' or a LeafEstimator, an object with a method "
            "node_probabilities(tree)"
        )
    smoothing.check_parameters()
    return smoothing
