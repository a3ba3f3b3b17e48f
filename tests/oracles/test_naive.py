"""The oracle itself is checked against published numbers, trees worked out on paper, and laws."""

from itertools import combinations, product
from math import inf, isnan, nan, nextafter

import numpy as np
import pytest

import naive
from naive import GrowOptions, Node

A, B, C = 0.0, 1.0, 2.0  # category codes

MODES = [
    GrowOptions(criterion=criterion, missing=missing, nominal_splits=splits)
    for criterion, missing, splits in product(
        ["entropy", "gini", "kearns_mansour", "gain_ratio"],
        ["fractional", "separate"],
        ["multiway", "binary"],
    )
]


def mode_name(options: GrowOptions) -> str:
    return f"{options.criterion}-{options.missing}-{options.nominal_splits}"


def random_data(seed: int, n: int = 60, n_classes: int = 3) -> tuple:
    """Two numeric and two nominal columns that say something about the class, 15 % of the values missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    n_categories = [0, 4, 0, 3]
    X = np.column_stack(
        [
            np.round(y + rng.normal(size=n), 1),
            (y + rng.integers(3, size=n)) % 4,
            rng.integers(5, size=n),
            rng.integers(3, size=n),
        ]
    ).astype(float)
    X[rng.random(X.shape) < 0.15] = nan
    w = rng.choice([0.5, 1.0, 2.0], size=n)
    return X, y, w, n_categories, n_classes


def golden_tree() -> tuple[Node, Node, Node, Node, Node]:
    """Root x0 <= 2 -> A; else I: x1 <= 1 -> B, else C."""
    a = Node(np.array([8.0, 2.0]), 1)
    b, c = Node(np.array([1.0, 5.0]), 2), Node(np.array([2.0, 2.0]), 2)
    i = Node(np.array([3.0, 7.0]), 1, feature=1, threshold=1.0, children=[b, c])
    root = Node(np.array([11.0, 9.0]), 0, feature=0, threshold=2.0, children=[a, i])
    return root, a, i, b, c


def shape(node: Node) -> tuple:
    """Everything that a tree is, comparable with ==."""
    test = (node.feature, str(node.threshold), node.category_branch, node.missing_branch)
    return (node.depth, *test, node.counts.tolist(), [shape(child) for child in node.children])


# ---- impurities
def test_impurities():
    assert naive.entropy_bits([3, 1]) == pytest.approx(0.811278, abs=1e-6)
    assert naive.gini([3, 1]) == pytest.approx(0.375)
    assert naive.kearns_mansour([0.2, 0.8]) == pytest.approx(0.8)
    assert naive.kearns_mansour([2, 3, 5]) == pytest.approx(1.358258, abs=1e-6)


@pytest.mark.parametrize("impurity", [naive.entropy_bits, naive.gini, naive.kearns_mansour])
def test_impurity_of_nothing_and_of_a_pure_node_is_zero(impurity):
    assert impurity(np.zeros(3)) == 0
    assert impurity(np.array([0.0, 0.3, 0.0])) == 0


# ---- one attribute
def test_golden_numeric_cut():
    y = [0, 0, 0, 1, 0, 1, 1, 1, 0, 1]
    best = naive.numeric_candidate(range(1, 11), y, np.ones(10), 2, GrowOptions(criterion="gain_ratio"))
    assert (best["tries"], best["cut"]) == (7, 3.5)
    assert best["gain"] == pytest.approx(0.395816, abs=1e-6)
    assert best["corrected_gain"] == pytest.approx(0.115080, abs=1e-6)
    assert best["ratio"] == pytest.approx(0.130581, abs=1e-6)
    assert best["gain"] / best["split_info"] == pytest.approx(0.449132, abs=1e-6)


def test_golden_nominal_split_with_missing_values():
    values = [A] * 4 + [B] * 4 + [nan] * 2
    y = [0, 0, 0, 1, 0, 1, 1, 1, 0, 1]
    best = naive.nominal_candidate(values, y, np.ones(10), 2, 2, GrowOptions(criterion="gain_ratio"))
    assert best["gain"] == pytest.approx(0.150978, abs=1e-6)
    assert best["split_info"] == pytest.approx(1.521928, abs=1e-6)
    assert best["ratio"] == pytest.approx(0.099201, abs=1e-6)


def test_minimum_side_grows_with_the_node_only_for_gain_ratio():
    ratio, gain = GrowOptions(criterion="gain_ratio"), GrowOptions(criterion="entropy")
    assert [naive.minimum_side(n, 2, ratio) for n in (10, 100, 10_000)] == [2, 5, 25]
    assert naive.minimum_side(10_000, 2, gain) == 2
    assert naive.minimum_side(10_000, 2, GrowOptions(criterion="gain_ratio", min_samples_leaf=40)) == 40


def test_the_first_of_equal_cuts_is_taken():
    # 0 | 1 1 | 0: the cuts after the first and after the third value have the same gain
    options = GrowOptions(min_samples_leaf=1)
    assert naive.numeric_candidate([1, 2, 3, 4], [0, 1, 1, 0], np.ones(4), 2, options)["cut"] == 1.5


def test_threshold_at_a_value_of_the_whole_training_set():
    # x0 = 4 is in the other branch of x1, but it is the largest training value below the midpoint 5
    X = np.array([[A, 1], [A, 2], [A, 8], [A, 9], [B, 4], [B, 4]])
    y, w = np.array([0, 0, 1, 1, 2, 2]), np.ones(6)
    thresholds = {}
    for threshold in ("midpoint", "data"):
        options = GrowOptions(threshold=threshold, missing="separate")
        tree = naive.grow(X, y, w, [2, 0], 3, options)
        thresholds[threshold] = tree.children[0].threshold
    assert thresholds == {"midpoint": 5.0, "data": 4.0}


def test_threshold_between_neighbouring_floats_separates_them():
    a = 1.0
    for _ in range(2):  # one of two neighbouring pairs is rounded up
        b = nextafter(a, inf)
        cut = naive.numeric_candidate([a, a, b, b], [0, 0, 1, 1], np.ones(4), 2, GrowOptions())["cut"]
        assert a <= cut < b
        a = b


def test_known_against_missing_is_the_last_cut():
    # only whether the value is there says anything: H(3/7) bits are gained
    options = GrowOptions(missing="separate")
    best = naive.numeric_candidate([1, 2, 3, 4] + [nan] * 3, [0] * 4 + [1] * 3, np.ones(7), 2, options)
    assert (best["cut"], best["missing_branch"], best["n_children"]) == (2.5, 2, 3)
    assert best["tries"] == 2
    assert best["gain"] == pytest.approx(naive.entropy_bits([4, 3]))
    best = naive.numeric_candidate([1] * 4 + [nan] * 3, [0] * 4 + [1] * 3, np.ones(7), 2, options)
    assert (best["cut"], best["missing_branch"], best["n_children"]) == (inf, 1, 2)


def test_multiway_routes_absent_categories_to_one_empty_leaf():
    values, y = [A] * 3 + [C] * 2 + [nan], [0, 0, 1, 1, 1, 0]
    fractional = naive.nominal_candidate(values, y, np.ones(6), 4, 2, GrowOptions())
    assert (fractional["category_branch"], fractional["missing_branch"]) == ([0, 2, 1, 2], -1)
    assert fractional["n_children"] == 3
    separate = naive.nominal_candidate(values, y, np.ones(6), 4, 2, GrowOptions(missing="separate"))
    assert (separate["category_branch"], separate["missing_branch"]) == ([0, 3, 1, 3], 2)
    assert separate["n_children"] == 4


def test_binary_split_sends_low_shares_to_branch_0():
    values = [A] * 4 + [B] * 4 + [C] * 4
    y = [1, 1, 1, 0] + [0] * 4 + [1] * 4  # shares of class 1: .75, 0, 1
    best = naive.nominal_candidate(values, y, np.ones(12), 4, 2, GrowOptions(nominal_splits="binary"))
    assert best["category_branch"] == [1, 0, 1, -1]
    assert best["missing_branch"] == -1


@pytest.mark.parametrize("criterion", ["entropy", "gini", "kearns_mansour"])
@pytest.mark.parametrize("missing", ["fractional", "separate"])
def test_binary_split_of_two_classes_is_the_best_subset(criterion, missing):
    options = GrowOptions(criterion, min_samples_leaf=0.5, missing=missing, nominal_splits="binary")
    for seed in range(10):
        rng = np.random.default_rng(seed)
        values = rng.choice([0.0, 1, 2, 3, 4, nan], size=40)
        y, w = rng.integers(2, size=40), rng.choice([0.5, 1, 2], size=40)
        codes = np.where(np.isnan(values), 5, values)
        categories = range(6 if missing == "separate" else 5)
        gains = []
        for size in range(1, len(categories)):
            for subset in combinations(categories, size):
                side = np.isin(codes, subset).astype(float)
                side[np.isnan(values) & (missing == "fractional")] = nan
                gains.append(naive.nominal_candidate(side, y, w, 2, 2, options)["gain"])
        assert naive.nominal_candidate(values, y, w, 5, 2, options)["gain"] == pytest.approx(max(gains))


def test_class_weights_count_like_copies_in_the_gain_only():
    y = np.array([0, 0, 1, 1, 0, 1, 1, 1])
    values = [1, 2, 3, 4, 5, 6, 7, nan]
    weighted = naive.numeric_candidate(values, y, np.ones(8), 2, GrowOptions(split_class_weight=[3, 1]))
    copied = naive.numeric_candidate(values, y, np.where(y == 0, 3, 1), 2, GrowOptions(min_samples_leaf=1))
    assert weighted["gain"] == pytest.approx(copied["gain"])
    assert weighted["split_info"] == pytest.approx(copied["split_info"])
    assert weighted["tries"] == 4  # two of eight rows on each side; with copies all six cuts would do


# ---- choice among attributes
def candidate_with(gain: float, split_info: float) -> naive.Candidate:
    return naive.Candidate(gain, gain, split_info, 2)


def test_ratio_decides_only_among_attributes_of_average_gain():
    # attribute 1 has the best ratio, but a gain below the average of .35
    cuts = {0: candidate_with(0.6, 1.0), 1: candidate_with(0.1, 0.01)}
    assert naive.choose_by_ratio(cuts, [False, False]) == 0
    # without attribute 0 in the average, attribute 1 competes
    assert naive.choose_by_ratio(cuts, [True, False]) == 1
    assert naive.choose_by_ratio(cuts, [True, True]) == 0
    assert naive.choose_by_ratio({0: candidate_with(0.6, 1.0)}, [True, False]) is None
    assert naive.choose_by_ratio({0: candidate_with(0.6, 1e-4)}, [False]) is None


def test_the_first_of_equal_attributes_is_taken():
    cuts = {2: candidate_with(0.5, 1.0), 3: candidate_with(0.5 + 1e-12, 1.0)}
    for criterion in ("entropy", "gain_ratio"):
        assert naive.choose(cuts, [False] * 4, GrowOptions(criterion)) == 2


# ---- growth
def paper_data() -> tuple:
    X = np.array(
        [[1, A], [2, B], [3, B], [4, A], [6, A], [7, B], [8, A], [9, B], [nan, A], [nan, nan]],
    )
    return X, np.array([0, 1, 1, 0, 2, 2, 2, 2, 0, 2]), np.ones(10), [0, 2], 3


def test_tree_with_fractional_rows_worked_out_on_paper():
    # Root: 8 of 10 rows know x0, (2,2,4) = 1.5 bits, half of it gone after the cut at 5: gain .8 * 1.
    # Half of rows 8 and 9 goes to each side. Both sides then split by x1, whose known weights are 2.5 and 2,
    # so that 5/9 and 4/9 of the remaining half of row 9 follow them. All four leaves are below 4.
    tree = naive.grow(*paper_data(), GrowOptions())
    low, high = tree.children
    assert (tree.feature, tree.threshold, low.feature, high.feature) == (0, 5.0, 1, 1)
    np.testing.assert_allclose(tree.counts, [3, 2, 5])
    np.testing.assert_allclose(low.counts, [2.5, 2, 0.5])
    np.testing.assert_allclose(high.counts, [0.5, 0, 4.5])
    np.testing.assert_allclose(low.children[0].counts, [2.5, 0, 5 / 18])
    np.testing.assert_allclose(low.children[1].counts, [0, 2, 4 / 18])
    np.testing.assert_allclose(high.children[0].counts, [0.5, 0, 2 + 5 / 18])
    np.testing.assert_allclose(high.children[1].counts, [0, 0, 2 + 4 / 18])
    assert len(naive.leaves(tree)) == 4


def test_predictions_of_the_tree_worked_out_on_paper():
    tree = naive.grow(*paper_data(), GrowOptions())
    rows = np.array([[1, A], [1, nan], [nan, nan]])
    np.testing.assert_allclose(naive.predict_raw(tree, rows), [[0.9, 0, 0.1], [0.5, 0.4, 0.1], [0.3, 0.2, 0.5]])
    np.testing.assert_allclose(naive.predict_laplace(tree, rows[:1])[0], np.array([3.5, 1, 1 + 5 / 18]) / (3 + 25 / 9))


def test_separate_branch_of_the_missing_values():
    X = np.array([[1, A], [2, A], [3, A], [8, A], [9, A], [nan, A], [nan, A]])
    y = np.array([0, 0, 0, 1, 1, 2, 2])
    tree = naive.grow(X, y, np.ones(7), [0, 1], 3, GrowOptions(missing="separate"))
    assert (tree.threshold, tree.missing_branch) == (5.5, 2)
    assert [child.counts.tolist() for child in tree.children] == [[3, 0, 0], [0, 2, 0], [0, 0, 2]]


def test_an_empty_leaf_predicts_like_its_parent():
    X, y = np.array([[A]] * 3 + [[B]] * 3), np.array([0, 0, 0, 0, 1, 1])
    tree = naive.grow(X, y, np.ones(6), [3], 2, GrowOptions())
    assert tree.children[2].weight == 0
    np.testing.assert_allclose(naive.predict_raw(tree, np.array([[C]])), [[4 / 6, 2 / 6]])
    np.testing.assert_allclose(naive.predict_laplace(tree, np.array([[C]])), [[5 / 8, 3 / 8]])
    # a code beyond the declared ones is a missing value: both branches hold half of the weight
    np.testing.assert_allclose(naive.predict_raw(tree, np.array([[7.0]])), [[4 / 6, 2 / 6]])


def test_a_tiny_share_of_a_row_is_not_cut_further():
    node = Node(np.zeros(1), feature=0, threshold=1.5)
    X, w = np.array([[1.0], [2.0], [2.0], [nan], [nan]]), np.ones(5)
    rows = {0: 1.0, 1: 1.0, 2: 1.0, 3: 0.5, 4: 0.0009}
    low, high = naive.distribute(node, 2, rows, X, w)
    assert low == pytest.approx({0: 1, 3: 0.5 / 3})
    assert high == pytest.approx({1: 1, 2: 1, 3: 1 / 3, 4: 0.0009})


def test_stopping_rules():
    X, y, w, n_categories, n_classes = random_data(0)
    stump = naive.grow(X, y, w, n_categories, n_classes, GrowOptions(max_depth=1))
    assert all(not child.children for child in stump.children)
    assert not naive.grow(X, y, w, n_categories, n_classes, GrowOptions(max_depth=0)).children
    assert not naive.grow(X, 0 * y, w, n_categories, n_classes, GrowOptions()).children
    too_few = GrowOptions(min_samples_leaf=w.sum() / 2 + 0.01)
    assert not naive.grow(X, y, w, n_categories, n_classes, too_few).children


@pytest.mark.parametrize("options", MODES, ids=mode_name)
def test_laws_of_every_tree(options):
    for seed in range(4):
        X, _, _, n_categories, _ = data = random_data(seed, n_classes=2 + seed % 2)
        tree = naive.grow(*data, options)
        for node in naive.nodes(tree):
            if node.children:  # the weight of every class is conserved
                np.testing.assert_allclose(sum(c.counts for c in node.children), node.counts, atol=1e-9)
                assert all(child.depth == node.depth + 1 for child in node.children)
                assert isnan(node.threshold) == (n_categories[node.feature] > 0)
        for row in X:
            assert sum(v for _, v in naive.leaf_weights(tree, row)) == pytest.approx(1)
        for predict in (naive.predict_raw, naive.predict_laplace):
            np.testing.assert_allclose(predict(tree, X).sum(axis=1), 1)
        # a row of which nothing is known gets the class frequencies, as every node hands down what it has
        if options.missing == "fractional":
            blank = np.full((1, X.shape[1]), nan)
            np.testing.assert_allclose(naive.predict_raw(tree, blank)[0], tree.counts / tree.weight)


# not for gain_ratio, whose log2(tries)/n correction depends on the scale of the weights
@pytest.mark.parametrize("options", [o for o in MODES if o.criterion != "gain_ratio"], ids=mode_name)
def test_doubled_weights_grow_the_same_tree_if_the_minimum_is_doubled(options):
    X, y, w, n_categories, n_classes = random_data(7)
    doubled = GrowOptions(**{**vars(options), "min_samples_leaf": 2 * options.min_samples_leaf})
    once = naive.grow(X, y, w, n_categories, n_classes, options)
    twice = naive.grow(X, y, 2 * w, n_categories, n_classes, doubled)
    assert [(t.feature, str(t.threshold)) for t in naive.nodes(once)] == [
        (t.feature, str(t.threshold)) for t in naive.nodes(twice)
    ]


# ---- golden tree
def test_golden_tree_probabilities():
    root = golden_tree()[0]
    rows = np.array([[1.0, 0.0], [3.0, 1.0], [3.0, 2.0]])
    np.testing.assert_allclose(naive.predict_raw(root, rows)[:, 0], [0.8, 1 / 6, 0.5])
    np.testing.assert_allclose(naive.predict_laplace(root, rows)[:, 0], [0.75, 0.25, 0.5])


# ---- pruning
@pytest.mark.parametrize(
    ("n", "e", "j48", "c45"),
    [
        (6, 0, 1.237797, 1.237797),
        (9, 0, 1.284804, 1.284804),
        (1, 0, 0.75, 0.75),
        (16, 1, 1.475715, 1.506894),
        (14, 5, 1.761120, 1.794993),
        (20, 3, 1.787068, 1.825006),
        (4, 0.5, 1.171782, 1.180481),
    ],
)
def test_golden_added_errors(n, e, j48, c45):
    assert naive.added_errors(n, e) == pytest.approx(j48, abs=1e-6)
    assert naive.added_errors(n, e, z=0.6925) == pytest.approx(c45, abs=1e-6)


def test_added_errors_never_exceed_the_rest():
    assert naive.added_errors(3, 2.5) == 0.5
    assert naive.added_errors(3, 3) == 0


def test_collapse_removes_splits_that_save_no_error():
    root, _, inner, b, c = golden_tree()
    # errors: A 2, I 3, B 1 and C 2. The split of I saves nothing, that of the root saves 9 - 5.
    collapsed = naive.collapse(root)
    assert [child.children for child in collapsed.children] == [[], []]
    assert inner.children == [b, c], "the input must stay as it was"


def test_quinlans_example_becomes_a_leaf():
    # leaves (6,0), (9,0), (1,0) predict 3.27 errors, one leaf (16,1) predicts 2.48
    X = np.array([[A]] * 6 + [[B]] * 9 + [[C]])
    y, w = np.array([0] * 15 + [1]), np.ones(16)
    tree = naive.grow(X, y, w, [3], 2, GrowOptions())
    assert len(naive.leaves(naive.collapse(tree))) == 3
    assert naive.estimated_errors(tree, 0.25) == pytest.approx(1.237797 + 1.284804 + 0.75, abs=1e-6)
    pruned = naive.prune_error_based(tree, X, y, w)
    assert naive.estimated_errors(pruned, 0.25) == pytest.approx(2.475715, abs=1e-6)
    assert not pruned.children


def test_subtree_raising_feeds_the_branch_with_all_rows():
    # x0 cuts off two rows for nothing; x1 tells the classes apart, for those two rows as well
    X = np.array([[0.0, 0], [0, 1]] + [[1, 0]] * 10 + [[1, 1]] * 10)
    y, w = X[:, 1].astype(int), np.ones(22)
    pure = [Node(np.array([10.0, 0]), 2), Node(np.array([0.0, 10]), 2)]
    right = Node(np.array([10.0, 10]), 1, feature=1, threshold=0.5, children=pure)
    left = Node(np.array([1.0, 1]), 1)
    root = Node(np.array([11.0, 11]), 0, feature=0, threshold=0.5, children=[left, right])
    before = shape(root)
    pruned = naive.prune_error_based(root, X, y, w)
    assert (pruned.feature, pruned.depth) == (1, 0)
    assert [(c.depth, c.counts.tolist()) for c in pruned.children] == [(1, [11, 0]), (1, [0, 11])]
    assert shape(root) == before


@pytest.mark.parametrize("options", MODES, ids=mode_name)
def test_laws_of_pruned_trees(options):
    X, y, w, *_ = data = random_data(11)
    tree = naive.grow(*data, options)
    before = shape(tree)
    X_prune, y_prune, w_prune, *_ = random_data(12)
    by_errors = naive.prune_error_based(tree, X, y, w)
    by_set = naive.prune_with_set(tree, X_prune, y_prune, w_prune)
    for pruned in (naive.collapse(tree), by_errors, by_set):
        np.testing.assert_allclose(pruned.counts, tree.counts)
        assert len(naive.leaves(pruned)) <= len(naive.leaves(tree))
        for node in naive.nodes(pruned):
            if node.children:
                np.testing.assert_allclose(sum(c.counts for c in node.children), node.counts, atol=1e-9)
    # every decision may cost 0.1 estimated errors
    allowed = naive.estimated_errors(tree, 0.25) + 0.1 * len(naive.nodes(tree))
    assert naive.estimated_errors(by_errors, 0.25) <= allowed
    errors = [naive.errors_on(t, X_prune, y_prune, w_prune) for t in (by_set, tree, Node(tree.counts))]
    assert errors[0] <= min(errors) + 1e-9
    assert shape(tree) == before


def test_weakest_link_first():
    root, _, inner, *_ = golden_tree()
    # R(t) bits: R 19.8555, I 8.8129, A 7.2193, B 3.9001, C 4
    assert naive.link_strength(inner) == pytest.approx(0.9128, abs=1e-4)
    assert naive.link_strength(root) == pytest.approx(2.3680, abs=1e-4)
    assert [child.children for child in naive.cut_weakest_links(root).children] == [[], []]


@pytest.mark.parametrize(
    ("y_prune", "n_leaves"),
    [
        ([0, 1, 0], 3),  # C is of class 0 by the tie rule, as the full tree says
        ([0, 1, 1], 2),  # C is of class 1: I as a leaf is right
        ([0, 0, 0], 1),  # the majority of the root is class 0
    ],
)
def test_the_pruning_set_picks_the_smallest_tree_of_least_error(y_prune, n_leaves):
    X_prune = np.array([[1.0, 0.0], [3.0, 1.0], [3.0, 2.0]])
    pruned = naive.prune_with_set(golden_tree()[0], X_prune, np.array(y_prune), np.ones(3))
    assert len(naive.leaves(pruned)) == n_leaves


def test_a_pruning_row_of_unknown_value_is_wrong_in_part():
    # .5 of the row is in A (class 0), .3 in B (class 1), .2 in C (class 0 by the tie rule)
    errors = naive.errors_on(golden_tree()[0], np.array([[nan, nan]]), np.array([0]), np.array([2.0]))
    assert errors == pytest.approx(0.6)
