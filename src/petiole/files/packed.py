"""Checks of packed forests and vote tables, over all trees at once, before the core takes them.

The core itself checks that the arrays make trees. This module checks the rest: the types of the arrays, thresholds,
features, and the memory that they will need.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole.files.checks import LARGEST, check_memory, check_part, floats, integers, require, whole

Array = npt.NDArray[Any]

_COUNTS = ("in_bag", "out_of_bag", "spread_weights")
_CODES = (
    *("n_children", "feature", "missing_branch", "n_categories", "category_branch", "vote"),
    *(f"{name}_{part}" for name in _COUNTS for part in ("entries", "class", "whole")),
)
_NUMBERS = ("threshold", "child_nodes", *(f"{name}_real" for name in _COUNTS))
# Parts that only forests with oblique splits have.
_PROJECTION_CODES, _PROJECTION_NUMBERS = ("n_terms", "projection_feature"), ("projection_weight",)
_narrow = integers("uint8", "uint16", "uint32")


def check_forest(state: Any) -> None:
    """Raise ValueError unless a packed forest has all its arrays, of the right types and lengths, for its trees."""
    require(type(state) is dict, "must be a dictionary")
    codes, numbers = _CODES, _NUMBERS
    if "n_terms" in state:
        codes, numbers = codes + _PROJECTION_CODES, numbers + _PROJECTION_NUMBERS
    known = {"n_classes", "n_trees", *codes, *numbers, *(f"{name}_size" for name in (*codes, *numbers))}
    require(set(state) == known, f"must have the parts {', '.join(sorted(known))}")
    whole(1, 65_535)(state["n_classes"])
    for name in codes:
        _checked(_narrow, state, name)
    for name in numbers:
        _checked(integers("int32") if name == "child_nodes" else _flat_floats, state, name)
    n_trees = state["n_trees"]
    whole(1)(n_trees)
    for name in (*codes, *numbers):
        sizes = state[f"{name}_size"]
        _checked(integers("uint32"), state, f"{name}_size")
        require(len(sizes) == n_trees, f"{name}_size: must have one entry for each of {n_trees} trees")
        require(int(sizes.sum(dtype=np.uint64)) == len(state[name]), f"{name}: must be as long as {name}_size says")
    for name in _COUNTS:
        _check_weights(state[f"{name}_real"], f"{name}_real")
        _check_increase(state, f"{name}_class", f"{name}_entries")
    n_leaves = len(state["vote"])
    check_memory(
        8 * n_leaves * int(state["n_classes"]), f"a table of {n_leaves:,} leaves x {state['n_classes']} classes"
    )
    _check_splits(state)


def check_forest_fits(state: dict[str, Any], n_features: int) -> None:
    """Raise ValueError if a split tests a feature that does not exist."""
    for name in ("feature", "projection_feature"):
        feature = state.get(name, np.zeros(0))
        require(feature.size == 0 or int(feature.max()) < n_features, f"{name}: must be below n_features={n_features}")


class Facts(NamedTuple):
    """Facts to compare with other parts of a model: the leaves of each tree, and all categorical splits."""

    n_leaves: Array
    categorical_feature: Array
    category_counts: Array


def facts_of(state: dict[str, Any]) -> Facts:
    """The facts of a packed forest that has passed the check."""
    n_categories = _expanded(state, "n_categories")
    categorical = n_categories > 0
    return Facts(np.array(state["vote_size"]), state["feature"][categorical], n_categories[categorical])


def check_vote_tables(state: Any) -> None:
    """Raise ValueError unless vote tables have all their arrays, of the right types."""
    codes = ("rows_per_leaf", "row_vote", "entries_per_row", "entry_class")
    known = {"n_classes", "n_leaves", *codes, "in_bag", "out_of_bag"}
    require(type(state) is dict and set(state) == known, f"must have the parts {', '.join(sorted(known))}")
    whole(1, 65_535)(state["n_classes"])
    for name in (*codes, "n_leaves"):
        _checked(_narrow, state, name)
    for name in ("in_bag", "out_of_bag"):
        array = state[name]
        if type(array) is np.ndarray and array.dtype == np.float64:
            _checked(floats(1, 0.0), state, name)
            _check_weights(array, name)
        else:
            _checked(_narrow, state, name)
    require(
        len(state["rows_per_leaf"]) == state["n_leaves"].sum(dtype=np.uint64), "n_leaves: must be those of all trees"
    )
    _check_increase(state, "row_vote", "rows_per_leaf")
    _check_increase(state, "entry_class", "entries_per_row")


def check_tables_fit(tables: dict[str, Any], n_classes: int, forest: Facts) -> None:
    """Raise ValueError unless vote tables are those of a forest."""
    same = tables["n_classes"] == n_classes and np.array_equal(tables["n_leaves"], forest.n_leaves)
    require(same, "the vote tables belong to another forest")


def _checked(check: Any, state: dict[str, Any], name: str) -> None:
    check_part(name, check, state[name])


def _flat_floats(value: Any) -> None:
    ok = type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 1
    require(ok, "must be a flat array of float64")


def _check_weights(weights: Array, name: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        fine = weights.sum() <= LARGEST and (weights >= 0).all()
    require(fine, f"{name}: must be weights, 0 or more, with a sum of at most {LARGEST:g}")


def _expanded(state: dict[str, Any], name: str) -> Array:
    """One number per inner node; a tree that has none of them has zeros."""
    inner, sizes = state["feature_size"], state[f"{name}_size"]
    require(((sizes == inner) | (sizes == 0)).all(), f"{name}: must have one entry per split of a tree, or none")
    values = np.zeros(len(state["feature"]), dtype=np.int64)
    values[np.repeat(sizes > 0, inner)] = state[name]
    return values


def _check_splits(state: dict[str, Any]) -> None:
    threshold, n_children = state["threshold"], state["n_children"]
    require(np.array_equal(state["threshold_size"], state["feature_size"]), "threshold: must be one per split")
    n_children = n_children[n_children > 0].astype(np.int64)
    require(len(n_children) == len(threshold), "n_children: must be as many as there are splits")
    n_categories, missing = _expanded(state, "n_categories"), _expanded(state, "missing_branch")
    is_numeric = n_categories == 0
    require((threshold[is_numeric] > -np.inf).all(), "threshold: a numeric split needs a number")
    require(np.isnan(threshold[~is_numeric]).all(), "threshold: a categorical split has none")
    require((n_children >= 2).all(), "n_children: a split needs 2 children or more")
    # A third branch of a numeric split is the one of missing values; branches count from one here.
    fits = (n_children == 2) | ((n_children == 3) & (missing == 3))
    require(fits[is_numeric].all(), "missing_branch: a numeric split has a third branch only for missing values")
    if "n_terms" in state:
        _check_projections(state, is_numeric)


def _check_projections(state: dict[str, Any], is_numeric: Array) -> None:
    n_terms, feature, weight = _expanded(state, "n_terms"), state["projection_feature"], state["projection_weight"]
    require(len(n_terms[n_terms > 0]) > 0, "n_terms: must be absent where no split is oblique")
    require((n_terms[~is_numeric] == 0).all(), "n_terms: a categorical split has no projection")
    require(int(n_terms.sum()) == len(feature) == len(weight), "n_terms: must be as many as there are weights")
    require((np.isfinite(weight) & (weight != 0)).all(), "projection_weight: must be finite and not 0")
    oblique = n_terms > 0
    first = np.cumsum(n_terms[oblique]) - n_terms[oblique]
    same = feature[first] == state["feature"][oblique]
    require(same.all(), "projection_feature: must begin with the feature of the split")


def _check_increase(state: dict[str, Any], name: str, sizes: str) -> None:
    """Raise ValueError unless the numbers of each group, whose sizes are given, increase."""
    values, of_groups = state[name], state[sizes]
    require(int(of_groups.sum(dtype=np.uint64)) == len(values), f"{sizes}: must be those of {name}")
    begins = np.zeros(len(values) + 1, dtype=bool)
    begins[np.cumsum(of_groups, dtype=np.int64)] = True
    require(((values[1:] > values[:-1]) | begins[1 : len(values)]).all(), f"{name}: must increase within {sizes}")
