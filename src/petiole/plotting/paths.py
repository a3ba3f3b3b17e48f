"""Pictures of leaf estimators. Lengths are in inches, text sizes in points."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import encode_queries
from petiole._classifiers.pet import PETClassifier, display_names
from petiole._tree import traversal
from petiole._tree.drawing import INK, OKABE_ITO, QUIET
from petiole._tree.text import Words
from petiole._tree.tree import Tree
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, LeafEstimator, MBranch, MEstimate, Raw, as_leaf_estimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

# Okabe and Ito's colours without yellow (too pale for a line) and black (raw frequencies), then three of Paul Tol's.
COLORS = [*OKABE_ITO[:6], "#882255", "#999933", "#332288"]
MARKERS = "s^DvP<X>ph"
FONT, SMALL_FONT = 9.0, 8.0
LARGEST_MARKER, SMALLEST_MARKER = 420.0, 10.0  # areas in square points: of all training rows, and the least visible one
HEIGHT, LEGEND_WIDTH = 4.4, 2.9
SLOT = 0.5  # distance of neighbouring labels
WIDE, SLANTED, UPRIGHT = 1.2, 0.7, 0.32  # distance of neighbouring nodes for horizontal, slanted and upright labels
WIDEST_PATH = 12.0
ONE_OF_EACH = (Raw(), Laplace(), MEstimate(), Curtailment(), MBranch(), HGS(), HDP(n_iter=500, random_state=0))
SLANT: dict[str, Any] = {"rotation": 45, "ha": "right", "va": "top", "rotation_mode": "anchor"}


@dataclasses.dataclass
class _Query:
    """One row, the leaf that it reaches, and texts about it."""

    tree: Tree
    words: Words
    labels: list[Any]
    row: npt.NDArray[Any]
    probabilities: Floats  # the table of the predictions, for the choice of a class

    def __post_init__(self) -> None:
        self.path = self.tree.path(int(traversal.leaf_ids(self.tree, self.row)[0]))
        self.leaf_weights = traversal.leaf_weights(self.tree, self.row)

    def class_index(self, target_class: Any) -> int:
        if target_class is None:
            return int(np.argmax(traversal.average(self.tree, self.row, self.probabilities)[0]))
        try:
            return self.labels.index(target_class)
        except ValueError:
            raise ValueError(f"target_class={target_class!r}: must be one of {self.labels}") from None

    def node_labels(self, n_characters: int, n_lines: int) -> list[str]:
        """For each node of the path the rule that leads to it, and its weight."""
        rules = ["all rows"]
        for node, child in zip(self.path[:-1], self.path[1:], strict=True):
            branch = int(np.flatnonzero(self.tree.children(node) == child)[0])
            name = self.words.feature(node)
            rule = self.words.rules(node)[branch].removeprefix(name).removesuffix(" (no training rows)")
            # A sign and its number stay on one line.
            rules.append(name + re.sub(r"^ (<=|>|=) ", lambda sign: f" {sign[1]}\u00a0", rule).replace("<=", "≤"))
        return [
            f"{_wrapped(rule, n_characters, n_lines)}\nn = {n:,.{0 if n == round(n) else 1}f}"
            for rule, n in zip(rules, self.tree.weights[self.path], strict=True)
        ]

    def title(self, class_index: int) -> str:
        title = f"From raw frequency to probability of {self.words.classes[class_index]}, for one query"
        if self.leaf_weights.nnz == 1:
            return title
        share = self.leaf_weights[0, self.path[-1]]
        return (
            f"{title}\nMissing values spread it over {self.leaf_weights.nnz} leaves: shown is the way "
            f"of the heaviest branch, to a leaf with {share:.0%} of its weight"
        )


def smoothing_paths(
    model_or_tree: PETClassifier | Tree,
    x_row: Any,
    *,
    estimators: Sequence[str | LeafEstimator] | None = None,
    target_class: Any = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how leaf estimators change the raw frequency of a class for one query.

    From left to right are the nodes on the query's path, each with the rule that leads to it and its weight n. The
    black line is the raw frequency, with markers whose area is the node's weight; each coloured line is the estimate
    of a leaf estimator at the same nodes. To the right of the leaf are the predictions of the estimators and their
    distances from the raw frequency. The estimate of HDP at an inner node is the prior of its children, so it can lie
    far from the frequency of the node's own rows.

    Parameters
    ----------
    model_or_tree : fitted PETClassifier, or Tree
    x_row : one row
        For a classifier, a row in the form of its data: an array, a list, a series or a data frame of one row. For a
        tree, the encoded row, n_features numbers. Where a missing value spreads the row over several branches, the
        heaviest is followed, and the title says so.
    estimators : list of names and leaf estimators, default: one of each kind
        By default also the classifier's own, ``smoothing_``, if it differs from these. Raw frequencies are always
        drawn.
    target_class : label of a class, or its index for a tree; default: the most probable class of the query
    feature_names, class_names : sequences, default: those of the classifier
    ax : matplotlib Axes, default: a new figure of the size that the picture needs
        The legend is placed to the right of it, so make its figure with ``layout="constrained"``.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import PETClassifier
    >>> from petiole.plotting import smoothing_paths
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = PETClassifier.c44().fit(X, y)
    >>> ax = smoothing_paths(model, X.iloc[[70]], target_class=1)
    >>> [line.get_label() for line in ax.lines[:3]]
    ['Raw', 'Laplace', 'MEstimate']
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting smoothing paths needs matplotlib: pip install matplotlib") from error
    query = _read_query(model_or_tree, x_row, feature_names, class_names)
    k = query.class_index(target_class)
    curves = {name: table[query.path, k] for name, table in _tables(model_or_tree, query.tree, estimators).items()}
    ax, distance = _axes(ax, plt, len(query.path), len(curves) - 1)
    _draw_curves(ax, curves, query.tree.weights[query.path] / (query.tree.weights[0] or 1.0))
    _draw_answers(ax, curves, distance)
    _label_nodes(ax, query, curves, distance)
    ax.set_title(query.title(k), loc="left", fontsize=FONT + 1, color=INK, parse_math=False)
    ax.set_ylabel(f"probability of {query.words.classes[k]}", fontsize=FONT, color=INK, parse_math=False)
    return ax


def _read_query(model_or_tree: Any, x_row: Any, feature_names: Any, class_names: Any) -> _Query:
    if isinstance(model_or_tree, Tree):
        tree = model_or_tree
        words = Words(tree, feature_names, class_names)
        return _Query(tree, words, list(range(tree.n_classes)), _tree_row(tree, x_row), Raw().node_probabilities(tree))
    if not isinstance(model_or_tree, PETClassifier):
        raise TypeError(f"model_or_tree={model_or_tree!r}: must be a fitted PETClassifier or a Tree")
    model = model_or_tree
    check_is_fitted(model)
    names = display_names(model)
    probabilities = names.pop("probabilities")
    given = {"feature_names": feature_names, "class_names": class_names}
    words = Words(model.tree_, **names | {key: value for key, value in given.items() if value is not None})
    return _Query(model.tree_, words, model.classes_.tolist(), _model_row(model, x_row), probabilities)


def _tree_row(tree: Tree, x_row: Any) -> Floats:
    row = np.asarray(x_row, dtype=np.float64)
    if row.shape != (tree.n_features,):
        raise ValueError(f"x_row: has shape {row.shape}, must be ({tree.n_features},): one number per feature")
    return row[np.newaxis]


def _model_row(model: PETClassifier, x_row: Any) -> npt.NDArray[Any]:
    """The row as the tree's matrix. Names are checked if it has some; a bare row is taken by position."""
    if np.ndim(x_row) == 1:
        is_series = isinstance(getattr(x_row, "index", None), Iterable) and hasattr(model, "feature_names_in_")
        x_row = x_row.to_frame().T if is_series else [list(x_row)]
    if np.ndim(x_row) != 2 or len(x_row) != 1:
        raise ValueError(f"x_row: has shape {np.shape(x_row)}, must be one row: for example X[0], or X.iloc[[0]]")
    return encode_queries(model, x_row) if hasattr(x_row, "columns") else model.encoder_.transform(x_row)


def _tables(model_or_tree: Any, tree: Tree, estimators: Sequence[str | LeafEstimator] | None) -> dict[str, Floats]:
    """The estimates at every node by the name of the leaf estimator; raw frequencies first."""
    tables = {"Raw": Raw().node_probabilities(tree)}
    chosen = [as_leaf_estimator(each) for each in (ONE_OF_EACH if estimators is None else estimators)]
    for index, each in enumerate(chosen):
        if each.needs_held_out:
            raise ValueError(
                f"estimators[{index}]={each!r}: has to be learned from rows the tree has not seen; fit a "
                "PETClassifier with smoothing=<this> and give its smoothing_, or give a number instead"
            )
        if not isinstance(each, Raw):
            tables[_name(each)] = each.node_probabilities(tree)
    if estimators is None and isinstance(model_or_tree, PETClassifier):
        own = model_or_tree.node_probabilities_
        if not any(np.array_equal(own, table) for table in tables.values()):
            tables[f"classifier's {_name(model_or_tree.smoothing_)}"] = own
    return tables


def _name(estimator: LeafEstimator) -> str:
    """The class and the parameters that differ from the default."""
    return " ".join(repr(estimator).split()).removesuffix("()")


def _axes(ax: Axes | None, plt: Any, n_nodes: int, n_answers: int) -> tuple[Axes, float]:
    """The axes to draw on, and how far apart neighbouring nodes are."""
    if ax is not None:
        inch = ax.figure.dpi_scale_trans.transform((1, 1))[0]  # in pixels
        width = ax.get_window_extent().width / inch
        return ax, max(width - n_answers * SLOT, width / 2) / (n_nodes + 0.5)
    distance = WIDE if n_nodes <= 6 else min(SLANTED, max(WIDEST_PATH / n_nodes, UPRIGHT))
    width = distance * (n_nodes + 0.5) + n_answers * SLOT + LEGEND_WIDTH
    height = HEIGHT + (0.0 if distance == WIDE else 1.0)
    return plt.figure(figsize=(width, height), layout="constrained").add_subplot(), distance


def _styles(curves: dict[str, Floats]) -> list[dict[str, Any]]:
    """A colour and a marker for each curve."""
    others = [{"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)]} for i in range(len(curves) - 1)]
    return [{"color": INK, "marker": "o"}, *others]


def _draw_curves(ax: Axes, curves: dict[str, Floats], shares: Floats) -> None:
    """The lines over the nodes of the path, and the legend."""
    nodes = np.arange(len(shares))
    areas = np.maximum(LARGEST_MARKER * shares, SMALLEST_MARKER)
    thick: dict[str, Any] = {"linewidth": 1.8, "markersize": 0, "zorder": 3}
    thin: dict[str, Any] = {"linewidth": 1.1, "markersize": 3.5, "zorder": 4}
    for (name, values), style in zip(curves.items(), _styles(curves), strict=True):
        look = thick if name == "Raw" else thin
        ax.plot(nodes, values, label=name, alpha=0.9, clip_on=False, **style, **look)
    ax.scatter(nodes, curves["Raw"], areas, color="#BBBBBB", edgecolor=INK, clip_on=False, zorder=2.5, gid="weights")
    handles = [line for line in ax.lines if line.get_label() in curves]
    texts = ["raw frequency\n(area of the marker: n)", *(_wrapped(name, 30, 3) for name in list(curves)[1:])]
    legend = ax.legend(handles, texts, loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=SMALL_FONT, frameon=False)
    for handle, text in zip(legend.get_lines(), legend.get_texts(), strict=True):
        handle.set_markersize(5)
        text.set_parse_math(False)


def _answer_places(n_nodes: int, n_answers: int, distance: float) -> Floats:
    return n_nodes - 0.7 + (np.arange(n_answers, dtype=np.float64) + 0.75) * SLOT / distance


def _draw_answers(ax: Axes, curves: dict[str, Floats], distance: float) -> None:
    """To the right of the leaf, a line from the raw frequency to each estimator's prediction, and its value."""
    raw, *others = (float(values[-1]) for values in curves.values())
    n_nodes = len(curves["Raw"])
    places = _answer_places(n_nodes, len(others), distance)
    ends = [n_nodes - 1, *places[-1:]]
    ax.plot(ends, np.full(len(ends), raw), color=QUIET, linewidth=0.8, linestyle=":", zorder=1)
    for x, answer, style in zip(places, others, _styles(curves)[1:], strict=True):
        ax.plot([x, x], [raw, answer], color=style["color"], linewidth=2.2, zorder=2, clip_on=False)
        ax.plot([x], [answer], markersize=7, linestyle="none", clip_on=False, zorder=4, gid="answer", **style)
        is_above = answer > raw or (answer == raw and raw < 0.5)
        offset, side = (7, "bottom") if is_above else (-7, "top")
        place: dict[str, Any] = {"xytext": (0, offset), "textcoords": "offset points", "ha": "center", "va": side}
        ax.annotate(f"{answer:.2f}", (x, answer), fontsize=SMALL_FONT, color=INK, annotation_clip=False, **place)


def _label_nodes(ax: Axes, query: _Query, curves: dict[str, Floats], distance: float) -> None:
    """The labels below the nodes, rotated if there is little space, and the names of the estimators."""
    n_nodes = len(query.path)
    look: dict[str, Any] = {}
    if distance >= 0.9:
        labels = query.node_labels(int(distance * 72 / (0.62 * SMALL_FONT)), 5)
    elif distance >= 0.55:
        labels, look = query.node_labels(26, 2), SLANT
    else:
        n_lines = max(int(distance * 72 / (1.25 * SMALL_FONT)) - 1, 1)
        labels, look = query.node_labels(34, n_lines), SLANT | {"rotation": 90, "va": "center"}
    places = _answer_places(n_nodes, len(curves) - 1, distance)
    short = [name.split("(")[0] for name in list(curves)[1:]]
    ax.set_xticks([*range(n_nodes), *places], [*labels, *short], fontsize=SMALL_FONT, color=INK, parse_math=False)
    for index, text in enumerate(ax.get_xticklabels()):
        text.set(**(look if index < n_nodes else SLANT))
    _draw_frame(ax, n_nodes - 0.7, (places[-1] if places.size else n_nodes - 1) + 0.5 * SLOT / distance)


def _draw_frame(ax: Axes, border: float, right: float) -> None:
    """The scale of probabilities, and what is left and right of the border."""
    ax.set(xlim=(-0.5, right), ylim=(-0.04, 1.14))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.tick_params(axis="y", labelsize=SMALL_FONT, labelcolor=INK)
    ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    style: dict[str, Any] = {"fontsize": SMALL_FONT, "color": QUIET, "va": "top"}
    ax.text(-0.4, 1.13, "path of the query, from the root to its leaf", **style)
    if right > border:
        ax.axvspan(border, right, color="#F5F5F5", zorder=0)
        ax.text((border + right) / 2, 1.13, "predictions at the leaf", ha="center", **style)


def _wrapped(text: str, n_characters: int, n_lines: int) -> str:
    return "\n".join(textwrap.wrap(text, n_characters, max_lines=n_lines, placeholder="…"))
