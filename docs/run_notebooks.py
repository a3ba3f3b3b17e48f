"""Runs the notebooks and stores their outputs. Run it after a change of what a method prints."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"


def run(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=600).execute()
    book.metadata.pop("language_info", None)
    for cell in book.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:  # without scikit-learn's diagram, whose numbers differ each time
                page, _, rest = data["text/html"].partition("<details>")
                data["text/html"] = page + ("</div>" if rest else "")
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for found in sorted(FOLDER.glob("*.ipynb")):
        run(found)
