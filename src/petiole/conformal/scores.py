"""Scores of classes: the larger the score, the worse a class fits its row. A set has the classes of small scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from petiole._table.columns import Floats
from petiole._table.judged import check_probabilities
from petiole._validation import check_choice, check_number, check_whole

METHODS = ("lac", "aps", "raps")
# Scores equal to so many decimals are tied: sums of the same probabilities in another order differ beyond them.
TIE_DECIMALS = 12


@dataclass(frozen=True)
class SetScore:
    """A score of classes by their probabilities.

    With the classes of a row in falling order of their probabilities, p(1) ≥ p(2) ≥ …, the score of class k is

    - "lac": 1 − p_k;
    - "aps": the sum of all probabilities larger than p_k, plus u·p_k;
    - "raps": the same plus ``penalty`` · (rank of k − ``free_ranks``), if that is positive.

    u is uniform between 0 and 1, one number for each row. Classes of equal probabilities are taken together, so that
    the scores do not depend on the order of the classes.

    Parameters
    ----------
    method : {"lac", "aps", "raps"}, default="aps"
    randomised : bool, default=True
        Whether u is random; otherwise it is 1.
    penalty : float, default=0.1
        For "raps": what each rank beyond ``free_ranks`` adds to the score.
    free_ranks : int, default=1
        For "raps": the number of classes without a penalty.

    Examples
    --------
    >>> SetScore("lac")([[0.7, 0.2, 0.1]])
    array([[0.3, 0.8, 0.9]])
    >>> SetScore("aps", randomised=False)([[0.7, 0.2, 0.1]])
    array([[0.7, 0.9, 1. ]])
    >>> SetScore("aps")([[0.7, 0.2, 0.1]], [0.5])
    array([[0.35, 0.8 , 0.95]])
    """

    method: str = "aps"
    randomised: bool = True
    penalty: float = 0.1
    free_ranks: int = 1

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        if not isinstance(self.randomised, (bool, np.bool_)):
            raise ValueError(f"randomised={self.randomised!r}: must be True or False")
        check_number("penalty", self.penalty, 0)
        check_whole("free_ranks", self.free_ranks, 0)

    def __call__(self, proba: Floats, u: Floats | None = None) -> Floats:
        """The score of each class of each row, (n_rows, n_classes); ``u`` has a number per row, 1 by default."""
        table = check_probabilities(proba).round(TIE_DECIMALS)
        if self.method == "lac":
            return np.asarray((1.0 - table).round(TIE_DECIMALS))
        u = np.ones(len(table)) if u is None or not self.randomised else np.asarray(u, dtype=np.float64)
        before, tied, rank = _larger_and_tied(table)
        scores = before + u[:, np.newaxis] * tied
        if self.method == "raps":
            scores += self.penalty * np.maximum(rank - self.free_ranks, 0)
        return np.asarray(scores.round(TIE_DECIMALS))


def _larger_and_tied(table: Floats) -> tuple[Floats, Floats, Floats]:
    """For each class the sum of larger probabilities, the sum of equal ones (its own among them), and its rank from 1.

    Tied classes have the rank of the first of them.
    """
    order = np.argsort(-table, axis=1, kind="stable")
    falling = np.take_along_axis(table, order, axis=1)
    sums = np.cumsum(falling, axis=1)
    place = np.broadcast_to(np.arange(table.shape[1]), table.shape)
    begins = np.ones(table.shape, dtype=bool)
    begins[:, 1:] = falling[:, 1:] < falling[:, :-1]
    ends = np.ones(table.shape, dtype=bool)
    ends[:, :-1] = begins[:, 1:]
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, table.shape[1])[:, ::-1], axis=1)[:, ::-1]
    before = np.take_along_axis(sums, first, axis=1) - np.take_along_axis(falling, first, axis=1)
    tied = np.take_along_axis(sums, last, axis=1) - before
    back = np.empty_like(order)
    np.put_along_axis(back, order, place, axis=1)
    return tuple(np.take_along_axis(values, back, axis=1) for values in (before, tied, first + 1.0))  # type: ignore[return-value]
