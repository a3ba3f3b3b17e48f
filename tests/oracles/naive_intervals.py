"""Intervals for probabilities by their definition, row by row, tree by tree and leaf by leaf.

U_i = mean over trees of (N_bi - 1) t_b + m_bi (2 - N_bi) g_bi, where g_bi is found by adding a little of the row.
"""

from __future__ import annotations

import math

import numpy as np

import naive_ensemble as naive

LITTLE = 1e-6


def leaf_shares_of(counts, pseudo):
    return naive.frequencies(counts + pseudo)


def answer_of_tree(forest, t, shares, weights, pseudo):
    """What a tree answers to a query that reaches some leaves, if the rows have these weights in its leaves."""
    counts = naive.member_counts(forest, t, weights)
    return sum(share * leaf_shares_of(counts[leaf], pseudo) for leaf, share in shares.items())


def tree_slope(forest, t, shares, weights, pseudo, i):
    """The derivative of the answer by the weight of row i relative to its weight."""
    more, less = weights.copy(), weights.copy()
    more[i] *= 1 + LITTLE
    less[i] *= 1 - LITTLE
    difference = answer_of_tree(forest, t, shares, more, pseudo) - answer_of_tree(forest, t, shares, less, pseudo)
    return difference / (2 * LITTLE)


def influences(forest, query, *, oob_weight, count, pseudo):
    """(n_rows, n_classes), and the mean by which the sum of squares is too large, for each class."""
    n_trees, n_rows = len(forest.trees), len(forest.y)
    pseudo = np.zeros(forest.n_classes) + pseudo
    reached = [naive.leaf_shares(tree, query) for tree in forest.trees]
    weights = [naive.all_weights(forest, t, oob_weight, count) for t in range(n_trees)]
    answers = np.array([answer_of_tree(forest, t, reached[t], weights[t], pseudo) for t in range(n_trees)])
    centred = answers - answers.mean(axis=0)
    found = np.zeros((n_rows, forest.n_classes))
    for i in range(n_rows):
        for t in range(n_trees):
            copies = forest.copies[t][i]
            found[i] += (copies - 1) * centred[t] / n_trees
            slope = tree_slope(forest, t, reached[t], weights[t], pseudo, i)
            found[i] += (2 - copies) * slope / n_trees
    return found, n_rows / n_trees**2 * (centred**2).sum(axis=0)


def kernel(forest, query, *, oob_weight, count):
    """The weight of each row's label in the answer, without pseudo-counts."""
    found = np.zeros(len(forest.y))
    for t, tree in enumerate(forest.trees):
        weights = naive.all_weights(forest, t, oob_weight, count)
        counts = naive.member_counts(forest, t, weights)
        for leaf, share in naive.leaf_shares(tree, query).items():
            total = counts[leaf].sum()
            for i, reached in enumerate(forest.shares[t]):
                if total > 0:
                    found[i] += share * reached.get(leaf, 0.0) * weights[i] / total / len(forest.trees)
    return found


def wilson(p, n_rows, z):
    """The ends of the set of probabilities q with |p - q| <= z sqrt(q (1 - q) / n), by bisection."""

    def is_inside(q):
        return abs(p - q) <= z * math.sqrt(q * (1 - q) / n_rows)

    ends = []
    for outside in (0.0, 1.0):
        inside = p
        if is_inside(outside):
            ends.append(outside)
            continue
        for _ in range(200):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
        ends.append(inside)
    return ends


def pool_covariance(logs, labels, row_weights, pool, ridges):
    """The covariance of a pool's free weights and intercepts, with all derivatives taken by small steps.

    ``logs`` has the shape (n_rows, n_components, n_classes).
    """
    n_components, n_classes = pool.weights.shape
    places = [(c, k) for c in range(n_components) for k in range(n_classes) if pool.weights[c, k] > 1e-9]
    start = np.array([pool.weights[place] for place in places] + pool.intercepts.tolist())

    def loss_of_row(x, i):
        weights = np.zeros((n_components, n_classes))
        for place, value in zip(places, x, strict=False):
            weights[place] = value
        scores = x[len(places) :] + (weights * logs[i]).sum(axis=0)
        top = scores.max()
        return row_weights[i] * (top + math.log(np.exp(scores - top).sum()) - scores[labels[i]])

    def penalty(x):
        weights = np.zeros((n_components, n_classes))
        for place, value in zip(places, x, strict=False):
            weights[place] = value
        mean = weights.mean(axis=1)
        apart = weights - mean[:, np.newaxis]
        return 0.5 * (
            ridges.mean * (mean**2).sum()
            + ridges.classes * (apart**2).sum()
            + ridges.intercepts * (x[len(places) :] ** 2).sum()
        )

    def slope(function, x, step):
        return np.array([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))])

    rows = range(len(labels))
    hessian = slope(lambda x: slope(lambda z: sum(loss_of_row(z, i) for i in rows) + penalty(z), x, 1e-4), start, 1e-4)
    moved = np.linalg.solve(hessian, np.array([slope(lambda z, i=i: loss_of_row(z, i), start, 1e-5) for i in rows]).T)
    return moved @ moved.T
