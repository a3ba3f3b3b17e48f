"""The scores in one small text file that is kept with the pages, so that anyone can go on from there.

A line per cell, in the order of names, so that equal scores make equal files: its scores, or why there are none.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from petiole.experiments._grid.cells import Cell, Experiment
from petiole.experiments._grid.database import Database
from petiole.experiments._grid.outcomes import Outcome
from petiole.experiments._grid.progress import last_line
from petiole.experiments.peers import METRICS, whole_grid
from petiole.files.atomic import write_atomically

COLUMNS = ["data_set", "method", "trial", *METRICS, "error"]
DIGITS = 6


def file_beside(page: str | os.PathLike[str]) -> Path:
    """Where the scores of a page are."""
    return Path(page).parent / "reproduction" / f"{Path(page).stem}-scores.csv.gz"


def read_back(database: str | os.PathLike[str], page: str | os.PathLike[str]) -> None:
    """Put the cells of the file into the database, as far as that has none of its own."""
    path, grid = file_beside(page), whole_grid()
    if not path.exists():
        return
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        settings = next(file).removeprefix("#").strip()
        if settings != grid.settings_text:
            print(f"{path}: was made with other settings, and is not used", file=sys.stderr)
            return
        with Database(database) as store:
            there, known = store.settled(grid), set(grid.cells())
            for outcome in _outcomes(file, grid):
                if outcome.task.cell in known - there:
                    store.record(grid, outcome)


def _outcomes(file: Iterator[str], grid: Experiment) -> Iterator[Outcome]:
    for row in csv.DictReader(file):
        task = grid.task(Cell(row["data_set"], int(row["trial"]), row["method"]))
        if row["error"]:
            yield Outcome.of_failure(task, row["error"])
        else:
            scores = {name: float(row[name]) if row[name] else math.nan for name in METRICS}
            yield Outcome(task, scores, None, scores["fit_seconds"] + scores["predict_seconds"])


def write_out(
    grid: Experiment, scores: Mapping[Cell, Mapping[str, float]], errors: Mapping[Cell, str], path: Path
) -> None:
    """Write the file. Errors of cells that have scores are none."""
    text = io.StringIO()
    text.write(f"#{grid.settings_text}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cell in sorted({*scores, *errors}, key=lambda cell: (cell.data_set, cell.method, cell.trial)):
        names = [cell.data_set, cell.method, cell.trial]
        if cell in scores:
            writer.writerow([*names, *(_number(scores[cell].get(name, math.nan)) for name in METRICS), ""])
        else:
            writer.writerow([*names, *[""] * len(METRICS), last_line(errors[cell])])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, [gzip.compress(text.getvalue().encode("utf-8"), mtime=0)])


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.{DIGITS}g}"
