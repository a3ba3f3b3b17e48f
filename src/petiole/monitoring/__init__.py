"""Monitoring of fitted models: sequential tests on labelled rows; drift and estimated scores without labels."""

from __future__ import annotations

from petiole.monitoring._drift import ColumnDrift, LeafDrift, column_drift, leaf_drift
from petiole.monitoring._estimation import estimate_scores
from petiole.monitoring._evidence import CalibrationTest, LossTest
from petiole.monitoring._monitor import monitor
from petiole.monitoring._reference import Reference, Score, kept_reference, reference_of, remember
from petiole.monitoring._remedies import Remedy
from petiole.monitoring._result import Finding, Monitoring

__all__ = [
    "CalibrationTest",
    "ColumnDrift",
    "Finding",
    "LeafDrift",
    "LossTest",
    "Monitoring",
    "Reference",
    "Remedy",
    "Score",
    "column_drift",
    "estimate_scores",
    "kept_reference",
    "leaf_drift",
    "monitor",
    "reference_of",
    "remember",
]
