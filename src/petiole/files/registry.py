"""Which classes model files may name, and where they are. A file can make nothing else."""

from __future__ import annotations

import importlib
from typing import Any

from petiole.files.errors import ModelFileError

MODULE_OF = {
    "Tree": "petiole.tree",
    "Forest": "petiole.forest",
    "FeatureEncoder": "petiole.dataset",
    "TrainingSet": "petiole.grow",
    "PETClassifier": "petiole.pet",
    "BaggedPETClassifier": "petiole.bagging",
    "MOBESPClassifier": "petiole.mob_esp",
    "ProbabilityForestClassifier": "petiole.probability_forest",
    "LogPool": "petiole.pool",
    "LazyOptionTreesClassifier": "petiole.lazy",
    "DualPerturbCombineClassifier": "petiole.dual",
    "PerturbedModel": "petiole.perturbed_model",
    "Attributes": "petiole.perturbation",
    "BinnedNaiveBayesClassifier": "petiole.naive_bayes",
    "ConstantClassifier": "petiole.baselines",
    "CostSensitiveClassifier": "petiole.decisions.cost_sensitive",
    "ExpectedProfitClassifier": "petiole.decisions.expected_profit",
    "OOBCalibratedClassifier": "petiole.recalibration",
    "BinningCalibrator": "petiole.binning",
    "BinMap": "petiole.binning",
    "SigmoidCalibrator": "petiole.calibrators",
    "SigmoidMap": "petiole.calibrators",
    "BetaCalibrator": "petiole.calibrators",
    "BetaMap": "petiole.calibrators",
    "IsotonicCalibrator": "petiole.calibrators",
    "IsotonicMap": "petiole.calibrators",
    "TemperatureCalibrator": "petiole.calibrators",
    "TemperatureMap": "petiole.calibrators",
    "VennAbersCalibrator": "petiole.venn_abers",
    "VennAbersMap": "petiole.venn_abers",
    "Raw": "petiole.smoothing",
    "Laplace": "petiole.smoothing",
    "MEstimate": "petiole.smoothing",
    "Curtailment": "petiole.smoothing",
    "MBranch": "petiole.smoothing",
    "HDP": "petiole.smoothing",
    "HGS": "petiole.smoothing",
}


def class_named(name: Any) -> type[Any]:
    """The class of petiole with this name, or a stand-in for one of scikit-learn's or NumPy's."""
    from petiole.files.foreign import ADAPTERS

    if isinstance(name, str) and name in MODULE_OF:
        found: type[Any] = getattr(importlib.import_module(MODULE_OF[name]), name)
        return found
    if isinstance(name, str) and name in ADAPTERS:
        return ADAPTERS[name]
    raise ModelFileError(f"the class {str(name)[:80]!r} is unknown: the file is damaged, or a newer petiole wrote it")


def savable_form(value: Any) -> tuple[str, Any] | None:
    """The name and the savable form of an object, None if files cannot hold it."""
    from petiole.files.foreign import ADAPTERS

    kind = type(value)
    name = kind.__name__
    # The very class: a subclass may do anything.
    if name in MODULE_OF and class_named(name) is kind:
        return name, value
    if name in ADAPTERS and kind.__module__.split(".")[0] in ("sklearn", "numpy", "petiole"):
        return name, ADAPTERS[name].of(value)
    return None
