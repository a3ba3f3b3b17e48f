"""Bagged probability estimation trees, whose probabilities are the mean over trees."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.base import encode_training
from petiole._classifiers.constraining import check_constraint_parameters, constrained, fitted_constraints
from petiole._classifiers.ensemble import MOST_OOB_WEIGHT, Floats, ForestClassifier
from petiole._classifiers.intervals import forget_intervals
from petiole._estimates.base import Fit
from petiole._estimates.leaf_mean import LeafMean, fit_leaf_mean
from petiole._forest.forest import Forest
from petiole._forest.plan import GrownForest, plans_of
from petiole._table.rows import EncodedRows
from petiole._validation import check_choice, check_number
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.smoothing import Curtailment, LeafEstimator, as_leaf_estimator

VOTINGS = (False, True, "laplace")


class BaggedPETClassifier(ForestClassifier):
    """Bagged probability estimation trees: B-PETs, EB-PETs, and random forests with any leaf estimator.

    Each tree is grown on a bootstrap sample; the probabilities are the mean over trees. With ``oob_weight``, the rows
    outside a tree's sample are counted in its leaves, too; their labels had no part in choosing the splits. The
    constructors ``b_pets``, ``eb_pets``, ``bagged_curtailment`` and ``random_forest`` set the parameters as the papers
    do.

    Parameters
    ----------
    n_estimators : int, default=128
        Number of trees.
    criterion, max_depth, min_samples_leaf, min_gain, max_features, redraw, max_bins, splits, categorical_features, \
nominal_splits, missing, threshold, split_class_weight, monotonic_cst, monotonic_class, interaction_cst, weights
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
        As in :class:`PETClassifier`. ``HGS(alpha="honest")`` and other honest estimators learn from the out-of-bag
        rows.
    voting : {False, True, "laplace"}, default=False
        True gives the share of trees that vote for a class instead of the mean of their probabilities. A tree votes
        for the most probable class of the leaf, in a tie for the more frequent one; with ``smoothing="raw"`` that is
        the class with the most rows in its sample, copies counted. "laplace" adds one vote for each class. If missing
        values spread a row over several leaves, its vote is divided.
    oob_score : bool, default=False
        Whether ``fit`` computes out-of-bag probabilities and scores.
    warm_start : bool, default=False
        Whether a further ``fit`` on the same data keeps the trees and adds new ones up to ``n_estimators``; the result
        is the same as growing all at once.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads; the result does not depend on their number.
    verbose : int, default=0

    Attributes
    ----------
    trees_ : Forest
        The trees, a sequence of :class:`Tree`, with in-bag counts as set by ``count``, and out-of-bag counts.
    smoothing_ : LeafEstimator
        The leaf estimator in use, with what it learned.
    classes_ : array of the class labels
    feature_importances_ : array of shape (n_features,)
    oob_predict_proba_ : array of shape (n_rows, n_classes)
        With ``oob_score=True``: the probabilities of each row by the trees that have not seen it. An out-of-bag row
        that counts in leaves (``oob_weight``) is left out of the leaf in which it is looked up; with an estimator that
        uses more than the leaf, or with votes, all out-of-bag rows are left out. NaN for rows that all trees have
        seen.
    oob_decision_ : array of shape (n_rows,)
        The class with the largest of these; the most frequent class for rows that all trees have seen.
    oob_reliability_ : array of shape (n_bins, 3)
        For the most probable class, in bins of its probability: the mean probability, the share that is right, the
        weight.
    oob_score_, oob_log_loss_, oob_brier_ : float
        Accuracy, log-loss in bits and Brier score (summed over classes) of ``oob_predict_proba_``, weighted. Attributes
        whose names begin with "oob" are removed by :meth:`update`.
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

    _estimate: LeafMean

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
        min_gain: float = 0.0,
        max_features: str | float | None = None,
        redraw: bool = True,
        max_bins: int | None = None,
        splits: str = "best",
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
        monotonic_cst: Any = None,
        monotonic_class: Any = None,
        interaction_cst: Any = None,
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
        self.min_gain = min_gain
        self.max_features = max_features
        self.redraw = redraw
        self.max_bins = max_bins
        self.splits = splits
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
        self.monotonic_cst = monotonic_cst
        self.monotonic_class = monotonic_class
        self.interaction_cst = interaction_cst
        self.weights = weights
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn RandomForestClassifier with the same probabilities.

        See :func:`petiole.export.sklearn.to_sklearn`.
        """
        from petiole.export.sklearn import to_sklearn

        return to_sklearn(self)

    @classmethod
    def b_pets(cls, **overrides: Any) -> BaggedPETClassifier:
        """B-PETs (Provost & Domingos 2003, as in Nielsen 2004): unpruned trees, all features, Laplace."""
        switches = {"bootstrap": "stratified", "max_features": None, "oob_weight": 0.0, "smoothing": "laplace"}
        return cls(**{**switches, "count": "copies", **overrides})

    @classmethod
    def eb_pets(cls, **overrides: Any) -> BaggedPETClassifier:
        """EB-PETs (Nielsen 2004): random features, out-of-bag rows in the leaves, no smoothing.

        Each of the three can be switched off by itself: ``max_features=None``, ``oob_weight=0`` or
        ``smoothing="laplace"``.
        """
        switches = {"bootstrap": "stratified", "max_features": "sqrt", "oob_weight": 1.0, "smoothing": "raw"}
        return cls(**{**switches, "count": "distinct", **overrides})

    @classmethod
    def bagged_curtailment(cls, **overrides: Any) -> BaggedPETClassifier:
        """Bagged curtailment (Zadrozny & Elkan 2001): 100 trees of C4.5 on plain samples, and the raw
        frequencies of nodes with enough rows; ``smoothing=Curtailment(smoothing=MEstimate())`` smooths these."""
        growth = {"n_estimators": 100, "bootstrap": "plain", "criterion": "gain_ratio", "threshold": "data"}
        return cls(**{**growth, "smoothing": Curtailment(), **overrides})

    @classmethod
    def random_forest(cls, **overrides: Any) -> BaggedPETClassifier:
        """A random forest (Breiman 2001): plain bootstrap, random features, leaves of single rows, raw frequencies."""
        switches = {"bootstrap": "plain", "max_features": "sqrt", "min_samples_leaf": 1, "criterion": "gini"}
        return cls(**{**switches, "smoothing": "raw", **overrides})

    def with_smoothing(
        self, smoothing: str | LeafEstimator, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> BaggedPETClassifier:
        """A fitted classifier with the same trees and another leaf estimator.

        An estimator that learns a parameter does so on the out-of-bag rows; one that grows further trees, such as
        ``HGS(alpha="cv")``, needs the training data. The new classifier has no out-of-bag probabilities.
        """
        estimator = as_leaf_estimator(smoothing)
        check_is_fitted(self)
        estimator = constrained(estimator, fitted_constraints(self))
        rows = None
        if X is not None and (estimator.needs_held_out or estimator.learns_from_own_rows):
            self._check_parameters()
            rows = encode_training(self, X, y, sample_weight)[1]
        prior = self.class_weights_ if rows is None else rows.class_weights()
        estimate = self._leaf_mean(estimator, self.trees_, rows, prior, getattr(self, "seed_", None))
        other = copy.copy(self)
        for name in [name for name in vars(other) if name.startswith("oob_") and name.endswith("_")]:
            delattr(other, name)
        forget_intervals(other)
        other.smoothing = smoothing
        other._keep_estimate(estimate)
        return other

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("oob_weight", self.oob_weight, 0, MOST_OOB_WEIGHT)
        check_choice("voting", self.voting, VOTINGS)
        check_constraint_parameters(self)
        as_leaf_estimator(self.smoothing)

    # The estimate: one leaf estimator for all trees, or one each where it learns from a tree's own rows.

    def _fit_estimate(self, grown: Sequence[GrownForest]) -> Fit:
        (one,) = grown
        prior = one.rows.class_weights()
        estimator = constrained(as_leaf_estimator(self.smoothing), one.rows.constraints)
        estimate = self._leaf_mean(estimator, one.forest, one.rows, prior, one.seed)
        return Fit(estimate, self._out_of_bag(estimate, grown))

    def _leaf_mean(
        self, estimator: LeafEstimator, forest: Forest, rows: EncodedRows | None, prior: Floats, seed: int | None
    ) -> LeafMean:
        return fit_leaf_mean(
            forest,
            estimator,
            plans_of(self, 0 if seed is None else seed)[0],
            rows,
            prior=prior,
            oob_weight=float(self.oob_weight),
            voting=self.voting,
            samples_known=seed is not None,
            n_threads=self._n_threads(),
        )

    def _keep_estimate(self, estimate: LeafMean) -> None:
        self._estimate = estimate
        self.trees_ = estimate.forest
        self.smoothing_ = estimate.estimator
        self.settled_ = estimate.settled

    @property
    def tables_(self) -> list[Floats]:
        """The probabilities of each tree's leaves by the leaf estimator, in the order of ``tree.leaves``."""
        check_is_fitted(self)
        return self._estimate.tables_by_tree()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_estimate" not in vars(self) or self._estimate.follows_from_counts():
            return state
        return state | {"_tables": self.tables_}

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = {name: value for name, value in state.items() if name != "_tables"}
        super().__setstate__(attributes)
        if "smoothing_" not in state:
            return
        kept = state.get("_tables")
        if kept is not None:
            kept = _core.LeafTables([np.ascontiguousarray(table) for table in kept], len(self.classes_))
        self._estimate = LeafMean(
            self.trees_,
            self.smoothing_,
            self.settled_,
            self.class_weights_,
            float(self.oob_weight),
            self.voting,
            kept,
        )

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        n_trees, settled, tables = len(state["trees_"]), state["settled_"], state.get("_tables")
        require(settled is None or len(settled) == n_trees, "settled_: must be one per tree")
        # Sampled probabilities are kept: sampling again may take long, and would give others.
        repeatable = all(one.is_repeatable for one in settled or [state["smoothing_"]])
        require(repeatable or tables is not None, "_tables: is missing, and this leaf estimator needs it")
        if tables is not None:
            shapes = [(int(n), len(state["classes_"])) for n in state["trees_"].facts.n_leaves]
            require([table.shape for table in tables] == shapes, "_tables: must have a row per leaf")

    def _check_restored(self) -> None:
        if self.settled_ is None and self.smoothing_.pseudo_counts(self.class_weights_) is not None:
            return  # the tables are quick to compute when they are needed
        checks.list_of(checks.probabilities(2))(self.tables_)
