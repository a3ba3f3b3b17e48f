"""Updates as if all rows had been there from the start: the oracle for counts that are brought up to date.

A row that comes later is one more training row that is in no sample; forgetting multiplies the weights of all rows
that were there before. Nothing is shared with the library except the arrays of a tree.
"""

import numpy as np

import naive_ensemble as naive


def with_later_rows(forest, X, y, weights, decay, times=0):
    """The forest with more rows, each of them ``times`` in every sample."""
    copies = [np.concatenate([one, np.full(len(y), times)]) for one in forest.copies]
    return naive.TrainedForest(
        forest.trees,
        copies,
        np.concatenate([forest.X, X]),
        np.concatenate([forest.y, y]),
        np.concatenate([decay * forest.weights, np.ones(len(y)) if weights is None else weights]),
        forest.n_classes,
    )


def tree_laplace(tree, counts, queries):
    """Laplace's correction of a single tree's leaves; an empty leaf asks its ancestors first."""
    proba = np.zeros((len(queries), tree.n_classes))
    for q, row in enumerate(queries):
        for leaf, share in naive.leaf_shares(tree, row).items():
            found = naive.counts_or_ancestors(tree, counts, leaf)
            proba[q] += share * naive.frequencies(found + 1)
    return proba


def unseen_frequencies(forest, queries, instead):
    """The mean over trees of the frequencies of rows that they have not seen, where the query's leaf has such rows."""
    proba = np.array(instead)
    for q, row in enumerate(queries):
        total, share_there = np.zeros(forest.n_classes), 0.0
        for t, tree in enumerate(forest.trees):
            counts = naive.out_of_bag_counts(forest, t)
            for leaf, share in naive.leaf_shares(tree, row).items():
                if counts[leaf].sum() > 0:
                    total += share * naive.frequencies(counts[leaf])
                    share_there += share
        if share_there > 0:
            proba[q] = total / share_there
    return proba
