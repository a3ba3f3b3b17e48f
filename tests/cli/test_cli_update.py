"""petiole update, the remembered target, and files given in each other's place."""

from __future__ import annotations

import json

import numpy as np
import pytest

import petiole
from command_line import read, refused, run, table, write
from petiole.cli.truths import target_of


@pytest.fixture()
def folder(tmp_path):
    write(tmp_path / "old.csv", table(150))
    write(tmp_path / "new.csv", table(90, seed=3))
    run("fit", tmp_path / "old.csv", "-t", "y", "--id", "id", "-m", "eb-pets", "--set", "n_estimators=5", "-j", 1, "-q",
        "-o", tmp_path / "m.petiole")  # fmt: skip
    return tmp_path


def test_new_rows_are_counted_as_the_method_counts_them(folder):
    model, rows = petiole.load(folder / "m.petiole"), read((folder / "new.csv").read_text())
    missing = ("", "?", "NA")
    X = [[None if row[c] in missing else kind(row[c]) for c, kind in (("size", float), ("town", str), ("grade", float))]
         for row in rows]  # fmt: skip
    X, y = np.array(X, dtype=object), [row["y"] for row in rows]
    before = (folder / "m.petiole").read_bytes()
    told = run("update", folder / "m.petiole", folder / "new.csv", "-j", 1, "-o", folder / "later.petiole").stdout
    assert "90 rows added" in told and "before they were counted" in told
    assert (folder / "m.petiole").read_bytes() == before
    expected, found = model.update(X, y), petiole.load(folder / "later.petiole")
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_the_model_is_replaced_by_default_and_json_is_json(folder):
    text = run("update", folder / "m.petiole", folder / "new.csv", "--decay", 0.5, "-q", "--json", "-j", 1).stdout
    found = json.loads(text)
    assert found["rows"] == 90 and found["decay"] == 0.5 and 0 < found["log_loss_before"] < 3
    assert target_of(petiole.load(folder / "m.petiole")) == "y"  # still


def test_info_shows_the_rows_of_updates(folder):
    assert "counts now" not in run("info", folder / "m.petiole").stdout
    run("update", folder / "m.petiole", folder / "new.csv", "-q", "-j", 1)
    told = run("info", folder / "m.petiole").stdout
    assert "150 rows (by weight)" in told and "240 rows (by weight, with updates)" in told


def test_models_that_are_not_updated_are_refused(folder):
    run("fit", folder / "old.csv", "-t", "y", "--id", "id", "-m", "naive-bayes", "-q", "-o", folder / "b.petiole")
    assert "cannot be updated" in refused("update", folder / "b.petiole", folder / "new.csv")
    unknown = table(30, classes=("no", "perhaps", "yes"))
    assert "the model's classes are no, yes" in refused(
        "update", folder / "m.petiole", write(folder / "u.csv", unknown)
    )


def test_the_target_of_the_fit_is_remembered(folder):
    arguments = ("evaluate", folder / "m.petiole", folder / "new.csv", "--draws", 40, "-j", 1, "-q", "--json")
    assert run(*arguments).stdout == run(*arguments, "-t", "y").stdout
    facts = json.loads(run("info", folder / "m.petiole", "--json").stdout)["facts"]
    assert facts["target"] == "y"


def test_files_in_each_others_place_are_told(folder):
    model, data = folder / "m.petiole", folder / "old.csv"
    for command in ("info", "predict", "evaluate", "update"):
        rest = () if command == "info" else (data,)
        assert "is a table, not a model file; write one with petiole fit" in refused(command, data, *rest)
    assert "is a model file, not a table" in refused("predict", model, model)
    assert "is a model file, not a table" in refused("compare", model, "-t", "y")
    assert "written by petiole fit" in refused("info", "iris")


def test_a_missing_column_is_named(folder):
    rows = [{name: value for name, value in row.items() if name != "town"} for row in table(20)]
    told = refused("predict", folder / "m.petiole", write(folder / "less.csv", rows))
    assert "has no column 'town', which the model needs" in told
