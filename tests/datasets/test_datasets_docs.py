"""The page on data sets keeps its word: its code runs and prints what it says."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

from petiole import datasets

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) > 4
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "datasets.md", "datasets.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    assert runner.run(test, out=said.append).failed == 0, "".join(said)


def test_the_manifest_of_the_page_is_json():
    (entry,) = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    assert sum(entry["class_counts"].values()) == entry["n_rows"]


def test_the_page_names_every_generator():
    for name in datasets.__all__:
        assert not name.startswith("make_") or f"`{name}`" in PAGE, name
