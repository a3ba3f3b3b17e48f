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
    nielsen_2004_readings,
    summary_page,
    zadrozny_elkan_2001,
    zadrozny_elkan_2001_figures,
    zadrozny_elkan_2001_page,
)
from petiole.experiments.cells import Experiment
from petiole.experiments.outcomes import Engine
from petiole.experiments.pages import Agreement
from petiole.experiments.progress import make_progress
from petiole.experiments.runner import run

SUMMARY = "summary"
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
    further : functions without arguments to Experiments, default: none
        Smaller ones that the page tells of, too. They are run after the main one, unless only a part of that is wanted.
    """

    experiment: Callable[[], Experiment]
    quick_trials: int
    write_page: Callable[[str | os.PathLike[str], str | os.PathLike[str]], Path]
    agreements: Callable[[str | os.PathLike[str]], list[Agreement]]
    further: tuple[Callable[[], Experiment], ...] = ()


PAPERS = {
    nielsen_2004.NAME: Paper(
        nielsen_2004.experiment,
        nielsen_2004.QUICK_TRIALS,
        nielsen_2004_page.write,
        nielsen_2004_page.agreements,
        (nielsen_2004_readings.readings, nielsen_2004_readings.countings, nielsen_2004.timing),
    ),
    zadrozny_elkan_2001.NAME: Paper(
        zadrozny_elkan_2001.experiment,
        zadrozny_elkan_2001.QUICK_TRIALS,
        zadrozny_elkan_2001_page.write,
        zadrozny_elkan_2001_page.agreements,
        (zadrozny_elkan_2001_figures.sorted_scores,),
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
    if options.paper == SUMMARY:
        return _summarise(options)
    paper = PAPERS[options.paper]
    failed = False if options.page_only else _compute(paper, options)
    page = options.page or Path("docs") / "reproduction" / f"{options.paper}.md"
    try:
        print(f"wrote {paper.write_page(options.database, page)}")
    except ValueError as error:  # after a part of the grid that makes no page
        if options.page_only:
            raise
        print(f"no page: {error}")
    return 1 if failed else 0


def _summarise(options: argparse.Namespace) -> int:
    """Write the page over all papers from what the databases have."""
    counted = {name: paper.agreements for name, paper in PAPERS.items()}
    page = options.page or Path("docs") / "reproduction" / "index.md"
    databases = [name.strip() for name in options.database.split(",") if name.strip()]
    print(f"wrote {summary_page.write(counted, databases, page)}")
    return 0


def _compute(paper: Paper, options: argparse.Namespace) -> bool:
    """Run the cells; whether some failed."""
    trials = paper.quick_trials if options.quick and options.trials is None else options.trials
    grids = [paper.experiment().restricted(data_sets=options.datasets, methods=options.methods, trials=trials)]
    if options.datasets is None and options.methods is None and options.trials is None:
        grids += [_shortened(make(), trials) for make in paper.further]
    failed = [_run(grid, options) for grid in grids]  # all of them, whether or not the first fails
    return any(failed)


def _shortened(experiment: Experiment, trials: int | None) -> Experiment:
    return experiment if trials is None else experiment.restricted(trials=min(trials, experiment.trials))


def _run(experiment: Experiment, options: argparse.Namespace) -> bool:
    """Run the cells of an experiment; whether some failed."""
    summary = run(
        experiment, options.database, jobs=options.jobs, engine=_make_engine(options), progress=make_progress()
    )
    print(f"{experiment.name}: {summary}")
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
    parser.add_argument(
        "paper", choices=[*sorted(PAPERS), SUMMARY], help=f"{SUMMARY}: only a page over all papers, nothing is run"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1); 0 runs the cells in this one")
    parser.add_argument("--trials", type=int, help="trials of each data set (default: as in the paper)")
    parser.add_argument("--datasets", type=_names, help="names with commas between them (default: all)")
    parser.add_argument("--methods", type=_names, help="names with commas between them (default: all)")
    parser.add_argument("--quick", action="store_true", help="a few trials: less than two minutes")
    parser.add_argument(
        "--database",
        default="petiole-experiments.sqlite",
        help="default: %(default)s; for the summary several, with commas",
    )
    parser.add_argument("--page", help="default: docs/reproduction/<paper>.md; of the summary index.md")
    parser.add_argument("--page-only", action="store_true", help="write the page from what is there, compute nothing")
    parser.add_argument("--engine", choices=("processes", "dask"), default="processes", help="default: %(default)s")
    parser.add_argument("--address", help="of a Dask scheduler (default: a cluster on this machine)")
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
