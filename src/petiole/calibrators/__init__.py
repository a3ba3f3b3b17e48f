"""Maps from scores to probabilities, learned beside the labels, and recalibration on out-of-bag rows."""

from petiole.calibrators._binning import BinningCalibrator
from petiole.calibrators._maps import BetaCalibrator, IsotonicCalibrator, SigmoidCalibrator, TemperatureCalibrator
from petiole.calibrators._venn_abers import VennAbersCalibrator

__all__ = [
    "BetaCalibrator",
    "BinningCalibrator",
    "IsotonicCalibrator",
    "SigmoidCalibrator",
    "TemperatureCalibrator",
    "VennAbersCalibrator",
]
