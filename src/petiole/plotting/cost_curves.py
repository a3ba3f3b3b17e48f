"""Cost curves: the cost of decisions between a class and the rest, for any ratio of costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from petiole._table.columns import Floats
from petiole.metrics import CostCurve, cost_curve
from petiole.metrics.rows import check_flag, judge, target_column
from petiole.plotting import frame
from petiole.plotting.display import ProbabilityDisplay, named_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID: Floats = np.linspace(0, 1, 1001)
MOST_LINES = 30  # of single thresholds; more lines would merge into a grey area


class CostCurveDisplay(ProbabilityDisplay):
    """Cost curves of Drummond & Holte: normalised cost over the probability-cost.

    From left to right, misses cost more or the class is more frequent. The thick line is the lower envelope: the cost
    with the best threshold for each point, known in hindsight. The thin line is the cost of deciding by the
    probabilities themselves, as in practice; it lies above the envelope where they are miscalibrated. The faint lines
    of a single model are its thresholds. The grey lines are the costs of predicting the class for all rows, or for
    none.

    Parameters
    ----------
    curves : dict from names to CostCurve
    target : str
        The class, for the labels.
    decisions : bool, default=True
        Whether to draw the cost of deciding by the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.plotting import CostCurveDisplay
    >>> y, scores = [0, 1, 0, 1], np.array([0.1, 0.4, 0.6, 0.8])
    >>> display = CostCurveDisplay.from_predictions(y, np.column_stack([1 - scores, scores]), name="tree")
    >>> display.curves["tree"].cost
    array([0.  , 0.25, 0.  ])
    """

    def __init__(self, curves: dict[str, CostCurve], *, target: str, decisions: bool = True) -> None:
        self.curves, self.target, self.decisions = curves, target, decisions

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        target: Any = None,
        decisions: bool = True,
        labels: Any = None,
        sample_weight: Any = None,
        name: Any = None,
        ax: Axes | None = None,
        legend: str = "auto",
        **style: Any,
    ) -> CostCurveDisplay:
        """Draw the cost curves of given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        proba : array-like of shape (n, K), or dict from names to such
            The probabilities of each model.
        target, labels, sample_weight
            As in :func:`petiole.metrics.cost_curve`; ``target`` must be given if there are more than two classes.
        decisions : bool, default=True
            Whether to draw the cost of deciding by the probabilities.
        name : str, default="model"
            The name of a single model in the legend.
        ax, legend, **style
            As in :meth:`plot`.
        """
        check_flag("decisions", decisions)
        tables = named_tables(proba, name)
        rows: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
        curves = {key: cost_curve(y_true, table, target=target, **rows) for key, table in tables.items()}
        classes = judge(y_true, next(iter(tables.values())), labels, sample_weight).labels
        wanted = frame.class_words(classes.tolist()[target_column(classes, target)])
        return cls(curves, target=wanted, decisions=decisions).plot(ax, legend=legend, **style)

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        frame.tidy(ax)
        alone = len(self.curves) == 1 and not frame.drawn(ax, "model")
        for name, curve in self.curves.items():
            look = frame.line_style(len(frame.drawn(ax, "model"))) | {"linewidth": 1.8} | style
            (line,) = ax.plot(curve.probability_cost, curve.cost, label=frame.entry(name), **look)
            if alone:
                _draw_thresholds(ax, curve, line.get_color())
            if self.decisions:
                thin: dict[str, Any] = {"linewidth": 0.8, "color": line.get_color(), "alpha": 0.9, "zorder": 2.5}
                ax.plot(GRID, curve.cost_of_decisions(GRID), gid="decisions", **thin)
        what = frame.shortened(self.target)
        if self.decisions:
            frame.add_reference(ax, "thin lines: the probabilities decide", [], [], linestyle="-")
        frame.add_reference(ax, f"always {what}", [0, 1], [1, 0], linestyle="--")
        frame.add_reference(ax, f"never {what}", [0, 1], [0, 1])
        _set_limits(ax)
        x = f"probability-cost: weight of missed {what}"
        frame.write(ax, title="Cost curve", x=x, y="cost of a row (1: all wrong)")


def _draw_thresholds(ax: Axes, curve: CostCurve, color: Any) -> None:
    """The lines of single thresholds, evenly chosen if there are many."""
    chosen = np.unique(np.linspace(0, len(curve.thresholds) - 1, MOST_LINES).astype(int))
    heights = np.stack([curve.false_alarms[chosen], curve.misses[chosen]])
    ax.plot([0, 1], heights, color=color, linewidth=0.4, alpha=0.3, zorder=1.5)


def _set_limits(ax: Axes) -> None:
    """Limits at the crossing of the trivial lines, or lower if all models stay far below."""
    highest = frame.highest(ax, "model", "decisions")
    ax.set(xlim=(0, 1), ylim=(0, min(0.52, 2 * highest + 0.02) if highest <= 0.5 else min(1.0, 1.05 * highest)))
