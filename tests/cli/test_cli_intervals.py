"""Intervals for probabilities on the command line."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import petiole
from command_line import refused, run
from petiole import datasets


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("intervals")
    run("datasets", "write", "sklearn-wine", "-o", place / "wine.csv")
    return place


def fit(folder, *options):
    options = ("-m", "eb-pets", "--set", "n_estimators=30", "-j", 1, *options)
    return run("fit", folder / "wine.csv", "-t", "class", "-o", folder / "m.petiole", *options)


@pytest.mark.parametrize("sets", [(), ("--sets", "lac")])
def test_intervals_beside_predictions_are_those_of_python(folder, sets):
    said = fit(folder, "--intervals", *sets)
    assert "stores 178 training rows for intervals" in said.stdout + said.stderr
    model = petiole.load(folder / "m.petiole")
    X, _ = datasets.read(folder / "wine.csv", target="class")
    expected = model.predict_proba_interval(X, 0.8)
    for batch in (7, 1000):
        said = run("predict", folder / "m.petiole", folder / "wine.csv", "--interval", 0.8, "--batch", batch, "-q")
        rows = list(csv.DictReader(io.StringIO(said.stdout)))
        for k, label in enumerate(model.classes_):
            np.testing.assert_allclose([float(row[f"lower_{label}"]) for row in rows], expected.lower[:, k], atol=1e-9)
            np.testing.assert_allclose([float(row[f"upper_{label}"]) for row in rows], expected.upper[:, k], atol=1e-9)


def test_what_cannot_be_told_is_refused_with_a_remedy(folder):
    fit(folder, "-q")
    ask = ("predict", folder / "m.petiole", folder / "wine.csv", "--interval")
    assert "petiole fit --intervals" in refused(*ask, 0.9)
    assert "between 0 and 1" in refused(*ask, 90)
    fit_options = ("fit", folder / "wine.csv", "-t", "class", "-o", folder / "n.petiole", "--intervals", "-m")
    assert "has no intervals" in refused(*fit_options, "naive-bayes")
    assert "looks up its predictions by votes" in refused(*fit_options, "mob-esp")
