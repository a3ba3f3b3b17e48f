"""Labels, weights, and the rules of scikit-learn that both must keep."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from petiole._table.encoder import FeatureEncoder
from petiole._table.labels import check_same_length, check_weights, encode_labels

NAN = float("nan")


def one_column_frames():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    return pd, pl, pa


# Labels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        ([3, 1, 3], [1, 3], [1, 0, 1]),
        (np.array([-128, 127, 0], dtype=np.int8), [-128, 0, 127], [0, 2, 1]),
        (np.array([2**64 - 1, 2**64 - 3], dtype=np.uint64), [2**64 - 3, 2**64 - 1], [1, 0]),
        ([10**12, -5, 10**12], [-5, 10**12], [1, 0, 1]),
        (np.array([2.0, -1.0]), [-1.0, 2.0], [1, 0]),
        (np.array([1e300, 0.0]), [0.0, 1e300], [1, 0]),
        ([True, False, True], [False, True], [1, 0, 1]),
        (np.array([True, True]), [True], [0, 0]),
        (["b", "a"], ["a", "b"], [1, 0]),
        (np.array(["b", "a"]), ["a", "b"], [1, 0]),
        (np.array(["b", np.str_("a")], dtype=object), ["a", "b"], [1, 0]),
        (np.array([2, np.int8(1)], dtype=object), [1, 2], [1, 0]),
        (np.array([2.0, 1], dtype=object), [1.0, 2.0], [1, 0]),
        (np.array([True, np.False_], dtype=object), [False, True], [1, 0]),
        (np.array([Decimal(2), 1], dtype=object), [1.0, 2.0], [1, 0]),
        (np.array([2**70, -1], dtype=object), [-1, 2**70], [1, 0]),
    ],
)
def test_labels_of_every_type(y, classes, codes):
    found_classes, found_codes = encode_labels(y)
    assert found_classes.tolist() == classes
    assert found_codes.dtype == np.int32
    assert found_codes.tolist() == codes


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "bool", "<U1"])
def test_classes_keep_the_dtype_of_the_labels(dtype):
    assert encode_labels(np.array([1, 0, 1]).astype(dtype))[0].dtype == np.dtype(dtype)


def test_series_of_every_library_give_the_same_codes():
    pd, pl, pa = one_column_frames()
    text = ["b", "a", "b"]
    for y in (
        pd.Series(text),
        pd.Series(pd.Categorical(text, categories=["z", "b", "a"])),
        pd.Series(text, dtype="string"),
        pl.Series(text),
        pl.Series(text, dtype=pl.Categorical),
        pa.chunked_array([text]),
        pa.chunked_array([pa.array(text).dictionary_encode()]),
        pa.array(text),
    ):
        classes, codes = encode_labels(y)
        assert classes.tolist() == ["a", "b"]
        assert codes.tolist() == [1, 0, 1]
    for y in (
        pd.Series([2, 1]),
        pd.array([2, 1], dtype="Int64"),
        pl.Series([2, 1]),
        pa.chunked_array([[2, 1]]),
    ):
        assert encode_labels(y)[0].tolist() == [1, 2]


integer_dtypes = st.one_of(hnp.integer_dtypes(endianness="="), hnp.unsigned_integer_dtypes(endianness="="))


@given(hnp.arrays(integer_dtypes, st.integers(1, 20)))
def test_integer_labels_agree_with_sorting(y):
    expected_classes, expected_codes = np.unique(y, return_inverse=True)
    classes, codes = encode_labels(y)
    np.testing.assert_array_equal(classes, expected_classes)
    np.testing.assert_array_equal(codes, expected_codes)
    for other in (y.astype(object), y.astype(str)):
        other_classes, other_codes = encode_labels(other)
        np.testing.assert_array_equal(other_classes[other_codes], other)


@pytest.mark.parametrize("missing", [None, NAN, np.float32("nan"), Decimal("nan")])
@pytest.mark.parametrize("label", ["a", 1, True])
def test_missing_labels_are_refused(missing, label):
    for y in ([label, missing], np.array([label, missing], dtype=object)):
        with pytest.raises(ValueError, match=r"y contains NaN or another missing label \(row 1\): drop the rows"):
            encode_labels(y)


def test_missing_labels_of_frame_libraries_are_refused():
    pd, pl, pa = one_column_frames()
    for values in (["a", None], [1, None], [True, None]):
        for y in (
            pd.Series(values),
            pd.Series(values, dtype="category"),
            pd.Series([values[0], pd.NA], dtype=object),
            pl.Series(values),
            pa.chunked_array([values]),
            pa.chunked_array([pa.array(values).dictionary_encode()]),
        ):
            with pytest.raises(ValueError, match=r"y contains NaN or another missing label \(row 1\)"):
                encode_labels(y)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "requires y to be passed, but the target y is None"),
        ([], ValueError, "y has no labels"),
        ([0.5, 1.0], ValueError, "Unknown label type: continuous"),
        (np.array([0.5, 1.0], dtype=object), ValueError, "Unknown label type: continuous"),
        ([1.0, np.inf], ValueError, r"y contains infinity \(row 1\)"),
        ([1, 1j], ValueError, "Complex data not supported"),
        ([[1, 2], [3, 4]], ValueError, "y should be a 1d array, got an array of shape"),
        ("abc", ValueError, "y should be a 1d array"),
        (sparse.csr_array(np.eye(2)), TypeError, "sparse"),
        (np.array(["2020"], dtype="M8[Y]"), ValueError, "Unknown label type"),
        (np.array([datetime.date(2020, 1, 1)]), ValueError, "Unknown label type: date"),
        ([b"x", b"y"], ValueError, "Unknown label type: bytes"),
        ([1, "a"], TypeError, "y mixes labels of types int, str: convert them to one type"),
        ([True, 2.0, "a"], TypeError, "y mixes labels of types bool, float, str"),
    ],
)
def test_refused_labels(y, error, message):
    with pytest.raises(error, match=message):
        encode_labels(y)


def test_one_column_is_taken_with_a_warning():
    pd, pl, pa = one_column_frames()
    column = [2, 1]
    for y in (
        np.array([column]).T,
        *(make({"y": column}) for make in (pd.DataFrame, pl.DataFrame, pa.table)),
    ):
        with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
            assert encode_labels(y)[1].tolist() == [1, 0]
    with pytest.raises(ValueError, match="y should be a 1d array"):
        encode_labels(pl.DataFrame({"a": column, "b": column}))


def test_many_classes_get_the_warning_of_scikit_learn():
    with pytest.warns(UserWarning, match="number of unique classes is greater than 50%"):
        encode_labels(np.arange(21))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_labels(np.arange(20))
        encode_labels(np.arange(40) // 2)


def test_lengths_must_agree():
    check_same_length(3, 3)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[3, 2\]\. Give one label"):
        check_same_length(3, 2)


# Weights ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [2, 2.0, np.float32(2), np.array(2), [2, 2, 2], np.array([2, 2, 2], dtype=object)])
def test_weights_become_floats(weights):
    found = check_weights(weights, 3)
    assert found.dtype == np.float64
    assert found.tolist() == [2, 2, 2]


def test_weights_of_frame_libraries():
    pd, pl, pa = one_column_frames()
    for weights in (
        pd.Series([1, 2]),
        pd.array([1, 2], dtype="Int64"),
        pl.Series([1, 2]),
        pa.chunked_array([[1, 2]]),
    ):
        assert check_weights(weights, 2).tolist() == [1, 2]


def test_no_weights_stay_none_and_float_weights_are_not_copied():
    assert check_weights(None, 3) is None
    weights = np.array([0.0, 1.0, 2.0])
    assert np.shares_memory(check_weights(weights, 3), weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2, 1], r"sample_weight\[1\]=-2.0: must not be negative; 0 leaves a row out"),
        ([1, 1, NAN], r"sample_weight\[2\]=nan: must be finite"),
        ([1, 1, None], r"sample_weight\[2\]=nan: must be finite"),
        ([np.inf, 1, 1], r"sample_weight\[0\]=inf: must be finite"),
        (-1, r"sample_weight\[0\]=-1.0: must not be negative"),
        ([0, 0, 0], r"sample_weight: all weights are zero; give at least one row a positive weight"),
        ([1, 1], r"sample_weight has 2 weights, but X has 3 rows: give one weight per row"),
        (np.ones((3, 2)), r"sample_weight has shape \(3, 2\): must be a 1D array"),
        (["a", "b", "c"], r"sample_weight=.*must be numbers"),
        ("balanced", r"sample_weight='balanced': must be numbers"),
        ([1j, 1, 1], r"Complex data not supported: sample_weight"),
    ],
)
def test_refused_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weights, 3)


# All of it behind scikit-learn's classifier -----------------------------------------------------------------


class BehindTheEncoder(ClassifierMixin, BaseEstimator):
    """The thinnest classifier that reads its data through petiole, for scikit-learn's checks to judge."""

    def fit(self, X, y, sample_weight=None):
        validate_data(self, X, skip_check_array=True)
        self.encoder_, matrix = FeatureEncoder.fit(X, owner=type(self).__name__)
        self.classes_, codes = encode_labels(y)
        check_same_length(len(matrix), len(codes))
        weights = check_weights(sample_weight, len(matrix))
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(matrix, codes, weights)
        return self

    def predict(self, X):
        check_is_fitted(self)
        matrix = self.encoder_.transform(X)  # first, since validate_data has no good word for 1-D arrays
        validate_data(self, X, skip_check_array=True, reset=False)
        return self.classes_[self.tree_.predict(matrix)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


@parametrize_with_checks([BehindTheEncoder()])
def test_scikit_learn_accepts_the_reading(estimator, check):
    check(estimator)
