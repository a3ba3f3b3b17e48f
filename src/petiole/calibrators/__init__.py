"""Calibrators: maps from scores to probabilities, learned from scores and labels."""

from petiole.calibrators._binning import BinningCalibrator
from petiole.calibrators._groups import GroupCalibrator
from petiole.calibrators._maps import BetaCalibrator, IsotonicCalibrator, SigmoidCalibrator
from petiole.calibrators._scaling import StructuredMatrixCalibrator, TemperatureCalibrator, VectorScalingCalibrator
from petiole.calibrators._splines import QuadraticCalibrator, SplineCalibrator
from petiole.calibrators._venn_abers import VennAbersCalibrator

__all__ = [
    "BetaCalibrator",
    "BinningCalibrator",
    "GroupCalibrator",
    "IsotonicCalibrator",
    "QuadraticCalibrator",
    "SigmoidCalibrator",
    "SplineCalibrator",
    "StructuredMatrixCalibrator",
    "TemperatureCalibrator",
    "VectorScalingCalibrator",
    "VennAbersCalibrator",
]
