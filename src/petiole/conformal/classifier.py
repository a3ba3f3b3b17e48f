"""A classifier whose predictions are sets of classes, with the coverage that the user asks for."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _num_samples, check_is_fitted

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.describing import Described
from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import check_weights, label_codes
from petiole._table.weights import weights_in_rows
from petiole._validation import WithoutClassWeight, check_fraction, draw_seed
from petiole.conformal.answer import PredictionSets
from petiole.conformal.calibrating import SOURCES, calibrating_answers, check_calibration, decided, name_of
from petiole.conformal.groups import columns_of, given_groups, groups_by
from petiole.conformal.row_numbers import row_numbers
from petiole.conformal.scores import SetScore
from petiole.conformal.thresholds import CalibrationScores, least_rows
from petiole.decisions.wrapping import (
    check_has_probabilities,
    forget_fit,
    inherit_input_tags,
    routing_enabled,
    share_columns,
    weight_arguments,
)
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import SavableModel

# What group a row belongs to where there are no groups.
EVERYONE = "all rows"


class Cell(NamedTuple):
    """Rows with a threshold of their own."""

    group: str
    label: Any
    n_rows: int
    weight: float
    threshold: float
    reason: str


class ConformalClassifier(
    WithoutClassWeight,
    Described,
    SavableModel,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """A classifier that predicts sets of classes, which contain the true class of a new row with a given probability.

    Each class of a row gets a score from the row's probabilities, see :class:`petiole.conformal.SetScore`. On rows that
    the model has not seen, the scores of the true classes are computed. The set of a new row has the classes whose
    scores are among the smallest 90 % of these. Ensembles need no hold-out set for that, because each training row can
    be predicted by the trees that have not seen it.

    Parameters
    ----------
    estimator : classifier with predict_proba, default=None
        Any classifier of petiole or scikit-learn, or a pipeline. It is cloned and fitted. A ``FrozenEstimator`` is
        used as it is. None is ``BaggedPETClassifier.eb_pets()``.
    coverage : float, default=0.9
        The share of new rows whose set contains their class. ``predict_set`` also takes another value.
    method : {"lac", "aps", "raps"}, default="lac"
        The score. "lac" gives the smallest sets on average. "aps" gives larger sets to rows that are hard, so that
        their coverage is nearer to that of the others; "raps" is "aps" with a penalty for many classes.
    per_class : bool, default=False
        Whether each class gets a threshold of its own, so that the coverage holds among the rows of each class.
    by : str, int or list of these, default=None
        Columns whose values divide the rows into groups with thresholds of their own. If the groups are not columns,
        pass them to ``fit`` and ``predict_set`` as ``groups``.
    calibration : {"auto", "oob", "rows"}, int or float, default="auto"
        Where the scores come from.

        - "oob": the out-of-bag rows of the estimator (the held-out rows of boosted trees).
        - A whole number: the number of folds. Each fold is predicted by a clone fitted to the others; the model itself
          is fitted to all rows.
        - A number between 0 and 1: the share of the rows that is held out from the estimator (split conformal
          prediction).
        - "rows": all rows passed to ``fit``, for a frozen estimator that has not seen them.
        - "auto": "oob" if the estimator has it, "rows" if it is frozen, 5 folds otherwise.
    randomised : bool, default=True
        Whether random numbers decide ties between scores, which of two neighbouring thresholds a row gets, and, with
        "aps" and "raps", how much of a class's own probability counts. The coverage is then exact, and otherwise at
        least as large. The numbers are computed from a row's values and the seed, so a row always gets the same set.
    allow_empty : bool, default=True
        Whether sets may be empty. In an empty set, no class fits the row as well as most true classes fit theirs. With
        False, such sets have the most probable class, and the coverage can be larger than ``coverage``.
    penalty : float, default=0.1
    free_ranks : int, default=1
        Parameters of "raps", see :class:`petiole.conformal.SetScore`.
    random_state : int, RandomState or None, default=None
        Seed of the random numbers and of the rows that are held out. The estimator has its own.

    Attributes
    ----------
    estimator_ : the fitted estimator
    classes_ : array of the class labels
    scores_ : CalibrationScores
        The scores of the true classes of the calibrating rows, by group and class.
    groups_ : array of str
        The groups of the calibrating rows.
    calibrated_on_ : str
        Where the scores come from: "oob", "folds", "share" or "rows".
    n_calibration_rows_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> from petiole.conformal import ConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = BaggedPETClassifier.eb_pets(n_estimators=64, random_state=0)
    >>> model = ConformalClassifier(forest, coverage=0.98, random_state=0).fit(X, y)
    >>> model.predict_set(X[[0, 77]]).texts()
    ['0', '1|2']
    """

    _saved = fields(
        estimator_=checks.fitted_classifier,
        scores_=checks.instance_of("CalibrationScores"),
        classes_=checks.labels,
        groups_=checks.names,
        seed_=checks.whole(0, 2**62),
        by_groups_=checks.truth,
        calibrated_on_=checks.text,
        n_calibration_rows_=checks.whole(0),
        n_features_in_=maybe(checks.whole(1)),
        feature_names_in_=maybe(checks.names),
    )

    def __init__(
        self,
        estimator: Any = None,
        coverage: float = 0.9,
        *,
        method: str = "lac",
        per_class: bool = False,
        by: Any = None,
        calibration: Any = "auto",
        randomised: bool = True,
        allow_empty: bool = True,
        penalty: float = 0.1,
        free_ranks: int = 1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.method = method
        self.per_class = per_class
        self.by = by
        self.calibration = calibration
        self.randomised = randomised
        self.allow_empty = allow_empty
        self.penalty = penalty
        self.free_ranks = free_ranks
        self.random_state = random_state

    # Made of models that are fitted.

    @classmethod
    def from_oob(
        cls, model: Any, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **parameters: Any
    ) -> Self:
        """Prediction sets of a fitted ensemble, from the training rows that it was fitted on.

        Nothing is fitted again. If an ensemble of petiole has no out-of-bag probabilities, they are computed from its
        seed and these rows.

        Parameters
        ----------
        model : fitted ensemble
        X, y, sample_weight : what the ensemble was fitted on
        groups : one for each row, optional
        **parameters
            Those of the class.
        """
        return cls(FrozenEstimator(model), calibration="oob", **parameters).fit(X, y, sample_weight, groups)

    @classmethod
    def from_rows(
        cls, model: Any, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **parameters: Any
    ) -> Self:
        """Prediction sets of any fitted classifier, from rows that it has not seen.

        Parameters
        ----------
        model : fitted classifier
        X, y, sample_weight : rows that it has not been fitted on
        groups : one for each row, optional
        **parameters
            Those of the class.
        """
        return cls(FrozenEstimator(model), calibration="rows", **parameters).fit(X, y, sample_weight, groups)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the estimator, and learn how large the scores of true classes are.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), of a kind that the estimator takes
        y : labels, one per row
        sample_weight : array of shape (n_rows,), optional
            Counts in the estimator and in the thresholds.
        groups : one for each row, optional
            The group of each row, instead of ``by``.
        """
        self._check_parameters()
        X, y = indexable(X, y)
        weights = check_weights(sample_weight, _num_samples(X))
        if groups is not None and self.by is not None:
            raise ValueError(f"groups was given, but so was by={self.by!r}: leave one of them out")
        names = self._groups_at(X, groups, groups is not None)
        seed = draw_seed(self.random_state)
        estimator = self._given_estimator()
        check_has_probabilities(estimator)
        way = decided(self.calibration, estimator, _num_samples(X))
        estimator, rows, proba = calibrating_answers(estimator, way, X, y, weights, seed, self._fit_arguments)
        classes = np.asarray(estimator.classes_)
        in_rows = weights_in_rows(weights)[0]
        known = np.isfinite(proba).all(axis=1)
        if in_rows is not None:
            known &= in_rows[rows] > 0
        rows, proba = rows[known], proba[known]
        if not len(rows):
            raise ValueError(
                f"no row has a prediction by a model that has not seen it (n_samples={_num_samples(X)}), so there is "
                "nothing to calibrate on: give more rows, or more trees (n_estimators)"
            )
        codes = label_codes(_safe_indexing(y, rows), classes, "y")
        numbers = row_numbers(_safe_indexing(X, rows), seed)
        of_classes = self._score()(proba, numbers[:, 0])
        found, group_codes = np.unique(names[rows].astype(str), return_inverse=True)
        n_cells = len(found) * (len(classes) if self.per_class else 1)
        cells = group_codes * len(classes) + codes if self.per_class else group_codes
        scores = CalibrationScores.of(
            of_classes[np.arange(len(rows)), codes],
            numbers[:, 1],
            None if in_rows is None else in_rows[rows],
            cells.astype(np.int64),
            n_cells,
        )
        # Nothing changes before this point: a fit that fails or is stopped leaves the classifier as it was.
        forget_fit(self)
        self.estimator_ = estimator
        self.classes_ = classes
        self.scores_ = scores
        self.groups_ = found.astype(object)
        self.by_groups_ = groups is not None
        self.seed_ = seed
        self.calibrated_on_ = name_of(way)
        self.n_calibration_rows_ = len(rows)
        share_columns(estimator, self)
        return self

    def predict_set(self, X: Any, coverage: float | None = None, *, groups: Any = None) -> PredictionSets:
        """The set of classes of each row of X.

        Parameters
        ----------
        X : rows to predict
        coverage : float, optional
            The share of new rows whose set contains their class; by default that of the classifier.
        groups : one for each row
            Needed if the classifier was fitted with groups. Rows of unknown groups get all classes.
        """
        return self.sets_from_proba(X, self.predict_proba(X), coverage, groups=groups)

    def sets_from_proba(
        self, X: Any, proba: Floats, coverage: float | None = None, *, groups: Any = None
    ) -> PredictionSets:
        """The sets of rows whose probabilities, as ``predict_proba`` returns them, are known already."""
        coverage = self._coverage(coverage)
        names = self._groups_at(X, groups, self.by_groups_).astype(str)
        places = {name: place for place, name in enumerate(self.groups_.tolist())}
        group = np.array([places.get(name, -1) for name in names.tolist()], dtype=np.int64)
        numbers = row_numbers(X, self.seed_, 3)
        of_classes = self._score()(proba, numbers[:, 0])
        limits = self.scores_.thresholds(coverage)
        contains = np.ones(of_classes.shape, dtype=bool)
        known, n_classes = group >= 0, len(self.classes_)
        for code in range(n_classes):
            cells = group[known] * n_classes + code if self.per_class else group[known]
            contains[known, code] = limits.hold(
                cells, of_classes[known, code], numbers[known, 1:] if self.randomised else None
            )
        if not self.allow_empty:
            empty = ~contains.any(axis=1)
            contains[empty] = proba[empty] == proba[empty].max(axis=1, keepdims=True)
        return PredictionSets(contains, self.classes_, proba, coverage, self._reasons(names, group, coverage))

    def predict_proba(self, X: Any) -> Floats:
        """The class probabilities of the estimator, in the order of ``classes_``."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def learn_intervals(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Let the estimator keep what :meth:`predict_proba_interval` needs, from the data it was fitted on."""
        self._with_intervals().learn_intervals(X, y, sample_weight)
        return self

    def predict_proba_interval(self, X: Any, level: float = 0.9) -> Any:
        """The intervals of the estimator for its probabilities, see :class:`petiole.BaggedPETClassifier`."""
        return self._with_intervals().predict_proba_interval(X, level)

    def _with_intervals(self) -> Any:
        check_is_fitted(self)
        model = self.estimator_.estimator if isinstance(self.estimator_, FrozenEstimator) else self.estimator_
        if not hasattr(model, "predict_proba_interval"):
            raise ValueError(f"estimator={model!r}: has no intervals; use an ensemble of petiole")
        return model

    def predict_log_proba(self, X: Any) -> Floats:
        """Natural logarithms of the class probabilities; -inf where a probability is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row, the first of equals."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def cells(self, coverage: float | None = None) -> list[Cell]:
        """The groups and classes that have thresholds of their own: rows, threshold, and why there is none.

        The label is None if a threshold applies to all classes.
        """
        check_is_fitted(self)
        coverage = self._coverage(coverage)
        limits, scores = self.scores_.thresholds(coverage), self.scores_
        labels = self.classes_.tolist() if self.per_class else [None]
        pairs = [(group, label) for group in self.groups_.tolist() for label in labels]
        counts = np.diff(scores.start).tolist()
        rows = zip(pairs, counts, scores.sizes.tolist(), limits.scores.tolist(), strict=True)
        return [
            Cell(*pair, n, weight, limit, "" if np.isfinite(limit) else _too_few(*pair, weight, coverage))
            for pair, n, weight, limit in rows
        ]

    # Inside.

    def _check_parameters(self) -> None:
        check_fraction("coverage", self.coverage)
        self._score()
        columns_of(self.by)
        for name in ("per_class", "allow_empty"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name}={getattr(self, name)!r}: must be True or False")
        check_calibration(self.calibration)

    def _score(self) -> SetScore:
        return SetScore(self.method, self.randomised, self.penalty, self.free_ranks)

    def _coverage(self, coverage: Any) -> float:
        check_is_fitted(self)
        coverage = self.coverage if coverage is None else coverage
        check_fraction("coverage", coverage)
        return float(coverage)

    def _given_estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        ensemble = BaggedPETClassifier.eb_pets()
        return ensemble.set_fit_request(sample_weight=True) if routing_enabled() else ensemble

    def _fit_arguments(self, weights: Floats | None) -> dict[str, Any]:
        if weights is not None and routing_enabled():
            return dict(process_routing(self, "fit", sample_weight=weights).estimator.fit)
        return weight_arguments(self._given_estimator(), weights, "estimator")

    def _groups_at(self, X: Any, groups: Any, are_given: bool) -> Array:
        if are_given:
            if groups is None:
                raise ValueError("groups=None: the classifier was fitted with groups, so give one for each row of X")
            return given_groups(groups, _num_samples(X))
        if groups is not None:
            raise ValueError("groups was given, but the classifier was fitted without: leave it out or fit with it")
        if self.by is not None:
            return groups_by(X, self.by)
        return np.full(_num_samples(X), EVERYONE, dtype=object)

    def _reasons(self, names: Array, group: Array, coverage: float) -> Array:
        """For each row why its set holds classes for want of calibrating rows."""
        n_labels = len(self.classes_) if self.per_class else 1
        texts = np.array([cell.reason for cell in self.cells(coverage)], dtype=object).reshape(-1, n_labels)
        by_group = np.array(["; ".join(filter(None, row)) for row in texts.tolist()] or [""], dtype=object)
        reasons = by_group[np.maximum(group, 0)]
        for row in np.flatnonzero(group < 0).tolist():
            reasons[row] = f"{self._named(str(names[row]))}: no calibrating row is of this group"
        return np.asarray(reasons)

    @staticmethod
    def _named(group: str) -> str:
        return group if group == EVERYONE else f"group {group!r}"

    # Coming back from a file.

    def _check_saved_parameters(self) -> None:
        self._check_parameters()
        checks.check_part("estimator", checks.none_or(checks.classifier), self.estimator)

    def _check_state(self, state: dict[str, Any]) -> None:
        estimator, known, scores = state["estimator_"], state["classes_"].tolist(), state["scores_"]
        require(np.asarray(estimator.classes_).tolist() == known, "estimator_: must have the same classes")
        checks.same_columns(state, estimator)
        n_groups = len(state["groups_"])
        require(len(set(state["groups_"].tolist())) == n_groups, "groups_: must differ from each other")
        require(scores.n_cells == n_groups * (len(known) if self.per_class else 1), "scores_: must be of these groups")
        require(state["calibrated_on_"] in SOURCES, "calibrated_on_: is not known")

    def get_metadata_routing(self) -> MetadataRouter:
        """Both this classifier and the estimator may ask for ``sample_weight``."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._given_estimator(), method_mapping=mapping)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scores_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inherit_input_tags(tags, self._given_estimator())
        return tags


def _too_few(group: str, label: Any, weight: float, coverage: float) -> str:
    """What is said of a cell whose rows are too few for the coverage."""
    parts = [] if group == EVERYONE else [f"group {group!r}"]
    parts += [] if label is None else [f"class {label!r}"]
    who = ", ".join(parts) or EVERYONE
    least = least_rows(coverage)
    return f"{who}: {weight:.4g} calibrating rows, and coverage={coverage:g} takes at least {least}"
