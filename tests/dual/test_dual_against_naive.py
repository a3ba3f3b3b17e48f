"""Dual perturb and combine: every estimator against slow versions that are easy to check by eye."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_dual
import naive_ensemble as naive
from ensemble_cases import (
    BOTH_COUNTS,
    EVERY_COMPONENT,
    PSEUDO_COUNTS,
    at_empty_leaves,
    cases,
    examples,
    naive_forest,
    queries_for,
    shared_rows,
    slow_parts,
    with_prior,
)
from petiole import (
    BaggedPETClassifier,
    MOBESPClassifier,
    ProbabilityForestClassifier,
)
from petiole._classifiers.base import encode_queries, encode_training
from petiole._dual.model import Noise, PerturbedModel
from petiole._dual.tuning import on_unseen

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*rows are in the samples of all trees"),
    pytest.mark.filterwarnings("ignore:sample_weight sums to"),
]

MODES = pytest.mark.parametrize("mode", ["exact", "product"])


def noisy(case, mode):
    """Some noise; nothing is cut."""
    random = case.random
    level, nominal = float(random.choice([0.0, 0.05, 0.5, 2.0])), float(random.choice([0.0, 0.3]))
    return Noise(level, nominal, mode, tolerance=0.0)


def slow_noise(model, noise):
    made = model.perturbation(noise)
    return naive_dual.Perturbed(made.scale, made.swap, made.frequencies, made.mode)


def is_clear(trees, row, perturbed):
    """Whether rounding has no say in which leaves are entered: a row in one leaf votes otherwise than one in two."""
    masses = [mass for tree in trees for mass in naive_dual.leaf_masses(tree, row, perturbed).values()]
    return not any(naive_dual.LEAST / 10 < mass < naive_dual.LEAST * 10 for mass in masses)


class Softly:
    """Lets the slow ensembles send queries (not training rows) down their trees softly."""

    def __init__(self, perturbed):
        self.perturbed = perturbed

    def __enter__(self):
        self.hard = naive.leaf_shares
        naive.leaf_shares = lambda tree, row: naive_dual.entered(tree, row, self.perturbed)

    def __exit__(self, *_):
        naive.leaf_shares = self.hard


def fitted(case, estimator):
    return PerturbedModel.fit(estimator, case.X, case.y, case.w, None)


def assert_close(found, expected, rounding=0.0):
    assert found.shape == expected.shape
    allowed = np.broadcast_to(1e-8 + np.asarray(rounding), len(found))
    for one, other, atol in zip(found, expected, allowed, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def rounding_of_votes(trees, rows, perturbed):
    """What rounding of masses (1e-14) can do to MOB-ESP, which divides by the mass of leaves that keep rows."""
    masses = [[m for tree in trees for m in naive_dual.entered(tree, row, perturbed).values()] for row in rows]
    return np.array([1e-14 / min(of_row) for of_row in masses])


# ---- against the slow version
@MODES
@examples(25)
@given(case=cases(), smoothing=st.sampled_from(["raw", "laplace", "hgs", "m_branch"]))
def test_tree(mode, case, smoothing):
    model = fitted(case, case.single_tree(smoothing=smoothing))
    noise = noisy(case, mode)
    matrix = encode_queries(model.inner, case.X)
    expected = naive_dual.average(model.inner.tree_, matrix, model.inner.node_probabilities_, slow_noise(model, noise))
    assert_close(model.answer(matrix, noise), expected)


@BOTH_COUNTS
@MODES
@examples(12)
@given(case=cases(max_rows=40), smoothing=st.sampled_from(list(PSEUDO_COUNTS)), oob_weight=st.sampled_from([0, 1, 2.5]))
def test_bagged(mode, count, case, smoothing, oob_weight):
    estimator, pseudo = PSEUDO_COUNTS[smoothing]
    unfitted = case.unfitted(BaggedPETClassifier, smoothing=estimator, count=count, oob_weight=oob_weight)
    model, noise = fitted(case, unfitted), noisy(case, mode)
    forest, queries = naive_forest(model.inner, *case[:3]), model.prepare(queries_for(model.inner, case))
    rule = {"oob_weight": oob_weight, "count": count, "pseudo": pseudo(forest.n_classes)}
    perturbed = slow_noise(model, noise)
    with Softly(perturbed):
        expected = naive.predict_bagged(forest, queries, **rule)
    for t, tree in enumerate(forest.trees):
        more = at_empty_leaves(forest, t, **rule)
        for q, row in enumerate(queries if more else []):
            for leaf, mass in naive_dual.leaf_masses(tree, row, perturbed).items():
                expected[q] += mass * more.get(leaf, 0.0) / len(forest.trees)
    assert_close(model.answer(queries, noise), expected)


@examples(15)
@given(case=cases(max_rows=40))
def test_bagged_votes(case):
    model, noise = fitted(case, case.unfitted(BaggedPETClassifier, voting=True, smoothing="raw")), noisy(case, "exact")
    forest, queries = naive_forest(model.inner, *case[:3]), model.prepare(queries_for(model.inner, case))
    expected = np.zeros((len(queries), forest.n_classes))
    for q, row in enumerate(queries):
        for t, tree in enumerate(forest.trees):
            for leaf, mass in naive_dual.leaf_masses(tree, row, slow_noise(model, noise)).items():
                expected[q, naive.leaf_votes(forest, t)[leaf]] += mass / len(forest.trees)
    assert_close(model.answer(queries, noise), expected)


def slow_shared(forest, queries, oob_weight, count, vote_trees):
    rule = {"oob_weight": oob_weight, "count": count}
    yhat, _ = naive.oob_votes(forest, count)
    tables = [naive.vote_tables(forest, t, yhat, **rule) for t in range(len(forest.trees))]
    result = naive.predict_bagged(forest, queries, pseudo=0.0, **rule)
    for q, row in enumerate(queries):
        shares = {t: naive.leaf_shares(tree, row) for t, tree in enumerate(forest.trees)}
        _, votes = naive.ensemble_vote(forest, {t: shares[t] for t in vote_trees}, count)
        found = shared_rows(tables, shares, votes)
        result[q] = result[q] if found is None else found
    return result


@BOTH_COUNTS
@pytest.mark.parametrize("rows", ["winner", "shared"])
@examples(12)
@given(case=cases(max_rows=40), oob_weight=st.sampled_from([0.0, 1.0, 2.5]), mode=st.sampled_from(["exact", "product"]))
def test_mob_esp(rows, count, case, oob_weight, mode):
    unfitted = case.unfitted(MOBESPClassifier, count=count, rows=rows, oob_weight=oob_weight)
    model, noise = fitted(case, unfitted), noisy(case, mode)
    forest, queries = naive_forest(model.inner, *case[:3]), model.prepare(queries_for(model.inner, case))
    everyone, perturbed = list(range(len(forest.trees))), slow_noise(model, noise)
    queries = queries[[is_clear(forest.trees, row, perturbed) for row in queries]]
    if not len(queries):
        return
    with Softly(perturbed):
        if rows == "winner":
            expected = naive.predict_mob_esp(forest, queries, oob_weight=oob_weight, count=count)
        else:
            expected = slow_shared(forest, queries, oob_weight, count, everyone)
    assert_close(model.answer(queries, noise), expected, rounding_of_votes(forest.trees, queries, perturbed))


def pooled(case, **parameters):
    return case.unfitted(
        ProbabilityForestClassifier,
        members=("forest",),
        components=EVERY_COMPONENT,
        coarse_rows=int(case.random.choice([3, 8])),
        **parameters,
    )


@examples(12)
@given(case=cases(max_rows=40), max_features=st.sampled_from(["sqrt", ("sqrt", 1)]))
def test_probability_forest(case, max_features):
    model, noise = fitted(case, pooled(case, max_features=max_features)), noisy(case, "exact")
    inner, queries = model.inner, model.prepare(queries_for(model.inner, case, 8))
    parts, perturbed = slow_parts(inner, *case[:3]), slow_noise(model, noise)
    clear = [all(is_clear(part.forest.trees, row, perturbed) for part in parts) for row in queries]
    queries = queries[clear]
    if not len(queries):
        return
    with Softly(perturbed):
        components = with_prior(parts, [part.of_queries(EVERY_COMPONENT, queries) for part in parts])
    expected = naive.log_pool(components, inner.pool_weights_, inner.pool_intercepts_, inner.floor)
    assert_close(model.answer(queries, noise), expected)


# ---- out of bag, where a row is asked softly and left out of the counts at its own leaf
def found_out_of_bag(case, model, noise):
    training = encode_training(model.inner, case.X, case.y, case.w)[1]
    (held_out,) = on_unseen(model, training, np.random.default_rng(0))
    assert np.array_equal(held_out.labels, training.labels)
    return held_out.ask(noise)


@BOTH_COUNTS
@examples(12)
@given(case=cases(max_rows=30), smoothing=st.sampled_from(["raw", "laplace"]), oob_weight=st.sampled_from([0, 1, 2.5]))
def test_bagged_out_of_bag(count, case, smoothing, oob_weight):
    rule = {"oob_weight": oob_weight, "count": count}
    model = fitted(case, case.unfitted(BaggedPETClassifier, smoothing=smoothing, nominal_splits="binary", **rule))
    noise, pseudo = noisy(case, "exact"), float(smoothing == "laplace")
    forest = naive_forest(model.inner, *case[:3])
    if pseudo and any(at_empty_leaves(forest, t, pseudo=pseudo, **rule) for t in range(len(forest.trees))):
        return  # compared for queries above
    expected = naive_dual.oob_bagged(forest, slow_noise(model, noise), pseudo=pseudo, **rule)
    assert_close(found_out_of_bag(case, model, noise), expected)


@BOTH_COUNTS
@pytest.mark.parametrize("rows", ["winner", "shared"])
@examples(8)
@given(case=cases(max_rows=30), oob_weight=st.sampled_from([0.0, 1.0, 2.5]))
def test_mob_esp_out_of_bag(rows, count, case, oob_weight):
    rule = {"oob_weight": oob_weight, "count": count}
    model, noise = fitted(case, case.unfitted(MOBESPClassifier, rows=rows, **rule)), noisy(case, "exact")
    forest, perturbed = naive_forest(model.inner, *case[:3]), slow_noise(model, noise)
    expected = naive_dual.oob_vote_rows(forest, perturbed, rows=rows, **rule)
    instead = naive_dual.oob_bagged(forest, perturbed, pseudo=0.0, **rule)
    lost = np.isnan(expected[:, 0])
    expected[lost] = instead[lost]
    clear = [is_clear(forest.trees, row, perturbed) for row in forest.X]
    rounding = rounding_of_votes(forest.trees, forest.X[clear], perturbed)
    assert_close(found_out_of_bag(case, model, noise)[clear], expected[clear], rounding)


@examples(6)
@given(case=cases(max_rows=24))
def test_probability_forest_out_of_bag(case):
    model, noise = fitted(case, pooled(case, n_estimators=16)), noisy(case, "exact")
    inner, perturbed = model.inner, slow_noise(model, noise)
    parts = slow_parts(inner, *case[:3])
    honest = []
    for part in parts:
        forest, said = part.forest, np.full((len(EVERY_COMPONENT), len(part.forest.y), part.forest.n_classes), np.nan)
        for i in range(len(forest.y)):
            unseen = [t for t in range(len(forest.trees)) if naive.is_out_of_bag(forest, t, i)]
            if unseen:
                shares = {t: naive_dual.entered(forest.trees[t], forest.X[i], perturbed) for t in unseen}
                votes = naive.ensemble_vote(forest, shares, part.count)[1]
                said[:, i] = [part.say(name, shares, votes, without=i) for name in EVERY_COMPONENT]
        honest.append(said)
    honest = with_prior(parts, honest)
    known = ~np.isnan([component[:, 0] for component in honest]).any(axis=0)
    known &= [all(is_clear(part.forest.trees, row, perturbed) for part in parts) for row in parts[0].forest.X]
    expected = naive.log_pool(honest, inner.pool_weights_, inner.pool_intercepts_, inner.floor)
    assert_close(found_out_of_bag(case, model, noise)[known], expected[known])
