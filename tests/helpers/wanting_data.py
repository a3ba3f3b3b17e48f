"""Tests on real data: they carry the mark ``real_data``, and only they see the folder named by PETIOLE_DATA.

Without the folder they are skipped; with ``--require-data`` a skip of one of them is a failure.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

VARIABLE = "PETIOLE_DATA"
MARK = "real_data"


def pytest_addoption(parser):
    parser.addoption("--require-data", action="store_true", help=f"fail where tests marked {MARK} would be skipped")


def pytest_configure(config):
    config.addinivalue_line("markers", f"{MARK}: reads the folder named by {VARIABLE}; skipped without it")


def pytest_itemcollected(item):
    """Whoever asks for the fixture wants the data."""
    if "load_real" in getattr(item, "fixturenames", ()):
        item.add_marker(MARK)


def wants_data(item):
    return item.get_closest_marker(MARK) is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Hide the folder from other tests, so that none can come to need it without saying so."""
    hidden = None if wants_data(item) else os.environ.pop(VARIABLE, None)
    try:
        return (yield)
    finally:
        if hidden is not None:
            os.environ[VARIABLE] = hidden


def pytest_runtest_setup(item):
    if not wants_data(item):
        return
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} names no folder with data sets")
    if not Path(folder, "manifest.json").is_file():
        pytest.fail(f"{VARIABLE}={folder}: there is no manifest.json in it", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """With --require-data, make a failure of every skip of a test on real data."""
    report = yield
    if report.skipped and wants_data(item) and item.config.getoption("--require-data"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"--require-data: {item.nodeid} would be skipped: {reason}"
    return report


@pytest.fixture(scope="session")
def load_real():
    """A function from the name of a data set to (frame, labels); nominal columns are strings, outcomes stay in."""
    import pandas as pd

    folder = Path(os.environ[VARIABLE])
    manifest = {entry["name"]: entry for entry in json.loads((folder / "manifest.json").read_text())}

    def load(name: str):
        entry = manifest[name]
        kinds = {column["name"]: str if column["kind"] == "nominal" else float for column in entry["columns"]}
        frame = pd.read_csv(folder / entry["file"], dtype=kinds, keep_default_na=False, na_values=[""])
        return frame.drop(columns="class"), frame["class"].to_numpy(dtype=str)

    return load
