"""Tests that are drawn for a node, slowly: sums of two columns, random cuts, random sets of categories.

The random numbers are those of the library, by their definition: every node has a key, made from the seed and the path
to it, and every column a key at each node. What is done with them is written anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log2, nan, sqrt

import numpy as np

Array = np.ndarray
ALL_BITS = 2**64 - 1
TESTS = 2**40  # beside the numbers of a node's children


# ---- random numbers
def mix(z: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014)."""
    z = (z + 0x9E3779B97F4A7C15) & ALL_BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & ALL_BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & ALL_BITS
    return z ^ (z >> 31)


def derived(key: int, branch: int) -> int:
    return mix(key ^ mix(branch + 1))


def below(key: int, draw: int, n: int) -> int:
    """The draw with this number from those of a key, in 0..n-1."""
    return ((mix(key + draw) >> 32) * n) >> 32


def fraction(key: int) -> float:
    return (mix(key) >> 11) / 2**53


def test_key(node_key: int, feature: int) -> int:
    return derived(derived(node_key, TESTS), feature)


# ---- what is tested
@dataclass
class Test:
    values: Array  # of the rows at the node, NaN: missing
    projection: list[tuple[int, float]] | None = None
    cut: float = nan  # the only one that is tried
    places: dict[int, float] | None = None  # of the categories at the node


def scale(values: Array, w: Array) -> float:
    """About one divided by the standard deviation in the training set: a power of two. 0 if there is no use for it."""
    known = ~np.isnan(values)
    x, v = values[known], w[known]
    if len(np.unique(x)) < 2:
        return 0.0
    mean = (x * v).sum() / v.sum()
    deviation = sqrt(((x - mean) ** 2 * v).sum() / v.sum())
    if np.abs(x).max() >= 1e12 * deviation:
        return 0.0
    return 2.0 ** -floor(log2(deviation) + 0.5)


def sum_of_two(X: Array, w: Array, n_categories: list[int], rows: list[int], j: int, node_key: int) -> Test | None:
    """A numeric column and another one, if there is another."""
    scales = [scale(X[:, i], w) if n_categories[i] == 0 else 0.0 for i in range(X.shape[1])]
    others = [i for i in range(X.shape[1]) if scales[i] > 0 and i != j]
    if scales[j] == 0 or not others:
        return None
    key = test_key(node_key, j)
    other = others[below(key, 0, len(others))]
    sign = [1, -1][below(key, 1, 2)]
    projection = [(j, scales[j]), (other, sign * scales[other])]
    return Test(sum(weight * X[rows, i] for i, weight in projection), projection)


def random_cut(column: Array, j: int, node_key: int) -> Test:
    known = column[~np.isnan(column)]
    share = fraction(test_key(node_key, j))
    cut = known.min() + share * (known.max() - known.min()) if known.size else nan
    return Test(column, cut=cut)


def random_subset(column: Array, j: int, node_key: int, n_categories: int, missing: str) -> Test:
    """Categories are put in random places, which are cut at random."""
    codes = [n_categories if np.isnan(v) and missing == "separate" else v for v in column]
    key = test_key(node_key, j)
    places = {int(c): fraction(derived(key, int(c) + 1)) for c in codes if not np.isnan(c)}
    values = np.array([nan if np.isnan(c) else places[int(c)] for c in codes])
    test = random_cut(values, j, node_key)
    test.places = places
    return test


def varies(column: Array) -> bool:
    """Whether two rows differ, one without a value differing from one with a value."""
    return len(np.unique(column)) > 1


def drawn_test(
    X: Array, w: Array, n_categories: list[int], rows: list[int], j: int, node_key: int, options
) -> Test | None:
    """What is tried of a column at a node; None for the column as it is."""
    column = X[rows, j]
    if options.splits == "oblique":
        return sum_of_two(X, w, n_categories, rows, j, node_key)
    if n_categories[j] == 0:
        return random_cut(column, j, node_key)
    if options.nominal_splits == "binary":
        return random_subset(column, j, node_key, n_categories[j], options.missing)
    return None
