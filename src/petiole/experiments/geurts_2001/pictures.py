"""The pictures on the page about Geurts (2001)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from petiole._dual.classifier import DualPerturbCombineClassifier
from petiole._table.columns import Floats
from petiole._tree.drawing import INK, OKABE_ITO, QUIET
from petiole.experiments._grid.cells import seed_of
from petiole.experiments._pages.building import Compared, write_picture
from petiole.experiments.geurts_2001 import NAME, STUDY_LEVELS, STUDY_SETTINGS, make_curve, study_tree

MUCH_NOISE = 1.5  # as in figure 2
GRID = 200
MARKERS = "os^D"
STYLES = {"error": (INK, "-"), "squared_bias": (OKABE_ITO[0], "--"), "variance": (OKABE_ITO[5], "-.")}


def draw_all(
    columns: dict[str, list[tuple[str, Compared, float, float]]],
    study: dict[str, Floats] | None,
    folder: Path,
    stem: str,
) -> dict[str, str]:
    """Draw into a folder; the names of the files by what they show, none without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return {}
    figures = {"errors": (f"{stem}.png", _draw_errors(Figure(figsize=(9, 5), layout="constrained"), columns))}
    if study is not None:
        boundaries = _draw_boundaries(Figure(figsize=(9, 3.35), layout="constrained"), study)
        figures["boundaries"] = (f"{stem}-boundaries.png", boundaries)
        figures["noise"] = (f"{stem}-noise.png", _draw_study(Figure(figsize=(9, 3.4), layout="constrained"), study))
    folder.mkdir(parents=True, exist_ok=True)
    for file, figure in figures.values():
        write_picture(folder / file, figure, dpi=100)
    return {name: file for name, (file, _) in figures.items()}


def _draw_errors(figure: Any, columns: dict[str, list[tuple[str, Compared, float, float]]]) -> Any:
    """A line per data set and method: published hollow, ours full, with the deviations over divisions."""
    axes = figure.subplots()
    names = [name for name, *_ in next(iter(columns.values()))]
    step = len(columns) + 1
    for place, (title, lines) in enumerate(columns.items()):
        heights = np.arange(len(names)) * step + place
        color, marker = OKABE_ITO[place], MARKERS[place]
        own = [compared.ours for _, compared, _, _ in lines]
        printed = [float(compared.published) for _, compared, _, _ in lines]
        style = {"linestyle": "", "marker": marker, "color": color, "markersize": 6, "elinewidth": 1.0}
        axes.errorbar(printed, heights - 0.15, xerr=[sd for *_, sd, _ in lines], markerfacecolor="white", **style)
        axes.errorbar(own, heights + 0.15, xerr=[sd for *_, sd in lines], label=title, **style)
    axes.set_yticks(np.arange(len(names)) * step + (len(columns) - 1) / 2, names)
    axes.set_xlim(left=0)
    axes.invert_yaxis()
    axes.set_xlabel("error on the test set, % (hollow: published, full: ours; bars: ± one standard deviation)")
    _tidy(axes)
    axes.legend(frameon=False, loc="lower right")
    return figure


def _draw_boundaries(figure: Any, study: dict[str, Floats]) -> Any:
    """Figure 2: one tree's classes over the square, at three noise levels."""
    X, y = make_curve(STUDY_SETTINGS["set_size"], np.random.default_rng(seed_of(NAME, "figure 2")))
    model = DualPerturbCombineClassifier(study_tree(), noise=0.0, mode="product").fit(X, y)
    best = STUDY_LEVELS[int(study["decisions error"].argmin())]
    ticks = (np.arange(GRID) + 0.5) / GRID
    grid = np.column_stack([one.ravel() for one in np.meshgrid(ticks, ticks)])
    for axes, level in zip(figure.subplots(1, 3, sharey=True), (0.0, best, MUCH_NOISE), strict=True):
        full = (model.set_params(noise=level).predict(grid) == "full").reshape(GRID, GRID)
        axes.contourf(ticks, ticks, full, levels=[-0.5, 0.5, 1.5], colors=["white", "#CFE3F1"])
        axes.plot(ticks, 0.5 + 0.3 * np.sin(2 * np.pi * ticks), color=OKABE_ITO[5], linewidth=1.2)
        for label, face in (("full", INK), ("empty", "white")):
            axes.scatter(*X[y == label].T, s=7, facecolor=face, edgecolor=INK, linewidths=0.5)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"λ = {level:g}", fontsize=10)
    return figure


def _draw_study(figure: Any, study: dict[str, Floats]) -> Any:
    """Figures 3 and 4: decisions to the left, probabilities to the right."""
    titles = {"decisions": "0/1 error of the decisions", "probabilities": "squared error of the probabilities"}
    for axes, (kind, title) in zip(figure.subplots(1, 2), titles.items(), strict=True):
        for part, (color, dashes) in STYLES.items():
            label = part.replace("_", " ")
            axes.plot(STUDY_LEVELS, study[f"{kind} {part}"], color=color, linestyle=dashes, label=label)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("noise level λ")
        axes.set_ylim(bottom=0)
        _tidy(axes)
        axes.legend(frameon=False)
    return figure


def _tidy(axes: Any) -> None:
    axes.grid(color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=QUIET, labelcolor=INK)
