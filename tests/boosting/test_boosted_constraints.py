"""Boosted trees whose scores are monotone, or whose columns do not interact."""

from __future__ import annotations

import numpy as np
import pytest

import petiole
from monotone_cases import SIGNS, n_violations, table
from petiole import BoostedPETClassifier

FEW = {"max_iter": 40, "n_folds": 3, "categorical_features": [4], "random_state": 0}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("leaves", [6, 31])
def test_no_pair_violates_the_order(n_classes, early_stopping, leaves):
    X, y = table(500, n_classes, missing=0.1)
    weights = np.random.default_rng(0).uniform(0.1, 2, len(y))
    for target, signs in ((n_classes - 1, SIGNS), (0, [-sign for sign in SIGNS])):
        model = BoostedPETClassifier(
            0.3,
            monotonic_cst=signs,
            monotonic_class=target,
            early_stopping=early_stopping,
            max_leaf_nodes=leaves,
            min_samples_leaf=2,
            **FEW,
        ).fit(X, y, weights)
        assert n_violations(model.predict_proba, X, signs, target) == 0
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
        assert model.trees_.n_trees > 2
    free = BoostedPETClassifier(0.3, early_stopping=early_stopping, **FEW).fit(X, y)
    assert n_violations(free.predict_proba, X, SIGNS, n_classes - 1) > 100


def test_each_tree_is_monotone_and_its_leaves_still_differ():
    X, y = table(800, missing=0.1)
    model = BoostedPETClassifier(0.3, monotonic_cst=SIGNS, **FEW).fit(X, y)
    for rounds in range(1, model.n_iter_ + 1, 5):
        trees = model.trees_.truncated(rounds)
        assert n_violations(trees.answer, X, SIGNS, n_pairs=2000) == 0
    values = model.trees_.value[model.trees_.feature < 0]
    assert len(np.unique(values)) > 0.5 * len(values)


def test_scores_fit_the_probabilities():
    X, y = table(400, 3)
    model = BoostedPETClassifier(0.3, monotonic_cst=SIGNS, monotonic_class=1, **FEW).fit(X, y)
    scores = np.exp(model.decision_function(X))
    assert np.allclose(scores / scores.sum(axis=1, keepdims=True), model.predict_proba(X))
    two = BoostedPETClassifier(0.3, monotonic_cst=SIGNS, **FEW).fit(X, y > 0)
    assert np.allclose(1 / (1 + np.exp(-two.decision_function(X))), two.predict_proba(X)[:, 1])


def test_a_true_order_costs_little():
    X, y = table(1500)
    queries, labels = table(4000, seed=1)
    losses = []
    for signs in (None, SIGNS):
        proba = BoostedPETClassifier(monotonic_cst=signs, **FEW).fit(X, y).predict_proba(queries)
        losses.append(-np.log(proba[np.arange(len(labels)), labels]).mean())
    assert losses[1] < 1.01 * losses[0]


def test_a_saved_model_says_the_same(tmp_path):
    X, y = table(300, 3)
    model = BoostedPETClassifier(0.3, monotonic_cst=SIGNS, monotonic_class=2, **FEW).fit(X, y)
    model.save(tmp_path / "model.petiole")
    loaded = petiole.load(tmp_path / "model.petiole")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    model.set_params(monotonic_cst=None, monotonic_class=None).fit(X, y)
    assert not hasattr(model, "named_trees_")


def columns_of_paths(trees):
    """The columns that are tested on the way to each leaf of each tree."""
    for start, end in zip(trees.node_start[:-1], trees.node_start[1:], strict=True):
        feature, left = trees.feature[start:end], trees.left[start:end]
        pending = [(0, frozenset())]
        while pending:
            node, tested = pending.pop()
            if feature[node] < 0:
                yield set(tested)
                continue
            pending += [(int(left[node]) + side, tested | {int(feature[node])}) for side in (0, 1)]


@pytest.mark.parametrize(
    ("given", "groups"),
    [("no_interactions", [{j} for j in range(5)]), ([[0, 1], [2, 4]], [{0, 1}, {2, 4}, {3}])],
    ids=str,
)
def test_paths_keep_to_a_group(given, groups):
    X, y = table(600, 3)
    model = BoostedPETClassifier(0.3, interaction_cst=given, monotonic_cst=SIGNS, monotonic_class=2, **FEW).fit(X, y)
    for trees in (model.trees_, model.named_trees_):
        paths = list(columns_of_paths(trees))
        assert all(any(path <= group for group in groups) for path in paths)
        assert set().union(*paths) == set(range(5))


def test_without_interactions_scores_are_sums_of_columns():
    X, y = table(400)
    model = BoostedPETClassifier(0.3, interaction_cst="no_interactions", **FEW).fit(X, y)
    score = model.decision_function
    both, one, other = X.copy(), X.copy(), X.copy()
    both[:, 2], both[:, 3] = 1.0, -1.0
    one[:, 2], other[:, 3] = 1.0, -1.0
    assert np.allclose(score(both) - score(one) - score(other) + score(X), 0)


def test_errors_say_what_to_do():
    X, y = table(100, 3)
    with pytest.raises(ValueError, match="monotonic_class of which"):
        BoostedPETClassifier(monotonic_cst=SIGNS, **FEW).fit(X, y)
    with pytest.raises(ValueError, match="column 4 is categorical"):
        BoostedPETClassifier(monotonic_cst=[0, 0, 0, 0, 1], **FEW).fit(X, y > 0)
