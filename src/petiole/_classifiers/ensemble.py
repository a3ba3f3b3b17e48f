"""What the ensembles share: samples, growth, out-of-bag rows, and everything that does not depend on the estimate."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.base import TreeBasedClassifier
from petiole._classifiers.updating import ModelCounts, Updatable
from petiole._forest.forest import Forest
from petiole._forest.plan import GrownForest, find_rows, grow, plans_of
from petiole._table.encoder import FeatureEncoder
from petiole._table.weights import check_meaning
from petiole._tree import traversal
from petiole._tree.growing import TrainingSet
from petiole._tree.importance import feature_importances
from petiole._tree.plan import TreePlan
from petiole._tree.pruning import PRUNINGS
from petiole._tree.tree import Tree
from petiole._validation import check_choice, check_number, check_whole
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.smoothing import Laplace, LeafEstimator, Raw

Floats = npt.NDArray[np.float64]

BOOTSTRAPS = ("stratified", "plain", False)
COUNTS = ("copies", "distinct")
# A row is taken out of the counts that it is asked of. Of in-bag rows beside heavier ones rounding would leave nothing.
MOST_OOB_WEIGHT = 1e6
# Probabilities are raised to this before the logarithm is taken.
LEAST_PROBABILITY = 1e-6
# A node with less than this has no rows.
LEAST_WEIGHT = 1e-12


# What ``score_out_of_bag`` leaves, as model files keep it.
OUT_OF_BAG_FIELDS = fields(
    oob_predict_proba_=maybe(checks.floats(2, 0.0, 1.0 + 1e-9, nan=True)),
    oob_decision_=maybe(checks.anything),
    oob_score_=maybe(checks.number(0.0, 1.0 + 1e-9, nan=True)),
    oob_log_loss_=maybe(checks.number(0.0, nan=True)),
    oob_brier_=maybe(checks.number(0.0, 2.0 + 1e-9, nan=True)),
)


class ForestClassifier(Updatable, TreeBasedClassifier):
    """Base of the ensembles.

    A subclass says in ``_estimate`` what it makes of the grown trees, and in ``_average`` what it says of queries.
    """

    trees_: Forest
    seed_: int
    oob_predict_proba_: Floats
    oob_decision_: npt.NDArray[Any]

    _saved = fields(
        class_weights_=checks.weights(1),
        seed_=maybe(checks.whole(0, 2**62)),
        fingerprint_=maybe(checks.text),
        counted_weights_=maybe(checks.weights(1)),
        **OUT_OF_BAG_FIELDS,
    )

    _of_the_fit = (*OUT_OF_BAG_FIELDS, "oob_component_log_loss_", "fingerprint_")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            How much each row counts beside the others in splits and leaves, see the parameter ``weights``; which rows
            are drawn does not depend on it.
        """
        self._check_parameters()
        encoder, training = self._encode_training(X, y, sample_weight)
        started = time.perf_counter()
        fingerprint = _fingerprint(training) if self.warm_start else None
        earlier = self._kept_trees() if self._goes_on(fingerprint) else None
        seed = self._fresh_seed() if earlier is None else self.seed_
        self._finish(X, encoder, self._grow(training, seed, earlier), training, seed)
        if fingerprint is not None:
            self.fingerprint_ = fingerprint
        if self.verbose:
            print(f"[{type(self).__name__}] {len(self.trees_)} trees in {time.perf_counter() - started:.2f} s")
        return self

    def _finish(self, X: Any, encoder: FeatureEncoder, growth: Any, training: TrainingSet, seed: int) -> None:
        """From grown trees to a fitted classifier."""
        fitted, out_of_bag = self._estimate(growth)
        if self.oob_score:
            fitted |= score_out_of_bag(out_of_bag(), training)
        # Nothing of the estimator changes before this point: a fit that fails or is stopped leaves it as it was.
        self._remember_columns(X)
        self.encoder_ = encoder
        self.weight_unit_ = training.weight_unit
        self.classes_ = training.classes
        self.class_weights_ = training.class_weights()
        self.__dict__.pop("counted_weights_", None)
        self._keep_trees(growth)
        self.seed_ = seed
        for name, value in fitted.items():
            setattr(self, name, value)
        if self.oob_score and training.kept is not None:
            place_out_of_bag(self, X, training.kept)

    # What a subclass provides.

    @property
    def _needs_members(self) -> bool:
        """Whether the estimate needs to know where the training rows are."""
        return False

    def _estimate(self, growth: GrownForest) -> tuple[dict[str, Any], Callable[[], Floats]]:
        """The fitted attributes that turn leaves into probabilities, and a function for the out-of-bag ones.

        The function gives the probabilities of the training rows by the trees that have not seen them, NaN where there
        is no such tree.
        """
        raise NotImplementedError

    # Coming back from a file.

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        weights = state["class_weights_"]
        require(weights.shape == state["classes_"].shape, "class_weights_: must be one per class")
        require(weights.sum() > 0, "class_weights_: must have a positive sum")
        counted = state.get("counted_weights_")
        if counted is not None:
            require(counted.shape == weights.shape, "counted_weights_: must be one per class")
        check_out_of_bag(state)
        for forest in self._saved_forests(state):
            check_forest_fits(forest, state)

    def _saved_forests(self, state: dict[str, Any]) -> list[Forest]:
        """The forests among the parts of a saved model."""
        return [state["trees_"]]

    # Growing.

    def _check_parameters(self) -> None:
        check_whole("n_estimators", self.n_estimators, 1)
        check_meaning(self.weights)
        self._check_plan()
        check_choice("pruning", self.pruning, PRUNINGS)
        check_number("confidence", self.confidence, 1e-6, 0.5)
        check_choice("bootstrap", self.bootstrap, BOOTSTRAPS)
        check_choice("count", self.count, COUNTS)
        check_choice("oob_score", self.oob_score, (True, False))
        check_choice("warm_start", self.warm_start, (True, False))
        check_whole("verbose", self.verbose, 0)
        if self.bootstrap is False and (self.oob_score or self.pruning == "pruning_set"):
            asked = "oob_score=True" if self.oob_score else "pruning='pruning_set'"
            raise ValueError(
                f"{asked} needs rows outside the samples, and bootstrap=False leaves none: "
                "use bootstrap='stratified' or 'plain'"
            )

    def _check_plan(self) -> None:
        TreePlan.of(self)

    def _fresh_seed(self) -> int:
        seed = self._seed()
        return int(np.random.default_rng().integers(2**31)) if seed is None else seed

    def _kept_trees(self) -> Any:
        """The trees of an earlier fit that a warm start goes on from."""
        return self.trees_

    def _keep_trees(self, growth: Any) -> None:
        self.trees_ = growth.forest

    def _goes_on(self, fingerprint: str | None) -> bool:
        """Whether a warm start adds trees to those of an earlier fit."""
        if fingerprint is None or not hasattr(self, "trees_"):
            return False
        if getattr(self, "fingerprint_", None) != fingerprint:
            raise ValueError(
                "warm_start=True adds trees to those grown on the same rows, but the training data differ from those "
                "of the earlier fit (or that had warm_start=False): set warm_start=False to start anew"
            )
        if self.n_estimators < len(self.trees_):
            raise ValueError(
                f"n_estimators={self.n_estimators}: with warm_start=True there are {len(self.trees_)} trees already; "
                "ask for at least as many"
            )
        if self.n_estimators == len(self.trees_):
            message = "warm_start=True and n_estimators is not larger than before: no tree is added"
            warnings.warn(message, UserWarning, stacklevel=3)
        return True

    def _grow(self, training: TrainingSet, seed: int, earlier: Any) -> Any:
        (plan,) = plans_of(self, seed)
        keep = self._needs_members or self.oob_score
        return grow(plan, training, earlier=earlier, keep_members=keep, n_threads=self._n_threads())

    def _find_rows(self, training: TrainingSet) -> Any:
        """Where the training rows are in the fitted trees."""
        (plan,) = plans_of(self, self.seed_)
        return find_rows(plan, self.trees_, training, self._n_threads())

    # Out of bag.

    def oob_permutation_importance(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_repeats: int = 5,
        loss: str = "log",
        random_state: int | None = 0,
    ) -> Bunch:
        """How much worse the trees do on rows they have not seen when an attribute's values change places.

        Unlike ``feature_importances_`` this does not favour attributes with many values. Every row is asked in the
        trees that were grown without it, whose leaves answer with Laplace's correction of their own rows.

        Parameters
        ----------
        X, y, sample_weight : the data that the model was fitted on
        n_repeats : int, default=5
        loss : {"log", "brier", "error"}, default="log"
            Log-loss in bits, the Brier score summed over classes, or the share of wrong decisions.
        random_state : int or None, default=0

        Returns
        -------
        Bunch with ``importances`` (n_features, n_repeats), ``importances_mean``, ``importances_std`` and
        ``baseline``, as scikit-learn's ``permutation_importance`` has them.
        """
        check_is_fitted(self)
        check_whole("n_repeats", n_repeats, 1)
        check_choice("loss", loss, tuple(_LOSSES))
        training = self._training_again(X, y, sample_weight, "oob_permutation_importance")
        members = self._find_rows(training)
        tables = frequency_tables(self.trees_, Laplace(), 0.0)
        weights = np.ones(training.n_rows) if training.weights is None else training.weights

        def loss_of(matrix: npt.NDArray[Any]) -> float:
            proba, _, n_used = self.trees_.router.average(matrix, tables, members, False, self._n_threads())
            asked = n_used > 0
            score = _scores(proba[asked], training.labels[asked], weights[asked])[_LOSSES[loss]]
            return 1.0 - score if loss == "error" else score

        random = np.random.default_rng(random_state)
        baseline = loss_of(training.matrix)
        importances = np.zeros((self.n_features_in_, n_repeats))
        shuffled = np.array(training.matrix)
        for feature in range(self.n_features_in_):
            for repeat in range(n_repeats):
                shuffled[:, feature] = random.permutation(training.matrix[:, feature])
                importances[feature, repeat] = loss_of(shuffled) - baseline
            shuffled[:, feature] = training.matrix[:, feature]
        return Bunch(
            importances=importances,
            importances_mean=importances.mean(axis=1),
            importances_std=importances.std(axis=1),
            baseline=baseline,
        )

    def _training_again(self, X: Any, y: Any, sample_weight: Any, what: str) -> TrainingSet:
        """The training data given once more, checked to have the classes and the columns of the fit."""
        if not hasattr(self, "seed_"):
            raise ValueError(f"{what} needs to know which rows each tree has seen, and these trees were not grown here")
        if self.bootstrap is False:
            raise ValueError(f"{what} needs rows outside the samples, and bootstrap=False leaves none")
        training = self._encode_training(X, y, sample_weight)[1]
        if not np.array_equal(training.classes, self.classes_) or training.matrix.shape[1] != self.n_features_in_:
            raise ValueError(f"{what} needs the data that the model was fitted on: the classes or columns differ")
        weights = training.class_weights()
        if not np.allclose(weights, self.class_weights_):
            raise ValueError(f"{what} needs the data that the model was fitted on: the classes' weights differ")
        return training

    # Rows that come later.

    def _counted(self) -> Iterable[Any]:
        return [self.trees_]

    def _class_weights_with(self, counts: ModelCounts, decay: float) -> Floats:
        """The weight of each class among all rows counted. That of the fit, which decides ties between votes, stays."""
        return decay * self._counted_weights() + counts.class_weights

    def _counted_weights(self) -> Floats:
        return getattr(self, "counted_weights_", self.class_weights_)

    # Looking at the forest.

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """The leaf of each row in each tree, shape (n_rows, n_trees); where missing values spread, the heaviest."""
        check_is_fitted(self)
        return self.trees_.router.apply(self._encode(X), self._n_threads()).astype(np.int64)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Indicator of the nodes that each row passes, shape (n_rows, n_nodes), and where each tree's columns begin.

        The columns of tree i are ``[start[i], start[i + 1])``, as in scikit-learn's forests.
        """
        check_is_fitted(self)
        matrix = self._encode(X)
        paths = [traversal.path_weights(tree, matrix) for tree in self.trees_]
        for path in paths:
            path.data = np.ones(len(path.data), dtype=np.int64)
        start = np.concatenate([[0], np.cumsum([path.shape[1] for path in paths])])
        return sparse.hstack(paths, format="csr"), start

    def predict_proba_std(self, X: Any) -> Floats:
        """The standard deviation over trees of each class's probability, shape (n_rows, n_classes).

        How far single trees are apart, not how far their mean is from the truth: divided by the square root of the
        number of trees it says how much another forest, grown on the same data, would differ.
        """
        check_is_fitted(self)
        proba, squares, _ = self.trees_.router.average(
            self._encode(X), self._spread_tables(), None, True, self._n_threads()
        )
        return np.sqrt(np.maximum(squares - proba**2, 0.0))

    def _spread_tables(self) -> Any:
        """The leaf tables whose spread ``predict_proba_std`` reports."""
        raise NotImplementedError

    @property
    def feature_importances_(self) -> Floats:
        """The mean over trees of each attribute's share of the criterion's total decrease."""
        check_is_fitted(self)
        return np.mean([feature_importances(tree, self.criterion) for tree in self.trees_], axis=0)

    # Merging.

    def merged(self, *others: Self) -> Self:
        """A fitted ensemble with the trees of this one and of others, which were fitted with the same parameters.

        The data may differ (two sites that share no rows), the classes and columns may not. What needs the training
        rows again (``warm_start``, permutation importance) is not possible afterwards.
        """
        check_is_fitted(self)
        for other in others:
            self._check_mergeable(other)
        everyone = [self, *others]
        result = type(self)(**self.get_params(deep=False))
        shared = ("encoder_", "weight_unit_", "classes_", "n_features_in_", "feature_names_in_")
        for name in shared:
            if name in self.__dict__:
                setattr(result, name, self.__dict__[name])
        result._join_trees(everyone)
        result.class_weights_ = np.sum([model.class_weights_ for model in everyone], axis=0)
        if any("counted_weights_" in vars(model) for model in everyone):
            result.counted_weights_ = np.sum([model._counted_weights() for model in everyone], axis=0)
        for name, value in result._merged_estimate(everyone).items():
            setattr(result, name, value)
        return result

    def _join_trees(self, models: Sequence[Self]) -> None:
        self.trees_ = Forest.joined([model.trees_ for model in models])

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is not type(self):
            raise ValueError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}: use the same class")
        check_is_fitted(other)
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(f"the classes differ, {list(self.classes_)} and {list(other.classes_)}: merge equals")
        if not self.encoder_.reads_alike(other.encoder_):
            raise ValueError(
                "the columns or their categories differ: fit all with the same columns, and with rows in which every "
                "category of a nominal column occurs"
            )

    def _merged_estimate(self, models: Sequence[Self]) -> dict[str, Any]:
        """The attributes of ``_estimate`` for the trees of several models together."""
        raise NotImplementedError


def check_out_of_bag(state: dict[str, Any]) -> None:
    """Raise ValueError unless the out-of-bag parts of a saved model fit its classes."""
    if "oob_predict_proba_" not in state:
        return
    proba, decided = state["oob_predict_proba_"], state.get("oob_decision_")
    require(proba.shape[1] == len(state["classes_"]), "oob_predict_proba_: must have a column per class")
    require(isinstance(decided, np.ndarray) and decided.shape == proba.shape[:1], "oob_decision_: must be one per row")


def check_forest_fits(forest: Forest, state: dict[str, Any]) -> None:
    """Raise ValueError unless a forest has the classes and columns of a saved model."""
    encoder, n_classes = state["encoder_"], len(state["classes_"])
    require(int(forest.core.n_classes) == n_classes, f"the trees must have {n_classes} classes")
    require(forest.n_features == encoder.n_features, f"the trees must have {encoder.n_features} features")
    known = encoder.n_categories[forest.facts.nominal_feature]
    require((forest.facts.nominal_categories <= known).all(), "a split has more categories than the column")


def frequency_tables(forest: Forest, estimator: LeafEstimator, oob_weight: float, n_threads: int = 1) -> Any:
    """The leaf tables of an estimator that has pseudo-counts, out-of-bag rows weighted in."""
    if isinstance(estimator, Raw):
        # A leaf without rows asks its nearest ancestor that has some.
        tables = forest.core.leaf_counts(1.0, oob_weight, LEAST_WEIGHT, n_threads)
        tables.normalise()
        without_rows = ~np.asarray(forest.core.root_counts(1.0, oob_weight)).any(axis=1)
        for tree in np.flatnonzero(without_rows).tolist():
            tables.set_tree(tree, np.full(tables.of_tree(tree).shape, 1.0 / forest.core.n_classes))
        return tables
    tables, with_empty_leaves = counts_with_pseudo(forest, estimator, oob_weight)
    tables.normalise()
    for index in with_empty_leaves:  # these ask their parents
        tables.set_tree(index, node_tables(forest[index], estimator, oob_weight))
    return tables


def counts_with_pseudo(forest: Forest, estimator: LeafEstimator, oob_weight: float) -> tuple[Any, list[int]]:
    """Leaf counts plus pseudo-counts, whose shares are what the estimator says; and which trees have empty leaves."""
    tables = forest.core.leaf_counts(1.0, oob_weight)
    with_empty_leaves = tables.trees_with_empty_rows()
    roots = forest.core.root_counts(1.0, oob_weight)
    tables.add(np.ascontiguousarray([estimator.pseudo_counts(root) for root in roots]))
    return tables, with_empty_leaves


def node_tables(tree: Tree, estimator: LeafEstimator, oob_weight: float) -> Floats:
    """What the estimator says of a tree's leaves, out-of-bag rows weighted in."""
    if oob_weight > 0:
        tree = tree.with_counts(inbag=tree.inbag_class_counts + oob_weight * tree.oob_class_counts)
    return np.ascontiguousarray(estimator.node_probabilities(tree)[tree.is_leaf])


def out_of_bag_frequencies(
    growth: GrownForest, counts: Any, oob_weight: float, n_threads: int, rows: npt.NDArray[np.uint32] | None = None
) -> Floats:
    """The mean frequency over trees that have not seen a training row (all, or those listed), itself taken out.

    ``counts`` are leaf tables in which out-of-bag rows count ``oob_weight`` times.
    """
    training = growth.training
    return np.asarray(
        _core.out_of_bag_frequencies(
            growth.members, counts, oob_weight, training.labels, training.weights, rows, n_threads
        )
    )


def _fingerprint(training: TrainingSet) -> str:
    """Equal for equal training data."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (training.matrix, training.labels, training.weights, training.classes.astype(str)):
        if array is not None:
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


def place_out_of_bag(model: Any, X: Any, kept: npt.NDArray[np.intp]) -> None:
    """Give a model's out-of-bag arrays a row for every row of the user's, predicting those of weight zero.

    No tree has seen these, so what all trees say of them is out of bag.
    """
    proba = model.predict_proba(X)
    decided = model.classes_[proba.argmax(axis=1)]
    proba[kept], decided[kept] = model.oob_predict_proba_, model.oob_decision_
    model.oob_predict_proba_, model.oob_decision_ = proba, decided


def score_out_of_bag(proba: Floats, training: TrainingSet) -> dict[str, Any]:
    """The out-of-bag attributes."""
    known = ~np.isnan(proba[:, 0])
    if not known.all():
        warnings.warn(
            f"{np.count_nonzero(~known)} of {len(known)} rows are in the samples of all trees and have no out-of-bag "
            "probabilities: more trees (n_estimators) help",
            UserWarning,
            stacklevel=3,
        )
    weights = np.ones(training.n_rows) if training.weights is None else training.weights
    scores = _scores(proba[known], training.labels[known], weights[known])
    decided = np.where(known, np.nan_to_num(proba).argmax(axis=1), training.class_weights().argmax())
    return {"oob_predict_proba_": proba, "oob_decision_": training.classes[decided], **scores}


def mean_log_loss(proba: Floats, training: TrainingSet) -> float:
    """Log-loss in bits of the training rows that have probabilities; NaN if none has."""
    known = ~np.isnan(proba[:, 0])
    weights = np.ones(training.n_rows) if training.weights is None else training.weights
    return _scores(proba[known], training.labels[known], weights[known])["oob_log_loss_"]


_LOSSES = {"log": "oob_log_loss_", "brier": "oob_brier_", "error": "oob_score_"}


def _scores(proba: Floats, labels: npt.NDArray[np.int32], weights: Floats) -> dict[str, float]:
    """Weighted accuracy, log-loss in bits and Brier score; NaN without rows."""
    total = weights.sum()
    if not total > 0:
        return dict.fromkeys(_LOSSES.values(), float("nan"))
    own = proba[np.arange(len(labels)), labels]
    # Rounding may leave a probability above 1 and a square below 0 by a bit, and a loss is at least 0.
    squares = np.maximum((proba**2).sum(axis=1) - 2 * own + 1, 0.0)
    bits = -np.log2(np.clip(own, LEAST_PROBABILITY, 1.0)) + 0.0  # not -0.0
    return {
        "oob_log_loss_": float(weights @ bits / total),
        "oob_brier_": float(weights @ squares / total),
        "oob_score_": float(weights @ (proba.argmax(axis=1) == labels) / total),
    }
