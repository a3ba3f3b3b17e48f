"""Which classes model files may name, and where they are. A file can make nothing else."""

from __future__ import annotations

import importlib
from typing import Any

from petiole.files.errors import ModelFileError

MODULE_OF = {
    "Tree": "petiole._tree.tree",
    "Forest": "petiole._forest.forest",
    "FeatureEncoder": "petiole._table.encoder",
    "TrainingSet": "petiole._table.rows",
    "PETClassifier": "petiole._classifiers.pet",
    "BaggedPETClassifier": "petiole._classifiers.bagging",
    "MOBESPClassifier": "petiole._classifiers.mob_esp",
    "ProbabilityForestClassifier": "petiole._classifiers.probability_forest",
    "BoostedPETClassifier": "petiole._classifiers.boosted",
    "BoostedTrees": "petiole._boosting.trees",
    "LogPool": "petiole._forest.log_pool",
    "CalibrationScores": "petiole.conformal.thresholds",
    "ConformalClassifier": "petiole.conformal.classifier",
    "NamedPool": "petiole._estimates.pool",
    "PoolMembers": "petiole._estimates.members",
    "Folding": "petiole._estimates.members",
    "NumericFeatures": "petiole._linear.numeric",
    "OrderedProducts": "petiole._linear.ordered_products",
    "Indicators": "petiole._linear.encoding",
    "LinearEncoding": "petiole._linear.encoding",
    "KernelEncoding": "petiole._linear.kernel",
    "LinearModel": "petiole._linear.model",
    "CrossFitted": "petiole._estimates.cross_fitted",
    "LazyOptionTreesClassifier": "petiole._lazy.classifier",
    "DualPerturbCombineClassifier": "petiole._dual.classifier",
    "PerturbedModel": "petiole._dual.model",
    "Attributes": "petiole._dual.noise",
    "BinnedNaiveBayesClassifier": "petiole._classifiers.naive_bayes",
    "ConstantClassifier": "petiole._classifiers.constant",
    "CostSensitiveClassifier": "petiole.decisions.cost_sensitive",
    "ExpectedProfitClassifier": "petiole.decisions.expected_profit",
    "OOBCalibratedClassifier": "petiole._classifiers.oob_calibrated",
    "BinningCalibrator": "petiole.calibrators._binning",
    "BinMap": "petiole.calibrators._binning",
    "SigmoidCalibrator": "petiole.calibrators._maps",
    "SigmoidMap": "petiole.calibrators._maps",
    "BetaCalibrator": "petiole.calibrators._maps",
    "BetaMap": "petiole.calibrators._maps",
    "IsotonicCalibrator": "petiole.calibrators._maps",
    "IsotonicMap": "petiole.calibrators._maps",
    "TemperatureCalibrator": "petiole.calibrators._scaling",
    "TemperatureMap": "petiole.calibrators._scaling",
    "VectorScalingCalibrator": "petiole.calibrators._scaling",
    "VectorScalingMap": "petiole.calibrators._scaling",
    "StructuredMatrixCalibrator": "petiole.calibrators._scaling",
    "StructuredMatrixMap": "petiole.calibrators._scaling",
    "QuadraticCalibrator": "petiole.calibrators._splines",
    "QuadraticMap": "petiole.calibrators._splines",
    "SplineCalibrator": "petiole.calibrators._splines",
    "SplineMap": "petiole.calibrators._splines",
    "VennAbersCalibrator": "petiole.calibrators._venn_abers",
    "VennAbersMap": "petiole.calibrators._venn_abers",
    "Reference": "petiole.monitoring._reference",
    "ColumnGroups": "petiole._table.groups",
    "GroupCalibrator": "petiole.calibrators._groups",
    "GroupMap": "petiole.calibrators._groups",
    "ResidualTree": "petiole.calibrators._residual_tree",
    "Raw": "petiole.smoothing",
    "Laplace": "petiole.smoothing",
    "MEstimate": "petiole.smoothing",
    "Curtailment": "petiole.smoothing",
    "MBranch": "petiole.smoothing",
    "HDP": "petiole.smoothing",
    "HGS": "petiole.smoothing",
    "Monotone": "petiole.smoothing.monotone",
}

# Names in files that are older than those of the classes.
CLASS_OF = {"TrainingSet": "EncodedRows"}
NAME_OF = {of_class: name for name, of_class in CLASS_OF.items()}


def class_named(name: Any) -> type[Any]:
    """The class of petiole with this name, or a stand-in for one of scikit-learn's or NumPy's."""
    from petiole.files.foreign import ADAPTERS

    if isinstance(name, str) and name in MODULE_OF:
        found: type[Any] = getattr(importlib.import_module(MODULE_OF[name]), CLASS_OF.get(name, name))
        return found
    if isinstance(name, str) and name in ADAPTERS:
        return ADAPTERS[name]
    raise ModelFileError(f"the class {str(name)[:80]!r} is unknown: the file is damaged, or a newer petiole wrote it")


def savable_form(value: Any) -> tuple[str, Any] | None:
    """The name and the savable form of an object, None if files cannot hold it."""
    from petiole.files.foreign import ADAPTERS

    kind = type(value)
    name = NAME_OF.get(kind.__name__, kind.__name__)
    # The very class: a subclass may do anything.
    if name in MODULE_OF and class_named(name) is kind:
        return name, value
    if name in ADAPTERS and kind.__module__.split(".")[0] in ("sklearn", "numpy", "petiole"):
        return name, ADAPTERS[name].of(value)
    return None
