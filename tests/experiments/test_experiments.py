"""Cells, seeds, the database and the processes: nothing is lost, nothing is computed twice, nothing depends on jobs."""

from __future__ import annotations

import io
import itertools
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import tiny_experiments
from naive_experiments import run_all
from petiole.experiments import Cell, Database, Experiment, Outcome, read_results, run, seed_of
from petiole.experiments._grid.progress import Bar, Lines, TimeLeft, kind_of
from petiole.experiments.command import describe_errors
from tiny_experiments import tiny

SCRIPT = str(Path(tiny_experiments.__file__))


def scores_in(path, experiment):
    with Database(path) as database:
        return {tuple(cell): scores for cell, scores in database.scores(experiment).items()}


# Cells and seeds.


def test_cells_are_the_whole_grid_once_trial_after_trial():
    cells = tiny().cells()
    assert sorted(cells) == sorted(itertools.product(tiny().data_sets, range(3), tiny().methods))
    assert [cell.trial for cell in cells] == sorted(cell.trial for cell in cells)


def test_seeds_differ_between_cells_and_are_shared_where_they_should_be():
    tasks = [tiny().task(cell) for cell in tiny().cells()]
    assert len({task.seed for task in tasks}) == len(tasks)
    assert all((a.split_seed == b.split_seed) == (a.cell[:2] == b.cell[:2]) for a in tasks for b in tasks)
    assert all(0 <= task.seed < 2**31 for task in tasks)


def test_seeds_depend_on_the_cell_alone():
    """Not on the rest of the grid, the settings, or the process: these numbers are fixed for good."""
    small = tiny().restricted(data_sets=["two"], methods=["slow"], trials=1)
    assert small.task(small.cells()[0]) == tiny().task(Cell("two", 0, "slow"))
    assert tiny(extra=3).task(Cell("one", 0, "fast")).seed == tiny().task(Cell("one", 0, "fast")).seed
    assert seed_of("tiny", "one", 0, "fast") == 571916915
    assert seed_of("a", "bc") != seed_of("ab", "c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": 0}, "trials=0: must be a whole number at least 1"),
        ({"data_sets": []}, r"data_sets=\[\]: must be a list of at least one name"),
        ({"methods": "tree"}, "methods='tree': must be a list"),
        ({"methods": ["tree", "tree"]}, "occurs twice; remove one"),
    ],
)
def test_experiments_check_their_grid(changes, message):
    grid = {"data_sets": ["one"], "methods": ["tree"], "trials": 1, **changes}
    with pytest.raises(ValueError, match=message):
        Experiment("tiny", work=tiny_experiments.values, **grid)


def test_a_part_of_the_grid_keeps_the_order_and_names_what_is_unknown():
    assert tiny().restricted(data_sets=["three", "one"]).data_sets == ["one", "three"]
    with pytest.raises(ValueError, match="data_sets='four': must be among one, two, three"):
        tiny().restricted(data_sets=["four"])


# Running.


def test_the_same_scores_whatever_the_number_of_jobs(tmp_path):
    expected = run_all(tiny())
    for jobs in (0, 1, 2):
        summary = run(tiny(), tmp_path / f"{jobs}.sqlite", jobs=jobs)
        assert (summary.n_finished, summary.n_skipped, summary.errors) == (18, 0, {})
        assert scores_in(tmp_path / f"{jobs}.sqlite", tiny()) == expected


def test_finished_cells_are_not_run_again(tmp_path):
    path = tmp_path / "cells.sqlite"
    run(tiny(trials=2).restricted(methods=["slow"]), path, jobs=0)
    again = run(tiny(), path, jobs=0)
    assert (again.n_cells, again.n_skipped, again.n_finished) == (18, 6, 12)
    assert run(tiny(), path, jobs=2).n_finished == 0
    assert scores_in(path, tiny()) == run_all(tiny())


def test_other_settings_are_other_cells(tmp_path):
    path = tmp_path / "cells.sqlite"
    run(tiny(), path, jobs=0)
    assert run(tiny(extra=5), path, jobs=0).n_finished == 18
    plain, more = scores_in(path, tiny()), scores_in(path, tiny(extra=5))
    assert all(more[cell]["sum"] == plain[cell]["sum"] + 5 for cell in plain)


def test_errors_are_kept_and_stop_nobody(tmp_path):
    experiment, path = tiny(tiny_experiments.failing), tmp_path / "cells.sqlite"
    summary = run(experiment, path, jobs=0, retries=2)
    assert {cell.data_set for cell in summary.errors} == {"two"}
    assert (summary.n_finished, len(summary.errors)) == (12, 6)
    with Database(path) as database:
        errors = database.errors(experiment)
        assert set(errors) == set(summary.errors)
        assert "ZeroDivisionError: trial 1 went wrong" in errors[Cell("two", 1, "slow")]
        assert database.query("SELECT DISTINCT attempts FROM cells WHERE status = 'failed'") == [(3,)]
    # a failed cell is not a finished one: the next run tries it, and now it works
    repaired = tiny()
    assert run(repaired, path, jobs=0).n_finished == 6
    assert scores_in(path, repaired) == run_all(repaired)
    with Database(path) as database:
        assert database.errors(repaired) == {}


@pytest.mark.posix
def test_a_process_that_dies_costs_its_cell_only(tmp_path):
    experiment, path = tiny(tiny_experiments.dying, folder=str(tmp_path)), tmp_path / "cells.sqlite"
    summary = run(experiment, path, jobs=2, retries=1)
    assert list(summary.errors) == [Cell("two", 1, "slow")]
    assert "exit code -9" in summary.errors[Cell("two", 1, "slow")]
    with Database(path) as database:
        tried_twice = database.query("SELECT data_set, trial, method, status FROM cells WHERE attempts = 2 ORDER BY 1")
        assert tried_twice == [("one", 0, "fast", "finished"), ("two", 1, "slow", "failed")]
        assert database.query("SELECT count(*) FROM cells WHERE attempts = 1 AND status = 'finished'") == [(16,)]


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of processor time")
def test_a_cell_that_takes_too_long_is_ended_and_so_are_its_other_trials(tmp_path):
    experiment, path = replace(tiny(tiny_experiments.burning), time_limit=1.0), tmp_path / "cells.sqlite"
    summary = run(experiment, path, jobs=1)
    assert set(summary.errors) == {Cell("two", trial, "slow") for trial in range(3)}
    begun = {cell: error for cell, error in summary.errors.items() if "in trial" not in error}
    assert len(begun) == 1, "the other trials are not begun"
    assert next(iter(begun.values())) == "TimeoutError: not finished after 1 seconds of processor time"
    expected = {cell: scores for cell, scores in run_all(tiny()).items() if (cell[0], cell[2]) != ("two", "slow")}
    assert scores_in(path, experiment) == expected
    again = run(experiment, path, jobs=1)
    assert (again.n_skipped, again.errors) == (18, {}), "it is not tried again"


def test_a_cell_within_the_limit_is_not_ended_by_what_the_cells_before_it_took(tmp_path):
    experiment = replace(tiny(tiny_experiments.half_a_second, trials=1), time_limit=1.5)
    assert run(experiment, tmp_path / "cells.sqlite", jobs=1).errors == {}


def test_cells_can_be_arranged_and_left_out(tmp_path):
    experiment = replace(tiny(), arrange=lambda cells: [cell for cell in reversed(cells) if cell.trial < 2])
    assert experiment.cells() == tiny(trials=2).cells()[::-1]
    assert experiment.restricted(methods=["slow"]).cells() == tiny(trials=2).restricted(methods=["slow"]).cells()[::-1]
    path = tmp_path / "cells.sqlite"
    assert run(experiment, path, jobs=0).n_finished == 12
    with Database(path) as database:
        order = [Cell(*row) for row in database.query("SELECT data_set, trial, method FROM cells ORDER BY id")]
    assert order == experiment.cells()


def test_work_has_to_return_numbers(tmp_path):
    summary = run(tiny(tiny_experiments.wrong_kind, trials=1), tmp_path / "cells.sqlite", jobs=0)
    assert all("must return a dict from names to numbers" in error for error in summary.errors.values())


def test_work_that_other_processes_cannot_import_is_told(tmp_path):
    with pytest.raises(ValueError, match="define it at the top level of a module, or run it in this process"):
        run(tiny(lambda task: {}), tmp_path / "cells.sqlite", jobs=1)


def test_work_that_workers_fail_to_import_stops_the_run(tmp_path, monkeypatch):
    """Otherwise every cell would start a process that dies."""
    module = types.ModuleType("only_here")
    exec("def work(task):\n    return {}", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    with pytest.raises(RuntimeError, match="a worker process ended with exit code 1 before it was ready"):
        run(tiny(module.work), tmp_path / "cells.sqlite", jobs=1)


def test_parameters_are_checked(tmp_path):
    with pytest.raises(ValueError, match="jobs=-1: must be a whole number at least 0"):
        run(tiny(), tmp_path / "cells.sqlite", jobs=-1)
    with pytest.raises(ValueError, match=r"retries=0\.5: must be a whole number at least 0"):
        run(tiny(), tmp_path / "cells.sqlite", retries=0.5)


# Killing.


def start(path, folder, trials=10):
    command = [sys.executable, SCRIPT, str(path), str(folder), "0.05", str(trials)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def computed(folder):
    """Cells that were computed, whether or not they reached the database."""
    return len(list(folder.glob("*.done")))


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def workers(folder):
    return [int(path.stem) for path in folder.glob("*.pid")]


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks processes up in /proc")
def test_killing_loses_nothing_that_was_finished(tmp_path):
    path = tmp_path / "cells.sqlite"
    experiment = tiny(tiny_experiments.sleeping, 10, folder=str(tmp_path), seconds=0.05)
    finished = 0
    for more in (3, 8):
        process = start(path, tmp_path)
        wait_until(lambda least=finished + more: computed(tmp_path) >= least)
        time.sleep(0.2)  # into the middle of things
        process.kill()
        process.communicate()
        wait_until(lambda: not any(map(is_running, workers(tmp_path))))  # its workers end by themselves
        finished = len(scores_in(path, experiment))  # opening it also takes back a cell that was half written
        # each of the two workers may have had one cell that was being written and one that was being computed
        assert computed(tmp_path) - finished <= 4
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert finished < 60
    summary = run(experiment, path, jobs=0)
    assert (summary.n_skipped, summary.n_finished) == (finished, 60 - finished)
    assert scores_in(path, experiment) == run_all(tiny(trials=10))


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks processes up in /proc")
def test_ctrl_c_stops_all_processes_quietly(tmp_path):
    path = tmp_path / "cells.sqlite"
    process = start(path, tmp_path, trials=1000)
    wait_until(lambda: computed(tmp_path) >= 8)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the group
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors) == (130, "stopped\n", "")
    assert not any(map(is_running, workers(tmp_path)))
    experiment = tiny(tiny_experiments.sleeping, 1000, folder=str(tmp_path), seconds=0.05)
    assert 0 <= computed(tmp_path) - len(scores_in(path, experiment)) <= 4


def test_the_page_on_experiments_keeps_its_word(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block.replace("jobs=2", "jobs=0"), {"__name__": "__main__"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("30 cells computed")
    scores = {method: float(score) for method, score in (line.split() for line in lines[1:])}
    assert scores["laplace"] < scores["raw"] and scores["hgs"] < scores["raw"]


# The database.


def outcome_of(experiment, cell, scores, error=None):
    return Outcome(experiment.task(cell), scores, error, 0.5)


def test_scores_come_back_as_they_went_in():
    cell = Cell("one", 0, "fast")
    scores = {"third": 1 / 3, "inf": math.inf, "tiny": 5e-324, "whole": 3.0, "nan": math.nan}
    with Database(":memory:") as database:
        database.record(tiny(), outcome_of(tiny(), cell, scores))
        found = database.scores(tiny())[cell]
        assert math.isnan(found.pop("nan"))
        assert found == {name: value for name, value in scores.items() if name != "nan"}
        assert database.seconds(tiny()) == {cell: 0.5}


def test_a_failure_does_not_replace_scores_but_scores_replace_a_failure():
    cell = Cell("one", 0, "fast")
    with Database(":memory:") as database:
        database.record(tiny(), outcome_of(tiny(), cell, None, "first"))
        database.record(tiny(), outcome_of(tiny(), cell, {"a": 1.0}))
        database.record(tiny(), outcome_of(tiny(), cell, None, "second"))
        assert database.scores(tiny()) == {cell: {"a": 1.0}}
        assert database.errors(tiny()) == {}
        database.record(tiny(), outcome_of(tiny(), cell, {"b": 2.0}))
        assert database.query("SELECT metric, value FROM scores") == [("b", 2.0)]


def test_a_cell_is_written_whole_or_not_at_all(tmp_path):
    path, cell = tmp_path / "cells.sqlite", Cell("one", 0, "fast")
    with Database(path) as database:
        with pytest.raises(sqlite3.Error):
            database.record(tiny(), outcome_of(tiny(), cell, {"good": 1.0, "bad": object()}))
        assert database.query("SELECT count(*) FROM cells") == [(0,)]
        database.record(tiny(), outcome_of(tiny(), cell, {"good": 1.0}))
    assert scores_in(path, tiny()) == {cell: {"good": 1.0}}


def test_other_files_are_left_alone(tmp_path):
    text = tmp_path / "text.sqlite"
    text.write_text("this is no database, and it is long enough to be looked at" * 20)
    with pytest.raises(ValueError, match=r"cannot be used .* name another file"):
        Database(text)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    before = foreign.read_bytes()
    with pytest.raises(ValueError, match="holds something else than experiments"):
        Database(foreign)
    assert foreign.read_bytes() == before
    newer = tmp_path / "newer.sqlite"
    Database(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ValueError, match="has layout 99, this version of petiole knows 1"):
        Database(newer)


def test_two_runs_on_one_database_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "cells.sqlite"
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run, tiny(trials=20), path, jobs=0) for _ in range(2)]
        assert all(not done.result().errors for done in runs)
    assert scores_in(path, tiny()) == run_all(tiny(trials=20))


# Results.


def test_results_hold_the_trials_that_all_have(tmp_path):
    path = tmp_path / "cells.sqlite"
    run(tiny(trials=2), path, jobs=0)
    run(tiny(trials=3).restricted(data_sets=["one"]), path, jobs=0)
    with Database(path) as database:
        results = read_results(database, tiny(trials=5))
    assert (results.data_sets, results.methods, results.trials) == (["one", "two", "three"], ["fast", "slow"], [0, 1])
    assert results.n_missing == 30 - 14
    expected = run_all(tiny(trials=2))
    for (d, data_set), (m, method), t in itertools.product(
        enumerate(results.data_sets), enumerate(results.methods), results.trials
    ):
        assert results.tables["own"][d, m, t] == expected[data_set, t, method]["own"]
    mean = (expected["two", 0, "slow"]["own"] + expected["two", 1, "slow"]["own"]) / 2
    assert results.mean("own", "two", "slow") == pytest.approx(mean)


def test_results_without_cells_say_what_to_do():
    with Database(":memory:") as database, pytest.raises(ValueError, match="run the experiment first"):
        read_results(database, tiny())


def test_a_data_set_without_a_whole_trial_is_left_out(tmp_path):
    experiment, path = tiny(tiny_experiments.failing), tmp_path / "cells.sqlite"
    run(experiment, path, jobs=0, retries=0)
    with Database(path) as database:
        assert read_results(database, experiment).data_sets == ["one", "three"]


# Progress.


def test_time_left_knows_that_data_sets_differ():
    """Two kinds of cells that take 1 and 9 seconds, one of each done after 5 seconds on the clock of two jobs."""
    cells = [Cell(name, trial, "m") for trial in range(3) for name in ("small", "large")]
    clock = iter([0.0, 5.0, 5.0])
    left = TimeLeft(map(kind_of, cells), lambda: next(clock))
    assert left.seconds() is None
    left.note(kind_of(cells[0]), 1.0)
    left.note(kind_of(cells[1]), 9.0)
    assert left.seconds() == pytest.approx((2 * 1 + 2 * 9) * 5.0 / 10.0)


def test_time_left_takes_an_unknown_kind_to_be_like_its_data_set_or_like_all():
    cells = [Cell("a", 0, "x"), Cell("a", 0, "y"), Cell("b", 0, "x")]
    clock = iter([0.0, 4.0])
    left = TimeLeft(map(kind_of, cells), lambda: next(clock))
    left.note(kind_of(cells[0]), 4.0)
    assert left.seconds() == pytest.approx(8.0)


def test_lines_tell_how_far_it_is_and_what_failed(tmp_path):
    file = io.StringIO()
    run(tiny(tiny_experiments.failing), tmp_path / "cells.sqlite", jobs=0, retries=0, progress=Lines(file, every=0))
    text = file.getvalue()
    assert text.startswith("18 cells to compute\n")
    assert "two, trial 0, fast: ZeroDivisionError: trial 0 went wrong" in text
    assert text.endswith("18 of 18 cells, 6 failed, 0 s left\n")


def test_the_bar_runs(tmp_path, capsys):
    pytest.importorskip("rich")
    run(tiny(tiny_experiments.failing), tmp_path / "cells.sqlite", jobs=0, retries=0, progress=Bar("cells"))
    text = capsys.readouterr().err
    assert "18/18" in text
    assert "two, trial 2, fast: ZeroDivisionError" in text


# Dask.


def test_dask_gives_the_same_scores(tmp_path):
    distributed = pytest.importorskip("distributed")
    from petiole.experiments._grid.engine_dask import Dask

    summary = run(tiny(), tmp_path / "local.sqlite", engine=Dask(jobs=2))
    assert summary.n_finished == 18
    assert scores_in(tmp_path / "local.sqlite", tiny()) == run_all(tiny())
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster:
        engine = Dask(cluster.scheduler_address)
        run(tiny(trials=1), tmp_path / "remote.sqlite", engine=engine)
        failing = tiny(tiny_experiments.failing)
        summary = run(failing, tmp_path / "failing.sqlite", engine=engine, retries=1)
    assert scores_in(tmp_path / "remote.sqlite", tiny()) == run_all(tiny(trials=1))
    assert (summary.n_finished, len(summary.errors)) == (12, 6)
    with Database(tmp_path / "failing.sqlite") as database:
        assert database.query("SELECT DISTINCT attempts FROM cells WHERE status = 'failed'") == [(2,)]


def test_dask_that_is_not_installed_is_told(monkeypatch):
    from petiole.experiments._grid.engine_dask import Dask

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "dask'):
        Dask()


def test_what_goes_wrong_everywhere_is_told_once():
    missing = "Traceback (most recent call last):\n  a\n  b\nValueError: name={!r}: no data set of this name is here"
    cells = [Cell(name, trial, "tree") for name in "abcdefgh" for trial in range(100)]
    errors = {cell: missing.format(cell.data_set) for cell in cells}
    errors[Cell("a", 0, "forest")] = "Traceback (most recent call last):\n  deep\nZeroDivisionError: of a kind"
    told = describe_errors(errors)
    assert told[0] == "800 cells (a, b, c, d, … h) failed: ValueError: name='a': no data set of this name is here"
    assert told[1].splitlines()[0] == "1 cell (a) failed: ZeroDivisionError: of a kind" and "  deep" in told[1]
    assert len(told) == 2
