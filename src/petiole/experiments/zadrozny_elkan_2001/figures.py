"""Figures 1, 3, 4 and 5 of Zadrozny & Elkan (2001), drawn from the database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole.experiments._grid.cells import Experiment, Task
from petiole.experiments._grid.results import Results, read_stored
from petiole.experiments._pages.building import write_picture
from petiole.experiments.zadrozny_elkan_2001 import (
    BAGGED_CURTAILMENT,
    BAGGED_LAPLACE,
    BINNED_NAIVE_BAYES,
    CURTAILMENT,
    KEARNS_MANSOUR,
    LAPLACE,
    NAIVE_BAYES,
    NAME,
    PARTS,
    RAW,
    SETTINGS,
    SHARES,
    SMOOTHED_CURTAILMENT,
    SMOOTHING,
    STRENGTH,
    fitted,
    lift_name,
)
from petiole.experiments.zadrozny_elkan_2001.data import KDD98, KDD98_SAMPLE, kdd98_folder, load_division

FIGURES_NAME = f"{NAME}-figures"
N_POINTS = 400
# The lowest and highest scores that the text gives: figures 1 and 3.
PRINTED_RANGES = {SMOOTHING: (0.0224, 0.1018), CURTAILMENT: (0.0045, 0.1699)}
LIFTED = {
    BAGGED_CURTAILMENT: "-",
    SMOOTHED_CURTAILMENT: "-",
    CURTAILMENT: "-",
    SMOOTHING: "-",
    BINNED_NAIVE_BAYES: "-.",
    NAIVE_BAYES: "-.",
    BAGGED_LAPLACE: "--",
    LAPLACE: "--",
    RAW: "--",
    KEARNS_MANSOUR: "--",
}


def sorted_scores(*, original: bool | None = None) -> Experiment:
    """Figures 1 and 3: what smoothing and curtailment make of the raw scores of one tree."""
    with_files = kdd98_folder() is not None if original is None else original
    data_sets = [*([KDD98] if with_files else []), KDD98_SAMPLE]
    return Experiment(FIGURES_NAME, data_sets, [SMOOTHING, CURTAILMENT], 1, run_figure, SETTINGS)


def run_figure(task: Task) -> dict[str, float]:
    """The raw scores of the test rows in order and the other scores of the same rows, at points of equal distance."""
    division = load_division(task.cell.data_set, task.split_seed)
    strength = STRENGTH[task.cell.data_set]
    # one seed for both methods: they have the same tree
    raw, other = (
        fitted(method, division, strength, 1, task.split_seed).predict_proba(division.test.X)[:, 1]
        for method in (RAW, task.cell.method)
    )
    order = np.argsort(raw, kind="stable")
    places = order[np.linspace(0, len(order) - 1, N_POINTS).round().astype(int)]
    scores = {"lowest": float(other.min()), "highest": float(other.max()), "base rate": _base_rate(division.train)}
    for number, place in enumerate(places):
        scores |= {f"raw {number:03}": float(raw[place]), f"other {number:03}": float(other[place])}
    return scores


def _base_rate(part: Any) -> float:
    return float(np.average(part.y, weights=part.weights))


def draw_sorted(database: str | os.PathLike[str], path: Path) -> Results | None:
    """Draw figures 1 and 3 side by side; the results, or None without them or without matplotlib."""
    try:
        from matplotlib.figure import Figure

        results = read_stored(database, sorted_scores(original=True))
    except (ImportError, ValueError):
        return None
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    data_set = results.data_sets[0]
    panels = zip(figure.subplots(1, 2, sharey=True), (1, 3), PRINTED_RANGES, strict=True)
    for axes, number, method in panels:
        _draw_sorted(axes, results, data_set, number, method)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_picture(path, figure, dpi=110)
    return results


def _draw_sorted(axes: Any, results: Results, data_set: str, number: int, method: str) -> None:
    def curve(name: str) -> Floats:
        return np.array([results.mean(f"{name} {point:03}", data_set, method) for point in range(N_POINTS)])

    places = np.linspace(0, 100, N_POINTS)
    axes.plot(places, curve("other"), color="C0", linewidth=1.0, label=method.lower())
    axes.plot(places, curve("raw"), color="black", linewidth=1.6, label="C4.5 without pruning")
    axes.axhline(results.mean("base rate", data_set, method), color="grey", linestyle=":", label="base rate")
    axes.set_title(f"Figure {number}: {method.lower()} (our {data_set})", fontsize=10)
    axes.set_xlabel("test rows, sorted by raw score, %")
    axes.set_ylim(-0.02, 1.02)
    axes.legend(fontsize=8, loc="upper left")
    if number == 1:
        axes.set_ylabel("score")
    axes.spines[["top", "right"]].set_visible(False)


def draw_lift(results: Results, data_set: str, path: Path) -> bool:
    """Draw figures 4 and 5, lift charts of the training and test rows; False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    for axes, part, number in zip(figure.subplots(1, 2), PARTS, (4, 5), strict=True):
        for place, (method, style) in enumerate(LIFTED.items()):
            lifts = [results.mean(f"{part} {lift_name(share)}", data_set, method) for share in SHARES]
            axes.plot(SHARES, lifts, style, color=f"C{place}", linewidth=1.5, label=method)
        axes.set_title(f"Figure {number}: {part} rows (our {data_set}, mean of {len(results.trials)})", fontsize=10)
        axes.set_xlabel("share of people, highest scores first")
        axes.axhline(1, color="grey", linestyle=":")
        axes.spines[["top", "right"]].set_visible(False)
    _scale_by_factors(figure.axes)
    figure.axes[0].set_ylabel("lift")
    figure.axes[1].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_picture(path, figure, dpi=110)
    return True


def _scale_by_factors(panels: Any) -> None:
    """Lift is a ratio: equal factors get equal distances, and overfitted training rows do not hide the others."""
    for axes, ticks in zip(panels, ((1, 2, 3, 5, 10, 20), (1, 1.5, 2, 2.5, 3)), strict=True):
        axes.set_yscale("log")
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_ylim(0.95, None)
