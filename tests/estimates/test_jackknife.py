"""Influences of training rows, what is made of them, and the slow versions of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_intervals as naive
from ensemble_cases import BOTH_COUNTS, PSEUDO_COUNTS, cases, examples, naive_forest, numeric_data, queries_for
from petiole import BaggedPETClassifier, ProbabilityForestClassifier, datasets
from petiole._classifiers.base import encode_queries
from petiole._classifiers.ensemble import training_again
from petiole._estimates.influence import influences, kernel, mean_over_trees, query_weights
from petiole._estimates.jackknife import Jackknife, _slopes_of_pool, wilson
from petiole._estimates.pool_influence import WeightInfluence
from petiole._forest.log_pool import LogPool, Ridges, log_floored
from petiole._forest.plan import plans_of
from petiole._table.rows import EncodedRows


def jackknife_of(model, X, y, w=None):
    return Jackknife.of(model._estimate, plans_of(model, model.seed_), training_again(model, X, y, w, "a test"), 1)


# ---- means of trees
@BOTH_COUNTS
@pytest.mark.parametrize("smoothing", list(PSEUDO_COUNTS))
@examples(8)
@given(case=cases(max_rows=24), oob_weight=st.sampled_from([0.0, 0.5, 1.0]))
def test_influences_and_kernels_are_those_of_the_slow_version(case, oob_weight, smoothing, count):
    estimator, pseudo = PSEUDO_COUNTS[smoothing]
    model = case.fit(BaggedPETClassifier, smoothing=estimator, oob_weight=oob_weight, count=count)
    n_classes = len(model.classes_)
    if n_classes < 2:
        return
    slow = naive_forest(model, case.X, case.y, case.w)
    queries = encode_queries(model, queries_for(model, case, 6))
    made = jackknife_of(model, case.X, case.y, case.w)
    placed = made._placed(0, queries, 1, None)
    found, weights = influences(made.parts[0], placed, [None]), kernel(made.parts[0], placed, np.ones(1)).toarray()
    rule = {"oob_weight": oob_weight, "count": count, "pseudo": pseudo(n_classes)}
    for q, query in enumerate(queries.astype(float)):
        reached = [naive.naive.leaf_shares(tree, query) for tree in slow.trees]
        counts = [
            naive.naive.member_counts(slow, t, naive.naive.all_weights(slow, t, oob_weight, count))
            for t in range(len(slow.trees))
        ]
        if any(not counts[t][leaf].sum() > 0 for t, shares in enumerate(reached) for leaf in shares):
            continue  # an empty leaf has the frequencies of an ancestor, whose rows are not followed
        slow_rows, slow_noise = naive.influences(slow, query, **rule)
        np.testing.assert_allclose(found.rows[:, q].T, slow_rows, atol=1e-5)
        np.testing.assert_allclose(found.noise[q], slow_noise, atol=1e-5)
        np.testing.assert_allclose(weights[q], naive.kernel(slow, query, oob_weight=oob_weight, count=count), atol=1e-9)


def test_the_jackknife_alone_is_the_covariance_with_the_copies_where_rows_out_of_the_sample_do_not_count():
    X, y = numeric_data(n=40, n_classes=2)
    model = BaggedPETClassifier(300, smoothing="laplace", voting=True, random_state=0).fit(X, y)
    made = jackknife_of(model, X, y)
    found = influences(made.parts[0], made._placed(0, X[:5], 1, None), [None])
    votes = np.array([tree.predict(X[:5]) for tree in model.estimators_], dtype=float)
    for q in range(5):
        by_definition = [np.cov(made.parts[0].copies[:, i], votes[:, q], bias=True)[0, 1] for i in range(40)]
        np.testing.assert_allclose(found.rows[1, q], by_definition, atol=1e-9)


def test_rows_of_a_kernel_sum_to_one_without_pseudo_counts_and_make_the_answer():
    X, y = numeric_data(n=60, n_missing=20)
    model = BaggedPETClassifier.eb_pets(n_estimators=20, random_state=0).fit(X, y)
    made = jackknife_of(model, X, y)
    weights = kernel(made.parts[0], made._placed(0, X, 1, None), np.ones(1)).toarray()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights @ np.eye(3)[y], model.predict_proba(X), atol=1e-12)


# ---- pools
@pytest.fixture(scope="module")
def pool():
    X, y = numeric_data(n=120, n_missing=30)
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 120)
    names = ("raw", "eb", "oob", "votes", "coarse")
    model = ProbabilityForestClassifier(30, components=names, random_state=0).fit(X, y, w)
    queries, _ = numeric_data(n=25, n_missing=8, seed=1)
    return model, jackknife_of(model, X, y, w), queries


def test_the_cells_of_every_statistic_give_its_component(pool):
    model, made, queries = pool
    components = iter(model.component_proba(queries).values())
    for number, part in enumerate(made.parts):
        placed = made._placed(number, queries, 1, None)
        leaves = mean_over_trees(part, placed)
        for statistic in part.statistics:
            found = query_weights(statistic, leaves, placed.votes) @ statistic.cells.frequencies
            np.testing.assert_allclose(found, next(components), atol=1e-12)


@pytest.fixture
def corrected(monkeypatch):
    """A pool with boosted trees that start from the forest, and have a weight."""
    monkeypatch.setattr("petiole._estimates.pool.LEAST_WEIGHT", -1.0)
    X, y, _ = datasets.make_waveform(200, random_state=0)
    model = ProbabilityForestClassifier(20, members=("forest", "boosted"), random_state=0).fit(X, y)
    estimate = model._estimate
    weights = np.maximum(estimate.pool.weights, 0.1) + 0.1 * np.arange(3)
    assert estimate.members.needs_starts
    model._estimate = replace(estimate, pool=replace(estimate.pool, weights=weights))
    return model, jackknife_of(model, X, y), datasets.make_waveform(25, random_state=1)[0]


@pytest.mark.parametrize("name", ["pool", "corrected"])
def test_the_slopes_of_the_pool_are_those_of_small_steps(name, request):
    model, made, queries = request.getfixturevalue(name)
    estimate = model._estimate
    proba, slopes, _, _ = _slopes_of_pool(estimate, made.of_weights, queries, 1)
    n_leaves = len(estimate.names_of_leaves)
    leaves = [answer.copy() for answer in estimate.component_proba(queries, 1)][:n_leaves]

    def answer(of_leaves):
        return estimate.pool.combine(estimate._with_members(list(of_leaves), lambda one, s: one.answer(queries, 1, s)))

    np.testing.assert_allclose(answer(leaves), proba, atol=1e-12)
    flat, step = [slope for part in slopes for slope in part], 1e-6
    for place in range(n_leaves):
        for j in range(3):
            ends = []
            for sign in (1, -1):
                moved = [one.copy() for one in leaves]
                moved[place][:, j] += sign * step
                ends.append(answer(moved))
            away = np.abs(leaves[place][:, j] - estimate.pool.floor) > 1e-4  # where there is no kink
            by_steps = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(flat[place][away, :, j], by_steps[away], atol=1e-5)


def test_the_covariance_of_the_pools_weights_is_that_of_small_steps():
    random = np.random.default_rng(0)
    honest = [random.dirichlet(np.ones(3), 25) for _ in range(3)]
    labels, weights = random.integers(3, size=25).astype(np.int32), random.choice([0.5, 1.0, 3.0], 25)
    pool = LogPool(np.array([[0.4, 0.5, 0.0], [0.0, 0.0, 0.0], [0.7, 0.2, 0.6]]), np.array([0.1, -0.2, 0.1]), 0.01)
    matrix, kinds = np.zeros((25, 1)), np.zeros(1, dtype=np.int32)
    rows = EncodedRows(matrix, labels, weights, kinds, np.arange(3))
    ridges = Ridges(1.0, 4.0, 3.0)
    found = WeightInfluence.of(pool, honest, rows, ridges)
    logs = np.stack([log_floored(proba, 0.01) for proba in honest], axis=1)
    np.testing.assert_allclose(
        found.covariance, naive.pool_covariance(logs, labels, weights, pool, ridges), rtol=1e-3, atol=1e-6
    )
    assert (found.variance(honest, pool.combine(honest)) > 0).all()


# ---- intervals
@pytest.mark.parametrize("p", [0.0, 1e-4, 0.3, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("n_rows", [0.3, 5.0, 1e4])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_wilson_is_the_set_of_probabilities_that_are_not_too_far(p, n_rows, level):
    t = {0.5: 0.7063866, 0.9: 1.8595480}[level]  # of Student's distribution with 8 degrees of freedom, from a table
    ends = [float(end[0]) for end in wilson(np.array([p]), np.array([n_rows]), level)]
    np.testing.assert_allclose(ends, naive.wilson(p, n_rows, t), atol=1e-7)


def test_the_variance_is_near_that_over_training_sets():
    queries, _, _ = datasets.make_noisy_xor(80, 99, noise=0.2)
    answers, variances = [], []
    for seed in range(40):
        X, y, _ = datasets.make_noisy_xor(200, seed, noise=0.2)
        model = BaggedPETClassifier.eb_pets(n_estimators=100, random_state=seed).fit(X, y)
        answers.append(model.predict_proba(queries)[:, 1])
        if seed < 8:
            made = jackknife_of(model, X, y)
            variances.append(made.spread(queries, 1).variance(made.scale(1))[:, 1])
    ratio = np.mean(variances) / np.var(answers, axis=0).mean()
    assert 0.75 < ratio < 1.3
