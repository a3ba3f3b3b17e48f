"""Pages that put published numbers beside ours: rendering, agreement of signs and of significance."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from petiole._table.columns import Floats
from petiole.comparison.rendering import as_markdown
from petiole.files.atomic import write_atomically

LEAST_DIGITS = 3
MARKS = {"W": 1, "": 0, "L": -1}
LETTERS = {mark: letter for letter, mark in MARKS.items()}


@dataclass(frozen=True)
class Compared:
    """A method's score in the paper, as printed, and ours."""

    published: str
    ours: float

    @property
    def difference(self) -> float:
        """Ours less the published."""
        return self.ours - float(self.published)

    def cells(self) -> list[str]:
        """Published, ours and the difference, with the digits of print but at least three.

        >>> Compared("0.16", 0.1634).cells()
        ['0.16', '0.163', '+0.003']
        """
        digits = max(LEAST_DIGITS, n_digits(self.published))
        return [self.published, unsigned_zero(self.ours, digits), f"{rounded(self.difference, digits):+.{digits}f}"]


@dataclass(frozen=True)
class ComparedPair:
    """Two methods on one data set, in the paper and here, with what the tests say: 1 if the second wins, -1, or 0."""

    first: Compared
    second: Compared
    published_mark: int
    our_mark: int

    @property
    def signs(self) -> tuple[int, int]:
        """The signs of second less first, in the paper and here; 0 in the paper if print does not tell them apart."""
        published = Decimal(self.second.published) - Decimal(self.first.published)
        return (published > 0) - (published < 0), int(np.sign(self.second.ours - self.first.ours))

    @property
    def marks(self) -> tuple[int, int]:
        """What the tests say, in the paper and here."""
        return self.published_mark, self.our_mark

    @property
    def differences(self) -> list[float]:
        """How far our scores are from the published ones."""
        return [self.first.difference, self.second.difference]

    def cells(self) -> list[str]:
        """A row of a table: both methods' cells, and the marks."""
        marks = [LETTERS[self.published_mark], LETTERS[self.our_mark]]
        return [*self.first.cells(), *self.second.cells(), *marks, self._verdict()]

    def _verdict(self) -> str:
        if self.published_mark == self.our_mark:
            return "same"
        return "opposite" if self.published_mark == -self.our_mark else "one is a tie"


@dataclass(frozen=True)
class ComparedSigns:
    """Two methods of which the paper tells which one is better, perhaps without scores or without a test.

    Attributes
    ----------
    signs : tuple of two int
        In the paper and here: 1 if the second method is better, -1 if the first is, 0 if they are the same.
    marks : tuple of two int, or None
        The same where a test says so, 0 where it does not. None if the paper has no test.
    differences : list of float, default: empty
        Our scores less the published ones, if there are any.
    """

    signs: tuple[int, int]
    marks: tuple[int, int] | None = None
    differences: Sequence[float] = ()


@dataclass(frozen=True)
class Agreement:
    """How far the comparisons of a paper agree with ours.

    Attributes
    ----------
    n : int
        Comparisons of two methods.
    n_signs, same_sign : int
        Those whose printed scores differ, and those of them with the same better method here, significant or not.
    n_marks : int
        Those with a test of significance in the paper.
    same_mark, opposite_mark : int
        The tests say the same (win, tie or loss), or the opposite (a win and a loss).
    n_significant, confirmed : int
        The significant differences of the paper, and those of them that are significant here in the same direction.
    typical_difference : float
        Median over both methods of the absolute difference between the published score and ours; NaN without scores.
    name : str
        What is compared, such as "table 2, 0/1-MSE: EB-PETs against B-PETs".

    Examples
    --------
    >>> from petiole.experiments._pages.building import Agreement, ComparedSigns
    >>> pairs = [ComparedSigns((1, 1)), ComparedSigns((1, -1)), ComparedSigns((-1, -1), marks=(-1, 0))]
    >>> found = Agreement.of(pairs, "lift: forests against trees")
    >>> found.same_sign, found.n_signs, found.confirmed, found.n_significant
    (2, 3, 0, 1)
    """

    n: int
    n_signs: int
    same_sign: int
    n_marks: int
    same_mark: int
    opposite_mark: int
    n_significant: int
    confirmed: int
    typical_difference: float
    name: str = ""

    @classmethod
    def of(cls, pairs: Iterable[ComparedPair | ComparedSigns], name: str = "") -> Agreement:
        """Count over comparisons."""
        pairs = list(pairs)
        signs = [pair.signs for pair in pairs if pair.signs[0] != 0]
        marks = [pair.marks for pair in pairs if pair.marks is not None]
        significant = [mark for mark in marks if mark[0] != 0]
        differences = [abs(one) for pair in pairs for one in pair.differences]
        return cls(
            n=len(pairs),
            n_signs=len(signs),
            same_sign=sum(published == ours for published, ours in signs),
            n_marks=len(marks),
            same_mark=sum(published == ours for published, ours in marks),
            opposite_mark=sum(published * ours < 0 for published, ours in marks),
            n_significant=len(significant),
            confirmed=sum(published == ours for published, ours in significant),
            typical_difference=float(np.median(differences)) if differences else float("nan"),
            name=name,
        )

    def cells(self) -> list[str]:
        """A row of a table, to the header ``AGREEMENT_HEADER``."""
        return [
            f"{self.same_sign} of {self.n_signs}",
            f"{self.same_mark} of {self.n_marks}",
            f"{self.confirmed} of {self.n_significant}",
            f"{self.opposite_mark}",
            "" if np.isnan(self.typical_difference) else f"{self.typical_difference:.4f}",
        ]


PAIR_HEADER = ["published", "ours", "difference"]
AGREEMENT_HEADER = [
    "same sign",
    "same verdict",
    "significant in the paper, confirmed",
    "opposite verdict",
    "median difference",
]


def pair_table(first: str, second: str, named_pairs: Sequence[tuple[str, ComparedPair]]) -> str:
    """A table with a line per data set: two methods, published and ours, and what the tests say."""
    header = ["data set", *_headed(first), *_headed(second), "win, published", "win, ours", "verdicts"]
    return as_markdown(header, [[name, *pair.cells()] for name, pair in named_pairs])


def _headed(method: str) -> list[str]:
    return [f"{method}: {PAIR_HEADER[0]}", *PAIR_HEADER[1:]]


def welch_marks(first: Floats, second: Floats, greater_is_better: bool, alpha: float = 0.1) -> NDArray[np.int64]:
    """1 where the second method is significantly better, -1 where the first is, else 0; by unpaired t-tests.

    The scores have shape (n_data_sets, n_trials). Welch's test, for trials that are taken to be independent.
    """
    n_trials = first.shape[1]
    if n_trials < 2:
        raise ValueError(f"{n_trials} trial: t-tests need at least 2")
    difference = second.mean(axis=1) - first.mean(axis=1)
    variances = np.stack([first.var(axis=1, ddof=1), second.var(axis=1, ddof=1)]) / n_trials
    error = np.sqrt(variances.sum(axis=0))
    certain = error <= 1e-14 * np.maximum(1.0, np.abs(first).max(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variances.sum(axis=0) ** 2 * (n_trials - 1) / (variances**2).sum(axis=0)
        p_values = 2 * stats.t.sf(np.abs(difference / error), freedom)
    found = np.where(certain, np.abs(difference) > 1e-14, p_values <= alpha)
    signs = np.sign(difference) if greater_is_better else -np.sign(difference)
    return np.where(found, signs, 0).astype(np.int64)


def counts_text(marks: NDArray[np.int64], separator: str = "/") -> str:
    """Wins, ties and losses.

    >>> counts_text(np.array([1, 1, 0, -1]))
    '2/1/1'
    """
    return separator.join(str(int((marks == mark).sum())) for mark in (1, 0, -1))


def n_digits(printed: str) -> int:
    """Digits after the point.

    >>> n_digits("0.0009"), n_digits("14741")
    (4, 0)
    """
    return len(printed.partition(".")[2])


def rounded(value: float, digits: int) -> float:
    """The value with so many digits; never minus zero."""
    return round(value, digits) + 0.0


def unsigned_zero(value: float, digits: int) -> str:
    """A number for a table.

    >>> unsigned_zero(-0.0001, 3)
    '0.000'
    """
    return f"{rounded(value, digits):.{digits}f}"


def write_page(path: str | os.PathLike[str], text: str) -> Path:
    """Write a page whole or not at all."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, [(text.rstrip("\n") + "\n").encode("utf-8")])
    return target


def write_picture(path: str | os.PathLike[str], figure: Any, dpi: int) -> None:
    """Write a figure of matplotlib whole or not at all; the ending of the name says in which format."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(path).suffix.removeprefix("."), dpi=dpi)
    write_atomically(path, [drawn.getvalue()])
