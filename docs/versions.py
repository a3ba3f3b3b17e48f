"""Writes versions.json and the first page for a folder of published sites, a folder per version."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def order(version: str) -> tuple[int, ...]:
    """Releases by number; everything else, such as main, comes after them in the list."""
    numbers = version.removeprefix("v").split(".")
    return tuple(map(int, numbers)) if all(number.isdigit() for number in numbers) else ()


def write(folder: Path) -> None:
    """List the versions, the newest first, and lead to the newest release."""
    found = sorted((path.parent.name for path in folder.glob("*/index.html")), key=order, reverse=True)
    entries = [
        {"version": name, "title": name, "aliases": ["latest"] if i == 0 else []} for i, name in enumerate(found)
    ]
    (folder / "versions.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    page = '<!doctype html><meta charset="utf-8"><title>petiole</title>'
    page += f'<meta http-equiv="refresh" content="0; url={found[0]}/">\n'
    (folder / "index.html").write_text(page, encoding="utf-8")
    (folder / ".nojekyll").touch()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
