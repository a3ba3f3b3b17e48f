"""Path contributions: equal to those of the naive walk, adding up to the probability, and reason codes in words."""

from __future__ import annotations

import numpy as np
import pytest

import naive_contributions
from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole._classifiers.base import encode_queries
from petiole.contributions import path_contributions


def problem(seed, n=90):
    """Three classes; numbers, categories and gaps."""
    random = np.random.default_rng(seed)
    X = np.empty((n, 3), dtype=object)
    number = random.integers(0, 5, n).astype(float)
    X[:, 0], X[:, 1], X[:, 2] = number, random.choice(["a", "b", "c"], n), random.normal(size=n)
    y = (number + (X[:, 1] == "b") + random.normal(size=n) > 2.5).astype(int) + (random.random(n) < 0.1)
    X[random.random(n) < 0.1, 0] = None
    X[random.random(n) < 0.1, 1] = None
    return X, y


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_is_followed_as_by_the_naive_walk(seed):
    X, y = problem(seed)
    model = PETClassifier.c44(smoothing="laplace").fit(X, y)
    found = path_contributions(model, X, label=1)
    expected = [
        naive_contributions.contributions(model.tree_, model.node_probabilities_[:, 1], row)
        for row in encode_queries(model, X)
    ]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    np.testing.assert_allclose(found.rest, 0, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        PETClassifier(),
        BaggedPETClassifier.b_pets(n_estimators=4, random_state=0),
        MOBESPClassifier(n_estimators=4, random_state=0),
        ProbabilityForestClassifier(n_estimators=6, random_state=0),
        OOBCalibratedClassifier(BaggedPETClassifier(n_estimators=4, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_contributions_add_up_for_every_class(model):
    X, y = problem(0)
    model.fit(X, y)
    proba = model.predict_proba(X)
    for k, label in enumerate(model.classes_):
        found = path_contributions(model, X, label)
        np.testing.assert_allclose(found.base + found.values.sum(axis=1) + found.rest, proba[:, k], atol=1e-12)
    # what the ensemble adds to the mean of its leaves is the same for all columns, and they tell nothing apart: if one
    # class gains, others lose
    total = sum(path_contributions(model, X, label).values for label in model.classes_)
    np.testing.assert_allclose(total, 0, atol=1e-9)


def test_a_column_that_is_never_tested_contributes_nothing():
    X, y = problem(1)
    X = np.column_stack([X, np.full(len(X), 7.0, dtype=object)])
    found = path_contributions(ProbabilityForestClassifier(n_estimators=5, random_state=0).fit(X, y), X, 0)
    assert (found.values[:, 3] == 0).all() and (np.abs(found.values[:, 0]) > 0).any()


def test_reasons_are_sorted_signed_and_said_in_words():
    X, y = problem(2)
    model = BaggedPETClassifier(n_estimators=5, random_state=0).fit(X, y)
    found = path_contributions(model, X, 1)
    for row in range(20):
        moved = [abs(reason.contribution) for reason in found.reasons(row)]
        assert moved == sorted(moved, reverse=True)
        assert all(reason.contribution > 0 for reason in found.reasons(row, raising=True))
        assert all(reason.contribution < 0 for reason in found.reasons(row, raising=False))
        text = found.words(row, 2)
        assert text.startswith(f"P(1) = {model.predict_proba(X[row : row + 1])[0, 1]:.3f}")
        assert all(str(reason) in text for reason in found.reasons(row, 2))


def test_a_missing_value_that_is_spread_tells_nothing_and_one_that_has_a_branch_may():
    """Spread over the branches in proportion to the rows, it leaves the frequency where it was."""
    X, y = problem(2)
    gaps = np.array([value is None for value in X[:, 0]])
    spread = path_contributions(PETClassifier(smoothing="raw").fit(X, y), X, 1)
    np.testing.assert_allclose(spread.values[gaps, 0], 0, atol=1e-9)
    model = ProbabilityForestClassifier(n_estimators=20, missing="separate", random_state=0).fit(X, y)
    apart = path_contributions(model, X, 1)
    reasons = [reason for row in np.flatnonzero(gaps) for reason in apart.reasons(row, None) if reason.column == "x0"]
    assert reasons and {reason.value for reason in reasons} == {"missing"}


def test_what_has_no_trees_is_refused():
    X, y = problem(0)
    with pytest.raises(ValueError, match="BinnedNaiveBayesClassifier has no trees"):
        path_contributions(BinnedNaiveBayesClassifier().fit(X, y), X, 0)
    with pytest.raises(ValueError, match="label=7: must be one of the classes 0, 1, 2"):
        path_contributions(PETClassifier().fit(X, y), X, 7)
