"""Intervals for probabilities as users have them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import petiole
from petiole import (
    BaggedPETClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    ProbabilityForestClassifier,
    datasets,
)
from petiole.conformal import ConformalClassifier

MODELS = {
    "eb": lambda: BaggedPETClassifier.eb_pets(n_estimators=30, random_state=0),
    "b": lambda: BaggedPETClassifier.b_pets(n_estimators=30, random_state=0),
    "forest": lambda: BaggedPETClassifier.random_forest(n_estimators=30, random_state=0),
    "hgs": lambda: BaggedPETClassifier(30, smoothing="hgs", oob_weight=1, random_state=0),
    "curtailment": lambda: BaggedPETClassifier.bagged_curtailment(n_estimators=30, random_state=0),
    "votes": lambda: BaggedPETClassifier(30, voting="laplace", random_state=0),
    "pool": lambda: ProbabilityForestClassifier(30, random_state=0),
    "forest alone": lambda: ProbabilityForestClassifier(30, members=("forest",), missing="separate", random_state=0),
}
EVERY = pytest.mark.parametrize("name", list(MODELS))


@pytest.fixture(scope="module")
def table():
    """Rows of three classes with categories, missing values and weights, and rows to predict."""
    numbers, y, _ = datasets.make_waveform(260, random_state=0)
    frame = pd.DataFrame(numbers[:, 5:14], columns=[f"x{j}" for j in range(9)])
    frame["town"] = pd.Categorical(np.where(frame.x3 > 3, "Bonn", np.where(frame.x5 > 2, "Ulm", "Trier")))
    frame.loc[::6, "x2"], frame.loc[::11, "town"] = np.nan, np.nan
    labels = np.array(["a", "b", "c"])[y]
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 260)
    return frame[:200], labels[:200], weights[:200], frame[200:].reset_index(drop=True)


@EVERY
def test_intervals_hold_the_probability_and_survive_a_file(table, name, tmp_path):
    X, y, w, queries = table
    model = MODELS[name]().fit(X, y, w).learn_intervals(X, y, w)
    found = model.predict_proba_interval(queries)
    np.testing.assert_array_equal(found.proba, model.predict_proba(queries))
    lower, upper = found
    assert (lower >= 0).all() and (lower <= found.proba).all() and (found.proba <= upper).all() and (upper <= 1).all()
    assert (upper > lower).all() and found.level == 0.9 and found.classes.tolist() == ["a", "b", "c"]
    wider = model.predict_proba_interval(queries, 0.99)
    assert (wider.lower <= lower).all() and (wider.upper >= upper).all() and (wider.width > found.width).any()
    alone = model.predict_proba_interval(queries[3:4])
    np.testing.assert_allclose(alone.lower[0], lower[3], atol=1e-12)
    model.save(tmp_path / "m.petiole")
    again = petiole.load(tmp_path / "m.petiole").predict_proba_interval(queries)
    np.testing.assert_array_equal(again.lower, lower)
    np.testing.assert_array_equal(again.upper, upper)


def test_renamed_classes_permute_the_intervals(table):
    X, y, _, queries = table
    other = np.array([{"a": "z", "b": "b", "c": "c"}[label] for label in y])
    # Ties between splits and the samples of a stratified bootstrap depend on the order of classes.
    made = [
        BaggedPETClassifier(20, bootstrap="plain", max_features=None, random_state=0).fit(X, labels)
        for labels in (y, other)
    ]
    first, second = (
        model.learn_intervals(X, labels).predict_proba_interval(queries)
        for model, labels in zip(made, (y, other), strict=True)
    )
    np.testing.assert_allclose(first.lower, second.lower[:, [2, 0, 1]], atol=1e-9)


def test_more_rows_make_narrower_intervals():
    queries, _, _ = datasets.make_noisy_xor(100, 9)
    widths = []
    for n in (100, 400, 1600):
        X, y, _ = datasets.make_noisy_xor(n, 0, noise=0.2)
        model = BaggedPETClassifier.eb_pets(n_estimators=60, min_samples_leaf=n // 20, random_state=0).fit(X, y)
        widths.append(model.learn_intervals(X, y).predict_proba_interval(queries).width.mean())
    assert widths[0] > 1.4 * widths[1] > 1.9 * widths[2]


@pytest.mark.parametrize("make", [BaggedPETClassifier.eb_pets, ProbabilityForestClassifier])
def test_most_intervals_hold_the_true_probability(make):
    X, y, _ = datasets.make_two_gaussians(300, 1)
    queries, _, truth = datasets.make_two_gaussians(400, 2)
    model = make(n_estimators=100, random_state=0).fit(X, y).learn_intervals(X, y)
    assert model.predict_proba_interval(queries).held(truth).min() > 0.75
    assert model.predict_proba_interval(queries, 0.3).held(truth).max() < 0.75


@pytest.mark.parametrize("n_classes", [1, 2])
def test_few_classes_and_few_rows(n_classes):
    X, y = np.arange(6.0)[:, np.newaxis], np.arange(6) % n_classes
    for make in (BaggedPETClassifier, ProbabilityForestClassifier):
        model = make(n_estimators=5, random_state=0).fit(X, y).learn_intervals(X, y)
        lower, upper = model.predict_proba_interval(X)
        assert lower.shape == (6, n_classes) and np.isfinite(lower).all() and np.isfinite(upper).all()


# ---- what is kept, and when it goes
def test_intervals_need_rows_and_say_so(table):
    X, y, w, queries = table
    model = MODELS["eb"]().fit(X, y, w)
    with pytest.raises(ValueError, match=re.escape("call learn_intervals(X, y)")):
        model.predict_proba_interval(queries)
    with pytest.raises(ValueError, match="data that the model was fitted on"):
        model.learn_intervals(X, y)
    model.learn_intervals(X, y, w)
    with pytest.raises(ValueError, match=r"level=1.5"):
        model.predict_proba_interval(queries, 1.5)


def test_models_that_have_no_intervals_name_those_that_have(table):
    X, y, _, _ = table
    with pytest.raises(ValueError, match="MOBESPClassifier looks up its predictions by votes"):
        MOBESPClassifier(10, random_state=0).fit(X, y).learn_intervals(X, y)
    directions = ProbabilityForestClassifier(10, monotonic_cst={"x0": 1}, monotonic_class="a", random_state=0)
    with pytest.raises(ValueError, match="a pool with monotonic_cst has no intervals"):
        directions.fit(X, y).learn_intervals(X, y)
    with pytest.raises(ValueError, match="bootstrap=False"):
        BaggedPETClassifier(10, bootstrap=False).fit(X, y).learn_intervals(X, y)


@pytest.mark.parametrize("name", ["eb", "pool"])
def test_whatever_changes_the_model_forgets_the_rows(table, name):
    X, y, _, _ = table

    def learned():
        return MODELS[name]().fit(X, y).learn_intervals(X, y)

    changed = [learned().fit(X, y), learned().update(X[:9], y[:9]), learned().merged(learned())]
    model = learned()
    changed.append(model.updated(model.counts_of(X[:9], y[:9])))
    if name == "eb":
        changed.append(learned().with_smoothing("laplace"))
    if name == "pool":
        changed.append(learned().relearn_pool(X, y))
    for other in changed:
        with pytest.raises(ValueError, match="learn_intervals"):
            other.predict_proba_interval(X)


def test_intervals_of_more_trees_are_learned_again(table):
    X, y, _, queries = table
    model = BaggedPETClassifier(10, warm_start=True, random_state=0).fit(X, y).learn_intervals(X, y)
    model.set_params(n_estimators=30).fit(X, y).learn_intervals(X, y)
    whole = BaggedPETClassifier(30, random_state=0).fit(X, y).learn_intervals(X, y)
    np.testing.assert_array_equal(
        model.predict_proba_interval(queries).lower, whole.predict_proba_interval(queries).lower
    )


def test_rows_of_a_file_must_fit_the_model(table, tmp_path):
    X, y, _, _ = table
    model = MODELS["eb"]().fit(X, y).learn_intervals(X, y)
    model.interval_rows_ = model.interval_rows_.take(np.arange(50))
    with pytest.raises(petiole.files.ModelFileError, match="interval_rows_"):
        model.save(tmp_path / "m.petiole")


# ---- around other models
def test_recalibrated_ensembles_map_their_intervals(table):
    X, y, _, queries = table
    y = y == "a"
    model = OOBCalibratedClassifier(MODELS["eb"](), method="beta").fit(X, y)
    with pytest.raises(ValueError, match="learn_intervals"):
        model.predict_proba_interval(queries)
    found = model.learn_intervals(X, y).predict_proba_interval(queries, 0.8)
    np.testing.assert_array_equal(found.proba, model.predict_proba(queries))
    inner = model.estimator_.predict_proba_interval(queries, 0.8)
    ends = [
        model.calibrator_.predict(np.column_stack([1 - end, end]))[:, 1]
        for end in (inner.lower[:, 1], inner.upper[:, 1])
    ]
    np.testing.assert_allclose(found.lower[:, 1], ends[0])
    np.testing.assert_allclose(found.upper[:, 1], ends[1])
    np.testing.assert_allclose(found.lower[:, 0], 1 - ends[1])
    assert (found.lower <= found.proba).all() and (found.proba <= found.upper).all()


def test_venn_abers_gives_its_bounds(table):
    X, y, _, queries = table
    model = OOBCalibratedClassifier(MODELS["eb"](), method="venn_abers").fit(X, y).learn_intervals(X, y)
    found = model.predict_proba_interval(queries)
    lower, upper = model.predict_interval(queries)
    np.testing.assert_array_equal(found.lower, lower)
    np.testing.assert_array_equal(found.upper, upper)
    assert found.level is None and "level" not in repr(found)


def test_recalibration_that_cannot_be_mapped_says_so(table):
    X, y, _, _ = table
    with pytest.raises(ValueError, match="3 classes: intervals are mapped for two classes"):
        OOBCalibratedClassifier(MODELS["eb"](), method="beta").fit(X, y).learn_intervals(X, y)
    grouped = OOBCalibratedClassifier(MODELS["eb"](), method="beta", groups=["town"]).fit(X, y == "a")
    with pytest.raises(ValueError, match="groups"):
        grouped.learn_intervals(X, y == "a")


def test_prediction_sets_and_intervals_of_one_model(table):
    X, y, _, queries = table
    model = ConformalClassifier(MODELS["eb"](), random_state=0).fit(X, y).learn_intervals(X, y)
    expected = MODELS["eb"]().fit(X, y).learn_intervals(X, y).predict_proba_interval(queries)
    np.testing.assert_array_equal(model.predict_proba_interval(queries).upper, expected.upper)
    other = ConformalClassifier(LogisticRegression(), random_state=0).fit(X[["x0", "x1"]], y)
    with pytest.raises(ValueError, match="has no intervals"):
        other.predict_proba_interval(X[["x0", "x1"]])


# ---- the object
def test_intervals_are_taken_apart_and_shown(table):
    X, y, _, queries = table
    found = MODELS["eb"]().fit(X, y).learn_intervals(X, y).predict_proba_interval(queries)
    assert len(found) == len(queries) and re.match(
        r"ProbabilityIntervals\(60 rows, 3 classes, level=0.9; ", repr(found)
    )
    assert found.to_frame().columns.tolist() == ["lower_a", "upper_a", "lower_b", "upper_b", "lower_c", "upper_c"]
    np.testing.assert_array_equal(found[[4, 2]].lower, found.lower[[4, 2]])
    np.testing.assert_array_equal(found[7].upper, found.upper[7:8])
    np.testing.assert_array_equal(found.held(found.proba), [1, 1, 1])
    with pytest.raises(ValueError, match="shape"):
        found.held(found.proba[:, 0])
