"""Rows that come later: update, forgetting, and counts of several places."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import naive_ensemble
import naive_updating as naive
import petiole
from count_problems import batches_of, problem
from petiole import BaggedPETClassifier, MOBESPClassifier, PETClassifier, ProbabilityForestClassifier
from petiole._classifiers.base import encode_training
from petiole._classifiers.updating import ModelCounts
from petiole._forest.plan import as_grown, plans_of, sample_copies
from petiole.smoothing import HGS

MAKERS = {
    "tree": lambda: PETClassifier(categorical_features=[1]),
    "tree, hgs": lambda: PETClassifier(smoothing=HGS(alpha="honest"), categorical_features=[1]),
    "bagged": lambda: BaggedPETClassifier(5, random_state=0, categorical_features=[1]),
    "eb": lambda: BaggedPETClassifier.eb_pets(n_estimators=5, random_state=0, categorical_features=[1]),
    "bagged, m_branch": lambda: BaggedPETClassifier(
        5, smoothing="m_branch", oob_weight=0.5, random_state=0, categorical_features=[1]
    ),
    "votes": lambda: BaggedPETClassifier(5, voting=True, smoothing="raw", random_state=0, categorical_features=[1]),
    "mob_esp": lambda: MOBESPClassifier(5, random_state=0, categorical_features=[1]),
    "mob_esp, shared": lambda: MOBESPClassifier(
        5, rows="shared", count="copies", oob_weight=2.0, random_state=0, categorical_features=[1]
    ),
    "forest": lambda: ProbabilityForestClassifier(10, random_state=0, categorical_features=[1]),
    "forest, all components": lambda: ProbabilityForestClassifier(
        8, components=("raw", "eb", "oob", "votes", "coarse"), max_features="sqrt", random_state=0
    ),
}
ALL = pytest.mark.parametrize("name", MAKERS)
FORESTS = pytest.mark.parametrize("name", ["bagged", "eb", "mob_esp", "forest"])


def fitted(name, seed=0, **options):
    """A model of half of the rows, and the other half."""
    X, y, w = problem(seed, n=160, **options)
    y[:3] = [0, 1, 2]
    first, later = slice(0, 80), slice(80, None)
    model = MAKERS[name]().fit(X[first], y[first], None if w is None else w[first])
    return model, (X[later], y[later], None if w is None else w[later]), X


def forest_of(model, X, y, w):
    training = encode_training(model, X, y, w)[1]
    copies = [sample_copies(training, model.bootstrap, model.seed_, t) for t in range(len(model.trees_))]
    (plan,) = plans_of(model, model.seed_)
    trees = [as_grown(plan, tree, training, t) for t, tree in enumerate(model.trees_)]
    return naive_ensemble.TrainedForest(trees, copies, training.matrix, training.labels, training.weights, 3)


# Against the naive version.


@pytest.mark.parametrize("decay", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("weights", ["none", "fractional"])
@pytest.mark.parametrize("seed", range(2))
def test_a_tree_counts_as_the_naive_one(seed, weights, decay):
    X, y, w = problem(seed, weights=weights)
    w = np.ones(len(y)) if w is None else w
    model = PETClassifier(categorical_features=[1], weights="counts").fit(X[:60], y[:60], w[:60])
    tree = model.tree_
    counts = naive_ensemble.leaf_counts(tree, X, y, np.concatenate([decay * w[:60], w[60:]]), 3)
    expected = naive.tree_laplace(tree, counts, X)
    model.update(X[60:90], y[60:90], w[60:90], decay=decay).update(X[90:], y[90:], w[90:])
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)


@pytest.mark.parametrize("decay", [1.0, 0.5, 0.0])
@pytest.mark.parametrize(
    ("oob_weight", "count"), [(0.0, "copies"), (0.0, "distinct"), (1.0, "distinct"), (2.5, "copies")]
)
def test_bagged_trees_count_as_the_naive_ones(oob_weight, count, decay):
    X, y, w = problem(3, n=90)
    rule = {"oob_weight": oob_weight, "count": count}
    model = BaggedPETClassifier(4, smoothing="raw", random_state=0, categorical_features=[1], **rule)
    model.fit(X[:50], y[:50], w[:50])
    before = forest_of(model, X[:50], y[:50], w[:50])
    forest = naive.with_later_rows(before, X[50:], y[50:], w[50:], decay, times=int(oob_weight == 0))
    model.update(X[50:], y[50:], w[50:], decay=decay)
    expected = naive_ensemble.predict_bagged(forest, X, pseudo=np.zeros(3), **rule)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)


@pytest.mark.parametrize("decay", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(2))
def test_mob_esp_files_as_the_naive_one(seed, decay):
    X, y, w = problem(seed, n=90)
    model = MOBESPClassifier(4, random_state=seed, categorical_features=[1]).fit(X[:50], y[:50], w[:50])
    before = forest_of(model, X[:50], y[:50], w[:50])
    forest = naive.with_later_rows(before, X[50:], y[50:], w[50:], decay)
    model.update(X[50:], y[50:], w[50:], decay=decay)
    expected = naive_ensemble.predict_mob_esp(forest, X, oob_weight=1.0, count="distinct")
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)


@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_the_components_of_a_probability_forest_are_the_naive_ones(decay):
    X, y, w = problem(5, n=90)
    names = ("raw", "eb", "oob", "votes")
    alone = {"members": ("forest",), "components": names}
    model = ProbabilityForestClassifier(6, **alone, max_features="sqrt", random_state=0)
    model.set_params(categorical_features=[1]).fit(X[:50], y[:50], w[:50])
    before = forest_of(model, X[:50], y[:50], w[:50])
    forest = naive.with_later_rows(before, X[50:], y[50:], w[50:], decay)
    weights, intercepts = model.pool_weights_, model.pool_intercepts_
    model.update(X[50:], y[50:], w[50:], decay=decay)
    said = model.component_proba(X)
    rule = {"count": "distinct", "pseudo": np.zeros(3)}
    for name, oob_weight in (("raw", 0.0), ("eb", 1.0)):
        expected = naive_ensemble.predict_bagged(forest, X, oob_weight=oob_weight, **rule)
        np.testing.assert_allclose(said[name], expected, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(said["oob"], naive.unseen_frequencies(forest, X, said["raw"]), atol=1e-9)
    prior = naive_ensemble.class_weights(forest)
    np.testing.assert_allclose(said["prior"][0], prior / prior.sum())
    pooled = naive_ensemble.log_pool([said[name] for name in (*names, "prior")], weights, intercepts, 0.002)
    np.testing.assert_allclose(model.predict_proba(X), pooled, atol=1e-6)


# Laws.


@ALL
@pytest.mark.parametrize("weights", ["none", "whole"])
def test_the_same_rows_in_any_batches_give_the_same_model_bit_for_bit(name, weights):
    model, (X, y, w), everything = fitted(name, missing=False, weights=weights)
    at_once = pickle.loads(pickle.dumps(model)).update(X, y, w).predict_proba(everything)
    random = np.random.default_rng(0)
    for order in (np.arange(len(y)), random.permutation(len(y))):
        other = pickle.loads(pickle.dumps(model))
        for part in batches_of(len(y), random):
            rows = order[part]
            other.update(X[rows], y[rows], None if w is None else w[rows])
        # A category that did not come to a node is divided over its branches, and sums of fractions are rounded.
        tolerance = 1e-12 if name == "forest" else 0
        np.testing.assert_allclose(other.predict_proba(everything), at_once, rtol=tolerance)
    assert not np.array_equal(model.predict_proba(everything), at_once)


@ALL
def test_batches_with_missing_values_give_the_same_but_for_rounding(name):
    model, (X, y, w), everything = fitted(name, weights="fractional")
    at_once = model.updated(model.counts_of(X, y, w)).predict_proba(everything)
    for part in batches_of(len(y), np.random.default_rng(1)):
        model.update(X[part], y[part], w[part])
    np.testing.assert_allclose(model.predict_proba(everything), at_once, atol=1e-9)


@ALL
def test_counts_of_two_places_are_an_update_with_all_their_rows(name, tmp_path):
    model, (X, y, w), everything = fitted(name, missing=False)
    model.save(tmp_path / "model.petiole")
    parts = []
    for place in (slice(0, 30), slice(30, None)):
        there = petiole.load(tmp_path / "model.petiole")
        parts.append(pickle.loads(pickle.dumps(there.counts_of(X[place], y[place], w[place]))))
    before = model.predict_proba(everything)
    expected = petiole.load(tmp_path / "model.petiole").update(X, y, w).predict_proba(everything)
    for found in (model.updated(*parts), model.updated(parts[1] + parts[0])):
        np.testing.assert_array_equal(found.predict_proba(everything), expected)
    np.testing.assert_array_equal(model.predict_proba(everything), before)
    # The same by a model file that holds the second place's counts alone.
    model.updated(parts[1], decay=0).save(tmp_path / "counts.petiole")
    held = petiole.load(tmp_path / "counts.petiole").held_counts()
    np.testing.assert_array_equal(model.updated(parts[0], held).predict_proba(everything), expected)
    np.testing.assert_array_equal(held.class_weights, parts[1].class_weights)


@ALL
def test_decay_0_forgets_what_was_there(name):
    model, (X, y, w), everything = fitted(name, missing=False)
    counts = model.counts_of(X[:40], y[:40], w[:40])
    once, twice = model.updated(counts, decay=0), model.updated(model.counts_of(X, y, w)).updated(counts, decay=0)
    proba = once.predict_proba(everything)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba, twice.predict_proba(everything))
    for said in once.component_proba(everything).values() if "forest" in name else ():
        np.testing.assert_allclose(said.sum(axis=1), 1)


@ALL
def test_decay_multiplies_earlier_counts(name):
    model, (X, y, w), _ = fitted(name)
    before, counts = model.held_counts(), model.counts_of(X, y, w)
    after = model.updated(counts, decay=0.25).held_counts()
    np.testing.assert_allclose(after.class_weights, 0.25 * before.class_weights + counts.class_weights)
    for old, new, found in zip(before.parts, counts.parts, after.parts, strict=True):
        if isinstance(old, np.ndarray):
            np.testing.assert_allclose(found, 0.25 * old + new)
            continue
        for get in ("in_bag", "out_of_bag"):
            sums = [getattr(one.counts, get)(2) for one in (old, new, found)]
            np.testing.assert_allclose(sums[2], 0.25 * sums[0] + sums[1], err_msg=get)


@FORESTS
def test_an_updated_model_survives_pickling_and_saving(name, tmp_path):
    model, (X, y, w), everything = fitted(name)
    model.update(X, y, w, decay=0.7)
    expected = model.predict_proba(everything)
    model.save(tmp_path / "model.petiole")
    for other in (pickle.loads(pickle.dumps(model)), petiole.load(tmp_path / "model.petiole")):
        np.testing.assert_array_equal(other.predict_proba(everything), expected)
        np.testing.assert_array_equal(other.counted_weights_, model.counted_weights_)
        np.testing.assert_array_equal(other.predict_proba_std(everything), model.predict_proba_std(everything))
        again = other.update(X, y, w).predict_proba(everything)
    np.testing.assert_array_equal(model.update(X, y, w).predict_proba(everything), again)


# What stays and what goes.


def test_structure_and_learned_parameters_stay():
    model, (X, y, w), everything = fitted("tree, hgs")
    alpha, leaves = model.smoothing_, model.apply(everything)
    model.update(X, y, w)
    assert model.smoothing_ is alpha
    np.testing.assert_array_equal(model.apply(everything), leaves)
    forest, later, _ = fitted("forest")
    pool, leaves = forest.pool_, forest.apply(everything)
    assert forest.update(*later) is forest and forest.pool_ is pool
    np.testing.assert_array_equal(forest.apply(everything), leaves)


def test_later_rows_are_out_of_bag_where_leaves_look_there_and_else_a_trees_own():
    for name, get in (("eb", "oob_class_counts"), ("bagged", "inbag_class_counts"), ("votes", "inbag_class_counts")):
        model, (X, y, w), _ = fitted(name)
        before = [getattr(tree, get)[0].sum() for tree in model.trees_]
        model.update(X, y, w)
        np.testing.assert_allclose([getattr(tree, get)[0].sum() for tree in model.trees_], np.add(before, w.sum()))


def test_leaves_vote_by_all_rows_of_bagged_votes():
    X = np.array([[0.0], [1.0]] * 20)
    y = X[:, 0].astype(int)
    model = BaggedPETClassifier(3, voting=True, smoothing="raw", random_state=0).fit(X, y)
    assert model.update(X, 1 - y, np.full(40, 5.0)).predict(X[:2]).tolist() == [1, 0]


def test_what_was_said_of_the_training_rows_alone_is_gone():
    X, y, _ = problem(0)
    model = ProbabilityForestClassifier(8, oob_score=True, warm_start=True, random_state=0).fit(X, y)
    assert len(model.trees_) == 8
    model.update(X, y)
    gone = ("oob_log_loss_", "oob_predict_proba_", "oob_component_log_loss_", "fingerprint_")
    assert not any(hasattr(model, name) for name in gone)
    np.testing.assert_array_equal(model.trees_[0].oob_class_counts, model.parts_[0].forest[0].oob_class_counts)
    with pytest.raises(ValueError, match="warm_start=True adds trees to those grown on the same rows"):
        model.set_params(n_estimators=10).fit(X, y)
    assert not hasattr(model.set_params(warm_start=False).fit(X, y), "counted_weights_")
    assert not hasattr(clone(model), "counted_weights_")


@FORESTS
def test_updated_models_can_be_merged(name):
    model, (X, y, w), everything = fitted(name)
    other = MAKERS[name]().set_params(random_state=1).fit(X, y, w)
    model.update(X, y, w)
    both = model.merged(other)
    np.testing.assert_allclose(both.counted_weights_, model.counted_weights_ + other.class_weights_)
    np.testing.assert_allclose(both.update(X, y, w).predict_proba(everything).sum(axis=1), 1)


@ALL
def test_categories_never_seen_are_missing_and_labels_never_seen_an_error(name):
    frame = pd.DataFrame({"size": [1.0, 2, 3, 4] * 10, "colour": ["red", "blue", "red", None] * 10})
    y = np.array(["no", "yes", "yes", "no"] * 10)
    model = MAKERS[name]().set_params(categorical_features="from_dtype").fit(frame, y)
    new = frame.assign(colour="green")
    gone = frame.assign(colour=None)
    for_new, for_gone = (model.updated(model.counts_of(X, y)).predict_proba(frame) for X in (new, gone))
    np.testing.assert_array_equal(for_new, for_gone)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"y has the label 'maybe'.*cannot learn new classes; leave these rows out"):
        model.update(frame, np.where(y == "no", "maybe", y))
    assert pickle.dumps(model) == before


@ALL
def test_an_update_that_fails_changes_nothing(name):
    model, (X, y, w), everything = fitted(name)
    before, attributes = model.predict_proba(everything), dict(vars(model))
    for arguments, message in [
        ((X, y, w, 1.5), r"decay=1.5: must be a number between 0 and 1"),
        ((X, y, w, True), r"decay=True"),
        ((X, y[:-1], None), "inconsistent numbers of samples"),
        ((X, y, w[:-1]), "one weight per row"),
        ((X, y, 0 * w), "all weights are zero"),
        ((X[:0], y[:0]), "0"),
        ((X[:, :2], y, w), "features"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.update(*arguments)
    assert {key: id(value) for key, value in vars(model).items() if key in attributes} == {
        key: id(value) for key, value in attributes.items()
    }
    np.testing.assert_array_equal(model.predict_proba(everything), before)
    with pytest.raises(NotFittedError):
        clone(model).update(X, y)


def test_counts_of_other_models_are_refused():
    model, (X, y, w), _ = fitted("eb")
    other = MAKERS["eb"]().set_params(random_state=7).fit(X, y, w)
    one, two = model.counts_of(X, y, w), other.counts_of(X, y, w)
    with pytest.raises(ValueError, match="counts belong to different models"):
        one + two
    with pytest.raises(ValueError, match="counts belong to another model"):
        model.updated(two)
    with pytest.raises(ValueError, match="got no counts"):
        model.updated()
    with pytest.raises(TypeError, match="counts: got a list"):
        model.updated([one])
    assert isinstance(model.updated(one).counts_of(X, y), ModelCounts)
    model.updated(one).updated(one)  # the structure is still the same


def test_models_that_would_not_look_at_later_rows_say_so():
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match=r"oob_weight_=0.0.*fit with oob_weight=1.0"):
        MOBESPClassifier(4, oob_weight=0.0, random_state=0).fit(X, y).update(X, y)
    with pytest.raises(ValueError, match=r"components=\('raw',\).*'coarse' among them"):
        ProbabilityForestClassifier(4, components=("raw",), random_state=0).fit(X, y).update(X, y)


def test_the_pool_can_be_learned_anew_from_rows_not_yet_counted():
    X, y, w = problem(2, n=600)
    model = ProbabilityForestClassifier(10, oob_score=True, random_state=0).fit(X[:300], y[:300], w[:300])
    flipped = (y + 1) % 3  # what the leaves say is of no use for these
    kept = -np.log(model.predict_proba(X)[np.arange(600), flipped])[300:].mean()
    parts = model.parts_
    assert model.relearn_pool(X[300:], flipped[300:], w[300:]) is model
    learned = -np.log(model.predict_proba(X)[np.arange(600), flipped])[300:].mean()
    assert learned < kept - 0.1 and model.parts_ is parts
    np.testing.assert_array_equal(model.pool_.weights, model.pool_weights_)
    assert not hasattr(model, "oob_log_loss_")
    one_class = model.relearn_pool(X[:20], np.zeros(20, dtype=int)).predict_proba(X)
    assert np.isfinite(one_class).all()
    with pytest.raises(ValueError, match="has the label 9"):
        model.relearn_pool(X, np.full(600, 9))
    with pytest.raises(NotFittedError):
        clone(model).relearn_pool(X, y)


def test_the_page_keeps_its_word(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "update.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "assert" in block]
    monkeypatch.chdir(tmp_path)
    exec(code, {})


def test_there_is_no_partial_fit():
    assert not any(hasattr(maker(), "partial_fit") for maker in MAKERS.values())
