"""Prediction sets: scores and thresholds against naive versions, their coverage by simulation, and laws."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naive_conformal
import petiole
from petiole import (
    BaggedPETClassifier,
    BoostedPETClassifier,
    CostSensitiveClassifier,
    LazyOptionTreesClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole.conformal import ConformalClassifier, PredictionSets, SetScore
from petiole.conformal.groups import groups_by
from petiole.conformal.honest import honest_probabilities
from petiole.conformal.row_numbers import row_numbers
from petiole.conformal.thresholds import CalibrationScores, least_rows

METHODS = ("lac", "aps", "raps")


class Said(ClassifierMixin, BaseEstimator):
    """Its probabilities are the columns of X but the last, divided by their sum; the last tells rows apart."""

    def __init__(self, order=None):
        self.order = order

    def fit(self, X, y):
        self.classes_ = np.arange(np.shape(X)[1] - 1)
        return self

    def predict_proba(self, X):
        X = np.asarray(X, dtype=float)[:, :-1]
        return X / X.sum(axis=1, keepdims=True)


def said(n_classes):
    return Said().fit(np.ones((1, n_classes + 1)), [0])


def drawn(random, n, n_classes, ties=True):
    """Rows of probabilities that are true, and labels drawn by them."""
    proba = random.integers(0, 4, (n, n_classes)) + 1e-3 if ties else random.dirichlet(np.ones(n_classes), n)
    proba = np.column_stack([proba, random.random(n)])
    share = proba[:, :-1] / proba[:, :-1].sum(axis=1, keepdims=True)
    return proba, (share.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)


def noisy(n=240, seed=0, n_classes=3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).round(2)
    return X, (X[:, :n_classes] + random.gumbel(size=(n, n_classes))).argmax(axis=1)


def mixed(n=200, seed=0):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"size": random.normal(size=n), "town": random.choice(["a", "b", "c"], n), "age": random.integers(0, 3, n)}
    )
    y = np.where(frame["size"] + (frame["town"] == "a") + random.normal(size=n) > 0.5, "yes", "no")
    frame.loc[random.random(n) < 0.1, "size"] = np.nan
    frame.loc[random.random(n) < 0.1, "town"] = None
    return frame, y


def forest(**overrides):
    return BaggedPETClassifier.eb_pets(**{"n_estimators": 24, "random_state": 0, **overrides})


# Scores and thresholds.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_scores_are_those_of_the_definition(method, n_classes):
    random = np.random.default_rng(n_classes)
    table = random.integers(0, 4, (60, n_classes)) + 1e-2
    table /= table.sum(axis=1, keepdims=True)
    u = random.random(60)
    expected = [
        [naive_conformal.score(row.round(12), k, method, v, 0.3, 2) for k in range(n_classes)]
        for row, v in zip(table, u, strict=True)
    ]
    np.testing.assert_allclose(SetScore(method, penalty=0.3, free_ranks=2)(table, u), expected, atol=1e-11)
    order = random.permutation(n_classes)
    np.testing.assert_array_equal(SetScore(method)(table[:, order], u), SetScore(method)(table, u)[:, order])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("by_group", [False, True])
def test_sets_are_those_of_the_definition(method, per_class, by_group):
    random = np.random.default_rng(METHODS.index(method))
    X, y = drawn(random, 70, 3)
    queries, _ = drawn(random, 25, 3)
    weights = random.integers(1, 4, 70)
    groups, asked = random.integers(0, 3, 70), random.integers(0, 3, 25)
    options = {"groups": groups} if by_group else {}
    model = ConformalClassifier.from_rows(
        said(3), X, y, weights, method=method, per_class=per_class, random_state=3, **options
    )
    numbers, of_queries = row_numbers(X, model.seed_, 3), row_numbers(queries, model.seed_, 3)
    twice = np.repeat(np.arange(70), weights)
    of_rows = [(p.round(12), u, tie) for p, (u, tie, _) in zip(said(3).predict_proba(X), numbers, strict=True)]
    of_asked = [(p.round(12), u, t) for p, (u, t, _) in zip(said(3).predict_proba(queries), of_queries, strict=True)]
    for coverage in (0.3, 0.9, 0.97):
        expected = naive_conformal.prediction_sets(
            [of_rows[i] for i in twice],
            y[twice].tolist(),
            of_asked,
            coverage,
            method,
            of_queries[:, 2],
            per_class,
            (groups[twice].tolist(), asked.tolist()) if by_group else None,
        )
        found = model.predict_set(queries, coverage, groups=asked if by_group else None).contains
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("n", "coverage"), [(4, 0.5), (4, 0.9), (12, 0.9), (12, 0.75), (30, 0.9)])
def test_coverage_of_exchangeable_scores_is_exact_or_between_the_bounds(n, coverage):
    """By the theorem: exactly the coverage with random numbers, at most 1 / (n + 1) more without ties."""
    random, n_trials = np.random.default_rng(n), 6000
    scores, ties, numbers = (random.random((n_trials, n + 1)).round(digits) for digits in (1, 9, 9))
    every = np.arange(n_trials)
    cells = np.repeat(every, n)  # each trial is a cell of its own
    of_ties = CalibrationScores.of(scores[:, 1:].ravel(), ties[:, 1:].ravel(), None, cells, n_trials)
    without = CalibrationScores.of(ties[:, 1:].ravel(), ties[:, 1:].ravel(), None, cells, n_trials)
    limits = of_ties.thresholds(coverage)
    exact = limits.hold(every, scores[:, 0], np.column_stack([ties[:, 0], numbers[:, 0]])).mean()
    larger = limits.hold(every, scores[:, 0], None).mean()
    bounded = without.thresholds(coverage).hold(every, ties[:, 0], None).mean()
    if n < least_rows(coverage):
        assert exact == larger == bounded == 1
        return
    error = 4 * np.sqrt(coverage * (1 - coverage) / n_trials)
    assert abs(exact - coverage) < error
    assert coverage - error < bounded < coverage + 1 / (n + 1) + error
    assert larger > coverage - error


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per_class", [False, True])
def test_coverage_of_new_rows(method, per_class):
    """Over many calibrations, of true probabilities and of wrong ones; among the rows of each class if asked."""
    random, found = np.random.default_rng(1), []
    for seed in range(40):
        X, y = drawn(random, 90, 3)
        queries, truth = drawn(random, 300, 3)
        X[:, 0] += 0.5  # the model is wrong about the first class
        queries[:, 0] += 0.5
        model = ConformalClassifier.from_rows(said(3), X, y, method=method, per_class=per_class, random_state=seed)
        sets = model.predict_set(queries, 0.8)
        found.append([sets.covered(truth), *sets.covered_by_class(truth)])
    mean, *of_classes = np.mean(found, axis=0)
    assert abs(mean - 0.8) < 0.02
    if per_class:
        assert np.abs(np.array(of_classes) - 0.8).max() < 0.04


def test_groups_hold_their_coverage_each():
    random, found = np.random.default_rng(2), []
    for seed in range(60):
        X, y = drawn(random, 120, 2)
        queries, truth = drawn(random, 400, 2)
        groups, asked = random.integers(0, 2, 120), random.integers(0, 2, 400)
        y[groups == 1] = random.integers(0, 2, (groups == 1).sum())  # of these the model knows nothing
        truth[asked == 1] = random.integers(0, 2, (asked == 1).sum())
        model = ConformalClassifier.from_rows(said(2), X, y, groups=groups, random_state=seed)
        hits = model.predict_set(queries, groups=asked).hits(truth)
        found.append([hits[asked == group].mean() for group in (0, 1)])
    assert np.abs(np.mean(found, axis=0) - 0.9).max() < 0.02


# Laws.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("randomised", [False, True])
def test_sets_grow_with_the_coverage(method, randomised):
    X, y = drawn(np.random.default_rng(0), 80, 4)
    model = ConformalClassifier.from_rows(said(4), X, y, method=method, randomised=randomised, random_state=0)
    sets = [model.predict_set(X, coverage).contains for coverage in (0.05, 0.5, 0.8, 0.805, 0.9, 0.95, 0.999)]
    assert all((small <= large).all() for small, large in itertools.pairwise(sets))
    assert sets[-1].all() and not sets[0].all()


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_classes_does_not_matter(method):
    X, y = drawn(np.random.default_rng(0), 80, 4)
    order = np.array([2, 0, 3, 1])
    swapped = np.column_stack([X[:, :-1][:, order], X[:, -1]])
    # Of the values alone, wherever they are: the rows keep their numbers.
    numbers = row_numbers(X, 7, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("petiole.conformal.classifier.row_numbers", lambda X, seed, n=2: numbers[:, :n])
        one = ConformalClassifier.from_rows(said(4), X, y, method=method, per_class=True, random_state=0)
        other = ConformalClassifier.from_rows(
            said(4), swapped, np.argsort(order)[y], method=method, per_class=True, random_state=0
        )
        np.testing.assert_array_equal(one.predict_set(X).contains[:, order], other.predict_set(swapped).contains)


@pytest.mark.parametrize("unit", [1.0, 0.3])
def test_a_row_of_weight_2_is_that_row_twice_and_one_of_weight_0_is_absent(unit):
    X, y = drawn(np.random.default_rng(0), 60, 3)
    weights = np.random.default_rng(1).choice([0, 1, 2], 60)
    one = ConformalClassifier.from_rows(said(3), X, y, weights * unit, per_class=True, random_state=0)
    twice = np.repeat(np.arange(60), weights)
    other = ConformalClassifier.from_rows(said(3), X[twice], y[twice], per_class=True, random_state=0)
    for coverage in (0.4, 0.7, 0.9):
        np.testing.assert_array_equal(one.predict_set(X, coverage).contains, other.predict_set(X, coverage).contains)


def test_a_row_has_the_same_set_alone_in_a_batch_and_in_another_kind_of_table():
    X, y = noisy()
    X[:, 1] *= X[:, 1] > 0
    model = ConformalClassifier(forest(), method="aps", random_state=0).fit(X, y)
    whole = model.predict_set(X).contains
    alone = np.concatenate([model.predict_set(X[i : i + 1]).contains for i in range(len(X))])
    np.testing.assert_array_equal(alone, whole)
    for other in (np.asfortranarray(X), X.tolist(), sparse.csr_matrix(X), sparse.coo_array(X)):
        np.testing.assert_array_equal(model.predict_set(other).contains, whole)
    frame, y = mixed()
    model = ConformalClassifier(forest(), method="aps", random_state=0).fit(frame, y)
    np.testing.assert_array_equal(model.predict_set(pl.from_pandas(frame)).contains, model.predict_set(frame).contains)


def test_row_numbers_are_uniform_and_independent():
    numbers = row_numbers(np.arange(40_000.0).reshape(-1, 2), 5, 3)
    for column in numbers.T:
        counts = np.histogram(column, 20, (0, 1))[0]
        assert ((counts - 1000) ** 2 / 1000).sum() < 50
    assert np.abs(np.corrcoef(numbers.T) - np.eye(3)).max() < 0.03
    neighbours = np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]
    assert abs(neighbours) < 0.03 and not (numbers == row_numbers(np.zeros((1, 2)), 6, 3)).any()
    rows = [[1.0, "a", None], [np.nan, "b", None], [1.0, "a", "c"]]
    assert len(np.unique(row_numbers(np.array(rows, dtype=object), 0))) == 6
    assert row_numbers(["some text", "other text", "some text"], 0)[0, 0] == row_numbers(["some text"], 0)[0, 0]


# Honest rows.


@pytest.mark.parametrize("kind", ["frame", "weights", "plain"])
@pytest.mark.parametrize(
    "model",
    [
        BaggedPETClassifier(20, random_state=0),
        BaggedPETClassifier.eb_pets(n_estimators=20, random_state=0),
        MOBESPClassifier(20, random_state=0),
        ProbabilityForestClassifier(20, random_state=0),
        ProbabilityForestClassifier(20, members=("forest", "linear"), missing="separate", random_state=0),
    ],
)
def test_out_of_bag_probabilities_are_found_again(model, kind):
    X, y = noisy(150) if kind == "plain" else mixed(150)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 150) if kind == "weights" else None
    kept = clone(model).set_params(oob_score=True).fit(X, y, weights)
    again = honest_probabilities(clone(model).fit(X, y, weights), X, y, weights)
    counted = np.ones(150, dtype=bool) if weights is None else weights > 0
    known = counted & ~np.isnan(again[:, 0])  # a row may be in all samples of one kind of trees
    assert known.sum() > 0.9 * counted.sum()
    np.testing.assert_allclose(again[known], kept.oob_predict_proba_[known], atol=1e-12)
    one, other = (
        ConformalClassifier.from_oob(of, X, y, weights, random_state=0)
        for of in (kept, clone(model).fit(X, y, weights))
    )
    if known.sum() == counted.sum():
        np.testing.assert_array_equal(one.predict_set(X).contains, other.predict_set(X).contains)
    assert other.n_calibration_rows_ == known.sum() and one.calibrated_on_ == "oob"


@pytest.mark.parametrize(
    ("model", "source"),
    [
        (None, "oob"),
        (MOBESPClassifier(40, random_state=0), "oob"),
        (OOBCalibratedClassifier(forest(), method="sigmoid"), "oob"),
        (CostSensitiveClassifier(forest(), 1 - np.eye(3)), "oob"),
        (BoostedPETClassifier(0.2, max_iter=20, random_state=0), "oob"),
        (BoostedPETClassifier(0.2, max_iter=20, early_stopping=False, random_state=0), "folds"),
        (PETClassifier(random_state=0), "folds"),
        (LogisticRegression(), "folds"),
        (RandomForestClassifier(30, random_state=0), "oob"),
        (RandomForestClassifier(30, bootstrap=False, random_state=0), "folds"),
        (make_pipeline(StandardScaler(), RandomForestClassifier(30, random_state=0)), "oob"),
    ],
)
def test_sets_of_every_kind_of_model_cover_new_rows(model, source):
    X, y = noisy(600)
    fitted = ConformalClassifier(model, random_state=0).fit(X[:300], y[:300])
    assert fitted.calibrated_on_ == source
    sets = fitted.predict_set(X[300:])
    assert 0.85 < sets.covered(y[300:]) < 0.96 and sets.mean_size() < 2.9
    assert fitted.predict(X[300:]).tolist() == fitted.classes_[fitted.predict_proba(X[300:]).argmax(axis=1)].tolist()


def test_lazy_option_trees_have_out_of_bag_rows_too():
    X, y = noisy(60)
    model = ConformalClassifier(LazyOptionTreesClassifier(8, random_state=0), random_state=0).fit(X, y)
    assert model.calibrated_on_ == "oob" and model.n_calibration_rows_ > 50


@pytest.mark.parametrize("calibration", [3, 0.4, "rows"])
def test_other_calibrations(calibration):
    X, y = noisy(600)
    model = FrozenEstimator(forest().fit(X[300:400], y[300:400])) if calibration == "rows" else forest()
    fitted = ConformalClassifier(model, calibration=calibration, random_state=0).fit(X[:300], y[:300])
    assert fitted.n_calibration_rows_ == (120 if calibration == 0.4 else 300)
    assert 0.82 < fitted.predict_set(X[400:]).covered(y[400:]) < 0.97
    if calibration == 0.4:
        assert fitted.estimator_.class_weights_.sum() == 180


def test_folds_are_answered_by_clones_that_have_not_seen_them():
    X, y = noisy(60)
    tree = PETClassifier(smoothing="raw")  # certain of every row that it has seen
    folds = ConformalClassifier(tree, calibration=5, randomised=False).fit(X, y)
    assert folds.scores_.scores.max() == 1


# Rare classes and groups.


def test_cells_with_too_few_rows_say_so():
    X, y = drawn(np.random.default_rng(0), 100, 3)
    y[:] = 0
    y[:40], y[40:45] = 1, 2
    model = ConformalClassifier.from_rows(said(3), X, y, per_class=True, random_state=0)
    sets = model.predict_set(X)
    assert sets.contains[:, 2].all() and not sets.contains[:, 1].all()
    assert set(sets.reasons) == {"class 2: 5 calibrating rows, and coverage=0.9 takes at least 9"}
    assert [cell.reason != "" for cell in model.cells()] == [False, False, True]
    assert [cell.n_rows for cell in model.cells()] == [55, 40, 5]
    assert set(model.predict_set(X, 0.8).reasons) == {""}


def test_groups_by_columns():
    X, y = mixed()
    model = ConformalClassifier(forest(), by="town", random_state=0).fit(X, y)
    assert model.groups_.tolist() == ["a", "b", "c", "missing"]
    other = X.assign(town=X["town"].replace("c", "elsewhere"))
    sets = model.predict_set(other)
    away = (other["town"] == "elsewhere").to_numpy()
    assert sets.contains[away].all() and set(sets.reasons[away]) == {
        "group 'elsewhere': no calibrating row is of this group"
    }
    assert set(sets.reasons[~away]) == {""}
    np.testing.assert_array_equal(model.predict_set(pl.from_pandas(X)).contains, model.predict_set(X).contains)
    given = ConformalClassifier(forest(), random_state=0).fit(X, y, groups=X["town"])
    np.testing.assert_array_equal(given.predict_set(X, groups=X["town"]).contains, model.predict_set(X).contains)
    both = ConformalClassifier(forest(), by=["town", "age"], random_state=0).fit(X, y)
    assert "town=a, age=1" in both.groups_.tolist()
    assert groups_by(X.assign(age=X["age"].astype(float)), "age").tolist() == X["age"].astype(str).tolist()


def test_empty_sets_can_be_filled():
    X, y = noisy()
    model = ConformalClassifier(forest(), coverage=0.4, random_state=0).fit(X, y)
    empty = model.predict_set(X).sizes == 0
    assert empty.any()
    filled = model.set_params(allow_empty=False).predict_set(X)
    assert (filled.sizes[empty] >= 1).all()
    assert all(model.predict(X)[row] in filled.labels()[row] for row in np.flatnonzero(empty))


# Answers, files, errors.


def test_answers_can_be_read_in_many_ways():
    X, y = mixed()
    model = ConformalClassifier(forest(), random_state=0).fit(X, y)
    sets = model.predict_set(X)
    assert isinstance(sets, PredictionSets) and len(sets) == len(X) and "coverage=0.9" in repr(sets)
    assert sets.texts() == ["|".join(labels) for labels in sets.labels()]
    assert (sets.sizes == [len(labels) for labels in sets.labels()]).all()
    frame = sets.to_frame()
    assert frame.columns.tolist() == ["no", "yes", "size", "reason"] and (frame["size"] == sets.sizes).all()
    part = sets[10:20]
    assert part.texts() == sets.texts()[10:20] and sets[3].texts() == [sets.texts()[3]]
    weights = np.arange(len(X))
    assert sets.covered(y, weights) == pytest.approx(np.average(sets.hits(y), weights=weights))
    assert sets.mean_size(weights) == pytest.approx(np.average(sets.sizes, weights=weights))
    assert not sets[:1].hits(["unheard of"])[0]


def test_a_saved_model_predicts_the_same_sets(tmp_path):
    X, y = mixed()
    model = ConformalClassifier(
        ProbabilityForestClassifier(12, random_state=0), method="aps", by="town", per_class=True
    )
    model.fit(X, y).save(tmp_path / "m.petiole")
    again = petiole.load(tmp_path / "m.petiole")
    for coverage in (0.5, 0.9):
        np.testing.assert_array_equal(again.predict_set(X, coverage).contains, model.predict_set(X, coverage).contains)
    assert again.cells() == model.cells()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coverage": 90}, "coverage=90: must be a number strictly between 0 and 1"),
        ({"method": "las"}, "method='las': must be one of"),
        ({"calibration": "oops"}, "calibration='oops': must be one of 'auto', 'oob', 'rows', a number of folds"),
        ({"calibration": 1}, "calibration=1: must be a whole number at least 2"),
        ({"calibration": "rows"}, "wrap it in FrozenEstimator, or use from_rows"),
        ({"by": "colour"}, "by='colour': X has no column 'colour'"),
        ({"by": 7}, "by=7: X has 3 columns"),
        ({"by": {}}, "must be None, the name or position of a column"),
        ({"per_class": 1}, "per_class=1: must be True or False"),
        ({"penalty": -1, "method": "raps"}, "penalty=-1"),
        ({"estimator": PETClassifier(), "calibration": "oob"}, "PETClassifier has no out-of-bag"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_errors_name_the_parameter_and_the_remedy(parameters, message):
    X, y = mixed(60)
    model = ConformalClassifier(**{"estimator": forest(n_estimators=4), **parameters})
    with pytest.raises(ValueError, match=f".*{message}".replace("(", r"\(")):
        model.fit(X, y)
    assert not hasattr(model, "scores_")


def test_other_errors():
    X, y = mixed(60)
    model = ConformalClassifier(forest(), random_state=0).fit(X, y, groups=y)
    with pytest.raises(ValueError, match="groups=None: the classifier was fitted with groups"):
        model.predict_set(X)
    with pytest.raises(ValueError, match="groups has 3 entries, but X has 60 rows"):
        model.predict_set(X, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="leave one of them out"):
        ConformalClassifier(forest(), by="town").fit(X, y, groups=y)
    with pytest.raises(ValueError, match="say calibration='oob' if these are its training rows"):
        ConformalClassifier(FrozenEstimator(forest(oob_score=True).fit(X, y))).fit(X, y)
    with pytest.raises(ValueError, match="the classes are"):
        ConformalClassifier.from_rows(forest().fit(X, y), X, np.where(y == "no", "maybe", y))
    seen_by_all = forest().fit(X, y)
    seen_by_all.oob_predict_proba_ = np.full((60, 2), np.nan)
    with pytest.raises(ValueError, match="nothing to calibrate on: give more rows"):
        ConformalClassifier.from_oob(seen_by_all, X, y)


# Another library.


def test_mapie_has_the_same_sets():
    mapie = pytest.importorskip("mapie.classification")
    random = np.random.default_rng(0)
    X, y = drawn(random, 130, 4, ties=False)
    queries, _ = drawn(random, 200, 4, ties=False)
    ours = ConformalClassifier.from_rows(said(4), X, y, randomised=False).predict_set(queries)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = mapie.SplitConformalClassifier(said(4), confidence_level=0.9, conformity_score="lac")
        theirs.conformalize(X, y)
        found = theirs.predict_set(queries)[1][:, :, 0]
    np.testing.assert_array_equal(ours.contains, found)
