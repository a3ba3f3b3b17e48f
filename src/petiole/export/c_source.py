"""One tree or a small forest as C without dependencies: constant tables and a loop, in single precision, no malloc."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._tree.tree import Tree
from petiole.export.refusal import ExportError, check_exportable
from petiole.files.atomic import write_atomically

Array = npt.NDArray[Any]
NUMBERS_PER_LINE = 12
_C_TYPES = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "float32": "float",
}


def to_c(model: Any, *, name: str = "petiole_model", path: str | os.PathLike[str] | None = None) -> str:
    """Write a fitted tree, or a forest that averages, as a C file without dependencies.

    The file defines ``void <name>_predict(const float *x, float *proba)``. ``x`` has the features in the order of
    training: numbers, the position of a category in the list that the file gives, ``NAN`` for a missing value.
    ``proba`` gets a probability per class. All tables are constant, nothing is allocated, and rows with missing values
    are divided over branches as petiole does it. Thresholds are rounded down to single precision, so that every
    single-precision value takes the same path as in petiole.

    Parameters
    ----------
    model : fitted PETClassifier or BaggedPETClassifier
    name : str, default="petiole_model"
        The prefix of the names in the file.
    path : where to write it, optional

    Returns
    -------
    str
        The source; its first lines give the size of the tables in bytes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import PETClassifier
    >>> from petiole.export import to_c
    >>> X, y = load_iris(return_X_y=True)
    >>> source = to_c(PETClassifier.c45().fit(X, y), name="iris")
    >>> "void iris_predict(const float *x, float *proba)" in source
    True
    """
    why_not = "the C file averages leaf probabilities, and this model does more than that."
    check_exportable(model, (PETClassifier, BaggedPETClassifier), "C", why_not)
    if not (name.isidentifier() and name.isascii()):
        raise ExportError(f"name={name!r}: must be a name in C: letters, digits and _, not a digit first")
    source = _Source(model, name).text()
    if path is not None:
        write_atomically(path, [source.encode("utf-8")])
    return source


@dataclass(frozen=True)
class Nodes:
    """All trees as one list of nodes, the children of a node next to each other.

    ``next`` is the first child of a split and the row in the leaf table of a leaf; ``category`` is where the branches
    of a categorical split begin.
    """

    roots: Array
    feature: Array
    threshold: Array
    next: Array
    category: Array
    n_categories: Array
    branches: Array
    missing: Array
    n_children: Array
    share: Array  # of a row with a missing value that a child gets

    @property
    def divides_rows(self) -> bool:
        return bool(((self.missing < 0) & (self.feature >= 0)).any())


def lay_out(trees: Sequence[Tree]) -> Nodes:
    """The nodes of all trees, each tree level by level."""
    parts: dict[str, list[Any]] = {name: [] for name in Nodes.__dataclass_fields__ if name not in ("roots", "branches")}
    roots, branches = [], []
    n_nodes = n_leaves = n_branches = 0
    for tree in trees:
        order = _level_order(tree)
        position = np.empty(tree.n_nodes, dtype=np.int64)
        position[order] = np.arange(tree.n_nodes)
        split, n_children = ~tree.is_leaf[order], np.diff(tree.child_start)[order]
        first = np.zeros(tree.n_nodes, dtype=np.int64)
        first[split] = position[tree.child_nodes[tree.child_start[:-1][order[split]]]] + n_nodes
        row = np.zeros(tree.n_nodes, dtype=np.int64)
        row[tree.leaves] = np.arange(tree.n_leaves) + n_leaves
        roots.append(n_nodes)
        parts["feature"].append(tree.feature[order])
        parts["threshold"].append(np.where(np.isnan(tree.threshold), 0.0, tree.threshold)[order])
        parts["next"].append(np.where(split, first, row[order]))
        parts["category"].append(tree.category_start[:-1][order] + n_branches)
        parts["n_categories"].append(np.diff(tree.category_start)[order])
        parts["missing"].append(tree.missing_branch[order])
        parts["n_children"].append(n_children)
        parts["share"].append(_shares(tree)[order])
        branches.append(tree.category_branch)
        n_nodes, n_leaves = n_nodes + tree.n_nodes, n_leaves + tree.n_leaves
        n_branches += len(tree.category_branch)
    joined = {field: np.concatenate(arrays) for field, arrays in parts.items()}
    return Nodes(roots=np.array(roots), branches=np.concatenate(branches), **joined)


def _level_order(tree: Tree) -> Array:
    """Nodes so that the children of a node follow each other in branch order."""
    order = [0]
    for node in order:  # grows while it is walked
        order.extend(tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]].tolist())
    return np.array(order)


def _shares(tree: Tree) -> Array:
    share = np.ones(tree.n_nodes)
    for node in np.flatnonzero(~tree.is_leaf):
        children = tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]]
        total = tree.spread_weights[children].sum()
        share[children] = tree.spread_weights[children] / total if total > 0 else 1 / len(children)
    return share


def rounded_down(values: Array) -> Array:
    """The largest single-precision numbers that are not above the values."""
    single = values.astype(np.float32)
    return np.where(single > values, np.nextafter(single, np.float32(-np.inf)), single).astype(np.float32)


class _Source:
    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name = model, name
        is_tree = isinstance(model, PETClassifier)
        self.trees = [model.tree_] if is_tree else list(model.trees_)
        tables = [model.node_probabilities_[model.tree_.leaves]] if is_tree else model.tables_
        self.nodes = lay_out(self.trees)
        self.leaves = np.concatenate(tables) / len(self.trees)
        self.smooths_votes = not is_tree and model.voting == "laplace"
        self.has_categorical = bool(self.nodes.n_categories.any())

    def text(self) -> str:
        tables = self._tables()
        n_bytes = sum(array.nbytes for array in tables.values())
        parts = [
            self._heading(n_bytes),
            "#include <stdint.h>\n",
            *(_table(field, array) for field, array in tables.items()),
            self._functions(),
        ]
        return "\n".join(parts)

    def _tables(self) -> dict[str, Array]:
        nodes = self.nodes
        tables = {
            "ROOT": _narrow(nodes.roots),
            "FEATURE": _narrow(nodes.feature),
            "THRESHOLD": rounded_down(nodes.threshold),
            "NEXT": _narrow(nodes.next),
            "MISSING": _narrow(nodes.missing),
        }
        if self.has_categorical:
            tables |= {
                "CATEGORY": _narrow(nodes.category),
                "N_CATEGORIES": _narrow(nodes.n_categories),
                "BRANCH": _narrow(nodes.branches),
            }
        if nodes.divides_rows:
            tables |= {"N_CHILDREN": _narrow(nodes.n_children), "SHARE": nodes.share.astype(np.float32)}
        return tables | {"LEAF": self.leaves.astype(np.float32)}

    def _heading(self, n_bytes: int) -> str:
        model, trees = self.model, len(self.trees)
        encoder = model.encoder_
        names = encoder.feature_names or [f"x{index}" for index in range(encoder.n_features)]
        lines = [
            f"/* {self.name}: {type(model).__name__}, {trees} {'tree' if trees == 1 else 'trees'}, "
            f"{encoder.n_features} features, {len(model.classes_)} classes. */",
            f"/* Tables: {n_bytes} bytes in {len(self.nodes.feature)} nodes. */",
            "/* Features, in this order; a category is given by its position, a missing value by NAN: */",
        ]
        for index, (name, categories) in enumerate(zip(names, encoder.categories, strict=True)):
            kind = (
                "a number" if categories is None else ", ".join(f"{i} = {c}" for i, c in enumerate(categories.tolist()))
            )
            lines.append(_comment(f"x[{index}]: {name}: {kind}"))
        lines.append(
            _comment("Classes: " + ", ".join(f"proba[{k}] = {c}" for k, c in enumerate(model.classes_.tolist())))
        )
        return "\n".join(lines)

    def _functions(self) -> str:
        n_trees, n_classes = len(self.trees), self.leaves.shape[1]
        smooth = f"proba[k] = (proba[k] * {n_trees}.0f + 1.0f) / {n_trees + n_classes}.0f" if self.smooths_votes else ""
        walk = _DIVIDED_WALK.replace("$stack", str(_stack_size(self.trees))) if self.nodes.divides_rows else _WALK
        parts = [
            _BRANCH.replace("$categorical", _CATEGORICAL_BRANCH if self.has_categorical else ""),
            walk,
            _PREDICT.replace("$smooth", f"\n    for (int k = 0; k < $classes; ++k) {smooth};" if smooth else ""),
        ]
        text = "\n".join(parts)
        return text.replace("$classes", str(n_classes)).replace("$trees", str(n_trees)).replace("$name", self.name)


def _stack_size(trees: Iterable[Tree]) -> int:
    """The largest number of parts of a row that can be on the stack."""
    most = 1
    for tree in trees:
        divides = ~tree.is_leaf & (tree.missing_branch < 0)
        waiting = np.ones(tree.n_nodes, dtype=int)
        for node in _level_order(tree):
            children = tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]]
            waiting[children] = waiting[node] + (len(children) - 1 if divides[node] else 0)
        most = max(most, int(waiting.max()))
    return most


def _narrow(array: Array) -> Array:
    """The same whole numbers in the smallest type that can hold them."""
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array.astype(np.uint32)


def _table(name: str, array: Array) -> str:
    flat = array.ravel()
    numbers = [_float(value) for value in flat] if array.dtype.kind == "f" else [str(value) for value in flat]
    lines = [", ".join(numbers[start : start + NUMBERS_PER_LINE]) for start in range(0, len(numbers), NUMBERS_PER_LINE)]
    size = max(1, flat.size)
    return (
        f"static const {_C_TYPES[array.dtype.name]} {name}[{size}] = {{\n    " + ",\n    ".join(lines or ["0"]) + "};\n"
    )


def _float(value: np.float32) -> str:
    """A constant of single precision that reads back as the same number."""
    if np.isinf(value):
        return "(1.0f / 0.0f)" if value > 0 else "(-1.0f / 0.0f)"
    text = np.format_float_scientific(value, unique=True, trim="0")
    return f"{text}f"


def _comment(text: str) -> str:
    """One line of comment, whatever the text contains."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    for mark in ("*/", "/*", "??/"):
        printable = printable.replace(mark, " ".join(mark))
    return f"/* {printable} */"


_BRANCH = """/* The branch that a value takes at a node; -1: the row is divided over all branches. */
static int branch_of(int node, float value) {$categorical
    if (value != value) return MISSING[node];
    return value > THRESHOLD[node];
}
"""

_CATEGORICAL_BRANCH = """
    if (N_CATEGORIES[node] > 0) {
        int branch = -1;
        if (value >= 0 && value < (float)N_CATEGORIES[node]) branch = BRANCH[CATEGORY[node] + (int)value];
        return branch >= 0 ? branch : MISSING[node];
    }"""

_WALK = """static void add_tree(int node, const float *x, float *proba) {
    while (FEATURE[node] >= 0) node = NEXT[node] + branch_of(node, x[FEATURE[node]]);
    const float *leaf = LEAF + (int32_t)NEXT[node] * $classes;
    for (int k = 0; k < $classes; ++k) proba[k] += leaf[k];
}
"""

_DIVIDED_WALK = """static void add_tree(int root, const float *x, float *proba) {
    int32_t waiting[$stack];
    float weight[$stack];
    int n_waiting = 1;
    waiting[0] = root;
    weight[0] = 1.0f;
    while (n_waiting > 0) {
        const int32_t node = waiting[--n_waiting];
        const float part = weight[n_waiting];
        if (FEATURE[node] < 0) {
            const float *leaf = LEAF + (int32_t)NEXT[node] * $classes;
            for (int k = 0; k < $classes; ++k) proba[k] += part * leaf[k];
            continue;
        }
        const int branch = branch_of(node, x[FEATURE[node]]);
        for (int c = 0; c < N_CHILDREN[node]; ++c) {
            const int32_t child = NEXT[node] + c;
            if (branch >= 0 ? c != branch : SHARE[child] <= 0) continue;
            waiting[n_waiting] = child;
            weight[n_waiting++] = branch >= 0 ? part : part * SHARE[child];
        }
    }
}
"""

_PREDICT = """void $name_predict(const float *x, float *proba) {
    for (int k = 0; k < $classes; ++k) proba[k] = 0.0f;
    for (int t = 0; t < $trees; ++t) add_tree(ROOT[t], x, proba);$smooth
}
"""
