"""Slow ensembles of probability estimation trees that are easy to check by eye: the oracle for the fast ones.

Nothing is shared with the library on purpose, except the arrays of a `petiole.Tree`. The rules are those of
[N] Nielsen 2004, "MOB-ESP and other improvements in probability estimation":

    B-PETs    the mean over bagged trees of smoothed leaf frequencies                   [N eq. 3]
    EB-PETs   out-of-bag rows are counted too, with weight alpha (`oob_weight`)         [N eq. 4 and 5]
    MOB-ESP   a leaf has a row of frequencies for every class the ensemble may vote for [N eq. 7 to 9]

A row with missing values is in several leaves, each with a share; the shares sum to 1. Counts of inner nodes are
sums over the leaves below. Where a rule of the vote is a tie, values within TOL of each other are equal.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from petiole import Tree

TOL = 1e-9  # rounding allowed when two classes are compared

Array = np.ndarray


# ---- samples
def strata(y: Array, least: int = 4) -> list[list[int]]:
    """The groups of rows that a stratified bootstrap draws among themselves: classes, but rare ones together.

    Rare classes have fewer than `least` rows. If all of them together have so few, they join the largest class.
    """
    groups = {label: [row for row in range(len(y)) if y[row] == label] for label in sorted(set(y.tolist()))}
    common = {label: rows for label, rows in groups.items() if len(rows) >= least}
    rare = [row for label, rows in groups.items() if label not in common for row in rows]
    if rare and len(rare) < least and common:
        largest = max(common, key=lambda label: len(common[label]))
        common[largest] = common[largest] + rare
        rare = []
    return [rows for rows in [*common.values(), rare] if rows]


# ---- one tree
def children(tree: Tree, node: int) -> list[int]:
    return [int(child) for child in tree.child_nodes[tree.child_start[node] : tree.child_start[node + 1]]]


def leaves(tree: Tree) -> list[int]:
    return [node for node in range(len(tree.feature)) if tree.feature[node] == -1]


def leaves_below(tree: Tree, node: int) -> list[int]:
    """The leaves of the branch that begins at a node; a leaf is its own branch."""
    if tree.feature[node] == -1:
        return [node]
    return [leaf for child in children(tree, node) for leaf in leaves_below(tree, child)]


def parent_of(tree: Tree, node: int) -> int | None:
    """None for the root."""
    for candidate in range(len(tree.feature)):
        if node in children(tree, candidate):
            return candidate
    return None


def branch_of_value(tree: Tree, node: int, value: float) -> int:
    """The branch that a value takes at a split; -1 if it goes to all of them."""
    first, end = int(tree.category_start[node]), int(tree.category_start[node + 1])
    is_nominal = end > first
    branch = -1
    if is_nominal and not np.isnan(value) and 0 <= int(value) < end - first:
        branch = int(tree.category_branch[first + int(value)])
    if not is_nominal and not np.isnan(value):
        branch = 0 if value <= tree.threshold[node] else 1
    return int(tree.missing_branch[node]) if branch == -1 else branch


def branch_shares(tree: Tree, node: int) -> Array:
    """How a missing value is spread over the children: by their in-bag weight, equally if none has any."""
    weights = np.array([tree.inbag_class_counts[child].sum() for child in children(tree, node)])
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def leaf_shares(tree: Tree, row: Array) -> dict[int, float]:
    """The leaves that one row reaches, with its share in each."""
    found: dict[int, float] = {}

    def visit(node: int, share: float) -> None:
        if tree.feature[node] == -1:
            found[node] = share
            return
        below = children(tree, node)
        branch = branch_of_value(tree, node, float(row[tree.feature[node]]))
        if branch != -1:
            visit(below[branch], share)
            return
        for child, part in zip(below, branch_shares(tree, node), strict=True):
            if share * part > 0:
                visit(child, float(share * part))

    visit(0, 1.0)
    return found


def counts_from_shares(
    tree: Tree, shares: list[dict[int, float]], y: Array, weights: Array, n_classes: int
) -> dict[int, Array]:
    counts = {leaf: np.zeros(n_classes) for leaf in leaves(tree)}
    for i, reached in enumerate(shares):
        if weights[i] > 0:
            for leaf, share in reached.items():
                counts[leaf][y[i]] += weights[i] * share
    return counts


def leaf_counts(tree: Tree, X: Array, y: Array, weights: Array, n_classes: int) -> dict[int, Array]:
    """The weight of each class at every leaf, zeros at an empty one."""
    return counts_from_shares(tree, [leaf_shares(tree, row) for row in X], y, weights, n_classes)


def counts_or_ancestors(tree: Tree, counts: dict[int, Array], leaf: int) -> Array:
    """The counts of a leaf; of its nearest ancestor that is not empty if it is empty, as in C4.5.

    Zeros if the whole tree is empty.
    """
    node: int | None = leaf
    total = counts[leaf]
    while total.sum() <= 0 and (node := parent_of(tree, node)) is not None:
        total = sum((counts[below] for below in leaves_below(tree, node)), np.zeros(len(total)))
    return total


def frequencies(counts: Array) -> Array:
    """Counts divided by their sum; all classes alike if there are none."""
    return counts / counts.sum() if counts.sum() > 0 else np.full(len(counts), 1 / len(counts))


# ---- the forest
@dataclass(eq=False)
class TrainedForest:
    """Trees and the sample that grew them.

    trees      structures; their in-bag counts, copies included, only say how missing values are spread
    copies     copies[t][i] is how often training row i is in the sample of tree t; 0 is out of bag
    X, y       training rows and class codes
    weights    of the training rows, 1 each if None
    shares     shares[t][i] are the leaves of tree t that training row i reaches
    """

    trees: list[Tree]
    copies: list[Array]
    X: Array
    y: Array
    weights: Array | None
    n_classes: int
    shares: list[list[dict[int, float]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.X = np.asarray(self.X, dtype=float)
        self.y = np.asarray(self.y, dtype=int)
        self.copies = [np.asarray(copies, dtype=int) for copies in self.copies]
        self.weights = np.ones(len(self.y)) if self.weights is None else np.asarray(self.weights, dtype=float)
        self.shares = [[leaf_shares(tree, row) for row in self.X] for tree in self.trees]


def class_weights(forest: TrainedForest) -> Array:
    """The weight of each class in the training set: the prior, not divided by its sum."""
    return np.array([forest.weights[forest.y == k].sum() for k in range(forest.n_classes)])


def is_out_of_bag(forest: TrainedForest, t: int, i: int) -> bool:
    return bool(forest.copies[t][i] == 0)


def in_bag_weights(forest: TrainedForest, t: int, count: str) -> Array:
    """What each training row counts as a member of the sample: its weight, times its copies if they count."""
    times = {"copies": forest.copies[t], "distinct": forest.copies[t] > 0}[count]
    return forest.weights * times


def out_of_bag_weights(forest: TrainedForest, t: int) -> Array:
    return forest.weights * (forest.copies[t] == 0)


def member_counts(forest: TrainedForest, t: int, weights: Array) -> dict[int, Array]:
    """leaf -> class counts of the training rows, each with the weight given."""
    return counts_from_shares(forest.trees[t], forest.shares[t], forest.y, weights, forest.n_classes)


@lru_cache(maxsize=10_000)
def in_bag_counts(forest: TrainedForest, t: int, count: str) -> dict[int, Array]:
    """leaf -> class counts of the sample, with its copies or of its distinct rows."""
    return member_counts(forest, t, in_bag_weights(forest, t, count))


@lru_cache(maxsize=10_000)
def out_of_bag_counts(forest: TrainedForest, t: int) -> dict[int, Array]:
    """leaf -> class counts of the rows that are not in the sample."""
    return member_counts(forest, t, out_of_bag_weights(forest, t))


def all_weights(forest: TrainedForest, t: int, oob_weight: float, count: str, without: int | None = None) -> Array:
    """What each row counts in n^IB + alpha n^OB, and 0 for a row that is to be left out."""
    weights = in_bag_weights(forest, t, count) + oob_weight * out_of_bag_weights(forest, t)
    if without is not None:
        weights[without] = 0
    return weights


# ---- B-PETs and EB-PETs
def leaf_probabilities(
    forest: TrainedForest, t: int, *, oob_weight: float, count: str, pseudo: Array
) -> dict[int, Array]:
    """(n_k^IB + alpha n_k^OB + a_k) / sum [N eq. 4 and 5]; an empty leaf without pseudo-counts asks its ancestors."""
    counts = member_counts(forest, t, all_weights(forest, t, oob_weight, count))
    pseudo = np.zeros(forest.n_classes) + pseudo
    if pseudo.sum() > 0:
        return {leaf: frequencies(n + pseudo) for leaf, n in counts.items()}
    return {leaf: frequencies(counts_or_ancestors(forest.trees[t], counts, leaf)) for leaf in counts}


def predict_bagged(forest: TrainedForest, queries: Array, *, oob_weight: float, count: str, pseudo: Array) -> Array:
    """The mean over trees [N eq. 3] of the leaves' probabilities, each with the share of the query."""
    total = np.zeros((len(queries), forest.n_classes))
    for t, tree in enumerate(forest.trees):
        probabilities = leaf_probabilities(forest, t, oob_weight=oob_weight, count=count, pseudo=pseudo)
        for q, row in enumerate(queries):
            for leaf, share in leaf_shares(tree, row).items():
                total[q] += share * probabilities[leaf]
    return total / len(forest.trees)


def oob_bagged(forest: TrainedForest, *, oob_weight: float, count: str, pseudo: Array) -> Array:
    """The same estimate for each training row, by the trees that it is out of bag for, as if it had no label.

    The row is taken out of the counts. A leaf that has nothing but this row is left out. A leaf that was empty
    with it (its weight or alpha is 0) is not: it asks its ancestors, as for a query. NaN where no leaf is left.
    """
    pseudo = np.zeros(forest.n_classes) + pseudo
    result = np.full((len(forest.y), forest.n_classes), np.nan)
    for i in range(len(forest.y)):
        total, total_share = np.zeros(forest.n_classes), 0.0
        for t in range(len(forest.trees)):
            if not is_out_of_bag(forest, t, i):
                continue
            tree, row_counts = forest.trees[t], oob_weight * forest.weights[i] > 0
            counts = member_counts(forest, t, all_weights(forest, t, oob_weight, count, without=i))
            for leaf, share in forest.shares[t][i].items():
                if pseudo.sum() > 0:
                    estimate = frequencies(counts[leaf] + pseudo)
                elif counts[leaf].sum() > 0:
                    estimate = frequencies(counts[leaf])
                elif row_counts:
                    continue
                else:
                    estimate = frequencies(counts_or_ancestors(tree, counts, leaf))
                total += share * estimate
                total_share += share
        if total_share > 0:
            result[i] = total / total_share
    return result


# ---- votes
def best_class(*criteria: Array) -> int:
    """The class with the largest value of the first criterion; of those alike, of the second ...; lowest index."""
    best = list(range(len(criteria[0])))
    for values in criteria:
        largest = max(values[k] for k in best)
        best = [k for k in best if values[k] >= largest - TOL]
    return best[0]


@lru_cache(maxsize=10_000)
def leaf_frequencies(forest: TrainedForest, t: int, count: str) -> dict[int, Array]:
    """In-bag frequencies per leaf; those of the nearest ancestor that is not empty at an empty leaf."""
    tree, counts = forest.trees[t], in_bag_counts(forest, t, count)
    return {leaf: frequencies(counts_or_ancestors(tree, counts, leaf)) for leaf in counts}


@lru_cache(maxsize=10_000)
def leaf_votes(forest: TrainedForest, t: int) -> dict[int, int]:
    """Per leaf the class with most in-bag weight, copies counted; then the larger class of the training set."""
    tree, counts, prior = forest.trees[t], in_bag_counts(forest, t, "copies"), class_weights(forest)
    return {leaf: best_class(counts_or_ancestors(tree, counts, leaf), prior) for leaf in counts}


def mean_leaf_frequency(forest: TrainedForest, t: int, shares: dict[int, float], count: str) -> Array:
    """The in-bag frequencies of the leaves that a row reaches in one tree, weighted with its shares."""
    table = leaf_frequencies(forest, t, count)
    return sum((share * table[leaf] for leaf, share in shares.items()), np.zeros(forest.n_classes))


def vote_from_shares(forest: TrainedForest, t: int, shares: dict[int, float], count: str) -> int:
    if len(shares) == 1:
        return leaf_votes(forest, t)[next(iter(shares))]
    return best_class(mean_leaf_frequency(forest, t, shares, count), class_weights(forest))


def tree_vote(forest: TrainedForest, t: int, row: Array, count: str) -> int:
    """The vote of the row's leaf; if it is in several, the class with the largest mean in-bag frequency."""
    return vote_from_shares(forest, t, leaf_shares(forest.trees[t], row), count)


def winner(votes: Array, mean_frequencies: Array, prior: Array) -> int:
    """The class with most votes; then the larger mean leaf frequency, the larger prior, the lower index."""
    return best_class(votes, mean_frequencies, prior)


def ensemble_vote(forest: TrainedForest, shares: dict[int, dict[int, float]], count: str) -> tuple[int, Array]:
    """The winner and the votes of some trees, given the leaves (with shares) that the row reaches in each."""
    votes, frequency = np.zeros(forest.n_classes), np.zeros(forest.n_classes)
    for t, reached in shares.items():
        votes[vote_from_shares(forest, t, reached, count)] += 1
        frequency += mean_leaf_frequency(forest, t, reached, count) / len(shares)
    return winner(votes, frequency, class_weights(forest)), votes


def oob_votes(forest: TrainedForest, count: str) -> tuple[Array, Array]:
    """ŷ of each training row by the trees it is out of bag for, -1 if there is none; and the votes (n, K)."""
    yhat = np.full(len(forest.y), -1)
    votes = np.zeros((len(forest.y), forest.n_classes))
    for i in range(len(forest.y)):
        trees = [t for t in range(len(forest.trees)) if is_out_of_bag(forest, t, i)]
        if trees:
            yhat[i], votes[i] = ensemble_vote(forest, {t: forest.shares[t][i] for t in trees}, count)
    return yhat, votes


def query_vote(forest: TrainedForest, row: Array, count: str, trees: list[int] | None = None) -> int:
    """ŷ of a query by all trees, or by those given."""
    trees = list(range(len(forest.trees))) if trees is None else trees
    return ensemble_vote(forest, {t: leaf_shares(forest.trees[t], row) for t in trees}, count)[0]


# ---- MOB-ESP
def vote_tables(
    forest: TrainedForest, t: int, yhat: Array, *, oob_weight: float, count: str, without: int | None = None
) -> dict[tuple[int, int], Array]:
    """(leaf, j) -> class counts M^IB + alpha M^OB of the members with ŷ = j [N eq. 7 and 8], without empty rows.

    A row that was never out of bag has no ŷ and is in no table.
    """
    weights = all_weights(forest, t, oob_weight, count, without)
    tables = {}
    for j in range(forest.n_classes):
        for leaf, counts in member_counts(forest, t, weights * (np.asarray(yhat) == j)).items():
            if counts.sum() > 0:
                tables[leaf, j] = counts
    return tables


def predict_mob_esp(
    forest: TrainedForest, queries: Array, *, oob_weight: float, count: str, vote_trees: list[int] | None = None
) -> Array:
    """The mean over trees of row ŷ of the query's leaf, where it exists [N eq. 9]; nowhere: the EB-PET estimate.

    `vote_trees` are the trees that find ŷ; the mean is over all trees.
    """
    yhat, _ = oob_votes(forest, count)
    result = predict_bagged(forest, queries, oob_weight=oob_weight, count=count, pseudo=np.zeros(forest.n_classes))
    tables = [vote_tables(forest, t, yhat, oob_weight=oob_weight, count=count) for t in range(len(forest.trees))]
    for q, row in enumerate(queries):
        j = query_vote(forest, row, count, vote_trees)
        total, total_share = np.zeros(forest.n_classes), 0.0
        for tree, table in zip(forest.trees, tables, strict=True):
            for leaf, share in leaf_shares(tree, row).items():
                if (leaf, j) in table:
                    total += share * frequencies(table[leaf, j])
                    total_share += share
        if total_share > 0:
            result[q] = total / total_share
    return result


def oob_mob_esp(forest: TrainedForest, *, oob_weight: float, count: str) -> Array:
    """The same for each training row, by the trees that it is out of bag for and without the row itself.

    Where no row of a table is left: the estimate of `oob_bagged`. NaN for a row that was never out of bag.
    """
    yhat, _ = oob_votes(forest, count)
    result = oob_bagged(forest, oob_weight=oob_weight, count=count, pseudo=np.zeros(forest.n_classes))
    for i in range(len(forest.y)):
        total, total_share = np.zeros(forest.n_classes), 0.0
        for t in range(len(forest.trees)):
            if not is_out_of_bag(forest, t, i):
                continue
            table = vote_tables(forest, t, yhat, oob_weight=oob_weight, count=count, without=i)
            for leaf, share in forest.shares[t][i].items():
                if (leaf, yhat[i]) in table:
                    total += share * frequencies(table[leaf, yhat[i]])
                    total_share += share
        if total_share > 0:
            result[i] = total / total_share
    return result


# ---- several estimates in one
def log_pool(components: list[Array], weights: Array, intercepts: Array, floor: float) -> Array:
    """softmax of the intercepts plus the weighted sum of log p; each p is at least `floor`, then sums to 1 again."""
    score = np.zeros(np.shape(components[0])) + np.asarray(intercepts, dtype=float)
    for p, weight in zip(components, weights, strict=True):
        floored = np.maximum(p, floor)
        score = score + weight * np.log(floored / floored.sum(axis=1, keepdims=True))
    unnormalised = np.exp(score - score.max(axis=1, keepdims=True))
    return unnormalised / unnormalised.sum(axis=1, keepdims=True)
