"""The assignment of trees to parts, which depends on the seed and on the parts, not on the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Neighbouring parts are joined until they have this many rows.
SHARD_ROWS = 100_000


@dataclass(frozen=True)
class Shard:
    """Some neighbouring parts."""

    parts: tuple[int, ...]
    n_rows: int


@dataclass(frozen=True)
class Assignment:
    """The trees first .. first + n_trees - 1 of one kind, to be grown on one shard."""

    kind: int
    shard: int
    first: int
    n_trees: int


def make_shards(n_rows: Mapping[int, int], least: int = SHARD_ROWS) -> list[Shard]:
    """Join neighbouring parts until each shard has the least number of rows; parts without rows are in none.

    >>> [shard.parts for shard in make_shards({0: 5, 1: 3, 2: 9, 4: 2, 5: 1}, least=8)]
    [(0, 1), (2, 4, 5)]
    """
    shards: list[Shard] = []
    parts: list[int] = []
    size = 0
    for part in sorted(n_rows):
        parts.append(part)
        size += n_rows[part]
        if size >= least:
            shards.append(Shard(tuple(parts), size))
            parts, size = [], 0
    if parts and shards:  # the rest goes to the last one
        last = shards.pop()
        shards.append(Shard(last.parts + tuple(parts), last.n_rows + size))
    elif parts:
        shards.append(Shard(tuple(parts), size))
    return shards


def assign(sizes: Sequence[int], n_shards: int, seeds: Sequence[int]) -> list[Assignment]:
    """Assign the trees of each kind to the shards, in an order drawn by its seed; the trees of a shard are consecutive.

    >>> [(a.shard, a.first, a.n_trees) for a in assign([5], 2, [0])]
    [(0, 0, 3), (1, 3, 2)]
    """
    found = []
    for kind, (n_trees, seed) in enumerate(zip(sizes, seeds, strict=True)):
        order = np.random.default_rng(seed).permutation(n_shards)
        bounds = np.ceil(np.arange(n_shards + 1) * n_trees / n_shards).astype(int)
        for shard, first, end in zip(order.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            if end > first:
                found.append(Assignment(kind, shard, first, end - first))
    return found
