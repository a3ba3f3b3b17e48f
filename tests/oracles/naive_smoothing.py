"""Slow leaf estimators that are easy to check by eye: the oracle for the fast ones.

Nothing is shared with the library on purpose. A tree is two things:

    parent   parent[u] is the parent of node u, -1 for the root; node 0 is the root; parents come before children
    counts   array (n_nodes, K), the weight of each class at every node, internal nodes included

Every estimator returns an array (n_nodes, K) with a row for every node. The row of an internal node is what
it would say if the tree were cut there. Weights may be fractional, and a node may be empty.

Papers: [ZE] Zadrozny & Elkan 2001, curtailment and m-estimation; [HGS] Zhang, Petitjean & Buntine 2020, which
also describes m-branch (its eq. 2) and HDP smoothing (its eq. 3).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import exp, inf, lgamma, log, log2, sqrt

import numpy as np

WTOL = 1e-9  # rounding allowed when weights are compared

Array = np.ndarray


# ---- the tree
def children(parent: list[int], node: int) -> list[int]:
    return [u for u in range(len(parent)) if parent[u] == node]


def leaves(parent: list[int]) -> list[int]:
    return [u for u in range(len(parent)) if not children(parent, u)]


def path_from_root(parent: list[int], node: int) -> list[int]:
    """The root, ..., the node itself."""
    path = [node]
    while parent[path[0]] != -1:
        path.insert(0, parent[path[0]])
    return path


def ancestors(parent: list[int], node: int) -> list[int]:
    """Proper ancestors, the root first: the node itself is not one of them."""
    return path_from_root(parent, node)[:-1]


def depth(parent: list[int], node: int) -> int:
    return len(ancestors(parent, node))


def height(parent: list[int], node: int) -> int:
    """Largest distance down to a leaf, plus 1: a leaf has height 1."""
    return 1 + max((height(parent, child) for child in children(parent, node)), default=0)


def inherited_row(parent: list[int], rows: Array, node: int) -> Array:
    """What a node says that knows nothing itself: its parent's row, at the root all classes alike."""
    n_classes = rows.shape[1]
    return np.full(n_classes, 1 / n_classes) if parent[node] == -1 else rows[parent[node]]


# ---- each node by itself
def with_pseudo_counts(parent: list[int], counts: Array, pseudo_counts: Array) -> Array:
    """(n_k + a_k) / (n + sum of a), the form that raw, Laplace and m-estimate share."""
    rows = np.zeros(np.shape(counts))
    for u, n in enumerate(np.asarray(counts, dtype=float)):
        if n.sum() <= 0:
            rows[u] = inherited_row(parent, rows, u)
        else:
            rows[u] = (n + pseudo_counts) / (n.sum() + pseudo_counts.sum())
    return rows


def raw(parent: list[int], counts: Array) -> Array:
    return with_pseudo_counts(parent, counts, np.zeros(np.shape(counts)[1]))


def laplace(parent: list[int], counts: Array, prior: float | Array = 1.0) -> Array:
    """The prior is a pseudo count: one number for every class, or one number per class."""
    return with_pseudo_counts(parent, counts, np.zeros(np.shape(counts)[1]) + prior)


def m_estimate(parent: list[int], counts: Array, m: float, base_rate: Array) -> Array:
    """(n_k + m b_k) / (n + m) [ZE; HGS eq. 1]."""
    return with_pseudo_counts(parent, counts, m * np.asarray(base_rate, dtype=float))


def auto_m(base_rate: Array) -> float:
    """b m = 10 [ZE] for the rarest class that occurs at all; the others then have b m > 10."""
    return 10 / min(b for b in base_rate if b > 0)


def stopping_node(parent: list[int], counts: Array, node: int, v: float) -> int:
    """Where curtailment stops on the way to the node: before the first child that is too light."""
    stop, *below = path_from_root(parent, node)  # the root may always be used
    for child in below:
        weight = np.sum(counts[child])
        if weight <= 0 or weight < v - WTOL:
            break
        stop = child
    return stop


def curtailment(
    parent: list[int], counts: Array, v: float, m: float | None = None, base_rate: Array | None = None
) -> Array:
    """The estimate of the deepest node that is heavy enough, raw or m-smoothed [ZE]."""
    rows = raw(parent, counts) if m is None else m_estimate(parent, counts, m, base_rate)
    return np.array([rows[stopping_node(parent, counts, u, v)] for u in range(len(parent))])


# ---- m-branch
def m_of_height(M: float, h: int, N: float) -> float:
    """m = M (1 + (1 - 1/h) sqrt(N)): M at a leaf (h = 1), more for the larger samples higher up."""
    return M * (1 + (1 - 1 / h) * sqrt(N))


def m_branch_row(parent: list[int], counts: Array, node: int, M: float, height_rule: str) -> Array:
    n_classes = np.shape(counts)[1]
    N = np.sum(counts[0])
    theta = np.full(n_classes, 1 / n_classes)  # what the root is smoothed to
    for a in path_from_root(parent, node):
        h = depth(parent, node) + 1 - depth(parent, a) if height_rule == "branch" else height(parent, a)
        m = m_of_height(M, h, N)
        if np.sum(counts[a]) + m > 0:  # else neither data nor smoothing: theta stays the parent's
            theta = (counts[a] + m * theta) / (np.sum(counts[a]) + m)
    return theta


def m_branch(parent: list[int], counts: Array, M: float, height: str = "branch") -> Array:
    """Every node of a branch is smoothed towards its parent's smoothed estimate [HGS eq. 2].

    height="branch": h counts from the node whose row is asked for, so that an ancestor has another m in every
    branch; height="subtree": h is the node's height in the whole tree, and each node has one m.
    """
    if height not in ("branch", "subtree"):
        raise ValueError(f"height={height!r}: must be 'branch' or 'subtree'")
    return np.array([m_branch_row(parent, counts, u, M, height) for u in range(len(parent))])


# ---- HGS
def hgs(parent: list[int], counts: Array, alpha: Array) -> Array:
    """(n_k + sum of alpha_p theta_p,k) / (n + sum of alpha_p) over the proper ancestors p [HGS eq. 4].

    alpha has one number per node; leaves never have descendants, so theirs are not used. theta_p is the raw
    row of p; if p is empty itself (then so is all below it), that row is the one it inherits.
    """
    theta = raw(parent, counts)
    rows = np.zeros(theta.shape)
    for u in range(len(parent)):
        above = ancestors(parent, u)
        numerator = counts[u] + sum(alpha[p] * theta[p] for p in above)
        denominator = np.sum(counts[u]) + sum(alpha[p] for p in above)
        rows[u] = numerator / denominator if denominator > 0 else inherited_row(parent, rows, u)
    return rows


@dataclass
class LeftOut:
    """The examples of one class in one leaf, each of them judged by the tree without it."""

    weight: float  # n_lk, how many examples
    theta: float  # theta_LOO of the leaf for their class
    denominator: float  # D_l = n_l - left out + sum of alpha
    theta_above: dict[int, float]  # theta_LOO of every proper ancestor for their class


def theta_without(counts: Array, node: int, k: int, left_out: float) -> float:
    """theta_LOO of an ancestor: its share of class k once some weight of that class is taken away."""
    n_classes = np.shape(counts)[1]
    total = np.sum(counts[node])
    if total <= 1 + WTOL:  # nothing would be left
        return 1 / n_classes
    return max(counts[node][k] - left_out, 0.0) / (total - left_out)


def left_out_terms(parent: list[int], counts: Array, alpha: Array) -> Iterator[LeftOut]:
    """One term for every leaf l and class k with n_lk > 0, so that empty leaves have none [HGS eq. 5].

    - A class with weight <= 1 in the whole tree has theta_LOO = 0 for every alpha: an infinite cost that no alpha
      can repair. Its terms are dropped, from N too.
    - An example is taken out with weight 1, but no leaf can lose more than it has: the weight left out is
      min(1, n_lk), at the leaf and at each of its ancestors. With whole counts this is the paper's 1; with a
      fractional n_lk < 1 the term counts with weight n_lk and the leaf keeps nothing of the class.
    """
    for leaf in leaves(parent):
        above = ancestors(parent, leaf)
        for k, n_lk in enumerate(counts[leaf]):
            if n_lk <= 0 or counts[0][k] <= 1 + WTOL:
                continue
            left_out = min(1.0, n_lk)
            theta_above = {p: theta_without(counts, p, k, left_out) for p in above}
            denominator = np.sum(counts[leaf]) - left_out + sum(alpha[p] for p in above)
            numerator = n_lk - left_out + sum(alpha[p] * theta_above[p] for p in above)
            # a leaf that is left with nothing and gets nothing from above gives its example no chance
            theta = numerator / denominator if denominator > 0 else 0.0
            yield LeftOut(n_lk, theta, denominator, theta_above)


def loss_of(theta: float, loss: str) -> float:
    if loss == "log":
        return -log2(theta) if theta > 0 else inf
    if loss == "squared":
        return (1 - theta) ** 2 / 2
    raise ValueError(f"loss={loss!r}: must be 'log' or 'squared'")


def loss_slope(theta: float, loss: str) -> float:
    """Derivative of the loss by theta."""
    return -1 / (theta * log(2)) if loss == "log" else theta - 1


def hgs_loocv(parent: list[int], counts: Array, alpha: Array, loss: str = "log") -> float:
    """Mean loss of an example at the leaf it came from, without it [HGS eq. 6]; bits if loss="log".

    Finite if alpha is positive at the root and nowhere negative.
    """
    terms = list(left_out_terms(parent, counts, alpha))
    N = sum(term.weight for term in terms)
    return float(sum(term.weight * loss_of(term.theta, loss) for term in terms) / N) if N > 0 else 0.0


def hgs_loocv_gradient(parent: list[int], counts: Array, alpha: Array, loss: str = "log") -> Array:
    """Derivative of the cost by the alpha of every node, 0 at leaves [HGS eqs. 7-8].

    d theta_l / d alpha_p = (theta_p - theta_l) / D_l, all leave-one-out; alpha as for the cost.
    """
    terms = list(left_out_terms(parent, counts, alpha))
    N = sum(term.weight for term in terms)
    gradient = np.zeros(len(parent))
    for term in terms:
        for p, theta_p in term.theta_above.items():
            theta_slope = (theta_p - term.theta) / term.denominator
            gradient[p] += term.weight / N * loss_slope(term.theta, loss) * theta_slope
    return gradient


def hgs_gradient_descent(
    parent: list[int], counts: Array, learning_rate: float = 0.01, tol: float = 1e-4
) -> tuple[Array, float, int]:
    """Algorithm 1 of [HGS] to the letter; returns alpha, its cost, and the number of steps.

    The difference is signed, as in the paper: a step that raises the cost ends the descent too, and is kept.
    """
    alpha = np.ones(len(parent))
    n_steps = 0
    cost_difference = inf
    while cost_difference > tol:
        cost = hgs_loocv(parent, counts, alpha)
        alpha = alpha - learning_rate * hgs_loocv_gradient(parent, counts, alpha)
        new_cost = hgs_loocv(parent, counts, alpha)
        cost_difference = cost - new_cost
        n_steps += 1
    return alpha, new_cost, n_steps


# ---- HDP
def stirling_first(n: int) -> list[list[int]]:
    """table[i][t], i = 0..n, t = 0..n: ways to seat i guests at t round tables (unsigned Stirling, first kind)."""
    table = [[0] * (n + 1) for _ in range(n + 1)]
    table[0][0] = 1
    for i in range(n):
        for t in range(n + 1):
            at_a_new_table = table[i][t - 1] if t > 0 else 0
            beside_a_guest = i * table[i][t]
            table[i + 1][t] = at_a_new_table + beside_a_guest
    return table


def table_choices(guests: list[int]) -> Iterator[tuple[int, ...]]:
    """All numbers of tables for the guests of each class: 0 for no guest, else 1 to the number of guests."""
    return product(*[range(1, n + 1) if n > 0 else [0] for n in guests])


def configurations(
    parent: list[int], guests: list[list[int]], tables: dict[int, tuple[int, ...]], node: int
) -> Iterator[tuple[list[list[int]], dict[int, tuple[int, ...]]]]:
    """Every way to seat the guests of nodes node, node - 1, ..., 1; each table sends one guest to the parent.

    Children have larger numbers than parents, so a node knows all its guests when its turn comes. The root
    needs no tables: the sum over them is known (see log_weight).
    """
    if node == 0:
        yield guests, tables
        return
    for t in table_choices(guests[node]):
        sent_up = [list(row) for row in guests]
        for k, t_k in enumerate(t):
            sent_up[parent[node]][k] += t_k
        yield from configurations(parent, sent_up, {**tables, node: t}, node - 1)


def log_weight(
    guests: list[list[int]], tables: dict[int, tuple[int, ...]], c: Array, stirling: list[list[int]]
) -> float:
    """Log of the joint probability of the data and the table counts; c[0] is the root's concentration.

    Each node but the root: c^t. Gamma(c) / Gamma(c + n.) prod_k S(n_k, t_k). The root, with uniform base measure
    and its tables summed out: the Dirichlet-multinomial with parameter c/K for every class.
    """
    result = 0.0
    for u, n in enumerate(guests):
        result += lgamma(c[u]) - lgamma(c[u] + sum(n))
        if u == 0:
            share = c[0] / len(n)
            result += sum(lgamma(share + n_k) - lgamma(share) for n_k in n)
        else:
            result += sum(tables[u]) * log(c[u])
            result += sum(log(stirling[n_k][t_k]) for n_k, t_k in zip(n, tables[u], strict=True))
    return result


def theta_given_guests(parent: list[int], guests: list[list[int]], c: Array) -> Array:
    """(n_k + c theta_parent) / (n + c) from the root down, the root's parent being uniform [HGS eq. 3]."""
    theta = np.zeros((len(parent), len(guests[0])))
    for u, n in enumerate(guests):
        theta[u] = (np.array(n) + c[u] * inherited_row(parent, theta, u)) / (sum(n) + c[u])
    return theta


def hdp_exact(
    parent: list[int], counts: Array, concentration: float | Array, root_concentration: float = 2.0
) -> tuple[Array, float]:
    """Posterior mean of theta at every node, and the log evidence, by adding up all table configurations.

    Only the leaves hold data; the counts of internal nodes are not looked at. So the row of an internal node is
    its theta in the whole tree: here, and only here, the tree is not cut at the node. Whole counts, small trees.
    The concentration is one positive number, or one per node (the root's entry is not used).
    """
    counts = np.asarray(counts, dtype=float)
    if (counts != np.round(counts)).any():
        raise ValueError("counts: tables can be enumerated only for whole numbers")
    c = np.zeros(len(parent)) + concentration
    c[0] = root_concentration
    guests = [[0] * counts.shape[1] for _ in parent]
    for leaf in leaves(parent):
        guests[leaf] = [int(n) for n in counts[leaf]]
    stirling = stirling_first(sum(sum(n) for n in guests))

    log_weights, thetas = [], []
    for seated, tables in configurations(parent, guests, {}, len(parent) - 1):
        log_weights.append(log_weight(seated, tables, c, stirling))
        thetas.append(theta_given_guests(parent, seated, c))
    largest = max(log_weights)  # taken out before exp, which would underflow
    weights = [exp(w - largest) for w in log_weights]
    mean = sum(w * theta for w, theta in zip(weights, thetas, strict=True)) / sum(weights)
    return mean, largest + log(sum(weights))
