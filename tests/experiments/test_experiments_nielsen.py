"""Nielsen's experiment: the data sets, the cells, the page and the command."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

import naive_experiments
import naive_metrics
from petiole import BaggedPETClassifier, MOBESPClassifier
from petiole.cli import main as run_command
from petiole.experiments import Cell, Database, Outcome, nielsen_2004, read_results
from petiole.experiments._data.loading import RawTable, from_frame, load_raw
from petiole.experiments.nielsen_2004 import ENSEMBLES, experiment, judge, majority_votes, run_cell, split
from petiole.experiments.nielsen_2004 import page as nielsen_2004_page
from petiole.experiments.nielsen_2004.data import ORDERS, SOURCES, load_nielsen
from petiole.experiments.nielsen_2004.page import COLUMNS, compare, paired_marks, render
from petiole.experiments.published import read_published

# Data.


@pytest.mark.real_data
@pytest.mark.parametrize("name", SOURCES)
def test_data_sets_have_the_papers_size(name):
    table = read_published("nielsen_2004_table_1")
    X, y = load_nielsen(name)
    assert len(np.unique(y)) == 2
    assert np.isfinite(X).all()
    assert X.shape == (int(table.cell(name, "n")), int(table.cell(name, "d")))


def test_another_version_of_the_data_is_refused(monkeypatch):
    """The page prints sizes without looking at the data, so cells of other sizes must not get into a database."""
    short = RawTable({"a": np.arange(3.0)}, np.array(["x", "y", "x"]))
    monkeypatch.setattr("petiole.experiments.nielsen_2004.data.load_raw", lambda name: short)
    load_nielsen.cache_clear()
    with pytest.raises(ValueError, match=r"'bupa': 3 rows and 1 features come out of 'bupa', but .* on 345 and 6"):
        load_nielsen("bupa")


def test_the_names_are_those_of_table_1():
    assert list(SOURCES) == read_published("nielsen_2004_table_1").column("data_set")
    with pytest.raises(ValueError, match="name='irises': must be one of audiology, bupa"):
        load_nielsen("irises")


def test_natural_orders_have_no_value_twice():
    assert all(len(set(order)) == len(order) for order in ORDERS)


@pytest.mark.real_data
def test_categories_get_codes_in_a_natural_order():
    raw, (X, _) = load_raw("audiology"), load_nielsen("audiology")
    kept = np.isin(raw.labels, SOURCES["audiology"].classes) & ~raw.without("bone", "bser").missing
    kept[:26] = False  # the test part
    speech, air = raw.columns["speech"][kept], raw.columns["air"][kept]
    codes = {"normal": 0, "good": 1, "very_good": 2, "very_poor": -3, "poor": -2, "unmeasured": -1}  # footnote 7
    assert (np.array([codes[value] for value in speech])[:, None] == X).all(axis=0).any()
    levels = ["normal", "mild", "moderate", "severe", "profound"]
    assert (np.array([levels.index(value) for value in air])[:, None] == X).all(axis=0).any()


def test_frames_of_any_library_become_raw_tables():
    frame = pd.DataFrame(
        {
            "a": [1, 2, 3],
            "b": pd.Categorical(["x", None, "y"]),
            "c": [0.5, np.nan, 1.5],
        }
    )
    table = from_frame(frame, ["u", "v", "u"])
    assert isinstance(table, RawTable)
    assert table.columns["b"].tolist() == ["x", None, "y"]
    assert table.missing.tolist() == [False, True, False]
    np.testing.assert_array_equal(table.rows(~table.missing).without("b").matrix(), [[1, 0.5], [3, 1.5]])


def test_data_that_are_not_there_are_told(monkeypatch, tmp_path):
    load_raw.cache_clear()
    monkeypatch.setenv("PETIOLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PETIOLE_DATA", raising=False)
    with pytest.raises(ValueError, match="set the environment variable PETIOLE_DATA to a folder"):
        load_raw("audiology")
    (tmp_path / "manifest.json").write_text("[]")
    monkeypatch.setenv("PETIOLE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"'audiology': no data set of this name .* does not have it"):
        load_raw("audiology")


# Cells.


def test_the_grid_is_the_papers():
    grid = experiment()
    assert (len(grid.data_sets), grid.trials, len(grid.methods)) == (20, 100, 9)
    assert grid.settings == {"n_trees": 128, "test_share": 1 / 3}


def test_methods_differ_by_one_switch_each():
    """Tables 3 and 4: an enhancement added to B-PETs, an enhancement removed from EB-PETs."""
    switches = ("oob_weight", "smoothing", "max_features")
    made = {name: preset(**changes).get_params() for name, (preset, changes) in ENSEMBLES.items()}
    base, enhanced = made["B-PETs"], made["EB-PETs"]
    assert [base[s] for s in switches] == [0.0, "laplace", None]
    assert [enhanced[s] for s in switches] == [1.0, "raw", "sqrt"]
    for switch, name in zip(switches, ("OB Examples", "Omit Smoothing", "Random Features"), strict=True):
        for method, start, end in ((f"B-PETs + {name}", base, enhanced), (f"EB-PETs - {name}", enhanced, base)):
            assert made[method][switch] == end[switch]
            assert all(made[method][s] == start[s] for s in switches if s != switch)


@pytest.mark.parametrize("n", [61, 79, 100, 1473])
def test_a_third_is_held_out(n):
    y = np.arange(n) % 2
    train, test = split(y, 5, 1 / 3)
    assert sorted([*train, *test]) == list(range(n))
    assert len(test) == round(n / 3)
    again = split(y, 5, 1 / 3)
    assert (train == again[0]).all() and not np.array_equal(train, split(y, 6, 1 / 3)[0])


def test_every_class_has_a_row_to_train_on():
    y = np.array([0] * 8 + [1])
    for seed in range(20):
        train, _ = split(y, seed, 1 / 3)
        assert len(np.unique(y[train])) == 2


@pytest.mark.parametrize("smoothing", ["raw", "laplace"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_majority_votes_are_those_of_a_loop_over_trees(smoothing, n_classes):
    X, y = make_classification(
        150, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.4, random_state=n_classes
    )
    X = X.round(1)
    # an even number of trees, so that there are ties
    model = BaggedPETClassifier.b_pets(n_estimators=6, random_state=0, smoothing=smoothing, max_features=1)
    model.fit(X[:90], y[:90])
    np.testing.assert_array_equal(majority_votes(model, X[90:]), naive_experiments.majority(model, X[90:]))


def test_scores_are_those_of_the_obvious_formulas():
    X, y = make_classification(120, 4, flip_y=0.3, weights=[0.7], random_state=1)
    y = np.array(["no", "yes"])[y]
    train, test = split(y, 0, 1 / 3)
    model = BaggedPETClassifier.eb_pets(n_estimators=20, random_state=0).fit(X[train], y[train])
    proba, votes = model.predict_proba(X[test]), majority_votes(model, X[test])
    found = judge(y[test], proba, votes, model)
    codes, weights = np.searchsorted(model.classes_, y[test]).tolist(), [1.0] * len(test)
    priors = [float(np.mean(y[train] == label)) for label in model.classes_]
    rows = proba.tolist()
    assert found["zero_one_mse"] == pytest.approx(naive_metrics.zero_one_mse(codes, rows, weights))
    assert found["log_loss"] == pytest.approx(
        naive_metrics.log_loss(codes, rows, weights, floor="exact", priors=priors)
    )
    assert found["lift_area"] == pytest.approx(naive_metrics.aulc(codes, rows, weights, priors=priors))
    right = np.array(codes) == proba.argmax(axis=1)
    assert found["accuracy"] == pytest.approx(right.mean())
    assert found["accuracy_change"] == pytest.approx(right.mean() - np.mean(votes == y[test]))


def test_priors_are_those_of_the_training_rows():
    """In ε = ½ · 1/300 of the log-loss, and in the weights of the lift areas."""
    fitted = SimpleNamespace(classes_=np.array([0, 1]), class_weights_=np.array([299.0, 1.0]))
    y, proba = np.array([0, 1, 0, 1]), np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.25, 0.75]])
    found = judge(y, proba, y, fitted)
    epsilon = 0.5 / 300
    expected = -np.mean(np.log2([1 - epsilon, epsilon, 0.5, 0.75]))
    assert found["log_loss"] == pytest.approx(expected)
    areas = [naive_metrics.area_right([label == k for label in y], proba[:, k].tolist()) for k in (0, 1)]
    assert found["lift_area"] == pytest.approx((299 * areas[0] + areas[1]) / 300)


@pytest.mark.real_data
def test_mob_esp_is_the_class_of_that_name():
    task = experiment().task(Cell("iris", 0, "MOB-ESP"))
    X, y = load_nielsen("iris")
    train, test = split(y, task.split_seed, 1 / 3)
    model = MOBESPClassifier(n_estimators=128, random_state=task.seed).fit(X[train], y[train])
    proba = model.predict_proba(X[test])
    own = proba[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
    assert run_cell(task)["zero_one_mse"] == pytest.approx(np.mean((1 - own) ** 2))


@pytest.mark.real_data
def test_cells_can_be_computed_again_and_differ():
    grid = experiment()
    one, other = (grid.task(Cell("zoo", trial, "EB-PETs")) for trial in (0, 1))
    assert run_cell(one) == run_cell(one)
    assert run_cell(one) != run_cell(other)
    assert set(run_cell(one)) == set(nielsen_2004.METRICS)


# The page.


@pytest.fixture
def results(tmp_path):
    """A database whose scores are the published ones, with a little noise that is the same for both of a pair."""
    random = np.random.default_rng(0)
    grid = experiment().restricted(trials=4)
    two, six = read_published("nielsen_2004_table_2"), read_published("nielsen_2004_table_6")
    sources = {"B-PETs": (two, "b_pets"), "EB-PETs": (two, "eb_pets"), "MOB-ESP": (six, "mob_esp")}
    noise = random.normal(scale=1e-7, size=(20, 4))
    with Database(":memory:") as database:
        for cell in grid.cells():
            table, name = sources.get(cell.method, (two, "b_pets"))
            shift = noise[grid.data_sets.index(cell.data_set), cell.trial] + 1e-9 * random.normal()
            scores = {
                metric: float(table.cell(cell.data_set, f"{column}_{name}")) + shift
                for column, (metric, _) in COLUMNS.items()
            }
            database.record(grid, Outcome(grid.task(cell), {**scores, "accuracy": 0.5}, None, 0.1))
        yield read_results(database, experiment())


def test_a_page_from_the_papers_own_scores_agrees_in_every_sign(results):
    text = render(results)
    assert "the same method is better here in 146 of 146 comparisons" in text
    assert "Of the 115 differences that are significant in the paper" in text
    assert "4 of the paper's 100 trials" in text and "This is not the whole experiment" in text
    assert text.count("\n| iris |") == 9  # eight tables and that of the data sets


def test_marks_on_the_page_are_for_the_second_method(results):
    """0/1-MSE of ionosphere falls from .247 to .069 and AULC rises: a win of EB-PETs in both."""
    row = results.data_sets.index("iondata")
    assert paired_marks(results, "zero_one_mse", "B-PETs", "EB-PETs")[row] == 1
    assert paired_marks(results, "lift_area", "B-PETs", "EB-PETs")[row] == 1
    assert paired_marks(results, "lift_area", "EB-PETs", "B-PETs")[row] == -1
    name, pair = compare(results, 2, "mse", "B-PETs", "EB-PETs")[row]
    assert (name, pair.first.published, pair.second.published, pair.published_mark) == ("iondata", "0.247", "0.069", 1)


def test_agreements_are_those_of_the_page(results):
    """Tables 2 and 6 by data set; of tables 3 to 5 the seven lines that do not follow from them, by count."""
    found = nielsen_2004_page._agreements(results)
    assert [one.n for one in found] == [20] * 8 + [7] * 4
    assert (sum(one.same_sign for one in found[:8]), sum(one.n_signs for one in found[:8])) == (146, 146)
    # MOB-ESP against B-PETs is as printed; the methods with one enhancement have the scores of B-PETs here
    assert all(1 <= one.same_sign < one.n_signs for one in found[8:11])
    assert found[8].name == "tables 3 to 5, 0/1-MSE: more wins than losses, or fewer" and found[8].n_marks == 0


def test_the_page_tells_the_time(results):
    timed = replace(results, tables={"processor_seconds": np.full((20, 9, 2), 0.03)})
    text = nielsen_2004_page.time_spent(results, timed)
    assert "an ensemble takes 0.030 s" in text
    assert "the whole experiment 9.0 minutes: 4.5 on 2 free cores." in text
    assert nielsen_2004_page.time_spent(results, None).endswith("the cells took 1.2 minutes.")


@pytest.mark.real_data
def test_processor_time_is_measured():
    assert 0 < nielsen_2004.time_cell(nielsen_2004.timing().task(Cell("zoo", 0, "B-PETs")))["processor_seconds"] < 5


# The command.


@pytest.mark.real_data
def test_the_command_runs_resumes_and_writes_the_page(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    database, page = tmp_path / "cells.sqlite", tmp_path / "pages" / "nielsen.md"
    options = ["nielsen-2004", "--jobs", "0", "--database", str(database), "--page", str(page)]
    assert run_command(["reproduce", *options, "--trials", "2", "--datasets", "zoo, iris"]) == 0
    out = capsys.readouterr().out
    assert "36 cells computed" in out and f"wrote {page}" in out
    text = page.read_text()
    assert "2 data sets, 2 of the paper's 100 trials, 9 methods: 36 ensembles" in text
    assert "Not there: audiology, bupa" in text
    assert (tmp_path / "pages" / "images" / "nielsen.png").stat().st_size > 1000
    assert run_command(["reproduce", *options, "--trials", "2", "--datasets", "iris,zoo"]) == 0
    assert "0 cells computed in 0 s, 36 were there already" in capsys.readouterr().out
    first = page.read_text()
    assert run_command(["reproduce", *options, "--page-only"]) == 0
    assert page.read_text() == first == text


@pytest.mark.real_data
def test_a_part_that_makes_no_page_is_computed_all_the_same(tmp_path, capsys):
    options = ["nielsen-2004", "--jobs", "0", "--database", str(tmp_path / "a.sqlite"), "--page", str(tmp_path / "p")]
    assert run_command(["reproduce", *options, "--trials", "1", "--datasets", "zoo", "--methods", "EB-PETs"]) == 0
    out = capsys.readouterr().out
    assert "1 cells computed" in out and "no page: " in out
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nielsen-2003"], "paper='nielsen-2003': is not known; did you mean 'nielsen-2004'?"),
        (["nielsen-2004", "--datasets", "irises"], "data_sets='irises': must be among audiology"),
        (["nielsen-2004", "--trials", "0"], "trials=0: must be a whole number at least 1"),
        (["nielsen-2004", "--jobs", "-1"], "jobs=-1: must be a whole number at least 0"),
        (["nielsen-2004", "--page-only"], "there is no such file; run the experiment first"),
        (["nielsen-2004", "--address", "tcp://x:1"], "is for --engine dask; add that"),
    ],
)
def test_wrong_options_are_told(options, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_command(["reproduce", *options]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_module_runs_reproduce():
    command = [sys.executable, "-m", "petiole", "reproduce", "--help"]
    assert "nielsen-2004" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
