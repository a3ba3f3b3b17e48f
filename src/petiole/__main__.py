"""The ``petiole`` command, also as ``python -m petiole``; one line says what to install if a package is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich")  # besides what the library needs


def main() -> int:
    """Run the command line; returns its exit code."""
    absent = [package for package in NEEDED if find_spec(package) is None]
    if absent:
        wanted = " ".join(absent)
        print(f"petiole: the command line needs {' and '.join(absent)}: pip install {wanted}", file=sys.stderr)
        return 1
    from petiole.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
