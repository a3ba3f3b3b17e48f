"""The one float matrix: what goes in, what comes out, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from petiole._table import frames as tables
from petiole._table.columns import EmptyColumn
from petiole._table.encoder import FeatureEncoder

NAN = float("nan")


def encode(X, categorical_features="from_dtype"):
    return FeatureEncoder.fit(X, categorical_features)[1]


def objects(*rows):
    return np.array(rows, dtype=object)


# Numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("view", ["C", "F", "strided", "reversed", "read-only"])
def test_float_arrays_are_not_copied(dtype, view):
    X = np.arange(24, dtype=dtype).reshape(6, 4)
    if view == "read-only":
        X.flags.writeable = False
    else:
        X = {"C": X, "F": np.asfortranarray(X), "strided": X[::2, ::3], "reversed": X[::-1, ::-1]}[view]
    encoder, matrix = FeatureEncoder.fit(X)
    assert matrix is X
    assert encoder.transform(X) is X
    assert encoder.categories == [None] * X.shape[1]
    assert encoder.n_categories.dtype == np.int32
    assert not encoder.n_categories.any()
    assert encoder.feature_names is None


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("f2", "f4"), ("i8", "f8"), ("u1", "f8"), (">f8", "f8"), (">f4", "f4"), (">i4", "f8"), ("g", "f8")],
)
def test_other_numbers_are_converted_to_native_floats(dtype, expected):
    X = np.array([[1, 2], [3, 4]], dtype=dtype)
    encoder, matrix = FeatureEncoder.fit(X)
    for result in (matrix, encoder.transform(X)):
        assert result.dtype == np.dtype(expected)
        assert result.dtype.isnative
        np.testing.assert_array_equal(result, [[1, 2], [3, 4]])


def test_unaligned_floats_are_copied_for_the_core():
    X = np.frombuffer(b"\0" + np.arange(4.0).tobytes(), dtype=np.float64, offset=1).reshape(2, 2)
    assert not X.flags.aligned
    matrix = encode(X)
    assert matrix.flags.aligned
    np.testing.assert_array_equal(matrix, X)


def test_integers_beyond_the_exact_range_become_floats():
    assert encode([[2**60 + 1], [0]])[0, 0] == 2.0**60
    assert encode([[2**70], [0]])[0, 0] == 2.0**70


def test_masked_entries_are_missing():
    X = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(encode(X), [[1, NAN], [3, 4]])
    X = np.ma.array([["a", "b"], ["c", "d"]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(encode(X), [[0, NAN], [1, 0]])


# Names, truth values and mixtures ---------------------------------------------------------------------------


def test_lists_of_strings_and_numbers_keep_their_types():
    encoder, matrix = FeatureEncoder.fit([["b", 1.5], ["a", None], [NAN, 3]])
    np.testing.assert_array_equal(matrix, [[1, 1.5], [0, NAN], [NAN, 3]])
    assert encoder.categories[0].tolist() == ["a", "b"]
    assert encoder.categories[1] is None
    assert encoder.n_categories.tolist() == [2, 0]
    assert matrix.flags.f_contiguous
    np.testing.assert_array_equal(encode([["b", 1.5], ["a", 2.5]]), [[1, 1.5], [0, 2.5]])


@pytest.mark.skipif(not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"), reason="numpy 2")
def test_numpy_strings_of_any_length_may_be_missing():
    X = np.array([["b"], [None], ["a"]], dtype=np.dtypes.StringDType(na_object=None))
    np.testing.assert_array_equal(encode(X), [[1], [NAN], [0]])


def test_numpy_strings_are_nominal_even_if_they_spell_numbers():
    encoder, matrix = FeatureEncoder.fit(np.array([["10"], ["9"]]))
    assert encoder.categories[0].tolist() == ["10", "9"]
    np.testing.assert_array_equal(matrix, [[0], [1]])


def test_truth_values_are_nominal_unless_told_otherwise():
    X = np.array([[True, True], [False, True]])
    encoder, matrix = FeatureEncoder.fit(X)
    assert [categories.tolist() for categories in encoder.categories] == [[False, True], [True]]
    np.testing.assert_array_equal(matrix, [[1, 0], [0, 0]])
    np.testing.assert_array_equal(encoder.transform([[0, 1], [1.0, 0]]), [[0, 0], [1, NAN]])
    plain, matrix = FeatureEncoder.fit(X, categorical_features=None)
    assert plain.categories == [None, None]
    np.testing.assert_array_equal(matrix, X)


@pytest.mark.parametrize(
    ("values", "nominal"),
    [
        ([1, 2.5, None], False),
        ([Decimal("1.5"), np.float32(2), np.int8(1)], False),
        ([None, NAN, None], False),
        (["a", NAN, None], True),
        ([True, None, False], True),
        (["a", 1, 2.5], True),
        ([True, 1.0, 0.0], True),
    ],
)
def test_object_columns_are_judged_by_content(values, nominal):
    encoder, _ = FeatureEncoder.fit(objects(*[[value] for value in values]))
    assert (encoder.categories[0] is not None) == nominal


def test_mixed_categories_have_one_order_whatever_the_order_of_rows():
    values = ["b", 2, "a", 1.5, True, "1"]
    expected = [True, 1.5, 2, "1", "a", "b"]
    for rows in (values, values[::-1]):
        encoder, _ = FeatureEncoder.fit(objects(*[[value] for value in rows]))
        assert encoder.categories[0].tolist() == expected


def test_equal_values_match_whatever_their_type():
    encoder, _ = FeatureEncoder.fit(np.array([[1], [2], [5]]), [0])
    for X in ([[5.0], [1.0], [3.0]], objects([5], [True], ["1"]), np.array([[5], [1], [9]], dtype=np.uint8)):
        np.testing.assert_array_equal(encoder.transform(X), [[2], [0], [NAN]])
    encoder, _ = FeatureEncoder.fit([["x"], ["y"]])
    for X in (np.array([["y"], ["z"]]), objects([np.str_("y")], [None])):
        np.testing.assert_array_equal(encoder.transform(X), [[1], [NAN]])


def test_large_identifiers_stay_distinct_as_categories():
    ids = np.array([[2**60], [2**60 + 1], [2**60 + 2]])
    encoder, matrix = FeatureEncoder.fit(ids, [0])
    np.testing.assert_array_equal(matrix, [[0], [1], [2]])
    np.testing.assert_array_equal(encoder.transform(ids.astype(np.uint64)), [[0], [1], [2]])


def test_missing_is_not_a_category():
    encoder, matrix = FeatureEncoder.fit(np.array([[NAN], [3], [NAN], [1]]), [0])
    assert encoder.categories[0].tolist() == [1, 3]
    np.testing.assert_array_equal(matrix, [[NAN], [1], [NAN], [0]])


def test_infinity_may_name_a_category():
    encoder, matrix = FeatureEncoder.fit(np.array([[np.inf, 1], [0, 2]]), [0])
    np.testing.assert_array_equal(matrix, [[1, 1], [0, 2]])
    assert encoder.categories[0].tolist() == [0, np.inf]


def test_a_column_without_values_stays_missing():
    encoder, matrix = FeatureEncoder.fit(objects([None, 1], [NAN, 2]))
    assert isinstance(encoder.columns[0], EmptyColumn)
    np.testing.assert_array_equal(matrix, [[NAN, 1], [NAN, 2]])
    assert encoder.n_categories.tolist() == [0, 0]
    np.testing.assert_array_equal(encoder.transform([["new", 3]]), [[NAN, 3]])
    listed, _ = FeatureEncoder.fit(np.array([[NAN], [NAN]]), [0])
    assert listed.categories == [None]


def test_encoders_survive_pickling():
    encoder, matrix = FeatureEncoder.fit([["a", 1], ["b", 2]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).transform([["a", 1], ["b", 2]]), matrix)


# Laws -------------------------------------------------------------------------------------------------------

cell = st.one_of(st.none(), st.just(NAN), st.text("abc", max_size=2), st.integers(-3, 3), st.booleans())
number = st.one_of(st.none(), st.just(NAN), st.integers(-(2**40), 2**40), st.floats(allow_infinity=False))


def is_missing(value):
    return value is None or value != value


@given(st.lists(cell, min_size=1), st.randoms(use_true_random=False))
def test_codes_name_their_values_and_do_not_depend_on_the_order_of_rows(values, random):
    X = objects(*[[value] for value in values])
    encoder, matrix = FeatureEncoder.fit(X, [0])
    np.testing.assert_array_equal(encoder.transform(X), matrix)
    categories = encoder.categories[0]
    for value, code in zip(values, matrix[:, 0], strict=True):
        if is_missing(value):
            assert np.isnan(code)
        else:
            assert categories[int(code)] == value
    random.shuffle(values)
    shuffled, _ = FeatureEncoder.fit(objects(*[[value] for value in values]), [0])
    np.testing.assert_array_equal(shuffled.transform(X), matrix)


@given(st.lists(number, min_size=1))
def test_numbers_come_through_unchanged(values):
    matrix = encode(objects(*[[value] for value in values]))
    np.testing.assert_array_equal(matrix[:, 0], [NAN if is_missing(value) else float(value) for value in values])


@given(hnp.arrays(st.sampled_from([np.float32, np.float64]), st.tuples(st.integers(1, 5), st.integers(1, 5))))
def test_infinity_is_refused_exactly_where_it_is(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if np.isinf(X).any():
            column = int(np.isinf(X).any(axis=0).argmax())
            with pytest.raises(ValueError, match=f"infinity: column {column}, row"):
                encode(X)
        else:
            assert encode(X) is X


# Refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([1, 2, 3], ValueError, r"Expected 2D array, got 1D array instead.*Reshape your data"),
        (3.0, ValueError, r"Expected 2D array, got scalar array instead.*Reshape your data"),
        (np.zeros((2, 2, 2)), ValueError, r"Found array with dim 3.*while dim <= 2 is required"),
        (
            np.zeros((0, 3)),
            ValueError,
            r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required\.",
        ),
        (
            np.zeros((12, 0)),
            ValueError,
            r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required\.",
        ),
        ([[1, 2], [3]], ValueError, r"Give every row the same number of values"),
        (np.array([[1j]]), ValueError, r"Complex data not supported"),
        (objects([1j]), ValueError, r"Complex data not supported"),
        (objects([{"foo": "bar"}]), TypeError, r"column 0: argument must be .* string.* number.*'dict'"),
        (objects([b"x"]), TypeError, r"column 0.*'bytes'.*convert"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, r"datetime64\[D\].*convert"),
        (np.array([[b"x"]]), TypeError, r"\|S1.*convert"),
        (sparse.csr_array(1j * np.eye(3)), ValueError, r"Complex data not supported"),
        ([[1.0], [np.inf]], ValueError, r"X contains infinity: column 0, row 1.*Replace it"),
    ],
)
def test_refused_in_fit_and_in_transform(X, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        FeatureEncoder.fit(X)
    encoder, _ = FeatureEncoder.fit(np.eye(1))
    with pytest.raises(error, match=f"(?s){message}"):
        encoder.transform(X)


def test_a_different_number_of_columns_is_refused():
    encoder, _ = FeatureEncoder.fit(np.eye(2), owner="PETClassifier")
    with pytest.raises(ValueError, match="X has 1 features, but PETClassifier is expecting 2 features as input"):
        encoder.transform(np.eye(1))


def test_text_in_a_numeric_column_is_refused_in_transform():
    encoder, _ = FeatureEncoder.fit([[1, 2], [3, 4]])
    np.testing.assert_array_equal(encoder.transform([[1, "2.5"]]), [[1, 2.5]])
    with pytest.raises(ValueError, match=r"column 1 holds 'x', which is not a number: .*categorical_features"):
        encoder.transform([[1, 2], [3, "x"]])


# categorical_features ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [[1], (np.int64(1),), np.array([1]), [False, True], np.array([False, True])])
def test_indices_and_masks_choose_exactly_these_columns(choice):
    encoder, matrix = FeatureEncoder.fit(np.array([[7, 30], [8, 10], [9, 30]]), choice)
    assert encoder.n_categories.tolist() == [0, 2]
    np.testing.assert_array_equal(matrix, [[7, 1], [8, 0], [9, 1]])


@pytest.mark.parametrize("choice", [None, []])
def test_nothing_is_nominal_if_the_user_says_so(choice):
    np.testing.assert_array_equal(encode([["1.5", True], [None, False]], choice), [[1.5, 1], [NAN, 0]])
    with pytest.raises(ValueError, match=r"column 0 holds 'Rome', which is not a number.*categorical_features"):
        encode([["1.5"], ["Rome"]], choice)


def test_text_that_is_not_listed_is_refused():
    with pytest.raises(ValueError, match=r"column 1 holds 'c', which is not a number: .*list it in categorical"):
        encode([["a", "c"], ["b", "d"]], [0])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("city", r"categorical_features='city': must be 'from_dtype', None, a list .*write \['city'\]"),
        (1, r"categorical_features=1: must be .*write \[1\]"),
        (2.5, r"categorical_features=2.5: must be"),
        ([0, "a"], r"categorical_features=\[0, 'a'\]: must be"),
        ([0, True], r"categorical_features=\[0, True\]: must be"),
        ([[0]], r"categorical_features=\[\[0\]\]: must be"),
        ({"a": 1}, r"categorical_features=\{'a': 1\}: must be"),
        ([2], r"categorical_features=\[2\]: there is no column 2; X has 2 features, use 0 to 1"),
        ([-1], r"there is no column -1"),
        ([True], r"the mask has 1 entries, but X has 2 features"),
        (["a"], r"X has no column names"),
    ],
)
def test_bad_choices_name_the_parameter_the_value_and_the_remedy(choice, message):
    with pytest.raises(ValueError, match=message):
        FeatureEncoder.fit(np.eye(2), choice)


# Around -----------------------------------------------------------------------------------------------------


def test_no_frame_library_is_needed():
    code = """
import sys
sys.modules.update(dict.fromkeys(["pandas", "polars", "pyarrow"]))  # importing one of them now fails
from petiole._table.encoder import FeatureEncoder
from petiole._table.labels import encode_labels
FeatureEncoder.fit([["a", 1], [None, 2]])
encode_labels(["a", "b"])
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_single_row_takes_the_short_path(monkeypatch):
    encoder, _ = FeatureEncoder.fit(np.eye(3))
    monkeypatch.setattr(tables, "as_array", None)  # whatever reads tables at length would stumble here
    row = np.array([[1.0, NAN, 3.0]])
    assert encoder.transform(row) is row
    with pytest.raises(ValueError, match=r"X contains infinity: column 1, row 0"):
        encoder.transform(np.array([[1.0, -np.inf, NAN]]))
