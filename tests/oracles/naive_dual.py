"""Slow dual perturb and combine that is easy to check by eye: the oracle for the fast one.

[G] Geurts 2001, "Dual perturb and combine algorithm". Nothing is shared with the library, except the arrays of a
`petiole.Tree`. A query whose known values are perturbed, each on its own, reaches a leaf with a probability:

    product   the product over the tests of the path of the probability that each is passed         [G eq. 3 to 5]
    exact     the product over the attributes of the probability that all tests of the path on it are passed

A number is perturbed by Gaussian noise. A category is kept with probability 1 - q, else drawn from the frequencies of
the training set. What is missing stays missing, and is divided over the branches as in C4.5.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

import naive_ensemble as naive
from petiole import Tree

Array = np.ndarray


@dataclass
class Perturbed:
    """How attributes are perturbed: by a standard deviation each, and by q with frequencies for nominal ones."""

    scale: Array
    q: Array
    frequencies: list[Array]
    mode: str = "exact"


def category_distribution(perturbed: Perturbed, j: int, code: int) -> dict[int, float]:
    """The category that the value of a nominal attribute becomes."""
    q, chances = perturbed.q[j], defaultdict(float)
    chances[code] += 1 - q
    if q > 0:
        for other, frequency in enumerate(perturbed.frequencies[j]):
            chances[other] += q * frequency
    return dict(chances)


def category_shares(tree: Tree, node: int, code: int) -> Array:
    """How a category is divided over the branches: all to one, or spread if the node has not met it."""
    shares = naive.branch_shares(tree, node)
    branch = naive.branch_of_value(tree, node, float(code))
    return shares if branch == -1 else np.eye(len(shares))[branch]


def is_nominal(tree: Tree, node: int) -> bool:
    return tree.category_start[node + 1] > tree.category_start[node]


def below(z_distance: float, scale: float) -> float:
    """P(x + e <= t) for the distance t - x."""
    if scale == 0:
        return float(z_distance >= 0)
    return float(ndtr(z_distance / scale))


def within(low: float, high: float, x: float, scale: float) -> float:
    """P(low < x + e <= high)."""
    if high <= low:
        return 0.0
    if scale == 0:
        return float(low < x <= high)
    if low > x:  # both in the upper tail, where a difference of numbers next to 1 would be rounded away
        return float(ndtr((x - low) / scale) - ndtr((x - high) / scale))
    return float(ndtr((high - x) / scale) - ndtr((low - x) / scale))


def chance_of_test(tree: Tree, node: int, branch: int, row: Array, perturbed: Perturbed) -> float:
    """The probability that one test alone sends the row into a branch."""
    j = tree.feature[node]
    value = row[j]
    if np.isnan(value):
        fixed = naive.branch_of_value(tree, node, value)
        return float(naive.branch_shares(tree, node)[branch]) if fixed == -1 else float(fixed == branch)
    if is_nominal(tree, node):
        chances = category_distribution(perturbed, j, int(value))
        return sum(p * category_shares(tree, node, code)[branch] for code, p in chances.items())
    left = below(tree.threshold[node] - value, perturbed.scale[j])
    return (left, 1 - left, 0.0)[branch]


def chance_of_attribute(tree: Tree, tests: list[tuple[int, int]], row: Array, perturbed: Perturbed) -> float:
    """The probability that an attribute passes all tests (node, branch) that a path has on it."""
    j = tree.feature[tests[0][0]]
    value = row[j]
    if np.isnan(value):
        return float(np.prod([chance_of_test(tree, node, branch, row, perturbed) for node, branch in tests]))
    if is_nominal(tree, tests[0][0]):
        chances = category_distribution(perturbed, j, int(value))
        return sum(
            p * np.prod([category_shares(tree, node, code)[branch] for node, branch in tests])
            for code, p in chances.items()
        )
    if any(branch == 2 for _, branch in tests):
        return 0.0  # the branch of missing values
    low = max([tree.threshold[node] for node, branch in tests if branch == 1], default=-np.inf)
    high = min([tree.threshold[node] for node, branch in tests if branch == 0], default=np.inf)
    return within(low, high, value, perturbed.scale[j])


def leaf_masses(tree: Tree, row: Array, perturbed: Perturbed) -> dict[int, float]:
    """leaf -> probability that the perturbed row reaches it; leaves that it cannot reach are left out."""
    found: dict[int, float] = {}

    def visit(node: int, path: list[tuple[int, int]]) -> None:
        if tree.feature[node] != -1:
            for branch, child in enumerate(naive.children(tree, node)):
                visit(child, [*path, (node, branch)])
            return
        if perturbed.mode == "product":
            mass = float(np.prod([chance_of_test(tree, n, b, row, perturbed) for n, b in path]))
        else:
            by_attribute = defaultdict(list)
            for n, b in path:
                by_attribute[tree.feature[n]].append((n, b))
            mass = float(np.prod([chance_of_attribute(tree, t, row, perturbed) for t in by_attribute.values()]))
        if mass > 0:
            found[node] = mass

    visit(0, [])
    return found


LEAST = 1e-12  # a branch of less mass is not entered, where a row that only such a leaf has could decide everything


def entered(tree: Tree, row: Array, perturbed: Perturbed) -> dict[int, float]:
    return {leaf: mass for leaf, mass in leaf_masses(tree, row, perturbed).items() if mass >= LEAST}


def average(tree: Tree, rows: Array, table: Array, perturbed: Perturbed) -> Array:
    """[G eq. 6]: the sum over leaves of their mass times what the table, a row per node, says of them."""
    result = np.zeros((len(rows), table.shape[1]))
    for i, row in enumerate(rows):
        for leaf, mass in leaf_masses(tree, row, perturbed).items():
            result[i] += mass * table[leaf]
    return result


# ---- training rows, each asked softly in the trees that have not seen it; counts hold it where it is without noise
def oob_bagged(
    forest: naive.TrainedForest, perturbed: Perturbed, *, oob_weight: float, count: str, pseudo: float
) -> Array:
    """Mean frequencies; the row is taken out of the counts, and a leaf that has nothing else is passed over.

    With `oob_weight` 0 the row is in no counts; an empty leaf asks its ancestors.
    """
    result = np.full((len(forest.y), forest.n_classes), np.nan)
    for i in range(len(forest.y)):
        total, total_share = np.zeros(forest.n_classes), 0.0
        for t, tree in enumerate(forest.trees):
            if not naive.is_out_of_bag(forest, t, i):
                continue
            counts = naive.member_counts(forest, t, naive.all_weights(forest, t, oob_weight, count, without=i))
            for leaf, share in entered(tree, forest.X[i], perturbed).items():
                n = counts[leaf]
                if n.sum() <= 0 and oob_weight == 0:
                    n = naive.counts_or_ancestors(tree, counts, leaf)
                if n.sum() + pseudo > 0:
                    total += share * naive.frequencies(n + pseudo)
                    total_share += share
        if total_share > 0:
            result[i] = total / total_share
    return result


def oob_vote_rows(
    forest: naive.TrainedForest, perturbed: Perturbed, *, oob_weight: float, count: str, rows: str
) -> Array:
    """MOB-ESP's rows: filed by the hard votes, asked by the soft ones; NaN where no row of a table is left."""
    filed, _ = naive.oob_votes(forest, count)
    result = np.full((len(forest.y), forest.n_classes), np.nan)
    for i in range(len(forest.y)):
        unseen = [t for t in range(len(forest.trees)) if naive.is_out_of_bag(forest, t, i)]
        if not unseen:
            continue
        masses = {t: entered(forest.trees[t], forest.X[i], perturbed) for t in unseen}
        winner, votes = naive.ensemble_vote(forest, masses, count)
        tables = {t: naive.vote_tables(forest, t, filed, oob_weight=oob_weight, count=count, without=i) for t in unseen}
        asked = {winner: 1.0} if rows == "winner" else {j: votes[j] for j in np.flatnonzero(votes)}
        total, total_votes = np.zeros(forest.n_classes), 0.0
        for j, weight in asked.items():
            mean, mean_share = np.zeros(forest.n_classes), 0.0
            for t, shares in masses.items():
                for leaf, share in shares.items():
                    if (leaf, j) in tables[t]:
                        mean += share * naive.frequencies(tables[t][leaf, j])
                        mean_share += share
            if mean_share > 0:
                total += weight * mean / mean_share
                total_votes += weight
        if total_votes > 0:
            result[i] = total / total_votes
    return result
