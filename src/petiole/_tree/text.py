"""Trees as text: names for features, classes and categories, the rule of every branch, text and tables."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

    from petiole._tree.tree import Tree

MAX_CATEGORIES = 8  # a longer list of categories is shortened


class Words:
    """The names of the features, branches and classes of a tree."""

    def __init__(
        self,
        tree: Tree,
        feature_names: Sequence[Any] | None = None,
        class_names: Sequence[Any] | None = None,
        categories: Sequence[Sequence[Any] | None] | None = None,
        date_text: Callable[[int, float], str | None] | None = None,
    ) -> None:
        self.tree = tree
        self._date_text = date_text
        self.classes = _labels("class_names", class_names, tree.n_classes)
        self.classes = self.classes or [f"class {k}" for k in range(tree.n_classes)]
        self._features = _labels("feature_names", feature_names, tree.n_features)
        self._categories = _category_labels(tree, categories)
        self._digits = _threshold_digits(tree)

    def feature(self, node: int) -> str:
        """What a node tests: a feature, or a weighted sum of several."""
        tree = self.tree
        tested = tree.tested_features(node)
        names = [self._features[feature] if self._features else f"x{feature}" for feature in tested]
        weights = tree.projection_weight[tree.projection_start[node] : tree.projection_start[node + 1]]
        return weighted_sum(names, weights.tolist()) if weights.size else names[0]

    def threshold(self, node: int) -> str:
        tested = self.tree.tested_features(node)
        if self._date_text is not None and len(tested) == 1:
            date = self._date_text(int(tested[0]), float(self.tree.threshold[node]))
            if date is not None:
                return date
        return f"{self.tree.threshold[node]:.{self._digits[node]}g}"

    def top_class(self, probabilities: npt.NDArray[np.float64]) -> str:
        """The most probable class; a question mark if there are no rows."""
        return self.classes[int(np.argmax(probabilities))] if probabilities.any() else "?"

    def branch_categories(self, node: int) -> list[list[str]]:
        """The names of the categories that take each branch of a categorical split."""
        tree = self.tree
        names: list[list[str]] = [[] for _ in tree.children(node)]
        labels = self._categories[tree.feature[node]] if self._categories else None
        branches = tree.category_branch[tree.category_start[node] : tree.category_start[node + 1]]
        for code in np.flatnonzero(branches >= 0):
            names[branches[code]].append(str(code) if labels is None else labels[code])
        return names

    def rules(self, node: int) -> list[str]:
        """The condition of each branch of a split."""
        tree, name = self.tree, self.feature(node)
        missing, children = tree.missing_branch[node], tree.children(node)
        n_rows = tree.inbag_class_counts[children].sum(axis=1)
        if tree.kind[node] != "nominal":
            known = self._numeric_conditions(node)
        else:
            branches = zip(self.branch_categories(node), n_rows, strict=True)
            known = [_condition(categories, n > 0) for categories, n in branches]
        if missing >= 0:
            known[missing] = f"{known[missing]} or missing" if known[missing] else "is missing"
        notes = ["" if n > 0 else " (no training rows)" for n in n_rows]
        return [f"{name} {rule or 'in {}'}{note}" for rule, note in zip(known, notes, strict=True)]

    def _numeric_conditions(self, node: int) -> list[str]:
        """Conditions on known values; empty for a branch that no known value takes."""
        tree = self.tree
        if tree.threshold[node] == np.inf:
            return ["is known", "" if tree.missing_branch[node] == 1 else "> inf"]
        threshold = self.threshold(node)
        return [f"<= {threshold}", f"> {threshold}", ""][: tree.children(node).size]


def _condition(categories: list[str], has_rows: bool) -> str:
    if len(categories) == 1 and has_rows:
        return f"= {categories[0]}"
    return f"in {{{shorten_list(categories)}}}" if categories else ""


def weighted_sum(names: Sequence[str], weights: Sequence[float]) -> str:
    """A weighted sum as text.

    >>> weighted_sum(["length", "width", "depth"], [0.5, -2, 1])
    '0.5*length - 2*width + depth'
    """
    text = ""
    for name, weight in zip(names, weights, strict=True):
        sign = " - " if weight < 0 else " + "
        amount = "" if abs(weight) == 1 else f"{abs(weight):.6g}*"
        text += f"{sign if text else sign.strip(' +')}{amount}{name}"
    return text


def shorten_list(names: list[str], limit: int = MAX_CATEGORIES, more: str = "...") -> str:
    """Names joined by commas, at most ``limit`` entries.

    >>> shorten_list(["a", "b", "c", "d", "e"], limit=3)
    'a, b, ... 3 more'
    """
    if len(names) > limit:
        names = [*names[: limit - 1], f"{more} {len(names) - limit + 1} more"]
    return ", ".join(names)


def _labels(name: str, given: Sequence[Any] | None, n: int) -> list[str]:
    """One line of text per label; no labels if none were given."""
    if given is None:
        return []
    if len(given) != n:
        raise ValueError(f"{name}: has {len(given)} entries; the tree needs {n}")
    return [_one_line(label) for label in given]


def _one_line(label: Any) -> str:
    return " ".join(str(label).splitlines())


def _category_labels(tree: Tree, given: Sequence[Sequence[Any] | None] | None) -> list[list[str] | None]:
    if given is None:
        return []
    if len(given) != tree.n_features:
        remedy = f"the tree needs {tree.n_features}, one per feature, None for a numeric one"
        raise ValueError(f"categories: has {len(given)} entries; {remedy}")
    labels = [None if names is None else [_one_line(name) for name in names] for names in given]
    n_categories = np.zeros(tree.n_features + 1, dtype=np.int64)  # the last entry belongs to the leaves
    np.maximum.at(n_categories, tree.feature, np.diff(tree.category_start))
    for feature, names in enumerate(labels):
        if names is not None and len(names) < n_categories[feature]:
            needed = n_categories[feature]
            raise ValueError(f"categories[{feature}]: has {len(names)} names; the tree needs {needed}")
    return labels


def _threshold_digits(tree: Tree) -> npt.NDArray[np.int64]:
    """Significant digits per node: at least 6, and enough to tell a feature's thresholds from each other."""
    digits = np.full(tree.n_nodes, 6)
    nodes = np.flatnonzero(np.isfinite(tree.threshold))
    nodes = nodes[np.lexsort((tree.threshold[nodes], tree.feature[nodes]))]
    feature, threshold = tree.feature[nodes], tree.threshold[nodes]
    is_new = np.append(True, (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1]))[: nodes.size]
    cut = np.cumsum(is_new) - 1  # nodes with equal tests share a cut
    feature, threshold = feature[is_new], threshold[is_new]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        magnitude = np.floor(np.log10(np.abs(threshold)))
        step = np.floor(np.log10(np.diff(threshold)))
    step[feature[1:] != feature[:-1]] = np.inf
    finest = np.minimum(np.append(np.inf, step), np.append(step, np.inf))[: threshold.size]
    wanted = np.maximum(magnitude - finest + 1, np.where(magnitude < 15, magnitude + 2, 0))
    digits[nodes] = np.clip(np.nan_to_num(wanted, nan=6, neginf=6), 6, 17)[cut]
    return digits


def class_shares(tree: Tree, node: int) -> npt.NDArray[np.float64]:
    """In-bag class shares of a node; without rows, those of the nearest ancestor that has some."""
    counts = tree.inbag_class_counts[node]
    while not counts.any() and node != 0:
        node = int(tree.parent[node])
        counts = tree.inbag_class_counts[node]
    return normalised(counts)


def normalised(row: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The row divided by its sum; zeros stay zeros."""
    return np.divide(row, row.sum() or 1.0)


def check_probabilities(tree: Tree, probabilities: npt.ArrayLike) -> npt.NDArray[np.float64]:
    table = np.asarray(probabilities, dtype=np.float64)
    if table.shape != tree.inbag_class_counts.shape:
        remedy = f"must be {tree.inbag_class_counts.shape}: a row per node, a column per class"
        raise ValueError(f"probabilities: has shape {table.shape}, {remedy}")
    if not (np.isfinite(table) & (table >= 0)).all():
        raise ValueError("probabilities: must be finite and 0 or more")
    return table


def check_depth(max_depth: int | None) -> int | None:
    if max_depth is not None and operator.index(max_depth) < 0:
        raise ValueError(f"max_depth={max_depth}: must be 0 or more, or None for the whole tree")
    return max_depth


def n_hidden_nodes(tree: Tree, max_depth: int | None) -> npt.NDArray[np.int64]:
    """The number of nodes that each node hides if the tree is cut at ``max_depth``."""
    if max_depth is None or tree.depth <= max_depth:
        return np.zeros(tree.n_nodes, dtype=np.int64)
    is_hidden = tree.node_depth > max_depth
    shown = np.where(is_hidden, tree.parent, np.arange(tree.n_nodes))
    while is_hidden[shown].any():
        shown = shown[shown]
    return np.bincount(shown[is_hidden], minlength=tree.n_nodes)


def export_text(
    tree: Tree,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    categories: Sequence[Sequence[Any] | None] | None = None,
    probabilities: npt.ArrayLike | None = None,
    max_depth: int | None = None,
    decimals: int = 2,
) -> str:
    """A tree as indented text: a line per branch, and at a leaf its class and the weight of its in-bag rows.

    A missing value takes the branch that says ``missing``; where none does, it is spread over all branches.
    A category that no branch names is treated as missing. A leaf without training rows shows the class of its
    nearest ancestor that has some.

    Parameters
    ----------
    tree : Tree
    feature_names : sequence of n_features names, default ``x0``, ``x1``, ...
    class_names : sequence of n_classes names, default ``class 0``, ``class 1``, ...
    categories : sequence with, per feature, the names of its categories, or None; default: their codes
    probabilities : array (n_nodes, n_classes), optional
        Printed at the leaves; the most probable class is then the class shown.
    max_depth : int, optional
        Nodes at this depth are shown as leaves, with the number of hidden nodes below.
    decimals : int, default 2
        Of the probabilities.
    """
    words = Words(tree, feature_names, class_names, categories)
    table = None if probabilities is None else check_probabilities(tree, probabilities)
    hidden = n_hidden_nodes(tree, check_depth(max_depth))
    lines = []
    for node, rule in _walk(words, hidden):
        if tree.is_leaf[node] or hidden[node]:
            outcome = _outcome(words, node, None if table is None else table[node], decimals)
            more = f"  ... ({hidden[node]} more nodes)" if hidden[node] else ""
            rule = f"{rule}: {outcome}{more}" if rule else f"{outcome}{more}"
        if rule:
            lines.append("|   " * (int(tree.node_depth[node]) - 1) + rule)
    return "\n".join(lines)


def _walk(words: Words, hidden: npt.NDArray[np.int64]) -> Iterator[tuple[int, str]]:
    """The shown nodes from top to bottom, each with the rule of the branch that leads to it."""
    tree, stack = words.tree, [(0, "")]
    while stack:
        node, rule = stack.pop()
        yield node, rule
        if not (tree.is_leaf[node] or hidden[node]):
            stack.extend(zip(tree.children(node).tolist()[::-1], words.rules(node)[::-1], strict=True))


def _outcome(words: Words, node: int, row: npt.NDArray[np.float64] | None, decimals: int) -> str:
    shares = class_shares(words.tree, node) if row is None else row
    weight = words.tree.inbag_class_counts[node].sum()
    amount = f"{weight:.2g}" if 0 < weight < 0.05 else f"{weight:.1f}"
    text = f"{words.top_class(shares)} ({amount})"
    return text if row is None else f"{text}  [{' '.join(f'{p:.{decimals}f}' for p in row)}]"


def to_frame(
    tree: Tree,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    categories: Sequence[Sequence[Any] | None] | None = None,
) -> pd.DataFrame:
    """A pandas DataFrame with a row per node: its split, the rule that leads to it, its in-bag counts.

    The arguments are those of `export_text`. The column ``n_<class>`` holds the weight of a class.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Tree.to_frame needs pandas: pip install pandas") from error
    words = Words(tree, feature_names, class_names, categories)
    rules = dict(_walk(words, np.zeros(tree.n_nodes, dtype=np.int64)))
    columns = {
        "node": np.arange(tree.n_nodes),
        "parent": tree.parent,
        "depth": tree.node_depth,
        "kind": tree.kind,
        "feature": [None if leaf else words.feature(i) for i, leaf in enumerate(tree.is_leaf.tolist())],
        "threshold": tree.threshold,
        "rule": [rules[node] for node in range(tree.n_nodes)],
        "n_inbag": tree.inbag_class_counts.sum(axis=1),
    }
    names = range(tree.n_classes) if class_names is None else words.classes
    counts = pd.DataFrame(tree.inbag_class_counts, columns=[f"n_{name}" for name in names])
    return pd.concat([pd.DataFrame(columns), counts], axis=1)
