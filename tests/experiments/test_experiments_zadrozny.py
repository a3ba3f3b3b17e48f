"""Zadrozny & Elkan's experiment: the data, the cells, the page, the contest's own files."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
import pytest

import naive_experiments
from petiole.cli import main as run_command
from petiole.experiments import Cell, Database, Outcome, command, run
from petiole.experiments import zadrozny_elkan_2001 as protocol
from petiole.experiments._grid.cells import Task
from petiole.experiments.published import read_published
from petiole.experiments.zadrozny_elkan_2001 import CONSTANTS, MODELS, PRUNED, experiment, judge, predicted_gifts
from petiole.experiments.zadrozny_elkan_2001 import data as data
from petiole.experiments.zadrozny_elkan_2001 import figures as figures
from petiole.experiments.zadrozny_elkan_2001 import page as page_module
from petiole.experiments.zadrozny_elkan_2001.data import Division, People, halves, load_contest, load_division, redrawn
from petiole.smoothing import Curtailment, MEstimate


def made_up(n=400, seed=0, gifts=True):
    random = np.random.default_rng(seed)
    parts = []
    for _ in range(2):
        X = np.column_stack([random.normal(size=n), random.integers(0, 3, size=n)]).round(1)
        y = random.random(n) < 0.15 + 0.2 * (X[:, 0] > 0.5)
        history = np.column_stack([random.uniform(3, 30, n), random.uniform(3, 30, n)])
        history[::7, 1] = np.nan
        gift = np.where(y, history[:, 0].round() + 1, 0.0)
        money = {"gifts": gift, "history": history} if gifts else {}
        parts.append(People(X, y, np.where(y, 1.0, 2.5), **money))
    return Division(parts[0], parts[1], (1,))


# The protocol.


def test_the_grid_has_the_papers_methods():
    table = read_published("zadrozny_elkan_2001_table_1").column("method")
    assert {*MODELS, *CONSTANTS} - {PRUNED} == set(table)
    assert len(page_module.COMPARED) == 11
    assert experiment(original=False).data_sets == ["kdd98-sample", "coil2000", "coil2000-redrawn"]
    assert experiment(original=True).data_sets[0] == "kdd98"


def test_models_are_those_of_the_text():
    """m and v as printed, no pruning, 100 resamples, ten bins."""
    common = {"categorical_features": [], "random_state": 0}
    made = {name: make(200.0, 100, common).get_params() for name, make in MODELS.items()}
    assert repr(made["Smoothing"]["smoothing"]) == repr(MEstimate(200.0))
    assert repr(made["Curtailment"]["smoothing"]) == repr(Curtailment(200.0))
    assert repr(made["Smoothed curtailment"]["smoothing"]) == repr(Curtailment(200.0, MEstimate(200.0)))
    assert repr(made["Bagged curtailment"]["smoothing"]) == repr(Curtailment(200.0))
    assert made["Bagged Laplace"]["n_estimators"] == made["Bagged curtailment"]["n_estimators"] == 100
    assert made["Kearns-Mansour"]["criterion"] == "kearns_mansour" and made["Kearns-Mansour"]["smoothing"] == "raw"
    assert made["Binned naive Bayes"]["score_bins"] == 10 and made["Naive Bayes"]["score_bins"] is None
    trees = [one for name, one in made.items() if "pruning" in one and name != PRUNED]
    assert all(one["pruning"] is None for one in trees) and len(trees) == 8
    assert all(one["criterion"] == "gain_ratio" for name, one in made.items() if "pruning" in one and "K" not in name)
    assert (protocol.STRENGTH["kdd98"], protocol.STRENGTH["coil2000"]) == (200, 170)


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_loops(seed):
    division = made_up(90, seed)
    part, random = division.test, np.random.default_rng(seed)
    chances = random.choice([0.0, 0.05, 0.1, 0.4, 0.9], size=90)
    amounts = random.uniform(1, 30, 90)
    found = judge(part, chances, amounts, 1000)
    mse, bits = naive_experiments.two_class_scores(part.y, chances, part.weights)
    assert found["mse"] == pytest.approx(mse) and found["log_loss"] == pytest.approx(bits)
    money = naive_experiments.campaign(part.gifts, chances, amounts, part.weights, 1000)
    assert found["profit"] == pytest.approx(money)
    for share in protocol.SHARES:
        expected = naive_experiments.lift_at(part.y, chances, part.weights, share)
        assert found[protocol.lift_name(share)] == pytest.approx(expected), share
    assert np.isnan(judge(part, chances, None, 1000)["profit"])


def test_amounts_are_a_regression_on_donors_without_large_gifts():
    division = made_up(300)
    train = division.train
    train.gifts[:] = np.where(train.y, 2 + 0.5 * train.history[:, 0], 0)
    outlier = int(np.flatnonzero(train.y)[0])
    train.gifts[outlier] = 999.0
    fitted = predicted_gifts(division, 50.0)
    np.testing.assert_allclose(fitted[1], 2 + 0.5 * division.test.history[:, 0], rtol=1e-9)
    assert predicted_gifts(made_up(30, gifts=False), 50.0) is None


@pytest.mark.parametrize("method", [*MODELS, *CONSTANTS])
def test_every_method_runs(method, monkeypatch):
    monkeypatch.setattr(protocol, "load_division", lambda name, seed: made_up())
    task = Task(Cell("kdd98-sample", 0, method), 1, 2, {"n_trees": 5, "largest_gift": 50.0})
    scores = protocol.run_cell(task)
    assert scores == pytest.approx(protocol.run_cell(task), nan_ok=True)
    for part in protocol.PARTS:
        assert 0 <= scores[f"{part} mse"] <= 2 and scores[f"{part} lift at 1.00"] == pytest.approx(1)
    if method in CONSTANTS:
        assert all(scores[f"test {protocol.lift_name(share)}"] == pytest.approx(1) for share in protocol.SHARES)


def test_probabilities_that_rounding_made_too_large_are_judged(monkeypatch):
    division = made_up(50)
    surely = SimpleNamespace(predict_proba=lambda X: np.tile([0.0, 1 + 2**-52], (len(X), 1)))
    chances = protocol.chances_of(surely, division.test.X)
    assert judge(division.test, chances, np.ones(50), 10)["mse"] == pytest.approx(
        2 * np.average(~division.test.y, weights=division.test.weights)
    )


def test_constants_are_arithmetic(monkeypatch):
    """Of base rate b: 2b, 2(1 − b) and, if both parts have the same rate, 2b(1 − b)."""
    monkeypatch.setattr(protocol, "load_division", lambda name, seed: made_up())
    part = made_up().train
    b = np.average(part.y, weights=part.weights)
    settings = {"n_trees": 5, "largest_gift": 50.0}
    mse = {
        name: protocol.run_cell(Task(Cell("coil2000", 0, name), 1, 2, settings))["training mse"] for name in CONSTANTS
    }
    assert list(mse.values()) == pytest.approx([2 * b * (1 - b), 2 * b, 2 * (1 - b)])


# Data.


def test_halves_keep_the_classes():
    y = np.array([True] * 7 + [False] * 20)
    train, test = halves(y, 4)
    assert sorted([*train, *test]) == list(range(27))
    assert (y[train].sum(), y[test].sum(), len(test)) == (4, 3, 13)
    assert not np.array_equal(train, halves(y, 5)[0])


def test_redrawn_divisions_have_the_same_rows():
    division = made_up(40, gifts=False)
    other = redrawn(division, 3)
    both = [np.sort(np.concatenate([d.train.X[:, 0], d.test.X[:, 0]])) for d in (division, other)]
    np.testing.assert_array_equal(*both)
    assert not np.array_equal(division.train.X, other.train.X)
    assert (len(other.train.y), other.categorical) == (40, (1,))


@pytest.mark.real_data
def test_coil_is_the_papers():
    """Twice the base rate is the all-zero line of table 4, in both parts."""
    division = load_division("coil2000", 0)
    table = read_published("zadrozny_elkan_2001_table_4")
    for part, column in ((division.train, "training"), (division.test, "test")):
        assert f"{2 * part.y.mean():.5f}" == table.cell("All zero (C4.5 with pruning)", column)
    assert division.train.X.shape == (5822, 85) and division.categorical == (0, 4)


@pytest.mark.real_data
def test_the_sample_has_the_papers_base_rate_and_seven_attributes():
    division = load_division("kdd98-sample", 0)
    for part in (division.train, division.test):
        assert np.average(part.y, weights=part.weights) == pytest.approx(0.0507, abs=2e-4)
        assert part.X.shape[1] == 7 and set(np.unique(part.X[:, 6])) == {0, 1}
        assert (part.gifts[part.y] > 0).all() and (part.gifts[~part.y] == 0).all()
    assert len(division.train.y) + len(division.test.y) == 19372
    assert (
        10_000
        < judge(division.test, np.ones(len(division.test.y)), np.full(len(division.test.y), 9.0), 96_367)["profit"]
        < 11_500
    )  # all one earns $10,560 in the paper


HISTORY = [f"RAMNT_{number}" for number in range(3, 25)]


@pytest.fixture
def contest(tmp_path):
    """Small files in the format of the contest."""
    random = np.random.default_rng(0)
    fields = ["INCOME", "FISTDATE", "LASTDATE", "NGIFTALL", "NUMPROM", "RFA_2F", "RFA_2A", "PEPSTRFL", "LASTGIFT"]

    def lines(n, extra):
        for row in range(n):
            gave = random.random() < 0.3
            cells = [random.choice(["", "3", "5"]), 9001 + row % 5, 9512, 1 + row % 7, 20, 1 + row % 4]
            cells += ["DEFG"[row % 4], random.choice(["X", " "]), 5 + row % 20]
            cells += [random.choice(["", "10", "20"]) for _ in HISTORY]
            yield cells, [row, int(gave), 8 + row % 9 if gave else 0], extra

    header = [*fields, *HISTORY]
    learning, validation, targets = [], [], []
    for cells, target, _ in lines(120, None):
        learning.append([*cells, *target])
    for cells, target, _ in lines(90, None):
        validation.append([*cells, target[0]])
        targets.append(target)
    files = {
        "cup98LRN.txt": ([*header, "CONTROLN", "TARGET_B", "TARGET_D"], learning),
        "cup98VAL.txt": ([*header, "CONTROLN"], validation),
        "valtargt.txt": (["CONTROLN", "TARGET_B", "TARGET_D"], targets[::-1]),
    }
    for name, (names, rows) in files.items():
        (tmp_path / name).write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n")
    return tmp_path


def test_the_contests_own_files_run_in_their_own_division(contest, monkeypatch, tmp_path):
    division = load_contest(contest, check_size=False)
    assert (len(division.train.y), len(division.test.y), division.train.X.shape[1]) == (120, 90, 7)
    assert division.categorical == (5, 6) and (division.train.weights == 1).all()
    with (contest / "cup98LRN.txt").open() as file:
        for record, (last, mean) in zip(csv.DictReader(file), division.train.history, strict=True):
            gifts = [float(record[name]) for name in HISTORY if record[name]]
            assert last == float(record["LASTGIFT"])
            assert mean == pytest.approx(sum(gifts) / len(gifts) if gifts else np.nan, nan_ok=True)
    assert set(np.unique(division.train.X[:, 6])) == {0, 1}
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(contest))
    monkeypatch.setattr(data, "load_contest", lambda folder: division)
    grid = experiment().restricted(data_sets=["kdd98"], methods=["Curtailment", "All one"], trials=1)
    path = tmp_path / "cells.sqlite"
    assert run(grid, path, jobs=0).errors == {}
    with Database(path) as database:
        earned = database.scores(grid)[Cell("kdd98", 0, "All one")]["test profit"]
    expected = (division.test.gifts - 0.68).sum() * 96_367 / 90
    assert earned == pytest.approx(expected)


def test_without_the_contests_files_it_says_what_to_set(monkeypatch):
    monkeypatch.delenv(data.FOLDER_VARIABLE, raising=False)
    assert "kdd98" not in experiment().data_sets
    with pytest.raises(FileNotFoundError, match="PETIOLE_KDD98 is not set: it must name the folder"):
        load_division("kdd98", 0)
    with pytest.raises(ValueError, match="name='kdd99': must be one of kdd98, kdd98-sample"):
        load_division("kdd99", 0)


# The page.


@pytest.fixture
def printed(tmp_path):
    """A database whose scores are those of the paper."""
    grid, path = experiment(original=False).restricted(trials=2), tmp_path / "printed.sqlite"
    tables = {number: read_published(f"zadrozny_elkan_2001_table_{number}") for number in (1, 2, 3, 4)}
    with Database(path) as database:
        for cell in grid.cells():
            scores = {"leaves": 1.0 + cell.trial}
            for part in protocol.PARTS:
                number = 1 if cell.data_set == "kdd98-sample" else 4
                for metric, source in (("mse", number), ("log_loss", 2), ("profit", 3)):
                    known = cell.method != PRUNED
                    scores[f"{part} {metric}"] = float(tables[source].cell(cell.method, part)) if known else 0.0
                scores |= {f"{part} {protocol.lift_name(share)}": 1.0 for share in protocol.SHARES}
            database.record(grid, Outcome(grid.task(cell), scores, None, 3.0))
    return path


def test_the_papers_own_scores_agree_in_full(printed):
    found = page_module.agreements(printed)
    assert [(one.same_sign, one.n_signs) for one in found] == [(55, 55), (52, 52), (55, 55), (55, 55)]
    assert all(one.n_marks == 0 for one in found)


def test_signs_are_those_of_a_loop(printed):
    results = page_module._read(printed)
    random = np.random.default_rng(1)
    results.tables["test profit"] = random.integers(0, 6, size=results.tables["test profit"].shape) * 1000.0
    table = page_module.TABLES[2]
    ours = {m: results.mean("test profit", "kdd98-sample", m) for m in page_module.COMPARED}
    published = {m: float(table.read().cell(m, "test")) for m in page_module.COMPARED}
    pairs = page_module.compare(results, table, "kdd98-sample")
    found = page_module.Agreement.of(pairs)
    assert (found.same_sign, found.n_signs) == naive_experiments.same_better(published, ours, True)
    assert 0 < found.same_sign < found.n_signs


def test_the_page_has_every_cell_of_the_tables(printed, tmp_path):
    pytest.importorskip("matplotlib")
    path = page_module.write(printed, tmp_path / "docs" / "zad.md")
    text = path.read_text(encoding="utf-8")
    for number in (1, 2, 3, 4):
        for row in read_published(f"zadrozny_elkan_2001_table_{number}").rows:
            for part in protocol.PARTS:
                value = "∞" if row[part] == "inf" else f"{int(row[part]):,}" if number == 3 else row[part]
                assert f"| {value} |" in text, (number, row)
    assert "of the 217 pairs whose printed scores differ, the same method is better here in 217" in text
    assert "kdd98-sample: 1 to 2" in text and "Not run yet." in text
    assert "smoothing improves curtailment | yes / yes (2 of 2)" in text
    assert (tmp_path / "docs" / "images" / "zad-lift.png").stat().st_size > 1000


def test_infinite_scores_are_told(printed):
    results = page_module._read(printed)
    results.tables["test log_loss"][0, results.methods.index("Curtailment")] = [np.inf, 0.3]
    text = page_module._table(results, page_module.TABLES[1], "kdd98-sample")
    assert "∞ in 1 of 2" in text


def test_figures_are_drawn_from_the_database(printed, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figures, "load_division", lambda name, seed: made_up())
    assert run(figures.sorted_scores(original=False), printed, jobs=0).errors == {}
    text = page_module.write(printed, tmp_path / "zad.md").read_text(encoding="utf-8")
    assert "Smoothing: scores from 0.0224 to 0.1018 in the paper" in text
    assert (tmp_path / "images" / "zad-scores.png").stat().st_size > 1000
    with Database(printed) as database:
        scores = database.scores(figures.sorted_scores(original=False))[Cell("kdd98-sample", 0, "Smoothing")]
    raw = [scores[f"raw {number:03}"] for number in range(figures.N_POINTS)]
    assert raw == sorted(raw)


# The command.


def test_further_experiments_run_with_the_whole_grid_only(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "has_data", lambda: True)
    monkeypatch.setattr(protocol, "load_division", lambda name, seed: made_up(60))
    monkeypatch.setattr(figures, "load_division", lambda name, seed: made_up(60))
    monkeypatch.setitem(protocol.SETTINGS, "n_trees", 3)
    options = ["zadrozny-elkan-2001", "--jobs", "0", "--database", str(tmp_path / "a.sqlite")]
    options += ["--page", str(tmp_path / "page.md")]
    assert run_command(["reproduce", *options, "--methods", "All one"]) == 0
    assert "figures" not in capsys.readouterr().out
    assert run_command(["reproduce", *options, "--quick"]) == 0
    out = capsys.readouterr().out
    assert "zadrozny-elkan-2001: 78 cells computed" in out and "zadrozny-elkan-2001-figures: 2 cells computed" in out
    assert "Figures 1 and 3" in (tmp_path / "page.md").read_text(encoding="utf-8")
