"""Plots of class probabilities, of what makes them, of decisions and costs, and of leaf estimators.

The displays follow scikit-learn: ``Display.from_estimator(estimator, X, y)`` or ``Display.from_predictions(y_true,
proba)`` draws, the numbers drawn are attributes, and ``plot(ax)`` draws again. For several models, pass a dict from
names to models, or the axes of the first picture. Drawing needs matplotlib: ``pip install matplotlib``.
"""

from __future__ import annotations

from petiole.comparison import critical_difference_diagram
from petiole.plotting.column_effects import ColumnEffect, EffectsDisplay, effects
from petiole.plotting.contributions import BeeswarmDisplay, ContributionBarDisplay, WaterfallDisplay
from petiole.plotting.cost_curves import CostCurveDisplay
from petiole.plotting.groups import GroupCalibrationDisplay
from petiole.plotting.paths import COLORS, MARKERS, ONE_OF_EACH, smoothing_paths
from petiole.plotting.profits import ProfitDisplay
from petiole.plotting.ranking import GainsDisplay, LiftDisplay
from petiole.plotting.reliability import ReliabilityDisplay
from petiole.plotting.scatter import ScoreScatterDisplay, TruthScatterDisplay

__all__ = [
    "COLORS",
    "MARKERS",
    "ONE_OF_EACH",
    "BeeswarmDisplay",
    "ColumnEffect",
    "ContributionBarDisplay",
    "CostCurveDisplay",
    "EffectsDisplay",
    "GainsDisplay",
    "GroupCalibrationDisplay",
    "LiftDisplay",
    "ProfitDisplay",
    "ReliabilityDisplay",
    "ScoreScatterDisplay",
    "TruthScatterDisplay",
    "WaterfallDisplay",
    "critical_difference_diagram",
    "effects",
    "smoothing_paths",
]
