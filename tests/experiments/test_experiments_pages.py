"""The published tables are complete and consistent, and pages compare them with ours rightly."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_experiments
from petiole.comparison import sign_test_of_counts
from petiole.experiments._pages.building import (
    Agreement,
    Compared,
    ComparedPair,
    counts_text,
    pair_table,
    welch_marks,
    write_page,
)
from petiole.experiments.published import published_names, read_published

# Rows and columns of every table of the papers, counted in the papers.
SHAPES = {
    "nielsen_2004_table_1": (20, 5),
    "nielsen_2004_table_2": (20, 14),
    "nielsen_2004_table_3": (4, 5),
    "nielsen_2004_table_4": (3, 5),
    "nielsen_2004_table_5": (2, 5),
    "nielsen_2004_table_6": (20, 14),
    "zadrozny_elkan_2001_table_1": (13, 3),
    "zadrozny_elkan_2001_table_2": (13, 3),
    "zadrozny_elkan_2001_table_3": (13, 3),
    "zadrozny_elkan_2001_table_4": (13, 3),
    "geurts_2001_table_1": (9, 6),
    "geurts_2001_table_2": (9, 13),
    "zhang_2020_table_1": (5, 3),
    "zhang_2020_table_2": (6, 4),
    "margineantu_dietterich_2002_table_2": (8, 3),
    "margineantu_dietterich_2002_figure_5": (10, 2),
}
METRICS = ("mse", "avll", "aulc", "dacc")


def floats(table, column):
    return np.array([float(cell) for cell in table.column(column)])


def test_all_tables_are_there():
    assert sorted(SHAPES) == published_names()


@pytest.mark.parametrize("name", SHAPES)
def test_tables_are_complete(name):
    table = read_published(name)
    assert (len(table.rows), len(table.columns)) == SHAPES[name]
    assert table.caption
    for row in table.rows:
        assert list(row) == table.columns
        may_be_empty = {"classes", *(column for column in table.columns if column.endswith("win"))}
        assert all(row[column] for column in table.columns if column not in may_be_empty), row


@pytest.mark.parametrize("name", [name for name in SHAPES if not name.startswith("margineantu")])
def test_cells_are_numbers_counts_or_marks(name):
    table = read_published(name)
    number, counts = r"-?\d+(\.\d+)?|inf", r"\d+[-/]\d+[-/]\d+"
    for column in table.columns[1:]:
        if column in ("data_set", "classes"):
            continue
        pattern = "W|L|" if column.endswith("win") else f"{number}|{counts}"
        assert all(re.fullmatch(pattern, cell) for cell in table.column(column)), column


def test_nielsens_details_add_up_to_his_counts():
    """The marks of tables 2 and 6 give the last line of table 3 and the second of table 5."""
    for number, summary, line in ((2, 3, "All (EB-PETs)"), (6, 5, "EB-PETs")):
        details, counts = (read_published(f"nielsen_2004_table_{n}") for n in (number, summary))
        for metric in METRICS:
            marks = details.column(f"{metric}_win")
            found = "/".join(str(marks.count(mark)) for mark in ("W", "", "L"))
            assert found == counts.cell(line, metric), (number, metric)


@pytest.mark.parametrize("number", [3, 4, 5])
def test_nielsens_counts_are_of_20_data_sets(number):
    table = read_published(f"nielsen_2004_table_{number}")
    for metric in METRICS:
        assert all(sum(map(int, cell.split("/"))) == 20 for cell in table.column(metric))


def test_eb_pets_are_the_same_in_both_of_nielsens_tables():
    two, six = read_published("nielsen_2004_table_2"), read_published("nielsen_2004_table_6")
    for metric in METRICS:
        np.testing.assert_array_equal(floats(two, f"{metric}_eb_pets"), floats(six, f"{metric}_eb_pets"))


def test_nielsens_marks_point_to_the_better_score():
    """As far as print tells: 3 digits hide the sign of some significant differences."""
    for number, first, second in ((2, "b_pets", "eb_pets"), (6, "eb_pets", "mob_esp")):
        table = read_published(f"nielsen_2004_table_{number}")
        for metric, sign in zip(METRICS, (-1, -1, 1, 1), strict=True):
            gain = sign * (floats(table, f"{metric}_{second}") - floats(table, f"{metric}_{first}"))
            marks = np.array([{"W": 1, "L": -1, "": 0}[mark] for mark in table.column(f"{metric}_win")])
            assert (gain * marks >= 0).all(), (number, metric)


def test_zadrozny_and_elkans_constant_predictions_are_what_arithmetic_gives():
    """Base rate b: all zero costs 2b, all one 2(1 − b), the base rate 2b(1 − b); its log-loss is the entropy."""
    for number in (1, 4):
        table = read_published(f"zadrozny_elkan_2001_table_{number}")
        for column in ("training", "test"):
            b = float(table.cell("All zero (C4.5 with pruning)", column)) / 2
            assert float(table.cell("All one", column)) == pytest.approx(2 * (1 - b), abs=2e-5)
            assert float(table.cell("All base rate", column)) == pytest.approx(2 * b * (1 - b), abs=1e-4)
    b = float(read_published("zadrozny_elkan_2001_table_1").cell("All zero (C4.5 with pruning)", "training")) / 2
    entropy = -(b * np.log2(b) + (1 - b) * np.log2(1 - b))
    assert float(read_published("zadrozny_elkan_2001_table_2").cell("All base rate", "training")) == pytest.approx(
        entropy, abs=2e-5
    )


def test_zadrozny_and_elkans_tables_are_ordered_as_their_captions_say():
    for number in (1, 2):
        training = floats(read_published(f"zadrozny_elkan_2001_table_{number}"), "training")
        assert (training[:-1] <= training[1:]).all()
    profit = floats(read_published("zadrozny_elkan_2001_table_3"), "training")
    assert (np.diff(profit) <= 0).all()
    methods = [set(read_published(f"zadrozny_elkan_2001_table_{number}").column("method")) for number in (1, 2, 3, 4)]
    assert methods[0] == methods[1] == methods[2] == methods[3]


def test_zhangs_counts_are_of_143_data_sets_and_significant_on_rmse():
    table = read_published("zhang_2020_table_1")
    for row in table.rows:
        for column in ("rmse", "zero_one_loss"):
            assert sum(map(int, row[column].split("-"))) == 143
        wins, ties, losses = map(int, row["rmse"].split("-"))
        assert sign_test_of_counts(wins, ties, losses).p_value <= 0.05


def test_geurts_tables_have_the_same_data_sets():
    assert read_published("geurts_2001_table_1").column("data_set") == read_published("geurts_2001_table_2").column(
        "data_set"
    )


def test_unknown_tables_rows_and_columns_are_told():
    with pytest.raises(ValueError, match="name='nielsen': must be one of geurts_2001_table_1"):
        read_published("nielsen")
    table = read_published("nielsen_2004_table_2")
    with pytest.raises(ValueError, match="row='irish': must be the text of a cell that occurs once"):
        table.cell("irish", "mse_win")
    with pytest.raises(ValueError, match="column='mse': must be one of id, data_set"):
        table.cell("iris", "mse")


# Comparing.

SCORES = st.sampled_from(["0.1", "0.25", "0.250", "0.3"])
OURS = st.sampled_from([0.1, 0.2, 0.3])
MARK = st.sampled_from([-1, 0, 1])


@given(st.lists(st.tuples(SCORES, SCORES, OURS, OURS, MARK, MARK), max_size=12))
@settings(deadline=None)
def test_agreement_is_counted_rightly(rows):
    pairs = [ComparedPair(Compared(a, x), Compared(b, y), p, o) for a, b, x, y, p, o in rows]
    found = Agreement.of(pairs)
    expected = naive_experiments.agreement(rows)
    assert found.n == len(rows)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_page_that_equals_the_paper_agrees_in_full():
    table = read_published("nielsen_2004_table_2")
    marks = {"W": 1, "L": -1, "": 0}
    pairs = [
        ComparedPair(
            *(Compared(row[f"mse_{m}"], float(row[f"mse_{m}"])) for m in ("b_pets", "eb_pets")),
            marks[row["mse_win"]],
            marks[row["mse_win"]],
        )
        for row in table.rows
    ]
    found = Agreement.of(pairs)
    assert (found.same_sign, found.same_mark, found.confirmed) == (found.n_signs, 20, found.n_significant)
    assert (found.opposite_mark, found.typical_difference) == (0, 0.0)


@pytest.mark.parametrize("greater_is_better", [True, False])
def test_unpaired_tests_are_scipys(greater_is_better):
    random = np.random.default_rng(0)
    first = random.normal(size=(400, 7)) * random.choice([0.1, 1], size=(400, 1))
    second = first.mean(axis=1, keepdims=True) + random.normal(size=(400, 7)) * 0.3 + random.choice([0, 0.5], (400, 1))
    first[:3], second[:3] = 0.25, [[0.25], [0.5], [0.125]]  # without any variance
    found = welch_marks(first, second, greater_is_better, 0.1)
    expected = [naive_experiments.welch_mark(a, b, greater_is_better, 0.1) for a, b in zip(first, second, strict=True)]
    assert found.tolist() == expected
    assert set(expected) == {-1, 0, 1}
    assert (welch_marks(second, first, greater_is_better, 0.1) == -found).all()


def test_unpaired_tests_need_two_trials():
    with pytest.raises(ValueError, match="1 trial: t-tests need at least 2"):
        welch_marks(np.zeros((3, 1)), np.ones((3, 1)), True)


def test_cells_have_the_digits_of_print():
    assert Compared("0.0009", 0.00084).cells() == ["0.0009", "0.0008", "-0.0001"]
    assert Compared("0.000", -0.0002).cells() == ["0.000", "0.000", "+0.000"]
    assert Compared("14741", 14700.0).cells() == ["14741", "14700.000", "-41.000"]


def test_a_row_says_how_the_verdicts_compare():
    def verdict(published, ours):
        return ComparedPair(Compared("0.1", 0.1), Compared("0.2", 0.2), published, ours).cells()[-3:]

    assert verdict(1, 1) == ["W", "W", "same"]
    assert verdict(1, -1) == ["W", "L", "opposite"]
    assert verdict(0, 1) == ["", "W", "one is a tie"]
    text = pair_table("A", "B", [("iris", ComparedPair(Compared("0.1", 0.1), Compared("0.2", 0.3), 0, -1))])
    assert text.splitlines()[2] == ("| iris | 0.1 | 0.100 | +0.000 | 0.2 | 0.300 | +0.100 |  | L | one is a tie |")


def test_counts_are_wins_ties_losses():
    assert counts_text(np.array([1, 0, 0, -1, 1, 1])) == "3/2/1"


def test_a_page_is_written_whole(tmp_path):
    path = write_page(tmp_path / "new" / "page.md", "text\n\n")
    assert path.read_text() == "text\n"
    assert [one.name for one in path.parent.iterdir()] == ["page.md"]
