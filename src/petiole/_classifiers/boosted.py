"""Second-order boosted trees, with a number of rounds that is chosen on held-out rows."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._boosting.growing import BoostedFolds, boost, boost_folds
from petiole._boosting.plan import BoostingPlan, check_bins
from petiole._boosting.trees import BoostedTrees
from petiole._classifiers.base import TreeBasedClassifier, encode_queries, encode_training, remember_columns
from petiole._classifiers.constraining import check_constraint_parameters, fitted_constraints
from petiole._classifiers.explaining import Explainable
from petiole._table.encoder import FeatureEncoder
from petiole._table.rows import EncodedRows
from petiole._table.weights import check_meaning
from petiole._validation import check_choice, check_number, check_whole, draw_seed, resolve_max_features
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.smoothing.monotone import with_share

Floats = npt.NDArray[np.float64]

MOST_CATEGORIES = 65_535


class BoostedPETClassifier(Explainable, TreeBasedClassifier):
    """Boosted trees whose number of rounds is chosen on rows they have not seen.

        P(k | x)  =  softmax(F(x))_k,      F(x)  =  log prior + Σ_t V_t(x)

    Each round adds a tree for every class (one tree if there are two classes), grown on the first and second
    derivatives of the log-loss; its leaves hold Newton steps V = −η·G / (H + λ), where G and H are the sums of both
    derivatives over the leaf's rows.

    With ``early_stopping`` the rows are divided into folds, stratified by class. For each fold, a chain of trees is
    grown on the rows of the other folds, and the number of rounds is chosen that has the least held-out log-loss over
    all rows. The held-out probabilities are kept. The model is then grown on all rows, with k/(k − 1) times that
    number of rounds, because it has k/(k − 1) times the rows of a chain.

    Parameters
    ----------
    learning_rate : float, default=0.05
        η, the share of each step that is taken.
    max_iter : int, default=1000
        The most rounds of a chain; without ``early_stopping`` the number of rounds, unless no split is left before.
    max_leaf_nodes : int or None, default=15
        The most leaves of a tree; leaves whose split has the largest gain are split first.
    max_depth : int or None, default=None
    min_samples_leaf : float, default=5
        Rows in a leaf, that is, the sum of their weights.
    l2_regularization : float, default=1.0
        λ, which makes the steps of leaves with few rows shorter.
    max_bins : int, default=255
        Bins of a numeric feature, at most 255. Tables of less than a thousand rows have fewer.
    max_features : None, "sqrt", "log2", int or float, default=0.5
        The number or share of features that are drawn for each tree.
    subsample : float, default=0.7
        The share of rows that are drawn for each round.
    categorical_features : "from_dtype", None, names, indices or mask, default="from_dtype"
        As in :class:`petiole.PETClassifier`. Categories are divided into two sets at a split.
    early_stopping : bool, default=True
        Choose the number of rounds on held-out rows.
    n_iter_no_change : int, default=20
        The search stops after this many rounds without a smaller held-out log-loss.
    n_folds : int, default=5
    monotonic_cst, monotonic_class, interaction_cst
        As in :class:`petiole.PETClassifier`. With more than two classes and ``monotonic_cst``, further trees are grown
        for the named class against all others (``named_trees_``); they give its probability, and ``trees_`` divide the
        rest.
    weights : {"auto", "relative", "counts"}, default="auto"
        What sample weights mean, as in :class:`petiole.PETClassifier`.
    random_state : int, RandomState or None, default=None
        Draws folds, rows and features.
    n_jobs : int or None, default=None
        Threads; the result does not depend on their number.
    verbose : int, default=0

    Attributes
    ----------
    trees_ : BoostedTrees
        The trees and what their leaves add to the scores.
    named_trees_ : BoostedTrees
        Only with ``monotonic_cst`` and more than two classes: those of the named class against the others.
    n_iter_ : int
        The number of rounds of the model.
    validation_log_loss_ : array
        With early stopping: the held-out log-loss in bits after 0, 1, 2, … rounds.
    cv_predict_proba_ : array of shape (n_rows, n_classes)
        With early stopping: the probabilities of the training rows by the chain that has not seen them.
    feature_importances_ : array of shape (n_features,)
        Shares of the gains of all splits.
    classes_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from petiole import BoostedPETClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BoostedPETClassifier(random_state=0).fit(X[:400], y[:400])
    >>> model.predict_proba(X[400:]).shape
    (169, 2)
    >>> bool(model.validation_log_loss_.min() < 0.25)
    True
    """

    _saved = fields(
        trees_=checks.instance_of("BoostedTrees"),
        named_trees_=maybe(checks.instance_of("BoostedTrees")),
        n_iter_=checks.whole(0),
        validation_log_loss_=maybe(checks.floats(1, 0.0)),
        cv_predict_proba_=maybe(checks.probabilities(2)),
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        trees: BoostedTrees = state["trees_"]
        losses, held_out = state.get("validation_log_loss_"), state.get("cv_predict_proba_")
        require(trees.n_classes == len(state["classes_"]), "trees_: must have the same classes")
        require(trees.n_features == state["encoder_"].n_features, "trees_: must have the same columns")
        named = state.get("named_trees_")
        if named is not None:
            fits = (named.n_classes, named.n_features) == (2, trees.n_features)
            require(fits and trees.n_classes > 2, "named_trees_: must have two classes and the same columns")
        require(trees.n_rounds == state["n_iter_"], "n_iter_: must be the number of rounds")
        require((losses is None) == (held_out is None), "validation_log_loss_: must be there with cv_predict_proba_")
        if held_out is not None:
            require(held_out.shape[1] == trees.n_classes, "cv_predict_proba_: must have a column per class")
            require(losses is not None and len(losses) > 0, "validation_log_loss_: must not be empty")

    def __init__(
        self,
        learning_rate: float = 0.05,
        *,
        max_iter: int = 1000,
        max_leaf_nodes: int | None = 15,
        max_depth: int | None = None,
        min_samples_leaf: float = 5,
        l2_regularization: float = 1.0,
        max_bins: int = 255,
        max_features: int | float | str | None = 0.5,
        subsample: float = 0.7,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = True,
        n_iter_no_change: int = 20,
        n_folds: int = 5,
        monotonic_cst: Any = None,
        monotonic_class: Any = None,
        interaction_cst: Any = None,
        weights: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.max_features = max_features
        self.subsample = subsample
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.n_folds = n_folds
        self.monotonic_cst = monotonic_cst
        self.monotonic_class = monotonic_class
        self.interaction_cst = interaction_cst
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the number of rounds on held-out rows, and grow the trees.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            How much each row counts relative to the others; see the parameter ``weights``.
        """
        self._check_parameters()
        encoder, rows = encode_training(self, X, y, sample_weight)
        started = time.perf_counter()
        plan = self._plan(draw_seed(self.random_state))
        columns = plan.columns(rows, self._n_threads())
        constraints, named = rows.constraints, None
        if constraints is not None and constraints.orders and len(rows.classes) > 2:
            named = self._boost(plan, rows.against_others(constraints.target), columns)
            rows = rows.without_order()
        boosted = self._boost(plan, rows, columns)
        # Nothing of the estimator changes before this point: a fit that fails or is stopped leaves it as it was.
        remember_columns(self, X)
        self._keep(encoder, rows, boosted, named)
        self._keep_folds(boosted.folds, None if named is None else named.folds, rows, X)
        if self.verbose:
            print(f"[BoostedPETClassifier] {self.n_iter_} rounds in {time.perf_counter() - started:.2f} s")
        return self

    def _boost(self, plan: BoostingPlan, rows: EncodedRows, columns: _core.BoostColumns) -> _Boosted:
        folds = None
        if self.early_stopping:
            fold_of = draw_folds(rows, int(self.n_folds), plan.seed)
            folds = boost_folds(plan, rows, fold_of, None, self._n_threads(), columns)
        n_rounds = plan.n_rounds if folds is None else rounds_on_all_rows(folds)
        return _Boosted(boost(replace(plan, n_rounds=n_rounds), rows, None, None, self._n_threads(), columns), folds)

    def decision_function(self, X: Any) -> Floats:
        """The scores F of the rows of X: log-odds of the second of two classes, or one score per class."""
        matrix = encode_queries(self, X)
        scores = self.trees_.scores(matrix, self._n_threads())
        if "named_trees_" in vars(self):
            target = self._target()
            named = self.named_trees_.scores(matrix, self._n_threads())
            scores[:, target] = -np.inf
            scores -= logsumexp(scores, axis=1, keepdims=True)
            scores[:, target] = named[:, 1] - named[:, 0]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @property
    def feature_importances_(self) -> Floats:
        """Shares of the gains of all splits; all 0 if there is none."""
        check_is_fitted(self)
        gains = self.trees_.feature_gains()
        return gains / gains.sum() if gains.sum() > 0 else gains

    def _average(self, matrix: npt.NDArray[Any]) -> Floats:
        proba = self.trees_.answer(matrix, self._n_threads())
        if "named_trees_" not in vars(self):
            return proba
        return self._with_named(proba, self.named_trees_.answer(matrix, self._n_threads()))

    def _target(self) -> int:
        constraints = fitted_constraints(self)
        assert constraints is not None
        return constraints.target

    def _with_named(self, proba: Floats, named: Floats) -> Floats:
        """Probabilities with that of the named class from its own trees."""
        return with_share(proba, self._target(), named[:, 1], np.ones(proba.shape[1]))

    def _keep(self, encoder: FeatureEncoder, rows: EncodedRows, boosted: _Boosted, named: _Boosted | None) -> None:
        self.encoder_ = encoder
        self.weight_unit_ = rows.weight_unit
        self.classes_ = rows.classes
        self.trees_ = boosted.trees
        self.n_iter_ = boosted.trees.n_rounds
        self.__dict__.pop("named_trees_", None)
        if named is not None:
            self.named_trees_ = named.trees

    def _keep_folds(self, folds: BoostedFolds | None, named: BoostedFolds | None, rows: EncodedRows, X: Any) -> None:
        """Set the attributes of held-out rows, or remove those of an earlier fit."""
        if folds is None:
            for name in ("validation_log_loss_", "cv_predict_proba_"):
                self.__dict__.pop(name, None)
            return
        self.validation_log_loss_ = folds.log_losses
        held_out = folds.probabilities()
        if named is not None:
            held_out = self._with_named(held_out, named.probabilities())
        proba = held_out
        if rows.kept is not None:  # rows of weight zero are in no chain
            proba = self.predict_proba(X)
            proba[rows.kept] = held_out
        self.cv_predict_proba_ = proba

    def _check_parameters(self) -> None:
        check_constraint_parameters(self)
        check_number("learning_rate", self.learning_rate, 1e-9, 1)
        check_whole("max_iter", self.max_iter, 1)
        check_whole("max_leaf_nodes", self.max_leaf_nodes, 2, optional=True)
        check_whole("max_depth", self.max_depth, 1, optional=True)
        check_number("min_samples_leaf", self.min_samples_leaf, 1)
        check_number("l2_regularization", self.l2_regularization, 0)
        check_bins("max_bins", self.max_bins)
        resolve_max_features(self.max_features, 1)
        check_number("subsample", self.subsample, 1e-9, 1)
        check_choice("early_stopping", self.early_stopping, (True, False))
        check_whole("n_iter_no_change", self.n_iter_no_change, 1)
        check_whole("n_folds", self.n_folds, 2)
        check_meaning(self.weights)

    def _check_rows(self, rows: EncodedRows) -> None:
        super()._check_rows(rows)
        for column in np.flatnonzero(rows.n_categories > MOST_CATEGORIES):
            raise ValueError(
                f"column {column} of X has {rows.n_categories[column]} categories: boosting takes at most "
                f"{MOST_CATEGORIES}; if it is an identifier, leave it out"
            )

    def _plan(self, seed: int) -> BoostingPlan:
        return BoostingPlan(
            n_rounds=int(self.max_iter),
            patience=int(self.n_iter_no_change),
            learning_rate=float(self.learning_rate),
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=float(self.min_samples_leaf),
            l2=float(self.l2_regularization),
            max_bins=int(self.max_bins),
            max_features=self.max_features,
            subsample=float(self.subsample),
            seed=seed,
        )


class _Boosted(NamedTuple):
    """Trees that were grown on all rows, and on all but each fold."""

    trees: BoostedTrees
    folds: BoostedFolds | None


def rounds_on_all_rows(folds: BoostedFolds) -> int:
    """The rounds for the model on all rows: k/(k − 1) times those of a chain, which has fewer rows."""
    k = len(folds.models)
    return folds.n_rounds if k == 1 else round(folds.n_rounds * k / (k - 1))


def draw_folds(rows: EncodedRows, n_folds: int, seed: int) -> npt.NDArray[np.intp]:
    """The fold of each row: random, with the same share of each class in every fold as far as that is possible."""
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    folds = np.empty(len(rows), dtype=np.intp)
    folds[shuffled[np.argsort(rows.labels[shuffled], kind="stable")]] = np.arange(len(rows)) % min(n_folds, len(rows))
    return folds
