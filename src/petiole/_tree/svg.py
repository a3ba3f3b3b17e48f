"""Trees as SVG for notebooks: needs no drawing library, and its colours are seen on light and on dark pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from petiole._tree.text import Words, check_probabilities, class_shares, n_hidden_nodes

if TYPE_CHECKING:
    from petiole._tree.tree import Tree

# Of classes, after Okabe and Ito: also told apart by the colour-blind.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b3a100")
WIDTH, HEIGHT, GAP, STEP = 150, 46, 14, 92  # of a node; between neighbours; between levels
LEAST_SCALE = 0.65  # to which narrow pages shrink a drawing; below it they scroll
MOST_LETTERS = 24


@dataclasses.dataclass(frozen=True)
class Place:
    """A node in the drawing: its middle and its level, and the rule of the branch that leads to it."""

    node: int
    x: float
    level: int
    rule: str


def draw_svg(
    tree: Tree,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    categories: Sequence[Sequence[Any] | None] | None = None,
    probabilities: npt.ArrayLike | None = None,
    max_depth: int = 3,
) -> str:
    """The top of a tree as an SVG element: rules on the branches, and a bar of class probabilities at every node."""
    words = Words(tree, feature_names, class_names, categories)
    table = None if probabilities is None else check_probabilities(tree, probabilities)
    hidden = n_hidden_nodes(tree, max_depth)
    places: list[Place] = []
    links: list[tuple[int, int]] = []
    _lay_out(words, hidden, 0, "", 0, places, links)
    at = {place.node: place for place in places}
    lines = "".join(_link(at[parent], at[child]) for parent, child in links)
    boxes = "".join(_box(words, place, table, int(hidden[place.node])) for place in places)
    n_columns = sum(place.node not in {parent for parent, _ in links} for place in places)
    width = n_columns * (WIDTH + GAP)
    height = max(place.level for place in places) * STEP + HEIGHT + 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(repr(tree))}" width="{width}" '
        f'viewBox="0 -1 {width} {height}" style="max-width:100%;min-width:{LEAST_SCALE * width:.0f}px" '
        f'font-family="system-ui,sans-serif" font-size="11" fill="currentColor">{lines}{boxes}</svg>'
    )


def _lay_out(
    words: Words,
    hidden: npt.NDArray[np.int64],
    node: int,
    rule: str,
    level: int,
    places: list[Place],
    links: list[tuple[int, int]],
) -> float:
    """Place a node over the middle of what is below it; leaves stand side by side."""
    tree = words.tree
    if tree.is_leaf[node] or hidden[node]:
        n_before = sum(bool(tree.is_leaf[place.node] or hidden[place.node]) for place in places)
        x = (n_before + 0.5) * (WIDTH + GAP)
    else:
        children = tree.children(node).tolist()
        found = [
            _lay_out(words, hidden, child, text, level + 1, places, links)
            for child, text in zip(children, words.rules(node), strict=True)
        ]
        links += [(node, child) for child in children]
        x = (found[0] + found[-1]) / 2
    places.append(Place(node, x, level, rule))
    return x


def _link(parent: Place, child: Place) -> str:
    top, bottom = parent.level * STEP + HEIGHT, child.level * STEP
    rule = child.rule if len(child.rule) <= MOST_LETTERS else "…" + child.rule[1 - MOST_LETTERS :]
    return (
        f'<path d="M{parent.x:.0f} {top}V{top + 12}H{child.x:.0f}V{bottom - 17}" fill="none" stroke="currentColor" '
        f'opacity=".5"/><text x="{child.x:.0f}" y="{bottom - 6}" text-anchor="middle">'
        f"<title>{escape(child.rule)}</title>{escape(rule)}</text>"
    )


def _box(words: Words, place: Place, table: npt.NDArray[np.float64] | None, n_hidden: int) -> str:
    tree, node = words.tree, place.node
    shares = class_shares(tree, node) if table is None else table[node]
    left, top = place.x - WIDTH / 2, place.level * STEP
    more = f", {n_hidden} more nodes" if n_hidden else ""
    rows = f"{tree.inbag_class_counts[node].sum():.6g} rows{more}"
    best = words.top_class(shares)
    best = f"{best[:13]}…" if len(best) > 14 else best
    return (
        f'<g><title>{escape(_listed(words, shares))}</title><rect x="{left:.0f}" y="{top}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="4" fill="none" stroke="currentColor" opacity=".5"/>'
        f"{_bar(shares, left, top + HEIGHT - 9)}"
        f'<text x="{place.x:.0f}" y="{top + 15}" text-anchor="middle" font-weight="600">{escape(best)} '
        f"{shares.max():.2f}</text>"
        f'<text x="{place.x:.0f}" y="{top + 30}" text-anchor="middle">{escape(rows)}</text></g>'
    )


def _bar(shares: npt.NDArray[np.float64], left: float, top: float) -> str:
    """The probabilities as lengths of one bar."""
    ends = np.minimum(np.cumsum(shares), 1.0) * (WIDTH - 8)
    starts = np.append(0.0, ends[:-1])
    pieces = (
        f'<rect x="{left + 4 + start:.1f}" y="{top:.0f}" width="{end - start:.1f}" height="6" '
        f'fill="{COLOURS[k % len(COLOURS)]}"/>'
        for k, (start, end) in enumerate(zip(starts, ends, strict=True))
        if end - start >= 0.1
    )
    return "".join(pieces)


def _listed(words: Words, shares: npt.NDArray[np.float64]) -> str:
    best = np.argsort(-shares, kind="stable")[:8]
    return ", ".join(f"{words.classes[k]} {shares[k]:.3f}" for k in best)
