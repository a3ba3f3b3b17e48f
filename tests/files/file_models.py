"""A small fitted model of every kind that files hold, and what it says of some queries."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

import petiole
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
)
from petiole import calibrators as maps
from petiole.conformal import ConformalClassifier
from petiole.decisions import ExpectedProfitClassifier
from petiole.monitoring import remember
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, MBranch, MEstimate, PerLevel


def numbers(n_classes=3, n_rows=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(2)
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(scale=0.5, size=n_rows), [-0.5, 0.7][: n_classes - 1])
    return X, y


def mixed(n_rows=90, seed=1):
    """A frame with numbers, texts, truth values, missing values and an empty column; labels are texts."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows).round(1),
            "colour": rng.choice(["red", "green", "blue", "ø"], n_rows).astype(object),
            "old": rng.uniform(size=n_rows) < 0.5,
            "number": rng.integers(0, 4, n_rows),
            "nothing": np.full(n_rows, None, dtype=object),
        }
    )
    score = frame["size"] + (frame["colour"] == "red") - frame["old"] + rng.normal(scale=0.5, size=n_rows)
    y = np.array(["low", "middle", "high"])[np.digitize(score, [-0.5, 0.5])]
    frame.loc[rng.uniform(size=n_rows) < 0.1, "size"] = np.nan
    frame.loc[rng.uniform(size=n_rows) < 0.1, "colour"] = None
    return frame, y


def weights(n_rows=90):
    return np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], n_rows)


def _scores(n_classes=3):
    rng = np.random.default_rng(4)
    return rng.dirichlet(np.ones(n_classes), 60), np.arange(60) % n_classes


def _merged():
    X, _ = numbers()
    parts = [BaggedPETClassifier(3, voting=True, random_state=seed).fit(*numbers(seed=seed)) for seed in (0, 5)]
    return parts[0].merged(parts[1]), X


def _plain(model, **fit):
    X, y = numbers()
    return model.fit(X, y, **fit), X


def _plain_two(model):
    X, y = numbers(2)
    return model.fit(X, y), X


def _mixed(model, **fit):
    X, y = mixed()
    return model.fit(X, y, **fit), X


def _calibrator(calibrator, n_classes=3):
    scores, y = _scores(n_classes)
    scores = scores[:, 1] if n_classes == 2 else scores
    y = np.array(["a", "b", "c"])[y]
    columns = (scores,) if isinstance(calibrator, maps.GroupCalibrator) else ()
    return calibrator.fit(scores, y, *columns), scores


def _monitored():
    X, y = mixed()
    return remember(BaggedPETClassifier(12, random_state=0).fit(X, y), X, y), X


def _from_sklearn():
    X, y = numbers()
    return petiole.from_sklearn(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)), X


def _from_ensemble():
    X, y = numbers()
    forest = BaggedPETClassifier(5, max_features="sqrt", random_state=0).fit(X, y)
    return MOBESPClassifier.from_ensemble(forest, X, y), X


def _tree():
    X, y = mixed()
    return PETClassifier(missing="separate").fit(X, y).tree_, None


def _frozen(wrap):
    X, y = numbers()
    forest = BaggedPETClassifier(6, oob_score=True, random_state=0).fit(X, y)
    return wrap(FrozenEstimator(forest)).fit(X, y), X


def _profit():
    X, y = numbers(2)
    amount = np.where(y == 1, 5 + X[:, 1] ** 2, np.nan)
    model = ExpectedProfitClassifier(PETClassifier(), cost=0.5, add_probability=True, amount_columns=[1, 2])
    return model.fit(X, y, amount=amount), X


def _actions():
    X, y = mixed()
    cost = {
        name: {label: float(i * j) for j, label in enumerate(sorted(set(y.tolist())))} for i, name in enumerate("pq")
    }
    return CostSensitiveClassifier(PETClassifier(), cost, actions=["p", "q"]).fit(X, y), X


def _odd_categories():
    X, y = numbers()
    column = np.array([Decimal("0.5"), 1, "one", 2.5, True], dtype=object)[np.arange(len(X)) % 5]
    frame = pd.DataFrame({"x": X[:, 0], "odd": column})
    return PETClassifier(max_depth=3).fit(frame, y == 1), frame


COSTS = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
ONLY_FIRST = np.array([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0], [9.0, 9.0, 9.0]])

MAKERS = {
    "tree": _tree,
    "pet": lambda: _plain(PETClassifier(max_depth=4)),
    "pet_c45_mixed": lambda: _mixed(PETClassifier.c45(), sample_weight=weights()),
    "pet_separate_binary": lambda: _mixed(PETClassifier(missing="separate", nominal_splits="binary", random_state=3)),
    "pet_odd_categories": _odd_categories,
    "pet_hdp": lambda: _plain(PETClassifier(smoothing=HDP(n_iter=20, burn_in=5))),
    "pet_hgs_honest": lambda: _mixed(
        PETClassifier(smoothing=HGS(alpha="honest"), random_state=np.random.RandomState(1))
    ),
    "pet_per_level": lambda: _plain(PETClassifier(smoothing=HGS(alpha=PerLevel([1.0, 0.5])))),
    "pet_class_weight": lambda: _plain(PETClassifier(split_class_weight={0: 2.0, 1: 1, 2: np.float32(0.5)})),
    "pet_priors": lambda: _plain(PETClassifier(smoothing=Laplace(prior=np.array([0.5, 1.0, 2.0])))),
    "pet_from_sklearn": _from_sklearn,
    "pet_oblique": lambda: _mixed(PETClassifier(splits="oblique", max_depth=4, random_state=0)),
    "pet_monotone": lambda: _mixed(
        PETClassifier(monotonic_cst={"size": 1, "number": -1}, monotonic_class="high", missing="separate")
    ),
    "bagged_constraints": lambda: _plain(
        BaggedPETClassifier(
            4,
            monotonic_cst=np.array([1, 0, 0, -1]),
            monotonic_class=2,
            interaction_cst=[[0, 1], [2, 3]],
            smoothing=HGS(alpha="loocv"),
            random_state=0,
        )
    ),
    "bagged": lambda: _mixed(BaggedPETClassifier(4, random_state=0), sample_weight=weights()),
    "bagged_out_of_bag": lambda: _plain(BaggedPETClassifier.eb_pets(n_estimators=12, oob_score=True, random_state=0)),
    "bagged_voting": lambda: _plain(BaggedPETClassifier(4, voting="laplace", warm_start=True, random_state=0)),
    "bagged_hdp": lambda: _plain(BaggedPETClassifier(2, smoothing=HDP(n_iter=20, burn_in=5), random_state=0)),
    "bagged_settled": lambda: _plain(BaggedPETClassifier(3, smoothing=HGS(alpha="loocv"), random_state=0)),
    "bagged_curtailed": lambda: _plain(
        BaggedPETClassifier(3, smoothing=Curtailment(v=3, smoothing=MEstimate(m=2)), random_state=0)
    ),
    "bagged_m_branch": lambda: _plain(BaggedPETClassifier(3, smoothing=MBranch(M="honest"), random_state=0)),
    "bagged_merged": _merged,
    "bagged_oblique": lambda: _mixed(BaggedPETClassifier(4, splits="oblique", random_state=0)),
    "mob_esp": lambda: _mixed(MOBESPClassifier(6, oob_weight="auto", rows="shared", random_state=0)),
    "mob_esp_weights": lambda: _plain(MOBESPClassifier(6, random_state=0), sample_weight=weights()),
    "mob_esp_from_ensemble": _from_ensemble,
    "probability_forest": lambda: _mixed(ProbabilityForestClassifier(12, oob_score=True, random_state=0)),
    "probability_forest_one_kind": lambda: _plain(
        ProbabilityForestClassifier(6, max_features="sqrt", components=["raw", "eb"], random_state=0)
    ),
    "probability_forest_oblique": lambda: _plain(
        ProbabilityForestClassifier(6, splits="oblique", max_features="sqrt", random_state=0)
    ),
    "probability_forest_kinds": lambda: _mixed(
        ProbabilityForestClassifier(
            9, max_features=("sqrt", 1, 1), splits=("best", "random", "oblique"), random_state=0
        )
    ),
    "boosted": lambda: _mixed(
        BoostedPETClassifier(0.2, max_iter=20, n_folds=3, random_state=0), sample_weight=weights()
    ),
    "probability_forest_monotone": lambda: _plain_two(
        ProbabilityForestClassifier(
            6, monotonic_cst=[1, 1, 0, -1], members=("forest", "linear", "curved"), random_state=0
        )
    ),
    "probability_forest_named_class": lambda: _mixed(
        ProbabilityForestClassifier(
            6,
            monotonic_cst={"size": 1, "number": -1},
            monotonic_class="high",
            interaction_cst=[["size", "number"], ["colour", "old"]],
            members=("forest", "curved", "boosted"),
            random_state=0,
        )
    ),
    "boosted_monotone": lambda: _plain(
        BoostedPETClassifier(0.2, max_iter=10, monotonic_cst=[1, 0, 0, 0], monotonic_class=2, random_state=0)
    ),
    "boosted_two_classes": lambda: _plain_two(
        BoostedPETClassifier(0.2, max_iter=5, early_stopping=False, random_state=0)
    ),
    "lazy": lambda: _mixed(LazyOptionTreesClassifier(4, oob_score=True, random_state=0), sample_weight=weights()),
    "lazy_auto": lambda: _plain(LazyOptionTreesClassifier(4, min_samples_leaf="auto", random_state=0)),
    "dual": lambda: _mixed(DualPerturbCombineClassifier(PETClassifier(), noise=0.2, nominal_noise=0.1)),
    "dual_per_attribute": lambda: _plain(
        DualPerturbCombineClassifier(BaggedPETClassifier(6, random_state=0), "per_attribute", random_state=0)
    ),
    "dual_frozen": lambda: _frozen(lambda model: DualPerturbCombineClassifier(model, noise=[0.1, 0.2, 0.0, 0.3])),
    "dual_drawn": lambda: _plain(
        DualPerturbCombineClassifier(BinnedNaiveBayesClassifier(), 0.1, "monte_carlo", 5, random_state=0)
    ),
    "naive_bayes": lambda: _mixed(BinnedNaiveBayesClassifier(alpha=0), sample_weight=weights()),
    "naive_bayes_binned": lambda: _plain(BinnedNaiveBayesClassifier.zadrozny_elkan(n_bins=4)),
    "constant": lambda: _mixed(ConstantClassifier("one", positive="low")),
    "cost_sensitive": lambda: _plain(CostSensitiveClassifier(PETClassifier(), COSTS)),
    "cost_sensitive_actions": _actions,
    "cost_sensitive_relabel": lambda: _plain(CostSensitiveClassifier(PETClassifier(), COSTS, method="relabel", cv=3)),
    "cost_sensitive_one_action": lambda: _plain(
        CostSensitiveClassifier(PETClassifier(), ONLY_FIRST, method="relabel", cv=3)
    ),
    "expected_profit": _profit,
    "oob_calibrated": lambda: _mixed(
        OOBCalibratedClassifier(BaggedPETClassifier(12, random_state=0), method="venn_abers")
    ),
    "oob_calibrated_frozen": lambda: _frozen(lambda model: OOBCalibratedClassifier(model, maps.BinningCalibrator(4))),
    "monitored": lambda: _monitored(),
    "oob_calibrated_groups": lambda: _mixed(
        OOBCalibratedClassifier(BaggedPETClassifier(12, random_state=0), groups=maps.GroupCalibrator(min_rows=10))
    ),
    "oob_calibrated_tree": lambda: _mixed(
        OOBCalibratedClassifier(
            BaggedPETClassifier(12, max_depth=1, max_features=1, random_state=0),
            method="temperature",
            groups=maps.GroupCalibrator("tree", penalty=0.5, min_rows=10),
        )
    ),
    "group": lambda: _calibrator(maps.GroupCalibrator(min_rows=10, penalty=1.0)),
    "conformal": lambda: _mixed(
        ConformalClassifier(BaggedPETClassifier(24, random_state=0), by="colour", random_state=0)
    ),
    "conformal_per_class": lambda: _frozen(
        lambda model: ConformalClassifier(model, 0.8, method="raps", per_class=True, calibration="rows", random_state=0)
    ),
    "sigmoid": lambda: _calibrator(maps.SigmoidCalibrator()),
    "beta": lambda: _calibrator(maps.BetaCalibrator(), 2),
    "isotonic": lambda: _calibrator(maps.IsotonicCalibrator()),
    "temperature": lambda: _calibrator(maps.TemperatureCalibrator()),
    "binning": lambda: _calibrator(maps.BinningCalibrator(5), 2),
    "venn_abers": lambda: _calibrator(maps.VennAbersCalibrator()),
    "vector": lambda: _calibrator(maps.VectorScalingCalibrator()),
    "structured_matrix": lambda: _calibrator(maps.StructuredMatrixCalibrator()),
    "quadratic": lambda: _calibrator(maps.QuadraticCalibrator(), 2),
    "quadratic_free": lambda: _calibrator(maps.QuadraticCalibrator(monotone=False)),
    "spline": lambda: _calibrator(maps.SplineCalibrator(6)),
}

_MADE: dict = {}


def made(name):
    """A fitted model and its queries; made once."""
    if name not in _MADE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _MADE[name] = MAKERS[name]()
    return _MADE[name]


def answers(model, queries):
    """What a model says, as arrays by name."""
    if isinstance(model, petiole.Tree):
        return {name: getattr(model, name) for name in ("feature", "threshold", "inbag_class_counts", "parent")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = {}
        for name in (
            "predict_proba",
            "predict",
            "apply",
            "predict_interval",
            "expected_profit",
            "predict_joint_log_proba",
        ):
            if hasattr(model, name):
                columns = (queries,) if isinstance(model, maps.GroupCalibrator) else ()
                said[name] = np.asarray(getattr(model, name)(queries, *columns))
        if hasattr(model, "predict_set"):
            said["predict_set"] = model.predict_set(queries).contains
        if hasattr(model, "decision_path"):
            path = model.decision_path(queries)
            said["decision_path"] = (path[0] if isinstance(path, tuple) else path).toarray()
        for name in ("oob_predict_proba_", "oob_decision_", "feature_importances_"):
            if hasattr(model, name):
                said[name] = np.asarray(getattr(model, name))
        return said


def assert_same_answers(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].shape == other[name].shape, name
        if one[name].dtype.kind == "f":
            assert np.array_equal(one[name], other[name], equal_nan=True), name
        else:
            assert one[name].tolist() == other[name].tolist(), name
