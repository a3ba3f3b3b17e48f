"""A small tree on what probabilities get wrong: its leaves are groups of rows in which they are too high or too low."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole._table.groups import Codes, ColumnGroups
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

# In the denominator of a step, so that a side with next to no spread does not take a step without limit.
STEADY = 1.0


class CodesOf(NamedTuple):
    """The codes of a column: how many, and whether they are ranges of a number, the last code excepted (missing)."""

    number: int
    are_ranges: bool


class _Split(NamedTuple):
    gain: float
    feature: int
    goes_left: npt.NDArray[np.bool_]  # by code


@dataclass(frozen=True)
class ResidualTree(Savable):
    """Nodes from the root down: the feature that each tests, which of its codes go left, and where its children are.

    A leaf has the feature −1. The children of a node are at ``children`` and the place after it.
    """

    feature: npt.NDArray[np.int64]
    children: npt.NDArray[np.int64]
    goes_left: list[npt.NDArray[np.bool_]]

    _saved = fields(
        feature=checks.integers("int64"),
        children=checks.integers("int64"),
        goes_left=checks.list_of(lambda value: require(_is_mask(value), "must be flat truth values")),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        feature, children = state["feature"], state["children"]
        n = len(feature)
        require(n > 0 and len(children) == n and len(state["goes_left"]) == n, "feature: must be one per node")
        inner = feature >= 0
        require((feature >= -1).all(), "feature: must be -1 or a column")
        # Later than their parents, so that every walk ends.
        ordered = (children[inner] > np.flatnonzero(inner)) & (children[inner] + 1 < n)
        require(ordered.all(), "children: must come after their parents")

    def fits(self, columns: ColumnGroups) -> bool:
        """Whether every test is of a feature that the columns have, with as many codes."""
        n_codes = columns.n_codes
        inner = [(f, left) for f, left in zip(self.feature.tolist(), self.goes_left, strict=True) if f >= 0]
        return all(f < len(n_codes) and len(left) == n_codes[f] for f, left in inner)

    def leaf_of(self, codes: Codes) -> Codes:
        """The number of the leaf of each row, counted among the leaves."""
        node = np.zeros(len(codes), dtype=np.intp)
        for place, feature in enumerate(self.feature.tolist()):
            if feature >= 0:
                here = np.flatnonzero(node == place)
                left = self.goes_left[place][codes[here, feature]]
                node[here] = self.children[place] + ~left
        return (np.cumsum(self.feature < 0) - 1)[node]

    @property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return int((self.feature < 0).sum())

    def titles(self, columns: ColumnGroups, seen: Sequence[set[int]]) -> list[str]:
        """What the rows of each leaf have in common, in words; ``seen`` are the codes that occur in each feature."""
        ways: list[dict[int, set[int]]] = [{} for _ in self.feature]
        for place, feature in enumerate(self.feature.tolist()):
            if feature < 0:
                continue
            known = ways[place].get(feature, seen[feature])
            left = {code for code in known if self.goes_left[place][code]}
            for child, codes in ((0, left), (1, known - left)):
                ways[self.children[place] + child] = ways[place] | {feature: codes}
        leaves = [way for way, feature in zip(ways, self.feature.tolist(), strict=True) if feature < 0]
        return [" and ".join(_in_words(columns, f, codes) for f, codes in way.items()) or "all rows" for way in leaves]


def grow_residual_tree(
    codes: Codes, kinds: Sequence[CodesOf], slopes: Floats, spreads: Floats, min_rows: float, max_leaves: int
) -> ResidualTree:
    """Grow a tree on the slopes of the log-loss, the best split first.

    ``slopes`` are (truth − p) and ``spreads`` p for each row and class, times the rows' weights; the weight of a row
    is in the last column of ``spreads``.
    """
    feature, children = [-1], [0]
    goes_left: list[npt.NDArray[np.bool_]] = [np.zeros(0, dtype=bool)]
    waiting: list[tuple[float, int, Codes, _Split]] = []

    def offer(place: int, rows: Codes) -> None:
        found = _best_split(codes[rows], kinds, slopes[rows], spreads[rows], min_rows)
        if found is not None:
            heapq.heappush(waiting, (-found.gain, place, rows, found))

    offer(0, np.arange(len(codes)))
    for _ in range(max_leaves - 1):
        if not waiting:
            break
        _, place, rows, split = heapq.heappop(waiting)
        feature[place], children[place], goes_left[place] = split.feature, len(feature), split.goes_left
        left = split.goes_left[codes[rows, split.feature]]
        for child in (rows[left], rows[~left]):
            feature.append(-1)
            children.append(0)
            goes_left.append(np.zeros(0, dtype=bool))
            offer(len(feature) - 1, child)
    return ResidualTree(np.array(feature, dtype=np.int64), np.array(children, dtype=np.int64), goes_left)


def _best_split(
    codes: Codes, kinds: Sequence[CodesOf], slopes: Floats, spreads: Floats, min_rows: float
) -> _Split | None:
    """The split that gains most, if it gains more than the best of so many splits would by chance."""
    best, n_tried = None, 0
    whole = _score(slopes.sum(axis=0), spreads[:, :-1].sum(axis=0))
    for feature, (n, are_ranges) in enumerate(kinds):
        of_code = codes[:, feature]
        sums, spread = _by_code(of_code, slopes, n), _by_code(of_code, spreads, n)
        for order in _orders(sums, spread, are_ranges):
            n_tried += max(len(order) - 1, 0)
            found = _best_cut(order, sums, spread, whole, min_rows)
            if found is not None and (best is None or found[0] > best.gain):
                left = np.zeros(n, dtype=bool)
                left[order[: found[1]]] = True
                best = _Split(found[0], feature, left)
    # Twice the gain of a split that means nothing is about chi-squared, and the largest of n rarely exceeds 2 ln n.
    least = math.log(max(n_tried, 1)) + (slopes.shape[1] - 1)
    return best if best is not None and best.gain > least else None


def _by_code(codes: Codes, table: Floats, n_codes: int) -> Floats:
    """The sums of the columns of a table over the rows of each code."""
    return np.stack([np.bincount(codes, column, n_codes).astype(np.float64) for column in table.T], axis=1)


def _orders(sums: Floats, spread: Floats, are_ranges: bool) -> Iterator[Codes]:
    """Orders of the codes with rows in which cuts are tried.

    Ranges keep their order, and missing values are tried on both sides. Categories are ordered by what each class's
    probability lacks there.
    """
    used = np.flatnonzero(spread[:, -1] > 0)
    if are_ranges:
        yield used
        if len(used) and used[-1] == len(spread) - 1:
            yield np.roll(used, 1)
        return
    for k in range(sums.shape[1] if sums.shape[1] > 2 else 1):
        steps = sums[used, k] / (spread[used, k] + STEADY)
        yield used[np.argsort(steps, kind="stable")]


def _best_cut(order: Codes, sums: Floats, spread: Floats, whole: float, min_rows: float) -> tuple[float, int] | None:
    """The gain of the best cut of an order, and how many codes are left of it."""
    left, left_spread = np.cumsum(sums[order], axis=0)[:-1], np.cumsum(spread[order], axis=0)
    right_spread = left_spread[-1] - left_spread[:-1]
    left_spread = left_spread[:-1]
    right = sums[order].sum(axis=0) - left
    gains = (_score(left, left_spread[:, :-1]) + _score(right, right_spread[:, :-1]) - whole) / 2
    enough = (left_spread[:, -1] >= min_rows) & (right_spread[:, -1] >= min_rows)
    if not enough.any():
        return None
    gains = np.where(enough, gains, -np.inf)
    place = int(gains.argmax())
    return float(gains[place]), place + 1


def _score(slopes: Floats, spreads: Floats) -> Any:
    """Pearson's chi-squared: about twice the log-loss, in nats, that the shares of the classes would take off."""
    return (slopes**2 / (spreads + STEADY)).sum(axis=-1)


def _in_words(columns: ColumnGroups, feature: int, codes: set[int]) -> str:
    chosen = sorted(codes)
    n_values = len(columns.titles[feature])
    values = [code for code in chosen if code < n_values]
    cuts = columns.edges[feature]
    adjacent = len(values) > 2 and values == list(range(values[0], values[-1] + 1))
    if cuts.size and adjacent:
        low = None if values[0] == 0 else f"{cuts[values[0] - 1]:.4g}"
        high = None if values[-1] == n_values - 1 else f"{cuts[values[-1]]:.4g}"
        text = _range_in_words(columns.names[feature], low, high)
        return text + (" or missing" if n_values in chosen else "")
    return f"{columns.names[feature]}: {' / '.join(columns.title(feature, code) for code in chosen)}"


def _range_in_words(name: str, low: str | None, high: str | None) -> str:
    """A range of a number.

    >>> _range_in_words("age", "20", "65"), _range_in_words("age", None, "65"), _range_in_words("age", None, None)
    ('20 < age <= 65', 'age <= 65', 'age known')
    """
    if low is not None and high is not None:
        return f"{low} < {name} <= {high}"
    if low is not None:
        return f"{name} > {low}"
    return f"{name} known" if high is None else f"{name} <= {high}"


def _is_mask(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.bool_ and value.ndim == 1
