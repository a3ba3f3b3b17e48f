"""The core grows the trees of the slow version, and gives its scores."""

from __future__ import annotations

import numpy as np
import pytest

from naive_boosting import NaiveBoosting, Settings
from petiole._boosting.growing import boost_folds
from petiole._boosting.plan import BoostingPlan
from petiole._table.rows import EncodedRows

SEEDS = range(60)


def random_rows(rng):
    """Few rows full of ties, gaps and constants; categories, whole, fractional or no weights."""
    n_rows, n_columns, n_classes = int(rng.integers(6, 70)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
    n_categories = np.where(rng.random(n_columns) < 0.35, rng.integers(1, 9, n_columns), 0).astype(np.int32)
    X = np.column_stack([rng.integers(0, n if n else rng.integers(1, 20), n_rows) for n in n_categories]).astype(float)
    if rng.random() < 0.5:
        X[:, n_categories == 0] = np.sin(X[:, n_categories == 0])
    if rng.random() < 0.5:
        X[rng.random(X.shape) < 0.2] = np.nan
    score = np.nan_to_num(X) @ rng.normal(size=n_columns) + rng.normal(scale=0.5, size=n_rows)
    y = np.clip(np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])), 0, n_classes - 1)
    weights = rng.choice([None, "whole", "real"])
    w = None if weights is None else rng.integers(1, 4, n_rows).astype(float)
    if weights == "real":
        w = rng.integers(1, 9, n_rows) / 4
    return EncodedRows(X, y.astype(np.int32), w, n_categories, np.arange(n_classes))


def random_settings(rng):
    return {
        "learning_rate": float(rng.choice([0.1, 0.5, 1.0])),
        "max_leaf_nodes": rng.choice([None, 2, 4, 31]),
        "max_depth": rng.choice([None, 1, 3]),
        "min_samples_leaf": float(rng.choice([1, 2, 5])),
        "min_hessian": float(rng.choice([1e-3, 0.1])),
        "l2": float(rng.choice([0.0, 1.0])),
        "category_smoothing": float(rng.choice([0.0, 1.0, 10.0])),
    }


def described(trees, tree, columns, node=0):
    """A tree of the model as the slow version describes its own."""
    at = trees.node_start[tree] + node
    if trees.feature[at] < 0:
        return round(float(trees.value[at]), 9)
    left = trees.left[at]
    return (int(trees.feature[at]), *(described(trees, tree, columns, left + side) for side in (0, 1)))


def nearly(a, b):
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(nearly(x, y) for x, y in zip(a, b, strict=True))
    return not isinstance(a, tuple) and not isinstance(b, tuple) and abs(a - b) < 1e-7 * (1 + abs(b))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_trees_and_scores_are_those_of_the_slow_version(seed):
    rng = np.random.default_rng(seed)
    rows, settings, n_rounds = random_rows(rng), random_settings(rng), 4
    training = rng.random(len(rows)) < 0.8
    training[:2] = True
    plan = BoostingPlan(n_rounds=n_rounds, patience=n_rounds, **settings)
    found = boost_folds(plan, rows, np.where(training, -1, 0))
    naive = NaiveBoosting(
        rows.matrix.tolist(), rows.labels.tolist(), rows.weights_or_ones().tolist(), rows.n_categories.tolist(),
        len(rows.classes), training, Settings(**settings),
    )  # fmt: skip
    losses = [naive_loss(naive)]
    for _ in range(n_rounds):
        naive.add_round()
        losses.append(naive_loss(naive))
    if not training.all():
        np.testing.assert_allclose(found.log_losses, losses[: len(found.log_losses)], rtol=1e-7)
        n_rounds = int(np.argmin(losses[: len(found.log_losses)]))
    model = found.models[0]
    assert model.n_rounds == n_rounds
    for t in range(model.n_trees):
        ours, theirs = described(model, t, rows.n_columns), naive.trees[t].described()
        assert nearly(ours, theirs), (t, ours, theirs)


def naive_loss(naive):
    weights = [naive.weights[i] for i in naive.others]
    bits = [-np.log2(naive.probabilities(i)[naive.y[i]]) for i in naive.others]
    return float(np.dot(weights, bits) / sum(weights)) if weights else np.nan
