"""Encoded rows: taking some of them, and knowing where they were."""

from __future__ import annotations

import numpy as np
import pytest

from petiole._table.rows import EncodedRows, rows_that_count


@pytest.fixture
def rows():
    matrix, labels = np.arange(12.0).reshape(6, 2), np.array([0, 1, 1, 0, 2, 1], dtype=np.int32)
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    return EncodedRows(matrix, labels, weights, np.zeros(2, dtype=np.int32), np.array(["a", "b", "c"]))


@pytest.mark.parametrize(
    "selected", [slice(1, 4), np.array([1, 2, 3]), np.array([False, True, True, True, False, False])]
)
def test_some_rows_are_taken_by_slice_position_or_mask(rows, selected):
    some = rows.take(selected)
    assert len(some) == 3 and some.n_columns == 2
    np.testing.assert_array_equal(some.matrix, rows.matrix[1:4])
    np.testing.assert_array_equal(some.labels, [1, 1, 0])
    np.testing.assert_array_equal(some.weights, [2, 3, 4])
    np.testing.assert_array_equal(some.positions, [1, 2, 3])


def test_positions_are_those_in_the_users_data_however_often_rows_are_taken(rows):
    twice = rows.take(np.array([5, 3, 1])).take(np.array([2, 0]))
    np.testing.assert_array_equal(twice.positions, [1, 5])
    np.testing.assert_array_equal(twice.matrix, rows.matrix[[1, 5]])


def test_class_weights_have_a_place_for_absent_classes(rows):
    np.testing.assert_array_equal(rows.class_weights(), [5, 11, 5])
    np.testing.assert_array_equal(rows.take(np.array([0])).class_weights(), [1, 0, 0])


def test_no_weights_are_weights_of_one(rows):
    plain = EncodedRows(rows.matrix, rows.labels, None, rows.n_categories, rows.classes)
    np.testing.assert_array_equal(plain.weights_or_ones(), np.ones(6))
    assert plain.take(slice(2)).weights is None


@pytest.mark.parametrize(
    ("weights", "expected"), [(None, None), ([1.0, 2.0], None), ([0.0, 2.0], [1]), ([0.0, 0.0], [])]
)
def test_rows_that_count(weights, expected):
    found = rows_that_count(None if weights is None else np.array(weights))
    assert found is None if expected is None else found.tolist() == expected
