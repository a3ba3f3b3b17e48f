"""Leaf estimators: golden numbers, the naive versions, and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

import naive_smoothing
from against_naive import grow_both, random_data, random_options
from from_the_core import leave_one_out
from petiole import PETClassifier, Tree, _core
from petiole.smoothing import (
    HDP,
    HGS,
    Curtailment,
    HeldOut,
    Laplace,
    MBranch,
    MEstimate,
    PerLevel,
    Raw,
    as_leaf_estimator,
)
from petiole.smoothing.hgs import descend, learn_levels, minimise_leave_one_out

A, B, C = 1, 3, 4  # the leaves of the golden tree

EVERY_ESTIMATOR = [
    Raw(),
    Laplace(),
    MEstimate(),
    MEstimate(m=3.0, base_rate="uniform"),
    Curtailment(),
    Curtailment(v=4, smoothing=MEstimate(m=2.0)),
    MBranch(),
    MBranch(M=1, height="subtree"),
    HDP(n_iter=60, burn_in=20, random_state=0),
    HGS(),
    HGS(alpha="gd"),
    HGS(alpha="loocv"),
    HGS(alpha="loocv", loss="squared"),
    HGS(alpha=2.5),
    HGS(alpha=PerLevel([2.0, 0.5])),
]
LEARNING_ESTIMATORS = [
    MEstimate(m="cv"),
    MEstimate(m="honest"),
    Curtailment(v="cv"),
    Curtailment(v=5.0, smoothing=MEstimate(m="honest")),
    MBranch(M="honest"),
    HGS(alpha="cv"),
    HGS(alpha="cv", loss="squared"),
    HGS(alpha="honest"),
    HGS(alpha="honest", loss="squared"),
]


@pytest.fixture
def golden_tree():
    """Root x0 <= 2 -> A; else I: x1 <= 1 -> B, else C."""
    nan = np.nan
    return Tree.from_arrays(
        feature=[0, -1, 1, -1, -1],
        threshold=[2, nan, 1, nan, nan],
        left=[1, -1, 3, -1, -1],
        right=[2, -1, 4, -1, -1],
        inbag_class_counts=[[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
    )


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (Raw(), [0.8, 0.166667, 0.5]),
        (Laplace(), [0.75, 0.25, 0.5]),
        (MEstimate(m=4), [0.728571, 0.32, 0.525]),
        (MEstimate(), [0.627586, 0.468504, 0.542373]),
        (Curtailment(v=4), [0.8, 0.166667, 0.5]),
        (Curtailment(v=5), [0.8, 0.166667, 0.3]),
        (Curtailment(v=7), [0.8, 0.3, 0.3]),
        (Curtailment(v=11), [0.55, 0.55, 0.55]),
        (Curtailment(v=5, smoothing=MEstimate(m=4)), [0.728571, 0.32, 0.371429]),
        (MBranch(M=1), [0.776640, 0.194156, 0.471819]),
        (MBranch(M=1, height="subtree"), [0.776518, 0.194156, 0.471819]),
        (MBranch(M=4), [0.722958, 0.271414, 0.464268]),
        (MBranch(M=4, height="subtree"), [0.722239, 0.271414, 0.464268]),
        (HGS(), [0.777273, 0.231250, 0.475]),
        (HGS(alpha="loocv"), [0.712200, 0.329205, 0.427081]),
        (HGS(alpha=1.0), [0.777273, 0.231250, 0.475]),
        (HGS(alpha=[1.0, 1.0]), [0.777273, 0.231250, 0.475]),
    ],
)
def test_golden_leaves(golden_tree, estimator, expected):
    np.testing.assert_allclose(estimator.node_probabilities(golden_tree)[[A, B, C], 0], expected, atol=2e-6)


@pytest.mark.parametrize(
    ("concentration", "expected"),
    [
        (1.0, [0.776038, 0.206347, 0.488885, 0.444426, 0.536416]),
        (4.0, [0.732516, 0.274554, 0.468192, 0.436384, 0.563805]),
    ],
)
def test_gibbs_sampling_agrees_with_the_enumerated_posterior(golden_tree, concentration, expected):
    hdp = HDP(n_iter=20_100, burn_in=100, concentration=concentration, random_state=0)
    sampled = hdp.node_probabilities(golden_tree)[:, 0]
    np.testing.assert_allclose(sampled[[A, B, C, 2, 0]], expected, atol=0.002)


def test_sampled_concentrations_agree_with_a_long_run(golden_tree):
    table = HDP(n_iter=40_100, random_state=1).node_probabilities(golden_tree)
    np.testing.assert_allclose(table[[A, B, C], 0], [0.7645, 0.2245, 0.4818], atol=0.003)


def test_hdp_agrees_with_naive_enumeration_on_other_trees():
    parent = [-1, 0, 0, 1, 1]
    counts = np.array([[4, 3, 1], [3, 1, 0], [1, 2, 1], [2, 0, 0], [1, 1, 0]], dtype=float)
    nan = np.nan
    tree = Tree.from_arrays(
        feature=[0, 1, -1, -1, -1],
        threshold=[0.0, 0.0, nan, nan, nan],
        left=[1, 3, -1, -1, -1],
        right=[2, 4, -1, -1, -1],
        inbag_class_counts=counts,
    )
    exact, _ = naive_smoothing.hdp_exact(parent, counts, 1.5)
    sampled = HDP(n_iter=30_100, concentration=1.5, random_state=2).node_probabilities(tree)
    np.testing.assert_allclose(sampled, exact, atol=0.004)


@pytest.mark.parametrize("tying", ["single", "level", "parent", "none"])
def test_hdp_is_reproducible_by_seed_for_every_tying(golden_tree, tying):
    one, same = (HDP(n_iter=200, tying=tying, random_state=7).node_probabilities(golden_tree) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    other = HDP(n_iter=200, tying=tying, random_state=8).node_probabilities(golden_tree)
    assert not np.array_equal(one, other)
    np.testing.assert_allclose(one, other, atol=0.1)


def test_stirling_numbers():
    assert [round(math.exp(_core.log_stirling(5, t))) for t in range(1, 6)] == [24, 50, 35, 10, 1]
    assert math.exp(_core.log_stirling(8, 2)) == pytest.approx(13068)
    # the rows sum to n!
    assert sum(math.exp(_core.log_stirling(12, t)) for t in range(1, 13)) == pytest.approx(math.factorial(12))


def test_golden_leave_one_out(golden_tree):
    cost, gradient = leave_one_out(golden_tree, np.ones(5))
    assert cost == pytest.approx(0.99941278, abs=1e-8)
    np.testing.assert_allclose(gradient[[0, 2]], [-0.04451987, -0.01354262], atol=1e-8)
    stepped = descend(golden_tree, "log", 0.01, 1e-4)
    np.testing.assert_allclose(stepped[[0, 2]], [1.000445, 1.000135], atol=1e-6)
    assert leave_one_out(golden_tree, stepped)[0] == pytest.approx(0.99939113, abs=1e-8)
    best = minimise_leave_one_out(golden_tree, "log")
    np.testing.assert_allclose(best[[0, 2]], [5.413037, 7.530994], rtol=1e-3)
    assert leave_one_out(golden_tree, best)[0] == pytest.approx(0.94669275, abs=1e-7)


def grown_tree(seed, **fixed):
    random = np.random.default_rng(seed)
    X, y, w, n_categories, n_classes = random_data(random, missing=not fixed.get("whole", False))
    if fixed.get("whole"):
        w = None
    return grow_both(X, y, w, n_categories, n_classes, **random_options(random, n_classes))[1], random


def parents_first(tree):
    """Parents and counts with nodes renumbered so that parents come first, and the order."""
    order = np.argsort(tree.node_depth, kind="stable")
    rank = np.argsort(order)
    parent = [-1 if tree.parent[node] < 0 else int(rank[tree.parent[node]]) for node in order]
    return parent, tree.inbag_class_counts[order], order, rank


@pytest.mark.parametrize("seed", range(80))
def test_estimators_equal_the_naive_ones_on_grown_trees(seed):
    tree, random = grown_tree(seed)
    parent, counts, order, rank = parents_first(tree)
    base = counts[0] / counts[0].sum()
    alpha = random.choice([0.0, 0.5, 1.0, 3.0], size=len(parent))
    pairs = [
        (naive_smoothing.raw(parent, counts), Raw()),
        (naive_smoothing.laplace(parent, counts, 0.7), Laplace(0.7)),
        (naive_smoothing.m_estimate(parent, counts, 3.0, base), MEstimate(3.0)),
        (naive_smoothing.m_estimate(parent, counts, naive_smoothing.auto_m(base), base), MEstimate()),
        (naive_smoothing.curtailment(parent, counts, 4), Curtailment(4)),
        (naive_smoothing.curtailment(parent, counts, 4, 2.0, base), Curtailment(4, MEstimate(2.0))),
        (naive_smoothing.m_branch(parent, counts, 2.0), MBranch(2.0)),
        (naive_smoothing.m_branch(parent, counts, 2.0, "subtree"), MBranch(2.0, "subtree")),
        (naive_smoothing.hgs(parent, counts, alpha), HGS(alpha[rank][~tree.is_leaf])),
    ]
    for slow, estimator in pairs:
        np.testing.assert_allclose(estimator.node_probabilities(tree)[order], slow, atol=1e-9, err_msg=repr(estimator))


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize("seed", range(30))
def test_leave_one_out_equals_the_naive_one(seed, loss):
    tree, random = grown_tree(seed, whole=True)
    parent, counts, order, rank = parents_first(tree)
    alpha = random.uniform(0.1, 3.0, size=len(parent))
    cost, gradient = leave_one_out(tree, np.ascontiguousarray(alpha[rank]), loss)
    assert cost == pytest.approx(naive_smoothing.hgs_loocv(parent, counts, alpha, loss), abs=1e-9)
    expected = naive_smoothing.hgs_loocv_gradient(parent, counts, alpha, loss)
    np.testing.assert_allclose(gradient[order], expected, atol=1e-9)


def finite_differences(function, x, step=1e-6):
    return np.array([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))])


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize("seed", range(10))
def test_gradients_are_finite_differences_even_with_fractional_weights(seed, loss):
    tree, random = grown_tree(seed + 500)
    alpha = random.uniform(0.3, 3.0, size=tree.n_nodes)
    _, gradient = leave_one_out(tree, alpha, loss)
    np.testing.assert_allclose(
        gradient, finite_differences(lambda a: leave_one_out(tree, a, loss)[0], alpha), rtol=1e-4, atol=1e-6
    )
    kind = getattr(_core.Loss, loss)
    held_out = random.integers(0, 3, size=tree.inbag_class_counts.shape).astype(float)
    seen = tree.inbag_class_counts[0] > 0  # a class absent from the tree has probability 0 and no slope
    loss_at = tree.node_counts.held_out_loss(np.ascontiguousarray(held_out * seen), kind)
    numeric = finite_differences(lambda a: loss_at(a)[0], alpha)
    np.testing.assert_allclose(loss_at(alpha)[1], numeric, rtol=1e-4, atol=1e-5)
    # the same sum by the table
    expected = HeldOut(tree, held_out * seen).loss(HGS(alpha[~tree.is_leaf]).node_probabilities(tree), loss)
    assert loss_at(alpha)[0] == pytest.approx(expected)


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR, ids=repr)
@pytest.mark.parametrize("seed", range(8))
def test_rows_sum_to_one_and_trees_stay_as_they_are(estimator, seed):
    tree, _ = grown_tree(seed + 900)
    if isinstance(estimator.get_params().get("alpha"), list):
        pytest.skip("one alpha per node fits one tree")
    before = tree.inbag_class_counts.copy()
    table = estimator.node_probabilities(tree)
    assert table.shape == before.shape
    assert (table >= 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    table[:] = -1
    np.testing.assert_array_equal(tree.inbag_class_counts, before)


@pytest.mark.parametrize("estimator", [e for e in EVERY_ESTIMATOR if not isinstance(e, HDP)], ids=repr)
def test_permuting_classes_permutes_columns(golden_tree, estimator):
    swapped = golden_tree.with_counts(inbag=golden_tree.inbag_class_counts[:, ::-1])
    table = estimator.node_probabilities(golden_tree)
    np.testing.assert_allclose(estimator.node_probabilities(swapped), table[:, ::-1], atol=1e-5)


def test_limits(golden_tree):
    def table(estimator):
        return estimator.node_probabilities(golden_tree)

    raw, root = table(Raw()), table(Raw())[0]
    np.testing.assert_allclose(table(Laplace(prior=0)), raw)
    np.testing.assert_allclose(table(Laplace(prior=1e12)), 0.5, atol=1e-9)
    np.testing.assert_allclose(table(MEstimate(m=0)), raw)
    np.testing.assert_allclose(table(MEstimate(m=1e12)), np.tile(root, (5, 1)), atol=1e-9)
    np.testing.assert_allclose(table(Curtailment(v=1)), raw)
    np.testing.assert_allclose(table(Curtailment(v=1e9)), np.tile(root, (5, 1)))
    np.testing.assert_allclose(table(MBranch(M=0)), raw)
    np.testing.assert_allclose(table(MBranch(M=1e12)), 0.5, atol=1e-9)
    np.testing.assert_allclose(table(HGS(alpha=0)), raw)
    leaves = golden_tree.leaves
    np.testing.assert_allclose(table(HGS(alpha=[1e12, 0]))[leaves], np.tile(root, (3, 1)), atol=1e-9)


NO_SMOOTHING = [MBranch(M=0), MBranch(M=0, height="subtree"), HGS(alpha=0), MEstimate(m=0), Laplace(prior=0)]


@pytest.mark.parametrize("estimator", [Raw(), Laplace(), MEstimate(), Curtailment(v=1), *NO_SMOOTHING], ids=repr)
def test_an_empty_node_takes_its_parents_row(golden_tree, estimator):
    counts = golden_tree.inbag_class_counts.copy()
    counts[[2, 3, 4]] = 0
    table = estimator.node_probabilities(golden_tree.with_counts(inbag=counts))
    np.testing.assert_allclose(table[[2, 3, 4]], table[[0, 0, 0]])


def test_hgs_gives_an_empty_leaf_the_mean_of_its_ancestors(golden_tree):
    counts = np.array([[11, 9], [8, 2], [3, 7], [0, 0], [3, 7]], dtype=float)
    tree = golden_tree.with_counts(inbag=counts)
    np.testing.assert_allclose(HGS().node_probabilities(tree)[3], (counts[0] / 20 + counts[2] / 10) / 2)
    for alpha in ("gd", "loocv"):
        assert np.isfinite(HGS(alpha=alpha).node_probabilities(tree)).all()


def test_hgs_survives_a_class_with_a_single_example(golden_tree):
    counts = np.array([[19, 1], [10, 0], [9, 1], [5, 1], [4, 0]], dtype=float)
    tree = golden_tree.with_counts(inbag=counts)
    cost, gradient = leave_one_out(tree, np.ones(5))
    assert np.isfinite(cost) and np.isfinite(gradient).all()
    assert np.isfinite(HGS(alpha="loocv").node_probabilities(tree)).all()


def test_hgs_survives_an_internal_node_with_one_row(golden_tree):
    counts = np.array([[8, 3], [8, 2], [0, 1], [0, 1], [0, 0]], dtype=float)
    cost, gradient = leave_one_out(golden_tree.with_counts(inbag=counts), np.ones(5))
    assert np.isfinite(cost) and np.isfinite(gradient).all()


def test_a_single_leaf_gives_raw_frequencies():
    leaf = Tree.from_arrays(feature=[-1], threshold=[0.0], left=[-1], right=[-1], inbag_class_counts=[[3, 1]])
    for alpha in ("ones", "gd", "loocv"):
        np.testing.assert_allclose(HGS(alpha=alpha).node_probabilities(leaf), [[0.75, 0.25]])


def noisy(n=600, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6))
    return X, (X[:, 0] + X[:, 1] + 2 * random.normal(size=n) > 0).astype(int)


def log_loss_bits(model, X, y):
    return -np.log2(np.maximum(model.predict_proba(X)[np.arange(len(y)), y], 1e-3)).mean()


@pytest.mark.parametrize("estimator", LEARNING_ESTIMATORS, ids=repr)
def test_learned_estimators_beat_laplace_on_noisy_data(estimator):
    X, y = noisy()
    X_new, y_new = noisy(4000, seed=1)
    model = PETClassifier.c44(smoothing=estimator).fit(X, y)
    assert not model.smoothing_.needs_held_out
    assert log_loss_bits(model, X_new, y_new) < log_loss_bits(model.with_smoothing("laplace"), X_new, y_new)
    # the same can be had after the fit, from the same data
    again = PETClassifier.c44().fit(X, y).with_smoothing(estimator, X, y)
    np.testing.assert_allclose(again.predict_proba(X_new), model.predict_proba(X_new))


@pytest.mark.parametrize("estimator", LEARNING_ESTIMATORS, ids=repr)
def test_unlearned_estimators_say_what_to_do(estimator):
    X, y = noisy(60)
    with pytest.raises(ValueError, match=r"with_smoothing\(smoothing, X, y\)"):
        PETClassifier().fit(X, y).with_smoothing(estimator)


def test_honest_alpha_undoes_overfitting_where_leave_one_out_does_not():
    X, y = noisy()
    X_new, y_new = noisy(4000, seed=1)
    losses = {
        alpha: log_loss_bits(PETClassifier.c44(smoothing=HGS(alpha=alpha)).fit(X, y), X_new, y_new)
        for alpha in ("ones", "loocv", "honest")
    }
    assert losses["honest"] < losses["ones"] < losses["loocv"]


def test_levels_are_learned_from_any_held_out_rows(golden_tree):
    agreeing = HeldOut(golden_tree, golden_tree.inbag_class_counts)
    flat = HeldOut(golden_tree, np.full((5, 2), 10.0))
    trusting, doubting = learn_levels([agreeing], "log"), learn_levels([flat], "log")
    assert max(trusting) < min(doubting)
    # pooled levels lie between
    assert max(trusting) < max(learn_levels([agreeing, flat], "log")) <= max(doubting) + 1e-9


def test_names_and_objects():
    for name in ("raw", "laplace", "m_estimate", "curtailment", "m_branch", "hdp", "hgs"):
        assert as_leaf_estimator(name).get_params() == type(as_leaf_estimator(name))().get_params()
    own = Laplace(prior=2)
    assert as_leaf_estimator(own) is own


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Laplace(prior=[-1, 2]), r"prior=\[-1, 2\]"),
        (Laplace(prior=1.7e308), r"prior=1.7e\+308: must be a number between 0 and 1e\+100"),
        (Laplace(prior="much"), "prior='much'"),
        (Laplace(prior=[]), r"prior=\[\]"),
        (Laplace(prior=[[1], [2, 3]]), r"prior=\[\[1\], \[2, 3\]\]"),
        (MEstimate(m=1.7e308), r"m=1.7e\+308"),
        (MEstimate(base_rate=[1e308, 1e308]), r"base_rate=.1e\+308"),
        (MEstimate(base_rate={}), "base_rate={}"),
        (MBranch(M=1.7e308), r"M=1.7e\+308"),
        (HGS(alpha=1.7e308), r"alpha=1.7e\+308"),
        (HGS(alpha=[1.0, "a"]), r"alpha=\[1.0, 'a'\]"),
        (HGS(alpha=None), "alpha=None"),
        (HGS(alpha=PerLevel([])), r"alpha=PerLevel\(\[\]\)"),
        (HGS(learning_rate=1e300), r"learning_rate=1e\+300"),
        (MEstimate(m=-1), "m=-1"),
        (MEstimate(m="best"), "m='best'"),
        (MEstimate(base_rate="mine"), "base_rate='mine'"),
        (MEstimate(base_rate=[0.2, 0.3, 0.5]), "base_rate.*2 numbers"),
        (Curtailment(v="all"), "v='all'"),
        (Curtailment(v=-3), "v=-3"),
        (Curtailment(smoothing=MEstimate(m=-2)), "m=-2"),
        (MBranch(M="cv"), "M='cv'"),
        (MBranch(height="tall"), "height='tall'"),
        (HDP(n_iter=0), "n_iter=0"),
        (HDP(n_iter=10, burn_in=10), "burn_in=10.*n_iter=10"),
        (HDP(tying="all"), "tying='all'"),
        (HDP(concentration_prior=3), "concentration_prior=3"),
        (HDP(concentration=-1.0), "concentration=-1.0"),
        (HGS(alpha="best"), "alpha='best'"),
        (HGS(alpha=-1.0), "alpha=-1.0"),
        (HGS(alpha=[1.0, 2.0, 3.0]), "3 entries.*2 internal nodes"),
        (HGS(loss="hinge"), "loss='hinge'"),
        (HGS(learning_rate=0), "learning_rate=0"),
    ],
)
def test_bad_parameters_are_named(golden_tree, estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.node_probabilities(golden_tree)


def test_curtailment_wants_an_estimator_inside(golden_tree):
    with pytest.raises(ValueError, match="smoothing='raw': must be None or a LeafEstimator"):
        Curtailment(smoothing="raw").node_probabilities(golden_tree)


def test_descent_ends_however_short_its_steps(golden_tree):
    table = HGS(alpha="gd", learning_rate=1e-12, tol=0).node_probabilities(golden_tree)
    np.testing.assert_allclose(table, HGS().node_probabilities(golden_tree), atol=1e-6)


def test_every_estimator_on_nominal_columns_with_missing_values_and_weights(load_real):
    frame, y = load_real("hepatitis")
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    for estimator in [*EVERY_ESTIMATOR, *LEARNING_ESTIMATORS]:
        model = PETClassifier.c44(smoothing=estimator).fit(frame, y, sample_weight=weights)
        proba = model.predict_proba(frame)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert (proba >= 0).all()
