"""The base class of the ensembles: growing by plans, out-of-bag rows, merging, and looking at the trees."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.base import (
    TreeBasedClassifier,
    encode_queries,
    encode_training,
)
from petiole._classifiers.constraining import fitted_constraints
from petiole._classifiers.explaining import Explainable
from petiole._classifiers.fitting import (
    fingerprint_of,
    finish_fit,
    fresh_seed,
    grow_forests,
    share_columns,
    single_trees,
)
from petiole._classifiers.intervals import INTERVAL_FIELDS, MADE, WithIntervals, check_intervals
from petiole._classifiers.out_of_bag import (
    LOSSES,
    OUT_OF_BAG_FIELDS,
    check_out_of_bag,
    permutation_importance,
)
from petiole._classifiers.pet import PETClassifier
from petiole._classifiers.sizing import Chosen
from petiole._classifiers.updating import ModelCounts, Updatable
from petiole._estimates.asking import OutOfBagRows
from petiole._estimates.base import Fit, ForestEstimate
from petiole._forest.forest import Forest
from petiole._forest.plan import NOTHING_CHOSEN, GrownForest, find_rows, plans_of
from petiole._table.frames import settled
from petiole._table.rows import EncodedRows
from petiole._table.weights import check_meaning
from petiole._tree import traversal
from petiole._tree.importance import feature_importances
from petiole._tree.plan import AUTO, TreePlan
from petiole._tree.pruning import PRUNINGS
from petiole._validation import check_choice, check_number, check_whole
from petiole.files import checks
from petiole.files.checks import fields, maybe, require

Floats = npt.NDArray[np.float64]

BOOTSTRAPS = ("stratified", "plain", False)
COUNTS = ("copies", "distinct")
# A row is taken out of the counts in which it is looked up. Beside heavier in-bag rows, rounding would leave nothing.
MOST_OOB_WEIGHT = 1e6


class ForestClassifier(WithIntervals, Explainable, Updatable, TreeBasedClassifier):
    """Base of the ensembles.

    A fit encodes the rows, grows forests by plans, and makes an estimate from the leaves. A subclass defines the
    estimate in ``_fit_estimate`` and its fitted attributes in ``_keep_estimate``.
    """

    trees_: Forest
    seed_: int
    class_weights_: Floats
    counted_weights_: Floats
    oob_predict_proba_: Floats
    oob_decision_: npt.NDArray[Any]
    _estimate: Any

    _saved = fields(
        class_weights_=checks.weights(1),
        seed_=maybe(checks.whole(0, 2**62)),
        fingerprint_=maybe(checks.text),
        counted_weights_=maybe(checks.weights(1)),
        **OUT_OF_BAG_FIELDS,
        **INTERVAL_FIELDS,
    )

    FIT_ONLY_ATTRIBUTES = (*OUT_OF_BAG_FIELDS, *INTERVAL_FIELDS, MADE, "oob_component_log_loss_", "fingerprint_")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model: grow the trees, and learn what turns their leaves into probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            How much each row counts relative to the others in splits and leaves; see the parameter ``weights``. The
            bootstrap samples do not depend on it.
        """
        self._check_parameters()
        X = settled(X)
        encoder, rows = encode_training(self, X, y, sample_weight)
        started = time.perf_counter()
        fingerprint = fingerprint_of(rows) if self.warm_start else None
        resumes = self._can_resume(fingerprint)
        seed = self.seed_ if resumes else fresh_seed(self)
        growth, forests = self._choose_growth(rows, seed, resumes)
        grown = grow_forests(self, rows, seed, self._estimate.forests if resumes else forests, growth)
        finish_fit(self, X, encoder, rows, grown, seed, fingerprint, growth)
        if self.verbose:
            print(f"[{type(self).__name__}] {len(self.trees_)} trees in {time.perf_counter() - started:.2f} s")
        return self

    # What a subclass provides.

    # Whether the estimate needs to know where the training rows are.
    _needs_members: ClassVar[bool] = False

    @abstractmethod
    def _fit_estimate(self, grown: Sequence[GrownForest]) -> Fit:
        """The estimate from the leaves; with ``oob_score`` also out-of-bag predictions for the training rows."""

    @abstractmethod
    def _keep_estimate(self, estimate: Any) -> None:
        """Set the fitted attributes that show the estimate."""

    def _choose_growth(self, rows: EncodedRows, seed: int, resumes: bool = False) -> Chosen:
        """Parameters of trees that the fit chooses, and the trees that were grown to choose them."""
        return Chosen(NOTHING_CHOSEN)

    def _keep_growth(self, growth: Mapping[str, Any]) -> None:
        """Set the fitted attributes that show what was chosen."""

    def _average(self, matrix: npt.NDArray[Any]) -> Floats:
        estimate: ForestEstimate = self._estimate
        return estimate.predict(matrix, self._n_threads())

    def _out_of_bag(self, estimate: ForestEstimate, grown: Sequence[GrownForest]) -> Floats | None:
        """The out-of-bag predictions of an estimate for the training rows, if they are requested."""
        if not self.oob_score:
            return None
        n_threads = self._n_threads()
        return estimate.unseen_answer(n_threads)([OutOfBagRows.of(one, n_threads) for one in grown])

    # Coming back from a file.

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_estimate", MADE)}

    def __copy__(self) -> Self:
        """A copy that shares everything, unlike a pickle, without making the estimate again."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        weights = state["class_weights_"]
        require(weights.shape == state["classes_"].shape, "class_weights_: must be one per class")
        require(weights.sum() > 0, "class_weights_: must have a positive sum")
        counted = state.get("counted_weights_")
        if counted is not None:
            require(counted.shape == weights.shape, "counted_weights_: must be one per class")
        check_out_of_bag(state)
        check_intervals(state)
        for forest in self._saved_forests(state):
            check_forest_fits(forest, state)

    def _saved_forests(self, state: dict[str, Any]) -> list[Forest]:
        """The forests among the parts of a saved model."""
        return [state["trees_"]]

    # Growing.

    def _check_parameters(self) -> None:
        self._check_n_estimators()
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

    def _check_n_estimators(self) -> None:
        check_whole("n_estimators", self.n_estimators, 1)

    def _check_plan(self) -> None:
        TreePlan.of(self)

    def _can_resume(self, fingerprint: str | None) -> bool:
        """Whether a warm start adds trees to those of an earlier fit."""
        if fingerprint is None or not hasattr(self, "trees_"):
            return False
        if getattr(self, "fingerprint_", None) != fingerprint:
            raise ValueError(
                "warm_start=True adds trees to those grown on the same rows, but the training data differ from those "
                "of the earlier fit (or that had warm_start=False): set warm_start=False to start again"
            )
        if self.n_estimators != AUTO and self.n_estimators < len(self.trees_):
            raise ValueError(
                f"n_estimators={self.n_estimators}: with warm_start=True there are {len(self.trees_)} trees already; "
                "ask for at least as many"
            )
        if self.n_estimators in (AUTO, len(self.trees_)):
            message = "warm_start=True and n_estimators is not larger than before: no tree is added"
            warnings.warn(message, UserWarning, stacklevel=3)
        return True

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
        """How much worse the trees predict rows that they have not seen when a feature's values are permuted.

        Unlike ``feature_importances_`` this does not favour features with many values. Every row is predicted by the
        trees that were grown without it, with Laplace's correction of the rows in their leaves.

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
        check_choice("loss", loss, tuple(LOSSES))
        rows = training_again(self, X, y, sample_weight, "oob_permutation_importance")
        members, n_threads = find_training_rows(self, rows), self._n_threads()
        return permutation_importance(self.trees_, members, rows, n_repeats, loss, random_state, n_threads)

    # Rows that come later.

    def _class_weights_with(self, counts: ModelCounts, decay: float) -> Floats:
        """The weight of each class among all rows counted. Those of the fit, which decide ties between votes, stay."""
        return decay * self._counted_weights() + counts.class_weights

    def _counted_weights(self) -> Floats:
        return self.counted_weights_ if "counted_weights_" in vars(self) else self.class_weights_

    def _take_counts(self, counts: ModelCounts, decay: float) -> None:
        self.counted_weights_ = self._class_weights_with(counts, decay)
        estimate = self._estimate.with_counts(counts.parts, decay, self.counted_weights_, self._n_threads())
        self._keep_estimate(estimate)

    # Looking at the forest.

    @property
    def estimators_(self) -> list[PETClassifier]:
        """The trees as fitted classifiers, as in scikit-learn's forests; made on each access.

        Each uses the ensemble's leaf estimator, or class frequencies where the ensemble does more with its leaves than
        take their mean. If you need only the trees, ``trees_`` is quicker.
        """
        check_is_fitted(self)
        return single_trees(self)

    @property
    def oob_decision_function_(self) -> Floats:
        """The out-of-bag probabilities under the name of scikit-learn's forests."""
        if "oob_predict_proba_" not in vars(self):
            raise AttributeError("oob_decision_function_: fit with oob_score=True to have out-of-bag probabilities")
        return self.oob_predict_proba_

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """The leaf of each row in each tree, shape (n_rows, n_trees); the heaviest one for rows that are spread."""
        check_is_fitted(self)
        return self.trees_.router.apply(encode_queries(self, X), self._n_threads()).astype(np.int64)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Indicator of the nodes that each row passes, shape (n_rows, n_nodes), and where each tree's columns begin.

        The columns of tree i are ``[start[i], start[i + 1])``, as in scikit-learn's forests.
        """
        check_is_fitted(self)
        matrix = encode_queries(self, X)
        paths = [traversal.path_weights(tree, matrix) for tree in self.trees_]
        for path in paths:
            path.data = np.ones(len(path.data), dtype=np.int64)
        start = np.concatenate([[0], np.cumsum([path.shape[1] for path in paths])])
        return sparse.hstack(paths, format="csr"), start

    def predict_proba_std(self, X: Any) -> Floats:
        """The standard deviation over trees of each class's probability, shape (n_rows, n_classes).

        It shows how much single trees differ, not how far their mean is from the truth, for which there is
        :meth:`predict_proba_interval`. Divided by the square root of the number of trees, it is how much another
        forest, grown on the same data, would differ.
        """
        check_is_fitted(self)
        estimate, n_threads, matrix = self._estimate, self._n_threads(), encode_queries(self, X)
        sums = np.zeros((2, len(matrix), len(self.classes_)))
        for forest, tables in zip(estimate.forests, estimate.spread_tables(n_threads), strict=True):
            proba, squares, _ = forest.router.average(matrix, tables, None, True, n_threads)
            sums += len(forest) * np.stack([proba, squares])
        mean, mean_square = sums / len(self.trees_)
        return np.asarray(np.sqrt(np.maximum(mean_square - mean**2, 0.0)))

    @property
    def feature_importances_(self) -> Floats:
        """The mean over trees of each feature's share of the criterion's total decrease."""
        check_is_fitted(self)
        return np.asarray(np.mean([feature_importances(tree, self.criterion) for tree in self.trees_], axis=0))

    # Merging.

    def merged(self, *others: Self) -> Self:
        """A fitted ensemble with the trees of this one and of others that were fitted with the same parameters.

        The data may differ (two sites that share no rows), but not the classes and columns. Methods that need the
        training rows again (``warm_start``, permutation importance) do not work afterwards.
        """
        check_is_fitted(self)
        for other in others:
            self._check_mergeable(other)
        everyone = [self, *others]
        class_weights: Floats = np.sum([model.class_weights_ for model in everyone], axis=0)
        counted: Floats = np.sum([model._counted_weights() for model in everyone], axis=0)
        estimate = self._estimate.joined([model._estimate for model in others], class_weights, counted)
        result = type(self)(**self.get_params(deep=False))
        share_columns(self, result)
        result.class_weights_ = class_weights
        if any("counted_weights_" in vars(model) for model in everyone):
            result.counted_weights_ = counted
        result._keep_estimate(estimate)
        return result

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is not type(self):
            raise ValueError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}: use the same class")
        check_is_fitted(other)
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"the classes differ, {list(self.classes_)} and {list(other.classes_)}: merge models with equal classes"
            )
        if fitted_constraints(self) != fitted_constraints(other):
            raise ValueError("monotonic_cst or interaction_cst differ: merge models with equal constraints")
        if not self.encoder_.reads_alike(other.encoder_):
            raise ValueError(
                "the columns or their categories differ: fit all with the same columns, and with rows in which every "
                "category of a categorical column occurs"
            )


def find_training_rows(model: ForestClassifier, rows: EncodedRows) -> _core.Members:
    """Where the training rows are in the fitted trees."""
    pairs = zip(plans_of(model, model.seed_), model._estimate.forests, strict=False)
    members, *others = (find_rows(plan, forest, rows, model._n_threads()) for plan, forest in pairs)
    for other in others:
        members.append(other)
    return members


def training_again(model: ForestClassifier, X: Any, y: Any, sample_weight: Any, what: str) -> EncodedRows:
    """The training data, passed again, after a check that they have the classes and columns of the fit."""
    if not hasattr(model, "seed_"):
        raise ValueError(f"{what} needs to know which rows each tree has seen, and these trees were not grown here")
    if model.bootstrap is False:
        raise ValueError(f"{what} needs rows outside the samples, and bootstrap=False leaves none")
    training = encode_training(model, X, y, sample_weight)[1]
    if not np.array_equal(training.classes, model.classes_) or training.n_columns != model.encoder_.n_features:
        raise ValueError(f"{what} needs the data that the model was fitted on: the classes or columns differ")
    weights = training.class_weights()
    if not np.allclose(weights, model.class_weights_):
        raise ValueError(f"{what} needs the data that the model was fitted on: the classes' weights differ")
    return training


def check_forest_fits(forest: Forest, state: dict[str, Any]) -> None:
    """Raise ValueError unless a forest has the classes and columns of a saved model."""
    encoder, n_classes = state["encoder_"], len(state["classes_"])
    require(int(forest.core.n_classes) == n_classes, f"the trees must have {n_classes} classes")
    require(forest.n_features == encoder.n_features, f"the trees must have {encoder.n_features} features")
    known = encoder.n_categories[forest.facts.categorical_feature]
    require((forest.facts.category_counts <= known).all(), "a split has more categories than the column")
