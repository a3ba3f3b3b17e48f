"""The data sets and splits of Geurts (2001), "Dual perturb and combine algorithm", Table 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from petiole._validation import check_choice, check_whole
from petiole.datasets.columns import Numeric
from petiole.datasets.description import Description, Loaded
from petiole.datasets.frames import make_frame
from petiole.datasets.generators import make_two_norm
from petiole.datasets.loading import load
from petiole.datasets.papers.variants import columns_of, rebuild


@dataclass(frozen=True)
class Sizes:
    """A line of the paper's Table 1: rows to grow, prune and test with."""

    source: str
    grow: int
    prune: int
    test: int
    test_is_last: bool = False  # the UCI test file, which is the end of the set

    @property
    def rows(self) -> int:
        """The number of rows that are used."""
        return self.grow + self.prune + self.test


# Table 1 has nine; omib and vst are the author's own, and dig44 is not in the data folder.
GEURTS = {
    "waveform": Sizes("waveform21", 3000, 1000, 1000),
    "two-norm": Sizes("two-norm", 1000, 1000, 2000),
    "letter": Sizes("letter", 3000, 1000, 1000),
    "segment": Sizes("segment", 1000, 500, 810),
    "satellite": Sizes("satimage", 3000, 1435, 2000, test_is_last=True),
    "pendigits": Sizes("pendigits", 5000, 2494, 3498, test_is_last=True),
}


class GrowPruneTest(NamedTuple):
    """A data set in the three parts of the paper."""

    grow: Loaded
    prune: Loaded
    test: Loaded


def geurts(name: str, repetition: int = 0, random_state: int = 0) -> GrowPruneTest:
    """Load one of six data sets of the paper, split into growing, pruning and test set of its sizes.

    Section 3: "Each dataset is first randomly split into two parts: a learning set LS and a test set TS. The test sets
    are kept fixed [...]. Then each LS, is further partitioned into two sets: a growing set, GS, [...] and a pruning
    set, PS [...]. This latter step is repeated 10 times for each data set". For satellite and pendigits the sizes are
    those of the UCI training and test files, so their test sets are these files. Two-norm is generated
    (:func:`petiole.datasets.make_two_norm`); of letter, 5,000 of the 20,000 rows are drawn.

    Parameters
    ----------
    name : str
        A key of ``GEURTS``.
    repetition : int, default=0
        Which partition of the learning set; the paper has ten.
    random_state : int, default=0
        Determines the rows taken and the test set.

    Returns
    -------
    grow, prune, test : each X, y, description as of :func:`petiole.datasets.load`

    Examples
    --------
    >>> grow, prune, test = geurts("two-norm")
    >>> grow.X.shape, prune.X.shape, test.X.shape
    ((1000, 20), (1000, 20), (2000, 20))
    """
    check_choice("name", name, tuple(GEURTS))
    check_whole("repetition", repetition, 0)
    check_whole("random_state", random_state, 0)
    sizes = GEURTS[name]
    loaded = _draw_two_norm(sizes.rows, random_state) if name == "two-norm" else load(sizes.source)
    learn, test = _fixed_split(sizes, len(loaded.y), random_state)
    learn = np.random.default_rng([random_state, repetition]).permutation(learn)
    columns = columns_of(loaded)
    parts = {"growing": learn[: sizes.grow], "pruning": learn[sizes.grow :], "test": test}
    return GrowPruneTest(
        *(
            rebuild(loaded, columns, rows, f"{name} ({part})", f"The {part} set of Geurts (2001), Table 1.")
            for part, rows in parts.items()
        )
    )


def _fixed_split(sizes: Sizes, n_rows: int, random_state: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of the learning set and of the test set."""
    if sizes.test_is_last:
        return np.arange(sizes.grow + sizes.prune), np.arange(n_rows - sizes.test, n_rows)
    order = np.random.default_rng(random_state).permutation(n_rows)[: sizes.rows]
    return order[sizes.test :], order[: sizes.test]


def _draw_two_norm(n: int, random_state: int) -> Loaded:
    X, y, _ = make_two_norm(n, random_state)
    columns = {f"x{index}": Numeric(X[:, index]) for index in range(X.shape[1])}
    description = Description("two-norm", "drawn", n, (0, 1), kinds=dict.fromkeys(columns, "numeric"))
    return Loaded(make_frame(columns), y, description)
