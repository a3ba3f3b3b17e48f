"""petiole: class probabilities people can act on, from decision trees and their ensembles."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from petiole import comparison, conformal, datasets, decisions, metrics, monitoring, smoothing
    from petiole._classifiers.bagging import BaggedPETClassifier
    from petiole._classifiers.boosted import BoostedPETClassifier
    from petiole._classifiers.constant import ConstantClassifier
    from petiole._classifiers.mob_esp import MOBESPClassifier
    from petiole._classifiers.naive_bayes import BinnedNaiveBayesClassifier
    from petiole._classifiers.oob_calibrated import OOBCalibratedClassifier
    from petiole._classifiers.pet import PETClassifier
    from petiole._classifiers.probability_forest import ProbabilityForestClassifier
    from petiole._dual.classifier import DualPerturbCombineClassifier
    from petiole._lazy.classifier import LazyOptionTreesClassifier
    from petiole._tree.tree import Tree
    from petiole.calibrators._binning import BinningCalibrator
    from petiole.decisions import CostSensitiveClassifier
    from petiole.export.sklearn import from_sklearn, trees_from_sklearn
    from petiole.files import load

__version__ = "0.1.0"

__all__ = [
    "BaggedPETClassifier",
    "BinnedNaiveBayesClassifier",
    "BinningCalibrator",
    "BoostedPETClassifier",
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
    "conformal",
    "datasets",
    "decisions",
    "from_sklearn",
    "load",
    "metrics",
    "monitoring",
    "smoothing",
    "trees_from_sklearn",
]

# Names are imported when they are first used: `petiole --help` does not need scikit-learn, whose
# import takes longer than all of petiole.
_MODULE_OF = {
    "BaggedPETClassifier": "_classifiers.bagging",
    "BinnedNaiveBayesClassifier": "_classifiers.naive_bayes",
    "BinningCalibrator": "calibrators",
    "BoostedPETClassifier": "_classifiers.boosted",
    "ConstantClassifier": "_classifiers.constant",
    "CostSensitiveClassifier": "decisions",
    "DualPerturbCombineClassifier": "_dual.classifier",
    "LazyOptionTreesClassifier": "_lazy.classifier",
    "MOBESPClassifier": "_classifiers.mob_esp",
    "OOBCalibratedClassifier": "_classifiers.oob_calibrated",
    "PETClassifier": "_classifiers.pet",
    "ProbabilityForestClassifier": "_classifiers.probability_forest",
    "Tree": "_tree.tree",
    "from_sklearn": "export.sklearn",
    "load": "files",
    "trees_from_sklearn": "export.sklearn",
}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f"petiole.{_MODULE_OF[name]}"), name)
        globals()[name] = value  # the next look-up does not come here
        return value
    if not name.startswith("__") and importlib.util.find_spec(f"petiole.{name}") is not None:
        return importlib.import_module(f"petiole.{name}")
    raise AttributeError(f"module 'petiole' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
