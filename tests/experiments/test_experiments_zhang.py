"""The experiment of Zhang, Petitjean & Buntine (2020): folds, cells, pooled scores, agreement and the page."""

from __future__ import annotations

import numpy as np
import pytest

import naive_studies
from petiole import BaggedPETClassifier
from petiole.cli import main as run_command
from petiole.datasets import Description
from petiole.experiments import Cell, Database, Outcome, seed_of, zhang_2020
from petiole.experiments import command as reproduce_command
from petiole.experiments._data.which_method import StudyTable, descriptions
from petiole.experiments._grid.results import Results
from petiole.experiments.zhang_2020 import (
    ESTIMATORS,
    FOREST_SIZES,
    FORESTS,
    all_classes,
    experiment,
    fold,
    forest_name,
    make_tree,
    run_cell,
)
from petiole.experiments.zhang_2020.page import render
from petiole.experiments.zhang_2020.scores import COLUMNS, RIVALS, agreements_of, pool, published_counts
from petiole.smoothing import HDP, HGS, MBranch, MEstimate

NAMES = ["small", "smaller", "tiny"]


def make_table(seed, n=63, n_classes=3):
    """Numeric and categorical columns with missing values; the last class has three rows only."""
    random = np.random.default_rng(seed)
    y = np.r_[np.arange(n - 3) % (n_classes - 1), [n_classes - 1] * 3]
    X = np.column_stack([y + random.normal(size=n), random.integers(0, 4, n), random.normal(size=n).round(1)])
    X[random.random(X.shape) < 0.1] = np.nan
    return StudyTable(X, np.array([False, True, False]), y)


@pytest.fixture
def synthetic(monkeypatch):
    """Three small data sets in place of the folder; a fourth one is too small."""
    tables = {name: make_table(seed) for seed, name in enumerate(NAMES)}
    about = {name: Description(name, rows=101 + i, classes=("a", "b", "c")) for i, name in enumerate(NAMES)}
    monkeypatch.setattr(zhang_2020, "load_table", tables.__getitem__)
    monkeypatch.setattr(zhang_2020, "descriptions", lambda: {**about, "least": Description("least", rows=100)})
    return tables


# The grid.


def test_the_grid_is_the_papers(synthetic):
    grid = experiment()
    assert grid.data_sets == NAMES  # more than 100 rows
    assert grid.trials == 10
    assert list(grid.methods[:6]) == ["MLE", "Laplace", "M-estimation", "HDP", "M-branch", "HGS"]
    assert list(grid.methods[6:]) == ["forests"]


@pytest.mark.real_data
def test_all_data_sets_with_more_than_100_rows_are_there():
    rows = {name: about.rows for name, about in descriptions().items()}
    assert sorted(experiment().data_sets) == sorted(name for name, n in rows.items() if n > 100)


def test_estimators_have_the_settings_of_print():
    hdp, hgs = ESTIMATORS["HDP"](5), ESTIMATORS["HGS"](5)
    assert isinstance(hdp, HDP) and (hdp.n_iter, hdp.tying, hdp.random_state) == (1000, "single", 5)
    assert isinstance(hgs, HGS) and (hgs.alpha, hgs.learning_rate, hgs.tol) == ("gd", 0.01, 1e-4)
    m = ESTIMATORS["M-estimation"](0)
    assert isinstance(m, MEstimate) and (m.m, m.base_rate) == (1.0, "uniform")
    branch = ESTIMATORS["M-branch"](0)
    assert isinstance(branch, MBranch) and branch.M == 1


def test_folds_test_every_row_once_with_the_classes_shares():
    y = np.r_[np.zeros(70, int), np.ones(30, int), [2, 2]]
    tested = np.concatenate([fold(y, i, 10, seed=3)[1] for i in range(10)])
    assert sorted(tested) == list(range(len(y)))
    for i in range(10):
        train, test = fold(y, i, 10, seed=3)
        assert not set(train) & set(test)
        assert (y[test] == 0).sum() == 7 and (y[test] == 1).sum() == 3


def test_a_class_without_training_rows_gets_zero():
    found = all_classes(np.array([[0.25, 0.75]]), np.array([0, 2]), 4)
    np.testing.assert_array_equal(found, [[0.25, 0, 0.75, 0]])


def test_estimators_of_a_fold_share_their_tree(synthetic):
    grid, table = experiment(), synthetic["small"]
    tasks = {name: grid.task(Cell("small", 1, name)) for name in ("MLE", "HDP", "HGS")}
    models = [make_tree(name, table, task).fit(table.X, table.y) for name, task in tasks.items()]
    for model in models:
        np.testing.assert_array_equal(model.tree_.inbag_class_counts, models[0].tree_.inbag_class_counts)
        assert model.get_params()["missing"] == "separate" and model.get_params()["pruning"] is None
    assert not np.array_equal(models[0].predict_proba(table.X), models[2].predict_proba(table.X))


# Scores.


def collect(grid, method):
    """The results of one method on the data set "small", from a loop over folds."""
    scores = [run_cell(grid.task(Cell("small", number, method))) for number in range(10)]
    tables = {name: np.array([[[one[name] for one in scores]]]) for name in scores[0]}
    return Results(["small"], [method], list(range(10)), tables, 0, 0.0, 0.0, ["1"])


def answers(table, make):
    """Labels and probabilities of each fold's test rows."""
    for number in range(10):
        train, test = fold(table.y, number, 10, seed_of(zhang_2020.NAME, "small"))
        model = make(number).fit(table.X[train], table.y[train])
        yield table.y[test], all_classes(model.predict_proba(table.X[test]), model.classes_, 3)


def test_pooled_scores_are_those_of_one_loop_over_all_rows(synthetic):
    grid, table = experiment(), synthetic["small"]
    found = pool(collect(grid, "Laplace"), collect(grid, FORESTS))
    parts = list(answers(table, lambda i: make_tree("Laplace", table, grid.task(Cell("small", i, "Laplace")))))
    assert found.of("rmse", "Laplace")[0] == pytest.approx(naive_studies.pooled_rmse(parts))
    assert found.of("zero_one_loss", "Laplace")[0] == pytest.approx(naive_studies.pooled_error(parts))
    assert found.rows[0] == 63
    assert (found.seconds > 0).all()


@pytest.mark.parametrize(("n_trees", "smoothing"), [(3, "raw"), (7, HGS(alpha="gd"))])
def test_growing_forests_are_those_grown_at_once(synthetic, n_trees, smoothing):
    grid, table = experiment(), synthetic["small"]
    found = pool(collect(grid, "MLE"), collect(grid, FORESTS))

    def make(number):
        return BaggedPETClassifier.random_forest(
            n_estimators=n_trees,
            smoothing=smoothing,
            missing="separate",
            categorical_features=table.categorical,
            random_state=grid.task(Cell("small", number, FORESTS)).split_seed,
        )

    expected = naive_studies.pooled_rmse(list(answers(table, make)))
    assert found.forest(n_trees, smoothing != "raw") == pytest.approx(expected)


def printed_results():
    """143 data sets on which HGS wins, draws and loses as often as table 1 says; forests like those of figure 4."""
    names, methods = [f"set {i}" for i in range(143)], list(ESTIMATORS)
    tables = {name: np.full((143, len(methods), 1), 0.25) for name in ("squared_error", "zero_one_loss")}
    for rival in RIVALS:
        for column, metric in zip(COLUMNS, tables, strict=True):
            test = published_counts(column, rival)
            step = np.repeat([0.01, 0.0, -0.0001], [test.wins, test.ties, test.losses])
            tables[metric][:, methods.index(rival), 0] += step
    tables["n_test"] = np.full((143, len(methods), 1), 10.0)
    tables["fit_seconds"] = np.ones((143, len(methods), 1))
    tables["fit_seconds"][:, [methods.index("HDP"), methods.index("M-branch")]] = 5.0
    errors = {forest_name(n, False): 0.25 + 0.02 / n - 0.001 for n in FOREST_SIZES}
    errors |= {forest_name(n, True): 0.255 for n in FOREST_SIZES}
    forests = {name: np.full((143, 1, 1), value) for name, value in errors.items()}
    seconds = (0.1, 0.2)
    return (
        Results(names, methods, [0], tables, 0, *seconds, ["1"]),
        Results(names, [FORESTS], [0], forests, 0, *seconds, ["1"]),
    )


def test_the_papers_own_counts_agree_with_table_1_in_every_sign_and_mark():
    scores = pool(*printed_results())
    for column in COLUMNS:
        for rival in RIVALS:
            found, printed = scores.compare(column, rival), published_counts(column, rival)
            assert (found.wins, found.ties, found.losses) == (printed.wins, printed.ties, printed.losses)
            assert found.winner == printed.winner
    agreed = agreements_of(scores)
    assert [one.name.split(":")[0] for one in agreed[:2]] == ["table 1, RMSE", "table 1, 0-1 loss"]
    assert agreed[0].same_sign == agreed[0].n_signs == agreed[0].same_mark == agreed[0].confirmed == 5
    assert (agreed[1].same_sign, agreed[1].same_mark, agreed[1].n_significant, agreed[1].confirmed) == (5, 5, 0, 0)
    times = next(one for one in agreed if "run time" in one.name)
    assert times.same_sign == times.n_signs == 2
    assert [(one.same_sign, one.n_signs) for one in agreed if one.name.startswith("figure 4")] == [(5, 5), (5, 5)]


def test_agreement_falls_when_a_rival_wins():
    results, forests = printed_results()
    results.tables["squared_error"][:, results.methods.index("HDP")] = 0.1
    agreed = agreements_of(pool(results, forests))[0]
    assert (agreed.same_sign, agreed.opposite_mark) == (4, 1)


def test_the_page_has_every_cell_of_the_papers_tables():
    text = render(pool(*printed_results()))
    for counts in ("108-2-33", "111-4-28", "98-4-41", "96-3-44", "92-1-50"):
        assert text.count(counts) >= 2  # published, and ours
    for number in ("0.2596", "0.2410", "0.2059", "9.3", "4.9"):
        assert f"| {number} |" in text
    assert "143 data sets (0 with more than 10,000 rows), 1 of 10 folds" in text


# The command.


def test_the_command_writes_the_page_and_its_figures(synthetic, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(ESTIMATORS, "HDP", lambda seed: HDP(n_iter=20, burn_in=5, random_state=seed))
    page = tmp_path / "pages" / "zhang.md"
    options = ["zhang-2020", "--jobs", "0", "--database", str(tmp_path / "z.sqlite"), "--page", str(page)]
    assert run_command(["reproduce", *options, "--quick"]) == 0
    assert "42 cells computed" in capsys.readouterr().out  # 3 data sets, 2 folds, 7 methods
    text = page.read_text()
    assert "This is not the whole experiment" in text and "| tiny |" in text
    for number in (2, 3, 4):
        assert f"images/zhang_figure_{number}.png" in text
        assert (tmp_path / "pages" / "images" / f"zhang_figure_{number}.png").stat().st_size > 1000
    found = zhang_2020_agreements(tmp_path / "z.sqlite")
    assert sum(one.n_signs for one in found) == 5 + 5 + 5 + 5 + 2 + 5 + 5
    assert run_command(["reproduce", *options, "--page-only"]) == 0 and page.read_text() == text


def zhang_2020_agreements(database):
    return reproduce_command.PAPERS["zhang-2020"].agreements(database)


def test_without_results_there_is_no_agreement(synthetic, tmp_path):
    with pytest.raises(FileNotFoundError, match="run the experiment first"):
        zhang_2020_agreements(tmp_path / "none.sqlite")
    grid = experiment()
    with Database(tmp_path / "one.sqlite") as database:
        task = grid.task(Cell("small", 0, "MLE"))
        database.record(grid, Outcome(task, run_cell(task), None, 0.1))
    with pytest.raises(ValueError, match="run the experiment first"):
        zhang_2020_agreements(tmp_path / "one.sqlite")
