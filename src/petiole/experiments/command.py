"""What ``petiole reproduce <paper>`` does: run a paper's experiments and write its page."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from petiole._validation import check_whole, did_you_mean
from petiole.datasets.loading import has_data
from petiole.experiments import (
    geurts_2001,
    margineantu_dietterich_2002,
    nielsen_2004,
    peers,
    which_method,
    zadrozny_elkan_2001,
    zhang_2020,
)
from petiole.experiments._grid.cells import Cell, Experiment
from petiole.experiments._grid.outcomes import Engine
from petiole.experiments._grid.progress import gist_of, last_line, make_progress
from petiole.experiments._grid.runner import run
from petiole.experiments._pages import summary as summary_page
from petiole.experiments._pages.building import Agreement
from petiole.experiments.geurts_2001 import page as geurts_2001_page
from petiole.experiments.margineantu_dietterich_2002 import page as margineantu_dietterich_2002_page
from petiole.experiments.nielsen_2004 import page as nielsen_2004_page
from petiole.experiments.nielsen_2004 import readings as nielsen_2004_readings
from petiole.experiments.peers import page as peers_page
from petiole.experiments.peers import store as peers_store
from petiole.experiments.which_method import page as which_method_page
from petiole.experiments.zadrozny_elkan_2001 import figures as zadrozny_elkan_2001_figures
from petiole.experiments.zadrozny_elkan_2001 import page as zadrozny_elkan_2001_page
from petiole.experiments.zhang_2020 import page as zhang_2020_page
from petiole.experiments.zhang_2020 import scores as zhang_2020_scores

SUMMARY = "summary"


@dataclass(frozen=True)
class Paper:
    """The reproduction of a paper.

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
    quick_data_sets : function without arguments to a list of names, default: all data sets
        Of a quick look.
    page : path, default: docs/reproduction/<paper>.md
    before : function of the database's path and the page's path, default: none
        Called before any cell is computed.
    needs_data : bool, default: False
        Whether all of it is on data sets that do not come with petiole or scikit-learn.
    """

    experiment: Callable[[], Experiment]
    quick_trials: int
    write_page: Callable[[str | os.PathLike[str], str | os.PathLike[str]], Path]
    agreements: Callable[[str | os.PathLike[str]], list[Agreement]]
    further: Sequence[Callable[[], Experiment]] = ()
    quick_data_sets: Callable[[], list[str]] | None = None
    page: Path | None = None
    before: Callable[[str | os.PathLike[str], str | os.PathLike[str]], None] | None = None
    needs_data: bool = False


PAPERS = {
    geurts_2001.NAME: Paper(
        geurts_2001.experiment,
        geurts_2001.QUICK_TRIALS,
        geurts_2001_page.write,
        geurts_2001_page.agreements,
        (geurts_2001.study_experiment,),
    ),
    margineantu_dietterich_2002.NAME: Paper(
        margineantu_dietterich_2002.experiment,
        margineantu_dietterich_2002.QUICK_FOLDS,
        margineantu_dietterich_2002_page.write,
        margineantu_dietterich_2002_page.agreements,
        margineantu_dietterich_2002.FURTHER,
    ),
    nielsen_2004.NAME: Paper(
        nielsen_2004.experiment,
        nielsen_2004.QUICK_TRIALS,
        nielsen_2004_page.write,
        nielsen_2004_page.agreements,
        (nielsen_2004_readings.readings, nielsen_2004_readings.countings, nielsen_2004.timing),
        needs_data=True,
    ),
    zadrozny_elkan_2001.NAME: Paper(
        zadrozny_elkan_2001.experiment,
        zadrozny_elkan_2001.QUICK_TRIALS,
        zadrozny_elkan_2001_page.write,
        zadrozny_elkan_2001_page.agreements,
        (zadrozny_elkan_2001_figures.sorted_scores,),
        needs_data=True,
    ),
    zhang_2020.NAME: Paper(
        zhang_2020.experiment,
        zhang_2020.QUICK_FOLDS,
        zhang_2020_page.write,
        zhang_2020_scores.agreements,
        quick_data_sets=zhang_2020.quick_data_sets,
    ),
    which_method.NAME: Paper(
        which_method.experiment,
        which_method.QUICK_TRIALS,
        which_method_page.write,
        which_method_page.agreements,
        quick_data_sets=which_method.quick_data_sets,
        page=Path("docs") / "which_method.md",
    ),
    peers.NAME: Paper(
        peers.experiment,
        peers.QUICK_TRIALS,
        peers_page.write,
        peers_page.agreements,
        quick_data_sets=peers.quick_data_sets,
        page=Path("docs") / "peers.md",
        before=peers_store.read_back,
    ),
}


# Errors whose message says what to do.
MENDABLE = ("ValueError:", "FileNotFoundError:")
# Names of data sets in a line.
MOST_NAMES = 5


@dataclass(frozen=True)
class Request:
    """The options of the command."""

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


def reproduce(options: Request) -> int:
    """Compute missing cells, unless the options forbid it, and write the page."""
    if options.paper == SUMMARY:
        return _summarise(options)
    paper = find_paper(options.paper)
    page = options.page or paper.page or Path("docs") / "reproduction" / f"{options.paper}.md"
    failed = False if options.page_only else _compute(paper, options, page)
    try:
        print(f"wrote {paper.write_page(options.database, page)}")
    except ValueError as error:  # after a part of the grid that makes no page
        if options.page_only:
            raise
        print(f"no page: {error}")
    return 1 if failed else 0


def _summarise(options: Request) -> int:
    """Write the page over all papers from what the databases have."""
    counted = {name: paper.agreements for name, paper in PAPERS.items() if paper.page is None}
    page = options.page or Path("docs") / "reproduction" / "index.md"
    databases = [name.strip() for name in options.database.split(",") if name.strip()]
    print(f"wrote {summary_page.write(counted, databases, page)}")
    return 0


def _compute(paper: Paper, options: Request, page: str | os.PathLike[str]) -> bool:
    """Run the cells of all experiments, whether or not the first fails; whether some failed."""
    engine, chosen = _make_engine(options), _chosen(paper, options)
    check_whole("jobs", options.jobs, 0)
    if paper.needs_data:
        _check_data(options.paper)
    if paper.before is not None:
        paper.before(options.database, page)
    failed = [_run(experiment, options, engine) for experiment in chosen]
    return any(failed)


def _check_data(paper: str) -> None:
    """Raise if no data are here, before every cell says so."""
    if has_data():
        return
    raise FileNotFoundError(
        f"{paper} is on data sets that are not here: set PETIOLE_DATA to a folder that has them; `petiole datasets "
        "fetch` says which of them it can fetch, and --page-only writes the page of what is computed already"
    )


def _chosen(paper: Paper, options: Request) -> list[Experiment]:
    """The experiments to run, or the part of the first that is asked for."""
    trials = paper.quick_trials if options.quick and options.trials is None else options.trials
    data_sets = options.datasets
    if options.quick and data_sets is None and paper.quick_data_sets is not None:
        data_sets = paper.quick_data_sets()
    first = paper.experiment().restricted(data_sets=data_sets, methods=options.methods, trials=trials)
    if options.datasets is not None or options.methods is not None or options.trials is not None:
        return [first]
    further = [make() for make in paper.further]
    return [first, *(one.restricted(trials=min(one.trials, trials or one.trials)) for one in further)]


def _run(experiment: Experiment, options: Request, engine: Engine | None) -> bool:
    """Run the cells of an experiment; whether some failed."""
    summary = run(experiment, options.database, jobs=options.jobs, engine=engine, progress=make_progress())
    print(f"{experiment.name}: {summary}")
    for message in describe_errors(summary.errors):
        print(message, file=sys.stderr)
    return bool(summary.errors)


def describe_errors(errors: Mapping[Cell, str]) -> list[str]:
    """What went wrong, each thing once: errors that differ only in the name of the data set are one.

    What a user can mend, such as data that is not there, takes a line. Anything else comes with a traceback.

    >>> gone = "Traceback ...\\nValueError: name={!r}: is not here"
    >>> cells = [Cell(name, 0, "tree") for name in ("iris", "wine")]
    >>> describe_errors({cell: gone.format(cell.data_set) for cell in cells})
    ["2 cells (iris, wine) failed: ValueError: name='iris': is not here"]
    """
    alike: dict[str, list[Cell]] = {}
    for cell, error in errors.items():
        alike.setdefault(gist_of(error), []).append(cell)
    message = []
    for cells in alike.values():
        first = errors[cells[0]].strip()
        names = sorted({cell.data_set for cell in cells})
        shown = ", ".join(names if len(names) <= MOST_NAMES else [*names[: MOST_NAMES - 1], f"… {names[-1]}"])
        what = f"{len(cells)} cell{'s' if len(cells) > 1 else ''} ({shown}) failed: {last_line(first)}"
        message.append(what if last_line(first).startswith(MENDABLE) else f"{what}\n{first}")
    return message


def _make_engine(options: Request) -> Engine | None:
    if options.engine == "dask":
        from petiole.experiments._grid.engine_dask import Dask

        return Dask(options.address, jobs=max(1, options.jobs))
    if options.engine != "processes":
        raise ValueError(f"engine={options.engine!r}: must be 'processes' or 'dask'")
    if options.address is not None:
        raise ValueError(f"address={options.address!r}: is for --engine dask; add that")
    return None


def find_paper(name: str) -> Paper:
    """The reproduction of a paper; an unknown name is an error that names the nearest known one."""
    if name not in PAPERS:
        known = [*sorted(PAPERS), SUMMARY]
        hint = did_you_mean(name, known)
        there_are = f"{hint} There are" if hint else "there are"
        raise ValueError(f"paper={name!r}: is not known; {there_are} {', '.join(known)}")
    return PAPERS[name]
