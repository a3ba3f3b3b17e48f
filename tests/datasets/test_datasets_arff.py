"""Reading ARFF: dense and sparse rows, quotes, declarations, and what errors say."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import arff as scipy_arff

import naive_datasets as naive
from petiole.datasets import arff_files, read

HEADER = """% A comment
@RELATION 'toys, large'

@attribute 'the size' REAL
@Attribute colour {red, 'dark blue', "it's \\"odd\\"", '?'}
@attribute whole integer
@attribute note string
@attribute class {ball,doll}
@DATA
"""


def from_text(text, **options):
    return read(io.StringIO(text), **options)


def cells(series):
    return [None if value != value else value for value in series.astype(object).tolist()]


def test_dense_rows():
    frame, y = from_text(
        HEADER
        + """1.5, red, 3, 'a, b', ball
% between
  ?,'dark blue', ?,?,doll

-2e3,"it's \\"odd\\"",0,plain words,'ball'
4,'?',1,"",ball
""",
        target="class",
    )
    assert list(frame) == ["the size", "colour", "whole", "note"]
    assert cells(frame["the size"]) == [1.5, None, -2000.0, 4.0]
    assert cells(frame["colour"]) == ["red", "dark blue", 'it\'s "odd"', "?"]
    assert cells(frame["whole"]) == [3.0, None, 0.0, 1.0]
    assert cells(frame["note"]) == ["a, b", None, "plain words", ""]
    assert y.tolist() == ["ball", "doll", "ball", "ball"]
    assert list(frame["colour"].cat.categories) == ["red", "dark blue", 'it\'s "odd"', "?"]  # as declared


def test_sparse_rows():
    """What is left out is 0, or the first declared value; dense and sparse rows may be mixed."""
    frame = from_text(
        """@relation r
@attribute a numeric
@attribute b {no, 'yes, sir', "}"}
@attribute c numeric
@data
{}
{1 'yes, sir', 2 4.5}
{ 0 ? ,1 "}" }
1,no,2
"""
    )
    assert cells(frame["a"]) == [0.0, 0.0, None, 1.0]
    assert cells(frame["b"]) == ["no", "yes, sir", "}", "no"]
    assert cells(frame["c"]) == [0.0, 4.5, 0.0, 2.0]


def test_gzip_carriage_returns_and_the_name_of_the_file(tmp_path):
    path = tmp_path / "r.arff.gz"
    path.write_bytes(gzip.compress(b"@relation r\r\n@attribute a {x,y}\r\n@data\r\nx\r\ny\r\n"))
    assert read(path)["a"].tolist() == ["x", "y"]


def test_kinds_override_the_declaration():
    text = "@relation r\n@attribute town integer\n@attribute size {1,2}\n@data\n3,1\n4,2\n"
    frame = from_text(text, kinds={"town": "nominal", "size": "numeric"})
    assert cells(frame["town"]) == ["3", "4"] and cells(frame["size"]) == [1.0, 2.0]


def test_scipy_reads_the_same():
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{rng.normal()},{rng.choice(['x', 'y z'])!r}\n".replace("np.str_(", "").replace(")", "") for _ in range(600)
    )
    text = f"@relation r\n@attribute a real\n@attribute b {{x,'y z'}}\n@data\n{rows}"
    theirs, _ = scipy_arff.loadarff(io.StringIO(text))
    ours = from_text(text)
    np.testing.assert_array_equal(ours["a"].to_numpy(), theirs["a"])
    assert ours["b"].tolist() == [value.decode() for value in theirs["b"]]


NAMES = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\x00\x85\u2028\u2029\x0b\x0c\x1c\x1d\x1e"),
    min_size=1,
    max_size=6,
)


@st.composite
def tables(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    kinds = [draw(st.one_of(st.none(), st.lists(NAMES, min_size=1, max_size=4, unique=True))) for _ in names]
    columns = [st.one_of(st.none(), st.integers(-9, 9) if kind is None else st.sampled_from(kind)) for kind in kinds]
    rows = draw(st.lists(st.tuples(st.booleans(), *columns), min_size=1, max_size=6))
    return names, kinds, rows


def write(names, kinds, rows):
    """Everything quoted; a row whose flag is set is sparse, without its zeros and first values."""
    lines = ["@relation r"]
    for name, kind in zip(names, kinds, strict=True):
        declared = "numeric" if kind is None else "{" + ",".join(map(naive.arff_quote, kind)) + "}"
        lines.append(f"@attribute {naive.arff_quote(name)} {declared}")
    lines.append("@data")
    for sparse, *values in rows:
        spelled = ["?" if v is None else str(v) if isinstance(v, int) else naive.arff_quote(v) for v in values]
        if sparse:
            defaults = [0 if kind is None else kind[0] for kind in kinds]
            kept = [f"{i} {s}" for i, (s, v) in enumerate(zip(spelled, values, strict=True)) if v != defaults[i]]
            lines.append("{" + ", ".join(kept) + "}")
        else:
            lines.append(",".join(spelled))
    return "\n".join(lines) + "\n"


@settings(max_examples=80, deadline=None)
@given(tables())
def test_what_was_written_is_read(table):
    names, kinds, rows = table
    frame = from_text(write(names, kinds, rows))
    assert list(frame) == names
    for index, name in enumerate(names):
        assert cells(frame[name]) == [row[index + 1] for row in rows]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,red,3,x\n", "line 10: 4 values, but 5 attributes are declared"),
        (
            "1,red,3,x,ball\n\n1,pink,3,x,ball\n",
            "line 12, column 'colour': 'pink' is none of the declared values 'red', 'd",
        ),
        ("1,red,three,x,ball\n", "line 10, column 'whole': 'three' is not a number"),
        ("1,red,3,'x,ball\n", "line 10: cannot read .*is a quote not closed"),
        ("1,red,3,x,ball,{5}\n", "line 10: weights of rows such as .5. are not read: give them as a column"),
        ("{0 1, 3 x\n", "line 10: a sparse row is one pair of braces"),
        ("{0 1, 9 x}\n", "line 10: '9 x': each entry of a sparse row is an index from 0 to 4"),
        ("{3 x, 0 1, 0 2}\n", "line 10: '0 2': each entry"),
        ("{3}\n", "line 10: '3': each entry"),
        ("{0 1}\n", "line 10: the sparse row leaves out the string 'note', which has no default"),
        ("", "there are no rows after @data"),
    ],
)
def test_bad_rows_are_told_by_their_line(rows, message):
    with pytest.raises(ValueError, match=message):
        from_text(HEADER + rows)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("@attribute day date 'yyyy-DDD'\n@data\n", "line 2: the date pattern 'yyyy-DDD' has the letters 'DDD'"),
        ("@attribute bag relational\n", "line 2: attribute 'bag' is of type relational"),
        ("@attribute a complex\n@data\n", "line 2: attribute 'a' has the type 'complex': use numeric, string or"),
        ("@attribute a\n@data\n", "line 2: attribute 'a' has the type ''"),
        ("@attribute\n@data\n", "line 2: cannot read '@attribute': write @attribute name type"),
        ("@attribute a {x,y\n@data\n", "line 2: the list of values is not closed"),
        ("@attribute a {x,y,x}\n@data\n", "line 2: the value 'x' is declared twice"),
        ("@attribute a real\n@attribute a real\n@data\n", "line 3: two attributes are named 'a'"),
        ("@attribute a real\n1,2\n", "line 3: '1,2' is not ARFF: expected @relation"),
        ("@data\n1\n", "line 2: @data comes before any @attribute"),
        ("@attribute a real\n", "there is no @data line"),
    ],
)
def test_bad_headers_are_told_by_their_line(header, message):
    with pytest.raises(ValueError, match=message):
        from_text("@relation r\n" + header)


def test_an_unclosed_list_of_many_quoted_values_is_refused_at_once():
    values = ", ".join(f"'value {number}'" for number in range(200))
    with pytest.raises(ValueError, match="not closed"):
        from_text(f"@relation r\n@attribute a {{{values}\n@data\n")


@pytest.mark.parametrize(
    ("declared", "cell"),
    [
        ("", "2021-03-04T12:00:00"),
        ("'yyyy-MM-dd HH:mm'", "'2021-03-04 12:00'"),
        ("\"dd.MM.yyyy'T'HH\"", "04.03.2021T12"),
        ("dd/MMM/yy-HH:mm:ss", "04/Mar/21-12:00:00"),
    ],
)
def test_dates_are_read_in_the_declared_pattern(declared, cell):
    text = f"@relation r\n@attribute day date {declared}\n@attribute size real\n@data\n{cell},1\n?,2\n"
    moments = arff_files.read_arff(text, "r.arff", {})["day"].moments()
    assert str(moments[0]) == "2021-03-04T12:00:00.000000" and np.isnat(moments[1])
    assert arff_files.read_arff(text, "r.arff", {"day": "nominal"})["day"].kind == "nominal"


def test_a_date_in_another_pattern_is_an_error():
    text = "@relation r\n@attribute day date yyyy-MM-dd\n@attribute size real\n@data\n4.3.2021,1\n"
    with pytest.raises(ValueError, match=r"r.arff, column 'day': '4.3.2021' is none of dates such as 2021-12-31"):
        arff_files.read_arff(text, "r.arff", {})
