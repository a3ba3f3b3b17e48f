"""Costs and decisions by loops over rows, actions and classes: slow, obvious, and independent of the library."""

from __future__ import annotations

import math

# Sums of the same costs in another order may differ by this much, and are then equal.
ROUNDING = 1e-13


def cost_of_row(cost, row):
    """The matrix of one example: the shared one, or its own."""
    per_example = hasattr(cost[0][0], "__len__")
    return cost[row] if per_example else cost


def expected_cost(proba, cost):
    """sum over true classes of P(class) * cost[action][class], for every row and action."""
    table = []
    for row, chances in enumerate(proba):
        matrix = cost_of_row(cost, row)
        table.append([math.fsum(p * c for p, c in zip(chances, costs, strict=True)) for costs in matrix])
    return table


def decide(proba, cost):
    """The first of the cheapest actions."""
    chosen = []
    for row, costs in enumerate(expected_cost(proba, cost)):
        largest = max(abs(entry) for entries in cost_of_row(cost, row) for entry in entries)
        best = 0
        for action in range(1, len(costs)):
            if costs[action] < costs[best] - ROUNDING * largest:
                best = action
        chosen.append(best)
    return chosen


def switches_at(cost, steps=10_000):
    """The smallest p on a grid at which the second action is strictly cheaper, None if there is none."""
    for step in range(steps + 1):
        p = step / steps
        first, second = expected_cost([[1 - p, p]], cost)[0]
        if second < first - ROUNDING:
            return p
    return None


def with_abstention(cost, abstain_cost):
    """One matrix with one row more; `abstain_cost` is a number or one number per class."""
    n_classes = len(cost[0])
    row = [abstain_cost] * n_classes if not hasattr(abstain_cost, "__len__") else list(abstain_cost)
    return [list(costs) for costs in cost] + [row]


def largest_cost(model, priors, i, j):
    """Table 1.2 of Margineantu & Dietterich (2002): costs are uniform between 0 and this; i predicted, j true."""
    if i == j:
        return {"M7": 1000.0, "M8": 10.0}.get(model, 0.0)
    if model == "M5":
        return 1000.0 * priors[i] / priors[j]
    if model == "M6":
        return 1000.0 * priors[j] / priors[i]
    return {"M1": 10.0, "M2": 100.0, "M3": 1000.0, "M4": 10000.0, "M7": 10000.0, "M8": 100.0}[model]


def mail_policy(p, amount, cost):
    return [p[i] * amount[i] > cost for i in range(len(p))]


def campaign_profit(mailed, amount, cost):
    return sum(amount[i] - cost for i in range(len(mailed)) if mailed[i])


def held_out_probabilities(make, X, y, folds, classes):
    """Every row by a model that was fitted to the other folds; a class that these lack has probability 0."""
    table = [[0.0] * len(classes) for _ in y]
    for held_out in folds:
        rest = [i for i in range(len(y)) if i not in set(held_out)]
        model = make().fit([X[i] for i in rest], [y[i] for i in rest])
        for i in held_out:
            for label, p in zip(model.classes_, model.predict_proba([X[i]])[0], strict=True):
                table[i][list(classes).index(label)] = p
    return table
