"""Zadrozny & Elkan (2001), "Obtaining calibrated probability estimates...": the experiments behind tables 1 to 4.

KDD'98 is a sample with weights here, divided into halves several times; with the contest's own files (see
``zadrozny_elkan_2001_data.FOLDER_VARIABLE``) it is the paper's own division, too. CoIL has its own division, and is
divided anew as well, for the spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.naive_bayes import BinnedNaiveBayesClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._table.columns import Floats
from petiole.decisions import campaign_profit, mail_policy
from petiole.experiments._grid.cells import Experiment, Task
from petiole.experiments.zadrozny_elkan_2001.data import (
    COIL,
    COIL_REDRAWN,
    KDD98,
    KDD98_SAMPLE,
    PEOPLE,
    Division,
    People,
    kdd98_folder,
    load_division,
)
from petiole.metrics import brier_score, lift_curve, log_loss
from petiole.smoothing import Curtailment, MEstimate

NAME = "zadrozny-elkan-2001"
TRIALS, QUICK_TRIALS = 10, 2
SETTINGS = {"n_trees": 100, "largest_gift": 50.0}
# The paper's m and v: b·m = b·v = 10, rounded as printed (section 2 and the caption of table 4).
STRENGTH = {KDD98: 200.0, KDD98_SAMPLE: 200.0, COIL: 170.0, COIL_REDRAWN: 170.0}
PARTS = ("training", "test")
# Where lift charts are read.
SHARES = (0.01, 0.02, 0.03, *(share / 20 for share in range(1, 21)))

RAW, KEARNS_MANSOUR, LAPLACE = "C4.5 without pruning", "Kearns-Mansour", "Laplace (C4.4)"
SMOOTHING, CURTAILMENT, SMOOTHED_CURTAILMENT = "Smoothing", "Curtailment", "Smoothed curtailment"
BAGGED_LAPLACE, BAGGED_CURTAILMENT = "Bagged Laplace", "Bagged curtailment"
NAIVE_BAYES, BINNED_NAIVE_BAYES = "Naive Bayes", "Binned naive Bayes"
BASE_RATE, ZERO, ONE = "All base rate", "All zero (C4.5 with pruning)", "All one"
PRUNED = "C4.5 with pruning, its frequencies"  # not in the paper, which says that it is a single leaf

Make = Callable[[float, int, Mapping[str, Any]], Any]
# A model from m = v, the number of trees and what all share (categorical features, seed).
MODELS: dict[str, Make] = {
    BAGGED_LAPLACE: lambda _, trees, common: _bagged(trees, common, "laplace"),
    KEARNS_MANSOUR: lambda *given: PETClassifier.c44(criterion="kearns_mansour", smoothing="raw", **given[2]),
    RAW: lambda *given: PETClassifier.c44(smoothing="raw", **given[2]),
    LAPLACE: lambda *given: PETClassifier.c44(**given[2]),
    BAGGED_CURTAILMENT: lambda v, trees, common: _bagged(trees, common, Curtailment(v)),
    CURTAILMENT: lambda v, _, common: PETClassifier.c44(smoothing=Curtailment(v), **common),
    SMOOTHING: lambda m, _, common: PETClassifier.c44(smoothing=MEstimate(m), **common),
    SMOOTHED_CURTAILMENT: lambda m, _, common: PETClassifier.c44(smoothing=Curtailment(m, MEstimate(m)), **common),
    BINNED_NAIVE_BAYES: lambda *given: BinnedNaiveBayesClassifier.zadrozny_elkan(**_without_seed(given[2])),
    NAIVE_BAYES: lambda *given: BinnedNaiveBayesClassifier(**_without_seed(given[2])),
    PRUNED: lambda *given: PETClassifier.c45(**given[2]),
}
CONSTANTS = {BASE_RATE: None, ZERO: 0.0, ONE: 1.0}


def experiment(*, original: bool | None = None) -> Experiment:
    """The whole grid; the contest's own files are part of it if there are any, or if ``original`` says so."""
    with_files = kdd98_folder() is not None if original is None else original
    data_sets = [*([KDD98] if with_files else []), KDD98_SAMPLE, COIL, COIL_REDRAWN]
    return Experiment(NAME, data_sets, [*MODELS, *CONSTANTS], TRIALS, run_cell, SETTINGS)


def run_cell(task: Task) -> dict[str, float]:
    """Fit one method and judge it on its training rows and on the test rows."""
    division = load_division(task.cell.data_set, task.split_seed)
    model = None
    if task.cell.method in MODELS:
        model = fitted(task.cell.method, division, STRENGTH[task.cell.data_set], task.settings["n_trees"], task.seed)
    scores = {"leaves": float(model.get_n_leaves()) if isinstance(model, PETClassifier) else np.nan}
    amounts = predicted_gifts(division, task.settings["largest_gift"])
    for number, (name, part) in enumerate(zip(PARTS, (division.train, division.test), strict=True)):
        chances = constant(task.cell.method, division, part) if model is None else chances_of(model, part.X)
        judged = judge(part, chances, None if amounts is None else amounts[number], PEOPLE[number])
        scores |= {f"{name} {metric}": value for metric, value in judged.items()}
    return scores


def fitted(method: str, division: Division, strength: float, n_trees: int, seed: int) -> Any:
    """A method of the paper, fitted to the training rows."""
    common = {"categorical_features": list(division.categorical), "random_state": seed}
    model = MODELS[method](strength, n_trees, common)
    return model.fit(division.train.X, division.train.y, sample_weight=division.train.weights)


def chances_of(model: Any, X: Floats) -> Floats:
    """The probability of a gift; parts of a row with missing values may add up to 1 and a rounding error."""
    return np.clip(model.predict_proba(X)[:, 1], 0.0, 1.0)


def constant(method: str, division: Division, part: People) -> Floats:
    """The same probability for all rows."""
    value = CONSTANTS[method]
    rate = float(np.average(division.train.y, weights=division.train.weights))
    return np.full(len(part.y), rate if value is None else value)


def predicted_gifts(division: Division, largest: float) -> tuple[Floats, Floats] | None:
    """How much people would give, by a linear regression on what they gave before; it is the same for all methods.

    Fitted to the gifts in training up to ``largest``; missing regressors take their mean. None without gifts.
    """
    train = division.train
    if train.gifts is None or train.history is None or division.test.history is None:
        return None
    used = (train.gifts > 0) & (train.gifts <= largest)
    means = np.nanmean(train.history[used], axis=0)
    design = [_with_constant(np.where(np.isnan(h), means, h)) for h in (train.history, division.test.history)]
    coefficients = np.linalg.lstsq(design[0][used], train.gifts[used], rcond=None)[0]
    return design[0] @ coefficients, design[1] @ coefficients


def judge(part: People, chances: Floats, amounts: Floats | None, people: int) -> dict[str, float]:
    """The four metrics of section 3: MSE and log-loss, lift, and profit scaled to a number of people."""
    proba = np.column_stack([1 - chances, chances])
    rows: dict[str, Any] = {"labels": [False, True], "sample_weight": part.weights}
    curve = lift_curve(part.y, proba, **rows)
    profit = np.nan
    if amounts is not None and part.gifts is not None:
        mailed = mail_policy(chances, amounts)
        profit = campaign_profit(mailed, part.gifts, sample_weight=part.weights) * people / part.weights.sum()
    return {
        "mse": brier_score(part.y, proba, **rows),
        "log_loss": log_loss(part.y, proba, **rows),
        "profit": float(profit),
        **{lift_name(share): curve.lift_at(share) for share in SHARES},
    }


def lift_name(share: float) -> str:
    """The name of a score.

    >>> lift_name(0.05)
    'lift at 0.05'
    """
    return f"lift at {share:.2f}"


def _bagged(n_trees: int, common: Mapping[str, Any], smoothing: Any) -> BaggedPETClassifier:
    growth: dict[str, Any] = {"criterion": "gain_ratio", "threshold": "data", "bootstrap": "plain", "n_jobs": 1}
    return BaggedPETClassifier(n_trees, smoothing=smoothing, **growth, **common)


def _without_seed(common: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in common.items() if name != "random_state"}


def _with_constant(columns: Floats) -> Floats:
    return np.column_stack([np.ones(len(columns)), columns])
