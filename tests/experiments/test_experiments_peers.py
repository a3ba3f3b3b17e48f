"""The study of peers: the order of its cells, methods of other libraries, the file of scores, ranks and the page."""

from __future__ import annotations

import gzip
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss as log_loss_in_nats
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

import naive_studies
from petiole import datasets
from petiole.cli import main as run_command
from petiole.datasets import Description
from petiole.experiments import Cell, Database, Outcome, peers, run
from petiole.experiments import command as reproduce_command
from petiole.experiments._data.which_method import StudyTable, had_a_part
from petiole.experiments.peers import METRICS, SETTINGS, judge, nth_split, run_cell, tabpfn, whole_grid
from petiole.experiments.peers import page as peers_page
from petiole.experiments.peers.losses import anchors, large_sets, lost_sets
from petiole.experiments.peers.methods import METHODS, Method, within_tabpfn
from petiole.experiments.peers.reasons import REASONS
from petiole.experiments.peers.scores import LEAST_LOSS, read_found
from petiole.experiments.peers.store import file_beside, read_back, write_out

# By the hash of their names, the flagship was developed on "seeds" alone.
NAMES = ["iris", "wine", "glass", "seeds", "letter"]
ROWS = {"iris": 120, "wine": 150, "glass": 900, "seeds": 1_500, "letter": 20_000}


def make_table(n=90):
    """Three classes, a numeric column, a categorical one, gaps, and a column of nothing but gaps."""
    random = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = np.column_stack([y + random.normal(size=n), (y + random.integers(0, 2, n)) % 4, random.normal(size=n)])
    X[random.random(X.shape) < 0.1] = np.nan
    return StudyTable(np.column_stack([X, np.full(n, np.nan)]), np.array([False, True, False, False]), y)


class Shy:
    """A peer that says the shares of the classes, mixed with what is said by all rows alike."""

    def __init__(self, share):
        self.share = share

    def fit(self, X, y):
        self.shares_ = np.bincount(y) / len(y)
        self.first_ = np.eye(len(self.shares_))[0]
        return self

    def predict_proba(self, X):
        return np.tile(self.share * self.shares_ + (1 - self.share) * self.first_, (len(X), 1))


FAKES = {
    "flagship v1": Method(lambda categorical, seed: Shy(1.0)),
    "petiole random forest": Method(lambda categorical, seed: DummyClassifier(strategy="prior")),
    "fake peer": Method(lambda categorical, seed: Shy(0.9)),
    "dear peer": Method(lambda categorical, seed: Shy(0.8), is_slow=True),
    "absent peer": Method(lambda categorical, seed: Shy(0.5), library="no_such_library"),
    "small peer": Method(lambda categorical, seed: Shy(0.7), suits=lambda data_set: ROWS[data_set] <= 1000),
}


@pytest.fixture
def synthetic(monkeypatch):
    """Made-up data sets in place of the folder, and made-up methods."""
    about = {
        name: Description(name, rows=rows, class_counts={"a": 60, "b": 60}, kinds={"x": "numeric"}, classes=("a", "b"))
        for name, rows in ROWS.items()
    }
    monkeypatch.setattr(peers, "descriptions", lambda: about)
    monkeypatch.setattr(peers, "load_table", lambda name: make_table())
    monkeypatch.setattr(peers, "METHODS", FAKES)


# The grid.


def test_data_sets_are_chosen_by_size_alone(monkeypatch):
    def about(rows, counts=(50, 50)):
        return Description("d", rows=rows, class_counts=dict(enumerate(counts)), classes=tuple(range(len(counts))))

    offered = {
        "large": about(100_000),
        "small": about(100),
        "too small": about(99),
        "too large": about(100_001),
        "one class": about(500, counts=(493, 7)),
    }
    monkeypatch.setattr(peers, "descriptions", lambda: offered)
    assert peers.sizes(SETTINGS) == {"small": 100, "large": 100_000}


@pytest.mark.real_data
def test_there_are_enough_data_sets_and_enough_large_ones():
    rows = peers.sizes(SETTINGS)
    assert len(rows) >= 100 and sum(n > 5_000 for n in rows.values()) >= 20
    assert sum(not had_a_part(name) for name in rows) >= 80


def test_cells_come_in_an_order_that_is_balanced(synthetic):
    cells = whole_grid().cells()
    assert len(set(cells)) == len(cells)
    trials = {name: {cell.trial for cell in cells if cell.data_set == name} for name in NAMES}
    assert {name: len(found) for name, found in trials.items()} == dict.fromkeys(NAMES, 5) | {"letter": 3}
    assert {cell.data_set for cell in cells if cell.method == "small peer"} == {"iris", "wine", "glass"}
    n_flagship = sum(cell.method == "flagship v1" for cell in cells)
    assert {cell.method for cell in cells[:n_flagship]} == {"flagship v1"}
    place = {cell: i for i, cell in enumerate(cells)}
    dear = [place[Cell(name, 0, "dear peer")] for name in NAMES]
    cheap = [
        max(place[Cell(name, trial, "fake peer")] for name in NAMES if trial in trials[name]) for trial in range(5)
    ]
    # small data sets after the first split of the cheap methods, those above 1,000 rows after the second, then the rest
    assert cheap[0] < dear[0] < dear[1] < dear[2] < cheap[1] < dear[3] < cheap[2] < dear[4] < cheap[3]


def test_splits_are_those_of_scikit_learn_one_after_the_other():
    y = np.repeat([0, 1, 2], [30, 40, 50])
    expected = list(StratifiedShuffleSplit(5, test_size=1 / 3, random_state=0).split(y, y))
    for trial, (train, test) in enumerate(expected):
        ours = nth_split(y, trial, 1 / 3)
        np.testing.assert_array_equal(ours[0], train)
        np.testing.assert_array_equal(ours[1], test)


def test_a_method_whose_library_is_missing_is_skipped_with_a_line(synthetic, capsys):
    assert "absent peer" not in peers.experiment().methods
    assert capsys.readouterr().err == "skipped, because they are not installed: no_such_library\n"
    assert "absent peer" in whole_grid().methods


# Scores and methods.


def test_scores_are_those_of_the_obvious_formulas():
    random = np.random.default_rng(1)
    y = np.r_[0, 1, 2, random.integers(0, 3, 40)]
    proba = random.dirichlet(np.ones(3) * 0.3, len(y))
    proba[0] = [0, 0.5, 0.5]
    found = judge(y, proba, 3, SETTINGS)
    for name, floor in (("log_loss", 0.001), ("log_loss_low_floor", 1e-6)):
        raised = np.maximum(proba, floor)
        raised /= raised.sum(axis=1, keepdims=True)
        assert found[name] == pytest.approx(log_loss_in_nats(y, raised) / math.log(2))
    assert found["brier"] == pytest.approx(((proba - np.eye(3)[y]) ** 2).sum(axis=1).mean())
    assert found["accuracy"] == pytest.approx((proba.argmax(axis=1) == y).mean())
    assert found["auc"] == pytest.approx(roc_auc_score(y, proba, multi_class="ovr"))
    for wrong in (proba[:, :2], proba * 1.1, proba[:-1]):
        with pytest.raises(ValueError, match="must be 3 in each row that sum to 1"):
            judge(y, wrong, 3, SETTINGS)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_categorical_columns_and_missing_values(method, monkeypatch):
    pytest.importorskip(METHODS[method].library)
    monkeypatch.setattr(
        peers, "descriptions", lambda: {"iris": Description("iris", rows=120, class_counts={0: 9, 1: 9})}
    )
    monkeypatch.setattr(peers, "load_table", lambda name: make_table())
    monkeypatch.setattr(datasets, "describe", lambda name: Description(name, rows=120))
    found = run_cell(whole_grid().task(Cell("iris", 0, method)))
    assert set(found) == set(METRICS)
    assert 0 < found["log_loss"] < 2.5 and found["accuracy"] > 0.4
    assert found["fit_seconds"] > 0


def test_tabpfn_takes_small_data_only(monkeypatch):
    fits = Description("d", rows=1000, kinds=dict.fromkeys(map(str, range(100)), "numeric"), classes=tuple(range(10)))
    large = {
        "rows": replace(fits, rows=1001),
        "columns": replace(fits, kinds=fits.kinds | {"more": "numeric"}),
        "classes": replace(fits, classes=tuple(range(11))),
    }
    monkeypatch.setattr(datasets, "describe", lambda name: large.get(name, fits))
    assert within_tabpfn("fits")
    assert not any(within_tabpfn(name) for name in large)


FAKE_PACKAGES = {
    "torch/__init__.py": "from torch import nn\nTensor = float\ndef set_num_threads(n): pass\n",
    "torch/nn/__init__.py": "Module = dict\n",
    "torch/nn/modules/__init__.py": "",
    "torch/nn/modules/transformer.py": "",
    "tabpfn/__init__.py": "",
    "tabpfn/scripts/__init__.py": "",
    "tabpfn/scripts/transformer_prediction_interface.py": """
import numpy as np
from sklearn.utils.validation import check_array, check_X_y
from torch.nn.modules.transformer import Any, Callable, Module, Optional, Tensor, Union
class TabPFNClassifier:
    def __init__(self, device, N_ensemble_configurations, seed):
        self.n = N_ensemble_configurations
    def fit(self, X, y):
        check_X_y(X, y, force_all_finite=False)
        return self
    def predict_proba(self, X):
        return np.full((len(check_array(X, force_all_finite=False)), 2), 1 / self.n)
""",
}


def test_tabpfn_gets_the_names_that_it_knows_and_is_not_left_without_weights(tmp_path, monkeypatch):
    for name, text in FAKE_PACKAGES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "tabpfn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    tabpfn._classifier_class.cache_clear()
    X, y = np.array([[1.0], [np.nan]]), np.array([0, 1])
    with pytest.raises(FileNotFoundError, match="copy it from the source archive"):
        tabpfn.TabPFN(2, 0).fit(X, y)
    (tmp_path / "tabpfn" / "models_diff").mkdir()
    (tmp_path / "tabpfn" / tabpfn.WEIGHTS).touch()
    np.testing.assert_array_equal(tabpfn.TabPFN(2, 0).fit(X, y).predict_proba(X), [[0.5, 0.5]] * 2)
    tabpfn._classifier_class.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "tabpfn")]:
        del sys.modules[name]


# The file of scores.


def stored_text(page):
    return gzip.decompress(file_beside(page).read_bytes()).decode()


def test_a_run_goes_on_from_the_file_of_scores(synthetic, tmp_path):
    page, first, second = tmp_path / "peers.md", tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    run(peers.experiment().restricted(trials=1), first, jobs=0)
    peers_page.write(first, page)
    read_back(second, page)
    with Database(first) as one, Database(second) as other:
        ours, theirs = one.scores(whole_grid()), other.scores(whole_grid())
    assert set(ours) == set(theirs) and len(ours) == 5 * 4 + 3
    for cell, scores in ours.items():
        assert theirs[cell] == pytest.approx(scores, rel=1e-5, nan_ok=True)
    summary = run(peers.experiment(), second, jobs=0)
    assert summary.n_skipped == 23 and summary.n_finished == len(peers.experiment().cells()) - 23


def test_equal_scores_make_equal_files_and_failures_are_kept(synthetic, tmp_path):
    page, path = tmp_path / "peers.md", tmp_path / "cells.sqlite"
    grid = whole_grid()
    with Database(path) as database:
        for cell in grid.cells()[:9]:
            database.record(grid, Outcome(grid.task(cell), dict.fromkeys(METRICS, 0.125), None, 1.0))
        late, broken = Cell("iris", 0, "dear peer"), Cell("iris", 0, "fake peer")
        database.record(grid, Outcome.of_failure(grid.task(late), "TimeoutError: not finished"))
        database.record(grid, Outcome.of_failure(grid.task(broken), "Traceback\nValueError: a, b"))
    found = read_found(path)
    write_out(grid, found.scores, found.errors, file_beside(page))
    before = file_beside(page).read_bytes()
    read_back(tmp_path / "other.sqlite", page)
    other = read_found(tmp_path / "other.sqlite")
    assert other.errors == {late: "TimeoutError: not finished", broken: "ValueError: a, b"}
    write_out(grid, dict(reversed(other.scores.items())), other.errors, file_beside(page))
    assert file_beside(page).read_bytes() == before
    with Database(tmp_path / "other.sqlite") as database:
        settled = database.settled(grid)
    assert {Cell("iris", trial, "dear peer") for trial in range(5)} <= settled, "too slow once is too slow"
    assert broken not in settled, "an error may be mended"


def test_scores_made_with_other_settings_are_left_alone(synthetic, tmp_path, monkeypatch, capsys):
    page = tmp_path / "peers.md"
    write_out(whole_grid(), {Cell("iris", 0, "fake peer"): dict.fromkeys(METRICS, 0.5)}, {}, file_beside(page))
    monkeypatch.setitem(SETTINGS, "floor", 0.01)
    read_back(tmp_path / "cells.sqlite", page)
    assert "was made with other settings" in capsys.readouterr().err
    assert not (tmp_path / "cells.sqlite").exists()


def test_scores_in_the_database_are_not_replaced_by_those_of_the_file(synthetic, tmp_path):
    page, grid, cell = tmp_path / "peers.md", whole_grid(), Cell("iris", 0, "fake peer")
    write_out(grid, {cell: dict.fromkeys(METRICS, 0.5)}, {}, file_beside(page))
    with Database(tmp_path / "cells.sqlite") as database:
        database.record(grid, Outcome(grid.task(cell), dict.fromkeys(METRICS, 0.25), None, 1.0))
    read_back(tmp_path / "cells.sqlite", page)
    assert read_found(tmp_path / "cells.sqlite").scores[cell]["brier"] == 0.25


# Ranks, ratios and the page.


def record(database, methods=tuple(FAKES), skipped=()):
    """Made-up scores: methods get worse in the order of their names."""
    grid, random = whole_grid(), np.random.default_rng(0)
    for cell in grid.cells():
        if cell.method in methods and cell not in skipped:
            base = 0.1 + 0.02 * list(FAKES).index(cell.method) + 0.03 * random.random()
            scores = {name: (1 - base if more else base) for name, more in METRICS.items()}
            database.record(grid, Outcome(grid.task(cell), scores, None, 0.1))


@pytest.fixture
def stored(synthetic, tmp_path):
    path = tmp_path / "cells.sqlite"
    with Database(path) as database:
        record(database)
    return path


def test_means_are_over_the_splits_that_methods_have_in_common(synthetic, tmp_path):
    path, missing = tmp_path / "cells.sqlite", [Cell("iris", 0, "fake peer"), Cell("iris", 3, "dear peer")]
    with Database(path) as database:
        record(database, skipped=missing)
    found = read_found(path)
    methods = ["flagship v1", "fake peer", "dear peer"]
    common = found.common(methods)
    assert common.data_sets == NAMES and common.n_splits == [3, 5, 5, 5, 3]
    for method in methods:
        for metric in ("brier", "auc"):
            expected = np.mean([found.scores[Cell("iris", trial, method)][metric] for trial in (1, 2, 4)])
            assert common.of(metric, method)[0] == pytest.approx(expected)
        seconds = [
            sum(found.scores[Cell("iris", t, method)][k] for k in ("fit_seconds", "predict_seconds")) for t in (1, 2, 4)
        ]
        assert common.of("seconds", method)[0] == pytest.approx(sorted(seconds)[1])


def test_methods_that_lack_data_sets_are_not_ranked(stored):
    found = read_found(stored)
    ranked = found.ranked()
    assert ranked.methods == ["flagship v1", "petiole random forest", "fake peer", "dear peer", "absent peer"]
    assert ranked.data_sets == NAMES


@pytest.mark.parametrize("metric", ["log_loss", "auc", "seconds"])
def test_mean_ranks_are_those_of_counting(stored, metric):
    ranked = read_found(stored).ranked()
    expected = naive_studies.mean_ranks(ranked.tables[metric].round(9).tolist(), greater_is_better=metric == "auc")
    np.testing.assert_allclose(ranked.ranks(metric).mean_ranks, expected)


def test_ratios_are_geometric_means_with_a_little_added(stored):
    ranked = read_found(stored).ranked()
    ours, theirs = ranked.of("log_loss", "flagship v1"), ranked.of("log_loss", "fake peer")
    product = 1.0
    for one, other in zip(ours, theirs, strict=True):
        product *= (other + LEAST_LOSS) / (one + LEAST_LOSS)
    assert ranked.mean_ratio("flagship v1", "fake peer") == pytest.approx(product ** (1 / len(ours)))
    assert ranked.mean_ratio("flagship v1", "fake peer") > 1


def test_times_of_nothing_have_a_ratio(stored):
    with Database(stored) as database:
        for cell in whole_grid().cells():
            if cell.method == "fake peer":
                scores = dict.fromkeys(METRICS, 0.5) | {"fit_seconds": 0.0, "predict_seconds": 0.0}
                database.record(whole_grid(), Outcome(whole_grid().task(cell), scores, None, 0.0))
    ranked = read_found(stored).ranked()
    ours = [seconds + 0.001 for seconds in ranked.of("seconds", "flagship v1")]
    expected = math.prod(0.001 / seconds for seconds in ours) ** (1 / len(ours))
    assert ranked.mean_time_ratio("flagship v1", "fake peer") == pytest.approx(expected)


def test_a_method_that_failed_is_last_and_loses(stored):
    with Database(stored) as database:
        grid, cell = whole_grid(), Cell("wine", 2, "flagship v1")
        database._connection.execute(
            "DELETE FROM cells WHERE data_set = 'wine' AND trial = 2 AND method = 'flagship v1'"
        )
        database.record(grid, Outcome.of_failure(grid.task(cell), "TimeoutError: not finished"))
    found = read_found(stored)
    ranked = found.ranked()
    wine = ranked.data_sets.index("wine")
    for metric in ("log_loss", "auc", "seconds"):
        assert ranked.ranks(metric).ranks[wine, 0] == 5
        assert ranked.compare(metric, "flagship v1", "absent peer").losses >= 1
    assert np.isnan(ranked.ratios("flagship v1", "fake peer")[wine])
    assert np.isfinite(ranked.mean_ratio("flagship v1", "fake peer"))
    text = peers_page._failures(found)
    assert "| flagship v1 | more than 1200 s | wine |" in text


def test_the_tables_of_data_sets(stored, monkeypatch):
    with Database(stored) as database:
        grid = whole_grid()
        for cell in grid.cells():
            if cell.data_set == "glass" and cell.method == "fake peer":
                scores = dict.fromkeys(METRICS, 0.02)
                database.record(grid, Outcome(grid.task(cell), scores, None, 0.1))
    found = read_found(stored)
    monkeypatch.setitem(REASONS, "glass", "it is fake")
    text = lost_sets(found)
    losses = [found.scores[Cell("glass", trial, "flagship v1")]["log_loss"] for trial in range(5)]
    ratio = (np.mean(losses) + LEAST_LOSS) / (0.02 + LEAST_LOSS)
    assert f"| glass | 900 | {np.mean(losses):.3f} | fake peer | 0.020 | {ratio:.2f} | 5 | it is fake |" in text
    assert text.count("\n| ") == 2, "a header and a data set"
    assert "| letter | 20,000 | 3 | " in large_sets(found) and "iris" not in large_sets(found)
    assert "| iris | 120 | 5 | " in anchors(found) and "mean of 4" in anchors(found)


def test_the_command_writes_page_pictures_and_scores_and_resumes_from_them(synthetic, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    page, database = tmp_path / "docs" / "peers.md", tmp_path / "cells.sqlite"
    with Database(database) as store:
        record(store, skipped=[Cell("wine", 4, "dear peer")])
    options = ["reproduce", "peers", "--page", str(page), "--page-only"]
    assert run_command([*options, "--database", str(database)]) == 0
    text = page.read_text()
    for name in ("peers", "peers_log_loss", "peers_brier"):
        assert f"(images/{name}.png)" in text
        assert (tmp_path / "docs" / "images" / f"{name}.png").stat().st_size > 1000
    assert "the flagship v1 is number 1 of 5 methods by mean rank in log-loss" in text
    assert "The grid is not finished" in text and "dear peer 96%" in text
    assert "(reproduction/peers-scores.csv.gz)" in text
    # on another machine, where there are only the files of the repository
    assert run_command([*options, "--database", str(tmp_path / "other.sqlite")]) == 0
    assert page.read_text() == text
    assert reproduce_command.PAPERS["peers"].agreements(database) == []


def test_too_little_for_a_page_is_told(synthetic, tmp_path):
    with Database(tmp_path / "cells.sqlite") as database:
        record(database, methods=["flagship v1"])
    with pytest.raises(ValueError, match="2 methods: run more"):
        peers_page.write(tmp_path / "cells.sqlite", tmp_path / "peers.md")
    Database(tmp_path / "empty.sqlite").close()
    with pytest.raises(ValueError, match="has no results of 'peers'; run the experiment first"):
        peers_page.write(tmp_path / "empty.sqlite", tmp_path / "peers.md")
