"""What metrics, decisions, comparisons and pictures refuse, and what they take."""

from __future__ import annotations

import numpy as np
import pytest

from petiole._table.judged import check_judged, check_probabilities

PROBA = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])


def test_columns_are_in_sorted_label_order():
    judged = check_judged(["b", "a", "c"], np.eye(3))
    assert judged.labels.tolist() == ["a", "b", "c"]
    assert judged.codes.tolist() == [1, 0, 2]
    assert judged.proba_of_truth.tolist() == [0, 0, 1]


def test_labels_name_the_columns():
    judged = check_judged([7, 5], PROBA, labels=[7, 6, 5])
    assert judged.codes.tolist() == [0, 2]
    assert judged.truth.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_weights_weigh_the_mean():
    judged = check_judged([0, 1], [[0.5, 0.5], [0.5, 0.5]], sample_weight=[3, 1])
    assert judged.mean(np.array([1.0, 5.0])) == 2.0


@pytest.mark.parametrize(
    ("proba", "words"),
    [
        ([0.2, 0.8], "numpy.column_stack"),
        ([[0.5, 0.4]], r"proba\[0\] sums to 0.9"),
        ([[0.5, 0.5], [-0.1, 1.1]], r"proba\[1, 0\]=-0.1"),
        ([[0.5, 0.5], [0.5, np.nan]], r"proba\[1, 1\]=nan"),
        ([[np.inf, 0.5]], r"proba\[0, 0\]=inf"),
        ([["a", "b"]], "real numbers"),
        (np.zeros((0, 2)), "shape"),
        (np.zeros((2, 2, 2)), "shape"),
    ],
)
def test_what_is_not_a_table_of_probabilities_is_refused(proba, words):
    with pytest.raises(ValueError, match=words):
        check_probabilities(proba)


def test_single_precision_may_round():
    rounded = np.random.default_rng(0).dirichlet(np.ones(9), size=100).astype(np.float32)
    assert check_probabilities(rounded).dtype == np.float64


@pytest.mark.parametrize(
    ("y", "arguments", "words"),
    [
        ([0, 0], {}, "1 class: pass labels="),
        ([0, 9], {"labels": [0, 1, 2]}, "label 9, but the classes are"),
        ([0, 1], {"labels": [0, 1]}, "3 columns"),
        ([0, 1], {"labels": [0, 1, 1]}, "occur once"),
        ([0, 1, 2], {}, "3 labels, but proba has 2 rows"),
        ([0, 1], {"labels": [0, 1, 2], "sample_weight": [1.0]}, "sample_weight has 1 weights"),
    ],
)
def test_what_does_not_fit_together_is_refused(y, arguments, words):
    with pytest.raises(ValueError, match=words):
        check_judged(y, PROBA, **arguments)


def test_what_rounding_has_moved_out_of_range_is_moved_back():
    p = 1 + 4 * np.finfo(float).eps
    table = check_probabilities(np.array([[1 - p, p], [0.5, 0.5]]))
    assert table.tolist() == [[0.0, 1.0], [0.5, 0.5]]
    with pytest.raises(ValueError, match=r"proba\[0, 0\]=-0\.001: must be a probability"):
        check_probabilities(np.array([[-0.001, 1.001]]))
