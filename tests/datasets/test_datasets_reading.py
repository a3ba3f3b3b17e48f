"""Reading CSV, Parquet and Feather: what is read, and what errors say."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_datasets as naive
from petiole import PETClassifier
from petiole.datasets import assembling, read
from versions import pandas_can_be_hidden


def from_text(text, **options):
    return read(io.StringIO(text), **options)


def values_of(series):
    """A column as ("numeric" or "nominal", values with None for missing)."""
    nominal = isinstance(series.dtype, pd.CategoricalDtype)
    values = series.astype(object).tolist() if nominal else series.tolist()
    return "nominal" if nominal else "numeric", [None if value != value else value for value in values]


CELLS = st.one_of(
    st.sampled_from(
        ["", "?", "NA", "N/A", "-", "1", "2.5", "-3e2", "nan", "x", 'say "hi"', "a,b", "two\nlines", " 7 ", "1_0", "٣"]
    ),
    # without digits: test_datasets_intake looks at other spellings of numbers
    st.text(st.characters(codec="utf-8", exclude_characters="\r\x00", exclude_categories=["Nd"]), max_size=5),
)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 4).flatmap(lambda k: st.lists(st.lists(CELLS, min_size=k, max_size=k), min_size=1, max_size=9)))
def test_csv_is_what_the_naive_reading_says(rows):
    names = [f"c{index}" for index in range(len(rows[0]))]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    kept = [row for row in rows if len(row) > 1 or row[0].strip()]  # a blank line is no row
    if not kept:
        return
    frame = read(io.BytesIO(text.getvalue().encode()))
    assert list(frame.columns) == names
    for index, name in enumerate(names):
        assert values_of(frame[name]) == naive.csv_column([row[index] for row in kept]), name


@pytest.mark.parametrize("turn", [1, 255, 256, 257, 700])
def test_a_column_that_turns_nominal_late_is_nominal_from_the_start(turn):
    cells = [str(number) for number in range(turn)] + ["word"] * (1 + turn // 20) + ["1"]
    frame = from_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    assert values_of(frame["a"]) == ("nominal", cells)
    assert frame["b"].dtype == float


def test_pandas_reads_the_same_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=2000), "b": rng.integers(0, 9, 2000), "c": rng.choice(["x", "y, z"], 2000)}
    )
    ours = from_text(frame.to_csv(index=False))
    pd.testing.assert_frame_equal(ours.astype({"b": int, "c": str}), frame.astype({"c": str}))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_blanks(separator):
    frame = from_text(
        separator.join(["a", "b, c" if separator != "," else "b"]) + f"\n1{separator} x \n\n2{separator}y\n"
    )
    assert values_of(frame.iloc[:, 0]) == ("numeric", [1.0, 2.0])
    assert values_of(frame.iloc[:, 1]) == ("nominal", ["x", "y"])


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_byte_order_mark_and_no_last_newline(ending, tmp_path):
    path = tmp_path / "toys.csv"
    path.write_bytes(b"\xef\xbb\xbf" + ending.join(["grösse,farbe", "1,grün", "2,rot"]).encode())
    frame = read(path)
    assert list(frame) == ["grösse", "farbe"] and frame["farbe"].tolist() == ["grün", "rot"]


def test_gzip_paths_and_files(tmp_path):
    path = tmp_path / "toys.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,x\n2,y\n", mtime=0))
    expected = from_text("a,b\n1,x\n2,y\n")
    pd.testing.assert_frame_equal(read(path), expected)
    pd.testing.assert_frame_equal(read(str(path)), expected)
    with path.open("rb") as file:
        pd.testing.assert_frame_equal(read(file), expected)
    with gzip.open(path, "rt") as file:
        pd.testing.assert_frame_equal(read(file), expected)


def test_targets():
    text = "a,kind,size\n1,x,1\n2,y,3\n"
    X, y = from_text(text, target="kind")
    assert list(X) == ["a", "size"] and y.tolist() == ["x", "y"]
    _, y = from_text(text, target="size")
    assert y.dtype == np.int64 and y.tolist() == [1, 3]
    _, y = from_text(text, target="size", kinds={"size": "nominal"})
    assert y.tolist() == ["1", "3"]
    _, y = from_text("a,b\n1,0.5\n2,1\n", target="b")
    assert y.tolist() == [0.5, 1.0]


def test_kinds_and_missing_markers_can_be_said():
    text = "town,land,age\n1,NA,3\n2,DE,-\n"
    frame = from_text(text, kinds={"town": "nominal"}, missing=["-"])
    assert values_of(frame["town"]) == ("nominal", ["1", "2"])
    assert values_of(frame["land"]) == ("nominal", ["NA", "DE"])
    assert values_of(frame["age"]) == ("numeric", [3.0, None])


def test_what_was_read_can_be_learned_from():
    X, y = from_text("size,colour,toy\n" + "1,red,ball\n?,blue,doll\n3,,ball\n" * 5, target="toy")
    assert PETClassifier().fit(X, y).predict_proba(X).shape == (15, 2)


def test_names_that_are_numbers():
    assert list(from_text("0,1\n5,6\n")) == ["0", "1"]
    assert list(from_text("1,2\n5,6\n")) == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty: the first line must name the columns"),
        ("a,b\n", "there is a header but no rows"),
        ("a,b\n1,2\n3\n", r"line 3: 1 cell, but the header names 2 columns \(the first without a cell is 'b'\)"),
        (
            "a,b\n1,2\n\n\n3,4,5\n",
            r"line 5: 3 cells, but the header names 2 columns \(the first cell too many is '5'\)",
        ),
        ('a,b\n"1\n2",3\n4\n', "line 4: 1 cell"),  # a record of two lines comes before
        ('a,b\n1,"x\n2,y\n', "line 2: .* is not closed"),
        ('a,b\n1,"x"y\n', "line 2: .* text behind its end"),
        ("a,a\n1,2\n", "line 1: columns 1 and 2 are named 'a': rename them"),
        ("a,,c\n1,2,3\n", "line 1: column 2 has no name"),
        ("5.1,3.5,1.4\n4.9,3.0,1.4\n", "line 1: the first line holds numbers only .* the header seems to be missing"),
    ],
)
def test_bad_csv_is_told_by_its_line(text, message):
    with pytest.raises(ValueError, match=message):
        from_text(text)


def test_a_bad_number_is_told_by_line_and_column(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,age\n" + "bo,3\n" * 600 + "\n" + "al,x3\n")
    message = "people.csv, line 603, column 'age': 'x3' is not a number: correct it, .* kinds={'age': 'nominal'}"
    with pytest.raises(ValueError, match=message):
        read(path, kinds={"age": "numeric"})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a,b\n1,Zürich\n".encode("latin-1"), r"line 2: byte 0xfc at offset 7 is not UTF-8.*encoding='latin-1'"),
        (b"\xef\xbb\xbfa,b\n1,\xfc\n", "line 2: byte 0xfc at offset 9"),
        ("a,b\n1,2\n".encode("utf-16"), "line 1: byte 0x.. at offset 0 is not UTF-8.*encoding='utf-16'"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-12], "the gzip data is damaged or cut short"),
        (b"PK\x03\x04rest", "is a zip archive or a spreadsheet, which is not supported: save it as CSV"),
        (b"PAR1rubbish", "not a valid parquet file"),
        (b"ARROW1rubbish", "not a valid feather file"),
    ],
)
def test_bytes_that_are_no_text(data, message):
    with pytest.raises(ValueError, match=message):
        read(io.BytesIO(data))


def test_the_advice_on_encodings_works(tmp_path):
    path = tmp_path / "towns.csv"
    path.write_bytes("a,b\n1,Zürich\n".encode("latin-1"))
    with path.open(encoding="latin-1") as file:
        assert read(file)["b"].tolist() == ["Zürich"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"target": "clas"}, ValueError, "target='clas': the file has no such column; did you mean 'class'"),
        ({"target": "zzz"}, ValueError, "its columns are 'a', 'class'"),
        ({"target": "class"}, ValueError, "1 of 2 rows of the file have no class, the first is row 2"),
        ({"kinds": {"b": "nominal"}}, ValueError, "kinds names 'b', but the file has no such column"),
        ({"kinds": {"a": "ordinal"}}, ValueError, r"kinds\['a'\]='ordinal': must be 'numeric', 'nominal' or 'date'"),
        ({"kinds": ["nominal"]}, TypeError, "kinds=.*must be a dict"),
        ({"missing": "?"}, TypeError, r"missing='\?': must be a collection of strings"),
    ],
)
def test_bad_parameters(options, error, message):
    with pytest.raises(error, match=message):
        from_text("a,class\n1,x\n2,?\n", **options)


def test_other_bad_calls(tmp_path):
    with pytest.raises(ValueError, match="has no other column"):
        from_text("a\n1\n", target="a")
    with pytest.raises(TypeError, match="path_or_file=3: must be a path or an open file, not int"):
        read(3)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing.csv")


def odd_table():
    return pa.table(
        {
            "number": pa.array([1.5, None, float("nan")]),
            "whole": pa.array([1, None, 3], type=pa.int8()),
            "word": pa.array(["b", None, "?"]),
            "truth": pa.array([True, False, None]),
            "coded": pa.array(["y", None, "x"]).dictionary_encode(),
            "price": pa.array([Decimal(1), None, Decimal(2)], type=pa.decimal128(5, 2)),
        }
    )


def write_arrow(table, form, target):
    from pyarrow import feather, parquet

    if form == "parquet":
        parquet.write_table(table, target)
    else:
        feather.write_feather(table, target)


@pytest.mark.parametrize("reader", ["pyarrow", "polars"])
@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_parquet_and_feather(form, reader, tmp_path, monkeypatch):
    path = tmp_path / f"table.{form}"
    if form == "feather":
        from pyarrow import feather

        feather.write_feather(odd_table(), path, compression="uncompressed")
    else:
        write_arrow(odd_table(), form, path)
    if reader == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = read(path)
    assert values_of(frame["number"]) == ("numeric", [1.5, None, None])
    assert values_of(frame["whole"]) == ("numeric", [1.0, None, 3.0])
    assert values_of(frame["word"]) == ("nominal", ["b", None, "?"])
    assert values_of(frame["truth"]) == ("nominal", ["True", "False", None])
    assert values_of(frame["coded"]) == ("nominal", ["y", None, "x"])
    assert values_of(frame["price"]) == ("numeric", [1.0, None, 2.0])


def test_kinds_of_parquet_can_be_said():
    target = io.BytesIO()
    write_arrow(pa.table({"town": [3, 1, 3], "age": ["7", None, "8.5"], "y": [0, 1, 1]}), "parquet", target)
    target.seek(0)
    X, y = read(target, target="y", kinds={"town": "nominal", "age": "numeric"})
    assert values_of(X["town"]) == ("nominal", ["3", "1", "3"])
    assert values_of(X["age"]) == ("numeric", [7.0, None, 8.5])
    assert y.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (pa.table({"many": [[1, 2]]}), {}, "column 'many': is of type List"),
        (pa.table({"a": ["x"]}), {"kinds": {"a": "numeric"}}, "row 1, column 'a': 'x' is not a number"),
        (pa.table({"a": pa.array([], type=pa.int64())}), {}, "the table has 0 rows and 1 columns: it is empty"),
    ],
)
def test_columns_of_parquet_that_are_refused(table, options, message):
    target = io.BytesIO()
    write_arrow(table, "parquet", target)
    target.seek(0)
    with pytest.raises(ValueError, match=message):
        read(target, **options)


def test_parquet_without_a_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"needs pyarrow or polars: pip install pyarrow"):
        read(io.BytesIO(b"PAR1"))


@pandas_can_be_hidden
@pytest.mark.parametrize(("hidden", "kind"), [(["pandas"], pl.DataFrame), (["pandas", "polars"], pa.Table)])
def test_other_frame_libraries(monkeypatch, hidden, kind):
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    text = "size,colour,empty,toy\n" + "1,red,,ball\n?,blue,,doll\n3,,,ball\n" * 5
    X, y = from_text(text, target="toy", kinds={"empty": "nominal"})
    assert isinstance(X, kind)
    columns = X.to_dict(as_series=False) if kind is pl.DataFrame else X.to_pydict()
    assert columns["size"][:3] == [1.0, None, 3.0] and columns["colour"][:3] == ["red", "blue", None]
    assert columns["empty"][0] is None
    assert PETClassifier().fit(X, y).predict_proba(X).shape == (15, 2)


def test_no_frame_library_names_the_extra(monkeypatch):
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"none of pandas, polars and pyarrow .* pip install pandas"):
        from_text("a,b\n1,2\n")


def test_blocks_are_small_enough_to_be_tested():
    assert assembling.BLOCK == 256
