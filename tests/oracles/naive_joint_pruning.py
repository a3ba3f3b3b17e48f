"""The obvious way to prune trees together: cut the weakest links of all of them, and look how the mean errs."""

from __future__ import annotations

import numpy as np

import naive


def prune_together(roots, X, y, w):
    """The trees at the step at which their mean errs least; the last of equals."""
    trees = [naive.cut_where(root, lambda node: False) for root in roots]  # copies
    steps = [trees]
    while any(tree.children for tree in trees):
        links = [naive.link_strength(node) for tree in trees for node in naive.nodes(tree) if node.children]
        trees = [cut_links(tree, min(links) + 1e-9 * max(1.0, min(links))) for tree in trees]
        steps.append(trees)
    errors = [errors_of_mean(trees, X, y, w) for trees in steps]
    return steps[max(step for step, lost in enumerate(errors) if lost <= min(errors) + 1e-9)]


def cut_links(tree, limit):
    return naive.cut_where(tree, lambda node: naive.link_strength(node) <= limit)


def errors_of_mean(trees, X, y, w):
    votes = sum(naive.predict(tree, X, lambda counts: counts / counts.sum()) for tree in trees)
    return sum(weight for vote, label, weight in zip(votes, y, w, strict=True) if first_largest(vote) != label)


def first_largest(vote):
    return int(np.round(vote, 9).argmax())
