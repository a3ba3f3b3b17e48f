"""Experiments as grids of cells that can be stopped and resumed, and the papers' experiments with their tables."""

from __future__ import annotations

from petiole.experiments.cells import Cell, Experiment, Task, seed_of
from petiole.experiments.database import Database
from petiole.experiments.outcomes import Outcome
from petiole.experiments.results import Results, read_results
from petiole.experiments.runner import Summary, run

__all__ = [
    "Cell",
    "Database",
    "Experiment",
    "Outcome",
    "Results",
    "Summary",
    "Task",
    "read_results",
    "run",
    "seed_of",
]
