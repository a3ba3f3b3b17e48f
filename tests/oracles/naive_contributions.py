"""Path contributions the obvious way: one row, one tree and one node after the other."""

from __future__ import annotations

import numpy as np


def contributions(tree, estimates, row):
    """What each column adds for one row; a missing value goes all ways, by their shares of the rows."""
    found = np.zeros(tree.n_features)
    _descend(tree, estimates, row, 0, 1.0, found)
    return found


def _descend(tree, estimates, row, node, weight, found):
    if tree.is_leaf[node]:
        return
    for child, share in _shares(tree, row, node):
        found[tree.feature[node]] += weight * share * (estimates[child] - estimates[node])
        _descend(tree, estimates, row, child, weight * share, found)


def _shares(tree, row, node):
    """The children that a row goes to and how much of it."""
    children, value = tree.children(node).tolist(), row[tree.feature[node]]
    if np.isnan(value):
        sizes = tree.spread_weights[children]
        return list(zip(children, sizes / sizes.sum(), strict=True))
    if tree.category_start[node + 1] > tree.category_start[node]:
        branches = tree.category_branch[tree.category_start[node] : tree.category_start[node + 1]]
        return [(children[branches[int(value)]], 1.0)]
    return [(children[0 if value <= tree.threshold[node] else 1], 1.0)]
