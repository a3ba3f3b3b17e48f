"""Pictures of an explanation: which columns matter, how they move one row, and how they move all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from petiole._tree.drawing import INK, QUIET
from petiole._validation import check_whole
from petiole.explanations import Explanation
from petiole.plotting import frame
from petiole.plotting.paths import COLORS, FONT, SMALL_FONT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Self = TypeVar("Self", bound="ContributionDisplay")

LINE_HEIGHT, MARGINS = 0.26, 0.95  # inches of a column's line, and of what is above and below all lines
RAISES, LOWERS = COLORS[1], COLORS[0]
MOST_POINTS = 2_000  # rows in a beeswarm; more would make it slow and no clearer


class ContributionDisplay:
    """Base of the pictures of an explanation.

    Attributes
    ----------
    columns : list of str
        The columns drawn, the one that matters most first; the last entry may stand for all others.
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
        The figure of these axes.
    """

    ax_: Axes
    figure_: Figure
    columns: list[str]

    def __init__(self, explanation: Explanation, *, label: Any = None, max_display: int = 10) -> None:
        check_whole("max_display", max_display, 1)
        if not isinstance(explanation, Explanation):
            raise TypeError(f"explanation is a {type(explanation).__name__}: pass what model.explain(X) returns")
        if not len(explanation):
            raise ValueError("explanation: has no rows to draw")
        self.explanation, self.label, self.max_display = explanation, label, max_display

    def plot(self: Self, ax: Axes | None = None) -> Self:
        """Draw, in axes or in a new figure; returns the display itself, with ``ax_`` and ``figure_``."""
        plt = frame.pyplot()
        axes = frame.new_axes(MARGINS + LINE_HEIGHT * len(self.columns)) if ax is None else ax
        try:
            frame.tidy(axes)
            self._draw(axes)
            places = np.arange(len(self.columns))
            axes.set_yticks(places, [frame.shortened(name, 30) for name in self._line_names()], parse_math=False)
            axes.set_ylim(len(places) - 0.5, -0.5)
            axes.grid(False, axis="y")
        except BaseException:
            if ax is None:
                plt.close(axes.figure)
            raise
        self.ax_, self.figure_ = axes, axes.figure  # type: ignore[assignment]
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _line_names(self) -> list[str]:
        return self.columns

    def _choose(self, sizes: Floats, several: str) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The columns with the largest sizes in falling order, and the others, which one line stands for."""
        order = np.argsort(-sizes, kind="stable")
        n_shown = len(order) if len(order) <= self.max_display else self.max_display - 1
        shown, others = order[: max(n_shown, 1)], order[max(n_shown, 1) :]
        names = self.explanation.feature_names
        self.columns = [names[j] for j in shown.tolist()]
        if len(others):
            self.columns.append(several.format(len(others)))
        return shown, others

    def _what(self, label: Any) -> str:
        words = frame.class_words(label)
        return f"P({words})" if self.explanation.output == "probability" else f"log-odds of {words}"


class ContributionBarDisplay(ContributionDisplay):
    """The mean absolute contribution of each column to the predictions.

    Parameters
    ----------
    explanation : Explanation
    label : the class, default: the second of two
        With more than two classes and no label, each class has a part of the bars.
    max_display : int, default=10
        At most so many bars; the last one stands for all other columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import PETClassifier
    >>> from petiole.plotting import ContributionBarDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ContributionBarDisplay(PETClassifier(max_depth=2).fit(X, y).explain(X), label=1)
    >>> display.columns
    ['x3', 'x2', 'x0', 'x1']
    >>> display.lengths.round(2).tolist()
    [[0.27], [0.25], [0.0], [0.0]]
    """

    def __init__(self, explanation: Explanation, *, label: Any = None, max_display: int = 10) -> None:
        super().__init__(explanation, label=label, max_display=max_display)
        n_classes = len(explanation.class_names)
        self.classes = list(range(n_classes)) if label is None and n_classes > 2 else [explanation.class_number(label)]
        sizes = np.abs(explanation.values[:, :, self.classes]).mean(axis=0)
        shown, others = self._choose(sizes.sum(axis=1), "{} other columns")
        lengths = [sizes[shown], sizes[others].sum(axis=0, keepdims=True)] if len(others) else [sizes[shown]]
        self.lengths: Floats = np.concatenate(lengths)

    def _draw(self, ax: Axes) -> None:
        start = np.zeros(len(self.columns))
        for place, k in enumerate(self.classes):
            color = COLORS[place % len(COLORS)]
            name = frame.entry(frame.class_words(self.explanation.class_names[k]))
            style: dict[str, Any] = {"left": start, "height": 0.65, "color": color, "zorder": 3}
            ax.barh(np.arange(len(start)), self.lengths[:, place], label=name, **style)
            start = start + self.lengths[:, place]
        if len(self.classes) > 1:
            box = ax.legend(
                fontsize=SMALL_FONT, labelcolor=INK, loc="lower right", framealpha=0.85, edgecolor=frame.LIGHT
            )
            for text in box.get_texts():
                text.set_parse_math(False)
        names = self.explanation.class_names
        what = self._what(names[self.classes[0]]) if len(self.classes) == 1 else "the answers"
        frame.write(ax, title="Mean contributions", x=f"mean absolute contribution to {what}")


class WaterfallDisplay(ContributionDisplay):
    """How the columns lead from the base value to the prediction for one row.

    From the top: the columns that move it most. Bars to the right raise the answer, bars to the left lower it; each
    begins where the one below it ends.

    Parameters
    ----------
    explanation : Explanation
    row : int, default=0
    label : the class, default: the second of two; must be named if there are more
    max_display : int, default=10
        At most so many bars; the last one stands for all other columns.
    """

    def __init__(self, explanation: Explanation, row: int = 0, *, label: Any = None, max_display: int = 10) -> None:
        super().__init__(explanation, label=label, max_display=max_display)
        if not -len(explanation) <= row < len(explanation):
            raise ValueError(f"row={row}: there are {len(explanation)} rows")
        self.row, self.k = row % len(explanation), explanation.class_number(label)
        values = explanation.values[self.row, :, self.k]
        self.shown, others = self._choose(np.abs(values), "{} other columns")
        self.steps: Floats = np.append(values[self.shown], values[others].sum()) if len(others) else values[self.shown]

    def _line_names(self) -> list[str]:
        own = [
            f"{name} = {self.explanation.value_text(self.row, j)}"
            for name, j in zip(self.columns, self.shown.tolist(), strict=False)
        ]
        return own + self.columns[len(own) :]

    def _draw(self, ax: Axes) -> None:
        base, answer = self.explanation.base_values[self.k], self.explanation.answers[self.row, self.k]
        ends = base + np.cumsum(self.steps[::-1])[::-1]
        starts = ends - self.steps
        colors = [RAISES if step > 0 else LOWERS for step in self.steps.tolist()]
        ax.barh(np.arange(len(ends)), self.steps, left=starts, height=0.65, color=colors, zorder=3)
        for place, (step, start, end) in enumerate(
            zip(self.steps.tolist(), starts.tolist(), ends.tolist(), strict=True)
        ):
            if place + 1 < len(ends):
                ax.plot([start, start], [place - 0.33, place + 1.33], color=QUIET, linewidth=0.6, zorder=2)
            ax.annotate(
                f"{step:+.3f}",
                (max(start, end), place),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=SMALL_FONT,
                color=INK,
            )
        for x, words in ((base, "base"), (answer, "answer")):
            ax.axvline(x, color=QUIET, linewidth=0.8, linestyle=":", zorder=1, label=words)
        ax.margins(x=0.18)
        what = self._what(self.explanation.class_names[self.k])
        frame.write(ax, title=f"From {base:.3f} to {answer:.3f}", x=what)


class BeeswarmDisplay(ContributionDisplay):
    """A point for each row and column: the column's contribution, coloured by its value in the row.

    Points are light where the value is small and dark where it is large, by ranks; grey where it is missing or a
    category.

    Parameters
    ----------
    explanation : Explanation
    label : the class, default: the second of two; must be named if there are more
    max_display : int, default=10
        At most so many columns; others are left out.
    """

    def __init__(self, explanation: Explanation, *, label: Any = None, max_display: int = 10) -> None:
        super().__init__(explanation, label=label, max_display=max_display)
        self.k = explanation.class_number(label)
        sizes = np.abs(explanation.values[:, :, self.k]).mean(axis=0)
        self.shown = np.argsort(-sizes, kind="stable")[:max_display]
        self.columns = [explanation.feature_names[j] for j in self.shown.tolist()]

    def _draw(self, ax: Axes) -> None:
        rows = np.arange(len(self.explanation))
        if len(rows) > MOST_POINTS:
            rows = np.sort(np.random.default_rng(0).permutation(rows)[:MOST_POINTS])
        for place, column in enumerate(self.shown.tolist()):
            values = self.explanation.values[rows, column, self.k]
            ranks = _ranks(self.explanation.data[rows, column])
            known = ~np.isnan(ranks)
            heights = place + _spread(values)
            ax.scatter(values[~known], heights[~known], s=7, color=QUIET, linewidths=0, zorder=3)
            ax.scatter(
                values[known],
                heights[known],
                s=7,
                c=ranks[known],
                cmap="viridis_r",
                vmin=0,
                vmax=1,
                linewidths=0,
                zorder=3,
            )
        ax.axvline(0, color=QUIET, linewidth=0.8, zorder=2)
        what = self._what(self.explanation.class_names[self.k])
        frame.write(ax, title="Contributions to each row", x=f"contribution to {what}")
        words = "yellow: small values, violet: large, grey: not a number"
        beneath: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top"}
        ax.annotate(words, (0, 0), xytext=(0, -2.2 * SMALL_FONT - FONT - 6), fontsize=SMALL_FONT, color=INK, **beneath)


def _ranks(cells: npt.NDArray[Any]) -> Floats:
    """Ranks of numbers between 0 and 1, equal ones alike; NaN for what is no number."""
    found = np.full(len(cells), np.nan)
    numbers = np.array([float(cell) if isinstance(cell, (int, float)) else np.nan for cell in cells.tolist()])
    known = ~np.isnan(numbers)
    if known.any():
        distinct, codes = np.unique(numbers[known], return_inverse=True)
        found[known] = codes / max(1, len(distinct) - 1)
    return found


def _spread(values: Floats) -> Floats:
    """Heights around 0, so that points that lie close together are beside each other."""
    width = np.ptp(values)
    cells = (
        np.zeros(len(values), dtype=np.intp) if width <= 0 else (60 * (values - values.min()) / width).astype(np.intp)
    )
    heights = np.zeros(len(values))
    for cell in np.unique(cells).tolist():
        mine = np.flatnonzero(cells == cell)
        steps = (np.arange(len(mine)) + 1) // 2 * np.where(np.arange(len(mine)) % 2, 1, -1)
        heights[mine] = steps
    most = np.abs(heights).max()
    return heights * (min(0.08, 0.38 / most) if most > 0 else 0.0)
