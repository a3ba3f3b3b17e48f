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
        few = clone(forest(min_samples_leaf=leaf, max_bins=255)).fit(X, y)
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
