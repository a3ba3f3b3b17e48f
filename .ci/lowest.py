"""Prints the library's dependencies at the lowest versions that pyproject.toml names, as constraints for pip.

With them go pyarrow, whose later versions need numpy 2 when they are imported, which their requirements do not say, and
polars 1: scikit-learn of that time does not see the names of columns in later frames.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest() -> list[str]:
    """A line per dependency, such as ``numpy==1.26.*``."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    found = project["dependencies"] + project["optional-dependencies"]["arrow"]
    return [f"{name}=={version}.*" for name, _, version in (line.partition(">=") for line in found)] + ["polars==1.*"]


if __name__ == "__main__":
    print("\n".join(lowest()))
