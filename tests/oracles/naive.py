"""A slow decision tree that is easy to check by eye: the oracle for the compiled core.

Nothing is shared with the library on purpose. A node's rows are a dict {row index: weight}, every cut is
counted afresh, and every rule of the growth semantics stands in one function. All "counts" are sums of
weights; weights must be positive; NaN is a missing value.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from math import inf, log2, nan, sqrt
from statistics import NormalDist

import numpy as np

import naive_drawn

TIE = 1e-10  # a later score must beat the best one by more than this
WTOL = 1e-9  # rounding allowed when weights are compared
SHARE_TOL = 1e-12  # class shares nearer than this are the same share
TINY_SHARE = 1e-3  # a row with less of its original weight is no longer cut into pieces

Array = np.ndarray
Rows = dict[int, float]


@dataclass
class GrowOptions:
    criterion: str = "entropy"  # entropy | gini | kearns_mansour | gain_ratio
    max_depth: int | None = None
    min_samples_leaf: float = 2
    min_gain: float = 0
    nominal_splits: str = "multiway"  # multiway | binary
    missing: str = "fractional"  # fractional | separate
    threshold: str = "midpoint"  # midpoint | data
    split_class_weight: Array | None = None
    splits: str = "best"  # best | oblique | random
    seed: int = 0  # of what the last two draw


@dataclass(eq=False)  # compared by identity, so that nodes can be keys of a dict
class Node:
    counts: Array  # weight of each class
    depth: int = 0
    feature: int = -1  # -1: leaf
    threshold: float = nan  # numeric test: x <= threshold goes to child 0, else to child 1
    category_branch: list[int] | None = None  # nominal test: child of each category, -1: as if missing
    missing_branch: int = -1  # child of the missing values, -1: spread over all children
    children: list["Node"] = field(default_factory=list)
    projection: list[tuple[int, float]] | None = None  # what is compared with the threshold is this sum

    @property
    def weight(self) -> float:
        return float(self.counts.sum())


# ---- impurities
def proportions(counts: Array) -> list[float]:
    total = sum(counts)
    return [c / total for c in counts if c > 0]


def entropy_bits(counts: Array) -> float:
    return -sum(p * log2(p) for p in proportions(counts))


def gini(counts: Array) -> float:
    return 1 - sum(p * p for p in proportions(counts)) if sum(counts) > 0 else 0.0


def kearns_mansour(counts: Array) -> float:
    # p may exceed 1 by rounding; the square root must not see that
    return sum(sqrt(p * max(1 - p, 0)) for p in proportions(counts))


def impurity(counts: Array, criterion: str) -> float:
    return {"gini": gini, "kearns_mansour": kearns_mansour}.get(criterion, entropy_bits)(counts)


# ---- comparisons with ties
def at_least(weight: float, limit: float) -> bool:
    return weight >= limit - WTOL


def first_best(scores: list[float], tolerance: float) -> int:
    """Position of the largest score; a later one wins only by more than the tolerance."""
    best = 0
    for i, score in enumerate(scores):
        if score > scores[best] + tolerance:
            best = i
    return best


def ascending(keys: list[float], tolerance: float) -> list[int]:
    """Positions by ascending key, keys within the tolerance by position."""

    def compare(i: int, j: int) -> int:
        if abs(keys[i] - keys[j]) <= tolerance:
            return i - j
        return -1 if keys[i] < keys[j] else 1

    return sorted(range(len(keys)), key=cmp_to_key(compare))


# ---- the best cut of one attribute
@dataclass
class Column:
    """One attribute as the rows of a node show it."""

    values: Array
    y: Array
    w: Array
    n_classes: int
    n_categories: int  # 0: numeric
    training_values: Array  # the same attribute in the whole training set

    def counts(self, mask: Array) -> Array:
        return np.bincount(self.y[mask], weights=self.w[mask], minlength=self.n_classes)


@dataclass
class Candidate:
    gain: float
    corrected_gain: float  # less than the gain only for a numeric attribute under gain_ratio
    split_info: float
    n_children: int
    tries: int = 1
    cut: float = nan  # threshold of a numeric attribute
    category_branch: list[int] | None = None
    missing_branch: int = -1
    projection: list[tuple[int, float]] | None = None

    @property
    def ratio(self) -> float:
        return self.corrected_gain / self.split_info if self.split_info > 0 else nan


def class_weighted(counts: Array, options: GrowOptions) -> Array:
    return counts if options.split_class_weight is None else counts * np.asarray(options.split_class_weight)


def candidate(branches: list[Array], unknown: Array, options: GrowOptions, **test: object) -> Candidate:
    """Gain F * (I(known) - sum_b n_b/n_known I(b)), F the known part of the node, and SplitInfo.

    With missing="separate" the caller passes the missing rows as a branch and an empty `unknown`.
    """
    parts = [class_weighted(b, options) for b in branches]
    known, n_unknown = sum(parts), class_weighted(unknown, options).sum()
    n_known = known.sum()
    gain = 0.0
    if n_known > 0:  # it is 0 if the split gives weight 0 to all classes present
        after = sum(part.sum() / n_known * impurity(part, options.criterion) for part in parts)
        gain = n_known / (n_known + n_unknown) * (impurity(known, options.criterion) - after)
    split_info = entropy_bits(np.array([part.sum() for part in parts] + [n_unknown]))
    test = {"n_children": len(branches), **test}
    return Candidate(gain, gain, split_info, **test)


def minimum_side(n_known: float, n_classes: int, options: GrowOptions) -> float:
    """Weight that a numeric cut must leave on each side; C4.5 asks for up to 25 in large nodes."""
    lowest = options.min_samples_leaf
    if options.criterion != "gain_ratio":
        return lowest
    return min(max(0.1 * n_known / n_classes, lowest), max(25, lowest))


def threshold_between(a: float, b: float, column: Column, options: GrowOptions) -> float:
    middle = a + (b - a) / 2
    if middle >= b:  # a and b are neighbouring floats, and the middle was rounded up
        middle = a
    if options.threshold == "midpoint":
        return middle
    return max(v for v in column.training_values if v <= middle)  # NaN <= middle is false


def best_numeric(column: Column, options: GrowOptions, only: float | None = None) -> Candidate | None:
    """The best cut of all, or the only one that is allowed."""
    is_missing = np.isnan(column.values)
    known, missing = column.counts(~is_missing), column.counts(is_missing)
    separate = options.missing == "separate" and missing.sum() > 0
    extra, unknown = ([missing], 0 * missing) if separate else ([], missing)
    side = minimum_side(known.sum(), column.n_classes, options)

    cuts = []
    for a, b in pairwise(np.unique(column.values[~is_missing])):
        if only is not None and not a <= only < b:
            continue
        low, high = column.counts(column.values <= a), column.counts(column.values >= b)
        if at_least(low.sum(), side) and at_least(high.sum(), side):
            cut = threshold_between(a, b, column, options) if only is None else only
            missing_branch = 2 if separate else -1
            branches = [low, high, *extra]
            cuts.append(candidate(branches, unknown, options, cut=cut, missing_branch=missing_branch))
    if separate and all(at_least(part.sum(), options.min_samples_leaf) for part in (known, missing)):
        cuts.append(candidate([known, missing], unknown, options, cut=inf, missing_branch=1))
    if not cuts:
        return None

    best = cuts[first_best([cut.gain for cut in cuts], TIE)]
    best.tries = len(cuts)
    if options.criterion == "gain_ratio":  # the price of having chosen among many cuts
        best.corrected_gain -= log2(best.tries) / column.w.sum()
        if best.corrected_gain <= TIE:
            return None
    return best


def present_categories(column: Column, options: GrowOptions) -> tuple[list[int], list[Array], Array]:
    """Codes present at the node, their class counts, and the counts of the rows without a branch.

    With missing="separate" the missing value is the category after the last, and every row has a branch.
    """
    is_missing = np.isnan(column.values)
    codes = sorted({int(v) for v in column.values[~is_missing]})
    groups = [column.counts(column.values == code) for code in codes]
    missing = column.counts(is_missing)
    if options.missing == "separate" and missing.sum() > 0:
        return [*codes, column.n_categories], [*groups, missing], 0 * missing
    return codes, groups, missing


def multiway(column: Column, options: GrowOptions) -> Candidate | None:
    codes, groups, unknown = present_categories(column, options)
    if sum(at_least(group.sum(), options.min_samples_leaf) for group in groups) < 2:
        return None
    empty_leaf = len(groups)  # the child after the last branch, if anything has to be routed there
    branch = {code: b for b, code in enumerate(codes)}
    category_branch = [branch.get(code, empty_leaf) for code in range(column.n_categories)]
    missing_branch = -1
    if options.missing == "separate" and np.isnan(column.training_values).any():
        missing_branch = branch.get(column.n_categories, empty_leaf)
    n_children = len(groups) + (empty_leaf in [*category_branch, missing_branch])
    test = {"category_branch": category_branch, "missing_branch": missing_branch, "n_children": n_children}
    return candidate(groups, unknown, options, **test)


def class_share(counts: Array, klass: int, options: GrowOptions) -> float:
    counts = class_weighted(counts, options)
    return counts[klass] / counts.sum() if counts.sum() > 0 else 0.0


def best_subset(column: Column, options: GrowOptions) -> Candidate | None:
    """Two-way nominal split: order the categories by a class's share in them, then cut the sequence.

    With two classes one of these cuts is the best of all subsets (Breiman et al. 1984, theorem 4.5); with
    more classes it is a heuristic, tried once for each heavy class.
    """
    codes, groups, unknown = present_categories(column, options)
    node_counts = sum(groups) + unknown
    classes = [1]
    if column.n_classes > 2:
        classes = [k for k in ascending(list(-node_counts), WTOL) if node_counts[k] > 0][:8]

    cuts = []
    for klass in classes:
        order = ascending([class_share(group, klass, options) for group in groups], SHARE_TOL)
        for size in range(1, len(order)):
            sides = [sum(groups[g] for g in part) for part in (order[:size], order[size:])]
            if not all(at_least(side.sum(), options.min_samples_leaf) for side in sides):
                continue
            branch = {codes[g]: int(place >= size) for place, g in enumerate(order)}
            *category_branch, missing_branch = [branch.get(c, -1) for c in range(column.n_categories + 1)]
            test = {"category_branch": category_branch, "missing_branch": missing_branch}
            cuts.append(candidate(sides, unknown, options, **test))
    return cuts[first_best([cut.gain for cut in cuts], TIE)] if cuts else None


def best_cut(column: Column, options: GrowOptions) -> Candidate | None:
    if column.n_categories == 0:
        return best_numeric(column, options)
    return multiway(column, options) if options.nominal_splits == "multiway" else best_subset(column, options)


def best_of_drawn(column: Column, test: naive_drawn.Test, options: GrowOptions) -> Candidate | None:
    """The candidate of a column of which only a drawn test is tried."""
    if not naive_drawn.varies(column.values):
        return None
    shown = Column(test.values, column.y, column.w, column.n_classes, 0, test.values)
    best = best_numeric(shown, options, None if np.isnan(test.cut) else test.cut)
    if best is None:
        return None
    best.projection = test.projection
    if test.places is not None:
        branch = {code: int(place > test.cut) for code, place in test.places.items()}
        *best.category_branch, missing_branch = [branch.get(c, -1) for c in range(column.n_categories + 1)]
        best.missing_branch = missing_branch if options.missing == "separate" else -1
        best.cut = nan
    return best


def numeric_candidate(values, y, w, n_classes: int, options: GrowOptions) -> dict | None:
    """Numbers of the best cut of one numeric attribute in a node that is the whole training set."""
    return nominal_candidate(values, y, w, 0, n_classes, options)


def nominal_candidate(values, y, w, n_categories: int, n_classes: int, options: GrowOptions) -> dict | None:
    values = np.asarray(values, dtype=float)
    column = Column(values, np.asarray(y), np.asarray(w, dtype=float), n_classes, n_categories, values)
    best = best_cut(column, options)
    return best and {**vars(best), "ratio": best.ratio}


def choose(cuts: dict[int, Candidate], many_valued: list[bool], options: GrowOptions) -> int | None:
    """The attribute to split on, None for a leaf. `cuts` is in the order of the attributes."""
    if options.criterion == "gain_ratio":
        return choose_by_ratio(cuts, many_valued, options.min_gain)
    features = [j for j, cut in cuts.items() if options.min_gain == 0 or cut.gain >= options.min_gain]
    return features[first_best([cuts[j].gain for j in features], TIE)] if features else None


def choose_by_ratio(cuts: dict[int, Candidate], many_valued: list[bool], min_gain: float = 0) -> int | None:
    """C4.5: the largest gain ratio among the attributes of at least average gain."""
    cuts = {j: cut for j, cut in cuts.items() if cut.split_info > 1e-3}
    averaged = [cut.corrected_gain for j, cut in cuts.items() if all(many_valued) or not many_valued[j]]
    if not averaged:
        return None
    average = sum(averaged) / len(averaged)
    eligible = [j for j, cut in cuts.items() if cut.corrected_gain >= max(average - 1e-3, min_gain)]
    if not eligible:
        return None
    best = eligible[first_best([cuts[j].ratio for j in eligible], TIE)]
    return best if cuts[best].ratio > TIE else None


# ---- rows to children
def branch_of(node: Node, row: Array) -> int:
    """The child of a row, -1 if the row must be spread over all children."""
    value = row[node.feature]
    if node.projection is not None:
        value = sum(weight * row[j] for j, weight in node.projection)
    if np.isnan(value):
        return node.missing_branch
    if node.category_branch is None:
        return 0 if value <= node.threshold else 1
    branch = node.category_branch[int(value)] if 0 <= value < len(node.category_branch) else -1
    return branch if branch >= 0 else node.missing_branch


def shares_of(weights: list[float]) -> list[float]:
    total = sum(weights)
    return [v / total for v in weights] if total > 0 else [1 / len(weights)] * len(weights)


def distribute(node: Node, n_children: int, rows: Rows, X: Array, w: Array) -> list[Rows]:
    """Rows of each child. The proportions of the spread rows come from the other rows given here."""
    branch = {i: branch_of(node, X[i]) for i in rows}
    parts = [{i: v for i, v in rows.items() if branch[i] == b} for b in range(n_children)]
    known = [sum(part.values()) for part in parts]  # before any spread row is added
    shares = shares_of(known)
    for i, v in rows.items():
        if branch[i] >= 0:
            continue
        if v / w[i] < TINY_SHARE:
            parts[first_best(known, WTOL)][i] = v
            continue
        for part, share in zip(parts, shares, strict=True):
            if share > 0:
                part[i] = v * share
    return parts


def class_counts(rows: Rows, y: Array, n_classes: int) -> Array:
    counts = np.zeros(n_classes)
    for i, v in rows.items():
        counts[y[i]] += v
    return counts


# ---- growth
def grow(X: Array, y: Array, w: Array, n_categories: list[int], n_classes: int, options: GrowOptions) -> Node:
    """Grow a tree; n_categories[j] is 0 for a numeric attribute."""
    many_valued = [c > 0 and at_least(c, 0.3 * sum(w)) for c in n_categories]

    def column(rows: Rows, j: int) -> Column:
        at_node, weights = list(rows), np.array(list(rows.values()))
        return Column(X[at_node, j], y[at_node], weights, n_classes, n_categories[j], X[:, j])

    def cut_of(rows: Rows, j: int, key: int) -> Candidate | None:
        test = None
        if options.splits != "best":
            test = naive_drawn.drawn_test(X, w, n_categories, list(rows), j, key, options)
        return best_cut(column(rows, j), options) if test is None else best_of_drawn(column(rows, j), test, options)

    def grow_node(rows: Rows, depth: int, key: int) -> Node:
        node = Node(class_counts(rows, y, n_classes), depth)
        if must_be_leaf(node, options):
            return node
        cuts = {j: cut_of(rows, j, key) for j in range(X.shape[1])}
        cuts = {j: cut for j, cut in cuts.items() if cut is not None}
        chosen = choose(cuts, many_valued, options)
        if chosen is None:
            return node
        cut = cuts[chosen]
        node.feature, node.threshold = chosen, cut.cut
        node.category_branch, node.missing_branch = cut.category_branch, cut.missing_branch
        node.projection = cut.projection
        parts = distribute(node, cut.n_children, rows, X, w)
        node.children = [grow_node(p, depth + 1, naive_drawn.derived(key, c + 1)) for c, p in enumerate(parts)]
        return node

    return grow_node({i: float(v) for i, v in enumerate(w)}, 0, naive_drawn.mix(options.seed))


def must_be_leaf(node: Node, options: GrowOptions) -> bool:
    pure = node.weight - max(node.counts) <= 1e-9 * node.weight
    return node.depth == options.max_depth or pure or not at_least(node.weight, 2 * options.min_samples_leaf)


# ---- prediction
def leaf_weights(root: Node, row: Array) -> list[tuple[Node, float]]:
    """The leaves a row reaches and how much of it arrives there."""
    if not root.children:
        return [(root, 1.0)]
    branch = branch_of(root, row)
    if branch >= 0:
        return leaf_weights(root.children[branch], row)
    shares = shares_of([child.weight for child in root.children])
    reached = [(child, share) for child, share in zip(root.children, shares, strict=True) if share > 0]
    return [(leaf, share * v) for child, share in reached for leaf, v in leaf_weights(child, row)]


def estimate_nodes(node: Node, estimate: Callable, inherited: object = None) -> dict[Node, object]:
    """estimate(counts) at every node; an empty node takes what its parent has."""
    own = estimate(node.counts) if node.weight > 0 else inherited
    table = {node: own}
    for child in node.children:
        table |= estimate_nodes(child, estimate, own)
    return table


def predict(root: Node, X: Array, estimate: Callable) -> Array:
    table = estimate_nodes(root, estimate)
    return np.array([sum(v * table[leaf] for leaf, v in leaf_weights(root, row)) for row in X])


def predict_raw(root: Node, X: Array) -> Array:
    return predict(root, X, lambda counts: counts / counts.sum())


def predict_laplace(root: Node, X: Array) -> Array:
    return predict(root, X, lambda counts: (counts + 1) / (counts.sum() + len(counts)))


# ---- pruning; every function returns a new tree
def nodes(node: Node) -> list[Node]:
    return [node] + [t for child in node.children for t in nodes(child)]


def leaves(node: Node) -> list[Node]:
    return [t for t in nodes(node) if not t.children]


def rebuilt(node: Node, counts: Array, depth: int, children: list[Node]) -> Node:
    """The same test with other counts and children; without children it is a leaf."""
    if not children:
        return Node(counts.copy(), depth)
    test = (node.feature, node.threshold, node.category_branch, node.missing_branch)
    return Node(counts.copy(), depth, *test, children, node.projection)


def cut_where(node: Node, becomes_leaf: Callable[[Node], bool]) -> Node:
    """Top-down: an internal node for which becomes_leaf holds loses its children."""
    keep = node.children and not becomes_leaf(node)
    children = [cut_where(child, becomes_leaf) for child in node.children] if keep else []
    return rebuilt(node, node.counts, node.depth, children)


def errors(node: Node) -> float:
    return node.weight - float(max(node.counts))


def collapse(root: Node) -> Node:
    """Leaves instead of subtrees that make no fewer training errors (C4.5)."""
    return cut_where(root, lambda node: sum(map(errors, leaves(node))) >= errors(node) - 1e-3)


def added_errors(n: float, e: float, confidence: float = 0.25, z: float | None = None) -> float:
    """Errors to add to e errors among n to reach the upper confidence limit.

    J48 takes z from the normal distribution; C4.5's table gives 0.6925 for confidence 0.25.
    """
    z = NormalDist().inv_cdf(1 - confidence) if z is None else z
    if e < 1:
        at_zero = n * (1 - confidence ** (1 / n))
        return at_zero if e == 0 else at_zero + e * (added_errors(n, 1, confidence, z) - at_zero)
    if e + 0.5 >= n:
        return max(n - e, 0.0)
    f = (e + 0.5) / n
    upper = (f + z * z / (2 * n) + z * sqrt(f / n - f * f / n + z * z / (4 * n * n))) / (1 + z * z / n)
    return upper * n - e


def estimated_errors(node: Node, confidence: float) -> float:
    reached = [leaf for leaf in leaves(node) if leaf.weight > 0]
    return sum(errors(leaf) + added_errors(leaf.weight, errors(leaf), confidence) for leaf in reached)


def prune_error_based(root: Node, X: Array, y: Array, w: Array, confidence: float = 0.25) -> Node:
    """Collapse, then C4.5's pessimistic pruning with subtree raising. X, y, w must be the growing set."""

    def refeed(node: Node, rows: Rows, depth: int) -> Node:
        parts = distribute(node, len(node.children), rows, X, w) if node.children else []
        children = [refeed(child, part, depth + 1) for child, part in zip(node.children, parts, strict=True)]
        return rebuilt(node, class_counts(rows, y, len(root.counts)), depth, children)

    def prune(node: Node, rows: Rows) -> Node:
        leaf = rebuilt(node, node.counts, node.depth, [])
        if not node.children:
            return leaf
        parts = distribute(node, len(node.children), rows, X, w)
        children = [prune(child, part) for child, part in zip(node.children, parts, strict=True)]
        tree = rebuilt(node, node.counts, node.depth, children)
        largest = children[first_best([child.weight for child in children], WTOL)]
        raised = refeed(largest, rows, node.depth)

        as_leaf, as_tree, as_raised = (estimated_errors(t, confidence) for t in (leaf, tree, raised))
        slack = 0.1 + 1e-6  # 0.1 is Quinlan's preference for the smaller tree, 1e-6 is Weka's rounding
        if as_leaf <= min(as_tree, as_raised) + slack:
            return leaf
        return prune(raised, rows) if as_raised <= as_tree + slack else tree

    return prune(collapse(root), {i: float(v) for i, v in enumerate(w)})


def link_strength(node: Node) -> float:
    """Bits bought per additional leaf of the subtree (Breiman et al. 1984, section 3.3)."""
    below = leaves(node)
    bits, *bits_below = [t.weight * entropy_bits(t.counts) for t in [node, *below]]
    return (bits - sum(bits_below)) / (len(below) - 1)


def cut_weakest_links(root: Node) -> Node:
    weakest = min(link_strength(node) for node in nodes(root) if node.children)
    return cut_where(root, lambda node: link_strength(node) <= weakest + 1e-12)


def errors_on(root: Node, X: Array, y: Array, w: Array) -> float:
    """Weight of the rows that are in a leaf of another majority class."""
    majority = estimate_nodes(root, lambda counts: first_best(list(counts), WTOL))
    reached = [(i, leaf, v) for i, row in enumerate(X) for leaf, v in leaf_weights(root, row)]
    return sum(w[i] * v for i, leaf, v in reached if majority[leaf] != y[i])


def prune_with_set(root: Node, X_prune: Array, y_prune: Array, w_prune: Array) -> Node:
    """The tree of the cost-complexity sequence with the fewest errors on the pruning set."""
    sequence = [cut_where(root, lambda node: False)]  # a copy
    while sequence[0].children:
        sequence.insert(0, cut_weakest_links(sequence[0]))
    # the smallest tree comes first, so a larger one must be truly better
    scores = [-errors_on(tree, X_prune, y_prune, w_prune) for tree in sequence]
    return sequence[first_best(scores, WTOL)]


# ---- weights
def weights_in_rows(weights: list[float]) -> tuple[list[float], float]:
    """Weights measured in rows, and the weight that is one row, in exact arithmetic.

    One row is the smallest weight if all others are whole multiples of it, to one part in 10^9, else the mean. Weights
    of zero stay out of it.
    """
    exact = [Fraction(w) for w in weights]
    positive = [w for w in exact if w > 0]
    least = min(positive)
    multiples = [w / least for w in positive]
    if all(abs(m - round(m)) <= Fraction(1, 10**9) * m for m in multiples):
        return [float(round(w / least)) for w in exact], float(least)
    mean = sum(positive) / len(positive)
    return [float(w / mean) for w in exact], float(mean)
