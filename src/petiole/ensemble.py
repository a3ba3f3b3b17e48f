"""Bagged probability estimation trees: the mean of many trees' probabilities."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole import traversal
from petiole.classifier import TreeBasedClassifier
from petiole.cross_fit import cross_fit
from petiole.grow import TrainingSet, check_growth_parameters, grow_forest
from petiole.impurity import feature_importances
from petiole.parameters import check_choice, check_number, check_whole
from petiole.smoothing import Curtailment, HeldOut, LeafEstimator, MEstimate, as_leaf_estimator
from petiole.tree import Tree

BOOTSTRAPS = ("stratified", "plain", False)
COUNTS = ("copies", "distinct")

Copies = npt.NDArray[np.uint32]


class BaggedPETClassifier(TreeBasedClassifier):
    """Bagged probability estimation trees: B-PETs, EB-PETs, and random forests with any leaf estimator.

    Each tree is grown on a bootstrap sample; the probabilities are the mean over trees. ``oob_weight`` lets the rows
    outside a tree's sample count in its leaves, too: their labels had no part in choosing the splits. The constructors
    ``b_pets``, ``eb_pets``, ``bagged_curtailment`` and ``random_forest`` set the papers' switches.

    Parameters
    ----------
    n_estimators : int, default=128
        Number of trees.
    criterion, max_depth, min_samples_leaf, max_features, max_bins, categorical_features, nominal_splits, missing, \
threshold, split_class_weight
        How each tree is grown, as in :class:`PETClassifier`.
    bootstrap : {"stratified", "plain", False}, default="stratified"
        "stratified" draws each class's rows among themselves, so that every class keeps its size; "plain" draws from
        all rows; False grows every tree on all rows.
    oob_weight : float, default=0
        The papers' α: the weight of out-of-bag rows in leaf counts (Nielsen 2004, eq. 4).
    count : {"copies", "distinct"}, default="copies"
        Whether a row that is in a sample twice counts twice in the leaves. Growth always counts copies.
    smoothing : str or leaf estimator, default="laplace"
        As in :class:`PETClassifier`. ``HGS(alpha="honest")`` and its kin learn from the out-of-bag rows.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads; the trees do not depend on their number.
    verbose : int, default=0

    Attributes
    ----------
    trees_ : list of Tree
        With the in-bag counts that ``count`` asks for, and out-of-bag counts.
    smoothing_ : LeafEstimator
        The leaf estimator in use, with what it learned.
    classes_ : array of the class labels
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggedPETClassifier.eb_pets(n_estimators=16, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

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
        bootstrap: str | bool = "stratified",
        oob_weight: float = 0.0,
        count: str = "copies",
        smoothing: str | LeafEstimator = "laplace",
        split_class_weight: Any = None,
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
        self.bootstrap = bootstrap
        self.oob_weight = oob_weight
        self.count = count
        self.smoothing = smoothing
        self.split_class_weight = split_class_weight
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
        """EB-PETs (Nielsen 2004): random attributes, out-of-bag rows in the leaves, no smoothing."""
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BaggedPETClassifier:
        """Grow the trees.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            Counts in splits and leaves; which rows are drawn does not depend on it.
        """
        self._check_parameters()
        estimator = as_leaf_estimator(self.smoothing)
        encoder, training = self._encode_training(X, y, sample_weight)
        started = time.perf_counter()
        seed = self._seed()
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        samples = [self._draw(training, seed, index) for index in range(int(self.n_estimators))]
        grown = grow_forest(self, training, samples, seed=seed, n_threads=self._n_threads())
        trees = [self._counted(tree, training, copies) for tree, copies in zip(grown, samples, strict=True)]
        estimator = self._learn(estimator, trees, training, seed)
        tables = self._tables(estimator, trees, self._rows_once(estimator, trees, training, samples))
        # Nothing of the estimator changes before this point.
        self._remember_columns(X)
        self.encoder_ = encoder
        self.classes_ = training.classes
        self.trees_ = trees
        self.smoothing_ = estimator
        self.tables_ = tables
        self.seed_ = seed
        if self.verbose:
            print(f"[{type(self).__name__}] {len(trees)} trees in {time.perf_counter() - started:.2f} s")
        return self

    def with_smoothing(
        self, smoothing: str | LeafEstimator, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> BaggedPETClassifier:
        """A fitted classifier that shares this one's trees and differs in the leaf estimator only.

        An estimator that learns a parameter does so on the out-of-bag rows; one that wants trees grown anew, such as
        ``HGS(alpha="cv")``, needs the training data.
        """
        estimator = as_leaf_estimator(smoothing)
        check_is_fitted(self)
        training, samples = None, None
        if X is not None and (estimator.needs_held_out or estimator.learns_from_own_rows):
            self._check_parameters()
            training = self._encode_training(X, y, sample_weight)[1]
            if hasattr(self, "seed_"):
                samples = [self._draw(training, self.seed_, index) for index in range(len(self.trees_))]
        estimator = self._learn(estimator, self.trees_, training, getattr(self, "seed_", 0))
        other = copy.copy(self)
        other.smoothing = smoothing
        other.smoothing_ = estimator
        other.tables_ = self._tables(estimator, self.trees_, self._rows_once(estimator, self.trees_, training, samples))
        return other

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """The leaf of each row in each tree, shape (n_rows, n_estimators)."""
        check_is_fitted(self)
        matrix, n_threads = self._encode(X), self._n_threads()
        return np.column_stack([traversal.leaf_ids(tree, matrix, n_threads=n_threads) for tree in self.trees_])

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The mean over trees of each attribute's share of the criterion's total decrease."""
        check_is_fitted(self)
        return np.mean([feature_importances(tree, self.criterion) for tree in self.trees_], axis=0)

    def _average(self, matrix: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        n_threads = self._n_threads()
        total = np.zeros((len(matrix), len(self.classes_)))
        for tree, table in zip(self.trees_, self.tables_, strict=True):
            total += traversal.average(tree, matrix, table, n_threads=n_threads)
        return total / len(self.trees_)

    def _check_parameters(self) -> None:
        check_whole("n_estimators", self.n_estimators, 1)
        check_growth_parameters(self)
        check_choice("bootstrap", self.bootstrap, BOOTSTRAPS)
        check_number("oob_weight", self.oob_weight, 0)
        check_choice("count", self.count, COUNTS)
        check_whole("verbose", self.verbose, 0)

    def _draw(self, training: TrainingSet, seed: int, index: int) -> Copies:
        """How often each row is in the sample of a tree; empty for all rows once."""
        if self.bootstrap is False:
            return np.empty(0, dtype=np.uint32)
        random = np.random.default_rng([seed, index])
        n = training.n_rows
        if self.bootstrap == "plain":
            drawn = random.integers(n, size=n)
        else:
            by_class = np.argsort(training.labels, kind="stable")
            sizes = np.bincount(training.labels, minlength=len(training.classes))
            starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
            drawn = by_class[starts + (random.random(n) * np.repeat(sizes, sizes)).astype(np.int64)]
        return np.bincount(drawn, minlength=n).astype(np.uint32)

    def _counted(self, tree: Tree, training: TrainingSet, copies: Copies) -> Tree:
        """The tree with the in-bag counts asked for, and out-of-bag counts."""
        if copies.size == 0:
            return tree
        inbag = _counts_of(tree, training.rows(copies > 0)) if self.count == "distinct" else None
        return tree.with_counts(inbag=inbag, oob=_counts_of(tree, training.rows(copies == 0)))

    def _learn(
        self, estimator: LeafEstimator, trees: list[Tree], training: TrainingSet | None, seed: int
    ) -> LeafEstimator:
        """Learn what the estimator wants to know: from out-of-bag rows, or from trees grown on parts of the rows."""
        if not estimator.needs_held_out:
            return estimator
        # In a tree's counts are its own rows; the rows it has not seen are held out, whatever oob_weight is.
        out_of_bag = [HeldOut(tree, tree.oob_class_counts) for tree in trees if tree.oob_class_counts[0].any()]
        if estimator.out_of_bag_serves and out_of_bag:
            return estimator.learned(out_of_bag)
        if training is None:
            return estimator  # which will say what it needs
        all_rows = [np.empty(0, dtype=np.uint32)]

        def grow(rows: TrainingSet) -> Tree:
            return grow_forest(self, rows, all_rows, seed=seed, n_threads=1)[0]

        return estimator.learned(cross_fit(training, grow, np.random.default_rng(seed)))

    def _rows_once(
        self,
        estimator: LeafEstimator,
        trees: Sequence[Tree],
        training: TrainingSet | None,
        samples: Sequence[Copies] | None,
    ) -> Sequence[Tree]:
        """The trees with every row of their samples counted once, if the estimator leaves rows out."""
        if not estimator.learns_from_own_rows or self.count == "distinct" or self.bootstrap is False:
            return trees
        if training is None or samples is None:
            raise ValueError(
                f"{estimator!r} leaves rows out of the counts, but these count copies of rows: give with_smoothing the "
                "training data, with_smoothing(smoothing, X, y), or fit with count='distinct'. For a forest that comes "
                "from scikit-learn use HGS(alpha='honest') instead."
            )
        counted = (_counts_of(tree, training.rows(copies > 0)) for tree, copies in zip(trees, samples, strict=True))
        return [tree.with_counts(inbag=counts) for tree, counts in zip(trees, counted, strict=True)]

    def _tables(
        self, estimator: LeafEstimator, trees: Sequence[Tree], rows_once: Sequence[Tree]
    ) -> list[npt.NDArray[np.float64]]:
        """What the estimator says of each tree's counts, out-of-bag rows weighted in."""
        weight, tables = float(self.oob_weight), []
        for tree, once in zip(trees, rows_once, strict=True):
            settled = estimator.settled(once)
            mixed = tree.inbag_class_counts + weight * tree.oob_class_counts
            tables.append(settled.node_probabilities(tree.with_counts(inbag=mixed) if weight > 0 else tree))
        return tables


def _counts_of(tree: Tree, rows: TrainingSet) -> npt.NDArray[np.float64]:
    return traversal.class_counts(tree, rows.matrix, rows.labels, rows.weights)
