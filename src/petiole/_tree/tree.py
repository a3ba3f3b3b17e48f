"""A tree: its splits and the class counts of every node, but no probabilities. Trees are immutable."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import operator
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._tree import drawing, svg, text
from petiole._tree.arrays import (
    COUNTS,
    FLOATS,
    INTS,
    PROJECTION,
    SPLITS,
    BoolArray,
    FloatArray,
    IntArray,
    as_array,
    check_children,
    check_counts,
    check_projections,
    check_shapes,
    check_splits,
    owners,
    require,
    require_shape,
    starts,
    sum_over_path,
)
from petiole.files import checks
from petiole.files.checks import fields, maybe
from petiole.files.savable import Savable


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Tree(Savable):
    """A decision tree as a structure of read-only arrays. Node 0 is the root; K is the number of classes.

    Parameters
    ----------
    feature : int array (n_nodes,)
        Index of the tested feature, -1 for a leaf.
    threshold : float array (n_nodes,)
        Numeric splits send ``x <= threshold`` to branch 0, other numbers to branch 1; ``inf`` splits known
        values from missing ones. NaN at categorical splits and leaves.
    child_start, child_nodes : int arrays (n_nodes + 1,) and (n_nodes - 1,)
        The children of node i, in branch order, are ``child_nodes[child_start[i]:child_start[i + 1]]``.
    missing_branch : int array (n_nodes,)
        The branch of a missing value; -1 spreads it over the children in proportion to ``spread_weights``.
    category_start, category_branch : int arrays (n_nodes + 1,) and (any,)
        Categorical splits only: ``category_branch[category_start[i] + code]`` is the branch of a category, -1 if
        it is treated as missing. The range of every other node is empty.
    inbag_class_counts, oob_class_counts : float arrays (n_nodes, K)
        Sums of the weights of the in-bag and out-of-bag rows, per class. Out-of-bag counts default to zero.
    spread_weights : float array (n_nodes,), default: the in-bag weight of every node
        How missing values are divided among children. Part of the structure: other counts do not change it.
    n_features : int, default: the largest feature index plus one
    projection_start : int array (n_nodes + 1,), default: no oblique split
    projection_feature, projection_weight : int and float arrays (any,)
        Oblique splits only: with the range of node i in ``projection_start``, the threshold is that of the sum of
        ``projection_weight * x[projection_feature]``, which is missing if one of these values is. The first of the
        features is also the node's ``feature``. The range of every other node is empty.

    Examples
    --------
    >>> tree = Tree.from_arrays(
    ...     feature=[0, -1, 1, -1, -1],
    ...     threshold=[2, np.nan, 1, np.nan, np.nan],
    ...     left=[1, -1, 3, -1, -1],
    ...     right=[2, -1, 4, -1, -1],
    ...     inbag_class_counts=[[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
    ... )
    >>> tree
    Tree(5 nodes, 3 leaves, depth 2, 2 classes)
    >>> print(tree.export_text())
    x0 <= 2: class 0 (10.0)
    x0 > 2
    |   x1 <= 1: class 1 (6.0)
    |   x1 > 1: class 0 (4.0)
    """

    feature: IntArray
    threshold: FloatArray
    child_start: IntArray
    child_nodes: IntArray
    missing_branch: IntArray
    category_start: IntArray
    category_branch: IntArray
    inbag_class_counts: FloatArray
    oob_class_counts: FloatArray = None  # type: ignore[assignment]
    n_features: int = None  # type: ignore[assignment]
    spread_weights: FloatArray = None  # type: ignore[assignment]
    projection_start: IntArray = None  # type: ignore[assignment]
    projection_feature: IntArray = None  # type: ignore[assignment]
    projection_weight: FloatArray = None  # type: ignore[assignment]

    _saved = fields(
        **{name: checks.integers("int32") for name in SPLITS},
        **{name: checks.floats(2, 0.0, checks.LARGEST) for name in COUNTS},
        threshold=checks.floats(1, nan=True, infinite=True),
        spread_weights=checks.floats(1, 0.0, checks.LARGEST),
        n_features=checks.whole(0, 2**31 - 1),
        projection_start=maybe(checks.integers("int32")),
        projection_feature=maybe(checks.integers("int32")),
        projection_weight=maybe(checks.floats(1)),
    )

    to_frame = text.to_frame
    export_text = text.export_text
    plot = drawing.plot

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in (*INTS, *FLOATS)}
        absent = {name for name in ("oob_class_counts", "spread_weights", *PROJECTION) if given[name] is None}
        arrays = {name: as_array(name, values) for name, values in given.items() if name not in absent}
        self._store(arrays, self.n_features)
        self._check_restored()

    def _check_state(self, state: dict[str, Any]) -> None:
        checks.require(len({name in state for name in PROJECTION}) == 1, f"must have all of {PROJECTION}, or none")

    def _check_restored(self) -> None:
        check_shapes(self)
        check_children(self)
        check_splits(self)
        check_projections(self)
        for name in (*COUNTS, "spread_weights"):
            check_counts(name, getattr(self, name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tree to a file that :func:`petiole.load` reads; nothing is pickled."""
        from petiole.files.storing import save

        save(self, path)

    @classmethod
    def _trusted(cls, *, n_features: int | None = None, **arrays: npt.NDArray[Any]) -> Tree:
        """The constructor without checks and without copies, for arrays that the core made."""
        tree = cls.__new__(cls)
        tree._store(arrays, n_features)
        return tree

    @classmethod
    def from_arrays(
        cls,
        *,
        feature: npt.ArrayLike,
        threshold: npt.ArrayLike,
        left: npt.ArrayLike,
        right: npt.ArrayLike,
        inbag_class_counts: npt.ArrayLike,
        oob_class_counts: npt.ArrayLike | None = None,
        n_features: int | None = None,
    ) -> Tree:
        """A binary tree of numeric splits; at a leaf feature, left and right are -1. Node ids are kept."""
        tests, cuts = as_array("feature", feature), as_array("threshold", threshold)
        children = {"left": as_array("left", left), "right": as_array("right", right)}
        n, is_split = tests.size, tests >= 0
        for name, array in {"feature": tests, "threshold": cuts, **children}.items():
            require_shape(name, array, (n,), "one entry per node")
        for name, array in children.items():
            require(is_split | (array == -1), name, array, "a leaf (feature -1) has no children; use -1")
            is_node = (array > 0) & (array < n)
            require(~is_split | is_node, name, array, f"must be a node from 1 to {n - 1}, or feature -1")
        flat = np.column_stack(list(children.values()))[is_split].ravel()
        none: Any = np.zeros(n + 1, dtype=np.int32)
        counts: Any = inbag_class_counts, oob_class_counts, n_features
        cuts = np.where(is_split, cuts, np.nan)
        return cls(tests, cuts, starts(2 * is_split), flat, none[1:] - 1, none, none[:0], *counts)

    def _store(self, arrays: dict[str, npt.NDArray[Any]], n_features: int | None) -> None:
        if arrays.get("oob_class_counts") is None:
            arrays = arrays | {"oob_class_counts": np.zeros(arrays["inbag_class_counts"].shape)}
        if arrays.get("spread_weights") is None:
            counts = arrays["inbag_class_counts"]
            with np.errstate(over="ignore", invalid="ignore"):
                arrays = arrays | {"spread_weights": counts.sum(axis=1) if counts.ndim == 2 else counts}
        if any(arrays.get(name) is None for name in PROJECTION):
            none = np.zeros(arrays["feature"].size + 1, dtype=np.int32)
            arrays = arrays | dict(zip(PROJECTION, (none, none[:0], np.zeros(0)), strict=True))
        for names, dtype in ((INTS, np.int32), (FLOATS, np.float64)):
            for name in names:
                vars(self)[name] = _read_only(np.ascontiguousarray(arrays[name], dtype=dtype))
        if n_features is None:
            n_features = int(self.feature.max(initial=-1)) + 1
        vars(self)["n_features"] = operator.index(n_features)

    def __getstate__(self) -> dict[str, Any]:
        kept = (*SPLITS, "threshold", *COUNTS, "spread_weights", *self._own_projection, "n_features")
        return {name: vars(self)[name] for name in kept}

    @property
    def _own_projection(self) -> tuple[str, ...]:
        """The names of the arrays of oblique splits, if there are any."""
        return PROJECTION if self.is_oblique else ()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._store(state, state["n_features"])

    def __repr__(self) -> str:
        def amount(n: int, one: str, many: str) -> str:
            return f"{n} {one if n == 1 else many}"

        nodes, leaves = amount(self.n_nodes, "node", "nodes"), amount(self.n_leaves, "leaf", "leaves")
        return f"Tree({nodes}, {leaves}, depth {self.depth}, {amount(self.n_classes, 'class', 'classes')})"

    def _repr_html_(self) -> str:
        return svg.draw_svg(self)

    @property
    def n_nodes(self) -> int:
        return self.feature.size

    @property
    def n_leaves(self) -> int:
        return self.leaves.size

    @property
    def n_classes(self) -> int:
        return int(self.inbag_class_counts.shape[1])

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        return int(self.node_depth.max())

    @functools.cached_property
    def is_leaf(self) -> BoolArray:
        return _read_only(self.feature < 0)

    @functools.cached_property
    def leaves(self) -> npt.NDArray[np.intp]:
        """Ids of the leaves, ascending."""
        return _read_only(np.flatnonzero(self.is_leaf))

    @functools.cached_property
    def kind(self) -> npt.NDArray[np.str_]:
        """``"leaf"``, ``"numeric"``, ``"nominal"`` or ``"oblique"``, per node."""
        has_categories, has_terms = np.diff(self.category_start) > 0, np.diff(self.projection_start) > 0
        index = np.where(self.is_leaf, 0, np.where(has_terms, 3, 1 + has_categories))
        return _read_only(np.array(["leaf", "numeric", "nominal", "oblique"])[index])

    @functools.cached_property
    def parent(self) -> IntArray:
        """The parent of every node, -1 for the root."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        parent[self.child_nodes] = owners(self.child_start)
        return _read_only(parent)

    @functools.cached_property
    def node_depth(self) -> IntArray:
        """Depth of every node, 0 for the root."""
        return _read_only(sum_over_path(self.parent, np.ones(self.n_nodes, dtype=np.int32))[0])

    @functools.cached_property
    def structure(self) -> bytes:
        """Equal for trees with the same splits, whatever their counts."""
        digest = hashlib.blake2b(digest_size=16)
        for name in (*SPLITS, "threshold", *self._own_projection):
            digest.update(np.ascontiguousarray(vars(self)[name]).view(np.uint8).data)
        return digest.digest()

    @functools.cached_property
    def router(self) -> _core.Router:
        """The core's object that sends rows down this tree."""
        return _core.Router(self.arrays)

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that make the tree, by name, without the out-of-bag counts."""
        kept = (*SPLITS, "threshold", "inbag_class_counts", "spread_weights", *self._own_projection)
        return {name: vars(self)[name] for name in kept}

    @functools.cached_property
    def weights(self) -> FloatArray:
        """The in-bag weight of every node."""
        return _read_only(self.inbag_class_counts.sum(axis=1))

    @functools.cached_property
    def node_counts(self) -> _core.NodeCounts:
        """The core's view of the in-bag counts, on which leaf estimators work."""
        top_down = np.argsort(self.node_depth, kind="stable").astype(np.int32)
        return _core.NodeCounts(self.parent, top_down, self.is_leaf.view(np.uint8), self.inbag_class_counts)

    @property
    def is_oblique(self) -> bool:
        """Whether a split tests a sum of columns."""
        return self.projection_feature.size > 0

    def tested_features(self, node: int) -> list[int]:
        """The features that a split tests: one, or those of its sum."""
        node = self._node_id(node)
        terms = self.projection_feature[self.projection_start[node] : self.projection_start[node + 1]]
        return terms.tolist() or [int(self.feature[node])]

    def children(self, node: int) -> IntArray:
        """Children of a node in branch order."""
        node = self._node_id(node)
        return self.child_nodes[self.child_start[node] : self.child_start[node + 1]]

    def path(self, node: int) -> npt.NDArray[np.intp]:
        """Node ids from the root to a node, both included."""
        path = [self._node_id(node)]
        while path[-1] != 0:
            path.append(int(self.parent[path[-1]]))
        return np.array(path[::-1], dtype=np.intp)

    def _node_id(self, node: int) -> int:
        node = operator.index(node)
        if not 0 <= node < self.n_nodes:
            raise IndexError(f"node={node}: the tree has nodes 0 to {self.n_nodes - 1}")
        return node

    def equals(self, other: object) -> bool:
        """Whether the other tree has the same nodes, splits and counts, bit for bit."""
        return (
            isinstance(other, Tree)
            and self.n_features == other.n_features
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in (*INTS, *COUNTS, "spread_weights", "projection_weight")
            )
            and np.array_equal(self.threshold, other.threshold, equal_nan=True)
        )

    def with_counts(self, inbag: npt.ArrayLike | None = None, oob: npt.ArrayLike | None = None) -> Tree:
        """The same structure with other class counts; ``None`` keeps the present ones."""
        given = zip(COUNTS, (inbag, oob), strict=True)
        changed = {name: as_array(name, values) for name, values in given if values is not None}
        tree = Tree._trusted(**self.__getstate__() | changed)
        check_shapes(tree)
        for name in changed:
            check_counts(name, changed[name])
        shared = ("is_leaf", "leaves", "kind", "parent", "node_depth", "router", "structure")
        vars(tree).update({name: vars(self)[name] for name in shared if name in vars(self)})
        return tree

    def pruned_at(self, nodes: npt.ArrayLike) -> Tree:
        """The tree in which these nodes (ids, or a mask over all) are leaves. The rest keep their order."""
        cut = np.zeros(self.n_nodes, dtype=bool)
        cut[self._node_ids(nodes)] = True
        n_cut_above, _ = sum_over_path(self.parent, cut[self.parent].astype(np.int32))
        keep = n_cut_above == 0
        is_split = keep & ~cut & ~self.is_leaf
        new_id = np.cumsum(keep) - 1

        def kept_ranges(start: IntArray) -> tuple[IntArray, BoolArray]:
            return starts((np.diff(start) * is_split)[keep]), is_split[owners(start)]

        child_start, kept_children = kept_ranges(self.child_start)
        category_start, kept_categories = kept_ranges(self.category_start)
        projection_start, kept_terms = kept_ranges(self.projection_start)
        return Tree._trusted(
            feature=np.where(is_split, self.feature, -1)[keep],
            threshold=np.where(is_split, self.threshold, np.nan)[keep],
            child_start=child_start,
            child_nodes=new_id[self.child_nodes[kept_children]],
            missing_branch=np.where(is_split, self.missing_branch, -1)[keep],
            category_start=category_start,
            category_branch=self.category_branch[kept_categories],
            inbag_class_counts=self.inbag_class_counts[keep],
            oob_class_counts=self.oob_class_counts[keep],
            spread_weights=self.spread_weights[keep],
            n_features=self.n_features,
            projection_start=projection_start,
            projection_feature=self.projection_feature[kept_terms],
            projection_weight=self.projection_weight[kept_terms],
        )

    def _node_ids(self, nodes: npt.ArrayLike) -> npt.NDArray[Any]:
        if np.asarray(nodes).dtype == bool:
            require_shape("nodes", np.asarray(nodes), (self.n_nodes,), "a mask has one entry per node")
            return np.flatnonzero(nodes)
        ids, last = np.atleast_1d(as_array("nodes", nodes)), self.n_nodes - 1
        require((ids >= 0) & (ids <= last), "nodes", ids, f"the tree has nodes 0 to {last}")
        return ids


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
