"""Pruning against the naive version, the golden numbers, and laws."""

from __future__ import annotations

import numpy as np
import pytest

import naive
import naive_joint_pruning
from against_naive import assert_same_tree, grow_both, random_data, random_options, training_set
from petiole import BaggedPETClassifier, PETClassifier
from petiole._tree.pruning import added_errors, collapse, prune_by_error, prune_together, prune_with_set
from petiole.smoothing import Raw


@pytest.mark.parametrize(
    ("n", "e", "j48", "c45"),
    [
        (6, 0, 1.237797, 1.237797),
        (16, 1, 1.475715, 1.506894),
        (14, 5, 1.761120, 1.794993),
        (4, 0.5, 1.171782, 1.180481),
    ],
)
def test_added_errors_of_the_golden_vectors(n, e, j48, c45):
    assert added_errors(n, e) == pytest.approx(j48, abs=1e-6)
    assert added_errors(n, e, z=0.6925) == pytest.approx(c45, abs=1e-4)


@pytest.mark.parametrize("seed", range(60))
def test_all_prunings_equal_the_naive_ones(seed):
    random = np.random.default_rng(seed)
    X, y, w, n_categories, n_classes = random_data(random, n_rows=int(random.integers(5, 120)))
    slow, fast = grow_both(X, y, w, n_categories, n_classes, **random_options(random, n_classes))
    training = training_set(X, y, w, n_categories, n_classes)
    assert_same_tree(naive.collapse(slow), collapse(fast))
    weights = np.ones(len(y)) if w is None else w
    for confidence in (0.05, 0.25, 0.5):
        pruned = naive.prune_error_based(slow, X, y, weights, confidence)
        assert_same_tree(pruned, prune_by_error(fast, training, confidence))
    held_X = X[random.permutation(len(X))].copy()
    held_X[random.random(held_X.shape) < 0.2] = np.nan
    held_y, held_w = random.integers(n_classes, size=len(X)), random.choice([0.5, 1.0, 2.0], size=len(X))
    held_out = training_set(held_X, held_y, held_w, n_categories, n_classes)
    assert_same_tree(naive.prune_with_set(slow, held_X, held_y, held_w), prune_with_set(fast, held_out))


@pytest.mark.parametrize("seed", range(40))
def test_trees_pruned_together_equal_the_naive_ones(seed):
    """One price for trees of different samples, judged by their mean, with missing values and weights."""
    random = np.random.default_rng(1000 + seed)
    X, y, w, n_categories, n_classes = random_data(random, n_rows=int(random.integers(5, 80)))
    options = random_options(random, n_classes)
    both = []
    for _ in range(int(random.integers(1, 5))):
        rows = random.integers(len(y), size=len(y))
        both.append(grow_both(X[rows], y[rows], None if w is None else w[rows], n_categories, n_classes, **options))
    held_X = X[random.permutation(len(X))].copy()
    held_X[random.random(held_X.shape) < 0.2] = np.nan
    held_y = np.where(random.random(len(y)) < 0.5, y, random.integers(n_classes, size=len(y)))
    held_w = random.choice([0.5, 1.0, 2.0], size=len(X))
    expected = naive_joint_pruning.prune_together([slow for slow, _ in both], held_X, held_y, held_w)
    held_out = training_set(held_X, held_y, held_w, n_categories, n_classes)
    found = prune_together([fast for _, fast in both], held_out)
    for slow, fast in zip(expected, found, strict=True):
        assert_same_tree(slow, fast)


def test_trees_pruned_together_err_no_more_than_before_on_the_rows_they_are_pruned_with():
    X, y = noisy(900)
    bag = BaggedPETClassifier(25, smoothing="raw", min_samples_leaf=1, bootstrap="plain", random_state=0)
    bag.fit(X[:600], y[:600])
    held_out = training_set(X[600:], y[600:], None, [0] * 5, 2)
    pruned = prune_together(list(bag.trees_), held_out)

    def errors(trees, X, y):
        proba = np.mean([tree.router.average(X, Raw().node_probabilities(tree), 1) for tree in trees], axis=0)
        return np.sum(proba.argmax(axis=1) != y)

    assert errors(pruned, X[600:], y[600:]) < errors(bag.trees_, X[600:], y[600:])
    X_new, y_new = noisy(4000, seed=1)
    assert errors(pruned, X_new, y_new) < errors(bag.trees_, X_new, y_new)
    assert sum(tree.n_leaves for tree in pruned) < sum(tree.n_leaves for tree in bag.trees_) / 2


def noisy(n=600, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    return X, ((X[:, 0] + random.normal(size=n)) > 0).astype(int)


def test_smaller_confidence_prunes_more():
    X, y = noisy()
    flipped = np.random.default_rng(1).random(len(y)) < 0.15
    y = (((X[:, 0] > 0) & (X[:, 1] > 0)) ^ flipped).astype(int)
    sizes = [PETClassifier.c45(confidence=c).fit(X, y).tree_.n_leaves for c in (0.01, 0.1, 0.25, 0.5)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] < PETClassifier.c44().fit(X, y).tree_.n_leaves


def test_collapsing_keeps_every_prediction():
    X, y = noisy()
    grown = PETClassifier(smoothing="raw").fit(X, y)
    collapsed = PETClassifier(smoothing="raw", pruning="collapse").fit(X, y)
    assert collapsed.tree_.n_leaves < grown.tree_.n_leaves
    assert (grown.predict(X) != y).sum() == (collapsed.predict(X) != y).sum()


def test_pruning_set_generalises_better_than_the_full_tree():
    X, y = noisy(2000)
    X_new, y_new = noisy(2000, seed=1)
    full = PETClassifier(smoothing="raw").fit(X, y)
    pruned = PETClassifier(smoothing="raw", pruning="pruning_set", random_state=0).fit(X, y)
    given = PETClassifier(smoothing="raw", pruning="pruning_set").fit(
        X[:1400], y[:1400], pruning_set=(X[1400:], y[1400:])
    )
    for model in (pruned, given):
        assert model.tree_.n_leaves < full.tree_.n_leaves / 4
        assert model.score(X_new, y_new) > full.score(X_new, y_new)


def test_pruning_set_errors_name_the_problem():
    X, y = noisy(50)
    with pytest.raises(ValueError, match=r"pruning=None.*pruning_set"):
        PETClassifier().fit(X, y, pruning_set=(X, y))
    with pytest.raises(ValueError, match="pair"):
        PETClassifier(pruning="pruning_set").fit(X, y, pruning_set=X)
    with pytest.raises(ValueError, match="label 5"):
        PETClassifier(pruning="pruning_set").fit(X, y, pruning_set=(X, np.full(50, 5)))
