"""How a logistic regression is fitted."""

from __future__ import annotations

from dataclasses import dataclass

from petiole._validation import check_choice, check_number, check_whole

# Half decades, from almost constant base rates to almost no ridge.
STRENGTHS = tuple(10.0 ** (-step / 2) for step in range(1, 11))


@dataclass(frozen=True, kw_only=True)
class LinearPlan:
    """How the features are made and which ridges are tried.

    Attributes
    ----------
    degree : {1, 2}
        With 2 there are also squares and products of pairs of numeric columns, if there are enough rows.
    ranks : bool
        Whether numeric columns enter a second time, by the ranks of their values.
    strengths : tuple of float
        The ridges to choose from, in nats per row and squared unit, in falling order.
    patience : int
        The ridges are tried one after another until this many in a row were not better than the best.
    widths : tuple of float
        Those of kernels to choose from, in typical distances between rows.
    n_landmarks : int
        The largest number of kernels.
    slope_left : float
        A search ends when no derivative is larger, per row and in units that suit all unknowns.
    most_rows : int
        The most rows of a fit; from larger data a random sample is drawn.
    most_products : int
        A limit of rows × features × classes, the work of a step of the search; it limits rows in the same way.
    floor : float
        Held-out probabilities are raised to this when ridges are compared.
    seed : int
        Of that sample.
    """

    degree: int = 1
    ranks: bool = False
    strengths: tuple[float, ...] = STRENGTHS
    patience: int = 1
    widths: tuple[float, ...] = (2.0, 1.0, 0.6)
    n_landmarks: int = 128
    slope_left: float = 1e-3
    most_rows: int = 50_000
    most_products: int = 10_000_000
    floor: float = 0.002
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("degree", self.degree, (1, 2))
        check_choice("ranks", self.ranks, (True, False))
        for strength in self.strengths:
            check_number("strengths", strength, 1e-8, 1e8)
        if not self.strengths or list(self.strengths) != sorted(set(self.strengths), reverse=True):
            raise ValueError(f"strengths={self.strengths!r}: must be different numbers, the largest first")
        check_whole("patience", self.patience, 1)
        check_number("slope_left", self.slope_left, 1e-12, 1)
        check_whole("n_landmarks", self.n_landmarks, 1)
        if not self.widths:
            raise ValueError("widths=(): must be one number or more")
        for width in self.widths:
            check_number("widths", width, 1e-6, 1e6)
        check_whole("most_rows", self.most_rows, 100)
        check_whole("most_products", self.most_products, 100)
        check_number("floor", self.floor, 1e-12, 0.5)
        check_whole("seed", self.seed, 0)
