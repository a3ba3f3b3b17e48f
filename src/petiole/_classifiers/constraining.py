"""The constraints of an estimator's parameters, for its columns and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.constraints import Constraints, check_constraints, resolve_constraints
from petiole._table.encoder import FeatureEncoder
from petiole._table.rows import EncodedRows
from petiole.smoothing import LeafEstimator
from petiole.smoothing.monotone import Monotone


def check_constraint_parameters(model: Any) -> None:
    """Raise an error that names a parameter of constraints, its value and the remedy, if one is invalid."""
    check_constraints(*_parameters(model))
    splits = getattr(model, "splits", "best")
    if model.interaction_cst is not None and "oblique" in (splits if isinstance(splits, (tuple, list)) else (splits,)):
        raise ValueError(
            "interaction_cst: splits='oblique' tests sums of any two columns, which would interact; use splits='best' "
            "or 'random'"
        )


def constraints_of(model: Any, encoder: FeatureEncoder, classes: npt.NDArray[Any]) -> Constraints | None:
    """What a classifier demands of its columns; None if nothing, or if it cannot be asked for that."""
    if not hasattr(model, "monotonic_cst"):
        return None
    return resolve_constraints(*_parameters(model), encoder, classes)


def fitted_constraints(model: Any) -> Constraints | None:
    """The same for a fitted classifier."""
    return constraints_of(model, model.encoder_, model.classes_)


def constrained(estimator: LeafEstimator, constraints: Constraints | None) -> LeafEstimator:
    """A leaf estimator whose probabilities keep to the constraints."""
    if constraints is None or not constraints.orders:
        return estimator
    return Monotone(estimator, constraints.signs, constraints.target)


def check_constrained_rows(model: Any, rows: EncodedRows) -> None:
    """Raise ValueError if probabilities could not be monotone on rows like these."""
    constraints = rows.constraints
    if constraints is None or not constraints.orders:
        return
    if getattr(model, "missing", None) == "fractional" and np.isnan(rows.matrix).any():
        raise ValueError(
            "monotonic_cst: X has missing values, and with missing='fractional' such a row is divided over branches, "
            "in shares that differ from node to node, so that no order of leaves makes its probability monotone: "
            "use missing='separate'"
        )
    if getattr(model, "voting", False) and len(rows.classes) > 2:
        raise ValueError(
            f"voting={model.voting!r}: with more than two classes the share of votes for a class is not monotone "
            "where its probability is; use voting=False with monotonic_cst"
        )


def _parameters(model: Any) -> tuple[Any, Any, Any]:
    return model.monotonic_cst, model.monotonic_class, model.interaction_cst
