"""One plain sentence: who wins, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from petiole.study.results import MethodResult

SURE, PROBABLE = 0.01, 0.05


def make_verdict(table: Sequence[MethodResult], decides: str) -> str:
    """Say who wins, by how much, and whether that can be chance; ``table`` is sorted, best first."""
    best, others = table[0], table[1:]
    score = _score_text(best, decides)
    if not others:
        return f"{best.title} was the only method: {score}."
    lead = f"{best.title} has the {'least cost' if decides == 'cost' else 'best probabilities'} ({score})"
    return f"{lead}, {_how_sure(others, decides)}{_own_best(best, others, decides)}."


def _score_text(result: MethodResult, decides: str) -> str:
    interval = result.scores[decides]
    what = "{:.4g} per row on average" if decides == "cost" else "log-loss {:.3f} bits"
    digits = ".4g" if decides == "cost" else ".3f"
    return f"{what.format(interval.mean)}, 95% interval {interval.low:{digits}} to {interval.high:{digits}}"


def _how_sure(others: Sequence[MethodResult], decides: str) -> str:
    runner = others[0]
    p = runner.p_value if runner.p_value is not None else 1.0
    level = [result for result in others if result.p_value is not None and result.p_value > PROBABLE]
    beside = f"{runner.title} ({runner.scores[decides].mean:{'.4g' if decides == 'cost' else '.3f'}})"
    if not level:
        certainty = "almost certainly" if p <= SURE else "probably"
        return f"and is {certainty} ahead of the next, {beside}: the difference is hardly chance (p = {_p_text(p)})"
    if len(level) == len(others):
        return f"but that it is ahead of the others can be chance (the next is {beside}, p = {_p_text(p)})"
    if level == [runner]:
        return f"but its lead over {beside} can be chance (p = {_p_text(p)}); the others are clearly behind"
    return f"but its lead over {len(level)} others can be chance (the next is {beside}, p = {_p_text(p)})"


def _own_best(best: MethodResult, others: Sequence[MethodResult], decides: str) -> str:
    """If another library's method has won: the best of petiole's."""
    own = next((result for result in others if not result.is_peer), None)
    if not best.is_peer or own is None or own is others[0]:
        return ""
    mean = f"{own.scores[decides].mean:{'.4g' if decides == 'cost' else '.3f'}}"
    return f"; the best of petiole's own methods is {own.title} ({mean}, p = {_p_text(own.p_value or 0.0)})"


def _p_text(p: float) -> str:
    """A p-value for people.

    >>> _p_text(0.0321), _p_text(0.00002)
    ('0.03', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.1g}" if p < 0.1 else f"{p:.2f}"
