"""Metrics of class probabilities: scores, lift, calibration and costs, and scorers for scikit-learn's tools.

All metrics are called as ``metric(y_true, proba, *, labels=None, sample_weight=None)``, with one label and one row of
class probabilities per row. Columns are in the order of the sorted labels unless ``labels`` gives another order.
"""

from __future__ import annotations

from petiole.metrics.calibration import ReliabilityCurve, expected_calibration_error, reliability_curve
from petiole.metrics.cost_curves import CostCurve, cost_curve
from petiole.metrics.costs import misclassification_cost, profit
from petiole.metrics.groups import GroupCalibration, calibration_by_group, worst_group_calibration_error
from petiole.metrics.lift import LiftCurve, area_under_lift_curve, lift_curve
from petiole.metrics.logarithmic import log_loss
from petiole.metrics.profits import ProfitCurve, profit_curve
from petiole.metrics.scorers import ProbabilityScorer, scorer, scorer_names
from petiole.metrics.scores import accuracy, accuracy_change, brier_score, error_rate, rmse, zero_one_mse
from petiole.metrics.splits import ScoreParts, brier_score_parts, log_loss_parts

__all__ = [
    "CostCurve",
    "GroupCalibration",
    "LiftCurve",
    "ProbabilityScorer",
    "ProfitCurve",
    "ReliabilityCurve",
    "ScoreParts",
    "accuracy",
    "accuracy_change",
    "area_under_lift_curve",
    "brier_score",
    "brier_score_parts",
    "calibration_by_group",
    "cost_curve",
    "error_rate",
    "expected_calibration_error",
    "lift_curve",
    "log_loss",
    "log_loss_parts",
    "misclassification_cost",
    "profit",
    "profit_curve",
    "reliability_curve",
    "rmse",
    "scorer",
    "scorer_names",
    "worst_group_calibration_error",
    "zero_one_mse",
]
