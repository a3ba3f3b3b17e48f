"""Figures 2, 3 and 4 of Zhang, Petitjean & Buntine (2020), drawn from our scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from petiole._tree.drawing import INK, OKABE_ITO, QUIET
from petiole.experiments._pages.building import write_picture
from petiole.experiments.zhang_2020 import FOREST_SIZES, HGS_NAME
from petiole.experiments.zhang_2020.scores import LARGE, Scores

BLUE, ORANGE, GREEN, RED = OKABE_ITO[0], OKABE_ITO[1], OKABE_ITO[2], OKABE_ITO[5]


def draw(scores: Scores, folder: Path, stem: str) -> dict[str, Path]:
    """Write the three figures; the files by name, none without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for name, (paint, size) in PAINTERS.items():
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        paint(axes, scores)
        axes.spines[["top", "right"]].set_visible(False)
        drawn[name] = folder / f"{stem}_{name}.png"
        write_picture(drawn[name], figure, dpi=110)
    return drawn


def _figure_2(axes: Any, scores: Scores) -> None:
    order = np.argsort(-scores.rows, kind="stable")
    places = np.arange(len(order))
    differences = {name: (scores.of("rmse", HGS_NAME) - scores.of("rmse", name))[order] for name in ("HDP", "M-branch")}
    reach = 1.08 * max(np.abs(values).max() for values in differences.values()) or 1.0
    axes.axhspan(-reach, 0, color="#EFEFEF", zorder=0)
    axes.axhline(0, color=QUIET, linewidth=0.8)
    for (name, values), marker, color in zip(differences.items(), "o^", (RED, BLUE), strict=True):
        axes.scatter(places, values, s=22, marker=marker, facecolors="none", edgecolors=color, label=f"less {name}")
    n_large = int((scores.rows > LARGE).sum())
    if 0 < n_large < len(order):
        axes.axvline(n_large - 0.5, color=QUIET, linewidth=0.8, linestyle=":")
        axes.text(n_large, 0.97 * reach, f" {LARGE:,} rows", color=QUIET, fontsize=8, va="top")
    axes.text(len(order) - 1, -0.97 * reach, "HGS is better", color=QUIET, fontsize=9, ha="right", va="bottom")
    axes.set(xlim=(-1, len(order)), ylim=(-reach, reach))
    axes.set(xlabel="data sets, from large to small", ylabel="RMSE of HGS less that of the other")
    axes.legend(loc="upper right", frameon=False)


def _figure_3(axes: Any, scores: Scores) -> None:
    for name, marker, color in ((HGS_NAME, "*", BLUE), ("HDP", "o", RED)):
        face = color if marker == "*" else "none"
        axes.scatter(
            scores.rows, 1000 * scores.of("seconds", name), s=26, marker=marker, c=face, edgecolors=color, label=name
        )
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="time of a fit (ms of processor time)")
    axes.grid(color="#EBEBEB", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(loc="upper left", frameon=False)


def _figure_4(axes: Any, scores: Scores) -> None:
    for smoothed, label, color, marker in ((False, "random forest", ORANGE, "s"), (True, "with HGS", GREEN, "D")):
        means = [scores.forest(n, smoothed) for n in FOREST_SIZES]
        axes.plot(FOREST_SIZES, means, color=color, marker=marker, markersize=5, label=label)
    axes.axhline(
        scores.mean("rmse", HGS_NAME), color=BLUE, linewidth=1.2, linestyle="--", label="one C4.4 tree with HGS"
    )
    axes.set(xlabel="trees in the forest", ylabel="mean RMSE over data sets", xticks=FOREST_SIZES)
    axes.grid(color="#EBEBEB", linewidth=0.6, axis="y")
    axes.tick_params(colors=INK)
    axes.legend(frameon=False)


PAINTERS = {
    "figure_2": (_figure_2, (8.5, 3.6)),
    "figure_3": (_figure_3, (5.5, 3.8)),
    "figure_4": (_figure_4, (5.5, 3.8)),
}
