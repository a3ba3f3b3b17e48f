"""One self-contained page about a study: the answer, how good it is, what it costs, and how to repeat it."""

from __future__ import annotations

from petiole.report.writing import write_report

__all__ = ["write_report"]
