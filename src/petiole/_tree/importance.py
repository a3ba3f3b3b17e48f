"""Impurities of class counts, and the decrease of impurity by splits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from petiole._tree.tree import Tree


def impurity(counts: npt.NDArray[np.float64], criterion: str) -> npt.NDArray[np.float64]:
    """The impurity of each row of counts: entropy in bits, Gini, or Kearns & Mansour's; 0 for an empty row.

    >>> impurity(np.array([[2.0, 8.0]]), "kearns_mansour")
    array([0.8])
    """
    weights = counts.sum(axis=1, keepdims=True)
    p = counts / np.where(weights > 0, weights, 1.0)
    if criterion == "gini":
        return np.asarray(np.where(weights[:, 0] > 0, 1.0 - (p**2).sum(axis=1), 0.0))
    if criterion == "kearns_mansour":
        return np.asarray(np.sqrt(p * (1.0 - p)).sum(axis=1))
    return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1))


def feature_importances(tree: Tree, criterion: str) -> npt.NDArray[np.float64]:
    """The criterion's total decrease by each feature's splits, as shares that sum to 1; all 0 for one leaf.

    The features of an oblique split share its decrease equally.
    """
    gains, n_terms = split_gains(tree, criterion), np.diff(tree.projection_start)
    single = ~tree.is_leaf & (n_terms == 0)
    totals = np.zeros(tree.n_features)
    np.add.at(totals, tree.feature[single], gains[single])
    np.add.at(totals, tree.projection_feature, np.repeat(gains / np.maximum(n_terms, 1), n_terms))
    return totals / totals.sum() if totals.sum() > 0 else totals


def split_gains(tree: Tree, criterion: str) -> npt.NDArray[np.float64]:
    """Weighted decrease of impurity at each split: n·I(node) - Σ n_c·I(child); 0 at leaves."""
    mass = tree.inbag_class_counts.sum(axis=1) * impurity(tree.inbag_class_counts, criterion)
    gains = mass.copy()
    np.subtract.at(gains, tree.parent[1:], mass[1:])
    gains[tree.is_leaf] = 0.0
    return np.asarray(np.maximum(gains, 0.0))
