"""Explanations of the probability of one row: sections for every kind of classifier."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.base import encode_queries
from petiole._classifiers.ensemble import ForestClassifier
from petiole._classifiers.mob_esp import MOBESPClassifier
from petiole._classifiers.naive_bayes import BinnedNaiveBayesClassifier, value_numbers
from petiole._classifiers.pet import PETClassifier
from petiole._classifiers.probability_forest import ProbabilityForestClassifier
from petiole._dual.classifier import DualPerturbCombineClassifier
from petiole._lazy.classifier import LazyOptionTreesClassifier
from petiole._tree import traversal
from petiole._tree.text import Words
from petiole._tree.tree import Tree
from petiole.cli.screen import Section

Floats = NDArray[np.float64]
MOST_COUNTS = 4  # number of classes whose counts are shown side by side
MOST_LEAVES = 8
MOST_FEATURES = 8


def reasons_of(model: Any, query: Any, k: int, n_shown: int) -> list[Section]:
    """The sections that explain the probability of class number k for one row."""
    if isinstance(model, PETClassifier):
        return _tree_reasons(model, query, k)
    if isinstance(model, ForestClassifier):
        return [*_forest_summary(model, query, k), *_forest_paths(model, query, k, n_shown)]
    if isinstance(model, LazyOptionTreesClassifier):
        return _lazy_reasons(model, query, k, n_shown)
    if isinstance(model, BinnedNaiveBayesClassifier):
        return _bayes_reasons(model, query, k)
    inner = getattr(model, "estimator_", None)
    if inner is None or not hasattr(inner, "predict_proba"):
        return []
    return [_of_wrapper(model, inner, query, k), *reasons_of(inner, query, k, n_shown)]


# One tree.


def _tree_reasons(model: PETClassifier, query: Any, k: int) -> list[Section]:
    matrix = encode_queries(model, query)
    tree, words = model.tree_, _words(model, model.tree_)
    weights = traversal.leaf_weights(tree, matrix)
    leaf = int(traversal.leaf_ids(tree, matrix)[0])
    several = weights.nnz > 1
    note = f"Leaf estimator: {model.smoothing_}."
    if several:
        note += f" Missing values spread the row over {weights.nnz} leaves; the path of largest weight is shown."
    sections = [_path_section("From the root to the leaf", tree, words, leaf, k, note, model.node_probabilities_)]
    return [*sections, _leaves_section(tree, words, weights, k, model.node_probabilities_)] if several else sections


def _path_section(
    title: str, tree: Tree, words: Words, leaf: int, k: int, note: str, table: Floats | None, key: str = "path"
) -> Section:
    """A row for each node on the way: the rule, the counts, the share of the class, the estimate."""
    label = words.classes[k]
    shown = range(tree.n_classes) if tree.n_classes <= MOST_COUNTS else [k]
    header = ["rule", "rows", *(f"of {words.classes[c]}" for c in shown), f"share of {label}"]
    header += [] if table is None else [f"estimate of {label}"]
    rows = []
    path = tree.path(leaf)
    for position, node in enumerate(path.tolist()):
        counts = tree.inbag_class_counts[node]
        total = float(counts.sum())
        cells: list[Any] = [_rule(tree, words, path, position), _number(total)]
        cells += [*(_number(counts[c]) for c in shown), f"{counts[k] / total:.4f}" if total > 0 else ""]
        rows.append(cells if table is None else [*cells, f"{table[node, k]:.4f}"])
    return Section(title, header, rows, note, key)


def _leaves_section(tree: Tree, words: Words, weights: Any, k: int, table: Floats) -> Section:
    order = np.argsort(-weights.data)
    rows = []
    for position in order.tolist():
        leaf = int(weights.indices[position])
        counts = tree.inbag_class_counts[leaf]
        rows.append(
            [f"{weights.data[position]:.3f}", _number(counts.sum()), _number(counts[k]), f"{table[leaf, k]:.4f}"]
        )
    label = words.classes[k]
    header = ["weight", "rows", f"of {label}", f"estimate of {label}"]
    return Section("The leaves over which it is spread", header, rows, key="leaves", most=MOST_LEAVES)


def _rule(tree: Tree, words: Words, path: Any, position: int) -> str:
    if position == 0:
        return "all rows"
    parent, node = int(path[position - 1]), int(path[position])
    branch = int(np.flatnonzero(tree.children(parent) == node)[0])
    return words.rules(parent)[branch]


def _words(model: Any, tree: Tree) -> Words:
    encoder = model.encoder_
    return Words(tree, encoder.feature_names, model.classes_.tolist(), encoder.categories, encoder.date_text)


def _number(value: Any) -> str:
    return f"{float(value):,.0f}" if float(value) == round(float(value)) else f"{float(value):,.2f}"


# A forest.


def _forest_summary(model: Any, query: Any, k: int) -> list[Section]:
    label = str(model.classes_[k])
    shares, sizes, tested = _leaf_facts(model, query, k)
    low, middle, high = np.quantile(shares, [0.1, 0.5, 0.9])
    votes = int((shares > 0.5).sum())
    facts: list[list[Any]] = [
        ["trees", len(shares)],
        [f"trees whose leaf has mostly {label}", votes],
        [f"share of {label} in the leaves: mean", f"{shares.mean():.4f}"],
        ["... in the middle 80% of trees", f"{low:.3f} to {high:.3f} (median {middle:.3f})"],
        ["rows in a leaf: median", _number(np.median(sizes))],
    ]
    total = sum(tested.values()) or 1
    asked = [[name, f"{count / total:.3f}"] for name, count in tested.most_common()]
    return [
        Section("The trees", ["", "value"], facts, _how(model), "trees"),
        *_components(model, query, k),
        Section(
            "Features tested on the path", ["column", "share of the tests"], asked, key="tests", most=MOST_FEATURES
        ),
    ]


def _leaf_facts(model: Any, query: Any, k: int) -> tuple[Floats, Floats, Counter[str]]:
    """The share of the class and the rows in each tree's leaf, and how often each feature is tested on the way."""
    matrix, shares, sizes = encode_queries(model, query), [], []
    names = model.encoder_.feature_names or [f"x{j}" for j in range(model.encoder_.n_features)]
    asked: Counter[str] = Counter()
    for tree in model.trees_:
        leaf = int(traversal.leaf_ids(tree, matrix)[0])
        counts = tree.inbag_class_counts[leaf]
        total = float(counts.sum())
        shares.append(float(counts[k]) / total if total > 0 else 0.0)
        sizes.append(total)
        asked.update(names[feature] for node in tree.path(leaf)[:-1] for feature in tree.tested_features(node))
    return np.array(shares), np.array(sizes), asked


def _how(model: Any) -> str:
    if isinstance(model, ProbabilityForestClassifier):
        return "The probability combines several statistics of the leaves, with weights learned on out-of-bag rows."
    if isinstance(model, MOBESPClassifier):
        return (
            "The probability (MOB-ESP) is the mean class frequency, in the leaves of the row, of the rows with the "
            "same out-of-bag vote."
        )
    if isinstance(model, BaggedPETClassifier):
        return (
            f"The probability is the mean over trees; leaf estimator: {getattr(model, 'smoothing_', model.smoothing)}."
        )
    return ""


def _components(model: Any, query: Any, k: int) -> list[Section]:
    if not isinstance(model, ProbabilityForestClassifier):
        return []
    weights = np.asarray(model.pool_.weights)[:, k]
    answers = model.component_proba(query)
    rows = [
        [name, f"{proba[0, k]:.4f}", f"{weight:.3f}"]
        for (name, proba), weight in zip(answers.items(), weights.tolist(), strict=True)
    ]
    header = ["component", f"P({model.classes_[k]})", "weight"]
    return [Section("The pool", header, rows, key="components")]


def _forest_paths(model: Any, query: Any, k: int, n_shown: int) -> list[Section]:
    """The paths through some trees: those whose leaves are nearest to the mean of all."""
    if not n_shown:
        return []
    shares, _, _ = _leaf_facts(model, query, k)
    matrix = encode_queries(model, query)
    nearest = np.argsort(np.abs(shares - shares.mean()), kind="stable")[:n_shown]
    sections = []
    for number in sorted(nearest.tolist()):
        tree = model.trees_[number]
        leaf = int(traversal.leaf_ids(tree, matrix)[0])
        title = f"Tree {number + 1} of {len(shares)}"
        words = _words(model, tree)
        sections.append(_path_section(title, tree, words, leaf, k, "", None, f"path_of_tree_{number + 1}"))
    return sections


# Other classifiers.


def _lazy_reasons(model: LazyOptionTreesClassifier, query: Any, k: int, n_shown: int) -> list[Section]:
    found = model.explain(query, trees=None)
    try:
        paths = found.paths
    except ValueError:  # more paths than can be listed: those of the first sample
        found = model.explain(query, trees=[0])
        paths = found.paths
    rows = [
        [
            path.tree,
            " and ".join(f"{test.name} {test.sign} {_value(test.value)}" for test in path.tests) or "all rows",
            f"{path.share:.4f}",
            _number(path.class_counts.sum()),
            _number(path.class_counts[k]),
            f"{path.probabilities[k]:.4f}",
        ]
        for path in paths[: max(n_shown, 1)]
    ]
    label = str(model.classes_[k])
    header = ["sample", "tests that the row passes", "share", "rows", f"of {label}", f"P({label})"]
    note = f"{len(paths):,} paths in {len(found.trees)} samples; those with the largest weights are shown."
    return [Section("Option paths", header, rows, note, "paths")]


def _value(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _bayes_reasons(model: BinnedNaiveBayesClassifier, query: Any, k: int) -> list[Section]:
    """The factor by which each column multiplies the odds of the class against the others together."""
    matrix = encode_queries(model, query)
    names = model.encoder_.feature_names or [f"x{j}" for j in range(model.encoder_.n_features)]
    rows: list[tuple[str, str, float]] = []
    for j, name in enumerate(names):
        if np.isnan(matrix[0, j]):
            rows.append((name, "missing: not used", 1.0))
            continue
        number = int(value_numbers(matrix[:, j], model.edges_[j])[0])
        factors = np.exp(model.feature_log_prob_[j][number])
        others = np.delete(model.class_weights_, k)
        against = float(others @ np.delete(factors, k) / others.sum()) if others.sum() > 0 else np.nan
        rows.append((name, _bin_text(model, j, number), float(factors[k] / against) if against > 0 else np.inf))
    rows.sort(key=lambda row: -abs(np.log(row[2])) if row[2] > 0 else -np.inf)
    cells = [[name, value, f"{factor:.4g}"] for name, value, factor in rows]
    label = str(model.classes_[k])
    header = ["column", "value", f"P(value | {label}) / P(value | others)"]
    return [Section("The factors", header, cells, key="factors")]


def _bin_text(model: BinnedNaiveBayesClassifier, j: int, number: int) -> str:
    edges, categories = model.edges_[j], model.encoder_.categories[j]
    if edges is None:
        return f"= {categories[number]}" if categories is not None else ""
    low = "" if number == 0 else f"> {edges[number - 1]:.6g}"
    high = "" if number >= len(edges) else f"<= {edges[number]:.6g}"
    return " and ".join(part for part in (low, high) if part) or "any"


def _of_wrapper(model: Any, inner: Any, query: Any, k: int) -> Section:
    label = str(model.classes_[k])
    outer, own = model.predict_proba(query)[0, k], inner.predict_proba(query)[0, k]
    what = {"DualPerturbCombineClassifier": "smoothed by noise on the thresholds"}.get(type(model).__name__, "then")
    if hasattr(model, "calibrator_"):
        what = f"recalibrated by {type(model.calibrator_).__name__}"
    if isinstance(model, DualPerturbCombineClassifier):
        what += f" of level {np.round(model.noise_, 4)}"
    rows = [[type(inner).__name__, f"{own:.4f}"], [f"{type(model).__name__}: {what}", f"{outer:.4f}"]]
    return Section("Two steps", ["", f"P({label})"], rows, key="steps")
