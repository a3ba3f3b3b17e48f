"""Monotone shares at the leaves of forests, beside slow versions that share nothing with the core."""

from __future__ import annotations

import numpy as np
import pytest

import naive_monotone as naive
from petiole import BaggedPETClassifier
from petiole._classifiers.base import encode_training
from petiole._estimates.asking import N_FOLDS, OutOfBagRows

KINDS = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 8.0)]
NO_ROWS = 1e-6


def grown(n_classes=2, seed=0, n_rows=50):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n_rows, 3)).astype(float)
    X[:, 2] = rng.integers(0, 3, n_rows)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    y = rng.integers(0, n_classes, n_rows)
    signs = [(1, -1, 0), (1, 0, 0), (0, -1, 0)][seed % 3]
    model = BaggedPETClassifier(
        4,
        missing="separate",
        max_depth=5,
        count="distinct",
        categorical_features=[2],
        monotonic_cst=list(signs),
        monotonic_class=n_classes - 1,
        random_state=seed,
    ).fit(X, y, rng.choice([0.5, 1.0, 2.0], n_rows))
    return model, X, y, signs


def slow_shares(tree, counts, least, target, signs, n_categories):
    """The shares at leaves by their node, from class counts at all leaves."""
    parent = {int(child): node for node in range(tree.n_nodes) for child in naive.children(tree, node)}

    def below(node):
        if tree.feature[node] < 0:
            return counts[node]
        return sum(below(int(child)) for child in naive.children(tree, node))

    values, weights = {}, {}
    for leaf in map(int, tree.leaves):
        node = leaf
        while node != 0 and (below(node).sum() <= 0 or below(node).sum() < least - 1e-6):
            node = parent[node]
        of_node = below(node)
        values[leaf] = of_node[target] / of_node.sum() if of_node.sum() > 0 else 1 / len(of_node)
        weights[leaf] = max(counts[leaf].sum(), NO_ROWS)
    pairs = naive.pairs_of_leaves(tree, signs, n_categories)
    return naive.pooled(values, weights, naive.from_below(tree, signs), pairs)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_tables_are_those_of_the_slow_version(kind, seed):
    n_classes = 2 + seed % 2
    model, *_, signs = grown(n_classes, seed)
    in_bag, out_of_bag, least = kind
    target = n_classes - 1
    tables = model.trees_.core.ordered_tables(*kind, list(signs), target, 1)
    for index, tree in enumerate(model.trees_):
        both = in_bag * tree.inbag_class_counts + out_of_bag * tree.oob_class_counts
        counts = {leaf: both[leaf] for leaf in map(int, tree.leaves)}
        wanted = slow_shares(tree, counts, least, target, signs, model.encoder_.n_categories)
        found = np.asarray(tables.of_tree(index))
        assert np.allclose(found[:, 1], [wanted[leaf] for leaf in map(int, tree.leaves)], atol=1e-9)
        assert np.allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_out_of_bag_shares_are_those_without_the_fold(kind, seed):
    model, X, y, signs = grown(2, seed)
    rows = encode_training(model, X, y, np.random.default_rng(seed).choice([0.5, 1.0, 2.0], len(y)))[1]
    core, n_rows = model.trees_.core, len(rows)
    rng = np.random.default_rng(seed)
    members = model.trees_.router.members(rows.matrix, 1)
    copies = [rng.integers(0, 2, n_rows).astype(np.uint32) for _ in model.trees_]
    for index, times in enumerate(copies):
        members.set_copies(index, times)
    fold_of = rng.integers(0, 3, n_rows).astype(np.uint8)
    order = (list(signs), 1)
    found = np.asarray(core.ordered_out_of_bag(members, *kind, *order, rows.labels, rows.weights, 1, fold_of, None, 1))
    sums, shares = np.zeros(n_rows), np.zeros(n_rows)
    for tree, times in zip(model.trees_, copies, strict=True):
        leaf_of = np.array([naive.leaf_of(tree, row) for row in rows.matrix])
        for fold in range(3):
            counts = {leaf: kind[0] * tree.inbag_class_counts[leaf] for leaf in map(int, tree.leaves)}
            for row in np.flatnonzero((times == 0) & (fold_of != fold)):
                counts[leaf_of[row]] = counts[leaf_of[row]] + kind[1] * rows.weights[row] * np.eye(2)[rows.labels[row]]
            wanted = slow_shares(tree, counts, kind[2], 1, signs, model.encoder_.n_categories)
            for row in np.flatnonzero((times == 0) & (fold_of == fold)):
                sums[row] += wanted[leaf_of[row]]
                shares[row] += 1
    with np.errstate(invalid="ignore"):
        assert np.allclose(found, sums / shares, atol=1e-9, equal_nan=True)


def test_no_label_changes_what_its_row_is_told():
    model, X, y, signs = grown(2, 0, n_rows=80)
    rows = encode_training(model, X, y, None)[1]
    members = model.trees_.router.members(rows.matrix, 1)
    for index in range(len(model.trees_)):
        members.set_copies(index, np.random.default_rng(index).integers(0, 2, len(rows)).astype(np.uint32))
    from petiole._estimates.asking import CountedWeights
    from petiole._table.constraints import Constraints

    order, weights = Constraints(tuple(signs), 1), CountedWeights(0.0, 1.0, 0.0)
    before = OutOfBagRows(members, rows, 1).ordered_shares(model.trees_, weights, order)
    for row in range(0, len(rows), 7):
        labels = rows.labels.copy()
        labels[row] = 1 - labels[row]
        changed = OutOfBagRows(members, rows.take(slice(None)), 1)
        object.__setattr__(changed.rows, "labels", labels)
        after = changed.ordered_shares(model.trees_, weights, order)
        assert np.array_equal(before[row], after[row], equal_nan=True)
    assert N_FOLDS > 1


def test_of_two_classes_the_first_can_be_the_target():
    model, *_ = grown(2, 0)
    for index in range(2):
        first = np.asarray(model.trees_.core.ordered_tables(1.0, 0.0, 0.0, [-1, 1, 0], 0, 1).of_tree(index))
        second = np.asarray(model.trees_.core.ordered_tables(1.0, 0.0, 0.0, [1, -1, 0], 1, 1).of_tree(index))
        # The first falls where the second rises: both pool the same leaves, though not in the same order.
        assert first.shape == second.shape and np.allclose(first.sum(axis=1), 1)
