"""Charts as SVG with the colours of the page: lines over rows, and reliability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole.metrics.calibration import wilson_limits
from petiole.report.markup import Markup, text

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 14, 40
MOST_POINTS = 400
COLORS = ("--m0", "--m1", "--m2", "--m3", "--m4")


def evidence_chart(lines: Sequence[tuple[str, Any, Floats]], n_rows: int, thresholds: Sequence[float]) -> Markup:
    """Powers of ten of e-values over rows; ``lines`` are names, positions of rows and values."""
    top = max(1.5, *(float(values.max(initial=0.0)) for _, _, values in lines), *thresholds) * 1.08
    low = min(-1.0, max(-4.0, min((float(values.min(initial=0.0)) for _, _, values in lines), default=0.0)))
    if top > 30:
        low = -top / 12
    scale = _Scale(max(n_rows, 1), low, top)
    parts = [_grid(scale, _ticks(low, top), n_rows)]
    for threshold in dict.fromkeys(thresholds):
        y = scale.y(threshold)
        parts.append(f'<path class="limit" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text x="{WIDTH - RIGHT}" y="{y - 5:.1f}" text-anchor="end">alarm at {10**threshold:,.0f}</text>'
        )
    for place, (name, positions, values) in enumerate(lines):
        chosen = _thinned(values)
        points = " ".join(
            f"{scale.x(float(positions[i]) + 1):.1f},{scale.y(max(float(values[i]), low)):.1f}" for i in chosen
        )
        color = f"var({COLORS[place % len(COLORS)]})"
        words = (
            text(f"{name}: e-value {spelled_power(float(values[-1]))} after {len(values):,} rows")
            if len(values)
            else ""
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2">'
            f"<title>{words}</title></polyline>"
        )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">row</text>')
    parts.append(f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">e-value</text>')
    return _drawing(parts, "Evidence against the model over the rows, on a logarithmic scale", HEIGHT)


def legend(names: Sequence[str]) -> Markup:
    """Which colour is which line."""
    items = [
        f'<li><i style="background:var({COLORS[place % len(COLORS)]})"></i>{text(name)}</li>'
        for place, name in enumerate(names)
    ]
    return Markup(f'<ul class="legend">{"".join(items)}</ul>')


def reliability_chart(bins: Floats, said: str) -> Markup:
    """Observed share against mean probability; ``bins`` have mean probability, share and weight in their columns."""
    size, edge = 300, 44
    span = size - edge - 12

    def x(p: float) -> float:
        return edge + span * p

    def y(p: float) -> float:
        return 12 + span * (1 - p)

    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(
            f'<path class="grid" d="M{x(tick):.1f} {y(0):.1f}V{y(1):.1f}M{x(0):.1f} {y(tick):.1f}H{x(1):.1f}"/>'
        )
        parts.append(f'<text x="{x(tick):.1f}" y="{y(0) + 16:.1f}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{edge - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts.append(f'<path class="dashed" d="M{x(0):.1f} {y(0):.1f}L{x(1):.1f} {y(1):.1f}"/>')
    low, high = wilson_limits(np.minimum(bins[:, 1], 1.0), bins[:, 2], 0.95)
    largest = float(bins[:, 2].max(initial=1.0))
    for (p, share, weight), lower, upper in zip(bins.tolist(), low, high, strict=True):
        radius = 2.5 + 5 * math.sqrt(weight / largest)
        words = text(f"said {p:.3f}, came true {share:.3f}, {weight:,.6g} rows")
        parts.append(
            f'<path d="M{x(p):.1f} {y(lower):.1f}V{y(upper):.1f}" stroke="var(--m0)" stroke-width="1.4" opacity=".6"/>'
            f'<circle cx="{x(p):.1f}" cy="{y(share):.1f}" r="{radius:.1f}" fill="var(--m0)">'
            f"<title>{words}</title></circle>"
        )
    parts.append(f'<text x="{x(0.5):.1f}" y="{size + 10}" text-anchor="middle">{text(said)}</text>')
    parts.append(
        f'<text x="12" y="{y(0.5)}" text-anchor="middle" transform="rotate(-90 12 {y(0.5)})">observed share</text>'
    )
    return _drawing(parts, "Reliability: observed share against predicted probability", size + 16, size)


class _Scale:
    def __init__(self, n_rows: int, low: float, top: float) -> None:
        self.n_rows, self.low, self.top = n_rows, low, top

    def x(self, row: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * row / self.n_rows

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.top - value) / (self.top - self.low)


def _grid(scale: _Scale, ticks: Sequence[int], n_rows: int) -> str:
    parts = [f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>']
    for tick in ticks:
        y = scale.y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{spelled_power(tick)}</text>')
    for row in _row_ticks(n_rows):
        anchor = "end" if row == n_rows else "middle"
        parts.append(f'<text x="{scale.x(row):.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="{anchor}">{row:,}</text>')
    return "".join(parts)


def spelled_power(value: float) -> str:
    """The number whose logarithm to base 10 is given, short.

    >>> spelled_power(2), spelled_power(-1), spelled_power(7.5), spelled_power(0.5)
    ('100', '0.1', '10⁷', '3.2')
    """
    if -3 <= value <= 4:
        return f"{10**value:,.2g}" if value < 2 else f"{10**value:,.0f}"
    digits = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] if c != "-" else "⁻" for c in str(math.floor(value)))
    return f"10{digits}"


def _ticks(low: float, top: float) -> list[int]:
    step = max(1, math.ceil((top - low) / 6))
    return [value for value in range(math.ceil(low), math.floor(top) + 1) if value % step == 0]


def _row_ticks(n_rows: int) -> list[int]:
    if n_rows < 5:
        return [n_rows]
    rough = n_rows / 4
    unit = 10 ** math.floor(math.log10(rough))
    step = next(int(unit * m) for m in (1, 2, 5, 10) if unit * m >= rough)
    return [*range(0, n_rows, step)][1:] or [n_rows]


def _thinned(values: Floats) -> list[int]:
    """Places of some values: the highest of each stretch, and the last."""
    n = len(values)
    if n <= MOST_POINTS:
        return [*range(n)]
    edges = np.linspace(0, n, MOST_POINTS + 1).astype(int)
    chosen = [int(a + values[a:b].argmax()) for a, b in pairwise(edges.tolist()) if b > a]
    return [*dict.fromkeys([*chosen, n - 1])]


def _drawing(parts: Sequence[str], label: str, height: int, width: int = WIDTH) -> Markup:
    inner = "".join(parts)
    style = f' style="max-width:{width + 40}px"' if width < WIDTH else ""
    looks = "drawn" if width < WIDTH else "drawn wide"
    return Markup(
        f'<svg class="{looks}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}"{style}>{inner}</svg>'
    )
