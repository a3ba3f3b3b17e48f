"""Experiments as grids of cells that can be stopped and resumed, and the papers' experiments with their tables."""

from __future__ import annotations

from petiole.experiments._grid.cells import Cell, Experiment, Task, seed_of
from petiole.experiments._grid.database import Database
from petiole.experiments._grid.outcomes import Outcome
from petiole.experiments._grid.results import Results, read_results
from petiole.experiments._grid.runner import Summary, run

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
