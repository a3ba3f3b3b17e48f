"""Grows a tree by a plan."""

from __future__ import annotations

from petiole import _core
from petiole._table.rows import EncodedRows
from petiole._tree.plan import TreePlan
from petiole._tree.tree import Tree


def grow_tree(plan: TreePlan, training: EncodedRows, *, seed: int | None, n_threads: int) -> Tree:
    """Grow one tree; Ctrl-C stops it."""
    arrays = _core.grow_tree(
        training.matrix,
        training.labels,
        training.weights,
        training.n_categories,
        plan.coding(),
        plan.options(training.n_columns, training.classes, training.class_weights(), seed, training.constraints),
        len(training.classes),
        n_threads,
    )
    return Tree._trusted(n_features=training.n_columns, **arrays)
