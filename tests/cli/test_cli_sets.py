"""Prediction sets on the command line."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import petiole
from command_line import refused, run
from petiole import BaggedPETClassifier, datasets
from petiole.conformal import ConformalClassifier


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("sets")
    run("datasets", "write", "sklearn-wine", "-o", place / "wine.csv")
    return place


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def fit(folder, *options):
    options = ("-m", "eb-pets", "--set", "n_estimators=30", "-q", "-j", 1, *options)
    return run("fit", folder / "wine.csv", "-t", "class", "-o", folder / "m.petiole", *options)


def test_sets_beside_predictions_are_those_of_python(folder):
    fit(folder, "--sets", "aps", "--sets-per-class")
    model = petiole.load(folder / "m.petiole")
    assert isinstance(model, ConformalClassifier) and model.per_class and model.method == "aps"
    X, _ = datasets.read(folder / "wine.csv", target="class")
    for batch in (7, 1000):
        found = rows_of(
            run("predict", folder / "m.petiole", folder / "wine.csv", "--sets", 0.97, "--batch", batch, "-q").stdout
        )
        sets = model.predict_set(X, 0.97)
        assert [row["set"] for row in found] == sets.texts()
        assert [int(row["set_size"]) for row in found] == sets.sizes.tolist()
        np.testing.assert_allclose([float(row["p_class_0"]) for row in found], model.predict_proba(X)[:, 0])


def test_what_is_kept_is_told_and_small_classes_are_noted(folder):
    said = run(
        "fit", folder / "wine.csv", "-t", "class", "-m", "eb-pets", "--sets", "lac", "--sets-per-class",
        "-o", folder / "m.petiole",
    )  # fmt: skip
    assert "prediction sets calibrated on 178 rows (oob)" in said.stdout + said.stderr
    noted = run("predict", folder / "m.petiole", folder / "wine.csv", "--sets", 0.99).stderr
    assert "note: class 'class_2': 48 calibrating rows, and coverage=0.99 takes at least 99" in noted


def test_what_cannot_be_said_on_rows_that_are_not_kept(folder):
    fit(folder)
    assert "fit it with petiole fit --sets lac" in refused(
        "predict", folder / "m.petiole", folder / "wine.csv", "--sets", 0.9
    )
    fit(folder, "--sets", "lac")
    assert "must be a share of the rows" in refused("predict", folder / "m.petiole", folder / "wine.csv", "--sets", 90)
    place = ("fit", folder / "wine.csv", "-t", "class", "-o", folder / "n.petiole")
    assert "--sets lak: is not known" in refused(*place, "--sets", "lak")
    assert "add --sets lac" in refused(*place, "--sets-per-class")
    assert "has no column 'colour'" in refused(*place, "-m", "pet", "--sets", "lac", "--sets-by", "colour")


def test_other_commands_take_a_model_with_sets(folder):
    fit(folder, "--sets", "raps")
    assert "ConformalClassifier" in run("info", folder / "m.petiole").stdout
    assert "log-loss" in run("evaluate", folder / "m.petiole", folder / "wine.csv", "-t", "class", "-q").stdout
    wrapped = petiole.load(folder / "m.petiole")
    assert isinstance(wrapped.estimator_, BaggedPETClassifier)
