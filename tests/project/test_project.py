"""The project as a whole: docstrings run, code is in shape, the README keeps its word."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import petiole
from versions import needs_types_of_numpy

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(petiole.__path__, "petiole.")
    if not module.name.endswith(("__main__", "_core"))
)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [("check",), ("format", "--check")])
def test_ruff_is_content(command):
    done = run(sys.executable, "-m", "ruff", *command, ".")
    assert done.returncode == 0, done.stdout


def test_the_core_is_formatted():
    """By the same tool and settings as before a commit."""
    sources = [
        str(path)
        for folder in ("src/core", "src/bindings", "tests/core")
        for path in sorted((ROOT / folder).rglob("*.[ch]pp"))
    ]
    assert len(sources) > 100
    tool = shutil.which("clang-format")
    assert tool is not None, 'pip install ".[test]" brings it'
    done = run(tool, "--dry-run", "--Werror", *sources)
    assert done.returncode == 0, done.stderr


def test_words_are_spelled_as_in_a_dictionary():
    pages = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("*.md"))]
    done = run(
        sys.executable,
        "-m",
        "codespell_lib",
        *pages,
        "src",
        "docs",
        "examples",
        "tests",
        "--skip",
        "*.csv,*.arff,*.json",
    )
    assert done.returncode == 0, done.stdout


@needs_types_of_numpy
def test_types_are_sound():
    done = run(sys.executable, "-m", "mypy", "-p", "petiole")
    assert done.returncode == 0, done.stdout


@needs_types_of_numpy
def test_the_rooms_that_all_rests_on_are_strict():
    rooms = ("_table", "_tree", "_forest", "_boosting", "_estimates", "_classifiers")
    packages = [part for room in rooms for part in ("-p", f"petiole.{room}")]
    done = run(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *packages)
    assert done.returncode == 0, done.stdout


def test_the_main_job_runs():
    options = ["--methods", "pet,naive-bayes", "--folds", "2", "--repeats", "1", "--jobs", "1"]
    command = [sys.executable, "-m", "petiole", "compare", "breast-cancer", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "log-loss (bits)" in done.stdout and "Single tree, smoothed" in done.stdout


# Examples that need more than petiole and its tests do; test_scoring.py runs them where these are installed.
OF_OTHER_ENGINES = {"10_spark.py", "11_ray.py", "12_duckdb.py"}


def test_examples_run(tmp_path):
    """One process for all, because importing the plotting library takes longer than most examples."""
    script = "import runpy, sys; from matplotlib import pyplot as plt\n"
    script += "for path in sys.argv[1:]: runpy.run_path(path, run_name='__main__'); plt.close('all')"
    found = (path for path in (ROOT / "examples").glob("[0-9]*.py") if path.name not in OF_OTHER_ENGINES)
    examples = sorted(map(str, found))
    assert examples
    quick = {**os.environ, "PETIOLE_QUICK": "1"}
    command = [sys.executable, "-c", script, *examples]
    done = subprocess.run(command, cwd=tmp_path, env=quick, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.png"))) >= len(examples)


def test_version_is_told_once():
    assert f'version = "{petiole.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_importing_is_quick():
    """petiole adds at most 0.15 s to importing scikit-learn: processor time, the best of up to five processes."""
    clock = "time.process_time()"
    script = f"import time, sklearn; t = {clock}; import petiole; print({clock} - t)"
    assert any(float(subprocess.check_output([sys.executable, "-c", script])) < 0.15 for _ in range(5))
