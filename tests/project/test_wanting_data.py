"""Tests on real data are skipped where there are none, unless they are required; other tests never see the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os
import pytest

@pytest.mark.real_data
def test_that_reads():
    assert os.path.isdir(os.environ["PETIOLE_DATA"])

@pytest.mark.real_data
def test_that_finds_its_set_missing():
    pytest.skip("this set is not in the folder")

def test_that_says_nothing_of_data():
    assert "PETIOLE_DATA" not in os.environ
"""


@pytest.fixture
def outcomes(tmp_path):
    """A function that runs the three tests and returns the line that counts what became of them."""
    (tmp_path / "test_three.py").write_text(TESTS)
    (tmp_path / "manifest.json").write_text("[]")

    def run(*options, data=None):
        path = os.pathsep.join([str(Path(__file__).parents[1] / "helpers"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        environment.pop("PETIOLE_DATA", None)
        if data is not None:
            environment["PETIOLE_DATA"] = str(data)
        command = [sys.executable, "-m", "pytest", "-p", "wanting_data", "-p", "no:cacheprovider", "-c", os.devnull]
        done = subprocess.run(
            [*command, "--rootdir", str(tmp_path), *options, str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.splitlines()[-1].strip("= "), done.stdout

    return run


def test_without_the_folder_they_are_skipped(outcomes):
    assert outcomes()[0].startswith("1 passed, 2 skipped")


def test_without_the_folder_they_fail_if_they_are_required(outcomes):
    line, text = outcomes("--require-data")
    assert line.startswith("1 passed, 2 errors")
    assert "test_that_reads would be skipped: Skipped: PETIOLE_DATA names no folder with data sets" in text


def test_with_the_folder_only_those_that_ask_for_it_see_it(outcomes, tmp_path):
    assert outcomes(data=tmp_path)[0].startswith("2 passed, 1 skipped")


def test_a_set_that_is_missing_is_a_failure_if_data_are_required(outcomes, tmp_path):
    line, text = outcomes("--require-data", "-m", "real_data", data=tmp_path)
    assert line.startswith("1 failed, 1 passed, 1 deselected")
    assert "would be skipped: Skipped: this set is not in the folder" in text


def test_a_folder_that_holds_no_data_is_told(outcomes, tmp_path):
    line, text = outcomes(data=tmp_path / "elsewhere")
    assert line.startswith("1 passed, 2 errors") and "elsewhere: there is no manifest.json in it" in text
