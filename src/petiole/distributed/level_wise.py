"""A single tree on distributed rows: histograms of the parts are summed, level by level.

The weights of (feature, code, class) at a node are all that the search for a split needs, and they add up. The tree is
the one that grows on all rows together with the same bins. A node of few rows is finished in one place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._classifiers.base import remember_columns, seed_of
from petiole._classifiers.pet import PETClassifier
from petiole._tree.plan import TreePlan
from petiole._tree.pruning import collapse
from petiole._tree.tree import Tree
from petiole.distributed.growing_tree import GrowingTree, Node, NodeSplit, graft
from petiole.distributed.sharded import unfitted
from petiole.distributed.shared_bins import Bins, CodedRows, coded_rows, entries_at, histogram, make_bins
from petiole.distributed.sources import Batch
from petiole.distributed.tasks import Coding
from petiole.smoothing import as_leaf_estimator

Floats = npt.NDArray[np.float64]

# A node of at most this many rows is finished in one place; as many rows are finished at a time.
FINISH_ROWS, GATHER_ROWS = 100_000, 2_000_000
# Bytes of the histograms that are summed at a time.
HISTOGRAM_BYTES = 64 << 20
# Beyond this weight the table of logarithms that makes sums exact would take gigabytes.
MOST_EXACT_WEIGHT = 1 << 28


def fit_levels(model: PETClassifier, engine: Any, coding: Coding) -> PETClassifier:
    """Fit a copy of the model."""
    estimator = as_leaf_estimator(model.smoothing)
    check_levels(model, estimator)
    tree = LevelGrowth(model, engine, coding).grow()
    if model.pruning == "collapse":
        tree = collapse(tree)
    fresh = unfitted(model)
    remember_columns(fresh, coding.survey.example)
    fresh.encoder_ = coding.encoder
    fresh.weight_unit_ = coding.weight_unit
    fresh.classes_ = coding.classes
    fresh.tree_ = tree
    fresh.smoothing_ = estimator
    fresh.node_probabilities_ = estimator.node_probabilities(tree)
    return fresh


def check_levels(model: PETClassifier, estimator: Any) -> None:
    """Refuse parameters that need the training rows again, or more than histograms of single columns."""
    if model.splits != "best":
        raise ValueError(
            f"splits={model.splits!r}: a tree that is grown level by level from histograms has the cuts of "
            "splits='best' only; use that, or mode='broadcast'"
        )
    if model.pruning not in (None, "collapse"):
        raise ValueError(
            f"pruning={model.pruning!r} sends the training rows down the tree again: use mode='broadcast', or "
            "pruning=None or 'collapse'"
        )
    if estimator.needs_held_out:
        raise ValueError(
            f"smoothing={estimator!r} learns from trees that are grown on parts of the rows: use mode='broadcast', or "
            "an estimator without parameters to learn"
        )


class LevelGrowth:
    """The state of growth: the tree so far, and the nodes whose split is to be found."""

    def __init__(self, model: PETClassifier, engine: Any, coding: Coding) -> None:
        survey = coding.survey
        self.model, self.engine, self.coding = model, engine, coding
        self.bins = make_bins(survey, None if model.max_bins is None else int(model.max_bins))
        seed = seed_of(model)
        if seed is None and model.max_features is not None:
            seed = int(np.random.default_rng().integers(2**31))
        self.options = TreePlan.of(model).options(survey.n_features, coding.classes, survey.class_weights, seed)
        self.weight = float(survey.class_weights.sum())
        self.rows_per_weight = sum(survey.n_rows.values()) / self.weight
        self.search = _core.HistogramSearch(
            self.bins.n_codes, self.bins.categorical, self.options, len(coding.classes), self.weight, self._whole()
        )
        self.tree = GrowingTree(survey.class_weights, _core.root_key(self.options.seed))
        self.shared = engine.share((coding, self.bins))

    def _whole(self) -> bool:
        divided = self.model.missing == "fractional" and bool(self.bins.has_missing.any())
        n_rows = sum(self.coding.survey.n_rows.values())
        return (
            self.coding.survey.whole_weights
            and not divided
            and self.model.split_class_weight is None
            and self.weight <= min(max(1 << 22, 2 * n_rows), MOST_EXACT_WEIGHT)
        )

    def grow(self) -> Tree:
        small: list[int] = []
        active = self._to_be_split([0], small)
        while active:
            made = [child for group in self._in_groups(active) for child in self._split_all(group)]
            active = self._to_be_split(made, small)
        for node, arrays in self._finished(small):
            graft(self.tree, node, arrays)
        return self.tree.laid_out(self.coding.survey.n_features)

    def _to_be_split(self, nodes: Sequence[int], small: list[int]) -> list[int]:
        """The nodes to be split; those with few rows are kept apart."""
        large: list[int] = []
        for index in nodes:
            node = self.tree.nodes[index]
            if self._must_be_leaf(node):
                continue
            few = node.counts.sum() * self.rows_per_weight <= FINISH_ROWS
            (small if few else large).append(index)
        return large

    def _must_be_leaf(self, node: Node) -> bool:
        weight, heaviest = node.counts.sum(), node.counts.max()
        pure = weight - heaviest <= 1e-9 * weight
        return pure or node.depth >= self.options.max_depth or weight < 2 * self.options.min_samples_leaf - 1e-9

    def _in_groups(self, nodes: Sequence[int]) -> list[list[int]]:
        bytes_each = 8 * int(self.bins.first[-1]) * len(self.coding.classes)
        size = max(1, HISTOGRAM_BYTES // bytes_each)
        return [list(nodes[start : start + size]) for start in range(0, len(nodes), size)]

    def _split_all(self, nodes: Sequence[int]) -> list[int]:
        """Sum the histograms of some nodes and split them; returns the new children."""
        tree = self.engine.share(self.tree.laid_flat(self.coding.survey.n_features))
        calls = [
            self.engine.call(histogram_part, part, number, self.shared, tree, list(nodes))
            for number, part in enumerate(self.engine.parts)
        ]
        depth = self.tree.nodes[nodes[0]].depth
        tables = self.engine.sum(calls, f"histograms of {len(nodes)} nodes at depth {depth}")
        made = []
        for index, table in zip(nodes, tables, strict=True):
            key = self.tree.nodes[index].key
            found: Any = self.search.find(key, np.ascontiguousarray(table), self.bins.first)
            if found is not None:
                made += self.tree.split(index, make_split(found, table, self.bins, self.model), self._branch_keys(key))
        return made

    @staticmethod
    def _branch_keys(key: int) -> Any:
        return lambda branch: _core.branch_key(key, branch)

    def _finished(self, small: Sequence[int]) -> list[tuple[int, dict[str, Any]]]:
        """The subtrees below nodes of few rows."""
        if not small:
            return []
        tree = self.engine.share(self.tree.laid_flat(self.coding.survey.n_features))
        calls = []
        for group in self._gathered(small):
            rows = [
                self.engine.call(coded_part, part, number, self.shared, tree, group)
                for number, part in enumerate(self.engine.parts)
            ]
            roots = [dataclasses.replace(self.tree.nodes[index]) for index in group]
            calls.append(
                self.engine.call(
                    grow_group, self.engine.total(rows), group, roots, self.shared, self._plain_options(), self.weight
                )
            )
        done = self.engine.gather(self.engine.keep(calls, f"finishing {len(small)} small nodes"))
        return [pair for group in done for pair in group]

    def _gathered(self, small: Sequence[int]) -> list[list[int]]:
        groups: list[list[int]] = []
        size = float(GATHER_ROWS)
        for index in small:
            rows = self.tree.nodes[index].counts.sum() * self.rows_per_weight
            if size + rows > GATHER_ROWS:
                groups.append([])
                size = 0
            groups[-1].append(index)
            size += rows
        return groups

    def _plain_options(self) -> dict[str, Any]:
        """The options of growth in a form that can be sent to a worker."""
        return {name: getattr(self.options, name) for name in _OPTIONS} | {
            name: getattr(self.options, name).name for name in _CHOICES
        }


_OPTIONS = (
    "max_depth",
    "min_samples_leaf",
    "max_features",
    "redraw",
    "min_gain",
    "class_scale",
    "thresholds_from_data",
    "random_ties",
    "seed",
)
_CHOICES = {"criterion": "Criterion", "nominal_splits": "NominalSplits", "missing": "Missing"}


def histogram_part(batch: Batch, part: int, shared: tuple[Coding, Bins], tree: Tree, nodes: list[int]) -> Floats | None:
    """The histograms of some nodes, of the rows of one part."""
    coding, bins = shared
    rows = coding.rows(batch, part)
    if rows is None:
        return None
    entries = entries_at(tree, rows, _slots(tree, nodes))
    return histogram(rows, entries, bins, len(nodes), len(coding.classes))


def coded_part(batch: Batch, part: int, shared: tuple[Coding, Bins], tree: Tree, nodes: list[int]) -> CodedRows | None:
    """The rows of some nodes, of one part."""
    coding, bins = shared
    rows = coding.rows(batch, part)
    if rows is None:
        return None
    return coded_rows(rows, entries_at(tree, rows, _slots(tree, nodes)), bins)


def grow_group(
    rows: CodedRows | None,
    nodes: list[int],
    roots: Sequence[Node],
    shared: tuple[Coding, Bins],
    options: dict[str, Any],
    dataset_weight: float,
) -> list[tuple[int, dict[str, Any]]]:
    """Grow what is below each of some nodes."""
    coding, bins = shared
    if rows is None:
        return []
    found = []
    for slot, (index, root) in enumerate(zip(nodes, roots, strict=True)):
        own = rows.at(slot)
        if not len(own.labels):
            continue
        below = _core.GrowOptions()
        for name, value in options.items():
            chosen = getattr(getattr(_core, _CHOICES[name]), value) if name in _CHOICES else value
            setattr(below, name, chosen)
        below.max_depth = max(1, options["max_depth"] - root.depth)
        arrays = _core.grow_below(
            [np.ascontiguousarray(column, dtype=np.uint32) for column in own.codes.T],
            bins.n_codes,
            bins.categorical,
            bins.has_missing.astype(np.uint8),
            bins.low,
            bins.high,
            bins.distinct,
            own.labels,
            own.weights,
            below,
            len(coding.classes),
            root.key,
            dataset_weight,
            1,
        )
        found.append((index, arrays))
    return found


def _slots(tree: Tree, nodes: Sequence[int]) -> npt.NDArray[np.int64]:
    slots = np.full(tree.n_nodes, -1, dtype=np.int64)
    slots[np.asarray(nodes)] = np.arange(len(nodes))
    return slots


def make_split(found: tuple[int, int, bool, list[int]], table: Floats, bins: Bins, model: Any) -> NodeSplit:
    """From the candidate that the search has chosen to the rule of a node and the counts of its branches."""
    column, cut, known_or_missing, left = found
    first = bins.first
    counts = table[first[column] : first[column + 1]]
    present = counts.sum(axis=1) > 0
    n_codes = int(bins.n_codes[column])
    separate = model.missing == "separate"
    if bins.categorical[column]:
        branch, n_children = _categorical_branches(present, left, bins, column, model)
        missing = int(branch[-1]) if separate else -1
        rule = {"category_branch": branch[:-1].tolist(), "missing_branch": missing}
    elif known_or_missing:
        branch = np.zeros(n_codes + 1, dtype=int)
        branch[-1], n_children = 1, 2
        rule = {"threshold": np.inf, "missing_branch": 1}
    else:
        branch = (np.arange(n_codes + 1) > cut).astype(int)
        own = separate and bool(present[-1])
        branch[-1], n_children = 2, 3 if own else 2
        rule = {"threshold": _threshold(present, cut, bins, column, model), "missing_branch": 2 if own else -1}
    divided = not separate and bool(present[-1])
    return NodeSplit(int(column), rule, _branch_counts(counts, branch, n_children, divided), n_children)


def _threshold(present: npt.NDArray[np.bool_], cut: int, bins: Bins, column: int, model: Any) -> float:
    known = np.flatnonzero(present[:-1])
    low, high = known[known <= cut][-1], known[known > cut][0]
    below, above = float(bins.high[column][low]), float(bins.low[column][high])
    middle = below + (above - below) / 2
    if not middle < above:
        middle = below
    if model.threshold != "data":
        return middle
    distinct = bins.distinct[column]
    return float(distinct[np.searchsorted(distinct, middle, side="right") - 1])


def _categorical_branches(
    present: npt.NDArray[np.bool_], left: list[int], bins: Bins, column: int, model: Any
) -> tuple[npt.NDArray[np.int64], int]:
    """The branch of each category, missing last; -1 where there is none. As in growth on rows."""
    separate = model.missing == "separate"
    branch = np.full(len(present), -1)
    if model.nominal_splits == "binary":
        branch[present] = 1
        branch[left] = 0
        return branch, 2
    declared = separate and bool(bins.has_missing[column])
    own = present.copy()
    own[-1] &= separate
    branch[own] = np.arange(own.sum())
    n_children = int(own.sum())
    absent = ~own
    absent[-1] = declared and not present[-1]
    if absent.any():  # all values that are absent here share one empty leaf
        branch[absent] = n_children
        n_children += 1
    return branch, n_children


def _branch_counts(counts: Floats, branch: npt.NDArray[np.int64], n_children: int, divided: bool) -> Floats:
    """The class counts of each branch; where missing values are divided, with their shares."""
    placed = (branch >= 0) & (branch < n_children)
    if divided:
        placed[-1] = False
    children = np.zeros((n_children, counts.shape[1]))
    np.add.at(children, branch[placed], counts[placed])
    if divided:
        known = children.sum(axis=1)
        children += np.outer(known / known.sum(), counts[-1])
    return children
