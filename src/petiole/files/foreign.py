"""Objects of other libraries that petiole's classifiers hold by themselves, in a savable form."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import Savable


class Adapter(Savable):
    """The savable form of an object of another library: its parts, and the way back."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state

    @classmethod
    def of(cls, value: Any) -> Adapter:
        """The parts of an object."""
        raise NotImplementedError

    @classmethod
    def make(cls, state: dict[str, Any]) -> Any:
        """The object of checked parts."""
        raise NotImplementedError

    def _saved_state(self) -> dict[str, Any]:
        return self.state

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
        require(not parameters, "has no parameters")
        cls(state)._check_parts(state)
        return cls.make(state)


class FrozenEstimatorAdapter(Adapter):
    """scikit-learn's FrozenEstimator around one of petiole's models."""

    _saved = fields(estimator=checks.instance_of("SavableModel"))

    @classmethod
    def of(cls, value: Any) -> Adapter:
        return cls({"estimator": value.estimator})

    @classmethod
    def make(cls, state: dict[str, Any]) -> Any:
        from sklearn.frozen import FrozenEstimator

        return FrozenEstimator(state["estimator"])


class LinearRegressionAdapter(Adapter):
    """scikit-learn's linear regression, with which ExpectedProfitClassifier predicts amounts unless told otherwise."""

    _saved = fields(
        fit_intercept=checks.truth,
        positive=checks.truth,
        coef_=maybe(checks.floats(1, -checks.LARGEST, checks.LARGEST)),
        intercept_=maybe(checks.number(-checks.LARGEST, checks.LARGEST)),
        n_features_in_=maybe(checks.whole(1)),
        feature_names_in_=maybe(checks.names),
    )

    @classmethod
    def of(cls, value: Any) -> Adapter:
        return cls({name: getattr(value, name) for name in cls._saved if hasattr(value, name)})

    @classmethod
    def make(cls, state: dict[str, Any]) -> Any:
        from sklearn.linear_model import LinearRegression

        model = LinearRegression(fit_intercept=state["fit_intercept"], positive=state["positive"])
        fitted = {name: state[name] for name in cls._saved if name.endswith("_") and name in state}
        if fitted:
            require({"coef_", "intercept_", "n_features_in_"} <= set(fitted), "must have coef_ and intercept_")
            require(len(state["coef_"]) == state["n_features_in_"], "coef_: must have one number per feature")
        vars(model).update(fitted)
        return model


class DummyClassifierAdapter(Adapter):
    """scikit-learn's DummyClassifier, left by ``CostSensitiveClassifier(method="relabel")``."""

    _saved = fields(
        classes_=checks.labels,
        class_prior_=checks.probabilities(1),
        n_features_in_=maybe(checks.whole(1)),
    )

    @classmethod
    def of(cls, value: Any) -> Adapter | None:  # type: ignore[override]
        known = value.strategy == "most_frequent" and getattr(value, "n_outputs_", 0) == 1
        return cls({name: getattr(value, name) for name in cls._saved if hasattr(value, name)}) if known else None

    @classmethod
    def make(cls, state: dict[str, Any]) -> Any:
        from sklearn.dummy import DummyClassifier

        require(len(state["class_prior_"]) == len(state["classes_"]), "class_prior_: must have one number per class")
        model = DummyClassifier(strategy="most_frequent")
        fixed = {"_strategy": "most_frequent", "sparse_output_": False, "n_outputs_": 1}
        vars(model).update(state | fixed | {"n_classes_": len(state["classes_"])})
        return model


class RandomStateAdapter(Adapter):
    """NumPy's RandomState with the place in its sequence."""

    _saved = fields(
        keys=checks.integers("uint32"),
        position=checks.whole(0, 624),
        has_gauss=checks.whole(0, 1),
        cached_gaussian=checks.number(),
    )

    @classmethod
    def of(cls, value: Any) -> Adapter | None:  # type: ignore[override]
        kind, keys, position, has_gauss, cached = value.get_state(legacy=True)
        state = {"keys": keys, "position": position, "has_gauss": has_gauss, "cached_gaussian": cached}
        return cls(state) if kind == "MT19937" else None

    @classmethod
    def make(cls, state: dict[str, Any]) -> Any:
        require(len(state["keys"]) == 624, "keys: must be 624 numbers")
        random = np.random.RandomState()
        place = (int(state["position"]), int(state["has_gauss"]), float(state["cached_gaussian"]))
        random.set_state(("MT19937", np.array(state["keys"]), *place))
        return random


class PerLevelAdapter(Adapter):
    """One alpha of HGS per depth of a tree."""

    _saved = fields(alphas=checks.list_of(checks.number(0.0, checks.LARGEST)))

    @classmethod
    def of(cls, value: Any) -> Adapter:
        return cls({"alphas": [float(alpha) for alpha in value]})

    @classmethod
    def make(cls, state: dict[str, Any]) -> Any:
        from petiole.smoothing import PerLevel

        require(state["alphas"], "alphas: must be numbers, one or more")
        return PerLevel(state["alphas"])


ADAPTERS: dict[str, type[Adapter]] = {
    "FrozenEstimator": FrozenEstimatorAdapter,
    "LinearRegression": LinearRegressionAdapter,
    "DummyClassifier": DummyClassifierAdapter,
    "RandomState": RandomStateAdapter,
    "PerLevel": PerLevelAdapter,
}
