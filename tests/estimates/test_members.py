"""Members of the pool that are no forests."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import naive_ensemble
import petiole
from petiole import DualPerturbCombineClassifier, ProbabilityForestClassifier
from petiole._classifiers.base import encode_training
from petiole._estimates import members as pool_members
from petiole._estimates.members import FOREST, MEMBERS, Folding, TrainingRows
from petiole._forest.log_pool import LogPool
from petiole._table.rows import EncodedRows

pytestmark = pytest.mark.filterwarnings("ignore:.*rows are in the samples of all trees")

EVERY = (FOREST, *MEMBERS)


def clouds(n=240, seed=0, n_classes=3):
    """Overlapping clouds on a ring, a column that says nothing, one with categories, and missing values."""
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n)
    angle = 2 * np.pi * y / n_classes
    X = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n)]) + random.normal(scale=0.6, size=(n, 3))
    X[random.random(X.shape) < 0.05] = np.nan
    return np.column_stack([X, random.integers(4, size=n) + 4 * (y == 0)]), y, random.uniform(0.5, 2.0, size=n)


def forest(members=EVERY, n_estimators=20, **parameters):
    return ProbabilityForestClassifier(
        n_estimators, members=members, categorical_features=[3], random_state=0, **parameters
    )


@pytest.fixture(scope="module")
def fitted():
    X, y, w = clouds()
    return forest(oob_score=True).fit(X, y, w)


def log_loss(proba, y):
    return -np.log2(proba[np.arange(len(y)), y]).mean()


def test_the_pool_is_that_of_all_its_components(fitted):
    X, _, _ = clouds(seed=1)
    said = fitted.component_proba(X)
    assert list(said) == fitted.component_names_ and set(said) & set(MEMBERS)
    expected = naive_ensemble.log_pool(list(said.values()), fitted.pool_weights_, fitted.pool_intercepts_, fitted.floor)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=1e-9)


def test_a_row_of_training_is_answered_by_models_that_have_not_seen_it():
    """A change of a label changes nothing that the row itself is told by members."""
    X, y, _ = clouds(n=60)
    other = y.copy()
    other[7] = (y[7] + 1) % 3
    rows = [encode_training(forest(), X, labels, None)[1] for labels in (y, other)]
    fold_of = np.arange(60) % 4
    for name in ("linear", "curved", "kernel"):
        fits = [MEMBERS[name](TrainingRows(one, fold_of, None, 0, 1)) for one in rows]
        one, two = (fit.held_out_answer(rows[0].matrix, fold_of)[7] for fit in fits)
        if name != "kernel":  # whose width and ridge may be chosen differently
            np.testing.assert_allclose(one, two, atol=0.05)


def test_members_help_where_a_border_is_oblique():
    X, y, _ = clouds(n=400)
    queries, labels, _ = clouds(n=2000, seed=5)
    alone, pooled = (forest(members, 60).fit(X, y) for members in ((FOREST,), EVERY))
    assert log_loss(pooled.predict_proba(queries), labels) < 0.97 * log_loss(alone.predict_proba(queries), labels)
    assert pooled.oob_log_loss_ < 1.01 * alone.oob_log_loss_  # from the same rows, but with stronger penalties


def test_a_forest_alone_is_the_pool_without_members():
    X, y, w = clouds()
    alone = forest((FOREST,)).fit(X, y, w)
    assert alone.component_names_[-1] == "prior" and not set(alone.component_names_) & set(MEMBERS)
    assert alone.members_.names == [] and alone.forest_pool_ is None


def test_members_without_weight_are_dropped_and_their_losses_are_told():
    """A chessboard of 16 squares: a linear member can say nothing of it."""
    random = np.random.default_rng(0)
    X = random.random((600, 2))
    y = (np.floor(4 * X).sum(axis=1) % 2).astype(int)
    model = ProbabilityForestClassifier(60, random_state=0).fit(X, y)
    assert "linear" not in model.members_.names and "linear" not in model.component_names_
    assert {"linear", "curved", "kernel"} <= set(model.oob_component_log_loss_)
    weights = dict(zip(model.component_names_, model.pool_weights_, strict=True))
    assert all(weights[name].max() >= 0.02 for name in model.members_.names)


def test_categories_alone_have_no_curved_member():
    random = np.random.default_rng(0)
    X, y = random.integers(3, size=(120, 2)), np.arange(120) % 2
    model = ProbabilityForestClassifier(8, categorical_features=[0, 1], random_state=0).fit(X, y)
    assert "linear" in model.oob_component_log_loss_ and "curved" not in model.oob_component_log_loss_


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_few_rows(n):
    X, y = np.arange(n, dtype=float)[:, np.newaxis], np.arange(n) % 2
    proba = ProbabilityForestClassifier(5, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_threads_and_repeated_fits_do_not_matter(fitted):
    X, y, w = clouds()
    for n_jobs in (1, 3):
        again = clone(fitted).set_params(n_jobs=n_jobs).fit(X, y, w)
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_queries_alone_and_together(fitted):
    X, _, _ = clouds(n=30, seed=3)
    alone = np.concatenate([fitted.predict_proba(X[[i]]) for i in range(len(X))])
    np.testing.assert_allclose(alone, fitted.predict_proba(X), atol=1e-12)


def test_saved_and_pickled_models_answer_alike(fitted, tmp_path):
    X, _, _ = clouds(seed=2)
    fitted.save(tmp_path / "model.petiole")
    for other in (petiole.load(tmp_path / "model.petiole"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_allclose(other.predict_proba(X), fitted.predict_proba(X), rtol=1e-9)
        assert other.component_names_ == fitted.component_names_


def test_a_file_with_members_of_other_columns_is_refused(fitted):
    state = fitted.__getstate__()
    X, y, _ = clouds()
    narrow = ProbabilityForestClassifier(5, random_state=0).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="models: must have 4 columns"):
        fitted._check_state(state | {"members_": narrow.members_.kept(fitted.members_.names)})


def test_updates_count_at_leaves_and_leave_members_alone(fitted):
    X, y, w = clouds(seed=4)
    model = pickle.loads(pickle.dumps(fitted))
    before = model.component_proba(X)
    model.update(X, y, w)
    after = model.component_proba(X)
    for name in model.members_.names:
        if name != "boosted":  # which begins with what the forest answers
            np.testing.assert_array_equal(after[name], before[name])
    assert not np.array_equal(after["oob, max_features=sqrt"], before["oob, max_features=sqrt"])


def test_merged_models_have_the_members_of_both():
    (X, y, w), (X2, y2, w2) = clouds(), clouds(seed=9)
    one, two = forest((FOREST, "linear", "kernel")).fit(X, y, w), forest((FOREST, "linear")).fit(X2, y2, w2)
    two.members = one.members
    both = one.merged(two)
    assert len(both.members_.models["linear"].models) == 8
    said = both.component_proba(X)["linear"]
    halves = [np.log(model.component_proba(X)["linear"]) for model in (one, two)]
    mean = np.exp(np.mean(halves, axis=0))
    np.testing.assert_allclose(said, mean / mean.sum(axis=1, keepdims=True), atol=1e-9)
    weights = dict(zip(both.component_names_, both.pool_weights_, strict=True))
    np.testing.assert_allclose(weights["kernel"], one.pool_weights_[one.component_names_.index("kernel")] / 2)


def test_relearning_keeps_the_members(fitted):
    X, y, w = clouds(seed=6)
    model = pickle.loads(pickle.dumps(fitted)).relearn_pool(X, y, w)
    assert model.component_names_ == fitted.component_names_
    assert not np.array_equal(model.pool_weights_, fitted.pool_weights_)


def test_without_noise_the_dual_answers_as_the_pool(fitted):
    X, _, _ = clouds(n=20, seed=7)
    from petiole._dual.closed_form import SoftModel
    from petiole._dual.noise import Perturbation

    none = Perturbation(np.zeros(4), np.zeros(4), [np.empty(0)] * 4)
    matrix = fitted.encoder_.transform(X)
    known = ~np.isnan(matrix).any(axis=1)
    found = SoftModel(fitted._estimate).answer(matrix[known], none, 1)
    np.testing.assert_allclose(found, fitted.predict_proba(X)[known], atol=1e-6)


def test_noise_is_tuned_on_unseen_rows_with_members():
    X, y, _ = clouds(n=120)
    X = np.nan_to_num(X[:, :3])
    model = DualPerturbCombineClassifier(ProbabilityForestClassifier(10, random_state=0), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_boosted_trees_correct_the_forest(fitted):
    assert fitted.members_.corrects
    if fitted.members_.needs_starts:
        assert isinstance(fitted.forest_pool_, LogPool)


def test_asking_for_out_of_bag_answers_does_not_change_the_model(monkeypatch):
    """Also where the pool is learned from a selection of the rows only."""
    monkeypatch.setattr("petiole._estimates.pool.MOST_POOL_ROWS", 150)
    X, y, w = clouds()
    silent, asked = (forest(oob_score=oob_score).fit(X, y, w) for oob_score in (False, True))
    np.testing.assert_array_equal(silent.predict_proba(X), asked.predict_proba(X))
    assert silent.members_.corrects == asked.members_.corrects is False


def test_folds_depend_on_labels_and_seed_only():
    labels = np.arange(40, dtype=np.int32) % 3
    one, two = Folding(4, 3).of(labels), Folding(4, 3).of(labels)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, Folding(4, 4).of(labels))
    assert sorted(np.bincount(one)) == [10, 10, 10, 10]


@pytest.mark.parametrize("members", ["linear", ("linear",), ("forest", "tree"), ("forest", "forest"), (), 3])
def test_members_are_checked(members):
    X, y, _ = clouds(n=20)
    with pytest.raises(ValueError, match="members="):
        ProbabilityForestClassifier(3, members=members).fit(X, y)


def members_on(loss, n=4000):
    random = np.random.default_rng(0)
    labels = np.sort(random.choice(3, n, p=[0.9, 0.095, 0.005]))
    rows = EncodedRows(random.normal(size=(n, 2)), labels.astype(np.int32), None, np.zeros(2, np.int32), np.arange(3))
    return rows, pool_members.rows_to_fit(rows, loss, 0)


@pytest.mark.parametrize(
    ("loss", "expected"), [(np.inf, 4000), (np.nan, 4000), (0.04, 4000), (0.03, 3000), (0.0, 1000)]
)
def test_where_the_forest_is_nearly_sure_members_are_fitted_on_fewer_rows(loss, expected):
    rows, (chosen, few) = members_on(loss)
    assert abs(len(few) - expected) <= len(rows.classes) + pool_members.LEAST_OF_CLASS
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(few.matrix, rows.matrix[chosen])
    if expected == 4000:
        assert few is rows


def test_rare_classes_stay_and_weights_make_up_for_that():
    rows, (_, few) = members_on(0.0)
    there, left = np.bincount(rows.labels), np.bincount(few.labels)
    assert left[2] == min(there[2], pool_members.LEAST_OF_CLASS) > there[2] / 2
    assert few.weights.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(few.class_weights() / few.weights.sum(), there / there.sum())


def test_rows_are_asked_that_members_were_not_fitted_on():
    rows, _ = members_on(0.0)
    asked = np.array([5, 17, 3999])
    fitted = pool_members.fit_members(("linear",), rows, 0, None, 1, loss=0.0, asked=asked)
    (answers,) = fitted.unseen
    fold_of = fitted.members.folding.of(rows.labels)
    for row, found in zip(asked, answers, strict=True):
        model = fitted.members.models["linear"].models[fold_of[row]]
        np.testing.assert_allclose(found, model.answer(rows.matrix[[row]])[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "expected"),
    [(1000, 2, 200), (13_000, 2, 1000), (13_000, 26, 177), (100_000, 2, 600), (10**7, 7, 50)],
)
def test_rounds_of_boosting_are_bounded_by_rows_and_classes(n_rows, n_classes, expected):
    rows = EncodedRows(
        np.zeros((n_rows, 1), np.float32), np.zeros(n_rows, np.int32), None, np.zeros(1, np.int32), np.arange(n_classes)
    )
    training = TrainingRows(rows, np.zeros(n_rows, np.int64), None, 0, 1)
    assert pool_members.boosting_plan(training).n_rounds == expected
