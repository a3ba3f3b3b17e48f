"""Prediction sets: sets of classes that contain the true class with a probability that the user chooses."""

from petiole.conformal.answer import PredictionSets
from petiole.conformal.classifier import ConformalClassifier
from petiole.conformal.scores import SetScore

__all__ = ["ConformalClassifier", "PredictionSets", "SetScore"]
