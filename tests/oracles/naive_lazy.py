"""Bagged lazy option trees, slow and obvious: exact fractions, sets of rows, nothing of petiole.

A row is a list of cells: numbers, category codes, or None for a missing value. Weights are fractions; a row of weight 2
is the row twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

UNITS = 10**12  # gains are compared in whole multiples of 1e-12


@dataclass(frozen=True)
class Test:
    """``row[attribute] sign value`` with the sign ">", "<" or "!="; a missing value fails."""

    __test__ = False  # not a test of pytest's
    attribute: int
    sign: str
    value: Any

    def holds(self, row: list[Any]) -> bool:
        cell = row[self.attribute]
        if cell is None:
            return False
        return {">": cell > self.value, "<": cell < self.value, "!=": cell != self.value}[self.sign]


@dataclass
class Rules:
    """What decides the growth of a tree and its answer."""

    nominal: list[bool]
    n_classes: int
    max_tests: int = 3
    min_gain: float = 0.2
    min_samples_leaf: float = 2
    cousin_rule: Any = True
    gain_prior: Fraction = Fraction(0)  # pseudo-rows with the class frequencies of the node, added to each child
    path_prior: Fraction = Fraction(0)  # pseudo-rows with the parent's answer, added to each node
    max_nodes: float = math.inf  # once a tree has so many nodes, further ones take their best option only
    # Likewise once the options have cost so many rows: those of their nodes, 100 for each, and more with many
    # classes. After twice as many there are no further options.
    row_budget: int = 10**30


@dataclass
class Node:
    """A node with the rows that satisfy all tests on the way to it."""

    members: list[int]
    options: list[tuple[Test, int]] = field(default_factory=list)  # tests and their gains in units
    children: list[Node] = field(default_factory=list)


class Data:
    """Training rows with labels and weights; a row of weight 0 is absent."""

    def __init__(self, rows: list[list[Any]], labels: list[int], weights: list[Any] | None = None) -> None:
        self.rows = rows
        self.labels = labels
        self.weights = [Fraction(w) for w in (weights or [1] * len(rows))]

    def everyone(self) -> list[int]:
        return [i for i, weight in enumerate(self.weights) if weight > 0]

    def counts(self, members: list[int], n_classes: int) -> list[Fraction]:
        counts = [Fraction(0)] * n_classes
        for i in members:
            counts[self.labels[i]] += self.weights[i]
        return counts

    def total(self, members: list[int]) -> Fraction:
        return sum((self.weights[i] for i in members), Fraction(0))


def gain_units(child: list[Fraction], node: list[Fraction], gain_prior: Fraction) -> int:
    """log2(K) - H(q), q_k proportional to child_k / node_k over the K classes at the node, in units of 1e-12."""
    prior = gain_prior / sum(node)
    ratios = [c / n + prior for c, n in zip(child, node, strict=True) if n > 0]
    shares = sorted(ratio / sum(ratios) for ratio in ratios)
    entropy = -math.fsum(float(q) * math.log2(q) for q in shares if q > 0)
    return round((math.log2(len(shares)) - entropy) * UNITS)


def all_tests(data: Data, members: list[int], query: list[Any], rules: Rules) -> list[Test]:
    """All tests that are true for the query and mention a value of another row of the node."""
    tests = []
    for j, v in enumerate(query):
        if v is None:
            continue
        values = sorted({data.rows[i][j] for i in members if data.rows[i][j] is not None} - {v})
        for value in values:
            sign = "!=" if rules.nominal[j] else (">" if value < v else "<")
            tests.append(Test(j, sign, value))
    return tests


def choose_options(
    data: Data, members: list[int], query: list[Any], rules: Rules, banned: set[Test], taken: set[frozenset[int]]
) -> list[tuple[Test, int]]:
    """The tests that the node branches on, best first, with their gains."""
    node_counts = data.counts(members, rules.n_classes)
    candidates = []
    for test in all_tests(data, members, query, rules):
        kept = [i for i in members if test.holds(data.rows[i])]
        size = data.total(kept)
        if size < rules.min_samples_leaf or test in banned or frozenset(kept) in taken:
            continue
        units = gain_units(data.counts(kept, rules.n_classes), node_counts, rules.gain_prior)
        if units < 1:
            continue
        nominal = rules.nominal[test.attribute]
        distance = test.value if nominal else abs(test.value - query[test.attribute])
        order = (-units, -size, test.attribute, distance, test.sign != ">")
        candidates.append((order, test, units, frozenset(kept)))
    candidates.sort(key=lambda candidate: candidate[0])
    options: list[tuple[Test, int]] = []
    subsets: set[frozenset[int]] = set()
    for _, test, units, kept_set in candidates:
        if len(options) == rules.max_tests or units < rules.min_gain * candidates[0][2]:
            break
        if kept_set not in subsets:
            subsets.add(kept_set)
            options.append((test, units))
    return options


def grow(data: Data, query: list[Any], rules: Rules) -> Node:
    """The lazy option tree of one query.

    Breadth first. When a node is expanded, its children choose their options one after another. Children with the same
    rows and the same forbidden tests are the same node.
    """
    taken: set[frozenset[int]] = set()  # stays empty but for the strict rule
    root = Node(data.everyone())
    nodes: dict[Any, Node] = {}
    spent = _choose(root, data, query, rules, set(), taken, len(nodes), 0)
    nodes[frozenset(root.members), frozenset()] = root
    queue = [root]
    for node in queue:
        for i, (test, _) in enumerate(node.options):
            kept = [i for i in node.members if test.holds(data.rows[i])]
            banned = _banned(node, i) if rules.cousin_rule is True else set()
            key = (frozenset(kept), frozenset(banned))
            if key not in nodes:
                nodes[key] = Node(kept)
                n_before = len(nodes) - 1
                spent = _choose(nodes[key], data, query, rules, banned, taken, n_before, spent)
                queue.append(nodes[key])
            node.children.append(nodes[key])
    return root


def _choose(
    node: Node,
    data: Data,
    query: list[Any],
    rules: Rules,
    banned: set[Test],
    taken: set[frozenset[int]],
    n_nodes: int,
    spent: int,
) -> int:
    """Gives the node its options; returns how many rows the options have cost until now."""
    node.options = choose_options(data, node.members, query, rules, banned, taken)
    n_rows = len(node.members)
    cost = n_rows + 100 + n_rows * min(n_rows, rules.n_classes) // 16
    most = max(1, (rules.row_budget - spent) // cost) if n_nodes < rules.max_nodes else 1
    if spent >= 2 * rules.row_budget:
        most = 0
    node.options = node.options[:most]
    if rules.cousin_rule == "strict":
        taken |= {frozenset(i for i in node.members if test.holds(data.rows[i])) for test, _ in node.options}
    return spent + len(node.options) * cost


def _banned(node: Node, i: int) -> set[Test]:
    """The tests that the node's i-th child must not take: those before it whose children have taken its own."""
    mine = node.options[i][0]
    return {node.options[h][0] for h in range(i) if mine in [test for test, _ in node.children[h].options]}


def answer(node: Node, data: Data, rules: Rules, above: list[Fraction] | None = None) -> list[Fraction]:
    """The mean over options of what the children say; a leaf says its class shares."""
    if above is None:
        above = [Fraction(1, rules.n_classes)] * rules.n_classes
    counts = data.counts(node.members, rules.n_classes)
    total = sum(counts) + rules.path_prior
    here = [(c + rules.path_prior * p) / total for c, p in zip(counts, above, strict=True)]
    if not node.children:
        return here
    answers = [answer(child, data, rules, here) for child in node.children]
    return [sum(column, Fraction(0)) / len(answers) for column in zip(*answers, strict=True)]


def predict(data: Data, query: list[Any], rules: Rules) -> list[Fraction]:
    """The class probabilities of one query by one tree."""
    return answer(grow(data, query, rules), data, rules)


def predict_bagged(
    data: Data, queries: list[list[Any]], rules: Rules, samples: list[list[int]]
) -> list[list[Fraction]]:
    """The mean over samples; a sample says how often each row is in it."""
    answers = []
    for query in queries:
        each = []
        for copies in samples:
            weights = [weight * n for weight, n in zip(data.weights, copies, strict=True)]
            each.append(predict(Data(data.rows, data.labels, weights), query, rules))
        answers.append([sum(column, Fraction(0)) / len(each) for column in zip(*each, strict=True)])
    return answers
