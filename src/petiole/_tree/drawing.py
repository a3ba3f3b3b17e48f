"""Trees as pictures. Lengths are inches at natural size; an ``Axes`` of another size scales everything."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from petiole._tree import text
from petiole._tree.text import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from petiole._tree.tree import Tree

Floats = npt.NDArray[np.float64]

OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
MAX_LEAVES = 200  # a wider picture is not readable

INK, QUIET, EDGE = "#222222", "#666666", "#C4C7CC"
FONT, SMALL_FONT = 9.0, 8.0  # points
LINE = 0.165  # height of a line of text
PAD = 0.09  # between a box's border and its content
BAR = 0.1  # height of the bar of class probabilities
GAP = 0.2  # between neighbouring boxes
DROP = 0.8  # between two levels: room for an edge and its label
RUN = 0.38  # the last part of an edge, straight down, with the label on it
MARGIN = 0.15
NARROW, WIDE = 0.95, 1.7  # least and greatest width of the text in a box
THICKEST = 7.0  # points, the edge that carries all rows
NBSP = "\u00a0"  # holds a sign and its number on one line


@dataclasses.dataclass
class Box:
    """A node to draw: its text, its class probabilities, its place (centre of the upper border)."""

    node: int
    lines: list[str]
    footer: list[str]
    shares: Floats
    is_end: bool
    edge_labels: list[str] = dataclasses.field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def height(self) -> float:
        return 2.6 * PAD + LINE * (len(self.lines) + len(self.footer)) + BAR


def plot(
    tree: Tree,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    categories: Sequence[Sequence[Any] | None] | None = None,
    probabilities: npt.ArrayLike | None = None,
    max_depth: int | None = 4,
    colors: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree: a box per node with its test or class, in-bag weight n and a bar of class probabilities.

    The thickness of an edge is the share of rows that take it; p is the probability of a leaf's class. Each box
    is a patch with the gid ``node-<id>``.

    Parameters
    ----------
    tree : Tree
    feature_names, class_names, categories : sequences, optional
        As in `petiole._tree.text.export_text`.
    probabilities : array (n_nodes, n_classes), default: the in-bag class shares
        The probabilities for the bars and the leaves' classes.
    max_depth : int or None, default 4
        Nodes at this depth are drawn as ends, with the number of hidden nodes below.
    colors : sequence of n_classes matplotlib colours, default: a colour-blind-safe palette (up to 8 classes)
    ax : matplotlib Axes, default: a new figure of the size that the picture needs

    Returns
    -------
    matplotlib Axes
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting a tree needs matplotlib: pip install matplotlib") from error
    words = Words(tree, feature_names, class_names, categories)
    table = None if probabilities is None else text.check_probabilities(tree, probabilities)
    palette = choose_colors(tree.n_classes, colors)
    boxes = _boxes(tree, words, table, text.n_hidden_nodes(tree, text.check_depth(max_depth)))
    picture = Picture(tree, boxes, words.classes, palette)
    if ax is None:
        figure = plt.figure(figsize=(picture.width, picture.height))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    picture.draw(ax)
    return ax


def choose_colors(n_classes: int, colors: Sequence[Any] | None) -> list[Any]:
    import matplotlib

    if colors is not None:
        if len(colors) != n_classes:
            raise ValueError(f"colors: has {len(colors)} entries, must have {n_classes}, one per class")
        return list(colors)
    if n_classes <= len(OKABE_ITO):
        return OKABE_ITO[:n_classes]
    if n_classes <= 20:
        dark_first = [*range(0, 20, 2), *range(1, 20, 2)]
        return [matplotlib.colormaps["tab20"](i) for i in dark_first[:n_classes]]
    return [matplotlib.colormaps["viridis"](k / (n_classes - 1)) for k in range(n_classes)]


# Text ---------------------------------------------------------------------------------------------


def text_width(text: str, size: float = FONT, bold: bool = False) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    return text_to_path.get_text_width_height_descent(text, font, False)[0] / 72


def _fit(text: str, width: float, size: float = FONT, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits with an ellipsis."""
    if text_width(text, size, bold) <= width:
        return text
    while text and text_width(f"{text}…", size, bold) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrap_label(text: str, width: float, size: float = FONT, bold: bool = False) -> list[str]:
    """The text on one or two lines."""
    if text_width(text, size, bold) <= width:
        return [text]
    words = text.split(" ")
    n_first = 1
    while n_first < len(words) - 1 and text_width(" ".join(words[: n_first + 1]), size, bold) <= width:
        n_first += 1
    lines = [" ".join(words[:n_first]), " ".join(words[n_first:])]
    return [_fit(line, width, size, bold) for line in lines if line]


def _test_lines(tree: Tree, words: Words, node: int) -> list[str]:
    """The test of a split, on one or two lines."""
    name = words.feature(node)
    if tree.kind[node] == "nominal":
        return wrap_label(name, WIDE)
    sign = f"is{NBSP}known" if tree.threshold[node] == np.inf else f"≤{NBSP}{words.threshold(node)}"
    lines = wrap_label(f"{name} {sign}", WIDE)
    return lines if sign in lines[-1] else [_fit(name, WIDE), sign]


def _edge_labels(tree: Tree, words: Words, node: int) -> list[str]:
    """The label of each branch: an outcome of the test."""
    missing = tree.missing_branch[node]
    if tree.kind[node] == "nominal":
        labels = [text.shorten_list(names, limit=4, more="…") for names in words.branch_categories(node)]
    else:
        labels = ["yes", "no", ""][: tree.children(node).size]
        if tree.threshold[node] == np.inf and missing == 1:
            labels[1] = ""
    if missing >= 0:
        labels[missing] = f"{labels[missing]} or{NBSP}missing" if labels[missing] else "missing"
    return labels


# Layout -------------------------------------------------------------------------------------------


def _boxes(tree: Tree, words: Words, table: Floats | None, hidden: npt.NDArray[np.int64]) -> list[Box]:
    """The shown nodes in depth-first order."""
    boxes, stack, n_ends = [], [0], 0
    while stack:
        node = stack.pop()
        box = _make_box(tree, words, node, table, int(hidden[node]))
        boxes.append(box)
        n_ends += box.is_end
        if n_ends > MAX_LEAVES:
            remedy = "lower max_depth, prune the tree or use export_text"
            raise ValueError(f"plot: more than {MAX_LEAVES} leaves to draw; {remedy}")
        if not box.is_end:
            stack.extend(tree.children(node).tolist()[::-1])
    return boxes


def _make_box(tree: Tree, words: Words, node: int, table: Floats | None, n_hidden: int) -> Box:
    shares = text.class_shares(tree, node) if table is None else text.normalised(table[node])
    n = tree.inbag_class_counts[node].sum()
    footer = [f"n = {n:,.0f}" if n == round(n) else f"n = {n:,.1f}"]
    is_end = bool(tree.is_leaf[node]) or n_hidden > 0
    if not is_end:
        labels = _edge_labels(tree, words, node)
        return Box(node, _test_lines(tree, words, node), footer, shares, False, labels)
    footer[0] += f"   p = {shares.max():.2f}"
    if n_hidden:
        footer.append(f"… ({n_hidden:,} more nodes)")
    return Box(node, wrap_label(words.top_class(shares), WIDE, bold=True), footer, shares, True)


class Picture:
    """Boxes in their places: leaves evenly spaced, parents above the middle of their children."""

    def __init__(self, tree: Tree, boxes: list[Box], classes: list[str], palette: list[Any]) -> None:
        self.tree, self.boxes, self.palette = tree, {box.node: box for box in boxes}, palette
        self.n_rows = tree.inbag_class_counts.sum(axis=1)
        self.classes = [_fit(name, 2 * WIDE) for name in classes]
        widths = [text_width(line, bold=box.is_end) for box in boxes for line in box.lines]
        widths += [text_width(line, SMALL_FONT) for box in boxes for line in box.footer]
        self.box_width = max(NARROW, *widths) + 2 * PAD
        self._place_columns(boxes)
        self._place_levels(boxes)

    def _place_columns(self, boxes: list[Box]) -> None:
        ends = [box for box in boxes if box.is_end]
        step = self.box_width + GAP
        entry = 0.5 + max(text_width(name) for name in self.classes)
        self.width = max(len(ends) * step - GAP, entry) + 2 * MARGIN
        self.legend_columns = min(len(self.classes), max(1, int((self.width - 2 * MARGIN) / entry)))
        for column, box in enumerate(ends):
            box.x = self.width / 2 + (column - (len(ends) - 1) / 2) * step
        for box in reversed(boxes):
            if not box.is_end:
                children = self.tree.children(box.node)
                box.x = (self.boxes[children[0]].x + self.boxes[children[-1]].x) / 2

    def _place_levels(self, boxes: list[Box]) -> None:
        depth = [int(self.tree.node_depth[box.node]) for box in boxes]
        tallest = np.zeros(max(depth) + 1)
        np.maximum.at(tallest, depth, [box.height for box in boxes])
        legend = 0.22 * -(-len(self.classes) // self.legend_columns) + 0.2
        self.height = 2 * MARGIN + legend + tallest.sum() + DROP * (tallest.size - 1)
        top = self.height - MARGIN - legend - np.append(0, np.cumsum(tallest + DROP))
        for box, level in zip(boxes, depth, strict=True):
            box.y = top[level]

    def draw(self, ax: Axes) -> None:
        extent = ax.get_window_extent()
        inch = ax.figure.dpi_scale_trans.transform((1, 1))[0]  # in pixels
        self.scale = min(extent.width / inch / self.width, extent.height / inch / self.height)
        ax.set(xlim=(0, self.width), ylim=(0, self.height), aspect="equal")
        ax.set_axis_off()
        for box in self.boxes.values():
            self._draw_box(ax, box)
            for label, child in zip(box.edge_labels, self.tree.children(box.node), strict=False):
                self._draw_edge(ax, box, self.boxes[child], label)
        self._draw_legend(ax)

    def _draw_box(self, ax: Axes, box: Box) -> None:
        from matplotlib.colors import to_rgb
        from matplotlib.patches import FancyBboxPatch

        color = np.array(to_rgb(self.palette[int(np.argmax(box.shares))]))
        left, bottom = box.x - self.box_width / 2, box.y - box.height
        patch = FancyBboxPatch((left, bottom), self.box_width, box.height, "round,pad=0,rounding_size=0.07")
        patch.set(gid=f"node-{box.node}", linewidth=self.scale, zorder=2, facecolor="white", edgecolor=QUIET)
        if box.is_end:
            is_leaf = self.tree.is_leaf[box.node]
            patch.set(facecolor=0.12 * color + 0.88, edgecolor=color, linestyle="-" if is_leaf else "--")
        ax.add_patch(patch)
        y = box.y - PAD - LINE / 2
        for line in box.lines:
            self._write(ax, box.x, y, line, weight="bold" if box.is_end else "normal")
            y -= LINE
        for line in box.footer:
            self._write(ax, box.x, y, line, fontsize=SMALL_FONT * self.scale, color=QUIET)
            y -= LINE
        self._draw_bar(ax, left + PAD, bottom + PAD, box.shares)

    def _draw_bar(self, ax: Axes, x: float, y: float, shares: Floats) -> None:
        from matplotlib.patches import Rectangle

        for share, color in zip(shares * (self.box_width - 2 * PAD), self.palette, strict=True):
            if share > 0:
                ax.add_patch(Rectangle((x, y), share, BAR, facecolor=color, linewidth=0, zorder=3))
                x += share

    def _draw_edge(self, ax: Axes, box: Box, child: Box, label: str) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        start, bend, end = box.y - box.height, child.y + RUN, child.y
        middle = child.y + (DROP + RUN) / 2
        points = [(box.x, start), (box.x, middle), (child.x, middle), (child.x, bend), (child.x, end)]
        curve = Path(points, [Path.MOVETO, *3 * [Path.CURVE4], Path.LINETO])
        share = self.n_rows[child.node] / (self.n_rows[0] or 1.0)
        width = (0.8 + (THICKEST - 0.8) * min(share, 1)) * self.scale
        style = "-" if share > 0 else ":"
        patch = PathPatch(curve, fill=False, edgecolor=EDGE, linewidth=width, linestyle=style, zorder=1)
        patch.set_capstyle("butt")
        ax.add_patch(patch)
        text = "\n".join(wrap_label(label, self.box_width, SMALL_FONT))
        patch_style = {"facecolor": "white", "edgecolor": "none", "pad": self.scale}
        self._write(ax, child.x, end + 0.55 * RUN, text, fontsize=SMALL_FONT * self.scale, bbox=patch_style)

    def _draw_legend(self, ax: Axes) -> None:
        from matplotlib.patches import Patch

        entries = zip(self.palette, self.classes, strict=True)
        legend = ax.legend(
            handles=[Patch(color=color, label=name) for color, name in entries],
            loc="upper center",
            ncol=self.legend_columns,
            fontsize=FONT * self.scale,
            frameon=False,
            borderpad=0,
            borderaxespad=1.0,
            handlelength=1.2,
            handleheight=0.9,
        )
        for entry in legend.get_texts():
            entry.set_parse_math(False)

    def _write(self, ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
        defaults = {"ha": "center", "va": "center", "fontsize": FONT * self.scale, "color": INK, "zorder": 4}
        ax.text(x, y, text, parse_math=False, **defaults | style)
