"""Functions of the core that petiole uses inside larger steps, called one at a time."""

from __future__ import annotations

import numpy as np

from petiole import _core


def leave_one_out(tree, alphas, loss="log"):
    """The cost of HGS (eq. 6 of Zhang et al.; bits for the log loss) and its gradient by alpha, an entry per node."""
    return tree.node_counts.leave_one_out_loss(getattr(_core.Loss, loss))(alphas)


def soft_average(tree, matrix, table, perturbation, *, n_threads=1):
    """For each row the mean of the table's rows over leaves, weighted by their probabilities (Geurts 2001, eq. 6)."""
    tables = _core.LeafTables([np.ascontiguousarray(table[tree.leaves])], table.shape[1])
    return np.asarray(_core.SoftRouter.of_tree(tree.arrays).average(matrix, tables, perturbation.core, None, n_threads))
