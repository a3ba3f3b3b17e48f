"""The ensemble oracle itself is checked against the golden leaf of MOB-ESP, numbers worked out by hand, and laws."""

import numpy as np
import pytest

import naive_ensemble as naive
from petiole import Tree

NAN = np.nan
RAW, LAPLACE = np.zeros(2), np.ones(2)
EB = {"oob_weight": 1, "count": "distinct"}


def single_leaf(n_classes: int = 2) -> Tree:
    return Tree.from_arrays(
        feature=[-1], threshold=[NAN], left=[-1], right=[-1], inbag_class_counts=np.ones((1, n_classes))
    )


def stump(left_weight: float = 1, right_weight: float = 1, missing_branch: int = -1) -> Tree:
    """x0 <= 0 -> leaf 1, else leaf 2."""
    counts = [[left_weight + right_weight, 0], [left_weight, 0], [right_weight, 0]]
    return Tree(
        feature=[0, -1, -1],
        threshold=[0, NAN, NAN],
        child_start=[0, 2, 2, 2],
        child_nodes=[1, 2],
        missing_branch=[missing_branch, -1, -1],
        category_start=[0, 0, 0, 0],
        category_branch=[],
        inbag_class_counts=counts,
    )


def nominal_tree() -> Tree:
    """Root: x0 is category 0 -> leaf 1, 1 -> node 2, 2 is as missing; node 2: x1 <= 0 -> leaf 3, else leaf 4.

    In-bag weights: leaf 1 has 6, leaf 3 has 2, leaf 4 has none.
    """
    return Tree(
        feature=[0, -1, 1, -1, -1],
        threshold=[NAN, NAN, 0, NAN, NAN],
        child_start=[0, 2, 2, 4, 4, 4],
        child_nodes=[1, 2, 3, 4],
        missing_branch=[-1, -1, -1, -1, -1],
        category_start=[0, 3, 3, 3, 3, 3],
        category_branch=[0, 1, -1],
        inbag_class_counts=[[5, 3], [4, 2], [1, 1], [1, 1], [0, 0]],
    )


def two_stumps() -> naive.TrainedForest:
    """Rows 0, 1, 2 are in leaf 1 of both trees, rows 3, 4, 5 in leaf 2. Rows 1 and 4 are never out of bag.

    In bag with copies: tree 0 has (3, 0) and (0, 2), tree 1 has (1, 2) and (1, 2).
    Out of bag: tree 0 has row 2 in leaf 1, row 5 in leaf 2; tree 1 has row 0 in leaf 1, row 3 in leaf 2.
    """
    return naive.TrainedForest(
        trees=[stump(3, 2), stump(3, 3)],
        copies=[[2, 1, 0, 1, 1, 0], [0, 1, 2, 0, 2, 1]],
        X=[[-1], [-1], [-1], [1], [1], [1]],
        y=[0, 0, 1, 1, 1, 0],
        weights=None,
        n_classes=2,
    )


def random_forest(seed: int, n_classes: int = 3) -> naive.TrainedForest:
    """Four stumps with random samples, missing values and weights; the trees' own counts only spread missing values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 1))
    X[rng.random(12) < 0.3] = NAN
    trees = [stump(*rng.integers(1, 5, size=2)) for _ in range(4)]
    copies = [np.bincount(rng.integers(12, size=12), minlength=12) for _ in trees]
    return naive.TrainedForest(trees, copies, X, rng.integers(n_classes, size=12), rng.uniform(0.5, 2, 12), n_classes)


# ---- the golden leaf
GOLDEN_IN_BAG = [(0, 0, 2), (0, 0, 1), (1, 0, 1), (1, 1, 3), (0, 1, 1)]  # y, ŷ, copies
GOLDEN_OUT_OF_BAG = [(0, 0, 0), (1, 1, 0), (1, 1, 0), (1, 0, 0)]


def golden() -> tuple[naive.TrainedForest, np.ndarray]:
    y, yhat, copies = np.array(GOLDEN_IN_BAG + GOLDEN_OUT_OF_BAG).T
    return naive.TrainedForest([single_leaf()], [copies], np.zeros((9, 1)), y, None, 2), yhat


@pytest.mark.parametrize(
    ("oob_weight", "count", "expected"),
    [
        (1, "distinct", [[0.6, 0.4], [0.25, 0.75]]),
        (1, "copies", [[0.666667, 0.333333], [0.166667, 0.833333]]),
        (2, "distinct", [[0.571429, 0.428571], [0.166667, 0.833333]]),
    ],
)
def test_golden_mob_esp_matrix(oob_weight, count, expected):
    forest, yhat = golden()
    tables = naive.vote_tables(forest, 0, yhat, oob_weight=oob_weight, count=count)
    rows = [naive.frequencies(tables[0, j]) for j in range(2)]
    np.testing.assert_allclose(rows, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("oob_weight", "count", "pseudo", "expected"),
    [
        (1, "distinct", RAW, [0.444444, 0.555556]),
        (1, "distinct", LAPLACE, [0.454545, 0.545455]),  # eq. 4
        (1, "copies", RAW, [5 / 12, 7 / 12]),
        (2, "distinct", RAW, [5 / 13, 8 / 13]),
        (0, "copies", LAPLACE, [0.5, 0.5]),
        (0, "distinct", RAW, [0.6, 0.4]),
    ],
)
def test_golden_leaf_of_enhanced_trees(oob_weight, count, pseudo, expected):
    forest, _ = golden()
    settings = {"oob_weight": oob_weight, "count": count, "pseudo": pseudo}
    np.testing.assert_allclose(naive.leaf_probabilities(forest, 0, **settings)[0], expected, atol=1e-6)
    np.testing.assert_allclose(naive.predict_bagged(forest, [[0.0]], **settings)[0], expected, atol=1e-6)


# ---- the way down
@pytest.mark.parametrize(
    ("tree", "row", "expected"),
    [
        (stump(3, 1), [0], {1: 1}),
        (stump(3, 1), [0.1], {2: 1}),
        (stump(3, 1), [NAN], {1: 0.75, 2: 0.25}),
        (stump(3, 1, missing_branch=1), [NAN], {2: 1}),
        (stump(3, 0), [NAN], {1: 1}),
        (stump(0, 0), [NAN], {1: 0.5, 2: 0.5}),
        (nominal_tree(), [0, NAN], {1: 1}),
        (nominal_tree(), [1, 5], {4: 1}),  # an empty leaf is reached by a value, not by a missing one
        (nominal_tree(), [1, NAN], {3: 1}),
        (nominal_tree(), [2, 5], {1: 0.75, 4: 0.25}),
        (nominal_tree(), [3, -5], {1: 0.75, 3: 0.25}),
        (nominal_tree(), [-1, -5], {1: 0.75, 3: 0.25}),
        (nominal_tree(), [NAN, NAN], {1: 0.75, 3: 0.25}),
        (single_leaf(), [NAN], {0: 1}),
    ],
)
def test_leaf_shares(tree, row, expected):
    assert naive.leaf_shares(tree, np.array(row, dtype=float)) == expected


def test_leaf_counts_spread_missing_values_and_list_empty_leaves():
    X = np.array([[0, 0], [NAN, -1], [1, -1]])
    counts = naive.leaf_counts(nominal_tree(), X, np.array([0, 1, 1]), np.array([1, 2, 1]), 2)
    assert {leaf: list(n) for leaf, n in counts.items()} == {1: [1, 1.5], 3: [0, 1.5], 4: [0, 0]}


# ---- two stumps, by hand
def test_counts_in_and_out_of_bag():
    forest = two_stumps()

    def plain(counts):
        return {leaf: list(n) for leaf, n in counts.items()}

    assert plain(naive.in_bag_counts(forest, 0, "copies")) == {1: [3, 0], 2: [0, 2]}
    assert plain(naive.in_bag_counts(forest, 0, "distinct")) == {1: [2, 0], 2: [0, 2]}
    assert plain(naive.in_bag_counts(forest, 1, "copies")) == {1: [1, 2], 2: [1, 2]}
    assert plain(naive.in_bag_counts(forest, 1, "distinct")) == {1: [1, 1], 2: [1, 1]}
    assert plain(naive.out_of_bag_counts(forest, 0)) == {1: [0, 1], 2: [1, 0]}
    assert plain(naive.out_of_bag_counts(forest, 1)) == {1: [1, 0], 2: [0, 1]}


def test_predict_bagged():
    forest, queries = two_stumps(), np.array([[-1.0], [1.0], [NAN]])
    left, right = np.array([2 / 3, 1 / 3]), np.array([1 / 3, 2 / 3])  # distinct rows, alike in both trees
    missing = ((0.6 + 0.5) * left + (0.4 + 0.5) * right) / 2
    np.testing.assert_allclose(naive.predict_bagged(forest, queries, pseudo=RAW, **EB), [left, right, missing])
    plain = naive.predict_bagged(forest, queries[:2], oob_weight=0, count="copies", pseudo=LAPLACE)
    expected = [[(4 / 5 + 2 / 5) / 2, (1 / 5 + 3 / 5) / 2], [(1 / 4 + 2 / 5) / 2, (3 / 4 + 3 / 5) / 2]]
    np.testing.assert_allclose(plain, expected)


def test_out_of_bag_estimates_do_not_see_the_row_itself():
    forest = two_stumps()
    never = [NAN, NAN]
    raw = naive.oob_bagged(forest, pseudo=RAW, **EB)
    np.testing.assert_allclose(raw, [[0.5, 0.5], never, [1, 0], [0.5, 0.5], never, [0, 1]])
    copies = naive.oob_bagged(forest, oob_weight=1, count="copies", pseudo=RAW)
    np.testing.assert_allclose(copies, [[1 / 3, 2 / 3], never, [1, 0], [1 / 3, 2 / 3], never, [0, 1]])
    smooth = naive.oob_bagged(forest, pseudo=LAPLACE, **EB)
    np.testing.assert_allclose(smooth, [[0.5, 0.5], never, [0.75, 0.25], [0.5, 0.5], never, [0.25, 0.75]])


def test_out_of_bag_votes():
    yhat, votes = naive.oob_votes(two_stumps(), "distinct")
    assert list(yhat) == [1, -1, 0, 1, -1, 1]
    np.testing.assert_array_equal(votes, [[0, 1], [0, 0], [1, 0], [0, 1], [0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("t", "oob_weight", "count", "expected"),
    [
        (0, 1, "distinct", {(1, 0): [0, 1], (1, 1): [1, 0], (2, 1): [1, 1]}),
        (0, 1, "copies", {(1, 0): [0, 1], (1, 1): [2, 0], (2, 1): [1, 1]}),
        (0, 2, "distinct", {(1, 0): [0, 2], (1, 1): [1, 0], (2, 1): [2, 1]}),
        (0, 0, "distinct", {(1, 1): [1, 0], (2, 1): [0, 1]}),
        (1, 1, "copies", {(1, 0): [0, 2], (1, 1): [1, 0], (2, 1): [1, 1]}),
    ],
)
def test_vote_tables_have_no_row_that_was_never_out_of_bag(t, oob_weight, count, expected):
    yhat = np.array([1, -1, 0, 1, -1, 1])
    tables = naive.vote_tables(two_stumps(), t, yhat, oob_weight=oob_weight, count=count)
    assert {key: list(n) for key, n in tables.items()} == expected


def test_predict_mob_esp():
    forest, queries = two_stumps(), np.array([[-1.0], [1.0]])
    assert naive.query_vote(forest, queries[0], "distinct") == 0  # one vote each, frequencies (1, 0) and (1/2, 1/2)
    assert naive.query_vote(forest, queries[0], "distinct", trees=[1]) == 1
    np.testing.assert_allclose(naive.predict_mob_esp(forest, queries, **EB), [[0, 1], [0.5, 0.5]])
    np.testing.assert_allclose(naive.predict_mob_esp(forest, queries, vote_trees=[1], **EB), [[1, 0], [0.5, 0.5]])


def test_mob_esp_with_a_missing_value_is_pooled_over_the_leaves_that_have_the_row():
    forest = two_stumps()
    # Tree 0 (shares .6, .4) has mean frequencies (.6, .4). Tree 1 (.5, .5) has (1/3, 2/3) with copies, which is a vote
    # each and more for class 1 in the mean, but (.5, .5) of distinct rows: a tie between classes of equal weight.
    votes = {
        kind: [naive.tree_vote(forest, t, np.array([NAN]), kind) for t in range(2)] for kind in ("copies", "distinct")
    }
    assert votes == {"copies": [0, 1], "distinct": [0, 0]}
    assert naive.query_vote(forest, np.array([NAN]), "distinct") == 0
    assert naive.query_vote(forest, np.array([NAN]), "copies") == 1
    # Only leaf 1 has a row for class 0, (0, 1) in both trees.
    np.testing.assert_allclose(naive.predict_mob_esp(forest, [[NAN]], **EB), [[0, 1]])
    # Class 1 has the rows (1, 0) and (1/2, 1/2) in both trees.
    expected = [(0.6 + 0.5 + (0.4 + 0.5) / 2) / 2, (0.4 + 0.5) / 4]
    np.testing.assert_allclose(naive.predict_mob_esp(forest, [[NAN]], oob_weight=1, count="copies"), [expected])


def test_out_of_bag_mob_esp():
    never = [NAN, NAN]
    # Rows 0 and 2 are alone in their row of the table: the estimate of oob_bagged.
    expected = [[0.5, 0.5], never, [1, 0], [1, 0], never, [0, 1]]
    np.testing.assert_allclose(naive.oob_mob_esp(two_stumps(), **EB), expected)


# ---- empty leaves
def nominal_forest(copies: list[int], y: list[int]) -> naive.TrainedForest:
    """Four rows in leaves 1, 1, 3 and 4 of the nominal tree."""
    X = [[0, 0], [0, 0], [1, -1], [1, 1]]
    return naive.TrainedForest([nominal_tree()], [copies], X, y, None, 2)


def test_an_empty_leaf_asks_its_nearest_ancestor_that_is_not_empty():
    forest = nominal_forest([2, 1, 1, 0], [0, 0, 1, 0])
    raw = naive.leaf_probabilities(forest, 0, oob_weight=0, count="copies", pseudo=RAW)
    np.testing.assert_allclose([raw[1], raw[3], raw[4]], [[1, 0], [0, 1], [0, 1]])
    assert naive.leaf_votes(forest, 0) == {1: 0, 3: 1, 4: 1}
    laplace = naive.leaf_probabilities(forest, 0, oob_weight=0, count="copies", pseudo=LAPLACE)
    np.testing.assert_allclose([laplace[1], laplace[3], laplace[4]], [[0.8, 0.2], [1 / 3, 2 / 3], [0.5, 0.5]])
    # With nothing in node 2 it is the root, and with out-of-bag rows the leaf is not empty.
    forest = nominal_forest([2, 1, 0, 0], [0, 1, 1, 1])
    raw = naive.leaf_probabilities(forest, 0, oob_weight=0, count="copies", pseudo=RAW)
    np.testing.assert_allclose([raw[3], raw[4]], [[2 / 3, 1 / 3]] * 2)
    assert naive.leaf_votes(forest, 0) == {1: 0, 3: 0, 4: 0}
    raw = naive.leaf_probabilities(forest, 0, oob_weight=0.5, count="copies", pseudo=RAW)
    np.testing.assert_allclose([raw[3], raw[4]], [[0, 1]] * 2)


def test_a_row_alone_in_its_leaf_has_no_out_of_bag_estimate():
    forest = nominal_forest([2, 1, 1, 0], [0, 0, 1, 0])
    assert np.isnan(naive.oob_bagged(forest, pseudo=RAW, **EB)).all()
    assert np.isnan(naive.oob_mob_esp(forest, **EB)).all()
    np.testing.assert_allclose(naive.oob_bagged(forest, pseudo=LAPLACE, **EB)[3], [0.5, 0.5])
    # Where out-of-bag rows do not count the leaf is empty anyhow, and asks node 2 as it does for a query.
    only_in_bag = naive.oob_bagged(forest, oob_weight=0, count="distinct", pseudo=RAW)
    np.testing.assert_allclose(only_in_bag, [[NAN, NAN]] * 3 + [[0, 1]])


def test_leaves_with_only_the_row_itself_are_left_out_and_the_others_are_pooled():
    """Row 3 has 3/4 in leaf 1 and 1/4 in leaf 2 of tree 0, where it is alone; it is in leaf 1 of tree 1."""
    trees = [stump(3, 1), stump(1, 1, missing_branch=0)]
    X = [[-1], [-1], [-1], [NAN]]
    forest = naive.TrainedForest(trees, [[1, 1, 1, 0], [3, 0, 1, 0]], X, [0, 0, 1, 0], None, 2)
    # Leaf 1 has (2, 1) in tree 0, (3, 1) and the out-of-bag row 1 in tree 1.
    raw = naive.oob_bagged(forest, oob_weight=1, count="copies", pseudo=RAW)[3]
    np.testing.assert_allclose(raw, [(0.75 * 2 / 3 + 4 / 5) / 1.75, (0.75 / 3 + 1 / 5) / 1.75])
    smooth = naive.oob_bagged(forest, oob_weight=1, count="copies", pseudo=LAPLACE)[3]
    np.testing.assert_allclose(smooth, [(0.75 * 3 / 5 + 0.25 / 2 + 5 / 7) / 2, (0.75 * 2 / 5 + 0.25 / 2 + 2 / 7) / 2])


def test_mob_esp_without_any_row_for_the_vote_is_the_bagged_estimate():
    forest = nominal_forest([1, 1, 1, 2], [0, 0, 1, 0])  # nobody is out of bag
    yhat, votes = naive.oob_votes(forest, "distinct")
    assert list(yhat) == [-1] * 4 and not votes.any()
    assert naive.vote_tables(forest, 0, yhat, **EB) == {}
    queries = np.array([[0, 0], [1, -1], [NAN, 1]])
    expected = naive.predict_bagged(forest, queries, pseudo=RAW, **EB)
    np.testing.assert_array_equal(naive.predict_mob_esp(forest, queries, **EB), expected)
    np.testing.assert_allclose(expected, [[1, 0], [0, 1], [1, 0]])
    assert np.isnan(naive.oob_mob_esp(forest, **EB)).all()


# ---- ties
def test_a_leaf_that_is_undecided_votes_for_the_larger_class_then_the_lower_index():
    copies, X = [[1, 1, 0]], np.zeros((3, 1))
    for y, expected in (([0, 1, 1], 1), ([0, 1, 0], 0), ([1, 2, 0], 1)):
        forest = naive.TrainedForest([single_leaf(3)], copies, X, y, None, 3)
        assert naive.leaf_votes(forest, 0) == {0: expected}
    weights = [2, 1, 3]  # in bag 2 and 2, in all 2 and 4
    forest = naive.TrainedForest([single_leaf(2)], [[1, 2, 0]], X, [0, 1, 1], weights, 2)
    assert naive.leaf_votes(forest, 0) == {0: 1}


def test_a_row_in_several_leaves_votes_by_frequency_not_by_leaf_votes():
    """Leaf 1 has (2, 1) and most of the share, leaf 2 has (0, 1): .75 (2/3, 1/3) + .25 (0, 1) is a tie."""
    forest = naive.TrainedForest([stump(3, 1)], [[1, 1, 1, 1]], [[-1], [-1], [-1], [1]], [0, 0, 1, 1], None, 2)
    assert naive.leaf_votes(forest, 0) == {1: 0, 2: 1}
    assert naive.tree_vote(forest, 0, np.array([NAN]), "copies") == 0  # classes alike in weight: the lower index
    forest = naive.TrainedForest([stump(3, 1)], [[1, 1, 1, 1]], [[-1], [-1], [-1], [1]], [1, 1, 0, 0], None, 2)
    assert naive.tree_vote(forest, 0, np.array([NAN]), "copies") == 0
    forest = naive.TrainedForest(
        [stump(3, 1)], [[1, 1, 1, 1, 0]], [[-1], [-1], [-1], [1], [1]], [0, 0, 1, 1, 1], None, 2
    )
    assert naive.tree_vote(forest, 0, np.array([NAN]), "copies") == 1  # the larger class


@pytest.mark.parametrize(
    ("votes", "frequency", "prior", "expected"),
    [
        ([1, 2, 0], [0.9, 0.1, 0], [5, 1, 1], 1),
        ([2, 2, 0], [0.3, 0.4, 0.3], [5, 1, 1], 1),
        ([2, 2, 0], [0.2, 0.2 + 1e-12, 0.6], [5, 1, 9], 0),
        ([2, 2, 2], [0.3, 0.3, 0.4 - 0.1], [1, 2, 2], 1),
        ([2, 2, 2], [0.2, 0.4, 0.4], [9, 2, 2], 1),
    ],
)
def test_winner(votes, frequency, prior, expected):
    assert naive.winner(np.array(votes), np.array(frequency), np.array(prior)) == expected


# ---- laws
@pytest.mark.parametrize("seed", range(5))
def test_distinct_rows_with_equal_weight_in_and_out_of_bag_are_the_whole_training_set(seed):
    forest = random_forest(seed)
    for t, tree in enumerate(forest.trees):
        expected = naive.leaf_counts(tree, forest.X, forest.y, forest.weights, 3)
        found = naive.leaf_probabilities(forest, t, pseudo=np.ones(3), **EB)
        for leaf, counts in expected.items():
            np.testing.assert_allclose(found[leaf], (counts + 1) / (counts.sum() + 3))


@pytest.mark.parametrize("seed", range(5))
def test_tables_of_all_votes_sum_to_the_counts_of_the_rows_that_have_a_vote(seed):
    forest = random_forest(seed)
    yhat, votes = naive.oob_votes(forest, "copies")
    np.testing.assert_array_equal(votes.sum(axis=1), np.sum(np.array(forest.copies) == 0, axis=0))
    for t, tree in enumerate(forest.trees):
        times = np.where(forest.copies[t] > 0, forest.copies[t], 0.5) * (yhat >= 0)
        expected = naive.leaf_counts(tree, forest.X, forest.y, forest.weights * times, 3)
        tables = naive.vote_tables(forest, t, yhat, oob_weight=0.5, count="copies")
        for leaf, counts in expected.items():
            total = sum((n for (at, _), n in tables.items() if at == leaf), np.zeros(3))
            np.testing.assert_allclose(total, counts)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", ["copies", "distinct"])
def test_out_of_bag_estimate_is_that_of_a_forest_without_the_row(seed, count):
    """Taken out of the training set, the row is a query for the trees that did not have it in their sample."""
    forest = random_forest(seed)
    found = naive.oob_bagged(forest, oob_weight=2, count=count, pseudo=np.full(3, 0.5))
    for i in range(12):
        trees = [t for t in range(4) if forest.copies[t][i] == 0]
        if not trees:
            assert np.isnan(found[i]).all()
            continue
        rest = np.delete(np.arange(12), i)
        smaller = naive.TrainedForest(
            [forest.trees[t] for t in trees],
            [forest.copies[t][rest] for t in trees],
            forest.X[rest],
            forest.y[rest],
            forest.weights[rest],
            3,
        )
        expected = naive.predict_bagged(smaller, forest.X[[i]], oob_weight=2, count=count, pseudo=np.full(3, 0.5))
        np.testing.assert_allclose(found[i], expected[0])


@pytest.mark.parametrize("seed", range(5))
def test_estimates_are_probabilities_that_do_not_depend_on_the_unit_of_weight(seed):
    forest, queries = random_forest(seed), np.array([[-1.0], [NAN], [1.0]])
    heavy = naive.TrainedForest(forest.trees, forest.copies, forest.X, forest.y, 8 * forest.weights, 3)
    raw = {"oob_weight": 0.5, "count": "copies"}

    def estimates(f):
        yield naive.predict_bagged(f, queries, pseudo=np.zeros(3), **raw)
        yield naive.predict_mob_esp(f, queries, **raw)
        yield naive.oob_bagged(f, pseudo=np.zeros(3), **raw)
        yield naive.oob_mob_esp(f, **raw)

    for found, other in zip(estimates(forest), estimates(heavy), strict=True):
        np.testing.assert_allclose(found, other)
        known = found[~np.isnan(found).any(axis=1)]
        np.testing.assert_allclose(known.sum(axis=1), 1)
        assert (known >= 0).all() and len(known)


# ---- the pool
def test_log_pool():
    p, q = np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_allclose(naive.log_pool([p], [1], [0, 0], 0), p)
    # Square roots of the odds, 4 and 1/9, and of their product with 1.
    np.testing.assert_allclose(naive.log_pool([p, q], [0.5, 0.5], [0, 0], 0), [[2 / 3, 1 / 3], [1 / 4, 3 / 4]])
    # The intercept multiplies the odds by 2.
    np.testing.assert_allclose(naive.log_pool([p], [1], [np.log(2), 0], 0), [[8 / 9, 1 / 9], [2 / 3, 1 / 3]])
    # (1, 0) becomes (1, .25) / 1.25; squared odds are 16.
    np.testing.assert_allclose(naive.log_pool([np.array([[1.0, 0.0]])], [2], [0, 0], 0.25), [[16 / 17, 1 / 17]])
