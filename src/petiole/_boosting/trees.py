"""Boosted trees as a value: the sum over trees is a score for each class."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from petiole import _core
from petiole._table.rows import MAX_CLASSES
from petiole.files import checks
from petiole.files.checks import maybe, require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]

# Scores and the values of leaves stay below this, so that no sum overflows.
LARGEST_SCORE = 1e9


def _flags(value: Any) -> None:
    checks.integers("uint8")(value)
    require((value <= 1).all(), "must hold 0 and 1")


@dataclass(frozen=True, eq=False, repr=False)
class BoostedTrees(Savable):
    """Trees whose leaves hold scores, not counts: P(class | x) = softmax(base + Σ over trees of W(tree, x) · V(tree)).

    With two classes there is one tree per round, which adds to the log-odds of the second; with K classes tree t adds
    to the score of class t modulo K. Nodes of all trees are stored one after another, parents before children.

    Attributes
    ----------
    base : array of float64
        The initial score of each class.
    n_features : int
    node_start : array of int32
        The first node of each tree, and the number of all nodes.
    feature, left : arrays of int32
        Of each node the feature of its split, -1 at leaves, and its left child counted from the tree's root. The right
        child comes next.
    threshold : array of float64
        Larger values go right; NaN where the split is by categories.
    missing_right : array of uint8
        Whether missing values, and categories that did not occur in training, go right.
    category_start : array of int32
        Where each node's table of categories begins in ``category_right``, and the end.
    category_right : array of uint8
        Whether a category goes right.
    value : array of float64
        The number that a leaf adds to the score.
    gain : array of float64
        Twice the decrease of the training loss by a split, in the quadratic approximation.
    weight : array of float64, optional
        The weight of the rows that a node was grown on; trees from files of earlier versions have none.
    """

    base: Floats
    n_features: int
    node_start: Ints
    feature: Ints
    left: Ints
    threshold: Floats
    missing_right: Flags
    category_start: Ints
    category_right: Flags
    value: Floats
    gain: Floats
    weight: Floats | None = None

    _saved = checks.fields(
        base=checks.floats(1, -LARGEST_SCORE, LARGEST_SCORE),
        n_features=checks.whole(1, 2**31 - 1),
        node_start=checks.integers("int32"),
        feature=checks.integers("int32"),
        left=checks.integers("int32"),
        threshold=checks.floats(1, nan=True, infinite=True),
        missing_right=_flags,
        category_start=checks.integers("int32"),
        category_right=_flags,
        value=checks.floats(1, -LARGEST_SCORE, LARGEST_SCORE),
        gain=checks.floats(1, 0.0),
        weight=maybe(checks.floats(1, 0.0, checks.LARGEST)),
    )

    def __post_init__(self) -> None:
        for field in fields(self):
            array = getattr(self, field.name)
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    @property
    def n_classes(self) -> int:
        return len(self.base)

    @property
    def n_columns(self) -> int:
        return self.n_features

    @classmethod
    def fused(cls, models: Sequence[BoostedTrees]) -> Sequence[BoostedTrees]:
        """One chain with all trees: means of scores make the geometric mean of probabilities."""
        return [models[0].mean_of(models)]

    @property
    def n_scores(self) -> int:
        """The number of trees in a round."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_trees(self) -> int:
        return len(self.node_start) - 1

    def __len__(self) -> int:
        return self.n_trees

    @property
    def n_rounds(self) -> int:
        return self.n_trees // self.n_scores

    def __repr__(self) -> str:
        return f"BoostedTrees({self.n_rounds} rounds, {self.n_trees} trees, {self.n_classes} classes)"

    def scores(self, matrix: npt.NDArray[Any], n_threads: int = 1, starts: Floats | None = None) -> Floats:
        """The score of each class for encoded rows; ``starts`` takes the place of ``base``."""
        summed = self._router.scores(matrix, n_threads)
        if self.n_classes == 2:
            summed = np.column_stack([np.zeros(len(summed)), summed])
        return np.asarray(summed + (self.base if starts is None else starts))

    def answer(self, matrix: npt.NDArray[Any], n_threads: int = 1, starts: Floats | None = None) -> Floats:
        """Class probabilities of encoded rows."""
        return np.asarray(softmax(self.scores(matrix, n_threads, starts), axis=1))

    def truncated(self, n_rounds: int) -> BoostedTrees:
        """The first rounds only."""
        n_nodes = self.node_start[n_rounds * self.n_scores]
        per_node = ("feature", "left", "threshold", "missing_right", "value", "gain")
        weight = None if self.weight is None else self.weight[:n_nodes]
        return replace(
            self,
            node_start=self.node_start[: n_rounds * self.n_scores + 1],
            category_start=self.category_start[: n_nodes + 1],
            category_right=self.category_right[: self.category_start[n_nodes]],
            weight=weight,
            **{name: getattr(self, name)[:n_nodes] for name in per_node},
        )

    @classmethod
    def constant(cls, base: Floats, n_features: int) -> BoostedTrees:
        """A model without trees."""
        whole, byte, number = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8), np.empty(0)
        start = np.zeros(1, dtype=np.int32)
        return cls(base, n_features, start, whole, whole, number, byte, start, byte, number, number, number)

    @classmethod
    def mean_of(cls, models: Sequence[BoostedTrees]) -> BoostedTrees:
        """The model whose scores are the means of those of several models with the same classes.

        Its probabilities are the geometric means of theirs, divided by their sum.
        """
        share = 1 / len(models)
        joined = {name: np.concatenate([getattr(model, name) for model in models]) for name in _JOINED}
        weights = [model.weight for model in models if model.weight is not None]
        return cls(
            base=np.mean([model.base for model in models], axis=0),
            n_features=models[0].n_features,
            node_start=_joined_starts([model.node_start for model in models]),
            category_start=_joined_starts([model.category_start for model in models]),
            weight=np.concatenate(weights) if len(weights) == len(models) else None,
            **joined | {"value": joined["value"] * share, "gain": joined["gain"] * share},
        )

    def tree_arrays(self, index: int) -> dict[str, npt.NDArray[Any]]:
        """One tree with the names that the arrays of trees of counts have; no weight is known of trees without any."""
        first, end = self.node_start[index], self.node_start[index + 1]
        feature = self.feature[first:end]
        is_split = feature >= 0
        categories = self.category_start[first : end + 1]
        weight = np.ones(end - first) if self.weight is None else self.weight[first:end]
        return {
            "feature": feature,
            "threshold": self.threshold[first:end],
            "child_start": np.concatenate([[0], np.cumsum(2 * is_split)]).astype(np.int32),
            "child_nodes": (self.left[first:end][is_split, np.newaxis] + np.arange(2)).ravel().astype(np.int32),
            "missing_branch": np.where(is_split, self.missing_right[first:end], -1).astype(np.int32),
            "category_start": categories - categories[0],
            "category_branch": self.category_right[categories[0] : categories[-1]].astype(np.int32),
            "inbag_class_counts": weight[:, np.newaxis].copy(),
        }

    def feature_gains(self) -> Floats:
        """The sum of the gains of each feature's splits."""
        splits = self.feature >= 0
        gains = np.bincount(self.feature[splits], self.gain[splits], minlength=self.n_features)
        return gains.astype(np.float64)  # also where there is no split

    @functools.cached_property
    def _router(self) -> _core.BoostRouter:
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return _core.BoostRouter(arrays, self.n_scores, self.n_features)

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in state.items() if value is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()

    def _check_state(self, state: dict[str, Any]) -> None:
        require(1 <= len(state["base"]) <= MAX_CLASSES, "base: must be one number per class")
        n_nodes = len(state["feature"])
        for name in ("left", "threshold", "missing_right", "value", "gain"):
            require(len(state[name]) == n_nodes, f"{name}: must be one per node")
        _check_starts("node_start", state["node_start"], n_nodes)
        require((np.diff(state["node_start"]) > 0).all(), "node_start: every tree must have a node")
        n_scores = 1 if len(state["base"]) == 2 else len(state["base"])
        require((len(state["node_start"]) - 1) % n_scores == 0, "node_start: must be a tree per score in every round")
        _check_starts("category_start", state["category_start"], len(state["category_right"]))
        require(len(state["category_start"]) == n_nodes + 1, "category_start: must be one per node, and the end")
        require("weight" not in state or len(state["weight"]) == n_nodes, "weight: must be one per node")
        _check_nodes(state)
        sums = np.abs(state["value"]).sum() + np.abs(state["base"]).max()
        require(sums <= LARGEST_SCORE and state["gain"].sum() <= checks.LARGEST, "value, gain: must have smaller sums")


_JOINED = ("feature", "left", "threshold", "missing_right", "category_right", "value", "gain")


def _joined_starts(starts: Sequence[Ints]) -> Ints:
    """Offsets of several lists as those of the concatenated lists."""
    sizes = np.concatenate([np.diff(of_one) for of_one in starts])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


def _check_starts(name: str, starts: Ints, end: int) -> None:
    ok = len(starts) > 0 and starts[0] == 0 and starts[-1] == end and checks.increasing(starts)
    require(ok, f"{name}: must increase from 0 to {end}")


def _check_nodes(state: dict[str, Any]) -> None:
    """Raise ValueError unless all nodes are nodes of trees, with splits that can be made."""
    feature, left, threshold = state["feature"], state["left"], state["threshold"]
    sizes = np.diff(state["node_start"]).astype(np.int64)
    size = np.repeat(sizes, sizes)
    number = np.arange(len(feature)) - np.repeat(state["node_start"][:-1], sizes)
    splits = feature >= 0
    require((feature >= -1).all() and (feature < state["n_features"]).all(), "feature: must be a column, or -1")
    require((left[~splits] == -1).all(), "left: must be -1 at leaves")
    inside = (left[splits] > number[splits]) & (left[splits].astype(np.int64) + 1 < size[splits])
    require(inside.all(), "left: must be a later node of the same tree")
    # Each node but the root is a child once: then all are reached, on exactly one path.
    first = np.repeat(state["node_start"][:-1], sizes)[splits].astype(np.int64) + left[splits]
    named = np.bincount(np.concatenate([first, first + 1]), minlength=len(feature))
    require((named == (number > 0)).all(), "left: every node but the root must be the child of one other")
    categorical = np.diff(state["category_start"]) > 0
    require(not categorical[~splits].any(), "category_start: leaves have no categories")
    require((np.isnan(threshold) == (categorical | ~splits)).all(), "threshold: must be there at numeric splits only")
    require(not np.isneginf(threshold).any(), "threshold: must not be minus infinity")
    require(
        (state["value"][splits] == 0).all() and (state["gain"][~splits] == 0).all(),
        "value, gain: must be of leaves, splits",
    )
