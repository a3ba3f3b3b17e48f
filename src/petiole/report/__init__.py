"""Self-contained HTML pages: a study with scores, charts and costs; what monitoring has found; a model card."""

from __future__ import annotations

from petiole.report.model_card import write_model_card
from petiole.report.monitoring import write_monitoring
from petiole.report.writing import write_report

__all__ = ["write_model_card", "write_monitoring", "write_report"]
