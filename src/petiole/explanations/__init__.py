"""Why a model answers as it does: Shapley values of columns, in numbers, words and pictures."""

from __future__ import annotations

from petiole.explanations.computing import explain
from petiole.explanations.explanation import Explanation, Reason

__all__ = ["Explanation", "Reason", "explain"]
