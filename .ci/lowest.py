"""Prints the library's dependencies at the lowest versions that pyproject.toml names, as constraints for pip."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest() -> list[str]:
    """A line per dependency, such as ``numpy==1.26.*``."""
    found = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    return [f"{name}=={version}.*" for name, _, version in (line.partition(">=") for line in found)]


if __name__ == "__main__":
    print("\n".join(lowest()))
