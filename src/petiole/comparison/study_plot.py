"""Pictures of bias and variance over the values of a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from petiole._tree.drawing import FONT, INK, OKABE_ITO, QUIET, SMALL_FONT
from petiole.comparison.decomposition import BiasVariance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from petiole.comparison.study import BiasVarianceStudy

CURVES = {
    "error": ("error", INK, "o", "-"),
    "squared_bias": ("squared bias", OKABE_ITO[0], "s", "--"),
    "variance": ("variance", OKABE_ITO[5], "^", "-."),
    "noise": ("noise", QUIET, "D", ":"),
}
WIDTH, HEIGHT = 4.2, 3.3  # inches, of one panel


def draw_study(study: BiasVarianceStudy, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """One panel for the decisions, and one for the probabilities if there are any."""
    panels = [("0/1 error of the decisions", study.decisions)]
    if study.probabilities is not None:
        panels.append(("squared error of the probabilities", study.probabilities))
    chosen = _new_axes(len(panels)) if axes is None else list(np.ravel(np.asarray(axes, dtype=object)))
    if len(chosen) != len(panels):
        raise ValueError(f"axes has {len(chosen)} axes: must have one for each of {len(panels)} panels")
    for ax, (title, parts) in zip(chosen, panels, strict=True):
        _draw_panel(ax, study, title, parts)
    return chosen


def _new_axes(n_panels: int) -> list[Axes]:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting a study needs matplotlib: pip install matplotlib") from error
    _, axes = plt.subplots(1, n_panels, figsize=(WIDTH * n_panels, HEIGHT), squeeze=False, layout="constrained")
    return list(axes[0])


def _draw_panel(ax: Axes, study: BiasVarianceStudy, title: str, parts: list[BiasVariance]) -> None:
    numeric = all(isinstance(value, Real) and not isinstance(value, bool) for value in study.values)
    places: Any = study.values if numeric else range(len(study.values))
    for name, (label, color, marker, dashes) in CURVES.items():
        heights = [getattr(part, name) for part in parts]
        if name != "noise" or any(heights):
            ax.plot(places, heights, color=color, marker=marker, linestyle=dashes, markersize=4, label=label)
    if not numeric:
        ax.set_xticks(list(places), [str(value) for value in study.values])
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.set_title(title, loc="left", fontsize=FONT + 1, color=INK)
    ax.set_xlabel(study.parameter, fontsize=FONT, color=INK, parse_math=False)
    ax.tick_params(labelsize=SMALL_FONT, labelcolor=INK)
    ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=SMALL_FONT, frameon=False, labelcolor=INK)
