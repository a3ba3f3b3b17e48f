"""The critical-difference diagram: mean ranks on an axis, and bars over methods that do not differ significantly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from petiole._tree.drawing import FONT, INK, OKABE_ITO, QUIET, SMALL_FONT
from petiole.comparison.ranks import RankComparison, friedman_nemenyi

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Heights are in lines of text below the axis of ranks, which is at 0.
LINE = 0.26  # inches
FIRST_BAR, BAR_STEP = 0.55, 0.5
ABOVE = 2.6  # space for the ticks' numbers and the critical difference
SCALE = 3.4  # inches, from the first rank to the last
SIDE, CHARACTER = 0.6, 0.078  # inches beside the scale: for a line and a number, and for each letter of a name
BAR_COLOR = OKABE_ITO[5]


def critical_difference_diagram(
    scores: Any,
    *,
    names: Sequence[Any] | None = None,
    alpha: float = 0.05,
    greater_is_better: bool = False,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw mean ranks, the best on the left, and join the methods that do not differ significantly (Demšar 2006).

    Parameters
    ----------
    scores : RankComparison, or array or data frame of shape (n_data_sets, n_methods)
        A result or an input of :func:`friedman_nemenyi`.
    names, alpha, greater_is_better
        As in :func:`friedman_nemenyi`; only with scores.
    ax : matplotlib Axes, default: a new figure of the size that the picture needs
    title : str, default: none

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from petiole.comparison import critical_difference_diagram
    >>> scores = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.2, 0.2, 0.5], [0.1, 0.4, 0.5], [0.3, 0.4, 0.6], [0.1, 0.2, 0.4]]
    >>> ax = critical_difference_diagram(scores, names=["forest", "tree", "stump"])
    >>> ax.figure.savefig("ranks.pdf")  # doctest: +SKIP
    """
    result = _as_comparison(scores, names, alpha, greater_is_better)
    bars = _bars(result)
    n_left = (len(result.names) + 1) // 2
    depth = FIRST_BAR + BAR_STEP * (1 + max((row for *_, row in bars), default=-1)) + 0.35
    if ax is None:
        ax = _new_axes(SCALE + 2 * _side(result), LINE * (ABOVE + depth + n_left + (1.2 if title else 0.0)))
    _draw_scale(ax, result)
    _draw_bars(ax, bars)
    _draw_names(ax, result, depth, n_left)
    _finish(ax, result, depth + n_left - 0.4, title)
    return ax


def _as_comparison(scores: Any, names: Any, alpha: float, greater_is_better: bool) -> RankComparison:
    if not isinstance(scores, RankComparison):
        return friedman_nemenyi(scores, names=names, alpha=alpha, greater_is_better=greater_is_better)
    if names is not None or greater_is_better or alpha != 0.05:
        raise ValueError("names, alpha and greater_is_better: belong to friedman_nemenyi, whose result was given here")
    return scores


def _side(result: RankComparison) -> float:
    """Inches for the names on either side."""
    return SIDE + CHARACTER * max(map(len, result.names))


def _new_axes(width: float, height: float) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("a critical-difference diagram needs matplotlib: pip install matplotlib") from error
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def _bars(result: RankComparison) -> list[tuple[float, float, int]]:
    """Start, end and row of each bar; a bar goes into the first row in which it touches no other."""
    rank_of = dict(zip(result.names, result.mean_ranks, strict=True))
    bars: list[tuple[float, float, int]] = []
    ends: list[float] = []
    for group in result.groups():
        low, high = float(rank_of[group[0]]), float(rank_of[group[-1]])
        row = next((row for row, end in enumerate(ends) if low > end + 0.04 * len(result.names)), len(ends))
        ends[row : row + 1] = [high]
        bars.append((low, high, row))
    return bars


def _draw_scale(ax: Axes, result: RankComparison) -> None:
    k = len(result.names)
    ax.plot([1, k], [0, 0], color=INK, linewidth=1.2, solid_capstyle="projecting")
    for rank in np.arange(1, k + 0.25, 0.5):
        whole = rank == int(rank)
        ax.plot([rank, rank], [0, 0.35 if whole else 0.2], color=INK, linewidth=1.0)
        if whole and (k <= 20 or int(rank) % 2):
            ax.text(rank, 0.45, f"{int(rank)}", ha="center", va="bottom", fontsize=SMALL_FONT, color=INK)
    # wider than the scale if there are few data sets: it then extends beyond the scale, which is correct
    end, height = 1 + result.critical_difference, 1.75
    ax.plot([1, end], [height, height], color=QUIET, linewidth=1.2)
    for x in (1, end):
        ax.plot([x, x], [height - 0.15, height + 0.15], color=QUIET, linewidth=1.2)
    words = f"critical difference {result.critical_difference:.2f}"
    ax.text((1 + end) / 2, height + 0.2, words, ha="center", va="bottom", fontsize=SMALL_FONT, color=QUIET)


def _draw_bars(ax: Axes, bars: list[tuple[float, float, int]]) -> None:
    for low, high, row in bars:
        y = -(FIRST_BAR + BAR_STEP * row)
        ax.plot([low, high], [y, y], color=BAR_COLOR, linewidth=3.5, solid_capstyle="round", gid="group")


def _draw_names(ax: Axes, result: RankComparison, depth: float, n_left: int) -> None:
    """Lines go down from the axis and out to the names: the better half to the left, the other half to the right."""
    k, order = len(result.names), result.order
    margin = 0.03 * (k - 1)
    for place, index in enumerate(order):
        left = place < n_left
        y = -depth - (place if left else k - 1 - place)
        edge = 1 - margin if left else k + margin
        rank = result.mean_ranks[index]
        ax.plot([rank, rank, edge], [0, y, y], color=INK, linewidth=0.9, solid_joinstyle="miter")
        side: dict[str, Any] = {"ha": "right" if left else "left", "va": "center", "fontsize": FONT, "color": INK}
        words = f"{result.names[index]}  {rank:.2f}" if left else f"{rank:.2f}  {result.names[index]}"
        ax.text(edge + (-margin if left else margin) * 0.5, y, words, parse_math=False, **side)


def _finish(ax: Axes, result: RankComparison, lowest: float, title: str | None) -> None:
    k = len(result.names)
    room = _side(result) / SCALE * (k - 1)
    right = max(k + room, 1 + result.critical_difference + 0.05)
    ax.set(xlim=(1 - room, right), ylim=(-lowest, ABOVE))
    ax.axis("off")
    if title:
        ax.set_title(title, fontsize=FONT + 1, color=INK, parse_math=False)
