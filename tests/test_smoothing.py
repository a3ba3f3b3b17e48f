"""Leaf estimators: golden numbers and laws."""

from __future__ import annotations

import numpy as np
import pytest

from petiole import Tree
from petiole.smoothing import Laplace, Raw, as_leaf_estimator


@pytest.fixture
def golden_tree():
    """Root x0 <= 2 -> A; else I: x1 <= 1 -> B, else C."""
    nan = np.nan
    return Tree.from_arrays(
        feature=[0, -1, 1, -1, -1],
        threshold=[2, nan, 1, nan, nan],
        left=[1, -1, 3, -1, -1],
        right=[2, -1, 4, -1, -1],
        inbag_class_counts=[[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
    )


def test_golden_leaves(golden_tree):
    np.testing.assert_allclose(Raw().node_probabilities(golden_tree)[[1, 3, 4], 0], [0.8, 1 / 6, 0.5])
    np.testing.assert_allclose(Laplace().node_probabilities(golden_tree)[[1, 3, 4], 0], [0.75, 0.25, 0.5])


@pytest.mark.parametrize("estimator", [Raw(), Laplace(), Laplace(prior=[0.3, 4.0])])
def test_laws(golden_tree, estimator):
    table = estimator.node_probabilities(golden_tree)
    np.testing.assert_allclose(table.sum(axis=1), 1)
    counts = golden_tree.inbag_class_counts
    swapped = golden_tree.with_counts(inbag=counts[:, ::-1])
    mirrored = Laplace(prior=[4.0, 0.3]) if isinstance(getattr(estimator, "prior", None), list) else estimator
    np.testing.assert_allclose(mirrored.node_probabilities(swapped), table[:, ::-1])


def test_limits_of_the_prior(golden_tree):
    raw = Raw().node_probabilities(golden_tree)
    np.testing.assert_allclose(Laplace(prior=0).node_probabilities(golden_tree), raw)
    np.testing.assert_allclose(Laplace(prior=1e12).node_probabilities(golden_tree), 0.5, atol=1e-9)


@pytest.mark.parametrize("estimator", [Raw(), Laplace()])
def test_an_empty_node_takes_its_parents_row(golden_tree, estimator):
    counts = golden_tree.inbag_class_counts.copy()
    counts[[2, 3, 4]] = [[0, 0], [0, 0], [0, 0]]
    table = estimator.node_probabilities(golden_tree.with_counts(inbag=counts))
    np.testing.assert_array_equal(table[[2, 3, 4]], table[[0, 0, 0]])


def test_estimators_do_not_touch_the_tree(golden_tree):
    before = golden_tree.inbag_class_counts.copy()
    for estimator in (Raw(), Laplace()):
        estimator.node_probabilities(golden_tree)[:] = -1
    np.testing.assert_array_equal(golden_tree.inbag_class_counts, before)


def test_names():
    assert isinstance(as_leaf_estimator("raw"), Raw)
    assert isinstance(as_leaf_estimator("laplace"), Laplace)
    own = Laplace(prior=2)
    assert as_leaf_estimator(own) is own
