"""The verdict of a study in words: which method wins if one clearly does, and otherwise which one to use."""

from __future__ import annotations

from collections.abc import Sequence

from petiole.study.figures import decimals
from petiole.study.recommending import PROBABLE, Advice, leads_clearly
from petiole.study.results import MethodResult

SURE = 0.01


def make_verdict(table: Sequence[MethodResult], decides: str, advice: Advice, baseline: float) -> str:
    """State which method wins and by how much; or that none clearly does, and which one to use.

    ``table`` is sorted, best first.
    """
    best, others = table[0], table[1:]
    score = _score_text(best, decides)
    useless = _no_gain_text(best, decides, baseline)
    if not others:
        return f"{best.title} was the only method: {score}.{useless}"
    if leads_clearly(table):
        lead = f"{best.title} has the {'least cost' if decides == 'cost' else 'best probabilities'} ({score})"
        return f"{lead}, {_certainty_text(others, decides)}{_best_of_petiole(best, others, decides)}.{useless}"
    chosen = next(result for result in table if result.name == advice.name)
    return (
        f"No method is clearly the best: the lead of {best.title} ({score}) {_rivals_text(others, decides)}.{useless} "
        f"Recommended: {chosen.title if chosen is best else _named(chosen, decides)}, because "
        f"{_as_clause(advice.reason)}{_best_of_petiole(best, others, decides)}."
    )


def _as_clause(reason: str) -> str:
    return reason if reason.startswith("no ") else f"it is {reason}"


def _no_gain_text(best: MethodResult, decides: str, baseline: float) -> str:
    if best.scores[decides].mean < baseline:
        return ""
    if decides == "cost":
        return f" {best.title} saves nothing: the best decision for all rows alike costs {baseline:.4g} per row."
    return f" {best.title} is no better than predicting the class frequencies for every row ({baseline:.3f} bits)."


def _score_text(result: MethodResult, decides: str) -> str:
    interval = result.scores[decides]
    mean, low, high = (f"{value:.{_digits(result, decides)}f}" for value in interval)
    what = f"cost {mean} per row" if decides == "cost" else f"log-loss {mean} bits"
    return f"{what}, 95% interval {low} to {high}"


def _digits(result: MethodResult, decides: str) -> int:
    return decimals(result.scores[decides]) if decides == "cost" else 3


def _certainty_text(others: Sequence[MethodResult], decides: str) -> str:
    p = others[0].p_value or 0.0
    certainty = "almost certainly" if p <= SURE else "probably"
    return f"and is {certainty} ahead of the next, {_named(others[0], decides)}: {_p_text(p)}"


def _rivals_text(others: Sequence[MethodResult], decides: str) -> str:
    """The methods over which the lead of the first may be due to chance."""
    level = [result for result in others if result.p_value is not None and result.p_value > PROBABLE]
    first = f"{_named(level[0], decides)}, {_p_text(level[0].p_value or 0.0)}"
    if len(level) == 1:
        return f"over {_named(level[0], decides)} may be due to chance, {_p_text(level[0].p_value or 0.0)}"
    who = "the others" if len(level) == len(others) else f"{len(level)} of the {len(others)} others"
    return f"over {who} may be due to chance (the nearest of them is {first})"


def _named(result: MethodResult, decides: str) -> str:
    return f"{result.title} ({result.scores[decides].mean:.{_digits(result, decides)}f})"


def _best_of_petiole(best: MethodResult, others: Sequence[MethodResult], decides: str) -> str:
    """The best of petiole's methods, if one of another library has won."""
    own = next((result for result in others if not result.is_peer), None)
    if not best.is_peer or own is None or own is others[0]:
        return ""
    return f"; the best of petiole's own methods is {_named(own, decides)}, {_p_text(own.p_value or 0.0)}"


def _p_text(p: float) -> str:
    """A p-value for people.

    >>> _p_text(0.0321), _p_text(0.00002), _p_text(0.4712)
    ('p = 0.03', 'p < 0.001', 'p = 0.47')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.1g}" if p < 0.1 else f"p = {p:.2f}"
