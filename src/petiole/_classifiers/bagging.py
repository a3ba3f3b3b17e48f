"""Bagged probability estimation trees: the mean of many trees' probabilities."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.ensemble import (
    MOST_OOB_WEIGHT,
    Floats,
    ForestClassifier,
    counts_with_pseudo,
    frequency_tables,
    node_tables,
    out_of_bag_frequencies,
)
from petiole._classifiers.updating import ModelCounts, recounted
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import ForestCounts, Rows, Tally, tally_rows
from petiole._forest.plan import GrownForest, count, grow_range, plans_of
from petiole._tree.growing import TrainingSet
from petiole._tree.held_out import cross_fit
from petiole._tree.tree import Tree
from petiole._validation import check_choice, check_number
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.smoothing import Curtailment, HeldOut, LeafEstimator, MEstimate, Raw, as_leaf_estimator

VOTINGS = (False, True, "laplace")


class BaggedPETClassifier(ForestClassifier):
    """Bagged probability estimation trees: B-PETs, EB-PETs, and random forests with any leaf estimator.

    Each tree is grown on a bootstrap sample; the probabilities are the mean over trees. ``oob_weight`` lets the rows
    outside a tree's sample count in its leaves, too: their labels had no part in choosing the splits. The constructors
    ``b_pets``, ``eb_pets``, ``bagged_curtailment`` and ``random_forest`` set the papers' switches.

    Parameters
    ----------
    n_estimators : int, default=128
        Number of trees.
    criterion, max_depth, min_samples_leaf, max_features, max_bins, categorical_features, nominal_splits, missing, \
threshold, split_class_weight, weights
        How each tree is grown, as in :class:`PETClassifier`.
    pruning, confidence
        As in :class:`PETClassifier`; "pruning_set" prunes each tree with the rows outside its sample.
    bootstrap : {"stratified", "plain", False}, default="stratified"
        "stratified" draws each class's rows among themselves, so that every class keeps its size; classes of fewer
        than four rows are drawn together (and with the largest class, if they have fewer than four rows in all), so
        that each of their rows is out of bag in some trees. "plain" draws from all rows; False grows every tree on all
        rows.
    oob_weight : float, default=0
        The papers' α: the weight of out-of-bag rows in leaf counts (Nielsen 2004, eq. 4).
    count : {"copies", "distinct"}, default="copies"
        Whether a row that is in a sample twice counts twice in the leaves. Growth always counts copies.
    smoothing : str or leaf estimator, default="laplace"
        As in :class:`PETClassifier`. ``HGS(alpha="honest")`` and its kin learn from the out-of-bag rows.
    voting : {False, True, "laplace"}, default=False
        True gives the share of trees that vote for a class instead of the mean of their probabilities. A tree votes for
        the most probable class of the leaf, of equals the more frequent one; with ``smoothing="raw"`` that is the class
        with the most rows in its sample, copies counted. "laplace" adds one vote for each class. A
        row that missing values spread over several leaves divides its vote.
    oob_score : bool, default=False
        Whether ``fit`` leaves the out-of-bag probabilities and scores.
    warm_start : bool, default=False
        Whether a further ``fit`` on the same data keeps the trees and adds those that ``n_estimators`` asks for; the
        result is that of growing all at once.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads; the result does not depend on their number.
    verbose : int, default=0

    Attributes
    ----------
    trees_ : Forest
        The trees, a sequence of :class:`Tree`, with the in-bag counts that ``count`` asks for, and out-of-bag counts.
    smoothing_ : LeafEstimator
        The leaf estimator in use, with what it learned.
    classes_ : array of the class labels
    feature_importances_ : array of shape (n_features,)
    oob_predict_proba_ : array of shape (n_rows, n_classes)
        With ``oob_score=True``: what the trees that have not seen a row say of it. Out-of-bag rows that count in leaves
        (``oob_weight``) are left out of those in which they are looked up; with an estimator that looks beyond the
        leaf, or with votes, all of them are. NaN for rows that all trees have seen.
    oob_decision_ : array of shape (n_rows,)
        The class with the largest of these, the most frequent class for rows that all trees have seen.
    oob_score_, oob_log_loss_, oob_brier_ : float
        Accuracy, log-loss in bits and Brier score (summed over classes) of ``oob_predict_proba_``, weighted. What
        begins with "oob" is gone after :meth:`update`.
    counted_weights_ : array of shape (n_classes,)
        After :meth:`update`: the weight of each class among all rows counted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggedPETClassifier.eb_pets(n_estimators=16, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    _saved = fields(
        trees_=checks.instance_of("Forest"),
        smoothing_=checks.instance_of("LeafEstimator"),
        settled_=checks.none_or(checks.list_of(checks.instance_of("LeafEstimator"))),
        _tables=maybe(checks.list_of(checks.probabilities(2))),
    )

    def __init__(
        self,
        n_estimators: int = 128,
        *,
        criterion: str = "entropy",
        max_depth: int | None = None,
        min_samples_leaf: float = 2,
        max_features: str | float | None = None,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        nominal_splits: str = "multiway",
        missing: str = "fractional",
        threshold: str = "midpoint",
        pruning: str | None = None,
        confidence: float = 0.25,
        bootstrap: str | bool = "stratified",
        oob_weight: float = 0.0,
        count: str = "copies",
        smoothing: str | LeafEstimator = "laplace",
        voting: bool | str = False,
        split_class_weight: Any = None,
        weights: str = "auto",
        oob_score: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.nominal_splits = nominal_splits
        self.missing = missing
        self.threshold = threshold
        self.pruning = pruning
        self.confidence = confidence
        self.bootstrap = bootstrap
        self.oob_weight = oob_weight
        self.count = count
        self.smoothing = smoothing
        self.voting = voting
        self.split_class_weight = split_class_weight
        self.weights = weights
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def b_pets(cls, **overrides: Any) -> BaggedPETClassifier:
        """B-PETs (Provost & Domingos 2003, as in Nielsen 2004): unpruned trees, all attributes, Laplace."""
        switches = {"bootstrap": "stratified", "max_features": None, "oob_weight": 0.0, "smoothing": "laplace"}
        return cls(**{**switches, "count": "copies", **overrides})

    @classmethod
    def eb_pets(cls, **overrides: Any) -> BaggedPETClassifier:
        """EB-PETs (Nielsen 2004): random attributes, out-of-bag rows in the leaves, no smoothing.

        Each of the three can be switched off by itself: ``max_features=None``, ``oob_weight=0`` or
        ``smoothing="laplace"``.
        """
        switches = {"bootstrap": "stratified", "max_features": "sqrt", "oob_weight": 1.0, "smoothing": "raw"}
        return cls(**{**switches, "count": "distinct", **overrides})

    @classmethod
    def bagged_curtailment(cls, **overrides: Any) -> BaggedPETClassifier:
        """Bagged smoothed curtailment (after Zadrozny & Elkan 2001)."""
        return cls(**{"bootstrap": "plain", "smoothing": Curtailment(smoothing=MEstimate()), **overrides})

    @classmethod
    def random_forest(cls, **overrides: Any) -> BaggedPETClassifier:
        """A random forest as usual (Breiman 2001): plain bootstrap, random attributes, single rows, raw frequencies."""
        switches = {"bootstrap": "plain", "max_features": "sqrt", "min_samples_leaf": 1, "criterion": "gini"}
        return cls(**{**switches, "smoothing": "raw", **overrides})

    def with_smoothing(
        self, smoothing: str | LeafEstimator, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> BaggedPETClassifier:
        """A fitted classifier that shares this one's trees and differs in the leaf estimator only.

        An estimator that learns a parameter does so on the out-of-bag rows; one that wants trees grown anew, such as
        ``HGS(alpha="cv")``, needs the training data. It has no out-of-bag probabilities.
        """
        estimator = as_leaf_estimator(smoothing)
        check_is_fitted(self)
        training = None
        if X is not None and (estimator.needs_held_out or estimator.learns_from_own_rows):
            self._check_parameters()
            training = self._encode_training(X, y, sample_weight)[1]
        other = copy.copy(self)
        for name in [name for name in vars(other) if name.startswith("oob_") and name.endswith("_")]:
            delattr(other, name)
        other.smoothing = smoothing
        for name, value in self._estimate_with(estimator, self.trees_, training, getattr(self, "seed_", None)).items():
            setattr(other, name, value)
        return other

    # The estimate: one leaf estimator for all trees, or one each where it learns from a tree's own rows.

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("oob_weight", self.oob_weight, 0, MOST_OOB_WEIGHT)
        check_choice("voting", self.voting, VOTINGS)
        as_leaf_estimator(self.smoothing)

    def _estimate(self, growth: GrownForest) -> tuple[dict[str, Any], Callable[[], Floats]]:
        estimator = as_leaf_estimator(self.smoothing)
        fitted = self._estimate_with(estimator, growth.forest, growth.training, growth.seed)
        return fitted, lambda: self._out_of_bag(growth, fitted)

    def _estimate_with(
        self, estimator: LeafEstimator, forest: Forest, training: TrainingSet | None, seed: int | None
    ) -> dict[str, Any]:
        estimator = self._learn(estimator, forest, training, seed)
        settled = None
        if estimator.learns_from_own_rows:
            settled = [estimator.settled(tree) for tree in self._rows_once(estimator, forest, training, seed)]
        prior = self.class_weights_ if training is None else training.class_weights()
        fitted = {"smoothing_": estimator, "settled_": settled}
        return fitted | {"_tables": self._leaf_tables(estimator, settled, forest, prior)}

    def _learn(
        self, estimator: LeafEstimator, forest: Forest, training: TrainingSet | None, seed: int | None
    ) -> LeafEstimator:
        """Learn what the estimator wants to know: from out-of-bag rows, or from trees grown on parts of the rows."""
        if not estimator.needs_held_out:
            return estimator
        # In a tree's counts are its own rows; the rows it has not seen are held out, whatever oob_weight is.
        out_of_bag = [HeldOut(tree, tree.oob_class_counts) for tree in forest if tree.oob_class_counts[0].any()]
        if estimator.out_of_bag_serves and out_of_bag:
            return estimator.learned(out_of_bag)
        if training is None:
            return estimator  # which will say what it needs
        seed = 0 if seed is None else seed
        plan = replace(plans_of(self, seed)[0], bootstrap=False, pruning=None)

        def grow(rows: TrainingSet) -> Tree:
            return grow_range(plan, rows, 0, 1)[0][0]

        return estimator.learned(cross_fit(training, grow, np.random.default_rng(seed)))

    def _rows_once(
        self, estimator: LeafEstimator, forest: Forest, training: TrainingSet | None, seed: int | None
    ) -> Iterable[Tree]:
        """The trees with every row of their samples counted once, for an estimator that leaves rows out."""
        if self.count == "distinct" or self.bootstrap is False:
            return forest
        if training is None or seed is None:
            raise ValueError(
                f"{estimator!r} leaves rows out of the counts, but these count copies of rows: give with_smoothing the "
                "training data, with_smoothing(smoothing, X, y), or fit with count='distinct'. For a forest that comes "
                "from scikit-learn use HGS(alpha='honest') instead."
            )
        plan = replace(plans_of(self, seed)[0], count="distinct")
        return count(plan, training, list(forest), n_threads=self._n_threads())[0]

    def _leaf_tables(
        self,
        estimator: LeafEstimator,
        settled: Sequence[LeafEstimator] | None,
        forest: Forest,
        prior: Floats,
        oob_weight: float | None = None,
    ) -> Any:
        """What the estimator says of each leaf, as the core's tables; votes if these are asked for."""
        weight = float(self.oob_weight) if oob_weight is None else oob_weight
        if self.voting and isinstance(estimator, Raw):
            votes = (forest.core.leaf_votes(index) for index in range(len(forest)))
            return _core.LeafTables([np.eye(len(prior))[winners] for winners in votes], len(prior))
        if settled is None and estimator.pseudo_counts(prior) is not None:
            tables = frequency_tables(forest, estimator, weight, self._n_threads())
        else:
            each = [estimator] * len(forest) if settled is None else settled
            leaves = [node_tables(tree, one, weight) for tree, one in zip(forest, each, strict=True)]
            tables = _core.LeafTables(leaves, len(prior))
        return _votes(tables, prior) if self.voting else tables

    # Rows that come later: no tree has seen them. Where leaves look at no such rows they are a tree's own.

    @property
    def _looks_out_of_bag(self) -> bool:
        return self.oob_weight > 0 and not (self.voting and isinstance(self.smoothing_, Raw))

    def _check_updatable(self) -> None:
        check_number("oob_weight", self.oob_weight, 0, MOST_OOB_WEIGHT)

    def _count_parts(self, rows: Rows) -> Iterable[Any]:
        if not self._looks_out_of_bag:
            once = np.ones(len(rows), dtype=np.uint32)
            rows = Rows(rows.matrix, rows.labels, rows.weights, dict.fromkeys(range(len(self.trees_)), once))
        return [tally_rows(self.trees_, rows, distinct=True, n_threads=self._n_threads())]

    def _held_parts(self) -> Iterable[Any]:
        return [Tally(ForestCounts.of(self.trees_))]

    def _with_parts(self, counts: ModelCounts, decay: float) -> dict[str, Any]:
        prior = self.class_weights_ if self.voting else None
        forest = recounted(self.trees_, counts.parts[0].counts, decay, self._n_threads(), prior)
        return {
            "trees_": forest,
            "counted_weights_": self._class_weights_with(counts, decay),
            "_tables": self._leaf_tables(self.smoothing_, self.settled_, forest, self.class_weights_),
        }

    def _out_of_bag(self, growth: GrownForest, fitted: dict[str, Any]) -> Floats:
        estimator, training = fitted["smoothing_"], growth.training
        n_threads = self._n_threads()
        if self.oob_weight > 0 and estimator.pseudo_counts(training.class_weights()) is not None and not self.voting:
            counts, _ = counts_with_pseudo(growth.forest, estimator, float(self.oob_weight))
            return out_of_bag_frequencies(growth, counts, float(self.oob_weight), n_threads)
        tables = fitted["_tables"]
        if self.oob_weight > 0:
            prior = training.class_weights()
            tables = self._leaf_tables(estimator, fitted["settled_"], growth.forest, prior, oob_weight=0.0)
        n_trees = len(growth.forest)
        proba = np.asarray(_core.out_of_bag_average(growth.members, tables, None, n_threads))
        return self._smoothed_votes(proba, n_trees)

    def _average(self, matrix: npt.NDArray[Any]) -> Floats:
        proba = self.trees_.router.average(matrix, self._tables, None, False, self._n_threads())[0]
        return self._smoothed_votes(proba, len(self.trees_))

    def _smoothed_votes(self, proba: Floats, n_trees: int) -> Floats:
        return (proba * n_trees + 1) / (n_trees + proba.shape[1]) if self.voting == "laplace" else proba

    @functools.cached_property
    def _tables(self) -> Any:
        """Set by ``fit``; after unpickling, which leaves it behind, made again from the trees' counts."""
        return self._leaf_tables(self.smoothing_, self.settled_, self.trees_, self.class_weights_)

    def _spread_tables(self) -> Any:
        return self._tables

    @property
    def tables_(self) -> list[Floats]:
        """What the leaf estimator says of each tree's leaves, in the order of ``tree.leaves``."""
        check_is_fitted(self)
        return [self._tables.of_tree(index) for index in range(len(self.trees_))]

    def _merged_estimate(self, models: Sequence[Self]) -> dict[str, Any]:
        tables = [table for model in models for table in model.tables_]
        same = all(repr(model.smoothing_) == repr(models[0].smoothing_) for model in models)
        settled = [one for model in models for one in model.settled_ or [model.smoothing_] * len(model.trees_)]
        keep = not same or any(model.settled_ for model in models)
        return {
            "smoothing_": models[0].smoothing_,
            "settled_": settled if keep else None,
            "_tables": _core.LeafTables(tables, len(models[0].classes_)),
        }

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name != "_tables"}
        is_fitted = "smoothing_" in state
        return state | {"_tables": self.tables_} if is_fitted and not self._tables_can_be_made() else state

    def __copy__(self) -> Self:
        """A copy that shares everything; unlike a pickle it need not know how the tables were made."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_tables" in state:
            tables = [np.ascontiguousarray(table) for table in state["_tables"]]
            state = state | {"_tables": _core.LeafTables(tables, len(state["classes_"]))}
        super().__setstate__(state)

    def _tables_can_be_made(self) -> bool:
        """Whether the tables follow from the trees' counts bit for bit, so that they need not be kept."""
        if not all(one.is_repeatable for one in self.settled_ or [self.smoothing_]):
            return False
        if "seed_" in vars(self):
            return True
        # Merged models keep the tables that they had before, which a common prior may change.
        made = self._leaf_tables(self.smoothing_, self.settled_, self.trees_, self.class_weights_)
        return all(np.array_equal(made.of_tree(index), table) for index, table in enumerate(self.tables_))

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        n_trees, settled, tables = len(state["trees_"]), state["settled_"], state.get("_tables")
        require(settled is None or len(settled) == n_trees, "settled_: must be one per tree")
        # Drawn probabilities are kept: drawing them again may take any time, and would give others.
        repeatable = all(one.is_repeatable for one in settled or [state["smoothing_"]])
        require(repeatable or tables is not None, "_tables: must be there with this leaf estimator")
        if tables is not None:
            shapes = [(int(n), len(state["classes_"])) for n in state["trees_"].facts.n_leaves]
            require([table.shape for table in tables] == shapes, "_tables: must have a row per leaf")

    def _check_restored(self) -> None:
        if self.settled_ is None and self.smoothing_.pseudo_counts(self.class_weights_) is not None:
            return  # the tables are quick to make when they are asked for
        checks.list_of(checks.probabilities(2))(self.tables_)


def _votes(tables: Any, prior: Floats) -> Any:
    """One vote per leaf: for the most probable class, of equals the more frequent one, then the first."""
    order = np.argsort(-prior, kind="stable")
    votes = []
    for index in range(tables.n_trees):
        table = np.round(tables.of_tree(index), 12)
        winners = order[table[:, order].argmax(axis=1)]
        votes.append(np.eye(len(prior))[winners])
    return _core.LeafTables(votes, len(prior))
