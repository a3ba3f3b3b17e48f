"""Second-order boosting, slow and plain: lists of rows, all cuts of all columns, sums taken anew for every cut."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

# Of gains that differ by less, relative to them or to the scores that they are differences of, the first counts.
EQUAL, ROUNDING = 1e-9, 1e-12
LONGEST_STEP = 30


@dataclass
class Settings:
    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: float = 1
    min_hessian: float = 1e-3
    l2: float = 0.0
    category_smoothing: float = 10.0


@dataclass
class Node:
    rows: list
    followers: list
    depth: int
    value: float = 0.0
    split: tuple | None = None  # (gain, column, a function from a value to whether it goes right, slack of the gain)
    children: list = field(default_factory=list)

    def leaf_of(self, row):
        if not self.children:
            return self
        _, column, goes_right, _ = self.split
        return self.children[goes_right(row[column])].leaf_of(row)

    def described(self):
        if not self.children:
            return round(self.value, 9)
        return (self.split[1], *(child.described() for child in self.children))


class NaiveBoosting:
    """Scores of all rows after some rounds; rows with a training mark of False only follow."""

    def __init__(self, X, y, weights, n_categories, n_classes, training, settings):
        self.X, self.y, self.weights, self.n_categories = X, y, weights, n_categories
        self.n_classes, self.settings = n_classes, settings
        self.training = [i for i in range(len(X)) if training[i]]
        self.others = [i for i in range(len(X)) if not training[i]]
        total = sum(weights[i] for i in self.training)
        of_class = [sum(weights[i] for i in self.training if y[i] == k) for k in range(n_classes)]
        self.base = [math.log((weight or 0.5) / total) for weight in of_class]
        self.scores = [list(self.base) for _ in X]
        self.trees = []

    def probabilities(self, i):
        largest = max(self.scores[i])
        odds = [math.exp(score - largest) for score in self.scores[i]]
        return [odd / sum(odds) for odd in odds]

    def add_round(self):
        p = [self.probabilities(i) for i in range(len(self.X))]
        for k in [1] if self.n_classes == 2 else range(self.n_classes):
            self.g = [w * (p[i][k] - (self.y[i] == k)) for i, w in enumerate(self.weights)]
            self.h = [w * p[i][k] * (1 - p[i][k]) for i, w in enumerate(self.weights)]
            tree = self.grow()
            self.trees.append(tree)
            for i, row in enumerate(self.X):
                self.scores[i][k] += tree.leaf_of(row).value

    def grow(self):
        root = self.make_node(self.training, self.others, 0)
        leaves = [root]
        while self.settings.max_leaf_nodes is None or len(leaves) < self.settings.max_leaf_nodes:
            best = None
            for leaf in leaves:
                if leaf.split and (best is None or leaf.split[0] > best.split[0] + best.split[3]):
                    best = leaf
            if best is None:
                break
            leaves.remove(best)
            _, column, goes_right, _ = best.split
            for side in (False, True):
                rows, followers = (
                    [i for i in some if goes_right(self.X[i][column]) == side] for some in (best.rows, best.followers)
                )
                best.children.append(self.make_node(rows, followers, best.depth + 1))
            leaves += best.children
        return root

    def make_node(self, rows, followers, depth):
        node = Node(rows, followers, depth)
        gradient, hessian = self.sums(rows)
        step = -gradient / (hessian + self.settings.l2)
        node.value = self.settings.learning_rate * max(-LONGEST_STEP, min(LONGEST_STEP, step))
        if self.settings.max_depth is None or depth < self.settings.max_depth:
            node.split = self.best_split(rows)
        return node

    def sums(self, rows):
        return sum(self.g[i] for i in rows), sum(self.h[i] for i in rows)

    def score(self, rows, penalty=0.0):
        gradient, hessian = self.sums(rows)
        return gradient**2 / (hessian + self.settings.l2 + penalty)

    def penalty(self, rows, column):
        """What is added to l2 on both sides of a split of more than two categories."""
        n_here = len({str(self.X[i][column]) for i in rows})
        if not self.n_categories[column] or n_here <= 2:
            return 0.0
        return self.settings.category_smoothing * self.sums(rows)[1] / self.weight(rows)

    def is_allowed(self, rows):
        enough = sum(self.weights[i] for i in rows) >= self.settings.min_samples_leaf
        return enough and self.sums(rows)[1] >= self.settings.min_hessian

    def best_split(self, rows):
        best = None
        for column in range(len(self.X[0])):
            kind = self.categorical_sides if self.n_categories[column] else self.numeric_sides
            parent, penalty, of_column = self.score(rows), self.penalty(rows, column), None
            for goes_right in kind(rows, column):
                left = [i for i in rows if not goes_right(self.X[i][column])]
                right = [i for i in rows if goes_right(self.X[i][column])]
                if self.is_allowed(left) and self.is_allowed(right):
                    gain = self.score(left, penalty) + self.score(right, penalty) - parent
                    if gain > EQUAL * parent and (of_column is None or gain > of_column[0] + of_column[3]):
                        of_column = (gain, column, goes_right, EQUAL * gain + ROUNDING * parent)
            if of_column and (best is None or of_column[0] > best[0] + best[3]):
                best = of_column
        return best

    def numeric_sides(self, rows, column):
        """Every cut between two values that occur among the rows, missing values to the right and to the left."""
        all_values = sorted({row[column] for row in self.X if not math.isnan(row[column])})
        here = sorted({self.X[i][column] for i in rows if not math.isnan(self.X[i][column])})
        any_missing = any(math.isnan(self.X[i][column]) for i in rows)
        for missing_right in (True, False) if any_missing else (None,):
            for low, high in zip(here, [*here, None][1:], strict=True):
                if high is None and not missing_right:
                    continue
                # Of the values in between, which only other nodes have, half go to either side.
                between = [v for v in all_values if low < v and (high is not None and v < high)]
                last = [low, *between][len(between) // 2] if high is not None else math.inf
                side = missing_right
                if side is None:
                    here_right = [i for i in rows if self.X[i][column] > low]
                    side = 2 * self.weight(here_right) > self.weight(rows)
                yield lambda v, last=last, side=side: side if math.isnan(v) else v > last

    def weight(self, rows):
        return sum(self.weights[i] for i in rows)

    def categorical_sides(self, rows, column):
        """Every cut of the categories in the order of their ratios; missing is a category."""
        code_of = {i: -1 if math.isnan(self.X[i][column]) else self.X[i][column] for i in rows}
        gradient, hessian = self.sums(rows)
        share = self.settings.category_smoothing / self.weight(rows)

        def ratio(code):
            g, h = self.sums([i for i in rows if code_of[i] == code])
            return (g + share * gradient) / (h + share * hessian)

        last = max(self.n_categories)  # missing comes after all categories
        order = sorted(set(code_of.values()), key=lambda code: (round(ratio(code), 9), last if code == -1 else code))
        for n_left in range(1, len(order)):
            left, right = set(order[:n_left]), set(order[n_left:])
            heavier = self.weight_of(code_of, left) < self.weight_of(code_of, right)
            elsewhere = (-1 in right) if -1 in set(order) else heavier

            def goes_right(v, left=left, right=right, elsewhere=elsewhere):
                code = -1 if math.isnan(v) else v
                return code in right if code in left | right else elsewhere

            yield goes_right

    def weight_of(self, code_of, codes):
        return sum(self.weights[i] for i, code in code_of.items() if code in codes)
