"""Geurts' experiment: the cells beside naive versions, the page from made scores, and the command."""

from __future__ import annotations

import numpy as np
import pytest

import naive
import naive_dual
import naive_joint_pruning
from against_naive import assert_same_tree
from petiole import BaggedPETClassifier, PETClassifier
from petiole._dual.line_search import golden_section
from petiole.cli import main as run_command
from petiole.datasets import Loaded
from petiole.datasets.papers import GEURTS, GrowPruneTest
from petiole.experiments import Cell, Database, Outcome, geurts_2001
from petiole.experiments import command as reproduce_command
from petiole.experiments._grid.results import read_results
from petiole.experiments.geurts_2001 import BAGGING, STUDY_LEVELS, TREE, experiment, grow_bag, make_curve, run_cell
from petiole.experiments.geurts_2001 import page as geurts_2001_page
from petiole.experiments.geurts_2001 import pictures as geurts_2001_pictures
from petiole.experiments.geurts_2001.page import COLUMNS, PRINTED, compare, printed_mark, render, statements
from petiole.experiments.published import read_published

SETTINGS = {"min_samples_leaf": 1, "smoothing": "raw", "random_state": 3}


def tiny(seed=0, sizes=(60, 40, 50)):
    """Three parts of a problem with three classes that overlap."""
    random = np.random.default_rng(seed)
    parts = []
    for n in sizes:
        y = random.integers(3, size=n)
        X = random.normal(size=(n, 3)) + y[:, None] * [1.0, 0.5, 0.0]
        parts.append(Loaded(X, np.array(["a", "b", "c"])[y], None))
    return GrowPruneTest(*parts)


# Cells.


def test_the_grid_is_the_papers():
    grid = experiment()
    assert (len(grid.data_sets), grid.trials, grid.methods) == (6, 10, ["DT", "Bagging"])
    assert grid.settings["n_trees"] == 25


def test_sizes_are_those_of_table_1():
    table = read_published("geurts_2001_table_1")
    assert list(PRINTED) == list(GEURTS)
    for name, sizes in GEURTS.items():
        printed = [int(table.cell(PRINTED[name], column)) for column in ("growing", "pruning", "test")]
        assert printed == [sizes.grow, sizes.prune, sizes.test]


def as_naive(tree, node=0, depth=0):
    """A numeric tree in the form of the naive version."""
    counts = tree.inbag_class_counts[node]
    if tree.is_leaf[node]:
        return naive.Node(counts, depth)
    children = [as_naive(tree, child, depth + 1) for child in tree.children(node)]
    return naive.Node(counts, depth, int(tree.feature[node]), float(tree.threshold[node]), None, -1, children)


def codes(part):
    return np.searchsorted(["a", "b", "c"], part.y)


def naive_errors(tree, table, rows, y, noise, scales, mode):
    """The share of rows to which a tree gives a wrong class under noise."""
    perturbed = naive_dual.Perturbed(noise * scales, np.zeros(3), [np.empty(0)] * 3, mode)
    return np.mean(naive_dual.average(tree, rows, table, perturbed).argmax(axis=1) != y)


def test_a_cell_with_a_tree_is_what_the_naive_versions_say(monkeypatch):
    data = tiny(3, sizes=(120, 80, 50))
    monkeypatch.setattr(geurts_2001, "geurts", lambda name, repetition: data)
    task = experiment().task(Cell("segment", 0, TREE))
    scores, settings = run_cell(task), SETTINGS | {"random_state": task.seed}
    whole = as_naive(PETClassifier(**settings).fit(data.grow.X, data.grow.y).tree_)
    slow = naive.prune_with_set(whole, data.prune.X, codes(data.prune), np.ones(80))
    assert scores["leaves"] == len(naive.leaves(slow)) > 2
    assert scores["error"] == np.mean(naive.predict_raw(slow, data.test.X).argmax(axis=1) != codes(data.test))
    model, _ = geurts_2001.grow_tree(data, settings)
    scales = data.grow.X.std(axis=0)
    tuned = {}
    for mode, prefix in (("product", ""), ("exact", "exact_")):

        def error(part, noise, mode=mode):
            return naive_errors(model.tree_, model.node_probabilities_, part.X, codes(part), noise, scales, mode)

        tuned[mode] = golden_section(lambda noise: error(data.prune, noise), 3.0).best
        assert scores[f"{prefix}noise"] == tuned[mode] > 0
        assert scores[f"{prefix}dual_error"] == error(data.test, tuned[mode])
    assert tuned["product"] != tuned["exact"]


def test_a_bag_is_pruned_together_with_the_pruning_set():
    data = tiny(1)
    bag, n_leaves = grow_bag(data, SETTINGS, 4)
    grown = BaggedPETClassifier(4, bootstrap="plain", **SETTINGS).fit(data.grow.X, data.grow.y)
    whole = [as_naive(tree) for tree in grown.trees_]
    slow = naive_joint_pruning.prune_together(whole, data.prune.X, codes(data.prune), np.ones(40))
    for one, other in zip(slow, bag.trees_, strict=True):
        assert_same_tree(one, other)
    assert n_leaves == np.mean([len(naive.leaves(tree)) for tree in slow])
    assert n_leaves < np.mean([len(naive.leaves(tree)) for tree in whole])
    expected = np.mean([naive.predict_raw(tree, data.test.X) for tree in slow], axis=0)
    np.testing.assert_allclose(bag.predict_proba(data.test.X), expected)


def test_the_curve_divides_the_square_into_halves():
    X, y = make_curve(20_000, np.random.default_rng(0))
    assert ((X >= 0) & (X <= 1)).all()
    assert np.mean(y == "full") == pytest.approx(0.5, abs=0.01)
    assert set(y[X[:, 1] > 0.81]) == {"full"} and set(y[X[:, 1] < 0.19]) == {"empty"}


def test_a_small_study_has_a_score_for_each_level_and_part():
    grid = geurts_2001.study_experiment()
    small = {"n_pool": 300, "n_test": 100, "n_sets": 4, "set_size": 60}
    task = geurts_2001.Task(grid.cells()[0], 1, 2, small)
    scores = geurts_2001.run_study(task)
    assert len(scores) == 2 * 3 * len(STUDY_LEVELS)
    for level in STUDY_LEVELS:
        error, bias, variance = (
            scores[geurts_2001.study_score("decisions", part, level)] for part in geurts_2001.PARTS
        )
        assert error == pytest.approx(bias + variance)  # there is no noise in the labels


# The page.


def recorded(database, trials, shift=0.0):
    """The paper's own numbers as if they were ours, with a deviation as in print."""
    table, grid = read_published("geurts_2001_table_2"), experiment().restricted(trials=trials)
    deviations = np.random.default_rng(0).normal(size=(6, trials))
    if trials > 1:
        deviations -= deviations.mean(axis=1, keepdims=True)
        deviations /= deviations.std(axis=1, ddof=1, keepdims=True)
    for cell in grid.cells():
        scores = {"leaves": 9.0, "exact_dual_error": 0.1, "exact_noise": 0.2, "noise": 0.3}
        for column, (method, score, _) in COLUMNS.items():
            if method == cell.method:
                mean, sd = (float(table.cell(PRINTED[cell.data_set], name)) for name in (column, f"{column}_sd"))
                away = shift if column.endswith("dual") else 0.0
                deviation = sd * deviations[grid.data_sets.index(cell.data_set), cell.trial]
                scores[score] = (mean + away + deviation) / 100
        database.record(grid, Outcome(grid.task(cell), scores, None, 0.5))


def made_study(curve=lambda levels: (levels - 0.25) ** 2, variance=lambda levels: np.exp(-levels)):
    """Curves, by default as section 2.4 describes them."""
    levels = np.array(STUDY_LEVELS)
    names = [f"decisions {part}" for part in geurts_2001.PARTS] + ["probabilities error", "probabilities squared_bias"]
    return dict.fromkeys(names, curve(levels)) | {"probabilities variance": variance(levels)}


@pytest.fixture
def results():
    with Database(":memory:") as database:
        recorded(database, 10)
        yield read_results(database, experiment())


def test_a_page_from_the_papers_own_scores_agrees_in_full(results):
    text = render(results, made_study(), {})
    assert "better here in 24 of 24 comparisons" in text
    assert "Of the 20 differences" in text and "20 are significant here in the same direction and 0 in the" in text
    assert "for 16 of 16 errors." in text and "all 10 divisions" in text
    assert "**no**" not in text and text.count("| yes |") == 6
    assert "not the whole experiment" not in text


def test_marks_are_for_the_second_method(results):
    name, pair = compare(results, "tree", "tree_dual")[0]
    assert (name, pair.first.published, pair.second.published) == ("waveform", "24.61", "17.54")
    assert (pair.published_mark, pair.our_mark) == (1, 1)
    assert pair.first.ours == pytest.approx(24.61) and pair.second.ours == pytest.approx(17.54)
    reverse = compare(results, "tree_dual", "tree")[0][1]
    assert (reverse.published_mark, reverse.our_mark) == (-1, -1)
    assert printed_mark((2.52, 0.24), (2.84, 0.51)) == 0


def test_a_page_says_where_it_disagrees(tmp_path):
    path = tmp_path / "cells.sqlite"
    with Database(path) as database:
        recorded(database, 2, shift=30.0)  # noise does harm
    found = geurts_2001_page.agreements(path)
    assert [(one.same_sign, one.n_signs) for one in found[:2]] == [(0, 6), (1, 6)]  # of segment it is so in the paper
    assert len(found) == 4  # the study was not run
    text = geurts_2001_page.write(path, tmp_path / "page.md").read_text()
    assert "Not computed yet" in text and "This is not the whole experiment" in text
    assert "Beyond that: DT + dual P&C on waveform (17.54 % there, 47.54 % here; λ 0.76 and 0.30)" in text


def test_statements_about_the_figures_are_checked():
    def holding(*curves):
        return [holds for _, holds in statements(made_study(*curves))]

    assert holding() == [True] * 6
    assert holding(lambda levels: -levels, lambda levels: levels) == [True, True, True, False, False, False]
    assert holding(lambda levels: levels, lambda levels: (levels - 1) ** 2) == [False, False, False, True, False, True]


def test_one_division_makes_no_page(tmp_path):
    path = tmp_path / "cells.sqlite"
    with Database(path) as database:
        recorded(database, 1)
    with pytest.raises(ValueError, match="1 trial of 10 is there: t-tests need at least 2"):
        geurts_2001_page.write(path, tmp_path / "page.md")
    with pytest.raises(FileNotFoundError, match="there is no such file; run the experiment first"):
        geurts_2001_page.agreements(tmp_path / "none.sqlite")


# The command.


def test_the_command_runs_further_experiments_and_writes_page_and_pictures(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(geurts_2001, "geurts", lambda name, repetition: tiny(repetition))
    monkeypatch.setitem(geurts_2001.SETTINGS, "n_trees", 3)
    monkeypatch.setattr(geurts_2001_pictures, "GRID", 20)
    for name, small in {"n_pool": 200, "n_test": 50, "n_sets": 3, "set_size": 60}.items():
        monkeypatch.setitem(geurts_2001.STUDY_SETTINGS, name, small)
    database, page = tmp_path / "cells.sqlite", tmp_path / "pages" / "geurts.md"
    options = ["geurts-2001", "--jobs", "0", "--database", str(database), "--page", str(page)]
    assert run_command(["reproduce", *options, "--quick"]) == 0
    out = capsys.readouterr().out
    assert "geurts-2001: 24 cells computed" in out and "geurts-2001-noise: 1 cells computed" in out
    text = page.read_text()
    assert "6 of the paper's nine data sets, 2 of the paper's 10 divisions" in text
    pictures = sorted(one.name for one in (page.parent / "images").iterdir())
    assert pictures == ["geurts-boundaries.png", "geurts-noise.png", "geurts.png"]
    assert all(f"(images/{name})" in text for name in pictures)
    assert run_command(["reproduce", *options, "--page-only"]) == 0
    assert page.read_text() == text


def test_a_part_that_is_named_is_computed_alone():
    paper, request = reproduce_command.PAPERS["geurts-2001"], reproduce_command.Request
    whole = reproduce_command._chosen(paper, request("geurts-2001"))
    assert [(one.name, one.trials) for one in whole] == [("geurts-2001", 10), ("geurts-2001-noise", 1)]
    part = reproduce_command._chosen(paper, request("geurts-2001", trials=4, methods=[BAGGING]))
    assert [(one.name, one.trials, one.methods) for one in part] == [("geurts-2001", 4, [BAGGING])]
