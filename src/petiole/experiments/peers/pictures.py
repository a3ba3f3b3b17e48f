"""Pictures of the study: log-loss against time, and critical differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._tree.drawing import INK, OKABE_ITO
from petiole.comparison import critical_difference_diagram
from petiole.experiments._pages.building import write_picture
from petiole.experiments.peers.scores import RANKED, SECONDS, CommonScores
from petiole.experiments.which_method.picture import front, label_points

DIAGRAMS = ("log_loss", "brier")
DOTS = 150  # per inch
# What a method is, by the beginnings of its name, with a marker and a colour.
KINDS = {
    "petiole": (("flagship", "petiole"), "D", OKABE_ITO[2]),
    "boosting": (("LightGBM", "XGBoost", "HistGB", "CatBoost", "YDF boosting", "EBM"), "o", OKABE_ITO[0]),
    "forests": (("RF", "ExtraTrees", "YDF forest"), "^", OKABE_ITO[1]),
    "others": (("logistic", "TabPFN"), "s", "#7A7A7A"),
}


def draw(ranked: CommonScores, flagship: str, folder: Path, stem: str) -> dict[str, Path]:
    """Write the pictures; the files by name, none without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(10, 6.4), dpi=DOTS, layout="constrained")
    FigureCanvasAgg(figure)  # labels are placed by their size in pixels
    paint(figure, ranked, flagship)
    drawn = {"pareto": folder / f"{stem}.png"}
    write_picture(drawn["pareto"], figure, dpi=DOTS)
    for metric in DIAGRAMS:
        drawn[metric] = folder / f"{stem}_{metric}.png"
        _draw_diagram(ranked, metric, drawn[metric])
    return drawn


def paint(figure: Any, ranked: CommonScores, flagship: str) -> None:
    """Log-loss relative to the flagship's against time, the best and fastest in the upper left corner."""
    axes = figure.subplots()
    x, y = positions(ranked, flagship)
    best = front(x, y)
    across, up = np.repeat(x[best], 2)[1:], np.repeat(y[best], 2)[:-1]
    axes.plot(across, up, color="#B9CFC1", linewidth=2.2, zorder=1)
    for title, (beginnings, marker, color) in KINDS.items():
        chosen = np.array([name.startswith(beginnings) for name in ranked.methods])
        axes.scatter(x[chosen], y[chosen], s=58, marker=marker, color=color, zorder=3, label=title)
    axes.set_xscale("log")
    span = float(y.max() - y.min()) or 1.0
    axes.set(xlim=(x.min() / 1.7, x.max() * 4), ylim=(y.max() + 0.06 * span, y.min() - 0.09 * span))
    axes.set_xlabel("processor time of fit and prediction, in seconds (median over data sets)")
    axes.set_ylabel(f"log-loss as a multiple of that of the {flagship} (geometric mean)")
    title = (
        f"{len(ranked.methods)} methods on {len(ranked.data_sets)} data sets: higher is better, further left is faster"
    )
    axes.set_title(title, loc="left", color=INK, fontsize=12)
    axes.grid(color="#ECECEC", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=9.5)
    label_points(figure, axes, ranked.methods, x, y, [np.column_stack([across, up])])


def positions(ranked: CommonScores, flagship: str) -> tuple[Floats, Floats]:
    """Median seconds, and log-loss relative to the flagship's."""
    x = np.array([np.nanmedian(ranked.of(SECONDS, name)) for name in ranked.methods])
    return x, np.array([ranked.mean_ratio(flagship, name) for name in ranked.methods])


def _draw_diagram(ranked: CommonScores, metric: str, path: Path) -> None:
    import matplotlib.pyplot as plt

    title = f"{RANKED[metric]}, {len(ranked.data_sets)} data sets"
    axes: Any = critical_difference_diagram(ranked.ranks(metric), title=title)
    write_picture(path, axes.figure, dpi=110)
    plt.close(axes.figure)
