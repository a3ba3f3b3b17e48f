"""The Tree class: what it derives, what it refuses, and that nothing changes it."""

import copy
import itertools
import pickle
import time
import types

import numpy as np
import pytest

from petiole._tree.tree import Tree

NAN = np.nan
GOLDEN = {
    "feature": [0, -1, 1, -1, -1],
    "threshold": [2, NAN, 1, NAN, NAN],
    "left": [1, -1, 3, -1, -1],
    "right": [2, -1, 4, -1, -1],
    "inbag_class_counts": [[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
}
NOMINAL = {  # x0: 0 -> leaf 1; {1, 2} -> node 2, x1 known | missing; missing -> leaf 5; 3 -> empty leaf 6
    "feature": [0, -1, 1, -1, -1, -1, -1],
    "threshold": [NAN, NAN, np.inf, NAN, NAN, NAN, NAN],
    "child_start": [0, 4, 4, 6, 6, 6, 6, 6],
    "child_nodes": [1, 2, 5, 6, 3, 4],
    "missing_branch": [2, -1, 1, -1, -1, -1, -1],
    "category_start": [0, 5, 5, 5, 5, 5, 5, 5],
    "category_branch": [0, 1, 1, 3, -1],
    "inbag_class_counts": [[9, 9], [4, 1], [4, 6], [3, 1], [1, 5], [1, 2], [0, 0]],
    "n_features": 2,
}


def golden(**changes):
    return Tree.from_arrays(**GOLDEN | changes)


def nominal(**changes):
    return Tree(**NOMINAL | changes)


def chain(n_splits):
    """Each split has a leaf on the left and the next split on the right: as deep as a tree can be."""
    n = 2 * n_splits + 1
    node = np.arange(n)
    is_split = (node % 2 == 0) & (node < n - 1)
    feature, left, right = (np.where(is_split, child, -1) for child in (0, node + 1, node + 2))
    return golden(feature=feature, threshold=node, left=left, right=right, inbag_class_counts=np.ones((n, 2)))


def random_tree(rng, n_splits):
    """A binary tree whose node ids are in random order (the root stays 0)."""
    ids = np.append(0, 1 + rng.permutation(2 * n_splits))
    left, right = np.full((2, ids.size), -1)
    for i in range(n_splits):
        leaf = rng.choice([node for node in ids[: 2 * i + 1] if left[node] == -1])
        left[leaf], right[leaf] = ids[2 * i + 1], ids[2 * i + 2]
    feature = np.where(left >= 0, rng.integers(0, 5, ids.size), -1)
    tests = {"feature": feature, "threshold": rng.normal(size=ids.size)}
    return golden(left=left, right=right, inbag_class_counts=rng.random((ids.size, 3)), n_features=5, **tests)


def test_golden_tree():
    tree = golden()
    assert repr(tree) == "Tree(5 nodes, 3 leaves, depth 2, 2 classes)"
    assert (tree.n_nodes, tree.n_leaves, tree.n_classes, tree.n_features, tree.depth) == (5, 3, 2, 2, 2)
    np.testing.assert_array_equal(tree.parent, [-1, 0, 0, 2, 2])
    np.testing.assert_array_equal(tree.node_depth, [0, 1, 1, 2, 2])
    np.testing.assert_array_equal(tree.is_leaf, [False, True, False, True, True])
    np.testing.assert_array_equal(tree.leaves, [1, 3, 4])
    np.testing.assert_array_equal(tree.kind, ["numeric", "leaf", "numeric", "leaf", "leaf"])
    np.testing.assert_array_equal(tree.children(0), [1, 2])
    np.testing.assert_array_equal(tree.children(1), [])
    np.testing.assert_array_equal(tree.path(4), [0, 2, 4])
    np.testing.assert_array_equal(tree.path(0), [0])
    np.testing.assert_array_equal(tree.oob_class_counts, np.zeros((5, 2)))
    np.testing.assert_array_equal(tree.missing_branch, np.full(5, -1))
    assert tree.parent.dtype == tree.node_depth.dtype == np.int32
    for name, array in tree.arrays.items():
        is_float = name in ("threshold", "inbag_class_counts", "spread_weights")
        assert array.dtype == (np.float64 if is_float else np.int32), name


def test_nominal_tree():
    tree = nominal()
    assert repr(tree) == "Tree(7 nodes, 5 leaves, depth 2, 2 classes)"
    np.testing.assert_array_equal(tree.kind[:3], ["nominal", "leaf", "numeric"])
    np.testing.assert_array_equal(tree.children(0), [1, 2, 5, 6])
    np.testing.assert_array_equal(tree.parent, [-1, 0, 0, 2, 2, 0, 0])


def test_single_leaf():
    tree = Tree.from_arrays(feature=[-1], threshold=[NAN], left=[-1], right=[-1], inbag_class_counts=[[3]])
    assert repr(tree) == "Tree(1 node, 1 leaf, depth 0, 1 class)"
    assert tree.n_features == 0


def test_node_ids_of_the_caller_are_kept():
    tests = {"feature": [0, -1, -1, -1, 1], "threshold": [5, -2, -2, -2, 7]}
    tree = golden(left=[4, -1, -1, -1, 3], right=[1, -1, -1, -1, 2], **tests)
    np.testing.assert_array_equal(tree.children(0), [4, 1])
    np.testing.assert_array_equal(tree.children(4), [3, 2])
    np.testing.assert_array_equal(tree.node_depth, [0, 1, 2, 2, 1])
    np.testing.assert_array_equal(tree.threshold, [5, NAN, NAN, NAN, 7])


@pytest.mark.parametrize("seed", range(10))
def test_depth_and_path_agree_with_walking_up(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_splits=int(rng.integers(0, 60)))
    for node in range(tree.n_nodes):
        path = tree.path(node)
        assert len(path) == tree.node_depth[node] + 1
        assert all(child in tree.children(parent) for parent, child in itertools.pairwise(path))


@pytest.mark.parametrize("node", [-1, 5, 10**12])
def test_node_out_of_range(node):
    for method in (golden().children, golden().path):
        with pytest.raises(IndexError, match=f"node={node}: the tree has nodes 0 to 4"):
            method(node)


def test_immutable():
    tree = golden()
    for name in ("feature", "anything"):
        with pytest.raises(AttributeError):
            setattr(tree, name, 1)
        with pytest.raises(AttributeError):
            delattr(tree, name)
    for name in (*vars(tree), "parent", "node_depth", "is_leaf", "leaves", "kind"):
        if name != "n_features":
            with pytest.raises(ValueError, match="read-only"):
                getattr(tree, name)[...] = 0


def test_the_callers_arrays_are_copied_and_stay_writeable():
    arrays = {name: np.array(values) for name, values in NOMINAL.items() if name != "n_features"}
    arrays["threshold"] = arrays["threshold"].astype(np.float64)
    tree = Tree(**arrays)
    for array in arrays.values():
        array[...] = 0
    assert tree.equals(nominal())


def test_trusted_neither_copies_nor_checks():
    source = golden()
    counts = np.ones((5, 2))
    tree = Tree._trusted(**source.__getstate__() | {"inbag_class_counts": counts})
    assert np.shares_memory(tree.inbag_class_counts, counts)
    assert (counts.flags.writeable, tree.inbag_class_counts.flags.writeable) == (True, False)
    assert tree.depth == 2
    no_oob = {name: value for name, value in source.__getstate__().items() if name != "oob_class_counts"}
    assert Tree._trusted(**no_oob).equals(source)


@pytest.mark.parametrize("duplicate", [lambda t: pickle.loads(pickle.dumps(t)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("make", [golden, nominal])
def test_pickle_and_copy(make, duplicate):
    tree = make(oob_class_counts=np.arange(2.0 * make().n_nodes).reshape(-1, 2), n_features=9)
    _ = tree.parent, tree.kind, tree.depth
    again = duplicate(tree)
    assert again.equals(tree)
    assert not {"parent", "kind", "node_depth"} & set(vars(again))
    np.testing.assert_array_equal(again.parent, tree.parent)
    with pytest.raises(ValueError, match="read-only"):
        again.feature[0] = 1
    with pytest.raises(AttributeError):
        again.feature = 1


def test_equals():
    tree = golden()
    assert tree.equals(golden())
    assert not tree.equals(golden(threshold=[2, NAN, 1 + 1e-12, NAN, NAN]))
    assert not tree.equals(golden(n_features=3))
    assert not tree.equals(golden(oob_class_counts=np.ones((5, 2))))
    assert not tree.equals(golden(inbag_class_counts=np.ones((5, 2))))
    assert not tree.equals(nominal()) and not tree.equals("Tree")
    assert not nominal().equals(nominal(category_branch=[0, 1, 0, 3, -1]))


def test_with_counts():
    tree = golden()
    _ = tree.parent
    inbag, oob = np.arange(10.0).reshape(5, 2), np.ones((5, 2))
    other = tree.with_counts(oob=oob)
    np.testing.assert_array_equal(other.oob_class_counts, oob)
    np.testing.assert_array_equal(other.inbag_class_counts, tree.inbag_class_counts)
    assert np.shares_memory(other.feature, tree.feature)
    assert other.parent is tree.parent
    np.testing.assert_array_equal(tree.oob_class_counts, np.zeros((5, 2)))
    both = tree.with_counts(inbag, oob)
    np.testing.assert_array_equal(both.inbag_class_counts, inbag)
    inbag[...] = oob[...] = 7
    assert both.inbag_class_counts[0, 1] == 1
    assert other.oob_class_counts[0, 0] == 1
    assert tree.with_counts(np.ones((5, 3)), np.ones((5, 3))).n_classes == 3


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"inbag": np.ones((4, 2))}, r"inbag_class_counts: has shape \(4, 2\), must be \(5, 2\)"),
        ({"inbag": np.ones((5, 3))}, r"oob_class_counts: has shape \(5, 2\), must be \(5, 3\)"),
        ({"oob": -np.ones((5, 2))}, r"oob_class_counts\[0\] = \[-1. -1.\]: must be finite"),
        ({"oob": np.ones(5)}, r"oob_class_counts: has shape \(5,\)"),
    ],
)
def test_with_counts_refuses(counts, message):
    with pytest.raises(ValueError, match=message):
        golden().with_counts(**counts)


def test_router_is_made_once_and_shared_whatever_the_counts(monkeypatch):
    fake = types.SimpleNamespace(Router=lambda arrays: arrays)
    monkeypatch.setattr("petiole._tree.tree._core", fake)
    tree = nominal()
    arrays = tree.router
    assert all(array is getattr(tree, name) for name, array in arrays.items())
    assert set(arrays) == (set(NOMINAL) | {"spread_weights"}) - {"n_features"}
    np.testing.assert_array_equal(arrays["spread_weights"], [18, 5, 10, 4, 6, 3, 0])
    assert tree.router is tree.router
    assert tree.with_counts(oob=np.ones((7, 2))).router is tree.router
    # How missing values are spread is structure.
    assert tree.with_counts(inbag=np.ones((7, 2))).router is tree.router
    assert "router" not in vars(pickle.loads(pickle.dumps(tree)))


def test_pruned_at_golden():
    tree = golden(oob_class_counts=np.arange(10).reshape(5, 2), n_features=7)
    pruned = tree.pruned_at([2])
    np.testing.assert_array_equal(pruned.feature, [0, -1, -1])
    np.testing.assert_array_equal(pruned.threshold, [2, NAN, NAN])
    np.testing.assert_array_equal(pruned.inbag_class_counts, [[11, 9], [8, 2], [3, 7]])
    np.testing.assert_array_equal(pruned.oob_class_counts, [[0, 1], [2, 3], [4, 5]])
    assert (pruned.n_features, tree.n_nodes, tree.pruned_at(0).n_nodes) == (7, 5, 1)
    assert tree.pruned_at([0, 2, 4]).n_nodes == 1
    assert tree.pruned_at([False, False, True, False, False]).equals(pruned)
    for nothing in ([], [1, 3], np.zeros(5, dtype=bool)):
        assert tree.pruned_at(nothing).equals(tree)


def test_pruned_at_nominal():
    tree = nominal()
    below = tree.pruned_at([2])
    np.testing.assert_array_equal(below.category_branch, [0, 1, 1, 3, -1])
    np.testing.assert_array_equal(below.children(0), [1, 2, 3, 4])
    np.testing.assert_array_equal(below.missing_branch, [2, -1, -1, -1, -1])
    assert np.isnan(below.threshold).all()
    assert tree.pruned_at([0]).category_branch.size == 0


@pytest.mark.parametrize("seed", range(10))
def test_pruned_tree_is_valid_and_keeps_what_is_left(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 40)
    nodes = rng.choice(tree.n_nodes, 5, replace=False)
    pruned = tree.pruned_at(nodes)
    assert Tree(**pruned.__getstate__()).equals(pruned)
    kept = [i for i in range(tree.n_nodes) if not set(tree.path(i)[:-1]) & set(nodes.tolist())]
    np.testing.assert_array_equal(pruned.inbag_class_counts, tree.inbag_class_counts[kept])
    np.testing.assert_array_equal(pruned.node_depth, tree.node_depth[kept])
    for new, old in enumerate(kept):
        old_children = [] if old in nodes else tree.children(old)
        np.testing.assert_array_equal(np.array(kept, dtype=int)[pruned.children(new)], old_children)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([5], r"nodes\[0\] = 5: the tree has nodes 0 to 4"),
        ([0, -1], r"nodes\[1\] = -1"),
        ([1.5], "nodes: holds float64; must hold integers"),
        ([True, False], r"nodes: has shape \(2,\), must be \(5,\)"),
    ],
)
def test_pruned_at_refuses(nodes, message):
    with pytest.raises(ValueError, match=message):
        golden().pruned_at(nodes)


HUGE = 2**31 - 1
REFUSED = [  # an array of the nominal tree, what it is replaced by, the error
    ("feature", np.zeros((7, 1), dtype=int), r"feature: has shape \(7, 1\), must be \(7,\)"),
    ("threshold", [NAN], r"threshold: has shape \(1,\), must be \(7,\): one entry per node"),
    ("child_start", [0, 6], r"child_start: has shape \(2,\), must be \(8,\)"),
    ("child_start", [1, 4, 4, 6, 6, 6, 6, 6], r"child_start\[0\] = 1: must begin with 0"),
    ("child_start", [0, 4, 3, 6, 6, 6, 6, 6], r"child_start\[2\] = 3.*never decrease"),
    ("child_start", [0, HUGE, -HUGE, 6, 6, 6, 6, 6], r"child_start\[2\] = -2147483647"),
    ("child_start", [0, 4, 4, HUGE, HUGE, HUGE, HUGE, HUGE], "must be the length of child_nodes, 6"),
    ("category_start", [0, -5, 5, 5, 5, 5, 5, 5], r"category_start\[1\] = -5"),
    ("category_start", [0, 4, 5, 5, 5, 5, 5, 5], r"category_branch\[4\] = -1 \(node 1\): a leaf has no cat"),
    ("child_nodes", [1, 2, 5, 7, 3, 4], r"child_nodes\[3\] = 7 \(node 0\): must be a node from 1 to 6"),
    ("child_nodes", [1, 2, 5, 6, 3, -1], r"child_nodes\[5\] = -1 \(node 2\)"),
    ("child_nodes", [1, 2, 5, 6, 3, 0], r"child_nodes\[5\] = 0 \(node 2\): .*the root is nobody's child"),
    ("child_nodes", [1, 2, 5, 6, 3, 6], "child_nodes: node 4 is there 0 times; list it as a child once"),
    ("child_nodes", [1, 4, 5, 6, 2, 3], "node 2 cannot be reached from the root, its ancestors form a cycle"),
    ("child_nodes", [1, 2, 5, 6, 3, 2**32 + 4], "child_nodes: values from 1 to 4294967300; must fit in 32"),
    ("child_nodes", [1, 2, 5, 6, 3, 2**70], "child_nodes: holds object; must hold integers"),
    ("n_features", 1, r"feature\[2\] = 1: must be -1 \(leaf\) or below n_features=1"),
    ("n_features", -1, "n_features=-1: must be 0 or more"),
    ("n_features", 10**30, "n_features=1000000000000000000000000000000: .* fit in 32 bits"),
    ("feature", [0, -2, 1, -1, -1, -1, -1], r"feature\[1\] = -2: must be -1 \(leaf\)"),
    ("feature", [0, -1, -1, -1, -1, -1, -1], r"feature\[2\] = -1: a leaf has no children"),
    ("feature", [0, 1, 1, -1, -1, -1, -1], r"feature\[1\] = 1: a split needs 2 children"),
    ("feature", [0.5] * 7, "feature: holds float64; must hold integers"),
    ("feature", list("abcdefg"), "feature: holds <U1; must hold integers"),
    ("feature", None, "feature: holds object; must hold integers"),
    ("threshold", [NAN] * 7, r"threshold\[2\] = nan: a numeric split needs a number"),
    ("threshold", [NAN, NAN, -np.inf, NAN, NAN, NAN, NAN], r"threshold\[2\] = -inf"),
    ("threshold", [1, NAN, 1, NAN, NAN, NAN, NAN], r"threshold\[0\] = 1.0: not a numeric split; use NaN"),
    ("threshold", [NAN, 0, 1, NAN, NAN, NAN, NAN], r"threshold\[1\] = 0.0: not a numeric split; use NaN"),
    ("missing_branch", [4, -1, 1, -1, -1, -1, -1], r"missing_branch\[0\] = 4: must be a branch"),
    ("missing_branch", [-2, -1, 1, -1, -1, -1, -1], r"missing_branch\[0\] = -2: must be a branch"),
    ("missing_branch", [2, 0, 1, -1, -1, -1, -1], r"missing_branch\[1\] = 0: must be a branch"),
    ("category_branch", [0, 1, 1, 4, -1], r"category_branch\[3\] = 4 \(node 0\): must be a branch"),
    ("category_branch", [0, 1, 1, 3, -2], r"category_branch\[4\] = -2 \(node 0\): must be a branch"),
    ("inbag_class_counts", -np.eye(7, 2), r"inbag_class_counts\[0\] = \[-1. -0.\]: must be finite sums"),
    ("inbag_class_counts", np.full((7, 2), 1.7e308), r"inbag_class_counts\[0\]"),
    ("inbag_class_counts", np.ones(7), r"inbag_class_counts: has shape \(7,\), must be \(7, 1\)"),
    ("inbag_class_counts", [["a", "b"]] * 7, "inbag_class_counts: holds <U1; must hold numbers"),
    ("inbag_class_counts", [[1, 2], [3]], "inbag_class_counts: not an array"),
    ("oob_class_counts", np.full((7, 2), NAN), r"oob_class_counts\[0\] = \[nan nan\]"),
    ("oob_class_counts", np.ones((7, 3)), r"oob_class_counts: has shape \(7, 3\), must be \(7, 2\)"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_constructor_refuses(name, value, message):
    with pytest.raises(ValueError, match=message):
        nominal(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("left", [1, -1, 2, -1, -1], "child_nodes: node 2 is there 2 times"),
        ("left", [1, -1, 9, -1, -1], r"left\[2\] = 9: must be a node from 1 to 4"),
        ("left", [1, -1], r"left: has shape \(2,\), must be \(5,\)"),
        ("right", [2, 4, 4, -1, -1], r"right\[1\] = 4: a leaf \(feature -1\) has no children; use -1"),
        ("right", [2, -1, -1, -1, -1], r"right\[2\] = -1: must be a node"),
        ("feature", [[0, -1, 1, -1, -1]], r"feature: has shape \(1, 5\), must be \(5,\)"),
        ("threshold", [NAN, NAN, 1, NAN, NAN], r"threshold\[0\] = nan: a numeric split needs a number"),
        ("threshold", 3, r"threshold: has shape \(\)"),
    ],
)
def test_from_arrays_refuses(name, value, message):
    with pytest.raises(ValueError, match=message):
        golden(**{name: value})
    with pytest.raises(ValueError, match=r"feature: has shape \(0,\), must be \(1,\): .* the root"):
        golden(feature=[], threshold=[], left=[], right=[], inbag_class_counts=np.ones((0, 2)))


def test_third_branch_of_a_numeric_split_is_for_missing_values():
    def split_in_three(missing_branch):
        counts, feature, threshold = np.ones((4, 2)), [0, -1, -1, -1], [1.5, NAN, NAN, NAN]
        return Tree(feature, threshold, [0, 3, 3, 3, 3], [1, 2, 3], missing_branch, [0] * 5, [], counts)

    assert split_in_three([2, -1, -1, -1]).children(0).size == 3
    with pytest.raises(ValueError, match=r"missing_branch\[0\] = -1: a numeric split has a third branch"):
        split_in_three([-1, -1, -1, -1])


def test_deepest_tree_and_longest_cycle_are_fast():
    start = time.perf_counter()
    tree = chain(200_000)
    assert tree.depth == 200_000
    assert tree.pruned_at([10]).depth == 5
    looped = tree.child_nodes.copy()  # every node keeps one parent, but all splits except the root form a loop
    looped[[1, -1]] = looped[[-1, 1]]
    with pytest.raises(ValueError, match="child_nodes: node 2 cannot be reached from the root"):
        Tree(**tree.__getstate__() | {"child_nodes": looped})
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("seed", range(200))
def test_random_arrays_are_refused_or_work(seed):
    """Whatever the integers, the constructor ends, and what it lets through is a tree."""
    rng = np.random.default_rng(seed)
    arrays = dict(NOMINAL)
    for name in rng.choice([name for name in arrays if name != "n_features"], 2, replace=False):
        values = np.array(arrays[name])
        values[rng.integers(len(values))] = rng.choice([-(2**31), -2, -1, 0, 1, 2, 3, 5, 7, 2**31 - 1])
        arrays[name] = values
    try:
        tree = Tree(**arrays)
    except ValueError:
        return
    assert tree.path(tree.n_nodes - 1)[0] == 0
    assert len(tree.export_text().splitlines()) == tree.n_nodes - 1
