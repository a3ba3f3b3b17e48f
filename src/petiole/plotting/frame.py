"""The appearance of the displays: axes, colours, references and legends. Lengths are in inches, text sizes in points.

Artists are identified by their gid: "model" for the entry of a model in the legend, "reference" for what all models
share. So a second model gets the next colour and place, whichever display drew the first.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from petiole._tree.drawing import INK, NBSP, QUIET, text_width
from petiole.plotting.paths import COLORS, FONT, MARKERS, SMALL_FONT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.6, 3.2  # one column of a journal, without the legend
LEGEND_LINE = 0.155
LABEL_WIDTH, LABEL_HEIGHT, ENTRY_WIDTH = 2.85, 2.2, 2.5  # space for labels of axes and entries of a legend
NAME_LENGTH, ENTRY_LENGTH = 36, 70  # letters of a name in a label and in a legend
DASHES = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
LEGENDS = ("auto", "below", "inside", "none")
OWN = "petiole display"  # the gid of figures that grow with their legend
LIGHT = "#E6E6E6"


def pyplot() -> Any:
    """matplotlib, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("drawing a display needs matplotlib: pip install matplotlib") from error
    return plt


def new_axes(height: float) -> Axes:
    """Axes in a new figure, as wide as a column."""
    figure = pyplot().figure(figsize=(WIDTH, height), layout="constrained")
    figure.set_gid(OWN)
    return figure.add_subplot()


def whole_figure(ax: Axes) -> Figure:
    """The figure of the axes, also if they are in a subfigure."""
    figure: Figure = ax.figure.figure
    return figure


def tidy(ax: Axes) -> None:
    """Thin lines, small ticks."""
    ax.tick_params(labelsize=SMALL_FONT, labelcolor=INK, color=QUIET)
    ax.grid(color=LIGHT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(QUIET)


def write(ax: Axes, *, title: str = "", x: str = "", y: str = "") -> None:
    """The title and the labels of the axes, on two lines where they are long."""
    if title:
        ax.set_title(title, loc="left", fontsize=FONT + 1, color=INK, parse_math=False)
    if x:
        ax.set_xlabel(wrapped(x, LABEL_WIDTH), fontsize=FONT, color=INK, parse_math=False)
    if y:
        ax.set_ylabel(wrapped(y, LABEL_HEIGHT), fontsize=FONT, color=INK, parse_math=False)


def wrapped(text: str, width: float, size: float = FONT, n_lines: int = 2) -> str:
    """The text on at most this many lines of at most this width in inches."""
    needed = text_width(text, size)
    if needed <= width:
        return text
    n_letters = int(0.93 * len(text) * width / needed)  # lines with many wide letters must fit as well
    return "\n".join(textwrap.wrap(text, n_letters, max_lines=n_lines, placeholder="…"))


def shortened(name: object, n_letters: int = NAME_LENGTH) -> str:
    """A name as text, with an ellipsis if it is long."""
    text = str(name)
    return text if len(text) <= n_letters else f"{text[: n_letters - 1].rstrip()}…"


def entry(name: str, remark: str = "") -> str:
    """A model's entry in the legend: a long name is cut, the remark is not, and stays on one line."""
    short = shortened(name, ENTRY_LENGTH)
    return f"{short} ({remark.replace(' ', NBSP)})" if remark else short


def class_words(label: object) -> str:
    """The name of a class in labels, or its number.

    >>> class_words("malignant"), class_words(1)
    ('malignant', 'class 1')
    """
    return label if isinstance(label, str) else f"class {label}"


def highest(ax: Axes, *gids: str) -> float:
    """The largest height of lines of some kinds."""
    return max(float(np.max(line.get_ydata())) for line in ax.lines if line.get_gid() in gids)


def drawn(ax: Axes, gid: str) -> list[Artist]:
    """The artists of a kind that are in the axes."""
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def line_style(place: int) -> dict[str, Any]:
    """The look of the line of the first, second, third … model: told apart by colour and by dashes."""
    color, dashes = COLORS[place % len(COLORS)], DASHES[place % len(DASHES)]
    return {"color": color, "linestyle": dashes, "linewidth": 1.5, "gid": "model", "zorder": 3}


def point_style(place: int) -> dict[str, Any]:
    """The look of the points of the first, second, third … model: told apart by colour and by shape."""
    return {"color": COLORS[place % len(COLORS)], "marker": "o" if place == 0 else MARKERS[(place - 1) % len(MARKERS)]}


def add_reference(ax: Axes, label: str, x: Any, y: Any, **style: Any) -> None:
    """A thin line that belongs to no model; drawn once for all models in the axes."""
    if label not in [artist.get_label() for artist in drawn(ax, "reference")]:
        look: dict[str, Any] = {"color": QUIET, "linewidth": 1.0, "linestyle": ":", "zorder": 2} | style
        ax.plot(x, y, label=label, gid="reference", **look)


def add_legend(ax: Axes, legend: str, *, below: Axes | None = None, height: float) -> None:
    """The legend of all models in the axes and of the references, below the axes or inside them.

    "auto" is below the axes if the figure makes room (``layout="constrained"``), otherwise inside.
    """
    handles = [*drawn(ax, "model"), *drawn(ax, "reference")]
    figure = whole_figure(ax)
    room = max(ENTRY_WIDTH, 0.9 * ax.get_window_extent().width / figure.dpi - 0.4)
    texts = [wrapped(str(handle.get_label()), room, SMALL_FONT, 3) for handle in handles]
    if legend == "auto":
        legend = "below" if figure.get_layout_engine() is not None else "inside"
    if legend == "none":
        return
    where = (
        _legend_position(below or ax) if legend == "below" else {"loc": "best", "framealpha": 0.85, "edgecolor": LIGHT}
    )
    # the texts come second, as labels that begin with an underscore would be left out
    box = (below or ax if legend == "below" else ax).legend(
        handles, ["."] * len(handles), fontsize=SMALL_FONT, labelcolor=INK, handlelength=2.4, **where
    )
    for text, words in zip(box.get_texts(), texts, strict=True):
        text.set_parse_math(False)
        text.set_text(words)
    if legend == "below" and figure.get_gid() == OWN:
        n_lines = sum(1 + words.count("\n") for words in texts)
        figure.set_size_inches(figure.get_figwidth(), height + LEGEND_LINE * n_lines)


def _legend_position(ax: Axes) -> dict[str, Any]:
    """The position of a legend below the tick labels and the axis label."""
    from matplotlib.transforms import ScaledTranslation

    n_lines = 1 + ax.get_xlabel().count("\n")
    depth = 1.6 * SMALL_FONT + 1.35 * FONT * n_lines + 8
    offset = ScaledTranslation(0, -depth / 72, whole_figure(ax).dpi_scale_trans)
    return {
        "loc": "upper left",
        "bbox_to_anchor": (0.0, 0.0),
        "bbox_transform": ax.transAxes + offset,
        "frameon": False,
        "borderpad": 0,
        "borderaxespad": 0,
        "labelspacing": 0.3,
    }
