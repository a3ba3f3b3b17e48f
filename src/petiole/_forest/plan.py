"""Growth plans of forests, and growing by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._forest.forest import Forest, bootstrap_kind
from petiole._forest.kinds import TreeKind, kinds_of
from petiole._table.rows import EncodedRows
from petiole._tree import traversal
from petiole._tree.plan import AUTO, TreePlan
from petiole._tree.pruning import collapse, prune_by_error, prune_with_set
from petiole._tree.tree import Tree

# The parameter that is the number of trees, and the most of them that a fit chooses.
N_TREES, MOST_TREES = "n_estimators", 256
NOTHING_CHOSEN: Mapping[str, Any] = MappingProxyType({})


class GrownForest(NamedTuple):
    """The result of growing: the trees, where the training rows are in them (if kept), the rows and the seed."""

    forest: Forest
    members: _core.Members | None
    rows: EncodedRows
    seed: int | None


@dataclass(frozen=True, kw_only=True)
class ForestPlan:
    """Trees that are grown alike, each on a sample of its own.

    Tree number i depends on the plan, the rows and i only, so that a forest can be grown in parts, here or elsewhere.

    Attributes
    ----------
    tree : TreePlan
    n_trees, seed : int
    bootstrap : {"stratified", "plain", False}
        How the samples are drawn.
    count : {"copies", "distinct"}
        Whether a row that is in a sample twice counts twice in the leaves.
    pruning : {None, "collapse", "error_based", "pruning_set"}
    confidence : float
        Of error-based pruning.
    """

    tree: TreePlan = field(default_factory=TreePlan)
    n_trees: int = 1
    seed: int = 0
    bootstrap: str | bool = "stratified"
    count: str = "copies"
    pruning: str | None = None
    confidence: float = 0.25

    def sample(self, rows: EncodedRows, index: int) -> npt.NDArray[np.uint32]:
        """How often each row is in the sample of a tree; empty for all rows once."""
        return sample_copies(rows, self.bootstrap, self.seed, index)


def plans_of(estimator: Any, seed: int, growth: Mapping[str, Any] = NOTHING_CHOSEN) -> list[ForestPlan]:
    """The growth plans of an ensemble, one for each kind of trees.

    ``growth`` has what is chosen at the fit: parameters of trees, or how many there are. Where there are fewer trees
    than kinds of them, the last plans have none.
    """
    of_trees = {name: value for name, value in growth.items() if name != N_TREES}
    kinds, n_trees = tree_kinds(estimator), growth.get(N_TREES, n_trees_of(estimator))
    return [
        ForestPlan(
            tree=TreePlan.of(estimator, **{**of_trees, "max_features": kind.max_features, "splits": kind.splits}),
            n_trees=n_trees // len(kinds) + (number < n_trees % len(kinds)),
            seed=kind_seed(seed, number),
            bootstrap=estimator.bootstrap,
            count=estimator.count,
            pruning=estimator.pruning,
            confidence=float(estimator.confidence),
        )
        for number, kind in enumerate(kinds)
    ]


def tree_kinds(estimator: Any) -> tuple[TreeKind, ...]:
    """The kinds of an ensemble's trees."""
    return kinds_of(estimator.max_features, estimator.splits)


def n_trees_of(estimator: Any) -> int:
    """How many trees an ensemble has; where it may choose, what the fit has chosen, and the most before that."""
    given = estimator.n_estimators
    if isinstance(given, str) and given == AUTO:
        return int(vars(estimator).get(f"{N_TREES}_", MOST_TREES))
    return int(given)


def kind_seed(seed: int, kind: int) -> int:
    """The seed of the trees of one kind."""
    return seed + (kind << 32)


def sample_copies(training: EncodedRows, bootstrap: str | bool, seed: int, index: int) -> npt.NDArray[np.uint32]:
    """How often each row is in the sample of a tree; empty for all rows once."""
    kind = bootstrap_kind(bootstrap)
    return np.asarray(_core.draw_sample(kind, training.labels, len(training.classes), seed, index))


def grow(
    plan: ForestPlan,
    rows: EncodedRows,
    *,
    earlier: Forest | None = None,
    keep_members: bool = False,
    n_threads: int = 1,
) -> GrownForest:
    """Grow the forest of a plan, to which ``earlier`` trees belong already; Ctrl-C stops it."""
    first = 0 if earlier is None else len(earlier)
    if earlier is not None and first == plan.n_trees:
        members = find_rows(plan, earlier, rows, n_threads) if keep_members else None
        return GrownForest(earlier, members, rows, plan.seed)
    forest, members = grow_range(plan, rows, first, plan.n_trees, keep_members=keep_members, n_threads=n_threads)
    if earlier is not None:
        forest = Forest.joined([earlier, forest])
        if members is not None:
            newer, members = members, find_rows(plan, earlier, rows, n_threads)
            members.append(newer)
    return GrownForest(forest, members, rows, plan.seed)


def grow_range(
    plan: ForestPlan, rows: EncodedRows, first: int, end: int, *, keep_members: bool = False, n_threads: int = 1
) -> tuple[Forest, _core.Members | None]:
    """Grow some trees of the plan, and prune them if it asks for that; also return where the rows are in them, if
    wanted."""
    core, members = _core.grow_forest(
        rows.matrix,
        rows.labels,
        rows.weights,
        rows.n_categories,
        end - first,
        plan.tree.coding(),
        plan.tree.options(rows.n_columns, rows.classes, rows.class_weights(), plan.seed, rows.constraints),
        _options(plan, first, keep_members),
        len(rows.classes),
        n_threads,
    )
    forest = Forest(core, rows.n_columns)
    if plan.pruning is None:
        return forest, members
    pruned = [_prune(plan, tree, rows, first + i) for i, tree in enumerate(forest)]
    return count(plan, rows, pruned, first=first, keep_members=keep_members, n_threads=n_threads)


def count(
    plan: ForestPlan,
    rows: EncodedRows,
    trees: list[Tree],
    *,
    first: int = 0,
    keep_members: bool = False,
    n_threads: int = 1,
) -> tuple[Forest, _core.Members | None]:
    """Pack trees that exist, with the counts of the rows in and out of their samples."""
    core, members = _core.count_forest(
        rows.matrix,
        rows.labels,
        rows.weights,
        [tree.arrays for tree in trees],
        plan.seed,
        _options(plan, first, keep_members),
        len(rows.classes),
        n_threads,
    )
    return Forest(core, rows.n_columns), members


def find_rows(plan: ForestPlan, forest: Forest, rows: EncodedRows, n_threads: int) -> _core.Members:
    """Where the training rows are in trees that exist, with the samples that these were grown on."""
    members = forest.router.members(rows.matrix, n_threads)
    for index in range(len(forest)):
        copies = plan.sample(rows, index)
        members.set_copies(index, copies if copies.size else np.ones(len(rows), dtype=np.uint32))
    return members


def as_grown(plan: ForestPlan, tree: Tree, rows: EncodedRows, index: int) -> Tree:
    """A tree of the forest with the counts it was grown on, whatever ``count`` says."""
    return _with_copies(plan, tree, rows, plan.sample(rows, index))


def _with_copies(plan: ForestPlan, tree: Tree, rows: EncodedRows, copies: npt.NDArray[np.uint32]) -> Tree:
    if plan.count == "copies" or copies.size == 0:
        return tree
    sample = _in_sample(rows, copies)
    return tree.with_counts(inbag=traversal.class_counts(tree, sample.matrix, sample.labels, sample.weights))


def _prune(plan: ForestPlan, tree: Tree, rows: EncodedRows, index: int) -> Tree:
    copies = plan.sample(rows, index)
    whole = _with_copies(plan, tree, rows, copies)
    if plan.pruning == "collapse":
        return collapse(whole)
    if plan.pruning == "error_based":
        return prune_by_error(whole, _in_sample(rows, copies), plan.confidence)
    unseen = np.flatnonzero(copies == 0)
    return prune_with_set(whole, rows.take(unseen)) if unseen.size else whole


def _in_sample(rows: EncodedRows, copies: npt.NDArray[np.uint32]) -> EncodedRows:
    """The rows of a sample, each weighted by the number of its copies."""
    if copies.size == 0:
        return rows
    weights = copies.astype(np.float64)
    if rows.weights is not None:
        weights *= rows.weights
    return replace(rows, weights=weights).take(np.flatnonzero(copies))


def _options(plan: ForestPlan, first_tree: int, keep_members: bool) -> _core.ForestOptions:
    options = _core.ForestOptions()
    options.bootstrap = bootstrap_kind(plan.bootstrap)
    options.distinct = plan.count == "distinct"
    options.keep_members = keep_members
    options.first_tree = first_tree
    return options
