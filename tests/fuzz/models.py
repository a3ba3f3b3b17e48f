"""Random parameters for every public class, extreme ones and now and then a senseless one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    BoostedPETClassifier,
    ConstantClassifier,
    CostSensitiveClassifier,
    DualPerturbCombineClassifier,
    LazyOptionTreesClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
    calibrators,
    from_sklearn,
)
from petiole._classifiers.oob_calibrated import METHODS
from petiole.conformal import ConformalClassifier
from petiole.decisions import ExpectedProfitClassifier, with_abstention
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, LeafEstimator, MBranch, MEstimate, PerLevel, Raw

from .problems import Problem

# The largest and least positive numbers that a user could mean, and some between.
NUMBERS = (0, 5e-324, 1e-100, 1e-9, 0.3, 1, 2.5, 1e6, 1e100)
OOB_WEIGHTS = (0, 5e-324, 1e-100, 1e-9, 0.3, 1, 2.5, 1e6)
NONSENSE = (
    None,
    -1,
    0,
    float("nan"),
    float("inf"),
    "nonsense",
    True,
    (),
    {},
    b"x",
    2**70,
    -1e300,
    1e300,
    1.7e308,
    [1, "a"],
    0.5,
)
# Those that ask for a long work, honestly.
WORK = ("n_estimators", "n_iter", "n_perturbations", "cv", "n_jobs", "max_tests", "verbose")


@dataclass
class Subject:
    """A model to fit, and how it is fitted and asked.

    Attributes
    ----------
    name : the public class (or way to make one)
    model : unfitted
    foreign : whether a part of it is scikit-learn's, which wants ordinary numbers
    """

    name: str
    model: Any
    fit: Callable[[Any, Any, Any, Any], Any]
    ask: Callable[[Any, Any], np.ndarray]
    foreign: bool = False

    def with_threads(self, n_threads: int) -> Any:
        """A copy of the model with that many threads at every level."""
        model = clone(self.model)
        names = [name for name in model.get_params(deep=True) if name.split("__")[-1] == "n_jobs"]
        return model.set_params(**dict.fromkeys(names, n_threads))


class Draw:
    """Random choices."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.uniform() < probability)

    def seed(self) -> int:
        return int(self.rng.integers(1000))

    def some(self, options: dict[str, Callable[[], Any]], share: float = 0.35) -> dict[str, Any]:
        """Values for some of the parameters; the others keep their defaults."""
        return {name: value() for name, value in options.items() if self.chance(share)}


def random_subject(name: str, rng: np.random.Generator, problem: Problem) -> Subject:
    """An object of the class with random parameters that may suit the problem."""
    draw = Draw(rng)
    subject = MAKERS[name](draw, problem)
    if draw.chance(0.06):
        _spoil(draw, subject.model)
    return subject


def _spoil(draw: Draw, model: Any) -> None:
    """Give one parameter a value that makes no sense, or none for it."""
    if isinstance(model, Converted):
        return
    smoothing = getattr(model, "smoothing", None)
    spoilt = smoothing if isinstance(smoothing, LeafEstimator) and draw.chance(0.3) else model
    names = [name for name in inspect.signature(type(spoilt)).parameters if name not in WORK]
    if names:
        name, value = draw.one(*names), draw.one(*NONSENSE)
        if value is not None or name not in ("random_state", "ensemble"):  # whose results differ from fit to fit
            setattr(spoilt, name, value)


# Leaf estimators.


def random_smoothing(draw: Draw, problem: Problem, depth: int = 0) -> str | LeafEstimator:
    n_classes = len(problem.classes)
    per_class = draw.rng.uniform(size=n_classes)
    makers: list[Callable[[], Any]] = [
        lambda: draw.one("raw", "laplace", "m_estimate", "curtailment", "m_branch", "hgs"),
        Raw,
        lambda: Laplace(prior=draw.one(*NUMBERS, per_class, np.zeros(n_classes))),
        lambda: MEstimate(
            m=draw.one("auto", "cv", "honest", *NUMBERS),
            base_rate=draw.one("training", "training", "uniform", per_class, per_class / per_class.sum()),
        ),
        lambda: Curtailment(
            v=draw.one("auto", "auto", "cv", *NUMBERS), smoothing=_inner_smoothing(draw, problem, depth)
        ),
        lambda: MBranch(M=draw.one("honest", *NUMBERS), height=draw.one("branch", "subtree")),
        lambda: _random_hdp(draw),
        lambda: _random_hgs(draw),
    ]
    return draw.one(*makers)()


def _inner_smoothing(draw: Draw, problem: Problem, depth: int) -> LeafEstimator | None:
    if depth > 1 or draw.chance(0.4):
        return None
    inner = random_smoothing(draw, problem, depth + 1)
    return None if isinstance(inner, str) else inner


def _random_hdp(draw: Draw) -> HDP:
    n_iter = draw.one(1, 2, 20)
    return HDP(
        n_iter=n_iter,
        burn_in=draw.one(0, 0, n_iter // 2, n_iter),
        tying=draw.one("single", "level", "parent", "none"),
        concentration_prior=(draw.one(2.0, 1e-6, 0.5, 1e6, 1e300), draw.one(None, None, 1e-6, 1.0, 1e6, 1e300)),
        concentration=draw.one(None, None, 1e-6, 1.0, 1e6, 1e300),
        random_state=draw.seed(),
    )


def _random_hgs(draw: Draw) -> HGS:
    levels = draw.one([1.0], [0.5, 2.0, 0.0], [0.0], [1e100, 1e-100])
    return HGS(
        alpha=draw.one("ones", "gd", "loocv", "cv", "honest", PerLevel(levels), levels, *NUMBERS),
        loss=draw.one("log", "squared"),
        learning_rate=draw.one(0.01, 0.01, 1.0, 1e6, 1e12, 1e-12),
        tol=draw.one(1e-4, 1e-4, 1.0, 0, 1e300),
    )


# Trees and forests.


def _growth(draw: Draw, problem: Problem) -> dict[str, Any]:
    factors = {label: draw.one(1.0, 2.0, 0.1, 1e-9, 1e9) for label in problem.classes}
    options = {
        "criterion": lambda: draw.one("entropy", "gain_ratio", "gini", "kearns_mansour"),
        "max_depth": lambda: draw.one(None, 1, 2, 5, 2**40),
        "min_samples_leaf": lambda: draw.one(1, 1, 1.5, 5, problem.n_rows + 1, 1e9, 1e300),
        "max_features": lambda: draw.one(None, "sqrt", "log2", 1, 3, 10**12, 0.5, 1e-9),
        "max_bins": lambda: draw.one(None, 2, 3, 255, 10**12),
        "splits": lambda: draw.one("oblique", "random"),
        "nominal_splits": lambda: draw.one("multiway", "binary"),
        "missing": lambda: draw.one("fractional", "separate"),
        "threshold": lambda: draw.one("midpoint", "data"),
        "confidence": lambda: draw.one(1e-6, 0.01, 0.25, 0.5),
        "split_class_weight": lambda: draw.one("balanced", factors),
        "weights": lambda: draw.one("auto", "relative", "counts"),
    }
    pruned = {"pruning": draw.one("collapse", "error_based", "pruning_set")} if draw.chance(0.25) else {}
    return {
        **draw.some(options),
        **pruned,
        "categorical_features": problem.nominal,
        "random_state": draw.seed(),
    }


def _forest(draw: Draw, problem: Problem) -> dict[str, Any]:
    options = {
        "bootstrap": lambda: draw.one("stratified", "plain", "plain", False),
        "count": lambda: draw.one("copies", "distinct"),
        "oob_score": lambda: True,
    }
    return {**_growth(draw, problem), **draw.some(options, 0.5), "n_estimators": draw.one(1, 2, 3, 5, 12)}


def _pet(draw: Draw, problem: Problem) -> PETClassifier:
    extra = {"pruning_fraction": lambda: draw.one(0.01, 0.5, 0.99)}
    model = PETClassifier(smoothing=random_smoothing(draw, problem), **_growth(draw, problem), **draw.some(extra))
    if draw.chance(0.1) and model.pruning != "pruning_set":
        model.set_params(random_state=None, max_features=None, splits="best")  # nothing is drawn then
    return model


def _bagged(draw: Draw, problem: Problem) -> BaggedPETClassifier:
    options = {
        "oob_weight": lambda: draw.one(*OOB_WEIGHTS),
        "voting": lambda: draw.one(False, True, "laplace"),
        "smoothing": lambda: random_smoothing(draw, problem),
    }
    return BaggedPETClassifier(**_forest(draw, problem), **draw.some(options, 0.5))


def _mob_esp(draw: Draw, problem: Problem) -> MOBESPClassifier:
    return MOBESPClassifier(**_forest(draw, problem), **draw.some(_mob_esp_options(draw), 0.5))


def _mob_esp_options(draw: Draw) -> dict[str, Callable[[], Any]]:
    return {
        "oob_weight": lambda: draw.one("auto", "auto", *OOB_WEIGHTS),
        "voters": lambda: draw.one("all", "as_out_of_bag"),
        "rows": lambda: draw.one("winner", "shared"),
    }


def _probability_forest(draw: Draw, problem: Problem) -> ProbabilityForestClassifier:
    components = ("raw", "eb", "oob", "votes", "coarse")
    options = {
        "components": lambda: tuple(draw.rng.permutation(components)[: draw.rng.integers(1, 6)].tolist()),
        "coarse_rows": lambda: draw.one(1, 30, 1e9, 1e300),
        "floor": lambda: draw.one(1e-12, 0.002, 0.5),
        "max_features": lambda: draw.one(None, "sqrt", (1, 2, None), (0.5, "log2"), ("sqrt", 1)),
    }
    return ProbabilityForestClassifier(**(_forest(draw, problem) | draw.some(options)))


def _lazy(draw: Draw, problem: Problem) -> LazyOptionTreesClassifier:
    # Many tests at each node, or nodes without a limit, are a long work that was asked for.
    many = None if problem.n_rows <= 20 else 100
    options = {
        "max_tests": lambda: draw.one(1, 2, 3, 50 if problem.n_rows <= 60 else 4),
        "min_gain": lambda: draw.one(0, 1e-9, 0.2, 0.9, 1),
        "min_samples_leaf": lambda: draw.one("auto", 1, 2, 5, problem.n_rows + 1, 1e300),
        "bootstrap": lambda: draw.one("stratified", "plain", False),
        "cousin_rule": lambda: draw.one(True, False, "strict"),
        "gain_prior": lambda: draw.one("auto", *NUMBERS),
        "path_prior": lambda: draw.one("auto", *NUMBERS),
        "max_nodes": lambda: draw.one(1, 2, 50, 500 if problem.n_rows <= 100 else 100, many),
        "weights": lambda: draw.one("auto", "relative", "counts"),
        "oob_score": lambda: True,
    }
    return LazyOptionTreesClassifier(
        n_estimators=draw.one(1, 2, 3, 5),
        categorical_features=problem.nominal,
        random_state=draw.seed(),
        **draw.some(options, 0.45),
    )


def _naive_bayes(draw: Draw, problem: Problem) -> BinnedNaiveBayesClassifier:
    options = {
        "n_bins": lambda: draw.one(1, 2, 3, 10**6),
        "alpha": lambda: draw.one(*NUMBERS),
        "score_bins": lambda: draw.one(None, 1, 2, 10, 10**6),
    }
    return BinnedNaiveBayesClassifier(categorical_features=problem.nominal, **draw.some(options, 0.6))


def _boosted(draw: Draw, problem: Problem) -> BoostedPETClassifier:
    options = {
        "learning_rate": lambda: draw.one(1e-9, 0.01, 0.3, 1.0),
        "max_leaf_nodes": lambda: draw.one(None, 2, 3, 10**9),
        "max_depth": lambda: draw.one(None, 1, 2, 10**9),
        "min_samples_leaf": lambda: draw.one(1, 1.5, problem.n_rows + 1, 1e100),
        "l2_regularization": lambda: draw.one(*NUMBERS),
        "max_bins": lambda: draw.one(2, 3, 255),
        "max_features": lambda: draw.one(None, 1, 0.5, "sqrt"),
        "subsample": lambda: draw.one(1e-9, 0.5, 1.0),
        "early_stopping": lambda: draw.one(True, False),
        "n_iter_no_change": lambda: draw.one(1, 3, 10**9),
        "n_folds": lambda: draw.one(2, 3, 10**9 if problem.n_rows <= 20 else 4),
        "weights": lambda: draw.one("auto", "relative", "counts"),
    }
    return BoostedPETClassifier(
        max_iter=draw.one(1, 2, 12),
        categorical_features=problem.nominal,
        random_state=draw.seed(),
        **draw.some(options, 0.4),
    )


def _constant(draw: Draw, problem: Problem) -> ConstantClassifier:
    positive = draw.one(None, problem.classes[-1], problem.classes[0], "nobody")
    return ConstantClassifier(draw.one("base_rate", "zero", "one"), positive=positive)


# Models around others.


def _dual(draw: Draw, problem: Problem) -> DualPerturbCombineClassifier:
    soft = [_pet, _bagged, _mob_esp, _probability_forest]
    drawn = [_lazy, _naive_bayes] + ([_sklearn_tree] if problem.is_plain else [])
    monte_carlo = draw.chance(0.3)
    estimator = draw.one(*soft, *drawn)(draw, problem) if monte_carlo else draw.one(*soft)(draw, problem)
    levels = [0, 1e-300, 1e-9, 0.2, 3, 1e9, 1e300, draw.rng.uniform(size=problem.n_columns)]
    options = {
        "nominal_noise": lambda: draw.one("auto", 0.0, 1e-300, 0.3, 1.0),
        "aggregate": lambda: draw.one("mean", "vote"),
        "objective": lambda: draw.one("log_loss", "error"),
        "tune_on": lambda: draw.one("auto", "out_of_bag", "cross_fit", "one_tree"),
    }
    return DualPerturbCombineClassifier(
        estimator,
        noise=draw.one("auto", "auto", "per_attribute", *levels),
        mode="monte_carlo" if monte_carlo else draw.one("exact", "product"),
        n_perturbations=draw.one(1, 2, 5),
        categorical_features=problem.nominal,
        random_state=draw.seed(),
        **draw.some(options, 0.3),
    )


def _sklearn_tree(draw: Draw, problem: Problem) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=draw.one(None, 2), random_state=draw.seed())


def _sklearn_forest(draw: Draw, problem: Problem) -> Any:
    kind = draw.one(RandomForestClassifier, ExtraTreesClassifier)
    return kind(draw.one(2, 5, 12), bootstrap=True, max_depth=draw.one(None, 2), random_state=draw.seed())


def _sklearn_bagging(draw: Draw, problem: Problem) -> Any:
    return BaggingClassifier(_sklearn_tree(draw, problem), draw.one(2, 5, 12), random_state=draw.seed())


def _simple(draw: Draw, problem: Problem) -> Any:
    return draw.one(_pet, _pet, _bagged, _naive_bayes, _constant)(draw, problem)


def _cost_sensitive(draw: Draw, problem: Problem) -> CostSensitiveClassifier:
    classes = problem.classes
    cost = draw.rng.normal(size=(len(classes), len(classes))) * draw.one(0.0, 1.0, 1.0, 1e-300, 1e300)
    options: dict[str, Any] = {"method": draw.one("decide", "decide", "relabel"), "cv": draw.one(2, 3, 5)}
    form = draw.one("none", "array", "dict", "frame", "labels", "actions", "abstain", "wrong shape")
    if form == "none":
        cost = None
    elif form == "dict":
        cost = {one: {other: float(cost[i, j]) for j, other in enumerate(classes)} for i, one in enumerate(classes)}
    elif form == "frame":
        cost = pd.DataFrame(cost, index=classes, columns=classes)
    elif form == "labels":
        options["labels"] = draw.rng.permutation(np.array(classes)).tolist()
    elif form == "actions":
        options["actions"] = ["wait", "act"]
        cost = draw.rng.normal(size=(2, len(classes)))
    elif form == "abstain":
        options["actions"] = [*map(str, classes), "ask"]
        cost = with_abstention(cost, draw.one(0, 0.1, 1e300))
    elif form == "wrong shape":
        cost = draw.rng.normal(size=(3, 2))
    return CostSensitiveClassifier(_simple(draw, problem), cost, **options)


def _random_calibrator(draw: Draw) -> Any:
    floors = (1e-12, 1e-9, 0.002, 0.3, 0.5)
    penalties = (1e-3, 1, 50.0, 1e100)
    return draw.one(
        calibrators.SigmoidCalibrator,
        lambda: calibrators.BetaCalibrator(draw.one(*floors)),
        calibrators.IsotonicCalibrator,
        lambda: calibrators.TemperatureCalibrator(draw.one(*floors)),
        lambda: calibrators.BinningCalibrator(draw.one(1, 2, 10, 10**6)),
        calibrators.VennAbersCalibrator,
        lambda: calibrators.GroupCalibrator(draw.one("columns", "tree"), draw.one("auto", *penalties), draw.one(1, 50)),
        lambda: calibrators.VectorScalingCalibrator(draw.one(*penalties), draw.one(*floors)),
        lambda: calibrators.StructuredMatrixCalibrator(*(draw.one(*penalties) for _ in range(3)), draw.one(*floors)),
        lambda: calibrators.QuadraticCalibrator(draw.one(*penalties), draw.one(*floors), draw.one(True, False)),
        lambda: calibrators.SplineCalibrator(draw.one(2, 3, 12, 40), draw.one("auto", 0, 1.0, 1e6), draw.one(*floors)),
    )()


def _oob_calibrated(draw: Draw, problem: Problem) -> Subject:
    makers = [_bagged, _mob_esp, _probability_forest, _lazy]
    foreign = problem.is_plain and draw.chance(0.4)
    ensemble = (
        draw.one(_sklearn_forest, _sklearn_bagging)(draw, problem) if foreign else draw.one(*makers)(draw, problem)
    )
    method = draw.one(*METHODS) if draw.chance(0.5) else _random_calibrator(draw)
    return _ordinary(OOBCalibratedClassifier(ensemble, method))


def _conformal(draw: Draw, problem: Problem) -> Subject:
    inner = draw.one(_bagged, _mob_esp, _probability_forest, _pet)(draw, problem)
    options = {
        "method": lambda: draw.one("lac", "aps", "raps"),
        "per_class": lambda: True,
        "by": lambda: 0,
        "calibration": lambda: draw.one("auto", 2, 0.5),
        "randomised": lambda: False,
        "allow_empty": lambda: False,
        "penalty": lambda: draw.one(*NUMBERS),
    }
    chosen = {name: make() for name, make in options.items() if draw.chance(0.4)}
    return _ordinary(ConformalClassifier(inner, draw.one(0.9, 0.5, 1e-9, 1 - 1e-9), random_state=draw.seed(), **chosen))


class Converted(BaseEstimator):
    """What is made of a fitted ensemble: ``MOBESPClassifier.from_ensemble``, or ``from_sklearn``."""

    def __init__(self, ensemble: Any, convert: str, options: dict[str, Any] | None = None) -> None:
        self.ensemble = ensemble
        self.convert = convert
        self.options = options

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = clone(self.ensemble).fit(X, y, **weights)
        if self.convert == "from_sklearn":
            return from_sklearn(fitted)
        return MOBESPClassifier.from_ensemble(fitted, X, y, **weights, **(self.options or {}))


def _from_ensemble(draw: Draw, problem: Problem) -> Subject:
    foreign = problem.is_plain and draw.chance(0.5)
    makers = [_sklearn_forest, _sklearn_bagging] if foreign else [_bagged, _probability_forest, _mob_esp]
    options = draw.some({**_mob_esp_options(draw), "count": lambda: draw.one("distinct", "copies")}, 0.5)
    model = Converted(draw.one(*makers)(draw, problem), "from_ensemble", options)
    return _ordinary(model, "from_ensemble")


def _from_sklearn(draw: Draw, problem: Problem) -> Subject:
    if not problem.is_plain:
        return _ordinary(_pet(draw, problem))
    model = Converted(draw.one(_sklearn_tree, _sklearn_forest)(draw, problem), "from_sklearn")
    return _ordinary(model, "from_sklearn")


def _profit(draw: Draw, problem: Problem) -> Subject:
    if not problem.is_plain:  # linear regression would refuse it
        return _ordinary(_naive_bayes(draw, problem))
    options = {
        "cost": lambda: draw.one(0, 0.68, 1e300),
        "add_probability": lambda: True,
        "max_amount": lambda: draw.one(1e-300, 1.0, 1e300),
        "cv": lambda: draw.one(2, 5),
    }
    model = ExpectedProfitClassifier(_simple(draw, problem), **draw.some(options))
    seed = draw.seed()

    def fit(model: Any, X: Any, y: Any, weights: Any) -> Any:
        amount = np.random.default_rng(seed).exponential(size=len(y))
        return model.fit(X, y, amount=amount, sample_weight=weights)

    return Subject("ExpectedProfitClassifier", model, fit, _predict_proba, foreign=True)


# Calibrators take scores in place of a table.


def _calibrator(draw: Draw, problem: Problem) -> Subject:
    model, seed, n_classes = _random_calibrator(draw), draw.seed(), len(problem.classes)
    kind = draw.one("proba", "proba", "tied", "constant")
    if not hasattr(model, "floor"):  # any score will do
        kind = draw.one(kind, "margins", "huge", "tiny")

    def scores(n_rows: int, which: int) -> np.ndarray:
        rng = np.random.default_rng([seed, which])
        table = rng.dirichlet(np.ones(n_classes), n_rows)
        made = {
            "proba": table,
            "tied": table.round(1),
            "margins": rng.normal(size=table.shape),
            "huge": rng.normal(size=table.shape).clip(-1.7, 1.7) * 1e308,
            "tiny": rng.normal(size=table.shape) * 1e-309,
            "constant": np.full(table.shape, 0.5),
        }[kind]
        return made[:, 1] if n_classes == 2 and seed % 2 else made

    def fit(model: Any, X: Any, y: Any, weights: Any) -> Any:
        given = scores(len(y), 0)
        return model.fit(given, y, *_columns(model, given), weights)

    def ask(model: Any, X: Any) -> np.ndarray:
        given = scores(len(X), 1)
        found = model.predict(given, *_columns(model, given))
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found

    return Subject("calibrators", model, fit, ask)


def _columns(model: Any, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """The groups of a calibrator that has some: ranges of the scores."""
    return (scores.reshape(len(scores), -1),) if isinstance(model, calibrators.GroupCalibrator) else ()


def _fit(model: Any, X: Any, y: Any, weights: Any) -> Any:
    return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)


def _predict_proba(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(X))


def _ordinary(model: Any, name: str | None = None) -> Subject:
    inner = [value for value in model.get_params(deep=True).values() if isinstance(value, BaseEstimator)]
    foreign = any(type(value).__module__.startswith("sklearn") for value in inner)
    return Subject(name or type(model).__name__, model, _fit, _predict_proba, foreign)


def _making(maker: Callable[[Draw, Problem], Any]) -> Callable[[Draw, Problem], Subject]:
    return lambda draw, problem: _ordinary(maker(draw, problem))


MAKERS: dict[str, Callable[[Draw, Problem], Subject]] = {
    "PETClassifier": _making(_pet),
    "BaggedPETClassifier": _making(_bagged),
    "MOBESPClassifier": _making(_mob_esp),
    "ProbabilityForestClassifier": _making(_probability_forest),
    "LazyOptionTreesClassifier": _making(_lazy),
    "DualPerturbCombineClassifier": _making(_dual),
    "BinnedNaiveBayesClassifier": _making(_naive_bayes),
    "BoostedPETClassifier": _making(_boosted),
    "ConstantClassifier": _making(_constant),
    "CostSensitiveClassifier": _making(_cost_sensitive),
    "ExpectedProfitClassifier": _profit,
    "OOBCalibratedClassifier": _oob_calibrated,
    "ConformalClassifier": _conformal,
    "calibrators": _calibrator,
    "from_ensemble": _from_ensemble,
    "from_sklearn": _from_sklearn,
}
# How often each is drawn.
CHANCES = {"PETClassifier": 4, "BaggedPETClassifier": 3, "MOBESPClassifier": 2, "ConstantClassifier": 0.3}
