"""``python -m petiole reproduce <paper>``: run a paper's experiment and write its page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from petiole.experiments import (
    nielsen_2004,
    nielsen_2004_page,
    which_method,
    which_method_page,
    zhang_2020,
    zhang_2020_page,
    zhang_2020_scores,
)
from petiole.experiments.cells import Experiment
from petiole.experiments.outcomes import Engine
from petiole.experiments.pages import Agreement
from petiole.experiments.progress import make_progress
from petiole.experiments.runner import run

INTERRUPTED = 130  # what shells report after Ctrl-C


@dataclass(frozen=True)
class Paper:
    """What there is of a paper.

    Attributes
    ----------
    experiment : function without arguments to an Experiment
    quick_trials : int
        Of a quick look.
    write_page : function of the database's path and the page's path
    agreements : function of the database's path to a list of Agreement
        The paper's comparisons of two methods, grouped by table and metric, and which of them point the same way here.
        Raises ValueError or FileNotFoundError if the database has no results of the paper.
    quick_data_sets : function without arguments to a list of names, default: all data sets
        Of a quick look.
    page : path, default: docs/reproduction/<paper>.md
    """

    experiment: Callable[[], Experiment]
    quick_trials: int
    write_page: Callable[[str | os.PathLike[str], str | os.PathLike[str]], Path]
    agreements: Callable[[str | os.PathLike[str]], list[Agreement]]
    quick_data_sets: Callable[[], list[str]] | None = None
    page: Path | None = None


PAPERS = {
    nielsen_2004.NAME: Paper(
        nielsen_2004.experiment, nielsen_2004.QUICK_TRIALS, nielsen_2004_page.write, nielsen_2004_page.agreements
    ),
    zhang_2020.NAME: Paper(
        zhang_2020.experiment,
        zhang_2020.QUICK_FOLDS,
        zhang_2020_page.write,
        zhang_2020_scores.agreements,
        zhang_2020.quick_data_sets,
    ),
    which_method.NAME: Paper(
        which_method.experiment,
        which_method.QUICK_TRIALS,
        which_method_page.write,
        which_method_page.agreements,
        which_method.quick_data_sets,
        Path("docs") / "which_method.md",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0, 1 if cells failed, 2 for wrong arguments, 130 after Ctrl-C."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        return reproduce(options)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from there", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, ImportError, FileNotFoundError) as error:
        parser.error(str(error))


def reproduce(options: argparse.Namespace) -> int:
    """Compute what is missing, unless told not to, and write the page."""
    paper = PAPERS[options.paper]
    failed = False if options.page_only else _compute(paper, options)
    page = options.page or paper.page or Path("docs") / "reproduction" / f"{options.paper}.md"
    try:
        print(f"wrote {paper.write_page(options.database, page)}")
    except ValueError as error:  # after a part of the grid that makes no page
        if options.page_only:
            raise
        print(f"no page: {error}")
    return 1 if failed else 0


def _compute(paper: Paper, options: argparse.Namespace) -> bool:
    """Run the cells; whether some failed."""
    trials = paper.quick_trials if options.quick and options.trials is None else options.trials
    data_sets = options.datasets
    if options.quick and data_sets is None and paper.quick_data_sets is not None:
        data_sets = paper.quick_data_sets()
    experiment = paper.experiment().restricted(data_sets=data_sets, methods=options.methods, trials=trials)
    engine = _make_engine(options)
    summary = run(experiment, options.database, jobs=options.jobs, engine=engine, progress=make_progress())
    print(summary)
    for cell, error in summary.errors.items():
        print(f"\n{cell.data_set}, trial {cell.trial}, {cell.method}:\n{error.strip()}", file=sys.stderr)
    return bool(summary.errors)


def _make_engine(options: argparse.Namespace) -> Engine | None:
    if options.engine == "dask":
        from petiole.experiments.engine_dask import Dask

        return Dask(options.address, jobs=max(1, options.jobs))
    if options.address is not None:
        raise ValueError(f"address={options.address!r}: is for --engine dask; add that")
    return None


def make_parser() -> argparse.ArgumentParser:
    """The options of ``reproduce``."""
    parser = argparse.ArgumentParser(
        prog="python -m petiole reproduce",
        description="Run a paper's experiment and write a page with its tables beside ours. Finished cells are kept in "
        "the database: stop whenever you like, the same command goes on.",
    )
    parser.add_argument("paper", choices=sorted(PAPERS))
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1); 0 runs the cells in this one")
    parser.add_argument("--trials", type=int, help="trials of each data set (default: as in the paper)")
    parser.add_argument("--datasets", type=_names, help="names with commas between them (default: all)")
    parser.add_argument("--methods", type=_names, help="names with commas between them (default: all)")
    parser.add_argument("--quick", action="store_true", help="a few trials, of small data sets: less than two minutes")
    parser.add_argument("--database", default="petiole-experiments.sqlite", help="default: %(default)s")
    parser.add_argument("--page", help="default: docs/reproduction/<paper>.md, or docs/which_method.md")
    parser.add_argument("--page-only", action="store_true", help="write the page from what is there, compute nothing")
    parser.add_argument("--engine", choices=("processes", "dask"), default="processes", help="default: %(default)s")
    parser.add_argument("--address", help="of a Dask scheduler (default: a cluster on this machine)")
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
