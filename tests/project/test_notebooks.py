"""The notebooks run from top to bottom in a fresh kernel and print what is kept in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from versions import needs_newest_numbers

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def said_by(cell):
    """What a code cell has printed or shown as text."""
    outputs = cell.get("outputs", [])
    return "".join("".join(part.get("text", part.get("data", {}).get("text/plain", ""))) for part in outputs)


@needs_newest_numbers
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_says(path, tmp_path):
    book = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    nbformat.validate(book)
    kept = [said_by(cell) for cell in book.cells]
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [said_by(cell) for cell in book.cells] == kept


def test_there_are_three_and_each_shows_something():
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert (
            cells[0]["source"][0].startswith("# ")
            if isinstance(cells[0]["source"], list)
            else cells[0]["source"][:2] == "# "
        )
        assert sum(bool(said_by(cell)) for cell in cells if cell["cell_type"] == "code") > 1
