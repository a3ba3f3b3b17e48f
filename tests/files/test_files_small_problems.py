"""What ``fit`` leaves, ``save`` takes: random small problems for every class that files hold."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import petiole
from file_models import answers, assert_same_answers
from petiole import calibrators as maps
from petiole._classifiers.oob_calibrated import METHODS
from petiole.conformal import ConformalClassifier
from petiole.decisions import ExpectedProfitClassifier
from petiole.files import ModelFileError, save
from petiole.files.registry import MODULE_OF, class_named
from petiole.files.savable import SavableModel
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, MBranch, MEstimate

N_PROBLEMS = 24


def pick(rng, *choices):
    return choices[rng.integers(len(choices))]


def column(rng, n_rows):
    """Numbers, few or many different, names or truth values; often with missing ones."""
    kinds = [
        lambda: rng.normal(size=n_rows).round(1),
        lambda: rng.integers(0, 3, n_rows).astype(float),
        lambda: np.full(n_rows, 7.0),
        lambda: rng.choice(list("abcdef"), n_rows).astype(object),
        lambda: (rng.uniform(size=n_rows) < 0.5).astype(object),
    ]
    values = kinds[rng.integers(len(kinds))]()
    lost = rng.uniform(size=n_rows) < pick(rng, 0.0, 0.0, 0.1, 0.6)
    values[lost] = None if values.dtype == object else np.nan
    return values


def problem(rng):
    """Rows, labels and weights: from two rows on, classes of a single row, weights that are zero or not whole."""
    n_rows, n_classes = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    X = pd.DataFrame({f"c{j}": column(rng, n_rows) for j in range(int(rng.integers(1, 5)))})
    y = rng.choice(n_classes, n_rows, p=rng.dirichlet(np.full(n_classes, 0.7)))
    weights = rng.choice([0.0, 1 / 3, 1.0, 2.0], n_rows) if rng.uniform() < 0.5 else None
    return X, y, weights if weights is None or weights.any() else None


def growth(rng):
    return {
        "criterion": pick(rng, "entropy", "gini", "gain_ratio", "kearns_mansour"),
        "min_samples_leaf": pick(rng, 1, 2, 5),
        "missing": pick(rng, "fractional", "separate"),
        "nominal_splits": pick(rng, "multiway", "binary"),
        "pruning": pick(rng, None, "collapse", "error_based", "pruning_set"),
        "random_state": int(rng.integers(1000)),
    }


def ensemble(rng):
    few = {"n_estimators": int(rng.integers(1, 8)), "oob_score": bool(rng.integers(2))}
    return growth(rng) | few | {"count": pick(rng, "copies", "distinct"), "bootstrap": pick(rng, "plain", "stratified")}


def smoothing(rng):
    return pick(rng, "raw", Laplace(), MEstimate(), MBranch(), HGS(), HGS(alpha="honest"), Curtailment(v=3),
                HDP(n_iter=6, burn_in=2))  # fmt: skip


def bagged(rng):
    return petiole.BaggedPETClassifier(**ensemble(rng), smoothing=smoothing(rng), oob_weight=pick(rng, 0, 0.5, 1.0))


MODELS = {
    "PETClassifier": lambda rng: petiole.PETClassifier(**growth(rng), smoothing=smoothing(rng)),
    "BaggedPETClassifier": bagged,
    "MOBESPClassifier": lambda rng: petiole.MOBESPClassifier(**ensemble(rng), rows=pick(rng, "winner", "shared")),
    "ProbabilityForestClassifier": lambda rng: petiole.ProbabilityForestClassifier(
        **ensemble(rng), max_features=pick(rng, ("sqrt", 1), "sqrt")
    ),
    "LazyOptionTreesClassifier": lambda rng: petiole.LazyOptionTreesClassifier(
        int(rng.integers(1, 6)), oob_score=bool(rng.integers(2)), random_state=0
    ),
    "DualPerturbCombineClassifier": lambda rng: petiole.DualPerturbCombineClassifier(
        petiole.PETClassifier(**growth(rng)), noise=pick(rng, 0.0, 0.2, "auto"), nominal_noise=pick(rng, 0.0, 0.1)
    ),
    "BinnedNaiveBayesClassifier": lambda rng: petiole.BinnedNaiveBayesClassifier(
        n_bins=pick(rng, 1, 3, 10), alpha=pick(rng, 0, 1.0), score_bins=pick(rng, None, 3)
    ),
    "ConstantClassifier": lambda rng: petiole.ConstantClassifier(),
    "CostSensitiveClassifier": lambda rng: petiole.CostSensitiveClassifier(petiole.PETClassifier(**growth(rng))),
    "ExpectedProfitClassifier": lambda rng: ExpectedProfitClassifier(petiole.PETClassifier(**growth(rng))),
    "OOBCalibratedClassifier": lambda rng: petiole.OOBCalibratedClassifier(bagged(rng), method=pick(rng, *METHODS)),
    "ConformalClassifier": lambda rng: ConformalClassifier(
        bagged(rng), method=pick(rng, "lac", "aps", "raps"), per_class=bool(rng.integers(2)), random_state=0
    ),
    "BoostedPETClassifier": lambda rng: petiole.BoostedPETClassifier(
        max_iter=int(rng.integers(1, 9)),
        n_folds=int(rng.integers(2, 6)),
        early_stopping=bool(rng.integers(2)),
        random_state=0,
    ),
}
CALIBRATORS = [name for name in maps.__all__ if name.endswith("Calibrator")]


@pytest.mark.parametrize("name", MODELS)
def test_whatever_a_fit_leaves_can_be_saved(name, tmp_path):
    n_fitted = 0
    for seed in range(N_PROBLEMS):
        rng = np.random.default_rng([seed, list(MODELS).index(name)])
        X, y, weights = problem(rng)
        if name == "ExpectedProfitClassifier":  # whose regression takes numbers only
            X, y = X.apply(pd.to_numeric, errors="coerce").fillna(0.0), y % 2
        model = MODELS[name](rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
            except ValueError:  # one class, no row left out, and the like
                continue
        n_fitted += 1
        comes_back(model, X, tmp_path / "model.petiole")
    assert n_fitted > N_PROBLEMS / 3


@pytest.mark.parametrize("name", CALIBRATORS)
def test_whatever_a_calibrator_learns_can_be_saved(name, tmp_path):
    for seed in range(N_PROBLEMS):
        rng = np.random.default_rng([seed, CALIBRATORS.index(name), 1])
        n_rows, n_classes = int(rng.integers(4, 20)), int(rng.integers(2, 5))
        scores = rng.dirichlet(np.full(n_classes, 0.3), n_rows).round(pick(rng, 1, 12))
        y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows)])[:n_rows]
        model = getattr(maps, name)()
        try:
            columns = (scores,) if name == "GroupCalibrator" else ()
            model.fit(scores, y, *columns, rng.choice([1 / 3, 1.0, 2.0], n_rows))
        except ValueError:
            continue
        comes_back(model, scores, tmp_path / "model.petiole")


def comes_back(model, queries, path):
    before = answers(model, queries)
    model.save(path)
    assert_same_answers(before, answers(petiole.load(path), queries))


def test_every_class_is_tried():
    models = {name for name in MODULE_OF if issubclass(class_named(name), SavableModel)}
    assert models == {*MODELS, *CALIBRATORS}


@pytest.mark.filterwarnings("ignore")
def test_losses_are_never_below_zero(tmp_path):
    """Means over trees may be larger than 1 by a bit, and the logarithm of that is larger than 0."""
    X = np.arange(12.0).reshape(-1, 1)
    for seed in range(40):
        model = petiole.ProbabilityForestClassifier(3, random_state=seed, oob_score=True).fit(X, np.zeros(12))
        assert not np.signbit([model.oob_log_loss_, model.oob_brier_, *model.oob_component_log_loss_.values()]).any()
        model.save(tmp_path / "model.petiole")


def test_an_estimator_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ModelFileError, match="not fitted"):
        save(Laplace(), tmp_path / "model.petiole")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("no_columns", [(), []])
def test_a_regression_on_the_probability_alone_is_saved(tmp_path, no_columns):
    rng = np.random.default_rng(0)
    X, gifts = rng.normal(size=(40, 2)), np.where(rng.uniform(size=40) < 0.5, rng.uniform(1, 9, 40), 0.0)
    model = ExpectedProfitClassifier(petiole.PETClassifier(), amount_columns=no_columns, add_probability=True)
    model.fit(X, gifts > 0, amount=gifts)
    model.save(tmp_path / "model.petiole")
    loaded = petiole.load(tmp_path / "model.petiole")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
