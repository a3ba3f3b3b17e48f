"""Why the flagship loses where it does, as far as that is known: a line per data set, which the page prints."""

from __future__ import annotations

REASONS: dict[str, str] = {}
