"""One picture that shows which method to use: mean rank in log-loss against time, with the critical difference."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._tree.drawing import INK, OKABE_ITO, QUIET
from petiole.comparison import critical_difference_diagram
from petiole.experiments._pages.building import write_picture
from petiole.experiments.which_method.models import ENSEMBLES, OTHERS, PEERS, TREES
from petiole.experiments.which_method.scores import RANKED, SECONDS, MethodScores

# What a method is, with a marker and a colour.
KINDS = {
    "petiole: single trees": (TREES, "o", OKABE_ITO[0]),
    "petiole: forests": (ENSEMBLES, "D", OKABE_ITO[2]),
    "petiole: others": (OTHERS, "^", OKABE_ITO[1]),
    "scikit-learn": (PEERS, "s", "#7A7A7A"),
}
DIAGRAMS = [metric for metric in RANKED if metric != "accuracy"]
DOTS = 150  # per inch
GAP = 14.0  # pixels between a point and its label
BAND, GRID = "#E8F3EC", "#ECECEC"


def draw(study: MethodScores, folder: Path, stem: str) -> dict[str, Path]:
    """Write the picture and the critical-difference diagrams; the files by name, none without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(10, 6.4), dpi=DOTS, layout="constrained")
    FigureCanvasAgg(figure)  # labels are placed by their size in pixels
    paint(figure, study)
    drawn = {"picture": folder / f"{stem}.png"}
    write_picture(drawn["picture"], figure, dpi=DOTS)
    for metric in DIAGRAMS:
        drawn[metric] = folder / f"{stem}_{metric}.png"
        _draw_diagram(study, metric, drawn[metric])
    return drawn


def paint(figure: Any, study: MethodScores) -> None:
    """Mean ranks in log-loss against time, the best and fastest in the upper left corner."""
    axes = figure.subplots()
    ranks = study.ranks("log_loss")
    best, gap = float(ranks.mean_ranks.min()), ranks.critical_difference
    axes.axhspan(best, best + gap, color=BAND, zorder=0)
    names, x, y = positions(study)
    line = _draw_front(axes, x, y)
    for title, (kind, marker, color) in KINDS.items():
        _draw_kind(axes, study, [name in kind for name in names], (names, x, y), (title, marker, color))
    _set_axes(axes, study, x, y)
    bracket = _draw_gap(axes, best, gap)
    label_points(figure, axes, names, x, y, [line, bracket])


def positions(study: MethodScores) -> tuple[list[str], Floats, Floats]:
    """Names, times and mean ranks; of methods that are not everywhere, the rank among the others where they are."""
    names = [*study.methods, *study.partial]
    ranks = [study.mean_rank("log_loss", name) for name in study.methods]
    ranks += [study.where(name).mean_rank("log_loss", name) for name in study.partial]
    return names, np.array([1000 * study.median_seconds(name) for name in names]), np.array(ranks)


def front(x: Floats, y: Floats) -> list[int]:
    """The points that no other one beats in both ways, from the fastest on.

    >>> front(np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0, 2.0, 3.0]))
    [0, 2]
    """
    found: list[int] = []
    for index in np.lexsort((y, x)):
        if not found or y[index] < y[found[-1]]:
            found.append(int(index))
    return found


def _draw_front(axes: Any, x: Floats, y: Floats) -> Floats:
    """A line of steps through the front; its corners, in pixels once the axes are set."""
    best = front(x, y)
    across, up = np.repeat(x[best], 2)[1:], np.repeat(y[best], 2)[:-1]
    axes.plot(across, up, color="#B9CFC1", linewidth=2.2, zorder=1)
    return np.column_stack([across, up])


def _draw_kind(
    axes: Any, study: MethodScores, chosen: list[bool], points: tuple[list[str], Floats, Floats], style: Any
) -> None:
    names, x, y = points
    title, marker, color = style
    for i in np.flatnonzero(chosen):
        face = "white" if names[i] in study.partial else color
        axes.scatter(x[i], y[i], s=58, marker=marker, facecolors=face, edgecolors=color, linewidths=1.5, zorder=3)
    axes.scatter([], [], s=58, marker=marker, color=color, label=title)


def _set_axes(axes: Any, study: MethodScores, x: Floats, y: Floats) -> None:
    axes.set_xscale("log")
    axes.set(xlim=(x.min() / 1.7, x.max() * 4), ylim=(y.max() + 0.9, max(0.5, y.min() - 1.4)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g} s" if value >= 1000 else f"{value:g} ms")
    axes.set_xlabel("processor time to fit two thirds of a data set and answer the rest (median over data sets)")
    axes.set_ylabel("mean rank in log-loss (1 is best)")
    n_sets, n_methods = len(study.data_sets), len(study.methods)
    axes.set_title(
        f"{n_methods} ways to class probabilities on {n_sets} data sets: higher is better, further left is faster",
        loc="left",
        color=INK,
        fontsize=12,
    )
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=9.5)


def _draw_gap(axes: Any, best: float, gap: float) -> Floats:
    """The critical difference as a bracket at the right end of the band, whose corners are returned."""
    where = axes.get_yaxis_transform()
    axes.plot([0.985, 0.985], [best, best + gap], color=QUIET, linewidth=1.4, transform=where)
    for end in (best, best + gap):
        axes.plot([0.979, 0.991], [end, end], color=QUIET, linewidth=1.4, transform=where)
    words = f"critical difference {gap:.2f}\nin this band: not shown to be\nworse than the best"
    style = {"ha": "right", "va": "top", "color": QUIET, "fontsize": 8.5, "linespacing": 1.3}
    axes.text(0.972, best + 0.15, words, transform=where, **style)
    pixels = axes.transAxes.transform([[0.985, 0.0]])[0, 0]
    across = axes.transData.inverted().transform([[pixels, 0.0]])[0, 0]
    return np.array([[across, best], [across, best + gap]])


def label_points(
    figure: Any, axes: Any, names: Sequence[str], x: Floats, y: Floats, lines: Sequence[Floats] = ()
) -> None:
    """Names beside their points, where they cover least of anything else and stay inside."""
    best = set(front(x, y))
    texts = [
        axes.text(x[i], y[i], name, fontsize=9.5, color=INK, zorder=4, weight="bold" if i in best else "normal")
        for i, name in enumerate(names)
    ]
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    extents = [text.get_window_extent(renderer) for text in texts]
    others = [text.get_window_extent(renderer) for text in axes.texts if text not in texts]
    taken = [np.array(box.extents) for box in [*others, axes.get_legend().get_window_extent(renderer)]]
    taken += [box for line in lines for box in _segments(axes.transData.transform(line))]
    taken += _outside(axes.get_window_extent(renderer))
    points = axes.transData.transform(np.column_stack([x, y]))
    corners = place_labels(points, np.array([[box.width, box.height] for box in extents]), taken)
    for text, corner in zip(texts, axes.transData.inverted().transform(corners), strict=True):
        text.set(position=corner, ha="left", va="bottom")


def _segments(corners: Floats) -> list[Floats]:
    """Boxes around the parts of a line that goes along the axes."""
    pairs = itertools.pairwise(corners)
    return [np.r_[np.minimum(one, other) - 3.0, np.maximum(one, other) + 3.0] for one, other in pairs]


def _outside(inner: Any) -> list[Floats]:
    """Boxes on the four sides of a box, which are not to be used."""
    far = 10_000.0
    return [
        np.array([-far, -far, inner.x0, far]),
        np.array([inner.x1, -far, far, far]),
        np.array([-far, -far, far, inner.y0]),
        np.array([-far, inner.y1, far, far]),
    ]


def place_labels(points: Floats, sizes: Floats, taken: Sequence[Floats] = ()) -> Floats:
    """Lower left corners of labels, each beside its point where it covers least of points, other labels and boxes.

    Parameters
    ----------
    points, sizes : arrays of shape (n, 2)
        In pixels: the points, and width and height of their labels.
    taken : boxes (x0, y0, x1, y1) that are there already

    Examples
    --------
    >>> place_labels(np.array([[0.0, 0.0]]), np.array([[40.0, 10.0]]))
    array([[14., -5.]])
    """
    dots = [np.array([x - GAP / 2, y - GAP / 2, x + GAP / 2, y + GAP / 2]) for x, y in points]
    boxes: list[Floats] = [*taken, *dots]
    corners = np.zeros_like(points)
    # those in a crowd first: they have the least choice
    distances = np.hypot(*(points[:, None] - points).transpose(2, 0, 1)) + np.where(np.eye(len(points)), np.inf, 0)
    for i in np.argsort(distances.min(axis=1), kind="stable"):
        choices = _choices(points[i], sizes[i])
        covered = [sum(_overlap(np.r_[corner, corner + sizes[i]], box) for box in boxes) for corner in choices]
        corners[i] = choices[int(np.argmin(covered))]
        boxes.append(np.r_[corners[i], corners[i] + sizes[i]])
    return corners


def _choices(point: Floats, size: Floats) -> list[Floats]:
    """Right, left, above, below and the corners, in order of preference; then further away."""
    width, height = size
    found = []
    for gap in (GAP, 2.2 * GAP, 3.5 * GAP):
        right, left, middle = gap, -gap - width, -width / 2
        up, down, level = gap, -gap - height, -height / 2
        offsets = [(right, level), (left, level), (middle, up), (middle, down)]
        offsets += [(right, up / 2), (right, down / 1.5), (left, up / 2), (left, down / 1.5)]
        found += [point + np.array(offset) for offset in offsets]
    return found


def _overlap(one: Floats, other: Floats) -> float:
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    return float(np.prod(np.maximum(sides, 0.0)))


def _draw_diagram(study: MethodScores, metric: str, path: Path) -> None:
    import matplotlib.pyplot as plt

    title = "processor time" if metric == SECONDS else RANKED[metric]
    axes: Any = critical_difference_diagram(study.ranks(metric), title=f"{title}, {len(study.data_sets)} data sets")
    write_picture(path, axes.figure, dpi=110)
    plt.close(axes.figure)
