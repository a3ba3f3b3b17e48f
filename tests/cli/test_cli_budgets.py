"""predict --top and --budget: the best rows of all, whatever the batches, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from command_line import read, refused, run, table, write

COSTS = "grant:no=20,grant:yes=-5,refuse:*=0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("budgets")
    rows = table(150)
    for number, row in enumerate(rows):
        row["price"] = str(1 + number % 3)
    write(path / "rows.csv", rows)
    run("fit", path / "rows.csv", "-t", "y", "--id", "id,price", "-m", "pet", "-q", "-o", path / "m.petiole")
    return path


def answers(folder, *options):
    return read(run("predict", folder / "m.petiole", folder / "rows.csv", *options, "-q").stdout)


@pytest.mark.parametrize("batch", [7, 1000])
def test_the_best_rows_are_written_best_first(folder, batch):
    all_rows = answers(folder, "--id", "id")
    chosen = answers(folder, "--id", "id", "--top", 10, "--batch", batch)
    best = sorted((float(row["p_yes"]) for row in all_rows), reverse=True)[:10]
    assert [float(row["expected_gain"]) for row in chosen] == best
    assert all(all_rows[int(row["row"]) - 1]["id"] == row["id"] for row in chosen)  # counted from 1


def test_costs_say_what_a_row_gains(folder):
    chosen = answers(folder, "--costs", COSTS, "--top", 500)
    assert 0 < len(chosen) < 150  # the others would lose
    for row in chosen:
        gain = 5 * float(row["p_yes"]) - 20 * float(row["p_no"])
        assert row["decision"] == "grant" and float(row["expected_gain"]) == pytest.approx(gain)
    assert (
        "no other row has an expected gain above 0"
        in run("predict", folder / "m.petiole", folder / "rows.csv", "--costs", COSTS, "--top", 500).stderr
    )


def test_a_budget_pays_for_prices_of_rows(folder):
    chosen = answers(folder, "--budget", 20, "--price", "price")
    prices = np.array([float(row["price"]) for row in chosen])
    assert prices.sum() <= 20 and len(chosen) > 5
    per_unit = np.array([float(row["expected_gain"]) for row in chosen]) / prices
    assert (np.diff(per_unit) <= 1e-12).all()
    assert len(answers(folder, "--budget", 20, "--price", 4)) == 5
    assert len(answers(folder, "--budget", 20, "--price", 4, "--top", 2)) == 2


def test_the_default_decision_is_the_commonest_class_or_named(folder):
    costs = "no:yes=1,yes:no=20"  # most rows are yes
    assert len(answers(folder, "--costs", costs, "--top", 3)) == 3
    ask = "wait:no=1,wait:yes=1,act:no=3,act:yes=0"
    arguments = ("predict", folder / "m.petiole", folder / "rows.csv", "--top", 2, "--costs", ask)
    assert "one of wait, act" in refused(*arguments)
    assert len(answers(folder, "--costs", ask, "--top", 2, "--default", "wait")) == 2
    assert "the decisions are wait, act" in refused(*arguments, "--default", "sleep")


def test_options_that_lack_their_company_are_refused(folder):
    arguments = ("predict", folder / "m.petiole", folder / "rows.csv")
    assert "add --price" in refused(*arguments, "--budget", 5)
    assert "add --budget" in refused(*arguments, "--price", 5)
    assert "must be above 0" in refused(*arguments, "--budget", 5, "--price", 0)
    assert "no such column" in refused(*arguments, "--budget", 5, "--price", "prize")
    assert "for --top and --budget" in refused(*arguments, "--default", "yes")
