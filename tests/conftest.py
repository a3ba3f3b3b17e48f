"""Fixtures: real data sets from the folder named by PETIOLE_DATA."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")


# A shell that runs the tests in the background has them ignore Ctrl-C, which some of them are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def load_real():
    """A function from the name of a data set to (frame, labels); nominal columns are strings, outcomes stay in."""
    folder = os.environ.get("PETIOLE_DATA")
    if not folder:
        pytest.skip("PETIOLE_DATA names no folder with data sets")
    import pandas as pd

    manifest = {entry["name"]: entry for entry in json.loads((Path(folder) / "manifest.json").read_text())}

    def load(name: str):
        entry = manifest[name]
        kinds = {column["name"]: str if column["kind"] == "nominal" else float for column in entry["columns"]}
        frame = pd.read_csv(Path(folder) / entry["file"], dtype=kinds, keep_default_na=False, na_values=[""])
        return frame.drop(columns="class"), frame["class"].to_numpy(dtype=str)

    return load


def pytest_collection_modifyitems(items):
    """Begin with the longest, so that no worker is left alone with them at the end."""
    longest = {"test_core_is_clean_under_sanitizers", "test_examples_run", "test_types_are_sound"}
    items.sort(key=lambda item: item.name not in longest)
