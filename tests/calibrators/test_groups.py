"""Corrections for groups: the optimum, what holds in each group, found groups, and the classifier that has them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime

import naive_groups as naive
import petiole
from petiole import BaggedPETClassifier, OOBCalibratedClassifier
from petiole.calibrators import GroupCalibrator
from petiole.calibrators._groups import SEARCH, GroupLoss
from petiole.calibrators._residual_tree import CodesOf, grow_residual_tree
from petiole.metrics import calibration_by_group, log_loss


def problem(seed, n_rows=600, n_classes=2, shift=0.8):
    """Probabilities that are right but for groups: the last class is commoner in sex "f", and rarer above 65."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 2.0), n_rows)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n_rows),
            "age": rng.integers(20, 80, n_rows).astype(float),
            "noise": rng.normal(size=n_rows),
        }
    )
    moved = np.log(proba)
    moved[:, -1] += shift * (table["sex"] == "f") - shift / 2 * (table["age"] > 65)
    true = np.exp(moved)
    true /= true.sum(axis=1, keepdims=True)
    y = (true.cumsum(axis=1) > rng.uniform(size=(n_rows, 1))).argmax(axis=1)
    table.loc[rng.uniform(size=n_rows) < 0.1, "sex"] = None
    return proba, y, table, true


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_answers_are_those_of_the_formula(n_classes):
    proba, y, table, _ = problem(0, 200, n_classes)
    model = GroupCalibrator(penalty=2.0, min_rows=10).fit(proba, y, table[["sex"]])
    assert model.groups_ == ["all rows", "sex: f", "sex: m", "sex: missing"]
    found = model.predict(proba[:30], table[["sex"]][:30])
    groups = {"f": 1, "m": 2}
    for row, sex, said in zip(proba[:30].tolist(), table["sex"][:30], found, strict=True):
        expected = naive.corrected(row, [0, groups.get(sex, 3)], model.slopes_, model.intercepts_)
        np.testing.assert_allclose(said, expected, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_step_lowers_the_naive_loss(n_classes):
    proba, y, table, _ = problem(1, 120, n_classes)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    model = GroupCalibrator(penalty=2.0, min_rows=5).fit(proba, y, table[["sex"]], weights)
    members = [[0, {"f": 1, "m": 2}.get(sex, 3)] for sex in table["sex"]]
    penalties = [1.0, 2.0, 2.0, 2.0]
    rows = proba.tolist(), y.tolist(), weights.tolist(), members

    def loss(flat):
        table = np.reshape(flat, (4, -1))
        return naive.penalised_loss(*rows, table[:, 0], table[:, 1:], penalties)

    best = np.column_stack([model.slopes_, model.intercepts_]).ravel()
    at_best = loss(best)
    rng = np.random.default_rng(2)
    assert all(loss(best + rng.normal(scale=0.02, size=best.size)) > at_best for _ in range(20))
    assert np.abs(approx_fprime(best, loss, 1e-6)).max() < 1e-3


def test_slopes_of_the_loss_are_right():
    proba, y, table, _ = problem(2, 60, 3)
    model = GroupCalibrator(penalty=2.0, min_rows=5).fit(proba, y, table)
    from petiole.calibrators._groups import _membership

    members = _membership(model.columns_.read(table), model.columns_, None, model.kept_)
    loss = GroupLoss(members, np.log(proba), y, np.ones(60), np.full(members.shape[1], 0.7))
    point = np.random.default_rng(0).normal(scale=0.1, size=loss.ridges.size)
    slopes = approx_fprime(point, lambda x: loss(x)[0], 1e-7)
    np.testing.assert_allclose(loss(point)[1], slopes, atol=1e-6)
    assert loss(loss.minimum(None, SEARCH).ravel())[0] < loss(point)[0]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_with_a_small_penalty_every_group_is_right_on_average(n_classes):
    proba, y, table, _ = problem(3, 3000, n_classes)
    model = GroupCalibrator(penalty=1e-3).fit(proba, y, table)
    after = calibration_by_group(y, model.predict(proba, table), table)
    before = calibration_by_group(y, proba, table)
    assert np.abs(before.frequency - before.mean_score).max() > 0.05
    assert np.abs(after.frequency - after.mean_score).max() < 2e-3


def test_it_helps_new_rows():
    proba, y, table, _ = problem(4, 4000)
    new, y_new, table_new, true = problem(5, 4000)
    model = GroupCalibrator().fit(proba, y, table)
    after = model.predict(new, table_new)
    assert log_loss(y_new, after) < log_loss(y_new, new) - 0.005
    assert np.abs(after - true).mean() < np.abs(new - true).mean() / 2
    assert model.penalty_ < 100


def test_nothing_is_made_of_noise():
    proba, y, table, _ = problem(6, 2000, shift=0.0)
    model = GroupCalibrator().fit(proba, y, table)
    assert np.abs(model.predict(proba, table) - proba).mean() < 0.03


def test_found_groups_are_those_that_are_off():
    proba, y, table, _ = problem(7, 4000)
    model = GroupCalibrator("tree").fit(proba, y, table)
    words = " | ".join(model.groups_)
    assert "sex: f" in words and "age >" in words
    new, y_new, table_new, _ = problem(8, 4000)
    assert log_loss(y_new, model.predict(new, table_new)) < log_loss(y_new, new) - 0.005


def test_a_tree_on_noise_does_not_split():
    rng = np.random.default_rng(0)
    n_splits = 0
    for _ in range(20):
        p = rng.uniform(0.2, 0.8, 500)
        lacking = (rng.uniform(size=500) < p) - p
        slopes = np.column_stack([-lacking, lacking])
        spreads = np.column_stack([1 - p, p, np.ones(500)])
        codes = rng.integers(0, 8, (500, 5))
        n_splits += grow_residual_tree(codes, [CodesOf(8, True)] * 5, slopes, spreads, 20, 8).n_leaves - 1
    assert n_splits <= 8


def test_trees_route_rows_by_their_codes():
    proba, y, table, _ = problem(9, 1000, 3)
    model = GroupCalibrator("tree", min_rows=30).fit(proba, y, table)
    codes = model.columns_.read(table)
    for row, leaf in zip(codes[:50], model.tree_.leaf_of(codes[:50]), strict=True):
        node = 0
        while (feature := model.tree_.feature[node]) >= 0:
            node = model.tree_.children[node] + (0 if model.tree_.goes_left[node][row[feature]] else 1)
        assert leaf == (model.tree_.feature[:node] < 0).sum()


def test_rows_in_another_order_and_classes_renamed():
    proba, y, table, _ = problem(10, 500, 3)
    order = np.random.default_rng(0).permutation(500)
    one = GroupCalibrator(penalty=3.0).fit(proba, y, table).predict(proba, table)
    other = GroupCalibrator(penalty=3.0).fit(proba[order], y[order], table.iloc[order]).predict(proba, table)
    np.testing.assert_allclose(one, other, atol=1e-6)
    turned = GroupCalibrator(penalty=3.0).fit(proba[:, ::-1], 2 - y, table).predict(proba[:, ::-1], table)
    np.testing.assert_allclose(one, turned[:, ::-1], atol=1e-6)


def test_weights_are_rows_repeated():
    proba, y, table, _ = problem(11, 300)
    weights = np.random.default_rng(1).integers(0, 3, 300)
    weights[0] = 1
    many = np.repeat(np.arange(300), weights)
    one = GroupCalibrator(penalty=3.0).fit(proba, y, table, weights)
    other = GroupCalibrator(penalty=3.0).fit(proba[many], y[many], table.iloc[many])
    asked = table[["sex", "noise"]].assign(age=table["age"])[["sex", "age", "noise"]]
    assert one.groups_ == other.groups_
    np.testing.assert_allclose(one.predict(proba, asked), other.predict(proba, asked), atol=1e-6)


def test_a_category_not_seen_is_missing():
    proba, y, table, _ = problem(12)
    model = GroupCalibrator(penalty=1.0).fit(proba[:, 1], y, table[["sex"]])
    asked = pd.DataFrame({"sex": [None, "another"]}, dtype=object)
    assert np.ptp(model.predict([0.3, 0.3], asked)) == 0


def test_errors_name_the_parameter():
    proba, y, table, _ = problem(13)
    for given in ({"groups": "rows"}, {"penalty": 0}, {"min_rows": 0}, {"max_leaves": 0}, {"floor": 1}):
        name = next(iter(given))
        with pytest.raises(ValueError, match=f"{name}="):
            GroupCalibrator(**given).fit(proba, y, table)
    model = GroupCalibrator().fit(proba, y, table)
    with pytest.raises(ValueError, match="one row per score"):
        model.predict(proba, table[:-1])
    with pytest.raises(ValueError, match="as in fit"):
        model.predict(proba[:, 1], table)


# In the classifier.


def table_problem(seed=0, n_rows=900, n_classes=3):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows), "sex": rng.choice(["f", "m"], n_rows)}
    )
    score = X["a"] + rng.normal(size=n_rows) + (X["sex"] == "f")
    y = np.array(["u", "v", "w"])[np.digitize(score, [-0.5, 1.0][: n_classes - 1])]
    X.loc[rng.uniform(size=n_rows) < 0.1, "sex"] = None
    return X, y


@pytest.mark.parametrize("groups", [["sex"], [2, 0], "tree", GroupCalibrator(penalty=1.0)])
def test_the_classifier_with_groups(groups, tmp_path):
    X, y = table_problem()
    model = OOBCalibratedClassifier(BaggedPETClassifier(20, random_state=0), "temperature", groups).fit(X, y)
    plain = model.with_method("temperature", y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    expected = model.group_calibrator_.predict(plain.predict_proba(X), X)
    assert np.array_equal(proba, expected) and not hasattr(plain, "group_calibrator_")
    again = plain.with_method("temperature", y, X=X, groups=groups)
    assert np.array_equal(again.predict_proba(X), proba)
    model.save(tmp_path / "m.petiole")
    assert np.array_equal(petiole.load(tmp_path / "m.petiole").predict_proba(X), proba)


def test_groups_of_arrays_weights_and_errors():
    X, y = table_problem(1)
    numbers = X[["a", "b"]].to_numpy()
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    model = OOBCalibratedClassifier(BaggedPETClassifier(20, random_state=0), groups=[1])
    found = model.fit(numbers, y, sample_weight=weights)
    assert all(name == "all rows" or name.startswith("x1: ") for name in found.group_calibrator_.groups_)
    for wrong, words in (
        (["age"], "no column 'age'"),
        ("sex", "must be a list"),
        ([], "at least one column"),
        ([7], "no column 7"),
    ):
        with pytest.raises(ValueError, match=words):
            OOBCalibratedClassifier(BaggedPETClassifier(5, random_state=0), groups=wrong).fit(X, y)
    with pytest.raises(ValueError, match="need X"):
        found.with_method("beta", y, weights, groups=[1])
    with_intervals = OOBCalibratedClassifier(BaggedPETClassifier(5), method="venn_abers", groups="tree")
    with pytest.raises(AttributeError, match="predict_interval"):
        with_intervals.predict_interval(X)
