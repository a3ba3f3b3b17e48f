"""Laws that every estimate keeps, and what adding a component of the pool takes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from count_problems import problem
from petiole import BaggedPETClassifier, MOBESPClassifier, PETClassifier, ProbabilityForestClassifier, _core
from petiole._classifiers.base import encode_labelled, encode_training
from petiole._classifiers.fitting import forest_estimate_of
from petiole._classifiers.updating import estimate_of
from petiole._estimates import components
from petiole._estimates.asking import OutOfBagRows, PlainQueries
from petiole._estimates.base import Estimate, ForestEstimate
from petiole._estimates.components import COMPONENTS, Component
from petiole._estimates.pool import Part, Statistics
from petiole._forest.plan import find_rows, plans_of

FORESTS = {
    "mean of leaves": BaggedPETClassifier.eb_pets(n_estimators=8, random_state=0, categorical_features=[1]),
    "votes of leaves": BaggedPETClassifier(8, voting=True, random_state=0, categorical_features=[1]),
    "look-up": MOBESPClassifier(8, random_state=0, categorical_features=[1]),
    "pool": ProbabilityForestClassifier(
        12, components=tuple(COMPONENTS), coarse_rows=5, random_state=0, categorical_features=[1]
    ),
}
TREE = {"tree": PETClassifier(random_state=0, categorical_features=[1])}
forests = pytest.mark.parametrize("name", FORESTS)
everything = pytest.mark.parametrize("name", {**FORESTS, **TREE})


def fitted(name, seed=1):
    X, y, w = problem(seed)
    model = {**FORESTS, **TREE}[name]
    return type(model)(**model.get_params()).fit(X, y, w), X, y, w


def members_of(protocol):
    return {name for name in dir(protocol) if not name.startswith("_")}


@everything
def test_estimates_have_all_that_the_protocol_names(name):
    model, *_ = fitted(name)
    estimate = estimate_of(model)
    assert members_of(Estimate) <= members_of(estimate)
    if name in FORESTS:
        assert members_of(ForestEstimate) <= members_of(estimate)


@everything
def test_an_estimate_answers_as_its_classifier_does(name):
    model, X, *_ = fitted(name)
    matrix = model.encoder_.transform(X)
    np.testing.assert_array_equal(estimate_of(model).predict(matrix, 1), model.predict_proba(X))


@forests
def test_queries_may_come_to_their_leaves_in_any_way(name):
    model, X, *_ = fitted(name)
    estimate, matrix = forest_estimate_of(model), model.encoder_.transform(X)
    asked = (PlainQueries(forest, matrix, 1) for forest in estimate.forests)
    np.testing.assert_array_equal(estimate.answer(asked), model.predict_proba(X))


@everything
def test_taking_counts_leaves_the_estimate_as_it_was(name):
    model, X, y, w = fitted(name)
    estimate = estimate_of(model)
    before = estimate.predict(model.encoder_.transform(X), 1)
    rows = encode_labelled(model, X[:40], y[:40], w[:40])
    more = estimate.with_counts(estimate.counts_of(rows, 1), 1.0, rows.class_weights(), 1)
    assert type(more) is type(estimate) and list(more.structure) == list(estimate.structure)
    np.testing.assert_array_equal(estimate.predict(model.encoder_.transform(X), 1), before)
    assert np.abs(more.predict(model.encoder_.transform(X), 1) - before).max() > 0


@everything
def test_its_own_counts_instead_of_all_others_are_the_estimate_itself(name):
    model, X, *_ = fitted(name)
    estimate, matrix = estimate_of(model), model.encoder_.transform(X)
    class_weights = getattr(model, "class_weights_", None)
    again = estimate.with_counts(estimate.held_counts(), 0.0, class_weights, 1)
    np.testing.assert_allclose(again.predict(matrix, 1), estimate.predict(matrix, 1), atol=1e-12)


@forests
def test_unseen_rows_are_answered_again_as_in_the_fit(name):
    X, y, w = problem(2)
    model = FORESTS[name]
    model = type(model)(**model.get_params()).set_params(oob_score=True).fit(X, y, w)
    rows = encode_training(model, X, y, w)[1]
    estimate = forest_estimate_of(model)
    pairs = zip(plans_of(model, model.seed_), estimate.forests, strict=True)
    unseen = [OutOfBagRows(find_rows(plan, forest, rows, 1), rows, 1) for plan, forest in pairs]
    answers = estimate.unseen_answer(1)(unseen)
    known = ~np.isnan(answers[:, 0])  # where all trees of one kind have seen a row, the fit asks the other kinds
    assert known.mean() > 0.8
    np.testing.assert_array_equal(answers[known], model.oob_predict_proba_[known])


@forests
def test_an_estimate_joined_with_itself_answers_alike(name):
    model, X, *_ = fitted(name)
    estimate, matrix = forest_estimate_of(model), model.encoder_.transform(X)
    twice = estimate.joined([estimate], 2 * model.class_weights_, 2 * model.class_weights_)
    assert [len(forest) for forest in twice.forests] == [2 * len(forest) for forest in estimate.forests]
    np.testing.assert_allclose(twice.predict(matrix, 1), estimate.predict(matrix, 1), atol=1e-9)


def test_every_component_is_one_class_of_the_module():
    found = {
        kind.name: kind
        for _, kind in inspect.getmembers(components, inspect.isclass)
        if issubclass(kind, Component) and kind is not Component
    }
    assert found == COMPONENTS


class Uniform(Component):
    """A component of a test: every leaf says that all classes are equally probable."""

    name = "uniform"

    def count(self, forest, n_threads):
        return forest.core.leaf_counts(1.0, 1.0)

    def unseen(self, forest, counts, unseen, filed):
        return np.full_like(unseen.frequencies(counts, 1.0), 1.0 / counts.n_columns)

    def tables(self, forest, counts, n_threads):
        shares = [np.full_like(counts.of_tree(tree), 1.0 / counts.n_columns) for tree in range(counts.n_trees)]
        return [_core.LeafTables(shares, counts.n_columns)]


def test_a_new_component_needs_nothing_but_its_class():
    model, X, *_ = fitted("pool")
    part = model.parts_[0]
    own = (Uniform(), *part.components)
    matrix = model.encoder_.transform(X)
    with_uniform = Part.of(part.forest, part.filed, own, 1).answer(PlainQueries(part.forest, matrix, 1))
    before = part.answer(PlainQueries(part.forest, matrix, 1))
    np.testing.assert_allclose(with_uniform[0], 1 / 3)
    for one, two in zip(with_uniform[1:], before, strict=True):
        np.testing.assert_array_equal(one, two)


def test_statistics_teach_and_then_become_the_tables(monkeypatch):
    """No table of the flagship is made twice in a fit."""
    X, y, _ = problem(3)
    made = []
    for kind in COMPONENTS.values():
        count = kind.count
        monkeypatch.setattr(
            kind, "count", lambda self, *rest, count=count: made.append(type(self).name) or count(self, *rest)
        )
    ProbabilityForestClassifier(8, missing="fractional", oob_score=True, random_state=0).fit(X, y)
    assert sorted(made) == sorted(2 * ["raw", "oob", "votes", "coarse"])  # once for each kind of trees


def test_statistics_answer_gaps_by_the_trees_own_rows():
    model, X, y, w = fitted("pool")
    part = model.parts_[0]
    rows = encode_training(model, X, y, w)[1]
    unseen = OutOfBagRows(part.forest.router.members(rows.matrix, 1), rows, 1)
    answers = Statistics.of(part.forest, part.filed, part.components, 1).unseen(unseen)
    assert all(np.isfinite(proba).all() for proba in answers)
