"""Prediction sets: for each row the classes that hold the true one with a probability that the user chooses."""

from petiole.conformal.answer import PredictionSets
from petiole.conformal.classifier import ConformalClassifier
from petiole.conformal.scores import SetScore

__all__ = ["ConformalClassifier", "PredictionSets", "SetScore"]
