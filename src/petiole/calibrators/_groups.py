"""Recalibration that is right in each of many groups at once, and not only on average over all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import Array, settled
from petiole._table.groups import ColumnGroups
from petiole._table.labels import Codes, check_same_length, check_weights, encode_labels, shuffled_by_class
from petiole._table.rows import rows_that_count
from petiole._table.weights import weights_in_rows
from petiole._validation import check_choice, check_number, check_whole
from petiole.calibrators._base import ScoreMapBase, check_columns, read_probability_scores
from petiole.calibrators._fitting import LEAST_FLOOR, LEAST_PENALTY, RIDGE, SEARCH, check_floor, two_columns
from petiole.calibrators._residual_tree import CodesOf, ResidualTree, grow_residual_tree
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import SavableModel

KINDS = ("columns", "tree")
ALL_ROWS = "all rows"
# Penalties that "auto" tries, from the one that lets groups move most; with the last they do not move.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, np.inf)
N_FOLDS = 5
# Of the penalties whose log-loss on held-out rows is nearly the best the smallest is taken: how much worse it may be.
TOLERANCE = 5e-4
SLOPE_FACTOR = 4.0
RANGES_OF_TREE = 16
# Enough to tell penalties apart.
ROUGH_SEARCH = {**SEARCH, "ftol": 1e-9, "gtol": 1e-6}

Membership: TypeAlias = Any  # a sparse matrix with a row per row and a column per group


@dataclass(frozen=True)
class GroupMap(ScoreMapBase):
    """softmax(ln p_k · (1 + Σ slopes_g) + Σ intercepts_gk), the sums over the groups g of the row."""

    slopes: Floats
    intercepts: Floats
    floor: float

    _saved = fields(
        slopes=checks.floats(1, -checks.LARGEST, checks.LARGEST),
        intercepts=checks.floats(2, -checks.LARGEST, checks.LARGEST),
        floor=checks.number(LEAST_FLOOR, 0.5),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        require(len(state["slopes"]) == len(state["intercepts"]), "slopes: must be one per group")

    def __call__(self, proba: Floats, membership: Membership) -> Floats:
        logs = np.log(np.maximum(proba, self.floor))
        return softmax(logs * (1 + membership @ self.slopes)[:, np.newaxis] + membership @ self.intercepts, axis=1)


class GroupCalibrator(SavableModel, BaseEstimator):
    """Recalibration of the probabilities of any model in every group of rows at once.

    A logistic regression on the logarithms of the probabilities, in which every group has a slope and, for each class,
    an intercept of its own:

        q = softmax( (1 + Σ_g a_g) · ln p_k + Σ_g b_gk ),   sums over the groups g that the row belongs to.

    Groups may overlap: a row belongs to one for each column, and to the group of all rows. At the optimum, the mean
    predicted probability of every class equals its observed share in every group, up to the penalty (multiaccuracy),
    and so does the mean weighted by the score (a first step towards multicalibration). ``penalty`` shrinks slopes and
    intercepts towards 0, where nothing is changed, so a group of few rows is corrected little.

    Parameters
    ----------
    groups : {"columns", "tree"}, default="columns"
        "columns": every category of the columns passed to ``fit``, or every quarter of their numbers, is a group, and
        so are the missing values of a column. "tree": the groups are the leaves of a small tree on the columns, which
        is grown to find rows whose probabilities are too high or too low.
    penalty : float or "auto", default="auto"
        The strength of the shrinkage, in nats per squared unit over all rows together; at least 0.001. "auto" takes the
        smallest of 1, 3, 10, 30, 100 and infinity whose log-loss in five folds is at most 0.05% above the least.
    min_rows : float, default=50
        Groups with less weight, in rows, are not corrected by themselves.
    max_leaves : int, default=8
        The largest number of leaves of the tree.
    floor : float, default=1e-6
        Probabilities are raised to this before logarithms are taken.

    Attributes
    ----------
    classes_ : array of the class labels
    groups_ : list of str
        The groups, beginning with that of all rows.
    group_weights_ : array
        The weight of each group, in rows.
    intercepts_ : array of shape (n_groups, n_classes)
    slopes_ : array of shape (n_groups,)
    penalty_ : float
        The penalty used; 1e100 if no group is corrected by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.calibrators import GroupCalibrator
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 2000)
    >>> p = rng.uniform(0.2, 0.8, 2000)
    >>> y = rng.uniform(size=2000) < np.where(sex == "f", p + 0.15, p - 0.15)  # right on average, wrong for both
    >>> model = GroupCalibrator().fit(p, y, sex.reshape(-1, 1))
    >>> model.predict([0.5, 0.5], [["f"], ["m"]]).round(2)
    array([0.68, 0.32])
    """

    _saved = fields(
        classes_=checks.labels,
        columns_=checks.instance_of("ColumnGroups"),
        tree_=checks.none_or(checks.instance_of("ResidualTree")),
        kept_=checks.integers("int64"),
        groups_=checks.texts,
        group_weights_=checks.weights(1),
        penalty_=checks.number(0.0),
        map_=checks.instance_of("GroupMap"),
        n_score_columns_=checks.none_or(checks.whole(1)),
    )

    def __init__(
        self,
        groups: str = "columns",
        penalty: float | str = "auto",
        min_rows: float = 50,
        max_leaves: int = 8,
        floor: float = 1e-6,
    ) -> None:
        self.groups = groups
        self.penalty = penalty
        self.min_rows = min_rows
        self.max_leaves = max_leaves
        self.floor = floor

    def fit(self, scores: Any, y: Any, columns: Any, sample_weight: Any = None) -> Self:
        """Learn the corrections.

        Parameters
        ----------
        scores : array of shape (n_rows,) or (n_rows, n_classes)
            Probabilities of rows that the model has not seen, as in the other calibrators.
        y : labels of any kind, one per row
        columns : array or data frame of shape (n_rows, n_columns)
            What divides the rows into groups; numbers, categories, dates and missing values.
        sample_weight : array of shape (n_rows,), optional
        """
        self._check_parameters()
        table = read_probability_scores(scores)
        classes, codes = encode_labels(y)
        check_same_length(len(table), len(codes))
        weights, _ = weights_in_rows(check_weights(sample_weight, len(table)))
        check_columns(table, classes)
        encoder, matrix = FeatureEncoder.fit(settled(columns), owner=type(self).__name__)
        check_same_length(len(matrix), len(codes))
        return self._fit_checked(table, codes, weights, classes, (encoder, matrix, None))

    def predict(self, scores: Any, columns: Any) -> Floats:
        """Corrected probabilities in the shape of the scores, for rows of the same columns as in ``fit``.

        A category that ``fit`` has not seen counts as missing.
        """
        check_is_fitted(self)
        table = read_probability_scores(scores)
        n_columns = None if table.ndim == 1 else table.shape[1]
        if n_columns != self.n_score_columns_:
            wanted = "(n_rows,)" if self.n_score_columns_ is None else f"(n_rows, {self.n_score_columns_})"
            raise ValueError(f"scores has shape {table.shape}: must be {wanted}, as in fit")
        codes = self.columns_.read(columns)
        if len(codes) != len(table):
            raise ValueError(f"columns has {len(codes)} rows, but scores has {len(table)}: give one row per score")
        found = self._corrected(two_columns(table) if table.ndim == 1 else table, codes)
        return found[:, 1] if table.ndim == 1 else found

    @property
    def intercepts_(self) -> Floats:
        """What is added to the logarithm of each class's probability, by group."""
        found: Floats = self.map_.intercepts
        return found

    @property
    def slopes_(self) -> Floats:
        """What is added to the factor of the logarithms, by group."""
        found: Floats = self.map_.slopes
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "map_")

    def _check_parameters(self) -> None:
        check_choice("groups", self.groups, KINDS)
        if not (isinstance(self.penalty, str) and self.penalty == "auto"):
            check_number("penalty", self.penalty, LEAST_PENALTY)
        check_number("min_rows", self.min_rows, 1)
        check_whole("max_leaves", self.max_leaves, 1)
        check_floor(self.floor)

    def _check_state(self, state: dict[str, Any]) -> None:
        n_groups, n_classes = len(state["groups_"]), len(state["classes_"])
        require(state["map_"].intercepts.shape == (n_groups, n_classes), "map_: must have a row per group")
        require(len(state["group_weights_"]) == n_groups, "group_weights_: must be one per group")
        tree, columns, kept = state["tree_"], state["columns_"], state["kept_"]
        require((tree is None) == (self.groups == "columns"), "tree_: must be there if groups='tree'")
        require(tree is None or tree.fits(columns), "tree_: must test the columns")
        n_cells = sum(columns.n_codes) if tree is None else tree.n_leaves
        good = len(kept) == n_groups - 1 and (not kept.size or (kept.min() >= 0 and kept.max() < n_cells))
        require(good and (np.diff(kept) > 0).all(), "kept_: must be the groups after the first")
        n_columns = state["n_score_columns_"]
        require(n_classes == 2 if n_columns is None else n_columns == n_classes, "n_score_columns_: must fit classes_")

    # The common way.

    def _fit_checked(
        self,
        table: Floats,
        codes: Codes,
        weights: Floats | None,
        classes: Array,
        columns: tuple[FeatureEncoder, Array, Sequence[int] | None],
    ) -> Self:
        """Learn from good data; ``columns`` are an encoder, encoded rows, and the inputs that count."""
        encoder, matrix, inputs = columns
        n_score_columns = None if table.ndim == 1 else table.shape[1]
        proba = two_columns(table) if table.ndim == 1 else table
        weights = np.ones(len(codes)) if weights is None else weights
        kept = rows_that_count(weights)
        if kept is not None:
            proba, codes, weights, matrix = proba[kept], codes[kept], weights[kept], matrix[kept]
        n_ranges = RANGES_OF_TREE if self.groups == "tree" else 4
        found = ColumnGroups.learn(encoder, matrix, inputs, weights, n_ranges)
        problem = _Problem(self, proba, codes, weights, found.codes(matrix), found)
        penalty = problem.best_penalty() if self.penalty == "auto" else float(self.penalty)
        division = problem.divide(np.arange(len(codes)))
        membership, kept_groups = problem.members(division, np.arange(len(codes)))
        self.classes_ = classes
        self.columns_, self.tree_, self.kept_ = found, division, kept_groups
        self.groups_ = [ALL_ROWS, *_titles(problem, division, kept_groups)]
        self.group_weights_ = np.asarray(membership.T @ weights)
        self.penalty_ = min(penalty, checks.LARGEST)
        self.map_ = problem.learn(membership, np.arange(len(codes)), penalty)
        self.n_score_columns_ = n_score_columns
        return self

    def _corrected(self, proba: Floats, codes: npt.NDArray[np.intp]) -> Floats:
        return self.map_(proba, _membership(codes, self.columns_, self.tree_, self.kept_))


class _Problem:
    """The rows that a group calibrator is fitted to, whole or by folds."""

    def __init__(
        self,
        model: GroupCalibrator,
        proba: Floats,
        codes: Codes,
        weights: Floats,
        cells: npt.NDArray[np.intp],
        columns: ColumnGroups,
    ) -> None:
        self.model, self.proba, self.codes, self.weights = model, proba, codes, weights
        self.cells, self.columns = cells, columns
        self.floor = float(model.floor)
        self.logs = np.log(np.maximum(proba, self.floor))

    def divide(self, rows: npt.NDArray[np.intp]) -> ResidualTree | None:
        """The tree whose leaves are groups, if groups are to be found."""
        if self.model.groups == "columns":
            return None
        proba, weights = self.proba[rows], self.weights[rows, np.newaxis]
        lacking = -proba.copy()
        lacking[np.arange(len(rows)), self.codes[rows]] += 1
        spreads = np.hstack([weights * proba, weights])
        pairs = zip(self.columns.n_codes, self.columns.are_ranges, strict=True)
        kinds, least = [CodesOf(*pair) for pair in pairs], float(self.model.min_rows)
        return grow_residual_tree(self.cells[rows], kinds, weights * lacking, spreads, least, self.model.max_leaves)

    def members(
        self, division: ResidualTree | None, rows: npt.NDArray[np.intp]
    ) -> tuple[Membership, npt.NDArray[np.int64]]:
        """The groups of rows, and which cells are groups: those with enough rows, and fewer than all."""
        every = _cells(self.cells[rows], self.columns, division)
        totals = every.T @ self.weights[rows]
        whole = self.weights[rows].sum()
        kept = np.flatnonzero((totals >= self.model.min_rows) & (totals < whole)).astype(np.int64)
        return _membership(self.cells[rows], self.columns, division, kept), kept

    def best_penalty(self) -> float:
        """The smallest penalty whose log-loss on held-out rows is nearly the least."""
        order = shuffled_by_class(self.codes, np.random.default_rng(0))
        fold_of = np.empty(len(order), dtype=np.intp)
        fold_of[order] = np.arange(len(order)) % N_FOLDS
        losses = np.zeros(len(PENALTIES))
        for fold in range(min(N_FOLDS, len(order) - 1)):
            fitted, held_out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            division = self.divide(fitted)
            membership, kept = self.members(division, fitted)
            asked = _membership(self.cells[held_out], self.columns, division, kept)
            learned = None
            for place, penalty in reversed([*enumerate(PENALTIES)]):
                learned = self.learn(membership, fitted, penalty, learned, ROUGH_SEARCH)
                found = learned(self.proba[held_out], asked)
                own = found[np.arange(len(held_out)), self.codes[held_out]]
                losses[place] -= self.weights[held_out] @ np.log(np.maximum(own, self.floor))
        good = losses <= losses.min() * (1 + TOLERANCE) + 1e-12
        return PENALTIES[int(good.argmax())]

    def learn(
        self,
        membership: Membership,
        rows: npt.NDArray[np.intp],
        penalty: float,
        first: GroupMap | None = None,
        search: Mapping[str, Any] = SEARCH,
    ) -> GroupMap:
        """The corrections with the least penalised log-loss; the search begins at ``first``."""
        n_groups, n_classes = membership.shape[1], self.proba.shape[1]
        slopes, intercepts = np.zeros(n_groups), np.zeros((n_groups, n_classes))
        free = n_groups if np.isfinite(penalty) else 1  # the first group are all rows
        ridges = np.concatenate([[RIDGE], np.full(free - 1, penalty if free > 1 else 0.0)])
        loss = GroupLoss(membership[:, :free], self.logs[rows], self.codes[rows], self.weights[rows], ridges)
        begin = None if first is None else np.column_stack([first.slopes, first.intercepts])[:free]
        found = loss.minimum(begin, search)
        slopes[:free], intercepts[:free] = found[:, 0], found[:, 1:]
        return GroupMap(slopes, intercepts, self.floor)


class GroupLoss:
    """The mean log-loss in nats of the corrections, with their penalties; a row of the unknowns per group."""

    def __init__(self, membership: Membership, logs: Floats, codes: Codes, weights: Floats, ridges: Floats) -> None:
        self.membership, self.transposed = membership, membership.T.tocsr()
        self.logs, self.codes = logs, codes
        self.total = float(weights.sum())
        self.shares = weights / self.total
        factors = np.concatenate([[SLOPE_FACTOR], np.ones(logs.shape[1])])
        self.ridges = np.outer(ridges, factors) / self.total

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        unknowns = flat.reshape(self.ridges.shape)
        factor = 1 + self.membership @ unknowns[:, 0]
        scores = log_softmax(self.logs * factor[:, np.newaxis] + self.membership @ unknowns[:, 1:], axis=1)
        rows = np.arange(len(self.codes))
        excess = np.exp(scores)
        excess[rows, self.codes] -= 1
        excess *= self.shares[:, np.newaxis]
        by_row = np.column_stack([(excess * self.logs).sum(axis=1), excess])
        pull = self.ridges * unknowns
        loss = -self.shares @ scores[rows, self.codes] + float((pull * unknowns).sum()) / 2
        return loss, (self.transposed @ by_row + pull).ravel()

    def minimum(self, first: Floats | None, search: Mapping[str, Any]) -> Floats:
        begin = np.zeros(self.ridges.size) if first is None else first.ravel()
        found = minimize(self, begin, jac=True, method="L-BFGS-B", options={**search, "maxcor": 20})
        unknowns: Floats = found.x.reshape(self.ridges.shape)
        return unknowns


def _cells(codes: npt.NDArray[np.intp], columns: ColumnGroups, tree: ResidualTree | None) -> Membership:
    """Whether each row is in each cell: the codes of all columns side by side, or the leaves of the tree."""
    n_rows = len(codes)
    if tree is not None:
        places, n_cells = tree.leaf_of(codes).reshape(-1, 1), tree.n_leaves
    else:
        begins = np.concatenate([[0], np.cumsum(columns.n_codes)])
        places, n_cells = codes + begins[:-1], int(begins[-1])
    ends = np.arange(n_rows + 1) * places.shape[1]
    return sparse.csr_array((np.ones(places.size), places.ravel(), ends), shape=(n_rows, n_cells))


def _membership(
    codes: npt.NDArray[np.intp], columns: ColumnGroups, tree: ResidualTree | None, kept: npt.NDArray[np.int64]
) -> Membership:
    """Whether each row is in each group; all rows are in the first."""
    every = _cells(codes, columns, tree)
    return sparse.csr_array(sparse.hstack([sparse.csr_array(np.ones((len(codes), 1))), every[:, kept]], format="csr"))


def _titles(problem: _Problem, tree: ResidualTree | None, kept: npt.NDArray[np.int64]) -> list[str]:
    columns = problem.columns
    if tree is not None:
        titles = tree.titles(columns, [set(column.tolist()) for column in problem.cells.T])
    else:
        pairs = zip(columns.names, columns.n_codes, strict=True)
        titles = [f"{name}: {columns.title(j, c)}" for j, (name, n) in enumerate(pairs) for c in range(n)]
    return [titles[cell] for cell in kept.tolist()]
