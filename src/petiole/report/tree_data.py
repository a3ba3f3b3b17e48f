"""The single tree for its explorer: rules, counts, and raw and smoothed probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._classifiers.pet import PETClassifier
from petiole._tree.text import Words, class_shares
from petiole.report.curves import rounded
from petiole.study import Study

MOST_NODES = 800
MOST_CLASSES = 8  # that a node lists, the most probable first


def tree_data(study: Study, model: PETClassifier) -> dict[str, Any]:
    """The tree of a fitted model, cut where the page would become too large; node 0 is the root."""
    tree, words = model.tree_, _words(model, study)
    order = _from_the_top(tree)
    number = {node: i for i, node in enumerate(order)}
    rules = {0: "all rows"}
    for node in order:
        if not tree.is_leaf[node]:
            rules |= dict(zip(tree.children(node).tolist(), words.rules(node), strict=True))
    nodes = [_node(model, node, number, rules[node], words) for node in order]
    return {"nodes": nodes, "n_nodes": int(tree.n_nodes), "n_leaves": int(tree.n_leaves), "depth": int(tree.depth)}


def _words(model: PETClassifier, study: Study) -> Words:
    categories: list[Any] = model.encoder_.categories
    classes = [str(label) for label in model.classes_]
    return Words(model.tree_, study.data.names, classes, categories, study.data.encoder.date_text)


def _from_the_top(tree: Any) -> list[int]:
    """Nodes level by level, heaviest first within a level; children are taken together or not at all."""
    order, level = [0], [0]
    while level:
        below = []
        for node in level:
            children = tree.children(node).tolist()
            if children and len(order) + len(children) <= MOST_NODES:
                order += children
                below += children
        level = sorted(below, key=lambda node: -float(tree.inbag_class_counts[node].sum()))
    return order


def _node(model: PETClassifier, node: int, number: dict[int, int], rule: str, words: Words) -> dict[str, Any]:
    tree = model.tree_
    counts, raw, smooth = tree.inbag_class_counts[node], class_shares(tree, node), model.node_probabilities_[node]
    children = [number[child] for child in tree.children(node).tolist() if child in number]
    listed = np.argsort(-smooth, kind="stable")[:MOST_CLASSES]
    return {
        "rule": rule,
        "test": None if tree.is_leaf[node] else words.feature(node),
        "up": number[int(tree.parent[node])] if node else None,
        "down": children,
        "cut": bool(not tree.is_leaf[node] and not children),
        "depth": int(tree.node_depth[node]),
        "n": round(float(counts.sum()), 2),
        "classes": listed.tolist(),
        "counts": rounded(counts[listed], 2),
        "raw": rounded(raw[listed]),
        "smooth": rounded(smooth[listed]),
    }
