"""Messy files: numbers in every spelling, missing values, dates, nameless columns, targets; what is said of them."""

from __future__ import annotations

import datetime
import io
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_datasets as naive
from petiole import PETClassifier, ProbabilityForestClassifier
from petiole._table.number_texts import MISSING_MARKERS, NumberFormat, NumberSigns, recognise_numbers
from petiole.datasets import cut_into_classes, read

SPELLINGS = [(".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'")]
UNITS = ["", "$", "€", "%", "years"]


def quietly(text, **options):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = read(io.StringIO(text), **options)
    return found, " ".join(str(one.message) for one in told)


def column(cells, **options):
    lines = "".join(f"{cell}|{index % 2}\n" for index, cell in enumerate(cells))
    frame, told = quietly("x|z\n" + lines, **options)
    return frame["x"], told


def spell(number, decimal, thousands, unit, places):
    text = f"{abs(number):,.{places}f}"
    text = text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)
    text = f"{unit}{text}" if unit in ("$", "€") else f"{text} {unit}" if unit else text
    return ("-" if number < 0 else "") + text


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(SPELLINGS),
    st.sampled_from(UNITS),
    st.lists(st.floats(-1e9, 1e9).filter(lambda x: abs(x) > 0.1), min_size=1, max_size=8),
    st.integers(0, 2),
)
def test_every_format_reads_what_it_spells(pair, unit, numbers, places):
    format = NumberFormat(*pair, unit)
    for number in numbers:
        text = spell(number, *pair, unit, places)
        expected = naive.spelled_number(text, *pair, unit)
        assert format.parse(text) == expected == pytest.approx(round(number, places), abs=0.1**places)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SPELLINGS), st.sampled_from(UNITS), st.text("0123456789.,'- $%€years", max_size=12))
def test_formats_agree_with_reading_letter_by_letter(pair, unit, text):
    found, expected = NumberFormat(*pair, unit).parse(text), naive.spelled_number(text, *pair, unit)
    if found is not None and expected is not None:
        assert found == expected
    if found is None and expected is not None:  # spaces and signs in odd places, which the slow version lets pass
        assert set(text.strip()) & set(" -") or "." in text[-1:] + text[:1] or "," in text[-1:] + text[:1]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,5", "2,25", "17"], [1.5, 2.25, 17]),
        (["1,234.50", "7", "12,000"], [1234.5, 7, 12000]),
        (["$1,234", "$5", "-$3.5"], [1234, 5, -3.5]),
        (["(1,234.5)", "2"], [-1234.5, 2]),
        (["12 %", "0.5%", "100 %"], [12, 0.5, 100]),
        (["51 years", "4 years"], [51, 4]),
        (["1.234.567", "2.000.000"], [1234567, 2000000]),
        (["1 234,5", "2"], [1234.5, 2]),
        (["1'000", "2'500.5"], [1000, 2500.5]),
        (["−3", "\u00a04,5"], [-3, 4.5]),
    ],
)  # fmt: skip
def test_numbers_are_recognised_and_told(cells, numbers):
    found, told = column(cells)
    assert found.tolist() == numbers
    assert "x: read as numbers with" in told


@pytest.mark.parametrize(
    "cells", [["1st", "2nd", "3rd"], ["5 kg", "7 g", "9 t"], ["A4", "A5"], ["3-4", "5-6"], ["12 34"]]
)
def test_names_stay_names(cells):
    found, _ = column(cells)
    assert found.tolist() == cells


def test_a_stray_cell_is_missing_and_its_line_is_told():
    cells = [str(20 + index % 60) for index in range(400)]
    cells[17] = "51 years"
    found, told = column(cells)
    assert np.isnan(found[17]) and found.notna().sum() == 399
    assert "x: 399 of 400 cells are numbers; line 19 ('51 years') is not, and counts as missing" in told
    assert "kinds={'x': 'nominal'}" in told
    kept, _ = column(cells, kinds={"x": "nominal"})
    assert kept[17] == "51 years"
    with pytest.raises(
        ValueError, match=r"line 19, column 'x': '51 years' is not a number: .*missing=\[..., '51 years'\]"
    ):
        column(cells, kinds={"x": "numeric"})
    said, told = column(cells, missing=[*MISSING_MARKERS, "51 years"])
    assert np.isnan(said[17]) and not told


def test_too_many_strays_make_names_which_is_told():
    cells = [*map(str, range(60)), "many", "few", "none"]
    found, told = column(cells)
    assert found.tolist() == cells
    assert "60 of 63 cells are numbers; line 62 ('many'), line 63 ('few'), line 64 ('none') are not" in told
    assert "taken as categorical" in told


@pytest.mark.parametrize("marker", ["N/A", "null", "-", "None", "#N/A", "nan", "   ", "NULL", "n/a", "--"])
def test_missing_values_in_every_spelling(marker):
    found, told = column(["1", "2.5", marker, "4"])
    assert np.isnan(found[2]) and found[3] == 4.0
    assert marker.strip() in ("", "nan") or f"'{marker}' is read as missing: 1 cell in x" in told


def test_a_dash_is_missing_among_numbers_and_a_name_among_names():
    assert column(["+", "-", "+"])[0].tolist() == ["+", "-", "+"]
    assert column(["a", "None", "b"])[0].isna().tolist() == [False, True, False]
    assert "'-'" not in column(["+", "-", "+"])[1]
    found, told = column(["red", "-", "blue", "-"])
    assert found.tolist() == ["red", "-", "blue", "-"]
    assert "x: '-' is a category, of 2 rows; missing=[..., '-'] if it means a missing value" in told
    assert not column(["red", "-", "blue", "-"], missing=["-"])[1]


def test_a_class_may_be_called_none():
    (_, y), _ = quietly("x,y\n1,None\n2,mild\n3,None\n", target="y")
    assert y.tolist() == ["None", "mild", "None"]


def test_one_column_tells_of_the_decimal_comma_of_others():
    frame, told = quietly("a;b\n1.234;1,5\n2.500;2,5\n")
    assert frame["a"].tolist() == [1234, 2500] and frame["b"].tolist() == [1.5, 2.5]
    assert "'1.234' is read as 1234; decimal='.' if it is not" in told
    frame, _ = quietly("a;b\n1.234;1.5\n2.500;2.5\n")
    assert frame["a"].tolist() == [1.234, 2.5]
    frame, _ = quietly("a;b\n0.998;1,5\n2.500;2,5\n")
    assert frame["a"].tolist() == [0.998, 2.5]


def test_what_is_ambiguous_is_told_and_can_be_said():
    frame, told = quietly('a,b\n"1,234",x\n"5,678",y\n')
    assert frame["a"].tolist() == [1234, 5678] and "'1,234' is read as 1234; decimal=',' if it is not" in told
    frame, told = quietly('a,b\n"1,234",x\n"5,678",y\n', decimal=",")
    assert frame["a"].tolist() == [1.234, 5.678]
    frame, _ = quietly("a;b\n1,234;x\n5,678;y\n")
    assert frame["a"].tolist() == [1.234, 5.678]
    frame, _ = quietly("a;b\n1,234;x\n5,678;y\n", thousands=",")
    assert frame["a"].tolist() == [1234, 5678]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": ";"}, r"decimal=';': must be '\.' or ','"),
        ({"decimal": ",", "thousands": ","}, "thousands=',': must be one of .* not the decimal sign"),
        ({"separator": "::"}, "separator='::': must be one character"),
    ],
)
def test_signs_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        read(io.StringIO("a,b\n1,2\n"), **options)


def test_separators_can_be_said_and_pipes_are_found():
    assert quietly("a|b\n1|x\n2|y\n")[0]["a"].tolist() == [1, 2]
    assert quietly("a~b\n1~x\n2~y\n", separator="~")[0]["b"].tolist() == ["x", "y"]


def test_the_index_of_pandas_is_left_out():
    frame = pd.DataFrame({"a": [5, 7, 6], "b": ["x", "y", "x"]})
    found, told = quietly(frame.to_csv())
    assert list(found) == ["a", "b"] and "counts the rows, as pandas writes its index: it is left out" in told
    odd, _ = quietly(frame.set_index(pd.Index([3, 9, 4])).to_csv())
    assert list(odd) == ["unnamed: 1", "a", "b"]


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%b-%Y", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d"]
)
def test_dates_are_recognised(form):
    days = [datetime.datetime(2021, 1, 25) + datetime.timedelta(days=37 * index, hours=7 * index) for index in range(9)]
    cells = [day.strftime(form) for day in days]
    found, told = column(cells)
    assert found.tolist() == [datetime.datetime.strptime(cell, form) for cell in cells]
    assert "x: read as dates" in told


def test_dates_that_could_be_read_in_two_ways_are_told():
    found, told = column(["1/2/2021", "3/4/2021", "5/6/2021"])
    assert found.dt.month.tolist() == [1, 3, 5] and "could have the day first" in told


def test_a_frame_remembers_how_it_was_read_and_so_does_a_model(tmp_path):
    rows = "".join(f"{100 + i},{i % 10};{'$' if i % 3 else ''}1.{i:03}\n" for i in range(50))
    frame, _ = quietly("price;cost\n" + rows)
    again, told = quietly("cost;price\n1.234;7\n", like=frame)
    assert again["cost"].tolist() == [1234] and again["price"].tolist() == [7] and not told
    model = PETClassifier().fit(frame, np.arange(50) % 2)
    model.save(tmp_path / "m.petiole")
    import petiole

    again, _ = quietly("price;cost\n1,5;1.234\n", like=petiole.load(tmp_path / "m.petiole"))
    assert again["cost"].tolist() == [1234] and again["price"].tolist() == [1.5]


def test_targets_without_a_class():
    text = "x,y\n1,a\n2,\n3,b\n4,?\n"
    with pytest.raises(
        ValueError, match=r"target='y': 2 of 4 rows of the file have no class.*drop_missing_target=True"
    ):
        read(io.StringIO(text), target="y")
    (X, y), told = quietly(text, target="y", drop_missing_target=True)
    assert (
        X["x"].tolist() == [1, 3] and y.tolist() == ["a", "b"] and "2 of 4 rows have no class and are left out" in told
    )


def test_a_target_that_counts_is_told_and_codes_are_not():
    visits = "x,y\n" + "".join(f"{i},{min(i % 9, i % 7, i % 5)}\n" for i in range(200))
    counts = "x,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(np.repeat(range(8), [90, 50, 30, 15, 8, 4, 2, 1])))
    assert "holds 8 different whole numbers" in str(quietly(counts, target="y")[1])
    assert "target_bins=[1, 2]" in str(quietly(counts, target="y")[1])
    for text, options in ((visits, {}), (counts, {"kinds": {"y": "nominal"}}), (counts, {"target_bins": [1]})):
        assert "different whole numbers" not in str(quietly(text, target="y", **options)[1])


def test_numbers_are_cut_into_classes():
    (_, y), _ = quietly('x,y\n1,$5\n2,$50\n3,"$1,500"\n', target="y", target_bins=[10, 100])
    assert y.tolist() == ["a) below 10", "b) 10 to 100", "c) 100 and more"]
    assert cut_into_classes([1, np.nan], [2]).tolist() == ["a) below 2", None]
    many = cut_into_classes(np.arange(60), range(1, 50))
    assert len(set(many)) == 50 and sorted(many) == many.tolist()
    for bins in ([], [3, 2], [1, np.inf], "abc"):
        with pytest.raises(ValueError, match="must be one or more increasing numbers"):
            cut_into_classes([1.0], bins)
    with pytest.raises(ValueError, match="cannot be cut into classes"):
        quietly("x,y\n1,a\n2,b\n", target="y", target_bins=[1])


def test_a_continuous_target_is_answered_with_what_to_do():
    X, y = np.random.default_rng(0).normal(size=(2, 60, 1))
    with pytest.raises(ValueError, match=r"Unknown label type: .*continuous.*cut_into_classes\(y, \[0, 10, 100\]\)"):
        ProbabilityForestClassifier().fit(X, y.ravel())


def test_texts_of_numbers_in_a_frame_are_told_at_the_fit():
    ages = [str(20 + index % 60) for index in range(100)]
    frame = pd.DataFrame({"age": [*ages[:-1], "51 years"], "when": [f"2021-03-{1 + i % 28:02}" for i in range(100)]})
    with pytest.warns(
        UserWarning, match=r"column 'age' holds texts, and 99 of 100 are numbers .*'51 years'.*to_numeric"
    ):
        PETClassifier().fit(frame, np.arange(100) % 2)
    with pytest.warns(UserWarning, match=r"column 'when' holds texts that are dates .*to_datetime"):
        PETClassifier().fit(frame, np.arange(100) % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PETClassifier(categorical_features=["age", "when"]).fit(frame, np.arange(100) % 2)
        PETClassifier().fit(frame.astype("category"), np.arange(100) % 2)


def test_plain_numbers_beat_other_readings():
    assert recognise_numbers({"1": 1, "2.5": 2}, NumberSigns()) == (NumberFormat(), False)


def test_the_index_that_pandas_wrote_is_told_at_the_fit():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.random(50), "b": random.random(50)})
    read_again = pd.read_csv(io.StringIO(frame.to_csv()))
    y = random.integers(0, 2, size=50)
    with pytest.warns(UserWarning, match=r"column 'Unnamed: 0' counts the rows.*index_col=0"):
        PETClassifier().fit(read_again, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PETClassifier().fit(frame, y)
        PETClassifier().fit(read_again.iloc[random.permutation(50)], y)
