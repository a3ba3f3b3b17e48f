"""compare_methods: folds, scores, intervals, the verdict, and data of every kind."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import naive_study
from petiole import PETClassifier
from petiole._table.judged import Judged
from petiole._table.rows import EncodedRows
from petiole.study import METHODS, PeerClassifier, compare_methods, inspection
from petiole.study.data import read_table_of_study
from petiole.study.identifiers import ColumnWatch
from petiole.study.importance import _log_loss_increases, permutation_importance
from petiole.study.inspection import inspect
from petiole.study.methods import Shape, choose_methods
from petiole.study.peers import calibrated_forest
from petiole.study.recommending import recommend
from petiole.study.results import MethodResult
from petiole.study.scoring import Interval, interval_over_folds, interval_over_rows, p_value_over_rows, row_losses
from petiole.study.splits import Plan, fold_numbers, make_splits, plan_folds
from petiole.study.verdict import make_verdict

QUICK = ["pet", "naive-bayes"]


def mixed_data(n=150, seed=0):
    """Three classes, numeric and categorical columns, missing values."""
    random = np.random.default_rng(seed)
    y = np.array(["low", "mid", "top"])[random.integers(0, 3, n)]
    shift = np.select([y == "low", y == "mid"], [0.0, 1.5], 3.0)
    number = random.normal(size=n) + shift
    number[random.random(n) < 0.1] = np.nan
    colour = np.where(random.random(n) < 0.6, y, random.choice(["low", "mid", "top"], n)).astype(object)
    colour[random.random(n) < 0.1] = None
    return pd.DataFrame({"number": number, "colour": colour, "noise": random.normal(size=n)}), y


# Folds.


@pytest.fixture
def few_peer_trees(monkeypatch):
    monkeypatch.setattr("petiole.study.methods.PEER_TREES", 10)


@pytest.mark.parametrize("seed", range(20))
def test_folds_deal_out_every_class(seed):
    random = np.random.default_rng(seed)
    n_classes, n_folds = random.integers(2, 7), int(random.integers(2, 7))
    codes = random.permutation(np.concatenate([np.full(random.integers(1, 12), k) for k in range(n_classes)]))
    folds = fold_numbers(codes, n_folds, random)
    for k in range(n_classes):
        of_class = folds[codes == k]
        if len(of_class) == 1:
            assert of_class[0] == -1
            continue
        sizes = np.bincount(of_class, minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1
        assert (sizes < len(of_class)).all()  # so the class is in every training part
    sizes = np.bincount(folds[folds >= 0], minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1


def test_splits_cover_every_row_once_per_repetition():
    codes = np.repeat([0, 1, 2], [30, 5, 1])
    splits = make_splits(codes, Plan(5, 2), np.random.default_rng(0))
    assert len(splits) == 10
    for repetition in (splits[:5], splits[5:]):
        tested = np.concatenate([split.test for split in repetition])
        assert sorted(tested) == list(range(35))  # the last row is the only one of its class
    for split in splits:
        assert set(codes[split.train]) == {0, 1, 2}
        assert not set(split.train) & set(split.test)
    assert any((one.test != two.test).any() for one, two in zip(splits[:5], splits[5:], strict=True))


@pytest.mark.parametrize(
    ("folds", "repeats", "codes", "words"),
    [
        (1, None, [0, 1] * 5, "folds=1: must be a whole number at least 2"),
        (None, 0, [0, 1] * 5, "repeats=0"),
        (9, None, [0, 1] * 4, "folds=9: must be at most 8"),
        (None, None, [0, 1, 2], "every class has one row only"),
    ],
)
def test_impossible_plans_are_refused(folds, repeats, codes, words):
    with pytest.raises(ValueError, match=words):
        plan_folds(np.array(codes), 2, folds, repeats)


def test_large_tables_get_fewer_fits():
    codes = np.arange(10_000) % 2
    assert plan_folds(codes[:100], 5, None, None) == Plan(5, 2)
    assert plan_folds(codes, 100, None, None) == Plan(5, 1)
    assert plan_folds(codes, 1000, None, None) == Plan(3, 1)


# Scores against the naive version.


@pytest.mark.parametrize("seed", range(8))
def test_scores_are_those_of_the_naive_version(seed):
    random = np.random.default_rng(seed)
    n, n_classes = int(random.integers(3, 40)), int(random.integers(2, 14))
    proba = random.dirichlet(np.full(n_classes, 0.3), n).round(2) + 0.0
    proba[:, 0] += 1 - proba.sum(axis=1)
    proba = np.clip(proba, 0, 1)
    proba /= proba.sum(axis=1, keepdims=True)
    codes = random.integers(0, n_classes, n).astype(np.int32)
    weights = random.integers(1, 4, n).astype(float)
    cost = random.integers(-2, 9, (n_classes, n_classes)).astype(float)
    judged = Judged(codes, proba, np.arange(n_classes), weights)
    found = {name: judged.mean(losses) for name, losses in row_losses(judged, cost).items()}
    for name, value in naive_study.scores(codes, proba.tolist(), weights, cost.tolist()).items():
        assert found[name] == pytest.approx(value), name


@pytest.mark.parametrize("seed", range(5))
def test_intervals_and_p_are_those_of_the_naive_version(seed):
    random = np.random.default_rng(seed)
    values = random.normal(size=10)
    assert interval_over_folds(values, 1 / 4) == pytest.approx(naive_study.interval_over_folds(values.tolist(), 5))
    first, second = random.normal(size=(2, 30))
    weights = random.integers(1, 4, 30).astype(float)
    expected = naive_study.p_value_of_rows(first, second, weights)
    assert p_value_over_rows(first - second, weights) == pytest.approx(expected)
    repeated = np.repeat(first, weights.astype(int))
    assert interval_over_rows(first, weights) == pytest.approx(interval_over_rows(repeated, np.ones(len(repeated))))


def test_importance_is_that_of_the_naive_version():
    X, y = load_iris(return_X_y=True)
    model = PETClassifier().fit(X[::2], y[::2])
    labels, weights = y[1::2].astype(np.int32), np.tile([1.0, 2.0, 3.0], 25)
    rows = EncodedRows(X[1::2], labels, weights, np.zeros(X.shape[1], dtype=np.int32), np.unique(y))
    random = np.random.default_rng(5)
    orders = [random.permutation(75) for _ in range(4)]

    class Replay:
        def __init__(self):
            self.orders = iter(orders)

        def permutation(self, values):
            return values[next(self.orders)]

    expected = naive_study.rises(model, rows.matrix, rows.labels, rows.weights, orders)
    assert _log_loss_increases(model, rows, 3, Replay()) == pytest.approx(expected)


# The whole.


@pytest.fixture(scope="module")
def iris_study():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    methods = ["probability-forest", "pet", "naive-bayes", "gradient-boosting"]
    return compare_methods(X, names[y], methods=methods, folds=3, repeats=1, name="iris")


def test_a_study_is_what_the_folds_say(iris_study):
    X, y = load_iris(return_X_y=True)
    y = y.astype(np.int32)
    splits = make_splits(y, Plan(3, 1), np.random.default_rng(0))
    by_hand = []
    for number, split in enumerate(splits):
        model = METHODS["pet"].make(number, 1).fit(X[split.train], y[split.train])
        proba = model.predict_proba(X[split.test])
        by_hand.append(naive_study.scores(y[split.test], proba, np.ones(len(split.test))))
    result = iris_study.result("pet")
    for score in ("log_loss", "brier", "accuracy"):
        assert result.by_split[score] == pytest.approx([found[score] for found in by_hand])
        assert result.scores[score].mean == pytest.approx(np.mean([found[score] for found in by_hand]))


def test_the_table_is_sorted_and_the_winner_first(iris_study):
    losses = [result.scores["log_loss"].mean for result in iris_study.table]
    assert losses == sorted(losses)
    assert iris_study.winner == iris_study.table[0].name
    assert iris_study.table[0].p_value is None
    assert all(0 <= result.p_value <= 1 for result in iris_study.table[1:])
    for result in iris_study.table:
        for name, interval in result.scores.items():
            assert interval.low <= interval.mean <= interval.high, name
    assert iris_study.table[0].title in iris_study.verdict
    assert "cost" not in iris_study.table[0].scores


def test_every_row_is_judged_once(iris_study):
    assert sorted(iris_study.judged.positions) == list(range(150))
    for proba in iris_study.probabilities.values():
        assert proba.shape == (150, 3)
        assert proba.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_the_winner_is_fitted_on_everything(iris_study):
    X, _ = load_iris(return_X_y=True)
    model = iris_study.fit_winner()
    assert set(model.classes_) == set(iris_study.classes)
    own = iris_study.fit_winner(petiole_only=True)
    assert type(own).__module__.startswith("petiole.") and not isinstance(own, PeerClassifier)
    assert own.predict_proba(X).shape == (150, 3)
    with pytest.raises(ValueError, match="must be one of"):
        iris_study.fit("dual")


def test_a_study_is_json_and_text(iris_study):
    told = json.loads(json.dumps(iris_study.to_dict(), allow_nan=False))
    assert told["winner"] == iris_study.winner
    assert [method["name"] for method in told["methods"]] == [result.name for result in iris_study.table]
    assert told["classes"] == ["setosa", "versicolor", "virginica"]
    assert iris_study.verdict in str(iris_study)


def test_the_same_seed_gives_the_same_study(iris_study):
    again = pickle.loads(pickle.dumps(iris_study))
    X, y, _ = again.given
    methods = [result.name for result in iris_study.table]
    other = compare_methods(X, y, methods=methods, folds=3, repeats=1, name="iris")
    for result in iris_study.table:
        assert other.result(result.name).scores["log_loss"] == result.scores["log_loss"]


def test_every_method_takes_nominal_and_missing_values_weights_and_many_classes(few_peer_trees):
    X, y = mixed_data()
    weights = np.tile([1.0, 2.0, 0.0], 50)
    progress = Counting()
    study = compare_methods(X, y, methods="all", sample_weight=weights, folds=2, repeats=1, progress=progress)
    every = {name for name, method in METHODS.items() if method.is_installed}
    assert {result.name for result in study.table} == every
    assert study.data_summary["n_rows"] == 100
    assert study.data_summary["n_nominal"] == 1 and study.data_summary["n_missing"] > 0
    assert sorted(study.judged.positions) == [row for row in range(150) if row % 3 != 2]
    assert progress.total == progress.done == 2 * len(every) and progress.stopped
    assert "left" in progress.text
    for result in study.table:
        assert result.scores["log_loss"].mean < 1.8, result.name


class Counting:
    """Progress that counts."""

    done, stopped, total, text = 0, False, None, ""

    def start(self, total):
        self.total = total

    def advance(self, text):
        self.done += 1
        self.text = text

    def stop(self):
        self.stopped = True


class Interrupting(Counting):
    def advance(self, text):
        super().advance(text)
        if self.done == 2:
            raise KeyboardInterrupt


@pytest.mark.posix
def test_ctrl_c_stops_at_once_and_ends_the_progress():
    X, y = load_iris(return_X_y=True)
    progress = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        compare_methods(X, y, methods=QUICK, progress=progress)
    assert progress.stopped and progress.done == 2


def test_weights_count_rows():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    weights = np.tile([1.0, 2.0], 25)
    test = (X, y, weights)
    repeated = np.repeat(np.arange(50), weights.astype(int))
    one = compare_methods(X, y, methods=["pet"], sample_weight=weights, test=test)
    two = compare_methods(X[repeated], y[repeated], methods=["pet"], test=(X[repeated], y[repeated]))
    for score in ("brier", "accuracy", "ece", "aulc"):
        assert one.table[0].scores[score].mean == pytest.approx(two.table[0].scores[score].mean, abs=0.02), score


def test_costs_decide_who_wins():
    X, y = load_breast_cancer(return_X_y=True)
    cost = [[0.0, 1.0], [30.0, 0.0]]
    study = compare_methods(X, y, methods=QUICK, cost=cost, folds=3, repeats=1)
    costs = [result.scores["cost"].mean for result in study.table]
    assert costs == sorted(costs)
    assert "cost" in study.verdict and study.design.decides == "cost"
    for interval in (result.scores["cost"] for result in study.table):
        assert interval.low >= 0


def test_a_test_set_instead_of_folds():
    X, y = load_breast_cancer(return_X_y=True)
    study = compare_methods(X[::2], y[::2], methods=QUICK, test=(X[1::2], y[1::2]))
    assert study.design.folds is None and len(study.judged) == len(y[1::2])
    for result in study.table:
        model = METHODS[result.name].make(0, 1).fit(X[::2], y[::2])
        expected = naive_study.scores(y[1::2], model.predict_proba(X[1::2]), np.ones(len(y[1::2])))
        for score, value in expected.items():
            assert result.scores[score].mean == pytest.approx(value)
        assert result.scores["aulc"].low < result.scores["aulc"].high
        assert result.scores["fit_seconds"].low == result.scores["fit_seconds"].high
    with pytest.raises(ValueError, match="folds=3: there are no folds if test= is given"):
        compare_methods(X, y, test=(X, y), folds=3)
    with pytest.raises(ValueError, match="test has the label 'x'"):
        compare_methods(X, y, test=(X[:1], ["x"]))
    with pytest.raises(ValueError, match="test: must be"):
        compare_methods(X, y, test=X)


def test_rare_classes_are_learned_and_not_lost(few_peer_trees):
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:50, 50:100, 100:103]
    y = y[keep].astype(object)
    y = np.where(np.arange(103) == 102, "only", np.where(y == 2, "rare", "common")).astype(object)
    methods = ["pet", "probability-forest", "calibrated-forest", "gradient-boosting", "naive-bayes"]
    study = compare_methods(X[keep], y, methods=methods, folds=3, repeats=1)
    assert len(study.table) == 5 and study.classes == ["common", "only", "rare"]
    assert sorted(study.judged.positions) == list(range(102))
    assert any("'only' has one row only" in warning for warning in study.warnings)
    assert any("'rare' has fewer than 10 rows" in warning for warning in study.warnings)


def test_a_method_that_fails_is_left_out_and_named():
    X = np.arange(40.0).reshape(-1, 1)
    y = np.arange(40) // 20
    X[:, 0] = np.nan
    X = np.c_[X, np.arange(40.0) % 7]
    study = compare_methods(X, y, methods=["pet", "dual"], folds=2, repeats=1)
    assert study.winner in ("pet", "dual")
    broken = METHODS["pet"]
    try:
        METHODS["pet"] = type(broken)("pet", "Broken", False, lambda seed, n_jobs: PETClassifier(max_depth=0))
        study = compare_methods(X, y, methods=["pet", "naive-bayes"], folds=2, repeats=1)
        assert [result.name for result in study.table] == ["naive-bayes"]
        assert any("Broken could not be fitted and is left out: max_depth=0" in text for text in study.warnings)
        with pytest.raises(ValueError, match="no method could be fitted"):
            compare_methods(X, y, methods=["pet"], folds=2, repeats=1)
    finally:
        METHODS["pet"] = broken


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"methods": "best"}, "methods='best': must be 'auto', 'all' or a list"),
        ({"methods": []}, "at least one method"),
        ({"methods": ["forest"]}, "there is no method 'forest'"),
        ({"cost": [[0, 1]]}, "cost has shape"),
        ({"cost": [[0, 1, 2], [1, 0, 2]]}, r"cost has shape \(2, 3\): name its 2 rows in decisions="),
        ({"decisions": ["wait"]}, "need cost, which was not given"),
        ({"cost": [[0, 1, 2]], "decisions": ["a", "b"]}, "has 2 names, but cost has 1 rows"),
        ({"extra": PETClassifier()}, "must be a dict of estimators"),
        ({"extra": {"pet": PETClassifier()}}, "'pet' is the name of a method"),
        ({"extra": [PETClassifier]}, "is not an estimator; pass an object"),
        ({"extra": {"mine": Perceptron()}}, "mine gives no probabilities"),
        ({"sample_weight": [-1] * 150}, "must not be negative"),
        ({"folds": 2.5}, "folds=2.5"),
    ],
)
def test_wrong_parameters_are_named(given, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        compare_methods(X, y, **given)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y has one class, 'a'"):
        compare_methods(np.zeros((4, 1)), ["a"] * 4)


def test_methods_are_chosen_by_the_shape_of_the_data():
    small = {method.name for method in choose_methods("auto", Shape(150, 4, 4, 3))}
    assert "lazy-option-trees" in small and "dual" in small and "probability-forest-separate" not in small
    medium = {method.name for method in choose_methods("auto", Shape(569, 30, 30, 2))}
    assert "lazy-option-trees" not in medium and "calibrated-forest" in medium
    nominal = {method.name for method in choose_methods("auto", Shape(150, 4, 0, 3, 7))}
    assert "dual" not in nominal and "probability-forest-separate" in nominal
    large = {method.name for method in choose_methods("auto", Shape(10**6, 50, 50, 200))}
    assert {"probability-forest", "pet", "random-forest"} <= large
    assert not large & {"calibrated-forest", "b-pets", "gradient-boosting", "lazy-option-trees"}


# The verdict.


def made_up_scores(mean):
    return {"log_loss": Interval(mean, mean - 0.1, mean + 0.1), "predict_seconds": Interval(1.0, 1.0, 1.0)}


def results(*entries):
    """Results of made-up methods: mean log-loss, p, whether it is a peer."""
    return [
        MethodResult(f"m{i}", f"Method {i}", peer, made_up_scores(mean), p, {})
        for i, (mean, p, peer) in enumerate(entries)
    ]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([(0.1, None, False)], "Method 0 was the only method"),
        ([(0.1, None, False), (0.3, 0.0001, True)], "almost certainly ahead of the next, Method 1 (0.300): p < 0.001"),
        ([(0.1, None, False), (0.3, 0.03, True)], "probably ahead of the next"),
        (
            [(0.1, None, False), (0.3, 0.4, True)],
            "over Method 1 (0.300) may be due to chance, p = 0.40. Recommended: Method 0",
        ),
        (
            [(0.1, None, False), (0.2, 0.04, True), (0.3, 0.4, True)],
            "over Method 2 (0.300) may be due to chance, p = 0.40",
        ),
        (
            [(0.1, None, False), (0.2, 0.4, True), (0.3, 0.3, True)],
            "No method is clearly the best: the lead of Method 0",
        ),
        ([(0.1, None, False), (0.2, 0.4, True), (0.3, 0.3, True)], "over the others may be due to chance"),
        (
            [(0.1, None, False), (0.2, 0.4, True), (0.3, 0.3, True), (0.9, 0.01, False)],
            "over 2 of the 3 others may be due to chance (the nearest of them is Method 1 (0.200), p = 0.40)",
        ),
        (
            [(1.1, None, False), (1.2, 0.4, True)],
            "may be due to chance, p = 0.40. Method 0 is no better than predicting the class frequencies for every row "
            "(1.000 bits). Recommended:",
        ),
        (
            [(1.1, None, False), (1.2, 0.001, True)],
            "p = 0.001. Method 0 is no better than predicting the class frequencies for every row",
        ),
        (
            [(0.1, None, True), (0.2, 0.001, True), (0.3, 0.002, False)],
            "; the best of petiole's own methods is Method 2 (0.300), p = 0.002",
        ),
    ],
)
def test_the_verdict_says_how_sure_it_is(entries, words):
    table = results(*entries)
    advice = recommend(table, "log_loss", 1.0, (), 100)
    assert words in make_verdict(table, "log_loss", advice, 1.0)


def test_what_is_recommended_where_nobody_is_surely_ahead():
    """The winner if it is sure; else the simple one, or the quick one, if it loses little of what the best gains."""
    level = results((0.10, None, False), (0.12, 0.4, False), (0.13, 0.3, False), (0.30, 0.2, False))
    assert recommend(level, "log_loss", 1.0, (), 100).name == "m0"
    assert recommend(level, "log_loss", 1.0, ["m2", "m3"], 100).name == "m2"
    assert recommend(level, "log_loss", 1.0, ["m3"], 100).name == "m0"  # too far behind, whatever its p
    assert recommend(level, "log_loss", 0.3, ["m2"], 100).name == "m0"  # 0.03 is much of 0.2
    sure = results((0.10, None, False), (0.12, 0.01, False))
    assert recommend(sure, "log_loss", 1.0, ["m1"], 100).name == "m0"
    level[2].scores["predict_seconds"] = Interval(0.1, 0.1, 0.1)
    assert recommend(level, "log_loss", 1.0, (), 100).name == "m2"
    assert recommend(level, "log_loss", 1.0, (), 10**6).name == "m0"  # a microsecond per row


# Estimators of the user's own, and other libraries.


def test_my_estimators_are_compared_as_they_would_be_alone():
    """A pipeline gets the table, names and categories included; its probabilities are those of its own fit."""
    X, y = mixed_data()
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), (SimpleImputer(), ["number", "noise"])
    )
    mine = make_pipeline(encode, LogisticRegression(C=0.5))
    study = compare_methods(
        X, y, methods=["naive-bayes"], extra={"mine": mine, "theirs": GaussianNB()}, test=(X[100:], y[100:])
    )
    assert not study.warnings or not any("could not be fitted" in text for text in study.warnings)
    alone = clone(mine).fit(X, y).predict_proba(X[100:])
    np.testing.assert_allclose(study.probabilities["mine"], alone, atol=1e-6)
    np.testing.assert_allclose(study.fit("mine").predict_proba(X[100:]), alone)
    assert study.fit("theirs").predict_proba(X).shape == (150, 3)
    assert len(permutation_importance(study, "mine")) == 3
    weighted = compare_methods(X, y, sample_weight=np.arange(150) % 3, methods=["pet"], extra={"mine": mine}, folds=2)
    assert {result.name for result in weighted.table} == {"pet", "mine"}


def test_an_estimator_that_fails_in_its_own_way_is_left_out():
    class Broken(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise KeyError("no such thing")

    X, y = mixed_data()
    study = compare_methods(X, y, methods=["naive-bayes"], extra={"broken": Broken()}, folds=2, repeats=1)
    assert any("broken could not be fitted and is left out: 'no such thing'" in text for text in study.warnings)


@pytest.mark.parametrize("name", ["logistic-regression", "lightgbm", "xgboost", "catboost"])
def test_other_libraries_take_categories_missing_values_and_weights(name, monkeypatch):
    if not METHODS[name].is_installed:
        pytest.skip(f"{name} is not installed")
    quick = {"lightgbm": "n_estimators", "xgboost": "n_estimators", "catboost": "iterations"}
    X, y = mixed_data(240)
    model = METHODS[name].make(0, 1)
    if name in quick:
        model.estimator.set_params(**{quick[name]: 20})
        monkeypatch.setitem(METHODS, name, dataclasses.replace(METHODS[name], make=lambda seed, jobs: clone(model)))
    study = compare_methods(
        X, y, methods=[name], sample_weight=1 + np.arange(240) % 2, test=(X[:80], y[:80]), random_state=0
    )
    assert study.table[0].scores["accuracy"].mean > 0.7
    without = compare_methods(X[["number", "noise"]], y, methods=[name], test=(X[:80][["number", "noise"]], y[:80]))
    assert without.table[0].scores["log_loss"].mean > study.table[0].scores["log_loss"].mean


def test_methods_that_are_not_installed_say_what_to_install(monkeypatch):
    monkeypatch.setitem(METHODS, "lightgbm", dataclasses.replace(METHODS["lightgbm"], package="no_such_package"))
    with pytest.raises(ValueError, match="'lightgbm' needs a package: pip install no_such_package"):
        choose_methods(["auto", "lightgbm"], Shape(100, 4, 4, 2))
    monkeypatch.setitem(METHODS, "catboost", dataclasses.replace(METHODS["catboost"], package="numpy"))  # which is here
    names = [method.name for method in choose_methods(["auto", "catboost"], Shape(100, 4, 4, 2))]
    assert names[-1] == "catboost" and "pet" in names and "xgboost" not in names


def test_decisions_need_not_be_classes():
    """The cost of a method is that of its cheapest decisions, and the baseline the best decision for all."""
    X, y = load_breast_cancer(return_X_y=True)
    cost = np.array([[20.0, -1.0], [0.0, 0.0], [2.0, 1.0]])
    study = compare_methods(X, y, methods=QUICK, cost=cost, decisions=["grant", "refuse", "ask"], folds=2, repeats=1)
    assert study.decisions == ["grant", "refuse", "ask"] and study.to_dict()["decisions"] == study.decisions
    for result in study.table:
        proba = study.probabilities[result.name].astype(float)
        taken = (proba @ cost.T).argmin(axis=1)
        assert result.scores["cost"].mean == pytest.approx(cost[taken, study.judged.labels].mean(), abs=0.02)
    assert study.baseline == pytest.approx(min(cost @ np.bincount(study.judged.labels) / len(y)))


# Warnings.


def table_of(X, y):
    return read_table_of_study(X, y, None)


def test_suspicious_columns_are_found():
    random = np.random.default_rng(0)
    n = 300
    y = random.choice(["no", "yes"], n)
    frame = pd.DataFrame(
        {
            "measured": random.normal(size=n),
            "outcome": np.where(y == "yes", "paid", "open"),
            "leaking number": np.where(y == "yes", 5.0, 1.0) + random.normal(size=n) * 0.1,
            "number": np.arange(n) + 1000,
            "key": [f"id{i}" for i in random.permutation(n)],
            "still": 7,
            "mostly missing": np.where(random.random(n) < 0.7, np.nan, random.normal(size=n)),
            "empty": np.full(n, np.nan),
        }
    )
    text = "\n".join(inspect(table_of(frame, y)))
    assert "Columns 'outcome' and 'leaking number' each predict the class of nearly every row" in text
    assert "Columns 'number' and 'key' look like identifiers" in text
    assert "Column 'still' holds a single value" in text
    assert "Column 'mostly missing' lacks more than half" in text
    assert "Column 'empty' holds no value at all" in text
    assert "'measured'" not in text and "repeat" not in text


def test_duplicates_are_counted_and_ordinary_data_pass():
    X, y = load_breast_cancer(return_X_y=True)
    assert inspect(table_of(X, y)) == []
    (warning,) = inspect(table_of(np.r_[X, X[:60]], np.r_[y, 1 - y[:10], y[10:60]]))
    assert warning.startswith("60 of 629 rows (10%) repeat the features of an earlier row, and 20 rows have a twin")


def column_watch(values, every=1, n_parts=1, nominal=False):
    watch = ColumnWatch(every)
    for part in np.array_split(np.asarray(values, dtype=float), n_parts):
        watch.add_numbers(part, are_names=nominal)
    return watch


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("n_parts", [1, 7])
def test_identifiers_are_told_from_measurements(every, n_parts):
    random, n = np.random.default_rng(0), 5000
    counted = 10_000 + random.permutation(n)
    with_gaps = random.choice(20 * n, n, replace=False)
    with_few_repeats = np.r_[with_gaps[: n - 250], with_gaps[:250]]
    for values, is_identifier, may_be in (
        (counted, True, True),
        (-counted, True, True),
        (with_gaps, False, True),
        (random.choice(n**2, n, replace=False), False, False),  # so wide that no two need be equal
        (with_few_repeats, False, False),
        (np.r_[counted[: n - 1000], np.zeros(1000)], False, False),  # one value fills many rows
        (random.normal(size=n), False, False),
        (np.where(np.arange(n) == 17, np.nan, counted), False, False),
        (counted + 0.5, False, False),
        (random.integers(0, 50, n), False, False),
    ):
        watch = column_watch(values, every, n_parts)
        assert (watch.is_identifier, watch.may_be_identifier) == (is_identifier, may_be)
    assert not column_watch(np.arange(19), every).is_identifier
    assert column_watch(np.arange(20)).is_identifier


@pytest.mark.parametrize("every", [1, 8])
@pytest.mark.parametrize("share", [0.8, 0.98])
def test_names_of_nearly_every_row_are_identifiers(every, share):
    """With texts and with codes, missing ones among them, in parts."""
    random, n = np.random.default_rng(1), 40_000
    codes = np.r_[np.arange(round(share * n)), np.zeros(n - round(share * n))]
    codes = random.permutation(codes)
    assert column_watch(codes, every, 3, nominal=True).is_identifier == (share > 0.9)
    codes[random.choice(n, n // 50, replace=False)] = np.nan
    assert column_watch(codes, every, 3, nominal=True).is_identifier == (share > 0.9)
    watch = ColumnWatch(every)
    for part in np.array_split(codes, 3):
        watch.add_texts(len(part), Counter(f"n{code:.0f}" for code in part[~np.isnan(part)]).items())
    assert watch.is_identifier == (share > 0.9)


def test_rows_are_equal_if_all_their_cells_are():
    random = np.random.default_rng(0)
    for order in "CF":
        matrix = np.asarray(random.integers(-1, 2, (300, 4)) * 1.0, order=order)
        matrix[random.random(matrix.shape) < 0.1] = np.nan
        matrix[random.random(matrix.shape) < 0.1] *= -0.0
        _, found = np.unique(inspection._keys_of_rows(matrix), return_inverse=True)
        names = [tuple(None if value != value else value for value in row) for row in matrix.tolist()]
        for i, j in random.integers(0, 300, (3000, 2)).tolist():
            assert (found[i] == found[j]) == (names[i] == names[j])


# Peers.


def test_peers_take_what_petiole_takes():
    X, y = mixed_data()
    X["empty"] = np.nan
    for estimator, nominal in (
        (RandomForestClassifier(20, random_state=0), "one_hot"),
        (HistGradientBoostingClassifier(random_state=0), "native"),
        (calibrated_forest(10, 0, 1), "one_hot"),
    ):
        model = PeerClassifier(estimator, nominal=nominal).fit(X[:100], y[:100], np.tile([1.0, 2.0], 50))
        proba = model.predict_proba(X[100:])
        assert proba.shape == (50, 3) and proba.sum(axis=1) == pytest.approx(1)
        assert (model.predict(X[100:]) == y[100:]).mean() > 0.6
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
        unseen = X[100:].assign(colour="never seen")
        assert np.isfinite(clone(model).fit(X, y).predict_proba(unseen)).all()
    with pytest.raises(ValueError, match="nominal='both': must be one of"):
        PeerClassifier(RandomForestClassifier(), nominal="both").fit(X, y)


def test_native_categories_are_told_to_boosting():
    X, y = mixed_data()
    model = PeerClassifier(HistGradientBoostingClassifier(max_iter=2), nominal="native").fit(X, y)
    assert model.estimator_.is_categorical_.tolist() == [False, True, False]


def test_features_that_matter_come_first():
    X, y = mixed_data(300)
    study = compare_methods(X, y, methods=["naive-bayes"], folds=3, repeats=1)
    found = permutation_importance(study, "naive-bayes")
    assert [one.name for one in found][-1] == "noise"
    assert found[0].mean > 5 * abs(found[-1].mean)
    assert all(one.error >= 0 for one in found)
    assert permutation_importance(study, "naive-bayes") == found


def test_rows_are_taken_with_their_weights():
    labels = np.arange(3, dtype=np.int32)
    matrix, weights = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0])
    rows = EncodedRows(matrix, labels, weights, np.zeros(2, dtype=np.int32), labels)
    taken = rows.take(np.array([2, 0]))
    assert taken.matrix.tolist() == [[4, 5], [0, 1]] and taken.weights.tolist() == [3, 1]
