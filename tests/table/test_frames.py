"""Data frames: pandas, polars and pyarrow give the same matrix, and every spelling of missing is missing."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from petiole._table import frames as tables
from petiole._table.encoder import FeatureEncoder

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAN = float("nan")
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def encode(X, categorical_features="from_dtype"):
    return FeatureEncoder.fit(X, categorical_features)[1]


@pytest.fixture(params=LIBRARIES)
def make_frame(request):
    return LIBRARIES[request.param]


@pytest.fixture(params=["few rows", "many rows"])
def both_paths(request, monkeypatch):
    """Run once with the path for few rows and once with the path for many, whatever the number of rows."""
    monkeypatch.setattr(tables, "MANY_ROWS", 1 if request.param == "many rows" else 10**9)


TABLE = {
    "age": [30, None, 50, 20],
    "height": [1.5, 1.25, None, 2.0],
    "city": ["Rome", None, "Bern", "Rome"],
    "member": [True, False, None, True],
    "rooms": [3, 4, 5, 3],
    "nothing": [None, None, None, None],
}
MATRIX = np.array(
    [
        [30, 1.5, 1, 1, 3, NAN],
        [NAN, 1.25, NAN, 0, 4, NAN],
        [50, NAN, 0, NAN, 5, NAN],
        [20, 2, 1, 1, 3, NAN],
    ]
)


@pytest.mark.usefixtures("both_paths")
def test_all_libraries_give_the_same_matrix_and_read_each_other(make_frame):
    encoder, matrix = FeatureEncoder.fit(make_frame(TABLE))
    np.testing.assert_array_equal(matrix, MATRIX)
    assert matrix.flags.f_contiguous
    assert matrix.dtype == np.float64
    assert encoder.feature_names == list(TABLE)
    assert encoder.n_categories.tolist() == [0, 0, 2, 2, 0, 0]
    assert encoder.categories[2].tolist() == ["Bern", "Rome"]
    assert encoder.categories[3].tolist() == [False, True]
    for other in LIBRARIES.values():
        np.testing.assert_array_equal(encoder.transform(other(TABLE)), MATRIX)
    rows = np.array(list(zip(*TABLE.values(), strict=True)), dtype=object)
    np.testing.assert_array_equal(encoder.transform(rows), MATRIX)


def strings_in_every_dress():
    values = ["b", None, "a", "b"]
    yield "pandas str", pd.DataFrame({"x": values})
    yield "pandas object", pd.DataFrame({"x": pd.Series(values, dtype=object)})
    yield "pandas string", pd.DataFrame({"x": pd.array(values, dtype="string")})
    yield "pandas NA", pd.DataFrame({"x": pd.Series(["b", pd.NA, "a", "b"], dtype=object)})
    yield "pandas NaT", pd.DataFrame({"x": pd.Series(["b", pd.NaT, "a", "b"], dtype=object)})
    yield "pandas category", pd.DataFrame({"x": pd.Categorical(values, categories=["z", "b", "a"])})
    yield "pandas arrow", pd.DataFrame({"x": pd.Series(values, dtype=pd.ArrowDtype(pa.string()))})
    yield "polars", pl.DataFrame({"x": values})
    yield "polars category", pl.DataFrame({"x": pl.Series(values, dtype=pl.Categorical)})
    yield "polars enum", pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(["z", "b", "a"]))})
    yield "arrow", pa.table({"x": values})
    yield "arrow large", pa.table({"x": pa.array(values, pa.large_string())})
    yield "arrow dictionary", pa.table({"x": pa.array(values).dictionary_encode()})
    parts = [pa.array(part).dictionary_encode() for part in (["b", None], ["a", "b"])]
    yield "arrow dictionaries", pa.table({"x": pa.chunked_array(parts)})
    if hasattr(pa, "string_view"):
        yield "arrow view", pa.table({"x": pa.array(values, pa.string_view())})
    yield "list", [[value] for value in values]
    yield "array", np.array([["b"], [pd.NA], ["a"], ["b"]], dtype=object)
    yield "array NaT", np.array([["b"], [pd.NaT], ["a"], ["b"]], dtype=object)


STRINGS = dict(strings_in_every_dress())


@pytest.mark.usefixtures("both_paths")
@pytest.mark.parametrize("dress", STRINGS)
def test_strings_are_the_same_in_every_dress(dress):
    encoder, matrix = FeatureEncoder.fit(STRINGS[dress])
    np.testing.assert_array_equal(matrix, [[1], [NAN], [0], [1]])
    assert encoder.categories[0].tolist() == ["a", "b"], "unused categories are dropped"
    for other in STRINGS.values():
        np.testing.assert_array_equal(encoder.transform(other), matrix)


def numbers_in_every_dress():
    values = [3, None, 1, 3]
    yield "pandas", pd.DataFrame({"x": values})
    yield "pandas Int64", pd.DataFrame({"x": pd.array(values, dtype="Int64")})
    yield "pandas Float32", pd.DataFrame({"x": pd.array(values, dtype="Float32")})
    yield "pandas object", pd.DataFrame({"x": pd.Series([3, pd.NA, 1.0, Decimal(3)], dtype=object)})
    yield "pandas arrow", pd.DataFrame({"x": pd.Series(values, dtype=pd.ArrowDtype(pa.int64()))})
    yield "pandas arrow float", pd.DataFrame({"x": pd.Series(values, dtype=pd.ArrowDtype(pa.float64()))})
    yield "array", np.array([[3], [pd.NA], [1.0], [Decimal(3)]], dtype=object)
    yield "array NaT", np.array([[3], [pd.NaT], [1.0], [3]], dtype=object)
    yield "polars", pl.DataFrame({"x": values})
    yield "polars NaN", pl.DataFrame({"x": [3.0, NAN, 1.0, 3.0]})
    yield "polars Decimal", pl.DataFrame({"x": pl.Series(values).cast(pl.Decimal(5, 2))})
    if hasattr(pl, "Int128"):
        yield "polars Int128", pl.DataFrame({"x": pl.Series(values, dtype=pl.Int128)})
    yield "arrow", pa.table({"x": values})
    yield "arrow decimal", pa.table({"x": pa.array(values).cast(pa.decimal128(21, 2))})
    yield "list", [[value] for value in values]


NUMBERS = dict(numbers_in_every_dress())


@pytest.mark.parametrize("dress", NUMBERS)
def test_numbers_are_the_same_in_every_dress(dress):
    encoder, matrix = FeatureEncoder.fit(NUMBERS[dress])
    np.testing.assert_array_equal(matrix, [[3], [NAN], [1], [3]])
    assert encoder.categories == [None]
    listed, codes = FeatureEncoder.fit(NUMBERS[dress], [0])
    np.testing.assert_array_equal(codes, [[1], [NAN], [0], [1]])
    for other in NUMBERS.values():
        np.testing.assert_array_equal(listed.transform(other), codes)


@pytest.mark.usefixtures("both_paths")
@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"x": pd.Categorical([3, None, 1, 3])}),
        pa.table({"x": pa.array([3, None, 1, 3]).dictionary_encode()}),
    ],
    ids=["pandas", "pyarrow"],
)
def test_categories_may_be_numbers(X):
    encoder, matrix = FeatureEncoder.fit(X)
    np.testing.assert_array_equal(matrix, [[1], [NAN], [0], [1]])
    assert encoder.categories[0].tolist() == [1, 3]
    np.testing.assert_array_equal(encoder.transform(np.array([[1.0], [2.0], [3.0]])), [[0], [NAN], [1]])
    np.testing.assert_array_equal(encode(X, None), [[3], [NAN], [1], [3]])


def test_text_without_values_in_training_stays_missing(make_frame):
    nothing = pl.DataFrame({"x": pl.Series([None, None], dtype=pl.String)}).to_arrow()
    frame = {pd.DataFrame: nothing.to_pandas, pl.DataFrame: lambda: pl.from_arrow(nothing)}.get(make_frame)
    encoder, matrix = FeatureEncoder.fit(frame() if frame else nothing)
    np.testing.assert_array_equal(matrix, [[NAN], [NAN]])
    assert encoder.categories == [None]
    np.testing.assert_array_equal(encoder.transform(make_frame({"x": ["new"]})), [[NAN]])


def test_large_identifiers_with_nulls_stay_distinct(make_frame):
    frame = make_frame({"id": [2**60, None, 2**60 + 1]})
    if make_frame is pd.DataFrame:
        frame = pd.DataFrame({"id": pd.array([2**60, None, 2**60 + 1], dtype="Int64")})
    np.testing.assert_array_equal(encode(frame, ["id"]), [[0], [NAN], [1]])
    np.testing.assert_array_equal(encode(frame), [[2.0**60], [NAN], [2.0**60]])


def test_pandas_floats_are_not_copied():
    X = np.arange(6.0).reshape(3, 2)
    encoder, matrix = FeatureEncoder.fit(pd.DataFrame(X, copy=False))
    assert np.shares_memory(matrix, X)
    assert encoder.feature_names is None, "names that are not strings are no names"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_frames_of_one_float_type_keep_it(make_frame, dtype):
    encoder, matrix = FeatureEncoder.fit(make_frame({"a": np.array([1, NAN], dtype), "b": np.array([3, 4], dtype)}))
    assert matrix.dtype == dtype
    assert encoder.feature_names == ["a", "b"]
    np.testing.assert_array_equal(matrix, [[1, 3], [NAN, 4]])


def test_pandas_sparse_columns_are_read():
    frame = pd.DataFrame({"x": pd.arrays.SparseArray([0.0, 1.0, NAN]), "y": ["a", "b", "a"]})
    np.testing.assert_array_equal(encode(frame), [[0, 0], [1, 1], [NAN, 0]])


def test_columns_are_taken_by_position(make_frame):
    encoder, _ = FeatureEncoder.fit(make_frame({"a": ["x", "y"], "b": [1, 2]}))
    np.testing.assert_array_equal(encoder.transform(make_frame({"c": ["y"], "d": [5]})), [[1, 5]])


cells = st.one_of(st.none(), st.text("abä", max_size=2))
numbers = st.one_of(st.none(), st.integers(-5, 5))


@given(st.lists(st.tuples(cells, numbers, st.sampled_from([None, True, False])), min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@pytest.mark.usefixtures("both_paths")
def test_any_table_gives_the_same_matrix_in_every_library(rows):
    expected = encode(np.array(rows, dtype=object).reshape(len(rows), 3))
    text, number, truth = map(list, zip(*rows, strict=True))
    arrow = pa.table({"t": pa.array(text, pa.string()), "n": pa.array(number, pa.int64()), "b": pa.array(truth)})
    pandas = pd.DataFrame({"t": text, "n": pd.array(number, dtype="Int64"), "b": pd.Series(truth, dtype=object)})
    for frame in (arrow, pl.from_arrow(arrow), arrow.to_pandas(), pandas):
        encoder, matrix = FeatureEncoder.fit(frame)
        np.testing.assert_array_equal(matrix, expected)
        np.testing.assert_array_equal(encoder.transform(frame), expected)


# Refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([[1, 2]], "List|list"), ([b"x"], "Binary|bytes")],
)
def test_lists_and_bytes_are_refused_by_name(make_frame, values, dtype):
    with pytest.raises(TypeError, match=f"column 'bad'.*({dtype}).*convert"):
        encode(make_frame({"ok": [1], "bad": values}))


def test_periods_are_refused():
    with pytest.raises(TypeError, match=r"column 'when'.*convert"):
        encode(pd.DataFrame({"when": pd.period_range("2020", periods=1, freq="D")}))


def test_structs_are_refused():
    with pytest.raises(TypeError, match=r"column 'x' has dtype Struct"):
        encode(pl.DataFrame({"x": [{"a": 1}]}))


@pytest.mark.parametrize(
    "X", [pd.DataFrame(np.eye(2), columns=["a", "a"]), pa.table([[1, 2], [3, 4]], names=["a", "a"])]
)
def test_repeated_names_are_refused(X):
    with pytest.raises(ValueError, match=r"(?s)X has columns of the same name: rename them.*'a'"):
        encode(X)


def test_infinity_is_refused_by_name(make_frame):
    encoder, _ = FeatureEncoder.fit(make_frame({"a": ["x", "y"], "b": [1.0, 2.0]}))
    for read in (encode, encoder.transform):
        with pytest.raises(ValueError, match=r"X contains infinity: column 'b', row 1\. Replace"):
            read(make_frame({"a": ["x", "y"], "b": [1.0, -np.inf]}))


def test_series_are_refused():
    for series in (pd.Series([1, 2]), pl.Series([1, 2]), pa.chunked_array([[1, 2]])):
        with pytest.raises(ValueError, match=r"(?s)Expected 2D array, got 1D array instead.*Reshape your data"):
            encode(series)


def test_empty_frames_are_refused():
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 1\)\) while a minimum of 1 is required"):
        encode(pl.DataFrame({"a": []}))
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"):
        encode(pd.DataFrame(index=range(3)))


def test_names_choose_columns_and_a_slip_gets_a_suggestion(make_frame):
    frame = make_frame({"height": [1, 2], "city": [5, 6]})
    encoder, matrix = FeatureEncoder.fit(frame, ["city"])
    assert encoder.n_categories.tolist() == [0, 2]
    np.testing.assert_array_equal(matrix, [[1, 0], [2, 1]])
    with pytest.raises(ValueError, match=r"categorical_features=\['hieght'\]: X has no .*did you mean 'height'\?"):
        encode(frame, ["hieght"])
    with pytest.raises(ValueError, match=r"X has no column 'zzz'; the columns are 'height', 'city'"):
        encode(frame, ["zzz"])


def test_text_that_is_not_listed_is_refused_by_name(make_frame):
    with pytest.raises(ValueError, match=r"column 'city' holds 'Rome', which is not a number: .*categorical_feat"):
        encode(make_frame({"city": ["Rome", None], "x": [1, 2]}), ["x"])


def test_columns_of_the_same_name_are_told_in_one_line():
    import pandas as pd

    frame = pd.DataFrame([[1.0, 2.0, "a"], [2.0, 3.0, "b"]], columns=["x", "x", "c"])
    with pytest.raises(ValueError, match=r"^X has columns of the same name: rename them\. [^\n]*'x'[^\n]*$"):
        tables.read_table(frame)
