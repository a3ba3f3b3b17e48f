"""The smoothing oracle itself is checked against numbers worked out by hand, brute force, and laws."""

from math import comb, exp, inf, lgamma, log2

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime, minimize

import naive_smoothing as naive

# Root x0 <= 2 -> A; else I: x1 <= 1 -> B, else C.
R, A, I, B, C = range(5)  # noqa: E741
PARENT = [-1, R, R, I, I]
COUNTS = np.array([[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]], dtype=float)
BASE_RATE = np.array([0.55, 0.45])
ONES = np.ones(5)

# A three-class tree with a three-way split, an empty leaf (6), an empty internal node (3) with two empty leaves.
BUSHY_PARENT = [-1, 0, 0, 0, 1, 1, 1, 3, 3]
BUSHY_COUNTS = np.array(
    [[7, 5, 2], [6, 2, 1], [1, 3, 1], [0, 0, 0], [5, 0, 1], [1, 2, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]], dtype=float
)
EMPTY = [3, 6, 7, 8]


def random_tree(seed: int, fractional: bool = False, n_classes: int = 3) -> tuple[list[int], np.ndarray]:
    """Eleven nodes hung at random; leaf counts 0 to 5 of each class, every node the sum of its children."""
    rng = np.random.default_rng(seed)
    parent = [-1, *(int(rng.integers(u)) for u in range(1, 11))]
    counts = np.zeros((11, n_classes))
    for leaf in naive.leaves(parent):
        leaf_counts = rng.integers(6, size=n_classes) * (rng.uniform(0.1, 1, n_classes) if fractional else 1)
        for u in naive.path_from_root(parent, leaf):
            counts[u] += leaf_counts
    return parent, counts


def base_rate_of(counts: np.ndarray) -> np.ndarray:
    return counts[0] / counts[0].sum()


ESTIMATORS = {
    "raw": naive.raw,
    "laplace": lambda parent, counts: naive.laplace(parent, counts, 1),
    "m_estimate": lambda parent, counts: naive.m_estimate(parent, counts, 4, base_rate_of(counts)),
    "curtailment": lambda parent, counts: naive.curtailment(parent, counts, 5),
    "curtailment_m": lambda parent, counts: naive.curtailment(parent, counts, 5, 4, base_rate_of(counts)),
    "m_branch": lambda parent, counts: naive.m_branch(parent, counts, 4),
    "m_branch_subtree": lambda parent, counts: naive.m_branch(parent, counts, 4, "subtree"),
    "hgs": lambda parent, counts: naive.hgs(parent, counts, 0.5 + 0.25 * np.arange(len(parent))),
}


# ---- golden numbers: P(class 0) at A, B, C
GOLDEN = [
    ("raw", naive.raw(PARENT, COUNTS), [0.8, 0.166667, 0.5]),
    ("laplace", naive.laplace(PARENT, COUNTS, 1), [0.75, 0.25, 0.5]),
    ("m4", naive.m_estimate(PARENT, COUNTS, 4, BASE_RATE), [0.728571, 0.32, 0.525]),
    ("auto m", naive.m_estimate(PARENT, COUNTS, naive.auto_m(BASE_RATE), BASE_RATE), [0.627586, 0.468504, 0.542373]),
    ("curtail 4", naive.curtailment(PARENT, COUNTS, 4), [0.8, 0.166667, 0.5]),
    ("curtail 5", naive.curtailment(PARENT, COUNTS, 5), [0.8, 0.166667, 0.3]),
    ("curtail 7", naive.curtailment(PARENT, COUNTS, 7), [0.8, 0.3, 0.3]),
    ("curtail 11", naive.curtailment(PARENT, COUNTS, 11), [0.55, 0.55, 0.55]),
    ("curtail 4, m4", naive.curtailment(PARENT, COUNTS, 4, 4, BASE_RATE), [0.728571, 0.32, 0.525]),
    ("curtail 5, m4", naive.curtailment(PARENT, COUNTS, 5, 4, BASE_RATE), [0.728571, 0.32, 0.371429]),
    ("curtail 7, m4", naive.curtailment(PARENT, COUNTS, 7, 4, BASE_RATE), [0.728571, 0.371429, 0.371429]),
    ("curtail 11, m4", naive.curtailment(PARENT, COUNTS, 11, 4, BASE_RATE), [0.55, 0.55, 0.55]),
    ("m-branch 1, branch", naive.m_branch(PARENT, COUNTS, 1), [0.776640, 0.194156, 0.471819]),
    ("m-branch 1, subtree", naive.m_branch(PARENT, COUNTS, 1, "subtree"), [0.776518, 0.194156, 0.471819]),
    ("m-branch 4, branch", naive.m_branch(PARENT, COUNTS, 4), [0.722958, 0.271414, 0.464268]),
    ("m-branch 4, subtree", naive.m_branch(PARENT, COUNTS, 4, "subtree"), [0.722239, 0.271414, 0.464268]),
    ("HGS, alpha 1", naive.hgs(PARENT, COUNTS, ONES), [0.777273, 0.231250, 0.475]),
]


@pytest.mark.parametrize(("rows", "expected"), [row[1:] for row in GOLDEN], ids=[row[0] for row in GOLDEN])
def test_golden_tree(rows, expected):
    assert rows[[A, B, C], 0] == pytest.approx(expected, abs=1e-6)
    assert rows.sum(axis=1) == pytest.approx(1)


def test_auto_m():
    assert naive.auto_m(BASE_RATE) == pytest.approx(22.2222, abs=1e-4)
    assert naive.auto_m([0.05, 0.95]) == pytest.approx(200)  # KDD'98
    assert naive.auto_m([0.0, 0.2, 0.8]) == pytest.approx(50)  # a class that never occurs has no say


def test_m_grows_with_height():
    assert [naive.m_of_height(1, h, 20) for h in (1, 2, 3)] == pytest.approx([1, 3.236068, 3.981424], abs=1e-6)


def test_hgs_cost_gradient_and_descent():
    assert naive.hgs_loocv(PARENT, COUNTS, ONES) == pytest.approx(0.9994127807687306, abs=1e-12)
    gradient = naive.hgs_loocv_gradient(PARENT, COUNTS, ONES)
    assert gradient[[R, I]] == pytest.approx([-0.04451986887842656, -0.013542623133094666], abs=1e-12)
    assert not gradient[[A, B, C]].any()
    alpha, cost, n_steps = naive.hgs_gradient_descent(PARENT, COUNTS, learning_rate=0.01, tol=1e-4)
    assert alpha[[R, I]] == pytest.approx([1.0004451986887843, 1.000135426231331], abs=1e-12)
    assert cost == pytest.approx(0.9993911319033, abs=1e-12)
    assert n_steps == 1


def test_hgs_optimum():
    def alpha_of(log_alpha):
        alpha = np.ones(5)
        alpha[[R, I]] = np.exp(log_alpha)
        return alpha

    def slope(log_alpha):
        alpha = alpha_of(log_alpha)
        return (naive.hgs_loocv_gradient(PARENT, COUNTS, alpha) * alpha)[[R, I]]

    found = minimize(lambda x: naive.hgs_loocv(PARENT, COUNTS, alpha_of(x)), [0, 0], jac=slope, options={"gtol": 1e-10})
    assert found.fun == pytest.approx(0.9466927498168509, abs=1e-10)
    assert np.exp(found.x) == pytest.approx([5.413037, 7.530994], rel=1e-5)
    rows = naive.hgs(PARENT, COUNTS, alpha_of(found.x))
    assert rows[[A, B, C], 0] == pytest.approx([0.712200, 0.329205, 0.427081], abs=1e-6)


@pytest.mark.parametrize(
    ("concentration", "expected"),
    [(1, [0.776038, 0.206347, 0.488885, 0.444426, 0.536416]), (4, [0.732516, 0.274554, 0.468192, 0.436384, 0.563805])],
)
def test_hdp_golden(concentration, expected):
    theta, _ = naive.hdp_exact(PARENT, COUNTS, concentration)
    assert theta[[A, B, C, I, R], 0] == pytest.approx(expected, abs=1e-6)
    assert theta.sum(axis=1) == pytest.approx(1)


def test_hdp_log_evidence_and_number_of_configurations():
    assert naive.hdp_exact(PARENT, COUNTS, 1)[1] == pytest.approx(-15.668086, abs=1e-6)
    guests = [[0, 0], [8, 2], [0, 0], [1, 5], [2, 2]]
    assert len(list(naive.configurations(PARENT, guests, {}, 4))) == 3600


def test_stirling_numbers():
    table = naive.stirling_first(8)
    assert table[5][:6] == [0, 24, 50, 35, 10, 1]
    assert table[8][2] == 13068
    assert [sum(row) for row in table] == [1, 1, 2, 6, 24, 120, 720, 5040, 40320]  # all permutations


# ---- laws of every estimator
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fractional", [False, True])
def test_rows_are_distributions_and_classes_have_no_order(name, seed, fractional):
    parent, counts = random_tree(seed, fractional)
    rows = ESTIMATORS[name](parent, counts)
    assert rows.shape == counts.shape
    assert (rows >= 0).all()
    assert rows.sum(axis=1) == pytest.approx(1)
    order = [2, 0, 1]
    assert ESTIMATORS[name](parent, counts[:, order]) == pytest.approx(rows[:, order])


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - {"m_branch_subtree"}))
def test_internal_node_is_as_if_the_tree_were_cut_there(name):
    parent, counts = random_tree(0)
    cut = 6  # parents come before children: the first nodes are a tree by themselves
    assert ESTIMATORS[name](parent[:cut], counts[:cut]) == pytest.approx(ESTIMATORS[name](parent, counts)[:cut])


@pytest.mark.parametrize("name", ["raw", "laplace", "m_estimate", "curtailment", "curtailment_m"])
def test_empty_node_takes_the_row_of_its_parent(name):
    rows = ESTIMATORS[name](BUSHY_PARENT, BUSHY_COUNTS)
    for u in EMPTY:
        assert rows[u] == pytest.approx(rows[BUSHY_PARENT[u]])


@pytest.mark.parametrize(
    "rows",
    [
        naive.raw(PARENT, 0 * COUNTS),
        naive.laplace(PARENT, 0 * COUNTS, [1, 3]),
        naive.m_estimate(PARENT, 0 * COUNTS, 4, BASE_RATE),
        naive.curtailment(PARENT, 0 * COUNTS, 0),
        naive.m_branch(PARENT, 0 * COUNTS, 4),
        naive.hgs(PARENT, 0 * COUNTS, ONES),
        naive.hdp_exact(PARENT, 0 * COUNTS, 1)[0],
    ],
)
def test_empty_tree_is_uniform(rows):
    assert rows == pytest.approx(np.full((5, 2), 0.5))


# ---- laws of single estimators
@pytest.mark.parametrize("seed", range(4))
def test_no_smoothing_is_raw(seed):
    parent, counts = random_tree(seed)
    raw = naive.raw(parent, counts)
    assert naive.laplace(parent, counts, 0) == pytest.approx(raw)
    assert naive.m_estimate(parent, counts, 0, base_rate_of(counts)) == pytest.approx(raw)
    assert naive.m_branch(parent, counts, 0) == pytest.approx(raw)
    assert naive.hgs(parent, counts, np.zeros(11)) == pytest.approx(raw)


@pytest.mark.parametrize("v", [0, 1])
def test_curtailment_without_a_limit_is_raw(v):
    """Also at empty nodes, because the raw row of an empty node is its parent's."""
    assert naive.curtailment(BUSHY_PARENT, BUSHY_COUNTS, v) == pytest.approx(naive.raw(BUSHY_PARENT, BUSHY_COUNTS))


def test_curtailment_allows_for_rounding():
    counts = np.array([[2, 2], [0.1 + 0.2, 0], [1.7, 2]])
    assert naive.stopping_node([-1, 0, 0], counts, 1, 0.3) == 1
    counts[1, 0] = 0.3 - 1e-12
    assert naive.stopping_node([-1, 0, 0], counts, 1, 0.3) == 1
    counts[1, 0] = 0.3 - 1e-6
    assert naive.stopping_node([-1, 0, 0], counts, 1, 0.3) == 0


def test_curtailment_stops_before_an_empty_child():
    assert [naive.stopping_node(BUSHY_PARENT, BUSHY_COUNTS, u, 0) for u in EMPTY] == [0, 1, 0, 0]


def test_curtailment_does_not_look_below_a_light_node():
    """Impossible with true counts, but the rule is the first child below v, not the deepest node above it."""
    assert naive.stopping_node([-1, 0, 1], np.array([[9.0], [1.0], [5.0]]), 2, 3) == 0


def test_laplace_is_an_m_estimate():
    m_estimate = naive.m_estimate(PARENT, COUNTS, 3, np.array([1 / 3, 2 / 3]))
    assert naive.laplace(PARENT, COUNTS, [1, 2]) == pytest.approx(m_estimate)


def test_m_branch_of_a_single_node_is_an_m_estimate_with_uniform_base_rate():
    assert naive.m_branch([-1], COUNTS[:1], 4) == pytest.approx((COUNTS[:1] + 2) / 24)


def test_m_branch_heights_agree_when_all_leaves_have_one_depth():
    parent, counts = [-1, 0, 0], np.array([[5, 4], [4, 1], [1, 3.0]])
    branch, subtree = naive.m_branch(parent, counts, 4), naive.m_branch(parent, counts, 4, "subtree")
    assert branch[1:] == pytest.approx(subtree[1:])
    assert not np.allclose(branch[0], subtree[0])  # cut at the root, the root has height 1


def test_m_branch_of_an_empty_leaf_is_the_smoothed_parent():
    """The parent as smoothed in this branch, where it has height 2: not the parent's own row."""
    rows = naive.m_branch(BUSHY_PARENT, BUSHY_COUNTS, 4, "subtree")
    assert rows[6] == pytest.approx(rows[1])
    assert not np.allclose(*naive.m_branch(BUSHY_PARENT, BUSHY_COUNTS, 4)[[6, 1]])


def test_hgs_with_all_weight_on_the_root_is_the_base_rate():
    alpha = np.zeros(5)
    alpha[R] = 1e12
    assert naive.hgs(PARENT, COUNTS, alpha) == pytest.approx(np.tile(BASE_RATE, (5, 1)))


def test_hgs_of_the_root_is_raw():
    assert naive.hgs(PARENT, COUNTS, 7 * ONES)[R] == pytest.approx(BASE_RATE)
    assert naive.hgs([-1], COUNTS[:1], [7.0])[0] == pytest.approx(BASE_RATE)


def test_hgs_of_an_empty_node():
    alpha = np.array([3.0, 1.0, 9.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0])
    rows = naive.hgs(BUSHY_PARENT, BUSHY_COUNTS, alpha)
    raw = naive.raw(BUSHY_PARENT, BUSHY_COUNTS)
    assert rows[6] == pytest.approx((3 * raw[0] + 1 * raw[1]) / 4)
    assert rows[7] == pytest.approx(raw[0])
    assert naive.hgs(BUSHY_PARENT, BUSHY_COUNTS, np.zeros(9)) == pytest.approx(raw)


# ---- HGS, leave one out
def cost_by_leaving_out(parent, counts, alpha) -> float:
    """Take one example out of the tree, smooth the rest afresh, and look at the leaf it came from."""
    total, n_examples = 0.0, 0.0
    for leaf in naive.leaves(parent):
        for k in np.flatnonzero(counts[leaf]):
            without = counts.copy()
            without[naive.path_from_root(parent, leaf), k] -= 1
            total -= counts[leaf, k] * log2(naive.hgs(parent, without, alpha)[leaf, k])
            n_examples += counts[leaf, k]
    return total / n_examples


@pytest.mark.parametrize("seed", range(5))
def test_loocv_is_leaving_one_out(seed):
    parent, counts = random_tree(seed)
    alpha = np.linspace(0.5, 3, 11)
    assert counts[0].min() > 1  # no special rule applies
    assert all(counts[p].sum() > 1 for p in parent[1:])
    assert naive.hgs_loocv(parent, counts, alpha) == pytest.approx(cost_by_leaving_out(parent, counts, alpha))


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_gradient_agrees_with_finite_differences(seed, fractional, loss):
    parent, counts = random_tree(seed, fractional)
    alpha = np.linspace(0.5, 3, 11)
    differences = approx_fprime(alpha, lambda a: naive.hgs_loocv(parent, counts, a, loss), 1e-7)
    assert naive.hgs_loocv_gradient(parent, counts, alpha, loss) == pytest.approx(differences, abs=1e-6)


def test_squared_loss_by_hand():
    """Two pure leaves of two: theta_LOO = (1 + 1/3) / (1 + 1) = 2/3 everywhere, half of (1/3)^2."""
    parent, counts = [-1, 0, 0], np.array([[2, 2], [2, 0], [0, 2.0]])
    assert naive.hgs_loocv(parent, counts, np.ones(3), "squared") == pytest.approx(1 / 18)
    assert naive.hgs_loocv(parent, counts, np.ones(3), "log") == pytest.approx(-log2(2 / 3))


def test_empty_leaves_do_not_matter():
    with_empty = naive.hgs_loocv(BUSHY_PARENT, BUSHY_COUNTS, np.ones(9))
    assert with_empty == pytest.approx(naive.hgs_loocv([-1, 0, 0, 1, 1], BUSHY_COUNTS[[0, 1, 2, 4, 5]], np.ones(5)))
    assert np.isfinite(naive.hgs_loocv_gradient(BUSHY_PARENT, BUSHY_COUNTS, np.ones(9))).all()


def test_class_with_one_example_is_dropped():
    """Its column still weighs in the other terms, but it has no term and is not in N."""
    counts = np.column_stack([COUNTS, [1, 0, 1, 1, 0]])
    cost = naive.hgs_loocv(PARENT, counts, ONES)
    terms = list(naive.left_out_terms(PARENT, counts, ONES))
    assert sum(term.weight for term in terms) == 20
    assert cost == pytest.approx(sum(-term.weight * log2(term.theta) for term in terms) / 20)
    assert np.isfinite(naive.hgs_loocv_gradient(PARENT, counts, ONES)).all()


def test_nothing_to_leave_out():
    counts = np.array([[1, 1], [1, 0], [0, 1.0]])
    assert naive.hgs_loocv([-1, 0, 0], counts, np.ones(3)) == 0
    assert not naive.hgs_loocv_gradient([-1, 0, 0], counts, np.ones(3)).any()


def test_ancestor_with_one_example_is_uniform_when_it_is_left_out():
    """Node 1 has one example: theta_LOO = (0 + 1 * 3/7 + 1 * 1/2) / (0 + 2) at its leaf 2."""
    parent, counts = [-1, 0, 1, 0], np.array([[4, 4], [1, 0], [1, 0], [3, 4.0]])
    first = next(naive.left_out_terms(parent, counts, np.ones(4)))
    assert first.theta_above == {0: pytest.approx(3 / 7), 1: 0.5}
    assert first.theta == pytest.approx((3 / 7 + 1 / 2) / 2)


def test_fraction_of_an_example_is_left_out_whole():
    """Leaf 1 has 0.5 of class 0: (0 + (2.5 - 0.5) / (4.5 - 0.5)) / (1.5 - 0.5 + 1) = 1/4, with weight 0.5."""
    parent, counts = [-1, 0, 0], np.array([[2.5, 2.0], [0.5, 1.0], [2.0, 1.0]])
    first = next(naive.left_out_terms(parent, counts, np.ones(3)))
    assert (first.weight, first.theta, first.denominator) == pytest.approx((0.5, 0.25, 2))


def test_cost_without_smoothing_is_infinite():
    assert naive.hgs_loocv(PARENT, COUNTS, np.zeros(5)) == inf  # B has one example of class 0


def test_descent_goes_on_while_the_cost_falls():
    alpha, cost, n_steps = naive.hgs_gradient_descent(PARENT, COUNTS, learning_rate=5, tol=1e-6)
    assert n_steps > 10
    assert cost == pytest.approx(0.946693, abs=1e-3)  # the optimum, approached slowly
    assert cost == pytest.approx(naive.hgs_loocv(PARENT, COUNTS, alpha))


# ---- HDP
def test_hdp_of_a_single_node_is_dirichlet():
    theta, log_evidence = naive.hdp_exact([-1], COUNTS[:1], 1, root_concentration=2)
    assert theta[0] == pytest.approx([12 / 22, 10 / 22])
    assert log_evidence == pytest.approx(lgamma(12) + lgamma(10) - lgamma(22))  # Beta(12, 10) / Beta(1, 1)


def test_hdp_posterior_mean_is_the_chance_of_the_next_example():
    """P(next example at leaf u is of class k | data) = evidence(data and it) / evidence(data)."""
    parent, counts = [-1, 0, 0, 2, 2], np.array([[0, 0], [2, 1], [0, 0], [0, 2], [1, 1]])
    concentration = np.array([0, 0.7, 2.0, 1.3, 3.0])
    theta, log_evidence = naive.hdp_exact(parent, counts, concentration, 1.5)
    for leaf in naive.leaves(parent):
        for k in range(2):
            more = counts.copy()
            more[leaf, k] += 1
            _, log_evidence_of_more = naive.hdp_exact(parent, more, concentration, 1.5)
            assert exp(log_evidence_of_more - log_evidence) == pytest.approx(theta[leaf, k])


def test_hdp_agrees_with_integration_over_the_root():
    """Two classes, leaves below the root: one integral over theta_root, uniform since c_root / K = 1."""
    counts, c = np.array([[0, 0], [3, 1], [1, 4]]), 2.5

    def likelihood(p):
        result = 1.0
        for n0, n1 in counts[1:]:
            a, b = c * p, c * (1 - p)
            result *= exp(lgamma(a + n0) - lgamma(a) + lgamma(b + n1) - lgamma(b) + lgamma(c) - lgamma(c + n0 + n1))
        return result

    evidence = quad(likelihood, 0, 1)[0]
    root = quad(lambda p: p * likelihood(p), 0, 1)[0] / evidence
    theta, log_evidence = naive.hdp_exact([-1, 0, 0], counts, c, root_concentration=2)
    assert exp(log_evidence) == pytest.approx(evidence)
    assert theta[:, 0] == pytest.approx([root, (3 + c * root) / (4 + c), (1 + c * root) / (5 + c)])


def test_hdp_limits():
    raw = naive.raw(PARENT, COUNTS)
    close_to_raw = naive.hdp_exact(PARENT, COUNTS, 1e-6)[0]
    assert close_to_raw[[A, B, C]] == pytest.approx(raw[[A, B, C]], abs=1e-5)
    pooled = naive.hdp_exact(PARENT, COUNTS, 1e7)[0]  # all nodes are one: a Dirichlet on the root's counts
    assert pooled == pytest.approx(np.tile([12 / 22, 10 / 22], (5, 1)), abs=1e-4)


def test_hdp_evidence_is_a_distribution_over_data_sets():
    """Three examples at each leaf in a fixed order; sets with the same counts are equally likely."""
    total = 0.0
    for i in range(4):
        for j in range(4):
            counts = np.array([[0, 0], [i, 3 - i], [j, 3 - j]])
            total += comb(3, i) * comb(3, j) * exp(naive.hdp_exact([-1, 0, 0], counts, 1.7)[1])
    assert total == pytest.approx(1)


def test_hdp_permuting_classes_permutes_columns():
    counts = np.array([[0, 0, 0], [2, 0, 1], [1, 1, 0], [0, 0, 0]])
    parent, order = [-1, 0, 0, 0], [2, 0, 1]
    theta, log_evidence = naive.hdp_exact(parent, counts, 1.7)
    permuted, log_evidence_permuted = naive.hdp_exact(parent, counts[:, order], 1.7)
    assert permuted == pytest.approx(theta[:, order])
    assert log_evidence_permuted == pytest.approx(log_evidence)
    assert theta[3] == pytest.approx(theta[0])  # the empty leaf


# ---- errors
def test_errors():
    with pytest.raises(ValueError, match="height='leaf'"):
        naive.m_branch(PARENT, COUNTS, 4, "leaf")
    with pytest.raises(ValueError, match="loss='zero-one'"):
        naive.hgs_loocv(PARENT, COUNTS, ONES, "zero-one")
    with pytest.raises(ValueError, match="whole numbers"):
        naive.hdp_exact(PARENT, COUNTS / 2, 1)
