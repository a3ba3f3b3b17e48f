"""The pictures on the page about Margineantu & Dietterich (2002)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from petiole._tree.drawing import EDGE, INK, OKABE_ITO, QUIET
from petiole.experiments._grid.cells import Cell
from petiole.experiments._pages.building import write_picture
from petiole.experiments.margineantu_dietterich_2002 import (
    B_LOTS,
    B_PETS,
    SEPARATIONS,
    estimate_gaussians,
    gaussians_experiment,
)

COLORS = {f"wins of {B_LOTS}": OKABE_ITO[0], "ties": "#EDEDED", f"wins of {B_PETS}": OKABE_ITO[1]}


def draw_all(bars: dict[str, tuple[int, int, int]], separation: str | None, folder: Path, stem: str) -> dict[str, str]:
    """Draw into a folder; the names of the files by what they show, none without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return {}
    height = 1.2 + 0.28 * len(bars)
    figures = {"bars": (f"{stem}.png", _draw_bars(Figure(figsize=(9, height), layout="constrained"), bars))}
    if separation is not None:
        scatter = _draw_gaussians(Figure(figsize=(10, 3.5), layout="constrained"), separation)
        figures["gaussians"] = (f"{stem}-gaussians.png", scatter)
    folder.mkdir(parents=True, exist_ok=True)
    for file, figure in figures.values():
        write_picture(folder / file, figure, dpi=100)
    return {name: file for name, (file, _) in figures.items()}


def _draw_bars(figure: Any, bars: dict[str, tuple[int, int, int]]) -> Any:
    """Figure 1.5: a bar per data set, divided into shares of the tests."""
    axes = figure.subplots()
    shares = np.array([np.array(counts) / max(1, sum(counts)) for counts in bars.values()])
    left = np.zeros(len(bars))
    for column, (label, color) in enumerate(COLORS.items()):
        axes.barh(list(bars), shares[:, column], left=left, color=color, edgecolor="white", label=label)
        for row, share in enumerate(shares[:, column]):
            if share >= 0.04:
                place = left[row] + share / 2
                text = "white" if color == OKABE_ITO[0] else INK
                axes.text(place, row, f"{share:.0%}", ha="center", va="center", fontsize=7.5, color=text)
        left += shares[:, column]
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    axes.set_xlabel("share of the tests by BDeltaCost")
    axes.set_xticks(np.linspace(0, 1, 6), [f"{tick:.0%}" for tick in np.linspace(0, 1, 6)])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(colors=QUIET, labelcolor=INK, left=False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def _draw_gaussians(figure: Any, separation: str) -> Any:
    """Figures 1.2 to 1.4: the densities, and both methods' estimates in the first trial."""
    panels = figure.subplots(1, 3)
    distance = SEPARATIONS[separation]
    x = np.linspace(-4, 4, 200)
    for label, (center, color) in enumerate(((-distance / 2, OKABE_ITO[0]), (distance / 2, OKABE_ITO[5])), start=1):
        panels[0].plot(x, stats.norm.pdf(x, center), color=color, label=f"P(x | y = {label})")
    panels[0].set(title=f"densities, means {separation}", xlabel="x", ylim=(0, 0.5))
    panels[0].legend(frameon=False, fontsize=8)
    grid = gaussians_experiment()
    for axes, method in zip(panels[1:], (B_PETS, B_LOTS), strict=True):
        found = estimate_gaussians(grid.task(Cell(separation, 0, method)))
        axes.plot([0, 1], [0, 1], color=EDGE, zorder=0)
        axes.scatter(*found.T, s=5, color=OKABE_ITO[0], linewidths=0)
        axes.set(title=method, xlabel="true probability", ylabel="estimate", xlim=(0, 1), ylim=(-0.02, 1.02))
    for axes in panels:
        axes.title.set_fontsize(10)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
