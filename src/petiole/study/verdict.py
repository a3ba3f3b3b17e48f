"""The verdict of a study in one sentence: which method wins, and whether the lead is significant."""

from __future__ import annotations

from collections.abc import Sequence

from petiole.study.results import MethodResult

SURE, PROBABLE = 0.01, 0.05


def make_verdict(table: Sequence[MethodResult], decides: str) -> str:
    """Return the winner, its lead and whether that can be chance, as a sentence; ``table`` is sorted, best first."""
    best, others = table[0], table[1:]
    score = _score_text(best, decides)
    if not others:
        return f"{best.title} was the only method: {score}."
    lead = f"{best.title} has the {'least cost' if decides == 'cost' else 'best probabilities'} ({score})"
    return f"{lead}, {_how_sure(others, decides)}{_best_of_petiole(best, others, decides)}."


def _score_text(result: MethodResult, decides: str) -> str:
    interval = result.scores[decides]
    what = "{:.4g} per row on average" if decides == "cost" else "log-loss {:.3f} bits"
    digits = ".4g" if decides == "cost" else ".3f"
    return f"{what.format(interval.mean)}, 95% interval {interval.low:{digits}} to {interval.high:{digits}}"


def _how_sure(others: Sequence[MethodResult], decides: str) -> str:
    level = [result for result in others if result.p_value is not None and result.p_value > PROBABLE]
    if not level:
        p = others[0].p_value or 0.0
        certainty = "almost certainly" if p <= SURE else "probably"
        return f"and is {certainty} ahead of the next, {_named(others[0], decides)}: {_p_text(p)}"
    if len(level) == 1:
        return f"but its lead over {_named(level[0], decides)} can be chance: {_p_text(level[0].p_value or 0.0)}"
    who = "the others" if len(level) == len(others) else f"{len(level)} of the {len(others)} others"
    first = f"{_named(level[0], decides)}, {_p_text(level[0].p_value or 0.0)}"
    return f"but its lead over {who} can be chance (the nearest of them is {first})"


def _named(result: MethodResult, decides: str) -> str:
    return f"{result.title} ({result.scores[decides].mean:{'.4g' if decides == 'cost' else '.3f'}})"


def _best_of_petiole(best: MethodResult, others: Sequence[MethodResult], decides: str) -> str:
    """If another library's method has won: the best of petiole's."""
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
