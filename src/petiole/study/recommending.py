"""Which method to use if none is clearly ahead: of those about as good, a simple or a quick one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from petiole.study.results import MethodResult

PROBABLE = 0.05  # the largest p-value of a lead that is taken for more than chance
CLOSE = 0.05  # the share of the best method's gain over the class frequencies that may be given up for a simpler one
MUCH_QUICKER = 0.5
WORTH_SAVING = 0.001  # seconds per row; below this, speed does not matter


class Advice(NamedTuple):
    """The name of a method, and the reason for it."""

    name: str
    reason: str


def leads_clearly(table: Sequence[MethodResult]) -> bool:
    """Whether the first method's lead over every other one is more than chance."""
    return all(result.p_value is not None and result.p_value <= PROBABLE for result in table[1:])


def recommend(
    table: Sequence[MethodResult], decides: str, baseline: float, simple: Collection[str], n_rows: int
) -> Advice:
    """The method to use; ``table`` is sorted, best first, and ``baseline`` is the score of the class frequencies.

    ``n_rows`` is the number of rows that were predicted at a time.

    A large p-value does not mean that two methods are equally good. So a method that is recommended in place of the
    best must also lose little of what the best gains.
    """
    best = table[0]
    if leads_clearly(table):
        return Advice(best.name, "it is clearly ahead")
    allowed = CLOSE * max(baseline - best.scores[decides].mean, 0.0)
    close = [result for result in table if _is_level(result, best, decides, allowed)]
    for result in close:
        if result.name in simple:
            return Advice(result.name, _simple_reason(result, best))
    quickest = min(close, key=lambda result: result.scores["predict_seconds"].mean)
    seconds, of_best = (result.scores["predict_seconds"].mean for result in (quickest, best))
    if of_best > WORTH_SAVING * n_rows and seconds <= MUCH_QUICKER * of_best:
        return Advice(quickest.name, f"about as good as any, and predicts in {seconds / of_best:.0%} of the time")
    return Advice(best.name, "no simpler or quicker method is about as good")


def _is_level(result: MethodResult, best: MethodResult, decides: str, allowed: float) -> bool:
    if result is best:
        return True
    behind = result.scores[decides].mean - best.scores[decides].mean
    return result.p_value is not None and result.p_value > PROBABLE and behind <= allowed


def _simple_reason(result: MethodResult, best: MethodResult) -> str:
    return (
        "the best of them and simple as well" if result is best else "about as good as any, and the simplest of those"
    )
