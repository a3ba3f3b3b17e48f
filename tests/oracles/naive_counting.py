"""Slow sums over batches that are easy to check by eye: the oracle for counts, sketches and surveys that add up."""

import numpy as np

import naive_ensemble as naive


def forest_of(trees, copies, X, y, weights, n_classes):
    return naive.TrainedForest(trees, copies, X, y, weights, n_classes)


def counted(forest, t, *, distinct):
    """In-bag and out-of-bag class counts at the leaves of tree t, leaves in order of node id."""
    in_bag = naive.in_bag_counts(forest, t, "distinct" if distinct else "copies")
    out_of_bag = naive.out_of_bag_counts(forest, t)
    leaves = naive.leaves(forest.trees[t])
    return np.array([in_bag[leaf] for leaf in leaves]), np.array([out_of_bag[leaf] for leaf in leaves])


def rank_error(sketch, values, weights):
    """The largest share of the weight by which the sketch errs about what is at most some value."""
    total = weights.sum()
    errors = []
    for value in np.unique(values):
        truth = weights[values <= value].sum()
        said = sketch.weights[sketch.values <= value].sum()
        errors.append(abs(truth - said) / total)
    return max(errors)


def bin_of(values, weights, max_bins):
    """The bin of each value: the share of the weight below it, times the number of bins, rounded down."""
    distinct = np.unique(values)
    if len(distinct) <= max_bins:
        return np.searchsorted(distinct, values)
    below = np.array([weights[values < value].sum() for value in distinct])
    wanted = (below / weights.sum() * max_bins).astype(int)
    number = {bin_: i for i, bin_ in enumerate(sorted(set(wanted.tolist())))}
    return np.array([number[wanted[np.searchsorted(distinct, value)]] for value in values])
