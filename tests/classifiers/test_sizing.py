"""Large tables: trees are kept small, which is chosen on out-of-bag rows; small tables are as they were."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import petiole
from petiole import PETClassifier, ProbabilityForestClassifier
from petiole._classifiers import sizing
from petiole._table.rows import EncodedRows


def problem(n_rows, noise, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + noise * random.normal(size=n_rows) > 1).astype(int)


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(sizing, "MANY_ROWS", 500)
    monkeypatch.setattr(sizing, "LEAVES", (100, 20))


def forest(**parameters):
    return ProbabilityForestClassifier(16, random_state=0, **parameters)


def test_up_to_many_rows_nothing_changes():
    X, y = problem(600, 0.5)
    model, other = forest().fit(X, y), forest(min_samples_leaf=1, max_bins=None).fit(X, y)
    assert model._estimate.structure == other._estimate.structure
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert (model.min_samples_leaf_, model.max_bins_) == (1, None) and not hasattr(other, "max_bins_")
    assert model.missing_ == "fractional"


@pytest.mark.parametrize("noise", [0.0, 0.5, 5.0])
def test_larger_leaves_are_taken_if_they_are_clearly_better(few_are_many, noise):
    X, y = problem(1500, noise)
    losses = {}
    for leaf in (1, 15, 75):
        few = clone(forest(min_samples_leaf=leaf, max_bins=255, members=("forest",))).fit(X, y)
        if max(tree.is_leaf.sum() for tree in few.trees_) <= 100:
            losses[leaf] = few.oob_log_loss_
    best = min(losses)
    for leaf in sorted(losses):
        best = leaf if losses[leaf] < 0.995 * losses[best] else best
    model = forest().fit(X, y)
    assert (model.min_samples_leaf_, model.max_bins_) == (best, 255)
    same = forest(min_samples_leaf=best, max_bins=255).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize(
    ("tried", "chosen"),
    [
        ({1: (0.5, 90), 15: (0.51, 40), 75: (0.52, 9)}, 1),  # clean classes: full trees are small
        ({1: (0.5, 900), 15: (0.51, 99), 75: (0.52, 9)}, 15),  # too many leaves in full trees
        ({1: (0.5, 90), 15: (0.499, 40), 75: (0.498, 9)}, 1),  # hardly better
        ({1: (0.5, 90), 15: (0.49, 40), 75: (0.48, 9)}, 75),
        ({1: (np.nan, 90), 15: (0.49, 40), 75: (np.nan, 9)}, 15),
        ({1: (np.nan, 90), 15: (np.nan, 40), 75: (np.nan, 9)}, 15),
    ],
)
def test_the_rule(few_are_many, tried, chosen):
    X, y = problem(1500, 0.0)
    rows = EncodedRows(X, y.astype(np.int32), None, np.zeros(4, np.int32), np.arange(2))
    found = sizing.choose_growth(forest(), rows, lambda growth: sizing.Tried(*tried[growth["min_samples_leaf"]]))
    assert found == {"min_samples_leaf": chosen, "max_bins": 255, "missing": "fractional"}


def test_what_is_said_is_not_chosen(few_are_many):
    X, y = problem(1500, 0.5)
    assert forest(min_samples_leaf=2).fit(X, y).max_bins_ == 255
    model = forest(max_bins=None).fit(X, y)
    assert not hasattr(model, "max_bins_") and model.min_samples_leaf_ > 1
    with pytest.raises(ValueError, match="min_samples_leaf='auto': must be a number at least 1"):
        PETClassifier(min_samples_leaf="auto").fit(X, y)
    with pytest.raises(ValueError, match="max_bins='many': must be a whole number"):
        forest(max_bins="many").fit(X, y)


def test_files_warm_starts_and_single_trees_know_the_choice(few_are_many, tmp_path, capsys):
    X, y = problem(1500, 0.5)
    model = forest(warm_start=True, verbose=1).fit(X, y)
    told = capsys.readouterr().out
    assert "large table (1,500 rows): leaves have at least" in told and "columns 255 bins" in told
    model.save(tmp_path / "m.petiole")
    again = petiole.load(tmp_path / "m.petiole")
    assert (again.min_samples_leaf_, again.max_bins_) == (model.min_samples_leaf_, 255)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert model.estimators_[0].min_samples_leaf == model.min_samples_leaf_
    whole = forest(warm_start=True).set_params(n_estimators=24).fit(X, y)
    np.testing.assert_array_equal(model.set_params(n_estimators=24).fit(X, y).predict_proba(X), whole.predict_proba(X))
    importances = model.oob_permutation_importance(X, y, n_repeats=1).importances_mean
    assert importances.argmax() in (0, 1)


def test_a_later_fit_to_few_rows_forgets_the_choice(few_are_many):
    model = forest().fit(*problem(1500, 0.5))
    X, y = problem(200, 0.5)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), forest().fit(X, y).predict_proba(X))
    assert (model.min_samples_leaf_, model.max_bins_) == (1, None)


def test_workers_choose_what_a_fit_chooses(few_are_many):
    from petiole.distributed import fit

    X, y = problem(1500, 0.5)
    model = fit(forest(), X, y, mode="broadcast")
    np.testing.assert_array_equal(model.predict_proba(X), forest().fit(X, y).predict_proba(X))


def gaps(telling, n=400, seed=0):
    """Columns with missing values, which are those of one class if they tell something."""
    random = np.random.default_rng(seed)
    y = random.integers(2, size=n)
    X = random.normal(size=(n, 3)) + 0.3 * y[:, np.newaxis]
    lost = random.random((n, 3)) < (0.6 * y[:, np.newaxis] if telling else 0.3)
    return np.where(lost, np.nan, X), y


@pytest.mark.parametrize("telling", [True, False])
def test_missing_values_have_a_branch_of_their_own_where_they_tell_something(telling):
    X, y = gaps(telling)
    model = forest(members=("forest",)).fit(X, y)
    assert model.missing_ == ("separate" if telling else "fractional")
    same = forest(members=("forest",), missing=model.missing_).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    assert {single.missing for single in model.estimators_} == {model.missing_}


def test_the_choice_about_missing_values_is_kept(tmp_path):
    X, y = gaps(True)
    model = forest(warm_start=True).fit(X, y)
    model.set_params(n_estimators=20).fit(X, y)
    assert len(model.trees_) == 20
    model.save(tmp_path / "model.petiole")
    assert petiole.load(tmp_path / "model.petiole").missing_ == "separate"


def no_trial(growth):
    raise AssertionError("small tables have no trials")


@pytest.mark.parametrize(
    ("half", "whole", "expected"),
    [
        (0.5, 0.5, 64),
        (0.5, 0.51, 64),  # chance: more trees were worse
        (0.505, 0.5, 128),  # c = 0.32: 64 trees would leave 0.75 %, 128 leave 0.25 %
        (0.513, 0.5, 192),  # 128 trees would leave 0.65 %
        (0.54, 0.5, 256),
        (np.nan, np.nan, 256),
    ],
)
def test_the_number_of_trees_leaves_little_to_more_of_them(few_are_many, half, whole, expected):
    X, y = problem(1500, 0.0)
    rows = EncodedRows(X, y.astype(np.int32), None, np.zeros(4, np.int32), np.arange(2))
    model = ProbabilityForestClassifier(min_samples_leaf=1, max_bins=None, missing="fractional")
    asked = []

    def trial(growth):
        asked.append(growth["n_estimators"])
        return sizing.Tried({32: half, 64: whole}[growth["n_estimators"]], 9)

    assert sizing.choose_growth(model, rows, trial) == {"n_estimators": expected}
    assert asked == [32, 64]
    few = rows.take(slice(400))
    assert sizing.choose_growth(model, few, no_trial) == {"n_estimators": 256}


def test_a_large_table_has_the_trees_that_it_needs(few_are_many, tmp_path, capsys, monkeypatch):
    """They are those of a forest of as many trees, and trees of the trials are not grown twice."""
    from petiole._forest import plan

    X, y = problem(1500, 0.5)
    grown, grow_range = [], plan.grow_range

    def noted(of_kind, rows, first, end, **more):
        grown.append((of_kind.seed, first, end))
        return grow_range(of_kind, rows, first, end, **more)

    monkeypatch.setattr(plan, "grow_range", noted)
    model = ProbabilityForestClassifier(members=("forest",), random_state=0, verbose=1, min_samples_leaf=5).fit(X, y)
    assert model.n_estimators_ == len(model.trees_) < 256
    assert f"{model.n_estimators_} trees are enough (chosen on out-of-bag rows)" in capsys.readouterr().out
    ranges = sorted((first, end) for seed, first, end in grown if seed == model.seed_)
    assert ranges == [(0, 16), (16, 32), *([(32, model.n_estimators_ // 2)] if model.n_estimators_ > 64 else [])]
    same = ProbabilityForestClassifier(model.n_estimators_, members=("forest",), random_state=0, min_samples_leaf=5)
    np.testing.assert_array_equal(same.fit(X, y).predict_proba(X), model.predict_proba(X))
    model.save(tmp_path / "m.petiole")
    assert petiole.load(tmp_path / "m.petiole").n_estimators_ == model.n_estimators_


def test_workers_and_warm_starts_know_the_number_of_trees(few_are_many):
    from petiole.distributed import fit

    X, y = problem(1500, 0.5)
    auto = ProbabilityForestClassifier(members=("forest",), random_state=0, min_samples_leaf=5, warm_start=True)
    model = clone(auto).fit(X, y)
    shared = fit(clone(auto), X, y, mode="broadcast")
    np.testing.assert_array_equal(shared.predict_proba(X), model.predict_proba(X))
    assert shared.n_estimators_ == model.n_estimators_
    more = model.n_estimators_ + 10
    model.set_params(n_estimators=more).fit(X, y)
    assert len(model.trees_) == more
    with pytest.warns(UserWarning, match="no tree is added"):
        model.set_params(n_estimators="auto").fit(X, y)
    assert len(model.trees_) == model.n_estimators_ == more
    twice = clone(auto).fit(X, y).merged(clone(auto).fit(X, y))
    assert len(twice.trees_) == 2 * shared.n_estimators_
