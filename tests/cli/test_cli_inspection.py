"""What commands make of suspicious tables: identifiers are left out, other findings are told, wrong roles refused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import petiole
from command_line import read, refused, run
from petiole.cli import inspecting

README = Path(__file__).parents[2] / "README.md"
QUICK = ("-m", "pet", "-j", 1)


def loans(n=200, seed=0, **more):
    """Customers in the order in which they came, the later the worse; an amount, and a purpose."""
    random = np.random.default_rng(seed)
    customer = 4600 + random.permutation(n)
    amount = random.normal(size=n).round(6)
    bad = amount + (customer - 4600) / n + random.normal(scale=0.3, size=n) > 0.6
    columns = {"customer": customer, "amount": amount, "purpose": random.choice(["car", "house"], n), **more}
    return pd.DataFrame({**columns, "defaulted": np.where(bad, "yes", "no")})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with loans and new applications."""
    monkeypatch.chdir(tmp_path)
    loans().to_csv("loans.csv", index=False)
    loans(120, seed=1).drop(columns="defaulted").to_parquet("new.parquet")
    return tmp_path


def notes_of(result):
    return [line.removeprefix("note: ") for line in result.stderr.splitlines() if line.startswith("note: ")]


LEFT_OUT = (
    "Column 'customer' looks like an identifier and is left out, since nearly every row has a value of its own: name "
    "it with --numeric or --nominal if it means something."
)


def test_fit_does_not_learn_from_a_customer_number(folder):
    result = run("fit", "loans.csv", "--target", "defaulted", *QUICK, "-o", "m.petiole")
    assert petiole.load("m.petiole").feature_names_in_.tolist() == ["amount", "purpose"]
    assert notes_of(result) == [LEFT_OUT]
    assert "numeric      1: amount" in result.stderr
    found = json.loads(run("fit", "loans.csv", "-t", "defaulted", *QUICK, "-q", "--json", "-o", "m.petiole").stdout)
    assert found["left_out"] == ["customer"] and [*found["columns"]] == ["amount", "purpose"]
    assert found["warnings"] == [LEFT_OUT]


def test_the_readmes_recipe_works_and_no_probability_depends_on_the_customer_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick = {"compare": ("-m", "pet,naive-bayes", "--folds", 2, "-j", 1), "fit": ("--set", "n_estimators=10", "-j", 1)}
    lines = [line.partition(" #")[0] for line in README.read_text(encoding="utf-8").splitlines()]
    recipe = [shlex.split(line)[1:] for line in lines if "loans" in line and line.startswith("petiole ")]
    assert [words[0] for words in recipe] == ["datasets", "compare", "fit", "predict", "explain"]
    for words in recipe:
        told = run(*words, *quick.get(words[0], ()), *(() if words[0] in ("explain",) else ("-q",)))
    assert "Raised by" in told.stdout and Path("page.html").exists()
    first = read(Path("predictions.csv").read_text())
    frame = pd.read_csv("loans.csv")
    assert [row["customer"] for row in first] == frame["customer"].astype(str).tolist()
    frame.assign(customer=frame["customer"].iloc[::-1].to_numpy()).to_csv("other.csv", index=False)
    second = read(run("predict", "loans.petiole", "other.csv", "-q").stdout)
    assert [row["p_yes"] for row in first] == [row["p_yes"] for row in second]


@pytest.mark.parametrize("option", ["--numeric", "--nominal"])
def test_a_column_that_the_user_calls_a_feature_stays(folder, option):
    run("fit", "loans.csv", "-t", "defaulted", option, "customer", *QUICK, "-q", "-o", "m.petiole")
    assert "customer" in petiole.load("m.petiole").feature_names_in_


def test_a_table_of_nothing_but_identifiers_is_refused(folder):
    loans()[["customer", "defaulted"]].to_csv("short.csv", index=False)
    line = refused("fit", "short.csv", "-t", "defaulted", "-o", "m.petiole")
    assert line.startswith("short.csv has no features: in 'customer' nearly every row has a value of its own")
    assert line.endswith("name features with --numeric or --nominal")
    run("fit", "short.csv", "-t", "defaulted", "--numeric", "customer", *QUICK, "-q", "-o", "m.petiole")


def suspicious_table(n=200):
    """Loans with everything that is looked for."""
    frame = loans(n, invoice=0, leak=0, still=7)
    random = np.random.default_rng(2)
    frame["invoice"] = random.choice(2000, len(frame), replace=False)  # gaps, but none twice
    frame["leak"] = (frame["defaulted"] == "yes") * 1.0
    frame["key"] = [f"k{i}" for i in random.permutation(len(frame))]
    frame.loc[3, "defaulted"] = "unknown"
    return frame


@pytest.fixture
def suspicious(folder):
    """The path of such a table."""
    suspicious_table().to_csv("suspicious.csv", index=False)
    return "suspicious.csv"


def test_fit_and_compare_find_the_same(suspicious):
    fitted = run("fit", suspicious, "-t", "defaulted", *QUICK, "-o", "m.petiole")
    compared = run("compare", suspicious, "-t", "defaulted", *QUICK, "--folds", 2, "--repeats", 1, "--report", "r.html")
    assert notes_of(fitted) == notes_of(compared)
    text = "\n".join(notes_of(fitted))
    assert "Columns 'customer' and 'key' look like identifiers and are left out" in text
    assert "Column 'leak' alone predicts the class" in text
    assert "Class 'unknown' has one row only" in text
    assert "Column 'invoice' holds whole numbers of which no two are equal" in text
    assert "Column 'still' holds a single value" in text
    assert "look like identifiers and are left out" in Path("r.html").read_text(encoding="utf-8")


def test_what_compare_saves_has_not_learned_from_identifiers(suspicious):
    options = ("--folds", 2, "--repeats", 1, "--save", "m.petiole", "-q")
    run("compare", suspicious, "-t", "defaulted", *QUICK, *options)
    assert {"customer", "key"}.isdisjoint(petiole.load("m.petiole").feature_names_in_)


def test_quiet_tells_nothing_and_leaves_out_the_same(suspicious):
    result = run("fit", suspicious, "-t", "defaulted", *QUICK, "-q", "-o", "m.petiole")
    assert result.stderr == ""
    assert "customer" not in petiole.load("m.petiole").feature_names_in_


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain"])
def test_an_id_that_is_an_input_is_refused(folder, command):
    run("fit", "loans.csv", "-t", "defaulted", "--numeric", "customer", *QUICK, "-q", "-o", "m.petiole")
    options = {"predict": ["customer"], "evaluate": ["customer", "-t", "defaulted"], "explain": ["customer=4700"]}
    line = refused(command, "m.petiole", "loans.csv", "--id", *options[command])
    assert line == (
        "--id customer: is an input of the model, so its probabilities depend on it: fit it again with --id customer, "
        "or leave the option out"
    )


@pytest.mark.parametrize(
    ("command", "option"), [("predict", "--drop"), ("evaluate", "--drop"), ("evaluate", "--target")]
)
def test_inputs_cannot_be_dropped_afterwards_nor_be_the_truth(folder, command, option):
    run("fit", "loans.csv", "-t", "defaulted", *QUICK, "-q", "-o", "m.petiole")
    target = ["-t", "defaulted"] if (command, option) == ("evaluate", "--drop") else []
    line = refused(command, "m.petiole", "loans.csv", *target, option, "purpose")
    assert line.startswith(f"{option} purpose: is an input of the model")


def test_evaluate_looks_at_its_rows(folder, suspicious, monkeypatch):
    run("fit", suspicious, "-t", "defaulted", *QUICK, "--numeric", "customer", "-q", "-o", "m.petiole")
    result = run("evaluate", "m.petiole", suspicious, "-t", "defaulted", "--draws", 40)
    text = "\n".join(notes_of(result))
    assert "Column 'customer' looks like an identifier" in text and "Column 'leak' alone predicts" in text
    monkeypatch.setattr("petiole.cli.scoring.rows_at_once", lambda n_columns: 150)
    result = run("evaluate", "m.petiole", suspicious, "-t", "defaulted", "--draws", 40)
    assert "In the first 150 of 200 rows: column 'customer' looks like an identifier" in "\n".join(notes_of(result))


def test_rows_of_one_class_can_be_judged(folder):
    run("fit", "loans.csv", "-t", "defaulted", *QUICK, "-q", "-o", "m.petiole")
    frame = loans()
    frame[frame["defaulted"] == "no"].to_csv("one.csv", index=False)
    run("evaluate", "m.petiole", "one.csv", "-t", "defaulted", "--draws", 40, "-q")


# Files that are read in parts.


def fit_in_parts(path, *options):
    arguments = ("fit", path, "-t", "defaulted", *QUICK, "--memory-limit", "1GB", "-o", "parts.petiole")
    return run(*arguments, *options)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_in_parts_is_looked_at_like_one_in_memory(folder, suffix):
    path = Path("table").with_suffix(f".{suffix}")
    frame = suspicious_table()
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    whole = run("fit", path, "-t", "defaulted", *QUICK, "-o", "whole.petiole")
    parts = fit_in_parts(path)
    assert set(notes_of(parts)) == set(notes_of(whole))
    assert petiole.load("parts.petiole").feature_names_in_.tolist() == ["amount", "purpose", "invoice", "leak", "still"]
    assert "customer" in petiole.load(_fitted_with(path, "--numeric", "customer")).feature_names_in_


def _fitted_with(path, *options):
    fit_in_parts(path, *options, "-q")
    return "parts.petiole"


def test_a_sample_of_a_long_file_says_of_what_it_speaks(folder, monkeypatch):
    monkeypatch.setattr(inspecting, "ROWS_OF_SAMPLE", 50)
    suspicious_table(400).to_parquet("long.parquet", row_group_size=70)
    notes = notes_of(fit_in_parts("long.parquet"))
    assert notes[0].startswith("Columns 'customer' and 'key' look like identifiers and are left out")
    assert any(line.startswith("In 50 of 400 rows: column 'leak' alone predicts") for line in notes)
    assert any(line.startswith("In 50 of 400 rows: column 'still' holds a single value") for line in notes)
    assert not any("repeat" in line or "unknown" in line for line in notes)
    assert any("Column 'invoice' holds whole numbers of which no two are equal" in line for line in notes)


def test_a_folder_whose_files_differ_in_types_is_looked_at(folder):
    frame, parts = suspicious_table(), Path("parts")
    parts.mkdir()
    frame[:100].to_parquet(parts / "a.parquet")
    frame[100:].assign(still=7.0).to_parquet(parts / "b.parquet")
    fit_in_parts("parts", "-q")
    assert {"customer", "key"}.isdisjoint(petiole.load("parts.petiole").feature_names_in_)


def test_rows_that_cannot_be_read_are_told_by_the_fit(folder):
    frame = loans()
    frame.loc[5, "defaulted"] = None
    frame.to_parquet("gap.parquet")
    arguments = ("fit", "gap.parquet", "-t", "defaulted", *QUICK, "--memory-limit", "1GB", "-o", "m.petiole")
    assert "missing label (row 5)" in refused(*arguments)
