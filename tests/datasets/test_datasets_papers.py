"""The papers' versions of the data sets: sizes, classes, codings and splits that the texts state."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from petiole import datasets
from petiole.datasets import papers


@pytest.mark.real_data
@pytest.mark.parametrize("name", papers.NIELSEN)
def test_nielsens_problems_have_the_sizes_of_his_table_1(name):
    X, y, description = papers.nielsen(name)
    n, d = papers.NIELSEN[name].n, papers.NIELSEN[name].d
    assert len(y) == n and X.shape[1] == (15 if name == "credit-german" else d)
    assert len(set(y)) == 2 and not X.isna().any(axis=None)
    assert X.to_numpy().dtype == np.float64
    assert description.kinds == dict.fromkeys(X, "numeric")
    assert description.rows == n and sum(description.class_counts.values()) == n
    assert "footnote 7" in description.notes


def test_nielsens_table_has_twenty_lines():
    assert len(papers.NIELSEN) == 20
    with pytest.raises(ValueError, match="name='adult': must be one of 'audiology', 'bupa'"):
        papers.nielsen("adult")


@pytest.mark.real_data
def test_nielsens_coding_of_speech_is_that_of_footnote_7():
    plain, _, _ = datasets.load("audiology")
    coded = papers.nielsen("audiology").X
    assert {"bone", "bser"}.isdisjoint(coded)
    both = pd.DataFrame({"name": plain.loc[26:, "speech"].astype(str).to_numpy()})
    kept = plain.loc[26:].drop(columns=["bone", "bser"]).notna().all(axis=1).to_numpy()
    kept = kept & np.isin(datasets.load("audiology").y[26:], ["cochlear_age", "cochlear_unknown"])
    pairs = set(zip(both["name"][kept], coded["speech"], strict=True))
    footnote = {"normal": 0, "good": 1, "very_good": 2, "very_poor": -3, "poor": -2, "unmeasured": -1}
    assert pairs and pairs <= set(footnote.items())


@pytest.mark.real_data
@pytest.mark.parametrize("name", [*papers.MARGINEANTU_DIETTERICH, *papers.MARGINEANTU_DIETTERICH_PROBABLY])
def test_the_sets_of_margineantu_and_dietterich(name):
    description = papers.margineantu_dietterich(name).description
    certain = name in papers.MARGINEANTU_DIETTERICH
    assert ("Margineantu & Dietterich 2002" in description.papers) == certain
    assert any("Margineantu" in paper for paper in description.papers)


def test_the_text_of_margineantu_and_dietterich_names_ten_of_sixteen():
    assert len(papers.MARGINEANTU_DIETTERICH) == 10
    with pytest.raises(ValueError, match="name='vote': must be one of"):
        papers.margineantu_dietterich("vote")


@pytest.mark.real_data
@pytest.mark.parametrize("name", papers.GEURTS)
def test_geurts_splits_have_the_sizes_of_his_table_1(name):
    sizes = papers.GEURTS[name]
    grow, prune, test = papers.geurts(name)
    assert [len(part.y) for part in (grow, prune, test)] == [sizes.grow, sizes.prune, sizes.test]
    assert [part.description.rows for part in (grow, prune, test)] == [sizes.grow, sizes.prune, sizes.test]
    other = papers.geurts(name, repetition=1)
    pd.testing.assert_frame_equal(other.test.X, test.X)  # "the test sets are kept fixed"
    assert not other.grow.X.equals(grow.X)

    def learning_rows(split):
        return pd.concat([split.grow.X, split.prune.X]).sort_values(list(split.grow.X)).reset_index(drop=True)

    pd.testing.assert_frame_equal(learning_rows(other), learning_rows(papers.geurts(name)))
    assert not papers.geurts(name, random_state=1).grow.X.equals(grow.X)


@pytest.mark.real_data
def test_geurts_uses_the_uci_test_files():
    """The class counts of pendigits.tes, and of sat.tst."""
    digits = papers.geurts("pendigits").test.description.class_counts
    assert list(digits.values()) == [363, 364, 364, 336, 364, 335, 336, 364, 336, 336]
    assert papers.geurts("satellite").test.description.class_counts == {
        "1": 461, "2": 224, "3": 397, "4": 211, "5": 237, "7": 470
    }  # fmt: skip


def test_geurts_errors():
    with pytest.raises(ValueError, match="name='omib': must be one of 'waveform'"):
        papers.geurts("omib")
    with pytest.raises(ValueError, match="repetition=-1: must be a whole number at least 0"):
        papers.geurts("two-norm", repetition=-1)


@pytest.mark.real_data
def test_zhangs_sets():
    names = papers.zhang_names()
    assert len(names) > 120 and "letter" in names and "twonorm" not in names
    assert set(papers.zhang_names(1000, 10_000)) < set(names)
    X, y, description = papers.zhang("vote")
    assert description.n_missing == 0 and (X == "(missing)").sum(axis=None) == 392
    assert len(y) == 435 and set(description.kinds.values()) == {"nominal"}
    assert papers.zhang("labor").description.n_missing > 0  # numbers stay missing


@pytest.mark.real_data
def test_coil_has_the_base_rates_of_table_4():
    train, test = papers.coil2000()
    assert 2 * (train.y == "1").mean() == pytest.approx(0.11955, abs=1e-5)
    assert 2 * (test.y == "1").mean() == pytest.approx(0.11900, abs=1e-5)
    assert list(train.X) == list(test.X)


@pytest.mark.real_data
def test_the_sample_of_kdd98_has_the_base_rate_of_the_paper():
    _, y, description = papers.kdd98_sample()
    assert np.average(y == "1", weights=description.weights) == pytest.approx(0.050755, abs=5e-5)


LEARNING = """ODATEDW,INCOME,FISTDATE,LASTDATE,NGIFTALL,NUMPROM,RFA_2F,RFA_2A,PEPSTRFL,CITY,TARGET_B,TARGET_D
8901,4,8911,9512,31,74,4,E,X,Zürich,0,0
9401, ,9310,9512,3,32,2,G, ,"a, b",1,20
9001,7,,9601,14,0,4,E,X,x,0,0
"""
VALIDATION = """CONTROLN,INCOME,FISTDATE,LASTDATE,NGIFTALL,NUMPROM,RFA_2F,RFA_2A,PEPSTRFL
11,1,8911,9512,2,4,1,D,X
22,2,9310,9512,3,12,2,,
"""
TARGETS = "CONTROLN,TARGET_B,TARGET_D\n22,1,7.5\n11,0,0\n33,0,0\n"


@pytest.fixture
def contest(tmp_path):
    (tmp_path / "cup98LRN.txt").write_bytes(LEARNING.encode("latin-1"))
    (tmp_path / "cup98VAL.txt.gz").write_bytes(gzip.compress(VALIDATION.encode()))
    (tmp_path / "valtargt.txt").write_text(TARGETS)
    return tmp_path


def test_the_files_of_the_contest(contest):
    train, test = papers.kdd98(contest, check_size=False)
    assert list(train.X) == ["INCOME", "FISTDATE", "LASTDATE", "PGIFT", "RFA_2F", "RFA_2A", "PEPSTRFL"]
    assert train.y.tolist() == ["0", "1", "0"] and train.description.outcomes["TARGET_D"].tolist() == [0, 20, 0]
    np.testing.assert_allclose(train.X["PGIFT"], [31 / 74, 3 / 32, np.nan])
    np.testing.assert_array_equal(train.X["INCOME"], [4, np.nan, 7])
    assert train.X["PEPSTRFL"].tolist() == ["X", "no", "X"] and train.description.n_missing == 3
    assert test.y.tolist() == ["0", "1"]  # joined by control number, not by position
    assert test.description.outcomes["TARGET_D"].tolist() == [0, 7.5]
    assert test.X["RFA_2A"].isna().tolist() == [False, True]


def test_the_files_of_the_contest_must_be_whole(contest):
    with pytest.raises(
        ValueError, match=r"cup98LRN.txt has 3 rows, not 95,412: get the whole file, or pass check_size"
    ):
        papers.kdd98(contest)
    (contest / "valtargt.txt").write_text(TARGETS.replace("11,0,0\n", ""))
    with pytest.raises(ValueError, match=r"valtargt.txt: there is no line for CONTROLN 11"):
        papers.kdd98(contest, check_size=False)
    (contest / "valtargt.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no valtargt.txt in it"):
        papers.kdd98(contest)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("INCOME", "EARNED", "line 1: there is no column 'INCOME': is this cup98LRN.txt"),
        ("9001,7,", "9001,seven,", "cup98LRN.txt, line 4, column 'INCOME': 'seven' is not a number"),
        (",x,0,0", ",x,0", "cup98LRN.txt, line 4: 11 cells, but the header names 12"),
    ],
)
def test_damaged_files_of_the_contest(contest, old, new, message):
    (contest / "cup98LRN.txt").write_bytes(LEARNING.replace(old, new).encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        papers.kdd98(contest, check_size=False)
