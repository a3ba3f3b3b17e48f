"""Compare methods on your data: scores of petiole's and other methods, a verdict, and the fitted winner."""

from __future__ import annotations

from petiole.study.comparing import compare_methods
from petiole.study.methods import METHODS, Method
from petiole.study.peers import PeerClassifier
from petiole.study.results import MethodResult, Study
from petiole.study.scoring import Interval

__all__ = ["METHODS", "Interval", "Method", "MethodResult", "PeerClassifier", "Study", "compare_methods"]
