"""Large tables: trees are kept small, which is chosen by out-of-bag rows; small tables are as they were."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import petiole
from petiole import PETClassifier, ProbabilityForestClassifier
from petiole._classifiers import sizing


def problem(n_rows, noise, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + noise * random.normal(size=n_rows) > 1).astype(int)


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(sizing, "MANY_ROWS", 500)
    monkeypatch.setattr(sizing, "LEAVES", (300, 100, 20))


def forest(**parameters):
    return ProbabilityForestClassifier(16, random_state=0, **parameters)


def test_up_to_many_rows_nothing_changes():
    X, y = problem(600, 0.5)
    model, other = forest().fit(X, y), forest(min_samples_leaf=1, max_bins=None).fit(X, y)
    assert model._estimate.structure == other._estimate.structure
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert (model.min_samples_leaf_, model.max_bins_) == (1, None) and not hasattr(other, "max_bins_")


def test_the_largest_leaves_that_lose_nothing_are_taken(few_are_many):
    X, y = problem(1500, 0.5)
    losses = {}
    for leaf in (1, 5, 15, 75):
        few = clone(forest(min_samples_leaf=leaf, max_bins=255)).fit(X, y)
        if max(tree.is_leaf.sum() for tree in few.trees_) <= 300:
            losses[leaf] = few.oob_log_loss_
    best = max(leaf for leaf, loss in losses.items() if loss <= 1.001 * min(losses.values()))
    model = forest().fit(X, y)
    assert (model.min_samples_leaf_, model.max_bins_) == (best, 255)
    same = forest(min_samples_leaf=best, max_bins=255).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize(("noise", "least", "most"), [(30.0, 15, 75), (0.0, 1, 5)])
def test_noisy_rows_get_larger_leaves_than_clean_ones(few_are_many, noise, least, most):
    model = forest().fit(*problem(1500, noise))
    assert least <= model.min_samples_leaf_ <= most


def test_trees_with_too_many_leaves_are_no_choice(few_are_many, monkeypatch):
    X, y = problem(1500, 0.0)
    monkeypatch.setattr(sizing, "LEAVES", (30, 20, 10))
    assert max(tree.is_leaf.sum() for tree in forest(max_bins=255).fit(X, y).trees_) > 30
    assert forest().fit(X, y).min_samples_leaf_ > 1


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
    assert "1,500 rows are many: leaves have at least" in told and "columns 255 bins" in told
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
