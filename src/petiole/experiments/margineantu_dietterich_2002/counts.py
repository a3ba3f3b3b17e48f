"""What is counted for the page on Margineantu & Dietterich (2002): wins of a pair of methods, and what figures say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from petiole._table.columns import Floats
from petiole.decisions import COST_MODELS
from petiole.experiments._grid.results import Results
from petiole.experiments.margineantu_dietterich_2002 import B_LOTS, B_PETS, OUTCOMES, WITHOUT_LAPLACE

NEAREST = "0.5 apart"  # with which estimates have the range of the paper's picture


@dataclass(frozen=True)
class Counts:
    """Wins, ties and losses of the first method of a pair."""

    wins: int
    ties: int
    losses: int

    @property
    def sign(self) -> int:
        """1 for more wins, -1 for more losses."""
        return (self.wins > self.losses) - (self.wins < self.losses)

    def __str__(self) -> str:
        return f"{self.wins} / {self.ties} / {self.losses}"


def count(
    results: Results,
    data_set: str,
    pair: str,
    models: tuple[str, ...] = COST_MODELS,
    folds: Sequence[int] | None = None,
) -> Counts:
    """Sums over folds (by default all) and cost models."""
    row = results.data_sets.index(data_set)
    chosen = [place for place, fold in enumerate(results.trials) if folds is None or fold in folds]
    sums = {
        outcome: sum(results.trial_scores(f"{model} {outcome}", pair)[row, chosen].sum() for model in models)
        for outcome in OUTCOMES
    }
    return Counts(*(int(sums[outcome]) for outcome in OUTCOMES))


def total(results: Results, pair: str, models: tuple[str, ...] = COST_MODELS) -> Counts:
    """Sums over data sets, folds and cost models."""
    counts = [count(results, name, pair, models) for name in results.data_sets]
    return Counts(*(sum(getattr(one, outcome) for one in counts) for outcome in OUTCOMES))


def statements(gaussians: Results) -> list[tuple[str, str, bool]]:
    """What the paper says of the pictures of experiment 1, our numbers, and whether they clearly say so."""
    claims = [
        (f"the estimates of {B_LOTS} are more accurate than those of {B_PETS}", "rmse", B_LOTS, B_PETS),
        (f"{B_PETS} put the queries into a better order than {B_LOTS}", "rank_correlation", B_LOTS, B_PETS),
        (f"{B_PETS} put them into a worse order without Laplace", "rank_correlation", WITHOUT_LAPLACE, B_PETS),
    ]
    row, found = gaussians.data_sets.index(NEAREST), []
    for text, score, smaller, larger in claims:
        one, other = (gaussians.trial_scores(score, method)[row] for method in (smaller, larger))
        title = {"rmse": "RMSE", "rank_correlation": "rank correlation"}[score]
        numbers = f"{title}: {smaller} {one.mean():.4f}, {larger} {other.mean():.4f}"
        found.append((text, numbers, is_clearly_positive(other - one)))
    return found


def is_clearly_positive(differences: Floats) -> bool:
    """Whether the mean is more than two standard errors above 0; of a single number, whether it is positive.

    >>> is_clearly_positive(np.array([0.3, 0.2, 0.4])), is_clearly_positive(np.array([0.3, -0.2, 0.1]))
    (True, False)
    """
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return bool(differences.mean() > 2 * error)
