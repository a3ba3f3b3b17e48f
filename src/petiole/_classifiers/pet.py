"""One tree: C4.5, C4.4 or CART-like growth, and any leaf estimator."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import TreeBasedClassifier, encode_queries, encode_training, remember_columns, seed_of
from petiole._classifiers.constraining import check_constraint_parameters, constrained, fitted_constraints
from petiole._classifiers.explaining import Explainable
from petiole._classifiers.updating import ModelCounts, Updatable
from petiole._estimates.single_tree import SingleTree
from petiole._table.frames import settled
from petiole._table.labels import check_same_length, check_weights, label_codes
from petiole._table.rows import EncodedRows
from petiole._table.weights import check_meaning
from petiole._tree import traversal
from petiole._tree.growing import grow_tree
from petiole._tree.held_out import cross_fit
from petiole._tree.importance import feature_importances
from petiole._tree.plan import TreePlan
from petiole._tree.pruning import PRUNINGS, collapse, prune_by_error, prune_with_set
from petiole._tree.tree import Tree
from petiole._validation import check_choice, check_fraction, check_number, check_whole
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.smoothing import LeafEstimator, as_leaf_estimator


class PETClassifier(Explainable, Updatable, TreeBasedClassifier):
    """A probability estimation tree: one decision tree that gives class probabilities.

    The tree keeps the class counts of every node and never changes; ``smoothing`` turns counts into probabilities and
    can be exchanged after the fit with :meth:`with_smoothing`. ``PETClassifier.c44()`` and ``PETClassifier.c45()`` set
    the parameters of Quinlan's C4.5 (1993) and of C4.4 (Provost & Domingos 2003).

    Parameters
    ----------
    criterion : {"entropy", "gain_ratio", "gini", "kearns_mansour"}, default="entropy"
        How splits are scored. "entropy" is information gain; "gain_ratio" is C4.5's complete rule: the log2(tries)/n
        correction for numeric features, a minimum per side that grows with the node, and the best ratio among features
        of at least average gain; "kearns_mansour" is the sum over classes of sqrt(p(1-p)). "log_loss", scikit-learn's
        other name for "entropy", is also accepted.
    max_depth : int or None, default=None
        The largest depth of a leaf; the root has depth 0. None: no limit.
    min_samples_leaf : float, default=2
        The least weight in a branch: C4.5's MinObj. At least two branches of a split must have it.
    min_gain : float, default=0
        The least gain of a split: by how much it lowers the impurity of the rows of its node, in bits for "entropy" and
        "gain_ratio". With 0 splits that gain nothing are made too (except by "gain_ratio"), because those below them
        may gain something; their leaves have fewer rows, which changes smoothed probabilities. 1e-9 leaves them out.
    max_features : None, "sqrt", "log2", int or float, default=None
        Features drawn at each node; "sqrt" and "log2" are rounded up.
    redraw : bool, default=True
        Whether further features are drawn where none of those drawn can be split. False makes such a node a leaf.
    max_bins : int or None, default=None
        None tries every cut. A number puts each numeric feature into at most that many bins of equal weight first.
    splits : {"best", "oblique", "random"}, default="best"
        Which splits are tried for each feature at a node. "best" tries all cuts. "oblique" tries all cuts of a numeric
        feature plus or minus another one, which is drawn at random, both divided by about their standard deviations;
        categorical features are tried as by "best". "random" tries one cut, drawn between the smallest and the largest
        value at the node (as in extra-trees), and for ``nominal_splits="binary"`` one random set of categories. Both
        are meant for forests, because they make trees more different from each other.
    categorical_features : "from_dtype", list of names or indices, boolean mask or None, default="from_dtype"
        Categorical columns. By default these are the columns of strings, booleans and categoricals.
    nominal_splits : {"multiway", "binary"}, default="multiway"
        One branch per category, as in C4.5, or the best division of the categories into two. The latter is optimal for
        two classes; for more, divisions along the share of each of the node's eight heaviest classes are tried.
    missing : {"fractional", "separate"}, default="fractional"
        "fractional" sends a row down every branch with a part of its weight (C4.5). "separate" gives missing values a
        branch of their own, in training and prediction.
    threshold : {"midpoint", "data"}, default="midpoint"
        Where a numeric cut lies: midway between two neighbouring values at the node, or, as in C4.5, at the largest
        value of the training set below that.
    pruning : {None, "collapse", "error_based", "pruning_set"}, default=None
        Done after growth. "error_based" is C4.5's, with subtree raising, after collapsing. "pruning_set" picks the
        subtree on the weakest-link path with the least error on held-out rows. Pruned trees rank worse: leave it off
        for probabilities.
    confidence : float, default=0.25
        C4.5's CF for "error_based"; smaller prunes more.
    pruning_fraction : float, default=1/3
        Share of every class held out by "pruning_set" when ``fit`` is given no ``pruning_set``.
    smoothing : str or leaf estimator, default="laplace"
        "raw", "laplace", "m_estimate", "curtailment", "m_branch", "hdp", "hgs", or an object of
        :mod:`petiole.smoothing` such as ``HGS(alpha="honest")``.
    split_class_weight : None, "balanced" or dict, default=None
        Factors per class that affect the choice of splits only, not the counts and probabilities. There is no
        class_weight, because the costs of mistakes belong to the decision.
    monotonic_cst : dict from column names to {-1, 0, 1}, list of these per column, or None, default=None
        1 for a column along which the probability of ``monotonic_class`` must not fall, -1 for one along which it must
        not rise; the order holds among values that are present. With constraints, a row whose value is missing where
        no training row lacked it follows the heaviest branch.
    monotonic_class : label or None, default=None
        None is the second of two classes; with more classes it has to be given.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists of columns, or None, default=None
        Which columns may be tested together on a path: pairs, single columns, or the columns of one of the groups.
        Columns in no group are one more group, as in scikit-learn.
    weights : {"auto", "relative", "counts"}, default="auto"
        What ``sample_weight`` means. "auto" uses only the ratios of weights: if all are whole multiples of the
        smallest, the smallest is one row (and weight 2 counts twice); otherwise the mean weight is one row. "relative"
        always takes the mean as one row. "counts" takes weights as numbers of rows, as in an aggregated table.
    random_state : int, RandomState or None, default=None
        With a seed, ties between features are drawn at random; without, the first feature wins and, with
        ``max_features=None`` and ``splits="best"``, the tree is the same every time.
    n_jobs : int or None, default=None
        Threads; the tree does not depend on their number.
    verbose : int, default=0
        1 prints what was grown and how long it took.

    Attributes
    ----------
    tree_ : Tree
    classes_ : array of the class labels
    smoothing_ : LeafEstimator
        The leaf estimator in use, with what it learned.
    node_probabilities_ : array of shape (n_nodes, n_classes)
        The class probabilities of every node by the leaf estimator.
    n_features_in_ : int
    feature_names_in_ : array of str, only when X has column names
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import PETClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PETClassifier.c44().fit(X, y)
    >>> model.predict_proba(X[:1]).round(3)
    array([[0.962, 0.019, 0.019]])
    >>> model.with_smoothing("raw").predict_proba(X[:1])
    array([[1., 0., 0.]])
    """

    _saved = fields(
        tree_=checks.instance_of("Tree"),
        smoothing_=checks.instance_of("LeafEstimator"),
        node_probabilities_=checks.probabilities(2),
    )

    def __init__(
        self,
        criterion: str = "entropy",
        *,
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
        pruning_fraction: float = 1 / 3,
        smoothing: str | LeafEstimator = "laplace",
        split_class_weight: Any = None,
        monotonic_cst: Any = None,
        monotonic_class: Any = None,
        interaction_cst: Any = None,
        weights: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
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
        self.pruning_fraction = pruning_fraction
        self.smoothing = smoothing
        self.split_class_weight = split_class_weight
        self.monotonic_cst = monotonic_cst
        self.monotonic_class = monotonic_class
        self.interaction_cst = interaction_cst
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def c45(cls, **overrides: Any) -> PETClassifier:
        """C4.5 (Quinlan 1993): gain ratio, error-based pruning, raw frequencies."""
        c45 = {"criterion": "gain_ratio", "threshold": "data", "pruning": "error_based", "smoothing": "raw"}
        return cls(**{**c45, **overrides})

    @classmethod
    def c44(cls, **overrides: Any) -> PETClassifier:
        """C4.4 (Provost & Domingos 2003): C4.5 grown without pruning or collapsing, Laplace at the leaves."""
        c44 = {"criterion": "gain_ratio", "threshold": "data", "pruning": None, "smoothing": "laplace"}
        return cls(**{**c44, **overrides})

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, pruning_set: tuple[Any, Any] | None = None
    ) -> PETClassifier:
        """Fit the model: grow the tree, prune it if wanted, and apply the leaf estimator.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            How much each row counts relative to the others; a row of weight 0 is ignored. See the parameter
            ``weights``.
        pruning_set : (X, y), optional
            Rows for ``pruning="pruning_set"``; without them ``pruning_fraction`` of the training rows are held out.
        """
        self._check_parameters(pruning_set)
        estimator = as_leaf_estimator(self.smoothing)
        X = settled(X)
        encoder, training = encode_training(self, X, y, sample_weight)
        estimator = constrained(estimator, training.constraints)
        started = time.perf_counter()
        tree = self._grow_and_prune(encoder, training, pruning_set)
        estimate = SingleTree.of(tree, self._learn(estimator, encoder, training))
        # Nothing of the estimator changes before this point: a fit that fails or is stopped leaves it as it was.
        remember_columns(self, X)
        self.encoder_ = encoder
        self.weight_unit_ = training.weight_unit
        self.classes_ = training.classes
        self._keep_estimate(estimate)
        if self.verbose:
            print(f"[{type(self).__name__}] {tree} in {time.perf_counter() - started:.2f} s")
        return self

    def with_smoothing(
        self, smoothing: str | LeafEstimator, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> PETClassifier:
        """A fitted classifier with the same tree and another leaf estimator.

        The training data are needed only if the estimator learns a parameter from rows that the tree has not seen, as
        ``HGS(alpha="honest")`` does.
        """
        estimator = as_leaf_estimator(smoothing)
        check_is_fitted(self)
        estimator = constrained(estimator, fitted_constraints(self))
        if estimator.needs_held_out and X is not None:
            self._check_parameters()
            encoder, training = encode_training(self, X, y, sample_weight)
            estimator = self._learn(estimator, encoder, training)
        other = copy.copy(self)
        other.smoothing = smoothing
        other._keep_estimate(SingleTree.of(self.tree_, estimator))
        return other

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """The leaf of each row. Where a missing value would spread the row, the heaviest branch is followed."""
        return traversal.leaf_ids(self._fitted_tree(), encode_queries(self, X), n_threads=self._n_threads())

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Indicator of the nodes that each row passes, shape (n_rows, n_nodes); with missing values several paths."""
        paths = traversal.path_weights(self._fitted_tree(), encode_queries(self, X))
        paths.data = np.ones(len(paths.data), dtype=np.int64)
        return paths

    def leaf_weights(self, X: Any) -> sparse.csr_matrix:
        """The weights of each row over the leaves, shape (n_rows, n_nodes); each row sums to 1."""
        return traversal.leaf_weights(self._fitted_tree(), encode_queries(self, X))

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The criterion's total decrease by each feature's splits, as shares that sum to 1; all 0 for one leaf."""
        return feature_importances(self._fitted_tree(), self.criterion)

    def get_depth(self) -> int:
        """Depth of the deepest leaf."""
        return self._fitted_tree().depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        return self._fitted_tree().n_leaves

    def export_text(self, *, max_depth: int | None = None, decimals: int = 2) -> str:
        """The tree as indented text with the names of columns, categories and classes."""
        return self._fitted_tree().export_text(**display_names(self), max_depth=max_depth, decimals=decimals)

    def plot(self, *, max_depth: int = 4, ax: Any = None) -> Any:
        """Draw the tree with matplotlib: rules, counts and class probabilities; returns the axes."""
        return self._fitted_tree().plot(**display_names(self), max_depth=max_depth, ax=ax)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn DecisionTreeClassifier with the same probabilities.

        See :func:`petiole.export.sklearn.to_sklearn`.
        """
        from petiole.export.sklearn import to_sklearn

        return to_sklearn(self)

    def _check_saved_parameters(self) -> None:
        self._check_parameters()
        as_leaf_estimator(self.smoothing)

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        tree, encoder, n_classes = state["tree_"], state["encoder_"], len(state["classes_"])
        require(tree.n_classes == n_classes, f"tree_: must have {n_classes} classes")
        require(tree.n_features == encoder.n_features, f"tree_: must have {encoder.n_features} features")
        shape = (tree.n_nodes, n_classes)
        require(state["node_probabilities_"].shape == shape, f"node_probabilities_: must have the shape {shape}")
        n_categories = np.diff(tree.category_start)
        categorical = n_categories > 0
        fits = n_categories[categorical] <= encoder.n_categories[tree.feature[categorical]]
        require(fits.all(), "tree_: a split has more categories than the column")

    def _counted_weights(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.tree_.inbag_class_counts[0])

    def _take_counts(self, counts: ModelCounts, decay: float) -> None:
        self._keep_estimate(self._estimate.with_counts(counts.parts, decay, None, self._n_threads()))

    @property
    def _estimate(self) -> SingleTree:
        return SingleTree(self.tree_, self.smoothing_, self.node_probabilities_)

    def _keep_estimate(self, estimate: SingleTree) -> None:
        self.tree_ = estimate.tree
        self.smoothing_ = estimate.estimator
        self.node_probabilities_ = estimate.node_probabilities

    def _average(self, matrix: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return self._estimate.predict(matrix, self._n_threads())

    def _fitted_tree(self) -> Tree:
        check_is_fitted(self)
        return self.tree_

    def _check_parameters(self, pruning_set: Any = None) -> None:
        check_meaning(self.weights)
        TreePlan.of(self)
        check_choice("pruning", self.pruning, PRUNINGS)
        check_number("confidence", self.confidence, 1e-6, 0.5)
        check_fraction("pruning_fraction", self.pruning_fraction)
        check_whole("verbose", self.verbose, 0)
        check_constraint_parameters(self)
        if pruning_set is not None and self.pruning != "pruning_set":
            raise ValueError(
                f"pruning_set was given but pruning={self.pruning!r}: use pruning='pruning_set', or leave it out"
            )

    def _grow_and_prune(self, encoder: Any, training: EncodedRows, pruning_set: Any) -> Tree:
        seed = seed_of(self)
        held_out = None
        if self.pruning == "pruning_set":
            if pruning_set is not None:
                held_out = self._encode_pruning_set(encoder, training, pruning_set)
            else:
                training, held_out = _hold_out(training, self.pruning_fraction, np.random.default_rng(seed))
        if seed is None and (self.max_features is not None or self.splits != "best"):
            seed = int(np.random.default_rng().integers(2**31))
        tree = grow_tree(TreePlan.of(self), training, seed=seed, n_threads=self._n_threads())
        if self.pruning == "collapse":
            return collapse(tree)
        if self.pruning == "error_based":
            return prune_by_error(tree, training, self.confidence)
        return tree if held_out is None else prune_with_set(tree, held_out)

    def _learn(self, estimator: LeafEstimator, encoder: Any, training: EncodedRows) -> LeafEstimator:
        """Learn the parameters of the leaf estimator from trees grown on parts of the training rows."""
        if not estimator.needs_held_out:
            return estimator
        random = np.random.default_rng(0 if self.random_state is None else seed_of(self))
        return estimator.learned(cross_fit(training, lambda rows: self._grow_and_prune(encoder, rows, None), random))

    def _encode_pruning_set(self, encoder: Any, training: EncodedRows, pruning_set: Any) -> EncodedRows:
        try:
            X, y = pruning_set
        except (TypeError, ValueError):
            raise ValueError("pruning_set: must be a pair (X, y)") from None
        matrix, labels = encoder.transform(X), label_codes(y, training.classes, "pruning_set")
        check_same_length(len(matrix), len(labels))
        return EncodedRows(matrix, labels, check_weights(None, len(matrix)), training.n_categories, training.classes)


def display_names(model: PETClassifier) -> dict[str, Any]:
    """The names of columns, classes and categories for a drawing of the tree, and the probabilities of its nodes."""
    return {
        "feature_names": model.encoder_.feature_names,
        "class_names": [str(label) for label in model.classes_],
        "categories": model.encoder_.categories,
        "probabilities": model.node_probabilities_,
    }


def _hold_out(training: EncodedRows, fraction: float, random: np.random.Generator) -> tuple[EncodedRows, EncodedRows]:
    """Divide the rows at random into growing and pruning rows; every class keeps at least one growing row."""
    held = np.zeros(len(training), dtype=bool)
    for label in range(len(training.classes)):
        rows = random.permutation(np.flatnonzero(training.labels == label))
        held[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    if not held.any():
        raise ValueError(
            f"pruning_fraction={fraction!r}: no row can be held out of n_samples = {len(training)}; give fit a "
            "pruning_set, or more rows"
        )
    return training.take(~held), training.take(held)
