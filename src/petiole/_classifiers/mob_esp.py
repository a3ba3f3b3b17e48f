"""MOB-ESP: the ensemble classifies a query first, then its leaves are looked up for that class."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.ensemble import ForestClassifier, find_training_rows, training_again
from petiole._classifiers.fitting import forest_estimate_of, share_columns
from petiole._classifiers.mob_esp_of_ensemble import MOBESPOfEnsemble, check_choices
from petiole._estimates.asking import FiledVotes, OutOfBagRows
from petiole._estimates.base import Fit
from petiole._estimates.vote_look_up import VoteLookUp, fit_vote_look_up, make_ballot
from petiole._forest.forest import Forest
from petiole._forest.plan import GrownForest, as_grown, count, plans_of
from petiole._validation import WithoutConstraints
from petiole.files import checks, packed
from petiole.files.checks import fields


class MOBESPClassifier(WithoutConstraints, ForestClassifier):
    """Mean out-of-bag example-specific probabilities (Nielsen 2004).

    The forest classifies every training row with the trees that have not seen it. For each class j, a leaf keeps the
    true classes of those of its rows that were classified as j. A query is classified by all trees first; its
    probabilities are the mean, over the leaves that it reaches, of the frequencies kept for the predicted class. Rows
    of a leaf that the whole ensemble classifies in the same way are more alike than others.

    Parameters
    ----------
    n_estimators, criterion, max_depth, min_samples_leaf, min_gain, max_features, redraw, max_bins, splits, \
categorical_features, nominal_splits, missing, threshold, pruning, confidence, bootstrap, split_class_weight, weights, \
oob_score, warm_start, random_state, n_jobs, verbose
        As in :class:`BaggedPETClassifier`, except that ``max_features`` is "sqrt" by default.
    oob_weight : float or "auto", default=1.0
        The paper's α: the weight of out-of-bag rows in leaves (eq. 8). "auto" takes the best of a few by the log-loss
        of the out-of-bag rows, each left out of the leaves in which it is looked up.
    count : {"distinct", "copies"}, default="distinct"
        Whether a row that is in a sample twice counts once or twice in the leaves.
    voters : {"all", "as_out_of_bag"}, default="all"
        Which trees classify a query. A training row is classified by about 37 % of them; with "as_out_of_bag" as many
        classify a query, so that the votes have similar errors.
    rows : {"winner", "shared"}, default="winner"
        "winner" looks up what leaves keep for the class with the most votes. "shared" takes what they keep for every
        class that has votes, in proportion to them: the probabilities then rise with the votes, and rank better.

    Attributes
    ----------
    trees_ : Forest
    classes_ : array of the class labels
    oob_weight_ : float
        The weight of out-of-bag rows in use.
    feature_importances_, oob_predict_proba_, oob_decision_, oob_score_, oob_log_loss_, oob_brier_, oob_reliability_
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

    _estimate: VoteLookUp

    no_constraints = (
        "what its leaves keep for the winner of a vote is of other rows where another class wins, whatever order the "
        "leaves have: use ProbabilityForestClassifier or BaggedPETClassifier"
    )

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
        min_gain: float = 0.0,
        max_features: str | float | None = "sqrt",
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
        """The estimation step alone, on a fitted ensemble, without growing trees.

        The result for one of petiole's ensembles is a :class:`MOBESPClassifier` with its trees. Any other ensemble
        that provides the leaves of rows and the samples of its members, such as a random forest of scikit-learn, is
        wrapped in a :class:`MOBESPOfEnsemble`.

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
        if getattr(ensemble, "monotonic_cst", None) is not None:
            raise ValueError(f"the ensemble has monotonic_cst, and {cls.__name__} cannot, because {cls.no_constraints}")
        forests = forest_estimate_of(ensemble).forests
        if len(forests) > 1:
            raise ValueError(
                f"the ensemble has trees of {len(forests)} kinds, with different samples: fit it with one "
                "kind, such as max_features='sqrt'"
            )
        rows = training_again(ensemble, X, y, sample_weight, "MOBESPClassifier.from_ensemble")
        plan, *_ = plans_of(ensemble, ensemble.seed_)
        shared = {name: value for name, value in ensemble.get_params(deep=False).items() if name in _parameters(cls)}
        # By default, leaves count what the ensemble's leaves count.
        grown = {**plan.tree.chosen(), "n_estimators": len(forests[0])}
        model = cls(**{**shared, **grown, "oob_weight": 1.0, **parameters})
        model._check_parameters()
        forest = forests[0]
        if model.count != ensemble.count:
            trees = [as_grown(plan, tree, rows, index) for index, tree in enumerate(forest)]
            forest, _ = count(replace(plan, count=model.count), rows, trees, n_threads=model._n_threads())
        estimate = model._look_up(forest, OutOfBagRows(find_training_rows(ensemble, rows), rows, model._n_threads()))
        share_columns(ensemble, model)
        model.class_weights_ = ensemble.class_weights_
        model.seed_ = ensemble.seed_
        model._keep_estimate(estimate)
        return model

    _needs_members = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.bootstrap is False:
            raise ValueError(
                "bootstrap=False leaves no out-of-bag rows, which MOB-ESP needs: use 'stratified' or 'plain'"
            )
        check_choices(self)

    def _fit_estimate(self, grown: Sequence[GrownForest]) -> Fit:
        (one,) = grown
        unseen = OutOfBagRows.of(one, self._n_threads())
        estimate = self._look_up(one.forest, unseen)
        return Fit(estimate, estimate.unseen_answer(self._n_threads())([unseen]) if self.oob_score else None)

    def _look_up(self, forest: Forest, unseen: OutOfBagRows) -> VoteLookUp:
        return fit_vote_look_up(
            forest,
            unseen,
            oob_weight=self.oob_weight,
            distinct=self.count == "distinct",
            voters=self.voters,
            rows=self.rows,
            n_threads=self._n_threads(),
        )

    def _keep_estimate(self, estimate: VoteLookUp) -> None:
        self._estimate = estimate
        self.trees_ = estimate.forest
        self.oob_weight_ = estimate.oob_weight
        self.vote_tables_ = estimate.filed.tables

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "vote_tables_" in state:
            state["vote_tables_"] = state["vote_tables_"].state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "vote_tables_" not in state:
            return
        self.vote_tables_ = _core.VoteTables.from_state(state["vote_tables_"])
        self.vote_tables_.mix(self.oob_weight_)
        filed = FiledVotes(self.vote_tables_, make_ballot(self.trees_, self.class_weights_))
        self._estimate = VoteLookUp(self.trees_, filed, self.oob_weight_, self.class_weights_, self.voters, self.rows)

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        packed.check_tables_fit(state["vote_tables_"], len(state["classes_"]), state["trees_"].facts)


def _parameters(cls: type) -> set[str]:
    return set(inspect.signature(cls).parameters)
