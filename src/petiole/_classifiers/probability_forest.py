"""The probability forest: several statistics of the leaves, pooled by weights that are learned on out-of-bag rows."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers import sizing
from petiole._classifiers.base import encode_labelled, encode_queries
from petiole._classifiers.constraining import check_constraint_parameters, constraints_of, fitted_constraints
from petiole._classifiers.ensemble import Floats, ForestClassifier
from petiole._classifiers.pool_parameters import check_constrainable, kind_names, member_names, pool_components
from petiole._classifiers.sizing import Chosen, automatic, choose_growth, describe_growth
from petiole._classifiers.trials import Trials
from petiole._estimates.asking import FiledVotes, OutOfBagRows
from petiole._estimates.base import Fit
from petiole._estimates.components import COMPONENTS
from petiole._estimates.constrained_components import constrained_components
from petiole._estimates.members import FOREST, Folding, PoolMembers
from petiole._estimates.pool import (
    PRIOR,
    NamedClass,
    NamedPool,
    Part,
    PooledComponents,
    PoolTask,
    fit_pooled_components,
    names_of,
    pool_rows,
)
from petiole._estimates.vote_look_up import file_rows, make_ballot
from petiole._forest.forest import Forest
from petiole._forest.plan import N_TREES, GrownForest, tree_kinds
from petiole._table.constraints import has_directions
from petiole._table.rows import EncodedRows
from petiole._tree.plan import AUTO, TreePlan
from petiole._validation import check_choice, check_number
from petiole.files import checks, packed
from petiole.files.checks import fields, maybe, require


def _check_saved_part(part: Any) -> None:
    require(type(part) is tuple and len(part) == 2, "must be a forest and its vote tables")
    checks.instance_of("Forest")(part[0])
    packed.check_vote_tables(part[1])


class ProbabilityForestClassifier(ForestClassifier):
    """A forest whose probabilities are calibrated by its own out-of-bag rows, without a hold-out set.

    Several statistics are taken from the leaves that a query reaches: the class frequencies of the rows on which the
    tree was grown ("raw"), of all rows ("eb", as in EB-PETs), of the rows that the tree has not seen ("oob"), of the
    rows for which the ensemble votes as for the query ("votes", after MOB-ESP), and of all rows at the nearest
    ancestor that has enough of them ("coarse"). Each of these components is also computed for every training row, from
    the trees that have not seen it, with the row itself left out. Models of other kinds are cross-fitted, so that they
    too predict rows that they have not seen. From these honest probabilities, a logarithmic opinion pool learns the
    weight of each component for each class. The base rates ("prior") are one more component.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees of all kinds together. "auto" is 256 up to 50,000 rows. For more rows it is 64, 128, 192 or 256:
        the fewest of these for which 256 trees would lower the log-loss by at most 0.5 %. This is estimated from the
        out-of-bag log-losses of 32 and 64 trees. A warm start with "auto" adds no trees.
    max_features, splits : value or tuple of values, default="auto"
        ``max_features`` is the number of features drawn at each node (None, "sqrt", "log2", int or float), ``splits``
        the kind of splits ("best", "oblique" or "random"), as in :class:`PETClassifier`. Tuples give several kinds of
        trees, in equal numbers, each kind with its own components: ``max_features=("sqrt", 1), splits=("best",
        "random")`` has trees with the best cut of ⌈√d⌉ features and trees with a random cut of a single one. A single
        value beside a tuple is for all kinds. If both are "auto", the kinds are these two. If only ``splits`` is
        "auto", all trees have best cuts. If only ``max_features`` is "auto", there are two kinds, "sqrt" and 1, or
        "sqrt" for all kinds if ``splits`` is a tuple.
    members : "auto" or tuple of {"forest", "linear", "curved", "kernel", "boosted"}, default="auto"
        The models that enter the pool: the forest, logistic regressions on the columns ("linear"), with ranks, squares
        and products ("curved") and on kernels ("kernel"), and boosted trees that correct the forest ("boosted"). "auto"
        is all of them, but for "kernel" if there are constraints, to which it cannot keep. Those that do not help are
        dropped.
    components : tuple of {"raw", "eb", "oob", "votes", "coarse"}, default=("raw", "oob", "votes", "coarse")
        The statistics of the forest's leaves. "votes" keeps to no constraint, and is left out where there is one.
    coarse_rows : float, default=30
        The least weight of rows at the ancestor that "coarse" takes.
    floor : float, default=0.002
        Components' probabilities are raised to this before logarithms are taken.
    min_samples_leaf : float or "auto", default="auto"
        The least weight of rows in a leaf. "auto" is 1 up to 50,000 rows. For more rows it is 1 if no tree then has
        more than 10,000 leaves, and otherwise one 10,000th of the rows; or one 3,000th, if a small forest predicts its
        out-of-bag rows better with that (by 0.5 % of the log-loss). This limits the size of trees and files. With
        ``monotonic_cst`` it is 6, or one 1,500th of the rows if that is more.
    max_bins : int, None or "auto", default="auto"
        The number of bins for the values of a column. "auto" is None (exact splits) up to 50,000 rows and 255 above.
    missing : {"auto", "fractional", "separate"}, default="auto"
        As in :class:`PETClassifier`. "auto" is "separate" if values are missing and a small forest predicts its
        out-of-bag rows better with that (by 3 % of the log-loss), or if ``monotonic_cst`` needs it, and otherwise
        "fractional".
    monotonic_cst, monotonic_class, interaction_cst
        As in :class:`PETClassifier`. With more than two classes and ``monotonic_cst``, the named class has a pool for
        itself (``named_pool_``), which gives its probability; the pool of all classes divides the rest.
    criterion, max_depth, categorical_features, nominal_splits, threshold, pruning, \
confidence, bootstrap, count, split_class_weight, weights, oob_score, warm_start, random_state, n_jobs, verbose
        As in :class:`BaggedPETClassifier`, except that rows count
        once (``count="distinct"``) and categorical splits are binary by default.

    Attributes
    ----------
    n_estimators_, min_samples_leaf_, max_bins_, missing_ : int, float, int or None, str
        What was chosen for "auto".
    pool_weights_ : array of shape (n_components, n_classes)
        The weight of each component for each class; large weights of "coarse" or "prior" are a sign of noisy data.
    pool_intercepts_ : array of shape (n_classes,)
    component_names_ : list of str
        The components in the order of ``pool_weights_``.
    named_pool_ : NamedPool
        Only with ``monotonic_cst`` and more than two classes: the names and weights of the pool of the named class.
    oob_log_loss_, oob_brier_, oob_score_ : float
        Log-loss in bits, Brier score and accuracy of the pool on out-of-bag rows, from which its few weights were also
        learned.
    oob_reliability_ : array of shape (n_bins, 3)
        On the same rows: the mean probability of the predicted class, how often it is right, and the rows' weight.
    oob_component_log_loss_ : dict from component to its log-loss in bits on the same rows
    trees_ : Forest
    classes_ : array of the class labels
    feature_importances_, oob_predict_proba_, oob_decision_
        As in :class:`BaggedPETClassifier`; the last two with ``oob_score=True``, which extends the scores to all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from petiole import ProbabilityForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ProbabilityForestClassifier(n_estimators=100, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    >>> model.oob_log_loss_ < 0.2
    True
    """

    _estimate: PooledComponents

    _saved = fields(
        parts_=checks.list_of(_check_saved_part),
        members_=maybe(checks.instance_of("PoolMembers")),
        pool_=checks.instance_of("LogPool"),
        forest_pool_=maybe(checks.none_or(checks.instance_of("LogPool"))),
        prior_=checks.probabilities(1),
        pool_weights_=checks.floats(2, 0.0, checks.LARGEST),
        pool_intercepts_=checks.floats(1, -checks.LARGEST, checks.LARGEST),
        component_names_=checks.texts,
        named_pool_=maybe(checks.instance_of("NamedPool")),
        oob_component_log_loss_=maybe(checks.anything),
        n_estimators_=maybe(checks.whole(1)),
        min_samples_leaf_=maybe(checks.number(1)),
        max_bins_=maybe(checks.none_or(checks.whole(2))),
        missing_=maybe(checks.text),
    )

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        max_features: Any = "auto",
        members: str | Sequence[str] = "auto",
        components: Sequence[str] = ("raw", "oob", "votes", "coarse"),
        coarse_rows: float = 30,
        floor: float = 0.002,
        criterion: str = "entropy",
        max_depth: int | None = None,
        min_samples_leaf: float | str = "auto",
        max_bins: int | str | None = "auto",
        splits: str | Sequence[str] = "auto",
        categorical_features: Any = "from_dtype",
        nominal_splits: str = "binary",
        missing: str = "auto",
        threshold: str = "midpoint",
        pruning: str | None = None,
        confidence: float = 0.25,
        bootstrap: str | bool = "stratified",
        count: str = "distinct",
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
        self.max_features = max_features
        self.members = members
        self.components = components
        self.coarse_rows = coarse_rows
        self.floor = floor
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.splits = splits
        self.categorical_features = categorical_features
        self.nominal_splits = nominal_splits
        self.missing = missing
        self.threshold = threshold
        self.pruning = pruning
        self.confidence = confidence
        self.bootstrap = bootstrap
        self.count = count
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

    def component_proba(self, X: Any) -> dict[str, Floats]:
        """The probabilities of the rows of X by each component, by name, before they are pooled."""
        check_is_fitted(self)
        answers = self._estimate.component_proba(encode_queries(self, X), self._n_threads())
        return dict(zip(self.component_names_, answers, strict=True))

    def relearn_pool(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights of the pool again, from rows that no leaf has counted yet.

        :meth:`update` keeps the weights. In a stream that drifts, "raw" falls behind the other components, because it
        does not count later rows. Learn the weights from each batch before the batch is counted:
        ``model.relearn_pool(X, y).update(X, y)``. The earlier weights are discarded, so a batch should have at least a
        few hundred rows.

        Parameters
        ----------
        X, y, sample_weight : rows that no tree has seen and that were not given to ``update``
        """
        check_is_fitted(self)
        rows = encode_labelled(self, X, y, sample_weight)
        self._keep_estimate(self._estimate.relearned(rows, self._n_threads()))
        for name in ForestClassifier.FIT_ONLY_ATTRIBUTES:
            self.__dict__.pop(name, None)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.bootstrap is False:
            raise ValueError(
                "bootstrap=False leaves no out-of-bag rows, from which the pool is learned: use 'stratified' or 'plain'"
            )
        names = list(self.components) if isinstance(self.components, (tuple, list)) else []
        for name in names:
            check_choice("components", name, tuple(COMPONENTS))
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"components={self.components!r}: must be a tuple of different names from {tuple(COMPONENTS)}"
            )
        check_constraint_parameters(self)
        check_constrainable(self)
        check_number("coarse_rows", self.coarse_rows, 1)
        check_number("floor", self.floor, 1e-12, 0.5)

    def _check_n_estimators(self) -> None:
        if not (isinstance(self.n_estimators, str) and self.n_estimators == AUTO):
            super()._check_n_estimators()

    def _check_plan(self) -> None:
        for kind in tree_kinds(self):
            TreePlan.of(self, max_features=kind.max_features, splits=kind.splits)

    _needs_members = True
    sizes_trees = True

    def _choose_growth(self, rows: EncodedRows, seed: int, resumes: bool = False) -> Chosen:
        if resumes:
            chosen = {name: vars(self)[f"{name}_"] for name in automatic(self) if f"{name}_" in vars(self)}
            return Chosen(chosen | {N_TREES: len(self.trees_)} if self.n_estimators == AUTO else chosen)
        trial = Trials(self, rows, seed)
        growth = choose_growth(self, rows, trial)
        for line in describe_growth(growth, len(rows), has_directions(self.monotonic_cst)) if self.verbose else ():
            print(f"[{type(self).__name__}] {line}", flush=True)
        # A few trees of a small table are grown as quickly as its rows are found in them.
        return Chosen(growth, trial.grown_for(growth) if len(rows) > sizing.MANY_ROWS else ())

    def _keep_growth(self, growth: Mapping[str, Any]) -> None:
        for name, value in growth.items():
            setattr(self, f"{name}_", value)

    @functools.cached_property
    def trees_(self) -> Forest:  # type: ignore[override]
        """All trees, ordered by kind."""
        if "parts_" not in self.__dict__:
            raise AttributeError("trees_: this ProbabilityForestClassifier is not fitted yet")
        return Forest.joined(self._estimate.forests)

    # The estimate: statistics of each kind of trees, and the pool.

    def _fit_estimate(self, grown: Sequence[GrownForest]) -> Fit:
        n_threads, rows, seed = self._n_threads(), grown[0].rows, grown[0].seed
        assert seed is not None
        prior = rows.class_weights()
        unseen = [OutOfBagRows.of(of_kind, n_threads) for of_kind in grown]
        filed = [
            file_rows(
                of_kind,
                make_ballot(one.forest, prior, n_threads),
                distinct=self.count == "distinct",
                oob_weight=1.0,
                n_threads=n_threads,
            )
            for one, of_kind in zip(grown, unseen, strict=True)
        ]
        task = PoolTask(
            forests=[of_kind.forest for of_kind in grown],
            filed=filed,
            unseen=unseen,
            wanted=member_names(self, rows.constraints),
            seed=seed,
            prior=prior,
            learn_from=pool_rows(len(rows), seed),
            floor=float(self.floor),
            answer_all=self.oob_score,
            n_threads=n_threads,
        )
        return fit_pooled_components(task, pool_components(self), kind_names(self, len(grown)))

    def _keep_estimate(self, estimate: PooledComponents) -> None:
        self._estimate = estimate
        self.parts_ = estimate.parts
        self.members_ = estimate.members
        self.pool_ = estimate.pool
        self.forest_pool_ = estimate.forest_pool
        self.prior_ = estimate.base_rates
        self.pool_weights_ = estimate.pool.weights
        self.pool_intercepts_ = estimate.pool.intercepts
        self.component_names_ = estimate.names
        self.__dict__.pop("named_pool_", None)
        if estimate.named is not None:
            self.named_pool_ = NamedPool.of(estimate.named.pool)
        self.__dict__.pop("trees_", None)  # joined again on access

    FIT_ONLY_ATTRIBUTES = (*ForestClassifier.FIT_ONLY_ATTRIBUTES, "trees_")

    # Coming back from a file.

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name != "trees_"}
        if "parts_" in state:
            state["parts_"] = [(part.forest, part.filed.tables.state()) for part in state["parts_"]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "parts_" not in state:
            return
        constraints = fitted_constraints(self)
        components = constrained_components(pool_components(self), constraints, len(self.classes_))
        parts = []
        for forest, tables in state["parts_"]:
            ballot = make_ballot(forest, self.class_weights_)
            filed = FiledVotes(_core.VoteTables.from_state(tables), ballot)
            parts.append(Part.of(forest, filed, components.whole, self._n_threads()))
        members = state.get("members_", PoolMembers(Folding(2, 0)))
        names = self.component_names_
        estimate = PooledComponents(
            parts, members, self.pool_, state.get("forest_pool_"), names, self.class_weights_, self.prior_
        )
        if components.named:
            assert constraints is not None
            named = NamedClass.of(constraints, self.named_pool_, estimate, components.named, self._n_threads())
            estimate = replace(estimate, named=named)
        self._keep_estimate(estimate)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], state: dict[str, Any]) -> Self:
        # Older files have no members.
        return super()._from_saved({"members": (FOREST,)} | parameters, state)

    def _saved_forests(self, state: dict[str, Any]) -> list[Forest]:
        return [forest for forest, _ in state["parts_"]]

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        n_classes, parts, pool = len(state["classes_"]), state["parts_"], state["pool_"]
        require(1 <= len(parts) <= len(tree_kinds(self)), "parts_: must be one per kind of trees")
        members = state["members_"].names if "members_" in state else []
        constraints = constraints_of(self, state["encoder_"], state["classes_"])
        components = constrained_components(pool_components(self), constraints, n_classes)
        kinds = kind_names(self, len(parts))
        require(bool(components.named) == ("named_pool_" in state), "named_pool_: must be there for a named class")
        if components.named:
            state["named_pool_"].check_fits(names_of(components.named, kinds), state["encoder_"].n_features)
        names = [*names_of(components.whole, kinds), *members, PRIOR]
        require(state["component_names_"] == names, "component_names_: must be those of the parts and members")
        if "members_" in state:
            state["members_"].check_fits(state["encoder_"].n_features, n_classes)
        n_components = len(names)
        shapes = {
            "pool_weights_": (n_components, n_classes),
            "pool_intercepts_": (n_classes,),
            "prior_": (n_classes,),
        }
        for name, shape in shapes.items():
            require(state[name].shape == shape, f"{name}: must have the shape {shape}")
        same = np.array_equal(pool.weights, state["pool_weights_"])
        require(same and np.array_equal(pool.intercepts, state["pool_intercepts_"]), "pool_: must have these weights")
        losses = state.get("oob_component_log_loss_", {})
        require(isinstance(losses, dict) and all(map(_is_loss, losses.values())), "oob_component_log_loss_: losses")
        for forest, tables in parts:
            packed.check_tables_fit(tables, n_classes, forest.facts)


def _is_loss(value: Any) -> bool:
    return isinstance(value, float) and not value < 0
