"""Groups of rows by the columns of a table: a category, a number or a range of numbers, and missing values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import Array
from petiole._validation import did_you_mean
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

Codes = npt.NDArray[np.intp]

MOST_VALUES = 12  # a number with more distinct values is cut into ranges
MISSING = "missing"


class ColumnGroups(Savable):
    """How columns divide rows into groups.

    Each feature of an encoded table has a code per category, or per range of numbers, and a last one for missing
    values. A number with few distinct values has a range for each; other numbers are cut at quantiles.

    Attributes
    ----------
    encoder : FeatureEncoder
        Encodes the user's table.
    features : int array
        The features of the encoded table that are used.
    edges : list of arrays
        Where the ranges of each of these features end, the last excepted; empty for a categorical feature.
    titles : list of lists of str
        The name of each code, that of missing values excepted.
    """

    _saved = fields(
        encoder=checks.instance_of("FeatureEncoder"),
        features=checks.integers("int64"),
        edges=checks.list_of(checks.floats(1)),
        titles=checks.list_of(checks.texts),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        encoder, features = state["encoder"], state["features"]
        inside = features.size > 0 and features.min() >= 0 and features.max() < encoder.n_features
        require(inside, "features: must be columns of the encoded table")
        require(len(state["edges"]) == len(features) == len(state["titles"]), "edges, titles: must be one per feature")
        for feature, edges, titles in zip(features.tolist(), state["edges"], state["titles"], strict=True):
            n_categories = int(encoder.n_categories[feature])
            require(checks.increasing(edges), "edges: must increase")
            require(not (n_categories and edges.size), "edges: must be empty where the feature is categorical")
            require(len(titles) == (n_categories or edges.size + 1), "titles: must be one per category or range")

    def __init__(self, encoder: FeatureEncoder, features: Codes, edges: list[Floats], titles: list[list[str]]) -> None:
        self.encoder = encoder
        self.features = np.asarray(features, dtype=np.int64)
        self.edges, self.titles = edges, titles

    @classmethod
    def learn(
        cls,
        encoder: FeatureEncoder,
        matrix: Array,
        inputs: Sequence[int] | None = None,
        weights: Floats | None = None,
        n_ranges: int = 4,
        most_values: int = MOST_VALUES,
    ) -> ColumnGroups:
        """Learn the groups from encoded rows; ``inputs`` are the user's columns that count, by default all.

        Ranges hold equal weights.
        """
        wanted = range(encoder.n_inputs) if inputs is None else inputs
        ends = np.cumsum(encoder.widths)
        features = [f for i in wanted for f in range(int(ends[i]) - encoder.widths[i], int(ends[i]))]
        edges, titles = [], []
        for feature in features:
            categories = encoder.categories[feature]
            if categories is None:
                cut, named = _ranges(matrix[:, feature], weights, n_ranges, most_values)
            else:
                cut, named = np.empty(0), [str(name) for name in categories.tolist()]
            edges.append(cut)
            titles.append(named)
        return cls(encoder, np.array(features, dtype=np.int64), edges, titles)

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        known = self.encoder.feature_names
        return [known[f] if known else f"x{f}" for f in self.features.tolist()]

    @property
    def n_codes(self) -> list[int]:
        """How many codes each feature has; the last is that of missing values."""
        return [len(titles) + 1 for titles in self.titles]

    @property
    def are_ranges(self) -> list[bool]:
        """Whether the codes of each feature are ranges of a number, and not categories."""
        return [not self.encoder.n_categories[f] for f in self.features.tolist()]

    def title(self, feature: int, code: int) -> str:
        """The name of a group of a feature."""
        return self.titles[feature][code] if code < len(self.titles[feature]) else MISSING

    def codes(self, matrix: Array) -> Codes:
        """The code of each row of an encoded table in each feature."""
        found = np.empty((len(matrix), len(self.features)), dtype=np.intp)
        for place, feature in enumerate(self.features.tolist()):
            values = matrix[:, feature].astype(np.float64)
            absent = np.isnan(values)
            if self.encoder.n_categories[feature]:
                codes = np.where(absent, 0, values).astype(np.intp)
            else:
                codes = np.searchsorted(self.edges[place], values, side="left").astype(np.intp)
            found[:, place] = np.where(absent, len(self.titles[place]), codes)
        return found

    def read(self, X: Any) -> Codes:
        """The code of each row of the user's table in each feature."""
        return self.codes(self.encoder.transform(X))


def find_inputs(wanted: Any, encoder: FeatureEncoder, parameter: str) -> list[int]:
    """The positions of columns that are given by name or by position."""
    if isinstance(wanted, (str, bytes, int, np.integer)) or not hasattr(wanted, "__iter__"):
        raise ValueError(f"{parameter}={wanted!r}: must be a list of columns; write [{wanted!r}]")
    names, places = encoder.input_names, []
    for column in wanted:
        if isinstance(column, str):
            if names is None or column not in names:
                known = [] if names is None else names
                hint = did_you_mean(column, known, f"the columns are {', '.join(known[:10])}")
                none = "X has no column names; give positions"
                raise ValueError(f"{parameter}: there is no column {column!r}; {hint if known else none}")
            places.append(names.index(column))
        elif isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < encoder.n_inputs:
            places.append(int(column))
        else:
            raise ValueError(
                f"{parameter}: there is no column {column!r}; use names, or positions 0 to {encoder.n_inputs - 1}"
            )
    if not places:
        raise ValueError(f"{parameter}={wanted!r}: must name at least one column")
    return list(dict.fromkeys(places))


def _ranges(values: Array, weights: Floats | None, n_ranges: int, most_values: int) -> tuple[Floats, list[str]]:
    """The ends of the ranges of a number and their names."""
    known = ~np.isnan(values)
    distinct, places = np.unique(values[known].astype(np.float64), return_inverse=True)
    if len(distinct) <= max(1, most_values):
        # half of each before the sum, which could overflow
        between = distinct[:-1] / 2 + distinct[1:] / 2
        return between, [f"{value:.6g}" for value in distinct.tolist()] or ["any"]
    below = np.cumsum(np.bincount(places.ravel(), None if weights is None else weights[known]))
    ends = distinct[np.searchsorted(below, below[-1] * np.arange(1, n_ranges) / n_ranges - 1e-9 * below[-1])]
    cuts = np.unique(ends[ends < distinct[-1]])
    bounds = [distinct[0], *cuts.tolist(), distinct[-1]]
    return cuts, [f"{_short(low)} to {_short(high)}" for low, high in pairwise(bounds)]


def _short(value: float) -> str:
    """A number in four digits, or without decimals where it has more digits than that.

    >>> _short(0.123456), _short(15943.2), _short(1e20)
    ('0.1235', '15943', '1e+20')
    """
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
