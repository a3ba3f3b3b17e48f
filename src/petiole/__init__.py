"""petiole: class probabilities people can act on, from decision trees and their ensembles."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from petiole import smoothing
from petiole.bagging import BaggedPETClassifier
from petiole.dual import DualPerturbCombineClassifier
from petiole.mob_esp import MOBESPClassifier
from petiole.pet import PETClassifier
from petiole.probability_forest import ProbabilityForestClassifier
from petiole.tree import Tree

if TYPE_CHECKING:
    from petiole.convert import from_sklearn, trees_from_sklearn

__version__ = "0.1.0"

__all__ = [
    "BaggedPETClassifier",
    "DualPerturbCombineClassifier",
    "MOBESPClassifier",
    "PETClassifier",
    "ProbabilityForestClassifier",
    "Tree",
    "__version__",
    "from_sklearn",
    "smoothing",
    "trees_from_sklearn",
]


def __getattr__(name: str) -> Any:
    # Conversion needs scikit-learn's trees and forests, whose import takes longer than all of petiole.
    if name in ("from_sklearn", "trees_from_sklearn"):
        from petiole import convert

        return getattr(convert, name)
    if name == "plotting":
        return importlib.import_module("petiole.plotting")
    raise AttributeError(f"module 'petiole' has no attribute {name!r}")
