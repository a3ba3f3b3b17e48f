"""The study over all methods: data sets, models, scores, ranks, the picture and the page."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import naive_metrics
import naive_studies
from petiole.cli import main as run_command
from petiole.datasets import Description
from petiole.decisions import random_costs
from petiole.experiments import Cell, Database, Outcome, which_method
from petiole.experiments import command as reproduce_command
from petiole.experiments._data.which_method import (
    StudyTable,
    encode_column,
    had_a_part,
    stratified_split,
    without_small_classes,
)
from petiole.experiments._grid.results import read_results
from petiole.experiments.which_method import METRICS, SETTINGS, choose_data_sets, experiment, judge, run_cell
from petiole.experiments.which_method import picture as which_method_picture
from petiole.experiments.which_method.models import MODELS, CategoryBoosting
from petiole.experiments.which_method.page import paragraph, render
from petiole.experiments.which_method.picture import GAP, front, place_labels
from petiole.experiments.which_method.scores import study_of

ROOT = Path(__file__).parents[2]
NAMES = ["first", "second", "third", "fourth"]


def make_table(n=66):
    """Three classes of 22, a numeric column, a categorical one, missing values, and a column of nothing but these."""
    random = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = np.column_stack([y + random.normal(size=n), (y + random.integers(0, 2, n)) % 4, random.normal(size=n)])
    X[random.random(X.shape) < 0.1] = np.nan
    return StudyTable(np.column_stack([X, np.full(n, np.nan)]), np.array([False, True, False, False]), y)


@pytest.fixture
def synthetic(monkeypatch):
    """Four data sets in place of the folder."""
    counts = {"a": 50, "b": 50}
    about = {name: Description(name, rows=100 + i, class_counts=counts) for i, name in enumerate(NAMES)}
    monkeypatch.setattr(which_method, "load_table", lambda name: make_table())
    monkeypatch.setattr(which_method, "descriptions", lambda: about)


# Data.


def test_data_sets_are_chosen_by_size_alone(monkeypatch):
    def about(rows, n_attributes=3, counts=(50, 50)):
        kinds = {f"x{i}": "numeric" for i in range(n_attributes)}
        return Description("d", rows=rows, kinds=kinds, class_counts=dict(enumerate(counts)), classes=tuple(counts))

    offered = {
        "large": about(1000),
        "small": about(100),
        "too small": about(99),
        "too large": about(1001),
        "too wide": about(500, 301),
        "one class": about(500, counts=(493, 7)),
        "many classes": about(500, counts=(8,) * 61),
    }
    monkeypatch.setattr(which_method, "descriptions", lambda: offered)
    assert choose_data_sets(SETTINGS) == ["small", "large"]


@pytest.mark.real_data
def test_there_are_at_least_60_data_sets_and_most_had_no_part_in_choosing_defaults():
    names = experiment().data_sets
    assert len(names) >= 60
    assert sum(not had_a_part(name) for name in names) >= 40


def test_the_parts_are_those_of_the_study_of_forests(monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("forest_quality", ROOT / "benchmarks" / "forest_quality.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("iris", "heart-c", "cleveland", "australian", "crx", "wpbc", "pima", "glass", "zoo", "credit-g"):
        assert had_a_part(name) == (module.part_of(name) == "development"), name
    for name in ("real_data", "scores"):
        sys.modules.pop(name, None)


def test_columns_become_numbers():
    numbers, categorical = encode_column(np.array(["b", None, "a", "b"], dtype=object))
    np.testing.assert_array_equal(numbers, [1, np.nan, 0, 1])
    assert categorical
    column = np.array([1.5, np.nan])
    assert encode_column(column)[0] is column and not encode_column(column)[1]


def test_small_classes_are_left_out_and_splits_keep_the_shares():
    y = np.r_[[5] * 3, [1] * 30, [2] * 60]
    table = without_small_classes(StudyTable(np.arange(93.0)[:, None], np.array([False]), y), 8)
    assert table.X.shape == (90, 1) and np.bincount(table.y).tolist() == [30, 60]
    train, test = stratified_split(table.y, 4, 1 / 3)
    assert np.bincount(table.y[train]).tolist() == [20, 40] and np.bincount(table.y[test]).tolist() == [10, 20]
    assert sorted([*train, *test]) == list(range(90))


# Models and cells.


@pytest.mark.parametrize("method", MODELS)
def test_every_model_takes_categorical_columns_and_missing_values(method, synthetic):
    task = experiment().task(Cell("first", 0, method))
    found = run_cell(task)
    assert set(found) == set(METRICS)
    assert all(np.isfinite(value) for value in found.values())
    assert found["fit_seconds"] > 0 and 0 < found["log_loss"] < 3
    if method in ("tree, dual", "probability forest"):
        again = run_cell(task)
        assert {k: v for k, v in again.items() if "seconds" not in k} == {
            k: v for k, v in found.items() if "seconds" not in k
        }


def test_lazy_trees_are_not_asked_where_that_takes_too_long(synthetic, monkeypatch):
    monkeypatch.setitem(which_method.SETTINGS, "most_lazy_work", 44 * 22 * 4 - 1)
    grid = experiment()
    assert all(np.isnan(value) for value in run_cell(grid.task(Cell("first", 0, "lazy options"))).values())
    assert np.isfinite(run_cell(grid.task(Cell("first", 0, "tree, raw")))["log_loss"])
    monkeypatch.setitem(which_method.SETTINGS, "most_lazy_work", 44 * 22 * 4)
    assert np.isfinite(run_cell(experiment().task(Cell("first", 0, "lazy options")))["log_loss"])


def test_boosting_is_told_of_categorical_columns_and_spared_empty_ones():
    table = make_table()
    model = CategoryBoosting(table.categorical, 0).fit(table.X, table.y)
    assert model.kept_.tolist() == [True, True, True, False]
    assert model.model_.is_categorical_.tolist() == [False, True, False]


def test_scores_are_those_of_the_obvious_formulas():
    random = np.random.default_rng(1)
    y_train, y_test = random.integers(0, 3, 40), random.integers(0, 3, 25)
    proba = random.dirichlet(np.ones(3) * 0.3, 25)
    proba[0] = np.eye(3)[(y_test[0] + 1) % 3]
    found = judge(y_train, y_test, proba, 7, SETTINGS)
    labels, weights = y_test.tolist(), [1.0] * 25
    priors = np.bincount(y_train) / 40
    assert found["log_loss"] == pytest.approx(naive_metrics.log_loss(labels, proba.tolist(), weights, floor=0.001))
    assert found["brier"] == pytest.approx(((proba - np.eye(3)[y_test]) ** 2).sum(axis=1).mean())
    assert found["lift_area"] == pytest.approx(
        naive_metrics.aulc(labels, proba.tolist(), weights, priors=priors.tolist())
    )
    matrices = random_costs("M5", priors, n_matrices=25, random_state=7)
    assert found["cost"] == pytest.approx(naive_studies.mean_cost(labels, proba.tolist(), matrices.tolist()))
    assert found["accuracy"] == pytest.approx((proba.argmax(axis=1) == y_test).mean())


# Ranks.


def record(grid, database):
    """Made-up scores: methods get worse in the order of their names; lazy ones lack a data set."""
    random = np.random.default_rng(0)
    order = {
        name: i for i, name in enumerate(["probability forest", *(m for m in MODELS if m != "probability forest")])
    }
    for cell in grid.cells():
        base = 0.1 + 0.02 * order[cell.method] + 0.001 * random.random()
        scores = {name: (1 - base if more else base) for name, more in METRICS.items()}
        if cell.method in which_method.LAZY and cell.data_set == "fourth":
            scores = dict.fromkeys(METRICS, np.nan)
        database.record(grid, Outcome(grid.task(cell), scores, None, 0.1))


@pytest.fixture
def database(synthetic):
    with Database(":memory:") as database:
        record(experiment(), database)
        yield database


@pytest.fixture
def study(database):
    return study_of(read_results(database, experiment()))


def test_methods_that_lack_a_data_set_are_apart(study):
    assert study.partial == ["lazy options", "lazy options, paper"]
    assert len(study.methods) == len(MODELS) - 2
    where = study.where("lazy options")
    assert where.data_sets == NAMES[:3] and where.methods == [*study.methods, "lazy options"]
    np.testing.assert_array_equal(where.of("brier", "lazy options"), study.of("brier", "lazy options")[:3])


@pytest.mark.parametrize("metric", ["log_loss", "lift_area", "seconds"])
def test_mean_ranks_are_those_of_counting(study, metric):
    expected = naive_studies.mean_ranks(study.table(metric).tolist(), greater_is_better=metric == "lift_area")
    np.testing.assert_allclose(study.ranks(metric).mean_ranks, expected)
    assert study.best(metric)[0] == "probability forest"
    assert study.ranks(metric).p_value == pytest.approx(stats.friedmanchisquare(*study.table(metric).T.round(9)).pvalue)


def test_times_are_medians_of_fit_and_prediction_together(database, study):
    scores = database.scores(experiment())
    seconds = [sum(scores[Cell("first", t, "B-PETs")][k] for k in ("fit_seconds", "predict_seconds")) for t in range(3)]
    assert study.of("seconds", "B-PETs")[0] == pytest.approx(sorted(seconds)[1])
    losses = [scores[Cell("first", t, "B-PETs")]["log_loss"] for t in range(3)]
    assert study.of("log_loss", "B-PETs")[0] == pytest.approx(np.mean(losses))


def test_comparisons_leave_out_data_sets_that_one_of_the_two_lacks(study):
    test = study.compare("log_loss", "probability forest", "lazy options")
    assert (test.wins, test.ties, test.losses) == (3, 0, 0)
    assert study.compare("log_loss", "naive Bayes", "tree, raw").losses == 4


# The picture and the page.


def test_the_front_has_the_points_that_none_beats():
    random = np.random.default_rng(0)
    for n in (1, 2, 7, 30):
        x, y = random.permutation(n).astype(float), random.permutation(n).astype(float)
        assert front(x, y) == naive_studies.front(x, y)


def test_labels_cover_nothing_if_there_is_room():
    random = np.random.default_rng(0)
    points = np.column_stack([np.tile(np.arange(4) * 200.0, 3), np.repeat(np.arange(3) * 80.0, 4)])
    points += random.uniform(-5, 5, points.shape)
    sizes = np.column_stack([random.uniform(60, 120, 12), np.full(12, 14.0)])
    lower = place_labels(points, sizes)
    upper = lower + sizes
    for i in range(12):
        for j in range(12):
            apart = (upper[i] <= lower[j]).any() or (upper[j] <= lower[i]).any()
            assert i == j or apart
            covers = ((lower[i] < points[j]) & (points[j] < upper[i])).all()
            assert not covers
    taken = np.array([points[0, 0], points[0, 1] - GAP, points[0, 0] + 300, points[0, 1] + GAP])
    assert place_labels(points[:1], sizes[:1], [taken])[0, 0] < points[0, 0]  # the right side is taken


def test_the_paragraph_names_the_best_and_counts_its_wins(study):
    text = paragraph(study)
    assert "`ProbabilityForestClassifier`, unless" in text
    assert "best mean rank of 19 methods in log-loss: 1.0. The next" in text
    assert "It is also the best in Brier score, lift, cost and accuracy." in text
    assert "It beats the best of scikit-learn's four methods in log-loss, the random forest, on 4 of them" in text
    assert "the best mean rank of the 6 single trees" in text


def test_the_page_names_what_is_missing_and_where_lazy_trees_stand(study):
    text = render(study)
    assert "Mean ranks there, each among the 19 methods above and itself" in text
    assert re.search(r"\| lazy options \| 3 \|", text)
    assert "too slow for some data sets" in text
    assert text.count("\n| probability forest | **1.00** |") >= 1


def test_the_command_writes_page_and_pictures(synthetic, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(which_method_picture, "DIAGRAMS", ["log_loss", "seconds"])  # the others take as long each
    stored = tmp_path / "which.sqlite"
    with Database(stored) as database:
        record(experiment().restricted(trials=1), database)
    page = tmp_path / "pages" / "which.md"
    options = ["which-method", "--database", str(stored), "--page", str(page), "--page-only"]
    assert run_command(["reproduce", *options]) == 0
    text = page.read_text()
    assert f"wrote {page}" in capsys.readouterr().out
    for name in ("which", "which_log_loss", "which_seconds"):
        assert f"(images/{name}.png)" in text
        assert (tmp_path / "pages" / "images" / f"{name}.png").stat().st_size > 1000
    assert reproduce_command.PAPERS["which-method"].agreements(stored) == []
    assert reproduce_command.PAPERS["which-method"].page == Path("docs") / "which_method.md"


def test_the_readme_says_what_the_page_says():
    page = (ROOT / "docs" / "which_method.md").read_text(encoding="utf-8")
    said = next(part for part in page.split("\n\n") if part.startswith("**Which one should I use?**"))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert " ".join(said.split()) in readme
