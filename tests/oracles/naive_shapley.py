"""Shapley values by their definition: every set of players, and every player's effect on it."""

from __future__ import annotations

import itertools
import math

import numpy as np


def shapley_values(worth, n_players):
    """Of a game: ``worth(set)`` gives a number or an array; the result has a row per player."""
    worths = {
        players: np.asarray(worth(set(players)), dtype=float)
        for size in range(n_players + 1)
        for players in itertools.combinations(range(n_players), size)
    }
    values = []
    for player in range(n_players):
        value = 0.0
        for players, of_set in worths.items():
            if player in players:
                continue
            share = math.factorial(len(players)) * math.factorial(n_players - len(players) - 1)
            with_player = worths[tuple(sorted((*players, player)))]
            value = value + share / math.factorial(n_players) * (with_player - of_set)
        values.append(value)
    return np.array(values)


def branches(tree, node, row):
    """What part of a row goes to each child of a split."""
    children = tree.children(node)
    if tree.kind[node] == "oblique":
        terms = slice(tree.projection_start[node], tree.projection_start[node + 1])
        value = float(tree.projection_weight[terms] @ row[tree.projection_feature[terms]])
    else:
        value = row[tree.feature[node]]
    if tree.kind[node] == "nominal":
        table = tree.category_branch[tree.category_start[node] : tree.category_start[node + 1]]
        taken = table[int(value)] if 0 <= value < len(table) else -1
        taken = tree.missing_branch[node] if taken < 0 else taken
    elif np.isnan(value):
        taken = tree.missing_branch[node]
    else:
        taken = int(value > tree.threshold[node])
    return shares(tree, node) if taken < 0 else np.eye(len(children))[taken]


def shares(tree, node):
    """The parts of a divided row."""
    weights = tree.spread_weights[tree.children(node)]
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def players_of(tree, n_columns):
    """The columns, and the sets of columns that oblique splits add up."""
    sums = {frozenset(tree.tested_features(node)) for node in np.flatnonzero(tree.kind == "oblique")}
    return [*({j} for j in range(n_columns)), *sorted((set(s) for s in sums if len(s) > 1), key=sorted)]


def said(tree, table, row, known, other=None, node=0):
    """What a tree says of a row of which some players are known.

    ``known`` is a list of sets of columns, ``table`` has a row per node, and ``other`` is the background row that
    stands in for what is not known; without one the row is divided.
    """
    if tree.is_leaf[node]:
        return np.asarray(table[node], dtype=float)
    if set(tree.tested_features(node)) in known:
        parts = branches(tree, node, row)
    else:
        parts = shares(tree, node) if other is None else branches(tree, node, other)
    pairs = zip(tree.children(node), parts, strict=True)
    return sum(part * said(tree, table, row, known, other, child) for child, part in pairs)


def tree_values(tree, table, row, backgrounds=(None,)):
    """The values of columns for a tree; those of sums are divided among their columns. And what is said without any."""
    n_columns = len(row)
    players = players_of(tree, n_columns)
    values, base = 0.0, 0.0
    for other in backgrounds:

        def worth(some, other=other):
            return said(tree, table, row, [players[p] for p in some], other)

        values = values + shapley_values(worth, len(players)) / len(backgrounds)
        base = base + worth(()) / len(backgrounds)
    of_columns = values[:n_columns].copy()
    for player, value in zip(players[n_columns:], values[n_columns:], strict=True):
        for column in player:
            of_columns[column] += value / len(player)
    return of_columns, base
