"""Comparison of petiole's trees with those of the naive version, node by node."""

from __future__ import annotations

import math

import numpy as np

import naive
from petiole import PETClassifier, Tree
from petiole._table.rows import EncodedRows
from petiole._tree.growing import grow_tree
from petiole._tree.plan import TreePlan


def grow_both(X, y, w, n_categories, n_classes, **options):
    """The naive tree and petiole's for the same encoded data."""
    w = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
    class_weight = options.get("split_class_weight")
    slow_options = naive.GrowOptions(**options)
    slow = naive.grow(X, y, w, list(n_categories), n_classes, slow_options)
    parameters = dict(options)
    if class_weight is not None:
        parameters["split_class_weight"] = dict(enumerate(class_weight))
    training = training_set(X, y, w, n_categories, n_classes)
    fast = grow_tree(TreePlan.of(PETClassifier(**parameters)), training, seed=None, n_threads=1)
    return slow, fast


def training_set(X, y, w, n_categories, n_classes) -> EncodedRows:
    weights = None if w is None else np.asarray(w, dtype=float)
    codes = np.asarray(n_categories, dtype=np.int32)
    return EncodedRows(np.asarray(X, dtype=float), np.asarray(y, dtype=np.int32), weights, codes, np.arange(n_classes))


def assert_same_tree(slow: naive.Node, fast: Tree, node: int = 0, where: str = "root") -> None:
    """Same splits, same branches, same counts."""
    np.testing.assert_allclose(fast.inbag_class_counts[node], slow.counts, rtol=1e-9, atol=1e-9, err_msg=where)
    assert fast.feature[node] == slow.feature, f"{where}: tests {fast.feature[node]}, naive {slow.feature}"
    if slow.feature < 0:
        return
    assert math.isclose(fast.threshold[node], slow.threshold, rel_tol=1e-12) or (
        math.isnan(slow.threshold) and math.isnan(fast.threshold[node])
    ), f"{where}: threshold {fast.threshold[node]}, naive {slow.threshold}"
    assert fast.missing_branch[node] == slow.missing_branch, where
    table = fast.category_branch[fast.category_start[node] : fast.category_start[node + 1]].tolist()
    assert table == list(slow.category_branch or []), f"{where}: {table}, naive {slow.category_branch}"
    terms = slice(fast.projection_start[node], fast.projection_start[node + 1])
    projection = list(zip(fast.projection_feature[terms].tolist(), fast.projection_weight[terms].tolist(), strict=True))
    assert projection == (slow.projection or []), f"{where}: {projection}, naive {slow.projection}"
    children = fast.children(node)
    assert len(children) == len(slow.children), where
    for branch, (child, slow_child) in enumerate(zip(children, slow.children, strict=True)):
        assert_same_tree(slow_child, fast, child, f"{where}.{branch}")


def random_data(random, *, n_rows=None, missing=True, nominal=True):
    """Small data full of ties: few distinct values, repeated columns, some missing cells, odd weights."""
    n = int(random.integers(1, 60)) if n_rows is None else n_rows
    n_features = int(random.integers(1, 6))
    n_classes = int(random.integers(1, 5))
    y = random.integers(n_classes, size=n)
    columns, n_categories = [], []
    for j in range(n_features):
        is_nominal = nominal and random.random() < 0.4
        size = int(random.integers(1, 7))
        if j > 0 and random.random() < 0.15:
            columns.append(columns[-1].copy())
            n_categories.append(n_categories[-1])
            continue
        values = random.integers(size, size=n).astype(float)
        if not is_nominal:
            kind = random.random()
            if kind < 0.3:
                values = random.normal(size=n).round(1)
            elif kind < 0.5:
                values = values * 0.1 + y * random.random()
        if missing and random.random() < 0.5:
            values[random.random(n) < random.choice([0.05, 0.3, 0.9])] = np.nan
        columns.append(values)
        n_categories.append(size if is_nominal else 0)
    weight_kind = random.integers(4)
    w = None
    if weight_kind == 1:
        w = random.integers(1, 4, size=n).astype(float)
    elif weight_kind == 2:
        w = random.choice([0.25, 0.5, 1.0, 1.7], size=n)
    return np.column_stack(columns), y, w, np.array(n_categories, dtype=np.int32), n_classes


def random_options(random, n_classes):
    options = {
        "criterion": str(random.choice(["entropy", "gini", "kearns_mansour", "gain_ratio"])),
        "min_samples_leaf": int(random.choice([1, 2, 3, 5])),
        "nominal_splits": str(random.choice(["multiway", "binary"])),
        "missing": str(random.choice(["fractional", "separate"])),
        "threshold": str(random.choice(["midpoint", "data"])),
    }
    if random.random() < 0.3:
        options["max_depth"] = int(random.integers(1, 4))
    if random.random() < 0.3:
        options["min_gain"] = float(random.choice([1e-9, 0.0123, 0.0987]))
    if random.random() < 0.25:
        options["split_class_weight"] = random.choice([0.5, 1.0, 2.0, 3.3], size=n_classes).tolist()
    return options
