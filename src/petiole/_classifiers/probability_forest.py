"""The flagship: one forest, all its leaf statistics, pooled on out-of-bag rows."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.ensemble import (
    Floats,
    ForestClassifier,
    frequency_tables,
    mean_log_loss,
    out_of_bag_frequencies,
)
from petiole._classifiers.mob_esp import VoteTables, make_ballot, make_vote_tables, out_of_bag_rows
from petiole._classifiers.updating import ModelCounts, recounted, refiled
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import ForestCounts, Rows, Tally, VoteCounts, encoded_rows, tally_rows
from petiole._forest.log_pool import LogPool, fit_pool
from petiole._forest.plan import GrownForest, find_rows, grow, plans_of
from petiole._tree.growing import TrainingSet
from petiole._tree.plan import TreePlan
from petiole._validation import check_choice, check_number
from petiole.files import checks, packed
from petiole.files.checks import fields, maybe, require
from petiole.smoothing import Raw

COMPONENTS = ("raw", "eb", "oob", "votes", "coarse")
# A few unknowns are learned from no more rows than these.
MOST_POOL_ROWS = 20_000


def _check_saved_part(part: Any) -> None:
    require(type(part) is tuple and len(part) == 2, "must be a forest and its vote tables")
    checks.instance_of("Forest")(part[0])
    packed.check_vote_tables(part[1])


class ProbabilityForestClassifier(ForestClassifier):
    """A forest whose probabilities are calibrated by its own out-of-bag rows, without a hold-out set.

    The leaves of one forest say several things of a query: the frequencies of the rows the tree was grown on ("raw"),
    of all rows ("eb", as in EB-PETs), of the rows it has not seen ("oob"), of the rows that the ensemble votes to be in
    the same class ("votes", after MOB-ESP), and of all rows at the nearest ancestor that has enough of them ("coarse").
    Each is asked about every training row in the trees that have not seen it, the row itself left out. On these honest
    answers a logarithmic opinion pool learns how much to trust each of them, for each class, together with the base
    rates ("prior").

    Parameters
    ----------
    n_estimators : int, default=256
        Number of trees, all kinds together.
    max_features : None, "sqrt", "log2", int, float, or a tuple of these, default=("sqrt", 1)
        Attributes drawn at each node. A tuple makes as many kinds of trees, in equal numbers, each kind with components
        of its own: careful trees know better which attributes matter, random ones differ more from each other.
    components : tuple of {"raw", "eb", "oob", "votes", "coarse"}, default=("raw", "oob", "votes", "coarse")
        What enters the pool.
    coarse_rows : float, default=30
        The least weight of rows at the ancestor that "coarse" asks.
    floor : float, default=0.002
        Components' probabilities are raised to this before logarithms are taken.
    criterion, max_depth, min_samples_leaf, max_bins, categorical_features, nominal_splits, missing, threshold, \
pruning, confidence, bootstrap, count, split_class_weight, weights, oob_score, warm_start, random_state, n_jobs, verbose
        As in :class:`BaggedPETClassifier`, except that single rows may be leaves (``min_samples_leaf=1``), rows count
        once (``count="distinct"``) and nominal splits are binary by default.

    Attributes
    ----------
    pool_weights_ : array of shape (n_components, n_classes)
        How much each component counts; large weights of "coarse" or "prior" say that the data are noisy.
    pool_intercepts_ : array of shape (n_classes,)
    component_names_ : list of str
        The components in the order of ``pool_weights_``.
    oob_log_loss_ : float
        Log-loss of the pool in bits on out-of-bag rows, of which it has learned its few weights.
    oob_component_log_loss_ : dict from component to its log-loss in bits on the same rows
    trees_ : Forest
    classes_ : array of the class labels
    feature_importances_, oob_predict_proba_, oob_decision_, oob_score_, oob_brier_
        As in :class:`BaggedPETClassifier`.

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

    _saved = fields(
        parts_=checks.list_of(_check_saved_part),
        pool_=checks.instance_of("LogPool"),
        prior_=checks.probabilities(1),
        pool_weights_=checks.floats(2, 0.0, checks.LARGEST),
        pool_intercepts_=checks.floats(1, -checks.LARGEST, checks.LARGEST),
        component_names_=checks.texts,
        oob_component_log_loss_=maybe(checks.anything),
    )

    def __init__(
        self,
        n_estimators: int = 256,
        *,
        max_features: Any = ("sqrt", 1),
        components: Sequence[str] = ("raw", "oob", "votes", "coarse"),
        coarse_rows: float = 30,
        floor: float = 0.002,
        criterion: str = "entropy",
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        nominal_splits: str = "binary",
        missing: str = "fractional",
        threshold: str = "midpoint",
        pruning: str | None = None,
        confidence: float = 0.25,
        bootstrap: str = "stratified",
        count: str = "distinct",
        split_class_weight: Any = None,
        weights: str = "auto",
        oob_score: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.components = components
        self.coarse_rows = coarse_rows
        self.floor = floor
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.nominal_splits = nominal_splits
        self.missing = missing
        self.threshold = threshold
        self.pruning = pruning
        self.confidence = confidence
        self.bootstrap = bootstrap
        self.count = count
        self.split_class_weight = split_class_weight
        self.weights = weights
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def component_proba(self, X: Any) -> dict[str, Floats]:
        """What each component says of the rows of X, by name, before it is pooled."""
        check_is_fitted(self)
        return dict(zip(self.component_names_, self._components_of(self._encode(X)), strict=True))

    def relearn_pool(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights of the pool anew from rows that no leaf has counted yet.

        :meth:`update` keeps them. In a stream that drifts, "raw" falls behind the other components, because later rows
        do not come into it: let each batch say first how far to trust whom, ``model.relearn_pool(X, y).update(X, y)``.
        What the pool knew before is forgotten, so that a batch should have a few hundred rows.

        Parameters
        ----------
        X, y, sample_weight : rows that no tree has seen and that were not given to ``update``
        """
        check_is_fitted(self)
        rows = encoded_rows(self, X, y, sample_weight)
        said = self._components_of(rows.matrix)
        starts = pool_starts(len(said))
        pool = fit_pool(said, rows.labels, rows.weights, starts, float(self.floor), self._n_threads())
        self.pool_, self.pool_weights_, self.pool_intercepts_ = pool, pool.weights, pool.intercepts
        for name in ForestClassifier._of_the_fit:
            self.__dict__.pop(name, None)
        return self

    # Growing: one forest for each kind of tree.

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.bootstrap is False:
            raise ValueError(
                "bootstrap=False leaves no out-of-bag rows, from which the pool is learned: use 'stratified' or 'plain'"
            )
        names = list(self.components) if isinstance(self.components, (tuple, list)) else []
        for name in names:
            check_choice("components", name, COMPONENTS)
        if not names or len(set(names)) < len(names):
            raise ValueError(f"components={self.components!r}: must be a tuple of different names from {COMPONENTS}")
        check_number("coarse_rows", self.coarse_rows, 1)
        check_number("floor", self.floor, 1e-12, 0.5)

    def _kinds(self) -> tuple[Any, ...]:
        kinds = tuple(self.max_features) if isinstance(self.max_features, (tuple, list)) else (self.max_features,)
        if not kinds or len({repr(kind) for kind in kinds}) < len(kinds):
            raise ValueError(f"max_features={self.max_features!r}: must name different numbers of attributes")
        return kinds

    def _check_plan(self) -> None:
        for max_features in self._kinds():
            TreePlan.of(self, max_features=max_features)

    def _grow(self, training: TrainingSet, seed: int, earlier: Any) -> list[GrownForest]:
        kept = [] if earlier is None else earlier
        return [
            grow(plan, training, earlier=forest, keep_members=True, n_threads=self._n_threads())
            for plan, forest in itertools.zip_longest(plans_of(self, seed), kept)
            if plan.n_trees
        ]

    def _kept_trees(self) -> Any:
        return [part.forest for part in self.parts_]

    def _keep_trees(self, growth: Any) -> None:
        self.__dict__.pop("trees_", None)

    def _join_trees(self, models: Sequence[Self]) -> None:
        """Parts are joined by ``_merged_estimate``."""

    @functools.cached_property
    def trees_(self) -> Forest:  # type: ignore[override]
        """All trees, kind after kind."""
        if "parts_" not in self.__dict__:
            raise AttributeError("trees_: this ProbabilityForestClassifier is not fitted yet")
        return Forest.joined([part.forest for part in self.parts_])

    def _find_rows(self, training: TrainingSet) -> Any:
        members, *others = (
            find_rows(plan, part.forest, training, self._n_threads())
            for plan, part in zip(plans_of(self, self.seed_), self.parts_, strict=False)
        )
        for other in others:
            members.append(other)
        return members

    # The estimate: statistics of each part, and the pool.

    def _estimate(self, growth: Any) -> tuple[dict[str, Any], Callable[[], Floats]]:
        training = growth[0].training
        class_weights, n_threads = training.class_weights(), self._n_threads()
        ballots = [make_ballot(of_part.forest, class_weights, n_threads) for of_part in growth]
        filed = [
            make_vote_tables(of_part, ballot, 1.0, self.count, n_threads)
            for of_part, ballot in zip(growth, ballots, strict=True)
        ]
        return self._estimate_with(growth, filed, ballots, class_weights, pool_rows(training, growth[0].seed))

    def _estimate_with(
        self,
        growth: Sequence[GrownForest],
        filed: Sequence[VoteTables],
        ballots: Sequence[Any],
        class_weights: Floats,
        rows: npt.NDArray[np.uint32],
    ) -> tuple[dict[str, Any], Callable[[], Floats]]:
        """The pool is learned from the rows listed, of those whose places are known; all rows are in the tables."""
        training, n_threads = growth[0].training, self._n_threads()
        parts = [
            Part(of_part.forest, tables.core, self._leaf_tables(of_part.forest), ballot)
            for of_part, tables, ballot in zip(growth, filed, ballots, strict=True)
        ]
        names = self._names(len(parts))
        prior = class_weights / class_weights.sum()

        def honest(rows: npt.NDArray[np.uint32] | None) -> list[list[Floats]]:
            return [self._honest(of_part, tables, rows) for of_part, tables in zip(growth, filed, strict=True)]

        def with_prior(components: list[Floats]) -> list[Floats]:
            return [*components, np.tile(prior, (len(components[0]), 1))]

        components = with_prior([proba for part in honest(rows) for proba in part])
        known = ~np.isnan([proba[:, 0] for proba in components]).any(axis=0)
        rows, components = rows[known], [proba[known] for proba in components]
        weights = None if training.weights is None else training.weights[rows]
        pool = fit_pool(
            components, training.labels[rows], weights, pool_starts(len(names)), float(self.floor), n_threads
        )
        asked = training.rows(rows)
        fitted = {
            "parts_": parts,
            "pool_": pool,
            "prior_": prior,
            "pool_weights_": pool.weights,
            "pool_intercepts_": pool.intercepts,
            "component_names_": names,
            "oob_log_loss_": mean_log_loss(pool.combine(components), asked),
            "oob_component_log_loss_": {
                name: mean_log_loss(proba, asked) for name, proba in zip(names, components, strict=True)
            },
        }
        return fitted, lambda: pool.combine(with_prior(_known_to_others(honest(None))))

    def _names(self, n_parts: int) -> list[str]:
        kinds = self._kinds()[:n_parts]
        if len(kinds) == 1:
            return [*self.components, "prior"]
        return [*(f"{name}, max_features={kind}" for kind in kinds for name in self.components), "prior"]

    def _leaf_tables(self, forest: Forest) -> Any:
        """Side by side: the frequencies "raw", "eb" and "coarse" as asked for, then "oob" and whether it is there."""
        n_threads = self._n_threads()
        tables = [frequency_tables(forest, Raw(), 0.0, n_threads)]
        if "eb" in self.components:
            tables.append(frequency_tables(forest, Raw(), 1.0, n_threads))
        if "coarse" in self.components:
            tables.append(self._coarse_counts(forest))
            tables[-1].normalise()
        if "oob" in self.components:
            unseen = forest.core.leaf_counts(0.0, 1.0, 0.0, n_threads)
            unseen.normalise()
            tables += [unseen, unseen.row_sums()]
        return _core.LeafTables.side_by_side(tables)

    def _coarse_counts(self, forest: Forest) -> Any:
        return forest.core.leaf_counts(1.0, 1.0, float(self.coarse_rows), self._n_threads())

    def _honest(self, growth: GrownForest, filed: VoteTables, rows: npt.NDArray[np.uint32] | None) -> list[Floats]:
        """Out-of-bag probabilities of each component, rows left out of what they are looked up in."""
        forest, n_threads = growth.forest, self._n_threads()

        def frequencies(counts: Any) -> Floats:
            return out_of_bag_frequencies(growth, counts, 1.0, n_threads, rows)

        raw = np.asarray(
            _core.out_of_bag_average(growth.members, frequency_tables(forest, Raw(), 0.0), rows, n_threads)
        )
        ask: dict[str, Callable[[], Floats]] = {
            "raw": lambda: raw,
            "eb": lambda: frequencies(forest.core.leaf_counts(1.0, 1.0)),
            "oob": lambda: frequencies(forest.core.leaf_counts(0.0, 1.0)),
            "votes": lambda: out_of_bag_rows(filed, growth, "shared", n_threads, rows),
            "coarse": lambda: frequencies(self._coarse_counts(forest)),
        }
        return [_filled(ask[name](), raw) for name in self.components]

    def _components_of(self, matrix: npt.NDArray[Any]) -> list[Floats]:
        n_threads = self._n_threads()
        found = [proba for part in self.parts_ for proba in self._ask(part, matrix, n_threads)]
        return [*found, np.repeat(self.prior_[np.newaxis], len(matrix), axis=0)]

    def _ask(self, part: Part, matrix: npt.NDArray[Any], n_threads: int) -> list[Floats]:
        """What each component of one part says of queries."""
        router = part.forest.router
        if "votes" not in self.components:
            return self._by_component(None, router.average(matrix, part.tables, None, False, n_threads)[0])
        _, _, votes, averages = part.vote_tables.look_up(
            router, matrix, part.ballot, len(part.forest), _core.VoteRows.shared, part.tables, n_threads
        )
        return self._by_component(votes, averages)

    def _by_component(self, votes: Floats | None, averages: Floats) -> list[Floats]:
        """The components of a part, from the rows of its vote tables and the means of its leaf tables."""
        found: dict[str, Floats] = {} if votes is None else {"votes": votes}
        n_classes = len(self.classes_)
        columns = iter(range(0, averages.shape[1], n_classes))
        for name in ("raw", *(name for name in ("eb", "coarse", "oob") if name in self.components)):
            start = next(columns)
            found[name] = averages[:, start : start + n_classes]
        if "oob" in found:
            # 0 / 0 where no leaf of a row has out-of-bag rows.
            share = averages[:, -1:]
            found["oob"] = found["oob"] / np.where(share > 0, share, np.nan)
        return [found[name] if name == "raw" else _filled(found[name], found["raw"]) for name in self.components]

    def _average(self, matrix: npt.NDArray[Any]) -> Floats:
        return self.pool_.combine(self._components_of(matrix))

    def _spread_tables(self) -> Any:
        return frequency_tables(self.trees_, Raw(), 1.0)

    # Rows that come later.

    _of_the_fit = (*ForestClassifier._of_the_fit, "trees_")

    def _check_updatable(self) -> None:
        if set(self.components) == {"raw"}:
            raise ValueError(
                f"components={self.components!r}: these look at the rows of the trees' samples alone, so that later "
                "rows would change nothing: fit with 'eb', 'oob', 'votes' or 'coarse' among them"
            )

    def _counted(self) -> Iterable[Any]:
        return [part.forest for part in self.parts_]

    def _count_parts(self, rows: Rows) -> Iterable[Any]:
        options: dict[str, Any] = {"distinct": True, "n_threads": self._n_threads()}
        return [tally_rows(part.forest, rows, ballot=part.ballot, **options) for part in self.parts_]

    def _held_parts(self) -> Iterable[Any]:
        return [Tally(ForestCounts.of(part.forest), VoteCounts(part.vote_tables)) for part in self.parts_]

    def _with_parts(self, counts: ModelCounts, decay: float) -> dict[str, Any]:
        class_weights = self._class_weights_with(counts, decay)
        return {
            "parts_": [self._recounted(*pair, decay) for pair in zip(self.parts_, counts.parts, strict=True)],
            "counted_weights_": class_weights,
            "prior_": class_weights / class_weights.sum(),
        }

    def _recounted(self, part: Part, tally: Tally, decay: float) -> Part:
        forest = recounted(part.forest, tally.counts, decay, self._n_threads())
        tables = refiled(part.vote_tables, tally, decay, 1.0)
        return Part(forest, tables, self._leaf_tables(forest), make_ballot(forest, self.class_weights_))

    def _merged_estimate(self, models: Sequence[Self]) -> dict[str, Any]:
        """Parts kind by kind; pools are averaged by their numbers of trees."""
        if any(model.component_names_ != models[0].component_names_ for model in models):
            raise ValueError("the models differ in max_features or components: merge equals")
        prior = np.sum([model.class_weights_ for model in models], axis=0)
        counted = np.sum([model._counted_weights() for model in models], axis=0)
        share = np.array([len(model.trees_) for model in models], dtype=float)
        share /= share.sum()
        pool = LogPool(
            np.tensordot(share, [model.pool_weights_ for model in models], 1),
            np.tensordot(share, [model.pool_intercepts_ for model in models], 1),
            float(models[0].floor),
        )
        parts = []
        for of_kind in zip(*(model.parts_ for model in models), strict=True):
            forest = Forest.joined([part.forest for part in of_kind])
            tables = _core.VoteTables.joined([part.vote_tables for part in of_kind], 1.0)
            parts.append(Part(forest, tables, self._leaf_tables(forest), make_ballot(forest, prior)))
        return {
            "parts_": parts,
            "pool_": pool,
            "prior_": counted / counted.sum(),
            "pool_weights_": pool.weights,
            "pool_intercepts_": pool.intercepts,
            "component_names_": models[0].component_names_,
        }

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name != "trees_"}
        if "parts_" in state:
            state["parts_"] = [(part.forest, part.vote_tables.state()) for part in state["parts_"]]
        return state

    def _saved_forests(self, state: dict[str, Any]) -> list[Forest]:
        return [forest for forest, _ in state["parts_"]]

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        n_classes, parts, pool = len(state["classes_"]), state["parts_"], state["pool_"]
        require(1 <= len(parts) <= len(self._kinds()), "parts_: must be one per kind of trees")
        require(state["component_names_"] == self._names(len(parts)), "component_names_: must be those of the parts")
        n_components = len(parts) * len(self.components) + 1
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "parts_" in state:
            self.parts_ = [
                Part(
                    forest,
                    _core.VoteTables.from_state(tables),
                    self._leaf_tables(forest),
                    make_ballot(forest, self.class_weights_),
                )
                for forest, tables in state["parts_"]
            ]


def _is_loss(value: Any) -> bool:
    return isinstance(value, float) and not value < 0


class Part(NamedTuple):
    """The trees of one kind, and what their leaves say."""

    forest: Forest
    vote_tables: Any
    tables: Any
    ballot: Any


def pool_starts(n_components: int) -> Floats:
    """Equal weights that sum to one; the base rates, which come last, only where the rows ask for them."""
    return np.append(np.full(n_components - 1, 1.0 / (n_components - 1)), 0.0)


def pool_rows(training: TrainingSet, seed: int) -> npt.NDArray[np.uint32]:
    """The rows from which the pool is learned: all, or a sample if there are many."""
    n_rows = training.n_rows
    if n_rows <= MOST_POOL_ROWS:
        return np.arange(n_rows, dtype=np.uint32)
    drawn = np.random.default_rng(seed).choice(n_rows, MOST_POOL_ROWS, replace=False)
    return np.sort(drawn).astype(np.uint32)


def _known_to_others(parts: Sequence[Sequence[Floats]]) -> list[Floats]:
    """All components of all parts; where a part has seen a row in all its trees, what the other parts say of it."""
    for same in zip(*parts, strict=True):
        lost = [np.isnan(proba[:, 0]) for proba in same]
        if not any(rows.any() for rows in lost):
            continue
        sums = np.sum([np.nan_to_num(proba) for proba in same], axis=0)
        n_known = np.sum([~rows for rows in lost], axis=0)[:, np.newaxis]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sums / n_known
        for proba, rows in zip(same, lost, strict=True):
            proba[rows] = mean[rows]
    return [proba for part in parts for proba in part]


def _filled(proba: Any, instead: Floats) -> Floats:
    """Rows of NaN replaced by those of another table."""
    proba = np.asarray(proba)
    lost = np.isnan(proba[:, 0])
    return np.where(lost[:, np.newaxis], instead, proba) if lost.any() else proba
