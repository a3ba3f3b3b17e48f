"""The mean over trees of the leaf estimator's probabilities, or of votes: B-PETs, EB-PETs, random forests."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import Queries, UnseenRows
from petiole._estimates.base import OneForest, UnseenAnswer
from petiole._estimates.leaf_tables import counts_with_pseudo, estimator_tables, votes_of_leaves, votes_of_tables
from petiole._estimates.single_tree import SingleTree
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import ForestCounts, Tally, recounted, tally_rows
from petiole._forest.plan import ForestPlan, count, grow_range
from petiole._table.rows import EncodedRows
from petiole._tree.held_out import cross_fit
from petiole._tree.tree import Tree
from petiole.smoothing import HeldOut, LeafEstimator, Raw

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeafMean(OneForest):
    """The mean over trees of leaf tables.

    Attributes
    ----------
    forest : Forest
    estimator : LeafEstimator
        An estimator without parameters to learn.
    settled : list of LeafEstimator or None
        One for each tree, where the estimator learns from a tree's own rows.
    prior : array
        The weight of each class in the training rows.
    oob_weight : float
        The weight of a row outside a tree's sample in its leaves.
    voting : {False, True, "laplace"}
        Whether leaves vote for a class, and whether the shares of votes are smoothed.
    kept_tables : LeafTables, optional
        The tables themselves, if they do not follow from the rest.
    n_threads : int
        With which tables are made.
    """

    forest: Forest
    estimator: LeafEstimator
    settled: Sequence[LeafEstimator] | None
    prior: Floats
    oob_weight: float
    voting: bool | str
    kept_tables: _core.LeafTables | None = None
    n_threads: int = 1

    looks_up_votes = False
    is_mean = True

    @functools.cached_property
    def tables(self) -> _core.LeafTables:
        """The probabilities at each leaf of each tree."""
        return self._made(self.oob_weight) if self.kept_tables is None else self.kept_tables

    def tables_by_tree(self) -> list[Floats]:
        """The same as one array for each tree."""
        return [np.asarray(self.tables.of_tree(index)) for index in range(len(self.forest))]

    def answer(self, queries: Iterable[Queries]) -> Floats:
        (asked,) = queries
        return self._smoothed_votes(asked.means(self.tables))

    # Out of bag.

    @property
    def leaves_rows_out(self) -> bool:
        is_frequency = self.estimator.pseudo_counts(self.prior) is not None
        return self.oob_weight > 0 and is_frequency and not self.voting

    def unseen_answer(self, n_threads: int) -> UnseenAnswer:
        if self.leaves_rows_out:
            counts, _ = counts_with_pseudo(self.forest, self.estimator, self.oob_weight)

            def answer_without_row(unseen: Sequence[UnseenRows]) -> Floats:
                return unseen[0].frequencies(counts, self.oob_weight)

            return answer_without_row
        (tables,) = self.mean_tables()

        def answer(unseen: Sequence[UnseenRows]) -> Floats:
            return self._smoothed_votes(unseen[0].means(tables))

        return answer

    def mean_tables(self) -> list[_core.LeafTables]:
        return [self._made(0.0) if self.oob_weight > 0 else self.tables]

    def spread_tables(self, n_threads: int) -> list[_core.LeafTables]:
        return [self.tables]

    def single_trees(self) -> Iterator[SingleTree]:
        pairs = zip(self.forest, self.each_estimator(), strict=True)
        return (SingleTree.in_forest(tree, estimator, self.oob_weight) for tree, estimator in pairs)

    # New rows: no tree has seen them. If leaves use no such rows, they count as a tree's own rows.

    def check_updatable(self) -> None:
        """Later rows always count, in bag or out of it."""

    def counts_of(self, rows: EncodedRows, n_threads: int) -> tuple[Tally, ...]:
        copies = None
        if not self._looks_out_of_bag:
            copies = dict.fromkeys(range(len(self.forest)), np.ones(len(rows), dtype=np.uint32))
        return (tally_rows(self.forest, rows, copies, distinct=True, n_threads=n_threads),)

    def held_counts(self) -> tuple[Tally, ...]:
        return (Tally(ForestCounts.of(self.forest)),)

    def with_counts(
        self, counts: Sequence[Tally], decay: float, class_weights: Floats | None, n_threads: int
    ) -> LeafMean:
        votes_by = self.prior if self.voting else None
        forest = recounted(self.forest, counts[0].counts, decay, n_threads, votes_by)
        return replace(self, forest=forest, kept_tables=None, n_threads=n_threads)._with_tables()

    @property
    def _looks_out_of_bag(self) -> bool:
        return self.oob_weight > 0 and not (self.voting and isinstance(self.estimator, Raw))

    # Several in one.

    def joined(self, others: Sequence[LeafMean], prior: Floats, class_weights: Floats) -> LeafMean:
        """Trees keep their tables, which a common prior might change."""
        every = [self, *others]
        same = all(repr(one.estimator) == repr(self.estimator) for one in every)
        keep = not same or any(one.settled for one in every)
        tables = [table for one in every for table in one.tables_by_tree()]
        return replace(
            self,
            forest=Forest.joined([one.forest for one in every]),
            settled=[each for one in every for each in one.each_estimator()] if keep else None,
            prior=prior,
            kept_tables=_core.LeafTables(tables, len(prior)),
        )

    def each_estimator(self) -> Sequence[LeafEstimator]:
        """The estimator of each tree."""
        return self.settled or [self.estimator] * len(self.forest)

    def follows_from_counts(self) -> bool:
        """Whether the tables can be made again, bit for bit."""
        if not all(one.is_repeatable for one in self.settled or [self.estimator]):
            return False
        if self.kept_tables is None:
            return True
        made = self._made(self.oob_weight)
        pairs = enumerate(self.tables_by_tree())
        return all(np.array_equal(np.asarray(made.of_tree(index)), table) for index, table in pairs)

    def _with_tables(self) -> LeafMean:
        """The same estimate with its tables made now and not on first use."""
        _ = self.tables
        return self

    def _made(self, oob_weight: float) -> _core.LeafTables:
        if self.voting and isinstance(self.estimator, Raw):
            return votes_of_leaves(self.forest, len(self.prior))
        tables = estimator_tables(self.forest, self.estimator, self.settled, self.prior, oob_weight, self.n_threads)
        return votes_of_tables(tables, self.prior) if self.voting else tables

    def _smoothed_votes(self, proba: Floats) -> Floats:
        n_trees = len(self.forest)
        return (proba * n_trees + 1) / (n_trees + proba.shape[1]) if self.voting == "laplace" else proba


def fit_leaf_mean(
    forest: Forest,
    estimator: LeafEstimator,
    plan: ForestPlan,
    rows: EncodedRows | None,
    *,
    prior: Floats,
    oob_weight: float,
    voting: bool | str,
    samples_known: bool = True,
    n_threads: int = 1,
) -> LeafMean:
    """Learn the parameters of the leaf estimator, and make the tables.

    Parameters
    ----------
    forest : Forest
    estimator : LeafEstimator
        With parameters that may have to be learned.
    plan : ForestPlan
        The plan by which the forest was grown.
    rows : EncodedRows or None
        The training rows, if they are at hand.
    prior, oob_weight, voting
        As in :class:`LeafMean`.
    samples_known : bool, default=True
        Whether the samples of the trees follow from the plan.
    """
    learned = _learned(estimator, forest, plan, rows)
    settled = None
    if learned.learns_from_own_rows:
        known = rows if samples_known else None
        settled = [learned.settled(tree) for tree in _rows_once(learned, forest, plan, known, n_threads)]
    return LeafMean(forest, learned, settled, prior, oob_weight, voting, n_threads=n_threads)._with_tables()


def _learned(estimator: LeafEstimator, forest: Forest, plan: ForestPlan, rows: EncodedRows | None) -> LeafEstimator:
    """Learn the parameters of the estimator: from out-of-bag rows, or from trees grown on parts of the rows."""
    if not estimator.needs_held_out:
        return estimator
    # In a tree's counts are its own rows; the rows it has not seen are held out, whatever oob_weight is.
    out_of_bag = [HeldOut(tree, tree.oob_class_counts) for tree in forest if tree.oob_class_counts[0].any()]
    if estimator.out_of_bag_serves and out_of_bag:
        return estimator.learned(out_of_bag)
    if rows is None:
        return estimator  # which raises an error that names what is needed
    whole = replace(plan, bootstrap=False, pruning=None)

    def grow(part: EncodedRows) -> Tree:
        return grow_range(whole, part, 0, 1)[0][0]

    return estimator.learned(cross_fit(rows, grow, np.random.default_rng(plan.seed)))


def _rows_once(
    estimator: LeafEstimator, forest: Forest, plan: ForestPlan, rows: EncodedRows | None, n_threads: int
) -> Iterable[Tree]:
    """The trees with every row of their samples counted once, for an estimator that leaves rows out."""
    if plan.count == "distinct" or plan.bootstrap is False:
        return forest
    if rows is None:
        raise ValueError(
            f"{estimator!r} leaves rows out of the counts, but these count copies of rows: give with_smoothing the "
            "training data, with_smoothing(smoothing, X, y), or fit with count='distinct'. For a forest that comes "
            "from scikit-learn use HGS(alpha='honest') instead."
        )
    return count(replace(plan, count="distinct"), rows, list(forest), n_threads=n_threads)[0]
