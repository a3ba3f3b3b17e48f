"""Profit curves: the profit of acting on the rows whose score is above a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from petiole._table.columns import Floats
from petiole._tree.drawing import INK
from petiole._validation import check_choice
from petiole.metrics import ProfitCurve, profit_curve
from petiole.metrics.rows import judge, target_column
from petiole.plotting import frame
from petiole.plotting.display import ProbabilityDisplay, named_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER = ("thresholds", "shares")


class ProfitDisplay(ProbabilityDisplay):
    """Profit over thresholds, with the best threshold of each model.

    The best threshold is known in hindsight only. The break-even point is known beforehand: it is the best threshold
    for true probabilities, so the probabilities of a model whose best threshold lies far from it are miscalibrated.

    Parameters
    ----------
    curves : dict from names to ProfitCurve
    target : str
        The class whose probability is the score, for the labels.
    over : {"thresholds", "shares"}, default="thresholds"
        What is on the horizontal axis: the threshold, or the share of rows that are acted on.
    score : str, default: the probability of the class
        Name of the score that the threshold applies to, for the labels.
    average : bool, default=False
        Whether the profit is a mean per row, for the labels.

    Examples
    --------
    A letter costs 4, a response brings 10:

    >>> import numpy as np
    >>> from petiole.plotting import ProfitDisplay
    >>> y, scores = [0, 1, 0, 1], np.array([0.1, 0.4, 0.6, 0.8])
    >>> proba = np.column_stack([1 - scores, scores])
    >>> display = ProfitDisplay.from_predictions(y, proba, amounts=10, cost=4, name="tree")
    >>> display.curves["tree"].best_threshold, display.curves["tree"].best_profit
    (0.25, 8.0)
    """

    def __init__(
        self,
        curves: dict[str, ProfitCurve],
        *,
        target: str,
        over: str = "thresholds",
        score: str | None = None,
        average: bool = False,
    ) -> None:
        check_choice("over", over, OVER)
        self.curves, self.target, self.over, self.average = curves, target, over, average
        self.score = f"probability of {frame.shortened(target)}" if score is None else score

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        gain: Any = None,
        *,
        amounts: Any = None,
        cost: Any = 0.0,
        expected_amounts: Any = None,
        target: Any = None,
        average: bool = False,
        over: str = "thresholds",
        labels: Any = None,
        sample_weight: Any = None,
        name: Any = None,
        ax: Axes | None = None,
        legend: str = "auto",
        **style: Any,
    ) -> ProfitDisplay:
        """Draw the profit of decisions by given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        proba : array-like of shape (n, K), or dict from names to such
            The probabilities of each model.
        gain, amounts, cost, expected_amounts, target, average, labels, sample_weight
            As in :func:`petiole.metrics.profit_curve`. With ``expected_amounts`` the threshold is an amount, the
            expected amount of a row.
        over : {"thresholds", "shares"}, default="thresholds"
            What is on the horizontal axis: the threshold, or the share of rows that are acted on.
        name : str, default="model"
            The name of a single model in the legend.
        ax, legend, **style
            As in :meth:`plot`.
        """
        check_choice("over", over, OVER)
        tables = named_tables(proba, name)
        rows: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
        money: dict[str, Any] = {"amounts": amounts, "cost": cost, "expected_amounts": expected_amounts}
        curves = {
            key: profit_curve(y_true, table, gain, target=target, average=average, **money, **rows)
            for key, table in tables.items()
        }
        classes = judge(y_true, next(iter(tables.values())), labels, sample_weight).labels
        wanted = frame.class_words(classes.tolist()[target_column(classes, target)])
        score = None if expected_amounts is None else "expected amount (probability × amount)"
        display = cls(curves, target=wanted, over=over, score=score, average=average)
        return display.plot(ax, legend=legend, **style)

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        frame.tidy(ax)
        ax.axhline(0, color=INK, linewidth=0.6, zorder=1)
        left = min(0.0, *(float(curve.thresholds[1]) for curve in self.curves.values()))
        right = max(float(curve.thresholds[-1]) for curve in self.curves.values())
        for name, curve in self.curves.items():
            look = frame.line_style(len(frame.drawn(ax, "model"))) | style
            label = frame.entry(name, _best_words(curve))
            if self.over == "thresholds":
                (line,) = ax.plot(*_steps(curve), label=label, **{"drawstyle": "steps-post", **look})
                best = max(curve.best_threshold, left)
            else:
                (line,) = ax.plot(curve.shares, curve.profit, label=label, **look)
                best = float(curve.shares[curve.best_index])
            _mark(ax, best, curve.best_profit, line.get_color())
        self._draw_break_even(ax)
        self._finish(ax, left, right + 0.04 * (right - left) if right > left else left + 1.0)

    def _draw_break_even(self, ax: Axes) -> None:
        points = {curve.break_even for curve in self.curves.values()}
        point = points.pop()
        if self.over == "thresholds" and not points and point is not None:
            from matplotlib.transforms import blended_transform_factory

            upright = blended_transform_factory(ax.transData, ax.transAxes)
            words = f"break-even {point:.3g}: best for true probabilities"
            frame.add_reference(ax, words, [point, point], [0, 1], transform=upright, scalex=True, scaley=False)

    def _finish(self, ax: Axes, left: float, end: float) -> None:
        from matplotlib.ticker import FuncFormatter, PercentFormatter

        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        x, what = f"threshold for the {self.score}", "threshold"
        if self.over == "shares":
            ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            x, what, left, end = "share of rows acted on, best first", "share of rows", 0.0, 1.0
        others = ax.get_xlim() if len(frame.drawn(ax, "model")) > len(self.curves) else (left, end)
        ax.set_xlim(min(left, others[0]), max(end, others[1]))
        _set_limits(ax)
        y = "mean profit of a row" if self.average else "profit"
        frame.write(ax, title=f"Profit by {what}", x=x, y=y)


def _steps(curve: ProfitCurve) -> tuple[Floats, Floats]:
    """The steps, with ends far outside the axes."""
    low, high = min(0.0, 10 * curve.thresholds[1]), max(1.1, 10 * curve.thresholds[-1])
    return np.concatenate([[low], curve.thresholds[1:], [high]]), np.append(curve.profit, curve.profit[-1])


def _mark(ax: Axes, x: float, y: float, color: Any) -> None:
    """The best point of a model."""
    look: dict[str, Any] = {"markersize": 6.5, "markeredgecolor": "white", "markeredgewidth": 0.8}
    ax.plot([x], [y], "o", color=color, clip_on=False, zorder=5, gid="best", **look)


def _set_limits(ax: Axes) -> None:
    """From the best profit down to an equal loss; acting on all rows may lose a thousand times more."""
    lowest = min(float(np.min(line.get_ydata())) for line in ax.lines if line.get_gid() == "model")
    best = frame.highest(ax, "model")
    bottom = max(lowest, -best) if best > 0 else lowest
    margin = 0.05 * (best - bottom) or 1.0
    ax.set_ylim(bottom - margin, best + margin)


def _best_words(curve: ProfitCurve) -> str:
    threshold = curve.best_threshold
    if threshold == -np.inf:
        return f"best {curve.best_profit:,.4g}, acting on all rows"
    if curve.best_index == len(curve.profit) - 1:
        return f"best {curve.best_profit:,.4g}, acting on no row"
    return f"best {curve.best_profit:,.4g} at {threshold:.3g}"
