"""Why the flagship loses where it does, as far as that is known: a line per data set, which the page prints."""

from __future__ import annotations

REASONS: dict[str, str] = {
    "balance-scale": "the class is the sign of a difference of two products, which thresholds on single features "
    "approach slowly",
}
