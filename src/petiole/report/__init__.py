"""Write a study as one self-contained HTML page: verdict, scores, charts, costs, and how to repeat it."""

from __future__ import annotations

from petiole.report.writing import write_report

__all__ = ["write_report"]
