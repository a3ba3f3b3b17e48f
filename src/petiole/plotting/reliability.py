"""The reliability diagram: observed frequency against predicted probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole.metrics import ReliabilityCurve, expected_calibration_error, reliability_curve
from petiole.metrics.binning import scores_and_hits
from petiole.metrics.rows import judge, target_column
from petiole.plotting import frame
from petiole.plotting.display import ProbabilityDisplay, named_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_BARS = 20
HISTOGRAM = "histogram of scores"  # its axes' gid
EDGES: Floats = np.linspace(0, 1, N_BARS + 1)


class ReliabilityDisplay(ProbabilityDisplay):
    """Reliability diagram: observed frequency against predicted probability, with a histogram of the probabilities.

    Calibrated probabilities lie on the diagonal. The bands are Wilson's confidence limits of the frequencies. The bars
    below show how the predicted probabilities are distributed. The number in the legend is the calibration error.

    Parameters
    ----------
    curves : dict from names to ReliabilityCurve
    histograms : dict from names to arrays of shape (20,)
        Shares of the rows whose probability is in each twentieth of the scale.
    errors : dict from names to float
        Expected calibration errors in the same bins.
    target : str or None, default=None
        The class in question, for the labels; None for the most probable class of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.plotting import ReliabilityDisplay
    >>> y, scores = [0, 0, 1, 0, 1, 1], np.array([0.1, 0.1, 0.1, 0.8, 0.8, 0.9])
    >>> display = ReliabilityDisplay.from_predictions(y, np.column_stack([1 - scores, scores]), n_bins=2, name="tree")
    >>> display.curves["tree"].frequency.round(3)
    array([0.333, 0.667])
    >>> display.figure_.savefig("reliability.pdf")  # doctest: +SKIP
    """

    height = 3.9

    def __init__(
        self,
        curves: dict[str, ReliabilityCurve],
        histograms: dict[str, Floats],
        errors: dict[str, float],
        *,
        target: str | None = None,
    ) -> None:
        self.curves, self.histograms, self.errors, self.target = curves, histograms, errors, target

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        target: Any = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        confidence: float = 0.95,
        labels: Any = None,
        sample_weight: Any = None,
        name: Any = None,
        ax: Axes | None = None,
        legend: str = "auto",
        **style: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram of given probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        proba : array-like of shape (n, K), or dict from names to such
            The probabilities of each model.
        target, n_bins, strategy, confidence, labels, sample_weight
            As in :func:`petiole.metrics.reliability_curve`; by default ``target`` is the second of two classes, and the
            most probable class of each row if there are more.
        name : str, default="model"
            The name of a single model in the legend.
        ax, legend, **style
            As in :meth:`plot`.
        """
        tables = named_tables(proba, name)
        bins: dict[str, Any] = {"n_bins": n_bins, "strategy": strategy}
        rows: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
        judged = {key: judge(y_true, table, labels, sample_weight) for key, table in tables.items()}
        wanted, column = _target(next(iter(judged.values())), target)
        curves, errors = {}, {}
        for key, table in tables.items():
            curves[key] = reliability_curve(y_true, table, target=wanted, confidence=confidence, **bins, **rows)
            errors[key] = expected_calibration_error(y_true, table, target=wanted, **bins, **rows)
        histograms = {key: _shares(each, column) for key, each in judged.items()}
        display = cls(curves, histograms, errors, target=None if column is None else frame.class_words(wanted))
        return display.plot(ax, legend=legend, **style)

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        bars = _histogram_axes(ax)
        frame.add_reference(ax, "perfectly calibrated", [0, 1], [0, 1])
        for name, curve in self.curves.items():
            place = len(frame.drawn(ax, "model"))
            _draw_curve(ax, curve, place, frame.entry(name, f"calibration error {self.errors[name]:.3f}"), style)
            color = style.get("color", frame.line_style(place)["color"])
            _draw_histogram(bars, self.histograms[name], color, frame.line_style(place)["linestyle"], filled=place == 0)
        self._label(ax, bars)

    def _label(self, ax: Axes, bars: Axes) -> None:
        what = "the most probable class" if self.target is None else frame.shortened(self.target)
        frame.write(ax, title="Reliability diagram", y="share of rows in which it is right")
        frame.write(bars, x=f"predicted probability of {what}", y="rows")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.tick_params(labelbottom=False)
        bars.set_ylim(bottom=0)
        frame.whole_figure(ax).align_ylabels([ax, bars])

    def _lowest(self, ax: Axes) -> Axes:
        return _histogram_axes(ax)


def _target(judged: Judged, target: Any) -> tuple[Any, int | None]:
    """The class in question and its column; "top" and None for the most probable class of each row."""
    if (isinstance(target, str) and target == "top") or (target is None and judged.n_classes > 2):
        return "top", None
    column = target_column(judged.labels, target)
    return judged.labels.tolist()[column], column


def _shares(judged: Judged, column: int | None) -> Floats:
    """The share of the rows in each bar of the histogram."""
    scores = np.minimum(scores_and_hits(judged, column)[0], 1.0)
    counts: Floats = np.histogram(scores, EDGES, weights=judged.weights)[0]
    return counts / judged.weights.sum()


def _histogram_axes(ax: Axes) -> Axes:
    """The axes below, which take a quarter of the space at the first call."""
    for other in ax.get_shared_x_axes().get_siblings(ax):
        if other.get_gid() == HISTOGRAM:
            return other
    figure, spec = ax.figure, ax.get_subplotspec()
    if spec is not None:
        parts = spec.subgridspec(2, 1, height_ratios=[3.2, 1], hspace=0.08)
        ax.set_subplotspec(parts[0])
        bars = figure.add_subplot(parts[1], sharex=ax)
    else:
        x, y, width, height = ax.get_position().bounds
        ax.set_position((x, y + 0.26 * height, width, 0.74 * height))
        bars = figure.add_axes((x, y, width, 0.22 * height), sharex=ax)
    bars.set_gid(HISTOGRAM)
    _tidy_both(ax, bars)
    return bars


def _tidy_both(ax: Axes, bars: Axes) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    frame.tidy(ax)
    frame.tidy(bars)
    bars.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    bars.yaxis.set_major_locator(MaxNLocator(3))


def _draw_curve(ax: Axes, curve: ReliabilityCurve, place: int, label: str, style: dict[str, Any]) -> None:
    look = frame.line_style(place) | {"marker": frame.point_style(place)["marker"], "markersize": 4} | style
    (line,) = ax.plot(curve.mean_score, curve.frequency, label=label, clip_on=False, **look)
    color = line.get_color()
    tint: dict[str, Any] = {"color": color, "alpha": 0.13 if place == 0 else 0.08, "linewidth": 0}
    ax.fill_between(curve.mean_score, curve.lower, curve.upper, gid="band", **tint)
    # a band around a single bin has no width
    ax.vlines(curve.mean_score, curve.lower, curve.upper, color=color, alpha=0.55, linewidth=0.9, gid="limits")


def _draw_histogram(bars: Axes, shares: Floats, color: Any, dashes: Any, filled: bool) -> None:
    if filled:
        bars.stairs(shares, EDGES, color=color, fill=True, alpha=0.25, linewidth=0)
    bars.stairs(shares, EDGES, color=color, linestyle=dashes, linewidth=1.1, gid="histogram")
