"""The page over all papers."""

from __future__ import annotations

import pytest

from petiole.cli import main as run_command
from petiole.experiments import Database
from petiole.experiments._pages.building import Agreement, ComparedSigns
from petiole.experiments._pages.summary import count_paper, render, write
from petiole.experiments.command import PAPERS

TESTED = Agreement.of(
    [ComparedSigns((1, 1), (1, 1)), ComparedSigns((-1, 1), (-1, 1)), ComparedSigns((0, 1), (0, 0))], "table 1, loss"
)
UNTESTED = Agreement.of([ComparedSigns((1, 1)), ComparedSigns((1, 1)), ComparedSigns((-1, 1))], "figure 2, lift")


def test_comparisons_without_scores_or_tests_are_counted():
    assert (TESTED.n, TESTED.n_signs, TESTED.same_sign) == (3, 2, 1)
    assert (TESTED.n_marks, TESTED.same_mark, TESTED.opposite_mark, TESTED.confirmed) == (3, 2, 1, 1)
    assert (UNTESTED.n_marks, UNTESTED.same_mark, UNTESTED.n_significant) == (0, 0, 0)
    assert UNTESTED.cells()[-1] == "" and UNTESTED.name == "figure 2, lift"
    scored = Agreement.of([ComparedSigns((1, 1), differences=[0.5, -0.25, 0.0])])
    assert scored.typical_difference == 0.25


def test_the_page_adds_up_and_lists_what_is_not_run():
    text = render({"first-2001": [TESTED], "second-2002": [UNTESTED], "third-2003": None, "study": []})
    assert (
        "**Of 5 published comparisons in which the printed scores of two methods differ, 3 have the same better method "
        "here.**" in text
    )
    assert "| [First (2001)](first-2001.md) | 1 of 2 (50%) | 1 of 2 | 1 |" in text
    assert "| [Second (2002)](second-2002.md) | 2 of 3 (67%) | no tests |  |" in text
    assert "| Third (2003) | not run |  |  |" in text and "study" not in text
    assert "| **all** | 3 of 5 (60%) | 1 of 2 | 1 |" in text
    assert "| figure 2, lift | 2 of 3 (67%) |" in text


def test_the_first_database_that_has_a_paper_counts(tmp_path):
    def counted(path):
        if "empty" in str(path):
            raise ValueError("run the experiment first")
        return [TESTED]

    assert count_paper(counted, ["empty"]) is None
    assert count_paper(counted, ["empty", "full"]) == [TESTED]
    (tmp_path / "full").touch()
    page = write({"first-2001": counted}, [tmp_path / "empty", tmp_path / "full"], tmp_path / "index.md")
    assert "1 of 2" in page.read_text(encoding="utf-8")
    pytest.importorskip("matplotlib")
    assert "(images/index.png)" in page.read_text(encoding="utf-8")
    assert (tmp_path / "images" / "index.png").stat().st_size > 1000


def test_every_paper_without_results_is_not_run(tmp_path, capsys):
    path = tmp_path / "cells.sqlite"
    Database(path).close()
    options = ["summary", "--database", f"{tmp_path / 'none.sqlite'}, {path}", "--page", str(tmp_path / "index.md")]
    assert run_command(["reproduce", *options]) == 0
    text = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert all(f"| {name} | not run |" in text for name in ("Nielsen (2004)", "Zadrozny & Elkan (2001)"))
    assert not (tmp_path / "none.sqlite").exists()
    for paper in PAPERS.values():
        if paper.page is None:  # the study past the papers has nothing to agree with
            with pytest.raises((ValueError, FileNotFoundError)):
                paper.agreements(path)


def test_a_summary_of_nothing_is_told(tmp_path, capsys):
    assert run_command(["reproduce", "summary", "--database", str(tmp_path / "none.sqlite")]) == 2
    assert "there is no such file; run an experiment first" in capsys.readouterr().err
