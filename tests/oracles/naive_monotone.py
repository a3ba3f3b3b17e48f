"""Slow versions of what is monotone about a tree: every pair of cells of a grid is compared.

Nothing is shared with the library. A tree is read from its arrays only: `feature`, `threshold`, `child_start`,
`child_nodes`, `missing_branch`, `category_start`, `category_branch`, `projection_*`.
"""

import itertools
import math


def children(tree, node):
    return tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]].tolist()


def leaf_of(tree, row):
    """The leaf of a row; None where a missing value would be spread."""
    node = 0
    while tree.feature[node] >= 0:
        branch = -1
        begin, end = tree.category_start[node], tree.category_start[node + 1]
        value = row[tree.feature[node]]
        if end > begin:
            if not math.isnan(value) and 0 <= value < end - begin:
                branch = tree.category_branch[begin + int(value)]
        else:
            terms = range(tree.projection_start[node], tree.projection_start[node + 1])
            if len(terms):
                value = sum(tree.projection_weight[t] * row[tree.projection_feature[t]] for t in terms)
            if not math.isnan(value):
                branch = int(value > tree.threshold[node])
        if branch < 0:
            branch = tree.missing_branch[node]
        if branch < 0:
            return None
        node = children(tree, node)[branch]
    return int(node)


def points(tree, n_columns, n_categories):
    """Values of each column that are on all sides of all of its tests, missing ones among them."""
    values = []
    for j in range(n_columns):
        if n_categories[j]:
            values.append([*map(float, range(n_categories[j])), math.nan])
            continue
        cuts = sorted({t for f, t in zip(tree.feature, tree.threshold, strict=True) if f == j and math.isfinite(t)})
        between = [(low + high) / 2 for low, high in itertools.pairwise(cuts)]
        ends = [cuts[0] - 1, cuts[-1] + 1] if cuts else [0.0]
        values.append([*ends[:1], *between, *ends[1:], math.nan])
    return values


def may_follow(lower, upper, signs):
    """Whether one value of a row can become another by moves that must not lower the answer."""
    for x, y, sign in zip(lower, upper, signs, strict=True):
        if math.isnan(x) or math.isnan(y):
            if not (math.isnan(x) and math.isnan(y)):
                return False
        elif (sign == 0 and x != y) or (sign > 0 and x > y) or (sign < 0 and x < y):
            return False
    return True


def pairs_of_leaves(tree, signs, n_categories):
    """All pairs (lower, upper) of different leaves with a row in each, one of which can become the other."""
    rows = [(row, leaf_of(tree, row)) for row in itertools.product(*points(tree, len(signs), n_categories))]
    found = set()
    for (x, lower), (y, upper) in itertools.product(rows, rows):
        if lower != upper and (lower, upper) not in found and may_follow(x, y, signs):
            found.add((lower, upper))
    return found


def from_below(tree, signs):
    """The leaves in the order of a walk that takes first what must not be above the rest."""
    order = []

    def walk(node):
        if tree.feature[node] < 0:
            order.append(int(node))
            return
        below = children(tree, node)
        for child in reversed(below) if signs[tree.feature[node]] < 0 else below:
            walk(child)

    walk(0)
    return order


def pooled(values, weights, order, pairs):
    """Generalised pool-adjacent-violators, set by set. `values` and `weights` are dicts from leaf to number."""
    blocks = []  # sets of leaves

    def mean(block):
        if len(block) == 1:
            return values[next(iter(block))]
        return sum(weights[leaf] * values[leaf] for leaf in block) / sum(weights[leaf] for leaf in block)

    for leaf in order:
        block = {leaf}
        while True:
            below = [other for other in blocks if any((low, up) in pairs for low in other for up in block)]
            if not below or max(map(mean, below)) <= mean(block):
                break
            highest = max(below, key=mean)
            blocks.remove(highest)
            block |= highest
        blocks.append(block)
    return {leaf: mean(block) for block in blocks for leaf in block}
