"""What ``petiole reproduce <paper>`` does: run a paper's experiment and write its page."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from petiole.experiments import nielsen_2004, nielsen_2004_page
from petiole.experiments.cells import Experiment
from petiole.experiments.outcomes import Engine
from petiole.experiments.progress import make_progress
from petiole.experiments.runner import run


@dataclass(frozen=True)
class Paper:
    """What there is of a paper: its experiment, the trials of a quick look, and how its page is written."""

    experiment: Callable[[], Experiment]
    quick_trials: int
    write_page: Callable[[str | os.PathLike[str], str | os.PathLike[str]], Path]


PAPERS = {
    nielsen_2004.NAME: Paper(nielsen_2004.experiment, nielsen_2004.QUICK_TRIALS, nielsen_2004_page.write),
}


@dataclass(frozen=True)
class Request:
    """What is asked for: the options of the command."""

    paper: str
    jobs: int = 1
    trials: int | None = None
    datasets: list[str] | None = None
    methods: list[str] | None = None
    quick: bool = False
    database: str = "petiole-experiments.sqlite"
    page: str | None = None
    page_only: bool = False
    engine: str = "processes"
    address: str | None = None


def main(arguments: Sequence[str]) -> int:
    """``petiole reproduce`` with these arguments; the exit code is 0, 1 if cells failed, 2 for wrong arguments."""
    from petiole.cli import main as run_command  # the command line lies above the experiments

    return run_command(["reproduce", *arguments])


def reproduce(options: Request) -> int:
    """Compute what is missing, unless told not to, and write the page."""
    paper = find_paper(options.paper)
    failed = False if options.page_only else _compute(paper, options)
    page = options.page or Path("docs") / "reproduction" / f"{options.paper}.md"
    try:
        print(f"wrote {paper.write_page(options.database, page)}")
    except ValueError as error:  # after a part of the grid that makes no page
        if options.page_only:
            raise
        print(f"no page: {error}")
    return 1 if failed else 0


def _compute(paper: Paper, options: Request) -> bool:
    """Run the cells; whether some failed."""
    trials = paper.quick_trials if options.quick and options.trials is None else options.trials
    experiment = paper.experiment().restricted(data_sets=options.datasets, methods=options.methods, trials=trials)
    engine = _make_engine(options)
    summary = run(experiment, options.database, jobs=options.jobs, engine=engine, progress=make_progress())
    print(summary)
    for cell, error in summary.errors.items():
        print(f"\n{cell.data_set}, trial {cell.trial}, {cell.method}:\n{error.strip()}", file=sys.stderr)
    return bool(summary.errors)


def _make_engine(options: Request) -> Engine | None:
    if options.engine == "dask":
        from petiole.experiments.engine_dask import Dask

        return Dask(options.address, jobs=max(1, options.jobs))
    if options.engine != "processes":
        raise ValueError(f"engine={options.engine!r}: must be 'processes' or 'dask'")
    if options.address is not None:
        raise ValueError(f"address={options.address!r}: is for --engine dask; add that")
    return None


def find_paper(name: str) -> Paper:
    """What there is of a paper; a name that is not known is an error that tells the nearest."""
    if name not in PAPERS:
        close = difflib.get_close_matches(name, PAPERS, n=1)
        nearest = f"did you mean {close[0]!r}? There are" if close else "there are"
        raise ValueError(f"paper={name!r}: is not known; {nearest} {', '.join(sorted(PAPERS))}")
    return PAPERS[name]
