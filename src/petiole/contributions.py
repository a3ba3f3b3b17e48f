"""Why a row has its probability: the contributions of columns along the paths through the trees, and reason codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._classifiers.base import encode_queries
from petiole._classifiers.ensemble import ForestClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._tree.traversal import leaf_weights
from petiole._tree.tree import Tree
from petiole._validation import check_whole

__all__ = ["Contributions", "Reason", "path_contributions"]

Floats = npt.NDArray[np.float64]
SMALLEST = 0.0005  # a contribution that is printed as 0.000 is not a reason


class Reason(NamedTuple):
    """A column, its value in the row, and its contribution to the probability, which may be negative.

    >>> print(Reason("size", "7", 0.1234), Reason("town", "missing", -0.05), sep=", ")
    size = 7 (+0.123), town = missing (-0.050)
    """

    column: str
    value: str
    contribution: float

    def __str__(self) -> str:
        return f"{self.column} = {self.value} ({self.contribution:+.3f})"


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contribution of each column to the probability of a class; made by :func:`path_contributions`.

    ``base + values.sum(axis=1) + rest`` are the probabilities.

    Attributes
    ----------
    columns : list of str
    label : the class
    base : float
        The mean over trees of the probability at their roots, which is nearly the frequency of the class.
    values : array of shape (n_rows, n_columns)
        The contributions of the tests on each column along the path from the root to the leaf.
    rest : array of shape (n_rows,)
        What the model adds to the mean of its leaves, such as the other members of the pool and its weights; 0 for a
        single tree.
    probabilities : array of shape (n_rows,)
    """

    columns: list[str]
    label: Any
    base: float
    values: Floats
    rest: Floats
    probabilities: Floats
    _cells: tuple[npt.NDArray[Any], Callable[[int, float], str]]

    def reasons(self, row: int = 0, n: int | None = 4, *, raising: bool | None = None) -> list[Reason]:
        """Return the columns that changed the probability of a row most, the largest contribution first.

        Parameters
        ----------
        row : int, default=0
        n : int or None, default=4
            The largest number of columns; None for all that contribute.
        raising : bool, default=None
            Only those that raise the probability (True), or only those that lower it (False).
        """
        check_whole("n", n, 1, optional=True)
        values = self.values[row]
        wanted = np.abs(values) if raising is None else values if raising else -values
        order = np.argsort(-wanted, kind="stable")
        found = [
            Reason(self.columns[j], self._value(row, j), float(values[j]))
            for j in order.tolist()
            if wanted[j] >= SMALLEST
        ]
        return found[:n]

    def words(self, row: int = 0, n: int | None = 4) -> str:
        """Return a sentence about a row.

        >>> from sklearn.datasets import load_iris
        >>> from petiole import PETClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> print(path_contributions(PETClassifier(max_depth=2).fit(X, y), X[60:61], label=1).words())
        P(1) = 0.877, starting from 0.333. Raised by x3 = 1 (+0.382), x2 = 3.5 (+0.162).
        """
        moved = self.reasons(row, n)
        parts = [f"P({self.label}) = {self.probabilities[row]:.3f}, starting from {self.base:.3f}."]
        for words, some in (
            ("Raised by", [reason for reason in moved if reason.contribution > 0]),
            ("Lowered by", [reason for reason in moved if reason.contribution < 0]),
        ):
            if some:
                parts.append(f"{words} {', '.join(map(str, some))}.")
        others = self.values[row].sum() - sum(reason.contribution for reason in moved)
        if abs(others) >= SMALLEST:
            parts.append(f"All other columns together: {others:+.3f}.")
        if abs(self.rest[row]) >= SMALLEST:
            parts.append(f"The rest of the model: {self.rest[row]:+.3f}.")
        return " ".join(parts)

    def _value(self, row: int, column: int) -> str:
        matrix, text_of = self._cells
        return text_of(column, float(matrix[row, column]))


def path_contributions(model: Any, X: Any, label: Any) -> Contributions:
    """Split the probability of a class into the contributions of the columns.

    At every split the estimate of the class changes; the change is credited to the column that is tested (Saabas
    2014). The credits of a row are averaged over trees. They depend on the order of the tests on a path: of two
    columns with the same information, the one that is tested first, near the root, gets most of the credit. They
    describe how the model computes its prediction, not causes.

    Parameters
    ----------
    model : fitted PETClassifier, BaggedPETClassifier, MOBESPClassifier or ProbabilityForestClassifier
        Or a classifier around one of them, such as :class:`petiole.OOBCalibratedClassifier`.
    X : rows in the columns of the fit
    label : the class

    Returns
    -------
    Contributions

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from petiole import ProbabilityForestClassifier
    >>> from petiole.contributions import path_contributions
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = ProbabilityForestClassifier(20, random_state=0).fit(X, y)
    >>> found = path_contributions(model, X[:2], label=0)
    >>> bool(abs(found.base + found.values.sum(axis=1) + found.rest - model.predict_proba(X[:2])[:, 0]).max() < 1e-9)
    True
    >>> [reason.column for reason in found.reasons(0, 2)]
    ['worst perimeter', 'mean concave points']
    """
    inner = _with_trees(model)
    k = _class_number(model, label)
    matrix, encoder = encode_queries(inner, X), inner.encoder_
    base, values, n_trees = 0.0, np.zeros((len(matrix), encoder.n_features)), 0
    for tree, estimates in _trees(inner, k):
        base += float(estimates[0])
        values += leaf_weights(tree, matrix) @ _credits(tree, estimates, encoder.n_features)
        n_trees += 1
    base, values = base / n_trees, values / n_trees
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)[:, k]
    rest = probabilities - base - values.sum(axis=1)
    names = encoder.feature_names or [f"x{j}" for j in range(encoder.n_features)]
    return Contributions(
        [str(name) for name in names], label, base, values, rest, probabilities, (matrix, encoder.value_text)
    )


def has_paths(model: Any) -> bool:
    """Whether :func:`path_contributions` accepts a classifier."""
    return _inner(model) is not None


def _with_trees(model: Any) -> Any:
    inner = _inner(model)
    if inner is None:
        raise ValueError(
            f"model: a {type(model).__name__} has no trees whose paths could be followed; single trees, bagged trees, "
            "MOB-ESP and the probability forest have"
        )
    return inner


def _inner(model: Any) -> Any:
    while model is not None and not isinstance(model, (PETClassifier, ForestClassifier)):
        model = getattr(model, "estimator_", None) or getattr(model, "estimator", None)
    return model


def _class_number(model: Any, label: Any) -> int:
    found = np.flatnonzero(np.asarray(model.classes_) == label)
    if len(found) != 1:
        raise ValueError(f"label={label!r}: must be one of the classes {', '.join(map(str, model.classes_.tolist()))}")
    return int(found[0])


def _trees(model: Any, k: int) -> Iterator[tuple[Tree, Floats]]:
    """Every tree with the estimate of the class at each of its nodes."""
    if isinstance(model, PETClassifier):
        yield model.tree_, model.node_probabilities_[:, k]
        return
    for tree in model.trees_:
        yield tree, _frequencies(tree, k)


def _frequencies(tree: Tree, k: int) -> Floats:
    """The frequency of a class at every node; one without rows has that of its parent."""
    counts = tree.inbag_class_counts
    totals = counts.sum(axis=1)
    found: Floats = np.divide(counts[:, k], totals, out=np.full(len(totals), np.nan), where=totals > 0)
    for level in _levels(tree):
        empty = level[np.isnan(found[level])]
        found[empty] = found[tree.parent[empty]]
    return found


def _credits(tree: Tree, estimates: Floats, n_features: int) -> Floats:
    """For every node, the contribution of each column between the root and the node."""
    credits = np.zeros((tree.n_nodes, n_features))
    for level in _levels(tree):
        above = tree.parent[level]
        credits[level] = credits[above]
        credits[level, tree.feature[above]] += estimates[level] - estimates[above]
    return credits


def _levels(tree: Tree) -> Iterator[npt.NDArray[np.intp]]:
    """The nodes below the root, level by level."""
    depth = tree.node_depth
    order = np.argsort(depth, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)[1:]
