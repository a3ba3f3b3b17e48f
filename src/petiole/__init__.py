"""petiole: class probabilities people can act on, from decision trees and their ensembles."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from petiole import decisions, smoothing
from petiole.bagging import BaggedPETClassifier
from petiole.decisions import CostSensitiveClassifier
from petiole.dual import DualPerturbCombineClassifier
from petiole.lazy import LazyOptionTreesClassifier
from petiole.mob_esp import MOBESPClassifier
from petiole.pet import PETClassifier
from petiole.probability_forest import ProbabilityForestClassifier
from petiole.tree import Tree

if TYPE_CHECKING:
    from petiole import comparison, datasets, metrics
    from petiole.baselines import ConstantClassifier
    from petiole.binning import BinningCalibrator
    from petiole.convert import from_sklearn, trees_from_sklearn
    from petiole.files import load
    from petiole.naive_bayes import BinnedNaiveBayesClassifier
    from petiole.recalibration import OOBCalibratedClassifier

__version__ = "0.1.0"

__all__ = [
    "BaggedPETClassifier",
    "BinnedNaiveBayesClassifier",
    "BinningCalibrator",
    "ConstantClassifier",
    "CostSensitiveClassifier",
    "DualPerturbCombineClassifier",
    "LazyOptionTreesClassifier",
    "MOBESPClassifier",
    "OOBCalibratedClassifier",
    "PETClassifier",
    "ProbabilityForestClassifier",
    "Tree",
    "__version__",
    "comparison",
    "datasets",
    "decisions",
    "from_sklearn",
    "load",
    "metrics",
    "smoothing",
    "trees_from_sklearn",
]

# Conversion needs scikit-learn's trees and forests, whose import takes longer than all of petiole; the others are
# needed less often than trees.
_MODULE_OF = {
    "BinnedNaiveBayesClassifier": "naive_bayes",
    "BinningCalibrator": "binning",
    "ConstantClassifier": "baselines",
    "OOBCalibratedClassifier": "recalibration",
    "from_sklearn": "convert",
    "load": "files",
    "trees_from_sklearn": "convert",
}

_MODULES = ("calibrators", "comparison", "datasets", "metrics", "plotting")


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"petiole.{_MODULE_OF[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"petiole.{name}")
    raise AttributeError(f"module 'petiole' has no attribute {name!r}")
