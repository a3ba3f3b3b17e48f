"""Explanation of predictions of lazy option trees: the paths of one query, as text and as a picture."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from petiole._tree import drawing
from petiole._validation import check_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

MAX_PATHS = 100_000  # more would be too many to read
SIGNS = (">", "<", "≠")


@dataclass(frozen=True)
class OptionTest:
    """A test that is true for the query: ``feature sign value``; ``gain`` is in bits."""

    feature: int
    name: str
    sign: str
    value: Any
    gain: float

    def __str__(self) -> str:
        value = f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)
        return f"{self.name} {self.sign} {value}"


@dataclass(frozen=True)
class OptionPath:
    """A path from the root of a tree to a leaf.

    Attributes
    ----------
    tree : int
        The number of the bootstrap sample.
    tests : tuple of OptionTest
        In the order in which they were chosen.
    class_counts : array of shape (n_classes,)
        Weights of the classes among the rows that satisfy all tests.
    probabilities : array of shape (n_classes,)
        The class probabilities of the leaf.
    share : float
        Its share of the prediction; the shares of all paths sum to 1.
    """

    tree: int
    tests: tuple[OptionTest, ...]
    class_counts: Floats
    probabilities: Floats
    share: float

    def __str__(self) -> str:
        counts = ", ".join(f"{count:g}" for count in self.class_counts)
        return f"{self.share:.4f}  {' and '.join(map(str, self.tests)) or 'all rows'}: [{counts}]"


class OptionGraph:
    """The lazy option tree of one query in one sample. Paths that meet in the same rows share a node."""

    def __init__(self, arrays: dict[str, Any], path_prior: float) -> None:
        self.class_counts: Floats = arrays["class_counts"]
        self.first_option: npt.NDArray[np.int32] = arrays["first_option"]
        self.child: npt.NDArray[np.int32] = arrays["child"]
        self.share: Floats = arrays["share"]
        self._arrays = arrays
        self._path_prior = path_prior

    @property
    def n_nodes(self) -> int:
        return len(self.share)

    def options(self, node: int) -> range:
        """Indices into ``child`` of the node's options, best first."""
        return range(self.first_option[node], self.first_option[node + 1])

    @functools.cached_property
    def n_paths(self) -> npt.NDArray[np.float64]:
        """The number of paths from each node to a leaf."""
        counts = np.zeros(self.n_nodes)
        # A child is lighter than its parent.
        for node in np.argsort(self.class_counts.sum(axis=1), kind="stable"):
            counts[node] = sum(counts[self.child[option]] for option in self.options(node)) or 1.0
        return counts

    def answer(self, node: int, above: Floats) -> Floats:
        """The probabilities of a node whose parent has the probabilities ``above``."""
        counts = self.class_counts[node]
        answer: Floats = (counts + self._path_prior * above) / (counts.sum() + self._path_prior)
        return answer

    def raw_test(self, option: int) -> tuple[int, str, float, float]:
        """Feature, sign, value (a category's code if categorical) and gain of an option."""
        feature, sign, value, gain = (self._arrays[name][option] for name in ("feature", "sign", "value", "gain"))
        return int(feature), SIGNS[sign], float(value), float(gain)


class LazyExplanation:
    """The lazy option trees of one query.

    Made by :meth:`LazyOptionTreesClassifier.explain`.

    Attributes
    ----------
    trees : list of OptionGraph
    classes : list of class labels
    n_paths : int
        Number of paths in all trees.
    paths : list of OptionPath
        All paths, the largest share first.
    probabilities : array of shape (n_classes,)
        The prediction: the mean of the paths' probabilities, weighted by their shares.
    """

    def __init__(
        self,
        trees: Sequence[OptionGraph],
        numbers: Sequence[int],
        classes: Sequence[Any],
        feature_names: Sequence[str],
        categories: Sequence[Any],
    ) -> None:
        self.trees = list(trees)
        self.numbers = list(numbers)
        self.classes = list(classes)
        self._feature_names = list(feature_names)
        self._categories = list(categories)

    @property
    def n_paths(self) -> int:
        return int(sum(tree.n_paths[0] for tree in self.trees))

    @functools.cached_property
    def paths(self) -> list[OptionPath]:
        if self.n_paths > MAX_PATHS:
            raise ValueError(
                f"paths: there are {self.n_paths:,}, more than {MAX_PATHS:,}; explain fewer trees (trees=[0]), or plot"
            )
        found = [path for position in range(len(self.trees)) for path in self._paths_of(position)]
        return sorted(found, key=lambda path: -path.share)

    @property
    def probabilities(self) -> Floats:
        return np.sum([path.share * path.probabilities for path in self.paths], axis=0)

    def _paths_of(self, position: int) -> Iterator[OptionPath]:
        graph, number = self.trees[position], self.numbers[position]
        uniform = np.full(len(self.classes), 1 / len(self.classes))
        stack: list[tuple[int, tuple[OptionTest, ...], float, Floats]] = [
            (0, (), 1.0 / len(self.trees), graph.answer(0, uniform))
        ]
        while stack:
            node, tests, share, answer = stack.pop()
            options = graph.options(node)
            if not options:
                yield OptionPath(number, tests, graph.class_counts[node], answer, share)
            for option in reversed(options):
                child = int(graph.child[option])
                further = (*tests, self._test(graph, option))
                stack.append((child, further, share / len(options), graph.answer(child, answer)))

    def _test(self, graph: OptionGraph, option: int) -> OptionTest:
        feature, sign, value, gain = graph.raw_test(option)
        categories = self._categories[feature]
        shown = value if categories is None else categories[int(value)]
        return OptionTest(feature, self._feature_names[feature], sign, shown, gain)

    def __str__(self) -> str:
        """The ten paths with the largest shares."""
        lines = [str(path) for path in self.paths[:10]]
        if len(self.paths) > 10:
            lines.append(f"... and {len(self.paths) - 10:,} more paths in {len(self.trees)} trees")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"LazyExplanation({len(self.trees)} trees, {self.n_paths:,} paths)"

    def plot(
        self, tree: int = 0, *, max_depth: int | None = 3, colors: Sequence[Any] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw one tree, as in figure 1.1 of Margineantu & Dietterich (2002).

        Each branch has a test that is true for the query. A box shows the number n of rows that satisfy all tests on
        the path to it, their classes as a bar and, at the end of a path, the class counts and the path's share of the
        tree's prediction.

        Parameters
        ----------
        tree : int, default=0
            Position in ``trees``.
        max_depth : int or None, default=3
            Nodes at this depth are drawn as ends, with the number of paths that they hide.
        colors : sequence of n_classes matplotlib colours, default: a colour-blind-safe palette (up to 8 classes)
        ax : matplotlib Axes, default: a new figure of the size that the picture needs
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plotting a lazy option tree needs matplotlib: pip install matplotlib") from error
        check_whole("max_depth", max_depth, 0, optional=True)
        if isinstance(tree, bool) or not isinstance(tree, int) or not 0 <= tree < len(self.trees):
            raise ValueError(f"tree={tree!r}: must be a position in trees, 0 to {len(self.trees) - 1}")
        drawn: Any = _DrawnTree(self, self.trees[tree], max_depth)
        palette = drawing.choose_colors(len(self.classes), colors)
        picture = drawing.Picture(drawn, drawn.boxes, [str(label) for label in self.classes], palette)
        if ax is None:
            figure = plt.figure(figsize=(picture.width, picture.height))
            ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        picture.draw(ax)
        return ax


class _DrawnTree:
    """The part of the graph that is drawn, as a tree, with the attributes of a ``Tree`` that a drawing needs."""

    def __init__(self, explanation: LazyExplanation, graph: OptionGraph, max_depth: int | None) -> None:
        self.boxes: list[drawing.Box] = []
        self._explanation, self._graph = explanation, graph
        self._children: list[list[int]] = []
        depths, counts, is_leaf = [], [], []
        stack = [(0, 0, 1.0, -1)]
        n_ends = 0
        while stack:
            node, depth, share, parent = stack.pop()
            number = len(self.boxes)
            if parent >= 0:
                self._children[parent].append(number)
            options = graph.options(node)
            is_end = not options or depth == max_depth
            n_ends += is_end
            if n_ends > drawing.MAX_LEAVES:
                raise ValueError(
                    f"max_depth={max_depth!r}: more than {drawing.MAX_LEAVES} ends of paths to draw; lower it"
                )
            self.boxes.append(self._box(number, node, share, is_end))
            self._children.append([])
            depths.append(depth)
            counts.append(graph.class_counts[node])
            is_leaf.append(not options)
            if not is_end:
                children = [(int(graph.child[o]), depth + 1, share / len(options), number) for o in options]
                stack.extend(reversed(children))
        self.node_depth = np.array(depths)
        self.inbag_class_counts = np.array(counts)
        self.is_leaf = np.array(is_leaf)

    def children(self, node: int) -> npt.NDArray[np.int64]:
        return np.array(self._children[node], dtype=np.int64)

    def _box(self, number: int, node: int, share: float, is_end: bool) -> drawing.Box:
        counts = self._graph.class_counts[node]
        shares, options = counts / counts.sum(), self._graph.options(node)
        footer = [f"n = {counts.sum():,.6g}"]
        if not is_end:
            explanation = self._explanation
            labels = [str(explanation._test(self._graph, option)) for option in options]
            title = "all rows" if number == 0 else f"{len(options)} option{'s' if len(options) > 1 else ''}"
            return drawing.Box(number, [title], footer, shares, False, labels)
        label = str(self._explanation.classes[int(counts.argmax())])
        if counts.size <= 4:
            footer = [" : ".join(f"{count:,.6g}" for count in counts)]
        footer.append(f"share {share:.1%}")
        if options:
            footer.append(f"… ({self._graph.n_paths[node]:,.0f} paths)")
        return drawing.Box(number, drawing.wrap_label(label, drawing.WIDE, bold=True), footer, shares, True)
