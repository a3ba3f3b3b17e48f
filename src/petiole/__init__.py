"""petiole: class probabilities people can act on, from decision trees and their ensembles."""

from __future__ import annotations

from petiole import smoothing
from petiole.convert import from_sklearn, trees_from_sklearn
from petiole.pet import PETClassifier
from petiole.tree import Tree

__version__ = "0.1.0"

__all__ = ["PETClassifier", "Tree", "__version__", "from_sklearn", "smoothing", "trees_from_sklearn"]
