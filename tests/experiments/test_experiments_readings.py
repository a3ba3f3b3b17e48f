"""Other readings of Nielsen's text: what they change, and the section of the page that tells of them."""

from __future__ import annotations

import numpy as np
import pytest

from petiole.experiments import Cell, Database, Outcome, run
from petiole.experiments._grid.cells import Task
from petiole.experiments._grid.results import read_stored
from petiole.experiments.nielsen_2004 import readings as readings_module
from petiole.experiments.nielsen_2004 import split
from petiole.experiments.nielsen_2004.data import load_nielsen
from petiole.experiments.nielsen_2004.readings import (
    COUNTINGS,
    FAR,
    PLAIN,
    READINGS,
    TOLD,
    countings,
    readings,
    run_counting,
    run_reading,
)
from petiole.experiments.nielsen_2004.readings_page import COLUMNS, closest, fitting, section
from petiole.experiments.published import read_published


@pytest.fixture
def made_up(monkeypatch):
    """Whole numbers and noise, and classes that the second feature tells."""
    random = np.random.default_rng(3)
    X = random.integers(0, 4, size=(60, 3)).astype(float)
    y = np.where(X[:, 1] + random.normal(scale=0.8, size=60) > 1.5, "yes", "no")
    monkeypatch.setattr(readings_module, "load_nielsen", lambda name: (X, y))
    return X, y


@pytest.mark.parametrize("name", READINGS)
def test_every_reading_gives_scores(name, made_up):
    scores = run_reading(Task(Cell("iondata", 0, name), 1, 2, {"n_trees": 8, "test_share": 1 / 3}))
    assert set(COLUMNS.values()) <= set(scores)
    assert np.isfinite(list(scores.values())).all()


@pytest.mark.parametrize("name", COUNTINGS)
def test_every_way_to_count_gives_scores(name, made_up):
    scores = run_counting(Task(Cell("iondata", 0, name), 1, 2, {"n_trees": 8, "test_share": 1 / 3}))
    assert np.isfinite(list(scores.values())).all()


def test_readings_differ_from_each_other(made_up):
    task = {"n_trees": 8, "test_share": 1 / 3}
    found = {name: tuple(run_reading(Task(Cell("a", 0, name), 1, 2, task)).values()) for name in READINGS}
    assert len(set(found.values())) == len(found)


@pytest.mark.real_data
def test_what_is_printed_for_ionosphere_follows_from_its_first_feature_alone():
    """p = (N_k + 1)/(N_k + 2) on either side of it: 0/1-MSE .247, AvLL 1.822, AULC 1.246 are printed."""
    X, y = load_nielsen("iondata")
    own = []
    for seed in range(40):
        train, test = split(y, seed, 1 / 3)
        n = {label: int((y[train] == label).sum()) for label in ("b", "g")}
        says = np.where(X[test, 0] == 1, "g", "b")
        sure = np.array([(n[label] + 1) / (n[label] + 2) for label in says])
        own.append(np.where(says == y[test], sure, 1 - sure))
    p = np.concatenate(own)
    assert np.mean((1 - p) ** 2) == pytest.approx(0.247, abs=0.004)
    assert -np.mean(np.log2(p)) == pytest.approx(1.822, abs=0.03)
    reading = run_reading(readings().task(Cell("iondata", 0, TOLD)))
    train, test = split(y, readings().task(Cell("iondata", 0, TOLD)).split_seed, 1 / 3)
    n = {label: int((y[train] == label).sum()) for label in ("b", "g")}
    says = np.where(X[test, 0] == 1, "g", "b")
    sure = np.array([(n[label] + 1) / (n[label] + 2) for label in says])
    expected = np.mean((1 - np.where(says == y[test], sure, 1 - sure)) ** 2)
    assert reading["zero_one_mse"] == pytest.approx(expected)


def fill(path, scores_of):
    """A database whose readings have given scores, and countings of no difference on two data sets."""
    table = read_published("nielsen_2004_table_2")
    with Database(path) as database:
        for grid in (readings().restricted(trials=1), countings().restricted(trials=2, data_sets=["iris", "zoo"])):
            for cell in grid.cells():
                printed = {m: float(table.cell(cell.data_set, f"{c}_b_pets")) for c, m in COLUMNS.items()}
                scores = scores_of(cell, printed) if cell.data_set in FAR else printed
                database.record(grid, Outcome(grid.task(cell), {**scores, "accuracy": 0.5}, None, 0.1))
    return path


def shifted(printed, by):
    return {metric: value + by for metric, value in printed.items()}


def test_the_section_tells_which_reading_fits(tmp_path):
    def scores_of(cell, printed):
        if cell.data_set == "iondata":
            return printed if cell.method == TOLD else shifted(printed, 0.2)
        if cell.data_set == "soybean":
            return printed if cell.method in (PLAIN, "Gini") else shifted(printed, 0.2)
        return shifted(printed, 0.3 if cell.method != "one tree" else 0.1)

    path = fill(tmp_path / "a.sqlite", scores_of)
    results = read_stored(path, readings())
    assert fitting(results, "iondata") == [TOLD]
    assert fitting(results, "lymphography") == [] and closest(results, "lymphography") == "one tree"
    text = section(path)
    assert f"**“{TOLD}” gives the printed numbers; {len(READINGS) - 1} others do not.**" in text
    assert f"These interpretations give the printed numbers: {PLAIN}, Gini." in text
    assert "No interpretation gives the printed numbers. The nearest is “one tree”, off by +0.100 in 0/1-MSE" in text
    assert "The paper has 11/8/1" in text and "it is 0/2/0 here" in text


def test_without_readings_the_section_says_so(tmp_path):
    Database(tmp_path / "a.sqlite").close()
    assert section(tmp_path / "a.sqlite").startswith("Not run yet")


@pytest.mark.real_data
def test_readings_are_cells_of_an_experiment(tmp_path):
    grid = readings().restricted(data_sets=["soybean"], methods=[PLAIN, "one tree"], trials=1)
    assert run(grid, tmp_path / "a.sqlite", jobs=0).n_finished == 2
