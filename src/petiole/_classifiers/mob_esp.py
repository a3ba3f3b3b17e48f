"""MOB-ESP bends the one equation: it has one table per ensemble vote, so it classifies first and looks up second."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.ensemble import (
    MOST_OOB_WEIGHT,
    Floats,
    ForestClassifier,
    frequency_tables,
    mean_log_loss,
    out_of_bag_frequencies,
)
from petiole._classifiers.updating import ModelCounts, recounted, refiled
from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import ForestCounts, Rows, Tally, VoteCounts, tally_rows
from petiole._forest.plan import GrownForest, as_grown, count, plans_of
from petiole._table.labels import check_same_length, check_weights, label_codes
from petiole._table.weights import weights_in_rows
from petiole._tree.growing import TrainingSet
from petiole._validation import check_choice, check_number
from petiole.files import checks, packed
from petiole.files.checks import fields
from petiole.files.savable import SavableModel
from petiole.smoothing import Raw

# What oob_weight="auto" chooses from; 1 comes first and wins ties.
OOB_WEIGHTS = (1.0, 0.0, 0.25, 0.5, 2.0, 4.0, 8.0, 16.0)
# The share of trees that have not seen a row of a bootstrap sample, as Nielsen rounds it.
UNSEEN_SHARE = 0.37


class VoteTables(NamedTuple):
    """The leaf matrices, and the training rows' votes by which they were filed."""

    core: Any
    winners: npt.NDArray[np.int32]
    votes: Floats


class LazyTables:
    """The frequencies at a forest's leaves, made when first asked for: they are large, and few queries need them."""

    def __init__(self, forest: Forest, oob_weight: float, n_threads: int = 1) -> None:
        self._make: Callable[[], Any] = functools.partial(frequency_tables, forest, Raw(), oob_weight, n_threads)
        self._made: Any = None

    def __call__(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made


def make_ballot(forest: Forest, prior: Floats, n_threads: int = 1) -> Any:
    """How the trees of a forest vote."""
    return _core.Ballot(forest.core, prior, n_threads)


def make_vote_tables(growth: GrownForest, ballot: Any, oob_weight: float, count: str, n_threads: int) -> VoteTables:
    """File every training row at its leaves by the vote of the trees that have not seen it."""
    training = growth.training
    winners, votes = _core.out_of_bag_votes(growth.members, ballot, n_threads)
    core = _core.VoteTables(
        growth.members,
        winners,
        training.labels,
        training.weights,
        len(training.classes),
        count == "distinct",
        oob_weight,
        n_threads,
    )
    return VoteTables(core, winners, votes)


def out_of_bag_rows(
    tables: VoteTables,
    growth: GrownForest,
    which: str,
    n_threads: int,
    rows: npt.NDArray[np.uint32] | None = None,
) -> Floats:
    """What the leaf matrices of unseeing trees say of training rows (all, or those listed), each left out.

    NaN where nothing is left.
    """
    training, answer = growth.training, getattr(_core.VoteRows, which)
    return tables.core.out_of_bag(
        growth.members, tables.winners, tables.votes, answer, training.labels, training.weights, rows, n_threads
    )


def best_oob_weight(tables: VoteTables, growth: GrownForest, which: str, n_threads: int) -> float:
    """The weight with the least out-of-bag log-loss, to which the tables are left set."""
    losses = []
    for weight in OOB_WEIGHTS:
        tables.core.mix(weight)
        losses.append(mean_log_loss(out_of_bag_rows(tables, growth, which, n_threads), growth.training))
    best = 1.0 if np.isnan(losses).all() else OOB_WEIGHTS[int(np.nanargmin(losses))]
    tables.core.mix(best)
    return best


class MOBESPClassifier(ForestClassifier):
    """Mean out-of-bag example-specific probabilities (Nielsen 2004).

    The forest classifies every training row with the trees that have not seen it. A leaf then keeps, for each class j,
    the true classes of those of its rows that were classified as j. A query is classified by all trees first; the
    probabilities are the mean over its leaves of what they keep for that class. Rows in a leaf that the whole ensemble
    classifies alike are more alike than others.

    Parameters
    ----------
    n_estimators, criterion, max_depth, min_samples_leaf, max_features, max_bins, categorical_features, \
nominal_splits, missing, threshold, pruning, confidence, bootstrap, split_class_weight, weights, oob_score, \
warm_start, random_state, n_jobs, verbose
        As in :class:`BaggedPETClassifier`, except that ``max_features`` is "sqrt" by default.
    oob_weight : float or "auto", default=1.0
        The paper's α: the weight of out-of-bag rows in leaves (eq. 8). "auto" takes the best of a few by the log-loss
        of the out-of-bag rows, each left out of the leaves in which it is looked up.
    count : {"distinct", "copies"}, default="distinct"
        Whether a row that is in a sample twice counts once or twice in the leaves.
    voters : {"all", "as_out_of_bag"}, default="all"
        Which trees classify a query. A training row is classified by some 37 % of them; "as_out_of_bag" lets the same
        number classify a query, so that both err alike.
    rows : {"winner", "shared"}, default="winner"
        "winner" looks up what leaves keep for the class with the most votes. "shared" takes what they keep for every
        class that has votes, in proportion to them: the probabilities then rise with the votes, and rank better.

    Attributes
    ----------
    trees_ : Forest
    classes_ : array of the class labels
    oob_weight_ : float
        The weight of out-of-bag rows in use.
    feature_importances_, oob_predict_proba_, oob_decision_, oob_score_, oob_log_loss_, oob_brier_
        As in :class:`BaggedPETClassifier`; a row is left out of the leaves in which it is looked up.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import MOBESPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MOBESPClassifier(n_estimators=32, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1])
    array([[1., 0., 0.]])
    """

    _saved = fields(
        trees_=checks.instance_of("Forest"),
        oob_weight_=checks.number(0.0, checks.LARGEST),
        vote_tables_=packed.check_vote_tables,
    )

    def __init__(
        self,
        n_estimators: int = 128,
        *,
        criterion: str = "entropy",
        max_depth: int | None = None,
        min_samples_leaf: float = 2,
        max_features: str | float | None = "sqrt",
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        nominal_splits: str = "multiway",
        missing: str = "fractional",
        threshold: str = "midpoint",
        pruning: str | None = None,
        confidence: float = 0.25,
        bootstrap: str = "stratified",
        oob_weight: float | str = 1.0,
        count: str = "distinct",
        voters: str = "all",
        rows: str = "winner",
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
        self.voters = voters
        self.rows = rows
        self.split_class_weight = split_class_weight
        self.weights = weights
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, X: Any, y: Any, sample_weight: Any = None, **parameters: Any
    ) -> MOBESPClassifier | MOBESPOfEnsemble:
        """The estimation step alone, on an ensemble that is fitted already, without growing anything.

        One of petiole's ensembles gives its trees to a :class:`MOBESPClassifier`. Any other ensemble that says which
        leaves rows are in and which rows its members have seen, such as a random forest of scikit-learn, is wrapped in
        a :class:`MOBESPOfEnsemble`.

        Parameters
        ----------
        ensemble : fitted ensemble
        X, y, sample_weight : the data that it was fitted on
        **parameters
            ``oob_weight``, ``count``, ``voters`` and ``rows``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from petiole import MOBESPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> MOBESPClassifier.from_ensemble(forest, X, y).predict_proba(X[:1])
        array([[1., 0., 0.]])
        """
        if not isinstance(ensemble, ForestClassifier):
            return MOBESPOfEnsemble(ensemble, **parameters).fit(X, y, sample_weight)
        check_is_fitted(ensemble)
        if len(getattr(ensemble, "parts_", [])) > 1:
            raise ValueError(
                f"the ensemble has trees of {len(ensemble.parts_)} kinds, with samples of their own: fit it with one "
                "max_features, such as max_features='sqrt'"
            )
        training = ensemble._training_again(X, y, sample_weight, "MOBESPClassifier.from_ensemble")
        plan, *_ = plans_of(ensemble, ensemble.seed_)
        shared = {name: value for name, value in ensemble.get_params(deep=False).items() if name in _parameters(cls)}
        shared["max_features"] = plan.tree.max_features
        # Leaves count what the ensemble's leaves count, unless told otherwise.
        model = cls(**{**shared, "oob_weight": 1.0, **parameters})
        model._check_parameters()
        growth = GrownForest(ensemble.trees_, ensemble._find_rows(training), training, None)
        if model.count != ensemble.count:
            trees = [as_grown(plan, tree, training, index) for index, tree in enumerate(ensemble.trees_)]
            forest, _ = count(replace(plan, count=model.count), training, trees, n_threads=model._n_threads())
            growth = growth._replace(forest=forest)
        copied = ("encoder_", "classes_", "class_weights_", "weight_unit_", "seed_")
        for name in (*copied, "n_features_in_", "feature_names_in_"):
            if name in ensemble.__dict__:
                setattr(model, name, ensemble.__dict__[name])
        model.trees_ = growth.forest
        for name, value in model._estimate(growth)[0].items():
            setattr(model, name, value)
        return model

    @property
    def _needs_members(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.bootstrap is False:
            raise ValueError(
                "bootstrap=False leaves no out-of-bag rows, which MOB-ESP is made of: use 'stratified' or 'plain'"
            )
        _check_choices(self)

    def _estimate(self, growth: GrownForest) -> tuple[dict[str, Any], Callable[[], Floats]]:
        auto, n_threads = self.oob_weight == "auto", self._n_threads()
        ballot = make_ballot(growth.forest, growth.training.class_weights(), n_threads)
        tables = make_vote_tables(growth, ballot, 1.0 if auto else float(self.oob_weight), self.count, n_threads)
        oob_weight = best_oob_weight(tables, growth, self.rows, n_threads) if auto else float(self.oob_weight)
        fitted = {
            "oob_weight_": oob_weight,
            "vote_tables_": tables.core,
            "_ballot": ballot,
            "_lazy_fallback": LazyTables(growth.forest, oob_weight, n_threads),
        }
        return fitted, lambda: self._out_of_bag(growth, tables, oob_weight)

    def _out_of_bag(self, growth: GrownForest, tables: VoteTables, oob_weight: float) -> Floats:
        n_threads = self._n_threads()
        proba = out_of_bag_rows(tables, growth, self.rows, n_threads)
        lost = np.isnan(proba[:, 0])
        if lost.any():
            rows = np.flatnonzero(lost).astype(np.uint32)
            if oob_weight > 0:
                counts = growth.forest.core.leaf_counts(1.0, oob_weight)
                proba[lost] = out_of_bag_frequencies(growth, counts, oob_weight, n_threads, rows)
            else:
                in_bag = frequency_tables(growth.forest, Raw(), 0.0, n_threads)
                proba[lost] = np.asarray(_core.out_of_bag_average(growth.members, in_bag, rows, n_threads))
        return proba

    def _average(self, matrix: npt.NDArray[Any]) -> Floats:
        rows, n_threads = getattr(_core.VoteRows, self.rows), self._n_threads()
        n_voters = n_voters_of(self.voters, len(self.trees_))
        router = self.trees_.router
        _, _, proba, _ = self.vote_tables_.look_up(router, matrix, self._ballot, n_voters, rows, None, n_threads)
        lost = np.isnan(proba[:, 0])
        if lost.any():
            proba[lost] = router.average(matrix[lost], self._fallback, None, False, n_threads)[0]
        return proba

    def _spread_tables(self) -> Any:
        return self._fallback

    @functools.cached_property
    def _ballot(self) -> Any:
        return make_ballot(self.trees_, self.class_weights_)

    @property
    def _fallback(self) -> Any:
        return self._lazy_fallback()

    @functools.cached_property
    def _lazy_fallback(self) -> LazyTables:
        return LazyTables(self.trees_, self.oob_weight_)

    def _check_updatable(self) -> None:
        if not self.oob_weight_ > 0:
            raise ValueError(
                f"oob_weight_={self.oob_weight_!r}: leaves look at the rows of their samples alone, so that later rows "
                "would change nothing: fit with oob_weight=1.0"
            )

    def _count_parts(self, rows: Rows) -> Iterable[Any]:
        """Rows are filed by the vote of all trees, none of which has seen them."""
        return [tally_rows(self.trees_, rows, distinct=True, ballot=self._ballot, n_threads=self._n_threads())]

    def _held_parts(self) -> Iterable[Any]:
        return [Tally(ForestCounts.of(self.trees_), VoteCounts(self.vote_tables_))]

    def _with_parts(self, counts: ModelCounts, decay: float) -> dict[str, Any]:
        tally, n_threads = counts.parts[0], self._n_threads()
        forest = recounted(self.trees_, tally.counts, decay, n_threads)
        return {
            "trees_": forest,
            "counted_weights_": self._class_weights_with(counts, decay),
            "vote_tables_": refiled(self.vote_tables_, tally, decay, self.oob_weight_),
            "_ballot": make_ballot(forest, self.class_weights_),
            "_lazy_fallback": LazyTables(forest, self.oob_weight_, n_threads),
        }

    def _merged_estimate(self, models: Sequence[Self]) -> dict[str, Any]:
        """Leaves keep the rows that they were filed with: by the votes of their own model."""
        weights = {model.oob_weight_ for model in models}
        if len(weights) > 1:
            raise ValueError(f"the models weigh out-of-bag rows by {sorted(weights)}: fit them with one oob_weight")
        tables = _core.VoteTables.joined([model.vote_tables_ for model in models], models[0].oob_weight_)
        return {"oob_weight_": models[0].oob_weight_, "vote_tables_": tables}

    def __getstate__(self) -> dict[str, Any]:
        made_again = ("_ballot", "_lazy_fallback")
        state = {name: value for name, value in super().__getstate__().items() if name not in made_again}
        if "vote_tables_" in state:
            state["vote_tables_"] = state["vote_tables_"].state()
        return state

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        packed.check_tables_fit(state["vote_tables_"], len(state["classes_"]), state["trees_"].facts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "vote_tables_" in state:
            tables = _core.VoteTables.from_state(state["vote_tables_"])
            tables.mix(state["oob_weight_"])
            state = state | {"vote_tables_": tables}
        super().__setstate__(state)


class MOBESPOfEnsemble(SavableModel, ClassifierMixin, BaseEstimator):
    """MOB-ESP's estimation step on any fitted ensemble that associates a query with training rows.

    The paper's last remark: what is needed is only which training rows share a leaf with a query, and which rows each
    member of the ensemble has not seen. Usually made by :meth:`MOBESPClassifier.from_ensemble`.

    Parameters
    ----------
    ensemble : fitted ensemble
        With ``classes_``, with ``estimators_samples_``, and with ``apply(X)`` of shape (n_rows, n_members), or with
        members in ``estimators_`` that have ``apply(X)``: scikit-learn's forests and bagged trees, for example.
    oob_weight, count, voters, rows
        As in :class:`MOBESPClassifier`.
    """

    def __init__(
        self,
        ensemble: Any,
        *,
        oob_weight: float | str = 1.0,
        count: str = "distinct",
        voters: str = "all",
        rows: str = "winner",
    ) -> None:
        self.ensemble = ensemble
        self.oob_weight = oob_weight
        self.count = count
        self.voters = voters
        self.rows = rows

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MOBESPOfEnsemble:
        """File the rows that the ensemble was fitted on at its leaves; the ensemble itself stays as it is."""
        check_is_fitted(self.ensemble)
        check_choice("count", self.count, ("distinct", "copies"))
        _check_choices(self)
        classes = np.asarray(self.ensemble.classes_)
        labels = label_codes(y, classes, "y")
        found = _leaf_ids(self.ensemble, X)
        check_same_length(len(found), len(labels))
        weights, _ = weights_in_rows(check_weights(sample_weight, len(labels)))
        copies = _copies(self.ensemble, *found.shape)
        if (copies > 0).all():
            raise ValueError(
                "every member of the ensemble has seen all rows, so there are no out-of-bag rows, which MOB-ESP is "
                "made of: fit it with bootstrap=True"
            )
        self.known_ = [np.unique(ids) for ids in found.T]
        leaves = self._leaf_index(found)
        training = TrainingSet(np.empty((len(labels), 0)), labels, weights, np.empty(0, dtype=np.int32), classes)
        self.tables_ = _file_rows(self, leaves, copies, [len(ids) + 1 for ids in self.known_], training)
        self.classes_ = classes
        self.oob_weight_ = self.tables_.oob_weight
        if hasattr(self.ensemble, "n_features_in_"):
            self.n_features_in_ = self.ensemble.n_features_in_
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Not possible: the ensemble is not petiole's. Use skops or joblib."""
        from petiole.files.writing import cannot_hold

        raise cannot_hold(self.ensemble, "MOBESPOfEnsemble.ensemble")

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of the rows of X, in the order of ``classes_``; each row sums to 1."""
        check_is_fitted(self)
        return self.tables_.look_up(self._leaf_index(_leaf_ids(self.ensemble, X)), self.voters, self.rows)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row, the first of equals."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _leaf_index(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Leaves numbered within each member; those without training rows share the number after the last."""
        columns = []
        for known, column in zip(self.known_, ids.T, strict=True):
            at = np.minimum(np.searchsorted(known, column), len(known) - 1)
            columns.append(np.where(known[at] == column, at, len(known)))
        return np.ascontiguousarray(np.column_stack(columns), dtype=np.int32)


class FiledRows:
    """Leaf matrices for leaves that are given as numbers, with all that a look-up needs."""

    def __init__(self, n_leaves: list[int], prior: Floats, votes: list[Any], frequencies: list[Floats]) -> None:
        self.n_leaves = n_leaves
        self.prior = prior
        self.leaf_votes = votes
        self.frequencies = frequencies
        self.oob_weight = 1.0
        self.core: Any = None
        self.fallback: list[Floats] = []

    @property
    def ballot(self) -> Any:
        return _core.Ballot.of_leaves(
            self.leaf_votes, _core.LeafTables(self.frequencies, len(self.prior)), np.ascontiguousarray(self.prior)
        )

    def look_up(self, leaves: npt.NDArray[np.int32], voters: str, rows: str) -> Floats:
        """Probabilities of rows that are in these leaves."""
        n_trees = leaves.shape[1]
        found = _core.Members(leaves, None, self.n_leaves)
        which = getattr(_core.VoteRows, rows)
        _, _, proba = self.core.look_up_members(found, self.ballot, n_voters_of(voters, n_trees), which, 1)
        lost = np.isnan(proba[:, 0])
        if lost.any():
            tables = zip(self.fallback, leaves[lost].T, strict=True)
            proba[lost] = np.mean([table[index] for table, index in tables], axis=0)
        return proba

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "core": self.core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.core = _core.VoteTables.from_state(state["core"])
        self.core.mix(self.oob_weight)


def _file_rows(
    model: Any,
    leaves: npt.NDArray[np.int32],
    copies: npt.NDArray[np.uint16],
    n_leaves: list[int],
    training: TrainingSet,
) -> FiledRows:
    prior, n_classes = training.class_weights(), len(training.classes)
    weights = np.ones(training.n_rows) if training.weights is None else training.weights

    def counted(tree: int, of_rows: Floats) -> Floats:
        cells = leaves[:, tree] * n_classes + training.labels
        return np.bincount(cells, of_rows, n_leaves[tree] * n_classes).reshape(-1, n_classes).astype(np.float64)

    distinct = model.count == "distinct"
    # Rounded, so that sums of weights that differ only by rounding are ties.
    order = np.argsort(-np.round(prior, 9), kind="stable")
    votes, frequencies, in_bag, out_of_bag = [], [], [], []
    for tree, times in enumerate(copies.T):
        with_copies = counted(tree, weights * times)
        votes.append(order[np.round(with_copies, 9)[:, order].argmax(axis=1)].astype(np.int32))
        in_bag.append(counted(tree, weights * (times > 0)) if distinct else with_copies)
        out_of_bag.append(counted(tree, weights * (times == 0)))
        frequencies.append(_shares(in_bag[-1], prior))
    filed = FiledRows(n_leaves, prior, votes, frequencies)
    members = _core.Members(leaves, copies, n_leaves)
    winners, n_votes = _core.out_of_bag_votes(members, filed.ballot, 1)
    auto = model.oob_weight == "auto"
    filed.oob_weight = 1.0 if auto else float(model.oob_weight)
    filed.core = _core.VoteTables(
        members, winners, training.labels, training.weights, n_classes, distinct, filed.oob_weight, 1
    )
    if auto:
        growth = GrownForest(None, members, training, None)  # type: ignore[arg-type]
        filed.oob_weight = best_oob_weight(VoteTables(filed.core, winners, n_votes), growth, model.rows, 1)
    filed.fallback = [
        _shares(inside + filed.oob_weight * outside, prior) for inside, outside in zip(in_bag, out_of_bag, strict=True)
    ]
    return filed


def _shares(counts: Floats, prior: Floats) -> Floats:
    """Rows divided by their sums; the prior's shares where there is nothing."""
    sums = counts.sum(axis=1, keepdims=True)
    return np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), prior / prior.sum())


def _leaf_ids(ensemble: Any, X: Any) -> npt.NDArray[Any]:
    """The leaf of each row in each member of an ensemble."""
    if hasattr(ensemble, "apply"):
        ids = np.asarray(ensemble.apply(X))
    elif hasattr(ensemble, "estimators_") and all(hasattr(member, "apply") for member in ensemble.estimators_):
        columns = getattr(ensemble, "estimators_features_", [slice(None)] * len(ensemble.estimators_))
        pairs = zip(ensemble.estimators_, columns, strict=True)
        X = np.asarray(X)
        ids = np.column_stack([member.apply(X[:, features]) for member, features in pairs])
    else:
        raise TypeError(
            f"ensemble is a {type(ensemble).__name__}, which cannot say which leaves rows are in: it needs apply(X), "
            "or estimators_ that have it, as scikit-learn's forests and bagged trees do"
        )
    if ids.ndim != 2:
        raise TypeError(f"ensemble.apply(X) has shape {ids.shape}: it must be (n_rows, n_members)")
    return ids


def _copies(ensemble: Any, n_rows: int, n_members: int) -> npt.NDArray[np.uint16]:
    """How often each row is in the sample of each member."""
    samples = getattr(ensemble, "estimators_samples_", None)
    if samples is None or len(samples) != n_members:
        raise TypeError(
            f"ensemble is a {type(ensemble).__name__} without estimators_samples_, which says which rows its members "
            "have seen: use a forest with bootstrap=True, or bagging"
        )
    drawn = [np.bincount(np.asarray(rows, dtype=np.intp), minlength=n_rows) for rows in samples]
    if any(len(times) != n_rows for times in drawn):
        raise ValueError(f"X has {n_rows} rows, fewer than the ensemble was fitted on: give the data of its fit")
    return np.ascontiguousarray(np.minimum(np.column_stack(drawn), 65_535), dtype=np.uint16)


def n_voters_of(voters: str, n_trees: int) -> int:
    return n_trees if voters == "all" else max(1, round(UNSEEN_SHARE * n_trees))


def _check_choices(model: Any) -> None:
    check_choice("voters", model.voters, ("all", "as_out_of_bag"))
    check_choice("rows", model.rows, ("winner", "shared"))
    if isinstance(model.oob_weight, str):
        check_choice("oob_weight", model.oob_weight, ("auto",), otherwise=f"a number between 0 and {MOST_OOB_WEIGHT:g}")
    else:
        check_number("oob_weight", model.oob_weight, 0, MOST_OOB_WEIGHT)


def _parameters(cls: type) -> set[str]:
    return set(inspect.signature(cls).parameters)
