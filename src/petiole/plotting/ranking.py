"""Lift charts and cumulative gains: how many rows of a class are among those that rank highest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from petiole._table.columns import Floats
from petiole.metrics import LiftCurve, area_under_lift_curve, lift_curve
from petiole.metrics.rows import class_shares, judge, target_column
from petiole.plotting import frame
from petiole.plotting.display import ProbabilityDisplay, named_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Self = TypeVar("Self", bound="RankingDisplay")
GRID: Floats = np.linspace(0, 1, 401)[1:]


class RankingDisplay(ProbabilityDisplay):
    """Base of lift charts and gains charts: one lift curve for each model.

    Parameters
    ----------
    curves : dict from names to LiftCurve
    areas : dict from names to float
        Areas under the lift charts.
    prior : float
        Share of the class among all rows.
    target : str
        The class, for the labels.
    """

    def __init__(self, curves: dict[str, LiftCurve], areas: dict[str, float], *, prior: float, target: str) -> None:
        self.curves, self.areas, self.prior, self.target = curves, areas, prior, target

    @classmethod
    def from_predictions(
        cls: type[Self],
        y_true: Any,
        proba: Any,
        *,
        target: Any = None,
        labels: Any = None,
        sample_weight: Any = None,
        name: Any = None,
        ax: Axes | None = None,
        legend: str = "auto",
        **style: Any,
    ) -> Self:
        """Draw the chart of given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        proba : array-like of shape (n, K), or dict from names to such
            The probabilities of each model.
        target, labels, sample_weight
            As in :func:`petiole.metrics.lift_curve`; ``target`` must be given if there are more than two classes.
        name : str, default="model"
            The name of a single model in the legend.
        ax, legend, **style
            As in :meth:`plot`.
        """
        tables = named_tables(proba, name)
        rows: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
        curves = {key: lift_curve(y_true, table, target=target, **rows) for key, table in tables.items()}
        judged = judge(y_true, next(iter(tables.values())), labels, sample_weight)
        column = target_column(judged.labels, target)
        wanted, prior = judged.labels.tolist()[column], float(class_shares(judged)[column])
        areas = {key: area_under_lift_curve(y_true, table, target=wanted, **rows) for key, table in tables.items()}
        return cls(curves, areas, prior=prior, target=frame.class_words(wanted)).plot(ax, legend=legend, **style)

    def _finish(self, ax: Axes) -> None:
        from matplotlib.ticker import PercentFormatter

        frame.tidy(ax)
        ax.set_xlim(0, 1)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


class LiftDisplay(RankingDisplay):
    """Lift chart: how many times more frequent a class is among the highest-ranked rows than among all rows.

    Of rows with equal scores, each class is taken in proportion, so the chart does not depend on their order. The
    number in the legend is the area under the chart (1 for a random order).

    Parameters
    ----------
    curves : dict from names to LiftCurve
    areas : dict from names to float
        Areas under the lift charts.
    prior : float
        Share of the class among all rows.
    target : str
        The class, for the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.plotting import LiftDisplay
    >>> y, scores = ["no", "yes", "no", "yes"], np.array([0.1, 0.6, 0.4, 0.8])
    >>> display = LiftDisplay.from_predictions(y, np.column_stack([1 - scores, scores]), name="tree")
    >>> display.curves["tree"].lift.round(3)
    array([2.   , 2.   , 1.333, 1.   ])
    """

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        for name, curve in self.curves.items():
            shares = np.unique(np.concatenate([GRID, curve.shares]))
            gains = np.interp(shares, np.append(0.0, curve.shares), np.append(0.0, curve.gains))
            place = len(frame.drawn(ax, "model"))
            label = frame.entry(name, f"area {self.areas[name]:.3f}")
            ax.plot(shares, gains / shares, label=label, **frame.line_style(place) | style)
        frame.add_reference(ax, "perfect order", GRID, np.minimum(1 / self.prior, 1 / GRID))
        frame.add_reference(ax, "random order", [0, 1], [1, 1], linestyle="--")
        self._finish(ax)
        ax.set_ylim(0, 1.06 * max(1.5, frame.highest(ax, "model")))
        what = frame.shortened(self.target)
        frame.write(ax, title="Lift chart", x="share of rows, best first", y=f"lift of {what} (all rows: 1)")


class GainsDisplay(RankingDisplay):
    """Cumulative gains: the share of a class that is found among the highest-ranked rows.

    Parameters
    ----------
    curves : dict from names to LiftCurve
    areas : dict from names to float
        Areas under the lift charts.
    prior : float
        Share of the class among all rows.
    target : str
        The class, for the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.plotting import GainsDisplay
    >>> y, scores = ["no", "yes", "no", "yes"], np.array([0.1, 0.6, 0.4, 0.8])
    >>> display = GainsDisplay.from_predictions(y, np.column_stack([1 - scores, scores]), name="tree")
    >>> display.curves["tree"].gains
    array([0.5, 1. , 1. , 1. ])
    """

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        from matplotlib.ticker import PercentFormatter

        for name, curve in self.curves.items():
            look = frame.line_style(len(frame.drawn(ax, "model"))) | style
            x, y = np.append(0.0, curve.shares), np.append(0.0, curve.gains)
            ax.plot(x, y, label=frame.entry(name), **look)
        frame.add_reference(ax, "perfect order", [0, self.prior, 1], [0, 1, 1])
        frame.add_reference(ax, "random order", [0, 1], [0, 1], linestyle="--")
        self._finish(ax)
        ax.set_ylim(0, 1.02)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        what = frame.shortened(self.target)
        frame.write(ax, title="Cumulative gains", x="share of rows, best first", y=f"share of {what} found")
