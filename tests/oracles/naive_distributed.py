"""A forest on shards, done slowly and in one place: what every row adds to every tree, given the trees' samples."""

import numpy as np

import naive_ensemble as naive
from petiole._forest.plan import sample_copies
from petiole._table.rows import EncodedRows


def copies_of_all_rows(model, X, y, parts, shards, seed, assigned):
    """How often each row is in the sample of each tree: drawn among the rows of its shard, none elsewhere.

    parts[i] are the positions of the rows of part i, shards[s] the parts of a shard, assigned[t] the shard of tree t.
    """
    classes = np.unique(y)
    copies = []
    for tree, shard in enumerate(assigned):
        rows = np.concatenate([parts[part] for part in shards[shard]])
        labels = np.searchsorted(classes, y[rows]).astype(np.int32)
        training = EncodedRows(X[rows], labels, None, np.zeros(X.shape[1], dtype=np.int32), classes)
        times = np.zeros(len(y), dtype=int)
        times[rows] = sample_copies(training, model.bootstrap, seed, tree)
        copies.append(times)
    return copies


def trained(model, X, y, weights, copies):
    """The oracle's forest: the structure of the trees, with counts of copies to say how missing values spread."""
    labels = np.searchsorted(model.classes_, y)
    trees = []
    for tree in model.trees_:
        counts = np.zeros_like(tree.inbag_class_counts)
        counts[:, 0] = tree.spread_weights
        trees.append(tree.with_counts(inbag=counts))
    return naive.TrainedForest(trees, copies, X, labels, weights, len(model.classes_))
