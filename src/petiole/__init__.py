"""petiole: class probabilities people can act on, from decision trees and their ensembles."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from petiole import comparison, datasets, decisions, metrics, smoothing
    from petiole.bagging import BaggedPETClassifier
    from petiole.baselines import ConstantClassifier
    from petiole.binning import BinningCalibrator
    from petiole.convert import from_sklearn, trees_from_sklearn
    from petiole.decisions import CostSensitiveClassifier
    from petiole.dual import DualPerturbCombineClassifier
    from petiole.files import load
    from petiole.lazy import LazyOptionTreesClassifier
    from petiole.mob_esp import MOBESPClassifier
    from petiole.naive_bayes import BinnedNaiveBayesClassifier
    from petiole.pet import PETClassifier
    from petiole.probability_forest import ProbabilityForestClassifier
    from petiole.recalibration import OOBCalibratedClassifier
    from petiole.tree import Tree

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

# Names are imported when they are first used: the command line answers `petiole --help` without scikit-learn, whose
# import takes longer than all of petiole.
_MODULE_OF = {
    "BaggedPETClassifier": "bagging",
    "BinnedNaiveBayesClassifier": "naive_bayes",
    "BinningCalibrator": "binning",
    "ConstantClassifier": "baselines",
    "CostSensitiveClassifier": "decisions",
    "DualPerturbCombineClassifier": "dual",
    "LazyOptionTreesClassifier": "lazy",
    "MOBESPClassifier": "mob_esp",
    "OOBCalibratedClassifier": "recalibration",
    "PETClassifier": "pet",
    "ProbabilityForestClassifier": "probability_forest",
    "Tree": "tree",
    "from_sklearn": "convert",
    "load": "files",
    "trees_from_sklearn": "convert",
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
