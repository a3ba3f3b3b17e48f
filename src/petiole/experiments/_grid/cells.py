"""An experiment is a grid of independent cells: data set × trial × method, each with its seeds."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from petiole._validation import check_number, check_whole


class Cell(NamedTuple):
    """One method on one trial of one data set."""

    data_set: str
    trial: int
    method: str


@dataclass(frozen=True)
class Task:
    """What a worker is given: a cell, its seeds and the settings of the experiment.

    Attributes
    ----------
    cell : Cell
    split_seed : int
        Shared by the methods of a trial, so that they see the same split.
    seed : int
        Of this cell alone.
    settings : mapping
    """

    cell: Cell
    split_seed: int
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)


Work = Callable[[Task], Mapping[str, float]]
Arrange = Callable[[Sequence[Cell]], Sequence[Cell]]


@dataclass(frozen=True)
class Experiment:
    """A grid of cells and the function that computes one of them.

    Parameters
    ----------
    name : str
        Cells in the database are found by it. It is part of every seed.
    data_sets, methods : sequences of str
    trials : int
    work : function from a Task to a dict of scores
        Defined at the top level of a module, so that other processes can import it. Its scores may depend on the task
        alone: then they are the same whatever the number of jobs and the order of cells.
    settings : dict, default: empty
        Numbers and texts that the work depends on, such as the number of trees. Cells with other settings are other
        cells; the seeds do not depend on them.
    arrange : function from the cells of the grid to those to compute, in order, default: all, trial after trial
    time_limit : float, default: none
        Seconds of the processor's time that a cell may take. A cell that takes longer is ended and not tried again, and
        other trials of the same method on the same data set are not begun. It holds in processes of this machine.

    Examples
    --------
    >>> from petiole.experiments import Experiment
    >>> def work(task):
    ...     return {"seed": task.seed}
    >>> experiment = Experiment("demo", ["iris", "wine"], ["tree", "forest"], 3, work)
    >>> len(experiment.cells())
    12
    >>> experiment.cells()[0]
    Cell(data_set='iris', trial=0, method='tree')
    """

    name: str
    data_sets: Sequence[str]
    methods: Sequence[str]
    trials: int
    work: Work
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrange: Arrange | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_whole("trials", self.trials, 1)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, 1)
        for name in ("data_sets", "methods"):
            _check_names(name, getattr(self, name))

    @property
    def settings_text(self) -> str:
        """The settings in one spelling, as the database keeps them."""
        return json.dumps(dict(self.settings), sort_keys=True)

    def cells(self) -> list[Cell]:
        """All cells, trial after trial, so that an unfinished grid has whole trials of every data set."""
        cells = [
            Cell(data_set, trial, method)
            for trial in range(self.trials)
            for data_set in self.data_sets
            for method in self.methods
        ]
        return cells if self.arrange is None else list(self.arrange(cells))

    def task(self, cell: Cell) -> Task:
        """The cell with its seeds."""
        split = seed_of(self.name, cell.data_set, cell.trial)
        return Task(cell, split, seed_of(self.name, *cell), dict(self.settings))

    def restricted(
        self, *, data_sets: Sequence[str] | None = None, methods: Sequence[str] | None = None, trials: int | None = None
    ) -> Experiment:
        """The same experiment on a part of its grid, with the same seeds."""
        return replace(
            self,
            data_sets=_chosen("data_sets", data_sets, self.data_sets),
            methods=_chosen("methods", methods, self.methods),
            trials=self.trials if trials is None else trials,
        )


def seed_of(*parts: Any) -> int:
    """A seed below ``2**31`` that depends on the parts alone, on every machine and in every version of Python.

    Examples
    --------
    >>> seed_of("nielsen-2004", "iris", 0)
    1884598786
    """
    text = json.dumps(parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % 2**31


def check_picklable(work: Work) -> None:
    """``work`` can be sent to another process."""
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"work={work!r}: other processes cannot import it; define it at the top level of a module, "
            "or run it in this process with jobs=0"
        ) from error


def _check_names(name: str, given: Sequence[str]) -> None:
    if isinstance(given, str) or not given or not all(isinstance(one, str) for one in given):
        raise ValueError(f"{name}={given!r}: must be a list of at least one name")
    if len(set(given)) < len(given):
        raise ValueError(f"{name}={list(given)!r}: a name occurs twice; remove one")


def _chosen(name: str, wanted: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    if wanted is None:
        return list(known)
    unknown = [one for one in wanted if one not in known]
    if unknown:
        raise ValueError(f"{name}={unknown[0]!r}: must be among {', '.join(known)}")
    return [one for one in known if one in wanted]
