"""Monotone probabilities on the command line."""

from __future__ import annotations

import numpy as np
import pytest

import petiole
from command_line import as_csv, refused, run, table


@pytest.fixture
def data(tmp_path):
    """Numbers and names, and numbers alone."""
    rows = table(150, missing=0.05)
    (tmp_path / "mixed.csv").write_text(as_csv(rows))
    numbers = [{name: row[name] for name in ("size", "grade", "y")} for row in rows]
    (tmp_path / "numbers.csv").write_text(as_csv(numbers))
    return tmp_path


def fit(data, name="mixed.csv", *options):
    usual = ("-t", "y", "-o", data / "m.petiole", "-j", 1, "-q")
    if name == "mixed.csv":
        usual += ("--id", "id")
    run("fit", data / name, *usual, *options)
    return petiole.load(data / "m.petiole")


@pytest.mark.parametrize("name", ["mixed.csv", "numbers.csv"])
@pytest.mark.parametrize("method", ["probability-forest", "boosted", "pet", "eb-pets", "dual"])
def test_columns_are_named_whatever_the_table_is(data, name, method):
    options = ("--set", "n_estimators=8") if method in ("probability-forest", "eb-pets") else ()
    model = fit(data, name, "-m", method, "--rising", "size", "--falling", "grade", *options)
    inner = getattr(model, "estimator_", model)
    assert inner.monotonic_cst in ({"size": 1, "grade": -1}, [1, -1])
    rows = [{"size": size, "town": "Rome", "grade": 2.0} for size in np.linspace(-3, 3, 50)]
    if name == "numbers.csv":
        rows = np.array([[row["size"], row["grade"]] for row in rows])
    else:
        pd = pytest.importorskip("pandas")
        rows = pd.DataFrame(rows)
    assert (np.diff(model.predict_proba(rows)[:, 1]) >= -1e-8).all()


def test_the_class_can_be_named(data):
    model = fit(data, "mixed.csv", "--falling", "size", "--monotone-class", "no", "--set", "n_estimators=8")
    assert model.monotonic_cst == {"size": -1} and model.monotonic_class == "no"


def test_the_answer_tells_what_holds(data):
    said = run(
        *("fit", data / "numbers.csv", "-t", "y", "-o", data / "m.petiole", "-m", "pet"),
        *("--rising", "size", "--falling", "grade", "--monotone-class", "yes"),
    )
    assert "the probability of yes never falls along size and never rises along grade" in said.stdout


def test_constraints_and_prediction_sets_go_together(data):
    model = fit(data, "numbers.csv", "--rising", "size", "--sets", "lac", "--set", "n_estimators=20")
    assert model.estimator_.monotonic_cst in ([1, 0], {"size": 1})


def test_errors_say_what_to_do(data):
    usual = ("fit", data / "mixed.csv", "-t", "y", "-o", data / "m.petiole", "-q")
    assert "did you mean 'size'" in refused(*usual, "--rising", "sizes")
    assert "is also named by --rising" in refused(*usual, "--rising", "size", "--falling", "size")
    assert "its categories have no order" in refused(*usual, "--rising", "town")
    assert "cannot keep to constraints" in refused(*usual, "--rising", "size", "-m", "mob-esp")
    assert "give --rising or --falling too" in refused(*usual, "--monotone-class", "no")
    assert "is not a class" in refused(*usual, "--rising", "size", "--monotone-class", "maybe")
    assert "read in parts" in refused(*usual, "--rising", "size", "--memory-limit", "1GB")
    three = table(90, classes=("a", "b", "c"))
    (data / "three.csv").write_text(as_csv(three))
    text = refused("fit", data / "three.csv", "-t", "y", "-o", data / "m.petiole", "-q", "--rising", "size")
    assert "say with --monotone-class which of them (a, b, c)" in text
