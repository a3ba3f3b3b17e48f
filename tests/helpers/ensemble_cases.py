"""Random problems for the ensembles, full of ties, and the way from petiole's forests to the naive ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import naive_ensemble as naive
from petiole import PETClassifier
from petiole._classifiers.base import encode_queries, encode_training
from petiole._forest.plan import kind_seed, sample_copies
from petiole.smoothing import MEstimate

RAW = {"smoothing": "raw"}
# What each leaf estimator adds to the counts of every class, by the number of classes.
PSEUDO_COUNTS = {
    "raw": ("raw", lambda n_classes: 0.0),
    "laplace": ("laplace", lambda n_classes: 1.0),
    "m-estimate": (MEstimate(m=3, base_rate="uniform"), lambda n_classes: 3 / n_classes),
}
STRUCTURE = ("feature", "threshold", "child_nodes", "missing_branch", "category_branch")
BOTH_COUNTS = pytest.mark.parametrize("count", ["copies", "distinct"])


def examples(n):
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(deadline=None, max_examples=n, suppress_health_check=checks)


# ---- data
class Case(NamedTuple):
    """Data full of ties, and parameters of growth."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None
    growth: dict[str, Any]
    n_trees: int
    random: np.random.Generator

    def fit(self, kind, **parameters):
        return self.unfitted(kind, **parameters).fit(self.X, self.y, self.w)

    def single_tree(self, **parameters):
        return PETClassifier(
            **{name: value for name, value in self.growth.items() if name != "bootstrap"}, **parameters
        )

    def unfitted(self, kind, **parameters):
        return kind(**{"n_estimators": self.n_trees, **self.growth, **parameters})


def random_column(random, y):
    n = len(y)
    kind = random.integers(4)
    if kind == 0:
        return random.integers(random.integers(2, 7), size=n).astype(float)
    if kind == 1:
        return random.normal(size=n).round(1)
    if kind == 2:
        return 0.1 * random.integers(4, size=n) + y * random.random()
    return (y + random.integers(3, size=n)) * 0.5


@st.composite
def cases(draw, max_rows=60, max_features=4, nominal=True, missing=True, weights=True, prunings=(None,)):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_classes = draw(st.integers(12, max_rows)), draw(st.integers(2, 4))
    y = random.integers(n_classes, size=n)
    columns, categorical = [], []
    for j in range(draw(st.integers(1, max_features))):
        if nominal and draw(st.booleans()):
            column = random.integers(draw(st.integers(1, 5)), size=n).astype(float)
            noisy = random.random(n) < 0.5
            column = np.where(noisy, column, y)
            categorical.append(j)
        else:
            column = random_column(random, y)
        if missing and draw(st.booleans()):
            column[random.random(n) < draw(st.sampled_from([0.05, 0.2, 0.6]))] = np.nan
        columns.append(column)
    kinds = {"none": None, "whole": [1.0, 2.0, 3.0], "fractional": [0.25, 0.5, 1.0, 1.7], "zeros": [0.0, 1.0, 1.5, 3.0]}
    values = kinds[draw(st.sampled_from(list(kinds)))] if weights else None
    growth = {
        "criterion": draw(st.sampled_from(["entropy", "gini", "kearns_mansour", "gain_ratio"])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 3])),
        "max_depth": draw(st.sampled_from([None, None, 2])),
        "max_features": draw(st.sampled_from([None, "sqrt", 1])),
        "nominal_splits": draw(st.sampled_from(["multiway", "binary"])),
        "missing": draw(st.sampled_from(["fractional", "separate"])),
        "threshold": draw(st.sampled_from(["midpoint", "data"])),
        "bootstrap": draw(st.sampled_from(["stratified", "plain"])),
        "pruning": draw(st.sampled_from(prunings)),
        "categorical_features": categorical,
        "random_state": draw(st.integers(0, 1000)),
    }
    w = None if values is None else random.choice(values, size=n)
    X = np.asarray(np.column_stack(columns), dtype=draw(st.sampled_from(["d", "f"])), order=draw(st.sampled_from("CF")))
    return Case(X, y, w, growth, draw(st.integers(3, 12)), random)


def queries_for(model, case, n=16):
    """Rows mixed from those of training, with missing cells, unknown categories, and values at and next to cuts."""
    random, categorical = case.random, case.growth["categorical_features"]
    X = np.column_stack([random.permutation(np.resize(random.permutation(column), n)) for column in case.X.T])
    X[random.random(X.shape) < 0.1] = np.nan
    cuts = [
        (j, cut) for tree in model.trees_ for j, cut in zip(tree.feature, tree.threshold, strict=True) if cut < np.inf
    ]
    if cuts:
        for row in range(n // 2):
            j, cut = cuts[random.integers(len(cuts))]
            X[row, j] = (cut, cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf))[row % 4]
    if categorical:
        X[n - 1, categorical[0]] = 99.0
    return X


def numeric_data(n=80, n_features=4, n_classes=3, seed=0, n_missing=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features)).round(1)
    y = (X[:, 0] + X[:, -1] + random.normal(size=n)).argsort().argsort() * n_classes // n
    X.ravel()[random.permutation(X.size)[:n_missing]] = np.nan
    return X, y


# ---- from petiole's forest to the naive one
def spreading_as_it_says(tree):
    """The tree whose in-bag counts, which the naive version spreads missing values by, are its spread weights."""
    counts = np.zeros_like(tree.inbag_class_counts)
    counts[:, 0] = tree.spread_weights
    return tree.with_counts(inbag=counts)


def naive_forest(model, X, y, w=None):
    training = encode_training(model, X, y, w)[1]
    copies = [sample_copies(training, model.bootstrap, model.seed_, t) for t in range(len(model.trees_))]
    trees = [spreading_as_it_says(tree) for tree in model.trees_]
    matrix = training.matrix.astype(float)  # NumPy compares single precision with numbers rounded to it
    return naive.TrainedForest(trees, copies, matrix, training.labels, training.weights, len(model.classes_))


def for_all_rows(model, X, w, of_kept, of_queries):
    """Out-of-bag estimates of all rows: those of weight zero, in no sample, are queries."""
    if w is None or np.all(w):
        return of_kept
    result = of_queries(encode_queries(model, X))
    result[w > 0] = of_kept
    return result


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


# ---- B-PETs and EB-PETs
def at_empty_leaves(forest, t, *, oob_weight, count, pseudo):
    """leaf -> what is to be added to naive_ensemble's estimate, for empty leaves if there are pseudo-counts.

    naive_ensemble answers with the pseudo-counts alone; petiole's leaf estimators take the estimate of the nearest
    ancestor that has rows, as J48 does.
    """
    if not pseudo:
        return {}
    tree, rule = forest.trees[t], {"oob_weight": oob_weight, "count": count}
    counts = naive.member_counts(forest, t, naive.all_weights(forest, t, **rule))
    said = naive.leaf_probabilities(forest, t, pseudo=pseudo, **rule)
    empty = [leaf for leaf, n in counts.items() if not n.sum() > 0]
    above = {leaf: naive.counts_or_ancestors(tree, counts, leaf) for leaf in empty}
    return {leaf: naive.frequencies(n + pseudo) - said[leaf] for leaf, n in above.items()}


def shared_rows(table_of_tree, shares_of_tree, votes):
    """sum_j v_j mean_j / sum_j v_j: mean_j is over the leaves that have a row j, j over the classes that have any."""
    total, total_votes = np.zeros(len(votes)), 0.0
    for j in np.flatnonzero(votes):
        mean, mean_share = np.zeros(len(votes)), 0.0
        for t, shares in shares_of_tree.items():
            for leaf, share in shares.items():
                if (leaf, j) in table_of_tree[t]:
                    mean += share * naive.frequencies(table_of_tree[t][leaf, j])
                    mean_share += share
        if mean_share > 0:
            total += votes[j] * mean / mean_share
            total_votes += votes[j]
    return total / total_votes if total_votes > 0 else None


# ---- the probability forest
EVERY_COMPONENT = ("raw", "eb", "oob", "votes", "coarse")


class SlowPart:
    """The trees of one kind, and what each component says of rows. Where it has nothing to say it is "raw"."""

    def __init__(self, forest, count, coarse_rows):
        self.forest, self.count, self.coarse_rows = forest, count, coarse_rows
        self.yhat, self.votes = naive.oob_votes(forest, count)
        # passed[t][i, node] is the share of training row i that passes a node of tree t.
        self.passed = [np.zeros((len(forest.y), len(tree.feature))) for tree in forest.trees]
        for t, tree in enumerate(forest.trees):
            for node in range(len(tree.feature)):
                below = naive.leaves_below(tree, node)
                self.passed[t][:, node] = [sum(shares.get(leaf, 0) for leaf in below) for shares in forest.shares[t]]
        self.raw, self.eb = (
            [
                naive.leaf_probabilities(forest, t, oob_weight=w, count=count, pseudo=0.0)
                for t in range(len(forest.trees))
            ]
            for w in (0, 1)
        )

    def counts(self, t, node, *, without=None, only=1.0):
        """Class counts of the rows at a node, in and out of bag, one left out, or only those of a mask."""
        weights = naive.all_weights(self.forest, t, 1, self.count, without) * only * self.passed[t][:, node]
        return np.bincount(self.forest.y, weights, self.forest.n_classes)

    def coarse_node(self, t, leaf):
        """The nearest node, from a leaf upwards, that has enough rows; the root if none has."""
        node = leaf
        while node != 0 and self.counts(t, node).sum() < self.coarse_rows - naive.TOL:
            node = naive.parent_of(self.forest.trees[t], node)
        return node

    def mean(self, counts_of, shares):
        """The mean frequency over the leaves of all trees that have counts; None if none has."""
        total, total_share = np.zeros(self.forest.n_classes), 0.0
        for t in shares:
            for leaf, share in shares[t].items():
                counts = counts_of(t, leaf)
                if counts.sum() > 0:
                    total += share * naive.frequencies(counts)
                    total_share += share
        return total / total_share if total_share > 0 else None

    def vote_rows(self, t, leaf, without):
        rows = {
            (leaf, j): self.counts(t, leaf, without=without, only=self.yhat == j)
            for j in set(self.yhat[self.yhat >= 0])
        }
        return {key: counts for key, counts in rows.items() if counts.sum() > 0}

    def say(self, name, shares, votes, without=None):
        """What a component says of a row that reaches these leaves and has these votes."""
        if name == "votes":
            tables = {
                t: {key: n for leaf in shares[t] for key, n in self.vote_rows(t, leaf, without).items()} for t in shares
            }
            said = shared_rows(tables, shares, votes)
        elif name == "coarse":
            said = self.mean(lambda t, leaf: self.counts(t, self.coarse_node(t, leaf), without=without), shares)
        elif name == "oob":
            unseen = [copies == 0 for copies in self.forest.copies]
            said = self.mean(lambda t, leaf: self.counts(t, leaf, without=without, only=unseen[t]), shares)
        elif name == "eb" and without is not None:
            said = self.mean(lambda t, leaf: self.counts(t, leaf, without=without), shares)
        elif name == "eb":
            said = self.mean(lambda t, leaf: self.eb[t][leaf], shares)
        else:
            said = self.mean(lambda t, leaf: self.raw[t][leaf], shares)
        return self.say("raw", shares, votes) if said is None else said

    def of_queries(self, names, queries):
        """(components, queries, classes)"""
        said = []
        for row in queries:
            shares = {t: naive.leaf_shares(tree, row) for t, tree in enumerate(self.forest.trees)}
            votes = naive.ensemble_vote(self.forest, shares, self.count)[1]
            said.append([self.say(name, shares, votes) for name in names])
        return np.moveaxis(np.array(said), 1, 0)

    def out_of_bag(self, names):
        """The same for training rows, by trees that have not seen them and without themselves; NaN if all have."""
        said = np.full((len(names), len(self.forest.y), self.forest.n_classes), np.nan)
        for i in range(len(self.forest.y)):
            trees = [t for t in range(len(self.forest.trees)) if naive.is_out_of_bag(self.forest, t, i)]
            if trees:
                shares = {t: self.forest.shares[t][i] for t in trees}
                said[:, i] = [self.say(name, shares, self.votes[i], without=i) for name in names]
        return said


def slow_parts(model, X, y, w=None):
    training = encode_training(model, X, y, w)[1]
    rows = (training.matrix, training.labels, training.weights, len(model.classes_))
    parts = []
    for kind, part in enumerate(model.parts_):
        seed, trees = kind_seed(model.seed_, kind), [spreading_as_it_says(tree) for tree in part.forest]
        copies = [sample_copies(training, model.bootstrap, seed, t) for t in range(len(trees))]
        parts.append(SlowPart(naive.TrainedForest(trees, copies, *rows), model.count, model.coarse_rows))
    return parts


def with_prior(parts, components):
    """Components of all parts in the order of `pool_weights_`."""
    prior = naive.class_weights(parts[0].forest)
    return [*np.concatenate(components), np.tile(prior / prior.sum(), (components[0].shape[1], 1))]
