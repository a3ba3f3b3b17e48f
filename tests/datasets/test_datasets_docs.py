"""The page on data sets keeps its word: its manifest and its list of generators."""

from __future__ import annotations

import json
import re
from pathlib import Path

from petiole import datasets

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_the_manifest_of_the_page_is_json():
    (entry,) = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    assert sum(entry["class_counts"].values()) == entry["n_rows"]


def test_the_page_names_every_generator():
    for name in datasets.__all__:
        assert not name.startswith("make_") or f"`{name}`" in PAGE, name
