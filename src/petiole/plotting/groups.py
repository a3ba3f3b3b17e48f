"""Calibration by group: how far predicted probabilities are from observed frequencies in each group of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from petiole._table.judged import check_judged
from petiole.metrics import GroupCalibration, calibration_by_group
from petiole.metrics.rows import target_column
from petiole.plotting import frame
from petiole.plotting.display import ProbabilityDisplay, named_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SHOWN = 30
WIDTH, ROW_HEIGHT, EDGES = 5.4, 0.24, 1.05  # inches: with names, of a group, and of title, axis and label together
NAME_LENGTH = 30


class GroupCalibrationDisplay(ProbabilityDisplay):
    """The observed minus the predicted share of a class in each group of rows, with confidence limits.

    Groups whose probabilities are right on average are on the line at 0. To the right of it, the class is more
    frequent in the group than predicted. The number in the legend is the largest calibration error of a group.

    Parameters
    ----------
    tables : dict from names to GroupCalibration
        One entry per group; at most 30 groups are drawn, those with the most rows.
    target : str or None, default=None
        The class in question, for the labels; None for the most probable class of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.plotting import GroupCalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.uniform(0.2, 0.8, 4000), rng.choice(["f", "m"], 4000)
    >>> y = rng.uniform(size=4000) < np.where(sex == "f", p + 0.1, p)
    >>> display = GroupCalibrationDisplay.from_predictions(y, np.column_stack([1 - p, p]), sex, name="forest")
    >>> display.tables["forest"].error.round(2)
    array([0.1, 0. ])
    """

    def __init__(self, tables: dict[str, GroupCalibration], *, target: str | None = None) -> None:
        self.tables, self.target = tables, target
        self.shown = _largest(next(iter(tables.values())))
        self.height = max(frame.HEIGHT * 0.6, EDGES + ROW_HEIGHT * len(self.shown))

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        groups: Any = None,
        *,
        target: Any = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        labels: Any = None,
        sample_weight: Any = None,
        name: Any = None,
        ax: Axes | None = None,
        legend: str = "auto",
        **style: Any,
    ) -> GroupCalibrationDisplay:
        """Draw the calibration of given probabilities by group.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        proba : array-like of shape (n, K), or dict from names to such
            The probabilities of each model.
        groups : array-like of shape (n,), table of shape (n, n_columns), or dict
            As in :func:`petiole.metrics.calibration_by_group`.
        target : label or "top", default=None
            The class in question; by default the second of two, and the most probable class of each row if there are
            more.
        n_bins, confidence, labels, sample_weight
            As in :func:`petiole.metrics.calibration_by_group`.
        name : str, default="model"
            How to call a single model in the legend.
        ax, legend, **style
            As in :meth:`plot`.
        """
        if groups is None:
            raise ValueError("groups=None: give the group of each row, or columns whose values are the groups")
        tables = named_tables(proba, name)
        first = check_judged(y_true, next(iter(tables.values())), labels=labels, sample_weight=sample_weight)
        top = (isinstance(target, str) and target == "top") or (target is None and first.n_classes > 2)
        wanted = "top" if top else first.labels.tolist()[target_column(first.labels, target)]
        given: dict[str, Any] = {"target": wanted, "n_bins": n_bins, "confidence": confidence}
        rows: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
        found = {key: calibration_by_group(y_true, table, groups, **given, **rows) for key, table in tables.items()}
        display = cls(found, target=None if top else frame.class_words(wanted))
        return display.plot(ax, legend=legend, **style)

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        figure = frame.whole_figure(ax)
        if figure.get_gid() == frame.OWN:
            figure.set_size_inches(WIDTH, self.height)
        before = len(frame.drawn(ax, "model"))
        places = np.arange(len(self.shown))[::-1]
        _prepare(ax, self.tables, self.shown, places)
        many = before + len(self.tables)
        for offset, (name, table) in enumerate(self.tables.items()):
            look = frame.point_style(before + offset) | {"markersize": 4.5, "linewidth": 1.1} | style
            shift = 0.0 if many == 1 else 0.16 * ((many - 1) / 2 - before - offset)
            gap = (table.frequency - table.mean_score)[self.shown]
            low, high = (table.lower - table.mean_score)[self.shown], (table.upper - table.mean_score)[self.shown]
            ax.hlines(places + shift, low, high, color=look["color"], alpha=0.6, linewidth=1.2, gid="limits")
            label = frame.entry(name, f"worst group {table.error[self.shown].max(initial=0.0):.3f}")
            ax.plot(gap, places + shift, linestyle="", label=label, gid="model", zorder=3, **look)
        what = "the most probable class" if self.target is None else frame.shortened(self.target)
        frame.write(ax, title="Calibration by group", x=f"observed minus predicted share of {what}")


def _largest(table: GroupCalibration) -> Any:
    """The places of the groups with the most rows, in their order."""
    return np.sort(np.argsort(-table.weight, kind="stable")[:MOST_SHOWN])


def _decimals(tables: dict[str, GroupCalibration], shown: Any) -> int:
    """How many decimals percentages on the axis need."""
    widest = max(float((table.upper - table.lower)[shown].max(initial=0.0)) for table in tables.values())
    return 0 if widest > 0.03 else 1


def _prepare(ax: Axes, tables: dict[str, GroupCalibration], shown: Any, places: Any) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    frame.tidy(ax)
    ax.grid(visible=False, axis="y")
    table = next(iter(tables.values()))
    names = [f"{frame.shortened(table.group[i], NAME_LENGTH)} ({table.weight[i]:,.0f})" for i in shown]
    ax.set_yticks(places, names, parse_math=False)
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=_decimals(tables, shown)))
    ax.xaxis.set_major_locator(MaxNLocator(5))
    if not frame.drawn(ax, "reference"):
        ax.axvline(
            0, color=frame.QUIET, linewidth=1.0, linestyle=":", label="predicted shares are right", gid="reference"
        )
