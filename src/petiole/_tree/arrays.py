"""The arrays of a tree: their types, ranges of nodes in flat arrays, and the checks that they make a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from petiole._tree.tree import Tree

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

COUNTS = ("inbag_class_counts", "oob_class_counts")
FLOATS = ("threshold", *COUNTS, "spread_weights", "projection_weight")
SPLITS = ("feature", "child_start", "child_nodes", "missing_branch", "category_start", "category_branch")
# A tree without oblique splits has no entries in these, and neither its state nor its files hold them.
PROJECTION = ("projection_start", "projection_feature", "projection_weight")
INTS = (*SPLITS, "projection_start", "projection_feature")


def starts(sizes: npt.NDArray[Any]) -> IntArray:
    """Where each node's range begins in a flat array, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


def owners(start: IntArray) -> npt.NDArray[np.intp]:
    """The node that each entry of a flat array belongs to."""
    return np.repeat(np.arange(start.size - 1), np.diff(start))


def sum_over_path(parent: IntArray, value: IntArray) -> tuple[IntArray, IntArray]:
    """Sum of ``value`` over each node and its ancestors below the root; and an ancestor, 0 unless in a cycle.

    Pointer doubling: each round adds the sum of the ancestor reached so far, then jumps as far again. With
    parents 0 <- a <- b <- c, round one gives c the sum of (b, c) and the ancestor a, round two adds a's.
    log2(n) rounds reach the root of any tree, and end in a cycle too.
    """
    total, ancestor = value.copy(), np.maximum(parent, 0)
    total[0] = 0
    for _ in range(parent.size.bit_length()):
        if not ancestor.any():
            break
        total += total[ancestor]
        ancestor = ancestor[ancestor]
    return total, ancestor


def as_array(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """A copy with the dtype that belongs to the name, refused if that would change a value."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name}: not an array ({error}); give every row the same length") from None
    is_float = name in FLOATS
    if array.size and array.dtype.kind not in ("iuf" if is_float else "iu"):
        raise ValueError(f"{name}: holds {array.dtype}; must hold {'numbers' if is_float else 'integers'}")
    limits = np.iinfo(np.int32)
    if array.size and not is_float and not (limits.min <= array.min() and array.max() <= limits.max):
        raise ValueError(f"{name}: values from {array.min()} to {array.max()}; must fit in 32 bits")
    return array.astype(np.float64 if is_float else np.int32)


def require(ok: BoolArray, name: str, values: npt.NDArray[Any], remedy: str, owner: Any = None) -> None:
    """Raise for the first entry that is not ok; ``owner`` is the node of each entry, if not its index."""
    if not ok.all():
        i = int(np.argmin(ok))
        node = "" if owner is None else f" (node {owner[i]})"
        raise ValueError(f"{name}[{i}] = {values[i]}{node}: {remedy}")


def require_shape(name: str, array: npt.NDArray[Any], shape: tuple[int, ...], remedy: str) -> None:
    """Raise ValueError unless the array has this shape."""
    if array.shape != shape:
        raise ValueError(f"{name}: has shape {array.shape}, must be {shape}: {remedy}")


def check_shapes(tree: Tree) -> None:
    """Raise ValueError unless the arrays have the lengths that belong together."""
    n = tree.feature.size
    require_shape("feature", tree.feature, (max(n, 1),), "a 1-D array with at least one node, the root")
    for name in ("threshold", "missing_branch", "spread_weights"):
        require_shape(name, getattr(tree, name), (n,), "one entry per node, as in feature")
    ranges = [("child_start", "child_nodes"), ("category_start", "category_branch")]
    ranges += [("projection_start", "projection_feature"), ("projection_start", "projection_weight")]
    for start_name, flat in ranges:
        start, entries = getattr(tree, start_name), getattr(tree, flat)
        require_shape(start_name, start, (n + 1,), "one entry per node and the end")
        require_shape(flat, entries, (entries.size,), "must be 1-D")
        ok = np.append(start[0] == 0, start[1:] >= start[:-1])
        require(ok, start_name, start, "must begin with 0 and never decrease")
        if start[-1] != entries.size:
            raise ValueError(f"{start_name}[{n}] = {start[-1]}: must be the length of {flat}, {entries.size}")
    n_classes = max((1, *tree.inbag_class_counts.shape[1:2]))
    for name in COUNTS:
        require_shape(name, getattr(tree, name), (n, n_classes), "a row per node, a column per class")


def check_children(tree: Tree) -> None:
    """Raise ValueError unless every node but the root is a child once, and can be reached."""
    n, nodes = tree.n_nodes, tree.child_nodes
    remedy = f"must be a node from 1 to {n - 1}; the root is nobody's child"
    require((nodes > 0) & (nodes < n), "child_nodes", nodes, remedy, owners(tree.child_start))
    times = np.bincount(nodes, minlength=n)
    times[0] = 1
    if (times != 1).any():
        node = int(np.argmax(times != 1))
        raise ValueError(f"child_nodes: node {node} is there {times[node]} times; list it as a child once")
    _, top = sum_over_path(tree.parent, np.zeros(n, dtype=np.int32))
    if top.any():
        problem = f"node {np.argmax(top > 0)} cannot be reached from the root, its ancestors form a cycle"
        raise ValueError(f"child_nodes: {problem}; make every path begin at node 0")


def check_splits(tree: Tree) -> None:
    """Raise ValueError unless every split has a feature, a test, branches and a way for missing values."""
    feature, threshold, missing, is_leaf = tree.feature, tree.threshold, tree.missing_branch, tree.is_leaf
    n_children, is_numeric = np.diff(tree.child_start), (tree.kind == "numeric") | (tree.kind == "oblique")
    owner, branch = owners(tree.category_start), tree.category_branch
    if not 0 <= tree.n_features <= np.iinfo(np.int32).max:
        raise ValueError(f"n_features={tree.n_features}: must be 0 or more and fit in 32 bits")
    fits = (feature >= -1) & (feature < tree.n_features)
    require(fits, "feature", feature, f"must be -1 (leaf) or below n_features={tree.n_features}")
    require(~is_leaf | (n_children == 0), "feature", feature, "a leaf has no children; name the feature")
    require(is_leaf | (n_children >= 2), "feature", feature, "a split needs 2 children or more; or use -1")
    require(~is_leaf[owner], "category_branch", branch, "a leaf has no categories", owner)
    remedy = "a numeric split needs a number or inf, a categorical one its categories in category_branch"
    require(~is_numeric | (threshold > -np.inf), "threshold", threshold, remedy)
    require(is_numeric | np.isnan(threshold), "threshold", threshold, "not a numeric split; use NaN")
    fits = (missing >= -1) & (missing < n_children)
    require(fits, "missing_branch", missing, "must be a branch of the node, or -1 to spread over all")
    fits = ~is_numeric | (n_children == 2) | ((n_children == 3) & (missing == 2))
    require(fits, "missing_branch", missing, "a numeric split has a third branch only for missing values")
    fits = (branch >= -1) & (branch < n_children[owner])
    require(fits, "category_branch", branch, "must be a branch of the node, or -1 (as missing)", owner)


def check_projections(tree: Tree) -> None:
    """Raise ValueError unless every projection is a sum of columns at a numeric split, which names its first one."""
    feature, weight, owner = tree.projection_feature, tree.projection_weight, owners(tree.projection_start)
    fits = (feature >= 0) & (feature < tree.n_features)
    require(fits, "projection_feature", feature, f"must be from 0 to below n_features={tree.n_features}", owner)
    require(np.isfinite(weight) & (weight != 0), "projection_weight", weight, "must be finite and not 0", owner)
    ok = ~tree.is_leaf[owner] & (np.diff(tree.category_start)[owner] == 0)
    require(ok, "projection_feature", feature, "a leaf or a categorical split has no projection", owner)
    first = tree.projection_start[:-1][np.diff(tree.projection_start) > 0]
    ok = feature[first] == tree.feature[owner[first]]
    require(ok, "projection_feature", feature[first], "must begin with the feature of the split", owner[first])


def check_counts(name: str, counts: FloatArray) -> None:
    """Raise ValueError unless the counts are finite and at least 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        by_node = counts.reshape(len(counts), -1)
        ok = (by_node >= 0).all(axis=1) & np.isfinite(by_node.sum(axis=1))
    require(ok, name, counts, "must be finite sums of weights, 0 or more")
