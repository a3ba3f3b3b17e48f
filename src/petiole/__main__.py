"""``python -m petiole`` is the ``petiole`` command."""

from __future__ import annotations

import sys

from petiole.cli import main

if __name__ == "__main__":
    sys.exit(main())
